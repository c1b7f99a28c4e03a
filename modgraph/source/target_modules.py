"""The module of a target: its file, or the source that stands for one."""

from __future__ import annotations

from modgraph.errors import MissingFileError
from modgraph.source.modules import ModuleFinder, SourceModule
from modgraph.source.targets import Target, shortened


def module_of(target: Target) -> SourceModule:
    """The module of a target that names a file, not read yet."""
    assert target.file is not None
    found = SourceModule(target.module, target.file, target.relative_file, target.file.stem == "__init__")
    if target.code is not None:
        found.text = target.code
    return found


def not_there(finder: ModuleFinder, target: Target) -> MissingFileError:
    """What is said of a module without source: whether it is installed at all, or lies outside of the project."""
    module = shortened(target.module)
    if (why := finder.refusal(target.module)) is not None:
        return MissingFileError(why)
    first = target.module.partition(".")[0]
    if finder.find(first) is None:
        return MissingFileError(
            f"there is no module {shortened(first)!r} here: it is not installed, nor is it on the search path",
            hint=f"install it beside modgraph, or name a file with its ending: {module.replace('.', '/')}.py",
        )
    return MissingFileError(
        f"there is no module {module!r} with Python source on the search path",
        hint=f"a file is named with its ending: {module.replace('.', '/')}.py",
    )
