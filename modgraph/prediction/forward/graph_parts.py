"""Events of a run that was followed -> calls, operations and edges of a graph."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from modgraph.graph.build import GraphBuilder
from modgraph.graph.dataflow import operation_word
from modgraph.graph.doubts import DEPENDS, both_texts
from modgraph.graph.model import (
    Call,
    Condition,
    Edge,
    ModuleNode,
    OpenPlace,
    Operation,
    ParameterInfo,
    Problem,
    TensorInfo,
)
from modgraph.graph.outputs import output_end
from modgraph.names import last_name
from modgraph.prediction.answer.causes import Told, told_once
from modgraph.prediction.domain.conditions_told import all_of, is_python, negated, plain, tests_in
from modgraph.prediction.domain.endings import FAILS, RAISES
from modgraph.prediction.domain.events import (
    Alias,
    Assume,
    Either,
    Enter,
    Event,
    Leave,
    Lost,
    Operate,
    Repeat,
    Seen,
    each_event,
    is_plain,
)
from modgraph.prediction.domain.limits import ENDLESS, MAX_EDGES, MAX_SHARING
from modgraph.prediction.domain.objects import ModuleObject, TensorObject
from modgraph.prediction.domain.values import Address, Value
from modgraph.prediction.forward.made import Made, Makers
from modgraph.prediction.forward.regions import Region, Regions
from modgraph.prediction.forward.running import Followed, tensor_info
from modgraph.source.reached import root_of


@dataclass(slots=True)
class _Open:
    """A call that has not ended yet."""

    index: int
    inputs: tuple[Seen, ...]
    is_layer: bool
    makers: tuple[Makers, ...]
    """Of each input, what had made it when the call began."""
    calls: bool = False
    """Other modules are called inside."""
    is_silent: bool = False
    """What a layer computes is not told: it is no container, and no hook of it runs."""
    by_class: Address | None = None
    """The module, where a `__call__` of its own class runs: the first call of that of `nn.Module` in it is a part."""
    is_begun: bool | None = False
    """That call has begun; None where it has on some paths."""
    turns: int = 0
    """Loops of any number of turns around it."""


_HOOKS = frozenset({"_forward_hooks", "_forward_pre_hooks"})
_OUTSIDE = "outside:"
_NO_PLACE: tuple[str, int | None, str | None] = ("", None, None)
_OVERLAP = Condition(text="what is read is what was written")
"""Of parts of one memory of which that is not known."""
_BY_NUMPY = Condition(text="what numpy has computed comes of this")
_OTHER_WAY = Condition(text="another way through forward")
_PERHAPS = Condition(text="what is given here is this tensor")
"""Of a value that is not known."""
_OPEN_QUESTION = re.compile(r"^(?:it is not known )?((?:which|whether|what else) .+?)(?: is not known)?$")
"""A reason that names no test: "which child is taken is not known"."""
_DECIDING = re.compile(r"^(?P<what>[^`]+?) decides? whether .+$")
"""A reason that names what decides: "the numbers in a tensor decide whether that is true"."""
_TEST = re.compile(r"depends on `([^`]+)`")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A test that has come out so on a path."""

    text: str
    event: Assume | None
    """None where it is only known on what it depends."""
    time: int = 0
    """How many tests of the same text came before it, of what was something else then."""


class _Reader:
    """Walks the events once, in order."""

    def __init__(
        self,
        followed: Followed,
        paths: Mapping[Address, str],
        tensors: Mapping[Address, str],
        builder: GraphBuilder,
        holding: Collection[str] = (),
        usual: Followed | None = None,
    ) -> None:
        self.followed = followed
        self.usual = {} if usual is None else usual.came_out
        """How tests have come out in the run that is told first."""
        self.is_elsewhere = [False]
        """Of each path that is being read: a test has come out as it never did in that run."""
        self.elsewhere: set[str] = set()
        """Calls and operations on such paths."""
        self.holding = holding
        """Modules that call others in some way through `forward`: data goes through them in every way."""
        self.paths = dict(paths)
        self.tensors = tensors
        self.builder = builder
        self.nodes = {node.path for node in builder.modules}
        self.open: list[_Open] = []
        self.makers = Made({index: {f"input:{name}": None} for index, name in followed.given.items()})
        self.ways: dict[int, list[int]] = {}
        """By tensor, the numbers of the ways that it has come besides: as a call gave it that it was there before."""
        self.tensor_of: dict[int, int] = {}
        """The other way round."""
        self._info = partial(tensor_info, known=followed.known)
        self.conditions: list[Condition] = []
        self.open_shapes: OpenPlace | None = None
        """From where on shapes are not known."""
        self.turns = 0
        """Loops of any number of turns that are being read, one inside the other."""
        self.tests: list[list[_Asked]] = []
        """Of each path that is being read: the tests that have come out so that it was taken."""
        self.coming: frozenset[int] = frozenset()
        """Tensors that are made in the loops that are being read."""
        self.regions = Regions(followed.state)
        self.notes: dict[tuple[int, str], Region] = {}
        """By tensor, and by what has written to some that shares its memory: what was written."""
        self.compared = 0
        """Of all writes: the tensors that may have had what was written."""
        self.places: dict[int, tuple[str, int | None, str | None]] = {}
        """By the way of a tensor that was one of several results: who gave it, at which place, made by what inside."""
        self.constants: dict[int, str] = {}
        self.edges: dict[tuple[str, str, str], Edge] = {}
        self.lost: dict[Problem, Told] = {}
        self.ended: dict[int, bool] = {}
        """Calls that have ended on a path, and whether one of them raised nothing."""
        self.leaves: set[int] = set()
        """Calls that made no other."""
        self.n_made: Counter[tuple[str, str]] = Counter()
        """By path of the caller and name of the class: how many modules `forward` has made there."""

    def read(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, Enter):
                self._enter(event)
            elif isinstance(event, Leave):
                self._leave(event)
            elif isinstance(event, Operate):
                self._operate(event)
            elif isinstance(event, Alias):
                self._alias(event.index, event.of, event.tensor, event.is_sure)
            elif isinstance(event, (Either, Repeat)) and self._read_plain(event):
                continue
            elif isinstance(event, Either):
                self._either(event)
            elif isinstance(event, Repeat):
                self._repeat(event)
            elif isinstance(event, Assume):
                self._assume(event)
            else:
                self._lost(event)

    # ---- calls -------------------------------------------------------------------------------------------------------

    def _enter(self, event: Enter) -> None:
        index = len(self.builder.calls)
        parent = self.open[-1] if self.open else None
        if parent is not None and self._is_of_own_call(event, parent):
            self.open.append(parent)
            return
        if parent is not None:
            parent.calls = True
        self._note_way(f"call:{index}")
        self.builder.calls.append(
            Call(
                index=index,
                module=self._path(event.module, parent, event.name),
                parent=None if parent is None else parent.index,
                inputs=tuple(self._info(each) for each in event.inputs),
                source=None if parent is None else event.where,
                direct=event.direct,
                may_repeat=self.turns > 0,
                **self._marks(),
            )
        )
        read = (*event.inputs, *(each for each in event.own if any(index in self.makers for index in each.indices)))
        held = self.followed.state.find(event.module, ModuleObject)
        is_silent = event.is_layer and held is not None and not held.modules and _HOOKS.isdisjoint(held.attributes)
        makers = (*map(self._made_by, read), *map(self._perhaps_by, event.possible))
        by_class = event.module if event.by_class else None
        self.open.append(
            _Open(index, (*read, *event.possible), event.is_layer, makers, False, is_silent, by_class, turns=self.turns)
        )

    def _is_of_own_call(self, event: Enter, parent: _Open) -> bool:
        """It is the call of `nn.Module` that a `__call__` of the class makes first, which is told as one with it."""
        if parent.by_class != event.module or event.by_class or event.direct or parent.is_begun is True:
            return False
        if parent.is_begun is None or self.turns > parent.turns:
            self._lost(Lost("how often its own __call__ calls that of nn.Module", event.where))
        parent.is_begun = True
        return True

    def _leave(self, event: Leave) -> None:
        if not self.open:
            return
        call = self.open.pop()
        if self.open and self.open[-1] is call:  # its own `__call__` goes on
            for each in event.handed:
                self._alias(each.number, each.of, each.index)
            return
        known = self.builder.calls[call.index]
        self.builder.calls[call.index] = replace(known, **self._end_of(call.index, event))
        self.ended[call.index] = self.ended.get(call.index) or event.error is None
        for each in event.handed:
            self._alias(each.number, each.of, each.index)
        if call.calls or known.module in self.holding:
            return
        self.leaves.add(call.index)
        name = f"call:{call.index}"
        for seen, makers in zip(call.inputs, call.makers, strict=True):
            self._add_edges(makers, name, seen)
        # An input that a model gives back which calls no other, and computes, comes from where it came to the model.
        is_root = not self.open and not call.is_layer and any(each.call == 0 for each in self.builder.operations)
        as_it_was = [each.index for each in event.handed if is_root and each.index in self.followed.given]
        for seen in event.outputs:
            if len(event.outputs) > 1:
                self._note_maker(seen, name)
            self._gives(seen, name, as_it_was)
        self._write(event.written, name)

    def _gives(self, seen: Seen, name: str, written: Sequence[int] = ()) -> None:
        """Makes it the maker of a tensor; of one of several, which another made on another path, it may be."""
        for index, way in zip(seen.indices, seen.ways, strict=True):
            if index in written:
                continue
            earlier = self.makers.get(way) if way == index and len(seen.indices) > 1 else {}
            others = dict.fromkeys((each for each in earlier if not self._is_inside(each, name)), _OTHER_WAY)
            self.makers[way] = {**others, name: _OTHER_WAY if others else None}

    def _note_maker(self, seen: Seen, name: str) -> None:
        """The operation inside a call that has made one of those that it gives."""
        makers = self._made_by(seen)
        for maker, condition in makers.items():
            if len(makers) == len(seen.indices) == 1 and condition is None and self._is_inside(maker, name):
                self.places[seen.ways[0]] = (name, None, maker)

    def _is_inside(self, maker: str, name: str) -> bool:
        """An operation of that call."""
        kind, _, number = maker.partition(":")
        return kind == "op" and f"call:{self.builder.operations[int(number)].call}" == name

    def _alias(self, index: int, of: int, tensor: int | None, is_sure: bool = True) -> None:
        """From here on there is another object made as one was, or another way that a tensor has come."""
        if not is_sure:
            known = self.makers.get(index) or {f"{_OUTSIDE}{index}": _BY_NUMPY}
            # What numpy has computed on the way is told as one constant.
            of_tensors = [
                maker
                for maker, why in self._makers_of(of).items()
                if why is not _BY_NUMPY or not maker.startswith(_OUTSIDE)
            ]
            self.makers[index] = {**dict.fromkeys(of_tensors, _BY_NUMPY), **known}
            return
        self.makers[index] = self._makers_of(of)
        if tensor is not None and index not in self.tensor_of:
            self.tensor_of[index] = tensor
            self.ways.setdefault(tensor, []).append(index)

    def _end_of(self, index: int, event: Leave) -> dict[str, Any]:
        """What a call gives, where that is known; where it ends on several paths, what it gives on those that raise
        nothing."""
        outputs = self._outputs(event) if event.is_known else ()
        if index not in self.ended:
            return {"outputs": outputs, "error": event.error}
        if event.error is not None:
            return {}
        if not self.ended[index]:
            return {"outputs": outputs, "error": None}
        known = self.builder.calls[index].outputs
        return {"outputs": _joined(known, outputs)}

    def _outputs(self, event: Leave) -> tuple[TensorInfo, ...]:
        """What a call gives, in its order, with what is not known among it."""
        unknown = {seen.name for _, seen in event.unknown}  # on some paths a tensor stands there
        given = [self._info(each) for each in event.outputs if each.name not in unknown]
        for place, seen in reversed(event.unknown):
            given.insert(place, replace(self._info(seen), unknown=seen.unknown))
        return tuple(given)

    def _path(self, module: Address, caller: _Open | None, name: str | None) -> str:
        """Where a module stands; one that `forward` has made becomes a module below its caller."""
        known = self.paths.get(module)
        if known is not None:
            if known not in self.nodes:
                self._add_possible(module, known)
            return known
        above = "" if caller is None else self.builder.calls[caller.index].module
        is_taken = name is None or (f"{above}.{name}" if above else name) in self.nodes
        return self._add_made(module, above, None if is_taken else name)

    def _add_possible(self, module: Address, path: str) -> None:
        """A module that stands below one of which it is not known which it is."""
        state = self.followed.state
        held = state.find(module, ModuleObject)
        own = {} if held is None else {name: state.find(each, TensorObject) for name, each in held.parameters.items()}
        self.nodes.add(path)
        self.builder.modules.append(
            ModuleNode(
                path=path,
                class_name=None if held is None else getattr(held.cls, "name", None),
                predicted=True,
                parameters=tuple(
                    ParameterInfo(name=name, shape=each.shape, dtype=each.dtype, trainable=each.requires_grad)
                    for name, each in own.items()
                    if each is not None
                ),
                source=None if held is None else held.where,
                certain=False,
                condition=self.conditions[-1] if self.conditions else None,
            )
        )

    def _add_made(self, module: Address, above: str, place: str | None) -> str:
        held = self.followed.state.find(module, ModuleObject)
        name = getattr(held.cls, "name", None) if held is not None else None
        short = last_name(name or "Module")
        if place is None:
            place = f"<{short}>[{self.n_made[above, short]}]"
            self.n_made[above, short] += 1
        path = f"{above}.{place}" if above else place
        self.paths[module] = path
        self.nodes.add(path)
        self.builder.modules.append(
            ModuleNode(
                path=path,
                class_name=name,
                predicted=True,
                registered=not place.startswith("<"),
                source=None if held is None else held.where,
                made_in_forward=True,
            )
        )
        for child, value in () if held is None else held.modules.items():
            if isinstance(value, Address) and value not in self.paths:
                self._add_made(value, path, child)
        return path

    def _marks(self, condition: Condition | None = None) -> dict[str, Any]:
        """What is said of all that happens here, and, of an edge, of where it comes from."""
        here = self.conditions[-1] if self.conditions else None
        condition = _on_both(here, condition) if here is not None and condition is not None else here or condition
        return {"predicted": True, "observed": None, "certain": condition is None, "condition": condition}

    def _note_way(self, end: str) -> None:
        if self.is_elsewhere[-1]:
            self.elsewhere.add(end)

    # ---- operations --------------------------------------------------------------------------------------------------

    def _operate(self, event: Operate) -> None:
        call = self.open[-1] if self.open else None
        self.regions.note(event)
        if call is not None and call.is_silent:
            return
        name = f"op:{len(self.builder.operations)}"
        self._note_way(name)
        self.builder.operations.append(
            Operation(
                id=name,
                name=event.name,
                call=None if call is None else call.index,
                source=event.where,
                arguments={name: list(each) if type(each) is tuple else each for name, each in event.arguments},
                **self._marks(),
            )
        )
        for seen in event.inputs:
            self._add_edges(self._read_by(event, seen), name, seen)
        for seen in event.possible:
            self._add_edges(self._perhaps_by(seen), name, seen)
        self._note_shapes(event)
        for each in event.handed:
            self._alias(each.number, each.of, each.index)
        for place, seen in enumerate(event.outputs):
            self._gives(seen, name, event.written)
            if len(event.outputs) > 1 and len(seen.indices) == 1:
                self.places[seen.ways[0]] = (name, place, None)
        self._write(event.written, name, event.key)

    def _note_shapes(self, event: Operate) -> None:
        """The first operation that gives a tensor without a shape, while what it is given has one."""
        is_first = any(each.shape is None for each in event.outputs) and all(
            each.shape is not None for each in event.inputs
        )
        if self.open_shapes is not None or not is_first:
            return
        where = event.where
        self.open_shapes = OpenPlace(
            message=event.unknown or f"what {operation_word(event.name)} gives here has no known shape",
            module=self.builder.calls[self.open[-1].index].module or None if self.open else None,
            file=None if where is None else where.file,
            line=None if where is None else where.line,
        )

    def _read_by(self, event: Operate, seen: Seen) -> Makers:
        """What has made what an operation reads of a tensor; of a part that it gives, what was written there."""
        makers = self._made_by(seen)
        given = [index for each in event.outputs for index in each.indices]
        if len(given) != 1 or event.written or not self.regions.is_of_memory(given[0], seen.indices):
            return makers
        part = self.regions.of(given[0])
        found: Makers = {}
        for maker, why in makers.items():
            written = self.notes.get((seen.ways[0], maker)) if len(seen.indices) == 1 else None
            overlaps = True if written is None else written.overlaps(part)
            if overlaps is not False:
                found[maker] = why if overlaps else why or _OVERLAP
        return found

    def _write(self, indices: Sequence[int], name: str, key: Value | None = None) -> None:
        """Something writes into tensors, and so into those that share their memory; into one of several, one by one."""
        why = None if len(set(indices)) == 1 else _OTHER_WAY
        for index in dict.fromkeys(indices):
            written = self.regions.written(index, key)
            above = self.regions.above(index) if written.is_sure else ()
            sharing = (written.root, *self.regions.sharing(written.root))
            self.compared += len(sharing)
            if self.compared > MAX_SHARING:
                self._lose_edges(f"more than {MAX_SHARING:,} tensors share memory with what is written to")
                sharing = ()
            for other in sharing:
                if other != index and (other in self.makers or other < self.followed.began):
                    self._note_write(other, written, name, why, other in above)
            for way in (index, *self.ways.get(index, ())):
                if way == index or way in self.makers:
                    self.makers[way] = {name: None} if why is None else {**self._makers_of(way), name: why}

    def _note_write(self, other: int, written: Region, name: str, why: Condition | None, is_above: bool) -> None:
        """Of a tensor that may have what was written; it has, where what was written into is certainly a part of it."""
        overlaps = is_above or written.overlaps(self.regions.of(other))
        if overlaps is False:
            return
        for way in (other, *(each for each in self.ways.get(other, ()) if each in self.makers)):
            # Who has written all of an earlier part stands for who wrote that: it was read, or is gone.
            stays = {
                maker: known
                for maker, known in self._makers_of(way).items()
                if why is not None or (part := self.notes.get((way, maker))) is None or not written.covers(part)
            }
            self.makers[way] = {**stays, name: why if overlaps else why or _OVERLAP}
            self.notes[way, name] = written

    def _makers_of(self, index: int) -> Makers:
        """Of one that no event has made, it comes from outside of the run."""
        tensor = self.tensor_of.get(index, index)
        return self.makers.get(index) or self.makers.get(tensor) or {f"{_OUTSIDE}{tensor}": None}

    def _made_by(self, seen: Seen) -> Makers:
        alternatives = [
            self._makers_of(way if way in self.makers else index)
            for index, way in zip(seen.indices, seen.ways, strict=True)
            if way in self.makers
            or (self._is_there(index) and (index in self.makers or not self._is_of_unknown_origin(seen, index)))
        ]
        found: Makers = {maker: why for makers in alternatives for maker, why in makers.items()}
        doubt = next((why for why in found.values() if why is not None), None)
        if doubt is not None and len(alternatives) == 2:
            doubt = _otherwise(doubt)
        elif len(alternatives) > 1:
            doubt = _OTHER_WAY
        return {
            maker: why if why is not None or all(maker in makers for makers in alternatives) else doubt
            for maker, why in found.items()
        }

    def _perhaps_by(self, seen: Seen) -> Makers:
        """Whoever has made a tensor that a value which is not known may be, or has given it back."""
        ways = dict.fromkeys(way for index in seen.indices for way in (index, *self.ways.get(index, ())))
        makers = {maker: None for way in ways if self._is_there(way) for maker in self._makers_of(way)}
        return dict.fromkeys(makers, _PERHAPS)

    def _is_there(self, index: int) -> bool:
        """False for what only an earlier turn of the loop that is being read gives to a later one."""
        return index in self.makers or index not in self.coming

    def _is_of_unknown_origin(self, seen: Seen, index: int) -> bool:
        """Made in the run, by something of which nothing is known: it is no constant."""
        return index >= self.followed.began and seen.shape is None and seen.dtype is None

    def _outside(self, index: int) -> str:
        path = self.tensors.get(Address(index))
        if path is not None:
            return f"param:{path}"
        return self.constants.setdefault(index, f"const:{len(self.constants)}")

    def _add_edges(self, makers: Makers, consumer: str, seen: Seen) -> None:
        if len(self.edges) + len(makers) > MAX_EDGES:
            self._lose_edges(f"there are more than {MAX_EDGES:,} edges")
            return
        for maker, condition in makers.items():
            if maker.startswith(_OUTSIDE):
                maker = self._outside(int(maker.removeprefix(_OUTSIDE)))
            marks = self._marks(condition or self._condition_of(maker) or (_OTHER_WAY if seen.is_partial else None))
            giver, output, made_by = self.places.get(seen.ways[0], _NO_PLACE) if len(seen.ways) == 1 else _NO_PLACE
            if giver != maker:
                output, made_by = None, None
            self.edges.setdefault(
                (maker, consumer, seen.name),
                Edge(
                    producer=maker,
                    consumer=consumer,
                    tensor=self._info(seen),
                    output=output,
                    made_by=made_by,
                    **marks,
                ),
            )

    def _condition_of(self, maker: str) -> Condition | None:
        """Of what may not happen: what comes of it may not come either."""
        kind, _, number = maker.partition(":")
        if kind == "op":
            return self.builder.operations[int(number)].condition
        return self.builder.calls[int(number)].condition if kind == "call" else None

    def _lose_edges(self, why: str) -> None:
        problem = Problem(stage="forward", message=f"not all of the dataflow is told: {why}")
        self.lost.setdefault(problem, Told(problem))

    # ---- branches and loops ------------------------------------------------------------------------------------------

    def _read_plain(self, event: Either | Repeat) -> bool:
        """Reads paths, or turns, on which nothing is called or computed: on whichever of them something is lost, it is.
        False where there is more to them."""
        if not is_plain(event):
            return False
        parts = list(each_event((event,)))
        twins = (theirs for each in parts if isinstance(each, Either) for theirs, _ in each.twins)
        if any(theirs in self.makers for theirs in twins):
            return False
        for each in parts:
            if isinstance(each, Lost):
                self._lost(each)
        return True

    def _either(self, event: Either) -> None:
        running = list(self.open)  # of which an exception on one path may end some
        arms = (event.first, event.second)
        # One turn or none, and no test: how many items there are is not known.
        is_turn = not all(arms) and not any(isinstance(each, Assume) for arm in arms for each in arm[:1])
        self.turns += is_turn
        begun = [each.is_begun for each in running]
        first_condition, first = self._arm(event, event.first)
        self.open, running = running, self.open
        begun_first = self._begin_again(begun)
        second_condition, second = self._arm(event, event.second, event.twins)
        for call, is_begun in zip(self.open, begun_first, strict=False):
            call.is_begun = is_begun if is_begun == call.is_begun else None
        self.turns -= is_turn
        self.open = max(running, self.open, key=len)
        for index in {**first, **second}:
            one, other = (path.get(index, self.makers.get(index)) for path in (first, second))
            self.makers[index] = _merged(one, other, (first_condition, second_condition))

    def _begin_again(self, begun: Sequence[bool | None]) -> list[bool | None]:
        """For the other of two paths, which open calls have called that of `nn.Module`; gives what the first had."""
        first = [each.is_begun for each in self.open]
        for each, was in zip(self.open, begun, strict=True):
            each.is_begun = was
        return first

    def _arm(
        self, event: Either, events: Sequence[Event], twins: Iterable[tuple[int, int]] = ()
    ) -> tuple[Condition, dict[int, Makers]]:
        """Reads what happens on one path; under which condition that is, and what has made what there."""
        self.makers.begin()
        # Which way the test came out is known of a path that begins with it.
        condition = _condition(event, is_test=False)
        self.conditions.append(condition)
        self.tests.append([*self.tests[-1]] if self.tests else [])
        if condition.text.startswith(DEPENDS) and not _begins_with_test(events):
            self.tests[-1].append(_Asked(_quoted(condition.text), None))
        self.is_elsewhere.append(self.is_elsewhere[-1])
        self.read(events)
        for theirs, mine in twins:
            if theirs in self.makers:
                known = self.makers.get(mine)
                if not self.makers.is_of_path(mine):  # what both paths did as one has made it, for the other of them
                    known = dict.fromkeys(known, _OTHER_WAY)
                self.makers[mine] = {**known, **self.makers[theirs]}
        self.tests.pop()
        self.is_elsewhere.pop()
        return self.conditions.pop(), self.makers.end()

    def _assume(self, event: Assume) -> None:
        """From here on, on one of two paths, a test has come out so."""
        if not self.tests:
            return
        known = self.usual.get((event.text, event.where))
        self.is_elsewhere[-1] |= known is not None and event.truth not in known
        self.tests[-1] = _with_test(self.tests[-1], event)
        where = event.where or self.conditions[-1]
        self.conditions[-1] = Condition(text=_text_of(self.tests[-1]), file=where.file, line=where.line)

    def _repeat(self, event: Repeat) -> None:
        condition = _condition(event)
        self.conditions.append(_on_both(self.conditions[-1], condition) if self.conditions else condition)
        self.tests.append([])
        self.is_elsewhere.append(self.is_elsewhere[-1])
        coming, self.coming = self.coming, self.coming | _made_in(event.events)
        self.makers.begin()
        self.turns += 1
        self.read(event.events)
        self.turns -= 1
        self.coming = coming
        self.tests.pop()
        self.is_elsewhere.pop()
        self.conditions.pop()
        for index, inside in self.makers.end().items():
            # A test of a turn decides nothing behind the loop: there may have been no turn, or a later one.
            makers = {maker: None if known is None else _OTHER_WAY for maker, known in inside.items()}
            is_older = index in self.makers
            self.makers[index] = _merged(self.makers[index], makers, (condition, condition)) if is_older else makers

    def _lost(self, event: Lost) -> None:
        module = self.builder.calls[self.open[-1].index].module if self.open else ""
        where = event.where
        cause, place = root_of(event.reason)
        raises = event.reason.startswith((RAISES, FAILS, ENDLESS))
        inside = f"what {event.inside} calls" if event.inside else "what is called here"
        if event.inside:
            place = where  # and not that in torch's code
        problem = Problem(
            stage="forward",
            message=event.reason if raises else f"{inside} is not known: {_said(event.reason)}",
            module=module,
            file=None if where is None else where.file,
            line=None if where is None else where.line,
        )
        self.lost.setdefault(problem, Told(problem, cause, place))

    def finish(self) -> None:
        """Closes what is open: the outputs of the model, and calls in which the run could not be followed further."""
        failure = self.followed.failure
        if failure is not None:
            self._lost(Lost(failure.reason, failure.where))
        if self.lost:  # what is not known may come to what is told on some ways again
            self.builder.calls = [
                each if each.certain else replace(each, may_repeat=True) for each in self.builder.calls
            ]
        self.open.clear()
        self.builder.problems.extend(told_once(self.lost.values(), {node.path for node in self.builder.modules}))
        for seen in self.followed.outputs:
            self._add_edges(self._made_by(seen), output_end(seen.name), seen)
        for seen in self.followed.possible:
            self._add_edges(self._perhaps_by(seen), output_end(seen.name), seen)
        self.builder.edges.extend(self._between_innermost())

    def _between_innermost(self) -> Iterator[Edge]:
        """What goes into a call that makes no other goes to the call, and its operations are joined among themselves;
        what comes of one of these comes of the call."""
        homes = {
            each.id: each.call for each in self.builder.operations if each.call is not None and each.call in self.leaves
        }
        arrived = {_way(edge) for edge in self.edges.values() if edge.consumer not in homes}
        for edge in self.edges.values():
            home, source = homes.get(edge.consumer), homes.get(edge.producer)
            if source is not None and source == home:
                yield edge
                continue
            if source is not None:
                edge = replace(edge, producer=f"call:{source}", output=None)
            if home is None:
                yield edge
                continue
            edge = replace(edge, consumer=f"call:{home}")
            owner = self.builder.calls[home].module
            if edge.producer.startswith("param:") and self._is_held_below(edge.producer[6:], owner):
                continue
            if edge.producer != edge.consumer and _way(edge) not in arrived:
                arrived.add(_way(edge))
                yield edge

    def _is_held_below(self, path: str, owner: str) -> bool:
        """The module holds the tensor, by that path or by another: tied weights have several."""
        start = f"{owner}." if owner else ""
        return any(each.startswith(start) for each in (path, *self._further_paths.get(path, ())))

    @cached_property
    def _further_paths(self) -> dict[str, list[str]]:
        """By the first path of a tensor that several modules hold: the others."""
        found: dict[str, list[str]] = {}
        for module in self.builder.modules:
            aliases = [(each.alias_of, each.name) for each in module.parameters]
            aliases += [(each.alias_of, each.name) for each in module.buffers]
            for first, name in aliases:
                if first is not None:
                    found.setdefault(first, []).append(f"{module.path}.{name}")
        return found


def _with_test(asked: list[_Asked], event: Assume) -> list[_Asked]:
    """The tests of a path, on which another one comes out."""
    if event.text.startswith(DEPENDS):  # no test in Python says what came out
        unsaid = _Asked(event.text, None)
        return asked if unsaid in asked else [*asked, unsaid]
    text = event.condition
    contrary = negated(text)
    alike = [each for each in asked if each.text in (text, contrary)]
    time = alike[-1].time if alike else int(event.is_later)
    before = alike[-1].event if alike else None
    if before is not None and _is_of_something_else(before, event):
        return [*asked, _Asked(text, event, time + 1)]
    if any(each.text == text for each in alike):
        return asked
    # Of a turn of a loop, in which the test came out otherwise.
    return [*(each for each in asked if each.text != contrary), _Asked(text, event, time)]


def _begins_with_test(events: Sequence[Event]) -> bool:
    """What happens on a path stands behind tests of which it is known how they came out there."""
    first = events[0] if events else None
    if isinstance(first, Either):
        return all(map(_begins_with_test, (first.first, first.second)))
    return first is None or isinstance(first, Assume)


def _is_of_something_else(before: Assume, after: Assume) -> bool:
    """What is asked has changed between two tests of the same text, which stand at different places."""
    return None not in (before.of, after.of) and before.of != after.of and before.where != after.where


def _text_of(asked: Sequence[_Asked]) -> str:
    """That all come out so: "x.sum() > 0 and later not (x.sum() > 0)"."""
    known = [each for each in asked if each.event is not None]
    times = sorted({each.time for each in known})
    found = (all_of([each.text for each in known if each.time == time]) for time in times)
    text = ("later " if times[:1] != [0] else "") + " and later ".join(found)
    doubts = [each.text for each in asked if each.event is None]
    return both_texts([*dict.fromkeys(doubts), *([text] if known else [])]) if doubts else text


def _way(edge: Edge) -> tuple[object, ...]:
    return edge.producer, edge.consumer, edge.tensor.shape, edge.tensor.dtype


def _joined(one: Sequence[TensorInfo], other: Sequence[TensorInfo]) -> tuple[TensorInfo, ...]:
    """What a call gives that ends in two ways, place by place: of each what holds for both. Nothing where they do not
    give as many, in the same places."""
    if [each.name for each in one] != [each.name for each in other]:
        return ()
    return tuple(map(_either, one, other))


def _either(one: TensorInfo, other: TensorInfo) -> TensorInfo:
    unknown = one.unknown or other.unknown
    if unknown:
        return TensorInfo(name=one.name, shape=None, dtype=None, unknown=unknown)
    shape = None
    if one.shape is not None and other.shape is not None and len(one.shape) == len(other.shape):
        shape = tuple(size if size == also else None for size, also in zip(one.shape, other.shape, strict=True))
    dtype = one.dtype if one.dtype == other.dtype else None
    return replace(one, shape=shape, dtype=dtype, device=one.device if one.device == other.device else None)


def _made_in(events: Iterable[Event]) -> frozenset[int]:
    """Addresses of the tensors that are made there."""
    found: set[int] = set()
    for event in each_event(events):
        if isinstance(event, (Leave, Operate)):
            found.update(index for seen in event.outputs for index in seen.indices)
        elif isinstance(event, Alias) and event.tensor is None:
            found.add(event.index)
    return frozenset(found)


def _merged(first: Makers, second: Makers, conditions: tuple[Condition, Condition]) -> Makers:
    """Of a tensor that is made in one way on one path, and in another on the other."""
    if first == second:
        return first
    found: Makers = {}
    for makers, others, condition in ((first, second, conditions[0]), (second, first, conditions[1])):
        for maker, known in makers.items():
            found.setdefault(maker, known if known is not None else others.get(maker, condition))
    return found


def _condition(event: Either | Repeat, is_test: bool = True) -> Condition:
    """What a path, or a turn, depends on; with `is_test`, what is true there, where the reason is a test."""
    if isinstance(event, Either) and all(isinstance(each, Alias) for each in (*event.first, *event.second)):
        return _OTHER_WAY  # one of several objects is read, and no test is made here
    tested = _TEST.search(event.reason)
    where = event.where
    text = _DECIDING.sub(r"depends on \g<what>", _OPEN_QUESTION.sub(r"depends on \1", event.reason))
    if tested is not None:
        text = plain(tested[1]) if is_test else f"depends on {tested[1]}"
    return Condition(
        text=text,
        file=None if where is None else where.file,
        line=None if where is None else where.line,
    )


def _on_both(here: Condition, other: Condition) -> Condition:
    """Of data that goes somewhere on a condition, where the path has another."""
    known, tests = set(tests_in(here.text)), tests_in(other.text)
    if known.issuperset(tests):
        return here
    # In another turn of a loop the test has come out otherwise.
    if other.line is None or any(negated(each) in known for each in tests):
        return Condition(text=both_texts([_quoted(here.text), DEPENDS + _OTHER_WAY.text]))
    return Condition(text=both_texts([_quoted(here.text), _quoted(other.text)]), file=here.file, line=here.line)


def _quoted(text: str) -> str:
    """ "depends on `p`" for "depends on p", where more is said beside it."""
    named = text.removeprefix(DEPENDS)
    return f"{DEPENDS}`{named}`" if named != text and is_python(named) else text


def _otherwise(condition: Condition) -> Condition:
    """Of what happens where the other thing does not."""
    is_test = condition is not _OTHER_WAY and not condition.text.startswith("depends on ")
    return replace(condition, text=negated(condition.text)) if is_test else condition


def _said(reason: str) -> str:
    """Behind a colon: what only says on what something depends gets its subject."""
    return f"it {reason}" if reason.startswith("depends on ") else reason


def add_forward(
    builder: GraphBuilder,
    followed: Followed,
    paths: Mapping[Address, str],
    tensors: Mapping[Address, str],
    holding: Collection[str] = (),
    usual: Followed | None = None,
) -> frozenset[str]:
    """Puts what a run did into a graph that has the tree; gives the calls and operations that another run, the usual
    one, has not made.

    Args:
        holding: modules that call others in another way through `forward`.
        usual: that run; nothing is known of it where there is none.
    """
    reader = _Reader(followed, paths, tensors, builder, holding, usual)
    reader.read(followed.events)
    reader.finish()
    calls: dict[str, list[int]] = {}
    for call in builder.calls:
        calls.setdefault(call.module, []).append(call.index)
    builder.modules = [replace(node, calls=tuple(calls.get(node.path, ()))) for node in builder.modules]
    open_shapes = followed.refused_shapes or reader.open_shapes or followed.open_output
    builder.model = replace(builder.model, inputs=followed.inputs, open_shapes=open_shapes)
    return frozenset(reader.elsewhere)
