"""Keys and shapes of the tensors in a checkpoint, as far as they can be read without torch: never the values.

A safetensors file has them in a JSON header. An index (`*.index.json`) names the files of a checkpoint in shards. What
needs torch to be read (`.pt`, `.pth`, `.bin`) is only named here; a process of its own reads it (`isolation.py`).
Source of the format: the safetensors README, "Format".
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from modgraph.doors import reading
from modgraph.doors.data import TooLargeError, read_json
from modgraph.errors import InputError

_MAX_MEMORY = 500_000_000
"""Bytes that a header may take when it is read; that of a hundred thousand tensors takes a third."""
MAX_HEADER = 100 * 1024 * 1024
"""Bytes; the format's own limit for a header. An index is held to it as well."""
MAX_DIMENSIONS = 1_000
"""Of one tensor; more are none, and the product of millions of sizes takes hours."""
INDEX_SUFFIX = ".index.json"
SUFFIXES = (".safetensors", INDEX_SUFFIX, ".pt", ".pth", ".bin", ".ckpt")
"""Names by which checkpoints are known, for the help in messages; any other is tried as well."""
_MAX_NAMED = 5
_LFS_POINTER = b"version https://git-lfs"
_ARCHIVE, _PICKLE = b"PK\x03\x04", b"\x80"
"""First bytes of what `torch.save` writes: since torch 1.6 a zip archive, before that a pickle of protocol 2."""
_BEGINNING = 512
"""Bytes by which a file is recognised."""

_BITS = {
    **dict.fromkeys(("F4",), 4),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
}
"""Of one element, by its type; a type that a later release of the format adds is not checked for its size."""

NOT_A_TENSOR = "not a tensor"
Tensors = Mapping[str, "tuple[int, ...] | str | None"]
"""Key -> shape in elements, in the order of the file; None for a lazy layer's, which has no shape yet; NOT_A_TENSOR for
any other value under a key beside tensors."""


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
        InputError: it is not there, no regular file, or an index that names nothing, or a file out of its folder.
    """
    _require_file(path)
    if not path.name.endswith(INDEX_SUFFIX):
        return (path,)
    names = tuple(dict.fromkeys(_weight_map(path).values()))
    for name in names:
        if _leaves_its_folder(name):
            raise InputError(f"{path} names a shard outside its own folder: {name[:100]!r}")
    shards = tuple(path.parent / name for name in names)
    for shard in shards:
        _require_file(shard)
    return shards


def require_promised(path: Path, found: Iterable[str]) -> None:
    """Raises InputError where an index promises keys that are not among those `found` in its shards."""
    if not path.name.endswith(INDEX_SUFFIX):
        return
    there = set(found)
    lost = [key for key in _weight_map(path) if key not in there]
    if lost:
        named = ", ".join(repr(key[:100]) for key in lost[:_MAX_NAMED]) + (", ..." if len(lost) > _MAX_NAMED else "")
        raise InputError(f"{path} promises what its shards do not hold: {named}")


def _weight_map(path: Path) -> dict[str, str]:
    if path.stat().st_size > MAX_HEADER:
        raise InputError(f"{path} is no index of shards: it is larger than {MAX_HEADER:,} bytes")
    names = _parsed(path, _read(path)).get("weight_map")
    if not isinstance(names, dict) or not names or not all(isinstance(name, str) for name in names.values()):
        raise InputError(f"{path} is no index of shards: it has no weight_map")
    return names


def _leaves_its_folder(name: str) -> bool:
    """By its text, on any system: a link inside the folder may well lead elsewhere, as in a cache of downloads."""
    ways = (PurePosixPath(name), PureWindowsPath(name))
    return any(way.is_absolute() or way.anchor or ".." in way.parts for way in ways)


def is_safetensors(path: Path) -> bool:
    """Whether `path` is read here, without torch."""
    return path.suffix == ".safetensors"


def require_readable_by_torch(path: Path) -> None:
    """Raises InputError for a file that does not begin as anything that `torch.save` has ever written."""
    beginning = _read(path, _BEGINNING)
    _refuse_pointer(path, beginning)
    if beginning.startswith((_ARCHIVE, _PICKLE)):
        return
    if beginning[8:9] == b"{" and struct.unpack("<Q", beginning[:8])[0] <= MAX_HEADER:
        raise InputError(f"{path} begins as a safetensors file does", hint="name it so: FILE.safetensors")
    kind = "a text" if _is_text(beginning) else "neither an archive nor a pickle"
    raise InputError(f"{path} is no checkpoint that torch can read: it is {kind}")


def _is_text(data: bytes) -> bool:
    text = data.decode("utf-8", "replace")[:-1]  # the last character may be cut off
    return all(character.isprintable() or character.isspace() for character in text) and "\ufffd" not in text


def read_safetensors(paths: Sequence[Path]) -> dict[str, tuple[int, ...] | str | None]:
    """Keys and shapes of the files together.

    Raises:
        InputError: one is not of this format, or is cut off.
    """
    found: dict[str, tuple[int, ...] | str | None] = {}
    for path in paths:
        found.update(_read_header(path))
    return found


def _require_file(path: Path) -> None:
    """Raises InputError unless it is a regular file with content: a pipe or a device may never end."""
    try:
        _require_regular(path)
    except OSError as error:
        raise InputError(f"cannot read the checkpoint {path}: {error.strerror or error}") from error


def _require_regular(path: Path) -> None:
    if path.is_dir():
        inside = sorted(entry.name for entry in path.iterdir() if entry.name.endswith(SUFFIXES))
        named = ", ".join(str(path / name) for name in inside[:_MAX_NAMED])
        raise InputError(
            f"the checkpoint {path} is a directory", hint=f"name a file in it: {named}" if named else "name a file"
        )
    if not path.exists():
        raise InputError(f"cannot read the checkpoint {path}: there is no such file")
    if not path.is_file():
        raise InputError(f"the checkpoint {path} is no regular file")
    if path.stat().st_size == 0:
        raise InputError(f"the checkpoint {path} is empty")


def _read(path: Path, length: int = -1, start: int = 0) -> bytes:
    try:
        return reading.beginning(path, length, start) if length >= 0 else reading.read(path, MAX_HEADER)
    except OSError as error:
        raise InputError(f"cannot read the checkpoint {path}: {error.strerror or error}") from error


def _refuse_pointer(path: Path, beginning: bytes) -> None:
    if beginning.startswith(_LFS_POINTER):
        raise InputError(f"{path} is a Git LFS pointer, not the checkpoint itself", hint="run: git lfs pull")


def _read_header(path: Path) -> dict[str, tuple[int, ...]]:
    return {key: entry.shape for key, entry in safetensors_entries(path)[0].items()}


def safetensors_entries(path: Path) -> tuple[dict[str, Entry], dict[str, Any]]:
    """What the header says of each tensor, and what of the whole (`__metadata__`).

    Raises:
        InputError: the file is not of this format, or is cut off.
    """
    beginning = _read(path, len(_LFS_POINTER))
    _refuse_pointer(path, beginning)
    length = struct.unpack("<Q", beginning[:8])[0] if len(beginning) >= 8 else 0
    if not 2 <= length <= MAX_HEADER:
        raise InputError(f"{path} is no safetensors file: its header has an impossible length")
    size = path.stat().st_size
    if 8 + length > size:
        raise InputError(f"{path} is cut off: its header needs {8 + length:,} bytes, and the file has {size:,}")
    header = _parsed(path, _read(path, length, 8))
    entries = {key: Entry.of(path, key, value) for key, value in header.items() if key != "__metadata__"}
    needed = 8 + length + max((entry.end for entry in entries.values()), default=0)
    if needed > size:
        raise InputError(f"{path} is cut off: its tensors need {needed:,} bytes, and the file has {size:,}")
    _require_filled(path, entries, size - 8 - length)
    about = header.get("__metadata__")
    return entries, about if isinstance(about, dict) else {}


def _require_filled(path: Path, entries: Mapping[str, Entry], size: int) -> None:
    """Raises InputError unless the tensors lie one after another, without gap or overlap, up to the end of the file."""
    reached = 0
    for key, entry in sorted(entries.items(), key=lambda item: (item[1].start, item[1].end)):
        if entry.start != reached:
            raise InputError(
                f"{path} is no safetensors file: {key[:100]!r} does not begin where the tensor before ends"
            )
        reached = entry.end
    if reached != size:
        raise InputError(f"{path} is no safetensors file: {size - reached:,} bytes after its tensors belong to none")


@dataclass(frozen=True, slots=True)
class Entry:
    """What the header of a safetensors file says of one tensor."""

    shape: tuple[int, ...]
    dtype: str
    """In the format's words: "F32"."""
    start: int
    end: int

    @classmethod
    def of(cls, path: Path, key: str, value: Any) -> Entry:
        fields = value if isinstance(value, dict) else {}
        shape, offsets = _sizes(fields.get("shape")), _sizes(fields.get("data_offsets"))
        dtype = fields.get("dtype")
        if shape is None or offsets is None or len(offsets) != 2 or not isinstance(dtype, str):
            raise InputError(f"{path} is no safetensors file: its entry {key[:100]!r} has no type, shape and place")
        start, end = offsets
        bits = _BITS.get(dtype)
        if start > end or (bits is not None and math.prod(shape) * bits != 8 * (end - start)):
            raise InputError(f"{path} is no safetensors file: the place of {key[:100]!r} has not the size of its shape")
        return cls(shape, dtype, start, end)


def _sizes(value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, list) or len(value) > MAX_DIMENSIONS:
        return None
    if not all(type(size) is int and 0 <= size < 2**64 for size in value):
        return None
    return tuple(value)


class _TwiceError(Exception):
    """A key stands twice in one JSON object: readers differ in which they take."""


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _TwiceError(max(counts, key=lambda key: counts[key]))
    return found


def _parsed(path: Path, data: bytes) -> dict[str, Any]:
    try:
        parsed = read_json(data, _MAX_MEMORY, object_pairs_hook=_once_each)
    except _TwiceError as error:
        raise InputError(f"{path} is broken: its header has the key {error.args[0][:100]!r} twice") from error
    except TooLargeError as error:
        raise InputError(f"{path} is not read: {error}") from error
    except ValueError as error:
        raise InputError(f"{path} is broken: its header is no JSON") from error
    if not isinstance(parsed, dict):
        raise InputError(f"{path} is broken: its header is no JSON object")
    return parsed
