"""How long a picture will be along the way of the data, before any layout engine has seen it."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.export.look.metrics import text_width
from modgraph.export.look.parts import Card, Frame, Item, Join, Node, Picture, Pill
from modgraph.export.look.style import CLASS_SIZE, DETAIL_SIZE
from modgraph.export.look.widths import card_width, title_width

ROW = 22
"""Points of a row, and of a state's row."""
GAP = 24
"""Points between two nodes."""
LABEL = 14
TITLE = 44
"""Points that a frame takes before what is in it: its title and margin."""
MARGIN = 10
HEADING = 90
"""Points of the picture's own title and legend."""


def length_of(picture: Picture) -> float:
    """Points from the first to the last node: the height of a picture from top to bottom, else its width."""
    nodes = dict(_nodes(picture.items, ()))
    across = picture.direction == "LR"
    size: dict[str, float] = {id: _width(node) if across else _height(node) for id, (node, _) in nodes.items()}
    frames = {id: around for id, (_, around) in nodes.items()}
    steps: dict[str, list[tuple[str, float]]] = {id: [] for id in nodes}
    order = {id: number for number, id in enumerate(nodes)}
    for arrow in picture.arrows:
        if arrow.tail not in order or arrow.head not in order or order[arrow.tail] >= order[arrow.head]:
            continue
        entered = len(set(frames[arrow.head]) - set(frames[arrow.tail]))
        left = len(set(frames[arrow.tail]) - set(frames[arrow.head]))
        between: float = GAP + (LABEL if arrow.label else 0) + entered * (MARGIN if across else TITLE) + left * MARGIN
        steps[arrow.tail].append((arrow.head, between))
    reached: dict[str, float] = {id: size[id] + len(frames[id]) * TITLE for id in nodes}
    for id in nodes:  # in the order of the run: every arrow goes forwards
        for head, way in steps[id]:
            reached[head] = max(reached[head], reached[id] + way + size[head])
    return HEADING + max(reached.values(), default=0)


def _nodes(items: tuple[Item, ...], around: tuple[str, ...]) -> Iterator[tuple[str, tuple[Node, tuple[str, ...]]]]:
    for item in items:
        if isinstance(item, Frame):
            yield from _nodes(item.items, (*around, item.id))
        else:
            yield item.id, (item, around)


def _height(node: Node) -> float:
    if not isinstance(node, Card):
        return ROW
    lines = len(node.rows) if not node.narrow else sum(1.7 if row.path or row.count else 1 for row in node.rows)
    lines = lines / node.columns + bool(node.head)
    return ROW * (lines + len(node.marks) + sum(len(row.marks) for row in node.rows))


def _width(node: Node) -> float:
    if isinstance(node, Card):
        return card_width(node)
    if isinstance(node, Join):
        return ROW
    if isinstance(node, Pill):
        return text_width(node.title, CLASS_SIZE, bold=True) + text_width(f"  {node.detail}", DETAIL_SIZE) + ROW
    return text_width(f"◂ {node.text}", DETAIL_SIZE) + 10


BESIDE = 22
"""Points between two nodes beside each other."""
PASSING = 12
"""Points that an arrow takes where it passes by."""


def across_of(picture: Picture) -> float:
    """Points across the way of the data, from edge to edge: the width of a picture from top to bottom, else its height.

    A frame takes its place in every row that it spans, as nothing else stands in it.
    """
    down = picture.direction == "LR"
    ranks = _ranks(picture)
    spans = {id: (rank, rank) for id, rank in ranks.items()}
    return MARGIN * 4 + max(_across(picture.items, spans, down)[0], _passing(picture, ranks))


def _ranks(picture: Picture) -> dict[str, int]:
    """By node, in which row it stands: below what feeds it. What is not fed, and a chain that begins so up to the first
    fork, stands right above what it feeds."""
    order = {id: number for number, id in enumerate(dict(_nodes(picture.items, ())))}
    after: dict[str, list[str]] = {}
    before: dict[str, list[str]] = {}
    for arrow in picture.arrows:
        tail, head = arrow.tail, arrow.head
        if tail in order and head in order and order[tail] < order[head]:
            after.setdefault(tail, []).append(head)
            before.setdefault(head, []).append(tail)
    ranks = dict.fromkeys(order, 0)
    loose: set[str] = set()
    for id in order:
        if all(tail in loose and len(after[tail]) == 1 for tail in before.get(id, ())):
            loose.add(id)
        for head in after.get(id, ()):
            ranks[head] = max(ranks[head], ranks[id] + 1)
    for id in reversed(order):
        if id in loose and id in after:
            ranks[id] = min(ranks[head] for head in after[id]) - 1
    return ranks


def _across(items: tuple[Item, ...], spans: dict[str, tuple[int, int]], down: bool) -> tuple[float, tuple[int, int]]:
    """Points that `items` take beside each other, and the rows that they are in."""
    taken: dict[int, float] = {}
    for item in items:
        if isinstance(item, Frame):
            inner, (first, last) = _across(item.items, spans, down)
            size = inner + (TITLE + MARGIN if down else 2 * MARGIN)
            if not down:
                size = max(size, title_width(item) + 2 * MARGIN)
        else:
            first, last = spans[item.id]
            size = _height(item) if down else _width(item)
        for rank in range(first, last + 1):
            taken[rank] = taken.get(rank, 0) + size + BESIDE
    if not taken:
        return 0, (0, 0)
    return max(taken.values()) - BESIDE, (min(taken), max(taken))


def _passing(picture: Picture, ranks: dict[str, int]) -> float:
    """Points of the arrows that pass one row beside each other."""
    taken: dict[int, int] = {}
    for arrow in picture.arrows:
        if arrow.tail in ranks and arrow.head in ranks:
            for rank in range(ranks[arrow.tail] + 1, ranks[arrow.head]):
                taken[rank] = taken.get(rank, 0) + PASSING
    return max(taken.values(), default=0)
