"""Plain containers on a module that hold modules or parameters: found among the facts, decided on the end state."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from modgraph.findings import Related
from modgraph.names import last_name
from modgraph.rules.computed_names import may_be_registered, may_be_stored
from modgraph.rules.edits import characters
from modgraph.rules.facts import Change, Method, Store, attribute_of, enclosing, is_unconditional
from modgraph.rules.subject import Subject
from modgraph.source import torch_names

if TYPE_CHECKING:
    from modgraph.rules.interpretation import Held, Interpreted

UNDECIDED = "undecided"
"""Note of a file: the lines of classes with a container of which nothing could be said."""
_DELIBERATE = ("teacher", "ema", "target", "frozen", "ref")


class Hidden(NamedTuple):
    """An attribute that holds, in the end, modules or parameters in a plain container which are registered nowhere."""

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
    alone: bool
    """There is nothing but such in it."""
    is_counted: bool = True
    """So many are in it; else the constructor was not followed to its end."""


def losing_modules(subject: Subject) -> Iterator[Hidden]:
    """The same, of a class in which something may be lost with them: one that hides losses or activations alone is not
    interpreted for it."""
    if any(True for _ in _suspicious(subject, subject.reads_losing.may_hold_module)) or _may_be_returned(
        subject, subject.reads_losing.may_hold_module
    ):
        yield from hidden_modules(subject)


def hidden_modules(subject: Subject) -> Iterator[Hidden]:
    """Attributes whose plain container certainly holds modules that are registered nowhere."""
    if "hidden modules" not in subject.notes:
        subject.notes["hidden modules"] = list(
            _hidden(subject, subject.reads.may_hold_module, lambda state, name: state.modules_in(name))
        )
    yield from subject.notes["hidden modules"]


def hidden_parameters(subject: Subject) -> Iterator[Hidden]:
    """The same for parameters that were not put into a module first."""
    yield from _hidden(subject, subject.reads.may_hold_parameter, lambda state, name: state.parameters_in(name))


def possible_modules(subject: Subject) -> Iterator[Store]:
    """Stores of plain containers of which it is not known whether they hold modules: for those who want to be told."""
    facts, reads = subject.facts, subject.reads
    doubted = {
        hidden.name
        for hidden in hidden_modules(subject)
        if any(held.stateful or held.modal for held in hidden.held) and not any(held.loses for held in hidden.held)
    }
    certain = {hidden.name for hidden in hidden_modules(subject)} - doubted
    changed: dict[str, list[Change]] = {}
    for change in facts.changes:
        changed.setdefault(change.name, []).append(change)
    undecided = {
        name
        for name, _, _ in _suspicious(subject, reads.may_hold_module)
        if name not in certain and _is_undecided(subject, name)
    }
    for name, stores in facts.stored.items():
        first = stores[0]
        if name in certain or not reads.is_plain_container(first.value, first.method) or _is_rebound(subject, stores):
            continue
        values = [(each.value, each.method) for each in stores]
        values += [(value, each.method) for each in changed.get(name, ()) for value in each.values]
        doubtful = name in undecided | doubted or any(reads.may_be_anything(value, method) for value, method in values)
        if not doubtful or not subject.is_module:
            continue
        if may_be_registered(subject, name, some=True):
            continue
        if not _handed_on(subject, name) and not _is_deliberate(subject, name, stores):
            yield first


def _hidden(
    subject: Subject,
    may_hold: Callable[[ast.expr | None, Method], bool],
    within: Callable[[Interpreted, str], list[Held]],
) -> Iterator[Hidden]:
    for name, stores, changes in _suspicious(subject, may_hold):
        found = _looked_at(subject, subject.interpreted(), name, within)
        fails = found is None and _fails_by_default(subject)
        if fails:
            found = _looked_at(subject, subject.interpreted_with_more_given(), name, within)
        if found is None and (fails or _is_on_a_branch(stores, changes)):
            found = _looked_at(subject, subject.interpreted_openly(), name, within)
        if found is None and _is_undecided(subject, name):
            node = subject.facts.node
            subject.file.notes.setdefault(UNDECIDED, []).append((node.lineno, node.end_lineno or node.lineno))
        if found is None or not found[1] or _handed_on(subject, name) or may_be_stored(subject, name):
            continue
        kind, held, alone = found
        nodes = tuple(each.node for each in changes if any(may_hold(value, each.method) for value in each.values))
        first = stores[0]
        if not nodes:
            first = next((each for each in stores if may_hold(each.value, each.method)), first)
        is_counted = subject.facts.qualname not in subject.file.project.cut
        yield Hidden(name, kind, first, held, nodes, _is_deliberate(subject, name, stores), alone, is_counted)
    yield from _returned(subject, may_hold, within)


def _returned(
    subject: Subject,
    may_hold: Callable[[ast.expr | None, Method], bool],
    within: Callable[[Interpreted, str], list[Held]],
) -> Iterator[Hidden]:
    """Containers that a method of the class gives, and the constructor of a base keeps."""
    methods = _may_be_returned(subject, may_hold)
    if not methods:
        return
    facts = subject.facts
    state = subject.interpreted()
    own = os.path.basename(subject.file.path)
    for name in state.containers() if state is not None and not state.failed else ():
        found = _looked_at(subject, state, name, within)
        if name in facts.stored or found is None or not found[1] or may_be_stored(subject, name):
            continue
        kind, held, _ = found
        for method in methods:
            lines = range(method.node.lineno, (method.node.end_lineno or method.node.lineno) + 1)
            if all(each.made is not None and each.made[0] == own and each.made[1] in lines for each in held):
                place = ast.Attribute(ast.Name(method.receiver, ast.Load()), name, ast.Store())
                store = Store(name, method, method.returns[0], place, None)
                yield Hidden(name, kind, store, held, (), _is_deliberate(subject, name, []), alone=False)


def _fails_by_default(subject: Subject) -> bool:
    """What the arguments are by default does not fit together: the class is made with others."""
    state = subject.interpreted()
    return state is not None and state.failed


def _may_be_returned(subject: Subject, may_hold: Callable[[ast.expr | None, Method], bool]) -> list[Method]:
    """The methods that give plain containers of what is asked for, if a base may call them."""
    if not _is_inherited(subject):
        return []
    methods = [
        method
        for method in subject.facts.methods.values()
        if method.receiver
        and method.name not in ("__init__", "forward")
        and any(subject.reads.is_plain_container(each.value, method) for each in method.returns)
        and any(may_hold(each.value, method) for each in method.returns)
    ]
    return methods if methods and subject.is_module else []


def _is_undecided(subject: Subject, name: str) -> bool:
    """Of what an attribute holds in the end, or of where that is registered, too little is known."""
    state = subject.interpreted()
    return state is None or state.failed or state.is_unknown(name) or may_be_registered(subject, name, some=state.open)


def _looked_at(
    subject: Subject, state: Interpreted | None, name: str, within: Callable[[Interpreted, str], list[Held]]
) -> tuple[str, tuple[Held, ...], bool] | None:
    """(kind, what is hidden, whether that is all) of an attribute; None where the state shows nothing of the kind."""
    if state is None or state.failed or may_be_registered(subject, name, some=state.open):
        return None
    kind = state.container(name)
    inside = within(state, name)
    if kind is None or not inside:
        return None
    hidden = tuple(each for each in inside if not each.registered and not each.given)
    alone = state.holds_only(name) and not (state.modules_in(name) and state.parameters_in(name))
    return kind, hidden, alone


def _suspicious(
    subject: Subject, may_hold: Callable[[ast.expr | None, Method], bool]
) -> Iterator[tuple[str, list[Store], list[Change]]]:
    """(name, stores, changes) of attributes that may hold a plain container of what is asked for."""
    facts, reads = subject.facts, subject.reads
    changed: dict[str, list[Change]] = {}
    for change in facts.changes:
        changed.setdefault(change.name, []).append(change)
    for name, every in facts.stored.items():
        stores = [store for store in every if reads.is_plain_container(store.value, store.method)]
        if not stores or _is_rebound(subject, every):
            continue
        changes = changed.get(name, [])
        filled = any(may_hold(each, store.method) for store in stores for each in _same(store)) or any(
            may_hold(value, change.method) for change in changes for value in change.values
        )
        if filled and subject.is_module:
            yield name, stores, changes
    for store in facts.set_by_name:
        if not reads.is_plain_container(store.value, store.method):
            continue
        if may_hold(store.value, store.method) and subject.is_module:
            yield store.name, [store], changed.get(store.name, [])
    for name, changes in changed.items():
        if name in facts.stored or name in facts.methods or not _is_inherited(subject):
            continue
        filling = [each for each in changes if any(may_hold(value, each.method) for value in each.values)]
        if filling and subject.is_module:
            yield name, [_store_of(name, filling[0])], changes


def _is_inherited(subject: Subject) -> bool:
    """Attributes may come from a base that is not torch's."""
    return any(subject.reads.torch_class(base) is None for base in subject.facts.node.bases)


def _store_of(name: str, change: Change) -> Store:
    """Where a container of a base is filled first, in place of the statement that makes it."""
    statement = next(
        (each for each in reversed(enclosing(change.method, change.node)) if isinstance(each, ast.stmt)), None
    )
    place = ast.Attribute(ast.Name(change.method.receiver, ast.Load()), name, ast.Store())
    return Store(name, change.method, statement or change.method.node, place, None)


def _same(store: Store) -> list[ast.expr | None]:
    """What is stored, and other names that the statement gives it: `self.x = x = []`."""
    targets = store.statement.targets if isinstance(store.statement, ast.Assign) else []
    return [store.value, *(each for each in targets if isinstance(each, ast.Name) and len(targets) > 1)]


def _is_rebound(subject: Subject, stores: list[Store]) -> bool:
    """In the end it certainly is a container that registers: the last store, in the same method, says so."""
    last = stores[-1]
    if any(store.method is not last.method for store in stores) or not isinstance(last.value, ast.Call):
        return False
    made = subject.reads.torch_class(last.value.func)
    return made is not None and is_unconditional(last.method, last.statement)


def _is_on_a_branch(stores: list[Store], changes: list[Change]) -> bool:
    """Some of it is done only under a condition, or with what a condition chose."""
    places = [*((store.method, store.statement) for store in stores), *((each.method, each.node) for each in changes)]
    return any(isinstance(each, ast.If) for method, node in places for each in enclosing(method, node)) or any(
        isinstance(store.value, ast.IfExp) for store in stores
    )


def _handed_on(subject: Subject, name: str) -> bool:
    """It is given whole to something else that is kept on self and may register what is in it."""
    if "handed on" not in subject.notes:
        subject.notes["handed on"] = frozenset(_all_handed_on(subject))
    return name in subject.notes["handed on"]


def _all_handed_on(subject: Subject) -> Iterator[str]:
    facts = subject.facts
    built = facts.reached("__init__")
    running = [each for each in facts.reached("forward") if each not in built]
    for method in facts.methods.values():
        for call in method.calls:
            if not method.receiver or method in running or not _may_register(subject, call):
                continue
            for each in (*call.args, *(keyword.value for keyword in call.keywords)):
                inner = each.value if isinstance(each, ast.Starred) else each
                name = attribute_of(inner, method.receiver)
                if name is not None:
                    yield name


def _may_register(subject: Subject, call: ast.Call) -> bool:
    """What is called makes a module, or is not known."""
    function = call.func
    if isinstance(function, ast.Name) and function.id in _LOOKING:
        return False
    path = subject.reads.path_of(function)
    if path is not None and path.startswith("torch.") and not torch_names.torch_class(path):
        return False
    return subject.reads.is_module_class(function) is not False or path is None


_LOOKING = frozenset(
    [
        "all",
        "any",
        "enumerate",
        "filter",
        "hasattr",
        "isinstance",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "print",
        "range",
        "repr",
        "reversed",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
    ]
)
"""Builtins that register nothing."""


_LISTING = (
    "_apply",
    "children",
    "modules",
    "named_children",
    "named_modules",
    "named_parameters",
    "parameters",
    "state_dict",
)
"""Methods of `nn.Module` that go through what is registered."""


def is_looked_after(subject: Subject, name: str) -> bool:
    """The class overrides what goes through its modules or parameters, and gives these there."""
    if "looked after" not in subject.notes:
        methods = (subject.facts.methods.get(each) for each in _LISTING)
        subject.notes["looked after"] = {
            attribute_of(node, method.receiver)
            for method in methods
            if method is not None
            for node in ast.walk(method.node)
        }
    return name in subject.notes["looked after"]


def _is_deliberate(subject: Subject, name: str, stores: list[Store]) -> bool:
    words = name.lower().strip("_").split("_")
    meant = (*_DELIBERATE, *(word.lower() for word in subject.file.project.hidden_names))
    if (
        any(word in meant for word in words)
        or name.lower() in meant
        or any(part in name.lower() for part in ("teacher", "frozen"))
    ):
        return True
    if is_looked_after(subject, name):
        return True
    return bool(stores) and all(is_one_element_hiding(store) for store in stores)


def is_one_element_hiding(store: Store) -> bool:
    """`self._x = [x]`: the usual way of keeping a module out of sight."""
    value = store.value
    if not isinstance(value, (ast.List, ast.Tuple)) or len(value.elts) != 1:
        return False
    only = value.elts[0]
    return store.name.startswith("_") or (isinstance(only, ast.Name) and only.id in store.method.parameters)


def counted(hidden: Hidden, what: str = "module") -> str:
    """ "3 modules (Linear)", "modules (Block)" where their number is not known."""
    names = dict.fromkeys(last_name(held.class_name) or "of unknown class" for held in hidden.held)
    shown = ", ".join(list(names)[:3]) + (", ..." if len(names) > 3 else "")
    shown = f" ({shown})" if what == "module" else ""
    places = {held.place for held in hidden.held}
    is_certain = hidden.is_counted and len(places) == len(hidden.held)  # not one on this path and another on that
    open_ended = not is_certain or any("..." in place for place in places)
    number = len(hidden.held)
    plural = f"{what}s" if open_ended or number > 1 else what
    return f"{plural}{shown}" if open_ended else f"{number} {plural}{shown}"


def advice(hidden: Hidden, what: str = "Module") -> str:
    if hidden.kind == "named tuple":
        return "keep each in an attribute of its own"
    first = f"nn.{what}{'Dict' if 'dict' in hidden.kind.lower() else 'List'}"
    if ends_in_a_comma(hidden):
        return f"the comma at the end makes it a tuple: take it away, or use {first}"
    places = [each.place for each in hidden.held]
    if any(place.count("[") + place.count("{") > 1 for place in places):
        return f"use {first}, and such a container within too"
    if first.endswith("Dict") and any(place[1:2].isdigit() or place[1:2] == "-" for place in places):
        return f"use {first}, whose keys are strings: str(key)"
    return f"use {first}"


def ends_in_a_comma(hidden: Hidden) -> bool:
    """`self.fc = nn.Linear(8, 8),`: a tuple of one without parentheses, which is seldom meant."""
    value = hidden.store.value
    return (
        isinstance(value, ast.Tuple)
        and len(value.elts) == 1
        and (value.lineno, value.col_offset) == (value.elts[0].lineno, value.elts[0].col_offset)
    )


def places(subject: Subject, hidden: Hidden) -> tuple[Related, ...]:
    """Where it is filled."""
    lines = subject.file.lines
    return tuple(
        Related(node.lineno, characters(lines, node.lineno, node.col_offset) + 1, "added here")
        for node in hidden.changes
        if isinstance(node, (ast.stmt, ast.expr)) and node.lineno != hidden.store.statement.lineno
    )
