"""JSON text of schema `modgraph/1` -> `Graph`, with a clear message for every way in which it can be wrong.

It checks what it reads by itself, so that a graph loads where no JSON Schema library is installed. Fields that it does
not know are left alone: more may stand beside the fixed ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from modgraph.errors import GraphError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.distributed import LocalShape, RankDifference, RankValue, Sharding
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
    Shape,
    ShapeMismatch,
    SourceLocation,
    Statistics,
    TensorInfo,
)

SCHEMA = "modgraph/1"

MAX_RECORDS = 400_000
"""Modules, calls, operations and edges of one graph, all together: of more, nobody waits for a picture."""
MAX_DEPTH = 50
"""Lists and objects inside each other in the arguments of a module."""
_MAX_INTEGER = 2**128

T = TypeVar("T")
_ABSENT: Any = object()


def parse_graph(text: str) -> Graph:
    """The graph that `text` holds.

    Raises:
        GraphError: the text is no JSON, no graph of this schema, or a graph that contradicts itself.
    """
    document = _Fields(_parse_json(text), "")
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
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise GraphError(f"this is no JSON: {error.msg}", line=error.lineno, column=error.colno) from error
    except ValueError as error:
        raise GraphError(f"this is no JSON: {error}") from error
    except RecursionError as error:
        raise GraphError("this is no graph: it is nested too deeply") from error


def _check_schema(document: _Fields) -> None:
    schema = document.values.get("schema")
    if schema is None:
        raise GraphError('this is no graph of modgraph: it has no "schema"')
    if schema != SCHEMA:
        known = isinstance(schema, str) and schema.startswith("modgraph/")
        raise GraphError(
            f"the graph is of schema {schema!r}, and this version of modgraph reads {SCHEMA!r}",
            hint="read it with the version of modgraph that wrote it, or a newer one" if known else None,
        )


def _check_size(document: _Fields) -> None:
    held = (document.values.get(key) for key in ("modules", "calls", "operations", "edges"))
    number = sum(len(each) for each in held if isinstance(each, list))
    if number > MAX_RECORDS:
        raise GraphError(
            f"the graph is too large to be read: {number:,} modules, calls, operations and edges, more than "
            f"{MAX_RECORDS:,}"
        )


class _Fields:
    """The fields of one JSON object; each reader says in its error where the object stands and what was expected."""

    def __init__(self, values: Any, place: str) -> None:
        if not isinstance(values, dict):
            raise GraphError(f"{place or 'the document'}: expected an object, found {_named(values)}")
        self.values: dict[str, Any] = values
        self.place = place

    def read(self, key: str, expected: str, accepts: Callable[[Any], bool], default: Any = _ABSENT) -> Any:
        """The value of `key`, `default` where it is absent and one is given."""
        value = self.values.get(key, default)
        if value is _ABSENT:
            raise GraphError(f"{self._at(key)}: this field is missing")
        if value is not default and not accepts(value):
            raise GraphError(f"{self._at(key)}: expected {expected}, found {_named(value)}")
        return value

    def text(self, key: str, default: str = _ABSENT) -> str:
        value = self.values.get(key)
        return value if type(value) is str else cast(str, self.read(key, "a text", _is_text, default))

    def text_or_null(self, key: str, default: Any = _ABSENT) -> str | None:
        value = self.values.get(key)
        if type(value) is str:
            return value
        return cast("str | None", self.read(key, "a text or null", _IS_TEXT_OR_NULL, default))

    def choice(self, key: str, *choices: str, default: Any = _ABSENT) -> Any:
        expected = "one of " + ", ".join(json.dumps(choice) for choice in choices)
        return self.read(key, expected, lambda value: _is_text(value) and value in choices, default)

    def integer(self, key: str) -> int:
        return cast(int, self.read(key, "an integer of 128 bits", _is_integer))

    def integer_or_null(self, key: str, default: Any = _ABSENT) -> int | None:
        return cast("int | None", self.read(key, "an integer of 128 bits or null", _IS_INTEGER_OR_NULL, default))

    def flag(self, key: str, default: bool = _ABSENT) -> bool:
        value = self.values.get(key, default)
        return value if type(value) is bool else cast(bool, self.read(key, "true or false", _is_flag, default))

    def flag_or_null(self, key: str) -> bool | None:
        return cast("bool | None", self.read(key, "true, false or null", _IS_FLAG_OR_NULL))

    def number_or_null(self, key: str) -> float | None:
        value = self.read(key, 'a number, null, "NaN", "Infinity" or "-Infinity"', _is_statistic)
        return float(value) if isinstance(value, str) else cast("float | None", value)

    def shape(self, key: str) -> Shape | None:
        sizes = self.read(key, "a list of sizes (integer, text or null), or null", _IS_SHAPE_OR_NULL)
        return None if sizes is None else tuple(sizes)

    def integers(self, key: str) -> tuple[int, ...]:
        return tuple(self.read(key, "a list of integers", _ARE_INTEGERS))

    def ranks(self, key: str = "ranks") -> tuple[int, ...]:
        return self.integers_or_null(key) or ()

    def integers_or_null(self, key: str) -> tuple[int, ...] | None:
        if key not in self.values:
            return None
        numbers = self.read(key, "a list of integers", _ARE_INTEGERS, None)
        return None if numbers is None else tuple(numbers)

    def texts(self, key: str) -> tuple[str, ...]:
        if key not in self.values:
            return ()
        return tuple(self.read(key, "a list of texts", _ARE_TEXTS, []))

    def mapping(self, key: str) -> dict[str, Any]:
        found = cast("dict[str, Any]", self.read(key, "an object", _is_object))
        if found and _is_too_deep(found):
            raise GraphError(f"{self._at(key)}: nested more than {MAX_DEPTH} deep")
        return found

    def record(self, key: str) -> _Fields:
        return _Fields(self.read(key, "an object", _is_object), self._at(key))

    def record_or_null(self, key: str, parse: Callable[[_Fields], T], default: Any = _ABSENT) -> T | None:
        value = self.read(key, "an object or null", _IS_OBJECT_OR_NULL, default)
        return None if value is None else parse(_Fields(value, self._at(key)))

    def records(self, key: str, *, optional: bool = False) -> Iterator[_Fields]:
        values = self.read(key, "a list", _is_list, [] if optional else _ABSENT)
        for position, value in enumerate(values):
            yield _Fields(value, f"{self._at(key)}[{position}]")

    def tensors(self, key: str, *, optional: bool = False) -> tuple[TensorInfo, ...]:
        if self.values.get(key) == []:
            return ()
        return tuple(_tensor(fields) for fields in self.records(key, optional=optional))

    def _at(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_MAX_INTEGER <= value <= _MAX_INTEGER


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_too_deep(value: Any) -> bool:
    """Lists and objects stand in one another more than `MAX_DEPTH` deep."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [each for outer in level for each in (outer.values() if isinstance(outer, dict) else outer)]
        level = [each for each in level if isinstance(each, (dict, list))]
        if not level:
            return False
    return True


def _is_statistic(value: Any) -> bool:
    if value is None or value in ("NaN", "Infinity", "-Infinity"):
        return True
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and all(size is None or _is_text(size) or _is_integer(size) for size in value)


def _or_null(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or accepts(value)


def _is_list_of(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(accepts(entry) for entry in value)


_IS_TEXT_OR_NULL = _or_null(_is_text)
_IS_INTEGER_OR_NULL = _or_null(_is_integer)
_IS_FLAG_OR_NULL = _or_null(_is_flag)
_IS_SHAPE_OR_NULL = _or_null(_is_shape)
_IS_OBJECT_OR_NULL = _or_null(_is_object)
_ARE_INTEGERS = _is_list_of(_is_integer)
_ARE_TEXTS = _is_list_of(_is_text)


def _named(value: Any) -> str:
    """`value` in a message: what it is, and its text where that is short."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        if len(value) > 20 or any(isinstance(each, (dict, list)) for each in value):
            return "a list"
        return "a list" if len(str(value)) > 40 else f"the list {json.dumps(value, ensure_ascii=False)}"
    text = json.dumps(value[:100] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _model(fields: _Fields) -> ModelInfo:
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


def _model_input(fields: _Fields) -> ModelInput:
    return ModelInput(
        name=fields.text("name"),
        tensors=fields.tensors("tensors", optional=True),
        literal=fields.text_or_null("literal", None),
        origin=fields.choice("origin", "given", "example_inputs", "inferred"),
        rules=fields.texts("rules"),
    )


def _module(fields: _Fields) -> ModuleNode:
    return ModuleNode(
        path=fields.text("path"),
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


def _repeat(fields: _Fields) -> Repeat:
    return Repeat(group=fields.text("group"), count=fields.integer("count"))


def _held(fields: _Fields) -> dict[str, Any]:
    """What parameters and buffers have in common."""
    return {
        "name": fields.text("name"),
        "shape": fields.shape("shape"),
        "dtype": fields.text_or_null("dtype"),
        "alias_of": fields.text_or_null("alias_of", None),
        "sharding": fields.record_or_null("sharding", _sharding, None),
    }


def _sharding(fields: _Fields) -> Sharding:
    return Sharding(
        placements=fields.texts("placements"),
        mesh=fields.ranks("mesh"),
        local_shapes=tuple(
            LocalShape(rank=one.integer("rank"), shape=one.integers("shape")) for one in fields.records("local_shapes")
        ),
    )


def _hook(fields: _Fields) -> HookInfo:
    return HookInfo(kind=fields.text("kind"), name=fields.text("name"))


def _call(fields: _Fields) -> Call:
    return Call(
        index=fields.integer("index"),
        module=fields.text("module"),
        parent=fields.integer_or_null("parent"),
        inputs=fields.tensors("inputs"),
        outputs=fields.tensors("outputs"),
        source=fields.record_or_null("source", _source),
        error=fields.text_or_null("error"),
        direct=fields.flag("direct", False),
        recomputed=fields.flag("recomputed", False),
        ranks=fields.ranks(),
    )


def _tensor(fields: _Fields) -> TensorInfo:
    return TensorInfo(
        name=fields.text("name", ""),
        shape=fields.shape("shape"),
        dtype=fields.text_or_null("dtype"),
        device=fields.text_or_null("device", None),
        statistics=fields.record_or_null("statistics", _statistics, None),
        sharding=fields.record_or_null("sharding", _sharding, None),
    )


def _statistics(fields: _Fields) -> Statistics:
    return Statistics(
        mean=fields.number_or_null("mean"),
        std=fields.number_or_null("std"),
        min=fields.number_or_null("min"),
        max=fields.number_or_null("max"),
        numel=fields.integer_or_null("numel"),
        nan=fields.integer_or_null("nan", 0) or 0,
        inf=fields.integer_or_null("inf", 0) or 0,
    )


def _operation(fields: _Fields) -> Operation:
    return Operation(
        id=fields.text("id"),
        name=fields.text("name"),
        call=fields.integer_or_null("call"),
        source=fields.record_or_null("source", _source),
        ranks=fields.ranks(),
    )


def _edge(fields: _Fields) -> Edge:
    tensor = _tensor(fields.record("tensor"))
    return Edge(producer=fields.text("from"), consumer=fields.text("to"), tensor=tensor, ranks=fields.ranks())


def _gap(fields: _Fields) -> Gap:
    return Gap(
        kind=fields.text("kind"),
        call=fields.integer_or_null("call"),
        source=fields.record_or_null("source", _source),
    )


def _backward(fields: _Fields) -> BackwardRecord:
    return BackwardRecord(
        module=fields.text("module"),
        grad_inputs=fields.tensors("grad_inputs"),
        grad_outputs=fields.tensors("grad_outputs"),
        call=fields.integer_or_null("call", None),
    )


def _problem(fields: _Fields) -> Problem:
    return Problem(
        stage=fields.choice("stage", "predict", "trace", "merge", "export"),
        message=fields.text("message"),
        module=fields.text_or_null("module"),
        file=fields.text_or_null("file"),
        line=fields.integer_or_null("line"),
    )


def _finding(fields: _Fields) -> Finding:
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


def _checkpoint(fields: _Fields) -> CheckpointComparison:
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


def _mismatch(fields: _Fields) -> ShapeMismatch:
    return ShapeMismatch(
        key=fields.text("key"), model=fields.shape("model") or (), checkpoint=fields.integers("checkpoint")
    )


def _verification(fields: _Fields) -> Verification:
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


def _profile(fields: _Fields) -> Profile:
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


def _source(fields: _Fields) -> SourceLocation:
    return SourceLocation(file=fields.text("file"), line=fields.integer("line"))
