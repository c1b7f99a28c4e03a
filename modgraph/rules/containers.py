"""Plain containers on a module that hold modules or parameters: found among the facts, decided on the end state."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modgraph.findings import Edit, Fix
from modgraph.rules.facts import Change, Store
from modgraph.rules.subject import Subject

if TYPE_CHECKING:
    from modgraph.rules.interpretation import Held

_DELIBERATE = ("teacher", "ema", "target", "frozen", "ref")


@dataclass(frozen=True, slots=True)
class Hidden:
    """An attribute that holds, in the end, modules in a plain container which are registered nowhere."""

    name: str
    kind: str
    """ "list", "dict", "OrderedDict", ..."""
    store: Store
    """The first one of the container."""
    held: tuple[Held, ...]
    """Those that are not registered."""
    changes: tuple[ast.AST, ...]
    """Where modules are put into it later."""
    deliberate: bool
    """Its name or form says that it is meant so."""


def hidden_modules(subject: Subject) -> Iterator[Hidden]:
    """Attributes whose plain container certainly holds modules that are registered nowhere."""
    for name, stores, changes in _suspicious(subject):
        state = subject.interpreted()
        if state is None or (state.open and _registers_by_name(subject)):
            return
        held = tuple(each for each in state.modules_in(name) if not each.registered and not each.given)
        kind = state.container(name)
        if not held or kind is None or _handed_on(subject, name):
            continue
        yield Hidden(name, kind, stores[0], held, tuple(each.node for each in changes), _is_deliberate(name, stores))


def _suspicious(subject: Subject) -> Iterator[tuple[str, list[Store], list[Change]]]:
    """(name, stores, changes) of attributes that may hold a plain container of modules."""
    facts = subject.facts
    for name in dict.fromkeys(store.name for store in facts.stores):
        stores = facts.stores_of(name)
        if not any(subject.is_plain_container(store.value, store.method) for store in stores):
            continue
        changes = [each for each in facts.changes if each.name == name]
        filled = any(subject.may_hold_module(store.value, store.method) for store in stores) or any(
            subject.may_hold_module(value, change.method) for change in changes for value in change.values
        )
        if filled and subject.is_module:
            yield name, stores, changes


def _registers_by_name(subject: Subject) -> bool:
    """It registers under names that are computed: then what is registered may be these."""
    for method in subject.facts.methods.values():
        for call in method.calls:
            function = call.func
            if isinstance(function, ast.Attribute) and function.attr in (
                "add_module",
                "register_module",
                "__setattr__",
            ):
                return True
            if isinstance(function, ast.Name) and function.id == "setattr":
                return True
    return False


def _handed_on(subject: Subject, name: str) -> bool:
    """It is given whole to something else that is kept on self and may register what is in it."""
    for store in subject.facts.stores:
        if not isinstance(store.value, ast.Call) or store.name == name:
            continue
        given = [*store.value.args, *(keyword.value for keyword in store.value.keywords)]
        for each in given:
            inner = each.value if isinstance(each, ast.Starred) else each
            if isinstance(inner, ast.Attribute) and inner.attr == name:
                return True
    return False


def _is_deliberate(name: str, stores: list[Store]) -> bool:
    words = name.lower().strip("_").split("_")
    if any(word in _DELIBERATE for word in words) or any(part in name.lower() for part in ("teacher", "frozen")):
        return True
    one = [
        store.value for store in stores if isinstance(store.value, (ast.List, ast.Tuple)) and len(store.value.elts) == 1
    ]
    return bool(one) and len(one) == len(stores) and (name.startswith("_") or isinstance(_only(one[0]), ast.Name))


def _only(node: ast.expr | None) -> ast.expr:
    assert isinstance(node, (ast.List, ast.Tuple))
    return node.elts[0]


def counted(hidden: Hidden) -> str:
    """ "3 modules (Linear)", "modules (Block)" where their number is not known."""
    names = dict.fromkeys(held.class_name.rpartition(".")[2] or "of unknown class" for held in hidden.held)
    shown = ", ".join(list(names)[:3]) + (", ..." if len(names) > 3 else "")
    open_ended = any("..." in held.place for held in hidden.held)
    number = len(hidden.held)
    what = "modules" if open_ended or number > 1 else "module"
    return f"{what} ({shown})" if open_ended else f"{number} {what} ({shown})"


def advice(hidden: Hidden) -> str:
    return "use nn.ModuleDict" if "dict" in hidden.kind.lower() else "use nn.ModuleList"


def wrap(subject: Subject, hidden: Hidden) -> Fix | None:
    """`nn.ModuleList(...)` around the container where that is all it takes. Never a safe fix: the keys of the state
    dict and what the optimizer is given change."""
    stores = subject.facts.stores_of(hidden.name)
    value = hidden.store.value
    if len(stores) != 1 or value is None or hidden.kind == "set" or _is_used_as_container(subject, hidden.name):
        return None
    nn = nn_name(subject)
    if nn is None:
        return None
    if hidden.kind in ("list", "tuple", "deque") and isinstance(value, (ast.List, ast.Tuple, ast.ListComp)):
        wrapper = "ModuleList"
    elif hidden.kind == "dict" and isinstance(value, ast.Dict) and _has_plain_keys(value):
        wrapper = "ModuleDict"
    else:
        return None
    if any("][" in held.place for held in hidden.held):
        return None
    start = Edit(value.lineno, value.col_offset, value.lineno, value.col_offset, f"{nn}.{wrapper}(")
    end = Edit(value.end_lineno or 0, value.end_col_offset or 0, value.end_lineno or 0, value.end_col_offset or 0, ")")
    return Fix(f"wrap in {nn}.{wrapper}", (start, end))


def _has_plain_keys(node: ast.Dict) -> bool:
    """String literals that `nn.ModuleDict` takes as names."""
    taken = set(dir(dict)) | {"forward", "training", "type", "to", "train", "eval", "parameters", "buffers", "modules"}
    return all(
        isinstance(key, ast.Constant)
        and isinstance(key.value, str)
        and key.value
        and "." not in key.value
        and key.value not in taken
        for key in node.keys
    )


def _is_used_as_container(subject: Subject, name: str) -> bool:
    """It is used as only a plain container can be: concatenated, compared, asked for its type."""
    for node in ast.walk(subject.facts.node):
        if isinstance(node, ast.BinOp) and any(_is_attribute(each, name) for each in (node.left, node.right)):
            return True
        if isinstance(node, ast.Compare) and any(_is_attribute(each, name) for each in (node.left, *node.comparators)):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type"):
            if any(_is_attribute(each, name) for each in node.args):
                return True
    return False


def _is_attribute(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Name)


def nn_name(subject: Subject) -> str | None:
    """How the file names `torch.nn`: "nn", "torch.nn", "tnn"; None where it imports nothing of the kind."""
    for bound, (module, attribute, level) in subject.file.summary.imports.items():
        path = f"{module}.{attribute}" if attribute else module
        if level == 0 and path == "torch.nn":
            return bound
    for bound, (module, attribute, level) in subject.file.summary.imports.items():
        if level == 0 and module == "torch" and not attribute:
            return f"{bound}.nn"
    return None
