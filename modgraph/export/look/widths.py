"""Makes room: a card is wide enough for its rows' remarks, and for the titles of the frames that begin at it.

The main edge enters a frame at the middle of its first card. A title that is longer than half of that card would be
crossed by the edge, so the card is widened until the title ends before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from modgraph.export.look.labels import cut_end
from modgraph.export.look.metrics import text_width
from modgraph.export.look.parts import Arrow, Card, Frame, Item, Mark, Row
from modgraph.export.look.style import CLASS_SIZE, DETAIL_SIZE, MARK_SIZE, STATES

BAR = 6
STRIPE = 3
"""Points of each of the three stripes of a bar that needs no colour."""
PADDING = 6
COUNT_WIDTH = 40
MARGIN = 10
"""Of a frame, on each side."""
LEAST_GAP = 24
MOST_WIDTH = 460


def column_widths(rows: tuple[Row, ...]) -> tuple[float, float, float]:
    """Points that the columns of a card need: class and arguments, path, parameters."""
    first = max(map(_class_width, rows))
    path = max(text_width(row.path, DETAIL_SIZE, mono=True) for row in rows)
    count = max(text_width(row.count, DETAIL_SIZE) for row in rows)
    return first + PADDING, path + PADDING, max(COUNT_WIDTH, count + PADDING)


def _class_width(row: Row) -> float:
    words = text_width(row.title, CLASS_SIZE, bold=True) + text_width(f" {row.detail} ", DETAIL_SIZE)
    return words + badge_width(row)


def narrow_width(rows: tuple[Row, ...]) -> float:
    """Points that rows of two lines need beside the bar."""
    below = (text_width(row.path, DETAIL_SIZE, mono=True) + text_width(f"   {row.count}", DETAIL_SIZE) for row in rows)
    return max(*map(_class_width, rows), *below) + PADDING


def badge_width(row: Row) -> float:
    return text_width(f" ×{row.copies} ", CLASS_SIZE, bold=True) if row.copies > 1 else 0


def bar_width(card: Card) -> float:
    """Points of the bar that says the kind."""
    return 3 * STRIPE if card.striped else BAR


def natural_width(card: Card) -> float:
    """Points that the rows of a card need, without what `Card.width` asks for."""
    bar = bar_width(card)
    if card.narrow:
        return card.columns * (bar + narrow_width(card.rows))
    return card.columns * (bar + sum(column_widths(card.rows)))


def mark_width(mark: Mark) -> float:
    """Points that the row of a state needs."""
    style = STATES[mark.state]
    words = text_width(f"{style.sign} {style.words}", MARK_SIZE, bold=True)
    return words + text_width(f"  {mark.note}", DETAIL_SIZE) + PADDING + 4


_OF_TITLE = 28
"""Letters of what a container depends on, beside which the main edge passes."""


def mark_in_title(mark: Mark) -> Mark:
    """As it stands in a frame's title: without a note that only explains it, as the main edge passes there."""
    if mark.state in ("conditional", "taken"):
        return replace(mark, note=cut_end(mark.note, _OF_TITLE))
    return mark if mark.state in ("failed", "also", "again", "called", "shared", "changed") else replace(mark, note="")


def card_width(card: Card) -> float:
    """Points that a card is wide."""
    marks = [mark_width(mark) for mark in (*card.marks, *(mark for row in card.rows for mark in row.marks))]
    return max([natural_width(card), card.width, *marks])


def title_width(frame: Frame) -> float:
    """Points of the longest line of a frame's title."""
    marks = [mark_width(mark_in_title(mark)) for mark in frame.marks]
    small = [text_width(line, DETAIL_SIZE) for line in (frame.detail, frame.idiom)]
    return max([text_width(frame.title, CLASS_SIZE, bold=True), *small, *marks])


def roomy(items: tuple[Item, ...], arrows: tuple[Arrow, ...]) -> tuple[Item, ...]:
    """`items`, with first cards wide enough for the titles above them, and room before the ×N badges."""
    feeders: dict[str, list[Arrow]] = {}
    for arrow in arrows:
        if arrow.kind != "order":
            feeders.setdefault(arrow.head, []).append(arrow)
    straight = {end for arrow in arrows if arrow.main for end in (arrow.tail, arrow.head)}
    straight -= {arrow.head for arrow in arrows if arrow.kind == "feedback" and arrow.head != arrow.tail}
    return tuple(_with_room(item, feeders, straight, ()) for item in items)


def _with_room(item: Item, feeders: dict[str, list[Arrow]], straight: set[str], above: tuple[Frame, ...]) -> Item:
    """`straight`: what the main path passes and nothing goes back to. `above`: the frames, outermost first, whose first
    entered node `item` holds."""
    if isinstance(item, Card):
        needed = [
            2 * (title_width(frame) + _badge_room(frame) - MARGIN * nesting)
            for nesting, frame in enumerate(reversed(above))
        ]
        return replace(item, width=min(max([item.width, *needed]), MOST_WIDTH)) if needed else item
    if not isinstance(item, Frame):
        return item
    entry = _entry(item, feeders)
    aside = bool(straight) and any(isinstance(inner, Card) and inner.id not in straight for inner in item.items)
    # Where a frame is entered first, the edge passes where that one's first card stands: before the title is safe.
    aside = aside or isinstance(entry, Frame)
    if item.copies > 1 and (aside or any(_is_wider(inner, entry) for inner in item.items)):
        item = replace(item, gap=0)
    inside = tuple(
        _with_room(inner, feeders, straight, (*above, item) if inner is entry else ()) for inner in item.items
    )
    framed = replace(item, items=inside)
    first = next((inner for inner, was in zip(inside, item.items, strict=True) if was is entry), None)
    if item.copies > 1 and item.gap and isinstance(first, Card):
        gap = 2 * (card_width(first) / 2 + 2 - title_width(item))
        framed = replace(framed, gap=round(max(LEAST_GAP, gap), 1))
    return framed


def _badge_room(frame: Frame) -> int:
    """Points beside a title: up to the main edge, and for the badge where it stands before the title."""
    if frame.copies == 1:
        return 8
    return 14 if frame.gap else 44


def _is_wider(inner: Item, entry: Item | None) -> bool:
    """Whether the frame reaches further to the left than its first card, so that nobody knows where the edge passes."""
    if inner is entry or not isinstance(entry, Card):
        return False
    return isinstance(inner, Frame) or (isinstance(inner, Card) and card_width(inner) > card_width(entry) + 2 * MARGIN)


def _entry(frame: Frame, feeders: dict[str, list[Arrow]]) -> Item | None:
    """What the main arrow into `frame` leads to; where there is none, the first that any arrow leads to."""
    held = [frozenset(_ids(inner)) for inner in frame.items]
    own = frozenset().union(*held)
    entering = [[arrow for each in ids for arrow in feeders.get(each, ()) if arrow.tail not in own] for ids in held]
    entered = [inner for inner, arrows in zip(frame.items, entering, strict=True) if arrows]
    main = [inner for inner, arrows in zip(frame.items, entering, strict=True) if any(arrow.main for arrow in arrows)]
    return next(iter([*main, *entered]), None)


def _ids(item: Item) -> Iterator[str]:
    if isinstance(item, Frame):
        for inner in item.items:
            yield from _ids(inner)
    else:
        yield item.id
