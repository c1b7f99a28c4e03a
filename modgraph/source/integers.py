"""Source text as a tree in which every integer can be written out again."""

from __future__ import annotations

import ast
import re

from modgraph.source.quiet import python_tree

_LONG = re.compile(r"0[xXoObB][0-9a-fA-F_]{3500,}")
MOST_BITS = 14_000
"""Python writes no integer of more than 4,300 digits, and reads one in hexadecimal."""


class _Long(int):
    """An integer that is shown by its first digits."""

    def __repr__(self) -> str:
        return f"0x{self >> (self.bit_length() - 32):x}..."


def parse(text: str, filename: str = "<unknown>") -> ast.Module:
    """`ast.parse`, of which `ast.unparse` takes every node.

    Raises:
        TooMuchError: Python's parser would take too long for it; a SyntaxError too.
        SyntaxError, ValueError, RecursionError, MemoryError: as `ast.parse`.
    """
    tree = python_tree(text, filename)
    if _LONG.search(text) is not None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and type(node.value) is int and node.value.bit_length() > MOST_BITS:
                node.value = _Long(node.value)
    return tree
