"""A row for each model, each made in a process with limits: what the commands that hold `forward` against runs share.

Such a command makes the row of one model with `--one LIBRARY:NAME`, and of all that are named otherwise. With `--json`,
models that stand in the file already are not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

SECONDS = 300
"""Of the processor's time, so that a busy machine does not count; of the clock's, ten times as many."""
MEGABYTES = 12_000
_HAS_RUN = "torch has run it"


@dataclass
class ModelRow:
    """One model."""

    library: str
    name: str
    kind: str
    """What came of it, as the command says; "unbuilt" where the constructor is not predicted to its end; "no run" where
    torch does not run it; "fault" for a fault of ours, a hang, too much memory."""
    why: str = ""
    seconds: float = 0.0
    """Of the prediction."""


Row = TypeVar("Row", bound=ModelRow)


def torch_has_run() -> None:
    """Says in a process that the prediction's turn has come: what ended it before would be no fault of ours."""
    print(_HAS_RUN, file=sys.stderr, flush=True)


def parser(description: str | None, wanted: str, output: str) -> argparse.ArgumentParser:
    """The options of such a command."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("wanted", nargs="*", metavar="LIBRARY[:MODELS]", help=wanted)
    made.add_argument("--path", action="append", default=[], help="a folder on which packages are found")
    made.add_argument("--json", type=Path, metavar="FILE", help="a line for each model; goes on where it ended")
    made.add_argument("-o", "--output", type=Path, metavar="FILE", help=output)
    made.add_argument("--one", metavar="LIBRARY:NAME", help=argparse.SUPPRESS)
    return made


def rows(
    options: argparse.Namespace,
    kind: type[Row],
    one: Callable[[str, str], Row],
    drawn: Callable[[str], Iterable[tuple[str, str]]],
) -> list[Row] | None:
    """Those of all models that are named; None where this process was to make one of them, which it has printed.

    Args:
        one: makes the row of one model.
        drawn: library and name of the models of one of the words of the command.
    """
    sys.path.extend(options.path)
    if options.one:
        print(json.dumps(asdict(one(*options.one.split(":", 1)))))
        return None
    known: dict[tuple[str, str], Row] = {}
    if options.json is not None and options.json.exists():
        written = (kind(**json.loads(line)) for line in options.json.read_text("utf-8").splitlines())
        known = {(row.library, row.name): row for row in written}
    found = []
    for library, name in (each for wanted in options.wanted for each in drawn(wanted)):
        row = known.get((library, name))
        if row is None:
            row = _in_child(kind, library, name, options.path)
            print(f"{library} {name}: {row.kind} {row.why}", file=sys.stderr, flush=True)
            if options.json is not None:
                with options.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
        found.append(row)
    return found


def _in_child(kind: type[Row], library: str, name: str, path: Sequence[str]) -> Row:
    """The row of a model, made by this command in a process with limits."""
    command = [sys.executable, str(Path(sys.argv[0]).resolve()), "--one", f"{library}:{name}"]
    for each in path:
        command += ["--path", each]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MODGRAPH_CACHE": os.environ.get("MODGRAPH_CACHE", "off")}
    try:
        run = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=10 * SECONDS,
            env=environment,
            check=False,
            preexec_fn=_limit,
        )
    except subprocess.TimeoutExpired:
        return kind(library, name, "fault", f"more than {10 * SECONDS} s")
    if run.returncode != 0 or not run.stdout.strip():
        what = "fault" if _HAS_RUN in run.stderr.splitlines() else "no run"
        last = run.stderr.strip().splitlines()[-1:] or [f"status {run.returncode}"]
        return kind(library, name, what, last[0][:300])
    return kind(**json.loads(run.stdout.strip().splitlines()[-1]))


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (MEGABYTES << 20, MEGABYTES << 20))
