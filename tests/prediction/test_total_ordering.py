"""What `functools.total_ordering` gives a class, and comparisons of classes whose methods are no plain functions: what
is told is what Python gives, or it is not known."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import pytest

VALUE = """
    def __init__(self, n): self.n = n
    def __eq__(self, o): return self.n == o.n
"""
LESS = "    def __lt__(self, o): return self.n < o.n\n"
GREATER = "    def __gt__(self, o): return self.n > o.n\n"
TRUE = "    def {}(self, o): return True\n"
ORDERED = "@functools.total_ordering\nclass V{}:{}"
FOLLOWED = {
    "less": ORDERED.format("", VALUE + LESS),
    "greater": ORDERED.format("", VALUE + GREATER),
    "less or equal": ORDERED.format("", VALUE + "    def __le__(self, o): return self.n <= o.n\n"),
    "greater or equal": ORDERED.format("", VALUE + "    def __ge__(self, o): return self.n >= o.n\n"),
    "several": ORDERED.format("", VALUE + GREATER + TRUE.format("__le__")),
    "an inherited root": f"class A:{VALUE}{LESS}" + ORDERED.format("(A)", "\n    pass\n"),
    "what an earlier one made is inherited": (
        ORDERED.format("", VALUE + GREATER).replace("class V", "class A")
        + ORDERED.format("(A)", "\n" + TRUE.format("__lt__"))
    ),
    "another root in what is derived": (
        ORDERED.format("", VALUE + GREATER).replace("class V", "class A")
        + "class V(A):\n    def __gt__(self, o): return self.n < o.n\n"
    ),
    "a method of None": ORDERED.format("", VALUE + "    __gt__ = None\n" + LESS),
    "no root": ORDERED.format("", VALUE),
}
NOT_CERTAIN = {
    "a number": ORDERED.format("(int)", "\n    n = 0\n" + TRUE.format("__lt__")),
    "a list": ORDERED.format("(list)", "\n    def __init__(self, n): self.n = n\n" + TRUE.format("__lt__")),
    "a set": ORDERED.format("(set)", "\n    def __init__(self, n): self.n = n\n" + TRUE.format("__ge__")),
    "a tuple": ORDERED.format(
        "(tuple)", "\n    n = 0\n    def __new__(cls, n): return tuple.__new__(cls, (n,))\n" + TRUE.format("__lt__")
    ),
    "a dict": ORDERED.format("(dict)", "\n    def __init__(self, n): self.n = n\n" + TRUE.format("__lt__")),
    "a list without": "class V(list):\n    def __init__(self, n): self.n = n\n" + TRUE.format("__lt__"),
    "of the class": ORDERED.format("", VALUE + "    @classmethod\n    def __lt__(cls, o): return o.n == 2\n"),
    "of no object": ORDERED.format("", VALUE + "    @staticmethod\n    def __lt__(a, b): return a.n < b.n\n"),
    "no answer": ORDERED.format("", VALUE + "    def __lt__(self, o): return NotImplemented\n"),
    "no truth": ORDERED.format("", VALUE + "    def __lt__(self, o): return 5 * (self.n < o.n)\n"),
    "no equality": ORDERED.format("", "\n    def __init__(self, n): self.n = n\n" + LESS),
    "None alone": f"class V:{VALUE}    __lt__ = None\n",
    "no equality at all": f"class V:{VALUE}    __eq__ = None\n{LESS}",
}
ASKED = [
    *(f"V({a}) {sign} V({b})" for a, b in ((1, 1), (1, 2), (2, 1)) for sign in ("<", "<=", ">", ">=", "==", "!=")),
    *("V(1).__ge__(V(1))", "V.__le__(V(1), V(2))", "V(1) < 3"),
    *("V.__le__.__name__", "V.__gt__.__name__", "V.__ge__.__name__", "hasattr(V, '__ge__')", "V(1) in [V(2), V(1)]"),
]
ASKED_OF_OBJECTS = ["max(V(1), V(2)).n", "sorted([V(2), V(1)])[0].n", "min([V(2), V(1)]).n"]
TOLD = """
def told(ask):
    try:
        return ask()
    except Exception as error:
        return type(error).__name__
"""


@pytest.mark.parametrize("cls", [*FOLLOWED, *NOT_CERTAIN])
def test_an_order_is_as_python_has_it(evaluated: Callable[[str], Any], cls: str) -> None:
    made = {**FOLLOWED, **NOT_CERTAIN}[cls]
    making = f"def making():\n{textwrap.indent(made, '    ')}    return V\n"
    for each in [*ASKED, *(ASKED_OF_OBJECTS if cls in FOLLOWED else ())]:
        text = f"import functools\n{TOLD}{making}RESULT = told(lambda: (lambda V: {each})(making()))\n"
        namespace: dict[str, Any] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(text, namespace)
        real, found = namespace["RESULT"], evaluated(text)
        if found is not evaluated.UNKNOWN:  # type: ignore[attr-defined]
            assert (each, found) == (each, real)
        elif cls in FOLLOWED and "__name__" not in each and "3" not in each:
            assert isinstance(real, str), each
