"""What the code of a model's classes names outside of its instances: globals, cells of closures, defaults.

Only what forward may reach by name is looked at: in a notebook the globals of a module are all there is. Code that is
installed is left alone, as are names that hold None, True or False: whether something was set up already, mostly, and
what was set up outside of Python cannot be taken back with it.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from modgraph.tracing.basics.origins import is_installed, is_own

MAX_FUNCTIONS = 5000
"""Functions looked into in all."""
_NOT_DATA = (types.ModuleType, type, types.BuiltinFunctionType)
_SWITCHES = (None, True, False)
_COLLECTING = (list, dict, set)
"""In a closure, what whoever watches a model has hooks and functions collect into: it is not the model's."""
_ABSENT = object()


class Names:
    """Finds them, each once, and keeps what puts them back.

    Args:
        later: is given a function and its arguments, to be called when everything is put back.
        keep_contents: is given each value found.
        keep_class: is given each class found.
    """

    def __init__(
        self, later: Callable[..., None], keep_contents: Callable[[Any], None], keep_class: Callable[[type], None]
    ) -> None:
        self._later = later
        self._keep_contents = keep_contents
        self._keep_class = keep_class
        self._seen: dict[int, types.FunctionType] = {}
        self._kept: set[tuple[int, str]] = set()

    def look_into(self, function: types.FunctionType) -> None:
        """Keep what `function` names, and the functions that it names, of the user's own code."""
        pending = [function]
        while pending and len(self._seen) < MAX_FUNCTIONS:
            each = pending.pop()
            if id(each) not in self._seen and _is_of_user(_file_of(each)):
                self._seen[id(each)] = each
                pending += [value for value in self._keep_one(each) if type(value) is types.FunctionType]

    def release(self) -> None:
        """Let go of all: who keeps things holds this, and this holds who keeps them."""
        self._later = self._keep_contents = self._keep_class = lambda *_: None
        self._seen.clear()

    def _keep_one(self, function: types.FunctionType) -> Iterator[Any]:
        """Keep what one function names; gives the functions among it, and leaves classes to who keeps them."""
        for value in (*self._globals(function), *self._held(function)):
            if type(value) is types.FunctionType:
                yield value
            elif isinstance(value, type):
                self._keep_class(value)
            elif type(value) not in _NOT_DATA:
                self._keep_contents(value)

    def _globals(self, function: types.FunctionType) -> Iterator[Any]:
        names, members = _names_in(function.__code__)
        yield from self._named(function.__globals__, names)
        for name in names:
            module = function.__globals__.get(name)
            if type(module) is types.ModuleType and _is_of_user(getattr(module, "__file__", None) or ""):
                yield from self._named(vars(module), members)

    def _named(self, mapping: dict[str, Any], names: frozenset[str]) -> Iterator[Any]:
        for name in names:
            if name.startswith("__") or (id(mapping), name) in self._kept:
                continue
            self._kept.add((id(mapping), name))
            value = mapping.get(name, _ABSENT)
            if value is not _ABSENT:
                yield value
                if not any(value is switch for switch in _SWITCHES) and not isinstance(value, types.ModuleType):
                    self._later(_restore_name, mapping, name, value)

    def _held(self, function: types.FunctionType) -> Iterator[Any]:
        """What it holds itself: cells, defaults, attributes."""
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # not filled yet
                continue
            self._later(_restore_cell, cell, value)
            if type(value) not in _COLLECTING:
                yield value
        yield from function.__defaults__ or ()
        yield from (function.__kwdefaults__ or {}).values()
        self._later(_restore_attributes, vars(function), dict(vars(function)))
        yield from vars(function).values()


def _restore_name(mapping: dict[str, Any], name: str, value: Any) -> None:
    if mapping.get(name, _ABSENT) is not value:
        mapping[name] = value


def _restore_cell(cell: types.CellType, value: Any) -> None:
    try:
        same = cell.cell_contents is value
    except ValueError:
        same = False
    if not same:
        cell.cell_contents = value


def _restore_attributes(state: dict[str, Any], before: dict[str, Any]) -> None:
    if [*state.items()] != [*before.items()]:
        state.clear()
        state.update(before)


@functools.lru_cache(maxsize=4096)
def _names_in(code: types.CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The globals that it names, and those with the attributes; so do the functions defined inside of it."""
    inner = [_names_in(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    found = {one.argval for one in dis.get_instructions(code) if one.opname in _OF_GLOBALS}
    members = frozenset(code.co_names).union(*(members for _, members in inner))
    return frozenset(found).union(*(names for names, _ in inner)), members


_OF_GLOBALS = frozenset({"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "STORE_NAME", "DELETE_NAME"})


def _file_of(function: types.FunctionType) -> str:
    """Where it is written; of what was made from text, the file of its module, which a notebook has not."""
    file = function.__code__.co_filename
    return file if not file.startswith("<") else str(function.__globals__.get("__file__") or "")


@functools.lru_cache(maxsize=4096)
def _is_of_user(file: str) -> bool:
    return not file or not (is_installed(file) or is_own(file))
