"""`match`: patterns decided one by one; a pattern that cannot be decided parts the paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from modgraph.prediction import control, expressions, items, names, statements
from modgraph.prediction.frames import Frame, Outcome
from modgraph.prediction.objects import DictObject, ListObject
from modgraph.prediction.values import NONE, ClassValue, Constant, KnownClass, TupleValue, Unknown, Value

if TYPE_CHECKING:
    from modgraph.prediction.machine import Interpreter


def execute_match(machine: Interpreter, frame: Frame, node: cst.Match) -> Outcome:
    subject = expressions.evaluate(machine, frame, node.subject)
    return _cases(machine, frame, node, subject, 0)


def _cases(machine: Interpreter, frame: Frame, node: cst.Match, subject: Value, position: int) -> Outcome:
    while position < len(node.cases):
        case = node.cases[position]
        position += 1
        matched = matches(machine, frame, case.pattern, subject)
        if matched is not False and case.guard is not None:
            guard = machine.truth(expressions.evaluate(machine, frame, case.guard))
            matched = False if guard is False else (matched if guard else None)
        if matched is True:
            return statements.run_block(machine, frame, case.body)
        if matched is None:
            since = machine.base.next_index
            other = machine.state.fork()
            rest = position
            paths: list[control.Path] = [
                (machine.state, lambda body=case.body: statements.run_block(machine, frame, body)),  # type: ignore[misc]
                (other, lambda rest=rest: _cases(machine, frame, node, subject, rest)),  # type: ignore[misc]
            ]
            return control.run_paths(machine, frame, paths, "depends on which `case` matches", since)
    return "normal"


def matches(machine: Interpreter, frame: Frame, pattern: cst.MatchPattern, subject: Value) -> bool | None:
    """Whether the pattern matches; binds its names where it may."""
    if isinstance(pattern, cst.MatchAs):
        matched: bool | None = True
        if pattern.pattern is not None:
            matched = matches(machine, frame, pattern.pattern, subject)
        if matched is not False and pattern.name is not None:
            names.bind(machine, frame, pattern.name.value, subject)
        return matched
    if isinstance(pattern, cst.MatchOr):
        results = [matches(machine, frame, element.pattern, subject) for element in pattern.patterns]
        return True if True in results else (None if None in results else False)
    if isinstance(pattern, cst.MatchValue):
        return machine.equal(subject, expressions.evaluate(machine, frame, pattern.value))
    if isinstance(pattern, cst.MatchSingleton):
        return machine.truth(machine.compare("is", subject, expressions.evaluate(machine, frame, pattern.value)))
    if isinstance(pattern, cst.MatchSequence):
        return _sequence(machine, frame, pattern, subject)
    if isinstance(pattern, cst.MatchMapping):
        return _mapping(machine, frame, pattern, subject)
    if isinstance(pattern, cst.MatchClass):
        return _class(machine, frame, pattern, subject)
    return None


def _all(results: list[bool | None]) -> bool | None:
    return False if False in results else (None if None in results else True)


def _sequence(machine: Interpreter, frame: Frame, pattern: cst.MatchSequence, subject: Value) -> bool | None:
    if isinstance(subject, Unknown):
        return None
    if not isinstance(subject, TupleValue) and machine.state.find(subject, ListObject) is None:
        return False
    found = machine.iterate(subject)
    if isinstance(found, Unknown):
        return None
    stars = [place for place, element in enumerate(pattern.patterns) if isinstance(element, cst.MatchStar)]
    fixed = len(pattern.patterns) - len(stars)
    if len(found) < fixed or (not stars and len(found) != fixed):
        return False
    results: list[bool | None] = []
    place = 0
    for element in pattern.patterns:
        if isinstance(element, cst.MatchStar):
            taken = found[place : place + len(found) - fixed]
            place += len(taken)
            if element.name is not None:
                names.bind(machine, frame, element.name.value, machine.allocate(ListObject(list(taken))))
        else:
            results.append(matches(machine, frame, element.value, found[place]))
            place += 1
    return _all(results)


def _mapping(machine: Interpreter, frame: Frame, pattern: cst.MatchMapping, subject: Value) -> bool | None:
    mapping = machine.state.find(subject, DictObject)
    if mapping is None:
        return None if isinstance(subject, Unknown) else False
    results: list[bool | None] = []
    used: list[Value] = []
    for element in pattern.elements:
        key = expressions.evaluate(machine, frame, element.key)
        used.append(key)
        value = items.find_entry(machine, mapping, key)
        if value is None:
            return None if mapping.open is not None else False
        results.append(matches(machine, frame, element.pattern, value))
    if pattern.rest is not None:
        rest = {key: value for key, value in mapping.entries.items() if key not in used}
        names.bind(machine, frame, pattern.rest.value, machine.allocate(DictObject(rest, mapping.open)))
    return _all(results)


def _class(machine: Interpreter, frame: Frame, pattern: cst.MatchClass, subject: Value) -> bool | None:
    cls = expressions.evaluate(machine, frame, pattern.cls)
    matched = machine.is_instance(subject, cls)
    if matched is False:
        return False
    results: list[bool | None] = [matched]
    arguments: list[str] = []
    if pattern.patterns and isinstance(cls, (ClassValue, KnownClass)):
        declared = machine.class_attribute(cls, "__match_args__")
        if isinstance(declared, TupleValue):
            arguments = [item.value for item in declared.items if isinstance(item, Constant)]
        elif len(pattern.patterns) == 1 and isinstance(cls, KnownClass):
            results.append(matches(machine, frame, pattern.patterns[0].value, subject))
    for name, element in zip(arguments, pattern.patterns, strict=False):
        results.append(_attribute(machine, frame, name, element.value, subject))
    results += [_attribute(machine, frame, kwd.key.value, kwd.pattern, subject) for kwd in pattern.kwds]
    return _all(results)


def _attribute(machine: Interpreter, frame: Frame, name: str, pattern: cst.MatchPattern, subject: Value) -> bool | None:
    value = machine.find_attribute(subject, name)
    if value is None:
        return False
    return matches(machine, frame, pattern, value if value is not None else NONE)
