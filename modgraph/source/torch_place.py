"""Whether what a folder calls `torch` is PyTorch.

A project may have a `torch.py`, or a package `torch` without anything in it: by accident, for its tests, or so that
names of torch mean nothing any more and a check of all of its other files finds nothing. Names of torch mean PyTorch's
then. A checkout of PyTorch itself is told by the one file without which there are no modules.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES

TORCH = "torch"
_WITHIN = (TORCH, "nn", "modules")
_FILE = "module.py"
NAMES = (os.path.join(TORCH, "__init__.py"), f"{TORCH}.py", *(TORCH + ending for ending in EXTENSION_SUFFIXES))
"""Of what is imported as torch. A folder without `__init__.py` stands behind any of them, and counts for nothing."""


def is_of_torch(module: str) -> bool:
    """Whether an import name begins with torch's."""
    return module == TORCH or module.startswith(f"{TORCH}.")


def holds_torch(folder: str) -> bool:
    """Whether PyTorch itself is imported from a folder."""
    return os.path.isfile(os.path.join(folder, *_WITHIN, _FILE))


def called_torch(folders: Iterable[str]) -> list[str]:
    """The files that would be imported as torch from these folders."""
    places = (os.path.join(folder, name) for folder in dict.fromkeys(folders) for name in NAMES)
    return [place for place in places if os.path.isfile(place)]


def without_shadows(folders: Sequence[str], module: str) -> Sequence[str]:
    """The folders from which a module is imported: for names of torch without those that hold something else."""
    if not is_of_torch(module):
        return folders
    return [folder for folder in folders if holds_torch(folder) or not called_torch([folder])]
