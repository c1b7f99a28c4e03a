"""What stands in a dict or list is given by its place, to a run and to a prediction; what is refused says how it is
written."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import modgraph
from modgraph.cli.input_help import help_with_inputs
from modgraph.errors import InputError
from modgraph.graph.model import Graph
from modgraph.source.input_groups import InputGroup, grouped, parse_inputs

MODELS = """
import torch
from torch import nn


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.a(x)


class Ids(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8)

    def forward(self, ids):
        return self.embedding(ids)


class ByKey(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 4, 3)
        self.b = nn.Embedding(10, 4)

    def forward(self, batch):
        assert isinstance(batch, dict) and list(batch) == ["image", "label"]
        return {"out": self.a(batch["image"]).mean((2, 3)) + self.b(batch["label"])}


class ByAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 4)

    def forward(self, data):
        return self.a(data.x)[data.edge_index[0]]


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 4, 3)
        self.b = nn.Linear(4, 4)

    def forward(self, images, targets, scale=1):
        found = [self.a(image[None]) * scale for image in images]
        return found, [self.b(target["boxes"]) for target in targets], len(targets[0]["labels"])


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x, options):
        return self.a(x) if options["mode"] == "one" else x
"""

GIVEN = [
    ("ByKey", ["batch.image=2x3x32x32", "batch.label=2:int64"]),
    ("ByKey", ["batch['image']=2x3x32x32", 'batch["label"]=2:int64']),
    ("ByKey", ["batch[image]=2x3x32x32", "batch[label]=2:int64"]),
    ("ByAttribute", ["data.x=6x5", "data.edge_index=2x7:int64"]),
    (
        "Lists",
        ["images[0]=3x32x32", "images[1]=3x40x40", "targets[0].boxes=5x4", "targets[0].labels=5:int64", "scale=2"],
    ),
    ("Text", ["x=2x4", "options.mode='one'"]),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "models.py"
    file.write_text(MODELS, encoding="utf-8")
    return file


def seen(graph: Graph) -> list[object]:
    return [(call.module, call.error, [tensor.shape for tensor in call.outputs]) for call in graph.calls]


@pytest.mark.parametrize(("name", "inputs"), GIVEN)
def test_a_run_and_a_prediction_take_the_same(name: str, inputs: list[str], file: Path) -> None:
    ran = modgraph.analyze(f"{file}:{name}", inputs=inputs)
    predicted = modgraph.predict(f"{file}:{name}", inputs=inputs)
    assert not ran.problems
    assert not predicted.problems
    assert seen(predicted) == seen(ran)
    described = [[(each.name, each.tensors, each.literal) for each in graph.model.inputs] for graph in (ran, predicted)]
    tensors = [[each.shape for each in found for each in each[1]] for found in described]
    assert tensors[0] == tensors[1]
    assert tensors[0]


def test_parts_of_one_input_are_one() -> None:
    a, b = grouped(parse_inputs(["targets[1].boxes=1x4", "x=2x3", "targets[0].boxes=5x4"]))
    assert isinstance(a, InputGroup)
    assert (a.name, a.is_list, list(a.items), b.name) == ("targets", True, [0, 1], "x")
    inner = a.at((0,))
    assert isinstance(inner, InputGroup)
    assert not inner.is_list
    assert inner.name == "targets[0]"


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["batch.image=2x3", "batch=3"], "batch is given twice"),
        (["batch.image=2x3", "batch.image=2x4"], "batch.image is given twice"),
        (["batch.image=2x3", "batch[0]=2x4"], "batch is a list with indices, or a dict with keys, and not both"),
        (["images[1]=2x3"], "images has no item 0"),
        (["images[0]=2x3", "images[2]=2x3"], "images has no item 1"),
    ],
)
def test_parts_that_do_not_go_together(inputs: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("[", r"\[")):
        parse_inputs(inputs)


@pytest.mark.parametrize(
    ("text", "tensor"),
    [
        ("1*3*32*32", "1x3x32x32"),
        ("1xx3x32x32", "1x3x32x32"),
        ("x=(1x3x32x32)", "x=1x3x32x32"),
        ("[1,3x32]", "1x3x32"),
        ("1;3;32", "1x3x32"),
    ],
)
def test_an_error_shows_how_its_sizes_are_written(text: str, tensor: str) -> None:
    with pytest.raises(InputError) as error:
        parse_inputs([text])
    assert error.value.hint == f"a tensor is written with an x between its sizes: {tensor}"


def test_an_error_shows_how_several_tensors_are_given() -> None:
    with pytest.raises(InputError) as error:
        parse_inputs(["images=[3x10x12, 3x9x6:int64]"])
    (_, _, typed) = error.value.hint.partition(": ")
    texts = shlex.split(typed)[1::2]
    assert [(spec.name, spec.place, spec.shape) for spec in parse_inputs(texts)] == [
        ("images", (0,), (3, 10, 12)),
        ("images", (1,), (3, 9, 6)),
    ]


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize(
    ("text", "tensor"), [("3,32,32", "3x32x32"), ("(1, 3, 32, 32)", "1x3x32x32"), ("x=[1,3,32,32]", "x=1x3x32x32")]
)
def test_numbers_that_are_meant_for_a_tensor(text: str, tensor: str, static: bool, file: Path) -> None:
    graph = _graph(f"{file}:Conv", text, static)
    kind = "list" if "[" in text else "tuple"
    said = f"--input {text!r} is a {kind} of numbers; a tensor of that shape is --input {tensor}"
    assert list(help_with_inputs(graph, parse_inputs([text]))) == [said]


@pytest.mark.parametrize("static", [True, False])
def test_floating_point_where_indices_are_taken(static: bool, file: Path) -> None:
    graph = _graph(f"{file}:Ids", "ids=2x7:float32", static)
    said = "what looks up indices takes whole numbers: --input ids=2x7:int64"
    assert list(help_with_inputs(graph, parse_inputs(["ids=2x7:float32"]))) == [said]


@pytest.mark.parametrize("static", [True, False])
def test_a_dtype_that_is_left_open_is_that_of_the_layer(static: bool, file: Path) -> None:
    graph = _graph(f"{file}:Ids", "2x7", static)
    assert not graph.problems
    assert [each.dtype for given in graph.model.inputs for each in given.tensors] == ["int64"]
    assert list(help_with_inputs(graph, parse_inputs(["2x7"]))) == []


@pytest.mark.parametrize("static", [True, False])
def test_what_is_read_of_keywords_that_nobody_gives(static: bool, file: Path) -> None:
    model = "class Named(Conv):\n    def forward(self, **batch):\n        return self.a(batch['image'])\n"
    file.write_text(f"{MODELS}\n\n{model}", encoding="utf-8")
    graph = modgraph.predict(f"{file}:Named") if static else modgraph.analyze(f"{file}:Named")
    said = "forward reads 'image' of what it is given by name: --input image=..., with its sizes, as in 1x8"
    assert list(help_with_inputs(graph, ())) == [said]
    assert not _graph(f"{file}:Named", "image=1x3x8x8", static).problems


def _graph(target: str, text: str, static: bool) -> Graph:
    return modgraph.predict(target, inputs=[text]) if static else modgraph.analyze(target, inputs=[text])


def test_what_failed_is_told_once_where_inputs_were_inferred(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text(
        "from torch import nn\n\n\nclass Bad(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a, self.b = nn.Linear(8, 4), nn.Linear(4, 4)\n\n"
        "    def forward(self, x, state):\n        return self.b(self.a(x))[:, int(x.abs().sum() * 0) + 9] + state['h']\n",
        encoding="utf-8",
    )
    graph = modgraph.analyze(f"{file}:Bad")
    assert len(graph.problems) == 2
    failed, inferred = graph.problems
    assert failed.message.startswith("IndexError: ")
    assert inferred.message.startswith("inputs were inferred")
    assert "Error" not in inferred.message


@pytest.mark.parametrize("place", ["[0]" * 5000, ".a" * 1200])
def test_a_place_has_a_bounded_depth(place: str) -> None:
    with pytest.raises(InputError, match="levels at most"):
        parse_inputs([f"x{place}=1x2"])
