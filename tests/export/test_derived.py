"""A class that derives from a layer of torch is drawn as that layer: its colour, its words, no cards for its weights."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import nn

from modgraph.export.look.arguments import argument_text
from modgraph.export.look.kinds import class_kind, module_kind
from modgraph.export.look.parts import Card
from modgraph.export.picture.choosing import picture_of
from modgraph.graph.model import Call, ModuleNode, ParameterInfo, TensorInfo
from modgraph.graph.torch_classes import is_of_layer, layer_base
from tests.export.items import everything

LAYERS = [
    nn.Linear(2, 4), nn.Bilinear(2, 3, 4), nn.Conv1d(2, 4, 3), nn.Conv2d(2, 4, 3), nn.ConvTranspose2d(2, 4, 3),
    nn.BatchNorm1d(4), nn.BatchNorm2d(4), nn.LayerNorm(4), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True),
    nn.RMSNorm(4), nn.Embedding(4, 4), nn.EmbeddingBag(4, 4), nn.LSTM(2, 4, 2, bidirectional=True, proj_size=2),
    nn.GRUCell(2, 4), nn.MultiheadAttention(4, 2, add_bias_kv=True), nn.MultiheadAttention(4, 2, kdim=3, vdim=3),
    nn.PReLU(), nn.ReLU(), nn.GELU(), nn.SiLU(), nn.Dropout(), nn.MaxPool2d(2), nn.Flatten(), nn.Identity(),
]  # fmt: skip
"""One of each family."""


def derived(layer: nn.Module, name: str = "Mine", **fields) -> ModuleNode:
    base = f"{type(layer).__module__}.{type(layer).__qualname__}"
    held = tuple(
        ParameterInfo(name=name, shape=tuple(each.shape), dtype="float32") for name, each in layer.named_parameters()
    )
    return ModuleNode(path="m", class_name=f"net.{name}", torch_base=base, parameters=held, **fields)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_it_has_the_colour_of_the_layer(layer):
    assert module_kind(derived(layer)) == class_kind(type(layer).__name__)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_the_names_of_a_layers_own_tensors_are_known(layer):
    names = [name for name, _ in (*layer.named_parameters(recurse=False), *layer.named_buffers(recurse=False))]
    assert all(map(is_of_layer, names))


@pytest.mark.parametrize("name", ["lora_A", "weight_scale", "gamma", "scale", "weight_orig2"])
def test_what_a_class_adds_is_not_taken_for_the_layers(name):
    assert not is_of_layer(name)


@pytest.mark.parametrize("base", ["Sequential", "ModuleList", "ModuleDict"])
def test_a_class_that_derives_from_a_container_is_none_of_its_kinds(base):
    assert layer_base(f"torch.nn.modules.container.{base}") is None


@pytest.mark.parametrize("size", [5, 16, 33])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1, 2])
def test_a_stride_is_written_where_the_sizes_of_a_call_prove_it_alone(size, stride, padding):
    """The constructor may be given one stride and use another: what is written is the one that ran."""
    layer = nn.Conv2d(2, 4, 3, stride, padding)
    made = layer(torch.zeros(1, 2, size, size))
    tensors = [TensorInfo(name="x", shape=shape, dtype="float32") for shape in ((1, 2, size, size), tuple(made.shape))]
    call = Call(index=0, module="m", parent=None, inputs=(tensors[0],), outputs=(tensors[1],))
    given = {"in_channels": 2, "out_channels": 4, "stride": 7}
    text = argument_text(derived(layer, arguments=given, predicted=True, observed=True), call=call)
    assert text in (f"3×3 /{stride} → 4".replace(" /1", ""), "in_channels 2 · out_channels 4")
    assert size < 33 or text.startswith("3×3")
    assert argument_text(derived(layer, arguments=given, predicted=True)) == "in_channels 2 · out_channels 4"


def test_attributes_that_a_run_saw_are_the_layers():
    layer = nn.Conv2d(2, 4, 3, 2, groups=2)
    seen = {"kernel_size": [3, 3], "stride": [2, 2], "groups": 2, "in_channels": 2, "out_channels": 4}
    node = derived(layer, arguments=seen, observed=True)
    own = dataclasses.replace(node, class_name=node.torch_base, torch_base=None)
    assert argument_text(node) == argument_text(own) == "3×3 /2 → 4 · depthwise"


def test_its_weights_are_no_cards_and_what_it_adds_is_one(sketch):
    net = sketch("Net")
    held = tuple(ParameterInfo(name=name, shape=(8,), dtype="float32") for name in ("weight", "bias", "gain"))
    net.module("bn", "net.NormAct", parameters=held, torch_base="torch.nn.modules.batchnorm.BatchNorm2d")
    net.modules("bn.act ReLU")
    net.enter("bn")
    x = net.op("torch.nn.functional.batch_norm", "input:x", "param:bn.weight", "param:bn.bias")
    x = net.op("torch.mul", net.call("bn.act", x), "param:bn.gain")
    net.leave()
    net.output(x)
    items = everything(picture_of(net.graph()).items)
    rows = [row for item in items if isinstance(item, Card) for row in item.rows]
    assert [row.path or row.title for row in rows] == ["batch_norm", "act", "gain"]
    assert [row.kind for row in rows] == ["norm", "activation", "weights"]


def test_weights_that_another_module_uses_are_drawn_there(sketch):
    net = sketch("Tied")
    held = (ParameterInfo(name="weight", shape=(8, 8), dtype="float32"),)
    net.module("emb", "net.Lookup", parameters=held, torch_base="torch.nn.modules.sparse.Embedding")
    net.output(net.op("torch.nn.functional.linear", net.call("emb", "input:x"), "param:emb.weight"))
    items = everything(picture_of(net.graph()).items)
    assert "emb.weight" in [row.path for item in items if isinstance(item, Card) for row in item.rows]
