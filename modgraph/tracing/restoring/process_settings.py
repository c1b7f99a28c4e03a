"""What a run may set for the whole process or thread: switches of torch and Python, kept and put back.

Numbers that are used up, what was imported, and what belongs to the operating system (threads, open files, limits,
functions for the end of the process) stay as the run leaves them.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import functools
import gc
import locale
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack as _function_modes
from torch.overrides import _pop_mode, _push_mode
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as _dispatch_modes

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.tracing.basics.interruptions import getsignal

Read = Callable[[], Any]
Write = Callable[[Any], Any]
_C_SWITCHES = (
    *("cudnn_enabled", "cudnn_benchmark", "cudnn_deterministic", "cudnn_allow_tf32", "mkldnn_enabled"),
    *("mkldnn_deterministic", "cublas_allow_tf32", "cublas_allow_fp16_reduced_precision_reduction"),
    *("cublas_allow_bf16_reduced_precision_reduction", "deterministic_fill_uninitialized_memory"),
    *("float32_matmul_precision", "linalg_preferred_backend"),
)
"""Settings that `torch._C` has as a pair `_get_NAME` and `_set_NAME`."""
_HOOKS_OF_PYTHON = (
    *((sys, name) for name in ("excepthook", "displayhook", "unraisablehook", "breakpointhook", "stdin", "stdout")),
    *((sys, name) for name in ("stderr", "argv", "dont_write_bytecode")),
    (threading, "excepthook"),
    (warnings, "showwarning"),
    (warnings, "formatwarning"),
)
_SIGNALS = tuple(map(int, signal.valid_signals()))
_LISTS_OF_PYTHON = ((sys, "path"), (sys, "argv"), (gc, "callbacks"))


def kept_modes() -> list[Callable[[], None]]:
    """The same for the modes of torch that are entered: before anything else, as under another one nothing works."""
    return [_Kept(_function_modes, _set_function_modes).restore, _Kept(_dispatch_modes, _leave_dispatch_modes).restore]


class Settings:
    """Each setting as it is now; `restore` is to be called under the same modes of torch."""

    def __init__(self) -> None:
        self._pairs = [*_of_python(), *_of_torch(), *_of_global_hooks()]
        self._before: list[Any] = []
        try:
            self._before += [read() for read, _ in self._pairs]
        except _UNREADABLE:
            self._pairs = [pair for pair in self._pairs if _can_be_read(pair[0])]
            self._before = [read() for read, _ in self._pairs]

    def restore(self) -> list[BaseException]:
        """Put back each setting that is then not as it was, the last kept first; gives what could not be."""
        with contextlib.suppress(*RAISED_BY_OTHERS):
            if [read() for read, _ in self._pairs] == self._before:
                return []
        kept = zip(reversed(self._pairs), reversed(self._before), strict=True)
        tried = [_put_back(read, write, before) for (read, write), before in kept]
        return [error for error in tried if error is not None]


def _put_back(read: Read, write: Write, before: Any) -> BaseException | None:
    """Put back one setting that is not as it was; gives what hindered it."""
    try:
        if _differ(read(), before):
            write(before)
    except RAISED_BY_OTHERS as error:
        return error
    return None


def _can_be_read(read: Read) -> bool:
    try:
        read()
    except _UNREADABLE:
        return False
    return True


_UNREADABLE = (RuntimeError, OSError, ValueError, AttributeError)


class _Kept:
    __slots__ = ("_before", "_read", "_write")

    def __init__(self, read: Read, write: Write) -> None:
        self._read, self._write = read, write
        self._before = read()

    def restore(self) -> None:
        if _differ(self._read(), self._before):
            self._write(self._before)


def _differ(now: Any, before: Any) -> bool:
    """In a list, what is the same object is equal, and nothing of it is asked."""
    try:
        return bool([now] != [before])
    except RAISED_BY_OTHERS:  # an `__eq__` of the user's
        return True


@functools.cache
def _of_torch() -> tuple[tuple[Read, Write], ...]:
    """The same for the life of the process: none of them depends on an object that another may take the place of."""
    return tuple(_settings_of_torch())


def _settings_of_torch() -> Iterator[tuple[Read, Write]]:
    yield lambda: dict(vars(torch._GLOBAL_DEVICE_CONTEXT)), _set_device_context
    yield torch.get_default_dtype, torch.set_default_dtype
    yield torch.is_grad_enabled, torch._C._set_grad_enabled
    yield torch.is_inference_mode_enabled, _cannot_leave_inference_mode
    yield torch.get_num_threads, torch.set_num_threads
    yield torch.is_warn_always_enabled, torch.set_warn_always
    yield (
        lambda: (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
        lambda pair: torch.use_deterministic_algorithms(pair[0], warn_only=pair[1]),
    )
    yield (
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda pair: torch.set_anomaly_enabled(*pair),
    )
    for name in _C_SWITCHES:
        read, write = (getattr(torch._C, f"_{verb}_{name}", None) for verb in ("get", "set"))
        if read is not None and write is not None:
            yield read, write
    for name in ("flash", "mem_efficient", "math", "cudnn"):
        read, write = (
            getattr(torch._C, f"_get_{name}_sdp_enabled", None),
            getattr(torch._C, f"_set_sdp_use_{name}", None),
        )
        if read is not None and write is not None:
            yield read, write
    for device in ("cpu", "cuda"):
        yield from _of_autocast(device)
    yield _autocast_nesting, _set_autocast_nesting
    yield torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled
    yield (
        lambda: vars(torch._tensor_str.PRINT_OPTS).copy(),
        lambda before: vars(torch._tensor_str.PRINT_OPTS).update(before),
    )


def _of_autocast(device: str) -> Iterator[tuple[Read, Write]]:
    yield lambda: torch.is_autocast_enabled(device), lambda value: torch.set_autocast_enabled(device, value)
    yield lambda: torch.get_autocast_dtype(device), lambda value: torch.set_autocast_dtype(device, value)


def _autocast_nesting() -> int:
    torch.autocast_increment_nesting()
    return int(torch.autocast_decrement_nesting())


def _set_autocast_nesting(before: int) -> None:
    while _autocast_nesting() > before:
        torch.autocast_decrement_nesting()
    while _autocast_nesting() < before:
        torch.autocast_increment_nesting()
    torch.clear_autocast_cache()


def _of_global_hooks() -> Iterator[tuple[Read, Write]]:
    """Hooks for all modules at once."""
    module = sys.modules["torch.nn.modules.module"]
    for name, hooks in vars(module).items():
        if name.startswith("_global_") and isinstance(hooks, dict):
            yield hooks.copy, _contents_of(hooks)


def _leave_dispatch_modes(before: list[Any]) -> None:
    while len(_dispatch_modes()) > len(before):
        _dispatch_modes()[-1].__exit__(None, None, None)
    if _dispatch_modes() != before:
        raise RuntimeError("forward has left a mode of torch that it was called in")


def _set_function_modes(before: list[Any]) -> None:
    """Past the modes' own `__enter__`, which may reorder the others."""
    while _function_modes():
        _pop_mode()
    for mode in before:
        _push_mode(mode)


def _cannot_leave_inference_mode(_: Any) -> None:
    raise RuntimeError("forward has entered or left torch.inference_mode() and not gone back")


def _of_python() -> Iterator[tuple[Read, Write]]:
    yield from _LASTING
    yield warnings.filters.copy, _set_warning_filters  # type: ignore[attr-defined]
    for owner, name in _LISTS_OF_PYTHON:
        items = getattr(owner, name)
        yield items.copy, _set_items_of(items)
    if threading.current_thread() is threading.main_thread():
        yield _signal_handlers, _set_signal_handlers
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        yield numpy.geterr, lambda errors: numpy.seterr(**errors)


def _settings_of_python() -> Iterator[tuple[Read, Write]]:
    yield vars(builtins).copy, _set_builtins
    yield _environment, _set_environment
    yield os.getcwd, os.chdir
    yield sys.getrecursionlimit, sys.setrecursionlimit
    yield sys.getswitchinterval, sys.setswitchinterval
    yield gc.isenabled, lambda on: gc.enable() if on else gc.disable()
    yield gc.get_threshold, lambda three: gc.set_threshold(*three)
    yield gc.get_debug, gc.set_debug
    yield sys.gettrace, sys.settrace
    yield sys.getprofile, sys.setprofile
    yield threading.gettrace, threading.settrace
    yield threading.getprofile, threading.setprofile
    yield lambda: locale.setlocale(locale.LC_ALL), lambda text: locale.setlocale(locale.LC_ALL, text)
    yield lambda: logging.root.manager.disable, logging.disable
    yield _loggers, _set_loggers
    yield _context, _set_context
    for owner, name in _HOOKS_OF_PYTHON:
        yield _attribute(owner, name), _setter(owner, name)


def _attribute(owner: Any, name: str) -> Read:
    return lambda: getattr(owner, name, None)


def _setter(owner: Any, name: str) -> Write:
    return lambda value: setattr(owner, name, value)


def _set_items_of(items: list[Any]) -> Write:
    def write(before: list[Any]) -> None:
        items[:] = before

    return write


def _set_device_context(before: dict[str, Any]) -> None:
    state = vars(torch._GLOBAL_DEVICE_CONTEXT)
    state.clear()
    state.update(before)


def _contents_of(mapping: dict[Any, Any]) -> Write:
    def write(before: dict[Any, Any]) -> None:
        mapping.clear()
        mapping.update(before)

    return write


def _set_builtins(before: dict[str, Any]) -> None:
    """One by one: without them no line of Python runs."""
    now = vars(builtins)
    for name, value in before.items():
        if name not in now or now[name] is not value:
            setattr(builtins, name, value)
    for name in now.keys() - before.keys():
        delattr(builtins, name)


def _environment() -> dict[Any, Any]:
    """As the environment holds it, where it can be had: `copy` decodes every name and value."""
    held = getattr(os.environ, "_data", None)
    return held.copy() if type(held) is dict else dict(os.environ)


def _set_environment(before: dict[Any, Any]) -> None:
    if type(getattr(os.environ, "_data", None)) is dict:
        environment: Any = os.environ
        before = {environment.decodekey(name): environment.decodevalue(value) for name, value in before.items()}
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    for name, value in before.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _set_warning_filters(before: list[Any]) -> None:
    warnings.filters[:] = before  # type: ignore[index]
    getattr(warnings, "_filters_mutated", getattr(warnings, "_filters_mutated_lock_held", lambda: None))()


_Logger = tuple[logging.Logger, int, bool, bool, tuple[Any, ...], tuple[Any, ...]]


def _loggers() -> list[_Logger]:
    known = (logging.root, *logging.root.manager.loggerDict.values())
    return [
        (each, each.level, each.disabled, each.propagate, (*each.handlers,), (*each.filters,))
        for each in known
        if type(each) is logging.Logger or isinstance(each, logging.Logger)
    ]


def _set_loggers(before: list[_Logger]) -> None:
    """Those that are new, as of what was imported, stay."""
    now = {id(kept[0]): kept for kept in _loggers()}
    for kept in before:
        if now.get(id(kept[0])) != kept:
            logger, level, disabled, propagate, handlers, filters = kept
            logger.disabled, logger.propagate = disabled, propagate
            logger.setLevel(level)
            logger.handlers[:] = handlers
            logger.filters[:] = filters


def _context() -> dict[Any, Any]:
    """The values of context variables; those without one cannot be had, nor be unset afterwards."""
    return dict(contextvars.copy_context())


def _set_context(before: dict[Any, Any]) -> None:
    for variable, value in before.items():
        if variable.get(None) is not value:
            variable.set(value)


def _signal_handlers() -> dict[int, Any]:
    return {number: getsignal(number) for number in _SIGNALS}


def _set_signal_handlers(before: dict[int, Any]) -> None:
    for number, handler in before.items():
        if handler is not None and getsignal(number) is not handler:
            signal.signal(number, handler)


_LASTING = tuple(_settings_of_python())
"""What is read and written the same way for the life of the process."""
