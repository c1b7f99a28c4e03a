"""Packages that `pip install -e` has installed where they lie, and that a finder of setuptools finds.

A line of a `.pth` file installs such a finder; a literal dict in the finder's own file says what lies where. It is
read, and nothing of it is executed or imported. What names a folder in a `.pth` file stands in `sys.path` itself.
"""

from __future__ import annotations

import ast
import os
import re
import site
from functools import lru_cache
from typing import NamedTuple

from modgraph.doors.reading import CONFIG_BYTES, read
from modgraph.source.files import decode
from modgraph.source.quiet import python_tree

MOST_FINDERS = 1_000

_INSTALLS = re.compile(r"import (?P<finder>__editable___\w+_finder); (?P=finder)\.install\(\)\s*")


class Editable(NamedTuple):
    """What the finders of one environment say."""

    packages: dict[str, str]
    """By import name, the folder of a package; or of a module its file, with or without its ending."""
    namespaces: dict[str, tuple[str, ...]]
    """By import name, the folders of a package without `__init__.py`."""


def editable() -> Editable:
    """Of the Python that runs this: an entry of `sys.path` is asked for `.pth` files only if it is a site's."""
    found = Editable({}, {})
    places = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    for place in places:
        try:
            changed = os.stat(place).st_mtime_ns
        except OSError:
            continue
        inside = _in_site(place, changed)
        for name, folder in inside.packages.items():
            found.packages.setdefault(name, folder)
        for name, folders in inside.namespaces.items():
            found.namespaces.setdefault(name, folders)
    return found


@lru_cache(maxsize=8)
def _in_site(place: str, _changed: int) -> Editable:
    """Of one folder of packages, as it is since it was changed."""
    found = Editable({}, {})
    for name in sorted(each for each in os.listdir(place) if each.startswith("__editable__"))[:MOST_FINDERS]:
        if not name.endswith(".pth"):
            continue
        try:
            match = _INSTALLS.fullmatch(decode(read(os.path.join(place, name), CONFIG_BYTES)))
            tree = match and python_tree(decode(read(os.path.join(place, f"{match['finder']}.py"), CONFIG_BYTES)))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for statement in tree.body if isinstance(tree, ast.Module) else ():
            _take(statement, found)
    return found


def _take(statement: ast.stmt, found: Editable) -> None:
    """The dict that a statement binds: `MAPPING: dict[str, str] = {"pkg": "/folder/pkg"}`."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    if not isinstance(target, ast.Name) or target.id not in ("MAPPING", "NAMESPACES"):
        return
    try:
        value = ast.literal_eval(statement.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return
    for name, place in value.items() if isinstance(value, dict) else ():
        folders = place if isinstance(place, list) else [place]
        if not isinstance(name, str) or not all(isinstance(each, str) and os.path.isabs(each) for each in folders):
            continue
        if target.id == "MAPPING" and isinstance(place, str):
            found.packages.setdefault(name, place)
        elif target.id == "NAMESPACES" and isinstance(place, list):
            found.namespaces.setdefault(name, tuple(place))


def file_of(place: str) -> str | None:
    """The file of a package or module that lies at a place, as the finder looks for it."""
    options = (os.path.join(place, "__init__.py"), f"{os.path.splitext(place)[0]}.py")
    return next((each for each in options if os.path.isfile(each)), None)
