"""Generated calls of Python's library: what is claimed of one is what Python says."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HEAD = """
import bisect, builtins, cmath, collections, copy, dataclasses, datetime, decimal, fractions, functools, heapq, inspect
import itertools, json, keyword, math, operator, re, statistics, string, textwrap, types
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple


class Plain:
    def __init__(self, a=1, b=2):
        self.a = a
        self.b = b

    def method(self, x=3):
        return x

    def __repr__(self):
        return "Plain"


Pair = namedtuple("Pair", "a b")


def shown(value):
    if isinstance(value, (set, frozenset)):
        try:
            return type(value).__name__, sorted(value)
        except TypeError:
            return type(value).__name__, len(value)
    if isinstance(value, deque):
        return "deque", list(value)
    if isinstance(value, dict):
        return type(value).__name__, list(value.items())
    if hasattr(value, "__next__"):
        return "iterator", list(itertools.islice(value, 6))
    return type(value).__name__, value


def outcome(call):
    try:
        return shown(call())
    except Exception as error:
        return "raises", type(error).__name__
"""
MODULES = (
    *("bisect", "builtins", "cmath", "copy", "dataclasses", "functools", "heapq", "inspect", "itertools", "json"),
    *("keyword", "math", "operator", "re", "statistics", "string", "textwrap"),
)
LEFT_OUT = frozenset(
    (
        *(
            "breakpoint",
            "compile",
            "copyright",
            "credits",
            "dir",
            "eval",
            "exec",
            "exit",
            "globals",
            "hash",
            "help",
            "id",
        ),
        *("input", "license", "locals", "memoryview", "object", "open", "print", "quit", "super", "vars", "type"),
        *("aiter", "anext", "currentframe", "stack", "trace", "findsource", "main", "setattr", "delattr"),
    )
)
"""They speak with who is there or of the frame that calls, or change what other calls are given."""
RECEIVERS = (
    *(
        "[]",
        "[1, 2, 1]",
        "['b', 'a', 'c']",
        "()",
        "(1, 2, 1)",
        "''",
        "'abab'",
        "' a b\\t'",
        "'%s'",
        "'{} {a}'",
        "'a,b,,c'",
    ),
    *("b'a b'", "{}", "{'a': 1, 'b': 2}", "set()", "{1, 2, 3}", "frozenset([1, 2])", "5", "-3", "True", "1.5", "1+2j"),
    *(
        "range(5)",
        "range(1, 10, 3)",
        "deque([1, 2, 3])",
        "deque([1, 2], maxlen=2)",
        "OrderedDict([('a', 1), ('b', 2)])",
    ),
    *("Counter('abca')", "defaultdict(list, a=[1])", "Pair(1, 2)", "Plain()", "fractions.Fraction(3, 4)"),
    *("re.compile('a(b)?')", "re.match('(a)(?P<n>b)?(c)?', 'ab')", "types.SimpleNamespace(a=1)"),
)
ARGUMENTS = (
    *(
        "0",
        "1",
        "-1",
        "2",
        "3",
        "True",
        "None",
        "''",
        "'a'",
        "'ab'",
        "' a b '",
        "b'ab'",
        "1.5",
        "-0.5",
        "[]",
        "[1, 2, 1]",
    ),
    *(
        "['b', 'a']",
        "(1, 2)",
        "()",
        "((1, 2), (3, 4))",
        "{}",
        "{'a': 1, 'b': 2}",
        "{1, 2}",
        "range(1, 9, 2)",
        "slice(0, 2)",
    ),
    *("lambda *x: x", "lambda x: x", "lambda a, b: a + b", "lambda: 1", "str", "int", "len", "list", "iter([1, 2])"),
    *("deque([1, 2, 3])", "OrderedDict(a=1)", "Plain()", "Pair(1, 2)", "'%s %d'", "'{0} {a}'", "[[1, 2], [3]]", "1j"),
)

python: dict[str, Any] = {"__name__": "code"}
exec(HEAD, python)


def _named(function: Any) -> list[str]:
    with contextlib.suppress(TypeError, ValueError):
        parameters = inspect.signature(function).parameters.values()
        return [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    return []


def _functions() -> Iterator[tuple[str, list[str]]]:
    """What can be called, and the names of its parameters that may be given by name."""
    for module in map(importlib.import_module, MODULES):
        for name, found in vars(module).items():
            is_class = isinstance(found, type) and issubclass(found, BaseException)
            if callable(found) and not name.startswith("_") and name not in LEFT_OUT and not is_class:
                yield f"{module.__name__}.{name}", _named(found)
    for receiver in RECEIVERS:
        value = eval(receiver, python)
        for name in dir(value):
            method = getattr(value, name)
            if not name.startswith("_") and callable(method):
                yield f"({receiver}).{name}", _named(method)


FUNCTIONS = list(_functions())


def _call(random: Random) -> str:
    """A call with arguments that may fit."""
    name, named = random.choice(FUNCTIONS)
    given_to = random.choices(ARGUMENTS, k=random.randrange(5))
    if named and random.random() < 0.4:
        given_to.append(f"{random.choice(named)}={random.choice(ARGUMENTS)}")
    return f"{name}({', '.join(given_to)})"


def _result(namespace: dict[str, Any], call: str) -> Any:
    """None where Python refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = namespace["outcome"](eval(f"lambda: {call}", namespace))
        except BaseException:  # the text of an object that refuses it; an exception that is no error
            return None
    return None if found[0] == "raises" else found


def _accepted(random: Random, number: int) -> list[str]:
    found: list[str] = []
    while len(found) < number:
        call = _call(random)
        with contextlib.suppress(SyntaxError):  # the same name twice
            if _result(python, call) is not None:
                found.append(call)
    return found


def _false(claimed_names: Callable[[str, list[str]], list[Any]], calls: list[str]) -> list[str]:
    lines = [f"RESULT{number} = outcome(lambda: {call})" for number, call in enumerate(calls)]
    claims = claimed_names(HEAD + "\n".join(lines) + "\n", [f"RESULT{number}" for number in range(len(calls))])
    afresh: dict[str, Any] = {"__name__": "code"}
    exec(HEAD, afresh)
    false = []
    for call, claim in zip(calls, claims, strict=True):
        real = _result(afresh, call)
        if claim is not None and real is not None and _text(claim[0]) != _text(real) and claim[0] != real:
            false.append(f"{call} is said to give {_text(claim[0])}, and gives {_text(real)}")
    return false


def _text(value: Any) -> str:
    return re.sub("0x[0-9a-f]+", "0x", repr(value))


@settings(
    max_examples=int(os.environ.get("MODGRAPH_EXAMPLES", "12")),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(number=st.integers(0, 10**6))
def test_it_gives_what_python_gives(number: int, claimed_names: Callable[[str, list[str]], list[Any]]) -> None:
    assert _false(claimed_names, _accepted(Random(number), 120)) == []


REFUSED = """
    [].append(1, 2)|{}.get()|{}.pop()|{'a': 1}.pop('a', 1, 2)|[].clear(1)|set().add()|any([], 1)|sorted()|len([], [])
    [].sort(None)|'a'.join()|'a'.upper(1)|Counter('a').elements(1)|deque([1]).rotate(1, 2)|isinstance(1)|map(len)|max()
    functools.reduce(len)|copy.copy([], x=[])|json.loads('1', 2)|itertools.pairwise([], [])|int.from_bytes()
    {}.update({}, {})|[1].index()|[1].index(1, 0, 1, 2)|'a'.replace('a')|'a'.split(sep=',', other=1)|range()|zip(other=1)
    copy.deepcopy()|functools.partial()|dict.fromkeys()|'a'.startswith()|operator.add(1)|re.match('a')|math.sqrt()
"""


@pytest.mark.parametrize("call", [each.strip() for each in REFUSED.replace("\n", "|").split("|") if each.strip()])
def test_a_number_of_arguments_that_python_refuses(call: str, claimed_names: Callable[..., list[Any]]) -> None:
    with pytest.raises(TypeError):
        eval(call, python)
    claim = claimed_names(f"{HEAD}RESULT = outcome(lambda: {call})\n", ["RESULT"])[0]
    assert claim is None or claim[0] == ("raises", "TypeError")


GIVEN = """
    [1, 2, 1, 3].index(1, 1)|(1, 2, 1).index(1, -2)|deque([1, 2, 1]).index(1, 1, 3)|range(5).index(3)|[3, 1].index(1, -1)
    {}.fromkeys('ab')|OrderedDict(a=1).fromkeys([1, 2], 3)|'ab'.maketrans({'a': 'x'})|(5).from_bytes(b'a', 'big')
    Counter('aab').most_common(n=1)|Counter('aab').most_common(-1)|re.match('(a)(b)?', 'a').group(1, 2)
    re.match('(a)(b)?', 'a').groups('none')|re.match('(a)(?P<n>b)?', 'ab').group('n', 0)|operator.neg(1.5)|operator.index(True)
    operator.pos(Counter(a=1, b=-1))|OrderedDict(a=1).setdefault(key='b', default=2)|(1.5).fromhex('0x1p1')
"""


@pytest.mark.parametrize("call", [each.strip() for each in GIVEN.replace("\n", "|").split("|") if each.strip()])
def test_what_was_said_wrongly(call: str, claimed_names: Callable[..., list[Any]]) -> None:
    real = _result(python, call)
    claim = claimed_names(f"{HEAD}RESULT = outcome(lambda: {call})\n", ["RESULT"])[0]
    assert real is not None
    assert claim is None or claim[0] == real
