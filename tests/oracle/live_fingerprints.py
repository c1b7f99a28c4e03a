"""Whether a trace leaves live models of real libraries as they were.

    python tests/oracle/live_fingerprints.py torchvision:100 timm:100 transformers:100 --path FOLDER --json rows.jsonl

Each model is built with random weights, in a process of its own, and traced with inferred inputs, in evaluation and in
training mode. A deep fingerprint of the model and of the interpreter (`tests/security/fingerprint.py`: identities, values,
versions, the order of keys, settings) is taken before and after each, and a graph of autograd that was made before, of
every buffer, goes back after it. A model that is too large or too slow is passed over for the next of its library. What
was measured is kept in the file of rows, so that the command goes on where it ended; `--seconds` ends it in time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import runpy
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
MOST_PARAMETERS = 30_000_000
MOST_MEMORY = 6 * 2**30
"""Bytes of data in the process of one model; half of it holds copies of its values for the fingerprint."""
SECONDS = 60
"""That one model may take, traced twice."""
MODES = ("eval", "train")


def one(library: str, name: str, coverage: dict[str, Any], most: int) -> dict[str, Any]:
    """What became of one model."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    row: dict[str, Any] = {"library": library, "name": name}
    try:
        with torch.device("meta"):
            size = sum(p.numel() for p in coverage["built"](library, name, reduced=True).parameters())
    except Exception:
        size = 0
    if size > most:
        return {**row, "skipped": f"{size} parameters"}
    try:
        model = coverage["built"](library, name, reduced=True)
    except Exception as error:
        return {**row, "skipped": f"not built: {type(error).__name__}"}
    if sum(p.numel() for p in model.parameters()) > most:
        return {**row, "skipped": "too many parameters"}
    for mode in MODES:
        row[mode] = left_as_it_was(model, mode)
    return row


def left_as_it_was(model: Any, mode: str) -> dict[str, Any]:
    """One trace between two fingerprints."""
    import torch

    import modgraph

    fingerprint = runpy.run_path(str(HERE.parents[1] / "security" / "fingerprint.py"))["Fingerprint"]
    pending = [
        (buffer.detach() * torch.ones((), requires_grad=True)).sum()
        for buffer in model.buffers()
        if buffer.dtype.is_floating_point and buffer.numel()
    ]
    random.seed(1)
    before = fingerprint(model=model)
    try:
        graph = modgraph.trace(model, mode=mode)
        row: dict[str, Any] = {"complete": graph.complete, "calls": len(graph.calls)}
        row["problems"] = [problem.message[:200] for problem in graph.problems][:3]
    except modgraph.ModgraphError as error:
        row = {"complete": False, "problems": [error.message[:200]]}
    row["places"] = len(before.facts)
    row["moved"] = before.differences(fingerprint(model=model))[:20]
    try:
        for loss in pending:
            loss.backward()
    except RuntimeError as error:
        row["moved"].append(f"backward: {error}"[:200])
    return row


def in_a_process(library: str, name: str, coverage: dict[str, Any], most: int) -> dict[str, Any]:
    """What became of one model, in a fork of this process: libraries are imported once."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(receiving)
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        row = {"library": library, "name": name, "skipped": "ended"}
        try:
            row = one(library, name, coverage, most)
        except BaseException as error:  # whatever the model does: the next one is to be measured too
            row["skipped"] = f"{type(error).__name__}: {error}"[:200]
        finally:
            with os.fdopen(sending, "w", encoding="utf-8") as channel:
                channel.write(json.dumps(row))
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, encoding="utf-8") as channel:
        said = coverage["read_until"](channel, time.monotonic() + SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    why = f"more than {SECONDS} s" if said is None else "ended without a word"
    return json.loads(said) if said else {"library": library, "name": name, "skipped": why}


def summary(rows: list[dict[str, Any]], libraries: list[str]) -> str:
    """A table of what was measured, and each difference."""
    lines = [
        "| library | models | traced whole, eval and train | places looked at | left as they were |",
        "|---" * 5 + "|",
    ]
    moved = []
    for library in libraries:
        own = [row for row in rows if row["library"] == library and "eval" in row]
        whole = sum(all(row[mode]["complete"] for mode in MODES) for row in own)
        places = sum(row["eval"]["places"] for row in own)
        same = sum(not any(row[mode]["moved"] for mode in MODES) for row in own)
        lines.append(f"| {library} | {len(own)} | {whole} | {places:,} | {same} of {len(own)} |")
        moved += [
            f"- {library} {row['name']}, {mode}: {where}"
            for row in own
            for mode in MODES
            for where in row[mode]["moved"]
        ]
    return "\n".join([*lines, "", *moved])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("libraries", nargs="+", metavar="LIBRARY:COUNT")
    parser.add_argument("--path", action="append", default=[], help="where libraries lie without their dependencies")
    parser.add_argument("--json", required=True, help="the file of rows")
    parser.add_argument("--parameters", type=int, default=MOST_PARAMETERS, help="of the largest model that is taken")
    parser.add_argument("--seconds", type=float, default=1e9, help="after which no other model is begun")
    arguments = parser.parse_args()
    coverage = runpy.run_path(str(HERE.with_name("trace_coverage.py")))
    coverage["prepare"](arguments.path)
    end = time.monotonic() + arguments.seconds
    file = Path(arguments.json)
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
    asked = {library: int(count) for library, count in (each.split(":") for each in arguments.libraries)}
    for library, count in asked.items():
        known = {row["name"]: row for row in rows if row["library"] == library}
        names = coverage["names_of"](library)
        # Spread over all of the library, with the others behind them in an order of their own.
        order = coverage["evenly"](names, count)
        order += random.Random(0).sample([name for name in names if name not in order], len(names) - len(order))
        measured = 0
        for name in order:
            if measured >= count or time.monotonic() > end:
                break
            if name not in known:
                known[name] = in_a_process(library, name, coverage, arguments.parameters)
                rows.append(known[name])
                with file.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(known[name]) + "\n")
            measured += "eval" in known[name]
    print(summary(rows, list(asked)))
    sys.exit(any(row[mode]["moved"] for row in rows if "eval" in row for mode in MODES))


if __name__ == "__main__":
    main()
