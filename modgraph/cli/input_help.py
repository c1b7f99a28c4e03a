"""How an input is written that `forward` has refused as it was given."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from modgraph.graph.model import Graph, ModelInput, TensorInfo

if TYPE_CHECKING:
    from modgraph.source.inputs import InputSpec

_NO_TENSOR = re.compile(r"\b(tuple|list)\b")
_INDICES = re.compile(r"indices must be|scalar types: Long, Int|used as indices must be|expected .*(Long|int64)", re.I)
"""What torch says, and the prediction, where indices are no whole numbers."""
_BY_NAME = re.compile(
    r"tensors cannot be indexed by a str|'Tensor' object has no attribute '(?:get|items|keys|values)'"
)
"""Of a dict that is taken for a tensor."""
_KEY = re.compile(r"(?:raises )?KeyError: '?([^\W\d]\w*)'?(?:;|\Z)")
"""Of a `forward(**batch)`, to which nothing is given."""


def help_with_inputs(graph: Graph, specs: Sequence[InputSpec]) -> Iterator[str]:
    """One line for each input that is likely to be meant otherwise; none where `forward` took them."""
    from modgraph.source.inputs import as_tensor

    said = " ".join(each.message for each in graph.problems if each.stage in ("trace", "forward"))
    for spec in specs if _NO_TENSOR.search(said) else ():
        tensor = as_tensor(spec)
        if tensor is not None:
            kind = type(spec.literal).__name__
            meant = shlex.quote(tensor)
            yield f"--input {spec.text!r} is a {kind} of numbers; a tensor of that shape is --input {meant}"
    if _INDICES.search(said):
        yield from _whole_numbers(graph)
    why = graph.model.no_calls
    lacking = [each.message for each in graph.problems if each.stage in ("trace", "forward") and not each.module]
    lacking += [] if why is None or why.module else [why.message]
    if any(map(_BY_NAME.search, lacking)):
        yield "an input that is a dict is given by what is in it: --input NAME.KEY=1x8 for each key"
    key = next((found[1] for each in lacking if (found := _KEY.match(each))), None)
    if key is not None and not graph.model.inputs:
        yield f"forward reads {key!r} of what it is given by name: --input {key}=..., with its sizes, as in 1x8"


def _whole_numbers(graph: Graph) -> Iterator[str]:
    """Of a layer that looks up indices, and is given an input with floating point."""
    failed = next((call for call in reversed(graph.calls) if call.error is not None), None)
    shapes = [tensor.shape for tensor in failed.inputs] if failed is not None else []
    given = [
        (each, tensor)
        for each in graph.model.inputs
        for tensor in each.tensors
        if each.origin == "given" and "float" in (tensor.dtype or "") and tensor.shape in shapes
    ]
    if len(given) == 1:
        (each, tensor), *_ = given
        yield f"what looks up indices takes whole numbers: --input {shlex.quote(_typed(each, tensor))}:int64"


def _typed(given: ModelInput, tensor: TensorInfo) -> str:
    place = re.sub(r"\['(\w+)'\]", r".\1", tensor.name) if tensor.name.startswith(given.name) else given.name
    return f"{place}={'x'.join(map(str, tensor.shape or ())) or 'scalar'}"
