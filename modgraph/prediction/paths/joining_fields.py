"""How fields are joined where paths meet: one rule for each role, and one for fields that mean something together."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from modgraph.prediction.domain.fields import Role
from modgraph.prediction.domain.objects import (
    MIXED,
    STALE,
    ClassObject,
    EnvironmentObject,
    HeapObject,
    IteratorObject,
    Sizes,
)
from modgraph.prediction.domain.sizes import same
from modgraph.prediction.domain.values import TRUE, Address
from modgraph.prediction.paths.orders import contradicting

if TYPE_CHECKING:
    from modgraph.prediction.paths.joining import Joiner


def join_fields(joiner: Joiner, mine: HeapObject, other: HeapObject) -> None:
    """Changes each field of `mine`, a copy, into what it is on either path; both are of one kind."""
    if isinstance(mine, IteratorObject) and isinstance(other, IteratorObject):
        _join_iterator(joiner, mine, other)
    elif isinstance(mine, EnvironmentObject) and isinstance(other, EnvironmentObject):
        _join_environment(joiner, mine, other)
    else:
        for name, rule in _in_order(type(mine)):
            rule(joiner, mine, other, name)


def _join_cells(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    items, grown = joiner.sequence(getattr(mine, name), getattr(other, name))
    setattr(mine, name, items)
    mine.open = joiner.open(joiner.open(mine.open, other.open), grown)


def _join_entries(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    held, further = getattr(mine, name), getattr(other, name)
    keys = list(held)
    if joiner.growth_is_open and held.keys() != further.keys():
        mine.open = joiner.open(mine.open, joiner.unknown(of=[*held, *held.values(), *further, *further.values()]))
        setattr(mine, name, {key: joiner.value(value, further[key]) for key, value in held.items() if key in further})
    else:
        setattr(mine, name, joiner.mapping(held, further))
    mine.open = joiner.open(mine.open, other.open)
    if contradicting(keys, list(further)):
        mine.open = joiner.open(mine.open, joiner.unknown())
        mine.attributes[MIXED] = TRUE


def _join_members(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    held, further = getattr(mine, name), getattr(other, name)
    if held.keys() != further.keys():
        joiner.changed = True
        why = joiner.unknown(of=[*held, *further])
        setattr(mine, name, {key: None for key in held if key in further})
        mine.open = joiner.including(mine.open or why, why)
    mine.open = joiner.open(mine.open, other.open)


def _join_attributes(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    held, further = getattr(mine, name), getattr(other, name)
    setattr(mine, name, joiner.mapping(held, further))
    if "shuffled" in mine.ROLES and mine.shuffled is None and contradicting(list(held), list(further)):
        mine.shuffled = joiner.open(None, joiner.unknown())


def _join_store(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    held, further = getattr(mine, name), getattr(other, name)
    setattr(mine, name, joiner.store(held, further))
    if mine.mixed is None and contradicting(list(held), list(further)):
        mine.mixed = joiner.open(None, joiner.unknown())


def _join_reason(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    setattr(mine, name, joiner.open(getattr(mine, name), getattr(other, name)))


def _join_value(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    setattr(mine, name, joiner.cls(getattr(mine, name), getattr(other, name)))


def _join_flat(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    held = getattr(mine, name)
    if held != getattr(other, name):
        joiner.changed = joiner.changed or held is not None
        setattr(mine, name, None)


def _join_flags(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    held, further = getattr(mine, name), getattr(other, name)
    for key in {**held, **further} if held != further else ():
        if held.get(key, False) != further.get(key, False):
            joiner.changed = joiner.changed or held.get(key, False) is not None
            held[key] = None


def _join_shape(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    held, further = getattr(mine, name), getattr(other, name)
    if held is None or further is None or len(held) != len(further):
        joiner.changed = joiner.changed or held != further
        setattr(mine, name, None)
        return
    shape = tuple(a if same(a, b) else None for a, b in zip(held, further, strict=True))
    if any(a is not b for a, b in zip(shape, held, strict=True)):
        joiner.changed = True
        setattr(mine, name, Sizes(shape, joiner.unknown()))


def _join_counts(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    held, further = getattr(mine, name), getattr(other, name)
    if further and not joiner.growth_is_open:
        setattr(mine, name, {each: max(held.get(each, 0), further.get(each, 0)) for each in {**held, **further}})


def _join_memory(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    held = getattr(mine, name)
    further = [Address(joiner.twins.get(each.index, each.index)) for each in getattr(other, name)]
    joined = tuple(dict.fromkeys((*held, *further)))
    if joined != held:
        joiner.changed = True
        setattr(mine, name, joined)


def _join_noted(joiner: Joiner, mine: Any, other: Any, name: str) -> None:
    """Arguments of a constructor; one that was given on one path only is not known."""
    held, further = getattr(mine, name), getattr(other, name)
    if held != further:
        setattr(mine, name, tuple(joiner.mapping(dict(held), dict(further)).items()))


def _keep(_joiner: Joiner, _mine: Any, _other: Any, _name: str) -> None:
    """What is the same of one object on all paths, or is joined with another field."""


_RULES: dict[Role, Callable[[Joiner, Any, Any, str], None]] = {
    Role.CELLS: _join_cells,
    Role.ENTRIES: _join_entries,
    Role.MEMBERS: _join_members,
    Role.REST: _keep,
    Role.ATTRIBUTES: _join_attributes,
    Role.STORE: _join_store,
    Role.NAMESPACE: _keep,
    Role.LOCALS: _keep,
    Role.REASON: _join_reason,
    Role.ORDER: _join_reason,
    Role.VALUE: _join_value,
    Role.FLAT: _join_flat,
    Role.FINAL: _join_flat,
    Role.FLAGS: _join_flags,
    Role.SHAPE: _join_shape,
    Role.FIXED: _keep,
    Role.LINK: _keep,
    Role.MEMORY: _join_memory,
    Role.COUPLED: _keep,
    Role.COUNTS: _join_counts,
    Role.PLACE: _keep,
    Role.NOTE: _keep,
    Role.NOTED_VALUES: _join_noted,
}


def join_order(joiner: Joiner, mine: ClassObject, other: ClassObject) -> None:
    """Why the order of the names of a class is not known on either path, or differs between them."""
    if mine.shuffled is None and contradicting(list(mine.namespace), list(other.namespace)):
        mine.shuffled = joiner.open(None, joiner.unknown())
    mine.shuffled = joiner.open(mine.shuffled, other.shuffled)


def _in_order(kind: type[HeapObject]) -> list[tuple[str, Callable[[Joiner, Any, Any, str], None]]]:
    """Attributes are joined before what may mark them, and before what else leads to the same objects."""
    known = _ORDERED.get(kind)
    if known is None:
        found = [(name, _RULES[role]) for name, role in kind.ROLES.items() if _RULES[role] is not _keep]
        known = _ORDERED[kind] = sorted(found, key=lambda each: (each[0] != "cls", each[0] != "attributes"))
    return known


_ORDERED: dict[type[HeapObject], list[tuple[str, Callable[[Joiner, Any, Any, str], None]]]] = {}


# ---- fields that mean something together alone -----------------------------------------------------------------------


def _join_iterator(joiner: Joiner, mine: IteratorObject, other: IteratorObject) -> None:
    if (mine.source, mine.taken) != (other.source, other.taken):
        joiner.changed = joiner.changed or mine.taken != STALE
        mine.source, mine.taken = mine.source or other.source, STALE
        mine.running = mine.running or other.running
    if mine.returned != other.returned:
        one, another = mine.returned, other.returned
        mine.returned = None if one is None or another is None else joiner.value(one, another)
    if mine.position != other.position:
        left = [*mine.items[mine.position :], *other.items[other.position :]]
        mine.open = joiner.open(mine.open, joiner.unknown(of=left))
        mine.items = []
        mine.position = 0
        return
    mine.items, grown = joiner.sequence(mine.items, other.items)
    mine.open = joiner.open(mine.open, other.open or grown)


def _join_environment(joiner: Joiner, mine: EnvironmentObject, other: EnvironmentObject) -> None:
    # A name that only one path bound: on the other its use would raise, so wherever it is used it has that value.
    some = frozenset(mine.names.keys() ^ other.names.keys())
    if not mine.is_shuffled and (other.is_shuffled or contradicting(list(mine.names), list(other.names))):
        mine.is_shuffled = joiner.changed = True
    mine.names = joiner.mapping(mine.names, other.names, optional=False)
    mine.unsure |= other.unsure | some
    _join_counts(joiner, mine, other, "made")
