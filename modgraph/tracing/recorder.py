"""The run as it happens: the open calls of each thread, what arrives and leaves, and the events that tell of it.

While the model runs only tuples are kept; they become events when somebody reads them: at once if there is an `emit`,
else after the run.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from modgraph.graph.events import (
    EnterEvent,
    ErrorEvent,
    Event,
    ExitEvent,
    Flow,
    GapEvent,
    GradientEvent,
    ModuleEvent,
    OperationEvent,
    OutputEvent,
)
from modgraph.graph.model import ModuleNode, Statistics
from modgraph.tracing.dataflow import Dataflow, Producers
from modgraph.tracing.operations import Function, OperationMode
from modgraph.tracing.sites import Site, failure_of, location_of, site_of
from modgraph.tracing.tensors import Named, Seen, described, seen, statistics_of, tensors_in
from modgraph.tracing.tree import Tree

Taken = tuple[Producers, Seen]
"""A tensor that arrived, before it is a `Flow` for each of its producers."""
Raw = tuple[Any, ...]
"""An event before it is one: its kind, then its contents."""

_TENSORS = frozenset({torch.Tensor, nn.Parameter})
_graph_task = torch._C._current_graph_task_id
_tracing_state = torch._C._get_tracing_state


class Frame:
    """One open call."""

    __slots__ = ("index", "inputs", "module", "parent", "parent_frame", "path", "quiet", "recomputed", "site", "versions")

    def __init__(self, index: int, module: nn.Module, path: str, parent_frame: Frame | None, site: Site | None) -> None:
        self.index = index
        self.module = module
        self.path = path
        self.parent_frame = parent_frame
        self.site = site
        self.inputs: list[Named] = []
        self.versions: list[int | None] = []
        self.parent = False
        """A call began inside: it is no leaf."""
        self.quiet = False
        """Its operations are not recorded."""
        self.recomputed = False


class _ThreadState(threading.local):
    stack: list[Frame] | None = None
    """The open calls, innermost last; None in a thread that does not descend from the traced call."""


class Recorder:
    """Records one run of one model."""

    def __init__(
        self,
        tree: Tree,
        *,
        statistics: bool = False,
        emit: Callable[[Event], None] | None = None,
        on_exit: Callable[[int, list[Named], list[Named]], None] | None = None,
    ) -> None:
        self.tree = tree
        self.local = _ThreadState()
        self.dataflow = Dataflow()
        self.mode = OperationMode(self)
        self.on_new_class: Callable[[type], None] = lambda _: None
        self.observes_hooks = False
        """Hooks for all modules are set, so that no module's operations may be left out."""
        self._on_exit = on_exit
        self._emit = emit
        self._log: list[Raw] = []
        self._lock = threading.RLock()
        self._n_calls = 0
        self._n_operations = 0
        self._statistics = statistics
        self._measured: dict[int, tuple[Any, int | None, Statistics | None]] = {}
        self._names: dict[type, Names] = {}
        self._quiet_classes: dict[type, bool] = {}
        self._failure: tuple[BaseException, str] | None = None
        self.before_write: Callable[[torch.Tensor], None] = lambda _: None

    # What is said

    def _say(self, raw: Raw) -> None:
        if self._emit is None:
            self._log.append(raw)
        else:
            with self._lock:
                self._emit(as_event(raw))

    def say(self, event: Event) -> None:
        """Pass on an event made elsewhere."""
        self._say(("event", event))

    def events(self) -> list[Event]:
        """All events that were not emitted as they happened."""
        return [as_event(raw) for raw in self._log]

    # Calls

    def is_outside(self) -> bool:
        """Whether this thread's work is none of the traced call's, or another tracer of torch is at work."""
        return self.local.stack is None or _tracing_state() is not None

    def enter(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, direct: bool, depth: int
    ) -> Frame:
        """A call begins; `depth` is that of the caller's Python frame above this one."""
        stack = self.local.stack
        assert stack is not None
        parent = stack[-1] if stack else None
        site = site_of(sys._getframe(depth), parent.site if parent else None)
        path = self.tree.path_of(module)
        if path is None:
            path = self._discover(module, parent)
        inputs = self._inputs(module, args, kwargs)
        recomputed = _graph_task() != -1
        taken = [] if recomputed else self.flows(inputs)
        described_inputs = [item[1] for item in taken] if taken else [seen(name, tensor) for name, tensor in inputs]
        with self._lock:
            index = self._n_calls
            self._n_calls = index + 1
            self._say(
                ("enter", index, path, parent.index if parent else None, described_inputs, taken, site, direct, recomputed)
            )
        frame = Frame(index, module, path, parent, site)
        frame.inputs = inputs
        frame.recomputed = recomputed
        frame.versions = [_version(tensor) for _, tensor in inputs]
        frame.quiet = self._is_quiet(module, inputs)
        if parent is not None:
            parent.parent = True
        stack.append(frame)
        return frame

    def exit(self, frame: Frame, result: Any) -> None:
        """A call ends with a result."""
        self._close(frame)
        outputs = [("output", result)] if type(result) in _TENSORS else tensors_in(result, "output")
        self._say(("exit", frame.index, [self._seen(name, tensor) for name, tensor in outputs], None))
        if frame.recomputed:
            return
        if not frame.parent:
            producer = (f"call:{frame.index}",)
            dataflow = self.dataflow
            for (_, tensor), before in zip(frame.inputs, frame.versions, strict=True):
                if before is not None and _version(tensor) != before:
                    dataflow.write(tensor, producer)
            for _, tensor in outputs:
                dataflow.bind(tensor, producer)
        if self._on_exit is not None:
            self._on_exit(frame.index, frame.inputs, outputs)

    def fail(self, frame: Frame, error: BaseException) -> None:
        """A call ends with an exception."""
        if self._failure is None or self._failure[0] is not error:
            self._failure = (error, frame.path)
        self._close(frame)
        self._say(("exit", frame.index, [], error_text(error)))

    def _close(self, frame: Frame) -> None:
        """Take the frame off its stack, with any that was left open above it."""
        stack = self.local.stack
        while stack:
            if stack.pop() is frame:
                return

    def failed(self, error: BaseException) -> None:
        """An exception left the model: where it came from is the innermost call that it went through."""
        module = self._failure[1] if self._failure is not None and self._failure[0] is error else None
        place = failure_of(error)
        self.say(
            ErrorEvent(
                message=error_text(error),
                module=module,
                file=place.file if place else None,
                line=place.line if place else None,
            )
        )

    def _discover(self, module: nn.Module, parent: Frame | None) -> str:
        """A path for a module that was in no known place when the run began."""
        with self._lock:
            nodes = self.tree.discover(module, parent.path if parent else "")
            for kind in self.tree.new_classes():
                self.on_new_class(kind)
            self.register_parameters()
            self._say(("module", nodes))
            return nodes[0].path

    def register_parameters(self) -> None:
        """Make the parameters and buffers of modules not yet seen known as such."""
        for path, tensor in self.tree.new_tensors():
            self.dataflow.register(tensor, (f"param:{path}",))

    def _inputs(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Named]:
        kind = type(module)
        names = self._names.get(kind)
        if names is None or "forward" in module.__dict__:
            names = self._names[kind] = Names(module)
        inputs: list[Named] = []
        for position, argument in enumerate(args):
            if type(argument) in _TENSORS:
                inputs.append((names.of(position), argument))
            elif argument is not None:
                inputs += tensors_in(argument, names.of(position))
        for name, argument in kwargs.items():
            if argument is not None:
                inputs += tensors_in(argument, name)
        return inputs

    def _is_quiet(self, module: nn.Module, inputs: list[Named]) -> bool:
        """A layer of torch's own without children, hooks or a replaced forward, given plain tensors."""
        kind = type(module)
        quiet = self._quiet_classes.get(kind)
        if quiet is None:
            quiet = self._quiet_classes[kind] = _is_torch_layer(kind)
        if not quiet or self.observes_hooks:
            return False
        state = module.__dict__
        return not (
            state["_modules"]
            or state["_forward_hooks"]
            or state["_forward_pre_hooks"]
            or state["_backward_hooks"]
            or state["_backward_pre_hooks"]
            or "forward" in state
            or torch._C._len_torch_function_stack() != 1
            or any(type(tensor) not in _TENSORS for _, tensor in inputs)
        )

    # Tensors

    def _seen(self, name: str, tensor: torch.Tensor) -> Seen:
        if not self._statistics:
            return seen(name, tensor)
        version = _version(tensor)
        known = self._measured.get(id(tensor))
        if known is None or known[0]() is not tensor or known[1] != version or version is None:
            known = (torch.utils.weak.weakref.ref(tensor), version, statistics_of(tensor))
            self._measured[id(tensor)] = known
        return seen(name, tensor, known[2])

    def flows(self, named: list[Named]) -> list[Taken]:
        """Where each of the tensors comes from, as of now."""
        producers = self.dataflow.producers
        return [(producers(tensor), self._seen(name, tensor)) for name, tensor in named]

    # Operations

    def before_operation(self, function: Function, arrived: list[Named]) -> None:
        """Give whoever restores the model a chance to copy what is about to be written into."""
        if function.in_place:
            for _, tensor in arrived[:1]:
                self.before_write(tensor)

    def operation(
        self, name: str, flows: list[Taken], made: list[torch.Tensor], changed: list[torch.Tensor]
    ) -> None:
        """A torch function has run: it made and changed these tensors."""
        stack = self.local.stack
        top = stack[-1] if stack else None
        if top is not None and top.recomputed:
            return
        site = site_of(sys._getframe(3), top.site if top else None)
        with self._lock:
            index = self._n_operations
            self._n_operations = index + 1
            self._say(("op", index, name, top.index if top else None, flows, site))
        producer = (f"op:{index}",)
        for tensor in changed:
            self.dataflow.write(tensor, producer)
        for tensor in made:
            self.dataflow.bind(tensor, producer)

    def gap(self, kind: str, read: list[Named]) -> None:
        """The value of a tensor was given to Python."""
        stack = self.local.stack
        top = stack[-1] if stack else None
        self._say(("gap", kind, top.index if top else None, site_of(sys._getframe(3), top.site if top else None)))
        if kind in ("numpy", "dlpack"):
            for _, tensor in read:
                self.dataflow.export(tensor)

    def outputs(self, result: Any) -> None:
        """What the model returned."""
        for name, tensor in tensors_in(result, "output"):
            end = "0" if name == "output" else _output_name(name.removeprefix("output"))
            self._say(("output", end, self.flows([(name, tensor)])))

    def gradient(self, call: int, side: str, name: str, gradient: torch.Tensor) -> None:
        """A gradient passed a call."""
        self._say(("grad", call, side, self._seen(name, gradient)))


class Names:
    """What the arguments of one `forward` are called."""

    def __init__(self, module: nn.Module) -> None:
        self._names: list[str] = []
        self._rest: str | None = None
        forward = module.__dict__.get("forward", type(module).forward)
        try:
            parameters = list(inspect.signature(forward).parameters.values())
        except (ValueError, TypeError):
            parameters = []
        bound = "forward" in module.__dict__ or isinstance(forward, staticmethod)
        for parameter in parameters if bound else parameters[1:]:
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                self._names.append(parameter.name)
            elif parameter.kind is parameter.VAR_POSITIONAL:
                self._rest = parameter.name

    def of(self, position: int) -> str:
        """ "x" of `forward(self, x, *args)` for 0, "args[0]" for 1."""
        if position < len(self._names):
            return self._names[position]
        return f"{self._rest or 'args'}[{position - len(self._names)}]"


def as_event(raw: Raw) -> Event:
    """The event that `raw` stands for."""
    match raw:
        case ("op", index, name, call, flows, site):
            return OperationEvent(index=index, name=name, call=call, flows=_flows(flows), source=location_of(site))
        case ("enter", index, path, parent, inputs, flows, site, direct, recomputed):
            return EnterEvent(
                call=index,
                module=path,
                parent=parent,
                inputs=tuple(map(described, inputs)),
                flows=_flows(flows),
                source=location_of(site),
                direct=direct,
                recomputed=recomputed,
            )
        case ("exit", index, outputs, error):
            return ExitEvent(call=index, outputs=tuple(map(described, outputs)), error=error)
        case ("gap", kind, call, site):
            return GapEvent(kind=kind, call=call, source=location_of(site))
        case ("output", name, flows):
            return OutputEvent(name=name, flows=_flows(flows))
        case ("grad", call, side, taken):
            return GradientEvent(call=call, side=side, tensor=described(taken))
        case ("module", nodes):
            return ModuleEvent(modules=tuple(nodes))
    event: Event = raw[1]
    return event


def _flows(taken: list[Taken]) -> tuple[Flow, ...]:
    return tuple(
        Flow(producer=producer, tensor=tensor)
        for producers, item in taken
        for tensor in (described(item),)
        for producer in producers
    )


def error_text(error: BaseException) -> str:
    """ "ValueError: the message", without addresses' worth of context."""
    try:
        text = str(error)
    except Exception as inner:  # the user's own `__str__` may fail too
        text = f"(its text raised {type(inner).__name__})"
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    return f"{name}: {text}" if text else name


def _output_name(place: str) -> str:
    """ "[0][1]" -> "0[1]", ".logits" -> "logits", "['a'][0]" -> "a[0]"."""
    if place.startswith("."):
        return place[1:]
    end = place.index("]")
    return place[1:end].strip("'\"") + place[end + 1 :]


def _is_torch_layer(kind: type) -> bool:
    forward = getattr(kind, "forward", None)
    inside = ("torch.nn.modules.", "torch.ao.nn.")
    return kind.__module__.startswith(inside) and str(getattr(forward, "__module__", "")).startswith(inside)


def _version(tensor: torch.Tensor) -> int | None:
    try:
        return tensor._version
    except RuntimeError:
        return None


__all__ = ["Frame", "ModuleNode", "Recorder", "error_text"]
