"""Calls of one module beside each other: twins that share an encoder, a head through which all levels go.

Calls of the same form, of which none depends on another, are brought together in the tree of a run, so that one of them
can stand for all; what is done once for each of them, an operation between two such modules, goes with them. Of the
same form are calls that call the same inside in the same wiring, in the same states; sizes may differ. Calls that
depend on each other stay apart, each at its depth: what the second layer of a network does is not done beside what the
first does. Nor are they brought together where their results are taken by steps that follow each other, as those of a
recurrent network do.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable

from modgraph.graph.loops import fold_loops
from modgraph.graph.model import TensorInfo
from modgraph.graph.occurrences import Occurrence, Run, preorder
from modgraph.graph.parallel import Colors, without_cycles
from modgraph.graph.repeats import Likeness

MOST_CHILDREN = 5_000
"""Of a container; what depends on what is not asked of more."""


def fold(run: Run) -> Likeness:
    """Brings together what one can stand for: the turns of loops, periods of layers, and calls of one module."""
    likeness = fold_loops(run)
    forms: AnySizes | None = None
    gathered: list[list[Occurrence]] = []
    for holder in list(preorder(run.root)):
        repeated = _called_again(run, holder)
        if not repeated:
            continue
        forms = forms or AnySizes(run)
        sharing = _Sharing(run, holder, repeated, forms)
        groups = sharing.groups()
        if groups and sharing.order(groups):
            gathered.extend(groups)
    if gathered:
        run.replace(run.root, run.links)
        for group in gathered:
            likeness.boxed.update(dict.fromkeys(group, group))
            likeness.shared.update(group)
    return likeness


def _called_again(run: Run, holder: Occurrence) -> dict[str, list[Occurrence]]:
    """The calls among its children of each module with weights that is called several times there."""
    if len(holder.children) > MOST_CHILDREN:
        return {}
    calls: dict[str, list[Occurrence]] = {}
    for child in holder.children:
        if child.call is not None and child.is_module and child.first < child.past:
            calls.setdefault(child.path, []).append(child)
    return {path: found for path, found in calls.items() if len(found) > 1 and _holds_tensors(run, path)}


def _holds_tensors(run: Run, path: str) -> bool:
    """Whether calling a module twice uses something twice; a `ReLU` is only a function with a name."""
    nodes = (run.index.modules[path], *run.index.below(path))
    return any(node.parameters or node.buffers for node in nodes)


class AnySizes(Likeness):
    """A likeness that overlooks sizes, and tells states of calls apart."""

    def tensor_text(self, tensor: TensorInfo) -> str:
        """How many sizes it has, and its type."""
        return f"{None if tensor.shape is None else len(tensor.shape)} {tensor.dtype}"

    def _facts(self, occurrence: Occurrence) -> Hashable:
        part = occurrence.operation or occurrence.call
        told = None if part is None else (part.depends_on, part.observed, part.predicted)
        return (super()._facts(occurrence), told)

    def form(self, call: Occurrence) -> Hashable:
        """Equal for calls that may be drawn as one."""
        flags = {
            (inward, link.certain, link.is_taken, link.in_doubt)
            for inward, table in ((True, self.run.incoming), (False, self.run.outgoing))
            for link in self.crossing(call, table)
        }
        return (call.path, self.strict[call], frozenset(flags))


class _Functions(Colors):
    """Groups what goes with calls: operations, calls without weights, and parameters that are used by themselves."""

    fixed = True

    def word(self, child: Occurrence) -> Hashable | None:
        """The operation, the module without weights, or the parameter."""
        if child.operation is not None:
            return (super().word(child), child.operation.depends_on, child.operation.observed)
        if child.call is not None and child.end is not None and not _holds_tensors(self.run, child.path):
            return (child.path, child.call.depends_on, child.call.observed)
        return child.end if (child.end or "").startswith("param:") else None


class _Sharing:
    """Calls of one module among the children of one container."""

    def __init__(self, run: Run, holder: Occurrence, calls: dict[str, list[Occurrence]], forms: AnySizes) -> None:
        self.run = run
        self.holder = holder
        self.calls = calls
        self.forms = forms
        self.colors = Colors(run, holder, [])
        self.place = {child: number for number, child in enumerate(holder.children)}
        self.bits: dict[Occurrence, int] = {}
        self.above: dict[Occurrence, int] = {}
        """Of each child, as bits, the calls and users of calls that it depends on."""

    def groups(self) -> list[list[Occurrence]]:
        """What is brought together, each group in the order of the run."""
        order = self._ordered([])
        if order is None:
            return []
        taken = [call for calls in self.calls.values() for call in calls]
        asked = dict.fromkeys(each for call in taken for each in (call, *self._users(call)))
        self.bits = {child: 1 << number for number, child in enumerate(asked)}
        for child in order:
            sources = self._sources(child)
            self.above[child] = 0
            for source in sources:
                self.above[child] |= self.above[source] | self.bits.get(source, 0)
        found = [group for calls in self.calls.values() for group in self._beside(calls) if self._may_fold(group)]
        if not found:
            return []
        functions = _Functions(self.run, self.holder, found)
        return without_cycles(found, self._going_with(functions, found), functions)

    def _users(self, child: Occurrence) -> list[Occurrence]:
        return [user for user in self.colors.after[child] if isinstance(user, Occurrence)]

    def _sources(self, child: Occurrence) -> list[Occurrence]:
        return [source for source in self.colors.before[child] if isinstance(source, Occurrence)]

    def _beside(self, calls: list[Occurrence]) -> list[list[Occurrence]]:
        """Those of one form that lie equally deep: none of them depends on another."""
        levels: dict[Hashable, list[int]] = {}
        found: dict[Hashable, list[Occurrence]] = {}
        for call in calls:
            form = self.forms.form(call)
            known = levels.setdefault(call.path, [])
            level = next((n for n in reversed(range(len(known))) if known[n] & self.above[call]), -1) + 1
            if level == len(known):
                known.append(0)
            known[level] |= self.bits[call]
            found.setdefault((form, level), []).append(call)
        return [group for group in found.values() if len(group) > 1]

    def _may_fold(self, group: list[Occurrence]) -> bool:
        """Whether no steps that follow each other take the results: as `add` does in `h = tanh(ih(x[t]) + hh(h))`."""
        users: dict[Hashable, list[Occurrence]] = {}
        for call in group:
            for user in self._users(call):
                kind = self.colors.word(user) or user.path
                if user not in users.setdefault(kind, []):
                    users[kind].append(user)
        return not any(self._follow(steps) for steps in users.values())

    def _follow(self, steps: list[Occurrence]) -> bool:
        """Whether one depends on another by more than being fed by it, as the parts of a sum are."""
        all_bits = 0
        for step in steps:
            all_bits |= self.bits[step]
        for step in steps:
            others = (source for source in self._sources(step) if source not in steps)
            if any(self.above[source] & all_bits for source in others):
                return True
        return False

    def _going_with(self, functions: _Functions, found: list[list[Occurrence]]) -> list[list[Occurrence]]:
        """What is done once for each call, between such calls or beside them."""
        sizes = {len(group) for group in found}
        members = {member for group in found for member in group}
        kinds: dict[Hashable, list[Occurrence]] = {}
        for child, color in functions.settled().items():
            if child not in members and functions.word(child) is not None:
                kinds.setdefault(color, []).append(child)
        waiting = [
            (steps, {each for step in steps for each in (*functions.before[step], *functions.after[step])})
            for color, steps in kinds.items()
            if len(steps) in sizes and color not in functions.chained
        ]
        kept: list[list[Occurrence]] = []
        while near := [steps for steps, around in waiting if around & members]:
            kept.extend(near)
            members.update(step for steps in near for step in steps)
            waiting = [(steps, around) for steps, around in waiting if steps[0] not in members]
        return kept

    def order(self, groups: list[list[Occurrence]]) -> bool:
        """Puts the members of each group beside each other, after what they need; False where that cannot be."""
        order = self._ordered(groups)
        if order is not None:
            self.holder.children[:] = order
        return order is not None

    def _ordered(self, groups: Iterable[list[Occurrence]]) -> list[Occurrence] | None:
        """The children, as they ran, but each after all that its group needs; None where data goes round."""
        group_of = {member: group for group in groups for member in group}
        waits: dict[Occurrence, int] = {}
        users: dict[Occurrence, list[Occurrence]] = {}
        for child in self.holder.children:
            head = group_of.get(child, [child])[0]
            waits.setdefault(head, 0)
            for source in self._sources(child):
                waits[head] += 1
                users.setdefault(group_of.get(source, [source])[0], []).append(head)
        ready = [(self.place[head], head) for head, count in waits.items() if not count]
        heapq.heapify(ready)
        order: list[Occurrence] = []
        while ready:
            _, head = heapq.heappop(ready)
            order.extend(group_of.get(head, [head]))
            for user in users.get(head, ()):
                waits[user] -= 1
                if not waits[user]:
                    heapq.heappush(ready, (self.place[user], user))
        return order if len(order) == len(self.holder.children) else None
