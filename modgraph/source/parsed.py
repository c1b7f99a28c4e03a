"""A few lines of a file as nodes, and the place in the file of every statement and call in them."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Sequence
from functools import cached_property

from modgraph.doors.memory import require_memory
from modgraph.graph.model import SourceLocation
from modgraph.source import nodes
from modgraph.source.code_names import local_names
from modgraph.source.mangling import has_private

_INDENTED_BY_FORM_FEED = re.compile(r"^[ \t]*\f", re.MULTILINE)


def without_form_feeds(lines: Sequence[str]) -> Sequence[str]:
    """The lines with the indentation that Python counts, from the last form feed in it on, which libcst does not know;
    lines inside of a string are as they were."""
    text = "\n".join(lines)
    if not _INDENTED_BY_FORM_FEED.search(text):
        return lines
    indented = lines[0].lstrip("\f")[:1] in (" ", "\t")
    offset = 2 if indented else 1  # a block of its own, whose first line is line 2
    found = list(lines)
    last = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO("if 1:\n" + text if indented else text).readline):
            row, column = token.start
            if row > last and column and token.type not in (tokenize.INDENT, tokenize.DEDENT):
                line = found[row - offset]
                if not line[:column].strip(" \t\f"):
                    found[row - offset] = line[:column].rpartition("\f")[2] + line[column:]
            if token.type not in (tokenize.INDENT, tokenize.DEDENT):
                last = max(last, token.end[0] - (token.string == "\n"))
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass  # libcst says what is wrong with it
    return found


_TREE_BYTES = 32 * 2**20
_TREE_BYTES_OF_A_CHARACTER = 2_000
"""What the parser may take; of dense source 2,300 bytes a character were measured, with the nodes of Python."""


class Parsed:
    """The nodes of a few lines of a file."""

    def __init__(
        self,
        lines: Sequence[str],
        first_line: int,
        file: str,
        class_name: str | None = None,
        statements: nodes.Block | None = None,
    ) -> None:
        """`lines` hold whole statements of one indentation; the first of them is line `first_line` of `file`, and they
        stand in a class of that name. They are parsed where `statements` are not given.

        Raises:
            modgraph.source.nodes.NotParsedError: libcst does not know this syntax.
            MemoryError: there is too little memory for its tree.
        """
        self.file = file
        self.first_line = first_line
        lines = without_form_feeds(lines)
        text = "\n".join(lines) + "\n"
        self._text = text
        self._locations: dict[int, SourceLocation] = {}
        self.statements: nodes.Block = _statements(text, class_name) if statements is None else statements

    def mentions(self, word: str) -> bool:
        """The text of these lines has that word in it, or may have it, written otherwise."""
        return word in self._text or self._is_respelled

    def local_names(self, function: str, parameters: Sequence[str]) -> tuple[str, ...] | None:
        """`co_varnames` of the function of that name with these parameters in these lines; None where not known."""
        return local_names(self._text, function, parameters)

    @cached_property
    def _is_respelled(self) -> bool:
        return not self._text.isascii() or has_private(self._text)

    def line(self, statement: nodes.Node) -> int:
        """1-based line of a statement; that of the first one for a node that is none."""
        return self.first_line + (statement.line if isinstance(statement, nodes.AtLine) else 0)

    def location(self, statement: nodes.Node, expression: nodes.Node | None = None) -> SourceLocation:
        """Place of `expression` (a call: where it begins) in `statement`, else of the statement."""
        line = expression.line if isinstance(expression, nodes.Placed) else None
        line = self.line(statement) if line is None else self.first_line + line
        found = self._locations.get(line)
        if found is None:
            found = self._locations[line] = SourceLocation(self.file, line)
        return found


def _statements(text: str, class_name: str | None) -> tuple[nodes.Statement, ...]:
    from modgraph.source.lowering import lower  # here, as it imports libcst

    is_indented = text[:1] in (" ", "\t")
    # A block of its own keeps the indentation as it is; removing it would change strings of several lines.
    # Its parser is no Python: it ends the process where its memory ends.
    require_memory(_TREE_BYTES + len(text) * _TREE_BYTES_OF_A_CHARACTER)
    return lower("if 1:\n" + text if is_indented else text, is_indented, class_name)
