"""The objects of schema `modgraph/1`: the keys of each, in their order, and what may stand there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

from modgraph.graph.codec import Codec, Form, MisfitError
from modgraph.graph.distributed import LocalShape, RankDifference, RankValue, Sharding
from modgraph.graph.measures import CallCost, Difference, NotRepeated, Profile, Verification
from modgraph.graph.model import (
    ArgumentsFrom,
    BackwardRecord,
    BufferInfo,
    Call,
    CheckpointComparison,
    Condition,
    Edge,
    Finding,
    Gap,
    Graph,
    HookInfo,
    LeftOut,
    ModelInfo,
    ModelInput,
    ModuleNode,
    OpenPlace,
    Operation,
    OtherArguments,
    ParameterInfo,
    Problem,
    Repeat,
    Shape,
    ShapeMismatch,
    SourceLocation,
    Statistics,
    Surroundings,
    TensorInfo,
)
from modgraph.graph.no_gradient import WithoutGradient
from modgraph.graph.nonfinite import NonFinite
from modgraph.graph.stored import Stored, StoredDtype
from modgraph.graph.suggestions import SuggestedEntry, Suggestion

MAX_DEPTH = 50
"""Lists and objects inside each other in the arguments of a module."""
_MAX_INTEGER = 2**128


@dataclass(frozen=True)
class _NotCounted:
    """An entry of `Profile.not_counted`."""

    operator: str
    count: int


KEYS: dict[Any, str] = {
    Graph: "model complete problems modules calls operations edges gaps? backward parameter_gradients? "
    "without_gradient? nonfinite? findings checkpoint? verification? profile? stored? rank_differences? suggestions?",
    ModelInfo: "name class:class_name target parameters trainable_parameters buffers inputs? hooks? mode? device? "
    "backward? ranks? world_size? arguments_from? assumed? no_calls? open_shapes? open_ways? absent_packages? "
    "missing_weights? left_out?",
    Surroundings: "text environment* cuda* tracing* scripting* compiling* autocast* distributed* sets_in_order*",
    ArgumentsFrom: "kind file line text assumed? others? started_by? with_files? left_at_default?",
    OtherArguments: "text file line",
    ModelInput: "name origin tensors? literal? rules? constraints? followed?",
    ModuleNode: "path class:class_name predicted observed registered alias_of calls repeat parameters buffers hooks "
    "arguments source made_in_forward? lazy_class? own_state_dict? extra_state? unknown_arguments? defaults? "
    "torch_base? wrappers? ranks? certain? condition?",
    Repeat: "group count",
    ParameterInfo: "name shape dtype trainable alias_of? sharding?",
    BufferInfo: "name shape dtype persistent alias_of? sharding?",
    HookInfo: "kind name",
    SourceLocation: "file line",
    Call: "index module parent inputs outputs source error direct? recomputed? ranks? "
    "predicted? observed&predicted certain&predicted condition? held? may_repeat?",
    TensorInfo: "name* shape dtype device* statistics? sharding? unknown?",
    Statistics: "mean std min max numel nan? inf?",
    Operation: "id name call source ranks? predicted? observed&predicted certain&predicted condition? held? arguments?",
    Edge: "from:producer to:consumer tensor or_from? or_others? output? made_by? ranks? "
    "predicted? observed&predicted certain&predicted condition?",
    LeftOut: "file line last_line error",
    (Edge, "tensor"): "shape dtype name? device? statistics? sharding?",
    Condition: "text file line",
    Gap: "kind call source",
    BackwardRecord: "module grad_inputs grad_outputs call?",
    Problem: "stage message module file line places?",
    OpenPlace: "message module file line",
    # Without what is about the text of the file alone: the fix, and further places in it.
    Finding: "code message file line module name? severity? column? end_line? end_column? class:class_name? attribute?",
    CheckpointComparison: "file entry prefix fits matching missing* unexpected* mismatched tied* undecided* "
    "not_tensors?",
    ShapeMismatch: "key model checkpoint",
    Verification: "proven steps repeated identical unused outputs gaps not_repeated differences",
    NotRepeated: "node reason",
    Difference: "node output message",
    Profile: "flops seconds not_counted problem calls",
    CallCost: "call flops seconds allocated not_counted?",
    WithoutGradient: "parameter reason",
    NonFinite: "kind node name module source values numel",
    Stored: "format tensors elements bytes dtypes entry? entries? other? metadata?",
    Suggestion: "kind paste entries notes unknown",
    SuggestedEntry: "role name count parameters class:class_name? where? note?",
    StoredDtype: "dtype tensors elements bytes",
    RankDifference: "module message about? values?",
    RankValue: "rank text",
    Sharding: "placements* mesh? local_shapes",
    LocalShape: "rank shape",
}


def _is_integer(value: Any) -> bool:
    return type(value) is not int or -_MAX_INTEGER <= value <= _MAX_INTEGER


def _arguments(value: dict[str, Any]) -> dict[str, Any]:
    if value and _is_too_deep(value):
        raise MisfitError(f"nested more than {MAX_DEPTH} deep")
    return value


def _holds_texts(value: dict[str, Any]) -> bool:
    return all(type(each) is str for each in value.values())


def _is_too_deep(value: Any) -> bool:
    """Lists and objects stand in one another more than `MAX_DEPTH` deep."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [each for outer in level for each in (outer.values() if isinstance(outer, dict) else outer)]
        level = [each for each in level if isinstance(each, (dict, list))]
        if not level:
            return False
    return True


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


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


_NUMBERS = ("NaN", "Infinity", "-Infinity")
_SIZES = Form(
    "a size",
    frozenset({int, str, type(None)}),
    test=_is_integer,
)
_FORMS: dict[Any, Form] = {
    str: Form("a text", frozenset({str}), many="texts"),
    int: Form("an integer of 128 bits", frozenset({int}), test=_is_integer, many="integers"),
    bool: Form("true or false", frozenset({bool}), or_null="true, false or null"),
    float: Form(
        'a number, "NaN", "Infinity" or "-Infinity"',
        frozenset({int, float, str}),
        test=lambda value: type(value) is not str or value in _NUMBERS,
        made=lambda value: float(value) if type(value) is str else value,
        or_null='a number, null, "NaN", "Infinity" or "-Infinity"',
    ),
    int | str | None: _SIZES,
    # Where no shape can be missing, the schema has null all the same.
    Shape: Form("a list of sizes (integer, text or null)", frozenset({list, type(None)}), _SIZES.fit, tuple, null=()),
    Shape | None: Form(
        "a list of sizes (integer, text or null), or null", frozenset({list, type(None)}), _SIZES.fit, tuple
    ),
    Mapping[str, Any]: Form("an object", frozenset({dict}), made=_arguments),
    Mapping[str, str]: Form("an object of texts", frozenset({dict}), _holds_texts),
    tuple[str, int]: Form("an object", frozenset({dict}), made=lambda value: astuple(CODEC.decode(_NotCounted, value))),
}
CODEC: Codec = Codec(
    _FORMS,
    KEYS,
    {
        float: _number,
        (ModuleNode, "arguments"): lambda arguments: {name: _argument(value) for name, value in arguments.items()},
        (Operation, "arguments"): lambda arguments: {name: _argument(value) for name, value in arguments.items()},
        (Stored, "metadata"): lambda metadata: {name: _argument(value) for name, value in metadata.items()},
        (ModuleNode, "defaults"): lambda defaults: {name: _argument(value) for name, value in defaults.items()},
        (Profile, "not_counted"): lambda pairs: [{"operator": name, "count": count} for name, count in pairs],
    },
)
