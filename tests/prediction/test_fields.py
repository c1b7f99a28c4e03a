"""Every field of every kind of object, those to come included: two objects that differ in it alone, on two paths.

What a field may hold on either path, the joined object must allow; objects that were made apart are never one; what an
unknown call may have changed is not known. The cases come of the roles that the classes declare.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from modgraph.prediction.code import memo
from modgraph.prediction.domain import dict_views, fields, mapping_views, objects, values
from modgraph.prediction.domain.fields import Role
from modgraph.prediction.domain.objects import HeapObject
from modgraph.prediction.domain.state import Base, State
from modgraph.prediction.domain.values import (
    OPEN,
    Address,
    Choice,
    ClassValue,
    Constant,
    KnownClass,
    Unknown,
    Value,
    remaining,
)
from modgraph.prediction.entry import interpreter
from modgraph.prediction.paths import havoc
from modgraph.prediction.paths.isomorphism import isomorphic
from modgraph.prediction.paths.joining import join
from modgraph.prediction.python.copying import Relocation

ONE, TWO = Constant(1), Constant(2)
WHY = Unknown("why")
CLASS = ClassValue("made.Here", Address(10**6))
NAMED: tuple[Any, Any] = ({"n": ONE}, {"n": TWO})

DIFFERENT: dict[Role, list[tuple[Any, Any]]] = {
    Role.CELLS: [([ONE], [TWO]), ([], [ONE]), ([ONE], [])],
    Role.ENTRIES: [({ONE: ONE}, {ONE: TWO}), ({}, {ONE: ONE}), ({ONE: ONE}, {})],
    Role.MEMBERS: [({ONE: None}, {TWO: None}), ({}, {ONE: None}), ({ONE: None}, {})],
    **{role: [NAMED, ({}, {"n": ONE}), ({"n": ONE}, {})] for role in fields.BY_NAME},
    Role.REST: [(None, WHY), (WHY, None)],
    Role.REASON: [(None, WHY), (WHY, None)],
    Role.ORDER: [(None, WHY), (WHY, None)],
    Role.VALUE: [(KnownClass("a"), KnownClass("b"))],
    Role.FINAL: [(True, False), (False, True)],
    Role.FLAGS: [({"n": True}, {}), ({}, {"n": True}), ({"n": None}, {})],
    Role.SHAPE: [((1, 2), (1, 3)), ((1,), (1, 2)), (None, (1,)), ((1,), None)],
    Role.LINK: [(Address(1), Address(2))],
    Role.MEMORY: [((), (Address(0),)), ((Address(0),), (Address(-1),))],
    Role.NOTED_VALUES: [((("n", ONE),), (("n", TWO),)), ((), (("n", ONE),))],
}
SHOWING = (objects.ViewObject, dict_views.DictView, mapping_views.MappingView)
NEVER_CHANGED = {Role.FIXED, Role.LINK}
FORGETTING = set(objects.HeapObject.__subclasses__()) - {objects.ClassObject, objects.EnvironmentObject}
"""What a class, or a function around, holds is forgotten name by name, by who knows which are asked for."""
SHOWN = {Role.PLACE, Role.NOTE, Role.COUNTS}
"""What nothing that is predicted depends on."""


def kept(classes: list[Any]) -> list[Any]:
    """Without the classes that `dataclass(slots=True)` has made others of, which are gone when Python collects them."""
    return [each for each in classes if getattr(sys.modules[each.__module__], each.__name__, None) is each]


def kinds() -> Iterator[type[HeapObject]]:
    pending: list[type[HeapObject]] = [HeapObject]
    while pending:
        for kind in kept(pending.pop().__subclasses__()):
            pending.append(kind)
            if dataclasses.is_dataclass(kind) and kind not in SHOWING:
                yield kind


def made(kind: type[HeapObject], **given: Any) -> Any:
    required: dict[str, Any] = {"cls": CLASS, "definition": None, "bases": (), "mro": ()}
    needed = {each.name for each in dataclasses.fields(kind) if each.name in required}
    return kind(**{name: required[name] for name in needed} | given)


def plain_pairs(kind: type[HeapObject], name: str) -> list[tuple[Any, Any]]:
    """Two plain contents, by what the field holds when nothing is said."""
    usual = getattr(made(kind), name)
    if isinstance(usual, bool):
        return [(True, False), (False, True)]
    if isinstance(usual, str):
        return [("a", "b"), ("a", None)]
    if isinstance(usual, int):
        return [(0, 1), (1, 0)]
    if isinstance(usual, dict):
        return [({1: 1}, {1: 2})]
    if name == "source":
        return [(objects.Source(), None), (objects.Source(), objects.Source())]
    return [((1.0,), (2.0,)), (None, (1.0,))]


def cases() -> Iterator[Any]:
    for kind in sorted(set(kinds()), key=lambda each: each.__name__):
        for name, role in kind.ROLES.items():
            for number, pair in enumerate(DIFFERENT.get(role) or plain_pairs(kind, name)):
                yield pytest.param(kind, name, role, *pair, id=f"{kind.__name__}.{name}-{number}")


def of_all(without: set[Role] = frozenset(), among: Any = None) -> Any:  # type: ignore[assignment]
    """Every pair, but of these roles; where `among` is given, of these kinds alone."""
    wanted = [each for each in cases() if each.values[2] not in without and (among is None or each.values[0] in among)]
    return pytest.mark.parametrize(("kind", "name", "role", "mine", "other"), wanted)


def admits(found: Value | None, one: Value) -> bool:
    return found == one or isinstance(found, Unknown) or (isinstance(found, Choice) and one in found.alternatives)


def allows(item: Any, name: str, role: Role, content: Any) -> bool:
    """The field of a joined object may hold that."""
    held = getattr(item, name)
    if role is Role.CELLS:
        ends = len(held) == len(content) or (len(held) < len(content) and item.open is not None)
        return (ends or item.open is not None) and all(map(admits, held, content))
    if role is Role.MEMBERS:
        return held.keys() <= content.keys() and (held.keys() == content.keys() or item.open is not None)
    if role is Role.ENTRIES or role in fields.BY_NAME:
        unlisted = getattr(item, "further", None) if role is Role.ATTRIBUTES and hasattr(item, "further") else None
        further = (unlisted or getattr(item, "open", None)) is not None or OPEN in held
        there = all(admits(held[key], value) if key in held else further for key, value in content.items())
        more = held.keys() - content.keys() - {OPEN} - set(item.unsure if role is Role.LOCALS else ())
        left = [remaining(held[key]) for key in more]  # a class keeps what stands there on the other path
        return there and all(isinstance(each, Unknown) and each.optional for each in left)
    if role in fields.REASONS:
        return content is None or held is not None
    if role is Role.VALUE:
        return admits(held, content)
    if role is Role.FLAGS:
        if OPEN in getattr(item, "buffers", ()):
            return all(known is None for known in held.values())
        names = {**held, **content}
        return all(held.get(key, False) in (None, content.get(key, False)) for key in names)
    if role is Role.SHAPE:
        if held is None:
            return True
        return (
            content is not None
            and len(held) == len(content)
            and all(a in (None, b) for a, b in zip(held, content, strict=True))
        )
    if role is Role.MEMORY:
        return set(content) <= set(held)
    if role is Role.NOTED_VALUES:
        found = dict(held)
        return all(admits(found.get(key), value) for key, value in content)
    return held is None or held == content


def test_each_field_has_a_role() -> None:
    assert {kind.__name__ for kind in kinds()} >= {"ListObject", "TensorObject", "EnvironmentObject"}
    for kind in kinds():
        names = [each.name for each in dataclasses.fields(kind) if each.name != "owner"]
        assert list(kind.ROLES) == names

    @dataclasses.dataclass
    class Forgotten:
        held: int = 0

    with pytest.raises(TypeError, match=r"Forgotten\.held has no role"):
        fields.with_roles(Forgotten)


@of_all(NEVER_CHANGED | SHOWN | {Role.COUPLED})
def test_what_is_joined_allows_what_is_on_either_path(
    kind: type[HeapObject], name: str, role: Role, mine: Any, other: Any
) -> None:
    state = State(Base())
    address = state.allocate(made(kind, **{name: mine}))
    second = state.fork()
    setattr(second.write(address), name, other)
    join(state, second, "of the test", None, state.base.next_index)
    joined = state.read(address)
    assert allows(joined, name, role, mine)
    assert allows(joined, name, role, other)


@pytest.mark.parametrize("position", [0, 1])
def test_iterators_that_have_come_to_different_places_go_on_from_neither(position: int) -> None:
    state = State(Base())
    address = state.allocate(objects.IteratorObject([ONE, TWO], position))
    second = state.fork()
    second.change(address, objects.IteratorObject).position = 1 - position
    join(state, second, "of the test", None, state.base.next_index)
    joined = state.change(address, objects.IteratorObject)
    assert joined.items[joined.position :] == []
    assert joined.open is not None


@of_all(SHOWN)
def test_objects_made_apart_are_one_only_if_they_hold_the_same(
    kind: type[HeapObject], name: str, role: Role, mine: Any, other: Any
) -> None:
    def are_one(first: Any, second: Any) -> bool:
        state = State(Base())
        since = state.base.next_index
        left, right = state, state.fork()
        a, b = left.allocate(made(kind, **{name: first})), right.allocate(made(kind, **{name: second}))
        return isomorphic(left, a, right, b, {}, {}, since, lambda *_: True)

    assert not are_one(mine, other)
    if role is not Role.REST and name != "source":
        assert are_one(mine, mine)


@of_all()
def test_a_copy_has_containers_of_its_own(kind: type[HeapObject], name: str, role: Role, mine: Any, other: Any) -> None:
    item = made(kind, **{name: mine})
    copied = item.copy()
    assert type(copied) is kind
    assert all(getattr(copied, each) == getattr(item, each) for each in kind.ROLES)
    if role in fields.MUTABLE:
        assert getattr(copied, name) is not getattr(item, name)


FULL: dict[Role, Callable[[Address], Any]] = {
    Role.CELLS: lambda at: [at],
    Role.ENTRIES: lambda at: {at: at},
    Role.MEMBERS: lambda at: {at: None},
    **{role: lambda at: {"n": at} for role in fields.BY_NAME},
    Role.REST: lambda at: Unknown("why", may_be=frozenset({at.index})),
    Role.REASON: lambda at: Unknown("why", may_be=frozenset({at.index})),
    Role.ORDER: lambda at: Unknown("why", may_be=frozenset({at.index})),
    Role.LINK: lambda at: at,
    Role.MEMORY: lambda at: (at,),
    Role.VALUE: lambda at: at,
    Role.NOTED_VALUES: lambda at: (("n", at),),
}


def fields_of(roles: Any) -> Any:
    found = [(kind, name, role) for kind in set(kinds()) for name, role in kind.ROLES.items() if role in roles]
    found.sort(key=lambda each: (each[0].__name__, each[1]))
    return pytest.mark.parametrize(("kind", "name", "role"), found, ids=[f"{k.__name__}.{n}" for k, n, _ in found])


@fields_of(fields.HOLDING)
def test_what_a_field_holds_is_a_reference(kind: type[HeapObject], name: str, role: Role) -> None:
    assert Address(7) in list(made(kind, **{name: FULL[role](Address(7))}).references())


@fields_of(FULL)
def test_what_a_field_holds_has_a_counterpart_in_a_copy(kind: type[HeapObject], name: str, role: Role) -> None:
    item = made(kind, **{name: FULL[role](Address(7))})
    relocation = Relocation(State(Base()))
    relocation.copies[Address(7)] = Address(9)
    relocation.fill(item)
    held = getattr(item, name)
    if role in fields.REASONS:
        assert held.may_be == {7, 9}
    else:
        assert held == FULL[role](Address(9))


@of_all(
    NEVER_CHANGED | SHOWN | {Role.COUPLED, Role.FINAL, Role.MEMORY, Role.NOTED_VALUES, Role.ORDER, Role.VALUE},
    among=FORGETTING,
)
def test_what_an_unknown_call_may_have_changed_is_not_known(
    kind: type[HeapObject], name: str, role: Role, mine: Any, other: Any
) -> None:
    if kind in (objects.ClassObject, objects.EnvironmentObject):
        pytest.skip(
            "what a class or a function around holds is forgotten name by name, by who knows which are asked for"
        )
    machine = interpreter([])
    address = machine.allocate(made(kind, **{name: mine}))
    havoc.expose(machine, [address], WHY)
    forgotten = machine.state.read(address)
    assert allows(forgotten, name, role, mine)
    if role is not Role.ATTRIBUTES or other:  # that an unknown call takes attributes away is not followed
        assert allows(forgotten, name, role, other)


@of_all(SHOWN | {Role.NOTED_VALUES}, among=memo._PLAIN)
def test_a_key_tells_what_differs(kind: type[HeapObject], name: str, role: Role, mine: Any, other: Any) -> None:
    machine = interpreter([])

    def number(content: Any) -> int:
        address = machine.allocate(made(kind, **{name: content}))
        found = memo._contents(machine, (address.index,))
        assert found is not None
        return found.number

    assert number(mine) == number(mine)
    assert number(mine) != number(other)


CLASSES = {"TupleValue.cls", "FunctionValue.owner", "GeneratedMethod.cls", "SuperValue.cls", "EnumMember.cls"}
"""Fields that hold a class, which nothing copies and no unknown call changes by itself."""


def test_each_field_of_a_value_that_holds_values_is_a_part() -> None:
    for kind in kept(values.Value.__subclasses__()):
        holding = [
            each.name
            for each in dataclasses.fields(kind)  # type: ignore[arg-type]
            if re.search(r"\b(Value|TupleValue|Address|ClassValue|KnownClass)\b", str(each.type))
        ]
        told = {f"{kind.__name__}.{name}" for name in holding if name not in kind.PARTS}
        assert told <= CLASSES | {"ClassValue.address"}
        assert set(kind.PARTS) <= set(holding)


@pytest.mark.parametrize("kind", [kind for kind in kept(values.Value.__subclasses__()) if kind.PARTS])
def test_parts_are_what_others_can_be_put_in_place_of(kind: Any) -> None:
    contents = {"closure": Address(7), "defaults": (("n", Address(7)),), "keywords": (("n", Address(7)),)}
    several = {"items", "alternatives", "positional"}
    names = {each.name for each in dataclasses.fields(kind) if each.init}
    plain = {name: "" for name in ("reason", "name") if name in names} | {"cls": None, "definition": None}
    given = {name: contents.get(name, (Address(7),) if name in several else Address(7)) for name in kind.PARTS}
    value = kind(**{name: each for name, each in plain.items() if name in names} | given)
    assert list(value.parts()) == [Address(7)] * len(kind.PARTS)
    assert value.mapped(lambda part: part) is value
    assert list(value.mapped(lambda _: Address(9)).parts()) == [Address(9)] * len(kind.PARTS)
