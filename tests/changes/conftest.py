"""Models written down as trees: their graphs, made here, and those that are predicted from their source."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import BufferInfo, Graph, ModelInfo, ModuleNode, ParameterInfo

HEAD = "import os\nimport torch\nfrom torch import nn\n"


def written(node: Any) -> str:
    """A tree as an expression: a text is itself, a list a Sequential, a dict a ModuleDict."""
    if isinstance(node, list):
        return f"nn.Sequential({', '.join(map(written, node))})"
    if isinstance(node, dict):
        return "nn.ModuleDict({" + ", ".join(f"{name!r}: {written(inner)}" for name, inner in node.items()) + "})"
    return node


def nodes_of(path: str, node: Any) -> list[ModuleNode]:
    """The modules of a tree, as the prediction gives them."""
    if not isinstance(node, str):
        kind = "Sequential" if isinstance(node, list) else "ModuleDict"
        items = enumerate(node) if isinstance(node, list) else node.items()
        inner = [each for name, below in items for each in nodes_of(f"{path}.{name}", below)]
        return [ModuleNode(path=path, class_name=f"torch.nn.modules.container.{kind}", predicted=True), *inner]
    kind, _, rest = node.removeprefix("nn.").partition("(")
    given = [float(each) if "." in each else int(each) for each in rest.rstrip(")").split(", ") if each]
    home, names, weight, bias = _LAYERS[kind]
    shapes = {"weight": weight(*given), "bias": bias(*given)} if weight else {}
    buffers = (
        (
            BufferInfo(name="running_mean", shape=(given[0],), dtype="float32"),
            BufferInfo(name="running_var", shape=(given[0],), dtype="float32"),
            BufferInfo(name="num_batches_tracked", shape=(), dtype="int64"),
        )
        if "BatchNorm" in kind
        else ()
    )
    return [
        ModuleNode(
            path=path,
            class_name=f"torch.nn.modules.{home}.{kind}",
            predicted=True,
            arguments=dict(zip(names, given, strict=True)),
            parameters=tuple(ParameterInfo(name=name, shape=shape, dtype="float32") for name, shape in shapes.items()),
            buffers=buffers,
        )
    ]


_LAYERS: dict[str, Any] = {
    "Linear": ("linear", ("in_features", "out_features"), lambda i, o: (o, i), lambda i, o: (o,)),
    "Conv2d": (
        "conv",
        ("in_channels", "out_channels", "kernel_size"),
        lambda i, o, k: (o, i, k, k),
        lambda i, o, k: (o,),
    ),
    "BatchNorm1d": ("batchnorm", ("num_features",), lambda n: (n,), lambda n: (n,)),
    "ReLU": ("activation", (), None, None),
    "Tanh": ("activation", (), None, None),
    "Identity": ("linear", (), None, None),
    "Dropout": ("dropout", ("p",), None, None),
}


def graph_of(model: dict[str, Any]) -> Graph:
    """The graph of a tree, without the cost of a prediction."""
    modules = [each for name, node in model.items() for each in nodes_of(name, node)]
    total = sum(math.prod(held.shape or ()) for node in modules for held in node.parameters)
    elements = sum(math.prod(held.shape or ()) for node in modules for held in node.buffers)
    builder = GraphBuilder(
        ModelInfo(
            name="Net",
            class_name="model.Net",
            target="model.py:Net",
            parameters=total,
            trainable_parameters=total,
            buffers=elements,
        )
    )
    builder.modules.append(ModuleNode(path="", class_name="model.Net", predicted=True))
    builder.modules.extend(modules)
    return builder.build()


@pytest.fixture
def graph() -> Callable[[dict[str, Any]], Graph]:
    """`graph_of`, as test files import nothing from each other."""
    return graph_of


@pytest.fixture
def predicted(tmp_path: Path) -> Callable[..., Graph]:
    """The graph of a model, given as the body of a constructor or as a tree of named modules."""
    numbers = itertools.count()

    def predict(model: Any, before: str = "") -> Graph:
        if isinstance(model, dict):
            model = "\n".join(f"self.{name} = {written(node)}" for name, node in model.items()) or "pass"
        body = "".join(f"        {line}\n" for line in model.strip().splitlines())
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        file = folder / "model.py"
        text = f"{HEAD}{before}\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{body}"
        file.write_text(text, encoding="utf-8")
        return modgraph.predict(f"{file}:Net")

    return predict
