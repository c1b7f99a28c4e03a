"""The state dict that a graph's model has: its keys in order, with shapes. Source: `torch.nn.Module.state_dict`.

Module by module, depth first in registration order: own parameters, then persistent buffers. What is hidden from
registration is not in it; what is registered under two names is in it twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Graph, ModuleNode, Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class StateEntry:
    """One tensor of a state dict."""

    key: str
    """ "layer1.0.conv1.weight"."""
    shape: Shape | None
    """In elements; None where it is not known."""
    dtype: str | None
    """torch's name without the prefix: "float32"; None where it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDict:
    """The state dict of a model, as far as its graph knows it."""

    entries: tuple[StateEntry, ...]
    open_below: tuple[str, ...] = ()
    """Prefixes ("blocks.", "" for the whole) below which the graph says that there may be more."""

    def may_hold(self, key: str) -> bool:
        """Whether `key` lies where the graph says that there may be more."""
        return any(key.startswith(prefix) for prefix in self.open_below)


def state_dict_of(graph: Graph) -> StateDict:
    """Keys and shapes of `graph`'s model, in the order of `state_dict()`."""
    index = GraphIndex(graph)
    entries: list[StateEntry] = []
    open_below: list[str] = []
    hidden: set[str] = set()
    for node in graph.modules:
        parent = index.parents[node.path]
        if not node.registered or parent in hidden or node.observed is False:
            hidden.add(node.path)
            continue
        prefix = f"{node.path}." if node.path else ""
        if node.path == "?" or node.path.endswith(".?"):
            open_below.append(prefix[:-2])
        elif node.class_name is None:
            open_below.append(prefix)
        else:
            entries.extend(_own_entries(node, prefix))
    return StateDict(entries=tuple(entries), open_below=tuple(dict.fromkeys(open_below)))


def _own_entries(node: ModuleNode, prefix: str) -> list[StateEntry]:
    parameters = [StateEntry(key=prefix + p.name, shape=p.shape, dtype=p.dtype) for p in node.parameters]
    buffers = [
        StateEntry(key=prefix + b.name, shape=b.shape, dtype=b.dtype) for b in node.buffers if b.persistent is not False
    ]
    return parameters + buffers
