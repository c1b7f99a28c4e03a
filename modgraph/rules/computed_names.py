"""Whether what is registered under names that are computed may be what an attribute holds.

The interpreter says of such names only that there may be any. What is given to `add_module` and its like is followed
here by the names that stand in the same statements, however they are used: two names that meet in an assignment, a loop
or a call that adds something belong together. So much is certain: where nothing connects them, they are others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.facts import Method, attribute_of
from modgraph.rules.subject import Subject
from modgraph.source import torch_names
from modgraph.source.containers import ADDING

_REGISTERING = (torch_names.REGISTERING - {"register_buffer"}) | {"__setattr__", "setattr"}
_STORE_NAMES = ("_modules", "_parameters", "__dict__")
_STORES = tuple(f".{each}" for each in _STORE_NAMES)
_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.NamedExpr, ast.withitem)
_GROUPS = "groups of names"
_KEEPING_NONE = frozenset(
    each
    for each in torch_names.STATEFUL | torch_names.STATELESS | torch_names.MODAL
    if not each.startswith("Transformer") and each not in ("DataParallel", "TripletMarginWithDistanceLoss")
)
"""Layers of torch that are given no modules."""
_MAX_DEPTH = 4
"""Assignments followed to where an object comes from."""


def may_be_registered(subject: Subject, name: str, *, some: bool) -> bool:
    """What the attribute holds may be registered by a call that computes the name.

    Args:
        some: the interpreter says that there are such; calls whose arguments do not stand there count in any case.
    """
    reached = _registered(subject, some=some)
    return reached is None or f".{name}" in reached


def _registered(subject: Subject, *, some: bool) -> set[str] | None:
    """Attributes, as ".name", of which that may be so; None for all."""
    key = f"computed names {some}"
    if key not in subject.notes:
        found: set[str] | None = set()
        calls = [each for each in subject.facts.calls_of(*_REGISTERING) if some or _is_open(each[1])]
        calls += [each for each in subject.facts.calls_of(*_REGISTERING, *ADDING) if _is_another(subject, *each)]
        for method, call in calls:
            for value in _given(call):
                names = _come_from(subject, method, value)
                found = None if found is None or names is None else found | names
        subject.notes[key] = found
    registered: set[str] | None = subject.notes[key]
    return registered


def may_be_stored(subject: Subject, name: str) -> bool:
    """What the attribute holds may be put into the stores of `nn.Module` directly."""
    if "stored names" not in subject.notes:
        subject.notes["stored names"] = {
            each
            for method in subject.facts.methods.values()
            if any(isinstance(each, ast.Attribute) and each.attr in _STORE_NAMES for each in ast.walk(method.node))
            for group in {id(group): group for group in _connected(subject, method).values()}.values()
            if not group.isdisjoint(_STORES)
            for each in group
        }
    return f".{name}" in subject.notes["stored names"]


def _is_another(subject: Subject, method: Method, call: ast.Call) -> bool:
    """What is added goes into an object that the method was given, or found in such: the interpreter does not know it,
    and it may be kept on this one."""
    holder: ast.expr | None = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(call.func, ast.Name):  # setattr
        holder = call.args[0] if call.args else None
    return holder is not None and _comes_from_outside(subject, method, holder)


def _comes_from_outside(subject: Subject, method: Method, node: ast.expr, depth: int = 0) -> bool:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    if not isinstance(node, ast.Name) or node.id == method.receiver or depth > _MAX_DEPTH:
        return False
    if node.id in method.parameters:
        return True
    values = method.values.get(node.id)
    if values is None:  # the target of a loop, where it is no name of the file
        return subject.reads.path_of(node) is None and node.id not in _of_the_file(subject)
    return any(
        _comes_from_outside(subject, method, value, depth + 1)
        for value in values
        if isinstance(value, (ast.Attribute, ast.Subscript, ast.Name))
    )


def _is_open(call: ast.Call) -> bool:
    return any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords)


def _given(call: ast.Call) -> list[ast.expr]:
    """What may be registered: the last argument, unless some are not seen."""
    given = [*call.args, *(each.value for each in call.keywords)]
    return given if _is_open(call) else given[-1:]


def _come_from(subject: Subject, method: Method, value: ast.expr) -> set[str] | None:
    """Names that stand together with what is registered; None where it may be any."""
    if isinstance(value, ast.Constant):
        return set()
    if isinstance(value, ast.Call):
        made = subject.reads.torch_class(value.func)
        if made is not None and made not in torch_names.CONTAINERS:
            return set()
    mentioned = set(_names(subject, value, method.receiver)) - _of_the_file(subject)
    if method.name != "__init__" and mentioned & set(method.parameters):
        return None
    connected = _connected(subject, method)
    groups = {id(connected[name]): connected[name] for name in mentioned if name in connected}
    return set().union(*groups.values())


def _of_the_file(subject: Subject) -> set[str]:
    """Names that mean the same in the whole file and hold nothing of this object."""
    notes = subject.file.notes
    if "names of the file" not in notes:
        summary = subject.file.summary
        plain = (name for name in summary.classes if "." not in name)
        notes["names of the file"] = {*summary.imports, *summary.functions, *plain}
    found: set[str] = notes["names of the file"]
    return found


def _connected(subject: Subject, method: Method) -> dict[str, set[str]]:
    """By name, the names of a method that stand together with it in a statement, directly or by way of others;
    attributes as ".name"."""
    key = f"{_GROUPS} {method.name}"
    if key not in subject.notes:
        groups: dict[str, set[str]] = {}
        for node in ast.walk(method.node):
            together = set(_together(subject, node, method.receiver)) - _of_the_file(subject)
            if len(together) > 1:
                _join(groups, together)
        subject.notes[key] = groups
    found: dict[str, set[str]] = subject.notes[key]
    return found


def _join(groups: dict[str, set[str]], together: set[str]) -> None:
    """The smaller groups go into the largest."""
    joined = {id(groups[name]): groups[name] for name in together if name in groups}
    largest = max(joined.values(), key=len, default=set[str]())
    for group in (together, *joined.values()):
        if group is not largest:
            largest |= group
            groups.update(dict.fromkeys(group, largest))


def _together(subject: Subject, node: ast.AST, receiver: str) -> Iterator[str]:
    """The names of one statement, of the head of one that has a body, or of one `for` of a comprehension."""
    parts: list[ast.AST] = []
    if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        parts = [node.target, node.iter]
    elif isinstance(node, _STATEMENTS):
        parts = [node]
    for part in parts:
        yield from _names(subject, part, receiver)


def _names(subject: Subject, node: ast.AST, receiver: str) -> Iterator[str]:
    """Names in an expression; the functions that are called by name are none of them, nor what a layer of torch is made
    with: it keeps numbers of that, and no modules."""
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, ast.Name):
            if each.id != receiver:
                yield each.id
            continue
        attribute = attribute_of(each, receiver)
        if attribute is not None:
            yield f".{attribute}"
            continue
        if isinstance(each, ast.Call) and subject.reads.torch_class(each.func) in _KEEPING_NONE:
            continue
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
            pending.extend((*each.args, *each.keywords))
            continue
        pending.extend(ast.iter_child_nodes(each))
