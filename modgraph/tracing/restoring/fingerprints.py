"""What is kept of a tensor's values, to tell whether another has the same: all, or checksum and sums of stretches."""

from __future__ import annotations

import ctypes
import zlib
from dataclasses import dataclass
from functools import cache

import torch

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.graph.model import Shape
from modgraph.tracing.basics.tensors import facts_of, quietly, shape_of

KEPT = 65_536
"""Values up to which all of a tensor's are kept."""
_AT_ONCE = 1 << 18
"""Values of a large tensor that are made wide at once."""
_TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 3e-2}
"""Largest difference, relative to the largest value, of two results of the same functions on the same arguments: sums
are taken in another order where memory lies otherwise."""
_STRETCH, _SHORT_STRETCH = 256, 16
"""Values summed together; fewer of a low precision, as one changed value must stand out from the rounding of all."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The values of one tensor at one moment."""

    shape: Shape | None
    """None among the sizes for one that differs along the tensor, as of a nested one."""
    dtype: torch.dtype
    checksum: int
    """CRC-32 of all bytes: equal for identical values."""
    values: torch.Tensor
    """One dimension, on the CPU: every value, or of a large tensor weighted sums of stretches, where it has a fraction;
    what is not finite counts as 0 there."""
    odd: torch.Tensor | None
    """Of sums: where in each stretch values are not finite, and which; None where all are."""
    scale: float
    """Of sums: the largest finite value."""
    stretch: int
    """Values in each sum; 1 where every value is kept, 0 where the checksum says it all."""


def fingerprint(tensor: torch.Tensor) -> Fingerprint | None:
    """Of the values that `tensor` has now; None where they cannot be read, as those of a fake tensor."""
    with quietly(), torch.no_grad():
        try:
            values = _flat(tensor)
            checksum, shape = _checksum(values), shape_of(facts_of(tensor)[0])
            if values.numel() <= KEPT:
                return Fingerprint(shape, tensor.dtype, checksum, values.clone(), None, 0.0, 1)
            if not (values.is_floating_point() or values.is_complex()):
                return Fingerprint(shape, tensor.dtype, checksum, values[:0].clone(), None, 0.0, 0)
            stretch = _STRETCH if values.dtype.itemsize >= 4 else _SHORT_STRETCH
            sums, odd, scale = _sums(torch.view_as_real(values).reshape(-1) if values.is_complex() else values, stretch)
            return Fingerprint(shape, tensor.dtype, checksum, sums, odd, scale, stretch)
        except RAISED_BY_OTHERS:  # a subclass of the user's may refuse with whatever it likes
            return None


def is_identical(before: Fingerprint, tensor: torch.Tensor) -> bool:
    """Whether `tensor` has the same values to the last bit: told sooner than by `difference`."""
    with quietly(), torch.no_grad():
        try:
            same_kind = before.dtype == tensor.dtype and before.shape == shape_of(facts_of(tensor)[0])
            return same_kind and before.checksum == _checksum(_flat(tensor))
        except RAISED_BY_OTHERS:  # a subclass of the user's may refuse with whatever it likes
            return False


def difference(before: Fingerprint, now: Fingerprint) -> str | None:
    """In what the two differ, in words; None where they are the same up to rounding."""
    if before.shape != now.shape:
        return f"shape {now.shape} in place of {before.shape}"
    if before.dtype != now.dtype:
        return f"{now.dtype} in place of {before.dtype}"
    if before.checksum == now.checksum:
        return None
    if before.stretch > 1:
        return _difference_of_sums(before, now)
    kind = before.values.dtype
    if before.stretch == 0:
        return "values are others"
    if not (kind.is_floating_point or kind.is_complex):
        return f"{int((before.values != now.values).sum())} of {before.values.numel()} values are others"
    wide = torch.complex128 if kind.is_complex else torch.float64
    old, new = before.values.to(wide), now.values.to(wide)
    finite = old.isfinite()
    if not torch.equal(finite, new.isfinite()) or not torch.equal(old.isnan(), new.isnan()):
        return _NOT_FINITE
    scale = max(float(old[finite].abs().max()) if finite.any() else 0.0, 1e-12)
    apart = float((old[finite] - new[finite]).abs().max()) if finite.any() else 0.0
    return f"up to {apart:.3g} apart, of {scale:.3g}" if apart > _tolerance(kind) * scale else None


_NOT_FINITE = "other values are infinite or NaN"


def _difference_of_sums(before: Fingerprint, now: Fingerprint) -> str | None:
    if (before.odd is None) != (now.odd is None):
        return _NOT_FINITE
    if before.odd is not None and now.odd is not None and not torch.equal(before.odd, now.odd):
        return _NOT_FINITE
    scale = max(before.scale, 1e-12)
    apart = float((before.values - now.values).abs().max())
    # Errors of rounding have no common sign: their sum grows with the root of how many there are.
    if apart > _tolerance(before.dtype) * scale * before.stretch**0.5:
        return f"sums of {before.stretch} values up to {apart:.3g} apart, of values up to {scale:.3g}"
    return None


def _tolerance(kind: torch.dtype) -> float:
    return _TOLERANCES.get(kind.to_real() if kind.is_complex else kind, 1e-1)


def _sums(values: torch.Tensor, stretch: int) -> tuple[torch.Tensor, torch.Tensor | None, float]:
    """Of each stretch the sum, each value by a weight of its place, so that two that change places are told."""
    weights = _weights(stretch)
    sums, odd, scale = [], [], 0.0
    for part in values.split(_AT_ONCE):
        wide = part.to(torch.float64)
        lacking = -wide.numel() % stretch
        if lacking:
            wide = torch.cat([wide, wide.new_zeros(lacking)])
        finite = wide.isfinite()
        strange = torch.zeros(wide.numel() // stretch, dtype=torch.float64)
        if not finite.all():
            kinds = (wide.isnan() * 3 + wide.isposinf() * 2 + wide.isneginf() * 1).to(torch.float64)
            strange = kinds.view(-1, stretch) @ weights
            wide = torch.where(finite, wide, 0.0)
        odd.append(strange)
        scale = max(scale, float(wide.abs().max()))
        sums.append(wide.view(-1, stretch) @ weights)
    strange = torch.cat(odd)
    return torch.cat(sums), strange if strange.any() else None, scale


@cache
def _weights(stretch: int) -> torch.Tensor:
    """Between a half and one and a half, no two alike."""
    return 1 + 0.5 * torch.arange(1, stretch + 1, dtype=torch.float64, device="cpu").mul(12.9898).sin()


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    return _plain(tensor.detach()).cpu().contiguous().reshape(-1)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The values of a quantized, sparse or nested tensor in one that is none of these."""
    if tensor.is_quantized:
        return tensor.int_repr()
    if tensor.is_nested:
        return torch.cat([part.reshape(-1) for part in tensor.unbind()])
    if tensor.layout is not torch.strided:
        return tensor.to_dense()
    return tensor.resolve_conj().resolve_neg()


def _checksum(values: torch.Tensor) -> int:
    size = values.numel() * values.element_size()
    if size == 0:
        return 0
    return zlib.crc32((ctypes.c_char * size).from_address(values.data_ptr()))
