"""One module on both sides: which of its facts differ, and which cannot be told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from modgraph.changes.matching import Matching
from modgraph.changes.model import ABSENT, Field, FieldKind, Undecided
from modgraph.changes.openness import Openness, may_be_absent, shapes_agree
from modgraph.changes.runs import Runs
from modgraph.graph.dataflow import operation_word
from modgraph.graph.index import name_below
from modgraph.graph.model import BufferInfo, Graph, ModuleNode, ParameterInfo
from modgraph.graph.numbering import numbering_of
from modgraph.graph.paths import parameter_path

Tensor = ParameterInfo | BufferInfo
_KINDS = get_args(FieldKind)


class Facts:
    """Compares the modules of a matching, pair by pair.

    Args:
        whole: of predictions, both with what depends on conditions.
    """

    def __init__(self, matching: Matching, runs: Runs, whole: tuple[Graph, Graph] | None = None) -> None:
        self.matching = matching
        self.runs = runs
        self.old_open = Openness(matching.old)
        self.new_open = Openness(matching.new)
        self._numbering = numbering_of(matching.old.index), numbering_of(matching.new.index)
        self._operations = _operations(matching.old.graph), _operations(matching.new.graph)
        self._under = () if whole is None else tuple(map(_under_conditions, whole))
        self.undecided: list[Undecided] = []

    def fields(self, old: str, new: str) -> tuple[Field, ...]:
        """The facts of one pair that differ; what cannot be told is added to `undecided`."""
        one, other = self.matching.old.nodes[old], self.matching.new.nodes[new]
        found = list(self._of_class(one, other))
        if None not in (one.class_name, other.class_name):
            found += self._arguments(one, other)
            found += self._held(one, other, "parameter", one.parameters, other.parameters)
            found += self._held(one, other, "buffer", one.buffers, other.buffers)
            found += self._order(old, new)
        found += self._ran(one, other)
        return tuple(sorted(found, key=lambda field: (_KINDS.index(field.kind), field.name)))

    def _undecided(self, old: str, new: str, what: str, *, in_old: bool, in_new: bool, why: str = "") -> None:
        side: Literal["old", "new", "both"] = "both" if in_old and in_new else "old" if in_old else "new"
        reasons = self.old_open.reason(old) if in_old else "", self.new_open.reason(new) if in_new else ""
        self.undecided.append(
            Undecided(
                old=old,
                new=new,
                what=what,
                side=side,
                reason="; ".join(sorted({*reasons, why} - {""})),
                old_place=self.old_open.place(reasons[0], old),
                new_place=self.new_open.place(reasons[1], new),
            )
        )

    def _of_class(self, one: ModuleNode, other: ModuleNode) -> Iterator[Field]:
        if one.class_is_open or other.class_is_open:
            self._undecided(one.path, other.path, "class", in_old=one.class_is_open, in_new=other.class_is_open)
        elif self._is_another_class(one, other):
            yield Field(kind="class", old=one.class_name, new=other.class_name)
        if one.registered != other.registered:
            yield Field(kind="registered", old=one.registered, new=other.registered)
        if not self._is_one(one.alias_of, other.alias_of, self.matching.translated):
            yield Field(kind="same_as", old=_or_absent(one.alias_of), new=_or_absent(other.alias_of))
        if one.own_state_dict != other.own_state_dict:
            yield Field(kind="state_dict", old=one.own_state_dict, new=other.own_state_dict)
        hooks = [[[hook.kind, hook.name] for hook in node.hooks] for node in (one, other)]
        both_seen = one.observed is True and other.observed is True
        if hooks[0] != hooks[1] and both_seen:
            yield Field(kind="hooks", old=hooks[0], new=hooks[1])

    def _is_another_class(self, one: ModuleNode, other: ModuleNode) -> bool:
        return self.matching.old.class_of(one.path) != self.matching.new.class_of(other.path)

    # --- arguments -------------------------------------------------------------------------------------------------

    def _arguments(self, one: ModuleNode, other: ModuleNode) -> Iterator[Field]:
        old_place, new_place = (
            numbering.get(node.path, {}) for numbering, node in zip(self._numbering, (one, other), strict=True)
        )
        unlike = self._is_another_class(one, other)
        for name in _argument_names(one, other, unlike=unlike):
            old, new = _argument(one, name), _argument(other, name)
            in_old, in_new = old == NOT_KNOWN, new == NOT_KNOWN
            if in_old or in_new:
                # What another class is given under the same name is no question.
                if not unlike:
                    left = (name not in node.unknown_arguments for node in (one, other))
                    by_default = any(is_open and at for is_open, at in zip((in_old, in_new), left, strict=True))
                    why = "its default is not known" if by_default else ""
                    self._undecided(one.path, other.path, f"argument {name}", in_old=in_old, in_new=in_new, why=why)
                continue
            if name in old_place and old_place.get(name) == new_place.get(name):
                continue
            if ABSENT in (old, new) and one.predicted is not other.predicted:
                # One half leaves out defaults, the other what the instance does not show.
                continue
            if (old is ABSENT) != (new is ABSENT) or (old is not ABSENT and not self._is_one_literal(old, new)):
                yield Field(kind="argument", name=name, old=old, new=new)

    def _is_one_literal(self, old: Any, new: Any) -> bool:
        return self.matching.old.literal(old) == self.matching.new.literal(new)

    # --- parameters and buffers ------------------------------------------------------------------------------------

    def _held(
        self,
        one: ModuleNode,
        other: ModuleNode,
        kind: Literal["parameter", "buffer"],
        olds: tuple[Tensor, ...],
        news: tuple[Tensor, ...],
    ) -> Iterator[Field]:
        old_by, new_by = {held.name: held for held in olds}, {held.name: held for held in news}
        for name in dict.fromkeys([*old_by, *new_by]):
            old, new = old_by.get(name), new_by.get(name)
            if old is not None and new is not None:
                yield from self._tensor(one, other, old, new)
            else:
                yield from self._one_sided(one, other, kind, old, new)

    def _one_sided(
        self, one: ModuleNode, other: ModuleNode, kind: FieldKind, old: Tensor | None, new: Tensor | None
    ) -> Iterator[Field]:
        held = old if old is not None else new
        assert held is not None
        in_old = self.old_open.tensors_of(one.path) is not None if old is None else may_be_absent(old)
        in_new = self.new_open.tensors_of(other.path) is not None if new is None else may_be_absent(new)
        if in_old or in_new:
            self._undecided(one.path, other.path, f"{kind} {held.name}", in_old=in_old, in_new=in_new)
            return
        yield Field(kind=kind, name=held.name, old=_shape_json(old), new=_shape_json(new))

    def _tensor(self, one: ModuleNode, other: ModuleNode, old: Tensor, new: Tensor) -> Iterator[Field]:
        name = old.name
        agree = shapes_agree(old.shape, new.shape)
        if agree is None:
            unsure = [held.shape is None or None in held.shape for held in (old, new)]
            self._undecided(one.path, other.path, f"shape of {name}", in_old=unsure[0], in_new=unsure[1])
        elif not agree:
            yield Field(kind="shape", name=name, old=list(old.shape or ()), new=list(new.shape or ()))
        flags: list[tuple[FieldKind, Any, Any]] = [("dtype", old.dtype, new.dtype)]
        if isinstance(old, ParameterInfo) and isinstance(new, ParameterInfo):
            flags.append(("trainable", old.trainable, new.trainable))
        if isinstance(old, BufferInfo) and isinstance(new, BufferInfo):
            flags.append(("persistent", old.persistent, new.persistent))
        from_files = one.predicted is None and other.predicted is None
        for kind, before, after in flags:
            if before is None and after is None and from_files:
                continue  # an ONNX file never says: there is nothing to be told
            if before is None or after is None:
                what = f"{kind} of {name}" if kind == "dtype" else f"whether {name} is {kind}"
                self._undecided(one.path, other.path, what, in_old=before is None, in_new=after is None)
            elif before != after:
                yield Field(kind=kind, name=name, old=before, new=after)
        if not self._is_one(old.alias_of, new.alias_of, self._tensor_path):
            yield Field(kind="tied", name=name, old=_or_absent(old.alias_of), new=_or_absent(new.alias_of))

    @staticmethod
    def _is_one(old: str | None, new: str | None, translated: Callable[[str], str | None]) -> bool:
        return old is new if old is None or new is None else translated(old) == new

    def _tensor_path(self, path: str) -> str | None:
        """A tensor of the old graph as the new one calls it; None where the new model has another one there."""
        holder, end = "", len(path)
        while not holder and (end := path.rfind(".", 0, end)) > 0:
            holder = path[:end] if path[:end] in self.matching.old.nodes else ""
        there = self.matching.translated(holder)
        return None if there is None else parameter_path(there, name_below(path, holder))

    # --- children and run ------------------------------------------------------------------------------------------

    def _order(self, old: str, new: str) -> Iterator[Field]:
        """The order in which named children are registered, which is that of parameters too."""
        old_tree, new_tree = self.matching.old, self.matching.new
        both = [path for path in old_tree.children[old] if path in self.matching.to_new]
        kept = [path for path in both if new_tree.parents.get(self.matching.to_new[path]) == new]
        names = [name for path in kept for name in (old_tree.name(path), new_tree.name(self.matching.to_new[path]))]
        if all(name.isdecimal() for name in names):
            return
        places = [new_tree.position[self.matching.to_new[path]] for path in kept]
        if places != sorted(places):
            there = sorted(kept, key=lambda path: new_tree.position[self.matching.to_new[path]])
            yield Field(
                kind="order",
                old=[old_tree.name(path) for path in kept],
                new=[name_below(self.matching.to_new[path], new) for path in there],
            )

    def _ran(self, one: ModuleNode, other: ModuleNode) -> Iterator[Field]:
        if not self.runs.calls:
            return
        graphs = self.matching.old.graph, self.matching.new.graph
        counts = [
            sum(not graph.calls[number].recomputed for number in node.calls)
            for graph, node in zip(graphs, (one, other), strict=True)
        ]
        if counts[0] != counts[1]:
            under = [each.calls.get(path, ABSENT) for each, path in self._sides(one, other)]
            yield _with_under(Field(kind="calls", old=counts[0], new=counts[1]), under)
        if not self._is_another_class(one, other):
            yield from self._forwards(one, other)
        if not self.runs.outputs or counts[0] != counts[1]:
            return
        shapes = [_outputs(graph, node) for graph, node in zip(graphs, (one, other), strict=True)]
        if shapes[0] != shapes[1]:
            yield Field(kind="outputs", old=shapes[0], new=shapes[1])
        dtypes = [_output_dtypes(graph, node) for graph, node in zip(graphs, (one, other), strict=True)]
        if dtypes[0] != dtypes[1]:
            yield Field(kind="output_dtypes", old=dtypes[0], new=dtypes[1])

    def _forwards(self, one: ModuleNode, other: ModuleNode) -> Iterator[Field]:
        """What its own `forward` does, call by call; what several calls differ in alike is told of the first."""
        calls = zip(self._operations[0].get(one.path, ()), self._operations[1].get(other.path, ()), strict=False)
        told: list[tuple[dict[str, int], dict[str, int]]] = []
        for number, (old, new) in enumerate(calls, 1):
            if old != new and (old, new) not in told:
                told.append((old, new))
                under = [each.operations.get((path, number), ABSENT) for each, path in self._sides(one, other)]
                name = "" if number == 1 else f"call {number}"
                yield _with_under(Field(kind="operations", name=name, old=old, new=new), under)

    def _sides(self, one: ModuleNode, other: ModuleNode) -> Iterator[tuple[_Under, str]]:
        """What depends on conditions on each side, and the path of the module there; none of runs."""
        return zip(self._under, (one.path, other.path), strict=False)


def _with_under(field: Field, under: Sequence[Any]) -> Field:
    """With what there is under conditions, where that is not the same on both sides."""
    return replace(field, old_under=under[0], new_under=under[1]) if under and under[0] != under[1] else field


@dataclass(frozen=True, slots=True)
class _Under:
    """What of a graph depends on conditions."""

    calls: dict[str, int]
    """By module; none where it has none."""
    operations: dict[tuple[str, int], dict[str, int]]
    """By module and the number of its call, among those that are certain."""


def _under_conditions(graph: Graph) -> _Under:
    calls = Counter(call.module for call in graph.calls if not call.certain)
    numbers: dict[int, tuple[str, int]] = {}
    counted: Counter[str] = Counter()
    for call in graph.calls:
        if call.certain:
            counted[call.module] += 1
            numbers[call.index] = (call.module, counted[call.module])
    operations: dict[tuple[str, int], Counter[str]] = {}
    for each in graph.operations:
        if not each.certain and each.call in numbers:
            operations.setdefault(numbers[each.call], Counter())[operation_word(each.name)] += 1
    return _Under(dict(calls), {at: dict(sorted(words.items())) for at, words in operations.items()})


NOT_KNOWN = {"$repr": "..."}
"""Stands for an argument that a graph does not tell."""


def _argument_names(one: ModuleNode, other: ModuleNode, *, unlike: bool) -> list[str]:
    """Arguments that are given on one side, or left at defaults that are not the same; what a class with
    other parameters has of its own and is not given, is the class's difference."""
    given = [*one.arguments, *other.arguments, *one.unknown_arguments, *other.unknown_arguments]
    both = [] if unlike else [name for name in one.defaults if name in other.defaults]
    # By their texts: 1 and True are equal. Two that are not known stand in the text of the constructor.
    left = [name for name in both if repr(one.defaults[name]) != repr(other.defaults[name])]
    return list(dict.fromkeys([*given, *left]))


def _argument(node: ModuleNode, name: str) -> Any:
    """What a module's constructor has for it, given or by default; ABSENT where the graph has no such argument, or it
    is a default of torch's own."""
    if name in node.unknown_arguments:
        return NOT_KNOWN
    return node.arguments[name] if name in node.arguments else node.defaults.get(name, ABSENT)


def _or_absent(value: str | None) -> Any:
    return ABSENT if value is None else value


def _shape_json(held: Tensor | None) -> Any:
    if held is None:
        return ABSENT
    return None if held.shape is None else list(held.shape)


def _outputs(graph: Graph, node: ModuleNode) -> list[Any]:
    """The shapes that a module's calls gave, equal ones once."""
    seen: list[Any] = []
    for number in node.calls:
        for tensor in graph.calls[number].outputs:
            shape = None if tensor.shape is None else list(tensor.shape)
            if shape not in seen:
                seen.append(shape)
    return seen


def _output_dtypes(graph: Graph, node: ModuleNode) -> list[str | None]:
    """The dtypes of the tensors that each call gave; calls that gave the same once."""
    calls = [tuple(tensor.dtype for tensor in graph.calls[number].outputs) for number in node.calls]
    return [dtype for call in dict.fromkeys(calls) for dtype in call]


def _operations(graph: Graph) -> dict[str, list[dict[str, int]]]:
    """By module and call, what its own `forward` does: the words, and how often each."""
    counted: dict[int, Counter[str]] = {}
    for operation in graph.operations:
        if operation.call is not None:
            counted.setdefault(operation.call, Counter())[operation_word(operation.name)] += 1
    found: dict[str, list[dict[str, int]]] = {}
    for node in graph.modules:
        calls = [number for number in node.calls if not graph.calls[number].recomputed]
        found[node.path] = [dict(sorted(counted.get(number, Counter()).items())) for number in calls]
    return found
