"""The hook on every call: wraps what `Module.__call__` calls, and the `forward` of each class; taken off in any case.

No hook is set on any module. The compiler is told to run models as they are written.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import torch
from torch import nn

from modgraph.tracing.basics.alive import held_back
from modgraph.tracing.basics.patches import Patches, one_at_a_time
from modgraph.tracing.basics.sites import stop_at
from modgraph.tracing.basics.tensors import EXACT, quietly, when_cut_off
from modgraph.tracing.recording.doors import watch_doors
from modgraph.tracing.recording.frames import Frame
from modgraph.tracing.recording.lazy import watch_lazy
from modgraph.tracing.recording.recorder import Recorder
from modgraph.tracing.recording.resharding import watch_sharding
from modgraph.tracing.recording.shortcuts import NOT_PLAIN
from modgraph.tracing.recording.stand_ins import StandIn

_FRAMES_PER_CALL = (6, 3)
"""Python frames of a module's call while it is traced, and bare."""
_tracing_state = torch._C._get_tracing_state

_RECORDED_OBJECTS = 10
"""Objects recorded of one call or operation, about; a model itself leaves about one tensor."""


@contextlib.contextmanager
def recorded_calls(recorder: Recorder) -> Iterator[None]:
    """Every call of a module, in this thread and those it starts, goes to `recorder`."""
    with one_at_a_time, contextlib.ExitStack() as undo:
        patches = Patches(undo)
        _spare_garbage_collection(undo)
        undo.callback(sys.setrecursionlimit, sys.getrecursionlimit())
        traced, bare = _FRAMES_PER_CALL
        sys.setrecursionlimit(sys.getrecursionlimit() * traced // bare + 200)
        _patch_module(recorder, patches)

        def watch_class(kind: type) -> None:
            patch_class(recorder, patches, kind)
            watch_lazy(recorder, patches, kind)

        for kind in recorder.tree.new_classes():
            watch_class(kind)
        recorder.on_new_class = watch_class
        for module, _ in recorder.tree.modules():
            patch_instance(recorder, patches, module)
        watch_doors(recorder, patches)
        watch_sharding(recorder, patches)
        _run_uncompiled(patches, undo)
        undo.callback(setattr, recorder.local, "stack", recorder.local.stack)
        recorder.local.stack = []
        when_cut_off.append(recorder.cut_off)
        undo.callback(when_cut_off.remove, recorder.cut_off)
        yield


def _spare_garbage_collection(undo: contextlib.ExitStack) -> None:
    """What was there before the run is not searched for garbage inside it, nor does what it records hasten searches.

    A record is many small objects, and each quarter more of them would have all objects of the process walked through:
    a third of the time that a model of small layers takes.
    """
    before = gc.get_threshold()
    if before[0]:  # 0 switches the search off
        ours = (before[0] * _RECORDED_OBJECTS, before[1], before[2])
        gc.set_threshold(*ours)
        undo.callback(_put_back_threshold, ours, before)
    undo.enter_context(held_back())


def _put_back_threshold(ours: tuple[int, int, int], before: tuple[int, int, int]) -> None:
    if gc.get_threshold() == ours:  # else the model has set one of its own
        gc.set_threshold(*before)


def _in_frame(watch: Watch) -> Callable[..., Any]:
    """A function that calls another inside an open frame, and closes it with what comes out."""
    leave, fail = watch.exit, watch.fail

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


def _patch_module(recorder: Recorder, patches: Patches) -> None:
    """See what `Module.__call__` does: it asks for `_call_impl`, which is replaced in its stead.

    Replacing `__call__` itself has Python go through all classes of modules that there are, for two thirds of a
    millisecond.
    """
    original: Callable[..., Any] = vars(nn.Module)["_call_impl"]
    called = nn.Module._wrapped_call_impl.__code__
    local, enter, leave, fail = recorder.local, recorder.enter, recorder.exit, recorder.fail
    quiet_forward, leaves, run = recorder.quiet_forward, recorder.leaves, _in_frame(recorder)
    tracing_state = torch._C._get_tracing_state
    n_dispatch_modes = torch._C._len_torch_dispatch_stack
    frame_at = sys._getframe

    @functools.wraps(original)
    def _call_impl(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        stack = local.stack
        if (stack is None and not recorder.adopts_backward_thread()) or tracing_state() is not None:
            return original(self, *args, **kwargs)
        if stack and stack[-1].awaits_call and stack[-1].module is self:
            stack[-1].awaits_call = False  # the class's own `__call__` goes on with that of `Module`
            return original(self, *args, **kwargs)
        if frame_at(1).f_code is not called:
            return by_itself(self, *args, **kwargs)
        if leaves is not None and stack and not kwargs:
            result = leaves.call(self, args, stack)
            if result is not NOT_PLAIN:
                return result
        forward = quiet_forward(self)
        with quietly():
            frame = enter(self, args, kwargs, direct=False, depth=3)
            if forward is not None and all(type(named[1]) in EXACT for named in frame.inputs):
                try:
                    result = forward(self, *args, **kwargs)
                except BaseException as error:
                    fail(frame, error)
                    raise
                leave(frame, result)
                if leaves is not None and len(args) == 1 and not kwargs and type(args[0]) in EXACT:
                    leaves.add(type(self), forward, frame.inputs[0][0])
                return result
        implementation = original
        if n_dispatch_modes() and isinstance(self, torch.jit.ScriptModule):
            implementation = recorder.unseen(implementation)  # the Python that fakes its kernels is not the model's
        return run(frame, implementation, self, args, kwargs)

    def by_itself(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        # Reached past `__call__`, as by a module that is compiled while the model runs.
        stack = local.stack
        if stack and stack[-1].module is self:
            return original(self, *args, **kwargs)
        with quietly():
            frame = enter(self, args, kwargs, direct=False, depth=3)
        return run(frame, original, self, args, kwargs)

    wrappers: tuple[Any, ...] = (_call_impl, by_itself)
    stop_at.update(id(wrapper.__code__) for wrapper in wrappers)
    patches.replace(nn.Module, "_call_impl", _call_impl)
    if "torch._dynamo" in sys.modules:  # else nothing has been compiled
        patches.replace(nn.Module, "_compiled_call_impl", _NoCompiledCall())


class _NoCompiledCall:
    """Stands before each module's own entry, so that what was compiled runs as it is written.

    No `property`: scripting a module compiles those of its class.
    """

    def __get__(self, module: nn.Module | None, kind: type | None = None) -> None:
        return None

    def __set__(self, module: nn.Module, call: Any) -> None:
        vars(module)["_compiled_call_impl"] = call


class Watch(Protocol):
    """Who is told of calls: a `Recorder`, or what measures them."""

    local: Any
    """Has the open calls of each thread as `stack`; None in a thread that takes no part."""
    originals: dict[Any, Callable[..., Any]]

    def enter(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], /, *, direct: bool, depth: int
    ) -> Any:
        """A call begins; gives what is open on the stack, which has `module` and `awaits_call`."""

    def exit(self, frame: Any, result: Any, /) -> None:
        """It ends with a result."""

    def fail(self, frame: Any, error: BaseException, /) -> None:
        """It ends with an exception."""


def patch_class(watch: Watch, patches: Patches, kind: type) -> None:
    """See `module.forward(...)` called directly, and a call that is not `Module`'s own, of a class and its bases."""
    if issubclass(kind, torch.jit.ScriptModule):
        return
    for owner in kind.__mro__:
        if owner is nn.Module:
            continue
        forward = vars(owner).get("forward")
        if type(forward) is types.FunctionType:
            wrapper = _Recording(watch, forward)
            if patches.replace(owner, "forward", wrapper):
                watch.originals[wrapper] = forward
        for name in ("__call__", "_call_impl"):
            call = vars(owner).get(name)
            if type(call) is types.FunctionType and issubclass(owner, nn.Module):
                patches.replace(owner, name, _Recording(watch, call, replaces_call=True))


def patch_instance(watch: Watch, patches: Patches, module: nn.Module) -> None:
    """See the `forward` of one module called directly, that was set on the instance."""
    state = vars(module)
    forward = state.get("forward")
    if not callable(forward) or isinstance(forward, nn.Module) or isinstance(module, torch.jit.ScriptModule):
        return
    if type(forward) is types.MethodType and forward.__self__ is module:
        # Again a bound method, so that a deep copy of the module has its own.
        patches.replace_item(state, "forward", types.MethodType(_Recording(watch, forward.__func__), module))
        return
    if isinstance(getattr(forward, "__self__", None), nn.Module):
        return
    patches.replace_item(state, "forward", _OwnForward(watch, forward, module))


class _Recording(StandIn):
    """A method of modules that opens a call around the original, unless it runs inside that call already."""

    __slots__ = ("_parts",)
    _parts: tuple[Any, Callable[..., Any], Callable[..., Any], bool]

    def __init__(self, watch: Watch, original: Callable[..., Any], *, replaces_call: bool = False) -> None:
        super().__init__(original)
        object.__setattr__(self, "_parts", (watch.local, watch.enter, _in_frame(watch), replaces_call))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, module: nn.Module, /, *args: Any, **kwargs: Any) -> Any:
        local, enter, run, replaces_call = self._parts
        stack = local.stack
        # Of the module on top it is the call itself, or `super().forward(...)`.
        if stack is None or (stack and stack[-1].module is module) or _tracing_state() is not None:
            return self.original(module, *args, **kwargs)
        if not issubclass(type(module), nn.Module):
            return self.original(module, *args, **kwargs)
        with quietly():
            frame = enter(module, args, kwargs, direct=not replaces_call, depth=2)
        frame.awaits_call = replaces_call
        return run(frame, self.original, module, args, kwargs)


class _OwnForward(StandIn):
    """The `forward` that was set on one module, and takes no module: a function, a partial, another object's method."""

    __slots__ = ("_parts",)
    _parts: tuple[Any, Callable[..., Any], Callable[..., Any], nn.Module]

    def __init__(self, watch: Watch, original: Callable[..., Any], module: nn.Module) -> None:
        super().__init__(original)
        object.__setattr__(self, "_parts", (watch.local, watch.enter, _in_frame(watch), module))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        local, enter, run, module = self._parts
        stack = local.stack
        if stack is None or _tracing_state() is not None or (stack and self._is_of(stack[-1].module)):
            return self.original(*args, **kwargs)
        with quietly():
            frame = enter(module, args, kwargs, direct=True, depth=2)
        return run(frame, _without_module(self.original), module, args, kwargs)

    def _is_of(self, module: nn.Module) -> bool:
        """Also of a shallow copy, which has the same one."""
        return module is self._parts[3] or vars(module).get("forward") is self


def _without_module(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, *args, **kwargs: function(*args, **kwargs)


def _run_uncompiled(patches: Patches, undo: contextlib.ExitStack) -> None:
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
