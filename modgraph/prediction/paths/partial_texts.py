"""Texts of which only the beginnings and ends are known, and names that are such texts: what these cannot be.

`f"u{k}"` with a `k` that is not known begins with "u", whatever `k` is, the empty text included. Such an `Unknown` has
its `text` set; where it stands for entries that are not shown (under `OPEN`, or as `open` of a module), `text` says so
of their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.limits import MAX_KNOWN_ENDS, MAX_KNOWN_TEXTS
from modgraph.prediction.domain.values import OPEN, Choice, Constant, Ends, Unknown, Value

ANY: Ends = (("", ""),)
"""Of a text of which nothing is known."""


def ends_of(value: Value) -> Ends | None:
    """Beginnings and ends that a text may have; None for what may be no text."""
    if isinstance(value, Constant):
        return ((value.value, ""),) if isinstance(value.value, str) else None
    return value.text if isinstance(value, Unknown) else None


def may_be(value: Unknown, text: str) -> bool:
    """Whether it may be that text."""
    if value.text is None:
        return True
    return any(
        len(start) + len(end) <= len(text) and text.startswith(start) and text.endswith(end)
        for start, end in value.text
    )


def may_be_key(value: Unknown, key: Value) -> bool:
    """Whether a key of a dict may be equal to it."""
    if value.text is None or not isinstance(key, Constant):
        return True
    return isinstance(key.value, str) and may_be(value, key.value)


def differ(left: Value, right: Value) -> bool:
    """Two values, one of which at least is not known, certainly are no equal texts."""
    if isinstance(right, Unknown) and not isinstance(left, Unknown):
        left, right = right, left
    if not isinstance(left, Unknown) or left.text is None:
        return False
    if isinstance(right, Constant):
        return not may_be_key(left, right)
    others = right.text if isinstance(right, Unknown) else None
    if others is None:
        return False
    return not any(_meet(one, other) for one in left.text for other in others)


def _meet(one: tuple[str, str], other: tuple[str, str]) -> bool:
    starts, ends = sorted((one[0], other[0]), key=len), sorted((one[1], other[1]), key=len)
    return starts[1].startswith(starts[0]) and ends[1].endswith(ends[0])


def concatenated(pieces: Iterable[str | Ends]) -> str | Ends:
    """The text that pieces give one after the other."""
    made: Ends = (("", ""),)
    before, is_known = "", True
    for piece in pieces:
        if isinstance(piece, str):
            before = before + piece if is_known else before
            made = made if is_known else tuple((start, end + piece) for start, end in made)
        elif is_known:
            made, is_known = tuple((before + start, end) for start, end in piece), False
        else:
            made = tuple(dict.fromkeys((start, end) for start, _ in made for _, end in piece))
    return before if is_known else _bounded(made)


def _bounded(ends: Ends) -> Ends:
    if len(ends) > MAX_KNOWN_TEXTS:
        return common(ends, ends)
    return tuple((start[:MAX_KNOWN_ENDS], end[-MAX_KNOWN_ENDS:]) for start, end in ends)


def common(one: Ends, other: Ends) -> Ends:
    """The beginning and the end that all of them share."""
    starts, ends = zip(*one, *other, strict=True)
    start = _common_start(starts)
    end = _common_start([each[::-1] for each in ends])[::-1]
    return _bounded(((start, end),))


def _common_start(texts: Sequence[str]) -> str:
    least, most = min(texts), max(texts)  # all others lie between these two
    size = next((place for place, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), len(least))
    return least[:size]


def either(value: Unknown, other: Value, *, settle: bool = False) -> Unknown:
    """`value` where it may be `other` too; with `settle`, different texts leave what they share."""
    if value.text is None:
        return value
    theirs = ends_of(other)
    if theirs is None:
        return replace(value, text=None)
    if isinstance(other, Constant) and may_be(value, other.value):
        return value
    if set(theirs) <= set(value.text):
        return value
    both = common(value.text, theirs) if settle else _bounded(tuple(dict.fromkeys((*value.text, *theirs))))
    return replace(value, text=both)


def any_of(value: Unknown, others: Iterable[Value]) -> Unknown:
    """`value` where it may be each of the others too."""
    for other in others:
        if value.text is None:
            break
        for each in other.alternatives if isinstance(other, Choice) else (other,):
            value = either(value, each)
    return value


def plainly(value: Unknown) -> Unknown:
    """Why something is not known, with nothing said of a text."""
    return value if value.text is None else replace(value, text=None)


# ---- entries whose names are not known -------------------------------------------------------------------------------


def named(why: Unknown, name: Value) -> Unknown:
    """Why something of that name is not known: unlike the name it may be a module."""
    return replace(why, inert=False, text=ends_of(name))


def opened(held: Unknown | None, why: Unknown) -> Unknown:
    """Why there may be further entries, where there may have been some already."""
    return why if held is None else points_to.either_of(either(held, why), (why,))


def open_store(store: dict[str, Value], why: Unknown) -> None:
    """There may be further entries in a store of a module."""
    held = store.get(OPEN)
    store[OPEN] = opened(held if isinstance(held, Unknown) else None, why)


def hidden(why: Unknown | None, name: str) -> Unknown | None:
    """Why there may be an entry of that name that is not shown, `why` being why there may be any."""
    return None if why is None or not may_be(why, name) else plainly(why)


def held_in(store: dict[str, Value]) -> list[tuple[str, Value]]:
    """Names and what stands under them, of which nothing is said as a text."""
    return [(name, plainly(value) if isinstance(value, Unknown) else value) for name, value in store.items()]


def further(store: dict[str, Value], name: str) -> Unknown | None:
    """Why a store of a module may hold a name that is not shown."""
    why = store.get(OPEN)
    return hidden(why, name) if isinstance(why, Unknown) else None
