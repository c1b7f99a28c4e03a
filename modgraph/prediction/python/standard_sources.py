"""Which modules come with Python."""

from __future__ import annotations

import sys
import sysconfig

from modgraph.source.modules import SourceModule

STDLIB = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
FOLLOWED = {
    "collections.UserDict": "collections.abc.MutableMapping",
    "collections.UserList": "collections.abc.MutableSequence",
}
"""Classes of Python's own library that are known as their source, in Python, has them, each with its base."""


def is_standard(source: SourceModule) -> bool:
    """A module of the standard library, or of numpy: it is not interpreted, but known as far as `knowledge/` says."""
    if source.name.partition(".")[0] == "numpy":
        return True  # what is written in Python there stands around what is compiled
    return is_of_standard_library(source)


def is_of_standard_library(source: SourceModule) -> bool:
    """A module that comes with Python."""
    if source.name.partition(".")[0] not in sys.stdlib_module_names:
        return False
    path = str(source.path)
    return path.startswith(STDLIB) and "site-packages" not in path
