"""eval and exec of text that is known: read and interpreted where the call stands."""

from __future__ import annotations

import re
from dataclasses import replace

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.limits import MAX_EVALUATED_CHAIN, MAX_EVALUATED_DEPTH, MAX_EVALUATED_TEXT
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import VIEW_OF, DictObject, EnvironmentObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Choice, Constant, ModuleReference, Unknown, Value
from modgraph.prediction.python import items, weak_updates
from modgraph.source import nodes
from modgraph.source.parsed import Parsed
from modgraph.source.reached import Reached


@models("builtins.eval")
def evaluate(arguments: Arguments, machine: Machine) -> Value:
    found = _prepared(machine, arguments)
    if isinstance(found, Unknown):
        return replace(found, inert=False)  # unlike the text
    statement = found.statement
    if not isinstance(statement, nodes.Expr):
        raise machine.raises("SyntaxError", "invalid syntax")
    machine.frames.append(found)
    try:
        return machine.evaluate(found, statement.value)
    finally:
        machine.frames.pop()


@models("builtins.exec")
def execute(arguments: Arguments, machine: Machine) -> Value:
    text = arguments.get(0, "source", NONE)
    if isinstance(text, Choice):
        given = arguments.positional[1:]
        return machine.distribute(text, lambda each: execute(replace(arguments, positional=(each, *given)), machine))
    frame = _prepared(machine, arguments)
    if isinstance(frame, Unknown):
        top = machine.frames[-1]
        passed = [value for value in (*arguments.positional[1:], top.receiver) if value is not None]
        machine.expose(passed, frame)
        for module in _namespaces(machine, arguments, top):
            weak_updates.set_in_namespace(machine, module, frame, frame)
        return frame
    machine.frames.append(frame)
    try:
        machine.execute(frame, frame.parsed.statements)
    finally:
        machine.frames.pop()
    target = arguments.get(2, "locals", arguments.get(1, "globals", NONE))
    made = machine.state.read(frame.environment)
    if target != NONE and isinstance(made, EnvironmentObject):
        for name, value in list(made.names.items()):
            items.assign(machine, target, Constant(name), value)
    elif machine.frames[-1].is_of_module and isinstance(made, EnvironmentObject):
        machine.state.globals.update({(frame.module, name): value for name, value in made.names.items()})
    return NONE


def _namespaces(machine: Machine, arguments: Arguments, top: Frame) -> list[str]:
    """The modules whose names a text may bind."""
    if len(arguments.positional) < 2 and not arguments.keywords:
        return [top.module] if top.is_of_module else []
    held = [machine.state.find(each, DictObject) for each in (*arguments.positional, *arguments.keywords.values())]
    owners = [each.attributes.get(VIEW_OF) for each in held if each is not None]
    return [owner.name for owner in owners if isinstance(owner, ModuleReference)]


def _depth(text: str) -> int:
    """How many brackets, signs and words that take an expression of their own could stand inside each other at most."""
    deepest = depth = 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        deepest = max(deepest, depth)
    chains = re.findall(r"(?:[-+~]\s*|\bnot\b\s*|\blambda\b[^:]*:\s*){2,}", text)
    return deepest + max((len(re.findall(r"[-+~]|not|lambda", chain)) for chain in chains), default=0)


def _longest_chain(text: str) -> int:
    """How many operators could belong to one expression, each of which takes the result of the one before."""
    return max(len(_OPERATORS.findall(piece)) for piece in re.split(r"[\n,;]", text))


_OPERATORS = re.compile(r"[-+*/%@&|^<>~.\[({:'\"]|\b(?:and|or|not|if|in|is|for|lambda|await)\b")


def _prepared(machine: Machine, arguments: Arguments) -> Frame | Unknown:
    """A frame for the text: inside the one that calls, or with the names of the dicts it is given."""
    text = arguments.get(0, "source", NONE)
    if not isinstance(text, Constant) or not isinstance(text.value, str):
        return machine.unknown("the text that is evaluated is not known", text)
    if len(text.value) > MAX_EVALUATED_TEXT or _depth(text.value) > MAX_EVALUATED_DEPTH:
        return machine.unknown(
            Reached(f"a text of more than {MAX_EVALUATED_TEXT} characters, or {MAX_EVALUATED_DEPTH} levels")
        )
    if _longest_chain(text.value) > MAX_EVALUATED_CHAIN:
        return machine.unknown(Reached(f"a text in which more than {MAX_EVALUATED_CHAIN} operators follow each other"))
    machine.makes(100 * len(text.value) + _longest_chain(text.value) ** 2)  # what reading it takes, in words of memory
    outer, where = machine.frames[-1], machine.where
    try:
        parsed = Parsed(text.value.strip().split("\n"), where.line if where else 1, where.file if where else "")
    except nodes.NotParsedError as error:
        raise machine.raises("SyntaxError", str(error)) from None
    if not parsed.statements:
        return machine.unknown("the text that is evaluated is empty")
    environment = EnvironmentObject(parent=outer.environment)
    module = outer.module
    given = [arguments.get(place, name, NONE) for place, name in ((1, "globals"), (2, "locals"))]
    if given[0] != NONE:
        environment, module = EnvironmentObject(), ""
    for mapping in given:
        held = machine.state.find(mapping, DictObject) if mapping != NONE else None
        if mapping != NONE and (held is None or held.open is not None):
            return machine.unknown("the names that the text is given are not known", mapping)
        for key, value in held.entries.items() if held is not None else ():
            if isinstance(key, Constant):
                environment.names[str(key.value)] = value
    inside = given[0] == NONE
    return Frame(
        module,
        parsed,
        machine.allocate(environment),
        outer.function if inside else None,
        outer.receiver if inside else None,
        statement=parsed.statements[0],
    )
