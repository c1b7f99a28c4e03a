"""What is known of Python and torch and not read from source: every file of this folder registers what it knows."""

from __future__ import annotations

import importlib
import pkgutil


def import_all() -> None:
    """Imports every file of this folder."""
    for found in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{found.name}")
