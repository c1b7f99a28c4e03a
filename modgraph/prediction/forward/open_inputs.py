"""Runs `forward` on inputs of which sizes, or all, are left open: what is not said is found by what the model refuses.

Every try is a run; they are counted, and few. Where a run is refused, one of the last tests before that is made to come
out otherwise by other sizes to reckon with (`solving.py`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from modgraph.graph.model import REFUSED, OpenPlace
from modgraph.prediction.domain.constraints import divides, is_of_equals, reduced
from modgraph.prediction.domain.definitions import Parameter
from modgraph.prediction.domain.endings import RAISES
from modgraph.prediction.domain.events import Enter, Leave, each_event, number_of
from modgraph.prediction.domain.forms import Form, Symbol
from modgraph.prediction.domain.guesses import OF_MAPPINGS
from modgraph.prediction.domain.sizes import Conditions, Relation, as_size, witness_of
from modgraph.prediction.domain.values import Address
from modgraph.prediction.entry import Prediction
from modgraph.prediction.forward.annotated_shapes import OPTIONAL, annotated_input
from modgraph.prediction.forward.faults import certain_faults
from modgraph.prediction.forward.first_uses import (
    Place,
    Wish,
    first_wishes,
    joined_with,
    whole_numbers,
    wish_of_first_layer,
)
from modgraph.prediction.forward.running import (
    AnyMapping,
    AnyTensor,
    AnyValue,
    Followed,
    Given,
    follow,
    parameters_of_forward,
    part_of,
    witness_for,
)
from modgraph.prediction.forward.solving import batch_of, of_few_turns, other_witnesses
from modgraph.source.code_text import code_text
from modgraph.source.inputs import InputSpec
from modgraph.source.quiet import literal_value

_Key = tuple[tuple[str, int], ...]
"""Sizes to reckon with, by name."""

MOST_RUNS = 24
_MOST_RANKS = 4
_HIGHEST_RANK = 6


@dataclass
class _Tries:
    """The runs of one model."""

    prediction: Prediction
    training: bool | None = False
    left: int = MOST_RUNS
    guessed: frozenset[str] = frozenset()
    """What is taken for a tensor, or for a mapping, as nobody has said what it is."""
    goes_by_casts: bool = True
    """What is cast to whole numbers is taken for such, where nothing else is known of it."""

    def run(self, given: Sequence[Given], witnesses: Mapping[str, int]) -> Followed | None:
        self.left -= 1
        return follow(self.prediction, given, self.training, witnesses=witnesses, guessed=self.guessed)


@dataclass
class _Shape:
    """What is thought of the shape of an input so far."""

    name: str
    places: list[Place] = field(default_factory=list)
    dtype: str | None = None
    is_known: bool = False
    """Some layer said it."""
    is_direct: bool = True
    is_of_indices: bool = False
    """Of any number of dimensions, for all that the layer says."""
    is_cast: bool = False
    """It is taken for whole numbers as it is cast to such."""

    def named(self, place: int) -> str:
        return f"{self.word}_{place}"

    @property
    def word(self) -> str:
        """As a name of sizes begins: "batch_x" of "batch['x']"."""
        return re.sub(r"\W+", "_", self.name).strip("_")

    def given(self, positional: bool, generic: bool) -> InputSpec | AnyTensor:
        if not self.is_known:
            return AnyTensor(None if positional else self.name, self.dtype)
        sizes = [self.named(i) if generic or each is None else each for i, each in enumerate(self.places)]
        return InputSpec(text="", name=None if positional else self.name, shape=tuple(sizes), dtype=self.dtype)


def follow_open(prediction: Prediction, inputs: Sequence[Given] = (), training: bool | None = False) -> Followed | None:
    """What `follow` gives, with sizes that the model takes where some are left open; without inputs, of tensors for
    the parameters of `forward` that have no default."""
    tries = _Tries(prediction, training)
    if inputs:
        found = _accepted(tries, inputs, {})
        typed = None if found is None else _with_indices(prediction, inputs, found)
        found = found if typed is None else _accepted(tries, typed, {})
        return None if found is None else _of_few_turns(tries, found)
    wanted = _wanted(prediction)
    if wanted is None:
        return None
    return _beyond_doubt(tries, wanted)


def _with_indices(prediction: Prediction, inputs: Sequence[Given], found: Followed) -> list[Given] | None:
    """The same, of whole numbers where the first layer takes these and no dtype was said, as a run is given them; None
    where the run was not refused, or none is."""
    if not found.is_refused or found.has_run_out:
        return None
    wishes = first_wishes(prediction.machine, found)
    in_order_of_place = iter([each.name for each in found.inputs])
    typed: list[Given] = []
    for each in inputs:
        name = each.name or next(in_order_of_place, "")
        place = "".join(f"[{part!r}]" for part in each.place) if isinstance(each, InputSpec) else ""
        wish = wishes.get(name + place)
        if isinstance(each, InputSpec) and each.shape is not None and each.dtype is None and wish and wish.dtype:
            each = replace(each, dtype=wish.dtype)
        typed.append(each)
    return typed if typed != list(inputs) else None


# ---- other witnesses -------------------------------------------------------------------------------------------------


def _accepted(tries: _Tries, given: Sequence[Given], witnesses: Mapping[str, int]) -> Followed | None:
    """A run that was not refused, or the one that came furthest."""
    best = tries.run(given, witnesses)
    seen = {_key(witnesses)}
    while best is not None and _may_be_turned(best):
        better = _turned(tries, given, best, seen)
        if better is None:
            break
        best = better
    return best


_MOST_BEHIND = 12
"""Runs from those that another test refuses than the one that was turned."""


def _turned(tries: _Tries, given: Sequence[Given], best: Followed, seen: set[_Key]) -> Followed | None:
    """A run that comes further, with one test turned; else with several, where each leads to another refusal: of
    `x + table[:h, :w]` each of both has to fit."""
    most = tries.left
    pending = [(best, frozenset([_refusing(best)]))]
    while pending and most > 0:
        one, refusing = pending.pop()
        before, elsewhere = tries.left, []
        for found in _tried(tries, given, one, seen, most):
            if not found.is_refused or _reached(found) > _reached(best):
                return found
            if _may_be_turned(found) and _refusing(found) not in refusing:
                elsewhere.append((found, refusing | {_refusing(found)}))
        pending.extend(reversed(elsewhere))
        most = _MOST_BEHIND if one is best else most - (before - tries.left)
    return None


def _tried(tries: _Tries, given: Sequence[Given], best: Followed, seen: set[_Key], most: int) -> Iterator[Followed]:
    """Runs with sizes that turn one test of a run."""
    assert best.conditions is not None
    for changed in other_witnesses(best.conditions):
        if tries.left <= 0 or most <= 0:
            return
        if _key(changed) in seen:
            continue
        seen.add(_key(changed))
        most -= 1
        found = tries.run(given, changed)
        if found is not None and not _is_degenerate(found):
            yield found


def _may_be_turned(found: Followed) -> bool:
    return found.is_refused and not found.has_run_out and found.conditions is not None


def _refusing(found: Followed) -> tuple[Form, Relation] | None:
    """The test behind which it was refused."""
    return found.conditions.decided[-1] if found.conditions is not None and found.conditions.decided else None


_FEW_TURNS = (2, 4)
"""Turns of a loop over a size: more say nothing that two do not; one may be none, where a loop leaves out the first."""


def _of_few_turns(tries: _Tries, found: Followed) -> Followed:
    """The same with a small size for each that a loop goes over: it has to be a number there, and any is as good. Where
    the run was refused, one with such a size may not be."""
    if found.has_run_out or found.conditions is None:
        return found
    for turns in _FEW_TURNS:
        witnesses = of_few_turns(found.conditions, turns)
        if witnesses is None or tries.left <= 0:
            break
        if found.is_refused:
            other = _accepted(tries, found.specs, witnesses)
            if other is not None and not other.is_refused and not other.has_run_out:
                return other
            continue
        fewer = tries.run(found.specs, witnesses)
        if fewer is not None and not _is_degenerate(fewer) and _is_as_good(fewer, found):
            return fewer
    return found


def _is_as_good(fewer: Followed, found: Followed) -> bool:
    """It came as far, and called every module that the other called."""
    if fewer.is_refused or fewer.has_run_out or (fewer.failure is not None and found.failure is None):
        return False
    return _called(fewer) >= _called(found) and (fewer.is_whole or not found.is_whole)


def _called(found: Followed) -> set[Address]:
    return {event.module for event in each_event(found.events) if isinstance(event, Enter)}


def _is_degenerate(found: Followed) -> bool:
    """Something has no elements with the sizes that are reckoned with: a window that is larger than its picture."""
    shapes = [seen.shape for event in each_event(found.events) if isinstance(event, Leave) for seen in event.outputs]
    return any(witness_of(size) <= 0 for shape in shapes if shape is not None for size in shape if size is not None)


def _reached(found: Followed) -> tuple[int, int]:
    """How far it came before it was refused: what it did, and what it asked of sizes."""
    return number_of(found.events), 0 if found.conditions is None else len(found.conditions.decided)


def _key(witnesses: Mapping[str, int]) -> _Key:
    return tuple(sorted(witnesses.items()))


# ---- inputs that are not said ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Wanted:
    """A parameter of `forward` that has to be given."""

    name: str
    is_positional: bool
    given: Given | None
    """What its annotation says; None where that is any tensor."""
    keys: tuple[str, ...] = ()
    """The names by which it is read, where it is no tensor."""
    is_mapping: bool = False
    """Its annotation says so."""
    is_read_by_name: bool = False
    """It is given as a mapping with those keys, if any."""
    is_guess: bool = True
    """Nothing says that it is a tensor or a mapping, and nothing else."""
    values: frozenset[str] = frozenset()
    """Which of these keys stand for something of which nothing is known."""

    @property
    def parts(self) -> Mapping[str, str]:
        """By name, where the tensors stand that it has under these."""
        return {key: part_of(self.name, key) for key in self.keys if key not in self.values}

    @property
    def as_any_mapping(self) -> AnyMapping:
        """With anything under its keys."""
        return self.mapping(tuple((key, AnyTensor() if key in self.parts else AnyValue()) for key in self.keys))

    def mapping(self, items: tuple[tuple[str, InputSpec | AnyTensor | AnyValue], ...]) -> AnyMapping:
        return AnyMapping(None if self.is_positional else self.name, items, word=self.name)


def _wanted(prediction: Prediction) -> list[_Wanted] | None:
    machine, root = prediction.machine, prediction.root
    if not isinstance(root, Address):
        return None
    parameters = parameters_of_forward(machine, root)
    if parameters is None:
        return [_Wanted("input", True, None)]
    named = [each for each in parameters if each.kind not in ("varargs", "varkw")]
    wanted = [_wish_of(each) for each in named if each.default is None]
    if not wanted and named and not isinstance((first := _wish_of(named[0])).given, AnyValue):
        return [first]  # a model that takes all by name has its main input first
    return wanted


def _wish_of(parameter: Parameter) -> _Wanted:
    is_positional = parameter.kind != "keyword"
    name = None if is_positional else parameter.name
    given = annotated_input(name, parameter.annotation)
    annotation = "" if parameter.annotation is None else code_text(parameter.annotation).strip()
    is_mapping = bool(_MAPPING.match(annotation))
    is_guess = not annotation or bool(OPTIONAL.match(annotation))
    return _Wanted(parameter.name, is_positional, given, is_mapping=is_mapping, is_guess=is_guess)


_MOST_DOUBTS = 4


def _beyond_doubt(tries: _Tries, wanted: Sequence[_Wanted]) -> Followed | None:
    """The run with nothing taken for a tensor of which a test asks whether it is one: it may be anything. One with
    sizes stays, if both ways of the test come to their ends with it."""
    found = None
    for _ in range(_MOST_DOUBTS):
        tries.left = MOST_RUNS
        found = _found(tries, wanted)
        if found is None or found.has_run_out:
            break
        shaped = [(each.name, seen.name) for each in found.inputs for seen in each.tensors if seen.shape]
        sized = set(itertools.chain(*shaped))
        is_whole = found.failure is None and not found.refusals
        sure = {name for name in found.doubted if name in sized and is_whole}
        changed = [_loosened(each, found.doubted - sure) for each in wanted]
        if changed == wanted:
            break
        wanted = changed
    return found


def _loosened(wanted: _Wanted, loose: Iterable[str]) -> _Wanted:
    """The same, of which nothing is known where it stands there."""
    if wanted.name in loose:
        given = AnyValue(None if wanted.is_positional else wanted.name)
        return replace(wanted, given=given, keys=(), values=frozenset(), is_read_by_name=False, is_guess=False)
    values = frozenset(key for each in loose if (key := _key_in(wanted.name, each)) is not None)
    return replace(wanted, values=wanted.values | values)


def _key_in(name: str, part: str) -> str | None:
    """Under which key of that input it stands, if it does."""
    inner = part.removeprefix(name)
    if inner == part or not inner.startswith("["):
        return None
    try:
        key = literal_value(inner[1:-1])
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):  # in a part of a part: "['a'][0]"
        return None
    return key if isinstance(key, str) else None


def _found(tries: _Tries, wanted: Sequence[_Wanted]) -> Followed | None:
    if (by_name := _read_by_name(tries, wanted, None)) is not None:
        return _found(tries, by_name)
    tries.guessed = _guessed(wanted)
    shapes = {each.name: _Shape(each.name) for each in wanted if each.given is None and not each.is_read_by_name}
    shapes.update((part, _Shape(part)) for each in wanted for part in each.parts.values())
    for each in wanted:
        if isinstance(each.given, AnyTensor):
            shapes[each.name] = _Shape(each.name, dtype=each.given.dtype)
    if not shapes:
        return _accepted(tries, _inputs(wanted, shapes, False), {})
    unshaped = tries.run(_inputs(wanted, shapes, False), {})
    if unshaped is None or unshaped.has_run_out:
        return unshaped
    if (by_name := _read_by_name(tries, wanted, unshaped)) is not None:
        return _found(tries, by_name)
    wishes = first_wishes(tries.prediction.machine, unshaped) or _guess(tries.prediction, unshaped, shapes)
    for name, wish in wishes.items():
        if name in shapes:
            _take(shapes[name], wish)
    unshaped = _with_whole_numbers(tries, wanted, shapes, unshaped)
    if not any(shape.is_known for shape in shapes.values()):
        return _of_one_rank(tries, wanted, shapes) or unshaped
    _place(tries, wanted, shapes)
    found = _accepted(tries, _inputs(wanted, shapes, False), _witnesses(shapes))
    found = _with_rank(tries, wanted, shapes, found)
    found = _together(tries, wanted, shapes, found)
    if found is None or found.is_refused:
        if tries.left > 0 and any(shape.is_cast for shape in shapes.values()):
            tries.goes_by_casts = False
            return _found(tries, wanted)
        return _told_of_refused(tries, unshaped, found)
    if not any(shape.is_known for shape in shapes.values()):
        return _of_one_rank(tries, wanted, shapes) or found
    return _named(tries, wanted, shapes, found)


def _with_whole_numbers(
    tries: _Tries, wanted: Sequence[_Wanted], shapes: Mapping[str, _Shape], unshaped: Followed
) -> Followed:
    """Says of inputs that their use proves them to be whole numbers, and of those of which nothing else is known that
    they are cast to such; the run on inputs without shapes, with that."""
    proven, cast = whole_numbers(tries.prediction.machine, unshaped)
    for name in cast & shapes.keys() if tries.goes_by_casts else ():
        shapes[name].is_cast = shapes[name].dtype is None and not shapes[name].is_known
    proven |= {name for name, shape in shapes.items() if shape.is_cast}
    found = [shape for shape in shapes.values() if shape.name in proven and shape.dtype != _INDICES]
    for shape in found:
        shape.is_known = shape.is_known and shape.dtype is None  # else a layer takes what is made of it
        shape.places, shape.dtype = shape.places if shape.is_known else [], _INDICES
    if all(shape.is_known for shape in found):
        return unshaped
    again = tries.run(
        _inputs(
            wanted,
            {name: _Shape(name, dtype=each.dtype if name in proven else None) for name, each in shapes.items()},
            False,
        ),
        {},
    )
    return unshaped if again is None or (again.is_refused and not unshaped.is_refused) else again


_UNITS = 400_000
"""Of work, for one run on inputs of which nothing is said."""


def _told_of_refused(tries: _Tries, unshaped: Followed, found: Followed | None) -> Followed:
    """What is known where each shape was refused that was tried: the run that is refused, where all others are too, by
    Python or torch; else that on tensors without a shape, of which layers refuse less."""
    prediction = tries.prediction
    refused = unshaped if unshaped.is_refused and not _fail_alike(unshaped, found) else found
    if refused is None or refused.failure is None or not isinstance(prediction.root, Address):
        return unshaped
    faults = certain_faults(prediction.machine, prediction.root, _UNITS)
    where, reason = refused.failure.where, refused.failure.reason
    is_certain = bool(faults) and all(
        each.says_why and each.where == where and reason.startswith(f"{RAISES}{each.name}") for each in faults
    )
    if is_certain:
        return replace(refused, fails_always=True)
    return unshaped if unshaped.is_refused else replace(unshaped, refused_shapes=_why_refused(found))


def _fail_alike(one: Followed, other: Followed | None) -> bool:
    failures = (one.failure, None if other is None else other.failure)
    return None not in failures and len({(each.where, each.reason) for each in failures if each}) == 1


def _why_refused(found: Followed | None) -> OpenPlace | None:
    """Of a run that was refused for its shapes: these, and why."""
    failure = None if found is None else found.failure
    if found is None or failure is None:
        return None
    shapes = [
        f"{each.name} = {' x '.join(map(str, tensor.shape))}"
        for each in found.inputs
        for tensor in each.tensors
        if tensor.shape is not None
    ]
    where = failure.where
    why = f"{', '.join(shapes)}{REFUSED}{failure.reason.removeprefix(RAISES)}"
    file, line = (None, None) if where is None else (where.file, where.line)
    return OpenPlace(message=why, file=file, line=line) if shapes else None


def _of_one_rank(tries: _Tries, wanted: Sequence[_Wanted], shapes: Mapping[str, _Shape]) -> Followed | None:
    """A run with the number of dimensions of which alone the only input is not refused; None where others are taken."""
    if len(shapes) != 1:
        return None
    (shape,) = shapes.values()
    fitting: list[tuple[int, Followed]] = []
    shape.is_known = True
    for rank in range(1, _HIGHEST_RANK):
        shape.places = ["batch", *[None] * (rank - 1)]
        found = _accepted(tries, _inputs(wanted, shapes, True), _witnesses(shapes))
        if found is None or found.has_run_out or tries.left <= 0:
            return None
        if not found.is_refused:
            fitting.append((rank, found))
        if len(fitting) > 1:
            return None
    if not fitting:
        return None
    shape.places = ["batch", *[None] * (fitting[0][0] - 1)]
    return _named(tries, wanted, shapes, fitting[0][1])


def _inputs(wanted: Sequence[_Wanted], shapes: Mapping[str, _Shape], generic: bool) -> list[Given]:
    found: list[Given] = []
    for each in wanted:
        if each.is_read_by_name:
            parts = each.parts
            found.append(
                each.mapping(
                    tuple(
                        (key, shapes[parts[key]].given(True, generic) if key in parts else AnyValue())
                        for key in each.keys
                    )
                )
            )
        elif each.name in shapes:
            found.append(shapes[each.name].given(each.is_positional, generic))
        else:
            found.append(each.given or AnyValue(None if each.is_positional else each.name))
    return found


_BY_NAME = re.compile(
    "cannot be indexed by a str|must be a mapping, not Tensor|"
    rf"'Tensor' object has no attribute '(?:{'|'.join(OF_MAPPINGS)})'"
)
_NO_KEY = re.compile(rf"{RAISES}KeyError: '?([^\W\d][\w.-]*)'?")
_MAPPING = re.compile(r"['\"]?(?:\w+\.)*(?:dict|Dict|Mapping|MutableMapping|OrderedDict)(?:\[\s*str\b.*)?['\"]?\Z")
"""How the annotation of what is read by names looks."""
_MOST_KEYS = 16


def _read_by_name(tries: _Tries, wanted: Sequence[_Wanted], unshaped: Followed | None) -> list[_Wanted] | None:
    """The same with the names by which one of them is read, which its annotation says, or that was taken for a tensor;
    None where none is."""
    reasons = () if unshaped is None else _reasons(unshaped)
    for place, each in enumerate(wanted):
        may_be = each.is_guess and (each.given is None or isinstance(each.given, AnyTensor))
        is_one = each.is_mapping if unshaped is None else may_be and any(map(_BY_NAME.search, reasons))
        if each.is_read_by_name or not is_one:
            continue
        changed = [*wanted]
        changed[place] = replace(each, given=None, is_read_by_name=True)
        if each.is_mapping or _with_keys(tries, changed, place) or _goes_by(tries, changed):
            return _with_all_keys(tries, changed)
    return None


def _goes_by(tries: _Tries, wanted: Sequence[_Wanted]) -> bool:
    """A run does not refuse the mapping, of which no name is asked."""
    found = follow(tries.prediction, [_unshaped(each) for each in wanted], guessed=_guessed(wanted))
    return found is not None and not found.is_refused


def _with_all_keys(tries: _Tries, wanted: list[_Wanted]) -> list[_Wanted]:
    """What one of them holds may have to be known for another to be read."""
    for _ in range(_MOST_KEYS):
        before = list(wanted)
        for place, each in enumerate(before):
            if each.is_read_by_name:
                _with_keys(tries, wanted, place)
        if wanted == before:
            break
    return wanted


def _with_keys(tries: _Tries, wanted: list[_Wanted], place: int) -> bool:
    """Writes the names that a run asks for, one after the other, of an input that has none but those before; whether
    more of these are known now."""
    before = wanted[place]
    while len(wanted[place].keys) < _MOST_KEYS:
        each = wanted[place]
        given = [_unshaped(one) for one in wanted]
        given[place] = replace(each.as_any_mapping, is_open=False)
        found = follow(tries.prediction, given, guessed=_guessed(wanted))
        if found is None or found.has_run_out:
            break
        asked = [match[1] for reason in _reasons(found) if (match := _NO_KEY.fullmatch(reason))]
        new = next((key for key in asked if key not in each.keys), None)
        if new is None:
            break
        wanted[place] = replace(each, keys=(*each.keys, new))
    return wanted[place].keys != before.keys


def _reasons(found: Followed) -> tuple[str, ...]:
    """Why it was refused, or, where it was not, why some ways were."""
    return found.refusals if found.failure is None else (found.failure.reason,)


def _guessed(wanted: Sequence[_Wanted]) -> frozenset[str]:
    """What is only taken for a tensor, or for a mapping."""
    found: set[str] = set()
    for each in wanted:
        if each.is_guess and not each.is_mapping:
            found.add(each.name)
        found.update(each.parts.values())
    return frozenset(found)


def _unshaped(wanted: _Wanted) -> Given:
    name = None if wanted.is_positional else wanted.name
    return wanted.as_any_mapping if wanted.is_read_by_name else wanted.given or AnyTensor(name)


def _guess(prediction: Prediction, unshaped: Followed, shapes: Mapping[str, _Shape]) -> Mapping[str, Wish]:
    """Of one input that comes to no layer while nothing is known of it: what the first layer of the model wants."""
    wish = wish_of_first_layer(prediction.machine, unshaped, prediction.root) if len(shapes) == 1 else None
    return {} if wish is None else dict.fromkeys(shapes, wish)


_INDICES = "int64"


def _take(shape: _Shape, wish: Wish) -> None:
    shape.places = list(wish.places)
    shape.dtype = shape.dtype or wish.dtype
    shape.is_known = True
    shape.is_direct = wish.is_direct
    shape.is_of_indices = wish.dtype == _INDICES


def _witnesses(shapes: Mapping[str, _Shape]) -> dict[str, int]:
    found: dict[str, int] = {}
    for shape in shapes.values():
        for i, place in enumerate(shape.places):
            name = place if isinstance(place, str) else shape.named(i)
            found[name] = witness_for(place, i) if isinstance(place, str) else _UNNAMED[i % len(_UNNAMED)]
    return found


_UNNAMED = (11, 22, 34, 46, 58, 62)


def _place(tries: _Tries, wanted: Sequence[_Wanted], shapes: Mapping[str, _Shape]) -> None:
    """Puts each size where it comes to stand when the layer is reached: what lies between may turn or join them."""
    for _ in range(_MOST_RANKS):
        witnesses = {
            shape.named(i): place if isinstance(place, int) else witness_for(place or "", i)
            for shape in shapes.values()
            for i, place in enumerate(shape.places)
        }
        found = tries.run(_inputs(wanted, shapes, True), witnesses)
        if found is None:
            return
        is_settled = True
        wishes = first_wishes(tries.prediction.machine, found)
        for name, wish in wishes.items():
            if name in shapes and shapes[name].is_known and wish.seen is not None:
                is_settled = _settle(shapes[name], wish) and is_settled
        if found.is_refused:
            is_settled = not (_unpacked(shapes, found) or _doubted(shapes, wishes)) and is_settled
        if is_settled:
            return


def _doubted(shapes: Mapping[str, _Shape], wishes: Mapping[str, Wish]) -> bool:
    """Whether one of the inputs was changed of which a layer takes only what is made of it, and did not get it."""
    for name, shape in shapes.items():
        if shape.is_known and not shape.is_direct and name not in wishes:
            shape.is_known = len(shape.places) > 1
            shape.places = ["batch"]
            return True
    return False


def _settle(shape: _Shape, wish: Wish) -> bool:
    """Whether the layer got as many dimensions as it wants; if so, its sizes have their places."""
    assert wish.seen is not None
    more = len(wish.seen) - len(wish.places)
    if more < 0 or (more > 0 and not wish.from_behind):
        rank = min(max(1, len(shape.places) - more), _HIGHEST_RANK)
        shape.places = (shape.places[:1] + [None] * rank)[:rank]
        return False
    between: list[Place] = [("length",), ("h", "w")][more - 1] if 1 <= more <= 2 else [None] * more  # type: ignore[assignment]
    roles: list[Place] = [*wish.places[:1], *between, *wish.places[1:]]
    places: list[Place] = [None] * len(shape.places)
    for role, size in zip(roles, wish.seen, strict=True):
        held = as_size(size)
        symbols = [] if held is None else [each.name for each in held.form.symbols()]
        if held is not None and len(symbols) == 1 and str(held) == symbols[0]:
            place = next((i for i in range(len(places)) if shape.named(i) == symbols[0]), None)
            if place is not None:
                places[place] = role
    if places[0] is None and "batch" not in places:
        places[0] = "batch"
    shape.places = places
    return True


_UNPACKED = re.compile(r"values to unpack \(expected (\d+), got (\d+)\)")
_TOO_FEW = re.compile(r"Dimension out of range|too many indices|index out of range")


def _unpacked(shapes: Mapping[str, _Shape], found: Followed) -> bool:
    """Changes the rank of an input that was refused for it."""
    reason = found.failure.reason if found.failure is not None and found.is_refused else ""
    known = [shape for shape in shapes.values() if shape.is_known]
    match = _UNPACKED.search(reason)
    if match is not None:
        for shape in known:
            if len(shape.places) == int(match[2]):
                _grow(shape, min(int(match[1]), _HIGHEST_RANK))
                return True
        return False
    if _TOO_FEW.search(reason) and known and len(known[0].places) < _HIGHEST_RANK:
        _grow(known[0], len(known[0].places) + 1)
        return True
    return False


def _grow(shape: _Shape, rank: int) -> None:
    """To so many dimensions, between the first and the last."""
    first, last = shape.places[:1], shape.places[1:][-max(0, rank - 1) :]
    between: list[Place] = [None] * max(0, rank - len(first) - len(last))
    if len(between) == 1:
        between = ["length"]
    elif len(between) == 2:
        between = ["h", "w"]
    shape.places = [*first, *(each if each not in last else None for each in between), *last]


def _with_rank(
    tries: _Tries, wanted: Sequence[_Wanted], shapes: Mapping[str, _Shape], found: Followed | None
) -> Followed | None:
    for _ in range(_MOST_RANKS):
        if found is None or not found.is_refused or tries.left <= 0 or not _unpacked(shapes, found):
            break
        found = _accepted(tries, _inputs(wanted, shapes, False), _witnesses(shapes))
    return found


# ---- inputs that are put together ------------------------------------------------------------------------------------


def _together(
    tries: _Tries, wanted: Sequence[_Wanted], shapes: Mapping[str, _Shape], found: Followed | None
) -> Followed | None:
    """The run with a shape for each input that is put together with one that has a shape; where it is refused, indices
    are one for each of the batch, and where that is, too, nothing is said of how many dimensions they have."""
    joined = _joined(tries, wanted, shapes, found)
    if joined is not None and not joined.is_refused:
        return joined
    indices = [each for each in shapes.values() if each.is_known and each.is_of_indices and len(each.places) == 2]
    if found is None or not indices or (joined is None and not found.is_refused):
        return found
    for each in indices:
        each.places = ["batch"]
    fewer = _accepted(tries, _inputs(wanted, shapes, False), _witnesses(shapes)) if tries.left > 0 else None
    if fewer is not None and not fewer.is_refused:
        joined = _joined(tries, wanted, shapes, fewer)
        if joined is None or not joined.is_refused:
            return joined or fewer
    for each in indices:
        each.is_known = False
    return found if found.is_refused else tries.run(_inputs(wanted, shapes, False), _witnesses(shapes))


def _joined(
    tries: _Tries, wanted: Sequence[_Wanted], shapes: Mapping[str, _Shape], found: Followed | None
) -> Followed | None:
    """None where no input is put together with one that has a shape; what was refused last, where all tries are:
    they may differ in one dimension, as a rule in the last."""
    if found is None or found.is_refused:
        return None
    partners = joined_with(tries.prediction.machine, found)
    new = {
        shape.name: partners[shape.name] for shape in shapes.values() if not shape.is_known and shape.name in partners
    }
    tried: Followed | None = None
    for place in range(max(map(len, new.values()), default=1) - 1, 0, -1):
        for name, sizes in new.items():
            shapes[name].places = [None if i == place else _place_of(size) for i, size in enumerate(sizes)]
            shapes[name].is_known = True
        if tries.left <= 0:
            break
        tried = _accepted(tries, _inputs(wanted, shapes, False), _witnesses(shapes)) or tried
        if tried is not None and not tried.is_refused:
            return tried
    for name in new:
        shapes[name].is_known = False
    return tried


def _place_of(size: int | None) -> Place:
    """A size that is a number or has a name, as that."""
    held = as_size(size)
    if held is None:
        return size
    names = [each.name for each in held.form.symbols()]
    return names[0] if names == [str(held)] else None


# ---- names -----------------------------------------------------------------------------------------------------------


def _named(tries: _Tries, wanted: Sequence[_Wanted], shapes: Mapping[str, _Shape], found: Followed) -> Followed | None:
    """The same once more, with sizes that an equation fixes as numbers, and names for all others."""
    found = _of_few_turns(tries, found)
    conditions = found.conditions
    assert conditions is not None
    fixed = _fixed(conditions)
    used: set[str] = set()
    witnesses: dict[str, int] = {}
    is_changed = bool(fixed)
    for shape in shapes.values():
        for i, place in enumerate(shape.places):
            old = place if isinstance(place, str) else shape.named(i)
            if isinstance(place, int):
                continue
            symbol = conditions.symbols.get(old)
            if old in fixed:
                shape.places[i] = fixed[old]
                continue
            new = _name(shape, i, place, used)
            is_changed = is_changed or new != old
            shape.places[i] = new
            used.add(new)
            if symbol is not None:
                witnesses[new] = symbol.witness
    if not is_changed:
        return found
    again = _accepted(tries, _inputs(wanted, shapes, False), witnesses)
    return found if again is None or again.is_refused else again


def _name(shape: _Shape, place: int, held: Place, used: set[str]) -> str:
    if held == "batch":
        return "batch"
    name = held if isinstance(held, str) else f"d{place}"
    return name if name not in used else f"{shape.word}_{name}"


def _fixed(conditions: Conditions) -> dict[str, int]:
    """Sizes that an equation leaves no choice for, as far as it is known."""
    fixed: dict[str, int] = {}
    batch = batch_of(conditions)
    # Where Python needed a number, as for the turns of a loop, any other may be as good.
    for form, relation in reduced(each for each in conditions.needed.values() if not each.asked):
        if relation == "==" and not divides(form) and not is_of_equals(form):
            symbols = form.symbols()
            others = {symbol for symbol in symbols if symbol is not batch}  # with these as numbers, it may be any
            if _holds_of_multiples(form, others) or len({symbol.witness for symbol in others}) > 1:
                continue  # of sizes that differ, as of two with a product, others may do as well
            fixed.update((symbol.name, symbol.witness) for symbol in others or symbols)
    return fixed


def _holds_of_multiples(form: Form, symbols: Iterable[Symbol]) -> bool:
    """An equation that sizes some times as large meet as well leaves a choice: what it says is told beside them."""
    held = {symbol: symbol.witness for symbol in form.symbols()}
    try:
        return all(
            form.evaluate({**held, **{symbol: symbol.witness * times for symbol in symbols}}) == 0
            for times in (2, 3, 5)
        )
    except ZeroDivisionError:
        return False
