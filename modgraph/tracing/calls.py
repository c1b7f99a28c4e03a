"""The hook on every call: wraps `Module.__call__` and the `forward` of each class, and takes it off whatever happens.

No hook is set on any module. While installed, three more doors are watched through which a traced call gets elsewhere:
threads, scripted functions, and the compiler (which is told to run models as they are written).
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import nn

from modgraph.tracing.operations import Function, Kind
from modgraph.tracing.recorder import Frame, Recorder
from modgraph.tracing.sites import stop_at
from modgraph.tracing.tensors import EXACT, quietly

_installing = threading.RLock()
"""One trace at a time: the patches are of the whole process."""
_FRAMES_PER_CALL = (5, 3)
"""Python frames of a module's call while it is traced, and bare."""


@contextlib.contextmanager
def recorded_calls(recorder: Recorder) -> Iterator[None]:
    """Every call of a module, in this thread and those it starts, goes to `recorder`."""
    with _installing, contextlib.ExitStack() as undo:
        patches = _Patches(undo)
        undo.callback(sys.setrecursionlimit, sys.getrecursionlimit())
        traced, bare = _FRAMES_PER_CALL
        sys.setrecursionlimit(sys.getrecursionlimit() * traced // bare + 200)
        _patch_module(recorder, patches)
        for kind in recorder.tree.new_classes():
            _patch_forward(recorder, patches, kind)
        recorder.on_new_class = lambda kind: _patch_forward(recorder, patches, kind)
        _patch_threads(recorder, patches)
        _patch_scripted_functions(recorder, patches)
        _run_uncompiled(patches, undo)
        undo.callback(setattr, recorder.local, "stack", recorder.local.stack)
        recorder.local.stack = []
        yield


class _Patches:
    """Attributes replaced on classes and modules, each put back as it was found."""

    def __init__(self, undo: contextlib.ExitStack) -> None:
        self._undo = undo
        self._done: set[tuple[int, str]] = set()

    def replace(self, owner: Any, name: str, value: Any) -> bool:
        """Set `owner.name`, once; False where a class refuses it, as some made in C do, or has it already."""
        if (id(owner), name) in self._done:
            return False
        had_own = name in vars(owner)
        before = vars(owner).get(name)
        try:
            setattr(owner, name, value)
        except (TypeError, AttributeError):
            return False
        self._done.add((id(owner), name))
        if had_own:
            self._undo.callback(setattr, owner, name, before)
        else:
            self._undo.callback(delattr, owner, name)
        return True


def _in_frame(recorder: Recorder) -> Callable[..., Any]:
    """A function that calls another inside an open frame, and closes it with what comes out."""
    leave, fail = recorder.exit, recorder.fail

    def run(frame: Frame, function: Callable[..., Any], self: nn.Module, args: Any, kwargs: Any) -> Any:
        try:
            result = function(self, *args, **kwargs)
        except BaseException as error:
            with quietly():
                fail(frame, error)
            raise
        with quietly():
            leave(frame, result)
        return result

    return run


def _patch_module(recorder: Recorder, patches: _Patches) -> None:
    original_call: Callable[..., Any] = vars(nn.Module)["__call__"]
    original_impl: Callable[..., Any] = vars(nn.Module)["_call_impl"]
    local, enter, leave, fail = recorder.local, recorder.enter, recorder.exit, recorder.fail
    quiet_forward, leaf, run = recorder.quiet_forward, recorder.leaf, _in_frame(recorder)
    tracing_state, graph_task = torch._C._get_tracing_state, torch._C._current_graph_task_id
    known, names = recorder.tree.known, recorder.names

    @functools.wraps(original_call)
    def __call__(self: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        stack = local.stack
        if (stack is None and not recorder.adopts_backward_thread()) or tracing_state() is not None:
            return original_call(self, *args, **kwargs)
        forward = quiet_forward(self)
        with quietly():
            if (
                forward is not None
                and recorder.is_lean
                and stack
                and len(args) == 1
                and not kwargs
                and type(args[0]) in EXACT
                and id(self) in known
                and type(self) in names
                and graph_task() == -1
            ):
                return leaf(self, forward, args[0], stack)
            frame = enter(self, args, kwargs, direct=False, depth=2)
            if forward is not None and all(type(named[1]) in EXACT for named in frame.inputs):
                try:
                    result = forward(self, *args, **kwargs)
                except BaseException as error:
                    fail(frame, error)
                    raise
                leave(frame, result)
                return result
        implementation = type(self)._call_impl
        if implementation is _call_impl:
            implementation = original_impl
        return run(frame, implementation, self, args, kwargs)

    @functools.wraps(original_impl)
    def _call_impl(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        # Reached past `__call__` by who kept `module.__call__` from before the trace: a compiled model does.
        stack = local.stack
        if stack is None or (stack and stack[-1].module is self) or tracing_state() is not None:
            return original_impl(self, *args, **kwargs)
        with quietly():
            frame = enter(self, args, kwargs, direct=False, depth=2)
        return run(frame, original_impl, self, args, kwargs)

    wrappers: tuple[Any, ...] = (__call__, _call_impl)
    stop_at.update(id(wrapper.__code__) for wrapper in wrappers)
    patches.replace(nn.Module, "__call__", __call__)
    patches.replace(nn.Module, "_call_impl", _call_impl)


def _patch_forward(recorder: Recorder, patches: _Patches, kind: type) -> None:
    """See `module.forward(...)` called directly, for a class and all it inherits `forward` from."""
    if issubclass(kind, torch.jit.ScriptModule):
        return
    for owner in kind.__mro__:
        forward = vars(owner).get("forward")
        if isinstance(forward, types.FunctionType) and owner is not nn.Module:
            wrapper = _recording_forward(recorder, forward)
            if patches.replace(owner, "forward", wrapper):
                recorder.originals[wrapper] = forward


def _recording_forward(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    local, enter, run = recorder.local, recorder.enter, _in_frame(recorder)
    tracing_state = torch._C._get_tracing_state

    @functools.wraps(original)
    def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        stack = local.stack
        # Of the module on top it is the call itself, or `super().forward(...)`.
        if stack is None or (stack and stack[-1].module is self) or tracing_state() is not None:
            return original(self, *args, **kwargs)
        if not isinstance(self, nn.Module):
            return original(self, *args, **kwargs)
        with quietly():
            frame = enter(self, args, kwargs, direct=True, depth=2)
        return run(frame, original, self, args, kwargs)

    return forward


def _patch_threads(recorder: Recorder, patches: _Patches) -> None:
    """Threads started, and tasks handed to a pool, inside the traced call go on with its open call."""
    start: Callable[..., Any] = vars(threading.Thread)["start"]
    bootstrap: Callable[..., Any] | None = vars(threading.Thread).get("_bootstrap_inner")
    submit: Callable[..., Any] = vars(ThreadPoolExecutor)["submit"]
    started: dict[int, Any] = {}

    @functools.wraps(start)
    def traced_start(self: threading.Thread) -> None:
        if recorder.local.stack is not None:
            started[id(self)] = (self, recorder.fork())
        start(self)

    def traced_bootstrap(self: threading.Thread) -> None:
        assert bootstrap is not None
        _, inside = started.pop(id(self), (self, contextlib.nullcontext))
        with inside():
            bootstrap(self)

    @functools.wraps(submit)
    def traced_submit(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if recorder.local.stack is None:
            return submit(self, fn, *args, **kwargs)
        inside = recorder.fork()

        def task(*args: Any, **kwargs: Any) -> Any:
            with inside():
                return fn(*args, **kwargs)

        return submit(self, task, *args, **kwargs)

    if bootstrap is not None:
        patches.replace(threading.Thread, "start", traced_start)
        patches.replace(threading.Thread, "_bootstrap_inner", traced_bootstrap)
    patches.replace(ThreadPoolExecutor, "submit", traced_submit)


def _patch_scripted_functions(recorder: Recorder, patches: _Patches) -> None:
    """A scripted function is one operation: no mode sees it."""
    kind = torch.jit.ScriptFunction
    original = kind.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if recorder.is_outside():
            return original(self, *args, **kwargs)
        name = str(getattr(self, "qualified_name", self.name)).removeprefix("__torch__.")
        return recorder.mode.recorded(Function(Kind.OPERATION, name), functools.partial(original, self), args, kwargs)

    patches.replace(kind, "__call__", call)


def _run_uncompiled(patches: _Patches, undo: contextlib.ExitStack) -> None:
    """Compiled models and functions run as they are written; the compiler is not loaded for it."""
    done = False

    def force_eager() -> None:
        nonlocal done
        if not done:
            done = True
            undo.enter_context(torch.compiler.set_stance("force_eager"))

    if "torch._dynamo" in sys.modules:
        force_eager()
        return
    compile_function = torch.compile

    @functools.wraps(compile_function)
    def compile_eagerly(*args: Any, **kwargs: Any) -> Any:
        force_eager()
        return compile_function(*args, **kwargs)

    patches.replace(torch, "compile", compile_eagerly)
