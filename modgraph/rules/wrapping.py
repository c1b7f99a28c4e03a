"""The fix of a plain container: one of torch's around it, where the whole file uses it so that both do the same."""

from __future__ import annotations

import ast
from typing import Literal

from modgraph.findings import Edit, Fix
from modgraph.names import last_name
from modgraph.rules import uses
from modgraph.rules.containers import Hidden, ends_in_a_comma
from modgraph.rules.edits import around, container_name, replace, source
from modgraph.rules.facts import Change, Store
from modgraph.rules.subject import Subject
from modgraph.rules.torch_containers import METHODS, OPERATIONS
from modgraph.rules.uses import Use
from modgraph.source import containers, torch_names
from modgraph.source.dotted_names import dotted
from modgraph.source.quiet import python_tree

_ITERATING = frozenset(
    [
        "all",
        "any",
        "dict",
        "enumerate",
        "filter",
        "frozenset",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "min",
        "set",
        "sorted",
        "sum",
        "tuple",
        "zip",
    ]
)
"""Builtins that only go through what they are given, or count it."""
_COPIED_FOR = ("torch.", "random.sample", "random.choices")
"""Callables that want a list itself, and only read it."""
_VIEWS = frozenset(("items", "keys", "values"))
_FILLING = containers.ADDING & (containers.LIST | containers.DICT)
_STILL_TRUE = frozenset(("Any", "object", "Iterable", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"))
"""Annotations that hold for the container of torch as well."""

_Verdict = Literal["same", "copy", "other"]


def wrap(subject: Subject, hidden: Hidden, what: str = "Module") -> Fix | None:
    """`nn.ModuleList(...)` around the container where that is all it takes. Never a safe fix: the keys of the state
    dict and what the optimizer is given change."""
    store, value = hidden.store, hidden.store.value
    if value is None or not hidden.alone or ends_in_a_comma(hidden) or not _can_be_registered(subject, hidden):
        return None
    wrapper = _wrapper(subject, hidden, value, what)
    name = container_name(subject, wrapper) if wrapper is not None else None
    if wrapper is None or name is None:
        return None
    copies = _copies(subject, hidden, wrapper)
    annotations = _annotations(subject, store, name)
    if copies is None or annotations is None:
        return None
    return Fix(f"wrap in {name}", (*_around(subject, value, name), *annotations, *copies))


def _can_be_registered(subject: Subject, hidden: Hidden) -> bool:
    """Under its name, where it is stored, in a class like this."""
    store, name = hidden.store, hidden.name
    several = isinstance(store.statement, ast.Assign) and len(store.statement.targets) > 1
    return not (
        several
        or len(subject.facts.stores_of(name)) != 1
        or uses.has_the_name(subject, name)
        or uses.comes_before_super(subject, store.statement)
        or uses.is_reached_otherwise(subject, name)
        or uses.goes_through_children(subject)
    )


def _wrapper(subject: Subject, hidden: Hidden, value: ast.expr, what: str) -> str | None:
    if hidden.kind in ("list", "tuple") and isinstance(value, (ast.List, ast.Tuple, ast.ListComp)):
        return f"{what}List"
    if hidden.kind == "dict" and isinstance(value, ast.Dict) and _keys_fit(subject, hidden, value, f"{what}Dict"):
        return f"{what}Dict"
    return None


def _around(subject: Subject, value: ast.expr, name: str) -> tuple[Edit, ...]:
    if source(subject, value) in ("[]", "()", "{}"):
        return (replace(subject, value, f"{name}()"),)
    opening, closing = ("([", "])") if _is_bare(subject, value) else ("(", ")")
    return around(subject, value, f"{name}{opening}", closing)


def _is_bare(subject: Subject, value: ast.expr) -> bool:
    """A tuple without parentheses of its own: `self.x = a, b`, `self.x = (a), (b)`."""
    if not isinstance(value, ast.Tuple) or not value.elts:
        return False
    called = python_tree(f"f{source(subject, value)}", mode="eval").body
    return not isinstance(called, ast.Call)


def _keys_fit(subject: Subject, hidden: Hidden, node: ast.Dict, wrapper: str) -> bool:
    """All keys are string literals that torch's container takes as names."""
    keys: list[ast.expr | None] = list(node.keys)
    for change in subject.facts.changes:
        if change.name != hidden.name:
            continue
        targets = change.node.targets if isinstance(change.node, ast.Assign) else []
        if change.how != "[]" or not targets:
            return False
        keys.extend(each.slice for each in targets if isinstance(each, ast.Subscript))
    taken = (
        torch_names.MODULE_METHODS
        | torch_names.OTHER_NAMES
        | torch_names.DICT_NAMES
        | METHODS[wrapper].keys()
        | {"copy", "fromkeys"}
    )
    return all(
        isinstance(key, ast.Constant)
        and isinstance(key.value, str)
        and key.value
        and "." not in key.value
        and not key.value.startswith("_")
        and key.value not in taken
        for key in keys
    )


# ---- annotations -----------------------------------------------------------------------------------------------------


def _annotations(subject: Subject, store: Store, name: str) -> list[Edit] | None:
    """Edits of the annotations that would no longer be true; None where one of them cannot be made so."""
    found = [store.statement.annotation] if isinstance(store.statement, ast.AnnAssign) else []
    for statement in subject.facts.node.body:
        target = statement.target if isinstance(statement, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == store.name and isinstance(statement, ast.AnnAssign):
            found.append(statement.annotation)
    line = subject.file.lines[(store.statement.end_lineno or store.statement.lineno) - 1]
    if "# type:" in line and "# type: ignore" not in line:
        return None
    edits = []
    for each in found:
        words = {last_name(dotted(node) or "") for node in ast.walk(each) if isinstance(node, ast.expr)}
        if words & {"ClassVar", "Final", "Annotated"}:
            return None
        outermost = each.value if isinstance(each, ast.Subscript) else each
        if last_name(dotted(outermost) or "") not in _STILL_TRUE:
            edits.append(replace(subject, each, name))
    return edits


# ---- uses ------------------------------------------------------------------------------------------------------------


def _copies(subject: Subject, hidden: Hidden, wrapper: str) -> list[Edit] | None:
    """Edits that hand out a list where only a list will do; None where the attribute is used in a way that torch's
    container does not know, or that is not understood."""
    edits: list[Edit] = []
    for use in uses.uses_of(subject, hidden.name):
        if use.node is hidden.store.target:
            continue
        verdict = _verdict(subject, use, wrapper)
        if verdict == "other":
            return None
        if verdict == "copy":
            edits.extend(around(subject, use.node, f"{hidden.kind}(", ")"))
    return (
        edits if all(_fills_well(subject, each) for each in subject.facts.changes if each.name == hidden.name) else None
    )


def _fills_well(subject: Subject, change: Change) -> bool:
    """What is put in is a module or parameter: of what the constructor does it is known, of the rest it is plain."""
    if change.method in subject.facts.reached("__init__"):
        return True
    values = change.values
    if change.how in ("extend", "+="):
        displays = [each.elts for each in values if isinstance(each, (ast.List, ast.Tuple))]
        if len(displays) != len(values):
            return False
        values = [each for display in displays for each in display]
    elif change.how == "insert":
        values = values[1:]
    reads = subject.reads
    return all(reads.is_module(each, change.method) or reads.is_parameter(each) for each in values)


def _verdict(subject: Subject, use: Use, wrapper: str) -> _Verdict:
    node, parent = use.node, use.parent
    is_list = wrapper.endswith("List")
    if is_list and isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "reversed":
        return "same"
    if isinstance(parent, ast.AugAssign) and parent.target is node:
        return "same" if use.own and is_list and isinstance(parent.op, ast.Add) else "other"
    if not isinstance(node.ctx, ast.Load):
        return "other"
    if isinstance(parent, ast.Expr) or _is_iterated(subject, node, parent) or _is_tested(use.parents, node):
        return "same"
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return "same" if _item(use, parent, wrapper) else "other"
    if isinstance(parent, ast.Attribute):
        return "same" if _method(subject, use, parent, wrapper) else "other"
    if isinstance(parent, ast.Compare):
        return "same" if _compared(parent, node) else "other"
    call = use.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if isinstance(call, ast.Call) and call.func is not node and is_list and use.here:
        path = subject.reads.path_of(call.func) or ""
        if (
            path.startswith(_COPIED_FOR)
            and not torch_names.torch_class(path)
            and "list" not in subject.file.summary.functions
        ):
            return "copy"
    return "other"


def _is_iterated(subject: Subject, node: ast.expr, parent: ast.AST) -> bool:
    """Something goes through it, and does not keep it."""
    if isinstance(parent, (ast.For, ast.comprehension)):
        return parent.iter is node
    if isinstance(parent, (ast.Starred, ast.YieldFrom)):
        return True
    if isinstance(parent, ast.Assign):
        return all(isinstance(each, (ast.Tuple, ast.List)) for each in parent.targets)
    if not isinstance(parent, ast.Call) or node not in parent.args or not isinstance(parent.func, ast.Name):
        return False
    name = parent.func.id
    summary = subject.file.summary
    return name in _ITERATING and name not in summary.functions and name not in summary.imports


def _is_tested(parents: dict[ast.AST, ast.AST], node: ast.AST) -> bool:
    """Only whether it is empty counts."""
    parent = parents[node]
    while isinstance(parent, ast.BoolOp):
        node, parent = parent, parents[parent]
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return parent.test is node
    return isinstance(parent, ast.comprehension) and node in parent.ifs


def _item(use: Use, parent: ast.Subscript, wrapper: str) -> bool:
    if isinstance(parent.slice, (ast.Slice, ast.Tuple)):
        return False
    if isinstance(parent.ctx, ast.Load):
        return True
    if isinstance(parent.ctx, ast.Del):
        return "__delitem__" in OPERATIONS[wrapper]
    return use.own


def _compared(parent: ast.Compare, node: ast.expr) -> bool:
    """`x in self.layers`, `self.layers is None`."""
    if len(parent.ops) != 1:
        return False
    if isinstance(parent.ops[0], (ast.Is, ast.IsNot)):
        return any(isinstance(each, ast.Constant) and each.value is None for each in (parent.left, *parent.comparators))
    return isinstance(parent.ops[0], (ast.In, ast.NotIn)) and parent.left is not node


def _method(subject: Subject, use: Use, attribute: ast.Attribute, wrapper: str) -> bool:
    """`self.layers.append(...)`: a method that torch's container has too, called as it takes it."""
    call = use.parents.get(attribute)
    if not isinstance(call, ast.Call) or call.func is not attribute or attribute.attr not in METHODS[wrapper]:
        return False
    least, most = METHODS[wrapper][attribute.attr]
    if call.keywords or any(isinstance(each, ast.Starred) for each in call.args):
        return False
    if not least <= len(call.args) <= most:
        return False
    around_it = use.parents[call]
    if attribute.attr in _VIEWS:
        in_it = isinstance(around_it, ast.Compare) and _compared(around_it, call)
        return in_it or (_is_iterated(subject, call, around_it) and _called(around_it) != "len")
    if attribute.attr in _FILLING:
        plain = isinstance(around_it, ast.Expr) or attribute.attr == "setdefault"
        return plain and (use.own or _is_made_there(subject, call))
    return True


def _is_made_there(subject: Subject, call: ast.Call) -> bool:
    """`net.layers.append(nn.Linear(8, 8))`."""
    if len(call.args) != 1 or not isinstance(call.args[0], ast.Call):
        return False
    return subject.reads.is_module_class(call.args[0].func) is True


def _called(node: ast.AST) -> str:
    return (dotted(node.func) or "") if isinstance(node, ast.Call) else ""
