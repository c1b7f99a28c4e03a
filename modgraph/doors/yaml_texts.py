"""YAML that others wrote, looked through as the events of its own parser before anything is made of it.

What a text means is asked of the parser alone: what is an anchor, a reference or a tag there, no expression of ours
tells. The parser neither recurses nor makes anything; what makes values does both, and is native.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from modgraph.doors.data import TooLargeError

MAX_NESTED = 100
"""Collections inside each other: the reader recurses, and the stack of native code has no limit of Python's."""
MAX_NODES = 100_000
"""Values of one text, each counted at all its places."""
_STARTS = frozenset({"SequenceStartEvent", "MappingStartEvent"})
_ENDS = frozenset({"SequenceEndEvent", "MappingEndEvent"})


_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "seq", "map"))
"""They say of a value what it is, as in `!!float 1e-4`. Source: YAML 1.1, its tag repository."""


class MoreThanPlainError(ValueError):
    """A text with references or tags: what it says is not all that stands there."""


def require_plain(events: Iterable[Any]) -> None:
    """Nothing, of a text that says each value where it stands.

    Args:
        events: what `yaml.parse` says of it, with the loader that is to make values of it.

    Raises:
        MoreThanPlainError: it has anchors, references, tags or merge keys.
        TooLargeError: it holds too much, or is nested too deeply.
        yaml.YAMLError: it is no YAML.
    """
    depth = 0
    for number, event in enumerate(events):
        if getattr(event, "anchor", None) is not None:  # also of a reference
            raise MoreThanPlainError("it has anchors or references")
        if getattr(event, "tag", None) not in (None, *_PLAIN_TAGS):
            raise MoreThanPlainError("it has tags")
        if _is_merge(event):
            raise MoreThanPlainError("it merges mappings")
        kind = type(event).__name__
        depth += (kind in _STARTS) - (kind in _ENDS)
        if depth > MAX_NESTED:
            raise TooLargeError("it is nested too deeply")
        if number > MAX_NODES:
            raise TooLargeError(f"it holds more than {MAX_NODES:,} values")


def nodes_with_references(events: Iterable[Any]) -> int:
    """How many values it has, those behind references counted at all their places; no more are counted than
    `MAX_NODES`, and one. A reference to what it stands in counts as one value, and as too many where the text merges
    mappings, which are copied while they are made.

    Args:
        events: as of `require_plain`.

    Raises:
        yaml.YAMLError: it is no YAML.
    """
    sizes: dict[str, int] = {}
    open_ones: list[tuple[str | None, int]] = []
    count, merges, holds_itself = 0, False, False
    for event in events:
        kind = type(event).__name__
        if kind == "AliasEvent":
            holds_itself |= event.anchor not in sizes
            count += sizes.get(event.anchor, 1)
        elif kind in _STARTS:
            open_ones.append((event.anchor, count))
            count += 1
        elif kind in _ENDS:
            anchor, before = open_ones.pop()
            if anchor is not None:
                sizes[anchor] = count - before
        elif kind == "ScalarEvent":
            count += 1
            if event.anchor is not None:
                sizes[event.anchor] = 1
        merges |= _is_merge(event)
        if count > MAX_NODES or (merges and holds_itself):
            return MAX_NODES + 1
    return count


def _is_merge(event: Any) -> bool:
    """A plain `<<`; between quotation marks it is a text."""
    return type(event).__name__ == "ScalarEvent" and event.value == "<<" and bool(event.implicit[0])
