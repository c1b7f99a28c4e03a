"""Dataclasses, named tuples and enums with ways of their own; Python is the judge."""

from __future__ import annotations

import sys
import textwrap
import types
from collections.abc import Callable
from typing import Any

import pytest

TEXTS = {
    "what is no field": """
        import dataclasses, typing
        from dataclasses import InitVar, dataclass, field, fields, replace
        from typing import ClassVar
        @dataclass
        class C:
            a: int = 3
            b: InitVar[int] = 2
            c: ClassVar[int] = 7
            d: int = field(init=False, default=0)
            def __post_init__(self, b): self.d = self.a * b
        @dataclass
        class S:
            a: int = 3
            k: "typing.ClassVar[int]" = 4
            b: "dataclasses.InitVar[int]" = 2
        RESULT = [[each.name for each in fields(kind)] for kind in (C, S)]
        RESULT += [C(5, 4).d, C.b, C.c, S(1, 5).a, S.b, replace(C(2, 2), a=5, b=1).d]
        """,
    "named tuples": """
        from collections import namedtuple
        from typing import NamedTuple
        class P(NamedTuple):
            a: int
            b: int = 4
            def __len__(self): return 7
            def area(self): return self.a * self.b
        Q = namedtuple("Q", "x class def y x _u", rename=True, defaults=(8,))
        class R(namedtuple("R", "a b")):
            __slots__ = ()
            def __new__(cls, a, b=9): return super().__new__(cls, a + 1, b)
            @property
            def total(self): return self.a + self.b
        p = P(2)
        RESULT = [len(p), p.area(), sum(p), Q._fields, Q(1, 2, 3, 4, 5)._1, R(1).total, R(2, 3)[0], tuple(R(b=1, a=5))]
        RESULT += [R._fields, P._fields, P.__new__(P, 5).b, R(1)._replace(a=7).a]
        """,
    "enums that make their members": """
        import enum
        class E(enum.Enum):
            A = (2, 3)
            B = (4, 5)
            def __new__(cls, a, b):
                made = object.__new__(cls)
                made._value_ = a * b
                return made
        RESULT = [E.A.value, E.B.value, E(20).name, E.A == E(6), len(E)]
        """,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_they_are_as_python_makes_them(evaluated: Callable[[str], Any], text: str, monkeypatch: pytest.MonkeyPatch):
    module = types.ModuleType(
        "judged_data_classes"
    )  # in which dataclasses looks for what an annotation in quotes names
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(textwrap.dedent(text), "code.py", "exec", dont_inherit=True), vars(module))
    assert evaluated(text) == module.RESULT


def test_what_an_enum_sets_on_its_members_is_no_error(evaluated: Callable[[str], Any]):
    text = """
        import enum
        class E(enum.Enum):
            A = (2, 3)
            def __new__(cls, a, b):
                made = object.__new__(cls)
                made._value_, made.b = a, b
                return made
        RESULT = E.A.b
        """
    assert evaluated(text) is evaluated.UNKNOWN  # type: ignore[attr-defined]
