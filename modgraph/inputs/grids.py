"""Sizes that are given as an input of their own, and the tensor of patches whose number they must say.

`forward(pixel_values, grid_thw)` takes the patches of all images in one tensor, and per image a row of counts whose
product is the number of its patches. Neither input is wrong by itself, so that both are changed at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from torch import nn
from torch.nn.modules.conv import _ConvNd

from modgraph.inputs.guesses import GRID_SIDE, Guesser, name_class
from modgraph.inputs.probe import Attempt
from modgraph.inputs.specs import Candidate, LiteralSpec, Place, Spec, TensorSpec

_OF_SIZES = re.compile(r"grid|thw|hw|shapes?$|sizes?$|resolutions?$")
_SIDES = (GRID_SIDE, 4 * GRID_SIDE)
"""Patches in height and width that are tried; both can be halved twice."""


def grid_repairs(attempt: Attempt, guesser: Guesser) -> Iterator[Candidate]:
    """The same candidate with as many patches as its sizes say: all in one tensor, as an image, or in a batch."""
    candidate = attempt.candidate
    tensors = candidate.tensors()
    grids = {place: spec for place, spec in tensors.items() if is_grid(place, spec)}
    patches = {place: spec for place, spec in tensors.items() if _holds_patches(place, spec)}
    if not grids and patches:
        yield from _of_stated_sides(candidate, patches, guesser)
    if not grids or not patches:
        return
    names = f"{', '.join(str(place[-1]) for place in grids)}: says the number of patches"
    layer = _patch_layer(guesser)
    width = _patch_width(layer)
    for side in _SIDES:
        gridded = {place: _with_side(spec, side, side) for place, spec in grids.items()}
        count = sum(math.prod(spec.row) * math.prod(spec.shape[:-1]) for spec in gridded.values()) // len(gridded)
        for lead in ((), (guesser.batch,)):
            changes: dict[Place, Spec] = {
                place: TensorSpec((*lead, count, width or spec.shape[-1]), guesser.dtype)
                for place, spec in patches.items()
            }
            yield candidate.replaced({**gridded, **changes}, names)
        if side == _SIDES[0]:
            yield from _as_image(candidate, grids, patches, layer, names)


def _of_stated_sides(candidate: Candidate, patches: dict[Place, TensorSpec], guesser: Guesser) -> Iterator[Candidate]:
    """`forward(x, h, w)` and `forward(x, hw)`: rows of tokens, as many as the product of the two."""
    stated = [entry.value for _, entry in candidate.entries if isinstance(entry, LiteralSpec)]
    pair = next((value for value in stated if type(value) is tuple), None) or tuple(v for v in stated if type(v) is int)
    if len(pair) == 2:
        count = math.prod(pair)
        width = _patch_width(_first_layer(guesser))
        changes: dict[Place, Spec] = {
            place: TensorSpec((guesser.batch, count, width or spec.shape[-1]), guesser.dtype)
            for place, spec in patches.items()
        }
        yield candidate.replaced(changes, f"as many rows as {pair[0]} times {pair[1]}")


def is_grid(place: Place, spec: TensorSpec) -> bool:
    """Rows of two or three counts, by the name of the input."""
    return spec.integral and spec.shape[-1:] in ((2,), (3,)) and _OF_SIZES.search(str(place[-1]).lower()) is not None


def _holds_patches(place: Place, spec: TensorSpec) -> bool:
    kind = name_class(str(place[-1]))
    return kind in (None, "image", "state", "audio") and spec.dtype != "bool" and bool(spec.shape)


def _with_side(spec: TensorSpec, height: int, width: int) -> TensorSpec:
    return replace(spec, row=(1, height, width)[-spec.shape[-1] :])


def _as_image(
    candidate: Candidate,
    grids: dict[Place, TensorSpec],
    patches: dict[Place, TensorSpec],
    layer: nn.Module | None,
    rule: str,
) -> Iterator[Candidate]:
    """The sizes in patches of an image that the model cuts up by itself."""
    if not isinstance(layer, _ConvNd) or len(layer.kernel_size) != 2:
        return
    images = {place: spec for place, spec in patches.items() if len(spec.shape) == 4}
    for spec in list(images.values())[:1]:
        across = [max(1, min(size // step, 16)) for size, step in zip(spec.shape[2:], layer.kernel_size, strict=True)]
        sides = [count * step for count, step in zip(across, layer.kernel_size, strict=True)]
        changes: dict[Place, Spec] = {
            place: replace(image, shape=(*image.shape[:2], *sides)) for place, image in images.items()
        }
        gridded = {place: _with_side(grid, across[0], across[1]) for place, grid in grids.items()}
        yield candidate.replaced({**changes, **gridded}, rule)


def _patch_layer(guesser: Guesser) -> nn.Module | None:
    """The first layer, where it takes one patch: a convolution that does not overlap, or a linear layer."""
    for layer in guesser.layers:
        if isinstance(layer.module, nn.Linear):
            return layer.module
        if isinstance(layer.module, _ConvNd):
            return layer.module if layer.module.kernel_size == layer.module.stride else None
    return None


def _first_layer(guesser: Guesser) -> nn.Module | None:
    """The first layer, where it says how long a row is."""
    return next((layer.module for layer in guesser.layers if -1 in layer.wish.sizes), None)


def _patch_width(layer: nn.Module | None) -> int | None:
    """Numbers in one patch."""
    if isinstance(layer, _ConvNd):
        return int(layer.in_channels * math.prod(layer.kernel_size))
    if isinstance(layer, nn.LayerNorm | nn.RMSNorm):
        return int(layer.normalized_shape[-1])
    return int(layer.in_features) if isinstance(layer, nn.Linear) else None
