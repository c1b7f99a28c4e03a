"""`x.type()`: the old name of a tensor's class, "torch.FloatTensor", and `x.type(name)`, which converts to it.

Source: torch/_tensor_docs.py (`type`), torch/csrc/tensor/python_tensor.cpp.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Constant, Dtype, KnownClass, Value
from modgraph.prediction.knowledge.tensors.elements import promoted
from modgraph.prediction.knowledge.tensors.tensor_shapes import converted, place_of, source_of
from modgraph.prediction.knowledge.torch.autocasting import as_usual, may_be_cast
from modgraph.prediction.knowledge.torch.parameters import TENSOR
from modgraph.prediction.python.plain import number_unknown

_NAMES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}
_DTYPES = {f"torch.{name}Tensor": dtype for dtype, name in _NAMES.items()}


@models(f"{TENSOR}.type")
def type_of(arguments: Arguments, machine: Machine) -> Value:
    source, wanted = source_of(arguments, machine), as_usual(arguments.get(1, "dtype", NONE))
    if wanted == NONE and arguments.open is None:
        name = _NAMES.get(source.dtype or "")
        known = name is not None and not may_be_cast(arguments, machine) and place_of(arguments, machine) == "cpu"
        return (
            Constant(f"torch.{name}Tensor") if known else number_unknown(machine, "the type of a tensor is not known")
        )
    text = wanted.value if isinstance(wanted, Constant) else getattr(wanted, "name", None)
    if isinstance(wanted, Dtype):
        return converted(arguments, machine, wanted.name, None)
    if isinstance(wanted, (Constant, KnownClass)) and isinstance(text, str) and text in _DTYPES:
        return converted(arguments, machine, _DTYPES[text], "cpu")
    where = "cuda" if isinstance(text, str) and text.startswith("torch.cuda.") else source.device
    return converted(arguments, machine, None, where)


@models("torch.promote_types", "torch.result_type")
def common_type(arguments: Arguments, machine: Machine) -> Value:
    """The dtype that is wide enough for two others; of tensors and numbers, that is not known."""
    given = [arguments.get(at, name, NONE) for at, name in enumerate(("type1", "type2"))]
    left, right = (each.name if isinstance(each, Dtype) else None for each in given)
    found = promoted(left, right)
    return Dtype(found) if found is not None else number_unknown(machine, "which dtype two others give is not known")
