"""Tests of a run of `forward` that is followed: how they come out on a path, and what holds of the run there then."""

from __future__ import annotations

import ast
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
    from modgraph.prediction.domain.machine import Machine

_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_][\w.]*")
_PLAIN = (bool, int, float, str, type(None))
_Of = tuple[tuple[str, Value, object], ...]
"""Of each name in a test: its value, and what else tells it from an earlier one."""


def assume(machine: Machine, state: State, text: str, truth: bool, value: Value | None = None) -> None:
    """On the path that this state is on, a test that cannot be decided comes out this way.

    Args:
        value: what the test has given.
    """
    if not machine.is_recording:
        return
    _note(machine, text, truth)
    of = _asked_of(machine, text)
    facts = _own_facts(machine, text, truth, of) | _facts_of_value(text, of, value, truth)
    asked = Assume(text, truth, machine.where, False, of, _is_later(machine, text, of), facts)
    state.events = Cell(state.events, asked)


def assume_unsaid(machine: Machine, state: State, reason: str, truth: bool) -> None:
    """On the path that this state is on, something comes out this way that no test in Python says.

    Args:
        reason: on what it depends, as what is done there tells it: "depends on ...".
    """
    if machine.is_recording:
        state.events = Cell(state.events, Assume(reason, truth, machine.where))


def told(machine: Machine, text: str, value: Value, truth: bool | None) -> bool | None:
    """How a test comes out on the path that is run; None where nothing there has decided it.

    Args:
        value: what the test has given.
        truth: as it is of any path.
    """
    if truth is None:
        truth = _known(machine, text, value)
    if truth is not None and machine.came_out is not None:
        _note(machine, text, truth)
        _is_later(machine, text, _asked_of(machine, text))
    return truth


def assume_again(machine: Machine, tests: Tests) -> None:
    """From here on, on the path that is run, what those tests had decided is given."""
    if machine.is_recording:
        for each in tests:
            again = Assume(each.text, each.truth, each.where, True, facts=each.facts)
            machine.state.events = Cell(machine.state.events, again)


def _known(machine: Machine, text: str, value: Value) -> bool | None:
    """How a test comes out on the path that is run, where earlier ones have decided it."""
    facts = facts_of(machine.state.events)
    if not facts:
        return None
    of = _asked_of(machine, text)
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


def _asked_of(machine: Machine, text: str) -> _Of:
    """The values of the names in a test; of a tensor, how often it was written to, too. Two that are not known, and not
    one object, may be two."""
    environment = machine.frames[-1].environment if machine.frames else None
    held = machine.state.find(environment, EnvironmentObject) if environment is not None else None
    found: list[tuple[str, Value, object]] = []
    names = {} if held is None else held.names
    for name in _names_in(text) if names else ():
        first, *attributes = name.split(".")
        value = names.get(first)
        if value is None:  # a keyword, or a name from elsewhere
            continue
        for each in attributes:
            item = machine.state.find(value, HeapObject)
            inside = item.attributes.get(each) if isinstance(item, (InstanceObject, ModuleObject)) else None
            if inside is None:
                break
            value = inside
        tensor = machine.state.find(value, TensorObject)
        number = id(value) if isinstance(value, Unknown) else tensor.writes if tensor is not None else None
        found.append((name, value, number))
    return tuple(found)


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
    """Of a test of nothing but the mode, arguments that are not known, and literals: the question that it is."""
    names: dict[str, str] = {}
    others: set[str] = set()
    if not any(_is_steady(machine, name, value) for name, value, _ in of):
        return frozenset()
    for name, value, _ in of:
        if _is_steady(machine, name, value):
            names[name] = f"_{id(value)}"
            others.update(() if machine.steady[id(value)] else (names[name],))
        elif isinstance(value, Constant) and type(value.value) in _PLAIN:
            names[name] = repr(value.value)
    question = _question(text, tuple(names.items()), frozenset(others))
    if question is None:
        return frozenset()
    contrary = negated(question)
    return frozenset({(question, truth) if question < contrary else (contrary, not truth)})


def _is_steady(machine: Machine, name: str, value: Value) -> bool:
    """It is the mode, or an argument that is not known, as it was given: what comes of that is not known either."""
    if id(value) not in machine.steady:
        return False
    if "." in name:
        return name.endswith(".training")
    function = machine.frames[-1].function
    if function is None:
        return False
    definition = function.definition
    is_parameter = any(each.name == name for each in definition.parameters if each.kind in _OF_ONE)
    return is_parameter and name not in definition.bound_names and not definition.parsed.mentions("nonlocal")


_OF_ONE = ("positional", "normal", "keyword")
"""Kinds of parameters that stand for one argument."""


@lru_cache(maxsize=1024)
def _question(text: str, names: tuple[tuple[str, str], ...], others: frozenset[str]) -> str | None:
    """The test with what its names stand for; None where it may come out otherwise when it is made again.

    Args:
        others: those of them that may hold something, and more of it later.
    """
    try:
        tree = python_tree(text, mode="eval").body
        return plain(ast.unparse(ast.fix_missing_locations(_Asking(dict(names), others).visit(tree))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Asking(ast.NodeTransformer):
    """Puts values in the place of names.

    Raises:
        ValueError: something else stands in the test.
    """

    def __init__(self, names: Mapping[str, str], others: frozenset[str]) -> None:
        self.names = names
        self.others = others
        self.is_identity = False

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, (ast.BoolOp, ast.UnaryOp, ast.Constant, ast.boolop, ast.unaryop, ast.cmpop)):
            raise ValueError
        return super().generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        before, self.is_identity = self.is_identity, all(isinstance(each, (ast.Is, ast.IsNot)) for each in node.ops)
        found = super().generic_visit(node)
        self.is_identity = before
        return found

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._value(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._value(ast.unparse(node))

    def _value(self, name: str) -> ast.AST:
        value = self.names.get(name)
        if value is None or (value in self.others and not self.is_identity):
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
