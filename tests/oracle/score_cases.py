"""Scores predictions against recorded constructor calls and whole models, package by package.

    python tests/oracle/score_cases.py class   FOLDER/*.class.jsonl.xz   [--path FOLDER] [--list wrong]
    python tests/oracle/score_cases.py builder FOLDER/*.builder.jsonl.xz [--path FOLDER]

The cases are those of `record_cases.py`; the answers come from `zoo_bridge.py`, run once. *Exact* is every name, order
and type right. *Wrong* is anything claimed that is false, or a name left out without having been called unknown.
*Unknown* is the rest: less than everything, and nothing false.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

BRIDGE = Path(__file__).parent / "zoo_bridge.py"
SHOWN = ("cases", "exact", "wrong", "unknown", "answered", "parameters", "buffers")


def read(file: Path) -> list[dict[str, Any]]:
    """The rows of a file of cases; objects that stand on lines of their own are put where they are referred to."""
    objects: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if "object" in row:
                objects[row.pop("object")] = row
                continue
            for key in {"args", "varargs", "varkw"} & row.keys():
                row[key] = _inlined(row[key], objects)
            if "classes" in row:
                classes = row["classes"]
                row["tree"] = [[path, None if number is None else classes[number]] for path, number in row["tree"]]
            rows.append(row)
    return rows


def _inlined(value: Any, objects: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inlined(item, objects) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("$object"), str):
        record = objects[value["$object"]]
        return {"$object": {**record, "attrs": _inlined(record["attrs"], objects)}}
    return {key: _inlined(item, objects) for key, item in value.items()}


def public(name: str | None) -> str | None:
    """torch's layers by the name under which they are known, however they are called."""
    return name and re.sub(r"^torch\.nn\.modules\.\w+\.", "torch.nn.", name)


def compare(claimed: list[list[Any]] | str, recorded: list[list[Any]]) -> Counter[str]:
    """Paths with classes against those recorded: the verdict, and how many nodes were recorded, claimed and right."""
    found = Counter({"nodes": len(recorded)})
    if isinstance(claimed, str):
        return found + Counter({"unknown": 1})
    truth = {path: public(name) for path, name in recorded}
    known = {path: public(name) for path, name in claimed if path.rpartition(".")[2] != "?"}
    open_at = tuple(path[:-1] for path, _ in claimed if path.rpartition(".")[2] == "?")
    below_unknown = tuple(f"{path}." for path, name in known.items() if name == "?")
    found["claimed"] = sum(name != "?" or path not in truth for path, name in known.items())
    found["right"] = sum(path in truth and truth[path] == name for path, name in known.items())
    found["names"] = not open_at and list(known) == list(truth)
    if found["names"] and found["right"] == len(truth):
        found["exact"] = 1
        return found
    false = any(path not in truth or name not in ("?", truth[path]) for path, name in known.items())
    left_out = not all(path.startswith((*open_at, *below_unknown)) for path in truth if path not in known)
    disordered = [path for path in known if path in truth] != [path for path in truth if path in known]
    found["wrong" if false or left_out or disordered else "unknown"] = 1
    return found


def score(row: dict[str, Any], answer: dict[str, Any], level: str) -> Counter[str]:
    """What one case adds to the figures."""
    field = "children" if level == "class" else "tree"
    claimed, recorded = answer.get(field, "?"), row[field]
    if level == "builder" and isinstance(claimed, list):  # `named_modules` leaves out what is None
        claimed, recorded = ([entry for entry in tree if entry[1] is not None] for tree in (claimed, recorded))
    found = Counter({"cases": 1}) + compare(claimed, recorded)
    if level == "class" and isinstance(answer.get(field), list):
        found["answered"] = 1
        found["parameters"] = answer["params"] == row["params"]
        found["buffers"] = answer["buffers"] == row["buffers"]
    return found


def answers(rows: list[dict[str, Any]], path: list[str], reasons: str | None) -> dict[str, dict[str, Any]]:
    """The predictions, by the case's id."""
    asked = ("id", "class", "args", "varargs", "varkw", "entry")
    with tempfile.TemporaryDirectory() as folder:
        questions, out = Path(folder, "questions.jsonl"), Path(folder, "answers.jsonl")
        questions.write_text("".join(json.dumps({k: row[k] for k in asked if k in row}) + "\n" for row in rows))
        extra = ["--reasons", reasons] if reasons else []
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(BRIDGE.parents[2]), *path])}
        subprocess.run([sys.executable, str(BRIDGE), str(questions), str(out), *extra], check=True, env=environment)
        return {row["id"]: row for row in map(json.loads, out.read_text().splitlines())}


def table(totals: dict[str, Counter[str]]) -> list[str]:
    """The figures as a table in Markdown; per cent of the cases, parameters and buffers of those answered."""
    lines = [
        "| package | cases | exact | wrong | unknown | parameters right | buffers right |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, found in totals.items():
        shares = [f"{100 * found[key] / found['cases']:.1f}" for key in ("exact", "wrong", "unknown")]
        answered = found["answered"]
        shares += [f"{100 * found[key] / answered:.1f}" if answered else "" for key in ("parameters", "buffers")]
        lines.append(f"| {name} | {found['cases']} | {' | '.join(shares)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("level", choices=("class", "builder"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--path", action="append", default=[], help="a folder on which the packages are found")
    parser.add_argument("--list", nargs="*", default=[], help="list the cases so judged: wrong, unknown, state")
    parser.add_argument("--reasons", help="write how often each reason of unknown stands first")
    parser.add_argument("--only", default="", help="regular expression on the class or the call")
    parser.add_argument("--dump", type=Path, help="write rows and answers of what is not exact")
    options = parser.parse_args()
    rows = [row for file in options.files for row in read(file)]
    rows = [row for row in rows if re.search(options.only, str(row.get("entry", {}).get("call") or row["class"]))]
    found = answers(rows, options.path, options.reasons)
    totals: dict[str, Counter[str]] = {}
    failing: list[dict[str, Any]] = []
    for row in rows:
        answer = found.get(row["id"], {})
        one = score(row, answer, options.level)
        groups = [row["package"], "all"]
        if options.level == "class" and row["children"]:
            groups += [f"{row['package']}, with children", "all, with children"]
        for group in groups:
            totals.setdefault(group, Counter()).update(one)
        kinds = [kind for kind in ("wrong", "unknown") if one[kind]]
        if one["answered"] and not (one["parameters"] and one["buffers"]):
            kinds.append("state")
        if kinds:
            failing.append({"kinds": kinds, "row": row, "answer": answer})
        for kind in set(kinds) & set(options.list):
            print(f"{kind:8} {row['id']:40} {row.get('entry', {}).get('call') or row['class']}")
    if options.dump:
        options.dump.write_text("".join(json.dumps(entry) + "\n" for entry in failing))
    print("\n".join(table(dict(sorted(totals.items(), key=lambda entry: (entry[0].startswith("all"), entry[0]))))))


if __name__ == "__main__":
    main()
