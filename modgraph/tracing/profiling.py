"""What each call costs: floating point operations by torch's own counter, seconds, memory. Runs of their own.

The recorded run is not measured, as recording takes longer than many layers do: the model is run again with nothing
but a clock around each call, and once more under a mode that counts operations.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from modgraph.graph.model import CallCost, Graph, Profile
from modgraph.tracing.failures import describe, is_interruption
from modgraph.tracing.patches import Patches, one_at_a_time

_DEVICE = torch.ops.prim.device.default
"""Asked of fake tensors; it has no decomposition to ask for."""
_graph_task = torch._C._current_graph_task_id
_VIEWS_AND_SIZES = frozenset(
    {"detach", "alias", "lift_fresh", "_local_scalar_dense", "is_same_size", "sym_size", "_unsafe_view"}
)
"""Operations that compute nothing, besides the views and those that make a tensor of constants."""
_MAKING = ("empty", "zeros", "ones", "full", "arange", "clone", "copy", "_to_copy", "fill", "zero", "cat", "stack")


Run = Callable[[contextlib.AbstractContextManager[Any]], None]
"""Runs the model as it was run before, inside the context that it is given."""


@dataclass(slots=True)
class _Measured:
    """One call of the run that is measured."""

    module: nn.Module
    parent: int | None
    flops: int = 0
    seconds: float = 0.0
    allocated: int = 0
    peak: int = 0
    began: Any = None
    ended: Any = None
    held: int = 0


@dataclass(slots=True)
class _Calls:
    """The calls of one run in the order in which they began, and those that are open."""

    all: list[_Measured] = field(default_factory=list)
    open: list[int] = field(default_factory=list)


def profiled(
    graph: Graph,
    run: Run,
    paths: dict[int, str],
    *,
    device: str,
    counts_only: bool,
) -> Profile:
    """The cost of every call of `graph`, whose model `run` runs as it was run before.

    Args:
        paths: first path of each module of the tree, by `id`.
        device: where it runs: on CUDA time and memory are the device's.
        counts_only: no clock: of a run without weights it would tell nothing.
    """
    problems: list[str] = []
    counter = _FlopMode()
    counted = _observed(lambda: run(counter), counter.enter, counter.leave, problems)
    timed: _Calls | None = None
    if not counts_only:
        bare = functools.partial(run, contextlib.nullcontext())
        _observed(bare, _nothing, _nothing, problems)  # what runs first pays for loading kernels and caches
        clock: _Clock = _CudaClock() if device == "cuda" else _Clock()
        timed = _observed(bare, clock.enter, clock.leave, problems)
        clock.settle(timed)
    costs = _matched(graph, paths, counted, timed, problems)
    return Profile(
        flops=sum(call.flops for call in counted.all if call.parent is None),
        seconds=sum(call.seconds for call in timed.all if call.parent is None) if timed else None,
        calls=tuple(costs),
        not_counted=tuple(sorted(counter.unknown.items())),
        problem=problems[0] if problems else None,
    )


def _nothing(_: _Measured) -> None:
    """Neither clock nor counter."""


def _observed(
    run: Callable[[], None],
    enter: Callable[[_Measured], None],
    leave: Callable[[_Measured], None],
    problems: list[str],
) -> _Calls:
    """Run it, with `enter` and `leave` around every call of a module in this thread."""
    calls = _Calls()
    original: Callable[..., Any] = vars(nn.Module)["__call__"]

    @functools.wraps(original)
    def __call__(self: nn.Module, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if _graph_task() != -1:
            return original(self, *args, **kwargs)
        call = _Measured(self, calls.open[-1] if calls.open else None)
        calls.open.append(len(calls.all))
        calls.all.append(call)
        enter(call)
        try:
            return original(self, *args, **kwargs)
        finally:
            leave(call)
            calls.open.pop()

    with one_at_a_time, contextlib.ExitStack() as undo:
        Patches(undo).replace(nn.Module, "__call__", __call__)
        try:
            run()
        except BaseException as error:  # the door to the user's code
            if is_interruption(error):
                raise
            problems.append(f"the model failed when it was run again to be measured: {describe(error)}")
    return calls


class _Clock:
    """Seconds on the host, and the bytes of memory of which torch tells nothing there."""

    def enter(self, call: _Measured) -> None:
        call.began = time.perf_counter()

    def leave(self, call: _Measured) -> None:
        call.seconds = time.perf_counter() - call.began

    def settle(self, calls: _Calls) -> None:
        """After the run: what could not be read inside it."""


class _CudaClock(_Clock):
    """Time between two events on the device, read once at the end; memory by torch's allocator."""

    def enter(self, call: _Measured) -> None:
        call.held = torch.cuda.memory_allocated()
        call.began = torch.cuda.Event(enable_timing=True)
        call.began.record()

    def leave(self, call: _Measured) -> None:
        call.ended = torch.cuda.Event(enable_timing=True)
        call.ended.record()
        call.allocated = torch.cuda.memory_allocated() - call.held

    def settle(self, calls: _Calls) -> None:
        torch.cuda.synchronize()
        for call in calls.all:
            if call.began is not None and call.ended is not None:
                call.seconds = call.began.elapsed_time(call.ended) / 1000


class _FlopMode(TorchDispatchMode):  # type: ignore[misc]
    """Adds the floating point operations of each kernel to every open call, by the formulas that torch has."""

    def __init__(self) -> None:
        super().__init__()
        self.unknown: Counter[str] = Counter()
        self._open: list[_Measured] = []

    def enter(self, call: _Measured) -> None:
        self._open.append(call)

    def leave(self, call: _Measured) -> None:
        if self._open and self._open[-1] is call:
            self._open.pop()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        packet = getattr(func, "_overloadpacket", func)
        if packet not in flop_registry and func is not _DEVICE and hasattr(func, "decompose"):
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        result = func(*args, **kwargs)
        formula = flop_registry.get(packet)
        if formula is not None:
            flops = int(formula(*args, **kwargs, out_val=result))
            for call in self._open:
                call.flops += flops
        elif func is not _DEVICE and _computes(func):
            self.unknown[str(packet)] += 1
        return result


def _computes(func: Any) -> bool:
    """Whether an operator does arithmetic, as far as its schema and name tell."""
    name = str(getattr(func, "_overloadpacket", func)).rpartition(".")[2]
    if name in _VIEWS_AND_SIZES or name.strip("_").startswith(_MAKING):
        return False
    schema = getattr(func, "_schema", None)
    is_view = (
        any(one.alias_info is not None and not one.alias_info.is_write for one in schema.returns) if schema else False
    )
    return not is_view


def _matched(
    graph: Graph, paths: dict[int, str], counted: _Calls, timed: _Calls | None, problems: list[str]
) -> Iterator[CallCost]:
    """The cost of each recorded call; none of any where the runs made other calls than the recorded one."""
    recorded = [call for call in graph.calls if not call.direct and not call.recomputed]
    for calls in (counted, timed):
        if calls is None:
            continue
        named = [paths.get(id(call.module)) for call in calls.all]
        same = len(named) == len(recorded) and all(
            path is None or path == call.module for path, call in zip(named, recorded, strict=True)
        )
        if not same:
            problems.append("the model made other calls when it was run again to be measured")
            return
    for position, call in enumerate(recorded):
        clock = timed.all[position] if timed is not None else None
        yield CallCost(
            call=call.index,
            flops=counted.all[position].flops,
            seconds=clock.seconds if clock is not None else None,
            allocated=clock.allocated if clock is not None and clock.ended is not None else None,
        )
