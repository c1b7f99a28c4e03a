"""Whether a checkpoint of one release loads into another, as `modgraph diff --fail-on checkpoint` says, held against torch.

    python tests/oracle/release_histories.py FOLDER [PACKAGE ...] [-o table.md]

The releases of `release_histories.txt` are installed below FOLDER, each apart. Each class is built in each release, in a
process of its own, and its state dict kept. For every pair of releases, the older and the newer, both are predicted and
compared; then the newer class is built and given the older state dict, as it is, with the names of `--emit-map`, and
with the lines of Python that the map has in comments. `load_state_dict` with `strict=True` is the judge of each.

A class that a release has not, or that does not build there with these arguments, is left out and counted.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIST = Path(os.environ.get("MODGRAPH_HISTORIES") or Path(__file__).with_name("release_histories.txt"))
"""The releases; the variable names another list."""
TIMEOUT_S = 900


@dataclass(frozen=True)
class Subject:
    """A class of a package, and how it is built."""

    file: str
    name: str
    keywords: str

    @property
    def key(self) -> str:
        return f"{self.file}:{self.name}"

    @property
    def module(self) -> str:
        return self.file.removesuffix(".py").replace("/", ".")

    def arguments(self) -> dict[str, Any]:
        found: dict[str, Any] = eval(self.keywords, {"dict": dict})
        return found


@dataclass(frozen=True)
class Package:
    """A package and its releases."""

    name: str
    releases: tuple[str, ...]
    subjects: tuple[Subject, ...]


def packages(text: str) -> Iterator[Package]:
    """Those of the list."""
    for block in re.split(r"\n(?=\S)", text):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines and not lines[0].startswith("needs: "):
            name, _, releases = lines[0].partition(": ")
            subjects = [re.fullmatch(r"\s+(\S+):(\w+) (.+)", line) for line in lines[1:]]
            yield Package(name, tuple(releases.split()), tuple(Subject(*each.groups()) for each in subjects if each))


def needs(text: str) -> list[str]:
    """What the packages of the list import besides."""
    return [name for line in text.splitlines() if line.startswith("needs: ") for name in line.split()[1:]]


# ---- torch -----------------------------------------------------------------------------------------------------------


def _built(subject: Subject) -> Any:
    import torch

    torch.manual_seed(0)
    with contextlib.redirect_stdout(sys.stderr):
        return getattr(importlib.import_module(subject.module), subject.name)(**subject.arguments())


def keep(package: Package, folder: Path) -> dict[str, str]:
    """Builds all classes in this process, and keeps their state dicts; what is wrong with the others."""
    import torch

    def kept(number: int, subject: Subject) -> str | None:
        try:
            torch.save(_built(subject).state_dict(), folder / f"{number}.pt")
        except Exception as error:
            return f"{type(error).__name__}: {error}".partition("\n")[0]
        return None

    found = {subject.key: kept(number, subject) for number, subject in enumerate(package.subjects)}
    return {key: wrong for key, wrong in found.items() if wrong is not None}


def judge(package: Package, asked: Sequence[tuple[int, str, str]]) -> list[list[bool]]:
    """Loads old state dicts into the classes of this process: (number of the class, file of the state dict, file of the
    map); whether it loads as it is, with the names, and with the lines."""
    return [_loads(package.subjects[number], Path(state), Path(mapped)) for number, state, mapped in asked]


def _loads(subject: Subject, state: Path, mapped: Path) -> list[bool]:
    import torch

    parts = [part.strip() for part in mapped.read_text().split("\n\n")]
    space: dict[str, Any] = {}
    exec("\n".join(line[4:] for line in parts[0].partition("\n#\n")[2].splitlines()), space)
    more = next((part for part in parts if part.startswith("# more than another name")), "")
    lines = [line[4:] for line in more.splitlines() if line.startswith("#   ")]
    results: list[bool] = []
    for how in ("as it is", "names", "lines"):
        found = torch.load(state, weights_only=True)
        try:
            if how != "as it is":
                found = space["with_new_names"](found, str(mapped))
            if how == "lines":
                exec("\n".join(lines), {"torch": torch, "state": found})
            _built(subject).load_state_dict(found)
            results.append(True)
        except (RuntimeError, ValueError, KeyError) as error:
            print(how, error, file=sys.stderr)
            results.append(False)
    return results


# ---- both ------------------------------------------------------------------------------------------------------------


def _in_process(folder: Path, beside: Path, *given: str) -> Any:
    """What this script says in a process that imports one release, and what is installed beside."""
    command = [sys.executable, __file__, "--inside", *given]
    done = subprocess.run(
        command,
        env={
            "PYTHONPATH": f"{folder}:{beside}",
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
            "MODGRAPH_HISTORIES": str(LIST),
        },
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout)


def install(place: Path, *wanted: str) -> Path:
    """Installs packages, without what they need, into a folder of their own."""
    if wanted and not place.exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile", "--target", str(place)]
        subprocess.run([*command, *wanted], check=True)
    return place


def compare(package: Package, folder: Path) -> Iterator[dict[str, Any]]:
    """A row for each class and pair of releases."""
    import modgraph

    installed = [each for each in sys.path if Path(each).name in ("site-packages", "dist-packages")]
    beside = install(folder / "beside", *needs(LIST.read_text()))
    places = {each: install(folder / f"{package.name}-{each}", f"{package.name}=={each}") for each in package.releases}
    states = {release: folder / f"states-{package.name}-{release}" for release in package.releases}
    refused: dict[str, dict[str, str]] = {}
    graphs: dict[tuple[str, int], Any] = {}
    for release in package.releases:
        states[release].mkdir(exist_ok=True)
        refused[release] = _in_process(places[release], beside, "keep", package.name, str(states[release].resolve()))
        for key, why in refused[release].items():
            print(f"left out: {package.name} {release} {key}: {why}", file=sys.stderr)
        for number, subject in enumerate(package.subjects):
            if (states[release] / f"{number}.pt").exists():
                target = f"{places[release] / subject.file}:{subject.name}"
                try:
                    graphs[release, number] = modgraph.predict(
                        target,
                        kwargs=subject.arguments(),
                        path=[str(places[release]), str(beside), *installed],
                        forward=False,
                    )
                except modgraph.ModgraphError as error:
                    print(target, error, file=sys.stderr)
    for at, new in enumerate(package.releases):
        asked: list[tuple[int, str, str]] = []
        told: list[dict[str, Any]] = []
        for old in package.releases[:at]:
            for number, subject in enumerate(package.subjects):
                if (old, number) in graphs and (new, number) in graphs:
                    row, text = _said(graphs[old, number], graphs[new, number])
                    mapped = states[new] / f"{number}-{old}.txt"
                    mapped.write_text(text)
                    asked.append((number, str((states[old] / f"{number}.pt").resolve()), str(mapped.resolve())))
                    told.append({"package": package.name, "class": subject.key, "old": old, "new": new, **row})
        if asked:
            question = states[new] / "asked.json"
            question.write_text(json.dumps(asked))
            answers = _in_process(places[new], beside, "judge", package.name, str(question.resolve()))
            for row, (plain, renamed, carried) in zip(told, answers, strict=True):
                yield {**row, "loads": plain, "loads_renamed": renamed, "loads_carried": carried}


def _said(old: Any, new: Any) -> tuple[dict[str, Any], str]:
    import modgraph
    from modgraph.export.diff.key_map import render

    changes = modgraph.diff(old, new)
    found = changes.checkpoint
    said = {"fits": found.fits, "fits_renamed": found.fits_renamed, "fits_carried": found.fits_carried}
    return {**said, "n_carried": len(found.carried), "n_lost": len(found.lost), "n_fresh": len(found.fresh)}, render(
        changes
    )


WORDS = {True: "loads", False: "does not load", None: "not known"}


def faults(row: dict[str, Any]) -> Iterator[str]:
    """What is said and is not so."""
    for how in ("", "_renamed", "_carried"):
        said, is_so = row[f"fits{how}"], row[f"loads{how}"]
        if said is not None and said != is_so:
            yield f"{row['class']} {row['old']} → {row['new']}{how}: said {WORDS[said]}, and it {WORDS[is_so]}"


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The figures, for the page."""
    lines = ["| package | classes | pairs | loads | with other names | with the lines | does not | not known | wrong |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in [*dict.fromkeys(row["package"] for row in rows), "all"]:
        own = [row for row in rows if name in (row["package"], "all")]
        kinds = Counter(kind_of(row) for row in own)
        counts = [kinds[each] for each in ("loads", "renamed", "carried", "does not", "unknown")]
        cells = [len({row["class"] for row in own}), len(own), *counts, sum(1 for row in own if any(faults(row)))]
        lines.append(f"| {name} | " + " | ".join(f"{each:,}" for each in cells) + " |")
    return "\n".join(lines) + "\n"


def kind_of(row: dict[str, Any]) -> str:
    """What is said of a pair."""
    if row["fits"]:
        return "loads"
    if row["fits"] is None:
        return "unknown"
    return "renamed" if row["fits_renamed"] else "carried" if row["fits_carried"] else "does not"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the releases are installed")
    parser.add_argument("packages", nargs="*", help="of the list; default: all")
    parser.add_argument("--json", type=Path, help="a line for each pair")
    parser.add_argument("-o", "--output", type=Path, help="the table")
    known = {each.name: each for each in packages(LIST.read_text())}
    if sys.argv[1:2] == ["--inside"]:
        _, _, what, name, given = sys.argv
        asked = known[name]
        print(
            json.dumps(
                keep(asked, Path(given)) if what == "keep" else judge(asked, json.loads(Path(given).read_text()))
            )
        )
        return 0
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in arguments.packages or known:
        rows += compare(known[name], arguments.folder.resolve())
        print(table(rows))
    found = [fault for row in rows for fault in faults(row)]
    print(*found, sep="\n")
    if arguments.json:
        arguments.json.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if arguments.output:
        arguments.output.write_text(table(rows))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
