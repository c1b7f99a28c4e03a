"""What each call costs: floating point operations by torch's own counter, seconds, memory. Runs of their own.

The recorded run is not measured, as recording takes longer than many layers do: the model is run again with nothing
but a clock around each call, and once more under a mode that counts operations and the bytes that are held.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from modgraph.graph.measures import CallCost, Profile
from modgraph.graph.model import Graph
from modgraph.names import last_name
from modgraph.tracing.basics.failures import describe, is_interruption
from modgraph.tracing.basics.patches import one_at_a_time
from modgraph.tracing.measuring.held_memory import HeldMemory
from modgraph.tracing.measuring.measured_calls import Measured, MeasuredCalls
from modgraph.tracing.measuring.operation_costs import formula_of

_DEVICE = torch.ops.prim.device.default
"""Asked of fake tensors; it has no decomposition to ask for."""
_VIEWS_AND_SIZES = frozenset(
    {"detach", "alias", "lift_fresh", "_local_scalar_dense", "is_same_size", "sym_size", "_unsafe_view"}
)
"""Operations that compute nothing, besides the views and those that make a tensor of constants."""
_MAKING = ("empty", "zeros", "ones", "full", "arange", "clone", "copy", "_to_copy", "fill", "zero", "cat", "stack")


Run = Callable[[contextlib.AbstractContextManager[Any]], None]
"""Runs the model as it was run before, inside the context that it is given."""


def profiled(
    graph: Graph,
    run: Run,
    paths: dict[int, str],
    modules: list[nn.Module],
    *,
    device: str,
    counts_only: bool,
) -> Profile:
    """The cost of every call of `graph`, whose model `run` runs as it was run before.

    Args:
        paths: first path of each module of the tree, by `id`.
        modules: those of the tree, and others that were met.
        device: where it runs: on CUDA time and memory are the device's.
        counts_only: no clock: of a run without weights it would tell nothing.
    """
    problems: list[str] = []
    called = {call.module for call in graph.calls if call.direct}
    direct = {id(module) for module in modules if paths.get(id(module)) in called}
    counter = _Counter()

    def observed(calls: MeasuredCalls, mode: contextlib.AbstractContextManager[Any]) -> MeasuredCalls:
        with one_at_a_time, _the_way_it_was_recorded(), calls.watched(modules, direct):
            try:
                run(mode)
            except BaseException as error:  # the door to the user's code
                if is_interruption(error):
                    raise
                problems.append(f"the model failed when it was run again to be measured: {describe(error)}")
        return calls

    memory = counter.memory
    counted = counter.calls = MeasuredCalls(memory.enter, memory.leave, functools.partial(_FlopMode, counter))
    observed(counted, _FlopMode(counter)).add_up()
    timed: MeasuredCalls | None = None
    if not counts_only:
        bare = contextlib.nullcontext()
        observed(MeasuredCalls(_nothing, _nothing), bare)  # what runs first pays for loading kernels and caches
        clock: _Clock = _CudaClock() if device == "cuda" else _Clock()
        timed = observed(MeasuredCalls(clock.enter, clock.leave), bare)
        clock.settle(timed)
    costs = _matched(graph, paths, counted, timed, problems)
    return Profile(
        flops=sum(call.flops for call in counted.all if call.parent is None),
        seconds=sum(call.seconds for call in timed.all if call.parent is None) if timed else None,
        calls=tuple(costs),
        not_counted=tuple(sorted(counter.unknown.items())),
        problem=problems[0] if problems else None,
    )


@contextlib.contextmanager
def _the_way_it_was_recorded() -> Iterator[None]:
    """Attention by its layers: the one kernel for all of them is taken only where nobody looks, as in no recording."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _nothing(_: Measured) -> None:
    """Neither clock nor counter."""


class _Clock:
    """Seconds on the host."""

    def enter(self, call: Measured) -> None:
        call.began = time.perf_counter()

    def leave(self, call: Measured) -> None:
        call.seconds = time.perf_counter() - call.began

    def settle(self, calls: MeasuredCalls) -> None:
        """After the run: what could not be read inside it."""


class _CudaClock(_Clock):
    """Time between two events on the device, read once at the end; memory by torch's allocator."""

    def enter(self, call: Measured) -> None:
        call.held = torch.cuda.memory_allocated()
        call.began = torch.cuda.Event(enable_timing=True)
        call.began.record()

    def leave(self, call: Measured) -> None:
        call.ended = torch.cuda.Event(enable_timing=True)
        call.ended.record()
        call.allocated = torch.cuda.memory_allocated() - call.held

    def settle(self, calls: MeasuredCalls) -> None:
        torch.cuda.synchronize()
        for call in calls.all:
            if call.began is not None and call.ended is not None:
                call.seconds = call.began.elapsed_time(call.ended) / 1000


class _Counter:
    """What all threads of the run have counted."""

    def __init__(self) -> None:
        self.unknown: Counter[str] = Counter()
        self.calls: MeasuredCalls | None = None
        self.memory = HeldMemory()

    def add(self, flops: int | None) -> None:
        """To the open call of this thread; None where nobody knows how many."""
        if self.calls is not None:
            self.calls.add_flops(flops)


class _FlopMode(TorchDispatchMode):  # type: ignore[misc]
    """Tells a counter of the floating point operations of each kernel in one thread, by the formulas that torch has."""

    def __init__(self, counter: _Counter) -> None:
        super().__init__()
        self._counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        packet = getattr(func, "_overloadpacket", func)
        formula = formula_of(packet)
        if formula is None and func is not _DEVICE and hasattr(func, "decompose"):
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        result = func(*args, **kwargs)
        if formula is not None:
            self._counter.add(formula(args, kwargs, result))
        elif func is not _DEVICE and _computes(func):
            self._counter.unknown[str(packet)] += 1
            self._counter.add(None)
        self._counter.memory.take((args, kwargs), result)
        return result


def _computes(func: Any) -> bool:
    """Whether an operator does arithmetic, as far as its schema and name tell."""
    name = last_name(str(getattr(func, "_overloadpacket", func)))
    if name in _VIEWS_AND_SIZES or name.strip("_").startswith(_MAKING):
        return False
    schema = getattr(func, "_schema", None)
    is_view = (
        any(one.alias_info is not None and not one.alias_info.is_write for one in schema.returns) if schema else False
    )
    return not is_view


def _matched(
    graph: Graph, paths: dict[int, str], counted: MeasuredCalls, timed: MeasuredCalls | None, problems: list[str]
) -> Iterator[CallCost]:
    """The cost of each recorded call; none of any where the runs made other calls than the recorded one."""
    recorded = [call for call in graph.calls if not call.recomputed]
    counts = counted.matched(recorded, paths)
    clocks = timed.matched(recorded, paths) if timed is not None else [None] * len(recorded)
    if counts is None or clocks is None:
        problems.append("the model made other calls when it was run again to be measured")
        return
    for call, count, clock in zip(recorded, counts, clocks, strict=True):
        yield CallCost(
            call=call.index,
            flops=count.flops,
            seconds=clock.seconds if clock is not None else None,
            allocated=_allocated(count, clock, alone=not counted.has_threads),
            not_counted=count.not_counted,
        )


def _allocated(count: Measured, clock: Measured | None, *, alone: bool) -> int | None:
    """By the device's allocator, else by what its tensors hold; what several threads hold is no call's own."""
    if clock is not None and clock.ended is not None:
        return clock.allocated
    return count.allocated if alone else None
