"""The module of a target: its file, or the source that stands for one."""

from __future__ import annotations

from modgraph.source.modules import SourceModule
from modgraph.source.targets import Target


def module_of(target: Target) -> SourceModule:
    """The module of a target that names a file, not read yet."""
    assert target.file is not None
    found = SourceModule(target.module, target.file, target.relative_file, target.file.stem == "__init__")
    if target.code is not None:
        found.text = target.code
    return found
