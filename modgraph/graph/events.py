"""What a run says while it happens, and how that becomes a `Graph`.

A recorder emits events in the order in which things happen; in a process of its own each is one JSON line. `replay`
folds them into a graph, also where the stream breaks off after any of them.

Whether a call is a leaf is only known when it has ended, so events carry *raw* producers: the operation that made a
tensor, wherever it ran. `replay` resolves them: a call in which no other call began is one node for its surroundings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from modgraph.errors import GraphError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.codec import decode, encode
from modgraph.graph.measures import Profile, Verification
from modgraph.graph.model import (
    BackwardRecord,
    BufferInfo,
    Call,
    Edge,
    Gap,
    Graph,
    ModelInfo,
    ModuleNode,
    Operation,
    ParameterInfo,
    Problem,
    SourceLocation,
    TensorInfo,
)

# Bound before a model is imported, whose code may put something else in the place of these functions.
_dumps, _loads = json.dumps, json.loads


WAS = "was:"
MOST_GIVERS = 8
"""Of those that had given one tensor before, how many are named: the first half of them, and the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """A tensor that arrived, and one of those that made it."""

    producer: str
    """`call:N`, `op:N`, `input:NAME`, `param:PATH` or `const:N`, not yet resolved to leaves; `op:N.I` for the one at
    place I of several that an operation gave, `call:N.O` for that of several which operation O made inside the call;
    `was:` and one of these for who had given the very tensor before the one that is named last gave it back; `was:`
    alone for all the others, where more than `MOST_GIVERS` had."""
    tensor: TensorInfo
    """Named for the place where it arrived."""


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events; each travels as one JSON line."""

    def to_json(self) -> str:
        """One line of JSON text, without a line break; deterministic."""
        return _dumps({"event": _NAMES[type(self)], **encode(self)}, ensure_ascii=False, separators=(",", ":"))

    @staticmethod
    def from_json(line: str) -> Event:
        """The event that `to_json` wrote; raises GraphError where `line` is no event."""
        try:
            data = _loads(line)
        except (ValueError, RecursionError) as error:
            raise GraphError(f"not an event of a trace: {line[:80]!r} ({error})") from error
        return Event.from_record(data)

    @staticmethod
    def from_record(record: Any) -> Event:
        """The event whose JSON object this is; raises GraphError where it is none."""
        try:
            kind = EVENTS[record["event"]]
            return decode(kind, record)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise GraphError(f"not an event of a trace ({error})") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEvent(Event):
    """The model before its run: always the first event."""

    model: ModelInfo
    modules: tuple[ModuleNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleEvent(Event):
    """Modules that the run brought to light: a module that was in no known place, and what lies below it."""

    modules: tuple[ModuleNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedEvent(Event):
    """What lazy modules have become, to which the run has given their sizes, and how many elements the model has."""

    modules: tuple[ModuleNode, ...]
    parameters: int | None = None
    trainable_parameters: int | None = None
    buffers: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterEvent(Event):
    """A call begins. Calls are numbered from 0 in the order of these events."""

    call: int
    module: str
    parent: int | None = None
    inputs: tuple[TensorInfo, ...] = ()
    flows: tuple[Flow, ...] = ()
    source: SourceLocation | None = None
    direct: bool = False
    recomputed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitEvent(Event):
    """A call ends, with what it returned or with the exception that left it."""

    call: int
    outputs: tuple[TensorInfo, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationEvent(Event):
    """A torch function has run and made, or written into, a tensor."""

    index: int
    name: str
    call: int | None = None
    flows: tuple[Flow, ...] = ()
    source: SourceLocation | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapEvent(Event):
    """A value left torch."""

    kind: str
    call: int | None = None
    source: SourceLocation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEvent(Event):
    """One tensor that the model returned."""

    name: str
    """As in the edge's end `output:NAME`."""
    flows: tuple[Flow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientEvent(Event):
    """A gradient of one tensor that a call took (`input`) or returned (`output`)."""

    call: int
    side: Literal["input", "output"]
    tensor: TensorInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterGradientEvent(Event):
    """What backward passes left in a parameter's `grad`."""

    tensor: TensorInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEvent(Event):
    """The run failed: an exception left the model."""

    message: str
    module: str | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AmendedEvent(Event):
    """An event told before, as it reads now that values were read for which the run did not wait."""

    number: int  # of the event in its stream, from 0
    text: str  # its JSON line


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedEvent(Event):
    """The recorded graph was run again from its edges."""

    verification: Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledEvent(Event):
    """The model was run again to be measured."""

    profile: Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneEvent(Event):
    """The recorder has said all it has to say, after a run that ended or failed."""


EVENTS: dict[str, type[Event]] = {
    "start": StartEvent,
    "module": ModuleEvent,
    "sized": SizedEvent,
    "enter": EnterEvent,
    "exit": ExitEvent,
    "op": OperationEvent,
    "gap": GapEvent,
    "output": OutputEvent,
    "grad": GradientEvent,
    "parameter_grad": ParameterGradientEvent,
    "error": ErrorEvent,
    "amended": AmendedEvent,
    "verified": VerifiedEvent,
    "profiled": ProfiledEvent,
    "done": DoneEvent,
}
_NAMES: dict[type[Event], str] = {kind: name for name, kind in EVENTS.items()}


def replay(events: Iterable[Event]) -> Graph:
    """The graph that a stream of events tells of.

    A stream that ends before its `done` gives all that was said until then; calls still open are closed without
    outputs, and a `Problem` names the innermost of them.

    Raises:
        GraphError: the stream does not begin with `start`, or contradicts itself.
    """
    said = list(events)
    if not said or not isinstance(said[0], StartEvent):
        raise GraphError("a trace begins with its start event")
    try:
        return _replayed(said)
    except (LookupError, ValueError, TypeError, RecursionError) as error:
        raise GraphError(f"the trace contradicts itself: {type(error).__name__}: {error}") from error


def _replayed(said: list[Event]) -> Graph:
    for event in said:
        if isinstance(event, AmendedEvent):
            said[event.number] = _amended(event, said)
    start = said[0]
    assert isinstance(start, StartEvent)
    fold = _Fold(start)
    for event in said[1:]:
        if not isinstance(event, AmendedEvent):
            fold.add(event)
    return fold.graph()


def _amended(amendment: AmendedEvent, said: list[Event]) -> Event:
    event = Event.from_json(amendment.text)
    if not 0 < amendment.number < len(said) or type(said[amendment.number]) is not type(event):
        raise GraphError(f"event {amendment.number} is amended by one of another kind")
    return event


@dataclass(slots=True)
class _OpenCall:
    """A call while its stream is read."""

    enter: EnterEvent
    exit: ExitEvent | None = None
    has_children: bool = False


@dataclass(slots=True)
class _Gradients:
    inputs: list[TensorInfo] = field(default_factory=list)
    outputs: list[TensorInfo] = field(default_factory=list)


class _Fold:
    """The state of one `replay`."""

    def __init__(self, start: StartEvent) -> None:
        self._model = start.model
        self._modules: dict[str, ModuleNode] = {node.path: node for node in start.modules}
        self._calls: list[_OpenCall] = []
        self._operations: dict[int, OperationEvent] = {}
        self._consumers: list[EnterEvent | OperationEvent | OutputEvent] = []
        self._gaps: list[Gap] = []
        self._gradients: dict[int, _Gradients] = {}
        self._parameter_gradients: list[TensorInfo] = []
        self._problems: list[Problem] = []
        self._ended = False
        self._verification: Verification | None = None
        self._profile: Profile | None = None

    def add(self, event: Event) -> None:
        match event:
            case EnterEvent():
                self._enter(event)
            case ExitEvent():
                self._call(event.call).exit = event
            case OperationEvent():
                self._operations[event.index] = event
                self._consumers.append(event)
            case OutputEvent():
                self._consumers.append(event)
            case GapEvent():
                self._gaps.append(Gap(kind=event.kind, call=event.call, source=event.source))
            case ModuleEvent():
                for node in event.modules:
                    self._modules.setdefault(node.path, node)
            case SizedEvent():
                self._sized(event)
            case GradientEvent():
                self._gradient(event)
            case ParameterGradientEvent():
                self._parameter_gradients.append(event.tensor)
            case ErrorEvent():
                self._error(event)
            case VerifiedEvent():
                self._verification = event.verification
            case ProfiledEvent():
                self._profile = event.profile
            case DoneEvent():
                self._ended = True
            case _:
                raise GraphError(f"{type(event).__name__} has no place after the start of a trace")

    def _call(self, index: int) -> _OpenCall:
        if not 0 <= index < len(self._calls):
            raise GraphError(f"an event names call {index}, which did not begin")
        return self._calls[index]

    def _enter(self, event: EnterEvent) -> None:
        if event.call != len(self._calls):
            raise GraphError(f"call {event.call} began as number {len(self._calls)}")
        if event.module not in self._modules:
            raise GraphError(f"call {event.call} is of module {event.module!r}, which is not known")
        if event.parent is not None:
            self._call(event.parent).has_children = True
        self._calls.append(_OpenCall(event))
        self._consumers.append(event)

    def _sized(self, event: SizedEvent) -> None:
        for node in event.modules:
            if node.path not in self._modules:
                raise GraphError(f"module {node.path!r} was given sizes, and is not known")
            self._modules[node.path] = node
        self._model = replace(
            self._model,
            parameters=event.parameters,
            trainable_parameters=event.trainable_parameters,
            buffers=event.buffers,
        )

    def _gradient(self, event: GradientEvent) -> None:
        self._call(event.call)
        gradients = self._gradients.setdefault(event.call, _Gradients())
        (gradients.inputs if event.side == "input" else gradients.outputs).append(event.tensor)

    def _error(self, event: ErrorEvent) -> None:
        module = event.module if event.module in self._modules else None
        self._problems.append(
            Problem(stage="trace", message=event.message, module=module, file=event.file, line=event.line)
        )
        self._ended = True

    def graph(self) -> Graph:
        """All that was said, checked."""
        if not self._ended:
            self._problems.append(self._broken_off())
        builder = GraphBuilder(self._model)
        calls_of: dict[str, list[int]] = {}
        for index, call in enumerate(self._calls):
            calls_of.setdefault(call.enter.module, []).append(index)
            builder.calls.append(_finished(call))
        for node in self._modules.values():
            calls = tuple(calls_of.get(node.path, ()))
            builder.modules.append(replace(node, calls=calls) if calls else node)
        builder.operations.extend(
            Operation(
                id=f"op:{event.index}",
                name=event.name,
                call=event.call,
                source=event.source,
                arguments=event.arguments,
            )
            for _, event in sorted(self._operations.items())
        )
        builder.edges.extend(self._edges())
        builder.gaps.extend(self._gaps)
        for index, gradients in self._gradients.items():
            builder.backward.append(
                BackwardRecord(
                    module=self._calls[index].enter.module,
                    grad_inputs=tuple(gradients.inputs),
                    grad_outputs=tuple(gradients.outputs),
                    call=index,
                )
            )
        builder.parameter_gradients.extend(self._parameter_gradients)
        builder.problems.extend(self._problems)
        builder.profile = self._profile
        if self._verification is not None:
            builder.verification = self._verification
            builder.problems.extend(self._unproven(self._verification))
        return builder.build()

    def _unproven(self, verification: Verification) -> list[Problem]:
        """The first step that gave other values when it was run again."""
        for found in verification.differences[:1]:
            kind, _, number = found.node.partition(":")
            event = self._operations.get(int(number)) if kind == "op" else None
            call = self._calls[int(number)].enter if kind == "call" else None
            if event is not None and event.call is not None:
                call = self._calls[event.call].enter
            step = event or call
            source = step.source if step is not None else None
            named = f"{found.node} ({event.name})" if event is not None else found.node
            return [
                Problem(
                    stage="trace",
                    message=f"run again from the recorded edges, {named} gives another {found.output}: {found.message}",
                    module=call.module if call is not None else None,
                    file=source.file if source else None,
                    line=source.line if source else None,
                )
            ]
        return []

    def _broken_off(self) -> Problem:
        innermost = next((call for call in reversed(self._calls) if call.exit is None), None)
        if innermost is None:
            return Problem(stage="trace", message="the trace broke off while no module was being called")
        module = innermost.enter.module
        source = innermost.enter.source
        return Problem(
            stage="trace",
            message=f"the trace broke off during a call of {module or 'the model'}",
            module=module,
            file=source.file if source else None,
            line=source.line if source else None,
        )

    def _edges(self) -> list[Edge]:
        """Every flow between leaves, in the order in which its consumer began.

        Two tensors of one shape that go the same way are two edges, as two arguments of one function are; into a leaf
        whose own operations read what it was given already, they are one.
        """
        edges: dict[tuple[Any, ...], Edge] = {}
        arrived: set[tuple[Any, ...]] = set()
        for consumer in self._consumers:
            key: tuple[Any, ...] | None = None
            for flow in consumer.flows:
                if flow.producer == WAS:
                    if key is not None:
                        edges[key] = replace(edges[key], or_others=True)
                    continue
                if flow.producer.startswith(WAS):
                    self._add_other(edges, key, self._edge(consumer, flow))
                    continue
                key = None
                edge = self._edge(consumer, flow)
                if edge is None:
                    continue
                way = (edge.producer, edge.consumer, edge.tensor.shape, edge.tensor.dtype)
                read_inside = isinstance(consumer, OperationEvent) and edge.consumer.startswith("call:")
                if read_inside and way in arrived:
                    continue
                arrived.add(way)
                key = (*way, edge.tensor.name)
                edges.setdefault(key, edge)
        return list(edges.values())

    @staticmethod
    def _add_other(edges: dict[tuple[Any, ...], Edge], key: tuple[Any, ...] | None, other: Edge | None) -> None:
        """The tensor of an edge may have been taken from another, which had it before."""
        edge = None if key is None or other is None else edges[key]
        if edge is None or other is None or other.consumer != edge.consumer or other.producer == edge.producer:
            return
        assert key is not None
        edges[key] = replace(edge, or_from=tuple(dict.fromkeys((*edge.or_from, other.producer))))

    def _edge(self, consumer: EnterEvent | OperationEvent | OutputEvent, flow: Flow) -> Edge | None:
        leaf = consumer.call if isinstance(consumer, OperationEvent) and self._is_leaf(consumer.call) else None
        producer = flow.producer.removeprefix(WAS)
        kind, _, rest = producer.partition(":")
        output, made_by = None, None
        if kind == "op":
            rest, _, place = rest.partition(".")
            output, producer = int(place) if place.isdecimal() else None, f"op:{rest}"
            home = self._operation(rest).call
            if home is not None and self._is_leaf(home):
                if home == leaf and isinstance(consumer, OperationEvent):
                    return Edge(producer=producer, consumer=f"op:{consumer.index}", tensor=flow.tensor, output=output)
                producer, output = f"call:{home}", None
        elif kind == "call":
            rest, _, place = rest.partition(".")
            if not self._is_leaf(int(rest)):
                return None  # a call that another thread began inside it has made it a container since
            made_by = f"op:{place}" if place and self._operation(place).call == int(rest) else None
            producer = f"call:{rest}"
        elif kind == "param" and leaf is not None and self._owns(self._calls[leaf].enter.module, rest):
            return None
        if isinstance(consumer, OutputEvent):
            end = f"output:{consumer.name}"
        elif isinstance(consumer, OperationEvent):
            end = f"op:{consumer.index}" if leaf is None else f"call:{leaf}"
        elif self._is_leaf(consumer.call):
            end = f"call:{consumer.call}"
        else:
            return None
        if producer == end:
            return None
        return Edge(producer=producer, consumer=end, tensor=flow.tensor, output=output, made_by=made_by)

    def _operation(self, index: str) -> OperationEvent:
        event = self._operations.get(int(index)) if index.isdecimal() else None
        if event is None:
            raise GraphError(f"a flow names op:{index}, which did not run")
        return event

    def _is_leaf(self, call: int | None) -> bool:
        return call is not None and not self._call(call).has_children

    def _owns(self, module: str, parameter: str) -> bool:
        """Whether `parameter`, by any of its names, belongs to the module or to one below it."""
        prefix = f"{module}." if module else ""
        return any(name.startswith(prefix) for name in self._names_of.get(parameter, (parameter,)))

    @cached_property
    def _names_of(self) -> dict[str, list[str]]:
        """All full paths of each parameter and buffer, by its first."""
        names: dict[str, list[str]] = {}
        for node in self._modules.values():
            held: tuple[ParameterInfo | BufferInfo, ...] = (*node.parameters, *node.buffers)
            for tensor in held:
                full = f"{node.path}.{tensor.name}" if node.path else tensor.name
                names.setdefault(tensor.alias_of or full, []).append(full)
        return names


def _finished(call: _OpenCall) -> Call:
    enter, end = call.enter, call.exit
    return Call(
        index=enter.call,
        module=enter.module,
        parent=enter.parent,
        inputs=enter.inputs,
        outputs=end.outputs if end else (),
        source=enter.source,
        error=end.error if end else None,
        direct=enter.direct,
        recomputed=enter.recomputed,
    )
