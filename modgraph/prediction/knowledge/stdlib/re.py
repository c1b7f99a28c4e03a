"""re, applied where pattern and text are known."""

from __future__ import annotations

import re

from modgraph.names import last_name
from modgraph.prediction.code import file_effects
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import MAX_MATCHING_STEPS
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.registry import constant, known_class, models
from modgraph.prediction.domain.values import NONE, Constant, KnownClass, KnownFunction, TupleValue, Value
from modgraph.prediction.python import exceptions
from modgraph.prediction.python.bounds import matching_work, too_long_to_compile, too_long_to_match
from modgraph.prediction.python.plain import folded, lifted, number_unknown, plain
from modgraph.source.reached import Reached

_FLAGS_AT = {"match": 2, "search": 2, "fullmatch": 2, "findall": 2, "split": 3, "sub": 4}
"""Where the flags stand among the arguments of a function."""


def _refused(arguments: Arguments, machine: Machine, *, text_at: int = 1) -> Value | None:
    """An unknown where it is not known what is matched how, or where it could take too long: nothing can stop `re` once
    it has begun."""
    name = last_name(arguments.function)
    pattern, text = (plain(machine, value) for value in _pattern_and_text(arguments, text_at))
    flags = _flags(arguments.get(_FLAGS_AT[name], "flags", Constant(0)), machine)
    if pattern is None or text is None:
        return None
    if flags is None:
        return machine.unknown("flags that are not known, or print what a pattern is")
    if isinstance(pattern[0], str) and not too_long_to_compile(pattern[0]):
        _compiled(machine, pattern[0], flags)
    if too_long_to_match(pattern[0], text[0], flags):
        return machine.unknown(Reached(f"matching this could take more than {MAX_MATCHING_STEPS} steps"))
    if isinstance(pattern[0], str) and isinstance(text[0], str):
        machine.spend(matching_work(pattern[0], text[0], flags))
    return None


def _compiled(machine: Machine, pattern: str, flags: int) -> re.Pattern[str]:
    """Raises:
    Raised: the pattern is none, or the flags contradict each other.
    """
    try:
        return re.compile(pattern, flags)
    except Exception as error:  # what Python raises for these very arguments
        raise exceptions.as_python(machine, error) from None


def _flags(value: Value, machine: Machine) -> int | None:
    """What they are as a number; None of such as are not known, and of `re.DEBUG`, which prints."""
    found = plain(machine, value)
    known = found is not None and isinstance(found[0], int) and not found[0] & re.DEBUG
    return int(found[0]) if found is not None and known else None


def _pattern_and_text(arguments: Arguments, text_at: int) -> tuple[Value, Value]:
    return arguments.get(0, "pattern", NONE), arguments.get(text_at, "string", NONE)


@models("re.escape")
def escaped(arguments: Arguments, machine: Machine) -> Value:
    return folded(re.escape, "re.escape")(arguments, machine)


@models("re.sub", "re.split", "re.findall")
def regular_expression(arguments: Arguments, machine: Machine) -> Value:
    if arguments.function == "re.sub":
        file_effects.note_called(machine, arguments.get(1, "repl", NONE))
        machine.may_be_called([arguments.get(1, "repl", NONE)], machine.unknown("what re.sub calls is not followed"))
    refused = _refused(arguments, machine, text_at=2 if arguments.function == "re.sub" else 1)
    if refused is not None:
        return refused
    return folded(getattr(re, last_name(arguments.function)), arguments.function)(arguments, machine)


@models("re.match", "re.search", "re.fullmatch")
def matches(arguments: Arguments, machine: Machine) -> Value:
    """None where nothing matches; else the groups, behind `group` and `groups`."""
    given = [plain(machine, value) for value in arguments.positional]
    named = {name: plain(machine, value) for name, value in arguments.keywords.items()}
    if None in given or None in named.values() or arguments.open is not None:
        return machine.unknown("a match of something not known", *arguments.positional, *arguments.keywords.values())
    refused = _refused(arguments, machine)
    if refused is not None:
        return refused
    function = getattr(re, last_name(arguments.function))
    try:
        match = function(
            *(found[0] for found in given if found), **{name: found[0] for name, found in named.items() if found}
        )
    except Exception as error:  # what Python raises for these very arguments
        raise exceptions.as_python(machine, error) from None
    if match is None:
        return NONE
    groups = lifted(machine, (match.group(0), *match.groups()))
    names = lifted(machine, match.groupdict())
    return machine.allocate(InstanceObject(KnownClass("re.Match"), {"_groups": groups, "_names": names}))


@models("re.Match.groupdict")
def named_groups(arguments: Arguments, machine: Machine) -> Value:
    match = machine.state.find(arguments.positional[0], InstanceObject)
    return machine.unknown("a match is not known") if match is None else match.attributes["_names"]


for _flag, _number in re.RegexFlag.__members__.items():
    constant(f"re.{_flag}", Constant(int(_number)))
    constant(f"re.RegexFlag.{_flag}", Constant(int(_number)))
known_class("re.Match")
known_class("re.Pattern")


@models("re.compile")
def compiled(arguments: Arguments, machine: Machine) -> Value:
    """The pattern and its flags, to be applied by the functions of the module."""
    pattern, given = arguments.get(0, "pattern", NONE), arguments.get(1, "flags", Constant(0))
    flags = _flags(given, machine)
    if not isinstance(pattern, Constant) or flags is None:
        return machine.unknown("a pattern is not known", *arguments.positional)
    if isinstance(pattern.value, str) and not too_long_to_compile(pattern.value):
        machine.spend(matching_work(pattern.value, "", flags))
        given = Constant(int(_compiled(machine, pattern.value, flags).flags))
    return machine.allocate(InstanceObject(KnownClass("re.Pattern"), {"pattern": pattern, "flags": given}))


_POSITIONS_AT = {"match": 1, "search": 1, "fullmatch": 1, "findall": 1}
"""How many arguments stand before those that say where in the text to begin and to end."""


@models(*(f"re.Pattern.{name}" for name in ("match", "search", "fullmatch", "sub", "split", "findall")))
def by_pattern(arguments: Arguments, machine: Machine) -> Value:
    receiver, *given = arguments.positional
    item = machine.state.find(receiver, InstanceObject)
    assert item is not None
    name = last_name(arguments.function)
    if len(given) > _POSITIONS_AT.get(name, len(given)) or not arguments.keywords.keys().isdisjoint(("pos", "endpos")):
        return machine.unknown("a match in a part of a text is not followed")
    flags = item.attributes["flags"]
    keywords = dict(arguments.keywords) if flags == Constant(0) else {**arguments.keywords, "flags": flags}
    return machine.call(KnownFunction(f"re.{name}"), (item.attributes["pattern"], *given), keywords)


@models("re.Match.group", "re.Match.groups", "re.Match.__getitem__")
def match_group(arguments: Arguments, machine: Machine) -> Value:
    match = machine.state.find(arguments.positional[0], InstanceObject)
    groups = match.attributes["_groups"] if match is not None else NONE
    if not isinstance(groups, TupleValue):
        return machine.unknown("a match is not known")
    if arguments.function.endswith("groups"):
        default = arguments.get(1, "default", NONE)
        return TupleValue(tuple(default if each == NONE else each for each in groups.items[1:]))
    assert match is not None
    found = [_group(machine, match, groups, each) for each in arguments.positional[1:] or (Constant(0),)]
    return found[0] if len(found) == 1 else TupleValue(tuple(found))


def _group(machine: Machine, match: InstanceObject, groups: TupleValue, wanted: Value) -> Value:
    if isinstance(wanted, Constant) and isinstance(wanted.value, int):
        if not 0 <= wanted.value < len(groups.items):
            raise machine.raises("IndexError", "no such group")
        return groups.items[wanted.value]
    if isinstance(wanted, Constant) and isinstance(wanted.value, str):
        return machine.get_item(match.attributes["_names"], wanted)
    machine.may_refuse("IndexError")
    return number_unknown(machine, "a named group is not interpreted")
