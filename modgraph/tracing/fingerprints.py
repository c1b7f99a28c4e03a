"""What is kept of a tensor's values, to tell whether another has the same: checksum of all, sample, total."""

from __future__ import annotations

import ctypes
import zlib
from dataclasses import dataclass

import torch

from modgraph.graph.model import Shape
from modgraph.tracing.tensors import facts_of, quietly, shape_of

SAMPLED = 65_536
"""Values kept of a tensor, evenly spread; of a smaller one all of them."""
_TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 3e-2}
"""Largest difference, relative to the largest value, of two results of the same functions on the same arguments: sums
are taken in another order where memory lies otherwise."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The values of one tensor at one moment."""

    shape: Shape | None
    """None among the sizes for one that differs along the tensor, as of a nested one."""
    dtype: torch.dtype
    checksum: int
    """CRC-32 of all bytes: equal for identical values."""
    sample: torch.Tensor
    """One dimension, on the CPU."""
    total: float
    """Sum of the finite values, in float64."""
    count: int
    """Number of values."""


def fingerprint(tensor: torch.Tensor) -> Fingerprint | None:
    """Of the values that `tensor` has now; None where they cannot be read, as those of a fake tensor."""
    with quietly(), torch.no_grad():
        try:
            values = _plain(tensor.detach()).cpu().contiguous().reshape(-1)
            step = max(1, values.numel() // SAMPLED)
            return Fingerprint(
                shape=shape_of(facts_of(tensor)[0]),
                dtype=tensor.dtype,
                checksum=_checksum(values),
                sample=values[::step][:SAMPLED].clone(),
                total=_total(values),
                count=values.numel(),
            )
        except Exception:  # a subclass of the user's may refuse with whatever it likes
            return None


def difference(before: Fingerprint, now: Fingerprint) -> str | None:
    """In what the two differ, in words; None where they are the same up to rounding."""
    if before.shape != now.shape:
        return f"shape {now.shape} in place of {before.shape}"
    if before.dtype != now.dtype:
        return f"{now.dtype} in place of {before.dtype}"
    if before.checksum == now.checksum:
        return None
    kind = before.sample.dtype
    if not (kind.is_floating_point or kind.is_complex):
        return f"{int((before.sample != now.sample).sum())} of {before.sample.numel()} values compared are others"
    tolerance = _TOLERANCES.get(kind.to_real() if kind.is_complex else kind, 1e-1)
    wide = torch.complex128 if kind.is_complex else torch.float64
    old, new = before.sample.to(wide), now.sample.to(wide)
    finite = old.isfinite()
    if not torch.equal(finite, new.isfinite()) or not torch.equal(old.isnan(), new.isnan()):
        return "other values are infinite or NaN"
    scale = max(float(old[finite].abs().max()) if finite.any() else 0.0, 1e-12)
    apart = float((old[finite] - new[finite]).abs().max()) if finite.any() else 0.0
    if apart > tolerance * scale:
        return f"up to {apart:.3g} apart, of {scale:.3g}"
    if abs(before.total - now.total) > tolerance * scale * max(1, before.count):
        return f"the sum is {now.total:.6g} in place of {before.total:.6g}"
    return None


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


def _total(values: torch.Tensor) -> float:
    if values.dtype.is_complex:
        values = torch.view_as_real(values)
    if not values.dtype.is_floating_point:
        return float(values.sum()) if values.numel() else 0.0
    finite = torch.where(values.isfinite(), values, torch.zeros((), dtype=values.dtype))
    return float(finite.sum(dtype=torch.float64))
