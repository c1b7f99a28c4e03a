"""Whether what is predicted of live models, whose arguments are not known, is ever gainsaid by the model itself.

    python tests/oracle/live_models.py torchvision:121 timm:150 transformers:80 --path FOLDER [--run] [--seconds N]

Each model is built with random weights on the meta device, in a process of its own. Its class is predicted as
`modgraph.analyze(model)` does, with the arguments that the instance does not show left unknown, and merged with the live
tree; `--run` runs it too, with inferred inputs and fake tensors. Nobody changed the model after it was built, so that
every problem of the merge is a fault, as is a graph that is not complete where the trace is. Prints a table and the
faults, most frequent first; the status is 1 where there are any.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import re
import runpy
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
SECONDS = 300
"""That one model may take."""
MOST_SHOWN = 5
"""Faults of one model that are printed."""


def one(library: str, name: str, coverage: dict[str, Any], *, run: bool) -> dict[str, Any]:
    """What became of one model."""
    import torch

    import modgraph
    from modgraph import api

    row: dict[str, Any] = {"library": library, "name": name}
    torch.set_num_threads(1)
    try:
        with torch.device("meta"):
            model = coverage["built"](library, name, reduced=True)
    except Exception as error:
        return {**row, "skipped": f"not built: {type(error).__name__}"}
    began = time.process_time()
    predicted = modgraph.analyze(model, static=True)
    row["seconds"] = round(time.process_time() - began, 2)
    traced = modgraph.trace(model, device="fake") if run else walked(model)
    merged = modgraph.analyze(model, device="fake") if run else api._merged(api._as_it_was_built(predicted), traced)
    known = [node for node in merged.modules if node.predicted and node.observed]
    return {
        **row,
        "traced": traced.complete,
        "complete": merged.complete,
        "modules": len(traced.modules),
        "predicted": len(known),
        "faults": [problem.message for problem in merged.problems if problem.stage == "merge"],
        "suspected": suspected(predicted, model),
    }


def walked(model: Any) -> Any:
    """The graph of the live tree alone: nothing is run."""
    from modgraph.graph.events import DoneEvent, StartEvent, replay
    from modgraph.graph.model import ModelInfo
    from modgraph.tracing.recording.tree import Tree

    kind = type(model)
    info = ModelInfo(name=kind.__name__, class_name=f"{kind.__module__}.{kind.__qualname__}", target=None)
    return replay([StartEvent(model=info, modules=tuple(Tree(model).nodes)), DoneEvent()])


def suspected(predicted: Any, model: Any) -> list[str]:
    """Paths of children that may be there by the prediction, and are numbers or texts on the model."""
    found = []
    for node in predicted.modules:
        above, _, name = node.path.rpartition(".")
        if node.class_name is None and name not in ("", "?"):
            with suppress(AttributeError):
                value = vars(model.get_submodule(above)).get(name)
                found += [node.path] if type(value) in (int, float, str, bool) else []
    return found


def in_a_process(library: str, name: str, coverage: dict[str, Any], *, run: bool) -> dict[str, Any]:
    """What became of one model, in a fork of this process: libraries are imported once."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(receiving)
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        row: dict[str, Any] = {"library": library, "name": name}
        try:
            row = one(library, name, coverage, run=run)
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


def is_faulty(row: dict[str, Any]) -> bool:
    return "faults" in row and bool(row["faults"] or (row["traced"] and not row["complete"]))


def summary(rows: list[dict[str, Any]]) -> str:
    """A table of what was measured, each model that is gainsaid, and what is said most."""
    lines = [
        "| library | models | faults | modules | of them predicted | suspected numbers | seconds |",
        "|---" * 7 + "|",
    ]
    for library in dict.fromkeys(row["library"] for row in rows):
        own = [row for row in rows if row["library"] == library and "faults" in row]
        modules, expected = (sum(row[field] for row in own) for field in ("modules", "predicted"))
        faulty, phantoms = sum(map(is_faulty, own)), sum(len(row["suspected"]) for row in own)
        seconds = sum(row["seconds"] for row in own)
        lines.append(f"| {library} | {len(own)} | {faulty} | {modules} | {expected} | {phantoms} | {seconds:.0f} |")
    lines.append("")
    kinds: collections.Counter[str] = collections.Counter()
    for row in rows:
        if "skipped" in row:
            lines.append(f"- {row['library']} {row['name']}: {row['skipped']}")
        if is_faulty(row):
            lines.append(f"- {row['library']} {row['name']}: {len(row['faults'])} of {row['modules']} modules")
            lines += [f"  - {message}" for message in row["faults"][:MOST_SHOWN]]
            kinds.update(re.sub(r"'[^']*'|\[[^]]*\]|\S*\.\S*", "_", message) for message in row["faults"])
    return "\n".join([*lines, "", *(f"{count} times: {kind}" for kind, count in kinds.most_common(20))])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", metavar="LIBRARY:COUNT, or LIBRARY=NAME,NAME")
    parser.add_argument("--path", action="append", default=[], help="where libraries lie without their dependencies")
    parser.add_argument("--run", action="store_true", help="run the models too")
    parser.add_argument("--json", help="a file to which what was measured of each is added")
    parser.add_argument("--seconds", type=float, default=1e9, help="after which no other model is begun")
    options = parser.parse_args()
    coverage = runpy.run_path(str(HERE.with_name("trace_coverage.py")))
    coverage["prepare"](options.path)
    end = time.monotonic() + options.seconds
    rows = []
    for asked in options.libraries:
        library, named, names = asked.partition("=")
        library, _, count = library.partition(":")
        chosen = names.split(",") if named else coverage["evenly"](coverage["names_of"](library), int(count))
        for name in random.Random(0).sample(chosen, len(chosen)):  # so that a part stands for all
            if time.monotonic() < end:
                rows.append(in_a_process(library, name, coverage, run=options.run))
                if options.json:
                    with Path(options.json).open("a", encoding="utf-8") as out:
                        out.write(json.dumps(rows[-1]) + "\n")
    print(summary(rows))
    return int(any(map(is_faulty, rows)))


if __name__ == "__main__":
    sys.exit(main())
