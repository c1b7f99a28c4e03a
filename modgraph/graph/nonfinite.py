"""Where the first value came from that is infinite, and the first that is no number: of a run with statistics."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Literal

from modgraph.graph.dataflow import operation_word
from modgraph.graph.model import Graph, SourceLocation, Statistics

Kind = Literal["nan", "inf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NonFinite:
    """What gave such values first: nothing that went into it had any."""

    kind: Kind
    node: str
    """As in edges: `op:N`, `call:N`, `input:NAME`, `param:PATH`, `const:N`."""
    name: str
    """ "op div", "fc", "input x"."""
    module: str | None
    """In whose call it ran; None for what came from outside."""
    source: SourceLocation | None
    values: int
    """How many of its values are of that kind."""
    numel: int | None
    """Of how many."""

    @property
    def text(self) -> str:
        """ "first inf: op div, model.py:8, 8 of 8 values"."""
        place = f", {self.source.file}:{self.source.line}" if self.source is not None else ""
        of = "" if self.numel is None else f" of {self.numel:,}"
        plural = "" if self.numel == 1 else "s"
        return f"first {'NaN' if self.kind == 'nan' else 'inf'}: {self.name}{place}, {self.values:,}{of} value{plural}"


def nonfinite(graph: Graph) -> tuple[NonFinite, ...]:
    """The first of each kind, infinite ones first; empty where there is none, or nothing was measured."""
    return tuple(found for kind in _KINDS if (found := _first(graph, kind)) is not None)


_KINDS: tuple[Kind, ...] = ("inf", "nan")


def _count(statistics: Statistics | None, kind: Kind) -> int:
    if statistics is None:
        return 0
    return statistics.nan if kind == "nan" else statistics.inf


def _made(graph: Graph, kind: Kind) -> dict[str, Statistics]:
    """What each producer gave with such values in it."""
    made: dict[str, Statistics] = {}
    for edge in graph.edges:
        if edge.tensor.statistics is not None and _count(edge.tensor.statistics, kind):
            made.setdefault(edge.producer, edge.tensor.statistics)
    parents = {call.parent for call in graph.calls}
    for call in graph.calls:
        for tensor in call.outputs if call.index not in parents else ():
            if tensor.statistics is not None and _count(tensor.statistics, kind):
                made.setdefault(f"call:{call.index}", tensor.statistics)
    return made


def _first(graph: Graph, kind: Kind) -> NonFinite | None:
    made = _made(graph, kind)
    if not made:
        return None
    homes = {operation.id: f"call:{operation.call}" for operation in graph.operations}
    begun: dict[str, int] = {}
    tainted: set[str] = set()
    for position, edge in enumerate(graph.edges):  # in the order in which their consumers began
        begun.setdefault(edge.consumer, position)
        if _count(edge.tensor.statistics, kind):
            tainted.add(edge.consumer)
    for position, edge in enumerate(graph.edges):
        begun.setdefault(edge.producer, position)

    def began(node: str) -> tuple[int, int]:
        number = node.partition(":")[2]
        return begun.get(node, len(graph.edges)), int(number) if number.isdecimal() else -1

    # What goes into a call without calls inside leads to that, and not to the operations that it shows.
    own = [node for node in made if node not in tainted and homes.get(node) not in tainted]
    if not own:
        return None
    node = min(own, key=began)
    return _told(graph, kind, _inside(graph, node, made), made[node])


def _inside(graph: Graph, node: str, made: dict[str, Statistics]) -> str:
    """The operation inside a call that shows its operations, where one can be told; `node` itself else."""
    operations = [operation.id for operation in graph.operations if f"call:{operation.call}" == node]
    if not operations:
        return node
    for operation in operations:
        if operation in made:
            return operation
    used: defaultdict[str, int] = defaultdict(int)
    for edge in graph.edges:
        used[edge.producer] += 1
    last = [operation for operation in operations if not used[operation]]
    return last[0] if len(last) == 1 else node


def _told(graph: Graph, kind: Kind, node: str, statistics: Statistics) -> NonFinite:
    what, _, rest = node.partition(":")
    found = NonFinite(
        kind=kind,
        node=node,
        name=f"{_WORDS.get(what, what)} {rest}",
        module=None,
        source=None,
        values=_count(statistics, kind),
        numel=statistics.numel,
    )
    if what == "op":
        operation = next(each for each in graph.operations if each.id == node)
        module = None if operation.call is None else graph.calls[operation.call].module
        return replace(found, name=f"op {operation_word(operation.name)}", module=module, source=operation.source)
    if what == "call":
        call = graph.calls[int(rest)]
        return replace(found, name=call.module or "the model", module=call.module, source=call.source)
    return found


_WORDS = {"param": "parameter or buffer", "const": "constant"}
