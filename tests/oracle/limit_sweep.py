"""Lowers each limit of the prediction to 0, 1, 2, 5, 10, ... and looks at what becomes of the graphs:

    python tests/oracle/limit_sweep.py [MODEL ...] [--limits NAME ...] [--coarse]
    python tests/oracle/limit_sweep.py --undecided [EVERY]

A limit makes a graph know less, and nothing else: no exception, and each claim is one of the unlimited graph or said to
be unknown. A value is raised until the graph is the unlimited one twice. Prints what is not so; the status is 1 then.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import runpy
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from modgraph.graph.model import Graph, ModuleNode
from modgraph.prediction import predict_graph
from modgraph.prediction.domain import limits
from modgraph.source.roots import as_its_file_builds_it, find_roots
from modgraph.source.targets import Target, parse_target

SAMPLES = Path(__file__).parents[2] / "samples"
OUTSIDE = ("MAX_INHERITED", "MAX_NAME_DEPTH", "MAX_SHOWN_BITS", "MAX_SHOWN_SIZE")
"""What decides whether a class is a module at all, below which there is no graph but an error that names the limit; and
how integers and texts are written."""
LIMITS = sorted(
    name
    for name, value in vars(limits).items()
    if name.isupper() and isinstance(value, int | float) and name not in OUTSIDE
)
ELSEWHERE = ("MAX_ALIASES", "MAX_VISITED")
"""Those that stand in the one file that needs them. How deep plain attributes are looked into (`held.py`) is no limit: it
says what is a held module, for the trace as well."""
CHARGES = ("UNITS_OF_A_STEP", "ITEMS_OF_A_UNIT", "COPIES_OF_A_UNIT")
"""Costs, which are no limits; the first may not be 0."""

HOSTILE = {
    "registry": """
        import os
        MODELS = {}
        def register(name):
            def keep(cls):
                MODELS[name] = cls
                return cls
            return keep
        @register("a")
        class A(nn.Module):
            def __init__(self, n=4):
                super().__init__()
                self.l = nn.Linear(n, n)
        @register("b")
        class B(A):
            def __init__(self, n=8):
                super().__init__(n)
                self.m = nn.Conv2d(n, n, 3)
        WIDTHS = [2 ** n for n in range(6)]
        class Net(nn.Module):
            scale = {k: v for k, v in zip("abc", WIDTHS)}
            def __init__(self):
                super().__init__()
                self.made = nn.ModuleDict({k: v() for k, v in MODELS.items()})
                self.extra = [MODELS["a"](w) for w in WIDTHS[1:3]]
                self.last = nn.Linear(WIDTHS[-1], self.scale["c"])
    """,
    "branches": """
        import os, copy
        class Block(nn.Module):
            def __init__(self, n, deep=False):
                super().__init__()
                if deep and os.environ.get("x"):
                    self.a = nn.Linear(n, n)
                elif os.environ.get("y"):
                    self.a = nn.Conv1d(n, n, 1)
                else:
                    self.a = nn.Linear(n, 2 * n)
                self.inner = Block(n, deep) if os.environ.get("z") and n < 3 else None
                for i in range(int(os.environ.get("n", 3))):
                    setattr(self, f"c{i}", nn.ReLU())
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                block = Block(2, True)
                self.first = block
                self.layers = nn.ModuleList(copy.deepcopy(block) for _ in range(3))
                self.again = block
                self.tied = nn.Linear(3, 3)
                self.tied.weight = self.first.a.weight
                self.text = nn.Linear(len("-".join(str(n) for n in range(20))), 3)
    """,
    "shapes": """
        import functools, math, itertools, re
        from dataclasses import dataclass, field
        @dataclass
        class Config:
            widths: list = field(default_factory=lambda: [1, 2, 3])
            name: str = "net"
            def scaled(self, by): return [w * by for w in self.widths]
        def pairs(items):
            for a, b in zip(items, items[1:]):
                yield a, b
        class Held:
            def __init__(self): self.inside = {"k": [nn.ReLU(), nn.Linear(1, 2)]}
        class Net(nn.Module):
            def __init__(self, config=Config(), *, depth=3):
                super().__init__()
                self.blocks = nn.Sequential(*[nn.Linear(a, b) for a, b in pairs(config.scaled(4))])
                self.register_buffer("mask", torch.ones(depth, depth).tril(), persistent=False)
                self.weights = nn.ParameterList(nn.Parameter(torch.zeros(n, 2)) for n in range(1, depth))
                make = functools.partial(nn.Conv2d, kernel_size=3, bias=False)
                self.convs = nn.ModuleDict({re.sub("x", "y", f"x{i}"): make(i, i + 1) for i in range(1, 4)})
                self.held = Held()
                try:
                    self.bad = nn.Linear(config.missing, 2)
                except AttributeError:
                    self.bad = nn.Linear(7, 2)
                self.head = nn.MultiheadAttention(8, 2)
                self.rnn = nn.LSTM(4, 5, num_layers=2, bidirectional=True)
            def get_extra_state(self): return {}
    """,
    "script": """
        import argparse
        class Net(nn.Module):
            sizes = [4]
            def __init__(self, args, *layers):
                super().__init__()
                self.body = nn.Sequential(*layers, nn.Linear(args.width, Net.sizes[0]))
        Net.sizes.append(3)
        nn.Linear.extra = 1
        def main():
            parser = argparse.ArgumentParser()
            parser.add_argument("--width", type=int, default=12)
            args = parser.parse_args()
            return Net(args, nn.ReLU(), nn.Dropout(0.1))
        if __name__ == "__main__":
            main()
    """,
}
PRELUDE = "import torch\nfrom torch import nn\n"


def targets(folder: Path) -> dict[str, Target]:
    """The models by name; those of torchvision where it is there."""
    found: dict[str, Target] = {}
    for name, text in HOSTILE.items():
        file = folder / f"{name}.py"
        file.write_text(PRELUDE + "\n".join(line[8:] for line in text.splitlines()) + "\n", encoding="utf-8")
        found[name] = as_its_file_builds_it(parse_target(f"{file}:{'Net()' if name == 'registry' else 'Net'}"))
    for name in ("transformer_lm", "moe", "diffusion_unet_tiny", "factory", "vit"):
        found[name] = find_roots(parse_target(str(SAMPLES / f"{name}.py")))[0]
    for name in ("resnet18", "mobilenet_v3_small"):
        found[name] = parse_target(f"torchvision.models:{name}(weights=None)")
    return found


@contextlib.contextmanager
def lowered(name: str, value: int) -> Iterator[None]:
    """One limit at that value, wherever it was imported to."""
    where = [
        module for key, module in list(sys.modules.items()) if key.startswith("modgraph.prediction") and name in vars(module)
    ]  # fmt: skip
    before = [vars(module)[name] for module in where]
    for module in where:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, old in zip(where, before, strict=True):
            setattr(module, name, old)


def values(coarse: bool) -> Iterator[int]:
    """0, 1, 2, 5, 10, 20, 50, ...; with `coarse` fewer of them."""
    yield from (0, 3) if coarse else (0, 1, 2)
    for power in itertools.count():
        yield from (30 * 10**power,) if coarse else (5 * 10**power, 10 ** (power + 1), 2 * 10 ** (power + 1))


def faults_of(
    target: Target, whole: Graph, name: str, coarse: bool = False, tried: Iterable[int] | None = None
) -> Iterator[str]:
    """What is amiss with the graphs of a target under one limit."""
    same = 0
    for value in values(coarse) if tried is None else tried:
        if value == 0 and name in CHARGES[1:]:
            continue
        with lowered(name, value):
            try:
                graph = predict_graph(target)
            except Exception as error:
                yield f"{name} = {value}: {type(error).__name__}: {error}"
                continue
        yield from (f"{name} = {value}: {fault}" for fault in unsound(graph, whole))
        same = same + 1 if graph == whole else 0
        if same == 2 or value > 10**8:
            return


def unsound(graph: Graph, whole: Graph) -> Iterator[str]:
    """Claims of a graph that the unlimited one does not make, and what it leaves out as if it were not there."""
    known = {node.path: node for node in whole.modules}
    told = {problem.module for problem in graph.open_places}
    everything = None in told or "" in told
    paths = {node.path for node in graph.modules}
    if graph.complete and graph.modules != whole.modules:
        yield "complete, and another graph"
    for node in graph.modules:
        if node.path.rpartition(".")[2] == "?":
            continue
        if node.path in known:
            yield from _unsound_node(node, known[node.path], everything or node.path in told, paths)
        elif not (node.class_name is None and _is_told(node.path, graph)) and not _is_open(node.path, known):
            yield f"{node.path!r} is no module of the model"
    mine = {node.path: node for node in graph.modules}
    for path in known:
        if path not in paths and path.rpartition(".")[2] != "?" and not _is_open(path, mine):
            if _is_held(path, known) and graph.problems:
                continue  # what a plain attribute holds that is not known has no place of its own
            yield f"{path!r} is left out"
    shared = [path for path in known if path in paths]
    if shared != [node.path for node in graph.modules if node.path in known] and not everything:
        yield "in another order"
    for total in ("parameters", "trainable_parameters", "buffers"):
        if getattr(graph.model, total) not in (None, getattr(whole.model, total)):
            yield f"{getattr(graph.model, total)} {total}"


def _is_held(path: str, nodes: dict[str, ModuleNode]) -> bool:
    """It, or something above it, stands in a plain attribute."""
    return any(
        not node.registered for node in nodes.values() if f"{path}.".startswith((f"{node.path}.", f"{node.path}["))
    )


def _is_told(path: str, graph: Graph) -> bool:
    return any(problem.module in (path, path.rpartition(".")[0]) for problem in graph.open_places)


def _is_open(path: str, nodes: dict[str, ModuleNode]) -> bool:
    """Something above that path is not known, or may have further children; or is held by something whose
    attributes are not all known."""
    if nodes[""].class_name is None or "?" in nodes or ".?" in nodes:
        return True
    parts = path.split(".")
    for end in range(1, len(parts)):
        above = ".".join(parts[:end])
        if f"{above}.?" in nodes or (above in nodes and nodes[above].class_name is None):
            return True
    return False


def _unsound_node(node: ModuleNode, known: ModuleNode, told: bool, paths: set[str]) -> Iterator[str]:
    if node.class_name not in (None, known.class_name):
        yield f"{node.path!r} is a {node.class_name}, not a {known.class_name}"
    if node.registered != known.registered:
        yield f"{node.path!r} is registered: {node.registered}"
    if node.alias_of != known.alias_of and known.alias_of in paths and node.class_name is not None:
        yield f"{node.path!r} is an alias of {node.alias_of!r}, not of {known.alias_of!r}"
    unknown = set(known.arguments).intersection(node.unknown_arguments)
    for name in {*node.arguments, *known.arguments} - unknown:
        if name in node.arguments and node.arguments[name] != known.arguments.get(name) and not known.unknown_arguments:
            yield f"{node.path!r} was given {name}={node.arguments[name]!r}"
    for kind in ("parameters", "buffers"):
        mine = {each.name: each for each in getattr(node, kind)}
        theirs = {each.name: each for each in getattr(known, kind)}
        for name, each in mine.items():
            if name not in theirs:
                if not told:
                    yield f"{node.path!r} has no {name!r}"
            else:
                yield from (
                    f"{name!r} of {node.path!r}: {fault}" for fault in _unsound_tensor(each, theirs[name], paths)
                )
        if node.class_name is not None and not mine.keys() >= theirs.keys() and not told:
            yield f"{node.path!r} lacks {sorted(theirs.keys() - mine.keys())}"
    if (
        node.class_name is not None
        and (node.own_state_dict, node.extra_state) != (known.own_state_dict, known.extra_state)
        and not node.own_state_dict
    ):
        yield f"{node.path!r} has another state dict"


def _unsound_tensor(mine: Any, known: Any, paths: set[str]) -> Iterator[str]:
    if mine.shape is not None and known.shape is not None:
        if len(mine.shape) != len(known.shape) or any(
            a not in (None, b) for a, b in zip(mine.shape, known.shape, strict=True)
        ):
            yield f"shape {mine.shape}, not {known.shape}"
    elif mine.shape is not None:
        yield f"shape {mine.shape} of what has none"
    for name in ("dtype", "trainable", "persistent"):
        value = getattr(mine, name, None)
        if value is not None and value != getattr(known, name):
            yield f"{name} {value}, not {getattr(known, name)}"
    if (
        mine.alias_of not in (None, known.alias_of)
        and known.alias_of is not None
        and known.alias_of.rpartition(".")[0] in paths
    ):
        yield f"alias of {mine.alias_of}, not of {known.alias_of}"  # fmt: skip


STEPS = (3, 5, 8, 13, 20, 35, 45, 55, 65, 80)
"""Of which the interpretation of a model of the tests takes some fifty."""


def undecided_faults(every: int, steps: Iterable[int] = STEPS) -> Iterator[str]:
    """What is claimed of models of the tests, whose interpretation a limit has ended, and does not hold."""
    tests = Path(__file__).parents[1] / "prediction"
    harness = SimpleNamespace(**runpy.run_path(str(tests / "undecided.py")))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "net.py"
        for tested in sorted(tests.glob("test_undecided_*.py")):
            cases = runpy.run_path(str(tested))
            false = {name for names in cases.get("FALSE", {}).values() for name in names}
            for name in [each for each in cases["CASES"] if each not in false][::every]:
                text = harness.source(cases["CASES"][name], cases["HEADER"])
                file.write_text(text, encoding="utf-8")
                for value in steps:
                    with lowered("MAX_STEPS", value):
                        graph = predict_graph(parse_target(f"{file}:Net"))
                    for fault in harness.contradicted(graph, text) or ():
                        yield f"{name}: MAX_STEPS = {value}: {fault}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--limits", nargs="*", default=[*LIMITS, *ELSEWHERE])
    parser.add_argument("--coarse", action="store_true")
    parser.add_argument("--undecided", type=int, nargs="?", const=10, metavar="EVERY")
    options = parser.parse_args()
    count = 0
    if options.undecided:
        for fault in undecided_faults(options.undecided):
            print(f"  {fault}", flush=True)
            count += 1
        print(f"{count} faults")
        return int(count > 0)
    with tempfile.TemporaryDirectory() as folder:
        found = targets(Path(folder))
        for name in options.models or found:
            whole = predict_graph(found[name])
            print(f"{name}: {len(whole.modules)} modules, {len(whole.problems)} problems", flush=True)
            for limit in options.limits:
                for fault in faults_of(found[name], whole, limit, options.coarse):
                    print(f"  {name}: {fault}", flush=True)
                    count += 1
    print(f"{count} faults")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
