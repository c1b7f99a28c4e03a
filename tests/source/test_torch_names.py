"""The table of torch's own classes is that of the installed torch."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from modgraph.source import torch_names

pytestmark = pytest.mark.needs_torch

NO_ARGUMENTS = frozenset(torch_names.STATELESS | torch_names.MODAL)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "AdaptiveAvgPool1d": (1,), "AdaptiveAvgPool2d": (1,), "AdaptiveAvgPool3d": (1,), "AdaptiveMaxPool1d": (1,),
    "AdaptiveMaxPool2d": (1,), "AdaptiveMaxPool3d": (1,), "AvgPool1d": (2,), "AvgPool2d": (2,), "AvgPool3d": (2,),
    "ChannelShuffle": (2,), "CircularPad1d": (1,), "CircularPad2d": (1,), "CircularPad3d": (1,),
    "ConstantPad1d": (1, 0.0), "ConstantPad2d": (1, 0.0), "ConstantPad3d": (1, 0.0), "CrossMapLRN2d": (2,),
    "Fold": (4, 2), "FractionalMaxPool2d": (2, 4), "FractionalMaxPool3d": (2, 4), "LPPool1d": (2, 2),
    "LPPool2d": (2, 2), "LPPool3d": (2, 2), "LocalResponseNorm": (2,), "MaxPool1d": (2,), "MaxPool2d": (2,),
    "MaxPool3d": (2,), "MaxUnpool1d": (2,), "MaxUnpool2d": (2,), "MaxUnpool3d": (2,), "PixelShuffle": (2,),
    "PixelUnshuffle": (2,), "ReflectionPad1d": (1,), "ReflectionPad2d": (1,), "ReflectionPad3d": (1,),
    "ReplicationPad1d": (1,), "ReplicationPad2d": (1,), "ReplicationPad3d": (1,), "Threshold": (0.1, 1.0),
    "Unflatten": (1, (2, 2)), "Unfold": (2,), "ZeroPad1d": (1,), "ZeroPad2d": (1,), "ZeroPad3d": (1,),
    "FeatureAlphaDropout": (0.5,),
}  # fmt: skip
LEARNING: dict[str, tuple[Any, ...]] = {
    "Linear": (4, 4), "Conv1d": (4, 4, 1), "Conv2d": (4, 4, 1), "Conv3d": (4, 4, 1), "ConvTranspose1d": (4, 4, 1),
    "ConvTranspose2d": (4, 4, 1), "ConvTranspose3d": (4, 4, 1), "Bilinear": (4, 4, 4), "Embedding": (4, 4),
    "EmbeddingBag": (4, 4), "LayerNorm": (4,), "RMSNorm": (4,), "GroupNorm": (2, 4), "BatchNorm1d": (4,),
    "BatchNorm2d": (4,), "BatchNorm3d": (4,), "SyncBatchNorm": (4,), "PReLU": (), "LSTM": (4, 4), "GRU": (4, 4),
    "RNN": (4, 4), "LSTMCell": (4, 4), "GRUCell": (4, 4), "RNNCell": (4, 4), "MultiheadAttention": (4, 2),
    "TransformerEncoderLayer": (4, 2), "TransformerDecoderLayer": (4, 2), "Transformer": (4, 2, 1, 1, 4),
    "AdaptiveLogSoftmaxWithLoss": (8, 8, [2]),
}  # fmt: skip


def classes() -> dict[str, Any]:
    from torch import nn

    return {name: each for name, each in vars(nn).items() if isinstance(each, type) and issubclass(each, nn.Module)}


def test_every_class_of_torch_is_in_the_table():
    assert sorted(set(classes()) - torch_names.MODULES) == []


def test_no_class_is_of_two_kinds():
    kinds = (torch_names.STATELESS, torch_names.MODAL, torch_names.CONTAINERS, torch_names.STATEFUL)
    assert sum(map(len, kinds)) == len(frozenset().union(*kinds))


@pytest.mark.parametrize("name", sorted(NO_ARGUMENTS))
def test_what_is_called_stateless_has_no_state(name: str):
    cls = classes().get(name)
    if cls is None:
        pytest.skip(f"this torch has no {name}")
    made = cls(*ARGUMENTS.get(name, ()))
    assert not made.state_dict()
    assert not list(made.parameters())


@pytest.mark.parametrize("name", sorted(LEARNING))
def test_what_is_called_learning_has_parameters(name: str):
    assert name in torch_names.LEARNING
    assert list(classes()[name](*LEARNING[name]).parameters())


def test_the_methods_of_a_module_are_those_of_torch():
    from torch import nn

    public = {name for name in dir(nn.Module()) if not name.startswith("_")}
    assert public - torch_names.MODULE_METHODS - torch_names.OTHER_NAMES == set()
    own = {name for name in torch_names.MODULE_METHODS if not callable(getattr(nn.Module, name, None))}
    assert own == set()


@pytest.mark.parametrize("name", sorted(torch_names.DICT_NAMES))
def test_names_that_a_module_dict_refuses(name: str):
    from torch import nn

    with pytest.raises(KeyError):
        nn.ModuleDict({name: nn.ReLU()})


def test_methods_that_give_the_module_itself():
    from torch import nn

    given = {name: inspect.signature(getattr(nn.Module, name)).return_annotation for name in torch_names.MODULE_METHODS}
    itself = {name for name, each in given.items() if str(each).rpartition(".")[2] in ("Self", "~T", "T")}
    layer = nn.ReLU()
    assert layer.to("cpu") is layer  # it has no annotation, but overloads
    assert itself | {"to"} == torch_names.GIVING_ITSELF


def test_methods_that_register():
    from torch import nn

    taking = {name: list(inspect.signature(getattr(nn.Module, name)).parameters) for name in torch_names.MODULE_METHODS}
    assert {
        name for name, each in taking.items() if each[:2] == ["self", "name"] and len(each) > 2
    } == torch_names.REGISTERING
