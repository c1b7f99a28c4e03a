"""Which modules come with Python, and which of them are interpreted."""

from __future__ import annotations

import sys
import sysconfig
from typing import TYPE_CHECKING

from modgraph.prediction.domain import registry
from modgraph.source.modules import SourceModule

if TYPE_CHECKING:
    pass

STDLIB = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})


def is_standard(source: SourceModule) -> bool:
    """A module of the standard library, or of numpy, that is not to be interpreted."""
    if source.name.partition(".")[0] == "numpy":
        return True  # what is written in Python there stands around what is compiled
    return not registry.is_interpreted(source.name) and is_of_standard_library(source)


def is_of_standard_library(source: SourceModule) -> bool:
    """A module that comes with Python."""
    if source.name.partition(".")[0] not in sys.stdlib_module_names:
        return False
    path = str(source.path)
    return path.startswith(STDLIB) and "site-packages" not in path
