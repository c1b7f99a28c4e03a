"""What each module costs: of all its calls in one run, as it was measured, or from shapes where it was not."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from modgraph.graph.counts import Count
from modgraph.graph.flops import flops_by_call
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Call, Graph, ModuleNode

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleCost:
    """Of all calls of a module in one run, what runs inside them included; None for what nobody has measured."""

    flops: Count | None = None
    seconds: float | None = None
    allocated: float | None = None
    """Bytes of tensors that its calls have made and that are held when they end."""


_NOTHING = ModuleCost()


class ModuleCosts:
    """The costs of the modules of a graph."""

    def __init__(self, index: GraphIndex) -> None:
        self._index = index
        self._calls = index.graph.calls
        self._by_call = _by_call(index.graph)
        self._found: dict[str, ModuleCost] = {}
        for node in reversed(index.graph.modules):  # children before their parents
            self._found[node.path] = self._of(node)

    def __getitem__(self, path: str) -> ModuleCost:
        return self._found[path]

    def _of(self, node: ModuleNode) -> ModuleCost:
        if node.calls:
            return self._of_calls([number for number in self._outermost(node) if number in self._by_call])
        if node.alias_of is not None:
            return _NOTHING
        children = (child for child in self._index.children[node.path] if child.alias_of is None)
        return _added(self._found[child.path] for child in children)  # a list of modules is never called itself

    def _of_calls(self, numbers: Sequence[int]) -> ModuleCost:
        """Of all that are certain; of several that depend on what is not decided, at least the cheapest."""
        sure = [number for number in numbers if self._calls[number].certain]
        if len(sure) == len(numbers) or len(numbers) == 1:
            return _added(self._by_call[number] for number in numbers)
        found = _added(self._by_call[number] for number in sure)
        counts = [count for number in numbers if (count := self._by_call[number].flops) is not None]
        least = found.flops or min(counts, key=lambda count: count.known, default=None)
        return found if least is None else replace(found, flops=Count(least.known, partial=True))

    def _outermost(self, node: ModuleNode) -> list[int]:
        """Its calls but those inside another of them, which counts what runs inside it."""
        own = set(node.calls)
        return [number for number in node.calls if not own.intersection(self._around(self._calls[number]))]

    def _around(self, call: Call) -> Iterable[int]:
        while call.parent is not None:
            yield call.parent
            call = self._calls[call.parent]


def mean(costs: Sequence[ModuleCost]) -> ModuleCost:
    """What modules that are alike cost, each of them."""
    total = _added(costs)
    if len(costs) == 1:
        return total
    flops, seconds, allocated = total.flops, total.seconds, total.allocated
    return ModuleCost(
        flops=None if flops is None else Count(flops.known // len(costs), flops.partial),
        seconds=None if seconds is None else seconds / len(costs),
        allocated=None if allocated is None else allocated / len(costs),
    )


def _by_call(graph: Graph) -> dict[int, ModuleCost]:
    profile = graph.profile
    if profile is None or not profile.calls:
        if not graph.calls:
            return {}
        counts = flops_by_call(graph)
        return {call.index: ModuleCost(flops=counts[call.index]) for call in graph.calls if not call.recomputed}
    return {
        one.call: ModuleCost(
            flops=Count(one.flops, partial=one.not_counted > 0), seconds=one.seconds, allocated=one.allocated
        )
        for one in profile.calls
    }


def _added(costs: Iterable[ModuleCost]) -> ModuleCost:
    costs = list(costs)
    return ModuleCost(
        flops=_sum((one.flops for one in costs), operator.add),
        seconds=_sum((one.seconds for one in costs), operator.add),
        allocated=_sum((one.allocated for one in costs), operator.add),
    )


def _sum(values: Iterable[T | None], add: Callable[[T, T], T]) -> T | None:
    total: T | None = None
    for value in values:
        if value is not None:
            total = value if total is None else add(total, value)
    return total
