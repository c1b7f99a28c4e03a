"""What asks for a name that a class has on some paths only is run both where it is there and where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

CASES = {
    "one of two ways to compare": """
        class Local:
            if flag:
                def __eq__(self, other):
                    return True
            else:
                def __eq__(self, other):
                    return False
            __hash__ = object.__hash__
        x, y = Local(), Local()
        if x == y:
            self.c = nn.Linear(2, 2)
        self.d = nn.Linear(2, len({x, y}))
    """,
    "two names on one path": """
        class Local:
            pass
        if flag:
            Local.__len__ = lambda self: 3
            Local.__getitem__ = lambda self, place: 4
        x = Local()
        try:
            self.c = nn.Linear(len(x), x[0])
        except TypeError:
            self.d = nn.Linear(2, 2)
    """,
    "the text of an object": """
        class Local:
            def __str__(self):
                return "first"
        if flag:
            Local.__str__ = lambda self: "other"
        self.add_module(str(Local()), nn.Linear(2, 2))
        self.c = nn.Linear(2, len(f"{Local()}"))
        self.add_module("%s_" % Local(), nn.Linear(2, 2))
    """,
    "what printing an object changes": """
        widths = []
        class Local:
            def __repr__(self):
                return "quiet"
        if flag:
            Local.__repr__ = lambda self: widths.append(3) or "loud"
        print(Local())
        self.c = nn.Linear(2, 2 + len(widths))
    """,
    "an attribute that a base has too": """
        class Above:
            width = 2
        class Local(Above):
            if flag:
                width = 3
        self.c = nn.Linear(2, Local().width)
        self.d = nn.Linear(2, Local.width)
    """,
    "in a loop": """
        class Local:
            pass
        if flag:
            Local.__call__ = lambda self, x: x + 1
        x, width = Local(), 2
        for _ in range(2):
            if hasattr(Local, "__call__"):
                width = x(width)
        self.c = nn.Linear(2, width)
    """,
    "an in-place operator": """
        class Local:
            width = 2
            def __add__(self, other):
                return Local()
        def grow(self, other):
            self.width = other
            return self
        if flag:
            Local.__iadd__ = grow
        x = y = Local()
        x += 5
        self.c = nn.Linear(2, y.width)
    """,
    "a member that counts itself": """
        class Kind(enum.Enum):
            A = enum.auto()
            if flag:
                B = enum.auto()
            C = enum.auto()
        self.c = nn.Linear(2, Kind.C.value)
    """,
    "a function of a class body that is asked for": """
        class Local:
            if flag:
                def give(self):
                    return 3
        self.c = nn.Linear(2, getattr(Local(), "give", lambda: 2)())
    """,
    "a copy inside a list": """
        class Local:
            width = 2
        if flag:
            Local.__deepcopy__ = lambda self, memo: self
        x = [Local()]
        copy.deepcopy(x)[0].width = 4
        self.c = nn.Linear(2, x[0].width)
    """,
    "a path of an operator": """
        class Local:
            pass
        x, x.a = Local(), Local()
        x.a.b, x.c = 2, 3
        self.c = nn.Linear(2, operator.attrgetter("a.b" if flag else "c")(x))
    """,
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in CASES.items()])
def test_what_is_claimed_holds_on_both_paths(body: str, claims_that_fail: Callable[..., list[Any]]) -> None:
    assert claims_that_fail(body) == []


def test_a_block_whose_class_has_further_methods_on_one_path_is_known(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """
        import os
        class Block(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.layer = nn.Linear(width, width)
            if os.environ.get("FAST"):
                def fast(self, x):
                    return self.layer(x)
            def forward(self, x):
                return self.layer(x)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList(Block(each) for each in (2, 3))
        """
    )


def test_a_method_that_one_path_defines_is_called_where_it_is_there(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        """
        class Net(nn.Module):
            def __init__(self, flag):
                super().__init__()
                class Local:
                    if flag:
                        def give(self):
                            return 3
                self.c = nn.Linear(2, Local().give())
        """
    )
    assert graph.problems == ()
    assert next(node for node in graph.modules if node.path == "c").arguments["out_features"] == 3
