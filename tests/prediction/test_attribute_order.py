"""In which order an attribute is looked for: descriptors, the instance, the class, `__getattr__`; torch is the judge."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

NETS = {
    "a property that fails, of a module": """
        class Net(nn.Module):
            @property
            def a(self):
                return self._a
            @property
            def w(self):
                return self.nope
            def __getattr__(self, name):
                if name == "w":
                    return 5
                return super().__getattr__(name)
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(1, 1)
                self.b = self.a
                self.c = nn.Linear(self.w, getattr(self, "q", 2))
        """,
    "a property that fails, of a plain object": """
        class Config:
            @property
            def width(self):
                raise AttributeError("width")
            @property
            def depth(self):
                return self.missing
            def __getattr__(self, name):
                if name == "width":
                    return 4
                raise AttributeError(name)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                config = Config()
                self.a = nn.Linear(config.width, getattr(config, "depth", 3))
                self.b = nn.ReLU() if hasattr(config, "depth") else nn.Tanh()
        """,
    "a descriptor that takes what is assigned comes first": """
        class Data:
            def __get__(self, owner, kind=None):
                return 6
            def __set__(self, owner, value):
                owner.__dict__["kept"] = value
        class NoData:
            def __get__(self, owner, kind=None):
                return 7
        class Config:
            a = Data()
            b = NoData()
            def __init__(self):
                self.__dict__["a"] = 1
                self.__dict__["b"] = 2
                self.a = 3
        class Net(nn.Module):
            x = Data()
            def __init__(self):
                super().__init__()
                config = Config()
                self.l = nn.Linear(config.a, config.b)
                self.m = nn.Linear(config.kept, 1)
                self.x = nn.ReLU()
                self.n = nn.Linear(self.x, 1)
        """,
    "names that only some objects have": """
        class Plain:
            pass
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.ReLU() if hasattr(Plain(), "method") or hasattr(Plain, "of_class") else nn.Tanh()
        """,
}


@pytest.mark.parametrize("text", NETS.values(), ids=NETS)
def test_attributes_are_found_as_python_finds_them(agrees: Callable[[str], Graph], text: str):
    agrees(text)
