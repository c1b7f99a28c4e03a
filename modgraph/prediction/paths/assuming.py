"""Tests of a run of `forward` that is followed: how they come out on a path, and what holds of the run there then."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from modgraph.prediction.domain.conditions_told import negated, plain
from modgraph.prediction.domain.events import Assume, Cell, facts_of
from modgraph.prediction.domain.objects import (
    EnvironmentObject,
    HeapObject,
    InstanceObject,
    ModuleObject,
    TensorObject,
)
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import Choice, Constant, Facts, Tests, Unknown, Value, are_possible, facts_in
from modgraph.source.quiet import python_tree

if TYPE_CHECKING:
    from modgraph.prediction.domain.frames import Frame
    from modgraph.prediction.domain.machine import Machine

_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_][\w.]*")
_UNSEEN = "?"
"""Behind the name of what holds something that is not known."""
_PLAIN = (bool, int, float, str, type(None))
_Of = tuple[tuple[str, Value, object], ...]
"""Of each name in a test: its value, and what else tells it from an earlier one."""


_moments = itertools.count()


def moment() -> str:
    """One test, made once: on each of the paths that part there, it has come out one way."""
    return f"#{next(_moments)}"


def assume(
    machine: Machine,
    frame: Frame,
    state: State,
    text: str,
    truth: bool,
    value: Value | None = None,
    *,
    at: str | None = None,
) -> None:
    """On the path that this state is on, a test that cannot be decided comes out this way.

    Args:
        frame: the code in which it stands.
        value: what the test has given.
        at: `moment()`, where the other path is told, too.
    """
    if not machine.is_recording:
        return
    _note(machine, text, truth)
    of = _asked_of(machine, frame, text)
    facts = _own_facts(machine, text, truth, of) | _facts_of_value(text, of, value, truth)
    if at is not None:
        facts |= {(at, truth)}
    asked = Assume(text, truth, machine.where, False, of, _is_later(machine, text, of), facts)
    state.events = Cell(state.events, asked)


def assume_unsaid(machine: Machine, state: State, reason: str, truth: bool) -> None:
    """On the path that this state is on, something comes out this way that no test in Python says.

    Args:
        reason: on what it depends, as what is done there tells it: "depends on ...".
    """
    if machine.is_recording:
        state.events = Cell(state.events, Assume(reason, truth, machine.where))


def told(machine: Machine, frame: Frame, text: str, value: Value, truth: bool | None) -> bool | None:
    """How a test comes out on the path that is run; None where nothing there has decided it.

    Args:
        frame: the code in which it stands.
        value: what the test has given.
        truth: as it is of any path.
    """
    if truth is None:
        truth = _known(machine, frame, text, value)
    if truth is not None and machine.came_out is not None:
        _note(machine, text, truth)
        _is_later(machine, text, _asked_of(machine, frame, text))
    return truth


def assume_again(machine: Machine, tests: Tests) -> None:
    """From here on, on the path that is run, what those tests had decided is given."""
    if machine.is_recording:
        for each in tests:
            again = Assume(each.text, each.truth, each.where, True, facts=each.facts)
            machine.state.events = Cell(machine.state.events, again)


def _known(machine: Machine, frame: Frame, text: str, value: Value) -> bool | None:
    """How a test comes out on the path that is run, where earlier ones have decided it."""
    facts = facts_of(machine.state.events)
    if not facts:
        return None
    of = _asked_of(machine, frame, text)
    for truth in (True, False):
        own = _own_facts(machine, text, truth, of)
        if own and own <= facts:
            return truth
    truths = {truth for tests, truth in _ways_of(text, of, value) if are_possible(facts | facts_in(tests))}
    return truths.pop() if len(truths) == 1 else None


def possible(machine: Machine, value: Choice) -> Sequence[int]:
    """Which of several values may be there on the path that is run; all, where nothing is known of that."""
    places = range(len(value.alternatives))
    if not value.when or not machine.is_recording:
        return places
    return _possible(value, facts_of(machine.state.events)) or places


def _possible(value: Choice, facts: Facts) -> list[int]:
    tests = map(value.tests_of, range(len(value.alternatives)))
    return [place for place, each in enumerate(tests) if are_possible(facts | facts_in(each))]


def _note(machine: Machine, text: str, truth: bool) -> None:
    """In a run that is the usual one; of a test that is not decided, it may have come out so."""
    if machine.came_out is not None:
        test = (text, machine.where)
        machine.came_out[test] = machine.came_out.get(test, frozenset()) | {truth}


# ---- what a test is of -----------------------------------------------------------------------------------------------


def _asked_of(machine: Machine, frame: Frame, text: str) -> _Of:
    """The values of the names in a test; of a tensor, how often it was written to, too. Two that are not known, and not
    one object, may be two."""
    found: list[tuple[str, Value, object]] = []
    for name in _names_in(text):
        first, *attributes = name.split(".")
        held = _holding(machine, frame, first)
        if held is None:  # a keyword, or a name from elsewhere
            continue
        value = held[1]
        for each in attributes:
            item = machine.state.find(value, HeapObject)
            inside = item.attributes.get(each) if isinstance(item, (InstanceObject, ModuleObject)) else None
            if inside is None:
                name = f"{first}{_UNSEEN}"  # no test of it is one of what holds it
                break
            value = inside
        tensor = machine.state.find(value, TensorObject)
        number = id(value) if isinstance(value, Unknown) else tensor.writes if tensor is not None else None
        found.append((name, value, number))
    return tuple(found)


def _holding(machine: Machine, frame: Frame, name: str) -> tuple[Frame, Value] | None:
    """Where that code finds the name, and what it stands for: a comprehension has names of its own, and sees those of
    the code around it; None where it is from elsewhere."""
    inner: Frame | None = frame
    while inner is not None:
        held = machine.state.find(inner.environment, EnvironmentObject)
        value = None if held is None else held.names.get(name)
        if value is not None:
            return inner, value
        inner = inner.around
    return None


def is_of_own_names(machine: Machine, frame: Frame, text: str) -> bool:
    """The test asks for names that this frame alone has bound, and not the code around it."""
    held = machine.state.find(frame.environment, EnvironmentObject)
    return held is not None and any(name.partition(".")[0] in held.names for name in _names_in(text))


@lru_cache(maxsize=4096)
def _names_in(text: str) -> tuple[str, ...]:
    return tuple(_NAME.findall(text))


def _is_later(machine: Machine, text: str, of: _Of) -> bool:
    """A test of that text was made before in the same call of a function, elsewhere and of something else."""
    if not machine.frames:
        return False
    where = machine.where
    first, place = machine.frames[-1].asked.setdefault(_either_way(text), (of, where))
    return first != of and place != where


@lru_cache(maxsize=4096)
def _either_way(text: str) -> frozenset[str]:
    return frozenset((plain(text), negated(text)))


# ---- what holds of a run ---------------------------------------------------------------------------------------------


def _own_facts(machine: Machine, text: str, truth: bool, of: _Of) -> Facts:
    """Of a test of nothing but the mode and literals: the question that it is."""
    names: dict[str, str] = {}
    if not any(_is_steady(machine, name, value) for name, value, _ in of):
        return frozenset()
    for name, value, _ in of:
        if _is_steady(machine, name, value):
            names[name] = f"_{id(value)}"
        elif isinstance(value, Constant) and type(value.value) in _PLAIN:
            names[name] = repr(value.value)
    question = _question(text, tuple(names.items()))
    if question is None:
        return frozenset()
    contrary = negated(question)
    return frozenset({(question, truth) if question < contrary else (contrary, not truth)})


def _is_steady(machine: Machine, name: str, value: Value) -> bool:
    """It is the mode. Arguments are not: what comes out of one that is not known is that same unknown, and something
    else, and what is put into one makes it true."""
    return machine.steady is not None and value is machine.steady and name.endswith(".training")


@lru_cache(maxsize=1024)
def _question(text: str, names: tuple[tuple[str, str], ...]) -> str | None:
    """The test with what its names stand for; None where it may come out otherwise when it is made again."""
    try:
        tree = python_tree(text, mode="eval").body
        return plain(ast.unparse(ast.fix_missing_locations(_Asking(dict(names)).visit(tree))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Asking(ast.NodeTransformer):
    """Puts values in the place of names.

    Raises:
        ValueError: something else stands in the test.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        known = (ast.BoolOp, ast.UnaryOp, ast.Compare, ast.Constant, ast.boolop, ast.unaryop, ast.cmpop)
        if not isinstance(node, known):
            raise ValueError
        return super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._value(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._value(ast.unparse(node))

    def _value(self, name: str) -> ast.AST:
        value = self.names.get(name)
        if value is None:
            raise ValueError
        return ast.Name(value)


# ---- tests of one of several values ----------------------------------------------------------------------------------


def _facts_of_value(text: str, of: _Of, value: Value | None, truth: bool) -> Facts:
    """What holds wherever one of several values is as true as that."""
    ways = _ways_of(text, of, value)
    tests = [facts_in(each) for each, found in ways if found is not (not truth)]
    return reduce(frozenset.intersection, tests) if tests else frozenset()


def _ways_of(text: str, of: _Of, value: Value | None) -> list[tuple[Tests, bool | None]]:
    """Of what a test has given, or of the one name that it asks: which tests decide it, and how it comes out then."""
    if isinstance(value, Choice):
        return [(value.tests_of(place), _is_true(each)) for place, each in enumerate(value.alternatives)]
    asked = _asked_name(text)
    if asked is None:
        return []
    name, is_of_none, is_negated = asked
    choice = next((each for known, each, _ in of if known == name), None)
    if not isinstance(choice, Choice) or not choice.when:
        return []
    found = []
    for place, each in enumerate(choice.alternatives):
        truth = _is_none(each) if is_of_none else _is_true(each)
        found.append((choice.tests_of(place), truth if truth is None else truth is not is_negated))
    return found


def _is_none(value: Value) -> bool | None:
    return None if isinstance(value, Unknown) else isinstance(value, Constant) and value.value is None


def _is_true(value: Value) -> bool | None:
    return bool(value.value) if isinstance(value, Constant) and type(value.value) in _PLAIN else None


@lru_cache(maxsize=1024)
def _asked_name(text: str) -> tuple[str, bool, bool] | None:
    """Of a test whether a name is None, or is true: the name, whether it is that of None, and whether it is negated."""
    name, word, rest = plain(text).partition(" is ")
    is_negated = rest == "not None" or (not word and name.startswith("not "))
    name = name if word else name.removeprefix("not ")
    is_known = rest in ("None", "not None") if word else True
    return (name, bool(word), is_negated) if is_known and re.fullmatch(r"[A-Za-z_][\w.]*", name) else None
