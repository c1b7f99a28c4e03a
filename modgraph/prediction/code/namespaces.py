"""The namespace of a whole module or class: vars(module), dir(module), vars(cls)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from modgraph.names import last_name
from modgraph.prediction.code import moved_imports, star_imports
from modgraph.prediction.code.import_order import is_installed
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.limits import ITEMS_OF_A_CONSTANT, MAX_NAMESPACE
from modgraph.prediction.domain.loaded import Whole
from modgraph.prediction.domain.mapping_views import PROXY
from modgraph.prediction.domain.objects import MIXED, VIEW_OF, ClassObject, DictObject, ListObject, ViewObject
from modgraph.prediction.domain.values import (
    OPEN,
    TRUE,
    ClassValue,
    Constant,
    ModuleReference,
    Unknown,
    Value,
    is_optional,
    remaining,
)
from modgraph.prediction.paths import partial_texts
from modgraph.prediction.python import class_annotations, classes, slots, standard_names, standard_sources
from modgraph.source.layer_parameters import BUNDLED_SOURCE
from modgraph.source.modules import CompiledModule, SourceError, SourceModule
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def module_dict(machine: Machine, module: str) -> Value:
    """`module.__dict__`, in the order in which the names are first bound; those that Python itself adds left out."""
    found, why = _names(machine, module)
    entries: dict[Value, Value] = {}
    for name in found:
        value = machine.global_name(module, name) or _submodule(machine, module, name)
        if value is not None:
            entries[Constant(name)] = value
    shown = DictObject(entries, why)
    shown.attributes[VIEW_OF] = ModuleReference(module)
    return machine.allocate(shown)


def directory(machine: Machine, module: str) -> Value:
    """`dir(module)`."""
    found, why = _names(machine, module)
    return machine.allocate(ListObject([Constant(name) for name in sorted(found)], why))


def lacks(machine: Machine, module: str, name: str) -> bool:
    """A module certainly has no such name: all that binds names in it is known, and none binds this one."""
    source = machine.finder.source(module)
    if source is not None and standard_sources.is_of_standard_library(source):
        return standard_names.module_lacks(module, name, source.text)
    if source is None:
        return _is_compiled(machine, module) and standard_names.module_lacks(module, name, None)
    if source.path.is_relative_to(BUNDLED_SOURCE) or source.facts.has(_BINDERS):
        return False
    found, is_whole = _kept_names(machine, module)
    return is_whole and len(found) <= MAX_NAMESPACE and name not in found and _submodule(machine, module, name) is None


def _is_compiled(machine: Machine, module: str) -> bool:
    """A module of Python's own without source, in which nobody else puts names."""
    found = machine.finder.find(module)
    if isinstance(found, CompiledModule) and module not in ("sys", "builtins", "__main__"):
        return found.path is None or str(found.path).startswith(standard_sources.STDLIB)
    return found is None and module.partition(".")[0] in sys.stdlib_module_names


def may_lack(machine: Machine, module: str, name: str) -> bool:
    """Of a name whose value is not known: nothing says that the module has it."""
    source = machine.finder.source(module)
    if source is not None and (name in source.index.bound or (module, name) in machine.base.globals):
        return False
    return not standard_names.module_has(module, name) and machine.finder.find(f"{module}.{name}") is None


def from_getter(machine: Machine, module: str, name: str) -> Value | None:
    """What the module's own `__getattr__` gives; None where it has none, or raises: a namespace may be filled in ways
    that the source does not show."""
    source = machine.finder.source(module)
    getter = machine.global_name(module, "__getattr__") if source and "__getattr__" in source.index.bound else None
    if getter is None:
        return None
    try:
        return machine.call(getter, (Constant(name),))
    except Raised:
        return None


def imported_from_getter(machine: Machine, module: str, name: str) -> Value | None:
    """The same of `from module import name`. Python asks a module for its `__path__` first, and one that has it for the
    name once more than it takes. Source: `importlib._bootstrap._handle_fromlist`."""
    whole = machine.modules.whole.get(module)
    if whole is None:
        return None
    if whole.source.is_package or from_getter(machine, module, "__path__") is not None:
        from_getter(machine, module, name)
    return from_getter(machine, module, name)


def possibly_stored(machine: Machine, module: str, name: str) -> Unknown | None:
    """What a name that nothing binds may be, where something was stored in the module under a name not known."""
    key = (module, OPEN)
    found = machine.state.bound(key)
    if not isinstance(found, Unknown) or not partial_texts.may_be(found, name):
        return None
    return replace(found, optional=True, text=None)


def cannot_import(machine: Machine, module: str, name: str) -> bool:
    """`from module import name` certainly fails, of a name that nothing was found for. What the module's functions do
    with attributes of other objects binds no names in it."""
    source = machine.finder.source(module)
    if source is None or standard_sources.is_of_standard_library(source) or source.index.star_imports:
        return lacks(machine, module, name)
    if source.path.is_relative_to(BUNDLED_SOURCE) or source.index.statements.get("__getattr__"):
        return False
    return not source.facts.has(_DIRECT_BINDERS)


def replaced(machine: Machine, module: str, name: str) -> Unknown | None:
    """Why a name of a module, as others see it, may be another than the statements of its file say: importing a
    submodule of that name binds it anew, and a module may put something else in its own place."""
    source = machine.finder.source(module)
    if source is None or is_installed(source) or source.path.is_relative_to(BUNDLED_SOURCE):
        return None
    if source.facts.has(_REPLACES_ITSELF):
        return machine.unknown(f"{module} puts something else in its own place in sys.modules")
    if machine.modules.movers and (why := moved_imports.is_other(machine, module)) is not None:
        return why
    path = f"{module}.{name}"
    if not source.is_package or name not in source.index.bound or machine.finder.find(path) is None:
        return None
    for imported in source.index.imports:
        taken = source.absolute(imported.module, imported.level)
        if taken == path or taken.startswith(f"{path}.") or (taken == module and imported.attribute == name):
            return None  # it is imported there before the name is bound, and not again
    if not _is_imported(machine, module, name):
        return None
    return machine.unknown(f"importing {path} binds that name of {module} anew, and when is not followed")


def _is_imported(machine: Machine, module: str, name: str) -> bool:
    """Whether a submodule may be imported, of a package that binds its name: `from package import name`, which takes
    what is bound, does not import it."""
    path = f"{module}.{name}"
    imported = machine.imported_with(module)
    if imported.incomplete is not None:
        return True
    for importer, lines in imported.imports.items():
        if importer == path or importer.startswith(f"{path}.") or all(other != path for _, other in lines):
            continue
        source = machine.finder.source(importer)
        if source is None or source.facts.imports is None or source.facts.imports.by_name:
            return True
        taken = [(source.absolute(each.module, each.level), each.attribute) for each in source.index.imports]
        if (module, name) not in taken or any(other == path or other.startswith(f"{path}.") for other, _ in taken):
            return True
    return False


_REPLACES_ITSELF = re.compile(r"\bsys\.modules\[\s*__name__\s*\](?:\.__class__)?\s*=[^=]")


def otherwise_bound(machine: Machine, module: str, name: str) -> Value | None:
    """What a name that no statement binds may be: one put into `builtins`, or into the module in a way that is not
    followed; None where there is certainly none."""
    for key in (("builtins", name), (module, OPEN)):
        found = machine.state.bound(key)
        if found is not None:
            return found
    star = star_imports.unread(machine, module, name)
    if star is not None:
        return machine.unknown(f"{name} may be one of what {module} imports from {star}, whose source is not there")
    lost = next((why for (owner, _), why in machine.base.unfollowed.items() if owner == module), None)
    if lost is not None:
        return lost
    source = machine.finder.source(module)
    if source is None or not is_installed(source) or not source.facts.has(_DIRECT_BINDERS):
        return None
    return machine.unknown(f"{name} may be bound by what {module} does with its own namespace, which is not followed")


_DIRECT_BINDERS = re.compile(r"globals\(\)|sys\.modules\[|locals\(\)\[|vars\(\)\[")

_BINDERS = re.compile(r"sys\.modules|exec\(|locals\(\)|vars\(\)|__dict__|setattr\(")
"""What a module's text holds where names may be bound in other ways than by statements."""


def is_bundled(machine: Machine, cls: ClassValue) -> bool:
    """The class, or one it is derived from, is read from the source that stands in for torch's own: a part of it."""
    for base in machine.mro(cls):
        module = base.name.rpartition(".")[0] if isinstance(base, ClassValue) else ""
        source = machine.finder.source(module) if module.startswith("torch.") else None
        if source is not None and source.path.is_relative_to(BUNDLED_SOURCE):
            return True
    return False


def is_left_out(machine: Machine, module: str) -> bool:
    """The module is below torch, for which the bundled source stands in: it may be there where the model is run."""
    source = machine.finder.source("torch") if module.startswith("torch.") else None
    return source is not None and source.path.is_relative_to(BUNDLED_SOURCE)


def class_dict(machine: Machine, cls: Value) -> Value:
    """`cls.__dict__`, for looking at; without what every class has."""
    if not isinstance(cls, ClassValue):  # of `object`, names with two underscores
        name = classes.short_name(cls)
        why = None if cls == classes.OBJECT else machine.unknown(f"the namespace of {name} is not known")
        return machine.allocate(DictObject({}, why, PROXY))
    why = _why_in_any_order(machine, cls)
    shown = ViewObject(_ClassNamespace(machine, cls), why, {} if why is None else {MIXED: TRUE})
    shown.cls = PROXY
    return machine.allocate(shown)


def _why_in_any_order(machine: Machine, cls: ClassValue) -> Unknown | None:
    """Why the order of what the namespace of a class holds is not known: two statements of its body bind a name, or
    one binds several, and not on all paths."""
    item = machine.state.find(cls.address, ClassObject)
    if item is None or item.shuffled is not None or item.definition is None:
        return item.shuffled if item is not None else None
    statements = item.definition.statements
    for held in statements.values():
        unsure = [each for each in held if each.kind == "compound"]
        if unsure and (len(held) > 1 or any(len(each.names) > 1 for each in unsure)):
            return machine.unknown(
                f"the order of the names of {classes.short_name(cls)} depends on which path is taken"
            )
    return None


class _ClassNamespace(Mapping[str, Value]):
    """What a class's own namespace holds: a method is parsed when it is asked for. What Python puts there itself is
    found by its name, and not listed: how many names there are is not known."""

    leaves_out = True

    def __init__(self, machine: Machine, cls: ClassValue) -> None:
        self.machine = machine
        self.cls = cls
        item = machine.state.read(cls.address)
        assert isinstance(item, ClassObject)
        statements = item.definition.statements if item.definition is not None else {}
        slotted = slots.named(machine, cls)
        self.slots = [each for each in slotted if each is not None] if isinstance(slotted, list) else []
        kept = (name for name in item.namespace if not name.startswith("<"))  # those of the prediction's own
        self.names = dict.fromkeys([*statements, *kept, *self.slots])
        if _ANNOTATIONS not in self.names and class_annotations.annotations_of(machine, cls).shown:
            self.names[_ANNOTATIONS] = None

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self.names:
            return self._hidden(name) or default
        found = classes.own_attribute(self.machine, self.cls, name)
        if found is None and name == _ANNOTATIONS:
            found = self.machine.allocate(class_annotations.annotations_of(self.machine, self.cls))
        if found is None and name in self.slots:
            found = self.machine.unknown(f"the descriptor of the slot {name} is not modelled")
        return default if found is None else found

    def _hidden(self, name: str) -> Value | None:
        """What Python has put there itself, or may have."""
        if name == "__module__":
            return self.machine.get_attribute(self.cls, name)
        if name not in _BY_PYTHON:
            return None
        why = f"{name} of a class is not modelled"
        return Unknown(why, self.machine.where, inert=True, optional=name != "__doc__")

    def __getitem__(self, name: str) -> Value:
        found: Value | None = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.names if self.get(name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


_ANNOTATIONS = "__annotations__"
_BY_PYTHON = frozenset(
    (
        *(
            "__doc__",
            "__dict__",
            "__weakref__",
            "__hash__",
            "__firstlineno__",
            "__static_attributes__",
            "__orig_bases__",
        ),
        *("__abstractmethods__", "_abc_impl", "__parameters__", "__match_args__", "__type_params__", "_is_protocol"),
        *("__orig_bases__", "__protocol_attrs__", "__dataclass_fields__", "__dataclass_params__", "__annotate_func__"),
    )
)
"""What Python may put into the namespace of a class whose body does not set it."""


def _submodule(machine: Machine, module: str, name: str) -> Value | None:
    path = f"{module}.{name}"
    return ModuleReference(path) if machine.finder.find(path) is not None else None


_NAMES_OF_A_UNIT = 4
"""Names, and statements that bind them, that are gone through in one unit of work."""


def _names(machine: Machine, module: str) -> tuple[list[str], Unknown | None]:
    """The names that importing a module binds in it, and why there may be others."""
    found, is_whole = _kept_names(machine, module)
    if len(found) > MAX_NAMESPACE:
        return [], machine.unknown(Reached(f"more than {MAX_NAMESPACE} names in {module}"))
    machine.spend(len(found) // _NAMES_OF_A_UNIT)
    machine.makes(len(found) * ITEMS_OF_A_CONSTANT)
    why = None if is_whole else machine.unknown(f"the namespace of {module} may hold more")
    whole = machine.modules.whole.get(module)
    return (list(found), why) if whole is None else _bound_so_far(machine, whole, found, why)


def _kept_names(machine: Machine, module: str) -> tuple[dict[str, None], bool]:
    """The same by the texts of the modules, collected once, and whether they are all."""
    kept = machine.caches.module_names.get(module)
    if kept is None:
        found: dict[str, None] = {}
        try:
            is_whole = _collect(machine, module, found, set())
        except SourceError:
            is_whole = False
        kept = machine.caches.module_names[module] = (found, is_whole)
    return kept


def _bound_so_far(
    machine: Machine, whole: Whole, found: dict[str, None], why: Unknown | None
) -> tuple[list[str], Unknown | None]:
    """Of the names that an executed module may bind: those that it has bound, and others have bound in it, by now."""
    module = whole.source.name
    machine.spend((len(machine.base.globals) + len(machine.state.globals)) // _NAMES_OF_A_UNIT)
    bound = {name: value for (owner, name), value in machine.base.globals.items() if owner == module}
    bound.update({name: value for (owner, name), value in machine.state.globals.items() if owner == module})
    names: list[str] = []
    for name in dict.fromkeys([*found, *bound]):
        value = remaining(bound.get(name))
        if name == OPEN or (value is not None and is_optional(value)):
            why = why or machine.unknown(f"{module} has {name} on some paths only", bound[name])
        elif value is not None or name in whole.waiting or not (name in bound or name in whole.source.index.bound):
            names.append(name)
    return names, why


def _collect(machine: Machine, module: str, found: dict[str, None], seen: set[str]) -> bool:
    """Adds the names that a module binds; False where it may bind others."""
    source = machine.finder.source(module)
    if source is None or module in seen:
        return source is not None
    seen.add(module)
    machine.spend(1 + len(source.index.body) // _NAMES_OF_A_UNIT)
    complete = "globals()" not in source.text and "__getattr__" not in source.index.bound
    for statement in source.index.body:
        for imported in statement.imports:
            if imported.type_checking:
                continue
            origin = source.absolute(imported.module, imported.level)
            if source.is_package and origin.rpartition(".")[0] == module:
                found[last_name(origin)] = None  # importing a submodule binds it in its package
            if imported.attribute == "*":
                complete = _collect_star(machine, origin, found, seen) and complete
        found.update(dict.fromkeys(statement.names))
    return complete


def _collect_star(machine: Machine, module: str, found: dict[str, None], seen: set[str]) -> bool:
    source: SourceModule | None = machine.finder.source(module)
    if source is not None and source.index.exported is not None:
        found.update(dict.fromkeys(source.index.exported))
        return True
    inside: dict[str, None] = {}
    complete = _collect(machine, module, inside, seen)
    found.update(dict.fromkeys(name for name in inside if not name.startswith("_")))
    return complete and "__all__" not in inside
