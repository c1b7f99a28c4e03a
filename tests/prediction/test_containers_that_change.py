"""Views, deques, data classes and what is stored in functions, held against Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.needs_torch

BODIES = {
    "a view made before its dict changed": """
        d = {"a": 2}
        keys, values, items = d.keys(), d.values(), d.items()
        d["b"] = 3
        self.c = nn.Linear(len(keys), sum(values))
        self.d = nn.Linear(2, len(list(items)) + ("b" in keys))
        """,
    "a deque with a longest": """
        x = collections.deque([1, 2, 3], maxlen=3)
        x.append(4)
        x.appendleft(5)
        x.extend([6, 7])
        self.c = nn.Linear(x[0], len(x))
        self.d = nn.Linear(x.copy()[-1], x.maxlen)
        """,
    "options of data classes": """
        @dataclasses.dataclass(frozen=True)
        class Frozen:
            width: int = 2
            other: int = dataclasses.field(default=1, compare=False)
        @dataclasses.dataclass(eq=False, slots=True)
        class Plain:
            width: int = 2
        a, b = Frozen(2, 3), Frozen(2, 4)
        self.c = nn.Linear(2, 1 + (a == b))
        self.d = nn.Linear(2, 1 + (Plain() == Plain()))
        for x, name in ((a, "width"), (Plain(), "height")):
            try:
                setattr(x, name, 7)
            except AttributeError:
                self.add_module(name, nn.ReLU())
        """,
    "numbers and ranges that are equal and two": """
        self.c = nn.Linear(2, len(str(-0.0)) + len({0.0: 1, -0.0: 2}))
        self.d = nn.Linear(2, range(0, 4, 2).stop + len({range(0, 3, 2), range(0, 4, 2)}))
        """,
    "a product of none": """
        self.c = nn.Linear(2, len(list(itertools.product([1, 2], repeat=0))))
        """,
    "what is closed": """
        class Kept:
            width = 2
            def close(self):
                self.width = 3
        kept = Kept()
        with contextlib.closing(kept) as same:
            self.c = nn.Linear(2, same.width)
        self.d = nn.Linear(2, kept.width)
        """,
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in BODIES.items()])
def test_they_are_what_python_makes_of_them(body: str, agrees: Callable[[str], Any]) -> None:
    agrees(
        "import collections, contextlib, dataclasses, itertools\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n{body}\n"
    )
