"""A strategy for functions whose way through Python's control flow depends on what only a run can tell.

`run(flag, items, number)` is given a bool, a list of small integers and an integer; the prediction knows none of them.
Numbers come from a small pool, so that paths often, but not always, agree.
"""

from __future__ import annotations

import re
import runpy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st


def _beside(name: str) -> dict[str, Any]:
    return runpy.run_path(str(Path(__file__).with_name(f"undecided_{name}.py")))


Words = _beside("words")["Words"]
TOPICS = {name: words for each in ("ways", "things", "expressions") for name, words in _beside(each)["TOPICS"].items()}

HEADER = """\
import contextlib
import functools
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
    words: Any = field(default_factory=lambda: Words())
    jumps: bool = True


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


HOLE_E, HOLE_C, HOLE_I = "{E}", "{C}", "{I}"
_HOLE = re.compile(r"\{([ECIX])\}|(\{\{|\}\})")


def _choice(place: Place, kind: str) -> st.SearchStrategy[str]:
    """An expression, a condition, an iterable or an error; of the topic's own words every second time."""
    basic = {"E": _EXPRESSIONS, "C": _CONDITIONS, "I": _ITERABLES, "X": _ERRORS}[kind]
    words = place.words
    own = {"E": words.expressions, "C": words.conditions, "I": words.iterables, "X": ()}[kind]
    return st.sampled_from(basic) | st.sampled_from(own) if own else st.sampled_from(basic)


@st.composite
def _filled(draw: st.DrawFn, place: Place, template: str, deep: int = 0) -> str:
    """The template with its inner holes filled."""

    def one(found: re.Match[str]) -> str:
        if found[2]:
            return found[2][0]
        text = draw(_choice(place, found[1]))
        if deep:
            return re.sub(r"\{[EI]\}", "x" if found[1] != "I" else "items", text)
        return draw(_filled(place, text, 1))

    return _HOLE.sub(one, template)


@st.composite
def _from_template(draw: st.DrawFn, place: Place, template: str) -> list[str]:
    inner = replace(place, depth=place.depth + 1)
    blocks = {"{B}": inner, "{L}": replace(inner, loop=True), "{N}": replace(inner, jumps=False, depth=3)}
    lines: list[str] = []
    for line in template.split("\n"):
        bare = line.lstrip()
        indent = line[: len(line) - len(bare)]
        if bare in blocks:
            lines += [indent + each.removeprefix("    ") for each in draw(_block(blocks[bare]))]
        else:
            lines.append(draw(_filled(place, line)))
    return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def _simple(draw: st.DrawFn, place: Place) -> list[str]:
    value = draw(_filled(place, HOLE_E))
    kinds = ["x", "y", "x", "y", "acc", "d", "+=", "raise", "assert", "pass", "del"]
    kinds += ["return"] if place.jumps else []
    kinds += ["break", "continue", "break"] if place.loop and place.jumps else []
    kinds += ["yield", "yield"] if place.generator else []
    kinds += ["own"] * len(kinds) if place.words.statements else []
    kind = draw(st.sampled_from(kinds))
    if kind in ("x", "y"):
        return [f"{kind} = {value}"]
    if kind == "own":
        return [draw(_filled(place, draw(st.sampled_from(place.words.statements))))]
    if kind == "return":
        return [
            "return" if place.generator else "return x, y, len(acc), len(d)" if not place.nested else f"return {value}"
        ]
    return {
        "acc": [f"acc.append({value})"],
        "d": [f"d['k'] = {value}"],
        "+=": [f"x += {value}"],
        "raise": [f"raise ValueError({value})"],
        "assert": [f"assert {draw(_filled(place, HOLE_C))}"],
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
    if place.words.blocks and draw(st.booleans()):
        return draw(_from_template(place, draw(st.sampled_from(place.words.blocks))))
    kind = draw(st.sampled_from(("if", "if", "for", "for", "while", "try", "try", "with", "match", "def")))
    body = _block(inner)
    if kind == "if":
        lines = [f"if {draw(_filled(place, HOLE_C))}:", *draw(body)]
        return lines + (["else:", *draw(body)] if draw(st.booleans()) else [])
    if kind == "for":
        name = draw(st.sampled_from(("x", "y", "i")))
        lines = [f"for {name} in {draw(_filled(place, HOLE_I))}:", *draw(_block(looped))]
        return lines + (["else:", *draw(body)] if draw(st.booleans()) else [])
    if kind == "while":
        count = f"n{place.depth}{place.nested}"
        condition = draw(_filled(place, HOLE_C))
        lines = [f"{count} = 0", f"while {count} < 3 and {condition}:", f"    {count} += 1", *draw(_block(looped))]
        return lines + (["else:", *draw(body)] if draw(st.booleans()) else [])
    if kind == "with":
        return [f"with contextlib.suppress({draw(st.sampled_from(_ERRORS)).strip('()')}):", *draw(body)]
    if kind == "match":
        lines = [f"match {draw(_filled(place, HOLE_E))}:", "    case 0:", *_indented(draw(body))]
        lines += [f"    case v if {draw(_filled(place, HOLE_C))}:", *_indented(draw(body))]
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
    place = replace(inner, loop=False, generator=generator, nested=inner.nested + 1)
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


def together(topics: list[str]) -> Any:
    """The words of all these topics."""
    parts = [TOPICS[name] for name in topics]
    joined = {name: sum((getattr(each, name) for each in parts), ()) for name in _LISTS}
    return Words(header="".join(each.header for each in parts), **joined)


_LISTS = ("start", "expressions", "conditions", "iterables", "statements", "blocks")


def source(body: list[str], header: str = "") -> str:
    """A module with `header`, `run` and `Net`."""
    return "\n".join([HEADER + header + "\n\ndef run(flag, items, number):", *_indented(body), NET])


@st.composite
def undecided_flows(draw: st.DrawFn, topics: tuple[str, ...] = ()) -> str:
    """The source of a module with `run` and a `Net` whose children are as wide as what `run` gives."""
    names = sorted(draw(st.sets(st.sampled_from(topics), min_size=1, max_size=2))) if topics else []
    words = together(names)
    place = Place(words=words)
    body = [line for _ in range(draw(st.integers(2, 3))) for line in draw(_block(place))]
    start = ["x, y, acc, d = 1, 2, [], {}", *words.start]
    return source([*start, *body, "return x, y, len(acc), len(d)"], words.header)
