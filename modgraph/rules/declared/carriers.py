"""Who has a declaration: the classes that inherit it, or are built with the configuration that has it."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import islice

from modgraph.doors.reading import read
from modgraph.rules.declared.introducing import introducing
from modgraph.rules.declared.sources import Sources, assigned
from modgraph.rules.declared.table import CONFIGURATION, CONFIGURATION_CLASS
from modgraph.rules.declared.values import ClassOf, Given, Kind

MAX_CARRIERS = 80
MAX_LOOKED_AT = 6_000
"""Files of a package that are looked through for the name of a class."""
_CLASS = re.compile(r"\b_*[A-Z]\w+")


def carriers(
    sources: Sources, kind: Kind, attribute: str, of_configuration: bool, nearby: bool = False
) -> Sequence[Kind] | None:
    """The classes for which a declaration counts, those in the folder of its file with `nearby`; None where they cannot
    be told."""
    files = _mentioning(sources, kind, nearby)
    if files is None:
        return None
    texts = [text for file in files if (text := sources.text(file)) is not None]
    if any(kind.last in text.bases_of_others for text in texts):
        return None
    having = list(inheriting(sources, kind, attribute, files))
    if not of_configuration:
        return having if len(having) <= MAX_CARRIERS else None
    found: dict[Kind, None] = {}
    for each in having:
        more = files if each == kind else _mentioning(sources, each, nearby)
        if more is None:
            return None
        found.update(dict.fromkeys(_built_with(sources, each, more)))
    if introducing(sources, kind):
        # A plan is of a base model, of what the library that reads it calls a model.
        found = {each: None for each in found if introducing(sources, each)}
        if not found:
            return None
        found.update(dict.fromkeys(_of_any_configuration(sources, kind)))
    return list(found) if len(found) <= MAX_CARRIERS else None


def inheriting(sources: Sources, kind: Kind, attribute: str, files: Sequence[str]) -> Iterator[Kind]:
    """A class and those derived from it that have an attribute from it; all of these for ""."""
    for file in files:
        text = sources.text(file)
        for name in text.classes if text is not None else ():
            each = Kind(file, name)
            if kind in sources.line(each)[0]:
                owners = {owner for owner, _ in sources.members(each, attribute)}
                if owners == {kind} or not attribute:
                    yield each


def _built_with(sources: Sources, configuration: Kind, files: Sequence[str]) -> Iterator[Kind]:
    """Modules that say that they are built with a configuration."""
    for file in files:
        text = sources.text(file)
        for name in text.classes if text is not None else ():
            each = Kind(file, name)
            if sources.is_module(each) is not False and _names(sources, each, configuration):
                yield each


def _of_any_configuration(sources: Sources, configuration: Kind) -> Iterator[Kind]:
    """Models of the folder that do not say themselves with which configuration they are built."""
    for file in _mentioning(sources, Kind(configuration.file, ""), nearby=True) or ():
        text = sources.text(file)
        for name in text.classes if text is not None else ():
            each = Kind(file, name)
            own = sources.own(each)
            inits = [node for node in own.get("__init__", ()) if isinstance(node, ast.FunctionDef)]
            annotated = [a.annotation for node in inits for a in node.args.args if a.arg == CONFIGURATION]
            says = CONFIGURATION in own or CONFIGURATION_CLASS in own or any(a is not None for a in annotated)
            if annotated and not says and sources.is_module(each) and introducing(sources, each):
                yield each


def _names(sources: Sources, kind: Kind, configuration: Kind) -> bool:
    for owner, node in (*sources.members(kind, CONFIGURATION_CLASS), *sources.members(kind, CONFIGURATION)):
        for _, value in assigned(node):
            if value is not None and ClassOf(configuration) in sources.dotted(owner, value):
                return True
        if isinstance(node, ast.AnnAssign) and _is_it(sources, owner, node.annotation, configuration):
            return True
    for owner, node in sources.members(kind, "__init__"):
        if isinstance(node, ast.FunctionDef):
            for each in node.args.args:
                if each.annotation is not None and _is_it(sources, owner, each.annotation, configuration):
                    return True
    return False


def _is_it(sources: Sources, owner: Kind, annotation: ast.expr, configuration: Kind) -> bool:
    return Given(configuration) in (sources.by_annotation(owner, annotation) or ())


def files_of_package(sources: Sources, file: str, nearby: bool = False) -> Sequence[str] | None:
    """The files of the package that a file lies in, or of its folder alone; None where these are too many."""
    root = os.path.dirname(file) if nearby else _root(file)
    listed: dict[tuple[str, bool], list[str]] = sources.project.shared.setdefault(("files of packages",), {})
    if (root, nearby) not in listed:
        listed[root, nearby] = list(islice(_files(root, not nearby), MAX_LOOKED_AT + 1))
    files = listed[root, nearby]
    if len(files) > MAX_LOOKED_AT:
        return None
    sources.project.read.update(dict.fromkeys((root, *files)))
    return files


def _mentioning(sources: Sources, kind: Kind, nearby: bool) -> Sequence[str] | None:
    """Those of the package of a class that have its name, its own first."""
    own, files = kind.file, files_of_package(sources, kind.file, nearby)
    if files is None:
        return None
    return [own, *(file for file in files if file != own and (not kind.last or kind.last in _words(sources, file)))]


def _words(sources: Sources, file: str) -> frozenset[str]:
    """The names with a capital letter in a file: those of classes."""
    known: dict[str, frozenset[str]] = sources.project.shared.setdefault(("words of files",), {})
    if file not in known:
        try:
            text = read(file).decode("utf-8", "replace")
        except (OSError, ValueError):
            text = ""
        known[file] = frozenset(map(sys.intern, _CLASS.findall(text)))
    return known[file]


def _root(file: str) -> str:
    """The folder of the outermost package that a file lies in; its own folder where it lies in none."""
    folder = os.path.dirname(file)
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        above = os.path.dirname(folder)
        if above == folder or not os.path.isfile(os.path.join(above, "__init__.py")):
            return folder
        folder = above
    return folder


def _files(root: str, below: bool) -> Iterator[str]:
    is_package = below and os.path.isfile(os.path.join(root, "__init__.py"))
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith((".", "__pycache__"))) if is_package else []
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))
