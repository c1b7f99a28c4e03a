"""What annotations are made of, what fields of a dataclass say of themselves, and dir(cls): as Python says it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

PROGRAM = """
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Dict, Generic, List, Literal, Optional, Tuple, TypeVar, Union, get_args, get_origin

class A:
    pass

@dataclass
class Base:
    a: int
    b: Optional[int] = None
    c: list[int] = field(default_factory=list, metadata={"m": 3})
    d: "str" = "x"
    e: Union[int, str, None] = None
    f: Literal["u", "v"] = "u"
    g: Any = 1

@dataclass
class Sub(Base):
    b: int | list[int] | tuple[int, ...] | None = None
    h: A | None = None

class P:
    "d"
    u: int
    v: str = "x"
    w = 1
    def validate_a(self): pass
    @property
    def p(self): return 1

class Q(P, A):
    def __init__(self): self.z = 1
    @classmethod
    def make(cls): pass

Q.extra = 3

@dataclass(frozen=True, repr=False)
class R(Q):
    k: int
    l: int = 3
    m: list = field(default_factory=list)

class WithSlots:
    __slots__ = ("a",)

class G(Generic[TypeVar("T")]):
    pass

T = {f.name: f.type for f in fields(Sub)}
NAMES = {Union: "union", types.UnionType: "bar", Literal: "literal", list: "list", tuple: "tuple", int: "int", str: "str"}
NAMES.update({type(None): "none", Any: "any", A: "A", Sequence: "seq", dict: "dict", None: "None", ...: "..."})

def show(t):
    if isinstance(t, str):
        return t
    origin = get_origin(t)
    name = NAMES.get(t if origin is None else origin, "?")
    return [name, [each if origin is Literal else show(each) for each in get_args(t)]]
"""

EXPRESSIONS = [
    "[show(t) for t in T.values()]",
    "[dict(f.metadata) for f in fields(Sub)]",
    "show(List[int])",
    "show(List)",
    "show(List[int] | None)",
    "show(list[int] | None)",
    "show(Optional[Union[int,str]])",
    "show(Union[int,Optional[str]])",
    "show(Sequence[int])",
    "show(Dict[str, List[int]])",
    "show(Tuple[int,...])",
    "show(Literal[1,'a',None])",
    "show(int | Literal[1])",
    "show(Any)",
    "show(Union)",
    "show(None | int)",
    "show(Any | None)",
    "show(Optional[List[int]] | str)",
    "isinstance(int | None, type)",
    "isinstance(3, int | str)",
    "isinstance(None, int | None)",
    "isinstance('a', int | None)",
    "isinstance(list[int], type)",
    "isinstance(1, Union[str,int])",
    "isinstance(1.0, Union[str,int])",
    "isinstance(int|str, types.UnionType)",
    "list[int] == list[int]",
    "list[int] == list[str]",
    "(int|str) == (str|int)",
    "Optional[int] == (int|None)",
    "Literal[1] == Literal[True]",
    "(int | None) == (None | int)",
    "{list[int]: 1}.get(list[str])",
    "{int | str: 1}.get(str | int)",
    "show(List[A])",
    "[f.type is int for f in fields(Sub)]",
    "Sub.__dataclass_fields__['c'].metadata['m']",
    "dir(P)",
    "dir(Q)",
    "dir(R)",
    "dir(Sub)",
    "[n for n in dir(Q) if n.startswith('validate_')]",
    "sorted(dir(P)) == dir(P)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_annotations_are_what_python_says(expression: str, evaluated: Callable[[str], Any]) -> None:
    namespace: dict[str, Any] = {}
    exec(compile(f"{PROGRAM}RESULT = {expression}", "<program>", "exec", dont_inherit=True), namespace)
    assert evaluated(f"{PROGRAM}RESULT = {expression}") == namespace["RESULT"]


OPEN = ["show(int | int)", "show(Optional['A'])", "get_args(typing.Callable[[int], str])", "dir(WithSlots)", "dir(G)"]
"""These are told in other ways, of which not all is followed."""


@pytest.mark.parametrize("expression", OPEN)
def test_what_is_not_followed_is_not_known(expression: str, evaluated: Any) -> None:
    assert evaluated(f"{PROGRAM}RESULT = {expression}") is evaluated.UNKNOWN
