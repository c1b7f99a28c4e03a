"""A file of weights or an exported program -> Graph, by its kind (`source/kinds.py`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from modgraph.doors.archives import Archive
from modgraph.errors import GraphError, ModgraphError
from modgraph.graph.model import Graph
from modgraph.source.checkpoints import INDEX_SUFFIX, require_promised, shards_of
from modgraph.source.kinds import EXPORTED, GGUF, INDEX, LEGACY, SAFETENSORS, TORCH, TORCHSCRIPT, Kind, kind_of
from modgraph.stored.contents import MAX_TENSORS, Contents
from modgraph.stored.exported_programs import read_exported
from modgraph.stored.gguf import read_gguf
from modgraph.stored.safetensors import read_safetensors_file
from modgraph.stored.torch_files import read_legacy, read_torch_archive, read_torchscript
from modgraph.stored.tree import graph_of

_FILES: dict[Kind, Callable[[Path], Contents]] = {
    SAFETENSORS: read_safetensors_file,
    GGUF: read_gguf,
    LEGACY: read_legacy,
}
_ARCHIVES: dict[Kind, Callable[[Archive], Contents]] = {
    TORCH: read_torch_archive,
    TORCHSCRIPT: read_torchscript,
    EXPORTED: read_exported,
}


def load_stored(path: Path, kind: Kind, shown: str | None = None) -> Graph:
    """The graph of a file of weights or an exported program. Nothing in it is run, imported or unpickled.

    Args:
        shown: how the user wrote the path.

    Raises:
        GraphError: it is damaged, cut off, or larger than what is read.
    """
    shown = shown or str(path)
    try:
        contents = _index(path) if kind is INDEX else _contents(path, kind)
        return graph_of(contents, name=_stem(path), target=path.name)
    except GraphError as error:
        error.file = shown
        raise
    except ModgraphError as error:
        raise GraphError(error.message, file=shown, hint=error.hint) from error
    except OSError as error:
        raise GraphError(f"cannot be read: {error.strerror or error}", file=shown) from error
    except (ValueError, KeyError, OverflowError) as error:
        why = str(error) if isinstance(error, ValueError) else "it is damaged"
        raise GraphError(f"this is no {kind.called} that can be read: {why[:300]}", file=shown) from error


def _contents(path: Path, kind: Kind) -> Contents:
    if kind in _ARCHIVES:
        return _ARCHIVES[kind](Archive(path))
    return _FILES[kind](path)


def _index(path: Path) -> Contents:
    """All shards of a checkpoint as one."""
    shards = shards_of(path)
    whole: Contents | None = None
    for shard in shards:
        kind = kind_of(shard)
        if kind not in _FILES and kind not in (TORCH,):
            raise ValueError(f"its shard {shard.name} is no file of weights")
        found = _contents(shard, kind)
        if whole is None:
            whole = found
            continue
        whole.tensors += found.tensors
        whole.modules = {**found.modules, **whole.modules}
        if len(whole.tensors) > MAX_TENSORS:
            raise ValueError(f"it holds more than {MAX_TENSORS:,} tensors")
    if whole is None:
        raise ValueError("it names no shards")
    require_promised(path, (tensor.key for tensor in whole.tensors))
    whole.format = f"{whole.format} in {len(shards)} shard{'s' * (len(shards) != 1)}"
    for number, tensor in enumerate(whole.tensors):
        if tensor.same is not None:  # storages are numbered in each file anew; a name stands in one of them
            tensor.same = (number,)
    return whole


def _stem(path: Path) -> str:
    name = path.name
    if name.endswith(INDEX_SUFFIX):
        name = name.removesuffix(INDEX_SUFFIX)
    return name.rpartition(".")[0] or name
