"""What stands in a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from modgraph.export.look.parts import Frame


def everything(items: Iterable[Any]) -> Iterator[Any]:
    """Every item, those in frames included, outermost first."""
    for item in items:
        yield item
        if isinstance(item, Frame):
            yield from everything(item.items)


def of_kind(picture: Any, kind: Any) -> list[Any]:
    """Those of a kind."""
    return [item for item in everything(picture.items) if isinstance(item, kind)]
