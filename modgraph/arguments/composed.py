"""The configuration that Hydra composes of the files of a folder: one has a list `defaults`, which names others.

Source: the manual of Hydra 1.3, "The Defaults List", "Packages" and "Basic Override syntax". Of what goes beyond (lists
that are changed from elsewhere, options that a reference names, search paths) nothing is claimed.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from modgraph.arguments.config_files import DATA_READERS, MAX_FILE, read_as
from modgraph.arguments.data_files import Opened
from modgraph.arguments.interpolations import Path, References
from modgraph.arguments.other_data import other_values
from modgraph.doors.borders import Border, border_around
from modgraph.doors.reading import read
from modgraph.source.changed_objects import root_name
from modgraph.source.files import decode, text_of
from modgraph.source.quiet import python_tree
from modgraph.source.targets import Unsaid

ENDINGS = (".yaml", ".yml")
MAX_FILES = 60
"""Files of one configuration."""
MAX_ENTRIES = 20_000
"""Entries of all of them."""
_MAX_DEPTH = 20
_MAX_REFERENCE = 2_000
"""Characters of a text with references."""
_MAX_UP = 3
"""Folders above that of a file of a group."""
_DEFAULTS = "defaults"
_OWN = "hydra"
"""The part of a configuration that is for Hydra itself, and is given to nobody."""
_HEADER = re.compile(r"#\s*@")
"""A line at the top of a file that says something of the file itself."""
_FOR_ITSELF = re.compile(r"(?:override\s+|optional\s+)?/?hydra(?:$|[/@])")
_OPTION = re.compile(r"[\w./-]+")
_GROUP = re.compile(r"(?P<optional>optional\s+)?(?P<group>/?[\w./-]+)(?:@(?P<package>[\w.]+))?")
_WORD = re.compile(r"(?P<add>\+{0,2})(?P<key>[\w./-]+)=(?P<value>.*)", re.DOTALL)
_TEXT = re.compile(r"[A-Za-z_/.][\w/.-]*", re.ASCII)
_WHOLE = "(?:[1-9][0-9]+|[0-9])"
_NUMBER = re.compile(rf"[-+]?(?:{_WHOLE}|{_WHOLE}?\.[0-9]+|{_WHOLE}\.)(?:[eE][-+]?[0-9]+)?")
"""Source: Hydra's grammar of overrides, as the words below. `007` is a text there."""
_PLAIN = {"true": True, "false": False, "null": None}
"""However they are written."""
_MISSING = "???"


class Composing:
    """Composes what a script asks for, within its project. A reference is what it refers to in the files; where the
    script may change that, it is not said."""

    def __init__(self, script: str, opened: Opened) -> None:
        self.refers = False
        """There was a reference in one that was given."""
        self._opened = opened
        self._script = script
        self._border = border_around(os.path.dirname(script))

    def __call__(self, folder: str, name: str, words: tuple[str, ...], /) -> Any:
        if not self._border.holds(folder):
            return Unsaid("the configuration lies outside of the project")
        try:
            held = _Composition(folder, self._border, self._opened).of(name, words)
        except NotComposedError as error:
            return Unsaid(f"the configuration is not known: {error}")
        return self._resolved(held, References(held, ""), (), text_of(self._script) or "")

    def _resolved(self, held: Any, references: References, inside: Path, script: str) -> Any:
        """With plain values in place of references."""
        if isinstance(held, dict):
            return {key: self._resolved(each, references, (*inside, key), script) for key, each in held.items()}
        if isinstance(held, list):
            return [self._resolved(each, references, (*inside, place), script) for place, each in enumerate(held)]
        if not isinstance(held, str):
            return held
        found = references.value(held, inside[:-1])
        self.refers = self.refers or "${" in held
        if "${" in held and _may_change(held, script):
            return Unsaid("the script may change what it refers to")
        return found


def wholes_around(path: str, border: Border) -> list[dict[str, Any]]:
    """The configurations of which a file may be a part: what those compose that have a list of defaults, in the nearest
    folder above it where there are any."""
    folder = os.path.dirname(os.path.dirname(path))
    for _ in range(_MAX_UP):
        if not border.holds(folder):
            break
        names = sorted(name for name in os.listdir(folder) if name.endswith(ENDINGS))
        if any(_has_defaults(os.path.join(folder, name)) for name in names[:MAX_FILES]):
            return list(_composed_of(folder, names[:MAX_FILES], border))
        folder = os.path.dirname(folder)
    return []


def _has_defaults(path: str) -> bool:
    return re.search(r"^defaults:", text_of(path, MAX_FILE) or "", re.MULTILINE) is not None


def _composed_of(folder: str, names: list[str], border: Border) -> Iterator[dict[str, Any]]:
    for name in names:
        if _has_defaults(os.path.join(folder, name)):
            with contextlib.suppress(NotComposedError):
                yield composed(folder, name.rpartition(".")[0], border)


def _may_change(reference: str, script: str) -> bool:
    """A statement of a script may give something new to a part of what a reference names."""
    if len(reference) > _MAX_REFERENCE:
        return True
    parts = {part for path in re.findall(r"\$\{([\w.]{1,200})\}", reference) for part in path.split(".")}
    return not parts or not _stores(script).isdisjoint(parts | {_ANYTHING})


_ANYTHING = "*"
"""Among the names that are given values: which one is not known."""
_GIVING = frozenset(["setattr", "exec", "merge", "unsafe_merge"])
"""Functions that give something a name or an item, which one is not looked for."""
_GIVING_METHODS = frozenset(["__setattr__", "__setitem__", "setdefault", "update", "merge_with", "pop"])
"""Methods of what a function was given that do."""


@lru_cache(maxsize=8)
def _stores(script: str) -> frozenset[str]:
    """Names under which a script gives attributes and items new values, however it does so."""
    try:
        tree = python_tree(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset([_ANYTHING])
    found: set[str] = set()
    given = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(node.attr)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            found.add(key if isinstance(key, str) else _ANYTHING)
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            gives = called in _GIVING or (called in _GIVING_METHODS and root_name(node.func) in given)
            found.update([_ANYTHING] if gives else ())
    return frozenset(found)


class NotComposedError(ValueError):
    """What the files give is not followed; says why."""


def composed(folder: str, name: str, border: Border, words: Sequence[str] = ()) -> dict[str, Any]:
    """The configuration, with its references as they are written.

    Args:
        folder: where its files lie.
        name: of the primary file, without its ending.
        border: of the project.
        words: of the command line that change it: `model=large`, `model.depth=3`.

    Raises:
        NotComposedError: it is not known.
    """
    return _Composition(folder, border).of(name, words)


class _Composition:
    def __init__(self, folder: str, border: Border, opened: Opened | None = None) -> None:
        self._folder = folder
        self._border = border
        self._opened = opened or Opened()
        self._left = MAX_FILES
        self._entries = MAX_ENTRIES
        self._options: dict[str, Any] = {}
        """By group: the option that the command line says."""
        self._used: set[str] = set()
        self._chosen_of: set[tuple[str, str]] = set()
        """Groups, each with the package into which it goes."""

    def of(self, name: str, words: Sequence[str]) -> dict[str, Any]:
        values: list[tuple[str, str, Any]] = []
        for word in words:
            match = _WORD.fullmatch(word)
            if match is None or match["key"].split(".")[0].split("/")[0] == _OWN:
                raise NotComposedError(f"the word {word} of the command line is not followed")
            value = _of_word(match["value"])
            if "/" in match["key"] or os.path.isdir(os.path.join(self._folder, match["key"])):
                if match["add"] or match["key"] in self._options or value is None:
                    raise NotComposedError(f"the word {word} of the command line is not followed")
                self._options[match["key"]] = value
            else:
                values.append((match["add"], match["key"], value))
        found: dict[str, Any] = {}
        for part in self._parts(name, "", "", 0):
            self._merge(found, part, 0)
        if self._options.keys() - self._used:
            raise NotComposedError("the command line chooses of a group that is in no list")
        for add, key, value in values:
            self._set(found, key.split("."), value, add)
        found.pop(_OWN, None)
        return found

    def _parts(
        self, path: str, group: str, package: str, depth: int, *, is_said: bool = False
    ) -> Iterator[dict[str, Any]]:
        """What is laid over one another for a file, in that order, each where it stands in the whole.

        Args:
            path: from the folder, without its ending.
            group: the folder of the file, for those that it names.
            package: where its content stands, unless the file says that itself.
            is_said: the list that names it says the package, and the file may not.
        """
        held, header = self._file(path)
        if header is not None and not is_said:
            package = "" if header == "_global_" else header
            if package.startswith("_"):  # what `_group_` means depends on `version_base`
                raise NotComposedError(f"the package {header} is not followed")
        if depth > _MAX_DEPTH:
            raise NotComposedError("it is nested too deeply")
        defaults = held.pop(_DEFAULTS, [])
        own = _below(package, held)
        if not isinstance(defaults, list):
            raise NotComposedError("its defaults are no list")
        if defaults.count("_self_") > 1:
            raise NotComposedError("its defaults name itself twice")
        if "_self_" not in defaults:
            defaults = [*defaults, "_self_"]
        for each in defaults:
            if each == "_self_":
                yield own
            else:
                yield from self._entry(each, group, package, depth)

    def _entry(self, each: Any, group: str, package: str, depth: int) -> Iterator[dict[str, Any]]:
        """One of a list of defaults: `file`, `group: option`."""
        if isinstance(each, str):
            if _OPTION.fullmatch(each) is None:
                raise NotComposedError(f"the default {each} is not followed")
            path = each.lstrip("/") if each.startswith("/") else os.path.join(group, each)
            yield from self._parts(path, os.path.dirname(path), _package_of(path, group, package), depth + 1)
            return
        if not isinstance(each, dict) or len(each) != 1:
            raise NotComposedError("a default is neither a name nor a group")
        ((key, option),) = each.items()
        if isinstance(key, str) and _FOR_ITSELF.match(key):
            return
        match = _GROUP.fullmatch(key) if isinstance(key, str) else None
        if match is None:
            raise NotComposedError(f"the default {key} is not followed")
        named = match["group"]
        place = named.lstrip("/") if named.startswith("/") else os.path.join(group, named)
        chosen = option
        if place in self._options and match["package"] is None:
            chosen = self._options[place]
            self._used.add(place)
        below = match["package"]
        if below is None:
            below = _package_of(os.path.join(place, "x"), "" if named.startswith("/") else group, package)
            if named.startswith("/"):
                below = _joined(package, place.replace("/", "."))
        elif below == "_global_":
            below = ""
        elif below == "_here_":
            below = package
        else:
            below = below.removeprefix("_global_.") if below.startswith("_global_.") else _joined(package, below)
        if (place, below) in self._chosen_of:
            raise NotComposedError(f"{place} is chosen of twice")
        self._chosen_of.add((place, below))
        for one in chosen if isinstance(chosen, list) else [chosen]:
            if one is not None:
                yield from self._chosen(one, place, below, depth, match)

    def _chosen(
        self, option: Any, place: str, package: str, depth: int, entry: re.Match[str]
    ) -> Iterator[dict[str, Any]]:
        if not isinstance(option, str) or _OPTION.fullmatch(option) is None:
            raise NotComposedError(f"what is chosen of {place} is not known")
        path = os.path.join(place, option.removesuffix(".yaml"))
        if entry["optional"] is not None and self._place(path) is None:
            return
        is_said = entry["package"] is not None
        yield from self._parts(path, os.path.dirname(path), package, depth + 1, is_said=is_said)

    def _place(self, path: str) -> str | None:
        """The file of that path."""
        if ".." in path.split("/"):
            raise NotComposedError("it leads out of its folder")
        places = (os.path.join(self._folder, path + ending) for ending in ENDINGS)
        return next((each for each in places if self._border.admits(each, ENDINGS) and os.path.isfile(each)), None)

    def _file(self, path: str) -> tuple[dict[str, Any], str | None]:
        """What a file holds, and the package that it says."""
        self._left -= 1
        place = self._place(path.removesuffix(".yaml"))
        if place is None or self._left < 0:
            raise NotComposedError(f"the file {path} is not there")
        if not self._opened.admits(place):
            raise NotComposedError(f"what the file {path} holds is not asked")
        try:
            text = decode(read(place, MAX_FILE))
            held = read_as(DATA_READERS, place, text) if text.strip() else {}
        except (OSError, ValueError, LookupError, SyntaxError, ImportError, RecursionError) as error:
            raise NotComposedError(f"the file {path} is not read: {error}") from None
        if held is None and not _is_more_than_comments(text):
            held = {}
        if not isinstance(held, dict):
            raise NotComposedError(f"the file {path} is no mapping, or more than plain YAML")
        if place == self._opened.changed:
            held = {key: each if key == _DEFAULTS else other_values(each) for key, each in held.items()}
        return dict(held), _package_said(text)

    def _merge(self, found: dict[str, Any], over: dict[str, Any], depth: int) -> None:
        """Lays one mapping over another one, at each depth; lists are replaced."""
        self._entries -= len(over) + 1
        if self._entries < 0 or depth > _MAX_DEPTH:
            raise NotComposedError("it holds too much")
        for name, value in over.items():
            below = found.get(name)
            if value == _MISSING and name in found:
                continue  # what is to be said yet hides nothing
            if {type(below), type(value)} == {dict, list}:
                raise NotComposedError(f"{name} is a mapping here, and a list there")
            if isinstance(value, dict):
                if not isinstance(below, dict):
                    below = found[name] = {}
                self._merge(below, value, depth + 1)
            else:
                found[name] = value

    def _set(self, found: dict[str, Any], keys: list[str], value: Any, add: str) -> None:
        """
        Args:
            add: "+" where it has to be new, "++" where it may be, "" where it has to be there.
        """
        for key in keys[:-1]:
            below = found.get(key)
            if below is None and add and key not in found:
                below = found[key] = {}
            if not isinstance(below, dict):
                raise NotComposedError(f"the command line sets {'.'.join(keys)}, which is not there")
            found = below
        if keys[-1] not in found and not add:
            raise NotComposedError(f"the command line sets {'.'.join(keys)}, which is not there")
        if keys[-1] in found and add == "+":
            raise NotComposedError(f"the command line adds {'.'.join(keys)}, which is there")
        found[keys[-1]] = value


def _of_word(text: str) -> Any:
    """A value of a command line that is plain."""
    if text.lower() in _PLAIN:
        return _PLAIN[text.lower()]
    if _NUMBER.fullmatch(text):
        return float(text) if re.search(r"[.eE]", text) else int(text)
    if _TEXT.fullmatch(text) and text.lower() not in ("nan", "inf"):
        return text
    raise NotComposedError(f"the value {text} of the command line is not followed")


def _package_said(text: str) -> str | None:
    """The package that a file says above all else: `# @package _global_`; a comment before it ends what it may say."""
    said = None
    for line in filter(None, map(str.strip, text.splitlines())):
        if _HEADER.match(line) is None:
            break
        words = line.lstrip("#").split()
        if len(words) != 2:
            raise NotComposedError(f"what the line {line} says of a file is not followed")
        said = words[1] if words[0] == "@package" else said
    return said


def _package_of(path: str, group: str, package: str) -> str:
    """Where the content of a file stands that another one names: below that one's, by the folders between them."""
    between = os.path.relpath(os.path.dirname(path) or ".", group or ".")
    if between.startswith(".."):
        raise NotComposedError("a default leads out of its group")
    return package if between == "." else _joined(package, between.replace("/", "."))


def _joined(package: str, name: str) -> str:
    return f"{package}.{name}" if package else name


def _below(package: str, held: dict[str, Any]) -> dict[str, Any]:
    for name in reversed(package.split(".") if package else []):
        held = {name: held}
    return held


def _is_more_than_comments(text: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())
