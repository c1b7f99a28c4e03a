"""Events as tuples, cheap to keep while a model runs, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from modgraph.graph.events import (
    AmendedEvent,
    EnterEvent,
    Event,
    ExitEvent,
    Flow,
    GapEvent,
    GradientEvent,
    ModuleEvent,
    OperationEvent,
    OutputEvent,
    ParameterGradientEvent,
)
from modgraph.graph.model import SourceLocation, TensorInfo
from modgraph.tracing.basics.sites import Site
from modgraph.tracing.basics.tensors import Facts, described
from modgraph.tracing.recording.dataflow import Producers
from modgraph.tracing.recording.statistics import Measured, Pending

Taken = tuple[str, Producers, Facts, Measured]
"""A tensor that arrived: where, and who made it; before it is a `Flow` for each of them."""
Seen = tuple[str, Facts, Measured]
"""A tensor that left."""
Raw = tuple[Any, ...]
"""An event before it is one: its kind, then its contents."""


def as_events(raw: Raw, place: Callable[[Site | None], SourceLocation | None]) -> list[Event]:
    """The event, or the two, that `raw` stands for."""
    if raw[0] != "leaf":
        return [as_event(raw, place)]
    _, index, path, parent, name, producers, seen, site, left, error = raw
    taken: list[Taken] = [(name, producers, seen, None)]
    begun = as_event(("enter", index, path, parent, taken, site, False, False), place)
    if type(left) is tuple and left:
        left = [("output", left, None)]
    return [begun, as_event(("exit", index, left, error), place)]


class Said:
    """The events that were told as they happened, before the statistics of what a device still computed."""

    def __init__(self) -> None:
        self._count = 1  # the start of the run was told by others
        self._waiting: list[tuple[int, Raw]] = []

    def events(self, raw: Raw, place: Callable[[Site | None], SourceLocation | None], *, waits: bool) -> list[Event]:
        """The events of `raw`, to be told now. `waits`: statistics among them may be known later."""
        events = as_events(raw, place)
        if waits:
            self._waiting.append((self._count, raw))
        self._count += len(events)
        return events

    def amended(self, place: Callable[[Site | None], SourceLocation | None]) -> Iterator[Event]:
        """Those that waited, with the statistics that are known now."""
        for first, raw in self._waiting:
            for number, event in enumerate(as_events(raw, place), first):
                yield AmendedEvent(number=number, text=event.to_json())
        self._waiting.clear()


OWN = "self."
"""What the name of a tensor begins with that a call did not take, but found in its module."""


def as_event(raw: Raw, place: Callable[[Site | None], SourceLocation | None]) -> Event:
    """The event that `raw` stands for."""
    match raw:
        case ("op", index, name, call, flows, site, arguments):
            return OperationEvent(
                index=index, name=name, call=call, flows=_flows(flows), source=place(site), arguments=arguments
            )
        case ("enter", index, path, parent, flows, site, direct, recomputed):
            return EnterEvent(
                call=index,
                module=path,
                parent=parent,
                inputs=tuple(
                    _described(name, facts, statistics)
                    for name, _, facts, statistics in flows
                    if not name.startswith(OWN)
                ),
                flows=_flows(flows),
                source=place(site),
                direct=direct,
                recomputed=recomputed,
            )
        case ("exit", index, outputs, error):
            return ExitEvent(call=index, outputs=tuple(_described(*seen) for seen in outputs), error=error)
        case ("gap", kind, call, site):
            return GapEvent(kind=kind, call=call, source=place(site))
        case ("output", name, flows):
            return OutputEvent(name=name, flows=_flows(flows))
        case ("grad", call, side, taken):
            return GradientEvent(call=call, side=side, tensor=_described(*taken))
        case ("parameter grad", taken):
            return ParameterGradientEvent(tensor=_described(*taken))
        case ("module", nodes):
            return ModuleEvent(modules=tuple(nodes))
    event: Event = raw[1]
    return event


def _flows(taken: list[Taken]) -> tuple[Flow, ...]:
    return tuple(
        Flow(producer=producer, tensor=tensor)
        for name, producers, facts, statistics in taken
        for tensor in (_described(name, facts, statistics),)
        for producer in producers
    )


def _described(name: str, facts: Facts, measured: Measured = None) -> TensorInfo:
    return described(name, facts, measured.settled if isinstance(measured, Pending) else measured)
