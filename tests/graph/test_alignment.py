"""What ran is matched with what was predicted turn by turn: a loop is matched as the same turns written one by one."""

from __future__ import annotations

import random
import textwrap
import types
from pathlib import Path

import pytest

import modgraph
from modgraph.graph import alignment
from modgraph.graph.alignment import aligned
from modgraph.graph.model import Graph, Operation, SourceLocation
from modgraph.merge import merge
from tests.prediction.forward.judged import PRELUDE

torch = pytest.importorskip("torch")

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l, self.e = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, on):
{turns}
        return x
"""
BODIES = {
    "two arms": "y = self.l(x)\nif on[{t}] > 0:\n    x = y.sigmoid()\nelse:\n    x = y.tanh()\nx = x * 2",
    "one arm": "y = self.l(x)\nif on[{t}] > 0:\n    y = y.tanh()\nx = y + 1",
    "a module in an arm": "y = self.l(x)\nif on[{t}] > 0:\n    y = self.e(y)\nx = y + 1",
    "a module in each": "if on[{t}] > 0:\n    x = self.e(x).tanh()\nelse:\n    x = self.l(x).tanh()\nx = x + 1",
    "the same operation in both": "y = self.l(x)\nif on[{t}] > 0:\n    x = y.tanh() * 2\nelse:\n    x = y.tanh() * y",
    "operations alone": "if on[{t}] > 0:\n    x = x.tanh() + 1\nelse:\n    x = x.sigmoid() * 2",
    "two choices": (
        "y = self.l(x)\nif on[{t}] > 0:\n    y = y.tanh()\nif on[-{t} - 1] > 0:\n    y = y.sigmoid()\nx = y.exp()"
    ),
}
TURNS = 5


def written(body: str, *, unrolled: bool) -> str:
    if unrolled:
        text = "\n".join(body.format(t=turn) for turn in range(TURNS))
    else:
        text = f"for t in range({TURNS}):\n" + textwrap.indent(body.format(t="t"), "    ")
    return NET.format(turns=textwrap.indent(text, " " * 8))


def merged(folder: Path, text: str, on: list[float]) -> Graph:
    file = folder / "net.py"
    file.write_text(PRELUDE + text, encoding="utf-8")
    module = types.ModuleType("net")
    exec(compile(PRELUDE + text, str(file), "exec", dont_inherit=True), vars(module))
    real = modgraph.trace(module.Net().eval(), (torch.rand(2, 4), torch.tensor(on)))
    return merge(modgraph.predict(f"{file}:Net", inputs=["2x4", f"{TURNS}:float32"]), real)


def shape_of(graph: Graph) -> list[tuple[object, ...]]:
    """The dataflow, without lines: what ran is named for its place, what did not for what it takes."""
    names = {each.id: each.name for each in graph.operations}
    names.update((f"call:{call.index}", call.module) for call in graph.calls)
    ran = {each.id for each in graph.operations if each.observed}
    ran |= {f"call:{call.index}" for call in graph.calls if call.observed}
    outside = {end for edge in graph.edges for end in (edge.producer, edge.consumer) if end not in names}

    def named(end: str, depth: int = 0) -> object:
        if end in ran or end in outside or depth > 3:
            return end
        return names[end], tuple(sorted(str(named(one, depth + 1)) for one in feeding.get(end, ())))

    feeding: dict[str, list[str]] = {}
    for edge in graph.edges:
        feeding.setdefault(edge.consumer, []).append(edge.producer)
    edges = [(str(named(e.producer)), str(named(e.consumer)), e.predicted, e.observed) for e in graph.edges]
    parts = [(each.id, each.predicted) for each in graph.operations if each.observed]
    return sorted(map(str, (*edges, *parts)))


@pytest.mark.parametrize("body", BODIES)
def test_a_loop_is_matched_as_its_turns_one_by_one(tmp_path, body):
    pick = random.Random(body)
    for _ in range(2):
        on = [pick.choice([-1.0, 1.0]) for _ in range(TURNS)]
        loop, single = (merged(tmp_path, written(BODIES[body], unrolled=way), on) for way in (False, True))
        assert shape_of(loop) == shape_of(single), on
        assert all(each.predicted for each in loop.operations if each.observed), on


def row(text: str) -> list[Operation]:
    """ "a1 b2? c" for an operation a of line 1, one that may be of line 2, one of no line."""
    found = []
    for number, word in enumerate(text.split()):
        name, line = word[0], word[1:].rstrip("?")
        source = SourceLocation(file="m.py", line=int(line)) if line else None
        found.append(Operation(id=f"op:{number}", name=name, call=0, source=source, certain=not word.endswith("?")))
    return found


@pytest.mark.parametrize(
    ("may", "did", "pairs"),
    [
        ("a1 b2? a1 b2?", "a1 a1 b2", [(0, 0), (2, 1), (3, 2)]),
        ("a1? a2", "a2", [(1, 0)]),
        ("a1? a2?", "a2", [(1, 0)]),
        ("a1?", "a2", []),
        ("a1", "a2", [(0, 0)]),
        ("a b? c", "a c", [(0, 0), (2, 1)]),
        ("a1 b2? b3? c4 a1 b2? b3? c4", "a1 b3 c4 a1 b2 c4", [(0, 0), (2, 1), (3, 2), (4, 3), (5, 4), (7, 5)]),
        ("a1 b2", "c1 b2 a3", [(1, 1)]),
        ("", "a1", []),
    ],
)
def test_what_is_certain_and_of_one_line_comes_first(may, did, pairs):
    first, second = row(may), row(did)
    found = aligned(first, second, lambda one: one.name)
    assert [(int(one.id[3:]), int(two.id[3:])) for one, two in found] == pairs


@pytest.mark.parametrize(("limit", "value"), [("MAX_WEIGHED", 0), ("MAX_COMPARED", 0)])
def test_long_rows_are_matched_by_less(monkeypatch, limit, value):
    monkeypatch.setattr(alignment, "MAX_WEIGHED", 0)
    monkeypatch.setattr(alignment, limit, value)
    first, second = row("a b c d e"), row("a b d e")
    found = aligned(first, second, lambda one: one.name)
    assert [(one.name, two.name) for one, two in found] == [("a", "a"), ("b", "b"), ("d", "d"), ("e", "e")]
