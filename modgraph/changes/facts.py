"""One module on both sides: which of its facts differ, and which cannot be told."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, get_args

from modgraph.changes.leeway import Leeway, leeway_of
from modgraph.changes.matching import Matching
from modgraph.changes.model import ABSENT, Field, FieldKind, Undecided
from modgraph.changes.openness import Openness, may_be_absent, shapes_agree
from modgraph.changes.runs import Runs
from modgraph.graph.dataflow import operation_word
from modgraph.graph.index import name_below
from modgraph.graph.model import BufferInfo, Graph, ModuleNode, ParameterInfo, Shape, TensorInfo
from modgraph.graph.numbering import numbering_of
from modgraph.graph.paths import parameter_path

Tensor = ParameterInfo | BufferInfo
_KINDS = get_args(FieldKind)
_IsUnknown = Callable[[TensorInfo], bool]
_IsOne = Callable[[TensorInfo, TensorInfo], bool]


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
        self.leeway = (Leeway(), Leeway()) if whole is None else (leeway_of(whole[0]), leeway_of(whole[1]))
        self.undecided: list[Undecided] = []

    def fields(self, old: str, new: str) -> tuple[Field, ...]:
        """The facts of one pair that differ; what cannot be told is added to `undecided`."""
        one, other = self.matching.old.nodes[old], self.matching.new.nodes[new]
        if self.old_open.is_inside_open(old) or self.new_open.is_inside_open(new):
            return ()  # it is said of the class around it, and of what is in that nothing is known
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
            # What a module is that is not known, is not known of its place and its other names either.
            self._undecided(one.path, other.path, "class", in_old=one.class_is_open, in_new=other.class_is_open)
            return
        if self._is_another_class(one, other):
            yield Field(kind="class", old=one.class_name, new=other.class_name)
        if one.registered != other.registered:
            yield Field(kind="registered", old=one.registered, new=other.registered)
        if not self._is_one(one.alias_of, other.alias_of, self.matching.translated):
            # What is not known of a module may be which of two it is.
            untold = self.old_open.tensors_of(one.path) is not None, self.new_open.tensors_of(other.path) is not None
            if any(untold):
                self._undecided(one.path, other.path, "other names", in_old=untold[0], in_new=untold[1])
            else:
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
            if one.predicted is not other.predicted and _is_kept_so(one, name, old, new):
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
            reasons = self.old_open.tensors_of(one.path), self.new_open.tensors_of(other.path)
            if any(reasons):
                in_old, in_new = (reason is not None for reason in reasons)
                self._undecided(one.path, other.path, f"whether {name} is tied", in_old=in_old, in_new=in_new)
                return
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
        both = [
            path
            for path in old_tree.children[old]
            if path in self.matching.to_new
            and not (old_tree.nodes[path].class_is_open or new_tree.nodes[self.matching.to_new[path]].class_is_open)
        ]
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
            further = [side.calls.get(node.path, 0) for side, node in zip(self.leeway, (one, other), strict=True)]
            if _may_be_equal(counts, further):
                self._open_forward(one, other, "number of calls", [more > 0 for more in further])
            else:
                under = [each.calls.get(path, ABSENT) for each, path in self._sides(one, other)]
                yield _with_under(Field(kind="calls", old=counts[0], new=counts[1]), under)
        if not self._is_another_class(one, other):
            yield from self._forwards(one, other)
        if self.runs.outputs and counts[0] == counts[1]:
            yield from self._gave(one, other)

    def _open_forward(self, one: ModuleNode, other: ModuleNode, what: str, open_: Sequence[bool]) -> None:
        """What `forward` does there cannot be told."""
        if open_[0] or open_[1]:
            self._undecided(one.path, other.path, what, in_old=open_[0], in_new=open_[1])

    def _gave(self, one: ModuleNode, other: ModuleNode) -> Iterator[Field]:
        """The shapes and dtypes of what came out of its calls."""
        sides = list(zip((self.matching.old.graph, self.matching.new.graph), (one, other), strict=True))
        calls = [[graph.calls[number].outputs for number in node.calls] for graph, node in sides]
        shapes = [_outputs(graph, node) for graph, node in sides]
        dtypes = [_output_dtypes(graph, node) for graph, node in sides]
        # A value of which not even a tensor is known gives no output.
        lost = [
            [(not outputs and side.is_partial) or any(each.unknown for each in outputs) for outputs in all_]
            for all_, side in zip(calls, self.leeway, strict=True)
        ]
        facts: tuple[tuple[FieldKind, str, list[Any], _IsUnknown, _IsOne], ...] = (
            ("outputs", "output shapes", shapes, lambda each: _is_open_shape(each.shape), _may_be_one_shape),
            ("output_dtypes", "output dtypes", dtypes, lambda each: each.dtype is None, _may_be_one_dtype),
        )
        for kind, what, said, is_unknown, may_be_one in facts:
            if said[0] == said[1]:
                continue
            open_ = [
                any(in_lost) or any(map(is_unknown, chain(*all_))) for all_, in_lost in zip(calls, lost, strict=True)
            ]
            if any(open_) and _may_be_alike(calls, lost, may_be_one):
                self._open_forward(one, other, what, open_)
            else:
                yield Field(kind=kind, old=said[0], new=said[1])

    def _forwards(self, one: ModuleNode, other: ModuleNode) -> Iterator[Field]:
        """What its own `forward` does, call by call; what several calls differ in alike is told of the first."""
        calls = zip(self._operations[0].get(one.path, ()), self._operations[1].get(other.path, ()), strict=False)
        told: list[tuple[dict[str, int], dict[str, int]]] = []
        for number, pair in enumerate(calls, 1):
            old, new = self._without_open(one, other, number, pair)
            if old != new and (old, new) not in told:
                told.append((old, new))
                under = [each.operations.get((path, number), ABSENT) for each, path in self._sides(one, other)]
                name = "" if number == 1 else f"call {number}"
                yield _with_under(Field(kind="operations", name=name, old=old, new=new), under)

    def _without_open(
        self, one: ModuleNode, other: ModuleNode, number: int, pair: tuple[dict[str, int], dict[str, int]]
    ) -> tuple[dict[str, int], dict[str, int]]:
        """The operations of a call on both sides, without those of which there may be as many on both."""
        old, new = pair
        open_words: list[str] = []
        open_ = [False, False]
        lost = self._lost_on_one_side(one, other, number)
        for word in sorted({*old, *new}):
            counts = [each.get(word, 0) for each in pair]
            further = [
                math.inf if is_lost else side.operations.get((node.path, number), {}).get(word, 0)
                for is_lost, side, node in zip(lost, self.leeway, (one, other), strict=True)
            ]
            if counts[0] != counts[1] and _may_be_equal(counts, further):
                open_words.append(word)
                fewer = 0 if counts[0] < counts[1] else 1
                open_[fewer] = True
        if not open_words:
            return pair
        what = f"operations {', '.join(open_words)}" + (f" in call {number}" if number > 1 else "")
        self._open_forward(one, other, what, open_)
        return (
            {word: count for word, count in old.items() if word not in open_words},
            {word: count for word, count in new.items() if word not in open_words},
        )

    def _lost_on_one_side(self, one: ModuleNode, other: ModuleNode, number: int) -> list[bool]:
        """For each side, whether operations of this call may be lost there that the other has: what both leave open
        alike, as where nobody gives a class its arguments, hides no difference of one of them."""
        sides = list(zip(self.leeway, (one, other), strict=True))
        lost = [(node.path, number) in side.lost for side, node in sides]
        untold = [side.untold.get(node.path, frozenset[str]()) for side, node in sides]
        return [
            (lost[0] and not lost[1]) or bool(untold[0] - untold[1]),
            (lost[1] and not lost[0]) or bool(untold[1] - untold[0]),
        ]

    def _sides(self, one: ModuleNode, other: ModuleNode) -> Iterator[tuple[_Under, str]]:
        """What depends on conditions on each side, and the path of the module there; none of runs."""
        return zip(self._under, (one.path, other.path), strict=False)


def _may_be_equal(counts: Sequence[int], further: Sequence[float]) -> bool:
    """Whether there may be as many of both, with what may come to it on each side."""
    return counts[0] <= counts[1] + further[1] and counts[1] <= counts[0] + further[0]


def _is_open_shape(shape: Shape | None) -> bool:
    return shape is None or None in shape


def _may_be_one_shape(one: TensorInfo, other: TensorInfo) -> bool:
    """Sizes that are left open are those of the same inputs: two that are not the same text are two."""
    if one.shape is None or other.shape is None:
        return True
    if len(one.shape) != len(other.shape):
        return False
    return all(None in sizes or sizes[0] == sizes[1] for sizes in zip(one.shape, other.shape, strict=True))


def _may_be_one_dtype(one: TensorInfo, other: TensorInfo) -> bool:
    return one.dtype is None or other.dtype is None or one.dtype == other.dtype


def _may_be_alike(
    calls: Sequence[Sequence[tuple[TensorInfo, ...]]], lost: Sequence[Sequence[bool]], may_be_one: _IsOne
) -> bool:
    """Whether all that was given may be one, call by call; of a call whose value was lost nothing is known."""
    for olds, news, in_old, in_new in zip(*calls, *lost, strict=False):
        if in_old or in_new:
            continue
        if len(olds) != len(news) or not all(map(may_be_one, olds, news)):
            return False
    return True


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


_ONE_FOR_ALL = frozenset(
    {"kernel_size", "stride", "padding", "dilation", "output_padding", "output_size", "scale_factor"}
)
"""Of which torch's layers take one number for all dimensions."""
_ONE_OR_SEVERAL = frozenset({"normalized_shape"})
"""Of which a number stands for one dimension."""


def _is_kept_so(node: ModuleNode, name: str, old: Any, new: Any) -> bool:
    """Whether one side has what the constructor of a layer of torch was given, and the other the same as the layer
    keeps it: a number as a float, or once for each dimension."""
    if name not in _ONE_FOR_ALL | _ONE_OR_SEVERAL:
        return False
    if not (node.torch_base or node.class_name or "").startswith("torch.nn.modules."):
        return False
    number, kept = (new, old) if isinstance(old, list | tuple) else (old, new)
    sizes = list(kept) if isinstance(kept, list | tuple) else [kept]
    if len(sizes) != 1 and name in _ONE_OR_SEVERAL:
        return False
    return type(number) in (int, float) and bool(sizes) and all(size == number for size in sizes)


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
