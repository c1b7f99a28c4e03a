"""A predicted run of `forward` held against a traced one: calls, operations by name and order, edges, shapes.

Where nothing is left open, both have to say the same; where something is, each operation that is claimed to be certain
has to be there.
"""

from __future__ import annotations

import itertools
import types
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import modgraph
from modgraph.graph.model import Graph
from modgraph.merge import merge
from tests.prediction.forward.judged import PRELUDE, is_whole

MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.l = nn.Linear({width}, {width}), nn.Linear({width}, 2)
        self.w = nn.Parameter(torch.ones({width}, 5))
    def forward(self, x):
        y = self.a(x)
        return {expression}
"""


def both(folder: Path, text: str, *shapes: str) -> tuple[Graph, Graph]:
    """Predicted and traced; of the same names of the file."""
    file = folder / "net.py"
    file.write_text(PRELUDE + text, encoding="utf-8")
    module = types.ModuleType("net")
    exec(compile(PRELUDE + text, str(file), "exec"), vars(module))
    torch.default_generator.manual_seed(0)
    given = [torch.rand(tuple(map(int, shape.split("x")))) for shape in shapes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real = modgraph.trace(module.Net().eval(), *given)
    assert not real.problems
    return modgraph.predict(f"{file}:Net", inputs=list(shapes)), real


def expression(folder: Path, text: str, shape: str) -> tuple[Graph, Graph]:
    """Of an expression of `y`, what a layer makes of `x`, with a further layer `l` and a parameter `w`."""
    return both(folder, MODEL.format(width=shape.rpartition("x")[2], expression=text), shape)


def differences(predicted: Graph, real: Graph) -> list[str]:
    """What is claimed and is not so; nothing where all of it is true."""
    if not is_whole(predicted) or not all(each.certain for each in (*predicted.operations, *predicted.edges)):
        names = iter([each.name for each in real.operations])
        return [each.name for each in predicted.operations if each.certain and each.name not in names]
    real = merge(predicted, real)  # which of its givers a tensor was taken from that one gave back, a run leaves open
    layers = {each.index for each in real.calls} - {each.parent for each in real.calls}
    layers -= {each.call for each in predicted.operations}
    sides: list[list[Any]] = []
    for graph in (predicted, real):
        calls = [(each.module, each.parent, each.direct) for each in graph.calls]
        # Those inside a layer of torch are told by a trace alone.
        told = {each.id: place for place, each in enumerate(o for o in graph.operations if o.call not in layers)}
        operations = [(each.name, each.call) for each in graph.operations if each.id in told]
        # A trace tells of a tensor that goes out at several places once.
        ends = ((each.producer, _without_place(each.consumer)) for each in graph.edges)
        named = {tuple(f"op {told[end]}" if end in told else end for end in edge) for edge in ends}
        edges = sorted(edge for edge in named if not any(end.startswith("op:") for end in edge))
        sides.append([calls, operations, edges])
    found = [f"{one} is not {other}" for one, other in zip(*sides, strict=True) if one != other]
    found += wrong_arguments(predicted, real)
    return found + wrong_shapes(predicted, real)


def wrong_arguments(predicted: Graph, real: Graph) -> list[str]:
    """Literals that operations are said to be given, and are not; those that are not known are left out."""
    ran = [each for each in real.operations if each.predicted]
    return [
        f"{one.name}: {one.arguments} is not of {other.arguments}"
        for one, other in zip(predicted.operations, ran, strict=False)
        if one.name == other.name and not one.arguments.items() <= other.arguments.items()
    ]


def _without_place(consumer: str) -> str:
    return "output" if consumer.startswith("output:") else consumer


def wrong_shapes(predicted: Graph, real: Graph) -> list[str]:
    """Of what goes out of calls: a size or dtype that is told, and is another."""
    found = []
    for told, ran in zip(predicted.calls, real.calls, strict=False):
        if len(told.outputs or ()) != len(ran.outputs or ()):
            found.append(f"{told.module} gives {len(told.outputs or ())}, not {len(ran.outputs or ())}")
        for mine, theirs in zip(told.outputs or (), ran.outputs or (), strict=False):
            if not _fits(mine.shape, theirs.shape) or mine.dtype not in (None, theirs.dtype):
                found.append(f"{told.module}: {mine.shape} {mine.dtype}, not {theirs.shape} {theirs.dtype}")
    return found


def _fits(told: Sequence[Any] | None, real: Sequence[Any] | None) -> bool:
    if told is None or real is None:
        return True
    pairs = itertools.zip_longest(told, real, fillvalue=-1)
    return all(mine is None or mine == theirs for mine, theirs in pairs)
