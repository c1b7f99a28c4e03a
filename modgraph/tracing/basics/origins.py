"""Whose a file is: modgraph's own, torch's, Python's, of an installed package, or the user's."""

from __future__ import annotations

import os
import site
import sysconfig
from functools import lru_cache

import torch

import modgraph

_PACKAGE = os.path.dirname(os.path.abspath(modgraph.__file__))
_TORCH = os.path.dirname(os.path.abspath(torch.__file__))
_LIBRARY = os.path.abspath(sysconfig.get_path("stdlib"))
internal_files: dict[str, bool] = {}
"""What `is_internal` has said, by file: to be read where a call costs too much."""


def is_own(file: str) -> bool:
    """The file is modgraph's."""
    return is_below(os.path.realpath(file), _real_package())


def is_internal(filename: str) -> bool:
    """The file is torch's, Python's own or modgraph's, or no file at all; asked for every operation of a run."""
    known = internal_files.get(filename)
    if known is None:
        known = internal_files[filename] = _classify(filename)
    return known


def _classify(filename: str) -> bool:
    if filename.startswith("<"):
        return True
    path = os.path.abspath(filename)
    if is_below(path, _PACKAGE) or is_below(path, _TORCH):
        return True
    return is_below(path, _LIBRARY) and "site-packages" not in path and "dist-packages" not in path


def is_of_torch(filename: str) -> bool:
    """The file is one of torch's."""
    return is_below(os.path.abspath(filename), _TORCH)


def is_installed(file: str) -> bool:
    """The file belongs to the standard library or to an installed package, torch or another."""
    return _lies_installed(os.path.join(os.getcwd(), file))


@lru_cache(maxsize=16384)
def _lies_installed(file: str) -> bool:
    """Asked of each module that is imported, for each module of a project."""
    path = os.path.realpath(file)
    return any(is_below(path, root) for root in _installed_roots())


@lru_cache(maxsize=1)
def _real_package() -> str:
    return os.path.realpath(_PACKAGE)


@lru_cache(maxsize=1)
def _installed_roots() -> list[str]:
    paths = sysconfig.get_paths()
    roots = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    roots.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    return sorted(os.path.realpath(root) for root in roots if root)


def is_below(path: str, directory: str) -> bool:
    """Whether an absolute path lies in a directory, at any depth."""
    return path.startswith(directory + os.sep)
