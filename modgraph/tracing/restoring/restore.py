"""Everything a run may change, as it was before: flags, tensors, attributes, containers, gradients, random numbers.

Flags are kept per module: one `train(flag)` for all would also turn those that the user froze.
"""

from __future__ import annotations

import argparse
import array
import contextlib
import copy
import functools
import itertools
import operator
import random
import sys
import types
import warnings
from collections import OrderedDict, UserDict, UserList, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as dispatch_modes

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.tracing.basics.members import every_module
from modgraph.tracing.basics.tensors import ATOMS, instance_slots, is_fake, quietly
from modgraph.tracing.restoring.kept_names import Names
from modgraph.tracing.restoring.kept_script import ScriptState, put_back_attributes, put_back_slot
from modgraph.tracing.restoring.kept_tensor import KeptTensor, storage_of, unwrapped
from modgraph.tracing.restoring.process_settings import Settings, kept_modes

MAX_DEPTH = 8
"""Levels of objects below an attribute or argument whose contents are kept; plain containers count as none."""
MAX_KEPT = 100_000
"""Containers and objects kept in all."""
_MAPPINGS: tuple[Any, ...] = (OrderedDict, dict)
_SEQUENCES: tuple[Any, ...] = (list, set, deque)
_BUILTINS = frozenset({dict, list, set, tuple})
_COPIED_ITERATORS = frozenset(
    {itertools.count, *(type(iter(kind())) for kind in (list, tuple, str, bytes)), type(iter(range(0)))}
)
"""Iterators of which a copy goes on by itself, from the same place."""
_STORES = frozenset({"_parameters", "_buffers", "_modules"})
_CLEARED = frozenset({dict, OrderedDict, set})
"""Containers that are empty again once they are cleared."""
_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")
"""Attributes of a tensor under which its hooks stand."""
MAX_FOREIGN = 10_000
"""Tensors kept that no module holds: met while the model runs, and made before it or where nobody saw it."""
_MAX_NAMED_BYTES = 1 << 26
"""Of an array that a global holds."""
_INERT = ATOMS - {types.FunctionType}
_NAMESPACES = frozenset({types.SimpleNamespace, argparse.Namespace, UserDict, UserList})
"""Classes of Python's that hold what others put there."""
_OF_PYTHON = frozenset(
    {"__dict__", "__weakref__", "__annotations__", "__annotate__", "_abc_impl", "__abstractmethods__"}
)
"""Attributes of a class that Python makes, some of them when they are asked for."""
_NOT_LOOKED_INTO = frozenset({*sys.stdlib_module_names, "torch", "numpy", "modgraph"})
"""Packages whose objects change with the process, not with the model: loggers, locks, queues, threads."""


class Snapshot:
    """The state of some modules and arguments at one moment. `restore` may be called once.

    Args:
        unwatched: nobody tells of writes, so that also what globals hold is copied.

    Tensors are read and written with any fake mode off: under it, what is real would be put back as something fake.
    """

    def __init__(self, modules: Iterable[nn.Module], arguments: Any, *, unwatched: bool = False) -> None:
        self._undo: list[tuple[Any, ...]] = []
        self._tensors: dict[int, KeptTensor] = {}
        self._sharing: dict[int, list[KeptTensor]] = {}
        self.written: dict[int, torch.Tensor] = {}
        """What was about to be written into, of the tensors kept and of those that share their memory."""
        self._looked_into: dict[int, Any] = {}
        self._scripted: dict[int, Any] = {}
        self._modes: list[tuple[Any, ...]] = [(put_back,) for put_back in kept_modes()]
        self._settings = Settings()
        self._kinds: dict[int, type] = {}
        self._n_foreign = 0
        self._copies_named = unwatched
        self._without_values = any(isinstance(mode, FakeTensorMode) for mode in dispatch_modes())
        self._names = Names(self._later, self._keep_named, self._keep_class)
        for put_back in random_states():
            self._later(put_back)
        with unset_fake_temporarily(), quietly(), torch.no_grad():
            for module in modules:
                self._keep_module(module)
            self._keep_contents(arguments)

    def _later(self, *action: Any) -> None:
        """Have `action[0](*action[1:])` done by `restore`; the last kept first."""
        self._undo.append(action)

    def keep(self, module: nn.Module) -> None:
        """Keep the state of one module (not of those below it)."""
        with unset_fake_temporarily():
            self._keep_module(module)

    def _keep_module(self, module: nn.Module) -> None:
        state, kind = object.__getattribute__(module, "__dict__"), type(module)
        # Mappings of hooks, a dozen in each module: what is empty holds nothing to be looked into.
        empty = [value for value in state.values() if type(value) in _CLEARED and not value]
        self._later(_restore_module, module, kind, state, dict(state), empty)
        if isinstance(module, torch.jit.ScriptModule):
            self._keep_scripted(module)
        self._keep_iterators(state)
        if id(kind) not in self._kinds:
            self._kinds[id(kind)] = kind
            for base in kind.__mro__:
                self._keep_class(base)
        if state.get("max_norm") is not None:  # such an embedding writes into its weight when it is read
            parameters = state.get("_parameters")
            for parameter in dict(parameters).values() if isinstance(parameters, dict) else ():
                if parameter is not None:
                    self._keep_contents(*self._keep_tensor(parameter, with_values=True))
        rest = []
        for name, value in state.items():
            kind = type(value)
            if kind is dict and name in _STORES and id(value) not in self._looked_into:
                self._keep_store(value)
            elif kind not in ATOMS and (kind not in _CLEARED or value):
                rest.append(value)
        self._keep_contents(*rest)

    def _keep_store(self, store: dict[Any, Any]) -> None:
        """Keep what a module registers: as `_keep_contents` does, for what nearly all of it is."""
        if not store or len(self._looked_into) >= MAX_KEPT:
            return
        self._looked_into[id(store)] = store
        self._later(_restore_mapping, dict, store, dict(store))
        for value in list(store.values()):
            if type(value) is nn.Parameter or type(value) is torch.Tensor:
                contents = self._keep_tensor(value, with_values=type(value) is torch.Tensor)
                if contents:
                    self._keep_contents(*contents)
            elif value is not None and not issubclass(type(value), nn.Module):
                self._keep_contents(value)

    def _keep_scripted(self, module: Any) -> None:
        """Keep a ScriptModule and those below it: of them, `vars` shows neither flags nor tensors."""
        if id(module) in self._scripted:
            return
        script = ScriptState(module)
        for inner in script.modules:
            self._scripted[id(inner)] = inner
            self._later(setattr, inner, "training", inner.training)
            self._later(put_back_attributes, inner, script.plain(inner))
            for name, tensor, is_written in script.tensors(inner):
                self._keep_contents(*self._keep_tensor(tensor, with_values=is_written))
                self._later(put_back_slot, inner, name, tensor)

    def _keep_iterators(self, state: dict[str, Any]) -> None:
        """Let the run go on with a copy of each iterator that an attribute holds, as none can be turned back."""
        for name, value in state.items():
            if type(value) in _COPIED_ITERATORS:
                with contextlib.suppress(TypeError), warnings.catch_warnings():  # Python means to copy no more of them
                    warnings.simplefilter("ignore")
                    state[name] = copy.copy(value)

    def _keep_class(self, kind: type) -> None:
        """Keep what stands on a class of the user's: the traces of all instances meet there."""
        package = kind.__module__.partition(".")[0] if isinstance(kind.__module__, str) else ""
        if id(kind) in self._looked_into or package in _NOT_LOOKED_INTO:
            return
        self._looked_into[id(kind)] = kind
        before = {name: value for name, value in vars(kind).items() if name not in _OF_PYTHON}
        self._later(_restore_class_attributes, kind, before)
        for name, value in before.items():
            function = _function_of(value)
            if function is not None:
                self._names.look_into(function)
            elif _is_data(name, value) and type(value) not in _INERT:
                self._keep_contents(value)

    def _keep_named(self, value: Any) -> None:
        """Keep what a global or a closure holds, but for what is large: forward may never come near it."""
        if not _is_large(value):
            self._keep_contents(value, copy_tensors=self._copies_named)

    def _keep_contents(self, *values: Any, copy_tensors: bool = True) -> None:
        """Keep what containers and plain objects hold, and the tensors and random generators among it."""
        pending: list[tuple[Any, int]] = [(value, 0) for value in values]
        while pending:
            item, depth = pending.pop()
            kind = type(item)
            if kind is types.FunctionType:
                self._names.look_into(item)
            elif kind in _INERT or issubclass(kind, nn.Module):
                continue
            elif issubclass(kind, torch.Tensor):
                with_values = copy_tensors and not isinstance(item, nn.Parameter)
                contents = self._keep_tensor(item, with_values=with_values)
                pending.extend((content, depth + 1) for content in contents)
            elif id(item) not in self._looked_into and len(self._looked_into) < MAX_KEPT:
                self._looked_into[id(item)] = item
                contents = self._keep_one(item)
                if contents and depth < MAX_DEPTH:
                    below = depth + (kind not in _BUILTINS)
                    pending.extend((content, below) for content in contents if type(content) not in _INERT)

    def _keep_one(self, item: Any) -> list[Any]:
        """Keep one container or object; gives what it holds."""
        if type(item) is OrderedDict:  # what each module has a dozen of
            self._later(_restore_mapping, OrderedDict, item, dict(item))
            return list(item.values())
        put_back = _generator_state(item) if type(item) not in _BUILTINS else None
        if put_back is not None:
            self._later(put_back)
            return []
        if type(item) is dict:
            self._later(_restore_mapping, dict, item, dict(item))
            return list(item.values())
        return self._keep_odd(item)

    def _keep_odd(self, item: Any) -> list[Any]:
        contents: list[Any] = []
        own = type(item)  # never `isinstance`, which asks the object for its class
        mapping = next((kind for kind in _MAPPINGS if issubclass(own, kind)), None)
        sequence = next((kind for kind in _SEQUENCES if issubclass(own, kind)), None)
        if mapping is not None:
            before = dict(mapping.items(item))
            self._later(_restore_mapping, mapping, item, before)
            contents += before.values()
        elif sequence is not None:
            contents += sequence.__iter__(item)
            self._later(_restore_sequence, sequence, item, list(contents))
        elif issubclass(own, tuple):
            contents += tuple.__iter__(item)
        elif issubclass(own, bytearray | array.array):
            self._later(_restore_array, item, item[:])
        elif issubclass(own, functools.partial):
            contents += [item.func, *item.args, item.keywords]
        elif own in (types.MethodType, types.BuiltinMethodType):
            contents += [item.__self__, getattr(item, "__func__", None)]
        package = own.__module__.partition(".")[0] if isinstance(own.__module__, str) else ""
        if not issubclass(own, type) and (package not in _NOT_LOOKED_INTO or own in _NAMESPACES):
            contents += self._keep_attributes(item)
        return contents

    def _keep_attributes(self, item: Any) -> list[Any]:
        slots = instance_slots(item)
        if slots:
            self._later(_restore_slots, item, slots)
        try:
            state = object.__getattribute__(item, "__dict__")
        except AttributeError:
            state = None
        if not isinstance(state, dict):
            return list(slots.values())
        self._later(_restore_mapping, dict, state, dict(state))
        return [*slots.values(), *state.values()]

    def keep_foreign(self, tensor: torch.Tensor) -> None:
        """Keep one that the run met and that no module holds; its values are copied before something writes there."""
        if self._n_foreign < MAX_FOREIGN:
            self._n_foreign += 1
            with unset_fake_temporarily():
                self._keep_tensor(tensor, with_values=False, foreign=True)

    def keep_tensor(self, tensor: torch.Tensor) -> None:
        """Keep the memory, flags and gradient of one tensor."""
        with unset_fake_temporarily():
            self._keep_tensor(tensor, with_values=False)

    def _keep_tensor(self, tensor: torch.Tensor, *, with_values: bool, foreign: bool = False) -> list[Any]:
        """Keep one tensor; gives what its attributes hold, the first time."""
        kept = self._tensors.get(id(tensor))
        contents: list[Any] = []
        if kept is None:
            try:
                kept = self._tensors[id(tensor)] = KeptTensor(tensor, trusted=self._without_values, foreign=foreign)
            except (RuntimeError, NotImplementedError, TypeError):  # a subclass that has no `.data`
                return []
            self._sharing.setdefault(storage_of(tensor), []).append(kept)
            self._later(kept.restore)
            contents = self._keep_tensor_attributes(tensor)
            if kept.gradient is not None:
                self._keep_tensor(kept.gradient, with_values=False)
        if with_values:
            kept.keep_values()
        return contents

    def _keep_tensor_attributes(self, tensor: torch.Tensor) -> list[Any]:
        """Keep its Python attributes and its hooks; those of what is no leaf belong to what autograd remembers."""
        hooks = {name: getattr(tensor, name, None) for name in _HOOKS} if tensor.is_leaf else {}
        state = {} if is_fake(tensor) else object.__getattribute__(tensor, "__dict__")
        before = [(name, held, dict(held or {})) for name, held in hooks.items()]
        self._later(_restore_hooks_and_state, tensor, before, state, dict(state))
        return [value for value in state.values() if type(value) not in ATOMS] if state else []

    def before_write(self, tensor: torch.Tensor) -> None:
        """Copy the values of all that share memory with a tensor that is about to be written into.

        Copying every parameter at the start would double the model.
        """
        kept = self._tensors.get(id(tensor))
        storage = storage_of(unwrapped(tensor))
        sharing = self._sharing.get(storage, ()) if storage else [kept] if kept is not None else ()
        if sharing:
            self.written[id(tensor)] = tensor
            with unset_fake_temporarily():
                for each in sharing:
                    if each is not None:
                        each.keep_values()

    def before_backward(self) -> None:
        """Copy the gradients, as a backward pass is about to add to those that stand where they stood."""
        with unset_fake_temporarily(), quietly(), torch.no_grad():
            for kept in list(self._tensors.values()):
                if kept.gradient is not None and kept.has_its_gradient:
                    self.before_write(kept.gradient)

    def set_gradients_aside(self) -> None:
        """Let the tensors begin without gradients; `restore` gives them back, untouched."""
        for kept in self._tensors.values():
            kept.set_gradient_aside()

    def restore(self) -> list[BaseException]:
        """Put everything back; gives what could not be. Every part is tried, whatever another raises."""
        failures: list[BaseException] = []
        _do_all(self._modes, failures)
        with unset_fake_temporarily(), quietly(), torch.no_grad():
            _do_all(self._undo, failures)
        if torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
            torch.clear_autocast_cache()  # weights that the run has cast there have no gradient
        failures += self._settings.restore()  # under the modes of the caller, which are among them
        for held in (self._tensors, self._sharing, self._looked_into, self._scripted, self._kinds):
            held.clear()
        self._names.release()
        return failures


def _do_all(actions: list[tuple[Any, ...]], failures: list[BaseException]) -> None:
    while actions:
        function, *arguments = actions.pop()
        try:
            function(*arguments)
        except RAISED_BY_OTHERS as error:
            failures.append(error)


@contextlib.contextmanager
def kept(model: nn.Module) -> Iterator[Snapshot]:
    """What the model reaches, and the process, are afterwards as they were: also what its copies share with it."""
    snapshot = Snapshot(every_module(model), (), unwatched=True)
    try:
        yield snapshot
    finally:
        snapshot.restore()


def _is_data(name: str, value: Any) -> bool:
    """Whether an attribute of a class is state: no method or other descriptor, nothing that Python puts there."""
    return not name.startswith("__") and not name.startswith("_abc_") and not hasattr(type(value), "__get__")


def _function_of(value: Any) -> types.FunctionType | None:
    """The function behind a method, whatever it is wrapped in."""
    if type(value) in (staticmethod, classmethod):
        value = value.__func__
    elif type(value) is property:
        value = value.fget
    return value if type(value) is types.FunctionType else None


def _is_large(value: Any) -> bool:
    if issubclass(type(value), list | tuple | dict | set | deque):
        return len(value) > MAX_KEPT
    numpy = sys.modules.get("numpy")
    is_array = issubclass(type(value), torch.Tensor) or (numpy is not None and issubclass(type(value), numpy.ndarray))
    return is_array and value.nbytes > _MAX_NAMED_BYTES


def _restore_class_attributes(kind: type, before: dict[str, Any]) -> None:
    now = {name: value for name, value in vars(kind).items() if name not in _OF_PYTHON}
    for name in now.keys() - before.keys():
        if not name.startswith("__"):
            type.__delattr__(kind, name)
    for name, value in before.items():
        if name not in now or now[name] is not value:
            type.__setattr__(kind, name, value)


def _restore_array(item: Any, before: Any) -> None:
    if item != before:
        item[:] = before


def _restore_hooks_and_state(
    tensor: torch.Tensor, hooks: list[tuple[str, Any, dict[Any, Any]]], state: dict[str, Any], before: dict[str, Any]
) -> None:
    """Torch goes on with the very mapping that the hooks stand in, also where it has been told of none."""
    for name, held, content in hooks:
        now = getattr(tensor, name, None)
        if now is not held:
            if now is not None:
                now.clear()
            setattr(tensor, name, held)
        if held is not None:
            _restore_mapping(type(held), held, content)
    if state or before:
        _restore_mapping(dict, state, before)


def _restore_module(
    module: nn.Module, kind: type, state: dict[str, Any], before: dict[str, Any], empty: list[Any]
) -> None:
    for container in empty:
        if container:
            container.clear()
    _restore_mapping(dict, state, before)
    if type(module) is not kind:
        module.__class__ = kind


def _restore_mapping(kind: Any, mapping: Any, before: dict[Any, Any]) -> None:
    """By the methods of the base class, whatever a subclass of the user's overrides."""
    same = (
        kind.__len__(mapping) == len(before)
        and all(map(operator.is_, kind.keys(mapping), before))
        and all(map(operator.is_, kind.values(mapping), before.values()))
    )
    if not same:
        kind.clear(mapping)
        kind.update(mapping, before)


def _restore_sequence(kind: Any, container: Any, before: list[Any]) -> None:
    now = list(kind.__iter__(container))
    if len(now) != len(before) or any(item is not old for item, old in zip(now, before, strict=True)):
        kind.clear(container)
        (kind.update if kind is set else kind.extend)(container, before)


def _restore_slots(item: Any, before: dict[str, Any]) -> None:
    now = instance_slots(item)
    for name in now.keys() | before.keys():
        if name not in before:
            object.__delattr__(item, name)
        elif name not in now or now[name] is not before[name]:
            object.__setattr__(item, name, before[name])


def _generator_state(item: Any) -> Callable[[], None] | None:
    """What puts back a random number generator, or the values of a numpy array, that somebody holds."""
    numpy, kind = sys.modules.get("numpy"), type(item)
    state: Any
    if issubclass(kind, torch.Generator):
        state = item.get_state()
        return lambda: item.set_state(state)
    if issubclass(kind, random.Random) and not issubclass(kind, random.SystemRandom):
        state = item.getstate()
        return lambda: item.setstate(state)
    if numpy is None:
        return None
    if issubclass(kind, numpy.random.Generator):
        state = item.bit_generator.state
        return lambda: setattr(item.bit_generator, "state", state)
    if issubclass(kind, numpy.random.RandomState):
        state = item.get_state()
        return lambda: item.set_state(state)
    if issubclass(kind, numpy.ndarray) and item.flags.writeable:
        return functools.partial(_restore_numpy_array, item, item.copy(order="K"), item.shape)
    return None


def _restore_numpy_array(item: Any, state: Any, shape: tuple[int, ...]) -> None:
    """Written into only where it differs, as it may lie in a file; of objects, the addresses are compared."""
    if item.shape != shape:
        item.shape = shape
    if item.tobytes() != state.tobytes():
        item[...] = state


@contextlib.contextmanager
def random_numbers_kept() -> Iterator[None]:
    """Random numbers go on afterwards as if nothing had been drawn inside."""
    states = list(random_states())
    try:
        yield
    finally:
        for put_back in states:
            put_back()


def random_states() -> Iterator[Callable[[], None]]:
    """What puts back each random number generator."""
    return (put_back for _, put_back in random_generators())


def random_generators() -> Iterator[tuple[Callable[[], bool], Callable[[], None]]]:
    """Of Python's generator of random numbers, numpy's if loaded, torch's of every device in use: whether it stands
    where it stood, and what puts it back there."""
    python = random.getstate()
    yield lambda: random.getstate() == python, lambda: random.setstate(python)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        legacy = numpy.random.get_state()
        yield lambda: _is_same_numpy(numpy.random.get_state(), legacy), lambda: numpy.random.set_state(legacy)
    cpu = torch.get_rng_state()
    yield lambda: torch.equal(torch.get_rng_state(), cpu), lambda: torch.set_rng_state(cpu)
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        cuda = torch.cuda.get_rng_state_all()
        yield (
            lambda: all(map(torch.equal, torch.cuda.get_rng_state_all(), cuda)),
            lambda: torch.cuda.set_rng_state_all(cuda),
        )


def _is_same_numpy(first: Any, second: Any) -> bool:
    return bool(first[2:] == second[2:] and (first[1] == second[1]).all())
