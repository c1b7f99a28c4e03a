"""A captured model -> an ONNX file that runs: hierarchical where that can be proven, flat otherwise, and checked.

The file is written where the model was captured; nothing half-made is left if it cannot be finished.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modgraph._version import __version__
from modgraph.errors import ExportError
from modgraph.export.look.labels import shape_text
from modgraph.export.onnx.cut import SCOPE, scope_of
from modgraph.export.onnx.regroup import WEIGHT, ModuleFacts, clone_constants, is_weight, regroup
from modgraph.export.onnx.verify import check_file, close, difference, is_random, prove, run_file, without_paths
from modgraph.graph.onnx_types import dtype_of
from modgraph.names import last_name
from modgraph.options import OnnxOptions

if TYPE_CHECKING:
    import onnx_ir as ir

MAX_EMBEDDED = 1_900_000_000
"""Bytes of weights that fit into a file of protobuf, which ends at 2 GiB."""
MAX_NAMED = 3
"""Buffers and missing weights that a note names; the metadata of the file names all."""
MAX_RUN = 500_000_000
"""Bytes of weights up to which the file is run, which takes a few times their memory."""


@dataclass(slots=True)
class Captured:
    """What a capture has found out, beside the flat model."""

    rung: str = "plain"
    attempts: list[tuple[str, str]] = field(default_factory=list)
    """Rungs that failed, and why."""
    parameters: set[str] = field(default_factory=set)
    buffers: set[str] = field(default_factory=set)
    mutated: tuple[str, ...] = ()
    torch: str = ""
    mode: str = "eval"
    facts: ModuleFacts = field(default_factory=ModuleFacts)
    feeds: Mapping[str, Any] | None = None
    """Example inputs by name; None where there are none with values."""
    expected: list[Any] | None = None
    """What PyTorch gives for them; None where that cannot be said."""
    literals: Mapping[str, Any] = field(default_factory=dict)
    """Numbers and texts among the results, by the names that outputs in their places would have."""
    missing_weights: list[str] = field(default_factory=list)
    """Weights that were not there when the model was built: in their places are random ones."""


@dataclass(slots=True)
class Report:
    """What was written."""

    tier: str
    rung: str
    weights: str
    calls: int = 0
    functions: int = 0
    reason: str | None = None
    """Why it is not the tier above."""
    difference: float | None = None
    """From what PyTorch gives, relative; None where it was not run."""
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def write_runnable(flat: ir.Model, captured: Captured, options: OnnxOptions, path: Path) -> Report:
    """Write the file, and beside it `path`.data where its weights are external.

    Raises:
        ExportError: not even the flat model holds up to the checker, or gives PyTorch's results.
    """
    import onnx_ir

    clone_constants(flat.graph, captured.parameters, onnx_ir)
    report = Report(tier="A", rung=captured.rung, weights=_settle_weights(flat.graph, captured.parameters, options))
    if _weight_bytes(flat.graph) > MAX_RUN:
        captured = replace(captured, feeds=None)
    report.notes.extend(_reservations(_state(flat.graph, captured.mutated), captured, report))
    with _nothing_left(path):
        try:
            model = _grouped(flat, captured, options, report)
            _write(model, captured, report, path)
            _run(flat, captured, report, path, and_flat=True)
        except ExportError as error:
            report.tier, report.reason = "B", f"the functions did not hold: {error.message}"
            report.calls = report.functions = 0
            _write(_flat_model(flat, captured), captured, report, path)
            _run(flat, captured, report, path, and_flat=False)
    return report


def _reservations(state: list[str], captured: Captured, report: Report) -> Iterator[str]:
    """What whoever runs the file has to know."""
    if state:
        one = len(state) == 1
        buffers, them = (f"buffer {_some(state)}", "it") if one else (f"{len(state)} buffers ({_some(state)})", "them")
        yield (
            f"the file runs, and each run begins with the {buffers} as saved: ONNX keeps no state, so what a run writes"
            f" into {them} is lost; to keep it, take {them} as an input of forward and return {them}"
        )
    if captured.missing_weights and report.weights != "none":
        missing = _some(captured.missing_weights)
        yield f"the ONNX file holds random weights, as those of the model were not there: {missing}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:MAX_NAMED]) + (", ..." if len(names) > MAX_NAMED else "")


def _state(graph: ir.Graph, mutated: Iterable[str]) -> list[str]:
    """The written buffers from which outputs are computed too: another run of the model gives something else."""
    weights = {**graph.initializers, **{value.name or "": value for value in graph.inputs}}
    return [name for name in mutated if name in weights and weights[name].uses()]


def _grouped(flat: ir.Model, captured: Captured, options: OnnxOptions, report: Report) -> ir.Model:
    import onnx_ir

    try:
        grouped = regroup(flat, captured.facts, options, onnx_ir)
        prove(flat, grouped.model)
    except ExportError:
        raise
    except Exception as error:  # a defect of ours, or of a pass: the flat model does without
        raise ExportError(without_paths(f"{type(error).__name__}: {error}")[:300]) from error
    report.calls, report.functions = grouped.calls, grouped.functions
    return grouped.model


def _flat_model(flat: ir.Model, captured: Captured) -> ir.Model:
    """The flat model, with the module's path on every node, and the calls around it."""
    classes: dict[str, str] = {}
    reached: set[str] = set()
    for node in flat.graph:
        scope = scope_of(node)
        reached.update(place.text for place in scope)
        node.metadata_props.clear()
        if scope:
            classes.update((place.path, place.class_name) for place in scope)
            node.metadata_props["modgraph.module"] = scope[-1].path
            node.metadata_props["modgraph.class"] = scope[-1].class_name
            node.metadata_props["modgraph.calls"] = json.dumps([place.text for place in scope])
            node.metadata_props.update(captured.facts.calls.get(scope[-1].text, {}))
    flat.metadata_props["modgraph.classes"] = json.dumps({**captured.facts.modules, **classes})
    flat.metadata_props["modgraph.children"] = json.dumps(dict(captured.facts.tree))
    flat.metadata_props.update(captured.facts.of_file(reached))
    return flat


def _settle_weights(graph: ir.Graph, parameters: set[str], options: OnnxOptions) -> str:
    """Where the weights go; those that go nowhere become inputs."""
    if options.weights == "none":
        for name in [name for name in graph.initializers if name in parameters]:
            value = graph.initializers.pop(name)
            value.const_value = None
            value.metadata_props[WEIGHT] = "true"
            graph.inputs.append(value)
    if any(is_weight(value) for value in graph.inputs):
        return "none"
    return "external" if options.weights == "external" or _weight_bytes(graph) > MAX_EMBEDDED else "embed"


def _weight_bytes(graph: ir.Graph) -> int:
    return sum(value.const_value.nbytes for value in graph.initializers.values() if value.const_value is not None)


def _write(model: ir.Model, captured: Captured, report: Report, path: Path) -> None:
    import onnx_ir

    model.producer_name, model.producer_version = "modgraph", __version__
    model.graph.name = last_name(captured.facts.class_name) or "model"
    model.ir_version = max(10, model.ir_version)
    model.metadata_props.update(_model_facts(model, captured, report))
    for node in model.graph.all_nodes():
        node.metadata_props.pop(SCOPE, None)
    if report.weights == "external":
        onnx_ir.save(model, path, external_data=f"{path.name}.data", size_threshold_bytes=0)
    else:
        onnx_ir.save(model, path)
    check_file(path)


def _model_facts(model: ir.Model, captured: Captured, report: Report) -> dict[str, str]:
    inputs = {value.name: _described(value) for value in model.graph.inputs if not is_weight(value)}
    facts = {
        "modgraph.kind": "executable",
        "modgraph.tier": report.tier,
        "modgraph.version": __version__,
        "modgraph.weights": report.weights,
        "modgraph.class": captured.facts.class_name,
        "modgraph.mode": captured.mode,
        "modgraph.torch": captured.torch,
        "modgraph.rung": captured.rung,
        "modgraph.inputs": json.dumps(inputs, ensure_ascii=False),
    }
    weights = [value.name for value in (*model.graph.inputs, *model.graph.initializers.values())]
    facts["modgraph.buffers"] = json.dumps([name for name in weights if name in captured.buffers])
    if captured.facts.parameters is not None:
        facts["modgraph.parameters"] = str(captured.facts.parameters)
    if captured.literals:
        facts["modgraph.literals"] = json.dumps(captured.literals)
    if captured.missing_weights and report.weights != "none":
        facts["modgraph.missing_weights"] = json.dumps(captured.missing_weights, ensure_ascii=False)
    if captured.attempts:
        facts["modgraph.attempts"] = json.dumps(captured.attempts)
    if report.reason:
        facts["modgraph.reason"] = report.reason
    if captured.mutated:
        facts["modgraph.mutated_buffers"] = json.dumps(captured.mutated)
    return facts


def _described(value: ir.Value) -> str:
    """ "float32[batch×4]", as structural files have it."""
    sizes = None if value.shape is None else [size if isinstance(size, int) else size.value for size in value.shape]
    dtype = "?" if value.dtype is None else dtype_of(value.dtype.name)
    return f"{dtype}[{shape_text(None if sizes is None else tuple(sizes))}]"


def _run(flat: ir.Model, captured: Captured, report: Report, path: Path, *, and_flat: bool) -> None:
    """Run the file where that is possible, and compare: with PyTorch, or else, with `and_flat`, with the flat model.

    Raises:
        ExportError: what it gives is something else.
    """
    feeds = captured.feeds
    if report.weights == "none" or feeds is None:
        return
    got = run_file(path, feeds)
    if got is None:
        return
    expected, of = captured.expected, "PyTorch"
    if expected is None and and_flat and not is_random(flat.graph):
        expected, of = _run_flat(flat, feeds, path), "the flat model"
    if expected is None:
        return
    apart = difference(got, expected)
    if not apart <= close(flat.graph) * (10 if of == "PyTorch" else 1):
        raise ExportError(f"in ONNX Runtime its results differ from those of {of} by {apart:.2g} of the greatest value")
    report.difference = apart if of == "PyTorch" else None


def _run_flat(flat: ir.Model, feeds: Mapping[str, Any], path: Path) -> list[Any] | None:
    import onnx_ir

    beside = path.with_name(f"{path.name}.flat")
    try:
        onnx_ir.save(flat, beside)
        return run_file(beside, feeds)
    finally:
        beside.unlink(missing_ok=True)


@contextlib.contextmanager
def _nothing_left(path: Path) -> Any:
    """Remove the files of a failed export."""
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}.data").unlink(missing_ok=True)
        raise
