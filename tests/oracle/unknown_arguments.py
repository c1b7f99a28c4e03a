"""Recorded constructor calls with one argument that cannot be told: nothing that is claimed may contradict the record.

    python tests/oracle/unknown_arguments.py FOLDER/*.class.jsonl.xz [--path FOLDER] [--only PATTERN] [--every N]

The cases are those of `score_cases.py`; each is asked once for each of its arguments, which is unknown then. What is
left open is fine. Prints what contradicts the record, and how much of what was recorded is still claimed; the status is
1 where anything does.
"""

from __future__ import annotations

import argparse
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

UNKNOWN = {"$opaque": "an argument that nobody can tell"}


scoring = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("score_cases.py"))))


def questions(rows: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each case with each of its arguments unknown, and the case."""
    for row in rows:
        for name in row["args"]:
            yield {**row, "id": f"{row['id']}/{name}", "args": {**row["args"], name: UNKNOWN}}, row


def contradictions(answer: dict[str, Any], row: dict[str, Any]) -> Iterator[str]:
    """What an answer claims and the record denies."""
    if isinstance(answer["children"], str):
        if str(answer.get("why")).startswith("raises"):
            yield f"{answer['why']}, and it was built"
        return
    for field in ("children", "tree"):
        if field in row and field in answer and scoring.compare(answer[field], row[field])["wrong"]:
            yield f"{field}: {_difference(answer[field], row[field])}"
    for kind in ("params", "buffers"):
        there = {name: rest for name, *rest in row[kind]}
        for name, *claims in answer[kind]:
            if name != "?" and name in there and not all(map(_admits, claims, there[name])):
                yield f"{kind}: {name} is {claims}, was {there[name]}"


def _admits(claim: Any, recorded: Any) -> bool:
    if claim in ("?", None) or recorded is None:
        return True
    if not isinstance(claim, list):
        return bool(claim == recorded)
    return len(claim) == len(recorded) and all(a in (None, b) for a, b in zip(claim, recorded, strict=True))


def _difference(claimed: list[list[Any]], recorded: list[list[Any]]) -> str:
    truth = {path: scoring.public(name) for path, name in recorded}
    known = {path: scoring.public(name) for path, name in claimed if path.rpartition(".")[2] != "?"}
    false = [f"{path} {name}" for path, name in known.items() if path not in truth or name not in ("?", truth[path])]
    missing = [path for path in truth if path not in known]
    return f"claimed {false[:3]}, missing {missing[:3]}, of {len(truth)}"


def main() -> int:
    """Ask, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--path", action="append", default=[], help="a folder on which the packages are found")
    parser.add_argument("--only", default="", help="regular expression on the class")
    parser.add_argument("--every", type=int, default=1, help="take every n-th question")
    options = parser.parse_args()
    rows = [row for file in options.files for row in scoring.read(file) if re.search(options.only, row["class"])]
    asked = list(questions(rows))[:: options.every]
    found = scoring.answers([question for question, _ in asked], options.path, None)
    n_false = n_claimed = n_recorded = 0
    for question, row in asked:
        answer = found[question["id"]]
        told = list(contradictions(answer, row))
        n_false += bool(told)
        if isinstance(answer["children"], list):
            n_claimed += sum(name not in ("?", None) for _, name in answer["children"])
        n_recorded += sum(name is not None for _, name in row["children"])
        for each in told:
            print(f"{row['class']} without {question['id'].rpartition('/')[2]}: {each}")
    share = 100 * n_claimed / max(1, n_recorded)
    print(
        f"{len(asked)} calls with one argument unknown: {n_false} contradictions; {share:.1f} % of the children claimed"
    )
    return 1 if n_false else 0


if __name__ == "__main__":
    sys.exit(main())
