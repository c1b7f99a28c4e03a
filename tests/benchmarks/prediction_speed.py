"""How fast the prediction is: `python tests/benchmarks/prediction_speed.py [PACKAGE ...] [--classes N] [--cases FILE ...]
[--named FOLDER]`.

Predicts the constructors of a fixed sample of module classes of installed packages (by default torch.nn's own), with
unknown arguments where they have none by default; with `--cases`, the recorded calls of such files (those that
`tests/oracle/record_cases.py` makes) instead. With `--named`, ten classes that need arguments are named by the files of
a package, and predicted twice in one process, their arguments found in the package: what the search takes is told
beside. Each set runs in one fresh process, on one core. Prints the time of all
and of each, and how many are predicted per second; the time as a multiple of `ast.parse` of the files reached; peak
memory; and for one small file the time from the start of the interpreter to the graph, with and without the cache of
indexes on disk. Times are of CPU, so that other work on the machine counts little. Imports no package that it
predicts.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain.values import ClassValue
from modgraph.prediction.entry import interpreter, not_given, predict_value
from modgraph.prediction.interpreter import Interpreter
from modgraph.source.modules import SourceModule

sys.path.append(str(Path(__file__).parents[1] / "oracle"))

import score_cases
import zoo_bridge

ASKED = ("id", "class", "args", "varargs", "varkw", "entry")

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
import time
started = time.process_time()
import libcst
third_party = time.process_time()
from modgraph.prediction import entry, predict_graph
from modgraph.prediction.answer import tree
from modgraph.source.targets import parse_target
imported = time.process_time()
predict_graph(parse_target(TARGET))
done = time.process_time()
print(third_party - started, imported - third_party, done - imported)
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


def predict_class(machine: Interpreter, name: str) -> int:
    """Predicts it if it is a module class; 1 if it is."""
    cls = machine.resolve(name)
    if not isinstance(cls, ClassValue) or not machine.is_module_class(cls):
        return 0
    predict_value(machine, cls, (), not_given(machine, cls, 0, {}))
    return 1


def predict_case(machine: Interpreter, question: dict[str, Any]) -> int:
    zoo_bridge.predict(machine, question)
    return 1


def reached(machine: Interpreter) -> list[SourceModule]:
    """Modules whose index was read."""
    found = machine.finder._found.values()
    return [each for each in found if isinstance(each, SourceModule) and "index" in vars(each)]


def named_classes(folder: Path, most: int) -> list[str]:
    """Targets of classes of a package, each of another file, whose `__init__` needs arguments and that are called as a
    model is."""
    found: list[str] = []
    files = sorted(folder.rglob("*.py"))
    for file in random.Random(0).sample(files, len(files)):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name.endswith(("Model", "Net", "Transformer")) and needs(node):
                found.append(f"{file}:{node.name}")
                break
        if len(found) == most:
            break
    return found


def needs(node: ast.ClassDef) -> bool:
    """Its own `__init__` has a parameter without a default."""
    own = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    return any(len(each.args.args) - len(each.args.defaults) > 1 for each in own)


def measure_named(file: Path) -> None:
    """Predicts the targets in the lines of a file, without `forward`, twice, and prints what each takes."""
    import modgraph
    from modgraph.arguments import choosing

    searched = 0.0
    search = choosing.candidates

    def timed(*given: Any, **named: Any) -> Any:
        nonlocal searched
        before = time.process_time()
        try:
            return search(*given, **named)
        finally:
            searched += time.process_time() - before

    choosing.candidates = timed  # type: ignore[assignment]
    targets = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for which in ("first", "second"):
        searched, before = 0.0, time.process_time()
        most = 0.0
        for target in targets:
            done = searched
            modgraph.predict(target, forward=False)
            most = max(most, searched - done)
        each = 1000 * (time.process_time() - before) / len(targets)
        search_each = 1000 * searched / len(targets)
        print(
            f"  {which} time: {each:.0f} ms of CPU for each of {len(targets)} classes; of these the search for arguments "
            f"{search_each:.0f}, at most {1000 * most:.0f}"
        )
    print(f"  peak memory {peak_memory():.0f} MB", flush=True)


def peak_memory() -> float:
    """MB that this process held at most; `ru_maxrss` would begin with what its parent held."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("there is no VmHWM in /proc/self/status")


def measure(file: Path, kind: str) -> None:
    """Predicts what stands in the lines of a file, in this process, and prints the figures."""
    machine = interpreter(sys.path)
    predict: Callable[[Interpreter, Any], int] = predict_class if kind == "classes" else predict_case
    count = 0
    before = time.process_time()
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            machine.start()
            count += predict(machine, json.loads(line))
    seconds = time.process_time() - before
    memory = peak_memory()
    modules = reached(machine)
    before = time.process_time()
    for source in modules:
        ast.parse(source.text)
    parsing = time.process_time() - before
    each = 1000 * seconds / count
    print(f"  {seconds:.1f} s of CPU for {count} {kind}: {each:.1f} ms each, {count / seconds:.0f} per second")
    print(f"  {seconds / parsing:.1f} times ast.parse of the {len(modules)} files reached ({parsing:.1f} s)")
    print(f"  peak memory {memory:.0f} MB", flush=True)


def measured_apart(title: str, rows: list[Any], kind: str) -> None:
    """`measure` in a fresh process, whose memory is that of the prediction alone."""
    print(title, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.jsonl")
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        subprocess.run([sys.executable, __file__, "--measure", str(file), "--kind", kind], check=True)


def small_file(cache: str, compiled: str) -> list[float]:
    """Seconds of CPU for one small file in a fresh process: libcst's import, modgraph's, and the prediction. `compiled`
    keeps the bytecode of what is imported, as an installation does, whatever this process is told of it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "small.py")
        file.write_text(SMALL)
        script = TIMED.replace("TARGET", repr(f"{file}:Net"))
        environment = {**os.environ, "MODGRAPH_CACHE": cache, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120, env=environment
        )
    return [float(part) for part in done.stdout.split()]


def measure_small(runs: int = 5) -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as compiled:
        for title, cache in (("no cache", "off"), ("with the cache", folder)):
            small_file(cache, compiled)
            measured = [small_file(cache, compiled) for _ in range(runs)]
            libcst, own, prediction = (1000 * min(part) for part in zip(*measured, strict=True))
            print(
                f"one small file, {title}: {prediction:.0f} ms of CPU once all is imported; "
                f"the imports take {own:.0f} ms, and libcst's own {libcst:.0f} ms"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", help="default: torch.nn.modules")
    parser.add_argument("--classes", type=int, default=200, help="size of the sample of a package's classes")
    parser.add_argument("--cases", nargs="+", type=Path, default=[], metavar="FILE", help="recorded calls, .jsonl.xz")
    parser.add_argument("--named", type=Path, metavar="FOLDER", help="of a package, classes of which are named by file")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kind", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        if options.kind == "named":
            measure_named(options.measure)
        else:
            with_deep_stack(lambda: measure(options.measure, options.kind))
        return
    if options.named:
        measured_apart(str(options.named), list(named_classes(options.named, 10)), "named")
    if options.cases:
        rows = [
            {key: row[key] for key in ASKED if key in row} for file in options.cases for row in score_cases.read(file)
        ]
        measured_apart(", ".join(file.name for file in options.cases), rows, "cases")
    if options.packages or not (options.cases or options.named):
        packages = options.packages or ["torch.nn.modules"]
        machine = interpreter(sys.path)
        names = sorted({name for package in packages for name in class_names(machine, package)})
        sample = sorted(random.Random(0).sample(names, min(options.classes, len(names))))
        measured_apart(", ".join(packages), sample, "classes")
    measure_small()


if __name__ == "__main__":
    main()
