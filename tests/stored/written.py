"""Files of weights written by hand, byte by byte, as their formats are published."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from pathlib import Path


def safetensors(
    path: Path, tensors: dict[str, tuple[str, list[int], int]], about: dict[str, str] | None = None
) -> Path:
    """`tensors`: name -> type, shape, bytes."""
    header: dict[str, object] = {} if about is None else {"__metadata__": about}
    at = 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(at))
    return path


def text(value: str, order: str = "<") -> bytes:
    data = value.encode()
    return struct.pack(f"{order}Q", len(data)) + data


def gguf(
    path: Path,
    tensors: Iterable[tuple[str, list[int], int, int]],
    metadata: Iterable[bytes] = (),
    *,
    order: str = "<",
    data: int = 1 << 16,
    counts: tuple[int, int] | None = None,
) -> Path:
    """`tensors`: name, sizes from the innermost on, number of the type, offset. `metadata`: entries as bytes."""
    tensors, metadata = list(tensors), list(metadata)
    n_tensors, n_entries = counts or (len(tensors), len(metadata))
    head = b"GGUF" + struct.pack(f"{order}IQQ", 3, n_tensors, n_entries) + b"".join(metadata)
    for name, sizes, kind, offset in tensors:
        head += text(name, order) + struct.pack(f"{order}I", len(sizes))
        head += b"".join(struct.pack(f"{order}Q", size) for size in sizes) + struct.pack(f"{order}IQ", kind, offset)
    path.write_bytes(head + bytes(-len(head) % 32) + bytes(data))
    return path


def entry(key: str, kind: int, value: bytes, order: str = "<") -> bytes:
    return text(key, order) + struct.pack(f"{order}I", kind) + value
