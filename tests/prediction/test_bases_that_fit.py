"""Which classes Python makes, and which it refuses: the forms that objects have in memory, bases that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

HEADER = """
class L(list): pass
class D(dict): pass
class B: pass
class M(type): pass
class Other(type): pass
class of_m(metaclass=M): pass
class of_other(metaclass=Other): pass
class X:
    __slots__ = ("a",)
class Y(X):
    __slots__ = ["b"]
class Z:
    __slots__ = ("c", "__dict__")
class E:
    __slots__ = ()
"""

BASES = """
int, str | L, D | B, B | bool | range | type(None) | X, Z | Y, X | X, dict | X, E | nn.Module, X | torch.Tensor, dict
Exception, dict | KeyError, ValueError | OSError, SyntaxError | collections.OrderedDict, dict | set, frozenset
collections.deque, list | collections.Counter, collections.defaultdict | nn.Module, dict | L, B | int, B | type(print)
of_m, of_other | of_m, B | of_m | nn.Linear, nn.Module | type, int
"""


@pytest.mark.parametrize("bases", [each.strip() for each in BASES.replace("\n", "|").split("|") if each.strip()])
def test_a_class_is_made_or_refused(claims_that_fail: Callable[..., list[Any]], bases: str) -> None:
    made = (
        f"class A({bases}): pass",
        *(f"A = {call}('A', ({bases},), {{}})" for call in ("type", "M", "type.__call__(M, ")),
        f"A = dataclasses.make_dataclass('A', ['x'], bases=({bases},))",
    )
    body = ""
    for place, statement in enumerate(made):
        text = statement.replace("type.__call__(M, (", "type.__new__(M, ")
        body += f"try:\n    {text}\n    self.made{place} = nn.ReLU()\nexcept TypeError:\n    self.refused{place} = nn.ReLU()\n"
    assert claims_that_fail(body, HEADER) == []


def test_a_metaclass_that_is_called_makes_a_class(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        HEARD = []
        class Base(nn.Linear):
            def __init_subclass__(cls, **options):
                HEARD.append(cls)
        class Meta(type):
            def __init__(cls, name, bases, namespace):
                super().__init__(name, bases, namespace)
                cls.width = 5
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                made = Meta("Made", (Base,), {"height": 3})
                self.a = made(made.width, made.height)
                self.others = nn.ModuleList([each(1, 1) for each in HEARD])
                self.c = nn.ReLU() if isinstance(made, type) else nn.Tanh()
        """
    )
