"""What torch pickles for a tensor, a parameter, a state dict and a whole module: told from the names of what would be
called. Source: `torch/_utils.py` (`_rebuild_*`), `torch/nn/modules/module.py`, `torch/storage.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from modgraph.stored.contents import MAX_TENSORS, Contents, StoredTensor, shape_in, size_in_bytes
from modgraph.stored.pickles import Made, Named, Persistent, PickleError, Table

MAX_DEPTH = 4
"""Entries within entries that are looked through for state dicts."""
MAX_TABLES = 64
MAX_LEVELS = 100
"""Modules within modules."""
_STORAGES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "QInt8Storage": "qint8",
    "QUInt8Storage": "quint8",
    "QInt32Storage": "qint32",
    "QUInt4x2Storage": "quint4x2",
    "QUInt2x4Storage": "quint2x4",
}
_UNINITIALIZED = ("UninitializedParameter", "UninitializedBuffer")
_SUBCLASSED = frozenset(("torch._tensor._rebuild_from_type", "torch._tensor._rebuild_from_type_v2"))
_MAX_WRAPPED = 8


def tensor_in(value: Any, key: str) -> StoredTensor | None:
    """The tensor that a pickled value would be, called `key`; None where it would be something else."""
    found: StoredTensor | None = None
    around: list[tuple[Any, ...]] = []
    for _ in range(_MAX_WRAPPED):
        if not isinstance(value, Made) or not isinstance(value.made_by, Named):
            return None
        path, given = value.made_by.path, value.arguments
        if path in _SUBCLASSED and len(given) >= 3 and isinstance(given[2], tuple):
            value = Made(given[0], given[2])
        elif path in ("torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state") and given:
            around.append(given)
            value = given[0]
        else:
            found = _plain_tensor(value.made_by, given, key)
            break
    for given in around:
        if found is not None:
            found = replace(found, kind="parameter", trainable=_flag(given, 1))
    return found


def _flag(given: tuple[Any, ...], place: int) -> bool | None:
    value = given[place] if len(given) > place else None
    return value if isinstance(value, bool) else None


def _plain_tensor(made_by: Named, given: tuple[Any, ...], key: str) -> StoredTensor | None:
    if made_by.module == "torch.nn.parameter" and made_by.name in _UNINITIALIZED:
        kind: Any = "parameter" if made_by.name == "UninitializedParameter" else "buffer"
        return StoredTensor(key=key, shape=None, dtype=None, kind=kind, trainable=_flag(given, 0))
    if made_by.module != "torch._utils" or not made_by.name.startswith("_rebuild_"):
        return None
    what = made_by.name.removeprefix("_rebuild_")
    if what in ("tensor", "tensor_v2", "tensor_v3", "qtensor") and len(given) >= 4:
        return _strided(given, _dtype(given[6]) if what == "tensor_v3" and len(given) > 6 else None, key)
    if what == "sparse_tensor" and len(given) == 2 and isinstance(given[1], tuple):
        return _sparse(given[1], key)
    if what == "meta_tensor_no_storage" and len(given) >= 2:
        return StoredTensor(key=key, shape=shape_in(given[1]), dtype=_dtype(given[0]), bytes=0)
    if what == "wrapper_subclass" and len(given) >= 3:
        return StoredTensor(key=key, shape=shape_in(given[2]), dtype=_dtype(given[1]))
    if what.endswith("tensor") or "from_numpy" in what or "from_cpu" in what:
        return StoredTensor(key=key, shape=None, dtype=None)
    return None


def _strided(given: tuple[Any, ...], dtype: str | None, key: str) -> StoredTensor:
    storage, offset, size, stride = given[:4]
    shape = shape_in(size)
    place = storage.key if isinstance(storage, Persistent) else None
    same = None
    if isinstance(place, tuple) and len(place) >= 3:
        kind, name = place[1], place[2]
        dtype = dtype or (_STORAGES.get(kind.name) if isinstance(kind, Named) else None)
        strides = shape_in(stride)
        if isinstance(name, str) and type(offset) is int and strides is not None:
            same = (name, offset, shape, strides)
    return StoredTensor(key=key, shape=shape, dtype=dtype, bytes=size_in_bytes(shape, dtype), same=same)


def _sparse(data: tuple[Any, ...], key: str) -> StoredTensor:
    """Indices and values, then the size: `torch.sparse_coo`; two kinds of indices before in the others."""
    parts = [part for part in (tensor_in(each, key) for each in data) if part is not None]
    sizes = [shape for each in data if (shape := shape_in(each)) is not None]
    dtype = parts[-1].dtype if parts else None
    known = [part.bytes for part in parts]
    total = None if None in known else sum(size for size in known if size is not None)
    return StoredTensor(key=key, shape=sizes[0] if sizes else None, dtype=dtype, bytes=total)


def _dtype(value: Any) -> str | None:
    return value.name if isinstance(value, Named) and value.module == "torch" else None


def is_module(value: Any) -> bool:
    """Whether a pickled value would be an `nn.Module`, by what it holds: its class is not looked at."""
    held = _held(value)
    return held is not None and isinstance(held.get("_modules"), dict) and isinstance(held.get("_parameters"), dict)


def _held(value: Any) -> dict[Any, Any] | None:
    """The attributes of an object, as far as they were pickled."""
    if not isinstance(value, Made):
        return None
    state = value.state[0] if isinstance(value.state, tuple) and len(value.state) == 2 else value.state
    return state if isinstance(state, dict) else None


_MAKING = ("copyreg._reconstructor", "copy_reg._reconstructor", "copyreg.__newobj__")
"""Functions that make an object of the class that they are given first."""


def class_of(value: Any) -> str | None:
    """Import path of the class of a pickled object; None where it is not told."""
    if not isinstance(value, Made):
        return None
    kind: Any = value.made_by
    if isinstance(kind, Named) and kind.path in _MAKING:
        kind = value.arguments[0] if value.arguments else None
    if isinstance(kind, Persistent) and isinstance(kind.key, tuple) and len(kind.key) > 1:
        kind = kind.key[1]  # of before torch 1.6: ("module", its class, the file, the text of it)
    return kind.path if isinstance(kind, Named) else None


def add_module(root: Any, contents: Contents, path: str = "") -> None:
    """A pickled module and all below it, with their classes, parameters and buffers.

    Raises:
        PickleError: it holds more than what is read.
    """
    seen: dict[int, str] = {}
    pending: list[tuple[str, Any, int]] = [(path, root, 0)]
    while pending:
        here, value, level = pending.pop()
        if here in contents.modules:
            continue
        if len(contents.modules) >= MAX_TENSORS or level > MAX_LEVELS:
            raise PickleError("it holds more modules, or modules deeper in each other, than are read")
        contents.modules[here] = "NoneType" if value is None else class_of(value)
        first = seen.setdefault(id(value), here)
        if first != here and value is not None:
            contents.aliases[here] = first
            continue
        held = _held(value) or {}
        contents.tensors += _own_tensors(held, f"{here}." if here else "")
        children = held.get("_modules")
        below = [
            (f"{here}.{name}" if here else name, child, level + 1)
            for name, child in (children.items() if isinstance(children, dict) else ())
            if isinstance(name, str)
        ]
        pending += reversed(below)
        if len(contents.tensors) > MAX_TENSORS:
            raise PickleError(f"it holds more than {MAX_TENSORS:,} tensors")


def _own_tensors(held: dict[Any, Any], prefix: str) -> Iterator[StoredTensor]:
    fleeting = held.get("_non_persistent_buffers_set")
    not_saved = _texts(fleeting)
    for kind, name_of_table in (("parameter", "_parameters"), ("buffer", "_buffers")):
        table = held.get(name_of_table)
        for name, value in table.items() if isinstance(table, dict) else ():
            tensor = tensor_in(value, f"{prefix}{name}") if isinstance(name, str) else None
            if tensor is not None:
                tensor.kind = kind  # type: ignore[assignment]
                tensor.persistent = name not in not_saved if kind == "buffer" else None
                yield tensor


def _texts(value: Any) -> frozenset[str]:
    """What a pickled set of texts holds."""
    if isinstance(value, Made) and value.arguments and isinstance(value.arguments[0], list):
        value = value.arguments[0]
    return frozenset(each for each in value if isinstance(each, str)) if isinstance(value, list) else frozenset()


def tables_in(loaded: Any) -> dict[str, Any]:
    """Every module, and every mapping from names to tensors, in what was pickled: by the way to it, the outermost
    first. "" is the whole."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    level = [("", loaded)]
    for _ in range(MAX_DEPTH):
        below: list[tuple[str, Any]] = []
        for entry, value in level:
            if id(value) in seen or len(found) >= MAX_TABLES:
                continue
            seen.add(id(value))
            if is_module(value):
                found[entry] = value
            if not isinstance(value, dict):
                continue
            named = {key: one for key, one in value.items() if isinstance(key, str)}
            if any(tensor_in(one, "") is not None for one in named.values()):
                found[entry] = value
                continue
            below += [(f"{entry}.{key}" if entry else key, one) for key, one in named.items()]
        level = below
    return found


def add_state_dict(table: dict[Any, Any], contents: Contents, prefix: str = "") -> None:
    """The tensors of a state dict, and the modules that it names in its `_metadata`.

    Raises:
        PickleError: it holds more than what is read.
    """
    state = table.state if isinstance(table, Table) else None
    metadata = state.get("_metadata") if isinstance(state, dict) else None
    for path in metadata if isinstance(metadata, dict) else ():
        if isinstance(path, str):
            contents.modules.setdefault(f"{prefix}{path}" if path else prefix.rstrip("."), None)
    for key, value in table.items():
        if not isinstance(key, str):
            continue
        tensor = tensor_in(value, f"{prefix}{key}")
        if tensor is not None:
            contents.tensors.append(tensor)
        else:
            contents.other.append(f"{prefix}{key}")
        if len(contents.tensors) > MAX_TENSORS:
            raise PickleError(f"it holds more than {MAX_TENSORS:,} tensors")
