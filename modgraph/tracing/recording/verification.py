"""Whether the recorded dataflow is all of it: the steps run again from the edges, and what they give is compared.

Each step is given the tensors that its edges bring, made by the steps that these edges name. For a tensor that no edge
brings stands another of the same size, full of NaN; a step from which no edge leads on to a result is not run. So an
edge that is missing shows in the values behind it.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator

import torch

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.graph.measures import Difference, NotRepeated, Verification
from modgraph.graph.model import Graph
from modgraph.tracing.basics.failures import describe
from modgraph.tracing.basics.tensors import tensors_in
from modgraph.tracing.recording.dataflow import extent, place
from modgraph.tracing.recording.recipes import Recipes, Slot, Step, given_again, slots_in
from modgraph.tracing.restoring.fingerprints import difference, fingerprint, is_identical
from modgraph.tracing.restoring.kept_tensor import storage_of

MAX_DIFFERENCES = 20
"""Steps named that gave other values; those behind the first follow from it."""


def verified(
    graph: Graph, recipes: Recipes, before_write: Callable[[torch.Tensor], None] = lambda _: None
) -> Verification:
    """Runs the steps of `graph` again and compares. The model has to be as it was before its run.

    `before_write` is told of each tensor of the model or the caller that a step is about to write into. Afterwards the
    recipes are used up.
    """
    return _Rerun(graph, recipes, before_write).run()


class _Rerun:
    """One verification."""

    def __init__(self, graph: Graph, recipes: Recipes, before_write: Callable[[torch.Tensor], None]) -> None:
        self._before_write = before_write
        self._slots = recipes.slots
        self._steps = recipes.steps
        self._outputs = recipes.outputs
        self._home = _homes(graph)
        self._brings: dict[str, set[str]] = {}
        for edge in graph.edges:
            self._brings.setdefault(edge.consumer, set()).add(edge.producer)
        self._made: dict[int, torch.Tensor] = {}
        self._made_by: dict[int, str] = {}
        self._writers: dict[int, list[tuple[str, int, int]]] = {}
        """By memory: who wrote all of a stretch of it, and its first byte and one past the last."""
        self._users: Counter[int] = Counter()
        """By memory, how many of the tensors that were made hold it."""
        self._unmade: set[int] = set()
        self._makers: dict[int, int] = {}
        for number, step in enumerate(self._steps):
            for _, slot in step.outputs:
                self._makers.setdefault(slot, number)
        self._written_in = self._written_through()
        self._n_gaps = len(graph.gaps)
        self._n_compared = 0
        self._identical = 0
        self._repeated = 0
        self._differences: list[Difference] = []
        self._not_repeated: list[NotRepeated] = []

    def run(self) -> Verification:
        wanted = self._leading_to_a_result()
        steps = [step for step in self._steps if self._unit(step.node) in wanted]
        for step, done in zip(steps, self._last_uses(steps), strict=True):
            self._again(step)
            for slot in done:
                self._let_go(slot)
        for name, slot in self._outputs:
            self._compare_output(name, slot)
        return Verification(
            steps=sum(not step.passes for step in steps),
            repeated=self._repeated,
            identical=self._identical,
            unused=sum(not step.passes for step in self._steps) - sum(not step.passes for step in steps),
            outputs=self._n_compared,
            gaps=self._n_gaps,
            not_repeated=tuple(self._not_repeated),
            differences=tuple(self._differences[:MAX_DIFFERENCES]),
        )

    def _unit(self, node: str) -> str:
        """What stands for a step in the edges between leaves: an operation inside of a leaf is part of its call."""
        return self._home.get(node, node)

    def _leading_to_a_result(self) -> set[str]:
        """Leaves from which edges lead to an output."""
        wanted: set[str] = set()
        pending = [end for end in self._brings if end.startswith("output:")]
        while pending:
            end = pending.pop()
            needed = [self._unit(producer) for producer in self._brings.get(end, ())]
            needed += [self._unit(self._steps[self._makers[slot]].node) for slot in self._written_in.get(end, ())]
            for unit in needed:
                if unit not in wanted:
                    wanted.add(unit)
                    pending.append(unit)
        return wanted

    def _written_through(self) -> dict[str, set[int]]:
        """By leaf, the views that it writes into: whatever makes them is needed too, though their values are not."""
        found: dict[str, set[int]] = {}
        for step in self._steps:
            found.setdefault(self._unit(step.node), set()).update(_written_arguments(step) & self._makers.keys())
        return found

    def _last_uses(self, steps: list[Step]) -> list[list[int]]:
        """By step, the slots that none after it asks for, nor the outputs."""
        last: dict[int, int] = {}
        for number, step in enumerate(steps):
            given = (slot for _, slot in step.outputs)
            changed = (slot for _, slot, _ in step.values)
            for slot in (*slots_in(step.args), *slots_in(step.kwargs), *given, *changed):
                last.update(dict.fromkeys(self._with_bases(slot), number))
        for _, slot in self._outputs:
            for each in self._with_bases(slot):
                last.pop(each, None)
        done: list[list[int]] = [[] for _ in steps]
        for slot, number in last.items():
            done[number].append(slot)
        return done

    def _with_bases(self, slot: int) -> Iterator[int]:
        each: int | None = slot
        while each is not None:
            yield each
            each = self._slots[each].base

    def _hold(self, slot: int, tensor: torch.Tensor) -> None:
        self._let_go(slot)
        self._made[slot] = tensor
        self._users[_memory(tensor)] += 1

    def _let_go(self, slot: int) -> None:
        """Free what a slot holds; an address that is free may come again, and says nothing of who wrote there."""
        tensor = self._made.pop(slot, None)
        if tensor is None:
            return
        memory, source = _memory(tensor), self._slots[slot]
        self._users[memory] -= 1
        if not self._users[memory] and not source.held:
            self._writers.pop(memory, None)
            source.value = None

    # One step

    def _again(self, step: Step) -> None:
        if step.function is None:
            self._not_repeated.append(NotRepeated(node=step.node, reason=step.reason or ""))
            self._take_over(step)
            return
        missing = [slot for slot in self._read(step) if slot in self._unmade]
        if missing and step.passes:
            return
        if missing:
            self._not_repeated.append(NotRepeated(node=step.node, reason="it takes what a step gave that was not run"))
            self._give_up(step)
            return
        versions: dict[int, int | None] = {}
        for _, slot, _ in step.values:
            if slot in self._made or any(self._slots[each].held for each in self._with_bases(slot)):
                self._before_write(self._tensor(slot))

        def tensor_of(slot: int) -> torch.Tensor:
            tensor = self._given(step, slot)
            versions.setdefault(slot, _version(tensor))
            return tensor

        try:
            args = given_again(step.args, tensor_of)
            kwargs = given_again(step.kwargs, tensor_of)
            with _circumstances(step):
                result = step.function(*args, **kwargs)
        except RAISED_BY_OTHERS as error:
            self._differ(step.node, "output", f"it raises {describe(error)}")
            self._give_up(step)
            return
        if not step.passes:
            self._repeated += 1
        for slot, version in versions.items():
            tensor = self._made.get(slot)
            if tensor is not None and (version is None or _version(tensor) != version):
                low, high, gaps = place(tensor)
                if gaps is None:
                    self._writers.setdefault(_memory(tensor), []).append((step.node, low, high))
        for _, slot, _ in step.values:
            if slot not in versions and self._slots[slot].origin is not None:  # a layer's own, that it has written into
                self._tensor(slot)
                self._made_by[slot] = step.node
        if step.replaces_memory:
            self._made_by.update(dict.fromkeys(step.overwritten, step.node))
        self._keep(step, result)
        if not step.passes:
            self._compare(step)

    def _read(self, step: Step) -> Iterator[int]:
        for slot in (*slots_in(step.args), *slots_in(step.kwargs)):
            base = self._slots[slot].base
            yield slot if base is None else base

    def _given(self, step: Step, slot: int) -> torch.Tensor:
        """The tensor of a slot as the edges bring it to the step."""
        tensor = self._tensor(slot)
        if self._is_brought(step.node, slot, tensor) or (slot in step.overwritten and step.replaces_memory):
            return tensor
        if slot in step.overwritten:
            return tensor if self._is_read_too(step, slot, tensor) else _spoilt(tensor)
        return _without_values(tensor)

    def _is_read_too(self, step: Step, slot: int, tensor: torch.Tensor) -> bool:
        """Whether what a step overwrites shares its memory with what it reads."""
        others = [other for other in self._read(step) if other != slot and other in self._made]
        return any(_memory(self._made[other]) == _memory(tensor) for other in others)

    def _tensor(self, slot: int) -> torch.Tensor:
        known = self._made.get(slot)
        if known is not None:
            return known
        source = self._slots[slot]
        made = self._view(source) if source.base is not None else self._source(source)
        self._hold(slot, made)
        return made

    def _source(self, source: Slot) -> torch.Tensor:
        """What no step made."""
        self._n_gaps += source.came_by_itself
        if source.value is None:
            return _of_no_values(source)  # made by a step that no edge leads on from: only its size may matter
        return source.value

    def _view(self, source: Slot) -> torch.Tensor:
        assert source.base is not None
        return _laid_out(self._tensor(source.base).untyped_storage(), source)

    def _is_brought(self, node: str, slot: int, tensor: torch.Tensor) -> bool:
        """Whether an edge leads from what made the tensor, or last wrote into it, to the step."""
        source = self._slots[slot]
        while source.base is not None and source.origin is None and slot not in self._made_by:
            slot, source = source.base, self._slots[source.base]
        maker = self._made_by.get(slot) or source.origin
        unit = self._unit(node)
        if maker is None or (node == unit and self._unit(maker) == unit):
            return True
        if unit.startswith("call:") and maker.startswith("param:"):
            return True  # a leaf reads its own parameters, and those have no edge
        brought = self._brings.get(node, set()) | self._brings.get(unit, set())
        return not brought.isdisjoint(self._stand_for(maker, tensor))

    def _stand_for(self, maker: str, tensor: torch.Tensor) -> set[str]:
        """The ends of edges that bring a tensor: what made it, and whoever wrote all of it since."""
        low, high = extent(tensor)
        covering = [
            writer for writer, first, last in self._writers.get(_memory(tensor), ()) if first <= low and high <= last
        ]
        return {node for each in (maker, *covering) for node in (each, self._unit(each))}

    def _keep(self, step: Step, result: object) -> None:
        found = dict(tensors_in(result, "output"))
        for name, slot in step.outputs:
            tensor = found.get(name)
            if tensor is None:
                self._differ(step.node, name, "it does not give this tensor")
                self._unmade.add(slot)
            else:
                self._hold(slot, tensor)
                self._made_by[slot] = step.node

    def _take_over(self, step: Step) -> None:
        """In place of what the step would give stands what it gave in the run."""
        for _, slot in step.outputs:
            value = self._slots[slot].value
            if value is None:
                self._unmade.add(slot)
            else:
                self._hold(slot, value)
                self._made_by[slot] = step.node

    def _give_up(self, step: Step) -> None:
        self._unmade.update(slot for _, slot in step.outputs if slot not in self._made)

    # Comparing

    def _compare(self, step: Step) -> None:
        same = True
        for name, slot, before in step.values:
            tensor = self._made.get(slot)
            if tensor is None or before is None or is_identical(before, tensor):
                continue
            now = fingerprint(tensor)
            if now is None:  # its values cannot be read any more
                continue
            same = False
            message = difference(before, now)
            if message is not None:
                self._differ(step.node, name, message)
        self._identical += same

    def _compare_output(self, name: str, slot: int) -> None:
        if slot in self._unmade:
            return
        maker = self._made_by.get(slot) or self._slots[slot].origin
        base = self._slots[slot].base
        while maker is None and base is not None:
            maker, base = self._made_by.get(base) or self._slots[base].origin, self._slots[base].base
        end = f"output:{name}"
        if maker is None:
            return
        tensor = self._tensor(slot)
        self._n_compared += 1
        if self._brings.get(end, set()).isdisjoint(self._stand_for(maker, tensor)):
            self._differ(end, name, f"no edge leads to it from {maker}")

    def _differ(self, node: str, output: str, message: str) -> None:
        self._differences.append(Difference(node=node, output=output, message=message))


def _written_arguments(step: Step) -> set[int]:
    written = {slot for _, slot, _ in step.values}
    return written & {*slots_in(step.args), *slots_in(step.kwargs)} if written else written


def _homes(graph: Graph) -> dict[str, str]:
    """Of each operation inside of a leaf: its call."""
    parents = {call.parent for call in graph.calls}
    return {
        operation.id: f"call:{operation.call}"
        for operation in graph.operations
        if operation.call is not None and operation.call not in parents
    }


@contextlib.contextmanager
def _circumstances(step: Step) -> Iterator[None]:
    """What the step ran under, besides its arguments: random numbers, casts, the default type, and whether autograd
    looks on."""
    for put_back in step.random:
        put_back()
    with contextlib.ExitStack() as casts:
        casts.callback(torch.set_default_dtype, torch.get_default_dtype())
        torch.set_default_dtype(step.default_dtype)
        for device, kind in step.autocast:
            casts.enter_context(torch.autocast(device, dtype=kind))
        with torch.set_grad_enabled(step.grad and step.node.startswith("call:")):
            yield


def _memory(tensor: torch.Tensor) -> int:
    """What tensors that share their memory have in common; one without a storage shares with none."""
    return storage_of(tensor) or id(tensor)


def _laid_out(memory: torch.UntypedStorage, slot: Slot) -> torch.Tensor:
    layout = slot.layout
    assert layout is not None
    made = torch.empty(0, dtype=layout.dtype, device=layout.device)
    return made.set_(memory, layout.offset, layout.shape, layout.stride)


def _version(tensor: torch.Tensor) -> int | None:
    return None if tensor.is_inference() else tensor._version


def _without_values(tensor: torch.Tensor) -> torch.Tensor:
    """Another of the same size, with values that spoil whatever reads them."""
    return _spoilt(torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device))


def _of_no_values(slot: Slot) -> torch.Tensor:
    layout = slot.layout
    if layout is None:
        raise LookupError("a tensor was not kept that does not lie in memory by strides")
    return _spoilt(torch.empty_strided(layout.shape, layout.stride, dtype=layout.dtype, device=layout.device))


def _spoilt(tensor: torch.Tensor) -> torch.Tensor:
    kind = tensor.dtype
    if 0 in tensor.stride():  # expanded: written as a whole
        tensor = tensor.clone()
    return tensor.fill_(float("nan")) if kind.is_floating_point or kind.is_complex else tensor.zero_()
