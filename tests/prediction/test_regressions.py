"""Constructs that were once predicted wrongly or not at all, in their general form; torch itself is the judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

PREDICTED_AS_BUILT = {
    "item assignment to a module without it raises TypeError": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.BatchNorm1d(2)
                try:
                    self.norm[0] = nn.ReLU()
                except TypeError:
                    self.caught = nn.Tanh()
        """,
    "item deletion from a module without it raises TypeError": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.norm = nn.BatchNorm1d(2)
                try:
                    del self.norm[0]
                except TypeError:
                    self.caught = nn.Tanh()
        """,
    "a name that the function assigns is not taken from outside": """
        class Net(nn.Module):
            def __init__(self, n=3):
                super().__init__()
                def widen():
                    n += 1
                    self.wide = nn.Linear(n, n)
                try:
                    widen()
                except UnboundLocalError:
                    self.narrow = nn.Linear(n, n)
        """,
    "a parameter of whole numbers that asks for gradients raises": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.list = nn.ParameterList()
                try:
                    self.list.extend([torch.zeros(2), torch.arange(3), torch.zeros(4)])
                except RuntimeError:
                    self.fixed = nn.Parameter(torch.arange(3), requires_grad=False)
        """,
    "a module is found by its name in sys.modules": """
        import sys
        sizes = [2, 3]
        def registered(cls):
            sys.modules[cls.__module__].sizes.append(5)
            return cls
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.torch = nn.Linear(1, 2) if "torch" in sys.modules else nn.ReLU()
                self.other = nn.Linear(1, 2) if "no_such_package_anywhere" in sys.modules else nn.ReLU()
        """,
    "a plain function is not abstract": """
        class Base:
            def made(self):
                return 1
        class Net(nn.Module, Base):
            def __init__(self):
                super().__init__()
                if not getattr(type(self).made, "__isabstractmethod__", False):
                    self.a = nn.ReLU()
        """,
    "an instance of a plain class is no sequence": """
        from collections import deque
        from collections.abc import Iterable, Mapping, Sequence, Sized
        class Stage:
            width = 3
        class Counted:
            def __len__(self):
                return 4
            def __iter__(self):
                return iter(range(4))
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                stage, counted = Stage(), Counted()
                stages = stage if isinstance(stage, Sequence) else (stage,)
                self.a = nn.ModuleList(nn.Linear(each.width, 1) for each in stages)
                self.b = nn.Linear(isinstance(counted, Sized), isinstance(counted, Iterable) + 1)
                self.c = nn.Linear(isinstance(counted, (Sequence, Mapping)) + 1, isinstance(deque(), Sequence) + 1)
        """,
    "unique gives counts where they are asked for": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                widths, depths = torch.unique(torch.tensor([24, 8, 24, 24]), return_counts=True)
                for width, depth in zip(widths.tolist(), depths.tolist()):
                    self.add_module(f"s{width}", nn.Linear(width, depth))
        """,
}  # fmt: skip


@pytest.mark.parametrize("symptom", PREDICTED_AS_BUILT)
def test_predicted_as_built(symptom: str, agrees: Callable[[str], Graph]) -> None:
    agrees(PREDICTED_AS_BUILT[symptom])


UNDECIDED = "import os\nchoice = os.environ.get('CHOICE')\n"


def _paths(graph: Graph) -> list[Any]:
    return [(node.path, node.class_name) for node in graph.modules]


def test_a_raise_after_an_undecided_return_is_not_certain(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        UNDECIDED
        + """
def find(things):
    for thing in things:
        if thing:
            return thing
    raise ValueError("none")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = len([find([choice, choice])])
        self.a = nn.ReLU()
"""
    )
    assert ("a", "torch.nn.modules.activation.ReLU") in _paths(graph)
    assert not any("raises" in problem.message for problem in graph.problems)


def test_a_raise_after_an_undecided_break_is_not_certain(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        UNDECIDED
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for width in (1, 2, 3):
            if choice == width:
                break
            if width == 3:
                raise ValueError("too wide")
        self.a = nn.ReLU()
"""
    )
    assert _paths(graph) == [("", "net.Net"), ("a", "torch.nn.modules.activation.ReLU")]


def test_what_continues_before_a_raise_in_a_loop_of_unknown_length_is_kept(
    predict_source: Callable[..., Graph],
) -> None:
    graph = predict_source(
        UNDECIDED
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for letter in choice:
            if letter == "a":
                layers.append(nn.ReLU())
                continue
            raise ValueError(letter)
        self.layers = nn.Sequential(*layers)
"""
    )
    assert any(node.path == "layers.?" for node in graph.modules)


def test_unknown_or_true_is_true(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        UNDECIDED
        + """
class Net(nn.Module):
    def __init__(self, names=None):
        super().__init__()
        if not choice or not names:
            self.a = nn.ReLU()
        self.b = nn.Tanh() if choice and names else nn.GELU()
        if not (choice or not names):
            self.c = nn.ReLU()
"""
    )
    assert _paths(graph)[1:] == [("a", "torch.nn.modules.activation.ReLU"), ("b", "torch.nn.modules.activation.GELU")]
    assert graph.problems == ()
