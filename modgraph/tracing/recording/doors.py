"""The doors through which work and values of a traced call get elsewhere, past every torch function.

Threads, scripted functions, setters and constructors made in C, swapped tensors: each is watched while a model runs.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.utils.dlpack

from modgraph.tracing.basics.patches import Patches
from modgraph.tracing.basics.tensors import quietly, tensors_in
from modgraph.tracing.basics.threads import follow_threads
from modgraph.tracing.faking.refusals import watch_numbers, watch_operators
from modgraph.tracing.recording.operations import Function, Kind
from modgraph.tracing.recording.recorder import Recorder


def watch_doors(recorder: Recorder, patches: Patches) -> None:
    """Put a watch on every door; `patches` takes them off."""
    follow_threads(patches.replace, lambda: None if recorder.local.stack is None else recorder.fork())
    _patch_scripted_functions(recorder, patches)
    _patch_setters(recorder, patches)
    _patch_unseen_functions(recorder, patches)
    _patch_swaps(recorder, patches)
    _patch_disabling(recorder, patches)
    _patch_backward(recorder, patches)
    watch_numbers(recorder.refused, patches)
    watch_operators(functools.partial(_unsupported, recorder), patches)
    _patch_functionalization(recorder, patches)


def _unsupported(recorder: Recorder, error: BaseException) -> None:
    """Also inside of an operation: whoever catches it there goes another way than it goes with values."""
    if not recorder.is_outside():
        stack = recorder.local.stack
        recorder.refusals.note(error, stack[-1].path if stack else "")


def _patch_scripted_functions(recorder: Recorder, patches: Patches) -> None:
    """A scripted function is one operation: no mode sees it."""
    kind = torch.jit.ScriptFunction
    original = kind.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if recorder.is_outside():
            return original(self, *args, **kwargs)
        name = str(getattr(self, "qualified_name", self.name)).removeprefix("__torch__.")
        bound = recorder.unseen(functools.partial(original, self))
        with quietly():
            for _, tensor in tensors_in((args, kwargs), ""):
                recorder.before_write(tensor)
        return recorder.mode.recorded(Function(Kind.OPERATION, name), bound, args, kwargs)

    patches.replace(kind, "__call__", call)


def _patch_setters(recorder: Recorder, patches: Patches) -> None:
    """`z.real = ...` and `z.imag = ...` write in C; `t.set_(...)` gives a tensor other memory."""
    base = torch.Tensor.__mro__[1]
    for name in ("real", "imag"):
        part = getattr(base, name)
        function = Function(Kind.OPERATION, f"torch.Tensor.{name}.__set__", in_place=True)

        def assign(self: Any, value: Any, part: Any = part, function: Function = function) -> None:
            if recorder.is_outside() or recorder.is_quiet():
                part.__set__(self, value)
            else:
                recorder.mode.recorded(function, part.__set__, (self, value), {})

        patches.replace(torch.Tensor, name, property(part.__get__, assign, part.__delete__, part.__doc__))
    set_memory: Callable[..., Any] = base.set_

    @functools.wraps(set_memory)
    def set_(self: Any, *args: Any, **kwargs: Any) -> Any:
        if recorder.is_outside():
            return set_memory(self, *args, **kwargs)
        result = recorder.unseen(set_memory)(self, *args, **kwargs)
        recorder.dataflow.forget(self)
        return result

    patches.replace(torch.Tensor, "set_", set_)


_UNSEEN: tuple[tuple[Any, str, Kind], ...] = (
    (torch.nested, "nested_tensor", Kind.OPERATION),
    (torch, "to_dlpack", Kind.GAP),
    (torch.utils.dlpack, "to_dlpack", Kind.GAP),
)
"""Functions that take tensors, and that no mode is told of."""


def _patch_unseen_functions(recorder: Recorder, patches: Patches) -> None:
    for owner, name, kind in _UNSEEN:
        original = getattr(owner, name, None)
        if original is None:
            continue
        function = Function(kind, f"{owner.__name__}.{name}")

        def call(*args: Any, original: Any = original, function: Function = function, **kwargs: Any) -> Any:
            if recorder.is_outside() or recorder.is_quiet():
                return original(*args, **kwargs)
            return recorder.mode.recorded(function, recorder.unseen(original), args, kwargs)

        patches.replace(owner, name, functools.wraps(original)(call))


def _patch_swaps(recorder: Recorder, patches: Patches) -> None:
    """Tensors to which weak references lead cannot be swapped: the recorder's are let go before."""
    original: Callable[..., Any] = torch.utils.swap_tensors

    @functools.wraps(original)
    def swap_tensors(t1: torch.Tensor, t2: torch.Tensor) -> None:
        if recorder.is_outside():
            original(t1, t2)
            return
        with quietly():
            put_back = recorder.before_swap(t1, t2)
        try:
            original(t1, t2)
        except BaseException:
            with quietly():
                put_back(t1, t2)
            raise
        with quietly():
            put_back(t2, t1)

    patches.replace(torch.utils, "swap_tensors", swap_tensors)


def _patch_disabling(recorder: Recorder, patches: Patches) -> None:
    """What runs inside `with torch._C.DisableTorchFunction()` is not seen."""
    original = torch._C.DisableTorchFunction

    @functools.wraps(original, updated=())
    def disable() -> Any:
        if not recorder.is_outside() and not recorder.is_quiet():
            recorder.gap("disabled", [])
        return original()

    patches.replace(torch._C, "DisableTorchFunction", disable)


def _patch_backward(recorder: Recorder, patches: Patches) -> None:
    """Gradients that are there already are added to, in C++."""
    original: Callable[..., Any] | None = getattr(torch.autograd, "_engine_run_backward", None)
    if original is None:
        recorder.before_backward()
        return

    @functools.wraps(original)
    def run_backward(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("accumulate_grad", True):
            recorder.before_backward()
        return original(*args, **kwargs)

    patches.replace(torch.autograd, "_engine_run_backward", run_backward)


def _patch_functionalization(recorder: Recorder, patches: Patches) -> None:
    """Inside `torch.func.functionalize` a tensor stands around another, and has a storage of its own."""
    transforms = sys.modules.get("torch._functorch.eager_transforms")
    begin: Callable[..., Any] | None = getattr(transforms, "_func_increment_nesting", None)
    if begin is None:
        recorder.dataflow.has_wrapped = True
        return

    @functools.wraps(begin)
    def increment(*args: Any, **kwargs: Any) -> Any:
        recorder.dataflow.has_wrapped = True
        return begin(*args, **kwargs)

    patches.replace(transforms, "_func_increment_nesting", increment)
