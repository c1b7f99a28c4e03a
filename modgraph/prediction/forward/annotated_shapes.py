"""What the annotation of a parameter says of a tensor: `Float[Tensor, "batch 3 h w"]`, `LongTensor`, `int`."""

from __future__ import annotations

import keyword
import re

from modgraph.prediction.forward.running import AnyTensor, AnyValue, Given
from modgraph.source import nodes
from modgraph.source.code_text import code_text
from modgraph.source.inputs import InputSpec

_SHAPED = re.compile(
    r"""(?:\w+\.)*(?P<kind>[A-Z]\w*)\[\s*(?:[\w.]*Tensor|[\w.]*Array)\s*,\s*[rR]?(?P<quote>["'])(?P<shape>[^"']*)(?P=quote)\s*\]\Z"""
)
"""As jaxtyping has it."""
_TENSOR = re.compile(r"(?:\w+\.)*(?P<kind>[A-Z]\w*)?Tensor\Z")
OPTIONAL = re.compile(r"(?:\w+\.)*Optional\[(.+)\]\Z|(.+?)\s*\|\s*None\Z|None\s*\|\s*(.+)\Z")
_DTYPES = {
    "Float": "float32", "Float32": "float32", "Float16": "float16", "Half": "float16", "BFloat16": "bfloat16",
    "Float64": "float64", "Double": "float64", "Int": "int64", "Integer": "int64", "Int64": "int64", "Long": "int64",
    "Int32": "int32", "Int16": "int16", "Int8": "int8", "UInt8": "uint8", "Byte": "uint8", "Bool": "bool",
    "Complex": "complex64", "Complex64": "complex64", "Complex128": "complex128",
}  # fmt: skip
_SIZE = re.compile(r"(?P<name>[^\W\d]\w*)=(?P<size>\d+)\Z")


def annotated_input(name: str | None, annotation: nodes.Expression | None) -> Given | None:
    """What is to be given for a parameter; None where that is a tensor of which nothing is said.

    Args:
        name: under which it is given; None for the next in a row.
    """
    if annotation is None:
        return None
    text = code_text(annotation).strip()
    if text[:1] in "\"'" and text[-1:] == text[:1]:
        text = text[1:-1]
    optional = OPTIONAL.match(text)
    text = next((part for part in optional.groups() if part), text) if optional is not None else text
    shaped = _SHAPED.match(text)
    if shaped is not None:
        sizes = _sizes(shaped["shape"])
        dtype = _DTYPES.get(shaped["kind"])
        if sizes is None:
            return AnyTensor(name, dtype)
        return InputSpec(text=text, name=name, shape=sizes, dtype=dtype)
    tensor = _TENSOR.match(text)
    if tensor is not None:
        return AnyTensor(name, _DTYPES.get(tensor["kind"] or ""))
    return AnyValue(name)


def _sizes(shape: str) -> tuple[int | str, ...] | None:
    """The sizes of "batch 3 h w"; None where some of them is none that can be given."""
    found: list[int | str] = []
    for word in shape.split():
        word = word.lstrip("#?")
        named = _SIZE.match(word)
        word = named["size"] if named is not None else word
        if word.isdecimal():
            found.append(int(word))
        elif word.startswith("*") and word[1:].isidentifier():
            found.append(word[1:])  # any number of dimensions: one will do
        elif word.isidentifier() and not keyword.iskeyword(word) and word != "_":
            found.append(word)
        else:
            return None
    return tuple(found)
