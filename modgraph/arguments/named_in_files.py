"""Classes that a configuration file of their project names, with the arguments that stand there: YAML, JSON, TOML, and
scripts that are nothing but values.

A registry or a factory reads it where the project trains, often by a path that its command line alone says. Nearest
files come first, and of those in folders equally near the ones that a script names, then the ones that are called after
a configuration.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from modgraph.arguments.composed import wholes_around
from modgraph.arguments.config_files import DATA_READERS, ENDINGS, MAX_FILE, MAX_FOUND, read_as
from modgraph.arguments.constructor import Constructor
from modgraph.arguments.files_around import Steps, files_around
from modgraph.arguments.interpolations import References
from modgraph.arguments.named_mappings import NamedMapping, named_mappings
from modgraph.arguments.named_objects import Values
from modgraph.arguments.namesakes import Namesakes
from modgraph.arguments.naming import Naming, has_module
from modgraph.arguments.project_files import ProjectFiles
from modgraph.arguments.python_configs import python_config
from modgraph.arguments.registered import Registered, registered
from modgraph.arguments.search_time import require_time
from modgraph.doors.borders import Border, border_around
from modgraph.doors.reading import read
from modgraph.prediction.calls_elsewhere import ReachedCall
from modgraph.source.files import decode, text_of

MAX_FILES = 1_000
"""Files whose text is asked for the name of the class."""
MAX_WALKED = 5_000
"""Files that are put in their order."""
MAX_READ = 30
"""Files with that name that are read as a configuration."""
_MAX_BASES = 16
"""Files that one is derived from, all in all."""
_MAX_MERGED = 100_000
"""Entries of files that are laid over one another."""
_MAX_DEPTH = 100
_OWN = "modgraph/"
"""Begins the schema of a saved graph."""
_BASES = "_base_"
_DELETE = "_delete_"
_CONFIGURATION = re.compile(r"conf|cfg|option|opts|param|setting|exp|hydra", re.IGNORECASE)


def named_in_files(constructor: Constructor, known: Mapping[str, Any], files: ProjectFiles) -> Iterator[ReachedCall]:
    """What such files give the class, as calls of it; a value that is not known as a whole is `Unsaid`.

    Args:
        known: what parameters are given that need a value and have none there.
        files: of the project.
    """
    target = constructor.target
    if target.file is None or target.code is not None:
        return
    tables = registered(constructor, files)
    naming = Naming(target, tables.names)
    root = str(target.root or target.file.parent)
    namesakes = _NamesakesOf(naming, target.file, tables)
    seen: set[str] = set()
    n_found = 0
    for path, text in islice(_written_down_first(target.file, naming, files), MAX_READ):
        require_time()
        held = _Held(border_around(target.file.parent)).of(path, text)
        if held is None:
            continue
        found, n_texts = named_mappings(held, constructor, naming.names, known)
        place = os.path.relpath(path, root).replace(os.sep, "/")
        for each in found:
            if not namesakes.are_farther(each.mapping[each.key], path):
                continue
            line = None if path.endswith(".py") else naming.line(text, each.number, n_texts)
            ways = {repr(keywords): keywords for keywords in _keywords(constructor, each, held, path)}
            ways = {shown: keywords for shown, keywords in ways.items() if shown not in seen}
            seen.update(ways)
            yield from (ReachedCall((), keywords, place, line) for keywords in ways.values())
            n_found += bool(ways)
            if n_found == MAX_FOUND:
                return


class _NamesakesOf:
    """Of a class, by each of its names."""

    def __init__(self, naming: Naming, file: Path, tables: Registered) -> None:
        self._naming = naming
        self._file = file
        self._tables = tables
        self._known: dict[str, Namesakes] = {}

    def are_farther(self, text: str, configuration: str) -> bool:
        """The text of a configuration means this class, and none that lies nearer to it, or as near."""
        is_registered = self._naming.is_registered(text)
        if not is_registered and has_module(text):
            return True
        name = text if is_registered else self._naming.name
        if name not in self._known:
            self._known[name] = Namesakes(name, self._file, self._tables.files if is_registered else None)
        return self._known[name].is_nearest(configuration)


def _keywords(
    constructor: Constructor, named: NamedMapping, held: Any, path: str
) -> Iterator[tuple[tuple[str, Any], ...]]:
    """The arguments of a mapping by parameter, as the constructor is given them. Where attributes are read from one,
    the mapping itself comes second: what both reads and hands on a configuration may want either."""
    wholes = cache(lambda: wholes_around(path, border_around(os.path.dirname(path))))
    references = References(held, os.path.basename(os.path.dirname(path)), wholes)
    for as_read in (True, False):
        values = Values(constructor, references, named.key, named.mapping)
        yield tuple(
            (name, values.argument(name, value, named.inside, as_read=as_read))
            for name, value in named.keywords.items()
        )


def _written_down_first(model: Path, naming: Naming, files: ProjectFiles) -> Iterator[tuple[str, str]]:
    """Of files in folders equally near, those first whose name stands in a string of a script, as that of a default
    does."""
    steps = Steps(str(model.parent))
    for _, alike in groupby(_files_with_name(model, naming, steps), lambda found: steps.to(os.path.dirname(found[0]))):
        near = list(islice(alike, MAX_READ))
        names = {os.path.basename(path) for path, _ in near} if len(near) > 1 else set()
        written = set(_in_strings(names, files)) if names else set()
        yield from sorted(near, key=lambda found: os.path.basename(found[0]) not in written)


def _in_strings(names: set[str], files: ProjectFiles) -> Iterator[str]:
    for file in files.naming(names, own=True):
        for node in () if (tree := file.tree) is None else ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                name = re.split(r"[/\\]", node.value)[-1]
                if name in names:
                    yield name


def _files_with_name(model: Path, naming: Naming, steps: Steps) -> Iterator[tuple[str, str]]:
    for path in islice(_files_around(model, steps), MAX_FILES):
        require_time()
        text = text_of(path, MAX_FILE)
        if text is None:
            continue
        if naming.may_stand_in(text) and (not path.endswith(".py") or naming.quoted.search(text)):
            yield path, text


def _files_around(model: Path, steps: Steps) -> Iterator[str]:
    """Files of these kinds but the model's, those first that take the fewest steps from folder to folder."""
    found = files_around(str(model.parent), ENDINGS, most=MAX_WALKED, order=lambda path, _: _distance(path, steps))
    return (path for path in found if path != str(model))


def _distance(path: str, steps: Steps) -> tuple[int, bool, bool, str]:
    """Steps between the folders; then what is called as configurations are, then data before scripts, then by name."""
    folder, name = os.path.split(path)
    way = os.path.join(steps.way(folder), name)
    return steps.to(folder), _CONFIGURATION.search(way) is None, path.endswith(".py"), path


class _Held:
    """What a file holds, with the files that it is derived from."""

    def __init__(self, border: Border) -> None:
        self._border = border
        self._left = _MAX_BASES

    def of(self, path: str, text: str) -> dict[str, Any] | None:
        """None of what cannot be read, or is derived from what cannot."""
        try:
            held: Any = read_as(_READERS, path, text)
        except (ValueError, ImportError, RecursionError, ArithmeticError):
            return None
        if not isinstance(held, dict) or _is_own(held.get("schema")):
            return None
        found: dict[str, Any] = held
        bases = found.pop(_BASES, [])
        for base in reversed([bases] if isinstance(bases, str) else bases if isinstance(bases, list) else [None]):
            below = self._base(path, base)
            if below is None:
                return None
            try:
                found = _merged(below, found, [_MAX_MERGED])
            except ValueError:
                return None
        return found

    def _base(self, path: str, name: Any) -> dict[str, Any] | None:
        self._left -= 1
        place = os.path.join(os.path.dirname(path), name) if isinstance(name, str) and "\0" not in name else ""
        if self._left < 0 or not place or not self._border.admits(place, ENDINGS):
            return None
        try:
            return self.of(place, decode(read(place, MAX_FILE)))
        except (OSError, ValueError, LookupError, SyntaxError):
            return None


def _is_own(schema: Any) -> bool:
    """A graph says what a model was built with, and is no word of its project's."""
    return isinstance(schema, str) and schema.startswith(_OWN)


def _merged(base: dict[str, Any], derived: dict[str, Any], left: list[int], depth: int = 0) -> dict[str, Any]:
    """The entries of both, those of the derived one over the others, at each depth.

    Args:
        left: entries that may be looked at; one that is met twice counts twice.

    Raises:
        ValueError: there are more, or they are nested too deeply.
    """
    left[0] -= len(base) + len(derived) + 1
    if left[0] < 0 or depth > _MAX_DEPTH:
        raise ValueError("it holds too much")
    if derived.get(_DELETE) is True:
        return {name: value for name, value in derived.items() if name != _DELETE}
    found = dict(base)
    for name, over in derived.items():
        below = found.get(name)
        if isinstance(below, dict) and isinstance(over, dict):
            found[name] = _merged(below, over, left, depth + 1)
        else:
            found[name] = over
    return found


_READERS = {**DATA_READERS, "py": python_config}
