"""The calls of a run that is measured: who called whom, in each thread, and which of the recorded calls each one is."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as _dispatch_modes

from modgraph.graph.model import Call
from modgraph.tracing.basics.patches import Patches
from modgraph.tracing.basics.threads import Inside, follow_threads
from modgraph.tracing.recording.calls import patch_class, patch_instance

_graph_task = torch._C._current_graph_task_id


@dataclass(slots=True)
class Measured:
    """One call of the run that is measured."""

    module: nn.Module
    index: int
    parent: int | None
    direct: bool = False
    awaits_call: bool = False
    flops: int = 0
    not_counted: int = 0
    seconds: float = 0.0
    allocated: int = 0
    began: Any = None
    ended: Any = None
    held: int = 0


class _ThreadState(threading.local):
    stack: list[Measured] | None = None
    """The open calls, innermost last; None in a thread that does not descend from the run."""


class MeasuredCalls:
    """The calls in the order in which they began.

    Args:
        begins: is told of each call at its begin.
        ends: and at its end.
        mode: what each thread of the run is in.
    """

    def __init__(
        self,
        begins: Callable[[Measured], None],
        ends: Callable[[Measured], None],
        mode: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext,
    ) -> None:
        self.all: list[Measured] = []
        self.local = _ThreadState()
        self.originals: dict[Any, Callable[..., Any]] = {}
        self.has_threads = False
        self._begins, self._ends, self._mode = begins, ends, mode
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def watched(self, modules: Iterable[nn.Module], direct: set[int]) -> Iterator[None]:
        """Inside, this thread and those that it starts are the run.

        Args:
            direct: `id` of those of the modules whose `forward` the recorded run called by itself.
        """
        with contextlib.ExitStack() as undo:
            patches = Patches(undo)
            self._patch_call(patches)
            for module in modules:
                if id(module) in direct or type(module).__call__ is not nn.Module.__call__:
                    patch_class(self, patches, type(module))
                if id(module) in direct:
                    patch_instance(self, patches, module)
            follow_threads(patches.replace, self._fork)
            undo.callback(setattr, self.local, "stack", self.local.stack)
            self.local.stack = []
            yield

    def _patch_call(self, patches: Patches) -> None:
        original: Callable[..., Any] = vars(nn.Module)["__call__"]
        local = self.local

        @functools.wraps(original)
        def __call__(module: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            stack = local.stack
            if stack is None or _graph_task() != -1:
                return original(module, *args, **kwargs)
            if stack and stack[-1].awaits_call and stack[-1].module is module:
                stack[-1].awaits_call = False
                return original(module, *args, **kwargs)
            call = self.enter(module, direct=False)
            try:
                return original(module, *args, **kwargs)
            finally:
                self.exit(call)

        patches.replace(nn.Module, "__call__", __call__)

    def enter(self, module: nn.Module, *_arguments: Any, direct: bool, **_depth: int) -> Measured:
        """A call begins."""
        stack = self.local.stack
        assert stack is not None
        with self._lock:
            call = Measured(module, len(self.all), stack[-1].index if stack else None, direct)
            self.all.append(call)
        stack.append(call)
        self._begins(call)
        return call

    def exit(self, call: Measured, *_result: Any) -> None:
        """It ends."""
        self._ends(call)
        stack = self.local.stack
        while stack and stack.pop() is not call:
            pass

    def fail(self, call: Measured, *_error: Any) -> None:
        """It ends with an exception."""
        self.exit(call)

    def _fork(self) -> Inside | None:
        """What another thread enters to go on inside the call that is open here now."""
        if self.local.stack is None:
            return None
        self.has_threads = True
        stack = self.local.stack[-1:]
        fakes = [mode for mode in _dispatch_modes() if isinstance(mode, FakeTensorMode)]

        @contextlib.contextmanager
        def inside() -> Iterator[None]:
            before, self.local.stack = self.local.stack, list(stack)
            try:
                with contextlib.ExitStack() as modes:
                    if before is None:
                        for mode in (*fakes, self._mode()):
                            modes.enter_context(mode)
                    yield
            finally:
                self.local.stack = before

        return inside

    def add_flops(self, flops: int | None) -> None:
        """The innermost open call of this thread has done so many; None: some, and nobody knows how many."""
        stack = self.local.stack
        if stack:
            with self._lock:
                stack[-1].flops += flops or 0
                stack[-1].not_counted += flops is None

    def add_up(self) -> None:
        """After the run: what a call did was done by those around it too."""
        for call in reversed(self.all):
            if call.parent is not None:
                self.all[call.parent].flops += call.flops
                self.all[call.parent].not_counted += call.not_counted

    def matched(self, recorded: list[Call], paths: dict[int, str]) -> list[Measured] | None:
        """Each of the recorded calls as it was measured; None where other calls were made.

        Args:
            paths: path of each module of the tree, by `id`.
        """
        if len(recorded) != len(self.all):
            return None
        if all(_is_same(one, call, paths) for one, call in zip(self.all, recorded, strict=True)):
            return self.all
        return self._by_place(recorded, paths) if self.has_threads else None

    def _by_place(self, recorded: list[Call], paths: dict[int, str]) -> list[Measured] | None:
        """By caller and path: threads run in another order each time."""
        found: dict[int | None, int | None] = {None: None}
        waiting: dict[tuple[int | None, str | None, bool], deque[Measured]] = defaultdict(deque)
        for one in self.all:
            waiting[one.parent, paths.get(id(one.module)), one.direct].append(one)
        matched: list[Measured] = []
        for call in recorded:
            parent = found.get(call.parent)
            ready = waiting.get((parent, call.module, call.direct)) or waiting.get((parent, None, call.direct))
            if not ready:
                return None
            matched.append(ready.popleft())
            found[call.index] = matched[-1].index
        return matched


def _is_same(measured: Measured, recorded: Call, paths: dict[int, str]) -> bool:
    path = paths.get(id(measured.module))
    return measured.direct == recorded.direct and (path is None or path == recorded.module)
