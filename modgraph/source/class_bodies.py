"""In which class the lines of a source stand."""

from __future__ import annotations

import ast
from bisect import bisect_right

from modgraph.source.index import first_line_of
from modgraph.source.walking import walk


class ClassBodies:
    """The lines of the bodies of all classes in a tree, of which each is found without looking at the others."""

    def __init__(self, tree: ast.AST | None) -> None:
        self._first: list[int] = []
        self._last: list[int] = []
        self._names: list[str] = []
        self._outer: list[int] = []
        """The place of the class around each; -1 for none."""
        inside: list[int] = []
        for first, last, name in sorted(_bodies(tree)) if tree is not None else ():
            while inside and self._last[inside[-1]] < first:
                inside.pop()
            self._outer.append(inside[-1] if inside else -1)
            inside.append(len(self._first))
            self._first.append(first)
            self._last.append(last)
            self._names.append(name)

    def around(self, first_line: int, last_line: int) -> str | None:
        """The name of the innermost class in whose body these lines stand."""
        place = bisect_right(self._first, first_line) - 1
        while place >= 0 and self._last[place] < last_line:
            place = self._outer[place]
        return self._names[place] if place >= 0 else None


def _bodies(tree: ast.AST) -> list[tuple[int, int, str]]:
    found = [node for node in walk(tree) if isinstance(node, ast.ClassDef)]
    places = [(first_line_of(node.body[0]), node.end_lineno or node.lineno, node.name, node.lineno) for node in found]
    # What shares its line with the header is never parsed without it.
    return [(first, last, name) for first, last, name, line in places if first > line]
