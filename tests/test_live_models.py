"""Live models whose arguments nobody can tell: what is predicted of their classes is never gainsaid by what they are."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import modgraph

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.needs_torch

MODELS = '''
from typing import Optional, Tuple

import torch
from torch import nn


def make_stages(block, layers, channels):
    stages, info, before = [], [], channels[0]
    for index, (width, count) in enumerate(zip(channels, layers)):
        blocks = []
        for _ in range(count):
            blocks.append(block(before, width))
            before = width
        stages.append((f"layer{index + 1}", nn.Sequential(*blocks)))
        info.append({"width": width})
    return stages, info


class Staged(nn.Module):
    """Stages whose names and modules are given as pairs."""

    def __init__(self, block, layers, channels: Optional[Tuple[int, ...]] = (4, 4)):
        super().__init__()
        stages, self.info = make_stages(block, layers, channels)
        for stage in stages:
            self.add_module(*stage)

    def forward(self, x):
        for name, child in self.named_children():
            x = child(x)
        return x


class Given(nn.Module):
    """Everything that registers is given arguments whose number is not known."""

    def __init__(self, child, parameter, buffer, options):
        super().__init__()
        self.add_module(*child)
        self.register_parameter(*parameter)
        self.register_buffer(*buffer)
        self.register_module(**options)
        self.inner = nn.ModuleList()
        self.inner.append(*child[1:])
        self.table = nn.ModuleDict()
        self.table.update(*[{name: each for name, each in (child,)}])
        self.first = nn.Linear(4, 4)
        self.first.register_buffer(*buffer)

    def forward(self, x):
        return self.first(x)


class Shaped(nn.Module):
    """Tensors whose rank depends on an argument."""

    def __init__(self, size: Tuple[int, ...], kernel: Tuple[int, ...], width: int):
        super().__init__()
        self.conv = nn.Conv2d(3, width, kernel_size=kernel)
        self.norm = nn.LayerNorm(size)
        self.one = nn.Parameter(torch.zeros(1, *size))
        self.bare = nn.Parameter(torch.zeros(size))
        self.register_buffer("grown", torch.ones(2, 1).expand(*size, 2, 3))
        self.register_buffer("seen", torch.ones(4, 6).view(2, *size, -1))
        self.register_buffer("moved", torch.ones(2, 1, 3).permute(*size[:0], 2, 1, 0))
        self.register_buffer("tiled", torch.ones(2).repeat(*size, 1))
        self.largest = nn.Linear(max(3, *size), max(*size))

    def forward(self, x):
        return self.conv(x)


def add_to(*given):
    given[-1].extra = nn.Linear(2, 2)


class Helped(nn.Module):
    """A function that is not known is given the model behind arguments whose number is not known."""

    def __init__(self, helper, items):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        helper(*items, self)

    def forward(self, x):
        return self.fc(x)
'''


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "live_models_here.py").write_text(MODELS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("live_models_here")
    sys.modules.pop("live_models_here")


def test_children_whose_names_are_in_what_is_unpacked(models):
    graph = modgraph.analyze(models.Staged(torch.nn.Linear, (1, 2)), torch.ones(1, 4))
    assert [problem.message for problem in graph.problems] == []
    assert "layer2.1" in [node.path for node in graph.modules]


def test_methods_that_register_with_arguments_whose_number_is_not_known(models):
    child = ("child", torch.nn.Linear(2, 2))
    model = models.Given(
        child, ("weight", torch.nn.Parameter(torch.ones(2))), ("mean", torch.ones(3)), {"name": "other", "module": None}
    )
    graph = modgraph.analyze(model, torch.ones(1, 4))
    assert [problem.message for problem in graph.problems] == []
    expected = {node.path for node in graph.modules if node.predicted}
    assert {"first", "inner", "table"} <= expected


def test_the_rank_of_a_tensor_of_one_size_that_is_not_known(models):
    graph = modgraph.analyze(models.Shaped((2, 1), (1, 1), 5), torch.ones(1, 3, 4, 4))
    assert [problem.message for problem in graph.problems] == []
    assert {node.path for node in graph.modules if node.predicted} == {"", "conv", "norm", "largest"}


def test_what_stands_behind_arguments_whose_number_is_not_known_is_given_too(models):
    graph = modgraph.analyze(models.Helped(models.add_to, (1, 2)), torch.ones(1, 4))
    assert [problem.message for problem in graph.problems] == []


def replace_class(model):
    model.first = torch.nn.Identity()


def add_child(model):
    model.first.extra = torch.nn.Linear(1, 1)


def change_shape(model):
    model.first.weight = torch.nn.Parameter(torch.ones(4, 4, 1).squeeze(2)[:2])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            replace_class,
            "'first' was predicted to be torch.nn.modules.linear.Linear, and is torch.nn.modules.linear.Id",
        ),
        (add_child, "torch.nn.modules.linear.Linear at 'first.extra' is on the live model, but was not predicted"),
        (change_shape, "parameter first.weight was predicted with shape [4, 4], and has [2, 4]"),
    ],
)
def test_what_was_changed_after_construction_is_told(models, change, said):
    model = models.Given(
        ("child", torch.nn.Linear(2, 2)), ("weight", None), ("mean", None), {"name": "other", "module": None}
    )
    change(model)
    graph = modgraph.analyze(model, torch.ones(1, 4))
    assert any(problem.message.startswith(said) for problem in graph.open_places)


PLAIN = [
    ("width", "self.width = width\n        self.half = width // 2"),
    ("width", "self.width = width\n        self.fc = nn.Linear(width, 4)"),
    ("width", "self.width = self.size = width\n        self.fc = nn.Linear(self.size, 4)"),
    ("cfg", "self.width = cfg.width\n        self.fc = nn.Linear(cfg.width, 4)"),
    ("width", "width = width or 4\n        self.width = width\n        self.n = range(width)"),
    ("width", "width = int(width)\n        self.width = width"),
    ("width", "self.width = width\n        self.text = f'{width}'\n        self.w = [1, 2][:width]"),
    ("width", "self.width = width\n        self.x = torch.zeros(2, width)"),
    ("width", "self.width = width\n        self.on = width > 4"),
    ("mode", "self.mode = mode\n        if self.mode.lower() == 'x':\n            pass"),
]


@pytest.mark.parametrize(("parameter", "body"), PLAIN)
def test_an_attribute_that_is_used_as_a_number_or_text_is_no_child(tmp_path, parameter, body):
    graph = predicted_without(tmp_path, parameter, body)
    assert {node.path for node in graph.modules} <= {"", "fc"}
    assert not [problem.message for problem in graph.problems if "child" in problem.message]


MAY_BE_MODULES = [
    ("mode: str", "self.act = {'relu': nn.ReLU, 'gelu': nn.GELU}.get(mode, None)()"),
    ("act", "self.act = act"),
    ("act", "self.act = act\n        self.text = f'{act}'"),
    ("act", "self.act = act\n        if act is not None and act != 'relu':\n            pass"),
    ("act", "self.act = act\n        self.n = act // 2 if isinstance(act, int) else 3"),
    ("act", "self.act = act\n        if act:\n            self.n = 3"),
    ("act", "self.act = act\n        self.n = act == 'relu' or act in ('gelu', 'silu')"),
    ("act", "if callable(act):\n            self.n = act // 2\n        self.act = act\n        helper(act)"),
    ("act", "self.act = act\n        self.n = act // 2\n        self.m = [act for act in ()]"),
]


@pytest.mark.parametrize(("parameter", "body"), MAY_BE_MODULES)
def test_an_attribute_that_a_module_could_be_is_a_possible_child(tmp_path, parameter, body):
    graph = predicted_without(tmp_path, parameter, body)
    assert "act" in {node.path for node in graph.modules}


REFUSED = [
    "self.act = act\n        self.n = [act // 2, print(act, str(act))]\n        self.m = helper(act)",
    "self.act = act\n        self.n = act // 2\n        self.m = act[0]",
    "self.act = self.other = act\n        self.n = act // 2\n        self.m = self.other(3)",
    "self.act = act\n        self.n = act // 2\n\n    def forward(self, x):\n        return self.act(x)",
    "self.act = act\n        self.n = act // 2\n\nclass Base(nn.Module):\n    pass",
]


@pytest.mark.parametrize("body", REFUSED)
def test_what_a_constructor_cannot_be_given_is_no_child(tmp_path, body):
    graph = predicted_without(tmp_path, "act", body)
    assert not {"act", "other"} & {node.path for node in graph.modules}
    text = (tmp_path / "net.py").read_text().replace("from somewhere import helper", "helper = print")
    namespace: dict[str, Any] = {}
    exec(text, namespace)
    with pytest.raises(TypeError, match="//"):
        namespace["Net"](torch.nn.ReLU())


def test_what_only_multiplies_is_no_child_and_may_be_a_parameter(tmp_path):
    body = "self.act = act\n        self.n = 3\n\n    def forward(self, x):\n        return x * self.act"
    graph = predicted_without(tmp_path, "act", body)
    assert [node.path for node in graph.modules] == [""]
    assert [problem.message.partition(":")[0] for problem in graph.problems] == [
        "what the model has as parameter 'act' is not known"
    ]


def predicted_without(folder: Path, parameter: str, body: str) -> modgraph.Graph:
    """The prediction of a class whose one argument is not given."""
    base = "class Base(nn.Module):\n    def run(self):\n        return self.act(3)\n\n\n"
    (folder / "net.py").write_text(
        f"import torch\nfrom torch import nn\nfrom somewhere import helper\n\n{base if 'Base' in body else ''}"
        f"class Net({'Base' if 'Base' in body else 'nn.Module'}):\n    def __init__(self, {parameter}):\n"
        f"        super().__init__()\n        {body.partition('class Base')[0]}\n"
    )
    return modgraph.predict(folder / "net.py:Net")
