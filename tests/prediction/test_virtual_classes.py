"""isinstance and issubclass of classes that are others' by registration, by a hook, by their methods or by a metaclass.

Python itself is asked the same. What it says is told or left open; what ordinary code asks is told.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph
from tests.prediction.questions import answers_to

pytestmark = pytest.mark.needs_torch

_CLASSES = """
import abc, collections, collections.abc, contextlib, dataclasses, decimal, enum, fractions, numbers, os, pathlib, types, typing
import torch
from torch import nn

class Plain: pass
class Base(abc.ABC): pass
class Below(Base): pass
class Unasked(abc.ABC): pass
@Base.register
class Told: pass
class OfTold(Told): pass
class ToldBelow: pass
Below.register(ToldBelow)
Base.register(int)
class Goes:
    def go(self): pass
class Hooked(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other): return hasattr(other, "go")
class Left(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other): return NotImplemented
class OfLeft(Left): pass
@typing.runtime_checkable
class Going(typing.Protocol):
    def go(self): ...
@typing.runtime_checkable
class Indexed(typing.Protocol):
    def __getitem__(self, key): ...
@typing.runtime_checkable
class Sizes(typing.Protocol):
    size: int
class Meta(type):
    def __instancecheck__(cls, value): return hasattr(value, "go")
    def __subclasscheck__(cls, other): return other is int
class Asked(metaclass=Meta): pass
class AbstractMeta(abc.ABCMeta):
    def __instancecheck__(cls, value): return super().__instancecheck__(value) or value == 5
class Five(metaclass=AbstractMeta): pass
class Sized:
    size = 3
    def __len__(self): return 1
    def __iter__(self): return iter(())
    def __contains__(self, item): return True
class NoIterator(Sized):
    __iter__ = None
class Row(collections.abc.Sequence):
    def __len__(self): return 2
    def __getitem__(self, at): return [1, 2][at]
class Table(collections.abc.MutableMapping):
    def __init__(self, **held): self.held = held
    def __getitem__(self, key): return self.held[key]
    def __setitem__(self, key, value): self.held[key] = value
    def __delitem__(self, key): del self.held[key]
    def __iter__(self): return iter(self.held)
    def __len__(self): return len(self.held)
class Group(collections.abc.Set):
    def __init__(self, items=()): self.items = set(items)
    def __contains__(self, item): return item in self.items
    def __iter__(self): return iter(self.items)
    def __len__(self): return len(self.items)
class Counted: pass
collections.abc.Sequence.register(Counted)
class Numeric: pass
numbers.Number.register(Numeric)
class Own(dict): pass
class Kind(enum.Enum): A = 1
class Pair(typing.NamedTuple):
    a: int
class Settings(abc.ABC): pass
class Small(Settings): pass
"""
_VALUES = (
    *(
        "Plain()",
        "Told()",
        "OfTold()",
        "ToldBelow()",
        "Goes()",
        "OfLeft()",
        "Sized()",
        "NoIterator()",
        "Row()",
        "Table()",
    ),
    *(
        "Group()",
        "Counted()",
        "Numeric()",
        "Own()",
        "Kind.A",
        "Pair(1)",
        "Small()",
        "5",
        "True",
        "1.5",
        "1j",
        "'a'",
        "b'a'",
    ),
    *(
        "None",
        "[1]",
        "(1,)",
        "{1: 2}",
        "{1}",
        "frozenset()",
        "range(3)",
        "{}.keys()",
        "{}.values()",
        "{}.items()",
        "len",
    ),
    *("nn.ReLU()", "nn.Sequential()", "nn.ModuleList()", "nn.ModuleDict()", "nn.ParameterList()", "nn.ParameterDict()"),
    *("torch.ones(2)", "nn.Parameter(torch.ones(2))", "torch.Size([1])", "torch.float32", "torch.device('cpu')", "int"),
    *(
        "collections.OrderedDict()",
        "collections.deque()",
        "collections.Counter()",
        "collections.UserDict()",
        "object()",
    ),
    *("collections.ChainMap()", "types.SimpleNamespace()", "lambda: 1", "iter([])", "(i for i in [])", "slice(1)"),
    *("pathlib.Path('x')", "decimal.Decimal(1)", "fractions.Fraction(1, 2)", "nn.ReLU()._modules", "Plain"),
)
_ABSTRACT = (
    *("Callable", "Hashable", "Sized", "Iterable", "Iterator", "Reversible", "Container", "Collection", "Sequence"),
    *("MutableSequence", "Mapping", "MutableMapping", "Set", "MappingView", "KeysView", "Generator"),
)
_OF = (
    *("Base", "Below", "Unasked", "Hooked", "Left", "OfLeft", "Going", "Indexed", "Sizes", "Asked", "Five", "Settings"),
    *(f"collections.abc.{name}" for name in _ABSTRACT),
    *("numbers.Number", "numbers.Integral", "numbers.Real", "typing.Mapping", "os.PathLike", "dict", "(list, tuple)"),
    *("contextlib.AbstractContextManager", "typing.SupportsInt", "nn.Module", "torch.Tensor", "type"),
)
_TOLD = {
    "Base": ("Told()", "OfTold()", "ToldBelow()", "5", "True", "Plain()", "1.5"),
    "Hooked": ("Goes()", "Plain()", "5"),
    "Going": ("Goes()", "Plain()", "5", "nn.ReLU()"),
    "Settings": ("Small()", "Plain()", "5", "None"),
    "collections.abc.Sequence": (
        "[1]",
        "(1,)",
        "'a'",
        "range(3)",
        "Row()",
        "Counted()",
        "nn.ModuleList()",
        "torch.ones(2)",
    ),
    "collections.abc.Mapping": ("{1: 2}", "Own()", "Table()", "nn.ModuleDict()", "collections.Counter()", "5"),
    "collections.abc.Iterable": ("[1]", "5", "nn.ModuleList()", "nn.ReLU()", "torch.ones(2)", "Sized()", "Plain()"),
    "collections.abc.Set": ("{}.keys()", "{1}", "[1]", "Group()"),
    "numbers.Number": ("5", "1.5", "'a'", "Numeric()", "torch.ones(2)"),
}
"""What ordinary code asks."""


@pytest.mark.parametrize("of", _OF)
def test_of_which_classes_a_value_is(predict_source: Callable[..., Graph], of: str) -> None:
    classes = ("int", "Told", "ToldBelow", "Goes", "Plain", "Sized", "Table", "dict", "nn.ModuleList", "torch.Tensor")
    questions = [f"isinstance({value}, {of})" for value in _VALUES]
    answers = answers_to(predict_source, _CLASSES, [*questions, *(f"issubclass({each}, {of})" for each in classes)])
    assert {each: pair for each, pair in answers.items() if pair[1] not in (None, pair[0])} == {}
    told = [f"isinstance({value}, {of})" for value in _TOLD.get(of, ())]
    assert [each for each in told if answers[each][1] is None] == []


_COMPARISONS = [
    *("Table(a=1) == {'a': 1}", "Table(a=1) == {'a': 2}", "{'a': 1} == Table(a=1)", "Table(a=1) == Table(a=1)"),
    *("Table(a=1) != {'a': 1}", "Table(a=1) == 3", "Table(a=1) in [{'a': 1}]", "Table(a=1) == [1]"),
]
_LEFT_OPEN = [
    *("Group([1]) == {1}", "{1} == Group([1])", "Group([1]) == Group([1])", "Group([1]) <= {1, 2}"),
    *("collections.UserDict(a=1) == {'a': 1}", "bool(Group([1]) & {1})", "Group([1]).isdisjoint({2})"),
]


def test_equality_that_abstract_classes_give(predict_source: Callable[..., Graph]) -> None:
    answers = answers_to(predict_source, _CLASSES, [*_COMPARISONS, *_LEFT_OPEN])
    assert {each: answers[each] for each in _COMPARISONS if answers[each][0] != answers[each][1]} == {}
    assert {each: pair for each, pair in answers.items() if pair[1] not in (None, pair[0])} == {}


def test_a_class_registered_on_some_paths(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        import abc
        class Base(abc.ABC): pass
        class Other: pass
        class Net(nn.Module):
            def __init__(self, flag):
                super().__init__()
                if flag:
                    Base.register(Other)
                self.a = nn.ReLU() if isinstance(Other(), Base) else nn.Tanh()
        """
    )
    assert {node.path: node.class_name for node in graph.modules}["a"] is None
