"""The state dict that a graph's model has: its keys in order, with shapes. Source: `torch.nn.Module.state_dict`.

Module by module, depth first in registration order: own parameters, persistent buffers, extra state. What is hidden
from registration is not in it; what is registered under two names is in it twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from modgraph.graph.index import GraphIndex
from modgraph.graph.model import IN_ANY_ORDER, MAY_HIDE, BufferInfo, Graph, ModuleNode, ParameterInfo, Shape
from modgraph.graph.paths import is_open_place, parameter_path
from modgraph.names import last_name

EXTRA_STATE = "_extra_state"
"""The key under which torch keeps what a module's `get_extra_state` returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateEntry:
    """One tensor of a state dict, or the extra state of a module, which may be anything."""

    key: str
    """ "layer1.0.conv1.weight"."""
    shape: Shape | None
    """In elements; None where it is not known."""
    dtype: str | None
    """torch's name without the prefix: "float32"; None where it is not known."""
    first: str
    """The key under which the same tensor is met first: `key` itself, unless it is shared."""
    saved: bool = True
    """False: a checkpoint of this model has it not."""
    expected: bool = True
    """False: loading does not ask for it, and takes it for too much."""
    certain: bool = True
    """False where it may as well be absent: its value was not predicted, or whether it is persistent, or what is saved
    there is for a class or a hook to say."""

    @property
    def is_extra(self) -> bool:
        """Whether it is no tensor that has a shape: what `get_extra_state` returned."""
        return last_name(self.key) == EXTRA_STATE


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDict:
    """The state dict of a model, as far as its graph knows it."""

    entries: tuple[StateEntry, ...]
    open_below: tuple[str, ...] = ()
    """Prefixes ("blocks.", "" for the whole) below which the graph says that there may be more."""
    open_at: frozenset[str] = frozenset()
    """Prefixes of modules that may have further tensors of their own."""
    own: tuple[str, ...] = ()
    """Prefixes of modules that say for themselves what is saved of them and of those below them."""

    def is_open(self, key: str) -> bool:
        """Whether what is saved under `key` is for a class or a hook to say."""
        return key.startswith(self.own)

    def may_hold(self, key: str) -> bool:
        """Whether `key` lies where the graph says that there may be more."""
        holder = key[: key.rfind(".") + 1]
        return holder in self.open_at or key.startswith(self.open_below)


def state_dict_of(graph: Graph) -> StateDict:
    """Keys and shapes of `graph`'s model, in the order of `state_dict()`."""
    index = GraphIndex(graph)
    entries: dict[str, StateEntry] = {}
    open_below: list[str] = []
    hidden: set[str] = set()
    own: set[str] = set()
    own_prefixes: list[str] = []
    expected = [
        each.module
        for each in graph.open_places
        if each.stage == "predict" and MAY_HIDE not in each.message and IN_ANY_ORDER not in each.message
    ]
    for node in graph.modules:
        parent = index.parents[node.path]
        if not node.registered or parent in hidden or node.observed is False:
            hidden.add(node.path)
        elif is_open_place(node.path):
            open_below.append(node.path[:-1])
        elif node.class_is_open:
            open_below.append(parameter_path(node.path, ""))
        else:
            if node.own_state_dict or parent in own:
                own.add(node.path)
            if node.own_state_dict:
                own_prefixes.append(parameter_path(node.path, ""))
            if not node.certain and (parent is None or index.modules[parent].certain):
                open_below.append(parameter_path(node.path, ""))  # another module may stand here
            _add_own(node, entries, decided=node.path not in own and node.certain)
    if None in expected:
        open_below.append("")
    return StateDict(
        entries=tuple(entries.values()),
        open_below=tuple(dict.fromkeys([*open_below, *own_prefixes])),
        own=tuple(own_prefixes),
        open_at=frozenset(parameter_path(path, "") for path in expected if path is not None),
    )


def _add_own(node: ModuleNode, entries: dict[str, StateEntry], *, decided: bool) -> None:
    held: list[ParameterInfo | BufferInfo] = [*node.parameters]
    held += [buffer for buffer in node.buffers if buffer.persistent is not False]
    for tensor in held:
        key = parameter_path(node.path, tensor.name)
        first = tensor.alias_of
        if first is None:
            first = key if node.alias_of is None else parameter_path(node.alias_of, tensor.name)
        entries[key] = StateEntry(
            key=key,
            shape=tensor.shape,
            dtype=tensor.dtype,
            first=entries[first].first if first in entries else first,
            certain=decided
            and (tensor.shape, tensor.dtype) != (None, None)
            and getattr(tensor, "persistent", True) is not None,
        )
    if node.extra_state:
        key = parameter_path(node.path, EXTRA_STATE)
        entries[key] = StateEntry(
            key=key,
            shape=None,
            dtype=None,
            first=key,
            saved="get" in node.extra_state,
            expected="set" in node.extra_state,
            certain=decided,
        )
