"""`cls.__subclasses__()`: the classes derived from a class, where all of them can be told.

Python lists those that exist when it is asked: of all modules that were imported by then. They can be told where they
all stand in the file of the class itself, each at its top, and no other file of its package, and of what the project
imports, has a class derived from one of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from modgraph.prediction.code.import_order import is_installed
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import ClassObject, ListObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, ClassValue, Value
from modgraph.source.index import Definition
from modgraph.source.modules import SourceError, SourceModule

_MOST_FILES = 1_000
"""In which derived classes are looked for: where there are more, nothing is said."""
_UNITS_OF_A_FILE = 20
_MOST_NAMES = 100
"""That a class may have in one file: where there are more, nothing is said."""
_SEARCHED = 2_000
"""Characters that are searched for a name at the cost of one unit."""
_MADE_BY_CALL = re.compile(r"\b(?:type|new_class|make_dataclass)\s*\((?!\s*[\w.]+\s*\))")
"""A class that no class statement makes; `type(x)` makes none."""
_UNKNOWN = "which classes are derived from a class is not known"


@models("builtins.type.__subclasses__")
def subclasses(arguments: Arguments, machine: Machine) -> Value:
    cls = arguments.get(0, "cls", NONE)
    item = machine.state.find(cls.address, ClassObject) if isinstance(cls, ClassValue) else None
    definition = item.definition if item is not None else None
    home = machine.finder.readable(definition.module) if definition is not None else None
    if not isinstance(cls, ClassValue) or definition is None or home is None or "." in definition.qualname:
        return machine.unknown(_UNKNOWN)
    found = _at_top(machine, home, cls, definition.name)
    known, key = machine.caches.derived_elsewhere, (home.name, definition.name)
    if found is not None and key not in known:
        known[key] = _elsewhere(machine, home, definition.name)
    if found is None or known[key]:
        return machine.unknown(_UNKNOWN)
    return machine.allocate(ListObject(found))


def _at_top(machine: Machine, home: SourceModule, cls: ClassValue, name: str) -> list[Value] | None:
    """Those of its file, in their order; None where one of them stands below the top, or may."""
    if _MADE_BY_CALL.search(home.text) or any(name in of for of in home.index.aliases.values()):
        return None
    top = {each.definition.line for each in home.index.body if each.kind == "class" and each.definition is not None}
    found: list[Value] = []
    for each in home.index.definitions.values():
        if not _names(each, {name}):
            continue
        value = machine.module_attribute(home.name, each.name) if each.line in top else None
        item = machine.state.find(value.address, ClassObject) if isinstance(value, ClassValue) else None
        if value is None or item is None or cls not in item.bases or "." in each.qualname:
            return None
        found.append(value)
    return found


def _names(definition: Definition, names: set[str]) -> bool:
    """A class whose bases have one of these names in them."""
    return definition.kind == "class" and any(
        word in names for base in definition.bases for word in re.findall(r"\w+", base)
    )


def _elsewhere(machine: Machine, home: SourceModule, name: str) -> bool:
    """Another file may derive a class from one of that name, or from what it is called in a third."""
    sources = []
    for number, source in enumerate(_others(machine, home)):
        machine.spend(_UNITS_OF_A_FILE)
        if number > _MOST_FILES:
            return True
        # What is installed does not import what uses it.
        if source.path != home.path and (is_installed(home) or not is_installed(source)):
            sources.append(source)
    given: dict[Path, set[str]] = {home.path: {name}}
    growing = True
    while growing:
        growing = False
        for source in sources:
            machine.spend(1)
            try:
                taken = [names for path, names in given.items() if path == source.path or _says_module(source, path)]
                here = _called_there(machine, source, {name}.union(*taken))
                if not here:
                    continue
                if len(here) > _MOST_NAMES:
                    return True
                made = _MADE_BY_CALL.search(source.text)
                if made or any(_names(each, here) for each in source.index.definitions.values()):
                    return True
                outside = _bound_outside(source, here)
            except SourceError:
                continue  # it is not followed either, wherever it is imported
            known = given.get(source.path, set())
            if not outside <= known:
                given[source.path], growing = known | outside, True
    return False


def _says_module(source: SourceModule, path: Path) -> bool:
    """A file may take names from another: it has the word by which a module is imported, or lies in the package."""
    if path.stem != "__init__":
        return re.search(rf"\b{re.escape(path.stem)}\b", source.text) is not None
    folder = path.parent
    return folder in source.path.parents or re.search(rf"\b{re.escape(folder.name)}\b", source.text) is not None


def _bound_outside(source: SourceModule, names: set[str]) -> set[str]:
    """Those of the names that are bound outside of functions, which another file can take from this one."""
    if re.search(r"\bimport\s*\(?\s*\*|^\s*global\s", source.text, re.MULTILINE):
        return names
    functions = [each for each in source.index.definitions.values() if each.kind == "function"]
    inside = {line for each in functions for line in range(each.body_line, each.last_line + 1)}
    outside = "\n".join(line for number, line in enumerate(source.text.splitlines(), 1) if number not in inside)
    binding = r"\b{0}\b[^=\n]*=|\bas\s+{0}\b|\bimport\b[^\n(]*\b{0}\b|\bimport\s*\([^)]*\b{0}\b|\bfor\b[^\n]*\b{0}\b"
    return {each for each in names if re.search(binding.format(re.escape(each)), outside)}


def _called_there(machine: Machine, source: SourceModule, names: set[str]) -> set[str]:
    """What the classes of these names may be called in another file; a word of it that is no class of its own may be
    one of them, wherever it comes from."""
    text = source.text
    said = {each for each in names if each in text}
    if not said:
        return said
    own = {each.name for each in source.index.definitions.values() if each.kind == "class"}
    found = {each for each in said if re.search(rf"(?:\.\s*|\bimport\s.*){each}\b", text) or each not in own}
    pending = list(found)
    while pending and len(found) <= _MOST_NAMES:
        machine.spend(len(text) // _SEARCHED)
        word = re.escape(pending.pop())
        targets = re.findall(rf"^([\s\w.,*()\[\]]+?)(?::[^=\n]*)?=[^=\n]*\b{word}\b", text, re.MULTILINE)
        others = re.findall(rf"\b{word}\s+as\s+(\w+)|\b(\w+)\s*:=[^\n]*\b{word}\b", text)
        for other in re.findall(r"\w+", " ".join([*targets, *(" ".join(each) for each in others)])):
            if other not in found:
                found.add(other)
                pending.append(other)
    return found


def _others(machine: Machine, home: SourceModule) -> Iterator[SourceModule]:
    """The files of its package, the modules that have been read, and those that the project's own modules among them
    import, one by another."""
    finder = machine.finder
    package = finder.source(home.name.partition(".")[0])
    if package is not None and package.is_package:
        yield from finder.files_below(str(package.path.parent))
    pending = finder.modules_read()
    seen = {each.name for each in pending}
    while pending:
        source = pending.pop()
        yield source
        if is_installed(source):
            continue
        for name in _imported(source):
            other = finder.source(name) if name not in seen else None
            seen.add(name)
            if other is not None:
                pending.append(other)


def _imported(source: SourceModule) -> Iterator[str]:
    """Modules that a module imports, or may."""
    try:
        imports = source.index.imports
    except SourceError:
        return
    for each in imports:
        module = source.absolute(each.module, each.level)
        parts = module.split(".")
        yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))
        if each.attribute not in (None, "*"):
            yield f"{module}.{each.attribute}"
