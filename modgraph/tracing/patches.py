"""Attributes of classes and modules replaced for a while, by one trace of the whole process at a time."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

one_at_a_time = threading.RLock()
"""Held from the first look at a model until it is as before: patches, flags and generators are of the process."""


class Patches:
    """Attributes replaced on classes and modules, each put back as it was found."""

    def __init__(self, undo: contextlib.ExitStack) -> None:
        self._undo = undo
        self._done: set[tuple[int, str]] = set()

    def replace(self, owner: Any, name: str, value: Any) -> bool:
        """Set `owner.name`, once; False where a class refuses it, as some made in C do, or has it already."""
        if (id(owner), name) in self._done:
            return False
        had_own = name in vars(owner)
        before = vars(owner).get(name)
        try:
            setattr(owner, name, value)
        except (TypeError, AttributeError):
            return False
        self._done.add((id(owner), name))
        if had_own:
            self._undo.callback(setattr, owner, name, before)
        else:
            self._undo.callback(delattr, owner, name)
        return True

    def replace_item(self, mapping: dict[str, Any], name: str, value: Any) -> None:
        """Set `mapping[name]`, which there is."""
        self._undo.callback(mapping.__setitem__, name, mapping[name])
        mapping[name] = value
