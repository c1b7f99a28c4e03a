"""Frames in frames: what they are called there, and which share one."""

from __future__ import annotations

from dataclasses import replace

from modgraph.export.look.kinds import PLAIN_CONTAINERS
from modgraph.export.look.labels import cut, cut_end
from modgraph.export.look.parts import Frame, Item
from modgraph.export.picture.rows import TOOLTIP_LENGTH, path_below
from modgraph.names import last_name

LONG_TITLE = 16
"""Characters of a path beyond which a frame is named as seen from the frame around it."""


def short_name(name: str, below: str) -> str:
    """A long path as seen from the frame around; a bare number keeps the name before it ("conv.0")."""
    if len(name) <= LONG_TITLE:
        return name
    name = path_below(name, below)
    if name[:1].isdigit() and below:
        name = f"{last_name(below)}.{name}"
    return name


def merged(outer: Frame, inner: Frame, below: str) -> Frame:
    """One frame for a container that holds nothing but a container, where the inner one says nothing of its own.

    `below`: path of the frame around both.
    """
    if inner.copies > 1 or inner.marks:
        return outer
    if outer.copies > 1 or outer.state == "failed":
        return replace(outer, items=inner.items, idiom=outer.idiom or inner.idiom)
    own, held = outer.detail.partition(" · ")[0], inner.detail.partition(" · ")[0]
    detail = _way(own, inner.detail)
    if own in PLAIN_CONTAINERS or held in PLAIN_CONTAINERS:
        detail = inner.detail if own in PLAIN_CONTAINERS else outer.detail
    tooltip = cut_end(_way(outer.tooltip, inner.tooltip), TOOLTIP_LENGTH)
    title = cut(short_name(inner.name, below))
    idiom = inner.idiom or outer.idiom
    return replace(
        inner, title=title, detail=detail, tooltip=tooltip, idiom=idiom, marks=outer.marks, state=outer.state
    )


def _way(outer: str, inner: str) -> str:
    """ "A › B", "A › … › C": the first and the last of containers that share a frame."""
    _, between, last = inner.rpartition(" › ")
    return f"{outer} › … › {last}" if between else f"{outer} › {inner}"


def leveled(item: Item, level: int) -> Item:
    """`item`, told how many frames are around it."""
    if not isinstance(item, Frame):
        return item
    return replace(item, level=level, items=tuple(leveled(inner, level + 1) for inner in item.items))
