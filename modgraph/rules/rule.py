"""What a rule is: its name and words, the examples that are its tests and its documentation, and how it looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from modgraph.findings import Fix, Related, Severity

if TYPE_CHECKING:
    import ast

    from modgraph.rules.subject import FileSubject, Subject


class Valid(NamedTuple):
    """Code that the rule must say nothing of, and why."""

    code: str
    why: str


class Invalid(NamedTuple):
    """Code in which the rule must find something on exactly these lines."""

    code: str
    lines: tuple[int, ...]
    fixed: str | None = None
    """The code after all fixes; None where the rule offers none here."""


class Found(NamedTuple):
    """One thing that a rule has found in a class; the engine adds file, code and severity."""

    node: ast.AST
    message: str
    attribute: str | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    severity: Severity | None = None
    """Where it differs from the rule's own."""


def _nothing(_: Subject) -> Iterator[Found]:
    """Of a rule that looks at files."""
    yield from ()


class Rule(NamedTuple):
    """One rule of the check."""

    code: str
    name: str
    severity: Severity
    summary: str
    """One sentence: what is wrong, as it stands in lists of the rules."""
    why: str
    """What torch does with it and what to write instead, in Markdown."""
    find: Callable[[Subject], Iterator[Found]] = _nothing
    """Looks at a class."""
    find_in_file: Callable[[FileSubject], Iterator[Found]] | None = None
    """Looks at a whole file, once: at what stands outside of modules."""
    words: tuple[str, ...] = ()
    """Of which one stands in each file in which that may find something; none for what looks at files with modules."""
    default: bool = True
    """It looks without being asked to."""
    valid: tuple[Valid, ...] = ()
    invalid: tuple[Invalid, ...] = ()
    settings: Mapping[str, object] = MappingProxyType({})
    """Configuration under which the examples hold."""
