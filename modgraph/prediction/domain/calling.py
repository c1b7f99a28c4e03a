"""What a call is given, and what it raises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from modgraph.graph.model import SourceLocation
from modgraph.prediction.domain.events import Refusal
from modgraph.prediction.domain.values import Unknown, Value

PROCESS_ENDS = "builtins.<the end of the process>"
"""Name of what is raised where the process ends at once: nothing takes it, and nothing of the code runs after it."""
ENDS = frozenset({PROCESS_ENDS, "builtins.SystemExit"})
"""Names of what is raised to end the program."""


class Raised(Exception):  # noqa: N818 - an event of the interpreted code, no error of this one
    """The interpreted code certainly raises here. Made by `machine.raises`, caught by an interpreted `try`."""

    def __init__(self, exception: Value, name: str, message: str, where: SourceLocation | None) -> None:
        super().__init__(f"{name}: {message}")
        self.exception = exception
        """The exception instance, as the handler binds it."""
        self.name = name
        """Qualified name of its class: "builtins.TypeError"."""
        self.message = message
        self.where = where
        self.asked: SourceLocation | None = None
        """Where it is raised in torch's own source: what outside of it has led there."""
        self.binding: object = None
        """The definition of the function that does not take the arguments of the call, where that is why."""
        self.is_of_rule = False
        """Python or torch raises it, and no `raise` of the source."""
        self.refusal: Refusal | None = None
        """Where a run of `forward` is followed: what refused what it was given."""

    def kept(self) -> Raised:
        """Itself, to be raised again later: without the traceback, which would keep every frame that ran, with its
        states, until the garbage collector finds them."""
        self.__traceback__ = None
        self.__context__ = None
        return self


class MoreArgumentsError(Exception):
    """Arguments in a row were counted, or all of them taken, where it is not known how many there are."""


class FirstArguments(tuple[Value, ...]):
    """The arguments in a row that are known, where there may be more: each can be taken, all of them cannot."""

    __slots__ = ()

    def _refuse(self, *_: object) -> NoReturn:
        raise MoreArgumentsError

    __len__ = __iter__ = __add__ = __contains__ = __eq__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, place: Any) -> Any:
        if type(place) is not int or not 0 <= place < tuple.__len__(self):
            raise MoreArgumentsError
        return tuple.__getitem__(self, place)


@dataclass(slots=True)
class Arguments:
    """What a callable was called with; of a method, the receiver is `positional[0]`. Not changed once it is made."""

    function: str
    """Name for messages: "len"."""
    positional: tuple[Value, ...] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict)
    where: SourceLocation | None = None
    """The call."""
    open: Unknown | None = None
    """There may be further arguments: `*items` or `**options` of unknown content was passed."""

    def get(self, position: int, name: str, default: Value) -> Value:
        """The argument at `position` or of that name, else `default`; where there may be further arguments, unknown.
        Without a check for other arguments."""
        if position < tuple.__len__(self.positional):
            return self.positional[position]
        return self.named(name, default)

    def named(self, name: str, default: Value) -> Value:
        """The argument of that name, else `default`, or, where there may be further arguments, unknown."""
        return self.keywords.get(name, default if self.open is None else self.open)
