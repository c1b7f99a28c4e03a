"""Special methods as Python calls them: comparisons, arithmetic, hashes, sequences, descriptors; Python is the judge."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

COMPARISONS = {
    "the mirrored method is asked, then identity": """
        class Never:
            def __eq__(self, other): return NotImplemented
            def __lt__(self, other): return NotImplemented
        class Always(Never):
            def __eq__(self, other): return True
            def __gt__(self, other): return 3
        n = Never()
        RESULT = [Never() == Always(), Never() < Always(), Never() == Never(), n == n, n != n, 3 != Always(), 3 == Never()]
        RESULT += [None != Never(), "a" == Always(), Always() != 4, [] == Always(), (1,) != Never()]
        """,
    "methods that answer for their own kind": """
        class V:
            def __init__(self, v): self.v = v
            def __eq__(self, other):
                if not isinstance(other, V):
                    return NotImplemented
                return self.v == other.v
            def __lt__(self, other):
                return self.v < other.v if isinstance(other, V) else NotImplemented
        RESULT = [V(1) == 3, V(1) != 3, V(1) == V(1), V(1) != V(2), 3 in [V(3)], V(3) in [1, V(3)], V(1) < V(2), V(3) > V(2)]
        RESULT += [[V(1)] == [V(1)], (V(1), 2) == (V(2), 2), [V(1), V(2)].index(V(2)), [V(1), V(1)].count(V(1))]
        try:
            V(1) < 3
        except TypeError as error:
            RESULT.append(str(error))
        """,
    "what is no truth value": """
        class V:
            def __eq__(self, other): return "equal"
            def __ne__(self, other): return NotImplemented
            def __le__(self, other): return [1]
        RESULT = [V() == 1, V() != 1, V() <= 1, 1 >= V(), 1 in [V()], not (V() == 1)]
        """,
    "an object is in its list whatever it says": """
        class V:
            def __eq__(self, other): return False
        v = V()
        RESULT = [v in [v], v == v, [v] == [v], v != v, v in (1, v), [v] == [V()]]
        """,
    "dataclasses and members of enums": """
        import dataclasses, enum
        class Base:
            def __eq__(self, other): return True
        @dataclasses.dataclass
        class D(Base):
            a: int = 1
        class E(enum.Enum):
            A = 1
            B = 2
            def __lt__(self, other): return self.value < other.value
        class S(enum.Enum):
            A = 1
            def __eq__(self, other): return NotImplemented
        RESULT = [D(1) == D(2), D(1) == D(1), E.A < E.B, E.A == E.B, S.A == S.A, S.A != 1]
        """,
    "a class derived from that of the left operand goes first": """
        class A:
            def __add__(self, other): return 1
            def __radd__(self, other): return 5
            def __eq__(self, other): return "A"
        class B(A):
            def __radd__(self, other): return 2
        class C(A): pass
        class D(A):
            def __eq__(self, other): return "D"
        RESULT = [A() + B(), B() + A(), A() + C(), A() == D(), D() == A(), 1 + B(), C() + B()]
        """,
    "the mirrored method of the same class is not asked": """
        class A:
            def __radd__(self, other): return 2
        try:
            RESULT = A() + A()
        except TypeError:
            RESULT = "TypeError"
        """,
}


SEQUENCES = {
    "items by place alone": """
        class S:
            def __getitem__(self, place):
                if place > 3:
                    raise IndexError
                return place + 1
        class Longer(S):
            def __len__(self): return 2
        first, *rest = S()
        RESULT = [list(S()), [each for each in S()], sum(S()), 3 in S(), 9 in S(), max(*S()), first, rest, list(Longer())]
        RESULT += [list(zip(S(), "ab")), list(map(str, S())), dict(enumerate(S())), tuple(S()), sorted(S())]
        """,
    "managers that catch what their block raises": """
        from contextlib import contextmanager
        done = []
        @contextmanager
        def caught(kind):
            try:
                yield 3
            except kind:
                done.append(kind.__name__)
            done.append("after")
        def run():
            with caught(KeyError) as n:
                done.append(n)
                {}["x"]
                done.append("never")
            try:
                with caught(KeyError):
                    [][0]
            except IndexError:
                done.append("passed on")
            with caught(ValueError):
                return done
        RESULT = run()
        """,
}


REFUSED = {
    "what has no hash": """
        import dataclasses
        class Equal:
            def __eq__(self, other): return True
        class Hashed(Equal):
            def __hash__(self): return 1
        class Derived(Equal): pass
        class Off:
            __hash__ = None
        @dataclasses.dataclass
        class Data: a: int = 1
        @dataclasses.dataclass(frozen=True)
        class Frozen: a: int = 1
        @dataclasses.dataclass(eq=False)
        class Plain: a: int = 1
        RESULT = []
        for value in (Equal(), Hashed(), Derived(), Off(), Data(), Frozen(), Plain(), [], {}, set(), (1, []), (1, 2), Equal):
            try:
                table = {value: 1}
                {value}
                table[value] = 2
                RESULT.append(True)
            except TypeError as error:
                RESULT.append(str(error))
        """,
    "constructors that give something": """
        class Three:
            def __init__(self): return 3
        class Generator:
            def __init__(self): yield
        class Fine:
            def __init__(self): return None
        RESULT = []
        for kind in (Three, Generator, Fine):
            try:
                kind()
                RESULT.append(True)
            except TypeError as error:
                RESULT.append("TypeError")
        """,
    "keywords that are given twice": """
        def f(**given): return given
        RESULT = [f(**{"x": 1}, y=2)]
        for call in (lambda: f(**{"x": 1}, x=2), lambda: f(x=2, **{"x": 1}), lambda: f(**{"x": 1}, **{"x": 2})):
            try:
                call()
            except TypeError:
                RESULT.append("TypeError")
        """,
    "text that shows itself": """
        w = 5
        RESULT = [f"{w=}", f"{w = }", f"{ w =:>3}", f"{w = :>3}", f"{w+1 =!r:>4}", f"{w=!s}"]
        """,
}


def judged(text: str) -> Any:
    space: dict[str, Any] = {"__name__": "code"}
    exec(compile(textwrap.dedent(text), "code.py", "exec", dont_inherit=True), space)
    return space["RESULT"]


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_python_refuses(evaluated: Callable[[str], Any], text: str):
    assert evaluated(text) == judged(text)


def test_what_an_iterator_with_a_sentinel_takes_is_not_known(evaluated: Callable[[str], Any]):
    text = """
        numbers = iter([1, 2, 0, 5])
        def run():
            list(iter(numbers.__next__, 0))
            return next(numbers)
        RESULT = run()
        """
    assert judged(text) == 5
    assert evaluated(text) is evaluated.UNKNOWN  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", SEQUENCES.values(), ids=SEQUENCES)
def test_sequences_and_managers(evaluated: Callable[[str], Any], text: str):
    assert evaluated(text) == judged(text)


@pytest.mark.parametrize("text", COMPARISONS.values(), ids=COMPARISONS)
def test_comparisons(evaluated: Callable[[str], Any], text: str):
    assert evaluated(text) == judged(text)
