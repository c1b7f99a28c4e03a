"""enumerate, zip, map, filter, which take no item before they are asked for one; any and all, which stop early."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from modgraph.names import last_name
from modgraph.prediction.code import raising
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import IteratorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.suspended import Lost, Steps
from modgraph.prediction.domain.values import NONE, Address, Choice, Constant, TupleValue, Unknown, Value
from modgraph.prediction.knowledge.stdlib import sorting
from modgraph.prediction.python import unordered
from modgraph.prediction.python.comparison import in_turn
from modgraph.prediction.python.plain import number_unknown
from modgraph.prediction.python.producing import (
    Suspended,
    can_go_on,
    close,
    drain,
    drain_maybe,
    ended,
    go_on,
    has_begun,
    iterator_of,
    made_by,
    rows,
    stopped,
    take,
    walked,
)


@models("builtins.enumerate")
def enumerated(arguments: Arguments, machine: Machine) -> Value:
    start = arguments.get(1, "start", Constant(0))
    if not isinstance(start, Constant):
        return machine.unknown("where the counting starts is not known", start)

    def steps(columns: list[Address]) -> Steps:
        number = start.value
        while (item := take(machine, columns[0])) is not None:
            yield TupleValue((Constant(number), item))
            number += 1
        return ended(machine, columns[0])

    return made_by(machine, steps, [arguments.get(0, "iterable", NONE)])


@models("builtins.zip")
def zipped(arguments: Arguments, machine: Machine) -> Value:
    """As long as the shortest; with `strict=True` different lengths are a ValueError."""
    if arguments.open is not None:
        return machine.allocate(IteratorObject([], 0, arguments.open))
    strict = machine.truth(arguments.keywords.get("strict", NONE)) is True

    def steps(columns: list[Address]) -> Steps:
        why = yield from _of_each_row(machine, columns, TupleValue)
        if strict and why is None and any(take(machine, column) is not None for column in columns):
            raise machine.raises("ValueError", "zip() arguments have different lengths")
        return why

    return made_by(machine, steps, arguments.positional)


def _of_each_row(machine: Machine, columns: list[Address], make: Callable[[tuple[Value, ...]], Value]) -> Steps:
    """What is made of each row, one item of every column; then why there may be more."""
    found = rows(machine, columns)
    while True:
        try:
            row = next(found)
        except StopIteration as stop:
            why: Unknown | None = stop.value
            return why
        yield make(row)


@models("builtins.map")
def mapped(arguments: Arguments, machine: Machine) -> Value:
    function, *iterables = arguments.positional

    def steps(columns: list[Address]) -> Steps:
        why = yield from _of_each_row(machine, columns, lambda row: machine.call(function, row))
        if why is not None:  # what it does to others, it may do for the items that are not known
            yield Lost(why)
            yield machine.call(function, (why,) * len(columns))
        return None

    return _over(machine, steps, iterables, function)


def _over(
    machine: Machine, steps: Callable[[list[Address]], Steps], iterables: Sequence[Value], function: Value
) -> Address:
    """What `steps` makes of the iterables; of a set that has no known order, in whatever order."""
    if len(iterables) != 1 or not unordered.is_one(machine, iterables[0]):
        return made_by(machine, steps, iterables, function)

    def found(machine: Machine) -> list[Value] | None:
        elements = unordered.elements(machine, iterables[0])

        def run() -> list[Value] | None:
            made, why = drain(machine, made_by(machine, steps, [TupleValue(tuple(elements or ()))], function))
            return made if why is None else None

        return unordered.apart(machine, run) if elements is not None else None

    def start() -> tuple[Steps, None]:
        return steps([iterator_of(machine, iterables[0])]), None

    return unordered.iterator(machine, found, Suspended(start, (*iterables, function)))


@models("builtins.filter")
def filtered(arguments: Arguments, machine: Machine) -> Value:
    function, iterable = arguments.positional

    def steps(columns: list[Address]) -> Steps:
        for item in walked(machine, columns[0]):
            if isinstance(item, Lost):
                yield item
                continue
            verdict = sorting.made_by(machine, function, item)
            keeps = machine.truth(verdict)
            if keeps is None:
                yield Lost(machine.unknown("what a filter keeps is not known", verdict))
            if keeps is not False:
                yield item
        return None

    return _over(machine, steps, [iterable], function)


@models("builtins.generator.send")
def send(arguments: Arguments, machine: Machine) -> Value:
    """What is sent is what the `yield` is worth at which the code goes on."""
    generator, *given = arguments.positional
    if len(given) != 1 or not isinstance(generator, Address) or not (given == [NONE] or can_go_on(machine, generator)):
        return _not_followed(machine, arguments)
    item = go_on(machine, generator, sent=given[0]) if given != [NONE] else take(machine, generator)
    return _or_stopped(machine, generator, item)


@models("builtins.generator.throw")
def throw(arguments: Arguments, machine: Machine) -> Value:
    """What is thrown is raised at the `yield` at which the code goes on; before its first statement, by the call."""
    generator, *given = arguments.positional
    if len(given) != 1 or isinstance(given[0], (Unknown, Choice)) or not isinstance(generator, Address):
        return _not_followed(machine, arguments)
    if not can_go_on(machine, generator):
        return _not_followed(machine, arguments)
    if not has_begun(machine, generator):
        close(machine, generator)
        raise raising.raised_from(machine, given[0])
    return _or_stopped(machine, generator, go_on(machine, generator, thrown=given[0]))


def _not_followed(machine: Machine, arguments: Arguments) -> Unknown:
    why = machine.unknown(f"{arguments.function} is not followed", *arguments.positional[1:])
    machine.expose(arguments.positional, why)
    machine.may_fail()
    return why


def _or_stopped(machine: Machine, generator: Address, item: Value | None) -> Value:
    if item is None and ended(machine, generator) is None:
        raise stopped(machine, generator)
    return item or ended(machine, generator) or NONE


@models("builtins.generator.close")
def close_generator(arguments: Arguments, machine: Machine) -> Value:
    generator = arguments.positional[0]
    assert isinstance(generator, Address)
    close(machine, generator)
    return NONE


@models("builtins.any", "builtins.all")
def quantified(arguments: Arguments, machine: Machine) -> Value:
    name = last_name(arguments.function)
    decisive, given = name == "any", arguments.positional[0]
    items: list[Value] | Unknown | None = unordered.elements(machine, given)
    if items is None and isinstance(given, Address) and machine.state.find(given, IteratorObject) is not None:
        return _quantified_in_turn(machine, given, name, decisive)
    items = machine.iterate(given) if items is None else items
    if isinstance(items, Unknown):
        return number_unknown(machine, f"{name} of something not known", items)
    found = in_turn(
        machine,
        items,
        machine.truth,
        decisive,
        lambda each: isinstance(each, Address),
        "depends on whether an item is true",
    )
    return number_unknown(machine, f"{name} of something not known", *items) if found is None else Constant(found)


def _ends(truth: bool | None, decisive: bool) -> bool | None:
    return None if truth is None else truth is decisive


def _quantified_in_turn(machine: Machine, iterator: Address, name: str, decisive: bool) -> Value:
    """Takes no more than it needs: what makes the items may do other things too."""
    while (item := take(machine, iterator)) is not None:
        truth = machine.truth(item)
        if truth is None:
            rest = drain_maybe(machine, iterator, item, lambda each: _ends(machine.truth(each), decisive))
            if any(machine.truth(each) is decisive for each in rest):
                return Constant(decisive)
            return number_unknown(machine, f"{name} of something not known", item)
        if truth is decisive:
            return Constant(decisive)
    why = ended(machine, iterator)
    return Constant(not decisive) if why is None else number_unknown(machine, f"{name} of something not known", why)
