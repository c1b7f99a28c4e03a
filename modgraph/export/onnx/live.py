"""A live model -> an ONNX file that runs: exported, regrouped, and run beside the model itself.

It is called where the model is traced, with what was traced.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree

from modgraph.export.onnx.capture import capture_flat, is_hollow, output_name
from modgraph.export.onnx.cut import Place
from modgraph.export.onnx.file import Captured, write_runnable
from modgraph.export.onnx.passed import traced_calls
from modgraph.export.onnx.regroup import ModuleFacts, is_weight
from modgraph.export.onnx.verify import difference, is_random
from modgraph.graph.model import Graph
from modgraph.graph.paths import parameter_path
from modgraph.options import OnnxOptions, dynamic_size
from modgraph.tracing.restoring.restore import Snapshot

if TYPE_CHECKING:
    import onnx_ir as ir

_LITERALS = (bool, int, float, str)


def capture(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    directory: Path,
    graph: Graph,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Write a live model as an ONNX file into `directory`.

    Args:
        graph: what the trace has seen of the model.
        settings: the fields of `OnnxOptions`, and "name", the name of the file.

    Returns:
        A `Report` as JSON values.

    Raises:
        ExportError: it cannot be exported, and why.
    """
    fields = dict(settings)
    path = directory / fields.pop("name")
    options = OnnxOptions(**{**fields, "dynamic": tuple(fields.get("dynamic", ()))})
    with _left_as_it_was(model, (args, kwargs)), _plain_results(model) as literals:
        if graph.model.mode is not None:
            model.train(graph.model.mode == "train")
        return _captured(model, args, kwargs, path, graph, options, literals)


@contextlib.contextmanager
def _left_as_it_was(model: torch.nn.Module, arguments: Any) -> Iterator[None]:
    """Afterwards the model, the arguments and random numbers are as they were."""
    snapshot = Snapshot(model.modules(), arguments)
    try:
        yield
    finally:
        snapshot.restore()


@contextlib.contextmanager
def _plain_results(model: torch.nn.Module) -> Iterator[dict[str, Any]]:
    """A `forward` that gives dicts in the place of dataclasses, which an export does not look into, and None in the
    place of numbers and texts, which no output of a file holds.

    Yields:
        Those of the last run, by the name that an output in their place would have.
    """
    literals: dict[str, Any] = {}
    own = vars(model).get("forward")
    forward = model.forward

    @functools.wraps(forward)
    def plain(*args: Any, **kwargs: Any) -> Any:
        return _without_literals(_as_plain(forward(*args, **kwargs)), literals)

    vars(model)["forward"] = plain
    try:
        yield literals
    finally:
        del vars(model)["forward"]
        if own is not None:
            vars(model)["forward"] = own


def _as_plain(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_as_plain(item) for item in value)
    if type(value) is dict:
        return {key: _as_plain(item) for key, item in value.items()}
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    leaves = _pytree.tree_leaves(value)
    if len(leaves) != 1 or leaves[0] is not value:
        return value  # torch knows how to look into it
    return {field.name: _as_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}


def _without_literals(value: Any, found: dict[str, Any]) -> Any:
    leaves, spec = _pytree.tree_flatten_with_path(value)
    found.clear()
    found.update((output_name(path), leaf) for path, leaf in leaves if type(leaf) in _LITERALS)
    if not found:
        return value
    return _pytree.tree_unflatten([None if type(leaf) in _LITERALS else leaf for _, leaf in leaves], spec)


def _captured(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    path: Path,
    graph: Graph,
    options: OnnxOptions,
    literals: dict[str, Any],
) -> dict[str, Any]:
    flat = capture_flat(model, args, kwargs, options)
    captured = Captured(
        rung=flat.rung,
        attempts=[(attempt.rung, attempt.why) for attempt in flat.attempts],
        parameters=flat.parameters,
        buffers=flat.buffers,
        mutated=flat.mutated,
        torch=str(torch.__version__),
        mode="train" if model.training else "eval",
        facts=module_facts(graph),
        feeds=_feeds(flat.model, args, kwargs),
        literals=dict(literals),
        missing_weights=[each.source for each in graph.model.missing_weights],
    )
    if captured.feeds is not None and not is_random(flat.model.graph):
        captured.expected = _results(model, args, kwargs)
        if literals.keys() != captured.literals.keys():
            captured.expected = None  # a size that the export leaves open is a number in a run
    report = write_runnable(flat.model, captured, options, path)
    report.notes.extend(_still_fixed(flat.model, options))
    return report.to_json()


def module_facts(graph: Graph) -> ModuleFacts:
    """What a graph says beside the operators: classes, lines, costs."""
    costs = {} if graph.profile is None else {cost.call: cost.flops for cost in graph.profile.calls}
    counts: dict[str, int] = {}
    calls: dict[str, dict[str, str]] = {}
    for call in graph.calls:
        counts[call.module] = counts.get(call.module, -1) + 1
        facts = {}
        if call.source is not None:
            facts["modgraph.source"] = f"{call.source.file}:{call.source.line}"
        if call.index in costs:
            facts["modgraph.flops"] = str(costs[call.index])
        if facts:
            calls[Place(call.module, counts[call.module], "").text] = facts
    modules = {
        node.path: node.class_name
        for node in graph.modules
        if node.class_name not in (None, "NoneType") and node.alias_of is None
    }
    return ModuleFacts(
        class_name=graph.model.class_name or "",
        modules=modules,
        calls=calls,
        parameters=graph.model.parameters,
        tree={node.path: node.class_name for node in graph.modules if node.path},
        aliases={node.path: node.alias_of for node in graph.modules if node.alias_of is not None},
        tied={
            parameter_path(node.path, held.name): held.alias_of
            for node in graph.modules
            for held in node.parameters
            if held.alias_of is not None
        },
        traced=traced_calls(graph),
    )


def _feeds(model: ir.Model, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    """The example inputs by the names of the graph's inputs; None where they have no values."""
    tensors = [leaf for leaf in _pytree.tree_leaves((args, dict(kwargs))) if isinstance(leaf, torch.Tensor)]
    inputs = [value for value in model.graph.inputs if not is_weight(value)]
    if len(tensors) != len(inputs):
        return None
    feeds = {}
    for value, tensor in zip(inputs, tensors, strict=True):
        array = _array(tensor)
        if array is None or value.shape is None or not _fits(value.shape, array.shape):
            return None
        feeds[value.name] = array
    return feeds


def _fits(wanted: Any, shape: tuple[int, ...]) -> bool:
    """Whether an input of this shape is taken: an open size that the model fixes was fixed for a larger example."""
    pairs = zip(wanted, shape, strict=False)
    return len(wanted) == len(shape) and all(size == given for size, given in pairs if isinstance(size, int))


def _array(tensor: torch.Tensor) -> Any:
    """As NumPy has it; None where it has no such type, or there are no values."""
    if is_hollow(tensor):
        return None
    try:
        return tensor.detach().cpu().numpy()
    except (TypeError, RuntimeError):
        return None


def _results(model: torch.nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any] | None:
    """What PyTorch gives, flat; None where it gives something else the second time, or what NumPy does not hold."""
    runs = []
    for _ in range(2):
        with torch.no_grad(), _left_as_it_was(model, (args, kwargs)):
            leaves = [leaf for leaf in _pytree.tree_leaves(model(*args, **kwargs)) if leaf is not None]
            if not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
                return None
            arrays = [_array(leaf) for leaf in leaves]
            if any(array is None for array in arrays):
                return None
            runs.append([array.copy() for array in arrays])  # a result can be the memory of a buffer that is put back
    return runs[0] if difference(runs[0], runs[1]) == 0 else None


def _still_fixed(model: ir.Model, options: OnnxOptions) -> list[str]:
    """The sizes that were to be left open, and that the model has fixed."""
    notes = []
    for text in options.dynamic:
        size = dynamic_size(text)
        inputs = [value for value in model.graph.inputs if not is_weight(value)]
        found = [
            value.shape[size.dimension]
            for value in inputs
            if size.input in (None, value.name) and value.shape is not None and len(value.shape) > size.dimension
        ]
        if found and all(isinstance(one, int) for one in found):
            notes.append(f"the size {size.name!r} is not open: the model itself fixes it at {found[0]}")
    return notes
