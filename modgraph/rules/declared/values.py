"""What an expression may be, in any configuration: a set of these.

A list, tuple or dict is the set of what is in it. Sets only grow, so that what is not in one in the end is never there.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from modgraph.source.torch_names import torch_class


class Plain(Enum):
    """What has nothing to it."""

    DATA = "a number, a text, a tensor, a configuration: nothing that has a name in a tree"
    NONE = "what certainly is no module and holds none"
    NUMBER = "a whole number, of which the digits are not known"
    PARAMETER = "a parameter"
    BUFFER = "a buffer"
    OPEN = "anything"


DATA, NONE, NUMBER = Plain.DATA, Plain.NONE, Plain.NUMBER
PARAMETER, BUFFER, OPEN = Plain.PARAMETER, Plain.BUFFER, Plain.OPEN


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """A class: of a file, or of torch, where the file is "" and the name its import path."""

    file: str
    name: str

    @property
    def torch(self) -> str | None:
        """ "Linear" for the class of torch."""
        return None if self.file else torch_class(self.name)

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Made:
    """An instance."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Given:
    """An instance of a class that is no module, which somebody else has made: a configuration."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class ClassOf:
    """A class itself."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Code:
    """A function, by where it stands."""

    file: str
    line: int
    column: int
    owner: Kind | None = None
    """The class in whose body it stands."""
    around: FrameKey | None = None
    """The call in which it was defined."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A method of an instance or a class."""

    code: Code
    receiver: Kind
    is_class: bool = False


@dataclass(frozen=True, slots=True)
class Above:
    """`super()`."""

    owner: Kind
    receiver: Kind


@dataclass(frozen=True, slots=True)
class Box:
    """A container of torch, by where it is made."""

    site: tuple[str, int, int, Kind | None]
    kind: str


@dataclass(frozen=True, slots=True)
class Text:
    """A text that stands there."""

    text: str


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of Python's."""

    name: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What an import path leads to of which no source is read."""

    path: str


@dataclass(frozen=True, slots=True)
class File:
    """A module of Python, by its file."""

    file: str


Atom = Plain | Made | Given | ClassOf | Code | Bound | Above | Box | Text | Builtin | Elsewhere | File
Values = frozenset[Atom]
FrameKey = tuple[Code, Kind | None]

NOTHING: Values = frozenset()
ONLY_DATA: Values = frozenset([DATA])
ONLY_NONE: Values = frozenset([NONE])
ONLY_OPEN: Values = frozenset([OPEN])
ANY = "?"
"""The name of a child of which the name is not known; in a name, a part of it that is not."""
NUMBERS = "#"
"""The names of children that are numbered; in a name, the digits of it."""


@dataclass(slots=True)
class Frame:
    """All calls of one function on instances of one class."""

    code: Code
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    receiver: Kind | None
    names: dict[str, Values] = field(default_factory=dict)
    locals: frozenset[str] = frozenset()
    returned: Values = NOTHING
    changed: dict[str, Values] = field(default_factory=dict)
    """By parameter: what is put into the container that is given for it."""
    around: Frame | None = None
    depth: int = 0
    """Of functions that call each other, since a constructor."""
    ran: int = -1
    """How much had been changed when it was run last."""
    read: set[Hashable] = field(default_factory=set)
    """What its value was then reckoned from."""

    @property
    def key(self) -> FrameKey:
        return self.code, self.receiver


def may_be_named(stored: Mapping[str, Values], name: str) -> Values:
    """What stands under a name, or under one that may be it."""
    return NOTHING.union(*(found for each, found in stored.items() if each == name or ANY in each or NUMBERS in each))


def holds_modules(values: Values) -> bool:
    """Something of it may be a child, or have children."""
    return any(value is OPEN or isinstance(value, (Made, Box)) for value in values)
