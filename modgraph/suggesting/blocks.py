"""Repeated blocks: modules of one class beside each other that hold layers of their own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

from modgraph.graph.model import ModuleNode
from modgraph.graph.numbering import numbering_of
from modgraph.graph.repeats import node_facts
from modgraph.graph.torch_classes import CONTAINERS
from modgraph.suggesting.layers import Layers

_NUMBER = re.compile("[0-9]+")


@dataclass(frozen=True, slots=True)
class Series:
    """Blocks of one class in one list, or whose names differ in a number."""

    class_name: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variants:
    """How far the blocks of a series are alike."""

    kinds: int
    """Of those that differ in layers, sizes, or the sizes of what they are given."""
    numbered: tuple[str, ...]
    """Arguments that number those that are else alike."""
    given: int
    """Of those that are given objects (a cache) that hold different tensors."""


class Blocks:
    """The repeated blocks of one model, of those inside each other one level."""

    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        self._numbering = numbering_of(layers.index)

    @cached_property
    def series(self) -> list[Series]:
        """In the order of the model."""
        return self._below("")

    @cached_property
    def unit_of(self) -> dict[str, str]:
        """By path of each module in a block, the path of that block."""
        return {node.path: path for series in self.series for path in series.paths for node in self.layers.below(path)}

    def _below(self, path: str) -> list[Series]:
        found: list[Series] = []
        pending = [path]
        while pending:
            place = pending.pop(0)
            inner: list[str] = []
            groups: dict[Hashable, list[ModuleNode]] = {}
            for child in self.layers.children(place):
                groups.setdefault(self._likeness(place, child), []).append(child)
            for key, members in groups.items():
                taken = self._taken(members) if key is not None and len(members) > 1 else None
                if taken is None:
                    inner += [member.path for member in members]
                else:
                    found += taken
            pending = inner + pending
        return found

    def _likeness(self, parent: str, child: ModuleNode) -> Hashable:
        """Equal for children of one series; None for one that can be of none."""
        if child.class_name is None or not self.layers.children(child.path) or not child.certain:
            return None
        own = self.layers.own[parent]
        in_list = any((name or "").startswith(CONTAINERS) for name in (own.class_name, own.torch_base))
        name = child.path[len(parent) + 1 :] if parent else child.path
        stem = _NUMBER.sub("#", name)  # of conv0_1 and conv3_0, any of the numbers
        if not in_list and stem == name:
            return None
        return (child.class_name, "" if in_list else stem)

    def _taken(self, members: list[ModuleNode]) -> list[Series] | None:
        """The series of these; those inside of them, where these are frames around blocks; None for none at all."""
        layers = self.layers
        weights = [layers.weight_of(member.path) for member in members]
        if all(weight == 0 for weight in weights):
            return None
        own = Series(members[0].class_name or "", tuple(member.path for member in members))
        inner = [each for member in members for each in self._below(member.path)]
        if layers.is_container(members[0]):
            return inner or [own]
        held = sum(layers.weight_of(path) or 0 for each in inner for path in each.paths)
        are_frames = 2 * held > sum(weight or 0 for weight in weights)
        return inner if are_frames and self._likeness_of(inner) > self._likeness_of([own]) else [own]

    def _likeness_of(self, found: list[Series]) -> float:
        """Which part of the blocks has the weight that most blocks of their series have: 1 where all are as large."""
        n_alike = n_all = 0
        for series in found:
            weights = Counter(self.layers.weight_of(path) for path in series.paths)
            n_alike += max(weights.values())
            n_all += len(series.paths)
        return n_alike / n_all

    def variants(self, series: Series) -> Variants:
        """How far the blocks of a series are alike."""
        numbered = dict.fromkeys(
            key
            for path in series.paths
            for node in self.layers.below(path)
            for key, (depth, _) in self._numbering.get(node.path, {}).items()
            if depth == 1 + node.path.count(".") - path.count(".")
        )
        return Variants(
            kinds=len({self._signature(path) for path in series.paths}),
            numbered=tuple(numbered),
            given=len({self._fed(self.layers.own[path], plain=False) for path in series.paths}),
        )

    def _signature(self, path: str) -> Hashable:
        start = len(path)
        return tuple(
            (node.path[start:], node_facts(node, self._numbering.get(node.path)), self._fed(node, plain=True))
            for node in self.layers.below(path)
        )

    def _fed(self, node: ModuleNode, *, plain: bool) -> Hashable:
        """The sizes that go into its calls: of arguments, or of what stands in objects that are given."""
        calls = [self.layers.graph.calls[number] for number in node.calls]
        return tuple(
            tuple((each.shape, each.dtype) for each in call.inputs if each.name.isidentifier() == plain)
            for call in calls
        )

    def is_open(self, series: Series) -> bool:
        """Whether the graph leaves open what is in one of them."""
        starts = tuple(f"{path}." for path in series.paths)
        return any(
            problem.stage == "predict" and f"{problem.module}.".startswith(starts)
            for problem in self.layers.graph.open_places
        )
