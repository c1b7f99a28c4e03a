"""What is predicted of `forward` against a real run of the same model: calls, nesting, operations, edges, shapes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.export.text.summary import summary
from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch
PRELUDE = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

MODELS: dict[str, tuple[str, list[str]]] = {
    "residual blocks, in place, a parameter used directly": (
        """
        class Block(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.conv = nn.Conv2d(width, width, 3, padding=1)
                self.act = nn.ReLU(inplace=True)
                self.scale = nn.Parameter(torch.ones(1))

            def forward(self, x):
                y = F.relu(self.act(self.conv(x))) * self.scale
                y += x
                return x + y

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.Sequential(Block(3), Block(3))
                self.fc = nn.Linear(3, 2)

            def forward(self, x):
                x = self.blocks(x)
                n = x.size(0)
                x = x.mean((2, 3)).view(n, -1)
                x[:, 0] = 0
                a, b = x.chunk(2, dim=0) if n > 1 else (x, x)
                return {"y": self.fc(x), "z": torch.cat([a, b])}
        """,
        ["2x3x8x8"],
    ),
    "modules in lists and dicts, one called twice": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.steps = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
                self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 5)})
                self.act = nn.Tanh()

            def forward(self, x):
                for number, step in enumerate(self.steps):
                    x = self.act(step(x)) if number % 2 == 0 else step(x)
                return tuple(head(x) for head in self.heads.values())
        """,
        ["3x4"],
    ),
    "modules made in forward, forward called past __call__": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)

            def forward(self, x):
                x = nn.ReLU()(self.fc(x))
                x = nn.Sequential(nn.Tanh(), nn.Sigmoid())(x)
                return self.fc.forward(x)
        """,
        ["2x3"],
    ),
    "arguments by name and in a row, several outputs": (
        """
        class Mix(nn.Module):
            def forward(self, a, *more, scale=None, **rest):
                return a + more[0], a * scale

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.mix = Mix()
                self.fc = nn.Linear(3, 3)

            def forward(self, x, y):
                both, scaled = self.mix(x, y, scale=self.fc(x), other=y)
                return both @ scaled.T
        """,
        ["2x3", "2x3"],
    ),
    "embedding, recurrence and attention": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(20, 8)
                self.rnn = nn.GRU(8, 8, batch_first=True)
                self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
                self.norm = nn.LayerNorm(8)
                self.out = nn.Linear(8, 20, bias=False)

            def forward(self, ids):
                x = self.embed(ids)
                x, last = self.rnn(x)
                y, _ = self.attend(x, x, x)
                return self.out(self.norm(x + y))[:, -1]
        """,
        ["2x5:int64"],
    ),
    "a branch on a shape, on a flag and on the mode": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.small, self.large = nn.Linear(3, 3), nn.Linear(3, 3)
                self.aux = nn.Linear(3, 1)

            def forward(self, x, deep=True):
                x = self.large(x) if x.shape[0] > 4 else self.small(x)
                if deep:
                    x = self.small(x)
                if self.training:
                    return x, self.aux(x)
                return x
        """,
        ["6x3"],
    ),
    "hooks of the source": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc, self.extra = nn.Linear(3, 3), nn.Linear(3, 3)
                self.fc.register_forward_hook(lambda module, args, out: self.extra(out))

            def forward(self, x):
                return self.fc(x)
        """,
        ["2x3"],
    ),
}


def both(folder: Path, text: str, inputs: list[str]) -> tuple[Graph, Graph]:
    """The prediction, and what a run saw."""
    file = folder / "net.py"
    file.write_text(PRELUDE + textwrap.dedent(text), encoding="utf-8")
    predicted = modgraph.predict(f"{file}:Net", inputs=inputs)
    traced = modgraph.analyze(f"{file}:Net", inputs=inputs)
    return predicted, traced


def calls(graph: Graph) -> list[tuple[Any, ...]]:
    return [
        (
            call.module,
            call.parent,
            call.direct,
            None if call.source is None else call.source.line,
            [(each.name, each.shape) for each in call.inputs],
            [(each.name, each.shape) for each in call.outputs],
        )
        for call in graph.calls
        if call.observed is not False and call.certain
    ]


def of_users(graph: Graph) -> tuple[list[tuple[str, int | None]], set[tuple[str, str, Any]]]:
    """Operations outside of torch's own layers, and the edges that do not end in one of these."""
    classes = {node.path: node.class_name or "" for node in graph.modules}
    layers = {call.index for call in graph.calls if classes[call.module].startswith("torch.nn.modules.")}
    operations = [each for each in graph.operations if each.observed is not False and each.call not in layers]
    names = {each.id: f"op {number}" for number, each in enumerate(operations)}
    edges = {
        (names.get(edge.producer, edge.producer), names.get(edge.consumer, edge.consumer), edge.tensor.shape)
        for edge in graph.edges
        if edge.observed is not False and edge.certain and not edge.producer.startswith("const:")
    }
    inside = {each.id for each in graph.operations} - names.keys()
    return [(each.name, each.call) for each in operations], {
        edge for edge in edges if not inside.intersection(edge[:2])
    }


@pytest.mark.parametrize("name", MODELS)
def test_calls_operations_and_edges_are_those_of_a_run(name: str, tmp_path: Path):
    predicted, traced = both(tmp_path, *MODELS[name])

    assert not predicted.problems
    assert calls(predicted) == calls(traced)
    assert of_users(predicted) == of_users(traced)
    assert all(call.predicted and call.observed is None for call in predicted.calls)
    assert all(call.predicted and call.observed for call in traced.calls if call.observed is not False)


def test_what_a_run_did_not_take_stands_beside_it(tmp_path: Path):
    text, inputs = MODELS["a branch on a shape, on a flag and on the mode"]
    predicted, graph = both(tmp_path, text, inputs)

    conditional = [(call.module, call.condition.text) for call in predicted.calls if call.condition]
    assert conditional == [("aux", "self.training")]
    untaken = [(call.module, call.condition.text) for call in graph.calls if call.observed is False and call.condition]
    assert untaken == [("aux", "self.training")]
    assert graph.complete
    ways = {(edge.producer, edge.consumer) for edge in graph.edges if edge.observed is False}
    number = next(call.index for call in graph.calls if call.observed is False)
    assert (f"call:{number}", "output:1") in ways
    assert "not taken   in this run: aux (self.training)" in summary(graph)


def test_another_call_of_what_has_run_is_no_module_that_was_not_taken(tmp_path: Path):
    text = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.head, self.aux, self.body = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
                self.same = self.body

            def forward(self, x, twice=False):
                x = self.head(self.body(x))
                if x.norm() > 1e6:
                    x = self.aux(self.head(x))
                return self.same(x) if twice else x
    """
    _, graph = both(tmp_path, text, ["2x3"])
    expected = "a call of head (x.norm() > 1e6), aux (x.norm() > 1e6), a call of body (twice)"
    assert f"in this run: {expected}" in " ".join(summary(graph).split())
