"""The methods of Python's containers by what they do to the container; a test asks Python itself for all of them.

Who looks at syntax alone knows a method by its name: `x.append(y)` changes x, whatever x is.
"""

from __future__ import annotations

LIST = frozenset(["append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"])
DICT = frozenset(["clear", "pop", "popitem", "setdefault", "update"])
SET = frozenset(
    [
        "add",
        "clear",
        "difference_update",
        "discard",
        "intersection_update",
        "pop",
        "remove",
        "symmetric_difference_update",
        "update",
    ]
)
DEQUE = frozenset(
    [
        "append",
        "appendleft",
        "clear",
        "extend",
        "extendleft",
        "insert",
        "pop",
        "popleft",
        "remove",
        "reverse",
        "rotate",
    ]
)
ORDERED_DICT = DICT | {"move_to_end"}
COUNTER = DICT | {"subtract"}
OPERATORS = frozenset(
    ["__delitem__", "__iadd__", "__iand__", "__imul__", "__ior__", "__isub__", "__ixor__", "__setitem__"]
)
"""Those behind statements."""

CHANGING = LIST | DICT | SET | DEQUE | ORDERED_DICT | COUNTER
"""Methods that change a container of one of these kinds."""

ADDING = frozenset(["add", "append", "appendleft", "extend", "extendleft", "insert", "setdefault", "update"])
"""Those of them that put in what they are given; of a Counter, a number."""

READING = frozenset(["copy", "count", "get", "index", "items", "keys", "values"])
"""Methods of lists and dicts that change nothing."""

FUNCTIONS = frozenset(["delattr", "exec", "setattr"])
"""Built-in functions that change what they are given."""
