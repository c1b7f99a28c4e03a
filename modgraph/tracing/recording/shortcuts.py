"""What most of a run is, recorded in the fewest steps: calls of plain layers, operations on plain tensors.

What is recorded is the same as by `Recorder.enter` to `exit` and by `OperationMode.recorded`, which take over wherever
anything is out of the ordinary; most of what a trace costs is spent here. They are worth it by
`tests/benchmarks/trace_overhead.py`: without them a forward under the recorder takes 5.8 times the bare one in place of
3.1 (a thousand tiny layers), and 1.5 in place of 1.3 (BERT). `tests/tracing/test_shortcuts.py` holds that both say the
same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from modgraph.source.operation_arguments import NOTHING, literals
from modgraph.tracing.basics.failures import describe
from modgraph.tracing.basics.sites import Site, site_of
from modgraph.tracing.basics.tensors import ATOMS, EXACT, is_plain_slice, quietly, tensors_in

if TYPE_CHECKING:
    from modgraph.tracing.recording.dataflow import Dataflow
    from modgraph.tracing.recording.frames import Frame
    from modgraph.tracing.recording.operations import Function, OperationMode
    from modgraph.tracing.recording.raw_events import Taken
    from modgraph.tracing.recording.recorder import Recorder

_n_modes = torch._C._len_torch_function_stack
_tracing_state = torch._C._get_tracing_state
_graph_task = torch._C._current_graph_task_id
_frame_at = sys._getframe
# More names than most functions have arguments: `zip` then stops where the arguments end.
ARGUMENT_NAMES = tuple(f"args[{position}]" for position in range(1000))
_NOTHING: dict[str, Any] = {}
NOT_PLAIN: Any = object()
"""Instead of a result: the shortcut does not know what is asked of it, and has done nothing."""


class Sites:
    """Call sites in the user's code, each made once."""

    def __init__(self) -> None:
        self.known: dict[int, dict[int, Site]] = {}
        self._codes: list[CodeType] = []

    def of(self, frame: FrameType, otherwise: Site | None) -> Site | None:
        """As `site_of`."""
        code = frame.f_code
        offsets = self.known.get(id(code))
        if offsets is not None:
            offset = frame.f_lasti
            return offsets.get(offset) or offsets.setdefault(offset, (code, offset))
        site = site_of(frame, otherwise)
        if site is not None and site[0] is code:
            self.known[id(code)] = {site[1]: site}
            self._codes.append(code)  # so that its `id` is not used again
        return site


def narrowed(dataflow: Dataflow, flows: list[Taken], first: torch.Tensor, result: torch.Tensor) -> list[Taken]:
    """The flows of a function that gave a view of its first tensor: of who wrote into that, those that it shows."""
    name, producers, facts, measured = flows[0]
    if len(producers) < 2:
        return flows
    return [(name, dataflow.arrival_of(result, first), facts, measured), *flows[1:]]


class Leaves:
    """Layers of torch's own without children, called in one go once the first of their class was called."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._classes: dict[type, tuple[Callable[..., Any], str]] = {}

    def add(self, kind: type, forward: Callable[..., Any], name: str) -> None:
        """Modules of class `kind` run `forward`, whose operations are not recorded and whose argument is `name`."""
        self._classes[kind] = (forward, name)

    def call(self, module: nn.Module, args: tuple[Any, ...], stack: list[Frame]) -> Any:
        """What `module(*args)` gives; `NOT_PLAIN` if there is anything about it that the class does not tell."""
        known = self._classes.get(type(module))
        if known is None or len(args) != 1 or type(args[0]) not in EXACT:
            return NOT_PLAIN
        recorder = self._recorder
        forward, name = known
        state = module.__dict__
        met = recorder.tree.known.get(id(module))
        if (
            met is None
            or _n_modes() != 1
            or recorder.has_threads
            or recorder.dataflow.parameters_changed
            or _tracing_state() is not None
            or _graph_task() != -1
            or state["_forward_pre_hooks"]
            or state["_forward_hooks"]
            or state["_backward_hooks"]
            or state["_backward_pre_hooks"]
            or state["_modules"]
            or "forward" in state
            or (state["_buffers"] and state["training"])
            or state.get("max_norm") is not None
        ):
            return NOT_PLAIN
        if not recorder.tree.has_its_tensors(module):
            return NOT_PLAIN
        dataflow, path, tensor, parent = recorder.dataflow, met[1], args[0], stack[-1]
        parent.has_children = True
        with quietly():
            site = recorder.sites.of(_frame_at(3), parent.site)
            producers, seen = dataflow.arrival(tensor)
            before = dataflow.now()
            index = recorder.n_calls
            recorder.n_calls = index + 1
            try:
                version: int | None = tensor._version
            except RuntimeError:  # an inference tensor counts none
                version = None
            recorder.local.stack = None  # nothing inside is to be recorded, not even `super().forward(...)`
            try:
                result = forward(module, tensor)
            except BaseException as error:
                recorder.failed_inside(error, path)
                recorder.keep(("leaf", index, path, parent.index, name, producers, seen, site, (), describe(error)))
                raise
            finally:
                recorder.local.stack = stack
            producer = (f"call:{index}",)
            if version is not None and tensor._version != version:
                dataflow.write(tensor, producer)
            left: Any
            if type(result) in EXACT:
                is_same = result is tensor and (version is None or tensor._version == version)
                left = dataflow.bind(result, dataflow.given_back(result, producer, before) if is_same else producer)
            else:
                left = [(place, dataflow.bind(item, producer), None) for place, item in tensors_in(result, "output")]
            recorder.keep(("leaf", index, path, parent.index, name, producers, seen, site, left, None))
            return result


class PlainOperations:
    """Torch functions that read all they are given and write into nothing, as far as their name and schema tell."""

    def __init__(self, recorder: Recorder, mode: OperationMode) -> None:
        self._recorder = recorder
        self._mode = mode
        self._local = recorder.local
        self._dataflow = recorder.dataflow
        self._entities = recorder.dataflow.entities
        self._writes = recorder.dataflow.writes
        self._exported = recorder.dataflow.exported
        self._sites = recorder.sites.known

    def call(self, function: Function, func: Any, args: tuple[Any, ...]) -> Any:
        """What `func(*args)` gives, if they are plain tensors and literals; else `NOT_PLAIN`, and nothing was run."""
        recorder = self._recorder
        stack = self._local.stack
        if not stack or _n_modes() or recorder.has_threads or _tracing_state() is not None:
            return NOT_PLAIN
        top = stack[-1]
        if top.recomputed or len(args) > function.inplace_at:
            return NOT_PLAIN
        entities, writes = self._entities, self._writes
        arrived: list[torch.Tensor] = []
        versions: list[int] = []
        flows: list[Taken] = []
        try:
            for name, argument in zip(ARGUMENT_NAMES, args):  # noqa: B905
                kind = type(argument)
                if kind in EXACT:
                    entity = entities.get(id(argument))
                    if entity is None or entity[3] in writes or self._exported or entity[0]() is not argument:
                        producers, seen = self._dataflow.arrival(argument)
                        flows.append((name, producers, seen, None))
                    else:
                        flows.append((name, entity[1], entity[4], None))
                    versions.append(argument._version)
                    arrived.append(argument)
                elif kind not in ATOMS and not (kind is slice and is_plain_slice(argument)):
                    return NOT_PLAIN
        except RuntimeError:  # an inference tensor counts no versions
            return NOT_PLAIN
        if len(arrived) > 1 and len(set(map(id, arrived))) < len(arrived):
            return NOT_PLAIN
        result = func(*args)
        is_plain = type(result) in EXACT
        for tensor, before in zip(arrived, versions):  # noqa: B905
            if tensor is result or tensor._version != before:
                is_plain = False
        if not is_plain:
            named = [(flow[0], tensor) for flow, tensor in zip(flows, arrived, strict=True)]
            self._mode.finished(function, named, flows, versions, args, result)
            return result
        frame = _frame_at(2)
        offsets = self._sites.get(id(frame.f_code))
        site = (offsets and offsets.get(frame.f_lasti)) or recorder.sites.of(frame, top.site)
        if flows and len(flows[0][1]) > 1 and arrived:
            flows = narrowed(self._dataflow, flows, arrived[0], result)
        index = recorder.n_operations
        recorder.n_operations = index + 1
        top.has_operations = True
        arguments = _NOTHING if function.told is NOTHING else literals(function.told, args, _NOTHING)
        recorder.keep(("op", index, function.name, top.index, flows, site, arguments))
        self._dataflow.bind(result, (f"op:{index}",))
        return result
