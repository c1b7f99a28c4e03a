"""A graph as JSON of schema `modgraph/1`, the same bytes every time; `parsing.py` reads it back.

`modgraph-1.schema.json` beside this file describes the form. The fixed fields are always there; a further one (`gaps`,
`direct`, `alias_of` of a parameter, `statistics`, ...) only where it says something. Statistics that are no finite
number are the texts "NaN", "Infinity" and "-Infinity", because JSON has no number for them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from modgraph.doors.data import MAX_GRAPH_MEMORY, TooLargeError, require_json_in_memory
from modgraph.doors.printing import json_text
from modgraph.doors.reading import GRAPH_BYTES, INSTEAD_OF_A_PIPE, irregular, read
from modgraph.errors import GraphError
from modgraph.graph.distributed import RankDifference, Sharding
from modgraph.graph.lfs import refuse_pointer
from modgraph.graph.measures import Profile, Verification
from modgraph.graph.model import (
    BackwardRecord,
    BufferInfo,
    Call,
    CheckpointComparison,
    Edge,
    Finding,
    Gap,
    Graph,
    HookInfo,
    ModelInfo,
    ModelInput,
    ModuleNode,
    Operation,
    ParameterInfo,
    Problem,
    Repeat,
    SourceLocation,
    Statistics,
    TensorInfo,
)
from modgraph.graph.parsing import SCHEMA, parse_graph

Record = dict[str, Any]

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)

LINE_WIDTH = 120
"""A record or list stands on one line where it fits into so many characters, else one entry to a line."""


def to_json(graph: Graph) -> str:
    """The graph as JSON text; equal graphs give equal text."""
    text = _dump(_graph_record(graph), indent=0, prefix=0) + "\n"
    return json_text(text)


def from_json(text: str) -> Graph:
    """The graph that `text` holds.

    Raises:
        GraphError: the text is no JSON, no graph of a schema known here, or a graph that contradicts itself.
    """
    return parse_graph(text)


def load(path: str | Path) -> Graph:
    """The graph saved in a JSON file.

    Raises:
        GraphError: the file cannot be read, or holds no graph of a schema known here.
    """
    try:
        data = read(path, GRAPH_BYTES)
        require_json_in_memory(data, MAX_GRAPH_MEMORY)
        text = data.decode("utf-8-sig")
        del data
    except OSError as error:
        raise unreadable(error, path) from error
    except TooLargeError as error:
        raise GraphError(f"this graph is not read: {error}", file=str(path)) from error
    except UnicodeDecodeError as error:
        raise GraphError("this is no graph: the file is not UTF-8 text", file=str(path)) from error
    try:
        return from_json(text)
    except GraphError as error:
        refuse_pointer(path)
        error.file = str(path)
        raise


def unreadable(error: OSError, path: str | Path) -> GraphError:
    """What is said of a graph that is not read."""
    if str(path) == "-":
        return GraphError("cannot read the graph: standard input is not read", hint=INSTEAD_OF_A_PIPE)
    hint = None if irregular(path) is None else INSTEAD_OF_A_PIPE
    return GraphError(f"cannot read the graph: {error.strerror or error}", file=str(path), hint=hint)


def schema() -> Record:
    """The published JSON Schema (draft 2020-12) of what `to_json` writes."""
    text = resources.files("modgraph.graph").joinpath("modgraph-1.schema.json").read_text(encoding="utf-8")
    loaded: Record = json.loads(text)
    return loaded


def _dump(value: Any, *, indent: int, prefix: int) -> str:
    """JSON text of `value`, which begins `prefix` characters after its line's `indent`."""
    is_plain = not isinstance(value, dict | list) or not value
    if is_plain or (indent and len(value) < LINE_WIDTH):  # an entry takes at least one character
        compact = _plain(value) if is_plain else _ENCODER.encode(value)
        if is_plain or indent + prefix + len(compact) < LINE_WIDTH:
            return compact
    inner = indent + 2
    if isinstance(value, dict):
        keys = [_key(key) for key in value]
        entries = [
            key + _dump(entry, indent=inner, prefix=len(key)) for key, entry in zip(keys, value.values(), strict=True)
        ]
        opening, closing = "{}"
    else:
        entries = [_dump(entry, indent=inner, prefix=0) for entry in value]
        opening, closing = "[]"
    separator = ",\n" + " " * inner
    return f"{opening}\n{' ' * inner}{separator.join(entries)}\n{' ' * indent}{closing}"


def _plain(value: Any) -> str:
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    return repr(value) if type(value) is int else _ENCODER.encode(value)


@lru_cache(maxsize=4096)
def _key(key: str) -> str:
    return _ENCODER.encode(key) + ": "


def _graph_record(graph: Graph) -> Record:
    record: Record = {
        "schema": SCHEMA,
        "model": _model(graph.model),
        "complete": graph.complete,
        "problems": [_problem(problem) for problem in graph.problems],
        "modules": [_module(node) for node in graph.modules],
        "calls": [_call(call) for call in graph.calls],
        "operations": [_operation(operation) for operation in graph.operations],
        "edges": [_edge(edge) for edge in graph.edges],
    }
    if graph.gaps:
        record["gaps"] = [_gap(gap) for gap in graph.gaps]
    record["backward"] = [_backward(entry) for entry in graph.backward]
    if graph.parameter_gradients:
        record["parameter_gradients"] = [_tensor(tensor) for tensor in graph.parameter_gradients]
    record["findings"] = [_finding(finding) for finding in graph.findings]
    if graph.checkpoint is not None:
        record["checkpoint"] = _checkpoint(graph.checkpoint)
    if graph.verification is not None:
        record["verification"] = _verification(graph.verification)
    if graph.profile is not None:
        record["profile"] = _profile(graph.profile)
    if graph.rank_differences:
        record["rank_differences"] = [_rank_difference(one) for one in graph.rank_differences]
    return record


def _model(model: ModelInfo) -> Record:
    record: Record = {
        "name": model.name,
        "class": model.class_name,
        "target": model.target,
        "parameters": model.parameters,
        "trainable_parameters": model.trainable_parameters,
        "buffers": model.buffers,
    }
    if model.inputs:
        record["inputs"] = [_model_input(given) for given in model.inputs]
    if model.hooks:
        record["hooks"] = [_hook(hook) for hook in model.hooks]
    if model.mode is not None:
        record["mode"] = model.mode
    if model.device is not None:
        record["device"] = model.device
    if model.ranks:
        record["ranks"] = list(model.ranks)
    if model.world_size is not None:
        record["world_size"] = model.world_size
    return record


def _model_input(given: ModelInput) -> Record:
    record: Record = {"name": given.name, "origin": given.origin}
    if given.tensors:
        record["tensors"] = [_tensor(tensor) for tensor in given.tensors]
    if given.literal is not None:
        record["literal"] = given.literal
    if given.rules:
        record["rules"] = list(given.rules)
    return record


def _module(node: ModuleNode) -> Record:
    record: Record = {
        "path": node.path,
        "class": node.class_name,
        "predicted": node.predicted,
        "observed": node.observed,
        "registered": node.registered,
        "alias_of": node.alias_of,
        "calls": list(node.calls),
        "repeat": None if node.repeat is None else _repeat(node.repeat),
        "parameters": [_held(parameter, "trainable") for parameter in node.parameters],
        "buffers": [_held(buffer, "persistent") for buffer in node.buffers],
        "hooks": [_hook(hook) for hook in node.hooks],
        "arguments": {name: _argument(value) for name, value in node.arguments.items()},
        "source": _source(node.source),
    }
    if node.made_in_forward:
        record["made_in_forward"] = True
    if node.own_state_dict:
        record["own_state_dict"] = True
    if node.extra_state:
        record["extra_state"] = list(node.extra_state)
    if node.unknown_arguments:
        record["unknown_arguments"] = list(node.unknown_arguments)
    if node.wrappers:
        record["wrappers"] = list(node.wrappers)
    if node.ranks is not None:
        record["ranks"] = list(node.ranks)
    return record


def _repeat(repeat: Repeat) -> Record:
    return {"group": repeat.group, "count": repeat.count}


def _held(held: ParameterInfo | BufferInfo, flag: str) -> Record:
    record: Record = {
        "name": held.name,
        "shape": _shape(held.shape),
        "dtype": held.dtype,
        flag: getattr(held, flag),
    }
    if held.alias_of is not None:
        record["alias_of"] = held.alias_of
    if held.sharding is not None:
        record["sharding"] = _sharding(held.sharding)
    return record


def _rank_difference(one: RankDifference) -> Record:
    record: Record = {"module": one.module, "message": one.message}
    if one.about:
        record["about"] = one.about
    if one.values:
        record["values"] = [{"rank": value.rank, "text": value.text} for value in one.values]
    return record


def _sharding(sharding: Sharding) -> Record:
    record: Record = {"placements": list(sharding.placements)}
    if sharding.mesh:
        record["mesh"] = list(sharding.mesh)
    record["local_shapes"] = [{"rank": one.rank, "shape": list(one.shape)} for one in sharding.local_shapes]
    return record


def _hook(hook: HookInfo) -> Record:
    return {"kind": hook.kind, "name": hook.name}


def _argument(value: Any) -> Any:
    """`value` as a JSON value: numbers that are not finite, and what is no JSON value, as `{"$repr": ...}`."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$repr": repr(value)}
    if isinstance(value, list | tuple):
        return [_argument(entry) for entry in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _argument(entry) for key, entry in value.items()}
    # Its own repr may hold an address; the name of its type never does.
    return {"$repr": f"<{type(value).__qualname__}>"}


def _call(call: Call) -> Record:
    record: Record = {
        "index": call.index,
        "module": call.module,
        "parent": call.parent,
        "inputs": [_tensor(tensor) for tensor in call.inputs],
        "outputs": [_tensor(tensor) for tensor in call.outputs],
        "source": _source(call.source),
        "error": call.error,
    }
    if call.direct:
        record["direct"] = True
    if call.recomputed:
        record["recomputed"] = True
    return record | _ranks(call.ranks)


def _ranks(ranks: tuple[int, ...]) -> Record:
    return {"ranks": list(ranks)} if ranks else {}


def _tensor(tensor: TensorInfo) -> Record:
    record: Record = {
        "name": tensor.name,
        "shape": _shape(tensor.shape),
        "dtype": tensor.dtype,
        "device": tensor.device,
    }
    if tensor.statistics is not None:
        record["statistics"] = _statistics(tensor.statistics)
    if tensor.sharding is not None:
        record["sharding"] = _sharding(tensor.sharding)
    return record


def _edge(edge: Edge) -> Record:
    """The ends and the tensor; its shape and dtype are what is fixed here, the rest stands where it is known."""
    tensor: Record = {"shape": _shape(edge.tensor.shape), "dtype": edge.tensor.dtype}
    if edge.tensor.name:
        tensor["name"] = edge.tensor.name
    if edge.tensor.device is not None:
        tensor["device"] = edge.tensor.device
    if edge.tensor.statistics is not None:
        tensor["statistics"] = _statistics(edge.tensor.statistics)
    if edge.tensor.sharding is not None:
        tensor["sharding"] = _sharding(edge.tensor.sharding)
    return {"from": edge.producer, "to": edge.consumer, "tensor": tensor} | _ranks(edge.ranks)


def _statistics(statistics: Statistics) -> Record:
    record: Record = {
        "mean": _number(statistics.mean),
        "std": _number(statistics.std),
        "min": _number(statistics.min),
        "max": _number(statistics.max),
        "numel": statistics.numel,
    }
    for name, count in (("nan", statistics.nan), ("inf", statistics.inf)):
        if count:
            record[name] = count
    return record


def _number(value: float | None) -> float | str | None:
    if value is None or math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _operation(operation: Operation) -> Record:
    return {
        "id": operation.id,
        "name": operation.name,
        "call": operation.call,
        "source": _source(operation.source),
    } | _ranks(operation.ranks)


def _gap(gap: Gap) -> Record:
    return {"kind": gap.kind, "call": gap.call, "source": _source(gap.source)}


def _backward(record: BackwardRecord) -> Record:
    written: Record = {
        "module": record.module,
        "grad_inputs": [_tensor(tensor) for tensor in record.grad_inputs],
        "grad_outputs": [_tensor(tensor) for tensor in record.grad_outputs],
    }
    if record.call is not None:
        written["call"] = record.call
    return written


def _problem(problem: Problem) -> Record:
    return {
        "stage": problem.stage,
        "message": problem.message,
        "module": problem.module,
        "file": problem.file,
        "line": problem.line,
    }


def _finding(finding: Finding) -> Record:
    """Without what is about the text of the file alone: the fix, and further places in it."""
    record: Record = {
        "code": finding.code,
        "message": finding.message,
        "file": finding.file,
        "line": finding.line,
        "module": finding.module,
    }
    further: Record = {
        "name": finding.name or None,
        "severity": None if finding.severity == "warning" else finding.severity,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "class": finding.class_name,
        "attribute": finding.attribute,
    }
    return record | {name: value for name, value in further.items() if value is not None}


def _checkpoint(found: CheckpointComparison) -> Record:
    record: Record = {
        "file": found.file,
        "entry": found.entry,
        "prefix": found.prefix,
        "fits": found.fits,
        "matching": found.matching,
        "missing": list(found.missing),
        "unexpected": list(found.unexpected),
        "mismatched": [
            {"key": one.key, "model": _shape(one.model), "checkpoint": list(one.checkpoint)} for one in found.mismatched
        ],
        "tied": list(found.tied),
        "undecided": list(found.undecided),
    }
    if found.not_tensors:
        record["not_tensors"] = list(found.not_tensors)
    return record


def _verification(found: Verification) -> Record:
    return {
        "proven": found.proven,
        "steps": found.steps,
        "repeated": found.repeated,
        "identical": found.identical,
        "unused": found.unused,
        "outputs": found.outputs,
        "gaps": found.gaps,
        "not_repeated": [{"node": one.node, "reason": one.reason} for one in found.not_repeated],
        "differences": [{"node": one.node, "output": one.output, "message": one.message} for one in found.differences],
    }


def _profile(found: Profile) -> Record:
    return {
        "flops": found.flops,
        "seconds": found.seconds,
        "not_counted": [{"operator": name, "count": count} for name, count in found.not_counted],
        "problem": found.problem,
        "calls": [
            {"call": one.call, "flops": one.flops, "seconds": one.seconds, "allocated": one.allocated}
            for one in found.calls
        ],
    }


def _shape(shape: tuple[int | str | None, ...] | None) -> list[int | str | None] | None:
    return None if shape is None else list(shape)


def _source(source: SourceLocation | None) -> Record | None:
    return None if source is None else {"file": source.file, "line": source.line}
