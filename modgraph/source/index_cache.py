"""Indexes of files kept on disk, by the content of the file: what was indexed once is not parsed again.

`MODGRAPH_CACHE` names the directory, or is "off"; by default it lies in the cache directory of the user. Entries are
JSON, so reading one executes nothing; a damaged one counts as absent. A directory that cannot be written is no error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from modgraph._version import __version__
from modgraph.source import index as _index
from modgraph.source.cache_home import cache_home
from modgraph.source.index import Definition, ImportedName, ModuleIndex, Statement, read_index

_MIN_CHARACTERS = 4_000
"""Shorter files are indexed faster than an entry is found."""


def indexed(text: str, filename: str) -> ModuleIndex:
    """The index of a file's text, from disk where it is there.

    Raises:
        SyntaxError, ValueError, RecursionError: as `read_index` does.
    """
    path = _path(text) if len(text) >= _MIN_CHARACTERS else None
    if path is None:
        return read_index(text, filename)
    found = _load(path)
    if found is None:
        found = read_index(text, filename)
        _store(path, found)
    return found


def directory() -> Path | None:
    """Where entries are kept; None where they are not."""
    home = cache_home()
    return None if home is None else Path(home) / "index"


def _path(text: str) -> Path | None:
    place = directory()
    if place is None:
        return None
    digest = hashlib.sha256(_salt() + text.encode("utf-8", "surrogatepass")).hexdigest()
    return place / digest[:2] / f"{digest[2:]}.json"


@cache
def _salt() -> bytes:
    """What an index depends on beside the text: the code that makes it, and the Python that parses."""
    code = Path(_index.__file__).read_bytes() if os.path.isfile(_index.__file__) else b""
    return hashlib.sha256(f"{__version__} {sys.version}".encode() + code).digest()


def _load(path: Path) -> ModuleIndex | None:
    try:
        return _decoded(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None


def _store(path: Path, index: ModuleIndex) -> None:
    """Writes an entry whole or not at all."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(_encoded(index), file, separators=(",", ":"))
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise


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
                ]
            )
        return numbers[id(definition)]

    def statement(each: Statement) -> Any:
        imports = [(i.name, i.module, i.attribute, i.level, i.line, i.type_checking) for i in each.imports]
        definition = None if each.definition is None else number(each.definition)
        return [each.kind, each.names, each.touched, each.first_line, each.last_line, imports, definition]

    body = [statement(each) for each in index.body]
    named = {name: number(definition) for name, definition in index.definitions.items()}
    return {"body": body, "definitions": named, "rows": rows, "exported": index.exported}


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
        kind, name, qualname, first_line, line, last_line, body_line, bases, decorators, body, inline = row
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
            )
        )
    exported = entry["exported"]
    return ModuleIndex(
        body=tuple(statement(each) for each in entry["body"]),
        definitions={name: made[number] for name, number in entry["definitions"].items()},
        exported=None if exported is None else tuple(exported),
    )
