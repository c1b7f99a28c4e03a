"""Enum classes: what a name of the body becomes, values that count themselves, aliases, flags and what they combine to.

Source: Python's enum; where versions differ, this Python's.
"""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject, DictObject, EnvironmentObject, InstanceObject, ListObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import (
    NONE,
    Choice,
    ClassMethod,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    KnownClass,
    PropertyValue,
    StaticMethod,
    TupleValue,
    Unknown,
    Value,
    is_optional,
    remaining,
)
from modgraph.prediction.paths import several
from modgraph.prediction.python import classes, exceptions

if TYPE_CHECKING:
    from modgraph.prediction.domain.frames import Frame

_FLAG = "enum.Flag"
_BASES = ("enum.Enum", "enum.IntEnum", "enum.StrEnum", _FLAG, "enum.IntFlag")
_MIXED_IN: dict[str, type] = {"builtins.str": str, "builtins.int": int, "builtins.float": float}
_COMBINE: dict[str, Any] = {"|": operator.or_, "&": operator.and_, "^": operator.xor}
_CANONICAL_ONLY = sys.version_info >= (3, 11)
"""Flags of several bits are aliases."""


# ---- members ---------------------------------------------------------------------------------------------------------


def named(machine: Machine, cls: Value) -> dict[str, EnumMember] | None:
    """Every name of an Enum class with its member, those of aliases included; None for another class."""
    if not isinstance(cls, ClassValue) or not classes.is_enum(machine, cls):
        return None
    found: dict[str, EnumMember] = {}
    for name in _names(machine, cls):
        member = own_member(classes.own_attribute(machine, cls, name), name)
        if member is not None:
            found[name] = member
    return found


def own_member(value: Value | None, name: str) -> EnumMember | None:
    """The member that a name of an Enum class stands for; of one that may be an alias, what it is if it is none."""
    if isinstance(value, Choice):
        return next((each for each in value.alternatives if isinstance(each, EnumMember) and each.name == name), None)
    return value if isinstance(value, EnumMember) else None


def in_body(value: Value, cls: ClassValue, name: str) -> Value:
    """What a name is while the body of its class runs: a member is its value still."""
    member = own_member(value, name) if isinstance(value, (Choice, EnumMember)) else None
    member = member or (value if isinstance(value, EnumMember) else None)
    return member.value if member is not None and member.cls == cls else value


def members(machine: Machine, cls: Value) -> list[Value] | None:
    """Members of an Enum class in order of definition, aliases left out; None for another class."""
    found = named(machine, cls)
    if found is None:
        return None
    single = _CANONICAL_ONLY and is_flag(machine, cls)
    return [
        member
        for name, member in found.items()
        if member.name == name and not (single and _bits(member) is not None and not _is_single(member))
    ]


def unsure(machine: Machine, cls: ClassValue) -> Unknown | None:
    """Why the class may have fewer members than names: what has the value of another is an alias, and so is a flag of
    several bits."""
    item = machine.state.read(cls.address)
    assert isinstance(item, ClassObject)
    values = [member.value for member in (named(machine, cls) or {}).values()]
    values += [each for each in map(remaining, item.namespace.values()) if each is not None and is_optional(each)]
    unknown = [value for value in values if isinstance(value, (Unknown, Choice))]
    return machine.unknown("whether a member of an Enum class is an alias is not known", *unknown) if unknown else None


def is_one_of_some(machine: Machine, value: Value) -> bool:
    """It is one of several classes, and some of them are Enum classes, which make other things of what they hold."""
    some = value.alternatives if isinstance(value, Choice) else ()
    return all(map(machine.is_class, some)) and any(classes.is_enum(machine, each) for each in some)


def _names(machine: Machine, cls: ClassValue) -> list[str]:
    item = machine.state.read(cls.address)
    assert isinstance(item, ClassObject)
    statements = item.definition.statements if item.definition is not None else {}
    return list(dict.fromkeys([*statements, *item.namespace]))


def is_flag(machine: Machine, cls: Value) -> bool:
    """The class is derived from enum.Flag."""
    return any(isinstance(base, KnownClass) and base.name == _FLAG for base in machine.mro(cls))


def as_member(machine: Machine, cls: ClassValue, name: str, value: Value) -> Value:
    """What a name of a class body becomes in an Enum class: a member, or the one of an equal value before it."""
    if name.startswith("__") or (name.startswith("_") and name.endswith("_")) or not classes.is_enum(machine, cls):
        return value
    sure = several.certain(value)
    if sure is not None:
        return several.sometimes(as_member(machine, cls, name, sure), "it is bound on some paths only")
    marked = machine.state.find(value, InstanceObject)
    if marked is not None and marked.cls in _MARKS:
        value = marked.attributes["value"]
        if marked.cls == _MARKS[1]:
            return value
    elif _is_no_member(value):
        return value
    if isinstance(value, EnumMember):
        if value.cls != cls:
            return EnumMember(cls, name, value)
        value = value.value
    if name in _ignored(machine, cls):
        return value
    before = _before(machine, cls, name)
    automatic = machine.state.find(value, InstanceObject)
    if automatic is not None and automatic.cls == _AUTO:
        value = _next_value(machine, cls, name, before)
    maker = machine.class_attribute(cls, "__new__")
    maker = maker.function if isinstance(maker, StaticMethod) else maker
    if machine.class_attribute(cls, "__getattr__") is not None:
        value = machine.unknown("an Enum class with a __getattr__ of its own may keep other values", value)
    value = (
        _mixed_in(machine, cls, value) if not isinstance(maker, FunctionValue) else _made(machine, cls, maker, value)
    )
    plain = value if isinstance(value, Constant) and type(value.value) in _PLAIN else None
    maybe: list[EnumMember] = []
    for member in before:
        other = member.value
        if plain is not None and isinstance(other, Constant) and type(other.value) in _PLAIN:
            if other.value == plain.value:
                return member
            continue
        answer = machine.equal(other, value)
        if answer is None:
            maybe.append(member)
        elif answer:
            return member if not maybe else _either(machine, [*maybe, member], value)
    return _either(machine, [*maybe, EnumMember(cls, name, value)], value)


def _either(machine: Machine, found: list[EnumMember], value: Value) -> Value:
    """One of these, which all have that value if it is theirs."""
    if len(found) == 1:
        return found[0]
    is_known = not isinstance(value, (Unknown, Choice))
    given = [EnumMember(each.cls, each.name, value) if is_known else each for each in found]
    return machine.choice(given, "depends on a value of an Enum class that is not known")


_AUTO = KnownClass("enum.auto")


def as_bound(machine: Machine, frame: Frame, cls: ClassValue, name: str, value: Value) -> Value:
    """What a name of a running class body is bound to: in an Enum class, `auto()` is a value from there on."""
    automatic = machine.state.find(value, InstanceObject)
    if automatic is None or automatic.cls != _AUTO or not classes.is_enum(machine, cls):
        return value
    running = machine.state.read(frame.environment)
    assert isinstance(running, EnvironmentObject)
    if running.unsure:
        return machine.unknown("which members come before enum.auto() is not known")
    maker = running.names.get("_generate_next_value_")
    before = {each.name: each for each in _before(machine, cls, name)}
    for other, held in running.names.items():
        if other not in before and other != name and not other.startswith("_") and not _is_no_member(held):
            before[other] = held if isinstance(held, EnumMember) else EnumMember(cls, other, held)
    return _next_value(machine, cls, name, list(before.values()), maker)


def _is_no_member(value: Value) -> bool:
    return isinstance(value, (FunctionValue, StaticMethod, ClassMethod, PropertyValue))


def _made(machine: Machine, cls: ClassValue, maker: FunctionValue, value: Value) -> Value:
    """The value that `__new__` of the class gives a member."""
    given = value.items if isinstance(value, TupleValue) else (value,)
    made = machine.call(maker, (cls, *given))
    held = machine.state.find(made, InstanceObject)
    if held is None or held.open is not None:
        return machine.unknown("what the __new__ of an Enum class makes is not known")
    return held.attributes.get("_value_", value)


_PLAIN = frozenset({int, str, bool, float})
"""Types of constants of which Python itself says whether they are equal, at a tenth of the cost."""


_MARKS = (KnownClass("enum.member"), KnownClass("enum.nonmember"))


@models("enum.member", "enum.nonmember")
def mark(arguments: Arguments, machine: Machine) -> Value:
    """A function that becomes a member, and a value that does not."""
    return machine.allocate(InstanceObject(KnownClass(arguments.function), {"value": arguments.get(0, "value", NONE)}))


def _ignored(machine: Machine, cls: ClassValue) -> list[str]:
    given = classes.own_attribute(machine, cls, "_ignore_")
    if isinstance(given, Constant):
        return str(given.value).replace(",", " ").split()
    found = machine.iterate(given) if given is not None else []
    return [] if isinstance(found, Unknown) else [each.value for each in found if isinstance(each, Constant)]


def _before(machine: Machine, cls: ClassValue, name: str) -> list[EnumMember]:
    """The members that earlier names of the body give, one for each name."""
    found: list[EnumMember] = []
    listed = _names(machine, cls)
    machine.spend(len(listed) // 2)  # each member looks at all before it
    for other in listed:
        if other == name:
            break
        item = machine.state.read(cls.address)
        assert isinstance(item, ClassObject)
        held = item.namespace.get(other)
        if type(held) is EnumMember and held.cls == cls:
            found.append(held)
            continue
        known = classes.own_attribute(machine, cls, other) if not other.startswith("__") else None
        member = own_member(known, other) or (known if isinstance(known, EnumMember) else None)
        if member is not None:
            found.append(member)
    return found


def _next_value(
    machine: Machine, cls: ClassValue, name: str, before: list[EnumMember], own: Value | None = None
) -> Value:
    """What enum.auto() stands for; `own` counts, where the class is not made yet."""
    last = [member.value for member in before]
    maker = own or machine.class_attribute(cls, "_generate_next_value_")
    function = maker.function if isinstance(maker, (StaticMethod, ClassMethod)) else maker
    if isinstance(function, FunctionValue):
        listed = machine.allocate(ListObject(last))
        return machine.call(function, (Constant(name), Constant(1), Constant(len(last)), listed))
    if any(isinstance(base, KnownClass) and base.name == "enum.StrEnum" for base in machine.mro(cls)):
        return Constant(name.lower())
    numbers = [value.value for value in last if isinstance(value, Constant) and isinstance(value.value, int)]
    if len(numbers) < len(last) and not all(isinstance(value, Constant) for value in last):
        return machine.unknown("the values before enum.auto() are not known", *last)
    if not numbers:
        return Constant(1)
    highest = max(numbers) if _CANONICAL_ONLY or is_flag(machine, cls) else numbers[-1]
    return Constant(1 << highest.bit_length() if is_flag(machine, cls) else highest + 1)


def _mixed_in(machine: Machine, cls: ClassValue, value: Value) -> Value:
    """The value as the builtin type that the class is derived from makes it."""
    if not isinstance(value, Constant):
        return value
    for base in machine.mro(cls):
        wanted = _MIXED_IN.get(base.name) if isinstance(base, KnownClass) else None
        if wanted is not None and not isinstance(value.value, wanted):
            try:
                return Constant(wanted(value.value))
            except (TypeError, ValueError) as error:
                raise exceptions.as_python(machine, error) from None
    return value


# ---- flags -----------------------------------------------------------------------------------------------------------


def _bits(member: Value) -> int | None:
    value = member.value if isinstance(member, (EnumMember, Constant)) else None
    value = value.value if isinstance(value, Constant) else value
    return value if isinstance(value, int) else None


def _is_single(member: EnumMember) -> bool:
    bits = _bits(member)
    return bits is not None and bits > 0 and bits & (bits - 1) == 0


def with_bits(machine: Machine, cls: ClassValue, bits: int) -> EnumMember:
    """The member of a Flag class with these bits: one that has a name, or what several are combined to."""
    known = list((named(machine, cls) or {}).values())
    for member in known:
        if _bits(member) == bits:
            return member
    parts = [member.name for member in known if _is_single(member) and (_bits(member) or 0) & bits]
    return EnumMember(cls, "|".join(dict.fromkeys(parts)), Constant(bits))


def own_missing(machine: Machine, cls: ClassValue) -> Value | None:
    """`_missing_` where it is written in source; what may be one of a base that is not known."""
    for base in machine.mro(cls):
        if isinstance(base, Unknown):
            return base
        found = classes.own_attribute(machine, base, "_missing_") if isinstance(base, ClassValue) else None
        if found is not None:
            return found
    return None


def of_bits(machine: Machine, cls: ClassValue, bits: int) -> Value:
    """What a call of a Flag class gives for a number that no member has; a Flag that is no number takes no other bits
    than its members have.

    Raises:
        Raised: ValueError.
    """
    if not _is_number(machine, cls):
        mask = 0
        for member in (named(machine, cls) or {}).values():
            mask |= _bits(member) or 0
        item = machine.state.read(cls.address)
        assert isinstance(item, ClassObject)
        if bits < 0 or unsure(machine, cls) is not None or (item.definition and item.definition.node.keywords):
            machine.may_fail("ValueError")
            return machine.unknown("which bits a Flag class takes is not known")
        if bits & ~mask:
            raise machine.raises("ValueError", f"{bits} is not a valid {classes.short_name(cls)}")
    return with_bits(machine, cls, bits)


def combined(machine: Machine, symbol: str, left: Value, right: Value) -> Value | None:
    """`left | right` and kin of flags; None where neither is one."""
    owner = next((each for each in (left, right) if isinstance(each, EnumMember) and is_flag(machine, each.cls)), None)
    if owner is None or symbol not in _COMBINE:
        return None
    for other in (left, right):
        same = isinstance(other, EnumMember) and other.cls == owner.cls
        is_number = isinstance(other, Constant) or (isinstance(other, EnumMember) and _is_number(machine, other.cls))
        if not same and not (is_number and _is_number(machine, owner.cls)):
            return None
    first, second = _bits(left), _bits(right)
    if first is None or second is None:
        return machine.unknown("the value of a flag is not known", left, right)
    if own_missing(machine, owner.cls) is not None:
        return machine.unknown(
            "what flags with a `_missing_` of their own are combined to is not followed", left, right
        )
    return with_bits(machine, owner.cls, _COMBINE[symbol](first, second))


def _is_number(machine: Machine, cls: ClassValue) -> bool:
    return KnownClass("builtins.int") in machine.mro(cls)


def inverted(machine: Machine, value: Value) -> Value | None:
    """`~value` of a flag; None for another value."""
    if not isinstance(value, EnumMember) or not is_flag(machine, value.cls):
        return None
    bits = _bits(value)
    if bits is None or _is_number(machine, value.cls):
        return machine.unknown("the bits that a flag leaves are not modelled")
    every = 0
    for member in (named(machine, value.cls) or {}).values():
        every |= (_bits(member) or 0) if _is_single(member) else 0
    return with_bits(machine, value.cls, every & ~bits)


_HELD = "__contains__"


def holds(machine: Machine, container: Value, item: Value) -> bool | None:
    """`item in container` of two flags of a class; None where the container is none, or says so itself.

    Raises:
        Raised: TypeError, where the item is another thing.
    """
    if not isinstance(container, EnumMember) or not is_flag(machine, container.cls):
        return None
    if isinstance(item, (Unknown, Choice)) or isinstance(machine.class_attribute(container.cls, _HELD), FunctionValue):
        return None
    if not isinstance(item, EnumMember) or container.cls != item.cls:
        short = classes.short_name(container.cls)
        raise machine.raises("TypeError", f"what `in` looks for in a {short} is to be a {short}")
    inner, outer = _bits(item), _bits(container)
    return inner & outer == inner if inner is not None and outer is not None else None


def parts(machine: Machine, value: Value) -> list[Value] | None:
    """The single flags that a flag is made of; None for another value."""
    if not isinstance(value, EnumMember) or not is_flag(machine, value.cls):
        return None
    bits = _bits(value)
    known = members(machine, value.cls) or []
    return None if bits is None else [each for each in known if (_bits(each) or 0) & bits == _bits(each) != 0]


def number_of_flags(machine: Machine, value: EnumMember) -> int | Unknown | None:
    """len() of a flag, which Python has from 3.11 on; None of another member."""
    if not is_flag(machine, value.cls) or machine.class_attribute(value.cls, "__len__") is not None:
        return None
    bits = _bits(value) if sys.version_info[:2] != (3, 10) else None
    if bits is None or bits < 0:
        return machine.unknown("how many flags it is made of is not known")
    return bits.bit_count()


# ---- enum.Enum("Name", "A B C") --------------------------------------------------------------------------------------


@models(*_BASES)
def made_by_call(arguments: Arguments, machine: Machine) -> Value:
    """A class whose members are given as text, as a sequence of names or pairs, or as a mapping."""
    return made_of_names(machine, KnownClass(arguments.function), arguments)


def names_members(machine: Machine, cls: ClassValue, arguments: Arguments) -> bool:
    """The call of an Enum class with source makes a class derived from it: it has no members, and is given names."""
    given = arguments.get(1, "names", NONE)
    return given != NONE and not named(machine, cls)


def made_of_names(machine: Machine, base: Value, arguments: Arguments) -> Value:
    """`Base("Name", names)`: a class derived from an Enum class that has no members."""
    title, given = arguments.get(0, "value", NONE), arguments.get(1, "names", NONE)
    pairs = _pairs(machine, given)
    if not isinstance(title, Constant) or isinstance(pairs, Unknown) or set(arguments.keywords) - _TOLD:
        return machine.unknown("the members of an Enum class are not known", title, given)
    module = machine.frames[-1].module if machine.frames else ""
    cls = machine.make_class(f"{module}.{title.value}", (base,))
    before: list[EnumMember] = []
    for name, value in pairs:
        value = value or _next_value(machine, cls, name, before)
        member = as_member(machine, cls, name, value)
        machine.state.change(cls.address, ClassObject).namespace[name] = member
        before.append(own_member(member, name) or EnumMember(cls, name, value))
    return cls


_TOLD = {"value", "names", "module", "qualname"}
"""Keywords of such a call that are followed, or change no member."""


def _pairs(machine: Machine, given: Value) -> list[tuple[str, Value | None]] | Unknown:
    """The names with their values, as far as these are given."""
    mapping = machine.state.find(given, DictObject)
    if mapping is not None and mapping.open is None:
        items: list[Value] | Unknown = [TupleValue(pair) for pair in mapping.entries.items()]
    elif isinstance(given, Constant) and isinstance(given.value, str):
        items = [Constant(name) for name in given.value.replace(",", " ").split()]
    else:
        items = machine.iterate(given) if not isinstance(given, Constant) else machine.unknown("no names are given")
    if isinstance(items, Unknown):
        return items
    found: list[tuple[str, Value | None]] = []
    for item in items:
        name, value = item.items if isinstance(item, TupleValue) and len(item.items) == 2 else (item, None)
        if not isinstance(name, Constant) or not isinstance(name.value, str):
            return machine.unknown("a name of an Enum class is not known", name)
        found.append((name.value, value))
    return found
