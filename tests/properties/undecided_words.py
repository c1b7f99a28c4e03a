"""What the generated functions of `undecided_flow` may be made of beside plain control flow, by topic.

Holes of a template: `{E}` an expression, `{C}` a condition, `{I}` an iterable, `{X}` a class of errors; a line that is
only `{B}`, `{L}` or `{N}` is a block, a block that is a loop's, a block without jumps.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """What one topic adds."""

    header: str = ""
    start: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    iterables: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
