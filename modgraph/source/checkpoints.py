"""Keys and shapes of the tensors in a checkpoint, as far as they can be read without torch: never the values.

A safetensors file has them in a JSON header. An index (`*.index.json`) names the files of a checkpoint in shards. What
needs torch to be read (`.pt`, `.pth`, `.bin`) is only named here; a process of its own reads it (`isolation.py`).
Source of the format: the safetensors README, "Format".
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modgraph.errors import InputError

MAX_HEADER = 100 * 1024 * 1024
"""Bytes; the format's own limit for a header."""
INDEX_SUFFIX = ".index.json"
SUFFIXES = (".safetensors", INDEX_SUFFIX, ".pt", ".pth", ".bin", ".ckpt")
"""Names by which checkpoints are known, for the help in messages; any other is tried as well."""
_MAX_NAMED = 5
_LFS_POINTER = b"version https://git-lfs"

Tensors = Mapping[str, "tuple[int, ...]"]
"""Key -> shape in elements, in the order of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a checkpoint holds."""

    file: str
    """Its name, without folders."""
    tables: Mapping[str, Tensors]
    """The state dicts in it by the entry that holds them: "" for the whole, "model" for `{"model": {...}}`."""


def shards_of(path: Path) -> tuple[Path, ...]:
    """The files that a checkpoint consists of: itself, or the shards that it is the index of.

    Raises:
        InputError: it is not there, a directory, or an index that names nothing.
    """
    _require_file(path)
    if not path.name.endswith(INDEX_SUFFIX):
        return (path,)
    names = _parsed(path, _read(path)).get("weight_map")
    if not isinstance(names, dict) or not names or not all(isinstance(name, str) for name in names.values()):
        raise InputError(f"{path} is no index of shards: it has no weight_map")
    shards = tuple(path.parent / name for name in dict.fromkeys(names.values()))
    for shard in shards:
        _require_file(shard)
    return shards


def is_safetensors(path: Path) -> bool:
    """Whether `path` is read here, without torch."""
    return path.suffix == ".safetensors"


def read_safetensors(paths: Sequence[Path]) -> dict[str, tuple[int, ...]]:
    """Keys and shapes of the files together.

    Raises:
        InputError: one is not of this format, or is cut off.
    """
    found: dict[str, tuple[int, ...]] = {}
    for path in paths:
        found.update(_read_header(path))
    return found


def _require_file(path: Path) -> None:
    if path.is_dir():
        inside = sorted(entry.name for entry in path.iterdir() if entry.name.endswith(SUFFIXES))
        named = ", ".join(str(path / name) for name in inside[:_MAX_NAMED])
        raise InputError(
            f"the checkpoint {path} is a directory", hint=f"name a file in it: {named}" if named else "name a file"
        )
    if not path.exists():
        raise InputError(f"cannot read the checkpoint {path}: there is no such file")
    if path.is_file() and path.stat().st_size == 0:
        raise InputError(f"the checkpoint {path} is empty")


def _read(path: Path, length: int = -1, start: int = 0) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(length)
    except OSError as error:
        raise InputError(f"cannot read the checkpoint {path}: {error.strerror or error}") from error


def _read_header(path: Path) -> dict[str, tuple[int, ...]]:
    beginning = _read(path, len(_LFS_POINTER))
    if beginning == _LFS_POINTER:
        raise InputError(f"{path} is a Git LFS pointer, not the checkpoint itself", hint="run: git lfs pull")
    length = struct.unpack("<Q", beginning[:8])[0] if len(beginning) >= 8 else 0
    if not 2 <= length <= MAX_HEADER:
        raise InputError(f"{path} is no safetensors file: its header has an impossible length")
    size = path.stat().st_size
    if 8 + length > size:
        raise InputError(f"{path} is cut off: its header needs {8 + length:,} bytes, and the file has {size:,}")
    header = _parsed(path, _read(path, length, 8))
    entries = {key: _Entry.of(path, key, value) for key, value in header.items() if key != "__metadata__"}
    needed = 8 + length + max((entry.end for entry in entries.values()), default=0)
    if needed > size:
        raise InputError(f"{path} is cut off: its tensors need {needed:,} bytes, and the file has {size:,}")
    return {key: entry.shape for key, entry in entries.items()}


@dataclass(frozen=True, slots=True)
class _Entry:
    shape: tuple[int, ...]
    end: int

    @classmethod
    def of(cls, path: Path, key: str, value: Any) -> _Entry:
        fields = value if isinstance(value, dict) else {}
        shape, offsets = _sizes(fields.get("shape")), _sizes(fields.get("data_offsets"))
        if shape is None or offsets is None or len(offsets) != 2:
            raise InputError(f"{path} is no safetensors file: its entry {key[:100]!r} has no shape and place")
        return cls(shape, offsets[1])


def _sizes(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, list) or not all(type(size) is int and size >= 0 for size in value):
        return None
    return tuple(value)


def _parsed(path: Path, data: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is broken: its header is no JSON") from error
    if not isinstance(parsed, dict):
        raise InputError(f"{path} is broken: its header is no JSON object")
    return parsed
