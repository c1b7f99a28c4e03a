"""What code learns of its own classes, annotations and modules, and of mappings that are written as classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.graph.model import Graph
from modgraph.prediction import predict_graph
from modgraph.source.targets import parse_target

MAPPING = """
from collections.abc import MutableMapping

class Table(MutableMapping):
    shared = {"a": 1, "b": 2}

    def __init__(self):
        self.own = {"c": 3}

    def __getitem__(self, key):
        return self.own[key] if key in self.own else self.shared[key]

    def __setitem__(self, key, value):
        self.own[key] = value

    def __delitem__(self, key):
        del self.own[key]

    def __iter__(self):
        return iter({**self.shared, **self.own})

    def __len__(self):
        return len(self.shared | self.own)
"""

AGREED = {
    "the bases of a class in their order": """
import inspect

class ReluMixin:
    def layer(self):
        return nn.ReLU()

class GeluMixin:
    def layer(self):
        return nn.GELU()

class Net(ReluMixin, GeluMixin, nn.Module):
    def __init__(self):
        super().__init__()
        for base in inspect.getmro(type(self)):
            if base.__name__.endswith("Mixin"):
                self.add_module(base.__name__[:-5], base.layer(self))
        self.count = nn.Linear(len(inspect.getmro(self.__class__)), 1)
""",
    "the classes of a module": """
import inspect
from torch.nn.modules import activation

CLASSES = inspect.getmembers(activation, lambda each: inspect.isclass(each) and each.__name__.startswith("ReLU"))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for name, cls in CLASSES:
            self.add_module(name, cls())
        self.count = nn.Linear(len(CLASSES), 1)
""",
    "keys, values and items of a mapping": MAPPING
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        table = Table()
        table["d"] = 4
        for key, size in table.items():
            self.add_module(key, nn.Linear(size, sum(table.values())))
        self.last = nn.Linear(len(list(table.keys())), 1)
""",
    "get and in of a mapping": MAPPING
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        table = Table()
        self.a = nn.Linear(table.get("c"), table.get("x", 7))
        self.b = nn.ReLU() if "b" in table and "z" not in table and table.get("z") is None else nn.GELU()
""",
    "text of the bases of a class": """
class Mixin:
    pass

class Base(nn.Module, Mixin):
    @classmethod
    def mixes(cls):
        return "Mixin" in str(cls.__bases__)

class Net(Base):
    def __init__(self):
        super().__init__()
        self.own = nn.ReLU() if self.mixes() else nn.GELU()
        self.base = nn.ReLU() if Base.mixes() else nn.GELU()
""",
    "annotations of a class when it is derived": """
import inspect

class Small:
    width = 3

class Large:
    width = 30

class Base(nn.Module):
    config: Small
    config_class = None

    def __init_subclass__(cls):
        annotated = inspect.get_annotations(cls).get("config", None)
        if annotated is not None:
            cls.config_class = annotated

class Middle(Base):
    config: Large
    other: int = 3

class Net(Middle):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(self.config_class.width, len(inspect.get_annotations(Middle)))
        self.named = nn.ReLU() if "other" in Middle.__annotations__ else nn.GELU()
""",
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("text", AGREED.values(), ids=AGREED.keys())
def test_as_python_says(agrees: Callable[[str], Graph], text: str) -> None:
    agrees(text)


POSTPONED = """
from __future__ import annotations
import inspect
from torch import nn

class A:
    x: list[ int ]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.ReLU() if inspect.get_annotations(A).get("x") == "list[int]" else nn.GELU()
"""


def test_annotations_that_are_kept_as_text(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(POSTPONED)
    graph = predict_graph(parse_target(f"{file}:Net"))
    assert [node.class_name for node in graph.modules][1:] == ["torch.nn.modules.activation.ReLU"]


SOURCE = """
import inspect
import sys

class Net(nn.Module):
    @classmethod
    def mentions(cls, word):
        module = sys.modules.get(cls.__module__)
        return module is not None and word in inspect.getsource(module)

    def __init__(self):
        super().__init__()
        self.a = nn.ReLU() if self.mentions("getsource") else nn.GELU()
        self.b = nn.ReLU() if self.mentions("get" + "text") else nn.GELU()
        self.c = nn.ReLU() if sys.modules.get("wave") is None else nn.GELU()
"""


def test_source_of_the_module_that_runs(predict_source: Callable[..., Graph]) -> None:
    graph: Any = predict_source(SOURCE)
    names = {node.path: node.class_name for node in graph.modules}
    assert names["a"] == "torch.nn.modules.activation.ReLU"
    assert names["b"] == "torch.nn.modules.activation.GELU"
    assert names["c"] is None, "whether another module was imported by someone else is not known"
