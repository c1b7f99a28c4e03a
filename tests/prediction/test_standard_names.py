"""No name that Python or torch gives a value is said to be missing: what is not modelled is unknown, never an error."""

from __future__ import annotations

import importlib
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain import registry
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.objects import DictObject
from modgraph.prediction.domain.values import Constant, ModuleReference, Unknown, Value
from modgraph.prediction.entry import interpreter
from modgraph.prediction.interpreter import Interpreter
from modgraph.prediction.knowledge import import_all

VALUES = """
    import abc, argparse, collections, dataclasses, enum, functools, types, typing
    class Plain:
        "text"
        x: int = 1
        def method(self): pass
        @staticmethod
        def static(): pass
        @classmethod
        def of_class(cls): pass
    class Meta(type): pass
    class WithMeta(metaclass=Meta): pass
    class Abstract(abc.ABC): pass
    class Color(enum.Enum):
        RED = 1
    class Number(enum.IntEnum):
        ONE = 1
    class Table(dict): pass
    class Row(list): pass
    class Failure(ValueError): pass
    class Generic(typing.Generic[typing.TypeVar("T")]): pass
    @dataclasses.dataclass
    class Data:
        a: int = 1
    class Named(typing.NamedTuple):
        a: int = 1
    Pair = collections.namedtuple("Pair", "a b")
    def function(a, b=1, *, c: int = 2): "text"
    def generate(): yield 1
    VALUES = {name: value for name, value in dict(
        constants=(1, 1.5, True, None, "a", b"a", 1j, range(2), ...), containers=([], {}, set(), (), frozenset()),
        plain=(Plain(), Plain, Plain().method, Plain.method, Plain.static, Plain.of_class, object()),
        metaclasses=(Meta, WithMeta, WithMeta(), Abstract, Color, Color.RED, Number, Number.ONE),
        derived=(Table(), Table, Row(), Row, Failure(), Failure, Generic, Generic()),
        made=(Data, Data(), Named, Named(), Pair, Pair(1, 2)),
        functions=(function, generate, generate(), lambda: 0, len, [].append, functools.partial(len), property(len)),
        others=(list[int], slice(1), argparse.Namespace(), types.SimpleNamespace(), argparse.ArgumentParser()),
        library=(collections.OrderedDict(), collections.deque(), collections.Counter(), functools, collections.abc),
    ).items()}
"""

TORCH_VALUES = """
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(1, 1)
    VALUES = {"torch": (
        Net(), Net, nn.Module, nn.Linear, nn.Linear(1, 1), nn.Sequential(), nn.ModuleList(), nn.ModuleDict(),
        torch.zeros(2), nn.Parameter(torch.zeros(2)), torch.Tensor, torch.float32, torch.device("cpu"),
        torch.zeros(2).shape, torch.relu, nn.functional.relu, nn.ParameterList(),
    )}
"""


def lacking(machine: Interpreter, value: Value, real: Any) -> list[str]:
    """The names of a real value that the interpreter says are not there."""
    found = []
    for name in dir(real):
        if name.startswith("___") or name in ("__warningregistry__", "__slotnames__"):
            continue  # what torch's compiler leaves on classes once it is loaded, a warning on its module, and a copy
        try:
            getattr(real, name)
        except Exception:
            continue
        try:
            machine.get_attribute(value, name)
        except Raised:
            found.append(name)
    return found


def all_lacking(text: str, folder: Path) -> dict[str, list[str]]:
    (folder / "values_of_all_kinds.py").write_text(textwrap.dedent(text), encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "values_of_all_kinds"}
    exec(compile(textwrap.dedent(text), "values", "exec", dont_inherit=True), namespace)
    machine = interpreter([str(folder), *sys.path])

    def look() -> dict[str, list[str]]:
        values = machine.state.find(machine.resolve("values_of_all_kinds.VALUES"), DictObject)
        assert values is not None
        found = {}
        for kind, reals in namespace["VALUES"].items():
            items = machine.iterate(values.entries[Constant(kind)])
            assert not isinstance(items, Unknown)
            for value, real in zip(items, reals, strict=True):
                assert not isinstance(value, Unknown), (real, value.reason)
                found[f"{kind} {real!r}"] = lacking(machine, value, real)
        return {kind: names for kind, names in found.items() if names}

    return with_deep_stack(look)


def test_every_kind_of_value_has_the_attributes_that_python_gives_it(tmp_path: Path) -> None:
    assert all_lacking(VALUES, tmp_path) == {}


@pytest.mark.needs_torch
def test_torchs_values_have_the_attributes_that_torch_gives_them(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert all_lacking(TORCH_VALUES, tmp_path) == {}


def modelled_modules() -> list[str]:
    registry.load(import_all)
    tables = (registry._models, registry._classes, registry._constants, registry._inert)
    paths = {name for table in tables for name in table if name.partition(".")[0] in sys.stdlib_module_names}
    prefixes = {".".join(path.split(".")[:end]) for path in paths for end in range(1, path.count(".") + 2)}
    return sorted(name for name in prefixes if is_module(name))


def is_module(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def test_modules_of_the_standard_library_have_all_their_names() -> None:
    machine = interpreter()
    modules = modelled_modules()
    assert len(modules) > 50
    found = with_deep_stack(
        lambda: {name: lacking(machine, ModuleReference(name), importlib.import_module(name)) for name in modules}
    )
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", ["torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils"])
def test_torchs_modules_have_all_their_names(name: str) -> None:
    real = pytest.importorskip(name)
    machine = interpreter()
    assert with_deep_stack(lambda: lacking(machine, ModuleReference(name), real)) == []


def test_what_is_not_there_is_said_to_be_missing(evaluated: Any) -> None:
    text = """
        import collections, math, os, re, types
        class Plain:
            def method(self): pass
        def function(): pass
        def missing(value, name):
            try:
                getattr(value, name)
            except AttributeError:
                return not hasattr(value, name) and getattr(value, name, 5) == 5
        VALUES = (1, "a", [], {}, (), Plain(), Plain, Plain().method, function, len, None, types.SimpleNamespace())
        RESULT = [missing(value, "no_such_name") for value in VALUES]
        RESULT += [missing(Plain(), "__len__"), missing(Plain(), "__name__"), missing(function, "__len__")]
        RESULT += [missing(module, "no_such_name") for module in (collections, os, re)]
        try:
            from collections import Callable
        except ImportError:
            RESULT.append(True)
    """
    assert evaluated(text) == [True] * 19


def test_names_that_importing_gives_a_module(evaluated: Any) -> None:
    text = """
        try:
            FLAG
        except NameError:
            FLAG = 3
        for value in (__doc__, __spec__, __loader__, __builtins__, __file__):
            pass
        class Body:
            name = __qualname__, __module__
            def own(self): return __class__
        RESULT = [FLAG, Body.name[0], Body().own() is Body, __file__ is None, __file__ is not None, __name__]
    """
    assert evaluated(text) == [3, "Body", True, False, True, "code"]
