"""One running piece of code: a function call, or statements of a module or class body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import NONE, Address, ClassValue, FunctionValue, Value
from modgraph.source import nodes
from modgraph.source.parsed import Parsed

Outcome = Literal["normal", "return", "break", "continue", "dead"]
"""How a block ended. "dead": every path through it left by a return, break or continue that is kept elsewhere."""


class EnoughError(Exception):
    """A generator has yielded as many items as it is asked for."""


class ClassCalledError(BaseException):
    """A class that is waited for is called; not an Exception, as no fault is to be made of it."""

    def __init__(self, arguments: Arguments, state: State) -> None:
        super().__init__()
        self.arguments = arguments
        self.state = state


@dataclass(slots=True)
class Loop:
    """The states in which paths left the present turn of a loop, where not all of them did."""

    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
    may_break: bool = False
    """One of an unknown number of turns may have ended it, in a state that is part of the present one."""


@dataclass(slots=True)
class Frame:
    """What is known only while the code runs; its names are in an EnvironmentObject on the heap."""

    module: str
    parsed: Parsed
    environment: Address
    function: FunctionValue | None = None
    receiver: Value | None = None
    """First positional argument: what zero-argument `super()` is bound to."""
    class_scope: ClassValue | None = None
    """The class whose body this is."""
    statement: nodes.Node | None = None
    """The one being executed."""
    global_names: frozenset[str] = frozenset()
    nonlocal_names: frozenset[str] = frozenset()
    loops: list[Loop] = field(default_factory=list)
    returns: list[tuple[Value, State]] = field(default_factory=list)
    """Values and states of paths that returned before the others."""
    yields: list[Value] | None = None
    """What a generator has yielded."""
    yields_unknown: bool = False
    sent: Value = NONE
    """What the `yield` is worth at which a generator goes on."""
    thrown: Value | None = None
    """The exception that is raised there."""
    on_yield: Callable[[Value], None] | None = None
    """Called with what is yielded: the block of the `with` around a generator."""
    handling: Raised | None = None
    """What a bare `raise` raises again."""
    undecided: int = 0
    """How many undecided branches enclosed the call."""
    around: Frame | None = None
    """Of a comprehension: that of the code in which it stands."""
    value: Value = NONE
    """Of the `return` that ended the block."""
    returned: Value | None = None
    """What a generator whose code this is has returned."""
    asked: dict[frozenset[str], tuple[tuple[object, ...], SourceLocation | None]] = field(default_factory=dict)
    """By a test or its contrary, in a run that is followed: of what the first of that text was, and where."""
    calling: SourceLocation | None = None
    """The call in the statement that is being made: where Python says that it raises."""

    @property
    def is_of_module(self) -> bool:
        """It runs a statement of a module's body: its local names are those of the module."""
        return self.function is None and self.class_scope is None and bool(self.module)

    def location(self, expression: nodes.Node | None = None) -> SourceLocation:
        if self.statement is None:
            return SourceLocation(self.parsed.file, self.parsed.first_line)
        return self.parsed.location(self.statement, expression)

    @property
    def raising(self) -> SourceLocation:
        """Where Python says that it raises: the call that is being made, else the statement."""
        return self.calling or self.location()


def place_outside_torch(frames: Sequence[Frame]) -> SourceLocation | None:
    """Of code of torch's that runs: the innermost statement outside of it; None where other code runs."""
    frame = frame_outside_torch(frames)
    return None if frame is None else frame.location()


def frame_outside_torch(frames: Sequence[Frame]) -> Frame | None:
    """Of code of torch's that runs: the innermost code outside of it; None where other code runs."""
    if not frames or not frames[-1].module.startswith("torch."):
        return None
    return next((frame for frame in reversed(frames) if not frame.module.startswith("torch.")), None)
