"""What `torch.export.save` writes (`.pt2`): its graph is JSON, of which signature, shapes and module paths are read.

The weights in the archive are not opened, and what it pickles (sample inputs) is left alone. Source:
`torch/_export/serde/schema.py`; of before torch 2.8 the JSON is called `serialized_exported_program.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from modgraph.doors.archives import Archive
from modgraph.doors.data import read_json
from modgraph.graph.model import ModelInput, Shape, TensorInfo
from modgraph.stored.contents import MAX_DIMENSIONS, MAX_TENSORS, Contents, StoredTensor, size_in_bytes

MAX_PROGRAM = 512 * 2**20
"""Bytes of the JSON; that of a model of thousands of operations takes some tens of millions."""
_BEFORE = "serialized_exported_program.json"
_DTYPES = {
    **dict(enumerate(("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"), 1)),
    **dict(enumerate(("complex32", "complex64", "complex128", "bool", "bfloat16"), 9)),
    28: "uint16",
    **dict(enumerate(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"), 29)),
    34: "uint32",
    35: "uint64",
}
"""Source: `ScalarType` of the schema."""
_AGAIN = re.compile(r"@\d+")
"""Behind the path of a module that is called again."""


def program_of(archive: Archive) -> str | None:
    """The file in an archive that holds an exported program's graph; None where there is none."""
    models = sorted(name for name in archive.names if re.fullmatch(r"models/[^/]+\.json", name))
    return next((name for name in ("models/model.json", _BEFORE) if name in archive.names), next(iter(models), None))


def read_exported(archive: Archive) -> Contents:
    """The modules, parameters, buffers and inputs of an exported program.

    Raises:
        ValueError: it is damaged or too large.
    """
    name = program_of(archive)
    if name is None:
        raise ValueError("there is no program in it")
    graph_module = _mapping(_mapping(read_json(archive.read(name, MAX_PROGRAM))).get("graph_module"))
    graph, signature = _mapping(graph_module.get("graph")), _mapping(graph_module.get("signature"))
    if not signature.get("input_specs"):
        raise ValueError("there is no program in it")
    contents = Contents(format="exported program")
    _add_modules(contents, graph_module, graph)
    values = _mapping(graph.get("tensor_values"))
    weights = _weights(archive, name)
    inputs: list[ModelInput] = []
    for spec in _list(signature.get("input_specs")):
        for kind, said in _mapping(spec).items():
            _add_spec(contents, inputs, kind, _mapping(said), values, weights)
    contents.inputs = tuple(inputs)
    return contents


def _add_spec(
    contents: Contents,
    inputs: list[ModelInput],
    kind: str,
    said: dict[str, Any],
    values: dict[str, Any],
    weights: dict[str, Any],
) -> None:
    argument = _mapping(said.get("arg"))
    if kind == "user_input":
        name = _mapping(argument.get("as_tensor")).get("name")
        if isinstance(name, str):
            meta = _mapping(values.get(name))
            tensor = TensorInfo(name=name, shape=_shape(meta), dtype=_DTYPES.get(_number(meta.get("dtype"))))
            inputs.append(ModelInput(name=name, tensors=(tensor,)))
        return
    key = said.get(f"{kind}_name")
    if kind not in ("parameter", "buffer", "tensor_constant") or not isinstance(key, str):
        return
    if len(contents.tensors) >= MAX_TENSORS:
        raise ValueError(f"it holds more than {MAX_TENSORS:,} tensors")
    stored = _mapping(weights.get(key))
    meta = _mapping(values.get(str(argument.get("name")))) or _mapping(stored.get("tensor_meta"))
    trainable = _mapping(stored.get("tensor_meta")).get("requires_grad")
    shape, dtype = _shape(meta), _DTYPES.get(_number(meta.get("dtype")))
    place = stored.get("path_name")
    persistent = said.get("persistent")
    contents.tensors.append(
        StoredTensor(
            key=key,
            shape=shape,
            dtype=dtype,
            bytes=size_in_bytes(shape, dtype),
            kind="parameter" if kind == "parameter" else "buffer",
            trainable=trainable if kind == "parameter" and isinstance(trainable, bool) else None,
            persistent=persistent if isinstance(persistent, bool) else kind == "buffer" or None,
            same=(place, str(meta.get("strides")), str(meta.get("storage_offset"))) if isinstance(place, str) else None,
        )
    )


def _add_modules(contents: Contents, graph_module: dict[str, Any], graph: dict[str, Any]) -> None:
    """Paths in the order of the program's list of modules; classes by the stacks of modules around its operations."""
    for each in _list(graph_module.get("module_call_graph")):
        path = _mapping(each).get("fqn")
        if isinstance(path, str):
            contents.modules.setdefault(_AGAIN.sub("", path), None)
    for node in _list(graph.get("nodes")):
        for path, class_name in _stack(_mapping(_mapping(node).get("metadata")).get("nn_module_stack")):
            if contents.modules.get(path) is None:
                contents.modules[path] = class_name
        if len(contents.modules) > MAX_TENSORS:
            raise ValueError(f"it holds more than {MAX_TENSORS:,} modules")


def _stack(text: Any) -> Iterator[tuple[str, str]]:
    """ "L__self__,,model.Net;L__self__emb,emb,torch.nn.modules.linear.Linear": paths and classes."""
    for entry in text.split(";") if isinstance(text, str) else ():
        parts = entry.rsplit(",", 2)
        if len(parts) == 3:
            yield _AGAIN.sub("", parts[1]), parts[2]


def _weights(archive: Archive, program: str) -> dict[str, Any]:
    """What the archive says of each weight and constant, by name; {} of one of before torch 2.8."""
    stem = program.rpartition("/")[2].removesuffix(".json")
    found: dict[str, Any] = {}
    for place in (f"data/constants/{stem}_constants_config.json", f"data/weights/{stem}_weights_config.json"):
        if place in archive.names:
            found |= _mapping(_mapping(read_json(archive.read(place, MAX_PROGRAM))).get("config"))
    return found


def _shape(meta: dict[str, Any]) -> Shape | None:
    sizes = meta.get("sizes")
    if not isinstance(sizes, list) or len(sizes) > MAX_DIMENSIONS:
        return None
    return tuple(_size(each) for each in sizes)


def _size(value: Any) -> int | str | None:
    said = _mapping(value)
    number = said.get("as_int")
    if type(number) is int and 0 <= number < 2**63:
        return number
    text = _mapping(said.get("as_expr")).get("expr_str")
    return text[:200] if isinstance(text, str) else None


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> int:
    return value if type(value) is int else -1
