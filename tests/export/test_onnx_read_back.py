"""A graph that is read back from the ONNX of a run is that of the run: the trace is the judge, for many architectures.

What cannot survive is taken out of both sides by `facts_of`, each with its reason:

- operations: those of the file are ONNX's, those of a trace torch's; the ways of data are followed through both;
- constants: a file has them folded, where a trace names each tensor that was made outside;
- the inputs of calls: a function takes what its operators read, which may be computed further out, or not be read;
- weights that nobody reads: a file has no place for them, so only those of modules that were called are compared;
- outputs that nobody reads: a function has none for them (`h` and `c` of an LSTM);
- the name of an output: a file has one where the trace has a number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import modgraph  # noqa: E402
from modgraph.graph.model import Graph  # noqa: E402

pytestmark = [pytest.mark.needs_torch, pytest.mark.usefixtures("onnx_table")]


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.act = nn.GELU()
        self.drop = nn.Dropout()
        self.b = nn.Linear(16, 4)

    def forward(self, x):
        return self.b(self.drop(self.act(self.a(x))))


class Residual(nn.Module):
    def __init__(self, width: int, down: bool):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.down = nn.Conv2d(width, width, 1) if down else None

    def forward(self, x):
        y = self.conv2(self.relu(self.bn1(self.conv1(x))))
        return self.relu(y + (x if self.down is None else self.down(x)))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Residual(4, True), Residual(4, False), Residual(4, False)])
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.never = nn.Linear(3, 3)
        self.head = nn.Sequential(nn.Flatten(), nn.Identity(), nn.Linear(4, 2))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(self.pool(x))


class Attention(nn.Module):
    def __init__(self, width: int, length: int):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = (each.view(n, t, 2, c // 2).transpose(1, 2) for each in self.qkv(x).split(c, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (c // 2) ** -0.5
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        y = (functional.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(n, t, c)
        return self.drop(self.proj(y))


class Block(nn.Module):
    def __init__(self, width: int, length: int):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(width), Attention(width, length)
        self.ln2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Decoder(nn.Module):
    """A GPT: tied weights, a causal mask, dropout after sums."""

    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(11, 8), nn.Embedding(6, 8)
        self.drop = nn.Dropout(0.1)
        self.blocks = nn.ModuleList([Block(8, 6) for _ in range(2)])
        self.ln = nn.LayerNorm(8)
        self.lm_head = nn.Linear(8, 11, bias=False)
        self.lm_head.weight = self.tok.weight

    def forward(self, ids):
        x = self.drop(self.tok(ids) + self.pos(torch.arange(ids.shape[1])))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln(x))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 3, num_layers=2, batch_first=True)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        y, _ = self.lstm(x)
        return self.head(y[:, -1])


class Several(nn.Module):
    """Two inputs, two outputs, a parameter of the model's own."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 6), nn.Linear(5, 6)
        self.scale = nn.Parameter(torch.rand(6))
        self.out = nn.Linear(6, 2)

    def forward(self, a, b):
        both = self.left(a) * self.scale + self.right(b)
        return self.out(both), both.sum(dim=-1)


class Shared(nn.Module):
    """One layer under two names, called three times, with a dropout that is called as often."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.act = nn.ReLU()
        self.drop = nn.Dropout()
        self.second = self.first

    def forward(self, x):
        for layer in (self.first, self.second, self.first):
            x = self.drop(self.act(layer(x)))
        return x


class Gate(nn.Module):
    """Several operators and no module inside."""

    def forward(self, x):
        return x * torch.sigmoid(x) + 1


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.Sequential(nn.Linear(4, 4), Gate(), nn.Dropout(), nn.Dropout(), Gate())

    def forward(self, x):
        return self.gates(x) - x


def encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[Any, ...]]] = {
    "perceptron of 2 dimensions": (Perceptron, (torch.rand(2, 8),)),
    "perceptron of 3 dimensions": (Perceptron, (torch.rand(2, 5, 8),)),
    "perceptron of 4 dimensions": (Perceptron, (torch.rand(2, 3, 5, 8),)),
    "residual convolutions": (Convolutions, (torch.rand(2, 4, 6, 6),)),
    "transformer encoder": (encoder, (torch.rand(2, 5, 8),)),
    "decoder with a causal mask": (Decoder, (torch.randint(0, 11, (2, 6)),)),
    "lstm": (Recurrent, (torch.rand(2, 5, 4),)),
    "several inputs and outputs": (Several, (torch.rand(2, 4), torch.rand(2, 5))),
    "shared module": (Shared, (torch.rand(2, 4),)),
    "leaves of several operators": (Gated, (torch.rand(2, 4),)),
}


class Facts(NamedTuple):
    modules: list[Any]
    calls: list[Any]
    edges: set[tuple[str, str]]
    ends: list[Any]


def facts_of(graph: Graph) -> Facts:
    """What a run and its file have to agree in."""
    names = {f"output:{name}": f"output:{i}" for i, name in enumerate(outputs_of(graph))}
    edges = [(edge.producer, names.get(edge.consumer, edge.consumer)) for edge in graph.edges]
    return Facts(
        [
            (
                node.path,
                node.class_name,
                node.alias_of,
                node.calls,
                [(held.name, held.shape, held.alias_of) for held in node.parameters if node.calls],
            )
            for node in graph.modules
        ],
        [(call.module, call.parent, [tensor.shape for tensor in call.outputs][:1]) for call in graph.calls],
        ways(edges),
        [[(given.name, [t.shape for t in given.tensors]) for given in graph.model.inputs]],
    )


def outputs_of(graph: Graph) -> list[str]:
    ends = (edge.consumer.removeprefix("output:") for edge in graph.edges if edge.consumer.startswith("output:"))
    return list(dict.fromkeys(ends))


def ways(edges: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """From whom to whom data goes, through any number of operations."""
    further: dict[str, list[str]] = defaultdict(list)
    for producer, consumer in edges:
        further[producer].append(consumer)
    found = set()
    for start in [end for end in further if not end.startswith(("op:", "const:"))]:
        pending, seen = [start], {start}
        while pending:
            for end in further[pending.pop()]:
                if not end.startswith("op:"):
                    found.add((start, end))
                elif end not in seen:
                    seen.add(end)
                    pending.append(end)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_the_file_of_a_run_has_its_modules_calls_shapes_and_dataflow(name, tmp_path):
    make, inputs = MODELS[name]
    torch.manual_seed(0)
    model = make().eval()
    traced = modgraph.trace(model, inputs)
    modgraph.export_onnx(model, tmp_path / "net.onnx", inputs)
    read = modgraph.load(tmp_path / "net.onnx")
    seen, expected = facts_of(read), facts_of(traced)
    assert seen.modules == expected.modules
    assert seen.calls == expected.calls
    assert seen.edges == expected.edges
    assert seen.ends == expected.ends
    assert not read.problems
    assert expected.edges


class Between(nn.Module):
    """A dropout between two operations: no call beside it tells where it stood."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout()

    def forward(self, x):
        return self.drop(x * 2) + x


def test_what_a_file_does_not_tell_is_a_problem_of_the_graph(tmp_path):
    model = Between().eval()
    modgraph.export_onnx(model, tmp_path / "net.onnx", (torch.rand(2, 4),))
    read = modgraph.load(tmp_path / "net.onnx")
    assert [(call.module, [t.shape for t in call.outputs]) for call in read.calls] == [
        ("", [(2, 4)]),
        ("drop", [(2, 4)]),
    ]
    (problem,) = read.problems
    assert problem.message.endswith("does not say where in the dataflow a call without operators stood: drop")
    assert ways([(edge.producer, edge.consumer) for edge in read.edges]) == {("input:x", "output:output")}
