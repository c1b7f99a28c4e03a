"""What the project has changed of Python and of packages, where a rule counts on how these are made."""

from __future__ import annotations

import builtins
import codecs
import logging
import operator
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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
_WITH_OBJECTS = frozenset((*PACKAGES, "builtins", "warnings")) & sys.stdlib_module_names
"""Of these, objects that stand in a module are looked into, too."""
_WITH_PARTS = ("yaml", "numpy.lib")
_HOOKS = frozenset(("excepthook", "displayhook", "unraisablehook", "breakpointhook"))
"""Of `sys`; nobody calls these while a statement runs."""
_FLAGS = (type(None), bool, int, float, complex, str, bytes)
_ERRORS = ("strict", "ignore", "replace", "backslashreplace", "surrogateescape")
"""By these names Python finds what handles text that cannot be read."""
_CODE_OF = operator.attrgetter("__code__")
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


class _Known:
    """What names stand for in a module, a class or an object when it is first seen."""

    def __init__(self, names: Mapping[str, Any], *, is_trusted: bool) -> None:
        self.names = dict(names)
        self._values = tuple(self.names.values())
        self._functions = [each for each in self._values if isinstance(each, types.FunctionType)]
        self._code = tuple(map(_CODE_OF, self._functions))
        bad = () if is_trusted else self.names.items()
        self._bad = frozenset(name for name, value in bad if callable(value) and holds_project_code(value))

    def changed(self, names: Mapping[str, Any], *, is_module: bool) -> Iterator[str]:
        """The names by which code of the project may be called."""
        if not all(map(operator.is_, map(_CODE_OF, self._functions), self._code)):
            yield "__code__"
        if not self._bad and len(names) == len(self._values) and all(map(operator.is_, names.values(), self._values)):
            return  # the usual, told fast, as it is asked for every statement that is left out
        for name, value in list(names.items()):
            before = self.names.get(name, _NONE)
            if before is value:
                is_found = name in self._bad
            elif before is _NONE:
                is_read = not is_module or name.startswith("__") or name in vars(builtins)
                is_found = is_read and not isinstance(value, type | types.ModuleType) and holds_project_code(value)
            else:
                is_found = name not in _HOOKS and not _is_of_packages(value)
            if is_found:
                yield name
        yield from (name for name in self.names.keys() - names.keys() if callable(self.names[name]))


class Patches:
    """What was found when it was last looked for. What stands there when this is made is as its packages made it."""

    def __init__(self) -> None:
        self._homes = frozenset(_homes())
        self._known: dict[str, _Known] = {}
        self._parts: dict[str, tuple[Any, _Known]] = {}
        """Classes and objects of modules."""
        self._seen: dict[int, Any] = {}
        self._found: tuple[Patch, ...] = ()
        for home, module in self._modules():
            self._see(home, module, is_trusted=True)

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

    def _see(self, home: str, module: types.ModuleType, *, is_trusted: bool) -> None:
        self._known[home] = _Known(vars(module), is_trusted=is_trusted)
        for name, value in list(vars(module).items()):
            if id(value) in self._seen or isinstance(value, types.ModuleType | types.FunctionType):
                continue
            if isinstance(value, type):
                is_its = str(value.__module__).partition(".")[0] == home.partition(".")[0]
                is_its = is_its and bool(value.__flags__ & _HEAP_TYPE)
            else:
                is_its = home in _WITH_OBJECTS and type(getattr(value, "__dict__", None)) is dict
                is_its = is_its and not isinstance(value, logging.Logger)  # asked where something is logged
            if is_its:
                self._seen[id(value)] = value
                self._parts[f"{home}:{name}"] = (value, _Known(vars(value), is_trusted=is_trusted))

    def _search(self) -> Iterator[Patch]:
        for home, module in self._modules():
            if home not in self._known:
                self._see(home, module, is_trusted=False)
            if is_of_project(type(module)):
                yield Patch(home, "__class__")
            for name in self._known[home].changed(vars(module), is_module=True):
                yield Patch(home, name)
        for place, (value, known) in self._parts.items():
            home, _, name = place.partition(":")
            for part in known.changed(vars(value), is_module=False):
                yield Patch(home, f"{name}.{part}")
        if any(holds_project_code(codecs.lookup_error(each)) for each in _ERRORS):
            yield Patch("codecs", "lookup_error")
        for each in (sys.gettrace, sys.getprofile):
            if holds_project_code(each()):
                yield Patch("sys", each.__name__)


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
