"""Predicts every class in the sources of installed packages, and lists those on which the prediction itself fails.

    python tests/oracle/robustness_sweep.py torch.nn torchvision transformers stdlib [--part 2/10] [--json FILE]

Every class that can be named from outside is taken: those at the top of a module, below an `if` or `try` there, and
inside other classes; what is no module as well, since its constructor is interpreted all the same. Arguments that a
constructor requires are left out, and so unknown. What is looked for: an exception that is none of `TargetError`, a
fault of the interpreter that ended as an "internal error", and a prediction that outlasts its limits.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib.util
import itertools
import json
import resource
import sys
import sysconfig
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from modgraph.errors import TargetError
from modgraph.prediction import deep_stack, entry
from modgraph.prediction.answer.tree import build_graph
from modgraph.prediction.interpreter import Interpreter
from modgraph.source.targets import Target

SECONDS = 60.0
"""More than the work that one prediction may do takes."""


@dataclass
class Result:
    """What the sweep of one tree of files found."""

    package: str
    predicted: int = 0
    """Modules: there is a graph."""
    with_unknown: int = 0
    refused: int = 0
    """No modules, or names that another statement of the file has taken: an error that says so."""
    unparsed: int = 0
    """Files that are no Python of this version."""
    slowest: tuple[float, str] = (0.0, "")
    seconds: float = 0.0
    megabytes: int = 0
    """Peak of the process when the package was done."""
    faults: list[str] = field(default_factory=list)

    def text(self) -> str:
        """One line with all the figures."""
        seconds, slowest = self.slowest
        return (
            f"{self.package}: {self.predicted} classes predicted ({self.with_unknown} with something unknown), "
            f"{self.refused} are no modules, {self.unparsed} files are not parsed, {len(self.faults)} faults, "
            f"slowest {seconds:.1f} s {slowest}, {self.seconds:.0f} s in all, peak {self.megabytes} MB"
        )


def folder_of(name: str) -> Path:
    """Where the source of a package lies; of the standard library for "stdlib"."""
    if name == "stdlib":
        return Path(sysconfig.get_path("stdlib"))
    top, *rest = name.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{name} is not installed")
    return Path(spec.origin).parent.joinpath(*rest)


def classes(folder: Path, package: str, result: Result | None = None, files: int = 1) -> Iterator[tuple[str, str]]:
    """Module and qualified name of every class in every so-manieth file below the folder that can be named from outside."""
    prefix = "" if package == "stdlib" else f"{package}."
    found = (each for each in sorted(folder.rglob("*.py")) if "site-packages" not in each.relative_to(folder).parts)
    for file in itertools.islice(found, 0, None, files):
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError, RecursionError):
            if result is not None:
                result.unparsed += 1
            continue
        parts = file.relative_to(folder).with_suffix("").parts
        module = (prefix + ".".join(parts[:-1] if parts[-1] == "__init__" else parts)).rstrip(".")
        yield from ((module, name) for name in dict.fromkeys(named_classes(tree.body)))


def named_classes(body: Iterable[ast.AST], prefix: str = "") -> Iterator[str]:
    """Qualified names of the classes in a body, also below its compound statements; none inside functions."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name
            yield from named_classes(node.body, f"{prefix}{node.name}.")
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            yield from named_classes(ast.iter_child_nodes(node), prefix)


def predict(machine: Interpreter, module: str, name: str, result: Result) -> None:
    """One class; whatever goes wrong is added to the faults."""
    target = Target(text=f"{module}:{name}", module=module, name=name)
    started = time.process_time()
    try:
        machine.start()
        prediction = entry._predict(machine, target, None)
        problems = build_graph(prediction, target).problems
        result.predicted += 1
        result.with_unknown += bool(problems)
    except TargetError:
        result.refused += 1
    except Exception:
        result.faults.append(f"{module}:{name}\n{traceback.format_exc(limit=-8)}")
    seconds = time.process_time() - started
    result.slowest = max(result.slowest, (seconds, f"{module}:{name}"))
    if seconds > SECONDS:
        result.faults.append(f"{module}:{name} took {seconds:.1f} s")


def sweep(package: str, every: int = 1, part: tuple[int, int] = (1, 1), files: int = 1) -> Result:
    """Predicts every `every`-th class of that part of a package (2 of 10), faults of the interpreter let through.

    Args:
        files: only every so-manieth file is read at all.
    """
    machine = entry.interpreter(sys.path)
    machine.strict = True
    result = Result(package)
    started = time.process_time()
    found = list(classes(folder_of(package), package, result, files))[::every]
    number, of = part
    for module, name in found[len(found) * (number - 1) // of : len(found) * number // of]:
        predict(machine, module, name, result)
    result.seconds = time.process_time() - started
    result.megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return result


def part_of(text: str) -> tuple[int, int]:
    """(2, 10) of "2/10"."""
    number, _, of = text.partition("/")
    if not 1 <= int(number) <= int(of):
        raise ValueError(text)
    return int(number), int(of)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--every", type=int, default=1, help="only every N-th class")
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="K/N", help="only the K-th of N parts")
    parser.add_argument("--json", type=Path, help="write the figures into this file as well")
    options = parser.parse_args()
    results = []
    for package in options.packages:
        result = deep_stack.with_deep_stack(functools.partial(sweep, package, options.every, options.part))
        print("\n".join([result.text(), *result.faults]), flush=True)
        results.append(result)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n", "utf-8")
    sys.exit(1 if any(result.faults for result in results) else 0)


if __name__ == "__main__":
    main()
