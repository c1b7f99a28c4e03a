"""Lowered pieces of files kept on disk, by the content of the file: what was parsed once is not parsed again, and
libcst not even imported. Entries are sealed JSON (`doors/keeping.py`); one that is damaged counts as absent.
"""

from __future__ import annotations

import importlib.util
import json
import os
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

from modgraph.doors.keeping import at_end
from modgraph.source import nodes
from modgraph.source.index_cache import entry_name, kept, salt_of
from modgraph.source.nesting import Readings

_SHARE = 4
"""An entry is written when a character of new source stands for at most so many kept ones, so that its growth costs
little."""
_MOST_REMEMBERED = 6_000_000
"""Characters of source, or of what is kept of it, whose nodes stay in memory: each prediction of a process asks for
torch's own layers."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What it took to parse a piece of source, which limits are counted in."""

    depth: int
    depths: int
    readings: Readings
    n_tokens: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole statements of one indentation."""

    measures: Measures
    statements: nodes.Block


class KeptTrees:
    """The pieces of one text, by their lines and the class around them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._rows: dict[str, str] | None = None
        self._new: dict[str, Piece] = {}
        self._pieces: dict[tuple[str, str], Piece] = {}
        """By module, as each has nodes of its own."""
        self.n_new = 0
        self.n_kept = 0
        """Characters."""

    def find(self, module: str, key: str) -> Piece | None:
        """A piece of that module; another module with the same text has nodes of its own, as what is known of a
        function is kept by its node."""
        found = self._pieces.get((module, key))
        if found is not None:
            return found
        if self._rows is None:
            self._rows = self._load()
            self.n_kept = sum(map(len, self._rows.values()))
        row = self._rows.get(key)
        if row is None:
            return None
        try:
            found = _decoded(json.loads(row))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            return None
        self._remember(module, key, found, len(row))
        return found

    def add(self, module: str, key: str, piece: Piece, n_characters: int) -> None:
        self._remember(module, key, piece, n_characters)
        if kept() is not None:
            with _lock:
                self._new[key] = piece
                self.n_new += n_characters
                _changed[self.text] = self

    def _remember(self, module: str, key: str, piece: Piece, n_characters: int) -> None:
        with _lock:
            self._pieces[module, key] = piece
            _remembered[self] = _remembered.pop(self, 0) + n_characters
            while len(_remembered) > 1 and sum(_remembered.values()) > _MOST_REMEMBERED:
                oldest = next(iter(_remembered))
                del _remembered[oldest]
                oldest._pieces = {}

    def write(self) -> None:
        place = kept()
        if place is None:
            return
        with _lock:
            new, self._new, self.n_new = self._new, {}, 0
            rows = dict(self._rows or {})
        for key, piece in new.items():
            row = _text(piece)
            if row is not None:
                rows[key] = row
        self._rows = rows
        self.n_kept = sum(map(len, rows.values()))
        place.write(_entry(self.text), json.dumps(rows, separators=(",", ":")).encode("utf-8", "surrogatepass"))

    def _load(self) -> dict[str, str]:
        place = kept()
        data = None if place is None else place.read(_entry(self.text))
        try:
            found = {} if data is None else json.loads(data)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


_remembered: dict[KeptTrees, int] = {}
"""Those that hold pieces in memory, the latest last, with the characters of these."""
_changed: dict[str, KeptTrees] = {}
_lock = threading.Lock()


def write_changed(*, everything: bool = False) -> None:
    """Keeps what was parsed since; of texts of which most is kept, what is new only `everything` writes."""
    with _lock:
        ready = [each for each in _changed.values() if everything or each.n_new * _SHARE >= each.n_kept]
        for each in ready:
            del _changed[each.text]
    for each in ready:
        each.write()


at_end(lambda: write_changed(everything=True))


def _entry(text: str) -> str:
    return entry_name("trees", _salt(), text)


@cache
def _salt() -> bytes:
    """What nodes depend on beside the text: the code that makes them, the release of libcst, and Python."""
    folder = os.path.dirname(nodes.__file__)
    parser = importlib.util.find_spec("libcst")
    version = os.path.join(os.path.dirname(parser.origin or ""), "_version.py") if parser is not None else ""
    names = ("nodes.py", "lowering.py", "parsed.py", "mangling.py", "nesting.py", "kept_trees.py")
    return salt_of(version, *(os.path.join(folder, name) for name in names))


# ---- nodes as JSON ---------------------------------------------------------------------------------------------------

_KINDS: list[Any] = [each for _, each in sorted(vars(nodes).items()) if isinstance(each, nodes.Kind)]
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}
_PLAIN, _ONE, _SEVERAL, _TEXTS = range(4)


def _way(written: str) -> int:
    if nodes.holds_nodes(written):
        return _SEVERAL if written.startswith("tuple") else _ONE
    return _TEXTS if written.startswith("tuple") else _PLAIN


_WAYS = {kind: tuple((name, _way(written)) for name, written in kind.declared.items()) for kind in _KINDS}


def _text(piece: Piece) -> str | None:
    """The piece as JSON; None of one that is too deep."""
    try:
        return json.dumps(_encoded(piece), separators=(",", ":"))
    except (RecursionError, ValueError):
        return None


def _encoded(piece: Piece) -> Any:
    measures = piece.measures
    readings = measures.readings
    numbers = [measures.depth, measures.depths, readings.deepest_tried, readings.again, measures.n_tokens]
    return [numbers, [_row(each) for each in piece.statements]]


def _row(node: nodes.Node) -> list[Any]:
    """Number of its kind, its own place, and its fields; a negative number says that it is parenthesised."""
    kind = type(node)
    number = _NUMBERS[kind]
    row: list[Any] = [-number if getattr(node, "parenthesised", False) else number]
    if isinstance(node, (nodes.AtLine, nodes.Placed)):
        row.append(node.line)
    for name, way in _WAYS[kind]:
        value = getattr(node, name)
        if way == _SEVERAL:
            value = [_row(each) for each in value]
        elif way == _ONE and value is not None:
            value = _row(value)
        row.append(value)
    return row


def _decoded(row: Any) -> Piece:
    (depth, depths, deepest_tried, again, n_tokens), statements = row
    measures = Measures(int(depth), int(depths), Readings(int(deepest_tried), int(again)), int(n_tokens))
    return Piece(measures, tuple(map(_node, statements)))


_new = object.__new__


def _node(row: list[Any]) -> Any:
    number = row[0]
    kind = _KINDS[abs(number)]
    node: Any = _new(kind)
    place = 1
    if issubclass(kind, (nodes.AtLine, nodes.Placed)):
        node.line = row[1]
        place = 2
    if issubclass(kind, nodes.Expression):
        node.parenthesised = number < 0
    for name, way in _WAYS[kind]:
        value = row[place]
        if way == _SEVERAL:
            value = tuple([_node(each) for each in value])
        elif way == _ONE:
            value = None if value is None else _node(value)
        elif way == _TEXTS:
            value = tuple(value)
        setattr(node, name, value)
        place += 1
    return node
