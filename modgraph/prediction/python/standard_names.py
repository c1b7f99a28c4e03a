"""What the standard library of Python holds, by name: its modules' names, its classes with what they inherit.

Source: `knowledge/standard_names.txt`, which `tests/oracle/python_names.py` makes by asking the interpreters. Nothing
is imported here: the name of a module may stand in the source of a stranger, some modules act when they are imported,
and any of them may be a file of the stranger's in the working directory. What is not in the table is not known.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

_TABLE = Path(__file__).parents[1] / "knowledge/standard_names.txt"

_MADE_ON = "linux"
_WRITTEN = {"os.path": os.path.__name__}
"""Modules that are found under another name than the one they are imported by."""

_OF_EVERY_MODULE = frozenset(
    ("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__", "__file__", "__cached__")
)
_ANY = ModuleType("any")


@dataclass(frozen=True, slots=True)
class StandardObject:
    """A class, a function or another object of the standard library."""

    is_class: bool
    lineage: tuple[str, ...]
    """Of a class the others in its MRO, in order; of another object its class."""
    own: frozenset[str]
    """Names in its own namespace that it does not inherit."""
    is_abstract: bool = False
    """Its metaclass is `abc.ABCMeta`."""
    is_enum: bool = False
    is_initialised: bool = False
    """`__init__` is a function written in Python."""
    is_static: bool = False
    is_of_class: bool = False
    """A class method."""
    parameters: str = ""
    """As in the table; "" where they are not known."""

    def holds(self, name: str) -> bool:
        """It, or a class it inherits from, has that name in its namespace."""
        return name in self.own or any(_holds(base, name) for base in self.lineage)

    def has(self, name: str) -> bool:
        """`hasattr(object, name)`: a class has what its metaclass has, too."""
        if self.is_class and _holds("builtins.type", name):
            return True
        return self.holds(name) or (self.is_abstract and _holds("abc.ABCMeta", name))


def _holds(name: str, attribute: str) -> bool:
    found = standard_object(name)
    return found is not None and found.holds(attribute)


@cache
def standard_object(name: str) -> StandardObject | None:
    """The object of that qualified name ("collections.OrderedDict"); None where the table does not have it."""
    for mask, *fields in _lines(name):
        if not mask.startswith(":") and int(mask, 16) & _bit():
            kind, lineage, own, parameters = fields
            return StandardObject(
                *("c" in kind, tuple(lineage.split()), frozenset(own.split())),
                *("a" in kind, "e" in kind, "i" in kind, "s" in kind, "m" in kind),
                parameters=parameters,
            )
    return None


@cache
def binding(name: str) -> str:
    """What a method of that qualified name is bound to: "instance", "class", or "nothing" where it is a static one."""
    found = None if name.startswith("torch.") else standard_object(name)
    if found is None or not (found.is_static or found.is_of_class):
        return "instance"
    return "class" if found.is_of_class else "nothing"


def module_lacks(module: str, name: str, text: str | None) -> bool:
    """A module of the standard library, which has that source text, certainly has no such name.

    Where the program runs by another Python than those that were asked, or by another system, a name that stands in the
    text is taken to be there, and any name where the text imports all of another module, or where there is no text.
    """
    names = _names_of(module)
    if names is None or name in names or name in _OF_EVERY_MODULE or hasattr(_ANY, name):
        return False
    return _is_as_asked() or not (text is None or name in text or "import *" in text)


def module_has(module: str, name: str) -> bool:
    """Whether the table has that name in a module of the standard library: no where it does not know the module."""
    return name in (_names_of(module) or ())


@cache
def _names_of(module: str) -> frozenset[str] | None:
    for mask, names in (line for line in _lines(_WRITTEN.get(module, module)) if line[0].startswith(":")):
        if int(mask[1:], 16) & _bit():
            marked = (name.partition("@") for name in names.split())
            return frozenset(name for name, _, there in marked if not there or int(there, 16) & _bit())
    return None


def _lines(name: str) -> list[list[str]]:
    """The fields after that name, of each of its lines. Some classes of Python have a dash in theirs."""
    if not all(part.replace("-", "_").isidentifier() for part in name.split(".")):
        return []
    text, found, end = _text(), [], 0
    while (start := text.find(f"\n{name}\t", end)) >= 0:
        start += len(name) + 2
        end = text.index("\n", start)
        found.append(text[start:end].split("\t"))
    return found


@cache
def _text() -> str:
    return _TABLE.read_text(encoding="utf-8")


@cache
def _pythons() -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, version.split("."))) for version in _lines("pythons")[0][0].split())


@cache
def _bit() -> int:
    """The mask of the Python that runs, or of the one nearest to it."""
    minors = [version[1] for version in _pythons()]
    return 1 << min(range(len(minors)), key=lambda place: abs(minors[place] - sys.version_info[1]))


@cache
def _is_as_asked() -> bool:
    return sys.platform == _MADE_ON and tuple(sys.version_info[:3]) in _pythons()
