"""What is known of Python and torch and not read from source: every file below registers what it knows."""

from __future__ import annotations

import importlib
import pkgutil


def import_all() -> None:
    """Imports every file below this folder."""
    # All at once: a generator that is left where memory ends says so on standard error, with a traceback.
    for found in list(pkgutil.walk_packages(__path__, f"{__name__}.")):
        importlib.import_module(found.name)
