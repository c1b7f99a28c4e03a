"""What a reader of one format finds in a file, before it is a graph; and the sizes of element types."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from modgraph.graph.model import ModelInput, Shape

MAX_TENSORS = 200_000
"""Of one file; the largest checkpoints have a tenth."""
MAX_DIMENSIONS = 64
"""Of one tensor; torch itself has no more."""

BITS: Mapping[str, int] = {
    **dict.fromkeys(("float4_e2m1fn_x2", "quint4x2", "quint2x4", "bits8"), 8),
    **dict.fromkeys(("bool", "uint8", "int8", "qint8", "quint8"), 8),
    **dict.fromkeys(("float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu", "float8_e4m3fnuz", "float8_e5m2fnuz"), 8),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16"), 16),
    **dict.fromkeys(("float32", "int32", "uint32", "qint32", "complex32"), 32),
    **dict.fromkeys(("float64", "int64", "uint64", "complex64"), 64),
    "complex128": 128,
}
"""Of one element, by torch's name of the type."""


@dataclass(slots=True, kw_only=True)
class StoredTensor:
    """One tensor, by the name under which the file has it."""

    key: str
    """ "layer1.0.conv1.weight"."""
    shape: Shape | None
    """In elements; None where the file does not say it."""
    dtype: str | None
    bytes: int | None = None
    """In the file."""
    kind: Literal["parameter", "buffer"] | None = None
    """None where the file does not tell one from the other."""
    trainable: bool | None = None
    persistent: bool | None = None
    same: Hashable = None
    """Equal for names of one tensor; None where the file does not say."""


@dataclass(slots=True, kw_only=True)
class Contents:
    """What is in a file."""

    format: str
    """For people: "safetensors"."""
    tensors: list[StoredTensor] = field(default_factory=list)
    modules: dict[str, str | None] = field(default_factory=dict)
    """Paths that the file says are modules, and their classes as far as it says so; "" is the root."""
    aliases: dict[str, str] = field(default_factory=dict)
    """Path of a module -> the first path of the same instance."""
    entry: str = ""
    entries: tuple[str, ...] = ()
    """Where there are several, each with tensors."""
    other: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[ModelInput, ...] = ()


def size_in_bytes(shape: Shape | None, dtype: str | None) -> int | None:
    """What a tensor takes; None where the shape or the size of the type is not known."""
    bits = BITS.get(dtype or "")
    if bits is None or shape is None or not all(isinstance(size, int) for size in shape):
        return None
    return math.prod(size for size in shape if isinstance(size, int)) * bits // 8


def shape_in(value: object) -> Shape | None:
    """A shape that a file says; None of what is none."""
    if not isinstance(value, list | tuple) or len(value) > MAX_DIMENSIONS:
        return None
    if not all(type(size) is int and 0 <= size < 2**63 for size in value):
        return None
    return tuple(value)
