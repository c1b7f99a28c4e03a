"""What code changes beside its result happens as often as in Python: a receiver, an index, `__bool__`, `__str__`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

ONCE = {
    "an index": """
        def __init__(self):
            super().__init__()
            widths = {4: 1}
            widths[self.make(4)] += 1
        def make(self, n):
            self.add_module(f"m{len(self._modules)}", nn.Linear(n, n))
            return n
        """,
    "a receiver": """
        def __init__(self):
            super().__init__()
            self.count = 0
            self.push().count += 1
            self.push().count *= 3
            self.add_module("last", nn.Linear(self.count, 1))
        def push(self):
            self.add_module(f"m{len(self._modules)}", nn.ReLU())
            return self
        """,
    "an index before the value": """
        def __init__(self):
            super().__init__()
            numbers = iter(range(4))
            widths = [8, 16, 32]
            widths[next(numbers)] += next(numbers)
            widths[next(numbers)] *= 2
            self.layers = nn.ModuleList(nn.Linear(width, 1) for width in widths)
        """,
    "a slice": """
        def __init__(self):
            super().__init__()
            numbers = iter(range(4))
            widths = [8, 16, 32]
            widths[next(numbers):next(numbers)] += [3]
            self.layers = nn.ModuleList(nn.Linear(width, next(numbers)) for width in widths[:2])
        """,
    "the condition of an assertion": """
        def __init__(self):
            super().__init__()
            class Asked:
                times = 0
                def __bool__(self):
                    Asked.times += 1
                    return True
            assert Asked()
            self.a = nn.Linear(Asked.times, 1)
        """,
}


@pytest.mark.parametrize("body", ONCE.values(), ids=ONCE)
def test_it_is_evaluated_once(agrees: Callable[[str], Graph], body: str) -> None:
    agrees("class Net(nn.Module):" + body.replace("\n    ", "\n"))


def test_an_exception_asks_for_no_text(agrees: Callable[[str], Graph]) -> None:
    agrees("""
        LOG = []
        class Name:
            def __str__(self):
                LOG.append(1)
                return "n"
            __repr__ = __str__
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for fail in (self.value, self.key, self.asserted):
                    try:
                        fail(Name())
                    except (ValueError, KeyError, AssertionError):
                        pass
                self.layers = nn.ModuleList(nn.ReLU() for _ in LOG)
                try:
                    raise ValueError(Name())
                except ValueError as error:
                    self.add_module(str(error), nn.Tanh())
                self.after = nn.ModuleList(nn.ReLU() for _ in LOG)
            def value(self, name): raise ValueError(name)
            def key(self, name): {}[name]
            def asserted(self, name): assert False, name
        """)


REGISTERED = {
    "a list": ("REG = []", "REG.append", "REG[0]"),
    "a set": ("REG = set()", "REG.add", "list(REG)[0]"),
    "a function": ("REG = []\ndef put(value): REG.append(value)", "put", "REG[0]"),
}


@pytest.mark.parametrize("what", ["class Made(nn.ReLU): pass", "def Made(): return nn.ReLU()"])
@pytest.mark.parametrize(("made", "decorator", "found"), REGISTERED.values(), ids=REGISTERED)
def test_a_decorator_that_gives_none(
    agrees: Callable[[str], Graph], made: str, decorator: str, found: str, what: str
) -> None:
    agrees(f"""
{made}
@{decorator}
{what}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = {found}()
        self.b = nn.Linear(1, 1) if Made is None else nn.Tanh()
""")


def test_a_decorator_that_raises_is_told(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source("""
        def refuse(function): raise ValueError("no")
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                @refuse
                def make(): return nn.ReLU()
                self.a = make()
        """)
    assert ["it raises builtins.ValueError: no" in each.message for each in graph.problems] == [True]
