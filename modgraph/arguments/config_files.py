"""Files of the project that hold a configuration, with all that is read from a parameter: YAML, JSON, TOML, and scripts
with the options of a command line.

Which of them a script is given is often said on its command line alone (`--config configs/small.yml`). The nearest file
that has everything is one with which the project builds its model.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from modgraph.arguments.constructor import Constructor
from modgraph.arguments.files_around import files_around
from modgraph.arguments.options import option_defaults
from modgraph.arguments.search_time import require_time
from modgraph.doors.data import read_json, read_toml
from modgraph.doors.reading import read
from modgraph.doors.yaml_texts import MoreThanPlainError, require_plain
from modgraph.source.files import DATA, decode
from modgraph.source.integers import MOST_BITS
from modgraph.source.targets import NAMESPACE, Built

ENDINGS = (*DATA, ".py")
MAX_FILE = 100_000
"""Bytes of one file."""
MAX_FILES = 500
"""Files that are read."""
MAX_FOUND = 3
"""Files that are taken."""
_MOST_OF_IT = 0.75
"""Of what is read, that a file has where none has all: the prediction finds out whether it is enough."""
_MAX_BRACKETS = 500
_MAX_DEPTH = 12
MAX_VALUES = 100_000
"""In one file, each counted at all its places: every walk over them takes no longer."""
MAX_NESTED = 100
"""Of what a file holds."""
_FLOAT = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+$")
"""What YAML 1.1 takes for a text, and those who write 1e-5 mean as a number."""
_PLAIN = (type(None), bool, int, float, str)


@dataclass(frozen=True)
class ConfigFile:
    """A file, and what a class is given that is built from it."""

    file: str
    """Relative to the directory from which the class is imported."""
    arguments: Mapping[str, Any]
    """By parameter."""


def config_files(constructor: Constructor, known: Mapping[str, Any]) -> Iterator[ConfigFile]:
    """The files that have all which is read from the parameters that need a value, the nearest first.

    Args:
        known: what other parameters are given.
    """
    target = constructor.target
    wanted = {each.arg: constructor.paths(each.arg) for each in constructor.required if each.arg not in known}
    if target.file is None or not wanted or not all(_may_be_a_file(paths) for paths in wanted.values()):
        return
    held = list(_configurations(target.file))
    n_found = 0
    for share in (1.0, _MOST_OF_IT):  # what a branch that is not taken reads may be nowhere
        for each in _fitting(constructor, held, wanted, known, share):
            yield each
            n_found += 1
            if n_found == MAX_FOUND:
                return


def _fitting(
    constructor: Constructor,
    found: list[tuple[str, Any]],
    wanted: Mapping[str, Mapping[tuple[str, ...], bool]],
    known: Mapping[str, Any],
    share: float,
) -> Iterator[ConfigFile]:
    """Those that have such a share of what is read."""
    target = constructor.target
    assert target.file is not None
    seen: dict[str, tuple[str, Any]] = {}
    for path, held in found:
        require_time()
        place = os.path.relpath(path, target.root or target.file.parent).replace(os.sep, "/")
        fitting = {name: _as_read(held, paths) for name, paths in wanted.items() if _has(held, paths, share)}
        for name, value in fitting.items():
            seen.setdefault(name, (place, value))
        if seen.keys() == wanted.keys() and fitting:
            given = {name: fitting.get(name, seen[name][1]) for name in wanted}
            file = ", ".join(dict.fromkeys(place if name in fitting else seen[name][0] for name in wanted))
            yield ConfigFile(file, {**known, **given})


def _may_be_a_file(paths: Mapping[tuple[str, ...], bool]) -> bool:
    """Something is read from it, and all in one way."""
    return bool(paths) and len(set(paths.values())) == 1


def _has(held: Any, paths: Mapping[tuple[str, ...], bool], share: float) -> bool:
    """So many of the paths lead to something; the methods of a dict, at their ends, are no keys."""
    n_lacking = sum(not _leads(held, path, by_attribute=by_attribute) for path, by_attribute in paths.items())
    return n_lacking <= (1 - share) * len(paths)


def _leads(held: Any, path: tuple[str, ...], *, by_attribute: bool) -> bool:
    for name in path:
        if not isinstance(held, dict):
            return by_attribute and held is not None and hasattr(type(held), name)
        if name not in held:
            return False
        held = held[name]
    return True


def _as_read(held: Any, paths: Mapping[tuple[str, ...], bool]) -> Any:
    return namespace(held) if next(iter(paths.values())) else held


def namespace(held: Any) -> Any:
    """With attributes where there are keys, as scripts have it that read them so."""
    if isinstance(held, dict) and all(isinstance(name, str) and name.isidentifier() for name in held):
        return Built(NAMESPACE, attributes=tuple((name, namespace(value)) for name, value in held.items()))
    return [namespace(each) for each in held] if isinstance(held, list) else held


def _configurations(model: Path) -> Iterator[tuple[str, Any]]:
    """What files of the project hold, those of the model's folder first, then of those around it."""
    for path in islice(files_around(str(model.parent), ENDINGS, most=MAX_FILES), MAX_FILES):
        held = _held(path)
        if held is not None:
            yield path, held


def _held(path: str) -> dict[str, Any] | None:
    """None of what cannot be read, or is no mapping of plain values."""
    try:
        text = decode(read(path, MAX_FILE))
        held = read_as(_READERS, path, text)
    except (OSError, ValueError, LookupError, SyntaxError, ImportError, RecursionError):
        return None
    return held if isinstance(held, dict) and _is_plain(held) else None


def _read_yaml(text: str) -> Any:
    if text.count("[") + text.count("{") > _MAX_BRACKETS:
        return None
    yaml: Any = importlib.import_module("yaml")
    loader: Any = type("Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
    loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789"))
    try:
        require_plain(yaml.parse(text, Loader=loader))
        return yaml.load(text, Loader=loader)
    except MoreThanPlainError:
        return None
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


def _is_plain(value: Any, depth: int = 0) -> bool:
    if depth > _MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return all(_is_plain(each, depth + 1) for each in (*value, *value.values()))
    return isinstance(value, _PLAIN) or (isinstance(value, list) and all(_is_plain(each, depth + 1) for each in value))


def read_as(readers: Mapping[str, Callable[[str], Any]], path: str, text: str) -> Any:
    """What a text holds, by the reader for the ending of its file; at most so much that each walk over it, also one
    that meets a value at several places, comes to an end soon.

    Raises:
        ValueError, ImportError, RecursionError: it cannot be read, holds too much, or has a number that cannot be
            written.
    """
    try:
        held = readers[path.rpartition(".")[2].lower()](text)
    except (ArithmeticError, LookupError, TypeError, AttributeError) as error:  # of a reader: a number, a date, a key
        raise ValueError(str(error)) from None
    _require_bounded(held)
    return held


def _require_bounded(held: Any) -> None:
    """Raises ValueError where it holds more than is walked over, each value counted where it is met, is nested too
    deeply, or has a whole number of more digits than Python writes."""
    pending: list[tuple[Any, int]] = [(held, 0)]
    n_met = 0
    while pending:
        value, depth = pending.pop()
        n_met += 1
        if isinstance(value, int) and value.bit_length() > MOST_BITS:
            raise ValueError("it has a number of too many digits")
        if isinstance(value, dict | list | tuple):
            pending += [(each, depth + 1) for each in ((*value, *value.values()) if isinstance(value, dict) else value)]
        if n_met + len(pending) > MAX_VALUES or depth > MAX_NESTED:
            raise ValueError("it holds too much")


DATA_READERS: dict[str, Callable[[str], Any]] = {
    "yaml": _read_yaml,
    "yml": _read_yaml,
    "json": read_json,
    "toml": read_toml,
}
"""By ending; each raises ValueError, ImportError or RecursionError where it cannot read a text."""
_READERS = {**DATA_READERS, "py": option_defaults}
