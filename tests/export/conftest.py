"""Graphs made by hand: `sketch("Net")` collects modules, calls and operations in a few words each."""

from __future__ import annotations

import dataclasses
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import (
    BufferInfo,
    Call,
    Edge,
    Graph,
    ModelInfo,
    ModelInput,
    ModuleNode,
    Operation,
    ParameterInfo,
    Problem,
    TensorInfo,
)

TORCH = {
    "Linear": "torch.nn.modules.linear.Linear",
    "Conv2d": "torch.nn.modules.conv.Conv2d",
    "BatchNorm2d": "torch.nn.modules.batchnorm.BatchNorm2d",
    "LayerNorm": "torch.nn.modules.normalization.LayerNorm",
    "ReLU": "torch.nn.modules.activation.ReLU",
    "Dropout": "torch.nn.modules.dropout.Dropout",
    "MaxPool2d": "torch.nn.modules.pooling.MaxPool2d",
    "Sequential": "torch.nn.modules.container.Sequential",
    "ModuleList": "torch.nn.modules.container.ModuleList",
}


class Sketch:
    """A graph that grows; ends of edges are what `call` and `op` return, and "input:x"."""

    def __init__(self, name: str = "Net", *, ran: bool = True, predicted: bool | None = True, **model: object) -> None:
        self.ran = ran
        self.predicted = predicted
        self.builder = GraphBuilder(
            ModelInfo(name=name, class_name=f"model.{name}", target=f"model.py:{name}", **model)
        )
        self.nodes: dict[str, ModuleNode] = {}
        self.shapes: dict[str, tuple[int, ...]] = {"input:x": (1, 8)}
        self.open: list[int] = []
        self.module("", f"model.{name}")
        if ran:
            self.enter("")

    def module(self, path: str, class_name: str | None, weight: tuple[int, ...] | None = None, **fields) -> str:
        parameters = (ParameterInfo(name="weight", shape=weight, dtype="float32"),) if weight else ()
        fields = {
            "predicted": self.predicted,
            "observed": True if self.ran else None,
            "parameters": parameters,
            **fields,
        }
        known = TORCH.get(class_name, class_name) if class_name else None
        self.nodes[path] = ModuleNode(path=path, class_name=known, **fields)
        return path

    def modules(self, *lines: str) -> None:
        """Lines of "path Class", a weight of (4, 4) behind a "*"."""
        for line in lines:
            path, class_name, *star = line.split()
            self.module(path, class_name, (4, 4) if star else None)

    def enter(self, path: str, error: str | None = None) -> int:
        index = len(self.builder.calls)
        parent = self.open[-1] if self.open else None
        self.builder.calls.append(Call(index=index, module=path, parent=parent, error=error))
        self.open.append(index)
        return index

    def leave(self) -> None:
        self.open.pop()

    def call(self, path: str, *feeds: str, shape: tuple[int, ...] | None = None, error: str | None = None) -> str:
        """A leaf call fed by `feeds`; its end."""
        index = self.enter(path, error)
        end = f"call:{index}"
        self._feed(end, feeds)
        self.leave()
        self.shapes[end] = shape or self.shapes.get(feeds[0], (1, 8)) if feeds else shape or (1, 8)
        output = TensorInfo(name="output", shape=self.shapes[end], dtype="float32")
        self.builder.calls[index] = dataclasses.replace(self.builder.calls[index], outputs=(output,))
        return end

    def chain(self, paths: str, feed: str) -> str:
        for path in paths.split():
            feed = self.call(path, feed)
        return feed

    def op(self, name: str, *feeds: str, shape: tuple[int, ...] | None = None) -> str:
        end = f"op:{len(self.builder.operations)}"
        self.builder.operations.append(Operation(id=end, name=name, call=self.open[-1] if self.open else None))
        self._feed(end, feeds)
        self.shapes[end] = shape or (self.shapes.get(feeds[0], (1, 8)) if feeds else (1, 8))
        return end

    def output(self, feed: str, name: str = "0") -> None:
        self._feed(f"output:{name}", (feed,))

    def problem(self, message: str, module: str | None = None) -> None:
        self.builder.problems.append(Problem(stage="trace", message=message, module=module))

    def _feed(self, end: str, feeds: tuple[str, ...]) -> None:
        for feed in feeds:
            tensor = TensorInfo(name="x", shape=self.shapes.get(feed, (1, 8)), dtype="float32")
            self.builder.edges.append(Edge(producer=feed, consumer=end, tensor=tensor))

    def graph(self) -> Graph:
        calls: dict[str, list[int]] = {}
        for call in self.builder.calls:
            calls.setdefault(call.module, []).append(call.index)
        self.builder.modules[:] = [
            dataclasses.replace(node, calls=tuple(calls.get(path, ()))) for path, node in self.nodes.items()
        ]
        return self.builder.build()


@pytest.fixture(scope="session")
def onnx_table() -> None:
    """Exports of torch's share the table that each of them would make: half of what a small model takes."""
    runpy.run_path(str(Path(__file__).parents[1] / "warm" / "onnx_table.py"))["keep"]()


@pytest.fixture
def sketch() -> Callable[..., Sketch]:
    return Sketch


def residual_net(blocks: int = 3, broken: int | None = None) -> Sketch:
    """A stem, `blocks` residual blocks of two linear layers, a head; the block `broken` has another width inside."""
    net = Sketch("Residual", parameters=1000, inputs=(_input((1, 8)),))
    net.modules("stem Linear *", "blocks Sequential")
    for number in range(blocks):
        net.module(f"blocks.{number}", "model.Block")
        net.module(f"blocks.{number}.fc1", "Linear", (5 if number == broken else 4, 4))
        net.modules(f"blocks.{number}.act ReLU", f"blocks.{number}.fc2 Linear *")
    net.modules("head Linear *")
    x = net.call("stem", "input:x", shape=(1, 4))
    net.enter("blocks")
    for number in range(blocks):
        net.enter(f"blocks.{number}")
        y = net.chain(f"blocks.{number}.fc1 blocks.{number}.act blocks.{number}.fc2", x)
        x = net.op("torch.add", y, x)
        net.leave()
    net.leave()
    net.output(net.call("head", x, shape=(1, 2)))
    return net


def states_net() -> Sketch:
    """Every state once, beside ordinary modules."""
    net = Sketch("Net", parameters=7504, inputs=(_input((1, 3, 32, 32)),))
    net.shapes["input:x"] = (1, 3, 32, 32)
    conv = {"arguments": {"in_channels": 16, "out_channels": 16, "kernel_size": 3}}
    net.module("conv", "Conv2d", (16, 3, 3, 3), arguments={"out_channels": 16, "kernel_size": 3})
    net.modules("relu ReLU", "blocks ModuleList")
    net.module("blocks.0", "Conv2d", (16, 16, 3, 3), **conv)
    net.module("blocks.1", "Conv2d", (16, 16, 3, 3), predicted=True, observed=False, **conv)
    net.module("blocks.2", "Conv2d", (16, 16, 3, 3), **conv)
    net.module("head", "Linear", (16, 16), predicted=False, observed=True)
    net.module("layers[0]", "Linear", (10, 16), registered=False)
    net.module("again", "Linear", (10, 16), alias_of="layers[0]")
    net.module("unsure", None)
    x = net.call("relu", net.call("conv", "input:x", shape=(1, 16, 32, 32)))
    x = net.call("head", net.call("blocks.0", x), shape=(1, 16))
    net.output(net.call("layers[0]", x, shape=(1, 10)))
    return net


def predicted_net() -> Sketch:
    """A tree without a run."""
    net = Sketch("Predicted", ran=False)
    net.modules("stem Sequential", "stem.0 Conv2d *", "stem.1 BatchNorm2d", "stem.2 ReLU", "blocks ModuleList")
    for number in range(3):
        net.module(f"blocks.{number}", "model.Block")
        net.modules(f"blocks.{number}.norm LayerNorm", f"blocks.{number}.fc Linear *")
    net.module("heads", "model.Heads")
    net.modules("heads.a Linear *", "heads.b Linear *")
    net.module("heads.?", None)
    net.module("tail", None)
    return net


def shared_source_net(blocks: int = 6) -> Sketch:
    """Unlike blocks that all get one mask."""
    net = Sketch("Masked", inputs=(_input((1, 8)),))
    net.modules("blocks ModuleList")
    for number in range(blocks):
        net.module(f"blocks.{number}", "model.Block")
        net.module(f"blocks.{number}.fc", "Linear", (4 + number, 4))
    mask = net.op("torch.full", shape=(1, 8))
    x = "input:x"
    for number in range(blocks):
        net.enter(f"blocks.{number}")
        x = net.op("torch.mul", net.call(f"blocks.{number}.fc", x), mask)
        net.leave()
    net.output(x)
    return net


HARMFUL = (
    'say "hi"', "</script><b>", "a\nb", "end", "x];n0-->n1", "%%{init: {}}%%", "#quot;#35;", "`code`", "**bold** _it_",
    "🙂 שלום", "n" * 10_000, "c\\d", "subgraph", "1. list", "- item", "+", "style x fill:#fff;", "www.example.com",
    "$$x^2$$", "fa:fa-car", "{{a}}", "a|b|c", "@{ shape: x }", "&amp;", "~~~", "click n0 call()", "---", "graph TB",
)  # fmt: skip
"""Names that mean something to DOT, XML, Mermaid, Markdown or a terminal."""


def harmful_net() -> Sketch:
    """Containers, classes and layers with names that would break a careless writer."""
    net = Sketch('"net" --- %%{x}')
    x = "input:x"
    for number, name in enumerate(HARMFUL):
        outer = net.module(f"{name.replace('.', '·')}{number}", f"m.{name}")
        net.enter(outer)
        for inner in ("one", "two"):
            x = net.call(net.module(f"{outer}.{inner} {name.replace('.', '·')}", f"m.{name}{number}"), x)
            net.shapes[x] = (1, f'`s0`|"[b] {number}')  # type: ignore[assignment]
        net.leave()
    net.output(x)
    return net


def _input(shape: tuple[int, ...]) -> ModelInput:
    return ModelInput(name="x", tensors=(TensorInfo(name="x", shape=shape, dtype="float32"),))


HOSTILE = {
    "quotes": "a'b\"c`d",
    "tags": "<img src=x onerror=alert(1)>",
    "script": "</script><script>alert(1)</script>",
    "comment": "<!--<script>",
    "noscript": "</noscript><p>",
    "lines": "one\ntwo\r\u2028three\x00",
    "emoji": "🧠👩‍🔬",
    "arabic": "\u202eطبقة",
    "long": "x" * 10_000,
    "slashes": "a/b\\c#d?e%20",
    "braces": "{{DATA}}${x}$&",
    "surrogate": "\ud800",
}
"""Names that would do harm where they are taken for anything but text."""


@pytest.fixture
def hostile_names() -> dict[str, str]:
    return HOSTILE


@pytest.fixture(params=HOSTILE)
def hostile(request: pytest.FixtureRequest) -> Sketch:
    """A net whose name, modules, arguments and problems have such a name."""
    name = HOSTILE[request.param]
    net = Sketch(name)
    net.module(name, "Linear", (4, 4), arguments={name: name})
    net.module("block", f"model.{name}")
    net.module(f"block.{name}", "ReLU")
    net.problem(name, name)
    net.enter("block")
    x = net.call(f"block.{name}", net.call(name, "input:x"))
    net.leave()
    net.output(x)
    return net


def two_towers_net() -> Sketch:
    """A tall frame with a wide skip on the main path; beside it a second input with a card of its own."""
    net = Sketch("Towers")
    net.modules("first Linear *", "second Linear *", "encoder ModuleList", "decoder ModuleList")
    for tower in ("encoder", "decoder"):
        net.module(f"{tower}.0", "model.Block")
        net.modules(f"{tower}.0.norm Linear *", f"{tower}.0.again Linear *", f"{tower}.0.mix Linear *")
        net.modules(f"{tower}.0.last Linear *")

    def block(path, *fed):
        net.enter(path)
        mixed = net.call(f"{path}.mix", net.call(f"{path}.norm", fed[0]), net.call(f"{path}.again", fed[-1]))
        y = net.op("torch.add", fed[0], mixed)
        z = net.op("torch.add", y, net.call(f"{path}.last", y))
        net.leave()
        return z

    memory = block("encoder.0", net.call("first", "input:src"))
    net.output(block("decoder.0", memory, net.call("second", "input:tgt")))
    return net


NETS = {
    "residual": residual_net,
    "states": states_net,
    "predicted": predicted_net,
    "masked": shared_source_net,
    "harmful": harmful_net,
    "towers": two_towers_net,
}


@pytest.fixture
def nets() -> dict[str, Callable[..., Sketch]]:
    return NETS


__all__ = ["NETS", "BufferInfo", "Sketch"]
