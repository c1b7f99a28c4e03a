"""What a picture is made of: meanings, not colours. The writers (`dot.py` and its kin) turn it into text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from modgraph.options import Direction

Kind = Literal["weights", "norm", "activation", "shape", "attention", "other"]
State = Literal[
    "removed",
    "added",
    "changed",
    "failed",
    "unregistered",
    "runtime only",
    "static only",
    "never called",
    "unseen",
    "unknown",
    "conditional",
    "taken",
    "weights used",
    "shared",
    "also",
    "again",
    "called",
    "inside",
]
"""What is said of a module beside its class, in the order of the rows; the first that is no
later than "conditional" sets the frame. The first three are those of a diff."""
ArrowKind = Literal["data", "static", "runtime", "feedback", "conditional", "open", "order"]
"""`conditional` depends on what is not decided. `open` may come from before its tail, which gave back what it had.
`feedback` is what one turn of a loop gives to the next. `order` is not drawn: it places what no data reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A state that is said in a row of its own."""

    state: State
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One module or operation in a card; all texts are cut to size, and not escaped."""

    kind: Kind
    title: str
    detail: str = ""
    path: str = ""
    """Below the frame around the card."""
    count: str = ""
    """Parameters."""
    copies: int = 1
    collapsed: bool = False
    heat: int | None = None
    """Step of the ramp of costs, where the colour says what the row costs."""
    muted: bool = False
    """Grey: it was never called."""
    tooltip: str = ""
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A run of rows in one box."""

    id: str
    rows: tuple[Row, ...]
    state: State | None = None
    """Sets the frame; None is the ordinary one."""
    marks: tuple[Mark, ...] = ()
    """Said once for all rows."""
    width: float = 0
    """At least so many points wide, so that the titles of the frames around it have room beside the main edge."""
    narrow: bool = False
    """Each row is written in two lines: path and parameters below the class."""
    columns: int = 1
    """Rows stand in so many columns; they are branches beside each other where `head` says so."""
    steps: int = 1
    """Rows of one branch, below each other."""
    striped: bool = False
    """The bar at the left says the kind without colour."""
    head: str = ""
    """Above the rows: "30 in parallel"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """An operation in which data meets, as a circle."""

    id: str
    sign: str
    tooltip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pill:
    """An input or output of the model."""

    id: str
    title: str
    detail: str = ""
    tooltip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """The name of a distant source, beside its user."""

    id: str
    text: str
    tooltip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A container whose content is drawn."""

    id: str
    title: str
    detail: str
    items: tuple[Item, ...]
    level: int
    """0 for the outermost."""
    name: str = ""
    """Its whole path, of which `title` may be a part."""
    copies: int = 1
    plain: bool = False
    """Its border is no blue one though it has copies: in a diff, that would say that it changed."""
    state: State | None = None
    marks: tuple[Mark, ...] = ()
    loop: bool = False
    """Its copies are the turns of a loop, not modules."""
    beside: bool = False
    """The main path passes on its left, and what enters it comes from there."""
    gap: float = 56
    """Points between title and ×N badge: the main edge passes there. 0: the badge stands before the title."""
    tooltip: str = ""
    idiom: str = ""
    """The name that readers know it by; a line of its own below `detail`."""


Node: TypeAlias = "Card | Join | Pill | Tag"
Item: TypeAlias = "Node | Frame"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """Data that goes from one node to another."""

    id: str
    tail: str
    head: str
    label: str = ""
    main: bool = False
    """On the main path, which runs straight."""
    kind: ArrowKind = "data"
    tooltip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Legend:
    """Only what occurs."""

    kinds: tuple[Kind, ...] = ()
    collapsed: bool = False
    repeated: bool = False
    feedback: bool = False
    open: bool = False
    conditional: bool = False
    signs: tuple[str, ...] = ()
    """Those that stand in circles, on arrows and in rows, by their keys in `signs.py`."""
    states: tuple[State, ...] = ()
    ramp: tuple[str, str] | None = None
    """What the colours measure, and the cost of the strongest; None where they say the kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """All that is shown, in the order in which it is written."""

    name: str
    subtitle: str
    notes: tuple[str, ...]
    """Further title lines: what was cut, what is missing."""
    legend: Legend
    items: tuple[Item, ...]
    arrows: tuple[Arrow, ...]
    direction: Direction
    depth: int
    """Levels of frames that are open."""
    paper: tuple[float, float] | None = None
    """Points that a figure may be wide and high; it is drawn smaller where it is larger."""
    dark: bool = False
    """It is drawn for a dark ground."""
