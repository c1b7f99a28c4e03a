"""How long a picture will be along the way of the data, before any layout engine has seen it."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.export.look.parts import Card, Frame, Item, Join, Node, Picture
from modgraph.export.look.widths import card_width

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
    return ROW * (len(node.rows) + len(node.marks) + sum(len(row.marks) for row in node.rows))


def _width(node: Node) -> float:
    if isinstance(node, Card):
        return card_width(node)
    return ROW if isinstance(node, Join) else 4 * ROW
