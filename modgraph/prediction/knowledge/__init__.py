"""What is known of Python and torch and not read from source: every file below registers what it knows."""

from __future__ import annotations

import importlib
import pkgutil


def import_all() -> None:
    """Imports every file below this folder."""
    for found in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(found.name)
