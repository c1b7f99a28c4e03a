"""What the summary says of a graph that was read from a file of weights or an exported program."""

from __future__ import annotations

from modgraph.doors.reading import shown
from modgraph.graph.model import Graph
from modgraph.graph.stored import Stored, StoredDtype

MAX_DTYPES = 8
MAX_OTHER = 8
MAX_METADATA = 6
_MAX_VALUE = 60


def stored_title(graph: Graph) -> str:
    """The format of the file; "" for a graph that was not read from one."""
    found = graph.stored
    if found is None:
        return ""
    return f"{found.format}, entry {found.entry!r}" if found.entry else found.format


def counts_parameters(graph: Graph) -> bool:
    """Whether it is told which tensors are parameters, so that their number means something."""
    return graph.stored is None or graph.model.parameters is not None


def stored_facts(graph: Graph) -> list[tuple[str, str]]:
    """Lines below the table, each with its label."""
    found = graph.stored
    if found is None:
        return []
    lines = [("tensors", _amount(found))]
    if len(found.dtypes) > 1:
        kinds = [_dtype(each) for each in found.dtypes[:MAX_DTYPES]]
        more = [f"{len(found.dtypes) - MAX_DTYPES} more"] if len(found.dtypes) > MAX_DTYPES else []
        lines.append(("types", ", ".join([*kinds, *more])))
    if not counts_parameters(graph):
        lines.append(("", "the file does not tell parameters from buffers: both are counted above"))
    if found.other:
        more = [f"{len(found.other) - MAX_OTHER} more"] if len(found.other) > MAX_OTHER else []
        lines.append(("beside", ", ".join([*found.other[:MAX_OTHER], *more])))
    said = [f"{key} = {str(value)[:_MAX_VALUE]}" for key, value in found.metadata.items()]
    if said:
        more = [f"{len(said) - MAX_METADATA} more"] if len(said) > MAX_METADATA else []
        lines.append(("metadata", ", ".join([*said[:MAX_METADATA], *more])))
    return lines


def _amount(found: Stored) -> str:
    parts = [f"{found.tensors:,}"]
    if found.elements is not None:
        parts.append(f"{found.elements:,} elements")
    if found.bytes is not None:
        parts.append(_bytes(found.bytes))
    if len(found.dtypes) == 1 and found.dtypes[0].dtype:
        parts.append(found.dtypes[0].dtype)
    return " · ".join(parts)


def _dtype(each: StoredDtype) -> str:
    size = "" if each.bytes is None else f" {_bytes(each.bytes)}"
    return f"{each.dtype or 'of a type that is not known'}{size}"


def _bytes(count: int) -> str:
    return f"{count:,} bytes" if count < 100_000 else shown(count)
