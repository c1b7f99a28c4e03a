"""The run as it happens: the open calls of each thread, what arrives and leaves, and the events that tell of it.

While the model runs only tuples are kept; they become events when somebody reads them: at once if there is an `emit`,
else after the run.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from weakref import ref

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack as _dispatch_modes

from modgraph.graph.events import ErrorEvent, Event
from modgraph.graph.model import SourceLocation
from modgraph.tracing.basics.failures import describe, failure_of
from modgraph.tracing.basics.sites import Site, location_of, site_of
from modgraph.tracing.basics.tensors import (
    EXACT,
    Named,
    facts_of,
    is_opaque,
    places_in,
    quietly,
    tensors_in,
    version_of,
)
from modgraph.tracing.faking.refusals import Refusals
from modgraph.tracing.recording.arguments import Names, inputs_of, output_name
from modgraph.tracing.recording.dataflow import Dataflow, Producers
from modgraph.tracing.recording.frames import Frame
from modgraph.tracing.recording.operations import SHARES_MEMORY, OperationMode
from modgraph.tracing.recording.raw_events import OWN, Raw, Said, Taken, as_events
from modgraph.tracing.recording.recipes import Recipes, Step
from modgraph.tracing.recording.shortcuts import Leaves, Sites
from modgraph.tracing.recording.statistics import Measured, Pending, measured, settle
from modgraph.tracing.recording.tree import Tree
from modgraph.tracing.restoring.own_state import own_tensors, tensors_held, torch_forward

_n_modes = torch._C._len_torch_function_stack
_graph_task = torch._C._current_graph_task_id
_tracing_state = torch._C._get_tracing_state
_is_enabled = torch._C._is_torch_function_enabled


Changed = tuple[torch.Tensor, torch.Tensor, bool]
"""A tensor that was written into, the part of it that was, and whether its values were read before."""


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
        verify: bool = False,
    ) -> None:
        self.tree = tree
        self.local = _ThreadState()
        self.dataflow = Dataflow()
        self.recipes = Recipes(self.dataflow) if verify else None
        self.takes_shortcuts = not statistics and not verify
        """Nobody asks for more of an operation than what it read and made."""
        self.sites = Sites()
        self.leaves: Leaves | None = Leaves(self) if self.takes_shortcuts and emit is None and on_exit is None else None
        """None if each call is to be told of when it begins, or more of it is asked than what it took and gave."""
        self.has_threads = False
        """More than one thread has taken part."""
        self.mode = OperationMode(self)
        self.on_new_class: Callable[[type], None] = lambda _: None
        self.on_new_module: Callable[[nn.Module], None] = lambda _: None
        self.in_backward = False
        self.observes_hooks = False
        """Hooks for all modules are set, so that no module's operations may be left out."""
        self._on_exit = on_exit
        self._emit = emit
        self._log: list[Raw] = []
        self._said = Said()
        self._places: dict[tuple[int, int], tuple[Site, SourceLocation | None]] = {}
        self.keep: Callable[[Raw], None] = self._log.append if emit is None else self._say_at_once
        self._lock = threading.RLock()
        self.originals: dict[Any, Callable[..., Any]] = {}
        """The user's `forward` behind each of the wrappers that are set on classes now."""
        self.n_calls = 0
        self.n_operations = 0
        self._cut_off: set[int | None] = set()
        self._measure = self._statistics_of if statistics else None
        self._measured: dict[int, tuple[Any, tuple[int, int] | None, Measured]] = {}
        self._pending: list[Pending] = []
        self.refusals = Refusals()
        self.names: dict[type, Names] = {}
        self._quiet_classes: dict[type, Callable[..., Any] | None] = {}
        self._failure: tuple[BaseException, str] | None = None
        self.has_failed = False
        """An exception left the model."""
        self.before_write: Callable[[torch.Tensor], None] = lambda _: None
        self.before_backward: Callable[[], None] = lambda: None

    # What is said

    def _say_at_once(self, raw: Raw) -> None:
        assert self._emit is not None
        with self._lock:
            for event in self._said.events(raw, self._place, waits=bool(self._pending)):
                self._emit(event)

    def say(self, event: Event) -> None:
        """Pass on an event made elsewhere."""
        self.keep(("event", event))

    def events(self) -> list[Event]:
        """All events that were not emitted as they happened, and what is known of the others only now: the statistics
        that wait on a device are read once for all of a run."""
        if self._pending:
            with quietly(), unset_fake_temporarily():
                settle(self._pending)
            self._pending.clear()
        told = [event for raw in self._log for event in as_events(raw, self._place)]
        return [*told, *self._said.amended(self._place)]

    def _place(self, site: Site | None) -> SourceLocation | None:
        """The location of a call site, looked up once. By `id`: equal code may stand in two files."""
        if site is None:
            return None
        key = (id(site[0]), site[1])
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = (site, location_of(site))
        return known[1]

    def close(self) -> None:
        """Let go of the model, its tensors and what it raised: a recorder refers to itself, so that it lives on."""
        self.dataflow.release()
        self.tree.release()
        self.on_new_class = lambda _: None
        self.on_new_module = lambda _: None
        self.before_write = lambda _: None
        self.before_backward = lambda: None
        self.originals.clear()
        self.names.clear()
        self._quiet_classes.clear()
        self._measured.clear()
        self._failure = None
        self.recipes = None

    # Threads

    def fork(self) -> Callable[[], contextlib.AbstractContextManager[None]]:
        """What another thread enters to go on inside the call that is open here now."""
        self.has_threads = True
        stack = (self.local.stack or [])[-1:]
        fake_modes = [mode for mode in _dispatch_modes() if isinstance(mode, FakeTensorMode)]

        @contextlib.contextmanager
        def inside() -> Iterator[None]:
            before = self.local.stack
            self.local.stack = list(stack)
            try:
                with contextlib.ExitStack() as modes:
                    if before is None:
                        for mode in fake_modes:
                            modes.enter_context(mode)
                        modes.enter_context(self.mode)
                    yield
            finally:
                self.local.stack = before

        return inside

    def adopts_backward_thread(self) -> bool:
        """Whether this thread runs the backward pass of the traced call: it takes part from now on."""
        if self.in_backward and _graph_task() != -1:
            self.local.stack = []
            self.has_threads = True
            return True
        return False

    # Calls

    def is_outside(self) -> bool:
        """Whether this thread's work is none of the traced call's, or another tracer of torch is at work."""
        return self.local.stack is None or _tracing_state() is not None

    def unseen(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, with nothing recorded of what it does inside."""

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            stack, self.local.stack = self.local.stack, None
            try:
                return function(*args, **kwargs)
            finally:
                self.local.stack = stack

        return run

    @staticmethod
    def is_quiet() -> bool:
        """Whether no operation is to be recorded here: inside of one, or with torch functions switched off."""
        return _n_modes() == 0 or not _is_enabled()

    def before_swap(self, *tensors: torch.Tensor) -> Callable[..., None]:
        """Let go of tensors that are about to swap all but their identity; gives what binds others to their origins."""
        for tensor in tensors:
            self.before_write(tensor)
            self.dataflow.arrival(tensor)
            self._measured.pop(id(tensor), None)
            if self.recipes is not None:
                self.recipes.forget(tensor)
        taken = [self.dataflow.forget(tensor) for tensor in tensors]

        def put_back(*others: torch.Tensor) -> None:
            for other, producers in zip(others, taken, strict=True):
                if producers:
                    self.dataflow.bind(other, producers)

        return put_back

    def enter(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, direct: bool, depth: int
    ) -> Frame:
        """A call begins; `depth` is that of the caller's Python frame above this one."""
        stack = self.local.stack
        assert stack is not None
        parent = stack[-1] if stack else None
        site = site_of(sys._getframe(depth), parent.site if parent else None)
        known = self.tree.known.get(id(module))
        path = known[1] if known is not None else self._discover(module, parent)
        names = self.names.get(type(module))
        if names is None or "forward" in module.__dict__:
            names = self.names[type(module)] = Names(module)
        if len(args) == 1 and not kwargs and type(args[0]) in EXACT:
            inputs = [(names.first, args[0])]
        else:
            inputs = inputs_of(names, args, kwargs)
        frame = Frame(module, path, parent, site, inputs)
        if _graph_task() == -1:
            taken = self.flows(inputs)
        else:
            frame.recomputed = True
            taken = [(name, (), facts_of(tensor), None) for name, tensor in inputs]
        if not frame.recomputed and (
            self._quiet_classes.get(type(module)) or isinstance(module, torch.jit.ScriptModule)
        ):
            frame.own = [(tensor, version_of(tensor)) for _, tensor in own_tensors(module)]
            if self.dataflow.parameters_changed:
                taken = [*taken, *self._own_flows(module)]
        frame.began = self.dataflow.now()
        try:
            frame.versions = [tensor._version for _, tensor in inputs]
        except RuntimeError:  # an inference tensor counts none
            frame.versions = None
        if parent is not None:
            parent.has_children = True
        parent_index = None if parent is None else parent.index
        with self._lock:
            frame.index = index = self.n_calls
            self.n_calls = index + 1
            self.keep(("enter", index, path, parent_index, taken, site, direct, frame.recomputed))
        if self.recipes is not None and not frame.recomputed:
            frame.step = self.recipes.prepare(_forward_again(module, direct), args, kwargs)
        stack.append(frame)
        return frame

    def _own_flows(self, module: nn.Module) -> list[Taken]:
        """Where what a layer reads of its own comes from, as far as the run has written into it."""
        held = [(f"{OWN}{name}", tensor) for name, tensor in tensors_held(module)]
        return [flow for flow in self.flows(held) if any(not maker.startswith("param:") for maker in flow[1])]

    def exit(self, frame: Frame, result: Any) -> None:
        """A call ends with a result."""
        stack = self.local.stack
        if stack and stack[-1] is frame:
            stack.pop()
        else:
            self._close(frame)
        outputs = [("output", result)] if type(result) in EXACT else tensors_in(result, "output")
        measure = self._measure
        if not frame.is_one_step():
            left = [(name, facts_of(tensor), measure and measure(tensor)) for name, tensor in outputs]
        else:
            producer = (f"call:{frame.index}",)
            bind = self.dataflow.bind
            if frame.versions is not None:
                for (_, tensor), before in zip(frame.inputs, frame.versions):  # noqa: B905
                    if tensor._version != before:
                        self.dataflow.write(tensor, producer)
            for tensor in frame.own_written():
                self.dataflow.write(tensor, producer)
            given_back, began = self.dataflow.given_back, frame.began
            made = self._made_inside if len(outputs) > 1 and frame.has_operations else None
            left = [
                (
                    name,
                    bind(tensor, given_back(tensor, producer if made is None else made(tensor, producer), began)),
                    measure and measure(tensor),
                )
                for name, tensor in outputs
            ]
        self.keep(("exit", frame.index, left, None))
        if frame.step is not None:
            self._keep_call(frame, frame.step, result)
        if self._on_exit is not None and not frame.recomputed:
            self._on_exit(frame.index, frame.inputs, outputs)

    def _made_inside(self, tensor: torch.Tensor, producer: Producers) -> Producers:
        """The call, with the operation that made this of its results."""
        makers = self.dataflow.arrival(tensor)[0]
        kind, _, rest = makers[0].partition(":") if len(makers) == 1 else ("", "", "")
        return (f"{producer[0]}.{rest.partition('.')[0]}",) if kind == "op" else producer

    def _keep_call(self, frame: Frame, step: Step, result: Any) -> None:
        """A call that showed no operation is a step to be run again; one that showed some has them as its steps."""
        assert self.recipes is not None
        node = f"call:{frame.index}"
        outputs = tensors_in(result, "output")
        changed = [tensor for _, tensor in frame.inputs] if frame.has_written() else []
        own = frame.own_written()
        if not frame.is_one_step():
            self.recipes.drop(step)
        elif frame.has_operations or (self.recipes.knows_all(outputs) and not changed and not own):
            self.recipes.drop(step)
            self.recipes.passed(node, (result, changed))
        else:
            self.recipes.finish(step, node, result, [*changed, *own])

    def fail(self, frame: Frame, error: BaseException) -> None:
        """A call ends with an exception."""
        self._close(frame)
        if frame.recomputed and type(error).__name__ == "_StopRecomputationError":  # all that backward needs is there
            self.keep(("exit", frame.index, [], None))
            return
        self.failed_inside(error, frame.path)
        self.keep(("exit", frame.index, [], describe(error)))

    def refused(self, error: BaseException) -> None:
        """Raised where Python asked for a number, maybe inside of an operation, whose own concern it is then."""
        if not self.is_outside() and not self.is_quiet():
            stack = self.local.stack
            self.refusals.note(error, stack[-1].path if stack else "")

    def failed_inside(self, error: BaseException, path: str) -> None:
        """An exception left a call; the first that it leaves is where it came from."""
        self.refusals.note(error, path)
        if self._failure is None or self._failure[0] is not error:
            self._failure = (error, path)

    def _close(self, frame: Frame) -> None:
        """Take the frame off its stack, with any that was left open above it."""
        stack = self.local.stack
        while stack:
            if stack.pop() is frame:
                return

    def failed(self, error: BaseException) -> None:
        """An exception left the model: where it came from is the innermost call that it went through."""
        self.has_failed = True
        self.refusals.left(error)
        module = self._failure[1] if self._failure is not None and self._failure[0] is error else None
        message, file, line = failure_of(error, module)
        self.say(ErrorEvent(message=message, module=module, file=file, line=line))

    def _discover(self, module: nn.Module, parent: Frame | None) -> str:
        """A path for a module that was in no known place when the run began."""
        with self._lock:
            nodes, modules = self.tree.discover(module, parent.module if parent else None)
            for found in modules:
                self.on_new_module(found)
            for kind in self.tree.new_classes():
                self.on_new_class(kind)
            self.register_parameters()
            self.keep(("module", nodes))
            return nodes[0].path

    def register_parameters(self) -> None:
        """Make the parameters and buffers of modules not yet seen known as such."""
        tensors = list(self.tree.new_tensors())
        self.dataflow.register(tensors)
        if self.recipes is not None:
            self.recipes.sources([(f"param:{path}", tensor) for path, tensor in tensors])

    def quiet_forward(self, module: nn.Module) -> Callable[..., Any] | None:
        """The `forward` to be called with torch functions off, so that its operations are not recorded; or None.

        That of a layer of torch's own without children, hooks or a replaced forward, whose parameters and buffers are
        those that it had before the run. It must be given plain tensors.
        """
        kind = type(module)
        try:
            forward = self._quiet_classes[kind]
        except KeyError:
            forward = self._quiet_classes[kind] = torch_forward(kind, self.originals)
        if forward is None or self.observes_hooks or _n_modes() != 1:
            return None
        state = module.__dict__
        if (
            state["_modules"]
            or state["_forward_hooks"]
            or state["_forward_pre_hooks"]
            or state["_backward_hooks"]
            or state["_backward_pre_hooks"]
            or "forward" in state
        ):
            return None
        if id(module) not in self.tree.known:
            stack = self.local.stack
            with quietly():
                self._discover(module, stack[-1] if stack else None)
        if not self.tree.has_its_tensors(module):
            return None
        if self.dataflow.parameters_changed:
            with quietly():
                if not all(map(self.dataflow.is_as_registered, self.tree.tensors_of(module))):
                    return None
        return forward

    # Tensors

    def _statistics_of(self, tensor: torch.Tensor) -> Measured:
        """Statistics of the values that `tensor` has now."""
        written = self.dataflow.last_write(tensor)
        version = None if written is None or (moved := version_of(tensor)) is None else (moved, written)
        known = self._measured.get(id(tensor))
        if known is None or known[0]() is not tensor or known[1] != version or version is None:
            known = (ref(tensor), version, measured(tensor))
            self._measured[id(tensor)] = known
            if isinstance(known[2], Pending):
                self._pending.append(known[2])
        return known[2]

    def flows(self, named: list[Named]) -> list[Taken]:
        """Where each of the tensors comes from, as of now."""
        arrival, measure = self.dataflow.arrival, self._measure
        if measure is None:
            return [(name, *arrival(tensor), None) for name, tensor in named]
        return [(name, *arrival(tensor), measure(tensor)) for name, tensor in named]

    # Operations

    def operation(
        self,
        name: str,
        flows: list[Taken],
        made: Sequence[torch.Tensor],
        changed: Sequence[Changed],
        arguments: Mapping[str, Any],
    ) -> int | None:
        """A torch function has run: it made and changed these tensors. Gives its number; None where it ran again for
        backward."""
        stack = self.local.stack
        top = stack[-1] if stack else None
        if top is not None:
            if top.recomputed:
                return None
            top.has_operations = True
        site = site_of(sys._getframe(3), top.site if top else None)
        with self._lock:
            index = self.n_operations
            self.n_operations = index + 1
        self.keep(("op", index, name, None if top is None else top.index, flows, site, arguments))
        producer = (f"op:{index}",)
        for tensor, part, was_read in changed:
            self.dataflow.write(tensor, producer, part, was_read=was_read)
        given_back = self.dataflow.given_back if len(made) > 1 else None
        began = self.dataflow.now() if given_back else 0
        for place, tensor in enumerate(made):
            if given_back is None:
                self.dataflow.bind(tensor, producer)
            else:
                self.dataflow.bind(tensor, given_back(tensor, (f"op:{index}.{place}",), began))
        return index

    def gap(self, kind: str, read: list[Named]) -> None:
        """The value of a tensor was given to Python."""
        stack = self.local.stack
        top = stack[-1] if stack else None
        self.keep(("gap", kind, top.index if top else None, site_of(sys._getframe(3), top.site if top else None)))
        if kind in SHARES_MEMORY:
            for _, tensor in read:
                self.dataflow.export(tensor)

    def cut_off(self) -> None:
        """Values were not looked at, as there were too many: said once for each call."""
        stack = self.local.stack
        call = stack[-1].index if stack else None
        if not self.is_outside() and call not in self._cut_off:
            self._cut_off.add(call)
            self.gap("limit", [])

    def outputs(self, result: Any) -> None:
        """What the model returned."""
        found = places_in(result, "output")
        if not found and is_opaque(result):
            self.keep(("gap", "output", None, None))
        for name, tensor in found:
            end = "0" if name == "output" else output_name(name.removeprefix("output"))
            self.keep(("output", end, self.flows([(name, tensor)])))
            if self.recipes is not None:
                self.recipes.outputs.append((end, self.recipes.slot_of(tensor)))

    def parameter_gradients(self) -> None:
        """What backward passes have left in the parameters."""
        for path, parameter in self.tree.parameters():
            gradient = parameter.grad
            if gradient is not None:
                self.keep(("parameter grad", (path, facts_of(gradient), self._measure and self._measure(gradient))))

    def gradient(self, call: int, side: str, name: str, gradient: torch.Tensor) -> None:
        """A gradient passed a call."""
        self.keep(("grad", call, side, (name, facts_of(gradient), self._measure and self._measure(gradient))))


def _forward_again(module: nn.Module, direct: bool) -> Callable[..., Any]:
    forward: Callable[..., Any] = module.forward if direct else module
    return forward
