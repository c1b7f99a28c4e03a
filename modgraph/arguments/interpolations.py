"""References inside a configuration: `width: ${model.width}`, as OmegaConf and Hydra have them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from modgraph.source.targets import Unsaid

_REFERENCE = re.compile(r"\$\{\s*(\.*)([\w\[-][\w.\[\]-]*)\s*\}")
_HOLDS = re.compile(r"\$\{|\{\{")
MISSING = "???"
"""Stands for a value that has to be given."""
_MAX_STEPS = 8
_PLAIN = (type(None), bool, int, float, str)

Path = tuple[str | int, ...]


class References:
    """Of one file.

    Args:
        held: what it holds.
        group: name of its folder: a file of a group of configurations is a part of a whole, under that name.
        wholes: the configurations that it may be a part of; asked where the file itself does not say it. It counts
            where all say the same.
    """

    def __init__(self, held: Any, group: str, wholes: Callable[[], Sequence[Any]] = tuple) -> None:
        self._held = held
        self._group = group
        self._wholes = wholes

    def value(self, text: str, inside: Path) -> Any:
        """What a text in the mapping at `inside` means: itself, or the plain value that it refers to; else `Unsaid`."""
        for _ in range(_MAX_STEPS):
            if text == MISSING:
                return Unsaid("it has to be given")
            if _HOLDS.search(text) is None:
                return text
            match = _REFERENCE.fullmatch(text)
            found = None if match is None else self._look(match[1], match[2], inside)
            if found is None:
                break
            inside, value = found
            if not isinstance(value, str):
                return value if _is_plain(value) else Unsaid(f"it refers to what is no plain value: {text}")
            text = value
        return Unsaid(f"it refers to what the file does not say: {text}")

    def _look(self, dots: str, name: str, inside: Path) -> tuple[Path, Any] | None:
        """The mapping in which what is named stands, and that; () is the file."""
        keys: Path = tuple(part for part in re.split(r"[.\[\]]+", name) if part)
        if dots:
            if len(dots) - 1 > len(inside):
                return None
            return self._at((*inside[: len(inside) - len(dots) + 1], *keys))
        found = self._at(keys)
        if found is None and keys[:1] == (self._group,):
            found = self._at(keys[1:])
        if found is not None:
            return found
        others = [_at(whole, keys) for whole in self._wholes()]
        return others[0] if others and all(each == others[0] for each in others) else None

    def _at(self, keys: Path) -> tuple[Path, Any] | None:
        return _at(self._held, keys)


def _at(held: Any, keys: Path) -> tuple[Path, Any] | None:
    """The mapping in which what is named stands, and that; () is the whole."""
    for key in keys:
        if isinstance(held, list) and str(key).isdigit() and int(key) < len(held):
            held = held[int(key)]
        elif isinstance(held, dict) and key in held:
            held = held[key]
        else:
            return None
    return (keys[:-1], held) if keys else None


def _is_plain(value: Any) -> bool:
    each = value if isinstance(value, list) else [value]
    return all(isinstance(one, _PLAIN) and not (isinstance(one, str) and _HOLDS.search(one)) for one in each)
