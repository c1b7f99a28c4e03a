"""Where what can be computed again is kept: `MODGRAPH_CACHE` names the directory, or is "off"."""

from __future__ import annotations

import os


def cache_home() -> str | None:
    """The directory of all caches, by default in the user's own; None where nothing is to be kept."""
    chosen = os.environ.get("MODGRAPH_CACHE", "")
    if chosen:
        return None if chosen == "off" else chosen
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    if not home:
        own = os.path.expanduser("~")
        if own == "~":  # there is no home directory
            return None
        home = os.path.join(own, ".cache")
    return os.path.join(home, "modgraph")
