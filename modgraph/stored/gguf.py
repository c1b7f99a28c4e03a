"""GGUF: metadata and tensor names in front, then the values. Only the front is read, and never more than it may be.

Source: ggml-org/ggml, docs/gguf.md (versions 1 to 3, either order of bytes); sizes of blocks: its `ggml-common.h`.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

from modgraph.doors import reading
from modgraph.stored.contents import MAX_TENSORS, Contents, StoredTensor

MAGIC = b"GGUF"
MAX_HEADER = 256 * 2**20
"""Bytes of metadata and names; vocabularies, which stand there too, take some ten millions."""
MAX_ENTRIES = 100_000
"""Of the metadata."""
MAX_ITEMS = 4_000_000
"""Texts in lists of the metadata, which are passed one by one."""
_MAX_TEXT = 65_535
"""Bytes of a key or a name."""
_MAX_DIMENSIONS = 4
_MAX_SHOWN, _MAX_ENTRIES_SHOWN = 200, 64
_PIECE = 1 << 20
_PLAIN = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_TYPES: dict[int, tuple[str, int, int]] = {
    0: ("float32", 1, 4),
    1: ("float16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("int8", 1, 1),
    25: ("int16", 1, 2),
    26: ("int32", 1, 4),
    27: ("int64", 1, 8),
    28: ("float64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("bfloat16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
}
"""By number: the name, elements in a block, bytes of a block."""


def read_gguf(path: Path) -> Contents:
    """Names, shapes and types of the tensors, and short metadata. Sizes stand in torch's order, the last one innermost.

    Raises:
        ValueError: it is damaged, cut off, or claims more than a file can hold.
    """
    cursor = _Cursor(path)
    cursor.take(4)
    version = cursor.number("I")
    if version >= 1 << 16 and int.from_bytes(version.to_bytes(4, "little"), "big") < 1 << 16:
        cursor.order = ">"
        version = int.from_bytes(version.to_bytes(4, "little"), "big")
    if version not in (1, 2, 3):
        raise ValueError(f"it is of version {version}, and 1 to 3 are known here")
    cursor.wide = "I" if version == 1 else "Q"
    n_tensors, n_entries = cursor.count(), cursor.count()
    if n_tensors > MAX_TENSORS or n_entries > MAX_ENTRIES:
        raise ValueError(
            f"it claims {n_tensors:,} tensors and {n_entries:,} entries of metadata; at most {MAX_TENSORS:,} and"
            f" {MAX_ENTRIES:,} are read"
        )
    contents = Contents(format=f"GGUF {version}")
    alignment = 32
    for _ in range(n_entries):
        key = cursor.text()
        value = cursor.value(cursor.number("I"))
        if key == "general.alignment" and type(value) is int and 0 < value <= 1 << 20:
            alignment = value
        if value is not None and len(contents.metadata) < _MAX_ENTRIES_SHOWN:
            contents.metadata[key] = value
    end = 0
    for _ in range(n_tensors):
        tensor, past = _tensor(cursor)
        contents.tensors.append(tensor)
        end = max(end, past)
    needed = -(-cursor.at // alignment) * alignment + end if n_tensors else cursor.at
    if needed > cursor.size:
        raise ValueError(f"it is cut off: its tensors need {needed:,} bytes, and the file has {cursor.size:,}")
    return contents


def _tensor(cursor: _Cursor) -> tuple[StoredTensor, int]:
    """A tensor, and where its values end behind the header."""
    name = cursor.text()
    n_dimensions = cursor.number("I")
    if n_dimensions > _MAX_DIMENSIONS:
        raise ValueError(f"the tensor {name[:100]!r} has {n_dimensions:,} dimensions, and the format has at most 4")
    sizes = [cursor.count() for _ in range(n_dimensions)]
    kind, offset = cursor.number("I"), cursor.number("Q")
    number = math.prod(sizes)
    if number >= 2**63 or offset >= 2**63:
        raise ValueError(f"the tensor {name[:100]!r} has more elements than a tensor can have")
    dtype, block, size = _TYPES.get(kind, (f"type {kind}", 0, 0))
    total = None if not block else -(-number // block) * size
    shape = tuple(reversed(sizes))
    return StoredTensor(key=name, shape=shape, dtype=dtype, bytes=total), offset + (total or 0)


class _Cursor:
    """Reads on from where it stands."""

    def __init__(self, path: Path) -> None:
        self.size = path.stat().st_size
        self.at = 0
        self.order, self.wide = "<", "Q"
        self._path = path
        self._held, self._start = b"", 0
        self._items = MAX_ITEMS

    def take(self, count: int) -> bytes:
        """Raises ValueError behind the end of the file, or of what is read of one."""
        if count > self.size - self.at:
            raise ValueError("it is cut off, or a length in it is wrong")
        if self.at + count > MAX_HEADER:
            raise ValueError(f"its header is larger than {reading.shown(MAX_HEADER)}")
        first = self.at - self._start
        if first + count > len(self._held):
            self._held, self._start = reading.beginning(self._path, max(count, _PIECE), self.at), self.at
            first = 0
        self.at += count
        found = self._held[first : first + count]
        if len(found) != count:
            raise ValueError("it is cut off")
        return found

    def skip(self, count: int) -> None:
        if count > self.size - self.at or self.at + count > MAX_HEADER:
            raise ValueError("it is cut off, or a length in it is wrong")
        self.at += count
        if self.at - self._start > len(self._held):
            self._held, self._start = b"", self.at

    def number(self, form: str) -> int:
        found: int = struct.unpack(f"{self.order}{form}", self.take(struct.calcsize(f"<{form}")))[0]
        return found

    def count(self) -> int:
        return self.number(self.wide)

    def text(self) -> str:
        length = self.count()
        if length > _MAX_TEXT:
            raise ValueError(f"a name in it is {length:,} bytes long, and at most {_MAX_TEXT:,} are read")
        return self.take(length).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """A plain value of the metadata, or a short text; None of a list and a long text, which are passed over."""
        if kind in _PLAIN:
            form = _PLAIN[kind]
            return struct.unpack(f"{self.order}{form}", self.take(struct.calcsize(f"<{form}")))[0]
        if kind == _TEXT:
            length = self.count()
            if length > _MAX_SHOWN:
                self.skip(length)
                return None
            return self.take(length).decode("utf-8", "replace")
        if kind != _LIST:
            raise ValueError(f"its metadata has a value of the type {kind}, which is not known here")
        item, length = self.number("I"), self.count()
        if item in _PLAIN:
            self.skip(length * struct.calcsize(f"<{_PLAIN[item]}"))
            return None
        if item != _TEXT:
            raise ValueError(f"its metadata has a list of the type {item}, which is not known here")
        self._items -= length
        if self._items < 0:
            raise ValueError(f"its metadata has more than {MAX_ITEMS:,} texts in lists")
        for _ in range(length):
            self.skip(self.count())
        return None
