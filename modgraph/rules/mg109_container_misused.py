"""MG109: `nn.Sequential([...])`, `nn.ModuleList(a, b)`, a ModuleList that is called: what torch refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.facts import Method, Store, are_apart, attribute_of, expects_error, is_unconditional
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject

_CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")
_FUNCTIONS = ("torch.relu", "torch.sigmoid", "torch.softmax", "torch.tanh", "torch.flatten")
_NO_STRING = "the keys of an nn.ModuleDict are strings: write str(key)"
_ADDING = ("append", "insert", "extend")
_SEQUENCES = (ast.List, ast.Tuple, ast.ListComp, ast.Set, ast.SetComp)


def find(subject: Subject) -> Iterator[Found]:
    for method, call in subject.calls_of(*_CONTAINERS):
        kind = subject.reads.torch_class(call.func)
        message = _wrong_arguments(subject, method, call, kind) if kind in _CONTAINERS else None
        if message is not None and not expects_error(method, call):
            yield Found(call, message)
    yield from _called(subject)
    yield from _called_plain(subject)
    yield from _added(subject)


def _added(subject: Subject) -> Iterator[Found]:
    """`self.layers.append(F.relu)`, where that certainly is a ModuleList."""
    for change in subject.facts.changes:
        call = change.node
        if change.how not in _ADDING or not isinstance(call, ast.Call) or not change.values:
            continue
        stores = subject.facts.stores_of(change.name)
        if not isinstance(call.func, ast.Attribute) or attribute_of(call.func.value, change.method.receiver) is None:
            continue
        if not stores or not all(_is_list(subject, each.value) for each in stores):
            continue
        last = change.values[-1]
        elements = last.elts if change.how == "extend" and isinstance(last, (ast.List, ast.Tuple)) else [last]
        if change.how == "extend" and elements == [last]:
            continue
        message = _no_module(subject, change.method, elements, "nn.ModuleList")
        if message is not None and subject.is_module and not expects_error(change.method, call):
            yield Found(call, message, change.name)


def _wrong_arguments(subject: Subject, method: Method, call: ast.Call, kind: str | None) -> str | None:
    given = call.args
    if kind == "Sequential":
        if len(given) == 1 and (isinstance(given[0], _SEQUENCES) or _is_local_list(method, given[0])):
            return "nn.Sequential takes the modules themselves: write nn.Sequential(*[...])"
        if len(given) == 1 and isinstance(given[0], (ast.Dict, ast.DictComp)):
            return "nn.Sequential takes no dict: write nn.Sequential(OrderedDict({...}))"
        return _no_module(subject, method, given, "nn.Sequential")
    starred = any(isinstance(each, ast.Starred) for each in given)
    if len(given) > 1 and not starred:
        return f"nn.{kind} takes one {'list' if kind == 'ModuleList' else 'dict'} of modules, not several arguments"
    if kind == "ModuleList" and len(given) == 1:
        if subject.reads.is_module(given[0], method) and _has_no_elements(subject, method, given[0]):
            return "nn.ModuleList takes a list of modules, not a module"
        if isinstance(given[0], (ast.List, ast.Tuple)):
            return _no_module(subject, method, given[0].elts, "nn.ModuleList")
        if isinstance(given[0], ast.ListComp):
            return _no_module(subject, method, [given[0].elt], "nn.ModuleList")
    if kind == "ModuleDict" and len(given) == 1 and isinstance(given[0], ast.Dict):
        if any(isinstance(key, ast.Constant) and not isinstance(key.value, str) for key in given[0].keys):
            return _NO_STRING
        return _no_module(subject, method, given[0].values, "nn.ModuleDict")
    if kind == "ModuleDict" and len(given) == 1 and isinstance(given[0], ast.DictComp) and _counts(given[0]):
        return _NO_STRING
    return None


def _is_local_list(method: Method, node: ast.expr) -> bool:
    """A local name that is only ever given a list that stands there."""
    if not isinstance(node, ast.Name) or node.id in method.parameters:
        return False
    values = method.values.get(node.id, [])
    stored = [
        each
        for each in ast.walk(method.node)
        if isinstance(each, ast.Name) and each.id == node.id and not isinstance(each.ctx, ast.Load)
    ]
    return bool(values) and len(stored) == len(values) and all(isinstance(each, _SEQUENCES) for each in values)


def _counts(node: ast.DictComp) -> bool:
    """Its keys are numbers: `{i: ... for i in range(n)}`."""
    for each in node.generators:
        function = each.iter.func if isinstance(each.iter, ast.Call) else None
        name = function.id if isinstance(function, ast.Name) else ""
        target = each.target.elts[0] if isinstance(each.target, ast.Tuple) and each.target.elts else each.target
        if not isinstance(node.key, ast.Name) or not isinstance(target, ast.Name) or target.id != node.key.id:
            continue
        if (name == "range" and target is each.target) or (name == "enumerate" and target is not each.target):
            return True
    return False


def _has_no_elements(subject: Subject, method: Method, node: ast.expr) -> bool:
    made = subject.reads.made(node, method)
    names = [subject.reads.torch_class(each.func) for each in made]
    return all(name is not None and name not in (*_CONTAINERS, "ParameterList", "ParameterDict") for name in names)


def _no_module(subject: Subject, method: Method, elements: list[ast.expr], container: str) -> str | None:
    """What is said of an element that certainly is no module."""
    for each in elements:
        if isinstance(each, (ast.List, ast.ListComp, ast.Tuple)):
            return f"an element of {container} is a list; nest a container: nn.ModuleList([...])"
        if isinstance(each, ast.Lambda):
            return f"an element of {container} is a function, which is no module"
        if not isinstance(each, (ast.Name, ast.Attribute)):
            continue
        first = ast.unparse(each).partition(".")[0]
        if first in method.values or first in method.parameters:
            continue
        path = subject.reads.path_of(each) or ""
        if path.startswith("torch.nn.functional.") or path in _FUNCTIONS:
            return f"an element of {container} is the function {ast.unparse(each)}; nn has modules for these"
        if subject.reads.torch_class(each):
            return f"an element of {container} is the class {ast.unparse(each)}; call it: {ast.unparse(each)}()"
    return None


def _called(subject: Subject) -> Iterator[Found]:
    """`self.layers(x)`, where that certainly is a ModuleList or ModuleDict."""
    facts = subject.facts
    lists = {
        name: next(store for store in stores if _is_list(subject, store.value))
        for name, stores in facts.stored.items()
        if any(_is_list(subject, each.value) for each in stores) and _is_one_of_two(subject, stores)
    }
    for name in sorted(lists.keys() - set(facts.methods)):
        is_always = all(_is_list(subject, each.value) for each in facts.stores_of(name))
        for method, call in facts.calls_of(name):
            if attribute_of(call.func, method.receiver) != name or not subject.is_module or expects_error(method, call):
                continue
            if not is_always and not _is_always_come_to(method, call):
                continue
            kind = subject.reads.torch_class(lists[name].value.func)  # type: ignore[union-attr]
            yield Found(call, f"`self.{name}` is an nn.{kind}, which cannot be called; call its elements", name)


def _called_plain(subject: Subject) -> Iterator[Found]:
    """`self.pool(x)`, where that certainly is a tuple, for a comma behind its module, or another plain container."""
    facts = subject.facts
    for name in sorted(facts.stored.keys() - set(facts.methods)):
        stores = facts.stores_of(name)
        if not all(_is_plain(subject, each) for each in stores):
            continue
        for method, call in facts.calls_of(name):
            if attribute_of(call.func, method.receiver) != name or not subject.is_module or expects_error(method, call):
                continue
            value, line = stores[0].value, stores[0].statement.lineno
            kind = type(value).__name__.lower()
            why = " for the comma at the end" if isinstance(value, ast.Tuple) and len(value.elts) == 1 else ""
            yield Found(call, f"`self.{name}` is a {kind}{why} (line {line}), which cannot be called", name)


def _is_plain(subject: Subject, store: Store) -> bool:
    """A tuple, list or dict that stands there, with a module in it."""
    value = store.value
    elements = value.values if isinstance(value, ast.Dict) else getattr(value, "elts", [])
    if not isinstance(value, (ast.Tuple, ast.List, ast.Dict)) or isinstance(store.statement, ast.AugAssign):
        return False
    return any(isinstance(each, ast.Call) and subject.reads.is_module_class(each.func) for each in elements)


def _is_always_come_to(method: Method, call: ast.Call) -> bool:
    """`forward` comes to it on all ways: nothing returns before."""
    returns_before = any(each.lineno < call.lineno for each in method.returns)
    return method.name == "forward" and is_unconditional(method, call) and not returns_before


def _is_one_of_two(subject: Subject, stores: list[Store]) -> bool:
    """Where something else is stored too, that stands in the other arm of a test."""
    lists = [each for each in stores if _is_list(subject, each.value)]
    return all(each in lists or all(are_apart(each, one) for one in lists) for each in stores)


def _is_list(subject: Subject, value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and subject.reads.torch_class(value.func) in ("ModuleList", "ModuleDict")


RULE = Rule(
    code="MG109",
    name="container-misuse",
    severity="error",
    summary="A container of modules is given what it refuses, or is called.",
    why="""\
`nn.Sequential` takes modules as its arguments, `nn.ModuleList` and `nn.ModuleDict` one list or dict of them;
functions, classes, nested lists and keys that are no strings raise a TypeError. A ModuleList or ModuleDict has no
`forward`: calling it raises a NotImplementedError. A tuple, list or dict of modules cannot be called either, and a
comma at the end of the line makes a tuple.
""",
    find=find,
    invalid=(
        Invalid(
            """\
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential([nn.Linear(8, 8), nn.ReLU()])
        self.b = nn.ModuleList(nn.Linear(8, 8), nn.ReLU())
        self.c = nn.ModuleList([nn.Linear(8, 8), F.relu])
        self.d = nn.Sequential(nn.Linear(8, 8), nn.ReLU)
        self.e = nn.ModuleList([nn.ReLU(), [nn.ReLU()]])
        self.f = nn.ModuleDict({1: nn.ReLU()})
""",
            (7, 8, 9, 10, 11, 12),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8)])

    def forward(self, x):
        return self.layers(x)
""",
            (9,),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.AvgPool2d(2),

    def forward(self, x):
        return self.pool(x)
""",
            (9,),
        ),
    ),
    valid=(
        Valid(
            """\
from collections import OrderedDict
from torch import nn

class Net(nn.Module):
    def __init__(self, blocks, act=nn.ReLU):
        super().__init__()
        self.a = nn.Sequential(*[nn.Linear(8, 8)])
        self.b = nn.Sequential(OrderedDict([("a", nn.Linear(8, 8))]))
        self.c = nn.ModuleList(blocks)
        self.d = nn.ModuleDict([["a", nn.ReLU()]])
        self.e = nn.ModuleList(nn.Sequential(nn.ReLU(), nn.ReLU()))
        self.f = nn.ModuleList([None, act()])

    def forward(self, x):
        return self.c[0](x)
""",
            "what torch takes",
        ),
        Valid(
            """\
import pytest
from torch import nn

class TestNet:
    def test_list(self):
        with pytest.raises(TypeError):
            nn.Sequential([nn.ReLU()])
""",
            "the error is expected",
        ),
    ),
)
