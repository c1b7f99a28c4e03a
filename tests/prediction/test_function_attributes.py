"""Attributes that are set on functions: each function that a `def` makes has its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph


def test_each_function_of_a_def_has_its_own_attributes(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        def make(n):
            def inner():
                return n
            inner.width = n
            return inner
        FIRST, SECOND = make(2), make(3)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(FIRST.width, SECOND.width)
                third, fourth = make(4), make(5)
                self.b = nn.Linear(third.width, fourth.width)
                made = []
                for k in range(2):
                    def f():
                        return k
                    f.size = k + 1
                    made.append(f)
                self.c = nn.Linear(made[0].size, made[1].size)
                if not hasattr(make, "width"):
                    self.d = nn.ReLU()
        """
    )


def test_a_def_that_is_written_twice_makes_two_functions(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        def make():
            return 1
        make.width = 5
        FIRST = make
        def make():
            return 2
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(FIRST.width, make())
                if not hasattr(make, "width"):
                    self.b = nn.ReLU()
        """
    )


def test_on_which_of_two_functions_it_was_set_is_not_known(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        def make(n):
            def inner():
                return n
            return inner
        class Net(nn.Module):
            def __init__(self, flag):
                super().__init__()
                if flag:
                    f = make(1)
                    f.width = 2
                else:
                    f = make(2)
                    f.width = 3
                self.a = nn.Linear(4, f.width)
        """
    )
    (child,) = (node for node in graph.modules if node.path == "a")
    assert child.parameters[0].shape == (None, 4)


COPIED = """
import functools, types


def copied(f):
    g = types.FunctionType(f.__code__, f.__globals__, name=f.__name__, argdefs=f.__defaults__, closure=f.__closure__)
    g = functools.update_wrapper(g, f)
    g.__kwdefaults__ = {given}
    return g


class Base:
    @classmethod
    def make(cls, n, *, bias={default}):
        return nn.Linear(n, cls.size, bias=bias)


class A(Base):
    size = 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        A.make = classmethod(copied(Base.make))
        self.a = A.make(2)
"""


@pytest.mark.parametrize(
    ("given", "known"), [("f.__kwdefaults__", True), ("dict(f.__kwdefaults__)", True), ("{'bias': False}", False)]
)
def test_a_function_that_is_given_what_it_has_is_as_before(
    predict_source: Callable[..., Graph], given: str, known: bool
) -> None:
    graph = predict_source(COPIED.format(given=given, default=True))
    names = {parameter.name for module in graph.modules if module.path == "a" for parameter in module.parameters}
    assert names == ({"weight", "bias"} if known else set())
