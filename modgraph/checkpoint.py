"""A model's state dict against a checkpoint: what is missing, what is unexpected, what has another shape.

Only names and shapes are read, never values. A safetensors file has them in a JSON header, which is read here; what
needs torch to be read (`.pt`, `.pth`, `.bin`) is read by the worker (`isolation.py`).
Source of the format: the safetensors README, "Format".
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modgraph.errors import InputError
from modgraph.graph.model import Graph, Shape
from modgraph.graph.state_dict import state_dict_of

_MAX_HEADER = 100 * 1024 * 1024
"""Bytes; the format's own limit for a header."""
_INDEX_SUFFIX = ".index.json"

Tensors = Mapping[str, "tuple[int, ...]"]
"""Key -> shape in elements, in the order of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """A key that both have, with shapes that cannot be the same."""

    key: str
    model: Shape
    checkpoint: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A model's state dict against a checkpoint's."""

    matching: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """The model has them, the checkpoint has not."""
    unexpected: tuple[str, ...] = ()
    """The checkpoint has them, the model certainly has not."""
    mismatched: tuple[Mismatch, ...] = ()
    undecided: tuple[str, ...] = ()
    """The checkpoint has them, where the graph leaves open what the model has."""
    prefix: str = ""
    """Taken off every key of the checkpoint before comparing: "module." of a wrapped model."""

    @property
    def fits(self) -> bool:
        """Loading it with `strict=True` finds nothing amiss, as far as the graph knows."""
        return not (self.missing or self.unexpected or self.mismatched)


def compare(graph: Graph, tensors: Tensors) -> Comparison:
    """The state dict that `graph` foretells (or saw) against the tensors of a checkpoint."""
    state = state_dict_of(graph)
    wanted = {entry.key: entry.shape for entry in state.entries}
    prefix = _wrapper_prefix(tensors, wanted)
    found = {key.removeprefix(prefix): shape for key, shape in tensors.items()}
    both = [key for key in wanted if key in found]
    mismatched = [
        Mismatch(key=key, model=shape, checkpoint=found[key])
        for key in both
        if (shape := wanted[key]) is not None and not _fits(shape, found[key])
    ]
    differing = {mismatch.key for mismatch in mismatched}
    beyond = [key for key in found if key not in wanted]
    return Comparison(
        matching=tuple(key for key in both if key not in differing),
        missing=tuple(key for key in wanted if key not in found),
        unexpected=tuple(key for key in beyond if not state.may_hold(key)),
        mismatched=tuple(mismatched),
        undecided=tuple(key for key in beyond if state.may_hold(key)),
        prefix=prefix,
    )


def _fits(wanted: Shape, found: tuple[int, ...]) -> bool:
    return len(wanted) == len(found) and all(
        size == real or not isinstance(size, int) for size, real in zip(wanted, found, strict=True)
    )


def _wrapper_prefix(tensors: Tensors, wanted: Mapping[str, object]) -> str:
    """The first part that all keys share ("module.", "model."), if only without it do they meet the model's."""
    firsts = {key.partition(".")[0] for key in tensors if "." in key}
    if len(firsts) != 1 or not all("." in key for key in tensors):
        return ""
    prefix = f"{firsts.pop()}."
    with_it = sum(key in wanted for key in tensors)
    without = sum(key.removeprefix(prefix) in wanted for key in tensors)
    return prefix if without > with_it else ""


def is_safetensors(path: Path) -> bool:
    """Whether `path` is read here, without torch."""
    return path.suffix == ".safetensors" or path.name.endswith(_INDEX_SUFFIX)


def read_safetensors(path: Path) -> dict[str, tuple[int, ...]]:
    """Keys and shapes of a `.safetensors` file, or of all shards that a `.safetensors.index.json` names.

    Raises:
        InputError: the file is not there, or is not of this format.
    """
    if not path.name.endswith(_INDEX_SUFFIX):
        return _read_header(path)
    index = _parse(path, _read(path))
    shards = index.get("weight_map")
    if not isinstance(shards, dict) or not all(isinstance(name, str) for name in shards.values()):
        raise InputError(f"{path} is no index of safetensors shards: it has no weight_map")
    found: dict[str, tuple[int, ...]] = {}
    for name in dict.fromkeys(shards.values()):
        found.update(_read_header(path.parent / name))
    return found


def _read(path: Path, length: int = -1, start: int = 0) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(length)
    except OSError as error:
        raise InputError(f"cannot read the checkpoint {path}: {error.strerror or error}") from error


def _read_header(path: Path) -> dict[str, tuple[int, ...]]:
    size = _read(path, 8)
    length = struct.unpack("<Q", size)[0] if len(size) == 8 else 0
    if not 2 <= length <= _MAX_HEADER:
        raise InputError(f"{path} is no safetensors file: its header has an impossible length")
    header = _parse(path, _read(path, length, 8))
    found = {}
    for key, entry in header.items():
        if key == "__metadata__":
            continue
        shape = entry.get("shape") if isinstance(entry, dict) else None
        if not isinstance(shape, list) or not all(isinstance(size, int) for size in shape):
            raise InputError(f"{path} is no safetensors file: its entry {key!r} has no shape")
        found[key] = tuple(shape)
    return found


def _parse(path: Path, data: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is broken: its header is no JSON") from error
    if not isinstance(parsed, dict):
        raise InputError(f"{path} is broken: its header is no JSON object")
    return parsed
