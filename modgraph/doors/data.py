"""JSON and TOML that others wrote: read only where what it makes fits into memory, which is told from the text before.

The readers of Python are native, or recurse; nothing stops them once they have begun. Each refusal is a `ValueError`,
as of a text that is no JSON or no TOML.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from modgraph.doors.reading import shown

MAX_TOML = 1_000_000
"""Characters of a text of TOML: Python's reader takes up to five microseconds for each."""
MAX_PARTS = 100
"""Of a dotted key, `a.b.c = 1`: Python's reader takes the square of their number, and recurses."""
MAX_JSON_MEMORY = 1_000_000_000
"""Bytes that a text of JSON and what is read from it may take together."""
MAX_GRAPH_MEMORY = 1_400_000_000
"""The same of a saved graph, which is read alone: of those that modgraph writes, it admits 108 MB."""

_OF_A_LIST, _OF_AN_OBJECT, _OF_A_NAME, _OF_A_VALUE = 90, 240, 110, 75
"""Bytes that Python takes for an empty list and its place, for a dict with one entry, for the name of an entry
and its place, for a further number or short text: those of CPython on 64 bits."""
_PART = r"""(?:(?<![\w-])[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART}){{{MAX_PARTS},}}")


class TooLargeError(ValueError):
    """A text that would take too much to be read."""


def read_toml(text: str) -> dict[str, Any]:
    """What a text of TOML holds.

    Raises:
        ValueError: it is no TOML, is too large, or is nested too deeply.
        ImportError: there is no reader: Python 3.10 without tomli.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if len(text) > MAX_TOML:
        raise TooLargeError(f"it is longer than {MAX_TOML:,} characters")
    for line in text.split("\n"):
        if line.count(".") >= MAX_PARTS and _DOTTED.search(line) is not None:
            raise TooLargeError(f"it has a key of more than {MAX_PARTS} parts")
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise TooLargeError("it is nested too deeply") from None
    return found


def read_json(data: str | bytes, most: int = MAX_JSON_MEMORY, **options: Any) -> Any:
    """What a text of JSON holds.

    Args:
        most: bytes of memory that it may take.
        options: those of `json.loads`.

    Raises:
        ValueError: it is no JSON, would take too much memory, or is nested too deeply.
    """
    import json  # slow to import, and not needed for a configuration

    require_json_in_memory(data, most)
    try:
        return json.loads(data, **options)
    except RecursionError:
        raise TooLargeError("it is nested too deeply") from None


def require_json_in_memory(data: str | bytes, most: int = MAX_JSON_MEMORY) -> None:
    """Asked of bytes before they are decoded, which alone may take four times their number.

    Raises:
        TooLargeError: what is in it could take more.
    """
    if memory_of_json(data) > most:
        raise TooLargeError(f"it holds more than is read: it could take more than {shown(most)} of memory")


def memory_of_json(data: str | bytes) -> int:
    """Bytes that it could take at most, by signs that are counted, also those inside of its texts."""
    if isinstance(data, bytes):
        lists, objects, names, values = (data.count(sign) for sign in (b"[", b"{", b":", b","))
        size = len(data) * (1 if data.isascii() else 4)
    else:
        lists, objects, names, values = (data.count(sign) for sign in "[{:,")
        size = sys.getsizeof(data)
    return lists * _OF_A_LIST + objects * _OF_AN_OBJECT + names * _OF_A_NAME + values * _OF_A_VALUE + 2 * size
