"""What a module or a class carries of its own, beside what was assigned: torch and Python are asked the same."""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from modgraph.graph.model import Graph
from tests.prediction.questions import answers_to

nn = pytest.importorskip("torch.nn")
pytestmark = pytest.mark.needs_torch

_CLASSES = """
import dataclasses
import torch
from torch import nn
class A:
    x = 1
    y = 2
class B(A):
    z = 3
@dataclasses.dataclass
class D:
    a: int = 1
class Small(nn.Module):
    k = 3
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.n = 4
m = Small()
"""
_TOLD = [
    *(
        "len(vars(m)) == 18",
        "len(vars(nn.Module())) == 17",
        "len(vars(nn.Linear(2, 3))) == 19",
        "list(vars(m))[-1] == 'n'",
    ),
    *("list(vars(m))[0] == 'training'", "'_modules' in vars(m)", "'lin' in vars(m)", "'n' in m.__dict__"),
    *("'nope' in m.__dict__", "m.__dict__['n'] == 4", "m.__dict__['_modules']['lin'].in_features == 2"),
    *("m.__dict__.get('q', 5) == 5", "list(vars(m)).index('_modules') == 16", "dict(vars(m))['n'] == 4"),
    "[k for k in vars(m) if not k.startswith('_')] == ['training', 'n']",
    "[k for k, v in vars(m).items() if isinstance(v, nn.Module)] == []",
    "[k for k, v in m.__dict__.items() if isinstance(v, int)] == ['training', 'n']",
    "[k for k, v in m.__dict__.items() if isinstance(v, (dict, set))][0] == '_parameters'",
    *("'x' in vars(A)", "'__doc__' in vars(A)", "'__module__' in A.__dict__", "'__init__' in A.__dict__"),
    *("'z' in B.__dict__ and 'x' not in B.__dict__", "'forward' in Small.__dict__", "'k' in Small.__dict__"),
    "[k for k, v in vars(A).items() if not callable(v) and not k.startswith('__')] == ['x', 'y']",
    "{k: v for k, v in A.__dict__.items() if not k.startswith('_')} == {'x': 1, 'y': 2}",
    "len([k for k in D.__dict__ if k[0] != '_']) == 1",
    *("hasattr(m, 'nope')", "hasattr(m, '_nope')", "hasattr(m, 'weight')", "hasattr(nn.Linear(1, 1), 'num_features')"),
    *("hasattr(nn.Linear(1, 1), '_flat_weights')", "m.extra_repr() == ''", "nn.Identity().extra_repr() == ''"),
    *("len(nn.Linear(1, 2)._forward_pre_hooks) == 0", "len(m.state_dict()) == 2", "isinstance(m._modules, dict)"),
    "torch.promote_types(torch.int32, torch.float16) == torch.float16",
    "torch.promote_types(torch.uint8, torch.int8) == torch.int16",
    "torch.promote_types(torch.bool, torch.bool) is torch.bool",
]
_LEFT_OPEN = [
    *("len(vars(A)) > 3", "len(A.__dict__) == 3", "'__dict__' in A.__dict__", "'__dict__' in B.__dict__"),
    *("vars(A)['__doc__'] is None", "vars(A)['__module__'] == 'net'", "'__dataclass_fields__' in vars(D)"),
    *(
        "m._version == 1",
        "hasattr(m, '_version')",
        "len(m.state_dict()._metadata) == 2",
        "len(nn.Linear.__constants__) == 2",
    ),
    *(
        "len(nn.LSTM(1, 1)._flat_weights) == 4",
        "len(nn.LSTM(1, 1)._all_weights) == 1",
        "len(nn.LSTM(1, 1).all_weights) == 1",
    ),
    *(
        "len(vars(nn.LSTM(2, 3))) > 3",
        "len(vars(nn.LazyLinear(2))) > 3",
        "nn.ReLU(True).extra_repr() == 'inplace=True'",
    ),
    *("len(nn.Linear(1, 2).extra_repr()) == 0", "len(nn.utils.weight_norm(nn.Linear(1, 2))._forward_pre_hooks) == 1"),
    *("len(nn.utils.spectral_norm(nn.Linear(1, 2))._forward_pre_hooks) == 1", "len(m._backward_hooks) == 0"),
    *("torch.result_type(torch.ones(1), 2) == torch.float32", "'dim' in vars(nn.DataParallel(nn.ReLU()))"),
]


@pytest.mark.filterwarnings("ignore")
def test_what_is_asked_of_modules_and_classes(predict_source: Callable[..., Graph]) -> None:
    answers = answers_to(predict_source, _CLASSES, [*_TOLD, *_LEFT_OPEN])
    assert {each: answers[each] for each in _TOLD if answers[each][0] != answers[each][1]} == {}
    assert {each: pair for each, pair in answers.items() if pair[1] not in (None, pair[0])} == {}


def _asking() -> ModuleType:
    """The program that asks torch for the table."""
    file = Path(__file__).parents[1] / "oracle/torch_names.py"
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_has_all_names_of_the_layers_of_torch() -> None:
    """Annotations aside, which a class may come to have as it is asked for them."""
    program = _asking()
    written = program.written()
    missing = {
        cls: (
            own - {"__annotations__"} - written.get(cls, (set(), set()))[0],
            held - written.get(cls, (set(), set()))[1],
        )
        for cls, (own, held) in program.asked().items()
    }
    assert {cls: names for cls, names in missing.items() if any(names)} == {}


@cache
def _layers() -> dict[str, list[tuple[str, Any]]]:
    """By the module of torch that they stand in: the calls that make a layer, and the layers."""
    program, found = _asking(), defaultdict[str, list[tuple[str, Any]]](list)
    for cls in program.layers():
        for way in (
            (*program._WAYS, *program._MORE) if program.made(cls) is not None and hasattr(nn, cls.__name__) else ()
        ):
            try:
                found[cls.__module__].append((f"nn.{cls.__name__}({', '.join(map(repr, way))})", cls(*way)))
            except Exception:
                continue
            break
    return found


_FILES = (
    *("activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout", "flatten"),
    *("fold", "instancenorm", "linear", "loss", "module", "normalization", "padding", "pixelshuffle", "pooling", "rnn"),
    *("sparse", "transformer", "upsampling"),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", _FILES)
def test_no_layer_is_said_to_lack_what_it_has(predict_source: Callable[..., Graph], file: str) -> None:
    usual, body = set(dir(nn.Module())), ""
    for at, (call, layer) in enumerate(_layers()[f"torch.nn.modules.{file}"]):
        names = [name for name in dir(layer) if (name not in usual or file == "module") and hasattr(layer, name)]
        body += f"        m = {call}\n"
        body += "".join(f"        if not hasattr(m, '{name}'): self.h{at}_{name} = nn.ReLU()\n" for name in names)
        body += f"        if len(vars(m)) != {len(vars(layer))}: self.length{at} = nn.ReLU()\n"
        body += f"        if list(vars(m)) != {list(vars(layer))}: self.order{at} = nn.ReLU()\n"
    code = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    graph = predict_source(code + body, with_torch=False)
    assert graph.modules
    assert [node.path for node in graph.modules if node.path and node.class_name is not None] == []
