"""Indexes of files kept on disk, by the content of the file: what was indexed once is not parsed again.

`MODGRAPH_CACHE` names the directory, or is "off"; by default it lies in the cache directory of the user. Entries are
JSON, so reading one executes nothing; a damaged one, or one that somebody else put there, counts as absent. A directory
that cannot be written is no error.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from modgraph._version import __version__
from modgraph.doors.reading import read
from modgraph.source import assignments as _assignments
from modgraph.source import index as _index
from modgraph.source.cache_home import cache_home, kept_in
from modgraph.source.index import Definition, ImportedName, ModuleIndex, Statement, read_index

if TYPE_CHECKING:
    from modgraph.doors.keeping import Kept

_MIN_CHARACTERS = 4_000
"""Shorter files are indexed faster than an entry is found."""


def indexed(text: str, filename: str) -> ModuleIndex:
    """The index of a file's text, from disk where it is there.

    Raises:
        SyntaxError, ValueError, RecursionError: as `read_index` does.
    """
    place = kept() if len(text) >= _MIN_CHARACTERS else None
    if place is None:
        return read_index(text, filename)
    name = entry_name("index", _salt(), text)
    found = _load(place, name)
    if found is None:
        found = read_index(text, filename)
        place.write(name, json.dumps(_encoded(found), separators=(",", ":")).encode("ascii"))
    return found


def kept() -> Kept | None:
    """Where entries are kept; None where they are not."""
    home = cache_home()
    place = None if home is None else kept_in(home)
    return place if place is not None and place.usable else None


def entry_name(folder: str, salt: bytes, text: str) -> str:
    """Where what was made of a text is kept."""
    digest = hashlib.sha256(salt + text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{folder}/{digest[:2]}/{digest[2:]}.json"


def salt_of(*files: str) -> bytes:
    """What an entry depends on beside the text: the code that makes it, this release, and the Python that parses."""
    code = (read(each) for each in files if os.path.isfile(each))
    return hashlib.sha256(b"".join((f"{__version__} {sys.version}".encode(), *code))).digest()


@cache
def _salt() -> bytes:
    return salt_of(_index.__file__, _assignments.__file__)


def _load(place: Kept, name: str) -> ModuleIndex | None:
    data = place.read(name)
    try:
        return None if data is None else _decoded(json.loads(data))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None


def _encoded(index: ModuleIndex) -> Any:
    """The index as JSON values; definitions are numbered, as statements and the table of names share them."""
    numbers: dict[int, int] = {}
    rows: list[Any] = []

    def number(definition: Definition) -> int:
        if id(definition) not in numbers:
            body = [statement(each) for each in definition.body]
            numbers[id(definition)] = len(rows)
            rows.append(
                [
                    definition.kind,
                    definition.name,
                    definition.qualname,
                    definition.first_line,
                    definition.line,
                    definition.last_line,
                    definition.body_line,
                    definition.bases,
                    definition.decorators,
                    body,
                    definition.inline,
                    definition.defaults,
                ]
            )
        return numbers[id(definition)]

    def statement(each: Statement) -> Any:
        imports = [(i.name, i.module, i.attribute, i.level, i.line, i.type_checking) for i in each.imports]
        definition = None if each.definition is None else number(each.definition)
        return [each.kind, each.names, each.touched, each.first_line, each.last_line, imports, definition]

    body = [statement(each) for each in index.body]
    named = {name: number(definition) for name, definition in index.definitions.items()}
    return {"body": body, "definitions": named, "rows": rows, "exported": index.exported, "aliases": index.aliases}


def _decoded(entry: Any) -> ModuleIndex:
    made: list[Definition] = []

    def statement(row: Any) -> Statement:
        kind, names, touched, first_line, last_line, imports, number = row
        return Statement(
            kind,
            tuple(names),
            tuple(touched),
            first_line,
            last_line,
            tuple(ImportedName(*each) for each in imports),
            None if number is None else made[number],
        )

    for row in entry["rows"]:
        kind, name, qualname, first_line, line, last_line, body_line, bases, decorators, body, inline, defaults = row
        made.append(
            Definition(
                kind,
                name,
                qualname,
                first_line,
                line,
                last_line,
                body_line,
                tuple(bases),
                tuple(decorators),
                tuple(statement(each) for each in body),
                inline,
                None if defaults is None else tuple(defaults),
            )
        )
    exported = entry["exported"]
    return ModuleIndex(
        body=tuple(statement(each) for each in entry["body"]),
        definitions={name: made[number] for name, number in entry["definitions"].items()},
        exported=None if exported is None else tuple(exported),
        aliases={name: tuple(given) for name, given in entry["aliases"].items()},
    )
