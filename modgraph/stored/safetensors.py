"""safetensors: names, shapes and types from the JSON header, by the reader of `source/checkpoints.py`."""

from __future__ import annotations

from pathlib import Path

from modgraph.source.checkpoints import safetensors_entries
from modgraph.stored.contents import MAX_TENSORS, Contents, StoredTensor

_DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "U16": "uint16",
    "I32": "int32",
    "U32": "uint32",
    "I64": "int64",
    "U64": "uint64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
"""torch's names by the format's; one that is not here is called as it is there."""
_MAX_ABOUT = 64


def read_safetensors_file(path: Path) -> Contents:
    """Names, shapes, types and sizes of the tensors of one file.

    Raises:
        InputError: it is not of this format, or is cut off.
        ValueError: it holds too many tensors.
    """
    entries, about = safetensors_entries(path)
    if len(entries) > MAX_TENSORS:
        raise ValueError(f"it holds {len(entries):,} tensors, and at most {MAX_TENSORS:,} are read")
    contents = Contents(format="safetensors")
    in_order = sorted(entries.items(), key=lambda item: (item[1].start, item[1].end))
    contents.tensors = [
        StoredTensor(
            key=key,
            shape=entry.shape,
            dtype=_DTYPES.get(entry.dtype, entry.dtype),
            bytes=entry.end - entry.start,
        )
        for key, entry in in_order
    ]
    short = {key: value for key, value in about.items() if isinstance(value, str) and len(value) <= 200}
    contents.metadata = dict(list(short.items())[:_MAX_ABOUT])
    return contents
