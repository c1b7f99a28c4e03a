"""JSON text of schema `modgraph/1` -> `Graph`, with a clear message for every way in which it can be wrong.

It checks what it reads by itself, so that a graph loads where no JSON Schema library is installed. Fields that it does
not know are left alone: more may stand beside the fixed ones.
"""

from __future__ import annotations

import json
from typing import Any

from modgraph.doors.data import MAX_GRAPH_MEMORY, TooLargeError, read_json
from modgraph.errors import GraphError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.distributed import LocalShape, RankDifference, RankValue, Sharding
from modgraph.graph.json_fields import Fields
from modgraph.graph.measures import CallCost, Difference, NotRepeated, Profile, Verification
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
    ShapeMismatch,
    SourceLocation,
    Statistics,
    TensorInfo,
)

SCHEMA = "modgraph/1"

MAX_RECORDS = 400_000
"""Modules, calls, operations and edges of one graph, all together: of more, nobody waits for a picture. Modules take
most room; of these, a file that is read (`reading.GRAPH_BYTES`) holds some 200,000."""
MAX_LEVELS = 1_000
"""Modules inside each other; Python itself follows no more."""


def parse_graph(text: str) -> Graph:
    """The graph that `text` holds.

    Raises:
        GraphError: the text is no JSON, no graph of this schema, or a graph that contradicts itself.
    """
    document = Fields(_parse_json(text), "")
    _check_schema(document)
    _check_size(document)
    builder = GraphBuilder(_model(document.record("model")))
    builder.problems.extend(_problem(fields) for fields in document.records("problems"))
    builder.modules.extend(_module(fields) for fields in document.records("modules"))
    builder.calls.extend(_call(fields) for fields in document.records("calls"))
    builder.operations.extend(_operation(fields) for fields in document.records("operations"))
    builder.edges.extend(_edge(fields) for fields in document.records("edges"))
    builder.gaps.extend(_gap(fields) for fields in document.records("gaps", optional=True))
    builder.backward.extend(_backward(fields) for fields in document.records("backward"))
    builder.parameter_gradients.extend(
        _tensor(fields) for fields in document.records("parameter_gradients", optional=True)
    )
    builder.findings.extend(_finding(fields) for fields in document.records("findings"))
    builder.checkpoint = document.record_or_null("checkpoint", _checkpoint, None)
    builder.verification = document.record_or_null("verification", _verification, None)
    builder.profile = document.record_or_null("profile", _profile, None)
    builder.rank_differences.extend(
        RankDifference(
            module=one.text("module"),
            message=one.text("message"),
            about=one.text("about", ""),
            values=tuple(
                RankValue(rank=value.integer("rank"), text=value.text("text"))
                for value in one.records("values", optional=True)
            ),
        )
        for one in document.records("rank_differences", optional=True)
    )
    graph = builder.build()
    if document.flag("complete") != graph.complete:
        raise GraphError(
            f"complete: is {str(not graph.complete).lower()}, and there are {len(graph.problems)} problems"
        )
    return graph


def _parse_json(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON number")

    try:
        return read_json(text, MAX_GRAPH_MEMORY, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise GraphError(f"this is no JSON: {error.msg}", line=error.lineno, column=error.colno) from error
    except TooLargeError as error:
        raise GraphError(f"this graph is not read: {error}") from error
    except ValueError as error:
        raise GraphError(f"this is no JSON: {error}") from error


def _check_schema(document: Fields) -> None:
    schema = document.values.get("schema")
    if schema is None:
        raise GraphError('this is no graph of modgraph: it has no "schema"')
    if schema != SCHEMA:
        known = isinstance(schema, str) and schema.startswith("modgraph/")
        raise GraphError(
            f"the graph is of schema {schema!r}, and this version of modgraph reads {SCHEMA!r}",
            hint="read it with the version of modgraph that wrote it, or a newer one" if known else None,
        )


def _check_size(document: Fields) -> None:
    held = (document.values.get(key) for key in ("modules", "calls", "operations", "edges"))
    number = sum(len(each) for each in held if isinstance(each, list))
    if number > MAX_RECORDS:
        raise GraphError(
            f"the graph is too large to be read: {number:,} modules, calls, operations and edges, more than "
            f"{MAX_RECORDS:,}"
        )


def _tensors(fields: Fields, key: str, *, optional: bool = False) -> tuple[TensorInfo, ...]:
    if fields.values.get(key) == []:
        return ()
    return tuple(_tensor(each) for each in fields.records(key, optional=optional))


def _model(fields: Fields) -> ModelInfo:
    return ModelInfo(
        name=fields.text("name"),
        class_name=fields.text_or_null("class"),
        target=fields.text_or_null("target"),
        parameters=fields.integer_or_null("parameters"),
        trainable_parameters=fields.integer_or_null("trainable_parameters"),
        buffers=fields.integer_or_null("buffers"),
        inputs=tuple(_model_input(given) for given in fields.records("inputs", optional=True)),
        hooks=tuple(_hook(hook) for hook in fields.records("hooks", optional=True)),
        mode=fields.choice("mode", "eval", "train", default=None),
        device=fields.text_or_null("device", None),
        ranks=fields.ranks(),
        world_size=fields.integer_or_null("world_size", None),
    )


def _model_input(fields: Fields) -> ModelInput:
    return ModelInput(
        name=fields.text("name"),
        tensors=_tensors(fields, "tensors", optional=True),
        literal=fields.text_or_null("literal", None),
        origin=fields.choice("origin", "given", "example_inputs", "inferred"),
        rules=fields.texts("rules"),
    )


def _module(fields: Fields) -> ModuleNode:
    path = fields.text("path")
    if path.count(".") >= MAX_LEVELS:
        raise GraphError(f"{fields.place}.path: more than {MAX_LEVELS:,} modules inside each other, which is not read")
    return ModuleNode(
        path=path,
        class_name=fields.text_or_null("class"),
        predicted=fields.flag_or_null("predicted"),
        observed=fields.flag_or_null("observed"),
        registered=fields.flag("registered"),
        alias_of=fields.text_or_null("alias_of"),
        made_in_forward=fields.flag("made_in_forward", False),
        own_state_dict=fields.flag("own_state_dict", False),
        extra_state=fields.texts("extra_state"),
        calls=fields.integers("calls"),
        repeat=fields.record_or_null("repeat", _repeat),
        parameters=tuple(
            ParameterInfo(**_held(each), trainable=each.flag_or_null("trainable"))
            for each in fields.records("parameters")
        ),
        buffers=tuple(
            BufferInfo(**_held(each), persistent=each.flag_or_null("persistent")) for each in fields.records("buffers")
        ),
        hooks=tuple(_hook(hook) for hook in fields.records("hooks")),
        arguments=fields.mapping("arguments"),
        unknown_arguments=fields.texts("unknown_arguments"),
        wrappers=fields.texts("wrappers"),
        ranks=fields.integers_or_null("ranks"),
        source=fields.record_or_null("source", _source),
    )


def _repeat(fields: Fields) -> Repeat:
    return Repeat(group=fields.text("group"), count=fields.integer("count"))


def _held(fields: Fields) -> dict[str, Any]:
    """What parameters and buffers have in common."""
    return {
        "name": fields.text("name"),
        "shape": fields.shape("shape"),
        "dtype": fields.text_or_null("dtype"),
        "alias_of": fields.text_or_null("alias_of", None),
        "sharding": fields.record_or_null("sharding", _sharding, None),
    }


def _sharding(fields: Fields) -> Sharding:
    return Sharding(
        placements=fields.texts("placements"),
        mesh=fields.ranks("mesh"),
        local_shapes=tuple(
            LocalShape(rank=one.integer("rank"), shape=one.integers("shape")) for one in fields.records("local_shapes")
        ),
    )


def _hook(fields: Fields) -> HookInfo:
    return HookInfo(kind=fields.text("kind"), name=fields.text("name"))


def _call(fields: Fields) -> Call:
    return Call(
        index=fields.integer("index"),
        module=fields.text("module"),
        parent=fields.integer_or_null("parent"),
        inputs=_tensors(fields, "inputs"),
        outputs=_tensors(fields, "outputs"),
        source=fields.record_or_null("source", _source),
        error=fields.text_or_null("error"),
        direct=fields.flag("direct", False),
        recomputed=fields.flag("recomputed", False),
        ranks=fields.ranks(),
    )


def _tensor(fields: Fields) -> TensorInfo:
    return TensorInfo(
        name=fields.text("name", ""),
        shape=fields.shape("shape"),
        dtype=fields.text_or_null("dtype"),
        device=fields.text_or_null("device", None),
        statistics=fields.record_or_null("statistics", _statistics, None),
        sharding=fields.record_or_null("sharding", _sharding, None),
    )


def _statistics(fields: Fields) -> Statistics:
    return Statistics(
        mean=fields.number_or_null("mean"),
        std=fields.number_or_null("std"),
        min=fields.number_or_null("min"),
        max=fields.number_or_null("max"),
        numel=fields.integer_or_null("numel"),
        nan=fields.integer_or_null("nan", 0) or 0,
        inf=fields.integer_or_null("inf", 0) or 0,
    )


def _operation(fields: Fields) -> Operation:
    return Operation(
        id=fields.text("id"),
        name=fields.text("name"),
        call=fields.integer_or_null("call"),
        source=fields.record_or_null("source", _source),
        ranks=fields.ranks(),
    )


def _edge(fields: Fields) -> Edge:
    tensor = _tensor(fields.record("tensor"))
    return Edge(producer=fields.text("from"), consumer=fields.text("to"), tensor=tensor, ranks=fields.ranks())


def _gap(fields: Fields) -> Gap:
    return Gap(
        kind=fields.text("kind"),
        call=fields.integer_or_null("call"),
        source=fields.record_or_null("source", _source),
    )


def _backward(fields: Fields) -> BackwardRecord:
    return BackwardRecord(
        module=fields.text("module"),
        grad_inputs=_tensors(fields, "grad_inputs"),
        grad_outputs=_tensors(fields, "grad_outputs"),
        call=fields.integer_or_null("call", None),
    )


def _problem(fields: Fields) -> Problem:
    return Problem(
        stage=fields.choice("stage", "predict", "trace", "merge", "export"),
        message=fields.text("message"),
        module=fields.text_or_null("module"),
        file=fields.text_or_null("file"),
        line=fields.integer_or_null("line"),
    )


def _finding(fields: Fields) -> Finding:
    return Finding(
        code=fields.text("code"),
        message=fields.text("message"),
        file=fields.text_or_null("file"),
        line=fields.integer_or_null("line"),
        module=fields.text_or_null("module"),
        name=fields.text("name", ""),
        severity=fields.choice("severity", "error", "warning", "info", default="warning"),
        column=fields.integer_or_null("column", None),
        end_line=fields.integer_or_null("end_line", None),
        end_column=fields.integer_or_null("end_column", None),
        class_name=fields.text_or_null("class", None),
        attribute=fields.text_or_null("attribute", None),
    )


def _checkpoint(fields: Fields) -> CheckpointComparison:
    return CheckpointComparison(
        file=fields.text("file"),
        entry=fields.text("entry"),
        prefix=fields.text("prefix"),
        matching=fields.integer("matching"),
        missing=fields.texts("missing"),
        unexpected=fields.texts("unexpected"),
        mismatched=tuple(_mismatch(one) for one in fields.records("mismatched")),
        tied=fields.texts("tied"),
        undecided=fields.texts("undecided"),
        not_tensors=fields.texts("not_tensors"),
    )


def _mismatch(fields: Fields) -> ShapeMismatch:
    return ShapeMismatch(
        key=fields.text("key"), model=fields.shape("model") or (), checkpoint=fields.integers("checkpoint")
    )


def _verification(fields: Fields) -> Verification:
    return Verification(
        steps=fields.integer("steps"),
        repeated=fields.integer("repeated"),
        identical=fields.integer("identical"),
        unused=fields.integer("unused"),
        outputs=fields.integer("outputs"),
        gaps=fields.integer("gaps"),
        not_repeated=tuple(
            NotRepeated(node=one.text("node"), reason=one.text("reason")) for one in fields.records("not_repeated")
        ),
        differences=tuple(
            Difference(node=one.text("node"), output=one.text("output"), message=one.text("message"))
            for one in fields.records("differences")
        ),
    )


def _profile(fields: Fields) -> Profile:
    return Profile(
        flops=fields.integer("flops"),
        seconds=fields.number_or_null("seconds"),
        not_counted=tuple((one.text("operator"), one.integer("count")) for one in fields.records("not_counted")),
        problem=fields.text_or_null("problem"),
        calls=tuple(
            CallCost(
                call=one.integer("call"),
                flops=one.integer("flops"),
                seconds=one.number_or_null("seconds"),
                allocated=one.integer_or_null("allocated"),
            )
            for one in fields.records("calls")
        ),
    )


def _source(fields: Fields) -> SourceLocation:
    return SourceLocation(file=fields.text("file"), line=fields.integer("line"))
