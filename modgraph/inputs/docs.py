"""The shape of an input as the model's author wrote it down: in a docstring, in a comment, or in an annotation.

"x: (B, C, H, W)", "features (`Tensor` of shape `(batch_size, max_length, num_bins)`)", "# x: [batch, steps, 7]". A
dimension is a number, or a name: one that the model (or its configuration) holds as an attribute says how large it is.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from modgraph.inputs.forward_source import forward_of, forward_source, forward_tree
from modgraph.inputs.guesses import STEPS, Guesser
from modgraph.inputs.specs import Candidate, Place, Spec, TensorSpec
from modgraph.names import last_name

_DIM = r"[\w.' /*+-]+?"
_SHAPE = rf"[\[(]\s*({_DIM}(?:\s*(?:,|×|\bx\b)\s*{_DIM})+)\s*,?\s*[\])]"
_BATCH = re.compile(r"b|n|bs|bsz|nb|batch.*|n_?batch|num_?(samples|examples)|samples")
_SIDES = re.compile(r"h|w|height|width|img_?(h|w|height|width)|image_?(height|width)|h_?in|w_?in")
_STEPS = re.compile(r"seq|len|steps|time|tokens|patches|nodes|points")
_MAX_STATED = 1 << 16
_NEAR = 160
"""Characters between the name of an input and its shape."""


def documented(candidate: Candidate, guesser: Guesser) -> Iterator[Candidate]:
    """The candidate with every tensor in the shape that is written down for its parameter."""
    changes: dict[Place, Spec] = {}
    text = _text(guesser.model)
    for place, spec in candidate.tensors().items():
        dims = _dims_of(str(place[0]), text, guesser) if len(place) == 1 else None
        shape = _shape(dims, spec, guesser) if dims else None
        if shape and shape != spec.shape:
            changes[place] = replace(spec, shape=shape)
    if changes:
        names = ", ".join(str(place[0]) for place in changes)
        yield candidate.replaced(changes, f"{names}: the shape that its author wrote down")


def _text(model: nn.Module) -> str:
    """What is written in and above `forward`, and of the class."""
    parts = [inspect.getdoc(forward_of(model)) or "", *re.findall(r"#(.*)", forward_source(model))]
    return "\n".join([*parts, vars(type(model)).get("__doc__") or ""])


def has_loop(model: nn.Module) -> bool:
    """There is one written in `forward`."""
    return any(isinstance(node, ast.For | ast.While) for node in ast.walk(forward_tree(model)))


def _dims_of(name: str, text: str, guesser: Guesser) -> list[str] | None:
    annotated = getattr(guesser.signature.hints.get(name), "dim_str", None)
    if isinstance(annotated, str) and len(annotated.split()) > 1:
        return annotated.split()
    for mention in re.finditer(rf"(?<![\w.]){re.escape(name)}(?!\w)[`'\"*]*\s*[:(=\-\[]", text):
        # From the sign on: it may open the shape itself. Up to the next parameter.
        near = re.split(r"\n\s*\n|\n\s*\w+ ?[:(]", text[mention.end() - 1 : mention.end() + _NEAR])[0]
        shape = re.search(_SHAPE, near)
        dims = [dim.strip() for dim in re.split(r",|×|\bx\b", shape[1])] if shape else []
        if dims and not guesser.signature.parameters.keys() & set(dims):  # else it is a call: `x = f(x, h)`
            return dims
    return None


def _shape(dims: list[str], spec: TensorSpec, guesser: Guesser) -> tuple[int, ...] | None:
    if any("..." in dim or dim.startswith("*") for dim in dims) or len(dims) > 6:
        return None
    usual = spec.shape if len(spec.shape) == len(dims) else guesser.shape(len(dims))
    return tuple(_size(dim, place, usual[place], guesser) for place, dim in enumerate(dims))


def _size(dim: str, place: int, usual: int, guesser: Guesser) -> int:
    bare = last_name(dim.removeprefix("self.")).strip(" '`").replace(" ", "_")
    if bare.isdigit():
        return int(bare) if 0 < int(bare) <= _MAX_STATED else usual
    if place == 0 and _BATCH.fullmatch(bare.lower()):
        return guesser.batch
    if place == 0 and usual == guesser.batch and _STEPS.search(bare.lower()):
        return STEPS
    stated = guesser.stated((bare, bare.lower()), most=_MAX_STATED)
    if stated is not None and not (_SIDES.fullmatch(bare.lower()) or len(bare) == 1):
        return stated
    if _SIDES.fullmatch(bare.lower()):
        return usual if usual > 16 else guesser.side()
    return usual
