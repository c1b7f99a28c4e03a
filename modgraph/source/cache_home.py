"""Where what can be computed again is kept: `MODGRAPH_CACHE` names the directory, or is "off"."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from modgraph.doors.reading import lies_in

if TYPE_CHECKING:
    from modgraph.doors.keeping import Kept, Place

_kept: dict[tuple[str | None, str | None], Kept] = {}


def cache_home() -> str | None:
    """The directory of all caches, by default in the user's own; None where nothing is to be kept."""
    chosen = os.environ.get("MODGRAPH_CACHE", "")
    if chosen:
        return None if chosen == "off" else os.path.abspath(chosen)
    return font_home()


def font_home() -> str | None:
    """The user's directory of caches, whatever `MODGRAPH_CACHE` says: fontconfig keeps what it knows of fonts there."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    # Source: XDG Base Directory Specification: a relative path is invalid and is ignored.
    return os.path.join(home, "modgraph") if os.path.isabs(home) else _own()


def _own() -> str | None:
    """The user's, whatever variables say of caches; None where there is no home directory."""
    home = os.environ.get("LOCALAPPDATA", "")
    if not os.path.isabs(home):
        own = os.path.expanduser("~")
        if not os.path.isabs(own):
            return None
        home = os.path.join(own, ".cache")
    return os.path.join(home, "modgraph")


_analysed: dict[str, None] = {}
_told: set[str] = set()


def analysing(folder: str) -> None:
    """Tells that a folder is analysed: what is kept in its project may have come with it."""
    if folder in _told:
        return
    from modgraph.doors.borders import project_folders

    _told.add(folder)
    new = [each for each in project_folders(folder) if not any(lies_in(each, known) for known in _analysed)]
    if new:
        _analysed.update(dict.fromkeys(new))
        _kept.clear()


def places(home: str | None) -> tuple[Place, ...]:
    """A directory of caches, and the user's own."""
    from modgraph.doors.keeping import Place

    own = _own()
    return tuple(Place(each, own, tuple(_analysed)) for each in dict.fromkeys((home, own)) if each is not None)


def kept_in(home: str | None) -> Kept:
    """The entries that are kept below a directory of caches; found out once whether it can be used."""
    key = None if home is None else os.path.abspath(home), _own()
    if key not in _kept:
        from modgraph.doors.keeping import Kept

        _kept[key] = Kept(*key, tuple(_analysed))
    return _kept[key]
