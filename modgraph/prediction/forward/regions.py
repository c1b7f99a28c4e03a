"""Which part of what memory a tensor has: whether one reads what was written to another.

A tensor made of another one (`y[0]`, `y.transpose(0, 1)`, a piece of `y.chunk(2)`) may have its memory. Where two lie
can be compared if their indices are plain numbers and slices; else it is not known whether they overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from modgraph.names import last_name
from modgraph.prediction.domain.events import Operate
from modgraph.prediction.domain.objects import MAY_BE, TensorObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import NONE, Address, Constant, SliceValue, TupleValue, Value
from modgraph.prediction.knowledge.tensors.elements import count
from modgraph.prediction.knowledge.tensors.index_keys import gives_view, keys_of

Places = tuple[range | None, ...]
"""Of each dimension, the places that a part has there; None for all."""

_MOST_COMPARED = 4_096
"""Places of one dimension that are compared one by one, where they do not lie side by side."""
_APART = frozenset(
    (
        *("chunk", "split", "split_with_sizes", "tensor_split", "unbind", "hsplit", "vsplit", "dsplit"),
        *("unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"),
    )
)
"""Operations that give parts of which none overlaps another."""
_SURE = _APART | frozenset(
    (
        *("__getitem__", "select", "narrow", "transpose", "swapaxes", "swapdims", "permute", "movedim", "t", "T", "mT"),
        *("view", "view_as", "unsqueeze", "squeeze", "detach", "data", "expand", "expand_as", "unfold", "diagonal"),
        *("real", "imag", "H", "mH", "unflatten", "view_as_real", "view_as_complex", "adjoint", "__iter__", "einsum"),
    )
)
"""Operations that give what has the memory of their argument, as torch documents of its views."""


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the memory of one tensor."""

    root: int
    """The tensor that no other one is known to be older than."""
    frame: int
    """The tensor whose dimensions `places` are of."""
    places: Places = ()
    """Dimensions that are not said are whole."""
    is_exact: bool = True
    """It is all of `places`; else it lies somewhere there."""
    is_sure: bool = True
    """It certainly is in that memory; else it may be a copy."""

    @property
    def is_whole(self) -> bool:
        """It is all of the memory."""
        return self.is_exact and all(each is None for each in self.places)

    @property
    def is_empty(self) -> bool:
        """It has no place at all."""
        return any(each is not None and not each for each in self.places)

    def overlaps(self, other: Region) -> bool | None:
        """Whether what is written to one is read from the other; None where that is not known."""
        if self.root != other.root or self.is_empty or other.is_empty:
            return False
        is_known = self.is_sure and other.is_sure
        if self.is_whole or other.is_whole:
            return is_known or None
        if self.frame != other.frame:
            return None
        found = [_meet(mine, theirs) for mine, theirs in zip(self.places, other.places, strict=False)]
        if False in found:
            return False
        return True if is_known and None not in found and self.is_exact and other.is_exact else None

    def covers(self, other: Region) -> bool:
        """All of the other is in it."""
        if self.root != other.root or not self.is_sure or not self.is_exact:
            return False
        if self.is_whole:
            return True
        rest = len(self.places) - len(other.places)
        theirs = (*other.places, *(None for _ in range(rest)))
        return self.frame == other.frame and all(map(_holds, self.places, theirs))


def _meet(first: range | None, second: range | None) -> bool | None:
    """Whether two have a place in common."""
    if first is None or second is None:
        return True
    if first.step == second.step == 1:
        return max(first.start, second.start) < min(first.stop, second.stop)
    if len(first) > _MOST_COMPARED or len(second) > _MOST_COMPARED:
        return None
    return not set(first).isdisjoint(second)


def _holds(mine: range | None, theirs: range | None) -> bool:
    if mine is None or theirs is None:
        return mine is None
    return len(theirs) == 0 or (mine.step == 1 and theirs.start in mine and theirs[-1] in mine)


class Regions:
    """Those of the tensors of one run."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._known: dict[int, Region] = {}
        self._family: dict[int, list[int]] | None = None

    def of(self, index: int) -> Region:
        """That of a tensor."""
        path = self._path(index)
        known = self._known.get(path[-1]) or Region(path[-1], path[-1])
        self._known[path[-1]] = known
        for each in reversed(path[:-1]):
            known = self._known[each] = self._of_view(each, known, "")
        return known

    def above(self, index: int) -> Sequence[int]:
        """The tensors that it is made of, the nearest first."""
        path = [index]
        while (origin := self._origin(path[-1])) is not None and origin not in path:
            path.append(origin)
        return path[1:]

    def _path(self, index: int) -> list[int]:
        """From a tensor to the one that it is made of, and on, to the first of which the region is known."""
        path = [index]
        while path[-1] not in self._known:
            origin = self._origin(path[-1])
            if origin is None or origin in path:
                break
            path.append(origin)
        return path

    def _root(self, index: int) -> int:
        last = self._path(index)[-1]
        return self._known[last].root if last in self._known else last

    def note(self, event: Operate) -> None:
        """An operation gives tensors that may be parts of what it is given."""
        last = last_name(event.name)
        outputs = [index for seen in event.outputs for index in seen.indices]
        for number, index in enumerate(outputs):
            origin = self._origin(index)
            if origin is None or index in self._known:
                continue
            parent = self.of(origin)
            if last in _APART:
                # What is said of the pieces is that they lie apart, in a dimension of their own.
                piece = Region(parent.root, outputs[0], (range(number, number + 1),))
                self._known[index] = piece if parent.is_whole and parent.is_sure else _within(parent)
            elif last == "__getitem__" and parent.is_whole:
                shape = getattr(self._state.find(Address(origin), TensorObject), "shape", None)
                places = places_of(event.key, shape)
                is_sure = parent.is_sure and self._is_view(event.key)
                self._known[index] = Region(parent.root, origin, places or (), places is not None, is_sure)
            elif last == "__getitem__":
                self._known[index] = _within(parent, self._is_view(event.key))
            elif last == "unfold":
                self._known[index] = _within(parent)
            else:
                self._known[index] = self._of_view(index, parent, last)

    def written(self, index: int, key: Value | None) -> Region:
        """What a write to a tensor changes; to one item of it, where a key is given."""
        own = self.of(index)
        if key is None:
            return own
        shape = getattr(self._state.find(Address(index), TensorObject), "shape", None)
        places = places_of(key, shape)
        if not own.is_whole:
            return _within(own)
        return Region(own.root, index, places or (), places is not None, own.is_sure)

    def sharing(self, root: int) -> Sequence[int]:
        """The tensors that may have memory of this one."""
        if self._family is None:
            self._family = {}
            for index, item in self._state.everything().items():
                if isinstance(item, TensorObject) and MAY_BE in item.attributes:
                    self._family.setdefault(self._root(index), []).append(index)
        return self._family.get(root, ())

    def is_of_memory(self, index: int, sources: Iterable[int]) -> bool:
        """A tensor may have the memory of one of these."""
        origin = self._origin(index)
        return origin is not None and origin in sources

    def _is_view(self, key: Value | None) -> bool:
        """What is taken with that key is certainly no copy."""
        return key is not None and gives_view(self._state, keys_of(self._state, key)) is True

    def _of_view(self, index: int, parent: Region, last: str) -> Region:
        """A view of what may be known: all of it in another form, or somewhere in it."""
        item = self._state.find(Address(index), TensorObject)
        is_sure = parent.is_sure and (last in _SURE or (item is not None and item.is_parameter is True))
        if parent.is_whole and self._is_as_large(index, parent.root):
            return Region(parent.root, index, (), is_exact=True, is_sure=is_sure)
        return _within(parent, is_sure)

    def _is_as_large(self, index: int, root: int) -> bool:
        mine, theirs = (self._state.find(Address(each), TensorObject) for each in (index, root))
        sizes = [None if each is None else count(each.shape) for each in (mine, theirs)]
        return type(sizes[0]) is int and type(sizes[1]) is int and sizes[0] == sizes[1]

    def _origin(self, index: int) -> int | None:
        item = self._state.find(Address(index), TensorObject)
        origin = item.attributes.get(MAY_BE) if item is not None else None
        return origin.index if isinstance(origin, Address) else None


def _within(parent: Region, is_sure: bool = True) -> Region:
    return Region(parent.root, parent.frame, parent.places, is_exact=False, is_sure=is_sure and parent.is_sure)


def places_of(key: Value | None, shape: Sequence[int | None] | None) -> Places | None:
    """The places of `tensor[key]` in each dimension; None where they are not known, or it gives a copy."""
    if key is None or shape is None:
        return None
    given = list(key.items) if isinstance(key, TupleValue) else [key]
    given = [each for each in given if each != NONE]
    dots = [number for number, each in enumerate(given) if isinstance(each, Constant) and each.value is ...]
    if len(dots) > 1 or len(given) - len(dots) > len(shape):
        return None
    whole = SliceValue(NONE, NONE, NONE)
    if dots:
        given[dots[0] : dots[0] + 1] = [whole] * (len(shape) - len(given) + 1)
    found: list[range | None] = []
    for each, size in zip(given, shape, strict=False):
        if each == whole:
            found.append(None)
            continue
        places = _places(each, size)
        if places is None:
            return None
        found.append(places)
    return tuple(found)


def _places(key: Value, size: int | None) -> range | None:
    if type(size) is not int:
        return None
    if isinstance(key, Constant) and type(key.value) is int:
        place = key.value + size if key.value < 0 else key.value
        return range(place, place + 1)
    if not isinstance(key, SliceValue):
        return None
    numbers: list[int | None] = []
    for bound in (key.lower, key.upper, key.step):
        if not isinstance(bound, Constant) or type(bound.value) not in (int, type(None)):
            return None
        numbers.append(cast("int | None", bound.value))
    lower, upper, step = numbers
    return range(size)[lower:upper:step] if step is None or step > 0 else None
