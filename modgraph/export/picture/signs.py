"""The signs that a picture has, and what its legend says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from modgraph.export.look.parts import Arrow, Card, Frame, Item, Join, Mark, Pill, Row, Tag
from modgraph.export.look.style import STATES

MEANINGS: dict[str, tuple[str, str]] = {
    "+": ("+", "sum"),
    "−": ("−", "difference"),
    "×": ("×", "product"),
    "÷": ("÷", "quotient"),
    "@": ("@", "matrix product"),
    "‖": ("‖", "concatenation"),
    "from": ("◂", "from further up"),
    "calls": ("×N", "calls at an arrow"),
    "sizes": ("…", "sizes that differ"),
    "tensors": ("+N", "more tensors"),
    "least": ("≥", "at least"),
    "unknown size": ("?", "not known"),
    "same": ("↺", "the same module"),
    "weights": ("→", "weights used"),
    "taken": ("○", "held in this run"),
    **{f"inside {sign}": (sign, state.words) for state in STATES.values() if state.legend and (sign := state.sign)},
}
"""What signs mean, in the order in which a legend has them; those inside of closed containers are of states."""
PLAIN = frozenset("+−×÷")
"""Those that need no explanation in a figure."""
_SAME = ("shared", "also", "again", "called")
_TIMES = re.compile(r"×\d+( · |$)")
_MORE = re.compile(r" \+\d+$")


def signs_of(items: tuple[Item, ...], arrows: tuple[Arrow, ...]) -> tuple[str, ...]:
    """The signs in circles, on arrows, in rows and titles; those of frames stand where the legend tells of these."""
    found = {sign for item in _everything(items) for sign in _of_item(item)}
    for arrow in arrows:
        found.update(_of_shape(arrow.label))
        found.update(["calls"] if _TIMES.match(arrow.label) else [])
        found.update(["tensors"] if _MORE.search(arrow.label) else [])
    return tuple(sign for sign in MEANINGS if sign in found)


def _everything(items: tuple[Item, ...]) -> Iterator[Item]:
    pending = list(items)
    while pending:
        item = pending.pop()
        yield item
        pending.extend(item.items if isinstance(item, Frame) else ())


def _of_item(item: Item) -> Iterator[str]:
    if isinstance(item, Join):
        yield item.sign
    elif isinstance(item, Tag):
        yield "from"
    elif isinstance(item, Pill):
        yield from _of_shape(item.detail)
    elif isinstance(item, Frame):
        yield from _of_marks(item.marks)
        yield from _of_count(item.detail.rpartition(" · ")[2])
    else:
        yield from _of_card(item)


def _of_card(card: Card) -> Iterator[str]:
    yield from _of_marks(card.marks)
    for row in card.rows:
        yield from _of_marks(row.marks)
        yield from _of_count(row.count)
        yield from _of_detail(row)


def _of_detail(row: Row) -> Iterator[str]:
    if row.title in ("Parameter", "buffer", "tensor"):
        yield from _of_shape(row.detail)


def _of_marks(marks: tuple[Mark, ...]) -> Iterator[str]:
    for mark in marks:
        if mark.state in _SAME:
            yield "same"
        elif mark.state == "weights used":
            yield "weights"
        elif mark.state == "taken":
            yield "taken"
        elif mark.state == "inside":
            yield from (f"inside {part.partition(' ')[0]}" for part in mark.note.split(" · "))


def _of_count(count: str) -> Iterator[str]:
    if count.startswith(("≥", "?")):
        yield "least" if count[0] == "≥" else "unknown size"


def _of_shape(shape: str) -> Iterator[str]:
    sizes = _TIMES.sub("", shape).partition(" · ")[0].partition(" ")[0].split("×")
    if "…" in sizes:
        yield "sizes"
    if "?" in sizes:
        yield "unknown size"
