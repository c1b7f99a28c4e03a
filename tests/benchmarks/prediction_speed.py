"""How fast the prediction is: `python tests/benchmarks/prediction_speed.py [PACKAGE ...] [--classes N]`.

Predicts the constructors of a fixed sample of module classes of installed packages (by default torch.nn's own), with
unknown arguments where they have none by default, and prints: classes per second; the time as a multiple of `ast.parse`
of the files reached; the time for one small file once the interpreter has started; peak memory. Imports no package.
"""

from __future__ import annotations

import argparse
import ast
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from modgraph.prediction.entry import interpreter, not_given, predict_value, with_deep_stack
from modgraph.prediction.machine import Interpreter
from modgraph.prediction.values import ClassValue
from modgraph.source.modules import SourceModule

SMALL = """
from torch import nn

class Block(nn.Module):
    def __init__(self, width, bias=False):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1, bias=bias)
        self.norm = nn.BatchNorm2d(width)
        self.act = nn.ReLU()

class Net(nn.Module):
    def __init__(self, width=32, depth=8):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, 10)
"""

TIMED = """
import sys, time
from modgraph.source.targets import parse_target
from modgraph.prediction import predict_graph
start = time.process_time()
graph = predict_graph(parse_target(sys.argv[1]))
print(time.process_time() - start, len(graph.modules))
"""


def class_names(machine: Interpreter, package: str) -> Iterator[str]:
    """Qualified names of the classes in the files of a package."""
    top = machine.finder.source(package)
    if top is None:
        raise SystemExit(f"there is no source of {package}")
    files = sorted(top.path.parent.rglob("*.py")) if top.is_package else [top.path]
    for file in files:
        parts = file.relative_to(top.path.parent).with_suffix("").parts if top.is_package else ()
        module = ".".join((package, *(part for part in parts if part != "__init__")))
        source = machine.finder.source(module)
        if source is not None:
            for name, definition in source.index.definitions.items():
                if definition.kind == "class" and "." not in name and definition.bases:
                    yield f"{module}.{name}"


def predicted(machine: Interpreter, names: list[str]) -> int:
    """Predicts those of the names that are module classes; how many these are."""
    count = 0
    for name in names:
        machine.start()
        cls = machine.resolve(name)
        if isinstance(cls, ClassValue) and machine.is_module_class(cls):
            predict_value(machine, cls, (), not_given(machine, cls, 0, {}))
            count += 1
    return count


def reached(machine: Interpreter) -> list[SourceModule]:
    """Modules whose index was read."""
    found = machine.finder._found.values()
    return [each for each in found if isinstance(each, SourceModule) and "index" in vars(each)]


def small_file() -> tuple[float, int]:
    """Seconds of CPU for one small file in a fresh process, without its start; and the number of modules found."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "small.py"
        file.write_text(SMALL)
        done = subprocess.run(
            [sys.executable, "-c", TIMED, f"{file}:Net"], capture_output=True, text=True, check=True, timeout=120
        )
    seconds, modules = done.stdout.split()
    return float(seconds), int(modules)


def measure(packages: list[str], limit: int) -> None:
    machine = interpreter(sys.path)
    names = sorted({name for package in packages for name in class_names(machine, package)})
    chosen = sorted(random.Random(0).sample(names, min(limit, len(names))))
    fresh = interpreter(sys.path)
    before = time.process_time()
    count = predicted(fresh, chosen)
    seconds = time.process_time() - before
    modules = reached(fresh)
    before = time.process_time()
    for source in modules:
        ast.parse(source.text)
    parsing = time.process_time() - before
    print(f"{count} module classes of {', '.join(packages)}: {seconds:.2f} s of CPU, {count / seconds:.0f} per second")
    print(f"{seconds / parsing:.1f} times ast.parse of the {len(modules)} files reached ({parsing:.2f} s)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", default=["torch.nn.modules"])
    parser.add_argument("--classes", type=int, default=200)
    options = parser.parse_args()
    with_deep_stack(lambda: measure(options.packages, options.classes))
    seconds, modules = sorted(small_file() for _ in range(3))[0]
    print(f"a small file of {modules} modules: {1000 * seconds:.0f} ms of CPU after start-up")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
