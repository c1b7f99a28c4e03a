"""Element types of tensors: torch's names, which graphs use, and those of ONNX, for reader and writers alike."""

from __future__ import annotations

_ONNX_NAMES = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "float16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "float8_e4m3fn": "FLOAT8E4M3FN",
    "float8_e4m3fnuz": "FLOAT8E4M3FNUZ",
    "float8_e5m2": "FLOAT8E5M2",
    "float8_e5m2fnuz": "FLOAT8E5M2FNUZ",
    "float8_e8m0fnu": "FLOAT8E8M0",
    "int2": "INT2",
    "int4": "INT4",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "uint2": "UINT2",
    "uint4": "UINT4",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "bool": "BOOL",
    "complex64": "COMPLEX64",
    "complex128": "COMPLEX128",
}
"""By torch's names. Quantised types have no equal in ONNX, nor have those that pack several elements into one."""
_TORCH_NAMES = {element_type: dtype for dtype, element_type in _ONNX_NAMES.items()}


def element_type_of(dtype: str | None) -> str | None:
    """ONNX's name for torch's "float32", "FLOAT"; None where ONNX has no such type."""
    return _ONNX_NAMES.get(dtype or "")


def dtype_of(element_type: str) -> str:
    """torch's name for ONNX's "FLOAT", "float32"; ONNX's own, in small letters, where torch has no such type."""
    return _TORCH_NAMES.get(element_type, element_type.lower())
