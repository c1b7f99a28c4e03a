"""The calls of a run that no node of an ONNX file is left of, as the file says them: Dropout and Identity in `eval`.

A file holds operators, and such a call has none: what it is given is what it gives. So the file says beside the
operators that it was made, inside of which call, with which shapes, and between whom it stood where that is certain.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from modgraph.doors.data import read_json
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Call, Edge, Operation, Shape, TensorInfo
from modgraph.graph.onnx_amount import LONGEST_SIZE, MAX_DIMENSIONS, WORD, Amount

FACT = "modgraph.passed"
"""Metadata of the model."""
MAX_DEPTH = 1_000
"""Of calls inside of calls, beyond which none is put in."""
_Tensor = tuple[str, str | None, tuple[int | str | None, ...] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedCall:
    """One such call. Calls are named by the path of their module, with "@2" at the end for its second call."""

    place: str
    parent: str
    """The call inside of which it was made; "" for the model's."""
    before: str | None
    """The call made last before it in there; None for the first."""
    inputs: tuple[_Tensor, ...] = ()
    outputs: tuple[_Tensor, ...] = ()
    producer: str | None = None
    """The call, or "input:NAME", that made what it was given; None where an operation did, or several."""
    alone: bool = False
    """Nothing else read what it was given."""
    readers: tuple[str, ...] = ()
    """The calls that were given what it gave, and nothing else."""


def passed_text(calls: Iterable[PassedCall]) -> str:
    """What the metadata holds."""
    return json.dumps([{k: v for k, v in asdict(call).items() if v} for call in calls], ensure_ascii=False)


def read_passed(text: str | None, amount: Amount) -> list[PassedCall]:
    """What `passed_text` wrote; of what is written otherwise, what can be made out. `amount` is told how much it is."""
    try:
        entries = read_json(text or "[]")
    except ValueError:
        return []
    if not isinstance(entries, list):
        return []
    amount.add_nodes(len(entries))
    found = (_entry(entry, amount) for entry in entries)
    return [call for call in found if call is not None]


def _entry(entry: Any, amount: Amount) -> PassedCall | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("place"), str) or not entry["place"]:
        return None
    known: dict[str, Any] = {"parent": "", "before": None}
    for field in fields(PassedCall):
        value = entry.get(field.name)
        if isinstance(value, list):
            amount.add_words(2 * len(value))  # of each comes an entry here, and a tensor of the call
        if field.name in ("inputs", "outputs"):
            known[field.name] = tuple(_tensor(each) for each in value) if isinstance(value, list) else ()
        elif field.name == "readers":
            known["readers"] = tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
        elif field.name == "alone":
            known["alone"] = value is True
        elif isinstance(value, str):
            known[field.name] = value
    return PassedCall(**known)


def _tensor(entry: Any) -> _Tensor:
    name, dtype, shape = entry if isinstance(entry, list) and len(entry) == 3 else ("", None, None)
    sizes = None
    if isinstance(shape, list) and len(shape) <= MAX_DIMENSIONS and all(_is_size(size) for size in shape):
        sizes = tuple(shape)
    return name if isinstance(name, str) else "", dtype if isinstance(dtype, str) else None, sizes


def _is_size(size: Any) -> bool:
    if isinstance(size, str):
        return 0 < len(size) <= LONGEST_SIZE
    return size is None or (isinstance(size, int) and not isinstance(size, bool) and abs(size) < 2**63)


def _infos(tensors: Iterable[_Tensor]) -> tuple[TensorInfo, ...]:
    return tuple(TensorInfo(name=name, dtype=dtype, shape=shape) for name, dtype, shape in tensors)


def split_place(place: str) -> tuple[str, int]:
    """ "a.b@2" as the path and the number of the call, from 0."""
    path, mark, number = place.rpartition("@")
    return (path, int(number) - 1) if mark and number.isdecimal() and len(number) < 10 else (place, 0)


def join_calls(
    builder: GraphBuilder,
    passed: Sequence[PassedCall],
    owner_of: Mapping[str, Collection[str]],
    amount: Amount,
) -> list[str]:
    """Put the calls without operators among the others, and let edges end at calls, as those of a trace do.

    Args:
        owner_of: the paths of all modules that hold a parameter, by its name.
        amount: told of what is done beyond what the file is long.

    Returns:
        The places of calls of which it is not known where in the dataflow they stood.
    """
    tree = CallTree(builder.calls, amount)
    put = [(call, tree.put(call)) for call in passed]
    builder.calls, numbers = tree.numbered()
    builder.operations = [
        each if each.call is None else replace(each, call=numbers[each.call]) for each in builder.operations
    ]
    edges = [_renumbered(edge, numbers) for edge in builder.edges]
    flow = Flow(builder.calls, builder.operations, edges, owner_of, amount)
    find = CallTree(builder.calls, amount).find
    loose = []
    for call, index in put:
        if index is None or not flow.lead_through(numbers[index], call, find):
            loose.append(call.place)
    builder.edges = flow.edges
    return loose


def _renumbered(edge: Edge, numbers: Mapping[int, int]) -> Edge:
    """The same edge where calls have other numbers."""

    def end(old: str) -> str:
        return f"call:{numbers[int(old[5:])]}" if old.startswith("call:") else old

    return replace(edge, producer=end(edge.producer), consumer=end(edge.consumer))


class CallTree:
    """The calls of a file, into which others are put; in the end they are numbered anew, in their order."""

    def __init__(self, calls: Iterable[Call], amount: Amount) -> None:
        self._calls = list(calls)
        self._amount = amount
        self._first: dict[int | None, int] = {}
        """The call made first inside of each."""
        self._next: dict[int, int] = {}
        """The call made after each, inside of the same."""
        self._depths: list[int] = []
        self._of: dict[str, list[int]] = defaultdict(list)
        last: dict[int | None, int] = {}
        for call in self._calls:
            if call.parent in last:
                self._next[last[call.parent]] = call.index
            else:
                self._first[call.parent] = call.index
            last[call.parent] = call.index
            self._depths.append(0 if call.parent is None else self._depths[call.parent] + 1)
            self._of[call.module].append(call.index)

    def find(self, place: str) -> int | None:
        """The call that has this name; None where there is none."""
        path, number = split_place(place) if place else ("", 0)
        indices = self._of.get(path, ())
        return indices[number] if 0 <= number < len(indices) else None

    def put(self, passed: PassedCall) -> int | None:
        """A call for `passed`; None where the call around it, or the one before it, is not in the file."""
        path, number = split_place(passed.place)
        parent = self.find(passed.parent)
        before = None if passed.before is None else self.find(passed.before)
        if parent is None or (passed.before is not None and before is None) or not 0 <= number <= len(self._of[path]):
            return None
        if (before is not None and self._calls[before].parent != parent) or self._depths[parent] >= MAX_DEPTH:
            return None
        index = len(self._calls)
        follower = self._first.get(parent) if before is None else self._next.get(before)
        if before is None:
            self._first[parent] = index
        else:
            self._next[before] = index
        if follower is not None:
            self._next[index] = follower
        self._amount.add_nodes(1 + (len(self._of[path]) - number) // 1_000)
        self._of[path].insert(number, index)
        self._depths.append(self._depths[parent] + 1)
        self._calls.append(
            Call(
                index=index,
                module=path,
                parent=parent,
                inputs=_infos(passed.inputs),
                outputs=_infos(passed.outputs),
            )
        )
        return index

    def numbered(self) -> tuple[list[Call], dict[int, int]]:
        """All calls in the order in which they began, and the new number of each."""
        order: list[int] = []
        pending = [self._first[None]] if None in self._first else []
        while pending:
            order.append(pending.pop())
            pending.extend(found[order[-1]] for found in (self._next, self._first) if order[-1] in found)
        numbers = {old: new for new, old in enumerate(order)}
        calls = []
        for old in order:
            call = self._calls[old]
            parent = None if call.parent is None else numbers[call.parent]
            calls.append(replace(call, index=numbers[old], parent=parent))
        return calls, numbers


class Flow:
    """The edges of a file, once its calls are known: those inside of a leaf are its own business."""

    def __init__(
        self,
        calls: Iterable[Call],
        operations: Iterable[Operation],
        edges: Iterable[Edge],
        owner_of: Mapping[str, Collection[str]],
        amount: Amount,
    ) -> None:
        self._amount = amount
        self._calls = list(calls)
        containers = {call.parent for call in self._calls}
        self._home = {
            operation.id: operation.call
            for operation in operations
            if operation.call is not None
            and operation.call not in containers
            and self._calls[operation.call].module  # what runs in a model without modules is what there is to see
        }
        self._owner_of = owner_of
        self._edges = list(self._resolved(edges))
        self._order = [(float(place), 0) for place in range(len(self._edges))]
        self._from: dict[str, list[int]] = defaultdict(list)
        self._into: dict[str, list[int]] = defaultdict(list)
        for place, edge in enumerate(self._edges):
            self._from[edge.producer].append(place)
            self._into[edge.consumer].append(place)

    @property
    def edges(self) -> list[Edge]:
        """All of them; what leads into a call that was put between two stands before what leads out of it."""
        return [self._edges[place] for place in sorted(range(len(self._edges)), key=self._order.__getitem__)]

    def _resolved(self, edges: Iterable[Edge]) -> Iterable[Edge]:
        """An edge of an operation that ran inside of a leaf is one of that call, as in a graph that was traced."""
        seen: set[tuple[Any, ...]] = set()
        for edge in edges:
            producer, consumer = self._home.get(edge.producer), self._home.get(edge.consumer)
            if consumer is not None:
                if producer == consumer:
                    yield edge
                    continue
                if self._is_own(edge.producer, consumer):
                    continue
            if producer is None and consumer is None:
                yield edge
                continue
            found = replace(
                edge,
                producer=edge.producer if producer is None else f"call:{producer}",
                consumer=edge.consumer if consumer is None else f"call:{consumer}",
            )
            way = (found.producer, found.consumer, found.tensor.shape, found.tensor.dtype)
            if found.producer == found.consumer or (consumer is not None and way in seen):
                continue
            seen.add(way)
            yield found

    def _is_own(self, producer: str, call: int) -> bool:
        """Whether a leaf reads a parameter of its own, or of what lies below it."""
        if not producer.startswith("param:"):
            return False
        path, owners = self._calls[call].module, self._owner_of.get(producer[6:], ())
        self._amount.add_words(len(producer) // WORD + (1 + len(owners)) * (1 + len(path) // WORD))
        below = f"{path}."
        return any(owner == path or owner.startswith(below) for owner in owners)

    def lead_through(
        self,
        call: int,
        passed: PassedCall,
        find: Callable[[str], int | None],
    ) -> bool:
        """Have what `passed` was given go through it; False where it is not certain which edges those are."""
        if len(passed.inputs) != 1 or len(passed.outputs) != 1 or passed.inputs[0][1:] != passed.outputs[0][1:]:
            return False
        shape = passed.inputs[0][2]
        readers = {f"call:{index}" for place in passed.readers if (index := find(place)) is not None}
        source = self._source(passed, find, readers, shape)
        if source is None:
            return False
        self._amount.add_words(len(self._from[source]) * (1 + len(shape or ()) // 8))
        through: list[int] = []
        others: list[int] = []
        for place in self._from[source]:
            edge = self._edges[place]
            taken = edge.tensor.shape == shape and (passed.alone or edge.consumer in readers)
            (through if taken else others).append(place)
        if not through:
            return False
        self._amount.add_words(4 * len(through))  # each is made anew
        first, end = through[0], f"call:{call}"
        tensor = replace(self._edges[first].tensor, name=passed.inputs[0][0] or self._edges[first].tensor.name)
        for place in through:
            self._edges[place] = replace(self._edges[place], producer=end)
        self._from[end], self._from[source] = through, [*others, len(self._edges)]
        self._into[end].append(len(self._edges))
        self._order.append((self._order[first][0] - 0.5, len(self._edges)))
        self._edges.append(Edge(producer=source, consumer=end, tensor=tensor))
        return True

    def _source(
        self, passed: PassedCall, find: Callable[[str], int | None], readers: set[str], shape: Shape | None
    ) -> str | None:
        """The end from which the tensor comes: the one that is named, else the only one that feeds the readers."""
        if passed.producer is not None:
            if passed.producer.startswith("input:"):
                return passed.producer
            index = find(passed.producer)
            return None if index is None else f"call:{index}"
        self._amount.add_words(sum(len(self._into[reader]) for reader in readers) * (1 + len(shape or ()) // 8))
        fed = [self._edges[place] for reader in sorted(readers) for place in self._into[reader]]
        fed = [edge for edge in fed if not edge.producer.startswith("param:")]
        sources = {edge.producer for edge in fed}
        return fed[0].producer if len(sources) == 1 and all(edge.tensor.shape == shape for edge in fed) else None
