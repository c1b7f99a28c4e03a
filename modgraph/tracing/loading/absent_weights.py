"""Building a model whose weights are not there: the functions that bring weights give an empty state dict.

It is done in a process of its own, in which nothing was built before: a constructor that got half of its way has left
its mark on registries, counters and caches. What is there is read as ever; nothing is fetched, and no file is made.

What a model is made of may follow from what the weights hold: `Net(**checkpoint["args"])`. So it is noted where such a
state dict is asked for what it holds, until it is loaded. If modules are made in between, the graph says that they may
be others.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torch import nn
from torch.nn.modules.module import _IncompatibleKeys

from modgraph.graph.events import ErrorEvent
from modgraph.graph.model import MissingWeights, SourceLocation
from modgraph.tracing.basics.failures import describe
from modgraph.tracing.basics.members import registered_modules
from modgraph.tracing.basics.origins import is_installed, is_own
from modgraph.tracing.basics.patches import Patches
from modgraph.tracing.basics.sites import location_of, site_of
from modgraph.tracing.loading.weight_doors import DOORS, Door, source_of

MAX_SOURCES = 20
"""Weights that are named."""
_NOWHERE = os.path.join(os.sep, "weights-that-are-not-there")
"""A folder that is nowhere, in which files of a hub seem to lie."""

_NOTHING: Any = object()


class StandIn(OrderedDict[Any, Any]):
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
            raise KeyError(key)
        return StandIn(self._absent, self._source)

    def get(self, key: Any, default: Any = _NOTHING) -> Any:
        """An entry; an empty one where it is not there and nothing is given for that."""
        return dict.__getitem__(self, key) if dict.__contains__(self, key) else self._otherwise(key, default)

    def pop(self, key: Any, default: Any = _NOTHING) -> Any:
        """The same, taken out."""
        return super().pop(key) if dict.__contains__(self, key) else self._otherwise(key, default)

    def _otherwise(self, key: Any, default: Any) -> Any:
        if default is _NOTHING:
            return self[key]
        self._absent.asked(self._source)
        return default

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
        self._absent.asked(self._source)
        return super().__len__()

    def __iter__(self) -> Iterator[Any]:
        self._absent.asked(self._source)
        return super().__iter__()

    def __contains__(self, key: object) -> bool:
        self._absent.asked(self._source)
        return super().__contains__(key)

    def __eq__(self, other: object) -> bool:
        self._absent.asked(self._source)
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def keys(self) -> Any:
        """As of any dict."""
        self._absent.asked(self._source)
        return super().keys()

    def values(self) -> Any:
        """As of any dict."""
        self._absent.asked(self._source)
        return super().values()

    def items(self) -> Any:
        """As of any dict."""
        self._absent.asked(self._source)
        return super().items()

    def __repr__(self) -> str:
        return f"<no weights: {self._source}>"


class AbsentWeights:
    """Inside, weights that are not there are empty state dicts, and to load such a one is to do nothing.

    Args:
        first: those that are known to be missing.
        modules: of functions that bring weights, which the model is known to have imported.
    """

    def __init__(self, first: MissingWeights, modules: Iterable[str] = ()) -> None:
        self._errors = {first.source: first.error}
        self._modules = frozenset(modules)
        self._told: dict[str, SourceLocation | None] = {}
        self._paths: dict[str, str] = {}
        """By the path of a file that was not fetched, what it would have been fetched from."""
        self._open: dict[str, SourceLocation | None] = {}
        """By weights that were asked for what they hold and are not loaded since, the user's line that asks."""
        self._decided: dict[str, SourceLocation | None] = {}
        """Those of them after which modules were made."""
        self._is_open = False
        self._undo = contextlib.ExitStack()

    def __enter__(self) -> AbsentWeights:
        for door in DOORS:
            if door.module in self._modules:
                with contextlib.suppress(ImportError):
                    importlib.import_module(door.module)
        patches = Patches(self._undo)
        for door in DOORS:
            function = door.function
            if function is not None:
                instead = self._instead(door, function)
                _exchange(function, instead)
                self._undo.callback(_exchange, instead, function)
        for name in ("__init__", "register_parameter", "register_buffer"):
            patches.replace(nn.Module, name, self._noting(getattr(nn.Module, name)))
        patches.replace(nn.Module, "load_state_dict", self._loading(nn.Module.load_state_dict))
        self._is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = False
        self._undo.close()

    def again(self, build: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
        """`build`, which may be tried several times: what a try that failed has asked is of no meaning."""
        open_before, decided_before = dict(self._open), dict(self._decided)

        def afresh() -> nn.Module:
            self._open, self._decided = dict(open_before), dict(decided_before)
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
        """What may be otherwise with the weights."""
        for source, place in self._decided.items():
            yield ErrorEvent(
                message=f"modules are made after it is asked what {source} holds, which is not there: with it, they may"
                " be others",
                file=None if place is None else place.file,
                line=None if place is None else place.line,
            )
        for path, module in registered_modules(model):
            for name, value in list(vars(module).items()):
                if isinstance(value, StandIn):
                    yield ErrorEvent(
                        message=f"{name} is kept of {value._source}, which is not there: what it is, is not known",
                        module=path,
                    )

    def asked(self, source: str) -> None:
        """Somebody wants to know what weights hold."""
        if self._is_open:
            before = self._open.pop(source, None)  # the last that was asked is the last of them
            self._open[source] = before or _users_line()

    def _stand_in(self, source: str, error: BaseException | None = None) -> StandIn:
        self._note(source)
        if error is not None:
            self._errors.setdefault(source, describe(error))
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
            return function(*args, **kwargs) if source is None else answer(door, function, source, given, args, kwargs)

        return instead

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

    def _noting(self, original: Any) -> Any:
        @functools.wraps(original)
        def noting(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            if self._open:
                self._decided.update({source: at for source, at in self._open.items() if source not in self._decided})
            return original(module, *args, **kwargs)

        return noting

    def _loading(self, original: Any) -> Any:
        @functools.wraps(original)
        def loading(module: nn.Module, state_dict: Any, strict: bool = True, *args: Any, **kwargs: Any) -> Any:
            left = self._without_stand_ins(state_dict)
            if left is not None:
                state_dict, strict = left, False
            elif self._open:  # what it was made of was asked last
                self._open.popitem()
            if self._told and isinstance(state_dict, Mapping) and not state_dict:
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
        for each in (state_dict, *stand_ins):
            if isinstance(each, StandIn):
                self._open.pop(each._source, None)
        return OrderedDict((name, value) for name, value in entries if not isinstance(value, StandIn))


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
