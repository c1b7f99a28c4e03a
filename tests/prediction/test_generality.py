"""Constructs of libraries that nobody looked at before, in their general form; torch itself is the judge."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.graph.model import Graph
from modgraph.prediction import knowledge, predict_graph
from modgraph.prediction.domain import registry
from modgraph.source.targets import Target

pytestmark = pytest.mark.needs_torch

AS_BUILT = {
    "__getattribute__ does not ask __getattr__, an attribute does": """
        class Plain:
            def __getattr__(self, name):
                try:
                    return super().__getattribute__(name + "_")
                except AttributeError:
                    return 7
        class Own(Plain):
            width_ = 3
            def __getattribute__(self, name):
                return super().__getattribute__(name)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(Plain().depth, Own().width)
                try:
                    self.b = nn.Linear(1, Plain().__getattribute__("height"))
                except AttributeError:
                    self.c = nn.ReLU()
        """,
    "what is done to __dict__ is done to the object": """
        import copy
        class Config:
            def __init__(self, **options):
                self.__dict__.update(options)
                self.secret = 1
        class Guarded(Config):
            def __getattribute__(self, name):
                if name in super().__getattribute__("__dict__").get("secret", ()):
                    raise RuntimeError(name)
                return super().__getattribute__(name)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                config = Config(width=3, gone=2)
                vars(config).pop("gone")
                config.__dict__.setdefault("depth", 4)
                self.a = nn.Linear(config.width, config.depth)
                self.b = nn.ReLU() if hasattr(config, "gone") else nn.Tanh()
                guarded = Guarded(width=5)
                guarded.secret = {"width"}
                free = copy.copy(guarded)
                free.__dict__.pop("secret", None)
                self.c = nn.Linear(free.width, len(vars(guarded)))
                free.__dict__.clear()
                self.d = nn.ReLU() if vars(free) else nn.Tanh()
        """,
    "the classes of a module, found by name": """
        import torch.nn.modules.activation as activations
        class Net(nn.Module):
            def __init__(self, name="hard-swish"):
                super().__init__()
                found = {
                    each.__name__.lower(): each
                    for each in vars(activations).values()
                    if isinstance(each, type) and issubclass(each, nn.Module)
                }
                self.act = found[name.replace("-", "")]()
                self.all = nn.Linear(len(found), 1)
                self.silu = nn.SiLU() if "silu" in dir(F) else nn.ReLU()
                self.none = nn.SiLU() if "no_such_function" in dir(F) else nn.ReLU()
        """,
    "abstract methods, and functions told from classes": """
        import functools, types
        from abc import ABC, abstractmethod
        class Base(nn.Module, ABC):
            @abstractmethod
            def fused(self): ...
            def plain(self): ...
            def implements(self, name):
                return not getattr(getattr(type(self), name), "__isabstractmethod__", False)
        class Wide(nn.Linear):
            pass
        def make(kind, size):
            if isinstance(kind, types.FunctionType):
                return nn.Sequential(kind(size))
            if isinstance(kind, (str, functools.partial)):
                return nn.ModuleList([kind(size)])
            return kind(size, size)
        class Net(Base):
            def fused(self): ...
            def __init__(self):
                super().__init__()
                self.one = nn.ReLU() if self.implements("fused") else nn.Tanh()
                self.two = nn.ReLU() if self.implements("plain") else nn.Tanh()
                self.three = nn.Tanh() if getattr(Base.fused, "__isabstractmethod__", False) else nn.ReLU()
                self.four = make(lambda n: nn.Linear(n, 1), 2)
                self.five = make(functools.partial(nn.Linear, out_features=3), 2)
                self.six = make(Wide, 2)
        """,
    "names of typing are classes": """
        from typing import DefaultDict, Dict, List, Mapping, OrderedDict, Sequence
        class Net(nn.Module):
            def __init__(self, widths=(2, 3), options=None):
                super().__init__()
                self.a = nn.ReLU() if isinstance(widths, Sequence) else nn.Tanh()
                self.b = nn.ReLU() if isinstance(widths, (List, Mapping)) else nn.Tanh()
                self.c = nn.ReLU() if isinstance(options or {}, Dict) else nn.Tanh()
                layers = OrderedDict()
                layers["first"] = nn.Linear(*widths)
                self.d = nn.Sequential(layers)
                counts: DefaultDict[str, int] = DefaultDict(int)
                counts["x"] += 2
                self.e = nn.Linear(counts["x"], 1)
        """,
    "elements of parts of tensors": """
        import numpy as np
        class Net(nn.Module):
            def __init__(self, depths=(2, 1, 3), rate=0.3):
                super().__init__()
                rates = [part.tolist() for part in torch.linspace(0, rate, sum(depths)).split(list(depths))]
                self.stages = nn.ModuleList(
                    nn.Sequential(*[nn.Dropout(each) if each > 0 else nn.Identity() for each in stage]) for stage in rates
                )
                table = torch.arange(12).reshape(3, 4)
                self.a = nn.Linear(table[1:, 2].sum().item(), table[..., -1][0].item())
                self.b = nn.Linear(table.unbind(1)[3][0].item(), table.chunk(2, 1)[1][0][1].item())
                self.register_buffer("grid", torch.arange(5)[:, np.newaxis] * torch.ones(3)[np.newaxis, :])
        """,
    "a list of names that decorators fill": """
        import sys
        __all__ = ["Net"]
        by_name, order = {}, {}
        def entry(function):
            module = sys.modules.get(function.__module__)
            by_name[function.__name__] = function
            if function.__name__ == "small":
                order[second.__name__] = 2
            order[function.__name__] = 1
            return function
        @entry
        def second(): return nn.Tanh()
        @entry
        def small(): return nn.Linear(len(by_name), len(order))
        class Net(nn.Module):
            def __init__(self, name="small"):
                super().__init__()
                self.body = by_name[name]()
                self.other = by_name["second"]()
        """,
}


def name_of(child: Any) -> str:
    return f"{type(child).__module__}.{type(child).__qualname__}"


@pytest.mark.parametrize("text", AS_BUILT.values(), ids=AS_BUILT)
def test_predicted_as_built(text: str, agrees: Callable[[str], Graph]) -> None:
    agrees(text)


PARAMETRISED = """
        import copy
        from torch.nn.utils import parametrizations, parametrize
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(2))
            def forward(self, x): return x
            def right_inverse(self, x): return x
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 3)
                parametrize.register_parametrization(self.a, "weight", nn.Identity())
                parametrize.register_parametrization(self.a, "bias", Scaled())
                parametrize.register_parametrization(self.a, "weight", Scaled())
                self.b = parametrizations.weight_norm(nn.Conv1d(4, 2, 3), name="weight", dim=2)
                self.c = copy.deepcopy(self.b)
                self.d = parametrizations.weight_norm(nn.Linear(4, 3))
                parametrize.remove_parametrizations(self.d, "weight")
                self.e = nn.Linear(2, 1) if parametrize.is_parametrized(self.a, "weight") else nn.ReLU()
        """


def test_parametrisations_change_the_class_and_move_the_parameter(tmp_path: Path, monkeypatch: Any) -> None:
    text = "import torch\nfrom torch import nn\n" + inspect.cleandoc(PARAMETRISED)
    (tmp_path / "parametrised.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    target = Target(text="parametrised:Net", module="parametrised", name="Net", search_path=tuple(sys.path))
    live = importlib.import_module("parametrised").Net()
    assert [
        (node.path, node.class_name, {each.name: each.shape for each in node.parameters})
        for node in predict_graph(target).modules
    ] == [
        (path, name_of(child), {name: tuple(each.shape) for name, each in child.named_parameters(recurse=False)})
        for path, child in live.named_modules(remove_duplicate=False)
    ]


def test_a_parametrised_module_is_open_without_the_source_of_torch(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(PARAMETRISED, with_torch=False)
    found = {node.path: node.class_name for node in graph.modules}
    assert (found["a"], found["b"], found["a.?"]) == (None, None, None)


def test_a_list_of_exported_names_is_a_list(evaluated: Callable[[str], Any]) -> None:
    found = evaluated("""
        __all__ = ["a"]
        __all__.append("b")
        RESULT = [isinstance(__all__, list), len(__all__)]
        """)
    assert found == [True, 2]


def test_walking_what_is_not_known_leaves_the_walker_known(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source("""
        import os
        class Config:
            def __init__(self):
                self.width = 3
                self.extra = os.environ.get("EXTRA")
            def clean(self, values):
                values.pop("gone", None)
                for value in values.values():
                    if isinstance(value, dict):
                        self.clean(value)
            def to_dict(self):
                found = dict(self.__dict__)
                self.clean(found)
                return found
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                config = Config()
                config.to_dict()
                self.fc = nn.Linear(config.width, 1)
        """)
    assert [(node.path, node.class_name) for node in graph.modules][1:] == [("fc", "torch.nn.modules.linear.Linear")]
    assert graph.modules[1].parameters[0].shape == (1, 3)


def test_the_text_of_what_is_logged_is_not_made(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source("""
        import logging
        class Config:
            def __init__(self):
                self.width = 3
            def __repr__(self):
                self.width = 1 / 0
                return ""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                config = Config()
                logging.getLogger(__name__).debug(f"made {config} of {self.add_module('early', nn.ReLU())}")
                self.fc = nn.Linear(config.width, 1)
        """)
    assert [node.path for node in graph.modules] == ["", "early", "fc"]
    assert graph.problems == ()


INSTALLED = {
    "plib/registry.py": """
        import sys
        from collections import defaultdict
        _entries = {}
        _by_module = defaultdict(set)
        class Registry:
            def __init__(self):
                self._map = {}
            def register(self, name=None):
                def wrap(obj):
                    key = name or obj.__name__
                    assert key not in self._map, key
                    self._map[key] = obj
                    return obj
                return wrap
            def get(self, name):
                found = self._map.get(name)
                if found is None:
                    raise KeyError(name)
                return found
        HEADS = Registry()
        TABLE = {"plain": None}
        class Factory:
            made = {}
            @classmethod
            def add(cls, other):
                cls.made[other.__name__.lower()] = other
                return other
        def entry(function):
            module = sys.modules[function.__module__]
            if hasattr(module, "__all__"):
                module.__all__.append(function.__name__)
            else:
                module.__all__ = [function.__name__]
            _entries[function.__name__] = function
            _by_module[function.__module__].add(function.__name__)
            return function
        def create(name, **options):
            if name not in _entries:
                raise RuntimeError(f"unknown {name}")
            return _entries[name](**options)
        """,
    "plib/__init__.py": "from .registry import create\nfrom .models import *\n",
    "plib/models/__init__.py": "from .a import *\nfrom .b import *\n",
    "plib/models/a.py": """
        from torch import nn
        from ..registry import HEADS, TABLE, Factory, entry
        @entry
        def tiny(d=3, **options): return nn.Sequential(nn.Linear(d, d), HEADS.get("wide")(d))
        TABLE["extra"] = nn.Tanh
        HEADS.register("conv")(nn.Conv1d)
        @Factory.add
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.ReLU()
        """,
    "plib/models/b.py": """
        from torch import nn
        from plib import registry
        from plib.registry import HEADS as PARTS
        @PARTS.register("wide")
        class Wide(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.l = nn.Linear(d, 2 * d)
        @registry.entry
        def big(**options): return nn.Sequential(nn.ReLU())
        """,
}

USER = """
    import plib
    from torch import nn
    from plib.registry import HEADS, TABLE, Factory
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = plib.create("tiny", d=4)
            self.b = plib.create("big")
            self.c = HEADS.get("conv")(1, 2, 3)
            self.d = TABLE["extra"]()
            self.e = Factory.made["block"]()
            self.f = nn.Identity() if TABLE.get("nothing") is None else nn.Linear(1, 1)
            try:
                self.g = plib.create("nothing")
            except RuntimeError:
                self.g = nn.Softmax()
    """


def test_an_installed_package_registers_what_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site-packages"
    for name, text in INSTALLED.items():
        file = site / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(inspect.cleandoc(text), encoding="utf-8")
    (tmp_path / "user_of_plib.py").write_text(inspect.cleandoc(USER), encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.syspath_prepend(str(tmp_path))
    target = Target(text="user_of_plib:Net", module="user_of_plib", name="Net", search_path=tuple(sys.path))
    graph = predict_graph(target)
    live = importlib.import_module("user_of_plib").Net()
    assert [(node.path, node.class_name) for node in graph.modules] == [
        (path, name_of(child)) for path, child in live.named_modules(remove_duplicate=False)
    ]


def test_what_cannot_be_followed_leaves_a_missing_key_open(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "olib.py").write_text(
        inspect.cleandoc("""
        import os
        KNOWN = {}
        def entry(name):
            def wrap(made):
                if os.environ["ENTRIES"]:
                    KNOWN[os.environ["ENTRIES"]] = made
                return made
            return wrap
        @entry("small")
        def small(): return None
        """),
        encoding="utf-8",
    )
    (tmp_path / "user_of_olib.py").write_text(
        inspect.cleandoc("""
        from torch import nn
        from olib import KNOWN
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ReLU() if "small" in KNOWN else nn.Tanh()
        """),
        encoding="utf-8",
    )
    path = (str(tmp_path), str(site), *sys.path)
    graph = predict_graph(Target(text="user_of_olib:Net", module="user_of_olib", name="Net", search_path=path))
    assert [(node.path, node.class_name) for node in graph.modules][1:] == [("a", None)]


def test_what_is_known_by_name_is_of_python_and_torch():
    """And of numpy, whose arrays tensors are made of; `typing_extensions` is Python's own `typing`. YAML is a format, and so
    are the folders of configuration files that Hydra composes, for objects of OmegaConf: a project says in them what
    its model is given."""
    registry.load(knowledge.import_all)
    tables = (registry._models, registry._classes, registry._constants, registry._aliases, registry._inert)
    named = {name.partition(".")[0] for table in tables for name in table}
    assert named - sys.stdlib_module_names == {
        *("torch", "numpy", "typing_extensions", "yaml"),
        *("hydra", "omegaconf"),
    }


def test_what_a_package_that_is_not_there_gives_may_be_a_module(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source("""
        import absent_package
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = absent_package.make(3)
                self.b = nn.ReLU()
        """)
    assert [(node.path, node.class_name) for node in graph.modules][1:] == [
        ("a", None),
        ("b", "torch.nn.modules.activation.ReLU"),
    ]


def test_an_installed_package_is_read_whatever_its_name(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    (site / "wandb").mkdir(parents=True)
    (site / "wandb" / "__init__.py").write_text("WIDTH = 3\ndef made():\n    return range(2)\n", encoding="utf-8")
    text = """
        import wandb
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ModuleList(nn.Linear(wandb.WIDTH, 1) for _ in wandb.made())
        """
    (tmp_path / "user_of_wandb.py").write_text(inspect.cleandoc(text), encoding="utf-8")
    path = (str(tmp_path), str(site), *sys.path)
    graph = predict_graph(Target(text="user_of_wandb:Net", module="user_of_wandb", name="Net", search_path=path))
    assert graph.complete
    assert [node.path for node in graph.modules] == ["", "a", "a.0", "a.1"]
