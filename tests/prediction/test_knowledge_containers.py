"""Containers and every method that changes them, against the installed torch."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

BODIES = {
    "Sequential": """
        self.a = nn.Sequential()
        self.b = nn.Sequential(nn.ReLU(), nn.Linear(1, 2))
        self.c = nn.Sequential(OrderedDict([("x", nn.ReLU()), ("y", nn.Linear(1, 2))]))
        self.d = nn.Sequential(*[nn.Linear(i + 1, 1) for i in range(3)])
        """,
    "Sequential changed": """
        s = nn.Sequential(nn.ReLU())
        s.append(nn.GELU()).append(nn.Tanh())
        s.extend([nn.SELU(), nn.ELU()])
        s.insert(1, nn.Linear(1, 1))
        s.insert(-1, nn.Linear(2, 2))
        s[0] = nn.Linear(3, 3)
        s[-1] = nn.Linear(4, 4)
        del s[2]
        last = s.pop(-1)
        s += nn.Sequential(last)
        self.s = s
        self.n = nn.Linear(len(s), 1)
        """,
    "Sequential slices and operators": """
        s = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Linear(1, 1), c=nn.GELU(), d=nn.Tanh()))
        self.head = s[:2]
        self.tail = s[2:]
        self.odd = s[1::2]
        self.sum = s[:1] + s[3:]
        self.twice = nn.Sequential(nn.Linear(1, 1), nn.ReLU()) * 2
        self.thrice = 3 * nn.Sequential(nn.ReLU())
        t = nn.Sequential(nn.ReLU())
        t *= 2
        self.t = t
        del s[1:3]
        self.s = s
        """,
    "Sequential read back": """
        s = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 4))
        self.a = nn.Linear(s[-1].out_features, s[0].in_features)
        self.b = nn.Sequential(*list(s.children())[:-1])
        self.c = nn.Sequential(*[m for m in s if isinstance(m, nn.Linear)])
        for i, m in enumerate(s):
            self.add_module(f"m{i}", m)
        """,
    "add_module to a Sequential": """
        s = nn.Sequential()
        for i in range(2):
            s.add_module("conv{}".format(i), nn.Conv1d(1, 1, 1))
        s.add_module("relu", nn.ReLU())
        self.s = s
        self.n = s.conv0
        """,
    "ModuleList": """
        self.a = nn.ModuleList()
        self.b = nn.ModuleList([nn.ReLU(), None and nn.ReLU(), nn.Linear(1, 1)][::2])
        self.c = nn.ModuleList(nn.Linear(i + 1, 1) for i in range(3))
        self.d = nn.ModuleList(self.c)
        """,
    "ModuleList changed": """
        m = nn.ModuleList([nn.ReLU()])
        m.append(nn.GELU())
        m.extend([nn.Tanh(), nn.Linear(1, 1)])
        m.insert(0, nn.SELU())
        m += [nn.ELU()]
        m[1] = nn.Linear(2, 2)
        m[-1] = nn.Linear(3, 3)
        del m[0]
        del m[1:3]
        x = m.pop(0)
        m.insert(len(m), x)
        self.m = m
        self.sum = m + [nn.ReLU()]
        self.slice = m[1:]
        self.n = nn.Linear(len(m), 1)
        """,
    "ModuleDict": """
        self.a = nn.ModuleDict()
        self.b = nn.ModuleDict({"x": nn.ReLU(), "y": nn.Linear(1, 1)})
        self.c = nn.ModuleDict([["x", nn.ReLU()], ["y", nn.GELU()]])
        self.d = nn.ModuleDict(self.b)
        self.e = nn.ModuleDict(OrderedDict(z=nn.Tanh()))
        """,
    "ModuleDict changed": """
        d = nn.ModuleDict({"x": nn.ReLU(), "y": nn.Linear(1, 1)})
        d["z"] = nn.GELU()
        d.update({"x": nn.Tanh(), "w": nn.Linear(2, 2)})
        del d["y"]
        popped = d.pop("z")
        self.d = d
        self.keys = nn.ModuleDict({k + "_": v for k, v in d.items() if "w" in d and "y" not in d})
        self.values = nn.ModuleList(d.values())
        self.names = nn.Linear(len(list(d.keys())), len(d))
        e = nn.ModuleDict({"a": popped})
        e.clear()
        self.e = e
        self.attribute = d.w
        """,
    "ParameterList": """
        self.a = nn.ParameterList([nn.Parameter(torch.zeros(i + 1)) for i in range(3)])
        self.a.append(torch.ones(2, 2))
        self.a.extend([nn.Parameter(torch.zeros(1))])
        self.a += [torch.zeros(7)]
        self.a[0] = nn.Parameter(torch.zeros(9))
        self.b = nn.ParameterList([3, torch.zeros(2)])
        self.c = nn.Linear(len(self.a), self.a[1].shape[0])
        self.d = self.a[1:3]
        self.e = nn.ParameterList(p for p in self.a)
        """,
    "ParameterDict": """
        self.a = nn.ParameterDict({"b": nn.Parameter(torch.zeros(2)), "a": torch.zeros(3), "c": 5})
        self.a["d"] = torch.ones(4)
        self.a.update({"z": torch.zeros(1), "y": torch.zeros(2)})
        self.b = nn.ParameterDict(OrderedDict(q=torch.zeros(1), p=torch.zeros(2)))
        self.b.pop("q")
        del self.a["z"]
        self.c = nn.Linear(len(self.a), self.a["d"].numel())
        self.d = self.b | self.a
        self.e = nn.ParameterDict({k + "_": v for k, v in self.a.items()})
        """,
    "None in a ModuleList": """
        self.a = nn.ModuleList([nn.ReLU(), None, nn.GELU()])
        """,
    "nested": """
        self.a = nn.ModuleList([nn.ModuleDict({"x": nn.Sequential(nn.Linear(1, 1)), "y": nn.ModuleList([nn.ReLU()])}) for _ in range(2)])
        for layer in self.a:
            layer["z"] = nn.Linear(2, 2)
        """,
    "loops over containers": """
        self.a = nn.ModuleList()
        sizes = [4, 8, 16]
        for i, (n, m) in enumerate(zip(sizes[:-1], sizes[1:])):
            self.a.append(nn.Sequential(nn.Linear(n, m), nn.ReLU() if i else nn.Identity()))
        self.b = nn.Sequential(*self.a)
        self.c = nn.ModuleList(reversed(self.a))
        """,
}

CLASSES = {
    "subclass of Sequential": """
        class Block(nn.Sequential):
            def __init__(self, i, o, norm=nn.BatchNorm1d):
                layers = [nn.Linear(i, o)]
                if norm is not None:
                    layers.append(norm(o))
                super().__init__(*layers)
                self.out_channels = o
                self.append(nn.ReLU())

        class Net(nn.Sequential):
            def __init__(self):
                super().__init__(OrderedDict(a=Block(1, 2), b=Block(2, 3, None)))
                self.n = nn.Linear(self.a.out_channels, len(self))
        """,
    "subclass of ModuleList with an append of its own": """
        class Layers(nn.ModuleList):
            def append(self, module):
                return super().append(nn.Sequential(module))

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = Layers([nn.ReLU()])
                self.a.append(nn.GELU())
                self.a.extend([nn.Tanh()])
                self.b = self.a[1:]
        """,
    "subclass of Sequential with an append of its own": """
        class Layers(nn.Sequential):
            def append(self, module):
                return super().append(nn.Sequential(module))

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = Layers(nn.ReLU())
                self.a.extend([nn.Tanh()])
        """,
    "subclass of ModuleDict": """
        class Table(nn.ModuleDict):
            def __init__(self, names):
                super().__init__()
                for name in names:
                    self[name] = nn.Linear(1, len(name))

            def __setitem__(self, key, module):
                super().__setitem__(key + "_", module)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.t = Table(["a", "bb"])
                self.t.update({"c": nn.ReLU()})
        """,
    "getitem-like class over a ModuleList": """
        class Stack(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.layers = nn.ModuleList([nn.Linear(i + 1, 1) for i in range(n)])

            def __getitem__(self, i):
                return self.layers[i]

            def __len__(self):
                return len(self.layers)

            def __iter__(self):
                return iter(self.layers)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                s = Stack(3)
                self.a = s[1]
                self.b = nn.Sequential(*s)
                self.n = nn.Linear(len(s), 1)
        """,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_agrees_with_torch(agrees: Callable[[str], Graph], body: str) -> None:
    lines = "\n".join(f"        {line}" for line in inspect.cleandoc(body).splitlines())
    agrees(
        "from collections import OrderedDict\n\n"
        f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{lines}\n"
    )


@pytest.mark.parametrize("text", CLASSES.values(), ids=CLASSES.keys())
def test_subclass_agrees_with_torch(agrees: Callable[[str], Graph], text: str) -> None:
    agrees("from collections import OrderedDict\n" + inspect.cleandoc(text) + "\n")


def _paths(graph: Graph) -> list[str]:
    return [node.path for node in graph.modules]


UNKNOWN_COUNT = """
import os
N = int(os.environ["N"])

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {body}
        self.last = nn.Linear(1, 1)
"""


@pytest.mark.parametrize(
    "body",
    [
        "self.a = nn.ModuleList([nn.ReLU() for _ in range(N)])",
        "self.a = nn.Sequential(*[nn.ReLU() for _ in range(N)])",
        "self.a = nn.Sequential(nn.ReLU()) * N",
        "self.a = nn.ModuleDict({str(i): nn.ReLU() for i in range(N)})",
        "self.a = nn.ModuleList()\n        for i in range(N):\n            self.a.append(nn.ReLU())",
        "self.a = nn.ModuleList([nn.ReLU(), nn.ReLU()])[:N]",
    ],
)
def test_unknown_count_is_one_wildcard(predict_source: Callable[..., Graph], body: str) -> None:
    graph = predict_source(UNKNOWN_COUNT.format(body=body))
    assert _paths(graph)[:2] == ["", "a"]
    assert _paths(graph)[-2:] == ["a.?", "last"]
    assert [problem.module for problem in graph.open_places] == ["a"]


def test_what_stands_first_in_an_open_list_is_kept(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        UNKNOWN_COUNT.format(
            body="self.a = nn.ModuleList([nn.GELU()])\n        self.a.extend([nn.ReLU() for _ in range(N)])"
        )
    )
    assert _paths(graph) == ["", "a", "a.0", "a.?", "last"]


def test_unknown_index_replaces_every_child(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        UNKNOWN_COUNT.format(body="self.a = nn.ModuleList([nn.ReLU()] * 2)\n        self.a[N] = nn.GELU()")
    )
    assert [(node.path, node.class_name) for node in graph.modules][2:4] == [("a.0", None), ("a.1", None)]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("nn.ModuleList([3])", "TypeError"),
        ("nn.ModuleList(3)", "TypeError"),
        ("nn.Sequential(nn.ReLU())[2]", "IndexError"),
        ("nn.ModuleDict({})['a']", "KeyError"),
        ("nn.ModuleDict({'a.b': nn.ReLU()})", "KeyError"),
        ("nn.ModuleDict({'keys': nn.ReLU()})", "KeyError"),
        ("nn.ModuleList().insert(0, nn.ReLU())", None),
        ("nn.ModuleList([nn.ReLU()]).insert(-1, nn.ReLU())", "KeyError"),
        ("nn.Sequential(nn.ReLU()) + [nn.ReLU()]", "ValueError"),
        ("nn.Sequential(nn.ReLU()) * 0", "ValueError"),
        ("nn.ParameterList([torch.zeros(1)])[1]", "IndexError"),
        ("nn.ParameterDict({})['a']", "AttributeError"),
        ("nn.ModuleList([nn.ReLU()]).append(None)", None),
    ],
)
def test_what_torch_refuses_is_refused(predict_source: Callable[..., Graph], body: str, error: str | None) -> None:
    import torch
    from torch import nn

    if error is None:
        eval(body, {"nn": nn, "torch": torch})
    else:
        with pytest.raises(Exception) as caught:  # noqa: PT011  its class is what is compared
            eval(body, {"nn": nn, "torch": torch})
        assert caught.type.__name__ == error
    graph = predict_source(
        f"class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {body}\n"
    )
    raised = [problem.message.partition("raises ")[2].partition(":")[0] for problem in graph.problems]
    assert raised == ([] if error is None else [error])
