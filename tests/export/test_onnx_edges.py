"""The structural ONNX of real runs: opened up, it has the edges of the trace, each where it was."""

from __future__ import annotations

from collections import Counter

import onnx
import pytest

from modgraph.export.onnx.structural import structural_model
from modgraph.graph.index import GraphIndex
from modgraph.options import TraceOptions

torch = pytest.importorskip("torch")
nn = torch.nn
pytestmark = pytest.mark.needs_torch


class Block(nn.Module):
    def __init__(self, width: int, act: nn.Module) -> None:
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.act = act
        self.gain = nn.Parameter(torch.ones(width))
        self.idle = nn.Linear(width, width)

    def forward(self, x, mask):
        return x + self.act(self.act(self.fc(x)) * self.gain) * mask


class Residual(nn.Module):
    """Shared activation, a mask for all blocks, a skip around two containers, a container that is called twice."""

    def __init__(self) -> None:
        super().__init__()
        act = nn.ReLU()
        self.stem = nn.Sequential(nn.Linear(6, 4), nn.Tanh())
        self.blocks = nn.ModuleList(Block(4, act) for _ in range(3))
        self.tail = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.LayerNorm(4), nn.Identity()))

    def forward(self, x):
        stem = y = self.stem(x)
        mask = (x.sum(-1, keepdim=True) > 0).float()
        for block in self.blocks:
            y = block(y, mask)
        once = self.tail(y + stem)
        return {"first": once, "second": self.tail(once)}


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 4, batch_first=True)
        self.cell = nn.LSTMCell(4, 4)
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(8, 2)})

    def forward(self, x):
        output, (hidden, cell) = self.lstm(x)
        state = (hidden[-1], cell[-1])
        for step in output.unbind(1):
            state = self.cell(step, state)
        return self.heads["a"](state[0]), self.heads["b"](torch.cat(state, dim=-1))


class Experts(nn.Module):
    """A branch on data, and modules that only some inputs reach."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(4, 3)
        self.hidden = [nn.Sequential(nn.Linear(4, 4), nn.GELU()) for _ in range(3)]

    def forward(self, x):
        choice = self.router(x).argmax(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.hidden):
            rows = choice == number
            if rows.any():
                out[rows] = expert(x[rows])
        return out


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(1, 2, 3, padding=1), nn.Conv2d(2, 4, 3, padding=1)])
        self.middle = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU())
        self.up = nn.ModuleList([nn.Conv2d(8, 2, 3, padding=1), nn.Conv2d(4, 1, 3, padding=1)])

    def forward(self, x):
        skips = []
        for layer in self.down:
            x = layer(x).relu_()
            skips.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = self.middle(x)
        for layer in self.up:
            x = nn.functional.interpolate(x, scale_factor=2)
            x = layer(torch.cat([x, skips.pop()], dim=1))
        return x


MODELS = [
    (Residual, (2, 6)),
    (Recurrent, (1, 3, 4)),
    (Experts, (5, 4)),
    (UNet, (1, 1, 8, 8)),
]


def traced(make, shape):
    from modgraph.tracing import trace_graph

    torch.manual_seed(0)
    graph = trace_graph(make().eval(), (torch.randn(*shape),), {}, TraceOptions())
    assert graph.problems == ()
    return graph


def opened_edges(model: onnx.ModelProto) -> Counter[tuple[str, str]]:
    """(what made a value, what reads it), with every function call replaced by the function's content."""
    functions = {function.name: function for function in model.functions}
    edges: Counter[tuple[str, str]] = Counter()

    def run(nodes, known: dict[str, str], scope: str) -> dict[str, str]:
        for node in nodes:
            name = node.name.partition("@")[0]
            path = f"{scope}.{name}" if scope else name
            if node.op_type in functions:
                function = functions[node.op_type]
                inner = run(function.node, dict(zip(function.input, map(known.get, node.input), strict=True)), path)
                known |= {outer: inner[given] for outer, given in zip(node.output, function.output, strict=True)}
                continue
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            if "function" in attributes:
                path = f"{scope}:{attributes['function'].decode()}"
            elif node.op_type == "Parameter":
                path = f"param:{path}"
            elif node.op_type == "Constant":
                path = "const"
            edges.update((known[given], path) for given in node.input)
            known |= dict.fromkeys(node.output, path)
        return known

    known = run(model.graph.node, {value.name: f"input:{value.name}" for value in model.graph.input}, "")
    edges.update((known[value.name], "output") for value in model.graph.output)
    return edges


def graph_edges(graph) -> Counter[tuple[str, str]]:
    """The same of the graph, without what runs inside a leaf."""
    index = GraphIndex(graph)

    def scope(number: int | None) -> str:
        return "" if number is None else seen_path(number)

    def seen_path(number: int) -> str:
        """The path by which the call's surroundings name the module: below them where it stands there too."""
        call = graph.calls[number]
        if call.parent is None:
            return call.module
        parent = scope(call.parent)
        names = [call.module, *(node.path for node in graph.modules if node.alias_of == call.module)]
        below = [name for name in names if name.startswith(f"{parent}.") or not parent]
        return below[0] if below else f"{parent}.{call.module}"

    def end(text: str) -> str:
        kind, _, rest = text.partition(":")
        if kind == "call":
            return seen_path(int(rest))
        if kind == "op":
            operation = index.operations[text]
            return f"{scope(operation.call)}:{operation.name}"
        return text if kind in ("input", "param") else kind

    def is_inside_a_leaf(text: str) -> bool:
        operation = index.operations.get(text)
        return operation is not None and operation.call is not None and index.is_leaf_call(operation.call)

    return Counter((end(e.producer), end(e.consumer)) for e in graph.edges if not is_inside_a_leaf(e.consumer))


@pytest.mark.parametrize(("make", "shape"), MODELS, ids=[make.__name__ for make, _ in MODELS])
def test_opened_up_it_has_the_edges_of_the_trace(make, shape):
    graph = traced(make, shape)
    model = structural_model(graph)
    onnx.checker.check_model(model, full_check=True)
    assert opened_edges(model) == graph_edges(graph)


def test_blocks_that_share_an_activation_are_one_function():
    model = structural_model(traced(Residual, (2, 6)))
    assert [function.name for function in model.functions].count("Block") == 1
    assert not any(function.name == "Block_2" for function in model.functions)


def test_the_run_time_refuses_the_file():
    ort = pytest.importorskip("onnxruntime")
    content = structural_model(traced(UNet, (1, 1, 8, 8))).SerializeToString()
    with pytest.raises(Exception, match="modgraph"):
        ort.InferenceSession(content, providers=["CPUExecutionProvider"])
