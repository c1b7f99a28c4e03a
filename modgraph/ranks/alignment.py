"""Which call, operation and edge of one process is which of another: `Alignment` numbers them anew, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from modgraph.graph.distributed import LocalShape, Sharding
from modgraph.graph.model import Call, Edge, Gap, Graph, Operation, TensorInfo
from modgraph.graph.sizes import sizes_text
from modgraph.ranks.differences import Differences
from modgraph.ranks.ways import Ways
from modgraph.ranks.words import on_ranks

T = TypeVar("T")


class Rows(Generic[T]):
    """Rows of things, one of each process, laid beside each other: a slot for each thing that is the same in some."""

    def __init__(self) -> None:
        self.slots: list[dict[int, T]] = []
        """What stands in each slot, by the position of the process."""
        self.order: list[int] = []
        """The slots: those of the first row as they stood in it, any other behind what it followed in its own."""
        self._known: dict[Hashable, int] = {}

    def lay(self, process: int, row: Iterable[T], key: Callable[[T], Hashable], note: Callable[[T, int], None]) -> None:
        """Lay one more row down; what has one key is told apart by its turn.

        Args:
            note: is told the slot of each thing, before the key of the next is asked for.
        """
        turns: Counter[Hashable] = Counter()
        fresh: dict[int | None, list[int]] = {}
        before: int | None = None
        for thing in row:
            what = key(thing)
            turns[what] += 1
            slot = self._known.setdefault((what, turns[what]), len(self.slots))
            if slot == len(self.slots):
                self.slots.append({})
                fresh.setdefault(before, []).append(slot)
            else:
                before = slot
            self.slots[slot][process] = thing
            note(thing, slot)
        self._insert(process, fresh)

    def _insert(self, process: int, fresh: dict[int | None, list[int]]) -> None:
        """Put new slots behind the one that they followed, and behind what only others have there."""
        ordered: list[int] = []
        waiting = list(fresh.get(None, ()))
        for slot in self.order:
            if process in self.slots[slot]:
                ordered += waiting
                waiting = []
            ordered.append(slot)
            waiting += fresh.get(slot, ())
        self.order = [*ordered, *waiting]


@dataclass
class Members:
    """What the parts of one process's graph are in the merged one."""

    calls: dict[int, int] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)

    def call(self, index: int | None) -> int | None:
        return None if index is None else self.calls[index]

    def node(self, name: str) -> str:
        """An end of an edge, and whatever else is named like one."""
        return self.nodes.get(name, name)


class Alignment:
    """The calls, operations, edges and gaps of all processes, each once."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self.graphs = graphs
        self.members = [Members() for _ in graphs]
        self.world = tuple(sorted(rank for graph in graphs for rank in graph.model.ranks))
        self.differences = Differences(graphs)
        """What calls, operations and ways of data are not the same in all processes."""
        self._unlike: set[int] = set()
        """Calls that did not take or give the same everywhere."""
        self._said: set[tuple[str, str]] = set()
        self._turns: Counter[str] = Counter()
        self.calls = self._calls()
        self.operations = self._operations()
        self._constants()
        self.edges = self._edges()
        self.gaps = self._gaps()
        Ways(self.calls, self.operations, self.edges, self.world).compare(self.differences)

    def ranks(self, holders: Iterable[int], own: Callable[[int], tuple[int, ...]]) -> tuple[int, ...]:
        """The ranks of the processes at these positions; a thing of a merged graph says its own."""
        return tuple(sorted(rank for one in holders for rank in own(one) or self.graphs[one].model.ranks))

    def _only(self, ranks: tuple[int, ...]) -> tuple[int, ...]:
        return () if ranks == self.world else ranks

    def _calls(self) -> list[Call]:
        rows: Rows[Call] = Rows()
        parents: dict[int, int] = {}
        for process, graph in enumerate(self.graphs):
            slots: dict[int, int] = {}

            def key(call: Call, slots: dict[int, int] = slots) -> Hashable:
                parent = None if call.parent is None else slots[call.parent]
                return parent, call.module, call.direct, call.recomputed

            def note(call: Call, slot: int, slots: dict[int, int] = slots) -> None:
                slots[call.index] = slot
                if call.parent is not None:
                    parents[slot] = slots[call.parent]

            rows.lay(process, graph.calls, key, note)
            self.members[process].calls = slots
        order = _behind_parents(rows.order, parents)
        place = {slot: index for index, slot in enumerate(order)}
        for members in self.members:
            members.calls = {index: place[slot] for index, slot in members.calls.items()}
            members.nodes.update({f"call:{old}": f"call:{new}" for old, new in members.calls.items()})
        return [self._call(index, rows.slots[slot]) for index, slot in enumerate(order)]

    def _call(self, index: int, found: dict[int, Call]) -> Call:
        process, call = next(iter(found.items()))
        parent = self.members[process].call(call.parent)
        ranks = self._only(self.ranks(found, lambda one: found[one].ranks))
        inputs = self._tensors({one: each.inputs for one, each in found.items()})
        outputs = self._tensors({one: each.outputs for one, each in found.items()})
        self._compare_call(call, index, parent, found)
        error = next((each.error for each in found.values() if each.error is not None), None)
        return replace(call, index=index, parent=parent, inputs=inputs, outputs=outputs, error=error, ranks=ranks)

    def _compare_call(self, call: Call, index: int, parent: int | None, found: dict[int, Call]) -> None:
        """Says what a call took, gave or raised here and not there, unless the call around it says so already."""
        self._turns[call.module] += 1
        turn = self._turns[call.module]
        for what, texts in (
            ("takes", {one: shapes_text(each.inputs) for one, each in found.items()}),
            ("gives", {one: shapes_text(each.outputs) for one, each in found.items()}),
            ("raises", {one: each.error or "nothing" for one, each in found.items()}),
        ):
            about = what if turn == 1 else f"{what} in call {turn}"
            if len(set(self.differences.by_rank(call.module, about, texts).values())) > 1:
                if parent not in self._unlike and (call.module, what) not in self._said:
                    self._said.add((call.module, what))
                    self.differences.compare(call.module, about, texts, what)
                self._unlike.add(index)

    def _tensors(self, found: dict[int, tuple[TensorInfo, ...]]) -> tuple[TensorInfo, ...]:
        """Tensors of the same names at one call, of the first process that has each."""
        by_name: dict[str, list[TensorInfo]] = {}
        for tensors in found.values():
            for tensor in tensors:
                by_name.setdefault(tensor.name, []).append(tensor)
        one = next(iter(found.values()))
        if len({tensor.name for tensor in one}) < len(one):  # names that stand twice do not tell which is which
            return one
        return tuple(merged_tensor(tensors) for tensors in by_name.values())

    def _operations(self) -> list[Operation]:
        rows: Rows[Operation] = Rows()
        slots: list[dict[str, int]] = []
        for process, graph in enumerate(self.graphs):
            own: dict[str, int] = {}
            members = self.members[process]

            def key(one: Operation, members: Members = members) -> Hashable:
                return members.call(one.call), one.name, one.source

            def note(one: Operation, slot: int, own: dict[str, int] = own) -> None:
                own[one.id] = slot

            rows.lay(process, graph.operations, key, note)
            slots.append(own)
        order = rows.order
        as_in_first = len(order) == len(self.graphs[0].operations)
        names = {slot: f"op:{position}" for position, slot in enumerate(order)}
        if as_in_first:
            names = {slot: rows.slots[slot][0].id for slot in order}
        for members, own in zip(self.members, slots, strict=True):
            members.nodes.update({name: names[slot] for name, slot in own.items()})
        return [self._operation(names[slot], rows.slots[slot]) for slot in order]

    def _operation(self, name: str, found: dict[int, Operation]) -> Operation:
        process, one = next(iter(found.items()))
        call = self.members[process].call(one.call)
        ranks = self._only(self.ranks(found, lambda each: found[each].ranks))
        everywhere = () if call is None else self.calls[call].ranks
        if ranks and ranks != everywhere:
            module = "" if call is None else self.calls[call].module
            values = {rank: one.name if rank in ranks else "" for rank in self.world}
            self.differences.tell(module, "runs", values, f"runs {one.name} {on_ranks(ranks)} alone")
        return replace(one, id=name, call=call, ranks=ranks)

    def _constants(self) -> None:
        """A constant is the same where it is the same one, by number, that goes to the same place first."""
        rows: Rows[tuple[str, str]] = Rows()
        slots: list[dict[str, int]] = []
        for process, graph in enumerate(self.graphs):
            first: dict[str, str] = {}
            for edge in graph.edges:
                if edge.producer.startswith("const:"):
                    first.setdefault(edge.producer, self.members[process].node(edge.consumer))
            own: dict[str, int] = {}

            def note(one: tuple[str, str], slot: int, own: dict[str, int] = own) -> None:
                own[one[0]] = slot

            rows.lay(process, first.items(), lambda one: one[1], note)
            slots.append(own)
        order = rows.order
        names = {slot: f"const:{position}" for position, slot in enumerate(order)}
        if slots and len(order) == len(slots[0]):
            names = {slot: rows.slots[slot][0][0] for slot in order}
        for members, own in zip(self.members, slots, strict=True):
            members.nodes.update({name: names[slot] for name, slot in own.items()})

    def _edges(self) -> list[Edge]:
        """Without those of a call that made calls of its own in another process: there the calls inside have them."""
        rows: Rows[Edge] = Rows()
        containers = {f"call:{call.parent}" for call in self.calls}
        for process, graph in enumerate(self.graphs):
            node = self.members[process].node
            renamed = [
                replace(
                    one,
                    producer=node(one.producer),
                    consumer=node(one.consumer),
                    or_from=tuple(end for end in map(node, one.or_from) if end not in containers),
                    made_by=None if one.made_by is None else node(one.made_by),
                )
                for one in graph.edges
            ]
            renamed = [one for one in renamed if not {one.producer, one.consumer} & containers]
            rows.lay(process, renamed, lambda one: (one.producer, one.consumer, one.tensor.name), lambda *_: None)
        return [self._edge(rows.slots[slot]) for slot in rows.order]

    def _edge(self, found: dict[int, Edge]) -> Edge:
        one = next(iter(found.values()))
        ranks = self._only(self.ranks(found, lambda each: found[each].ranks))
        others = any(each.or_others for each in found.values())
        tensor = merged_tensor([each.tensor for each in found.values()])
        return replace(one, tensor=tensor, ranks=ranks, or_others=others)

    def _gaps(self) -> list[Gap]:
        rows: Rows[Gap] = Rows()
        for process, graph in enumerate(self.graphs):
            call = self.members[process].call
            renamed = [replace(gap, call=call(gap.call)) for gap in graph.gaps]
            rows.lay(process, renamed, lambda one: one, lambda *_: None)
        return [next(iter(rows.slots[slot].values())) for slot in rows.order]


def _behind_parents(order: Sequence[int], parents: Mapping[int, int]) -> list[int]:
    """The slots of calls, each behind its parent: where threads begin calls in another order, one may stand before."""
    placed: dict[int, None] = {}
    waiting: dict[int, list[int]] = {}
    for slot in order:
        parent = parents.get(slot)
        if parent is not None and parent not in placed:
            waiting.setdefault(parent, []).append(slot)
            continue
        ready = [slot]
        while ready:
            placed[ready[-1]] = None
            ready += reversed(waiting.pop(ready.pop(), []))
    return list(placed)


def shapes_text(tensors: Iterable[TensorInfo]) -> str:
    """ "[4, 8]", "[4, 8] and [4]"; "no tensor"."""
    return " and ".join(sizes_text(tensor.shape) for tensor in tensors) or "no tensor"


def merged_tensor(tensors: Sequence[TensorInfo]) -> TensorInfo:
    """The first of them, with what all hold of it, and on what devices."""
    first = tensors[0]
    devices = {tensor.device for tensor in tensors}
    kinds = {device.partition(":")[0] for device in devices if device is not None}
    device = first.device if len(devices) == 1 else kinds.pop() if len(kinds) == 1 and None not in devices else None
    return replace(first, device=device, sharding=merged_sharding([tensor.sharding for tensor in tensors]))


def merged_sharding(found: Sequence[Sharding | None]) -> Sharding | None:
    """With what every process holds; that of the first, where they do not spread a tensor alike."""
    first = found[0]
    alike = [one for one in found if one is not None and first is not None and one.placements == first.placements]
    if first is None:
        return None
    held: dict[int, LocalShape] = {}
    for one in alike:
        for local in one.local_shapes:
            held.setdefault(local.rank, local)
    return replace(first, local_shapes=tuple(held[rank] for rank in sorted(held)))
