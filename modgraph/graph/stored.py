"""What a file of weights, or an exported program, says of itself: a part of `Graph`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDtype:
    """The tensors of one element type."""

    dtype: str | None
    """torch's name without the prefix, or the format's own of a quantized one ("Q4_K"); None where it is not known."""
    tensors: int
    """One that stands under several names counts once."""
    elements: int | None
    bytes: int | None
    """None where the size of an element is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The file that a graph was read from. Parameters and buffers are told apart only where the file does so."""

    format: str
    """In words: "safetensors", "PyTorch state dict", "TorchScript program"."""
    tensors: int
    """Names that stand for tensors."""
    elements: int | None
    """Of all tensors; one that stands under several names counts once."""
    bytes: int | None
    """Of all tensors, as they lie in the file; one that stands under several names counts once."""
    dtypes: tuple[StoredDtype, ...] = ()
    entry: str = ""
    """Where in the file the tree stands: "model" of `{"model": {...}, "epoch": 3}`; "" for the whole."""
    entries: tuple[str, ...] = ()
    """Where there are several of them, each with tensors: "model" and "ema"; the tree holds all, below these names."""
    other: tuple[str, ...] = ()
    """Entries of the file that are no tensors of the tree: "epoch", "optimizer"."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What the file says of itself: short texts and numbers."""
