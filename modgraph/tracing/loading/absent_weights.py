"""Building a model whose weights are not there: the functions that bring weights give an empty state dict.

It is done in a process of its own, in which nothing was built before: a constructor that got half of its way has left
its mark on registries, counters and caches. What is there is read as ever. The functions that bring weights fetch
nothing and make no file; where the model's code catches that weights are not there, they try and fail as ever.

What a model is made of, and what it does, may follow from what the weights hold: `Net(**checkpoint["args"])`. So it is
noted where such a state dict is asked for what it holds, while the model is built and while it runs. What the source
does not show to end in state dicts, as renamed keys do, is told: the model may be another.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import _IncompatibleKeys

from modgraph.graph.events import ErrorEvent
from modgraph.graph.model import MissingWeights, SourceLocation
from modgraph.tracing.basics.failures import describe
from modgraph.tracing.basics.members import registered_modules
from modgraph.tracing.basics.origins import is_installed, is_own
from modgraph.tracing.basics.patches import Patches
from modgraph.tracing.basics.sites import location_of, site_of
from modgraph.tracing.loading.consequences import AsksItself, asks_by_way_of, does_no_harm, is_caught, is_taken_as_it_is
from modgraph.tracing.loading.weight_doors import DOORS, Door, source_of

MAX_SOURCES = 20
"""Weights that are named."""
_MAX_LOOKED_AT = 10_000
_NOWHERE = os.path.join(os.sep, "weights-that-are-not-there")
"""A folder that is nowhere, in which files of a hub seem to lie."""

_NOTHING: Any = object()
asks_by_way_of(__file__)


class StandIn(OrderedDict[Any, Any], AsksItself):
    """The state dict in the place of weights that are not there: empty, and so is every entry that is asked for.

    What is set in it stays, so that it can be renamed, filtered and added to as others are.
    """

    _absent: AbsentWeights
    _source: str

    def __init__(self, absent: AbsentWeights, source: str, items: dict[Any, Any] | None = None) -> None:
        super().__init__()
        self._absent, self._source = absent, source
        for key, value in () if items is None else dict.items(items):
            self[key] = value

    def __missing__(self, key: Any) -> StandIn:
        if not isinstance(key, str):
            self._absent.asked(self._source, "__getitem__")
            raise KeyError(key)
        self._absent.given(self._source)
        return StandIn(self._absent, self._source)

    def get(self, key: Any, default: Any = _NOTHING) -> Any:
        """An entry; an empty one where it is not there and nothing is given for that."""
        return dict.__getitem__(self, key) if dict.__contains__(self, key) else self._otherwise(default, "get")

    def pop(self, key: Any, default: Any = _NOTHING) -> Any:
        """The same, taken out."""
        return super().pop(key) if dict.__contains__(self, key) else self._otherwise(default, "pop")

    def _otherwise(self, default: Any, how: str) -> Any:
        if isinstance(default, StandIn):
            return default  # a state dict either way, which is asked by itself
        self._absent.asked(self._source, how)
        return StandIn(self._absent, self._source) if default is _NOTHING else default

    def __delitem__(self, key: Any) -> None:
        if dict.__contains__(self, key):
            super().__delitem__(key)

    def copy(self) -> StandIn:
        """Another one with the same entries."""
        return StandIn(self._absent, self._source, self)

    __copy__ = copy

    def __deepcopy__(self, _: Any) -> StandIn:
        return self.copy()

    # What it holds: of weights that are there, the answer would be another.

    def __len__(self) -> int:
        self._absent.asked(self._source, "__len__")
        return super().__len__()

    def __iter__(self) -> Iterator[Any]:
        self._absent.asked(self._source, "__iter__")
        return super().__iter__()

    def __contains__(self, key: object) -> bool:
        self._absent.asked(self._source, "__contains__")
        return super().__contains__(key)

    def __eq__(self, other: object) -> bool:
        self._absent.asked(self._source, "__eq__")
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def keys(self) -> Any:
        """As of any dict."""
        self._absent.asked(self._source, "keys")
        return super().keys()

    def values(self) -> Any:
        """As of any dict."""
        self._absent.asked(self._source, "values")
        return super().values()

    def items(self) -> Any:
        """As of any dict."""
        self._absent.asked(self._source, "items")
        return super().items()

    def __reversed__(self) -> Iterator[Any]:
        self._absent.asked(self._source, "__reversed__")
        return super().__reversed__()

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            self._absent.asked(self._source, name)
        raise AttributeError(f"weights that are not there have no {name}: {self._source}")

    def __format__(self, _: str) -> str:
        return repr(self)

    def __repr__(self) -> str:
        self._absent.asked(self._source, "__repr__")
        return f"<no weights: {self._source}>"


class AbsentWeights:
    """Inside, weights that are not there are empty state dicts, and to load such a one is to do nothing.

    Args:
        first: those that are known to be missing.
        modules: of functions that bring weights, which the model is known to have imported.
    """

    def __init__(self, first: MissingWeights, modules: Iterable[str] = ()) -> None:
        self._first = first.source
        self._errors = {first.source: first.error}
        self._modules = frozenset(modules)
        self._told: dict[str, SourceLocation | None] = {}
        self._paths: dict[str, str] = {}
        """By the path of a file that was not fetched, what it would have been fetched from."""
        self._open: dict[str, SourceLocation | None] = {}
        """By weights that were asked for what they hold, where it may matter, the user's line that asks first."""
        self._caught: dict[str, SourceLocation | None] = {}
        """By weights that were given though the model's code catches that they are not there, its line."""
        self._is_open = False
        self._home: types.CodeType | None = None
        """The function of ours that builds the model."""
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> AbsentWeights:
        for door in DOORS:
            if door.module in self._modules:
                with contextlib.suppress(ImportError):
                    importlib.import_module(door.module)
        for door in DOORS:
            function = door.function
            if function is not None:
                instead = self._instead(door, function)
                _exchange(function, instead)
                self._undo.callback(_exchange, instead, function)
        Patches(self._undo).replace(nn.Module, "load_state_dict", self._loading(nn.Module.load_state_dict))
        self._home = sys._getframe(1).f_code
        self._is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = False
        self._undo.close()

    def again(self, build: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
        """`build`, which may be tried several times: what a try that failed has asked is of no meaning."""
        open_before, caught_before = dict(self._open), dict(self._caught)

        def afresh() -> nn.Module:
            self._open, self._caught = dict(open_before), dict(caught_before)
            return build()

        return afresh

    def told(self) -> tuple[MissingWeights, ...]:
        """The weights that were asked for and are not there, in the order of that."""
        return tuple(
            MissingWeights(
                source=source,
                error=self._errors.get(source),
                file=None if place is None else place.file,
                line=None if place is None else place.line,
            )
            for source, place in list(self._told.items())[:MAX_SOURCES]
        )

    def doubts(self, model: nn.Module) -> Iterator[ErrorEvent]:
        """What may be otherwise with the weights: to be asked when the model has run."""
        for source, place in self._open.items():
            yield ErrorEvent(
                message=f"it is asked what {source} holds, which is not there: with it, the model may be another, or do"
                " something else",
                file=None if place is None else place.file,
                line=None if place is None else place.line,
            )
        for path, module in registered_modules(model):
            for name, value in list(vars(module).items()):
                for kept in _stand_ins_in(value):
                    yield ErrorEvent(
                        message=f"{name} is kept of {kept._source}, which is not there: what it is, is not known",
                        module=path,
                    )

    def asked(self, source: str, how: str) -> None:
        """Somebody wants to know what weights hold; also when the model is built, as it may ask in its run.

        Args:
            how: the method of the state dict that is asked.
        """
        if source not in self._open and not does_no_harm(how):
            self._open[source] = _users_line()

    def given(self, source: str) -> None:
        """Somebody got a stand-in."""
        if source not in self._open and not is_taken_as_it_is():
            self._open[source] = _users_line()

    def _stand_in(self, source: str, error: BaseException | None = None) -> StandIn:
        self._note(source)
        if error is not None:
            self._errors.setdefault(source, describe(error))
        self.given(source)
        return StandIn(self, source)

    def _note(self, source: str) -> None:
        self._told.setdefault(source, _users_line())

    def _instead(self, door: Door, function: Any) -> Any:
        answer = getattr(self, f"_{door.kind}")

        @functools.wraps(function)
        def instead(*args: Any, **kwargs: Any) -> Any:
            if not self._is_open:  # of a name that was bound to it while it stood
                return function(*args, **kwargs)
            try:
                given = inspect.signature(function).bind(*args, **kwargs).arguments
            except TypeError:
                given = {}
            source = source_of(door, given)
            if source is None:
                return function(*args, **kwargs)
            if self._is_left(door, source):
                return function(*args, **(kwargs | ({"local_files_only": True} if door.kind == "hub" else {})))
            return answer(door, function, source, given, args, kwargs)

        return instead

    def _is_left(self, door: Door, source: str) -> bool:
        """Whether it is left to the model's code, which catches the error and goes on.

        For want of the first it could not be built, so of that it does not.
        """
        error = FileNotFoundError if door.kind == "read" else door.refused[0]
        caught = is_caught(error, self._home)
        if self._first != source:
            return caught
        if caught:
            self._caught.setdefault(source, _users_line())
        elif source in self._caught:
            self._open.setdefault(source, self._caught[source])
        return False

    def _fetch(self, _door: Door, _function: Any, source: str, given: Any, _args: Any, _kwargs: Any) -> None:
        self._note(source)
        self._paths[os.path.abspath(os.path.expanduser(given["dst"]))] = source

    def _load(self, door: Door, function: Any, source: str, _given: Any, args: Any, kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)  # from its cache, or by way of the others
        except door.refused as error:
            return self._stand_in(source, error)

    def _read(self, door: Door, function: Any, source: str, given: Any, args: Any, kwargs: Any) -> Any:
        fetched = self._paths.get(os.path.abspath(given[door.source]))
        if fetched is not None and not os.path.exists(given[door.source]):
            return self._stand_in(fetched)
        try:
            return function(*args, **kwargs)
        except door.refused as error:
            return self._stand_in(source, error)

    def _hub(self, door: Door, function: Any, source: str, given: Any, args: Any, kwargs: Any) -> Any:
        try:
            return function(*args, **{**kwargs, "local_files_only": True})
        except door.refused:
            path = os.path.join(_NOWHERE, str(given.get("repo_id")), str(given.get("filename")))
            self._paths[os.path.abspath(path)] = source
            self._note(source)
            return path

    def _loading(self, original: Any) -> Any:
        @functools.wraps(original)
        def loading(module: nn.Module, state_dict: Any, strict: bool = True, *args: Any, **kwargs: Any) -> Any:
            left = self._without_stand_ins(state_dict)
            if left is not None:
                state_dict, strict = left, False
            is_renamed = self._told and type(state_dict) in (dict, OrderedDict) and not state_dict
            if self._is_open and (left is not None or is_renamed):
                self.asked(next(reversed(self._told)), "load_state_dict")  # what is amiss in it
            if is_renamed:
                return _IncompatibleKeys([], [])
            return original(module, state_dict, strict, *args, **kwargs)

        return loading

    def _without_stand_ins(self, state_dict: Any) -> OrderedDict[Any, Any] | None:
        """What is to be loaded of a state dict in the place of missing weights, or with entries of such a one; None of
        any other."""
        entries = dict.items(state_dict) if isinstance(state_dict, dict) else ()
        stand_ins = [value for _, value in entries if isinstance(value, StandIn)]
        if not isinstance(state_dict, StandIn) and not stand_ins:
            return None
        return OrderedDict((name, value) for name, value in entries if not isinstance(value, StandIn))


def _stand_ins_in(value: Any) -> Iterator[StandIn]:
    """Those that a value holds, itself or at any depth of containers and plain objects."""
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < _MAX_LOOKED_AT:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, nn.Module | torch.Tensor | type | types.ModuleType):
            continue
        seen.add(id(each))
        if isinstance(each, StandIn):
            yield each
        elif isinstance(each, dict):
            waiting += dict.values(each)
        elif isinstance(each, list | tuple | set | frozenset):
            waiting += each
        elif isinstance(getattr(each, "__dict__", None), dict):
            waiting += vars(each).values()


def _exchange(function: Any, instead: Any) -> None:
    """Put `instead` wherever a module that was imported has `function`, under whatever name."""
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType):
            names: dict[str, Any] = types.ModuleType.__getattribute__(module, "__dict__")
            for name in [name for name, value in list(names.items()) if value is function]:
                names[name] = instead


def _users_line() -> SourceLocation | None:
    """The innermost line that is neither ours nor of an installed package; of an installed one where there is none."""
    frame = sys._getframe(1)
    users: Any = frame
    while users is not None and (
        users.f_code.co_filename.startswith("<")
        or is_own(users.f_code.co_filename)
        or is_installed(users.f_code.co_filename)
    ):
        users = users.f_back
    return location_of(site_of(users or frame, None))
