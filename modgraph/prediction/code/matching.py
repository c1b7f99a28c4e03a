"""`match`: patterns decided one by one; a pattern that cannot be decided parts the paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modgraph.prediction.code import control, names
from modgraph.prediction.domain.conditions_told import all_of
from modgraph.prediction.domain.frames import Frame, Outcome
from modgraph.prediction.domain.objects import DictObject, ListObject
from modgraph.prediction.domain.values import (
    NONE,
    Address,
    Choice,
    ClassValue,
    Constant,
    KnownClass,
    TupleValue,
    Unknown,
    Value,
    is_optional,
)
from modgraph.prediction.paths import assuming
from modgraph.prediction.python import attributes, keys, node_text
from modgraph.source import nodes

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


def execute_match(machine: Machine, frame: Frame, node: nodes.Match) -> Outcome:
    subject = machine.evaluate(frame, node.subject)
    if not isinstance(subject, Choice):
        return _cases(machine, frame, node, subject, 0)
    since = machine.base.next_index
    ways: list[_Way] = [_going_on(machine, frame, node, each, 0) for each in subject.alternatives]
    paths = [(machine.state.fork(), way) for way in ways[1:]]
    paths.insert(0, (machine.state, ways[0]))
    return control.run_paths(machine, frame, paths, subject.reason, since)


_WHICH = "depends on which `case` matches"
_Way = Callable[[], Outcome]
Captures = dict[str, Value]
"""What a pattern binds: only where all of it has matched."""


def _cases(machine: Machine, frame: Frame, node: nodes.Match, subject: Value, position: int) -> Outcome:
    while position < len(node.cases):
        frame.statement = case = node.cases[position]
        position += 1
        captures: Captures = {}
        test = _test_of(node, case.pattern) if machine.is_recording else ""
        matched = _told(machine, frame, test, matches(machine, frame, case.pattern, subject, captures))
        if matched is False:
            continue
        if matched is True:
            _bind(machine, frame, captures)
            guard = _guarded(machine, frame, case)
            if guard is True:
                return machine.execute(frame, case.body)
            if guard is False:
                continue
        return _fork(machine, frame, _Case(node, subject, position, captures, matched, test))
    return "normal"


@dataclass(frozen=True, slots=True)
class _Case:
    """A case that may be taken."""

    node: nodes.Match
    subject: Value
    position: int
    """Of the next one."""
    captures: Captures
    matched: bool | None
    test: str
    """Whether its pattern matches, in Python; empty where it cannot be said."""


def _fork(machine: Machine, frame: Frame, it: _Case) -> Outcome:
    case = it.node.cases[it.position - 1]
    since = machine.base.next_index
    rest = _going_on(machine, frame, it.node, it.subject, it.position)
    found = {} if it.matched else _all_captured(machine, case, it.captures)
    not_taken = _perhaps_binding(machine, frame, found, rest) if found and case.guard is not None else rest
    paths: list[control.Path] = [(machine.state.fork(), not_taken)]
    if machine.is_recording:
        _assume(machine, frame, paths, it, case)
    taken = _taking(machine, frame, case, rest) if it.matched is None else _running(machine, frame, case)
    paths.insert(0, (machine.state, _binding(machine, frame, found, taken)))
    return control.run_paths(machine, frame, paths, _WHICH, since)


def _assume(machine: Machine, frame: Frame, others: Sequence[control.Path], it: _Case, case: nodes.MatchCase) -> None:
    """On the path on which the case is taken, and on the others, that it is taken or not. Where no test says so, what
    comes depends on that all the same, whatever the tests of later cases are."""
    guard = "" if case.guard is None else node_text.condition_of(case.guard)
    if it.matched:
        assuming.assume(machine, frame, machine.state, guard, True)
    elif it.test:
        assuming.assume(machine, frame, machine.state, it.test, True)
    else:
        for state, is_taken in ((machine.state, True), *((state, False) for state, _ in others)):
            assuming.assume_unsaid(machine, state, _WHICH, is_taken)
    if it.matched or it.test:
        whole = all_of([each for each in ("" if it.matched else it.test, guard) if each])
        for state, _ in others:
            assuming.assume(machine, frame, state, whole, False)


def _told(machine: Machine, frame: Frame, test: str, matched: bool | None) -> bool | None:
    return assuming.told(machine, frame, test, NONE, matched) if test else matched


def _test_of(node: nodes.Match, pattern: nodes.Pattern) -> str:
    """That the pattern matches, in Python; empty where more than an operator is needed to say so."""
    subject = node.subject
    while isinstance(subject, nodes.Attribute):
        subject = subject.value
    if not isinstance(subject, nodes.Name):
        return ""
    name = node_text.condition_of(node.subject)
    if isinstance(pattern, nodes.MatchSingleton):
        return f"{name} is {node_text.condition_of(pattern.value)}"
    values = pattern.patterns if isinstance(pattern, nodes.MatchOr) else (pattern,)
    texts = [node_text.condition_of(each.value) for each in values if isinstance(each, nodes.MatchValue)]
    if len(texts) != len(values):
        return ""
    return f"{name} == {texts[0]}" if len(texts) == 1 else f"{name} in ({', '.join(texts)})"


def _going_on(machine: Machine, frame: Frame, node: nodes.Match, subject: Value, position: int) -> _Way:
    return lambda: _cases(machine, frame, node, subject, position)


def _running(machine: Machine, frame: Frame, case: nodes.MatchCase) -> _Way:
    return lambda: machine.execute(frame, case.body)


def _taking(machine: Machine, frame: Frame, case: nodes.MatchCase, rest: _Way) -> _Way:
    """A pattern that may match is taken to: what then its guard says."""

    def take() -> Outcome:
        guard = _guarded(machine, frame, case)
        if guard is False:
            return rest()
        if guard is None and machine.is_recording and case.guard is not None:
            assuming.assume(machine, frame, machine.state, node_text.condition_of(case.guard), True)
        return machine.execute(frame, case.body)

    return take


def _binding(machine: Machine, frame: Frame, captures: Captures, then: _Way) -> _Way:
    def bind() -> Outcome:
        _bind(machine, frame, captures)
        return then()

    return bind


def _perhaps_binding(machine: Machine, frame: Frame, captures: Captures, then: _Way) -> _Way:
    """Where a case is not taken, its pattern has matched and bound, and the guard is false, or has not."""

    def bind() -> Outcome:
        since, without = machine.base.next_index, machine.state
        machine.state = without.fork()
        _bind(machine, frame, captures)
        machine.state = control.join_states([without, machine.state], _WHICH, machine.where, since)
        return then()

    return bind


def _guarded(machine: Machine, frame: Frame, case: nodes.MatchCase) -> bool | None:
    if case.guard is None:
        return True
    value = machine.test(frame, case.guard)
    truth = machine.truth(value)
    if machine.is_recording:
        truth = assuming.told(machine, frame, node_text.condition_of(case.guard), value, truth)
    return truth


def _bind(machine: Machine, frame: Frame, captures: Captures) -> None:
    for name, value in captures.items():
        names.bind(machine, frame, name, value)


def _all_captured(machine: Machine, case: nodes.MatchCase, captures: Captures) -> Captures:
    """Every name that the pattern binds, where it is not known whether, and so not always to what, it matches."""
    found = dict(captures)
    for node in nodes.walk(case.pattern):
        if isinstance(node, (nodes.MatchAs, nodes.MatchStar)) and node.name is not None:
            found.setdefault(node.name, machine.unknown("what a pattern captures is not known"))
        elif isinstance(node, nodes.MatchMapping) and node.rest is not None:
            found.setdefault(node.rest, machine.unknown("what a pattern captures is not known"))
    return found


def matches(machine: Machine, frame: Frame, pattern: nodes.Pattern, subject: Value, captures: Captures) -> bool | None:
    """Whether the pattern matches; adds what it captures, also where it does not match in the end."""
    if isinstance(pattern, nodes.MatchAs):
        matched: bool | None = True
        if pattern.pattern is not None:
            matched = matches(machine, frame, pattern.pattern, subject, captures)
        if matched is not False and pattern.name is not None:
            captures[pattern.name] = subject
        return matched
    if isinstance(pattern, nodes.MatchOr):
        return _either(machine, frame, pattern, subject, captures)
    if isinstance(subject, Choice) and isinstance(pattern, _LOOKING_INSIDE):
        return _of_several(machine, frame, pattern, subject, captures)
    if isinstance(pattern, nodes.MatchValue):
        return machine.equal(subject, machine.evaluate(frame, pattern.value))
    if isinstance(pattern, nodes.MatchSingleton):
        return machine.truth(machine.compare("is", subject, machine.evaluate(frame, pattern.value)))
    if isinstance(pattern, nodes.MatchSequence):
        return _sequence(machine, frame, pattern, subject, captures)
    if isinstance(pattern, nodes.MatchMapping):
        return _mapping(machine, frame, pattern, subject, captures)
    if isinstance(pattern, nodes.MatchClass):
        return _class(machine, frame, pattern, subject, captures)
    return None


def _either(machine: Machine, frame: Frame, pattern: nodes.MatchOr, subject: Value, captures: Captures) -> bool | None:
    """The first alternative that matches captures, and no other."""
    possible: list[Captures] = []
    certain = False
    for element in pattern.patterns:
        own: Captures = {}
        matched = matches(machine, frame, element, subject, own)
        if matched is not False:
            possible.append(own)
        if matched:
            certain = True
            break
    for name in {name for own in possible for name in own}:
        values = [own[name] for own in possible if name in own]
        several = len(possible) > 1
        captures[name] = machine.choice(values, "depends on which pattern matches") if several else values[0]
    return True if certain else (None if possible else False)


_LOOKING_INSIDE = (nodes.MatchSequence, nodes.MatchMapping, nodes.MatchClass)
"""Patterns that ask what the subject holds."""


def _of_several(
    machine: Machine, frame: Frame, pattern: nodes.Pattern, subject: Choice, captures: Captures
) -> bool | None:
    """One of several subjects, which of them is not known: where the pattern matches, it captures of one that fits."""
    possible: list[Captures] = []
    results: list[bool | None] = []
    for each in subject.alternatives:
        own: Captures = {}
        results.append(matches(machine, frame, pattern, each, own))
        if results[-1] is not False:
            possible.append(own)
    for name in dict.fromkeys(name for own in possible for name in own):
        if all(name in own for own in possible):
            captures[name] = machine.choice([own[name] for own in possible], subject.reason)
    return results[0] if len(set(results)) == 1 else None


def _all(results: list[bool | None]) -> bool | None:
    return False if False in results else (None if None in results else True)


def _sequence(
    machine: Machine, frame: Frame, pattern: nodes.MatchSequence, subject: Value, captures: Captures
) -> bool | None:
    if isinstance(subject, Unknown):
        return None
    is_range = isinstance(subject, Constant) and isinstance(subject.value, range)
    if not (is_range or isinstance(subject, TupleValue)) and machine.state.find(subject, ListObject) is None:
        return _is_of(machine, subject, "collections.abc.Sequence")
    found = machine.iterate(subject)
    if isinstance(found, Unknown):
        return None
    stars = [place for place, element in enumerate(pattern.patterns) if isinstance(element, nodes.MatchStar)]
    fixed = len(pattern.patterns) - len(stars)
    if len(found) < fixed or (not stars and len(found) != fixed):
        return False
    results: list[bool | None] = []
    place = 0
    for element in pattern.patterns:
        if isinstance(element, nodes.MatchStar):
            taken = found[place : place + len(found) - fixed]
            place += len(taken)
            if element.name is not None:
                captures[element.name] = machine.allocate(ListObject(list(taken)))
        else:
            results.append(matches(machine, frame, element, found[place], captures))
            place += 1
    return _all(results)


def _is_of(machine: Machine, subject: Value, cls: str) -> bool | None:
    """What has its own way to hold items: not known where it may be of that class, False where it is not."""
    if isinstance(subject, Address) and machine.is_instance(subject, KnownClass(cls)) is not False:
        return None
    return False


def _mapping(
    machine: Machine, frame: Frame, pattern: nodes.MatchMapping, subject: Value, captures: Captures
) -> bool | None:
    mapping = machine.state.find(subject, DictObject)
    if mapping is None:
        return None if isinstance(subject, Unknown) else _is_of(machine, subject, "collections.abc.Mapping")
    results: list[bool | None] = []
    used: list[Value] = []
    for element in pattern.elements:
        key = machine.evaluate(frame, element.key)
        used.append(key)
        value = keys.find_entry(machine, mapping, key)
        if value is None:
            return None if mapping.open is not None else False
        if is_optional(value):
            results.append(None)
        results.append(matches(machine, frame, element.pattern, value, captures))
    if pattern.rest is not None:
        rest = {key: value for key, value in mapping.entries.items() if key not in used}
        captures[pattern.rest] = machine.allocate(DictObject(rest, mapping.open))
    return _all(results)


def _class(
    machine: Machine, frame: Frame, pattern: nodes.MatchClass, subject: Value, captures: Captures
) -> bool | None:
    cls = machine.evaluate(frame, pattern.cls)
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
            results.append(matches(machine, frame, pattern.patterns[0], subject, captures))
    if len(arguments) < len(pattern.patterns) and isinstance(cls, ClassValue):
        return None  # what generates its `__match_args__` is not followed
    for name, element in zip(arguments, pattern.patterns, strict=False):
        results.append(_attribute(machine, frame, name, element, subject, captures))
    results += [_attribute(machine, frame, kwd.key, kwd.pattern, subject, captures) for kwd in pattern.kwds]
    return _all(results)


def _attribute(
    machine: Machine, frame: Frame, name: str, pattern: nodes.Pattern, subject: Value, captures: Captures
) -> bool | None:
    value = attributes.found(machine, subject, name)
    if value is None:
        return False
    return matches(machine, frame, pattern, value, captures)
