"""A name that is bound anew after registrations in what it was: which of them the new value holds is not followed."""

from __future__ import annotations

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.objects import MIXED, DictObject, HeapObject, ListObject, SetObject
from modgraph.prediction.domain.values import TRUE, Unknown
from modgraph.prediction.project.side_effects import changes_in_place
from modgraph.source.modules import SourceModule


def bound_after(source: SourceModule, name: str, line: int) -> int | None:
    """The first statement after that line which binds anew a name that is bound before."""
    bound = [each for each in source.index.statements.get(name, ()) if name in each.names]
    after = [each.first_line for each in bound if each.first_line > line and not changes_in_place(each, name)]
    return after[0] if after and bound[0].first_line < line else None


def unknown(source: SourceModule, name: str, line: int) -> Unknown:
    place = SourceLocation(source.file, line)
    return Unknown(f"what {name} is after a call and this statement have both changed it is not known", place)


def open_whole(item: HeapObject, why: Unknown) -> None:
    """Nothing of what it holds is certain."""
    if not isinstance(item, (DictObject, ListObject, SetObject)):
        return
    item.open = points_to.either_of(item.open or why, item.references())
    if isinstance(item, DictObject):
        item.entries = {}
        item.attributes[MIXED] = TRUE
    elif isinstance(item, ListObject):
        item.items = []
    else:
        item.items = {}
