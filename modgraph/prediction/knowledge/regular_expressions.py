"""re, applied where pattern and text are known."""

from __future__ import annotations

import re

from modgraph.prediction.knowledge.plain import folded, lifted, number_unknown, plain
from modgraph.prediction.knowledge.registry import Arguments, Machine, known_class, models
from modgraph.prediction.values import NONE, Constant, InstanceObject, KnownClass, TupleValue, Value


@models("re.sub", "re.split", "re.findall", "re.escape")
def regular_expression(arguments: Arguments, machine: Machine) -> Value:
    return folded(getattr(re, arguments.function.rpartition(".")[2]), arguments.function)(arguments, machine)


@models("re.match", "re.search", "re.fullmatch")
def matches(arguments: Arguments, machine: Machine) -> Value:
    """None where nothing matches; else the groups, behind `group` and `groups`."""
    given = [plain(machine, value) for value in arguments.positional]
    if any(found is None for found in given):
        return machine.unknown("a match of something not known", *arguments.positional)
    function = getattr(re, arguments.function.rpartition(".")[2])
    match = function(*(found[0] for found in given if found is not None))
    if match is None:
        return NONE
    groups = lifted(machine, (match.group(0), *match.groups()))
    return machine.allocate(InstanceObject(KnownClass("re.Match"), {"_groups": groups}))


known_class("re.Match")


@models("re.Match.group", "re.Match.groups", "re.Match.__getitem__")
def match_group(arguments: Arguments, machine: Machine) -> Value:
    match = machine.state.find(arguments.positional[0], InstanceObject)
    groups = match.attributes["_groups"] if match is not None else NONE
    if not isinstance(groups, TupleValue):
        return machine.unknown("a match is not known")
    if arguments.function.endswith("groups"):
        return TupleValue(groups.items[1:])
    wanted = arguments.get(1, "group", Constant(0))
    if isinstance(wanted, Constant) and isinstance(wanted.value, int) and wanted.value < len(groups.items):
        return groups.items[wanted.value]
    return number_unknown(machine, "a named group is not interpreted")
