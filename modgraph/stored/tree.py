"""Names of tensors -> Graph: what stands in front of a dot is a module, what stands behind the last its parameter.

Where a file does not say that a tensor is a buffer, it stands among the parameters, and nothing is said of whether it
is trained. A name that cannot be split so (with an empty part, a bracket, a question mark) is a parameter of the root
under its whole name: a path of a graph would say more with it than the file does.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import BufferInfo, Graph, ModelInfo, ModuleNode, ParameterInfo
from modgraph.graph.paths import parameter_path
from modgraph.graph.repeats import mark_repeats
from modgraph.graph.sizes import elements
from modgraph.graph.stored import Stored, StoredDtype
from modgraph.names import last_name
from modgraph.stored.contents import MAX_TENSORS, Contents, StoredTensor

MAX_LEVELS = 100
"""Parts of a name that are taken for modules within modules."""
MAX_OTHER = 100
_UNFIT = re.compile(r"(?:\A|\.)(?:\.|\Z)|[\[\]?]")


@dataclass(slots=True)
class _Held:
    parameters: list[ParameterInfo] = field(default_factory=list)
    buffers: list[BufferInfo] = field(default_factory=list)


def graph_of(contents: Contents, *, name: str, target: str) -> Graph:
    """The graph of what a file holds.

    Raises:
        ValueError: a name stands twice, or there are more modules than are read.
    """
    held: dict[str, _Held] = {"": _Held()}
    _add_path("", held)
    for path in contents.modules:
        if _fits(path):
            _add_path(path, held)
    first: dict[Hashable, str] = {}
    seen: set[str] = set()
    for tensor in contents.tensors:
        if tensor.key in seen:
            raise ValueError(f"it has the tensor {tensor.key[:100]!r} twice")
        seen.add(tensor.key)
        _add_tensor(tensor, held, first)
    builder = GraphBuilder(_model(contents, name, target))
    for path, own in held.items():
        builder.modules.append(
            ModuleNode(
                path=path,
                class_name=contents.modules.get(path),
                alias_of=contents.aliases.get(path),
                parameters=tuple(own.parameters),
                buffers=tuple(own.buffers),
            )
        )
    builder.stored = _summed(contents)
    return mark_repeats(builder.build())


def _fits(path: str) -> bool:
    return path == "" or (_UNFIT.search(path) is None and path.count(".") < MAX_LEVELS)


def _add_path(path: str, held: dict[str, _Held]) -> None:
    """A module and those around it, each before what it holds."""
    missing: list[str] = []
    while path and path not in held:
        missing.append(path)
        path = path.rpartition(".")[0]
    for each in reversed(missing):
        held[each] = _Held()
    if len(held) > MAX_TENSORS:
        raise ValueError(f"its names stand for more than {MAX_TENSORS:,} modules")


def _add_tensor(tensor: StoredTensor, held: dict[str, _Held], first: dict[Hashable, str]) -> None:
    module, _, own = tensor.key.rpartition(".")
    if not own or not _fits(tensor.key):
        module, own = "", tensor.key
    _add_path(module, held)
    key = parameter_path(module, own)
    before = first.setdefault(tensor.same, key) if tensor.same is not None else key
    alias = None if before == key else before
    if tensor.kind == "buffer":
        held[module].buffers.append(
            BufferInfo(name=own, shape=tensor.shape, dtype=tensor.dtype, persistent=tensor.persistent, alias_of=alias)
        )
    else:
        held[module].parameters.append(
            ParameterInfo(name=own, shape=tensor.shape, dtype=tensor.dtype, trainable=tensor.trainable, alias_of=alias)
        )


def _model(contents: Contents, name: str, target: str) -> ModelInfo:
    """Parameters are counted where the file says which of its tensors are some."""
    tensors = list(_once(contents.tensors))
    told = all(tensor.kind is not None for tensor in tensors) and bool(tensors)
    parameters = [tensor for tensor in tensors if tensor.kind == "parameter"]
    buffers = [tensor for tensor in tensors if tensor.kind == "buffer"]
    trained = None if any(tensor.trainable is None for tensor in parameters) else [t for t in parameters if t.trainable]
    class_name = contents.modules.get("")
    return ModelInfo(
        name=last_name(class_name or "") or name,
        class_name=class_name,
        target=target,
        parameters=_elements(parameters) if told else None,
        trainable_parameters=_elements(trained) if told and trained is not None else None,
        buffers=_elements(buffers) if told else None,
        inputs=contents.inputs,
    )


def _once(tensors: Iterable[StoredTensor]) -> Iterable[StoredTensor]:
    """Each tensor under the first of its names."""
    met: set[Hashable] = set()
    for tensor in tensors:
        if tensor.same is None or tensor.same not in met:
            met.add(tensor.same)
            yield tensor


def _elements(tensors: Iterable[StoredTensor]) -> int | None:
    numbers = [elements(tensor.shape) for tensor in tensors]
    return None if None in numbers else sum(number for number in numbers if number is not None)


def _bytes(tensors: Iterable[StoredTensor]) -> int | None:
    numbers = [tensor.bytes for tensor in tensors]
    return None if None in numbers else sum(number for number in numbers if number is not None)


def _summed(contents: Contents) -> Stored:
    once = list(_once(contents.tensors))
    kinds = dict.fromkeys(tensor.dtype for tensor in contents.tensors)
    by_kind: dict[str | None, list[StoredTensor]] = {kind: [] for kind in kinds}
    for tensor in once:
        by_kind[tensor.dtype].append(tensor)
    return Stored(
        format=contents.format,
        tensors=len(contents.tensors),
        elements=_elements(once),
        bytes=_bytes(once),
        dtypes=tuple(
            StoredDtype(dtype=kind, tensors=len(held), elements=_elements(held), bytes=_bytes(held))
            for kind, held in by_kind.items()
        ),
        entry=contents.entry,
        entries=contents.entries[:MAX_OTHER],
        other=tuple(dict.fromkeys(contents.other))[:MAX_OTHER],
        metadata=contents.metadata,
    )
