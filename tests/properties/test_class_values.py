"""Generated classes and expressions over them: what is claimed of one is what Python says."""

from __future__ import annotations

import os
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

_programs = runpy.run_path(str(Path(__file__).with_name("class_values.py")))
HEAD, namespace, outcome, program = (_programs[name] for name in ("HEAD", "namespace", "outcome", "program"))
Claim = Callable[[str, list[str]], list[Any]]


def _false(claimed_names: Claim, text: str, asked: list[str]) -> list[str]:
    lines = [f"RESULT{number} = outcome(lambda: {one})" for number, one in enumerate(asked)]
    claims = claimed_names("\n".join((text, *lines, "")), [f"RESULT{number}" for number in range(len(asked))])
    afresh = namespace(text)
    false = []
    for one, claim in zip(asked, claims, strict=True):
        real = outcome(afresh, one)
        if claim is not None and real is not None and _text(claim[0]) != _text(real):
            false.append(f"{one} is said to give {_text(claim[0])}, and gives {_text(real)}\n{text.removeprefix(HEAD)}")
    return false


def _text(value: Any) -> str:
    return re.sub("0x[0-9a-f]+", "0x", repr(value))


@settings(
    max_examples=int(os.environ.get("MODGRAPH_EXAMPLES", "10")),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(number=st.integers(0, 10**6))
def test_it_gives_what_python_gives(number: int, claimed_names: Claim) -> None:
    assert _false(claimed_names, *program(Random(number), 20)) == []


CLASSES = """
class Bare:
    pass

class Slotted:
    __slots__ = ("a",)
    def __init__(self, a=1):
        self.a = a

class WithDict(Slotted):
    def __init__(self):
        super().__init__()
        self.b = 2

class Covered(WithDict):
    __slots__ = ("c",)

class Base:
    c = 4

class Covering(Base):
    __slots__ = ("c",)

class Failure(ValueError):
    def __init__(self, size):
        super().__init__(size)
        self.size = size

class Kind(enum.Enum):
    A = 1
    B = 2
    @classmethod
    def _missing_(cls, value):
        return cls.A if value == 5 else None

class Number(enum.IntEnum):
    A = 1
    B = 5

class Text(str, enum.Enum):
    A = "x"

class Bits(enum.Flag):
    A = 1
    B = 2

class Pair(typing.NamedTuple):
    a: int = 1
    b: int = 2
    def set(self):
        self.c = 3
        return self

class Tagged(Pair):
    def __init__(self, *given):
        self.tag = given

@dataclasses.dataclass
class Data:
    a: int = dataclasses.field(init=False, default=2)
    b: list = dataclasses.field(default_factory=list)
    c: int = 3

@dataclasses.dataclass
class Inheriting(Base):
    c: int

@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int = 1

class Thawed(Frozen):
    def put(self):
        self.z = 9
        return self.z

@dataclasses.dataclass(slots=True)
class Lean:
    a: int = dataclasses.field(init=False, default=2)
    b: typing.ClassVar[int] = 1

class Making:
    def __new__(cls, *args, **kwargs):
        made = super().__new__(cls)
        made.given = args
        return made

class Handing(Making):
    def __new__(cls, *args):
        return object.__new__(cls, *args)

class Starting:
    def __init__(self, x=0):
        super().__init__(x)

class Mapped(collections.abc.Mapping):
    def __iter__(self):
        return iter([1])

class Unwritten(abc.ABC):
    @abc.abstractmethod
    def f(self):
        pass

class Written(Unwritten):
    def f(self):
        return 1

class Free(Unwritten, dict):
    pass

class Interface(typing.Protocol):
    def f(self):
        pass

class Partial:
    f = functools.partialmethod(lambda self, x, y: (x, y), 1)

class Iterated:
    def __iter__(self):
        return iter([1, 2])

class Placed:
    def __len__(self):
        return 2
    def __getitem__(self, x):
        return x * 10

class Many(set):
    pass

class Kept(frozenset):
    pass

class Hidden:
    def __getattribute__(self, x):
        return object.__getattribute__(self, x)

class Other:
    def f(self):
        return super().__repr__() and 1

class Uncopied:
    __copy__ = None

class Default(Base, collections.defaultdict):
    pass

class Ordered(collections.OrderedDict):
    pass

@dataclasses.dataclass
class Unlisted(Data):
    c: typing.ClassVar[int] = 7

@dataclasses.dataclass(slots=True)
class Placing:
    q: int = 5

class Placed2(Placing):
    pass

class Generic(typing.Generic[T]):
    __slots__ = ()

class Mask(enum.IntFlag):
    A = 1
    B = 2
"""
EXPRESSIONS = """
    Bare.__bases__|Bare.__base__|Pair.__bases__|[x.__name__ for x in Pair.__mro__]|[x.__name__ for x in Number.mro()]
    Default.__base__|vars(Slotted())|hasattr(Slotted(), '__dict__')|dict(vars(WithDict()))|vars(Covered())|Covered().c
    'a' in Slotted.__dict__|hasattr(Slotted, 'a')|Covering().c|vars(copy.copy(WithDict()))|WithDict().__dict__
    vars(Failure(3))|sorted(vars(copy.deepcopy(Failure(3))))|KeyError(value=1)|vars(3)
    [5, 6, 7][Kind.B]|[5, 6, 7][Number.A]|(5, 6, 7)[Bits.A]|3 in Bits.A|3 in Kind.A|Bits.A in Bits.A|repr(Number.A)|str(Text.A)
    [Number.A].__repr__()|repr([Number.A, Text.A])|f'{Text.A!r}'|f'{Number.B!r:>20}'|f'{Kind.A!r}'|'%s' % Text.A|'%d' % Number.B
    Kind(5)|Kind(7)|Kind()|Number(7).name|Bits(8)|Bits(3).value|Kind.name|Number.B[0]|Text.A[0]|Kind.A['x']|[*reversed(Bits.A)]
    inherits(Kind, 1)|type(Kind).__name__|entered(Kind.A)|entered(Failure(1))|issubclass(Bits, collections.abc.Sized)
    Pair()._replace(z=1)|Pair()._replace(a=3)|hasattr(Pair, 'a')|type(Pair.a) is int|Pair().set()|Tagged(1).tag|Tagged().a
    dict(vars(Data()))|Data().a|Data.c|hasattr(Data, 'b')|Inheriting().c|Frozen().a|Thawed().put()|with_set(Frozen(), 'z', 1)
    with_set(Thawed(), 'a', 1)|Lean().a|hasattr(Lean(), '__dict__')|with_set(Lean(), 'z', 1)|dataclasses.fields(Bare)
    dataclasses.asdict(3)|dataclasses.asdict(Data(c=5))|dataclasses.replace(Bare())|dataclasses.replace(Data(), a=1)
    dataclasses.is_dataclass(Thawed)|Making(1, 2).given|Making(a=1).given|Handing(1)|Handing()|Starting()|Bare(1)|Mapped()
    Unwritten()|Written().f()|Free()|Interface()|Partial().f(2)|Partial.f(Partial(), 2)|with_set(Partial(), 'f', 5)
    Partial().f.__self__ is None|[*reversed(Iterated())]|[*reversed(Placed())]|Many([1]) or 1|Many([1]).__or__(Many([2]))
    type(Many([1]) \\| Many([2])).__name__|Kept([1, 2]) == {1, 2}|Kept(a=1)|Many([1]) < (1,)|pattern(Hidden())|Other.f(Bare())
    Bare().__eq__(Bare())|vars(copy.copy(Uncopied()))|vars(Default(list))|Default(3)|abs(Hidden())|dict(Hidden())
    Ordered('yz', True)|[x.name for x in dataclasses.fields(Unlisted)]|type(Placed2.q) is int|with_set(Generic(), 'c', 1)
    Mask.A \\| Number.A|Mask.B \\| 1
"""
ASKED = [each.strip().replace("\\|", "|") for each in re.split(r"(?<!\\)\||\n", EXPRESSIONS) if each.strip()]


@pytest.fixture(scope="module")
def claims(claimed_names: Claim) -> dict[str, Any]:
    """What is claimed of each expression of the table, each asked alone."""
    lines = [f"RESULT{number} = outcome(lambda: {one})" for number, one in enumerate(ASKED)]
    text = "\n".join((HEAD, CLASSES, *lines, ""))
    return dict(zip(ASKED, claimed_names(text, [f"RESULT{number}" for number in range(len(ASKED))]), strict=True))


@pytest.mark.parametrize("asked", ASKED)
def test_what_was_said_wrongly(asked: str, claims: dict[str, Any]) -> None:
    real = outcome(namespace(HEAD + CLASSES), asked)
    assert real is not None
    assert claims[asked] is None or _text(claims[asked][0]) == _text(real)


def test_most_of_it_is_known(claims: dict[str, Any]) -> None:
    assert sum(each is None for each in claims.values()) < len(claims) / 4
