"""How often the default check is right on public repositories: its findings beside what was judged of each.

    python tests/oracle/check_precision.py FOLDER

FOLDER holds a clone of each repository of `check_repositories.txt`, at its commit, as `owner+name`. Nothing of them is run.
It prints a row for each rule, the findings that nobody has judged, those that were judged and are no longer found, and those
of which the second judgement (`check_findings_again.txt`, made of what findings_shown.py shows) says otherwise.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from modgraph.rules.options import CheckOptions
from modgraph.rules.paths import check_paths

HERE = Path(__file__).parent
VERDICTS = ("real", "harmless", "false", "not judged")


class Place(NamedTuple):
    """Where a finding is, and of which rule."""

    repository: str
    file: str
    line: int
    code: str


def repositories() -> list[str]:
    """ "owner/name" of each."""
    lines = (HERE / "check_repositories.txt").read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def judged(name: str = "check_findings.txt") -> dict[Place, str]:
    """What was judged of each finding."""
    found: dict[Place, str] = {}
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            repository, place, code, verdict, _ = line.split(maxsplit=4)
            file, _, number = place.rpartition(":")
            found[Place(repository, file, int(number), code)] = verdict
    return found


def found_in(folder: Path) -> tuple[list[Place], int, int]:
    """The default findings below a folder, the number of files, and that of repositories that are there."""
    names = [name for name in repositories() if (folder / name.replace("/", "+")).is_dir()]
    report = check_paths([str(folder / name.replace("/", "+")) for name in names], CheckOptions(isolated=True))
    places = []
    for finding in report.findings:
        owner, *file = (folder / str(finding.file)).resolve().relative_to(folder.resolve()).parts
        places.append(Place(owner.replace("+", "/", 1), "/".join(file), finding.line or 0, finding.code))
    return places, len(report.files), len(names)


def table(places: list[Place], verdicts: dict[Place, str]) -> str:
    """A row for each rule, and one for all."""
    counts = Counter((place.code, verdicts.get(place, "not judged")) for place in places)
    rows = ["| rule | findings | real | harmless | false | not judged |", "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for code in sorted({place.code for place in places}):
        numbers = [counts[code, verdict] for verdict in VERDICTS]
        rows.append(f"| {code} | {sum(numbers)} | {' | '.join(map(str, numbers))} |")
    numbers = [sum(counts[code, verdict] for code in {place.code for place in places}) for verdict in VERDICTS]
    rows.append(f"| **all** | {sum(numbers)} | {' | '.join(map(str, numbers))} |")
    return "\n".join(rows)


def main() -> None:
    """Prints the table, and where it and the list of judgements differ."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    places, files, number = found_in(Path(sys.argv[1]))
    verdicts, again = judged(), judged("check_findings_again.txt")
    print(f"{number} repositories, {files:,} files\n\n{table(places, verdicts)}")
    print(f"\nthe second judgement:\n\n{table(places, again)}")
    for place in places:
        if place not in verdicts:
            print(f"not judged: {place.repository} {place.file}:{place.line} {place.code}")
    for place in verdicts:
        if place not in places:
            print(f"judged, and not found: {place.repository} {place.file}:{place.line} {place.code}")
    for place in sorted(set(verdicts) | set(again)):
        if verdicts.get(place) != again.get(place):
            print(
                f"judged otherwise: {place.repository} {place.file}:{place.line} {place.code}: "
                f"{verdicts.get(place, 'not judged')}, and then {again.get(place, 'not judged')}"
            )


if __name__ == "__main__":
    main()
