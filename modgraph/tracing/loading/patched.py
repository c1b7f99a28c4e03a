"""What the project has changed of Python and of packages, where a rule counts on how these are made."""

from __future__ import annotations

import builtins
import operator
import os
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from modgraph.tracing.loading.held_code import holds_project_code
from modgraph.tracing.loading.project_texts import is_of_project
from modgraph.tracing.loading.pure_calls import PACKAGES

_OTHERS = (
    *("builtins", "codecs", "encodings", "genericpath", "io", "ntpath", "posixpath", "traceback", "typing", "warnings"),
    *("torch.storage", "torch._tensor", "torch._utils", "torch._weights_only_unpickler", "torch.serialization"),
    *("torch.utils.data.dataset", "torch.autograd.grad_mode", "torch.utils._contextlib", "torch.nn.modules.module"),
    *("numpy.core.multiarray", "numpy._core.multiarray", "numpy.exceptions"),
)
"""What runs below the functions that are known, and is not found from these."""
_WITH_PARTS = ("yaml", "numpy.lib")
_HOOKS = frozenset(("excepthook", "displayhook", "unraisablehook", "breakpointhook"))
"""Of `sys`; nobody calls these while a statement runs."""
_FLAGS = (type(None), bool, int, float, complex, str, bytes)
_NONE = object()
_HEAP_TYPE = 1 << 9


@dataclass(frozen=True, slots=True)
class Patch:
    """Code of the project stands there, or may be called from there."""

    module: str
    name: str
    """With its class."""

    @property
    def is_everywhere(self) -> bool:
        """Whoever has an object of the class may run it; of Python's own functions each may call another."""
        return "." in self.name or self.module.partition(".")[0] in sys.stdlib_module_names


@dataclass(slots=True)
class _Known:
    """What names stand for in a module or class when it is first seen."""

    names: dict[str, Any]
    bad: frozenset[str] = frozenset()
    """Of these, what was the project's then."""
    values: tuple[Any, ...] = ()
    """Of the names, in their order."""
    classes: dict[str, tuple[type, _Known]] = field(default_factory=dict)


class Patches:
    """What was found when it was last looked for. What stands there when this is made is as its packages made it."""

    def __init__(self) -> None:
        self._homes = frozenset(_homes())
        self._known: dict[str, _Known] = {}
        self._seen: set[int] = set()
        self._found: tuple[Patch, ...] = ()
        for home, module in self._modules():
            self._known[home] = self._first_seen(home, module, is_trusted=True)

    def look(self) -> None:
        self._found = tuple(self._search())

    def anywhere(self) -> Patch | None:
        """One that whatever statement may run."""
        return next((each for each in self._found if each.is_everywhere), None)

    def below(self, function: Any) -> bool:
        """A function may call what was changed, as both are of one package."""
        root = (getattr(function, "__module__", None) or "").partition(".")[0]
        return any(each.module.partition(".")[0] == root and each.module != "torch" for each in self._found)

    def _modules(self) -> Iterator[tuple[str, types.ModuleType]]:
        parts = tuple(f"{each}." for each in _WITH_PARTS)
        for home, module in list(sys.modules.items()):
            if (home in self._homes or home.startswith(parts)) and isinstance(module, types.ModuleType):
                yield home, module

    def _first_seen(self, home: str, module: types.ModuleType, *, is_trusted: bool) -> _Known:
        names = dict(vars(module))
        known = _Known(names, frozenset() if is_trusted else _bad_of(names), tuple(names.values()))
        for name, value in names.items():
            is_its = isinstance(value, type) and str(value.__module__).partition(".")[0] == home.partition(".")[0]
            if is_its and value.__flags__ & _HEAP_TYPE and id(value) not in self._seen:
                self._seen.add(id(value))  # it is kept, and so its number
                held = dict(vars(value))
                known.classes[name] = (value, _Known(held, frozenset() if is_trusted else _bad_of(held), tuple(held.values())))
        return known

    def _search(self) -> Iterator[Patch]:
        for home, module in self._modules():
            known = self._known.get(home)
            if known is None:
                known = self._known[home] = self._first_seen(home, module, is_trusted=False)
            if is_of_project(type(module)) and not hasattr(module, "__builtins__"):
                yield Patch(home, "__class__")
            yield from (Patch(home, name) for name in _changed(vars(module), known, in_class=False))
            for name, (kind, held) in known.classes.items():
                yield from (Patch(home, f"{name}.{part}") for part in _changed(vars(kind), held, in_class=True))
        if any(map(holds_project_code, vars(os.environ).values() if hasattr(os.environ, "__dict__") else ())):
            yield Patch("os", "environ")


def _bad_of(names: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(name for name, value in names.items() if callable(value) and holds_project_code(value))


def _changed(names: Mapping[str, Any], known: _Known, *, in_class: bool) -> Iterator[str]:
    if not known.bad and len(names) == len(known.names) and all(map(operator.is_, names.values(), known.values)):
        return  # the usual, told fast, as it is asked for every statement that is left out
    for name, value in list(names.items()):
        before = known.names.get(name, _NONE)
        if before is value:
            if name in known.bad:
                yield name
        elif before is _NONE:
            is_found = in_class or name.startswith("__") or name in vars(builtins)
            if is_found and not isinstance(value, type | types.ModuleType) and holds_project_code(value):
                yield name
        elif name not in _HOOKS and not _is_of_packages(value):
            yield name
    yield from (name for name in known.names.keys() - names.keys() if callable(known.names[name]))


def _is_of_packages(value: Any) -> bool:
    """What stands in the place of something else is as a package made it."""
    if type(value) in _FLAGS:
        return True
    if isinstance(value, types.BuiltinMethodType) and not isinstance(value.__self__, types.ModuleType | type):
        return False
    if isinstance(value, types.FunctionType) and value.__code__.co_filename.startswith("<"):
        return False
    return not holds_project_code(value)


def _homes() -> Iterable[str]:
    """The modules of the functions that are known, and those of Python that these use."""
    found = dict.fromkeys((*PACKAGES, *_OTHERS))
    pending = [each for each in found if each.partition(".")[0] in sys.stdlib_module_names]
    while pending:
        name = pending.pop()
        module = sys.modules.get(name)
        values = list(vars(module).values()) if isinstance(module, types.ModuleType) else []
        inner = [*_imported_in(values, name)] if name in PACKAGES else []
        for value in (*values, *inner):
            home = value.__name__ if isinstance(value, types.ModuleType) else _home_of(value)
            is_python = home.partition(".")[0] in sys.stdlib_module_names
            if is_python and home in sys.modules and home not in found:
                found[home] = None
                pending.append(home)
    return found


def _imported_in(values: Iterable[Any], home: str) -> Iterator[types.ModuleType]:
    """What functions and methods of a module import where they run."""
    own = [each for each in values if getattr(each, "__module__", None) == home]
    methods = [one for each in own if isinstance(each, type) for one in vars(each).values()]
    for each in (*own, *methods):
        names = each.__code__.co_names if isinstance(each, types.FunctionType) else ()
        modules = [sys.modules.get(name) for name in names]
        yield from (one for one in modules if isinstance(one, types.ModuleType))


def _home_of(value: Any) -> str:
    if not isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return ""
    home = value.__module__
    return home if isinstance(home, str) else ""
