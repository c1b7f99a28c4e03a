"""MG110: names that a submodule, parameter or buffer cannot have: with a dot, empty, or taken."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modgraph.rules import members
from modgraph.rules.facts import Method, attribute_of, expects_error
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject
from modgraph.source import torch_names

_PERCENT = re.compile(r"%(?:\(\w*\))?[-#0-9 +.*]*[a-zA-Z%]")
_BRACES = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
"""Of formats: what is put in place of these is not known."""
_TAKEN = torch_names.MODULE_METHODS | torch_names.OTHER_NAMES


def find(subject: Subject) -> Iterator[Found]:
    for method, call in subject.calls_of(*torch_names.REGISTERING):
        name = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "name"), None)
        if name is None or not _is_a_modules(subject, method, call) or expects_error(method, call):
            continue
        own = attribute_of(call.func, method.receiver) is not None
        problem = _problem(name, {*_TAKEN, *_methods(subject)} if own else _TAKEN)
        if problem is not None and not _is_refused_before(subject, call) and subject.is_module:
            yield Found(call, f"{problem}: torch raises a {_raised(name)}")
    for method, call in subject.calls_of("setattr"):
        if len(call.args) == 3 and isinstance(call.args[0], ast.Name) and call.args[0].id == method.receiver:
            problem = _problem(call.args[1], ()) if _raised(call.args[1]) == "KeyError" else None
            if problem is None or not subject.reads.is_module(call.args[2], method) or not subject.is_module:
                continue
            yield Found(
                call,
                f"{problem}: it is registered under a name that no look-up finds, and such are its keys",
                severity="warning",
            )
    for method, call in subject.calls_of("ModuleDict"):
        if subject.reads.torch_class(call.func) == "ModuleDict" and not expects_error(method, call):
            yield from _keys(subject, call)
    yield from _set_keys(subject)


def _methods(subject: Subject) -> frozenset[str]:
    """Methods of the class. Whether there is a property, its code decides: if that raises an AttributeError, none."""
    if "certain methods" not in subject.notes:
        found = ((name, members.member(subject.facts.node, name)) for name in subject.facts.methods)
        subject.notes["certain methods"] = frozenset(
            name for name, each in found if each is not None and each.kind == "method"
        )
    answer: frozenset[str] = subject.notes["certain methods"]
    return answer


def _raised(name: ast.expr) -> str:
    return "TypeError" if isinstance(name, ast.Constant) and not isinstance(name.value, str) else "KeyError"


def _is_refused_before(subject: Subject, call: ast.Call) -> bool:
    """What is to be a submodule certainly is none: torch asks for that before it looks at the name."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("add_module", "register_module"):
        return False
    given = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "module")]
    return any(_is_no_module(subject, each) for each in given)


def _is_no_module(subject: Subject, node: ast.expr | None) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is not None
    if isinstance(node, (ast.Name, ast.Attribute)):
        return bool(subject.reads.is_module_class(node)) or (subject.reads.path_of(node) or "").startswith("torch.")
    return isinstance(node, _NO_MODULES) or subject.reads.is_parameter(node)


_NO_MODULES = (
    *(ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.Lambda, ast.JoinedStr, ast.Compare),
)


def _set_keys(subject: Subject) -> Iterator[Found]:
    """`self.layers["a.b"] = ...`, where that certainly is a ModuleDict."""
    for change in subject.facts.changes:
        statement = change.node
        if change.how != "[]" or not isinstance(statement, ast.Assign) or expects_error(change.method, statement):
            continue
        stores = subject.facts.stores_of(change.name)
        if not stores or not all(_is_dict(subject, each.value) for each in stores):
            continue
        for target in statement.targets:
            own = isinstance(target, ast.Subscript) and attribute_of(target.value, change.method.receiver)
            problem = _problem(target.slice, _TAKEN | torch_names.DICT_NAMES) if own == change.name else None  # type: ignore[attr-defined]
            refused = problem is None or _is_no_module(subject, statement.value)
            if not refused and subject.is_module:
                yield Found(target, f"{problem}: torch raises a {_raised(target.slice)}", change.name)  # type: ignore[attr-defined]


def _is_dict(subject: Subject, value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and subject.reads.torch_class(value.func) == "ModuleDict"


def _keys(subject: Subject, call: ast.Call) -> Iterator[Found]:
    if len(call.args) != 1 or not isinstance(call.args[0], ast.Dict):
        return
    for key, value in zip(call.args[0].keys, call.args[0].values, strict=True):
        problem = _problem(key, _TAKEN | torch_names.DICT_NAMES) if key is not None else None
        if _is_no_module(subject, value):
            return
        if key is not None and problem is not None and _raised(key) == "KeyError":
            yield Found(key, f"{problem}: torch raises a KeyError")


def _is_a_modules(subject: Subject, method: Method, call: ast.Call) -> bool:
    """It is a method of this module, or of one that is made here."""
    if attribute_of(call.func, method.receiver) is not None:
        return call.func.attr not in subject.facts.methods  # type: ignore[attr-defined]
    return isinstance(call.func, ast.Attribute) and subject.reads.is_module(call.func.value, method)


def _problem(name: ast.expr, taken: frozenset[str] | set[str] | tuple[str, ...]) -> str | None:
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        if not name.value:
            return "the name is empty"
        if "." in name.value:
            return f"the name {name.value!r} has a dot"
        return f"the name {name.value!r} is taken by the class" if name.value in taken else None
    if isinstance(name, ast.Constant):
        return f"the name {name.value!r} is no str"
    if any("." in part for part in _literal_parts(name)):
        return "the name has a dot"
    return None


def _literal_parts(node: ast.expr) -> Iterator[str]:
    """Text that certainly stands in the name."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield from (
            each.value for each in node.values if isinstance(each, ast.Constant) and isinstance(each.value, str)
        )
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _literal_parts(node.left)
        yield from _literal_parts(node.right)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        yield from (_PERCENT.sub("", text) for text in _literal_parts(node.left))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        yield from (_BRACES.sub("", text) for text in _literal_parts(node.func.value))


RULE = Rule(
    code="MG110",
    name="bad-child-name",
    severity="error",
    summary="A submodule, parameter or buffer gets a name with a dot, an empty one, or one that is taken.",
    why="""\
Names of submodules are parts of paths: `add_module`, `register_buffer` and `nn.ModuleDict` raise a KeyError for a
name with a dot, for an empty one, and for one that the class has already (`forward`, `type`, `keys` of a ModuleDict);
`add_module` and its like raise a TypeError for a number.
`setattr(self, "a.b", module)` is worse: it registers a child that no look-up finds, whose keys in the state dict read
as if there were a module `a`.
""",
    find=find,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        for i in range(depth):
            self.add_module(f"layer.{i}", nn.Linear(8, 8))
        self.add_module("", nn.Linear(8, 8))
        self.add_module("forward", nn.Linear(8, 8))
        self.heads = nn.ModuleDict({"type": nn.Linear(8, 2), "a.b": nn.Linear(8, 2)})
        setattr(self, "tail.last", nn.Linear(8, 2))
        body = nn.Sequential()
        body.add_module("conv" + ".0", nn.Conv2d(3, 8, 3))
""",
            (7, 8, 9, 10, 10, 11, 13),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth, name):
        super().__init__()
        for i in range(depth):
            self.add_module(f"layer{i}", nn.Linear(8, 8))
            setattr(self, f"{name}_{i}", nn.Linear(8, 8))
        self.heads = nn.ModuleDict({"kind": nn.Linear(8, 2)})
        self.add_module(name.replace(".", "_"), nn.Linear(8, 8))
        setattr(self, "note.text", "a plain value")
""",
            "names without dots; a plain value",
        ),
    ),
)
