"""A deep look at a live model and at the interpreter around it, taken before and after something that may change neither.

A `Fingerprint` walks all that can be reached from some roots: instances, slots, containers, closures, defaults, classes
and globals of the code that is neither Python's nor torch's. Of each thing it notes the identity and, by kind, what it
holds: the order of keys, the bytes and the version of a tensor, the state of a generator. It keeps what it met alive,
so that an identity is not used twice, and reads past every property and `__getattr__`.
"""

from __future__ import annotations

import array
import builtins
import contextlib
import functools
import gc
import hashlib
import itertools
import logging
import os
import random
import signal
import sys
import sysconfig
import threading
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch
from torch import nn

_ATOMS = (int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)
_FOREIGN = {*sys.stdlib_module_names, "torch", "numpy", "modgraph", "_pytest", "pytest", "pluggy"}
_LIBRARIES = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), os.path.dirname(torch.__file__)})
_ITERATORS = (itertools.count, type(iter([])), type(iter(())), type(iter(range(0))))
_OF_PYTHON = ("__annot", "__slotnames__", "_abc_")
"""What Python puts on a class when it is first asked, or copies an instance."""
MAX_ITEMS = 2_000_000


class Fingerprint:
    """What was found, by place: "model.lin._parameters['weight']" -> identity and facts."""

    def __init__(self, **roots: Any) -> None:
        self.facts: dict[str, tuple[Any, ...]] = {}
        self._places: dict[int, str] = {}
        self._kept: list[Any] = []
        with torch.no_grad(), torch._C.DisableTorchFunction():
            self._walk(list(roots.items()))
            self.process = _process()

    def differences(self, other: Fingerprint) -> list[str]:
        """Each thing that is another, or holds something else, in `other`: the later one."""
        found = []
        for place, before in self.facts.items():
            now = other.facts.get(place)
            if now is None:
                found.append(f"{place}: gone")
            elif now != before:
                parts = [f"{a!r} -> {b!r}" for a, b in itertools.zip_longest(before, now) if a != b]
                found.append(f"{place}: {'; '.join(parts)[:300]}")
        found += [f"{place}: new" for place in other.facts if place not in self.facts]
        for name, value in self.process.items():
            if other.process[name] != value:
                found.append(f"process {name}: {str(value)[:100]} -> {str(other.process[name])[:100]}")
        return found

    def _walk(self, roots: list[tuple[str, Any]]) -> None:
        pending = roots[::-1]
        while pending:
            place, item = pending.pop()
            if isinstance(item, bool) or type(item) in _ATOMS:
                self.facts[place] = (type(item).__name__, repr(item)[:200])
                continue
            if id(item) in self._places:
                self.facts[place] = ("same as", self._places[id(item)])
                continue
            assert len(self._places) < MAX_ITEMS
            self._places[id(item)] = place
            self._kept.append(item)
            facts, contents = self._look(item)
            self.facts[place] = (type(item).__qualname__, id(item), *facts)
            pending.extend((place + where, content) for where, content in reversed(list(contents)))

    def _look(self, item: Any) -> tuple[tuple[Any, ...], Iterator[tuple[str, Any]]]:
        """Facts that compare, and what else it holds, by place."""
        if isinstance(item, torch.Tensor):
            return _of_tensor(item), _in_tensor(item)
        for kinds, look in _KINDS:
            if issubclass(type(item), kinds):
                return look(item)
        if type(item).__module__.partition(".")[0] in _FOREIGN and not issubclass(type(item), nn.Module):
            return (), iter(())
        return (), _attributes(item)


def _of_tensor(tensor: torch.Tensor) -> tuple[Any, ...]:
    if nn.parameter.is_lazy(tensor):
        return ("lazy", tensor.requires_grad)
    try:
        version = tensor._version
    except RuntimeError:  # an inference tensor counts none
        version = None
    facts: tuple[Any, ...] = (
        ("dtype", str(tensor.dtype)),
        ("version", version),
        ("requires_grad", tensor.requires_grad),
        ("is_leaf", tensor.is_leaf),
        ("device", str(tensor.device)),
        ("history", None if tensor._is_view() else id(tensor.grad_fn) if tensor.grad_fn is not None else 0),
    )
    if tensor.layout is not torch.strided or tensor.is_nested or type(tensor) not in (torch.Tensor, nn.Parameter):
        return facts + tuple(_of_tensor(part) for part in _parts(tensor))
    if tensor.device.type == "meta":
        return (*facts, tuple(tensor.shape))
    storage = tensor.untyped_storage()
    place = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), storage._cdata, storage.nbytes())
    return (*facts, place, _hash(storage))


def _hash(storage: torch.UntypedStorage) -> str:
    whole = torch.empty(0, dtype=torch.uint8).set_(storage)
    # A copy: memory that numpy has seen can never be resized again.
    return hashlib.blake2b(whole.clone().numpy().tobytes(), digest_size=12).hexdigest()


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    if tensor.is_nested and tensor.layout is torch.strided:
        return [tensor.values()]
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout is torch.sparse_csr:
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    return [value for value in vars(tensor).values() if isinstance(value, torch.Tensor)]


def _in_tensor(tensor: torch.Tensor) -> Iterator[tuple[str, Any]]:
    if type(tensor) in (torch.Tensor, nn.Parameter):
        yield ".__dict__", vars(tensor)
    if tensor.is_leaf:
        yield ".grad", tensor.grad
        yield "._backward_hooks", tensor._backward_hooks
        yield "._post_accumulate_grad_hooks", tensor._post_accumulate_grad_hooks


def _of_mapping(kind: Any) -> Callable[[Any], Any]:
    def look(item: Any) -> Any:
        pairs = list(kind.items(item))
        keys = [repr(key) if type(key) in _ATOMS else id(key) for key, _ in pairs]
        inside = ((f"[{key!r}]" if type(key) in _ATOMS else f"[#{n}]", value) for n, (key, value) in enumerate(pairs))
        return (tuple(keys),), itertools.chain(inside, () if type(item) is dict else _attributes(item))

    return look


def _of_sequence(kind: Any) -> Callable[[Any], Any]:
    def look(item: Any) -> Any:
        contents = list(kind.__iter__(item))
        inside = ((f"[{n}]", value) for n, value in enumerate(contents))
        return (len(contents),), itertools.chain(inside, () if type(item) is kind else _attributes(item))

    return look


def _of_set(item: Any) -> Any:
    contents = list((set if isinstance(item, set) else frozenset).__iter__(item))
    return (sorted(repr(each) if type(each) in _ATOMS else str(id(each)) for each in contents),), iter(())


def _of_function(item: types.FunctionType) -> Any:
    if item.__code__.co_filename.startswith(_LIBRARIES):
        return (id(item.__code__),), iter(())
    return (id(item.__code__),), _in_function(item)


def _in_function(item: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for number, cell in enumerate(item.__closure__ or ()):
        with contextlib.suppress(ValueError):  # an empty cell
            yield f".closure[{number}]", cell.cell_contents
    yield ".__defaults__", item.__defaults__
    yield ".__dict__", vars(item)
    for name in item.__code__.co_names:
        value = item.__globals__.get(name)
        if not isinstance(value, types.ModuleType | types.BuiltinFunctionType):
            yield f".globals[{name!r}]", value


def _of_class(item: type) -> Any:
    if item.__module__.partition(".")[0] in _FOREIGN:
        return (), iter(())
    names = [name for name in vars(item) if not name.startswith(_OF_PYTHON)]
    return (tuple(names),), (
        (f".{name}", vars(item)[name]) for name in names if name not in ("__dict__", "__weakref__")
    )


def _attributes(item: Any) -> Iterator[tuple[str, Any]]:
    yield ".__class__", type(item)
    for kind in type(item).__mro__:
        for name, member in vars(kind).items() if "__slots__" in vars(kind) else ():
            if isinstance(member, types.MemberDescriptorType):
                try:
                    yield f".{name}", member.__get__(item)
                except AttributeError:
                    continue
    try:
        yield ".__dict__", object.__getattribute__(item, "__dict__")
    except AttributeError:
        return


def _of_array(item: numpy.ndarray) -> Any:
    return (item.shape, str(item.dtype), item.ctypes.data, hashlib.sha1(item.tobytes()).hexdigest()), iter(())


def _of_iterator(item: Any) -> Any:
    return (repr(item.__reduce__()[1:]),), iter(())


_KINDS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (types.ModuleType, lambda item: ((), iter(()))),
    (dict, _of_mapping(dict)),
    (list, _of_sequence(list)),
    (tuple, _of_sequence(tuple)),
    (deque, _of_sequence(deque)),
    ((set, frozenset), _of_set),
    ((bytearray, array.array), lambda item: ((bytes(item),), iter(()))),
    (type, _of_class),
    (types.FunctionType, _of_function),
    (types.MethodType, lambda item: ((), iter([(".__self__", item.__self__), (".__func__", item.__func__)]))),
    ((staticmethod, classmethod), lambda item: ((), iter([(".__func__", item.__func__)]))),
    (functools.partial, lambda item: ((), iter([(".args", item.args), (".keywords", item.keywords)]))),
    (numpy.ndarray, _of_array),
    (torch.Generator, lambda item: ((item.get_state().tolist(),), iter(()))),
    (random.Random, lambda item: ((hash(item.getstate()),), iter(()))),
    (numpy.random.Generator, lambda item: ((str(item.bit_generator.state),), iter(()))),
    (_ITERATORS, _of_iterator),
)


def _process() -> dict[str, Any]:
    """The state of the interpreter and of torch, by name; things are held, and compared by identity."""
    hooks = vars(sys.modules["torch.nn.modules.module"])
    return {
        **{f"hooks {name}": [*value.items()] for name, value in hooks.items() if _is_store(name, value)},
        **{f"{owner.__name__}.{name}": _One(value) for owner in _PATCHED for name, value in vars(owner).items()},
        **{f"{owner.__name__}.{name}": _One(getattr(owner, name)) for owner, name in _REPLACED},
        **{f"logger {name}": value for name, value in _loggers().items()},
        **_of_torch(),
        "random": random.getstate(),
        "numpy": str(numpy.random.get_state()),
        "warnings.filters": list(warnings.filters),
        "sys.path": list(sys.path),
        "cwd": os.getcwd(),
        "environ": dict(os.environ),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)],
        "trace": (_One(sys.gettrace()), _One(sys.getprofile()), _One(threading.gettrace())),
        "gc": (gc.isenabled(), gc.get_threshold(), gc.get_debug(), len(gc.callbacks), gc.get_freeze_count()),
        "recursion limit": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
    }


def _of_torch() -> dict[str, Any]:
    return {
        "torch random": torch.get_rng_state().tolist(),
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": (
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
            torch.is_autocast_cache_enabled(),
        ),
        "deterministic": (torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark),
        "threads": torch.get_num_threads(),
        "mkldnn": torch._C._get_mkldnn_enabled(),
        "precision": torch.get_float32_matmul_precision(),
        "anomaly": (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        "function modes": torch._C._len_torch_function_stack(),
        "dispatch modes": torch._C._len_torch_dispatch_stack(),
        "printing": str(vars(torch._tensor_str.PRINT_OPTS)),
    }


class _One:
    """Held, and equal to itself alone."""

    def __init__(self, item: Any) -> None:
        self.item = item

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _One) and other.item is self.item

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self.item).__name__} at {id(self.item)}"


_PATCHED: tuple[Any, ...] = (nn.Module, torch.Tensor, nn.Linear, builtins)
_REPLACED = (
    *((torch, name) for name in ("compile", "relu", "to_dlpack")),
    *((torch._C, name) for name in ("DisableTorchFunction",)),
    *((torch.utils, name) for name in ("swap_tensors",)),
    *((torch.autograd, name) for name in ("_engine_run_backward",)),
    *((nn.functional, name) for name in ("relu", "linear")),
    *((threading.Thread, name) for name in ("start", "_bootstrap_inner")),
    *((sys, name) for name in ("excepthook", "displayhook", "unraisablehook", "stdin", "stdout", "stderr")),
    *((torch.SymBool, name) for name in ("__bool__",)),
    *((torch.jit.ScriptFunction, name) for name in ("__call__",)),
)


def _is_store(name: str, value: Any) -> bool:
    return name.startswith("_global_") and isinstance(value, dict)


def _loggers() -> dict[str, Any]:
    known = {"root": logging.root, **logging.root.manager.loggerDict}
    return {
        name: (logger.level, logger.disabled, logger.propagate, list(logger.handlers))
        for name, logger in known.items()
        if isinstance(logger, logging.Logger)
    }
