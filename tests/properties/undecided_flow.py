"""A strategy for functions whose way through Python's control flow depends on what only a run can tell.

`run(flag, items, number)` is given a bool, a list of small integers and an integer; the prediction knows none of them.
Numbers come from a small pool, so that paths often, but not always, agree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import strategies as st

HEADER = """\
import contextlib
import itertools
import torch
from torch import nn

"""
NET = """

class Net(nn.Module):
    def __init__(self, flag, items, number):
        super().__init__()
        for name, value in zip(("x", "y", "acc", "d"), run(flag, items, number)):
            self.add_module(name, nn.Linear(1 + value, 1))
        self.sure = nn.Linear(2, 3)
"""

GIVEN = tuple(
    (flag, items, number)
    for flag in (True, False)
    for items in ([], [0], [2], [1, 0], [0, 3, 1])
    for number in (0, 1, 3)
)
"""What the functions are run with."""


@dataclass(frozen=True)
class Place:
    """Where a statement stands."""

    depth: int = 0
    loop: bool = False
    generator: bool = False
    nested: int = 0


_NUMBERS = ("0", "1", "2", "x", "y", "number", "len(acc)", "len(items)", "int(flag)")
_EXPRESSIONS = (
    *_NUMBERS,
    "x + 1",
    "y - x",
    "(x + y) % 4",
    "x if flag else y",
    "items[0]",
    "items[-1] + 1",
    "max(x, y)",
    "sum(items)",
    "next(iter(items), 3)",
    "d.get('k', 2)",
    "d['k']",
    "d.setdefault('k', x)",
    "len({x, y, number})",
    "len([v for v in items if v > x])",
    "sum(v for v in acc)",
    "acc.pop()",
    "flag and x",
    "x or number",
    "(x := x + 1)",
    "max(items, default=y)",
    "items.index(1)",
    "1 // x",
    "int(any(v == x for v in items))",
    "len(list(itertools.takewhile(lambda v: v < 2, items)))",
)
_CONDITIONS = (
    "flag",
    "not flag",
    "items",
    "x > 1",
    "x == y",
    "number in items",
    "len(acc) > 1",
    "flag and x",
    "'k' in d",
    "number",
    "x < number",
    "True",
    "(y := y + 1) > 2",
)
_ITERABLES = (
    "items",
    "range(3)",
    "[x, y]",
    "range(number)",
    "reversed(items)",
    "sorted(items)",
    "items[1:]",
    "list(acc)",
    "(v for v in items)",
    "[0, *items]",
    "iter(items)",
    "d.values()",
    "itertools.chain(items, [2])",
    "items if flag else [1, 2]",
    "()",
    "dict.fromkeys(items)",
    "[v for v in (0, 1, 2) if v != number]",
)
_ERRORS = ("ValueError", "KeyError", "IndexError", "(ValueError, ZeroDivisionError)", "LookupError", "Exception")


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def _simple(draw: st.DrawFn, place: Place) -> list[str]:
    value = draw(st.sampled_from(_EXPRESSIONS))
    kinds = ["x", "y", "x", "y", "acc", "d", "+=", "raise", "assert", "return", "pass", "del"]
    kinds += ["break", "continue", "break"] if place.loop else []
    kinds += ["yield", "yield"] if place.generator else []
    kind = draw(st.sampled_from(kinds))
    if kind in ("x", "y"):
        return [f"{kind} = {value}"]
    if kind == "return":
        return [
            "return" if place.generator else "return x, y, len(acc), len(d)" if not place.nested else f"return {value}"
        ]
    return {
        "acc": [f"acc.append({value})"],
        "d": [f"d['k'] = {value}"],
        "+=": [f"x += {value}"],
        "raise": [f"raise ValueError({value})"],
        "assert": [f"assert {draw(st.sampled_from(_CONDITIONS))}"],
        "pass": ["pass"],
        "del": ["del d['k']"],
        "break": ["break"],
        "continue": ["continue"],
        "yield": [f"yield {value}"],
    }[kind]


@st.composite
def _compound(draw: st.DrawFn, place: Place) -> list[str]:
    inner = replace(place, depth=place.depth + 1)
    looped = replace(inner, loop=True)
    kind = draw(st.sampled_from(("if", "if", "for", "for", "while", "try", "try", "with", "match", "def")))
    body = _block(inner)
    if kind == "if":
        lines = [f"if {draw(st.sampled_from(_CONDITIONS))}:", *draw(body)]
        return lines + (["else:", *draw(body)] if draw(st.booleans()) else [])
    if kind == "for":
        name = draw(st.sampled_from(("x", "y", "i")))
        lines = [f"for {name} in {draw(st.sampled_from(_ITERABLES))}:", *draw(_block(looped))]
        return lines + (["else:", *draw(body)] if draw(st.booleans()) else [])
    if kind == "while":
        count = f"n{place.depth}{place.nested}"
        condition = draw(st.sampled_from(_CONDITIONS))
        lines = [f"{count} = 0", f"while {count} < 3 and {condition}:", f"    {count} += 1", *draw(_block(looped))]
        return lines + (["else:", *draw(body)] if draw(st.booleans()) else [])
    if kind == "with":
        return [f"with contextlib.suppress({draw(st.sampled_from(_ERRORS)).strip('()')}):", *draw(body)]
    if kind == "match":
        lines = [f"match {draw(st.sampled_from(_EXPRESSIONS))}:", "    case 0:", *_indented(draw(body))]
        lines += [f"    case v if {draw(st.sampled_from(_CONDITIONS))}:", *_indented(draw(body))]
        return lines + (["    case _:", *_indented(draw(body))] if draw(st.booleans()) else [])
    if kind == "def" and place.nested < 1:
        return draw(_function(inner))
    return draw(_try(inner))


@st.composite
def _try(draw: st.DrawFn, inner: Place) -> list[str]:
    body = _block(inner)
    lines = ["try:", *draw(body)]
    handlers = draw(st.integers(0, 2))
    for error in draw(st.lists(st.sampled_from(_ERRORS), min_size=handlers, max_size=handlers, unique=True)):
        lines += [f"except {error}:", *draw(body)]
    if handlers and draw(st.booleans()):
        lines += ["else:", *draw(body)]
    if not handlers or draw(st.booleans()):
        lines += ["finally:", *draw(body)]
    return lines


@st.composite
def _function(draw: st.DrawFn, inner: Place) -> list[str]:
    """A function, or a generator, of the same names, and its call."""
    generator = draw(st.booleans())
    place = Place(depth=inner.depth, generator=generator, nested=inner.nested + 1)
    lines = ["def f(flag, items, number):", "    nonlocal x, y", *draw(_block(place))]
    if generator:
        taken = draw(st.sampled_from(("sum({})", "len(list({}))", "next({}, 1)", "max({}, default=2)")))
        return [*lines, "    yield 1", f"x = {taken.format('f(flag, items, number)')}"]
    return [*lines, "    return x", f"y = f({draw(st.sampled_from(('flag', 'not flag', 'True')))}, items, x)"]


@st.composite
def _block(draw: st.DrawFn, place: Place) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3 if place.depth < 2 else 2))):
        compound = place.depth < 3 and draw(st.integers(0, 9)) < 5 - place.depth
        lines += draw(_compound(place) if compound else _simple(place))
    return _indented(lines) if place.depth else lines


@st.composite
def undecided_flows(draw: st.DrawFn) -> str:
    """The source of a module with `run` and a `Net` whose children are as wide as what `run` gives."""
    body = [line for _ in range(draw(st.integers(2, 3))) for line in draw(_block(Place()))]
    start = ["x, y, acc, d = 1, 2, [], {}"]
    return "\n".join(
        [HEADER + "def run(flag, items, number):", *_indented([*start, *body, "return x, y, len(acc), len(d)"]), NET]
    )
