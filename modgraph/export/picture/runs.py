"""Which units share a card: a run of leaves, each fed by the one before and by nothing else."""

from __future__ import annotations

from modgraph.export.look.folding import Arrangement, Block, Unit, blocks_of
from modgraph.export.look.held_tensors import is_unnamed
from modgraph.export.look.states import frame_state, marks_of
from modgraph.export.picture.rows import sign_of
from modgraph.graph.occurrences import Occurrence, Run

LONGEST_RUN = 8
"""Rows in a card; a longer run continues in the next."""


def runs_of(run: Run, arrangement: Arrangement, *, stacked: bool = False) -> list[list[Unit]]:
    """All units in runs, in the order of the units; `stacked`: closed containers too."""
    return _Runs(run, arrangement, stacked=stacked).runs()


_CHAIN = "torch.nn.modules.container.Sequential"


class _Runs:
    def __init__(self, run: Run, arrangement: Arrangement, *, stacked: bool) -> None:
        self.stacked = stacked
        self.run = run
        self.arrangement = arrangement
        self.after: dict[Unit, list[Unit]] = {}
        self.before: dict[Unit, list[Unit]] = {}
        for tail, head in (*arrangement.bundles, *arrangement.feedback):
            self.after.setdefault(tail, []).append(head)
            self.before.setdefault(head, []).append(tail)

    def runs(self) -> list[list[Unit]]:
        runs: list[list[Unit]] = []
        by_last: dict[Unit, list[Unit]] = {}
        for block in blocks_of(self.arrangement.root):
            previous: Unit | None = None
            for item in block.items:
                if isinstance(item, Block):
                    previous = None
                    continue
                leader = self._leader(item, previous)
                current = by_last.get(leader) if leader is not None else None
                if current is not None and leader is current[-1] and len(current) < LONGEST_RUN:
                    current.append(item)
                else:
                    current = [item]
                    runs.append(current)
                by_last[item] = current
                previous = item
        return runs

    def _leader(self, unit: Unit, previous: Unit | None) -> Unit | None:
        """The unit in whose card `unit` comes next; None where it begins one."""
        before = self.before.get(unit, [])
        if not before and not self.after.get(unit):
            loose = previous is not None and previous not in self.before and previous not in self.after
            listed = self._is_chain(unit) or self._is_of_a_file(unit)
            joined = loose and previous is not None and listed and self._may_share(previous, unit)
            return previous if joined else None
        if len(before) != 1 or self.after.get(before[0]) != [unit] or before[0].block is not unit.block:
            return None
        return before[0] if self._may_share(before[0], unit) and self._are_as_often(before[0], unit) else None

    def _are_as_often(self, upper: Unit, lower: Unit) -> bool:
        """Whether each call of the one feeds one of the other, where several calls are drawn once."""
        if not (upper.shared or lower.shared):
            return True
        times = self.arrangement.times.get((upper, lower))
        return upper.shared and lower.shared and times == len(upper.members) == len(lower.members)

    def _is_chain(self, unit: Unit) -> bool:
        """Whether what stands around it calls what it holds one after another, as no dataflow is known."""
        node = self.run.index.modules.get(unit.block.occurrence.path)
        return node is not None and node.class_name == _CHAIN

    def _is_of_a_file(self, unit: Unit) -> bool:
        """Whether a file of weights tells of it: tensors side by side are a list, of which nobody takes the order for
        that of calls."""
        node = self.run.index.modules.get(unit.occurrence.path)
        return unit.occurrence.is_module and node is not None and is_unnamed(node)

    def _may_share(self, upper: Unit, lower: Unit) -> bool:
        return (
            self._is_row(upper)
            and self._is_row(lower)
            and self._home(upper.occurrence) == self._home(lower.occurrence)
            and frame_state(marks_of(self.run, upper.occurrence)) == frame_state(marks_of(self.run, lower.occurrence))
        )

    def _is_row(self, unit: Unit) -> bool:
        occurrence = unit.occurrence
        if unit.middle or unit.gathered or (unit.collapsed and not self.stacked):
            return False
        if unit.collapsed:
            return unit.occurrence.is_module
        if occurrence.is_module:
            inner = self.run.index.children[occurrence.path]
            return not inner or occurrence.end is not None or bool(self.run.graph.calls)
        return occurrence.operation is not None and sign_of(self.run, unit) is None

    def _home(self, occurrence: Occurrence) -> str | None:
        """The box in which an occurrence stands; a dissolved list counts as its caller."""
        return occurrence.parent.path if occurrence.parent is not None else None
