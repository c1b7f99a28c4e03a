"""Predicts every class in the sources of installed packages, and lists those on which the prediction itself fails.

    python tests/oracle/robustness_sweep.py torch.nn torchvision stdlib [--every 5] [--seconds 2]

Arguments that a constructor requires are left out, and so unknown. What is looked for: an exception that is none of
`TargetError`, a fault of the interpreter that ended as an "internal error", and a prediction that outlasts its limits.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib.util
import sys
import sysconfig
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from modgraph.errors import TargetError
from modgraph.prediction import entry
from modgraph.prediction.limits import MAX_SECONDS
from modgraph.prediction.machine import Interpreter
from modgraph.prediction.tree import build_graph
from modgraph.source.targets import Target

SLACK = 5.0
"""Seconds that reading the files may take beside the limit."""


@dataclass
class Result:
    """What the sweep of one tree of files found."""

    predicted: int = 0
    with_unknown: int = 0
    refused: int = 0
    slowest: tuple[float, str] = (0.0, "")
    faults: list[str] = field(default_factory=list)


def folder_of(name: str) -> Path:
    """Where the source of a package lies; of the standard library for "stdlib"."""
    if name == "stdlib":
        return Path(sysconfig.get_path("stdlib"))
    top, *rest = name.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{name} is not installed")
    return Path(spec.origin).parent.joinpath(*rest)


def classes(folder: Path, package: str) -> Iterator[tuple[str, str]]:
    """Module and name of every class at the top of a module below the folder."""
    prefix = "" if package == "stdlib" else f"{package}."
    for file in sorted(folder.rglob("*.py")):
        if "site-packages" in file.relative_to(folder).parts:
            continue
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError, RecursionError):
            continue
        parts = file.relative_to(folder).with_suffix("").parts
        module = (prefix + ".".join(parts[:-1] if parts[-1] == "__init__" else parts)).rstrip(".")
        yield from ((module, node.name) for node in tree.body if isinstance(node, ast.ClassDef))


def predict(machine: Interpreter, module: str, name: str, result: Result) -> None:
    """One class; whatever goes wrong is added to the faults."""
    target = Target(text=f"{module}:{name}", module=module, name=name)
    started = time.perf_counter()
    try:
        machine.start()
        source = entry.load_target(machine, target)
        prediction = entry._predict(machine, source, target)
        result.predicted += 1
        result.with_unknown += bool(build_graph(prediction, target).problems)
    except TargetError:
        result.refused += 1
    except Exception:
        result.faults.append(f"{module}:{name}\n{traceback.format_exc(limit=-3)}")
    seconds = time.perf_counter() - started
    result.slowest = max(result.slowest, (seconds, f"{module}:{name}"))
    if seconds > MAX_SECONDS + SLACK:
        result.faults.append(f"{module}:{name} took {seconds:.1f} s")


def sweep(package: str, every: int = 1) -> Result:
    """Predicts every `every`-th class below a package, faults of the interpreter let through."""
    machine = entry.interpreter(sys.path)
    machine.strict = True
    result = Result()
    for number, (module, name) in enumerate(classes(folder_of(package), package)):
        if number % every == 0:
            predict(machine, module, name, result)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--every", type=int, default=1, help="only every N-th class")
    options = parser.parse_args()
    failed = False
    for package in options.packages:
        result = entry.with_deep_stack(functools.partial(sweep, package, options.every))
        seconds, slowest = result.slowest
        print(
            f"{package}: {result.predicted} classes predicted ({result.with_unknown} with something unknown), "
            f"{result.refused} are no modules, {len(result.faults)} faults, slowest {seconds:.1f} s {slowest}"
        )
        for fault in result.faults:
            print(fault)
        failed = failed or bool(result.faults)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
