"""What torch's containers of modules and parameters do just as a list or a dict would; a test compares the table with
the installed torch."""

from __future__ import annotations

METHODS: dict[str, dict[str, tuple[int, int]]] = {
    "ModuleList": {"append": (1, 1), "extend": (1, 1), "insert": (2, 2), "pop": (1, 1)},
    "ModuleDict": {
        "clear": (0, 0),
        "items": (0, 0),
        "keys": (0, 0),
        "pop": (1, 1),
        "update": (1, 1),
        "values": (0, 0),
    },
    "ParameterList": {"append": (1, 1), "extend": (1, 1)},
    "ParameterDict": {
        "clear": (0, 0),
        "get": (1, 2),
        "items": (0, 0),
        "keys": (0, 0),
        "pop": (1, 1),
        "popitem": (0, 0),
        "setdefault": (1, 2),
        "update": (1, 1),
        "values": (0, 0),
    },
}
"""Methods that list or dict have too, with the fewest and the most arguments that torch's take."""

OTHERWISE = frozenset(("copy", "fromkeys", "__add__", "__or__", "__ror__", "__init__"))
"""Those that both have and that give something else."""

OPERATIONS: dict[str, frozenset[str]] = {
    "ModuleList": frozenset(("__delitem__", "__getitem__", "__iadd__", "__iter__", "__len__", "__setitem__")),
    "ModuleDict": frozenset(("__contains__", "__delitem__", "__getitem__", "__iter__", "__len__", "__setitem__")),
    "ParameterList": frozenset(("__getitem__", "__iadd__", "__iter__", "__len__", "__setitem__")),
    "ParameterDict": frozenset(
        (
            "__contains__",
            "__delitem__",
            "__getitem__",
            "__ior__",
            "__iter__",
            "__len__",
            "__reversed__",
            "__setitem__",
        )
    ),
}
"""Operators; `in` goes by `__iter__` where there is no `__contains__`."""
