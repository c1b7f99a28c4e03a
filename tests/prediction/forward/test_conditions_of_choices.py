"""What is done with one of several values depends on the tests that have decided which it is; torch runs each way."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from modgraph.graph.model import Graph
from tests.prediction.forward.judged import THREE_LAYERS, predicted

NET = (
    THREE_LAYERS
    + """
    def one(self, x):
        return self.a(x)

    def two(self, x):
        return self.b(x)

    def pick(self, n):
        if n == 0:
            return self.a
        if n == 1:
            return self.b
        return self.c

    def forward(self, x, %s):
        %s
"""
)
CASES = {
    "of an expression": ("p=True", "return (self.a if p else self.b)(x)"),
    "of a statement": ("p=True", "if p: m = self.a\n        else: m = self.b\n        return m(x)"),
    "of one arm": ("p=True", "m = self.a\n        if not p: m = self.b\n        return m(x)"),
    "of three": ("n=0", "return (self.a if n == 0 else self.b if n == 1 else self.c)(x)"),
    "of three statements": (
        "n=0",
        "if n == 0: m = self.a\n        elif n == 1: m = self.b\n        else: m = self.c\n        return m(x)",
    ),
    "of several returns": ("n=0", "return self.pick(n)(x)"),
    "of data": ("p=True", "return (self.a if x.sum() > 0 else self.b)(x)"),
    "of the mode": ("p=True", "return (self.a if self.training else self.b)(x)"),
    "of none": ("p=False", "m = self.a if p else None\n        return self.b(x) if m is None else m(x)"),
    "of methods": ("p=True", "return (self.one if p else self.two)(x)"),
    "of functions": ("p=True", "f = (lambda y: y) if p else self.b\n        return self.a(f(x))"),
    "of numbers": ("p=True", "return (self.a, self.b)[0 if p else 1](x)"),
    "of names": ("p=True", "return getattr(self, 'a' if p else 'b')(x)"),
    "of an attribute": ("p=True", "self.kept = self.a if p else self.b\n        return self.kept(x)"),
    "of lists": (
        "p=True",
        "for m in ([self.a] if p else [self.b, self.c]): x = m(x)\n        return x",
    ),
    "of one that another test sets": (
        "p=True, q=False",
        "m = self.a if p else self.b\n        if q: m = self.c\n        return m(x)",
    ),
    "of a test before, and of three": (
        "p=True, q=True, n=0",
        "m = self.a if p else self.b\n        if q: pass\n        elif n: pass\n        else: m = self.c\n"
        "        return m(x)",
    ),
    "of the same in two ways": (
        "p=True, q=True",
        "if p: m = self.a if q else self.b\n        else: m = self.a if not q else self.b\n        return m(x)",
    ),
    "of a filter": ("p=False", "[m(x) for m in (self.a, self.b) if p]\n        return self.c(x)"),
    "of a key": ("p=True", "return {True: self.a, False: self.b}[p](x)"),
}
OPEN = {"of a test before, and of three", "of the same in two ways", "of a key"}
"""It is only said on what they depend, and not how."""


def _run(file: Path, given: Mapping[str, Any], training: bool, fill: float) -> tuple[set[str], dict[str, Any]]:
    """What torch calls, and the names of `forward` at its end."""
    import torch

    names: dict[str, Any] = {}
    exec(compile(file.read_text("utf-8"), str(file), "exec"), names)
    net = names["Net"]().train(training)
    seen: set[str] = set()
    for path, module in net.named_children():
        module.register_forward_hook(lambda *_, path=path: seen.add(path))
    local: dict[str, Any] = {}

    def at_end(frame: FrameType, event: str, _: object) -> None:
        if event == "return" and frame.f_code is names["Net"].forward.__code__:
            local.update(frame.f_locals)

    sys.setprofile(at_end)
    try:
        net(torch.full((3, 4), fill), **given)
    finally:
        sys.setprofile(None)
    return seen, {**local, "x": torch.full((3, 4), fill)}


def _conditional(graph: Graph) -> dict[str, list[str]]:
    """By module that is called on conditions alone: these."""
    certain = {call.module for call in graph.calls if call.certain}
    found: dict[str, list[str]] = {}
    for call in graph.calls:
        if call.module not in certain and call.condition is not None:
            found.setdefault(call.module, []).append(call.condition.text)
    return found


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", CASES)
def test_it_is_called_where_the_condition_is_true(name: str, tmp_path: Path) -> None:
    parameters, body = CASES[name]
    graph = predicted(tmp_path, NET % (parameters, body), ["x=3x4"])
    found = _conditional(graph)
    texts = [text for each in found.values() for text in each]
    assert texts
    assert any(text.startswith("depends on") for text in texts) == (name in OPEN)
    arguments = [each.partition("=")[0].strip() for each in parameters.split(",")]
    values = [range(3) if each == "n" else (True, False) for each in arguments]
    for given in itertools.product(*values):
        for training, fill in itertools.product((True, False), (1.0, -1.0)):
            seen, local = _run(tmp_path / "net.py", dict(zip(arguments, given, strict=True)), training, fill)
            for module, conditions in found.items():
                known = [text for text in conditions if not text.startswith("depends on")]
                is_true = any(eval(text, {}, local) for text in known)
                assert is_true == (module in seen) or (not is_true and known != conditions), (given, conditions)


@pytest.mark.parametrize(
    ("number", "held"),
    [
        ("x.shape[0].bit_length()", "a size that is left open"),
        ("len(hex(x.shape[0])) - 2", "a size that is left open"),
        ("len('-'.join({'a', 'bcd'}).split('-')[0])", "a set"),
    ],
)
def test_it_says_of_what_a_result_is_not_followed(number, held, tmp_path):
    text = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8)

        def forward(self, x):
            for _ in range({number}):
                x = self.a(x)
            return x
    """
    graph = predicted(tmp_path, text.replace("{number}", number), ["n x 8"])
    told = {call.condition.text for call in graph.calls if call.module and not call.certain and call.condition}
    assert told
    assert all(held in each or each == "another way through forward" for each in told)


CHANGED_BETWEEN = {
    "data": (
        "",
        "if x.sum() > 0:\n            x = -x\n            if {}x.sum() > 0{}: x = self.b(x)\n        return x",
    ),
    "written into": (
        "",
        "if x.sum() > 0:\n            x.neg_()\n            if {}x.sum() > 0{}: x = self.b(x)\n        return x",
    ),
    "a name": (
        "",
        "p = x.sum() > 0\n        if p:\n            p = x.max() > 3\n            if {}p{}: x = self.b(x)\n        return x",
    ),
    "an attribute": (
        "",
        "self.p = x.sum() > 0\n        if self.p:\n            self.p = x.max() > 3\n"
        "            if {}self.p{}: x = self.b(x)\n        return x",
    ),
}


@pytest.mark.parametrize(("parameter", "body"), CHANGED_BETWEEN.values(), ids=CHANGED_BETWEEN)
@pytest.mark.parametrize("around", [("", ""), ("not (", ")")])
def test_a_test_of_what_has_changed_is_another_one(parameter: str, body: str, around: tuple[str, str], tmp_path: Path):
    graph = predicted(tmp_path, NET % (parameter, body.format(*around)), ["3x4"])
    told = [call.condition.text for call in graph.calls if call.module == "b" and call.condition]

    assert len(told) == 1
    first, then = told[0].split(" and later ")
    assert then == (f"not ({first})" if " " in first else f"not {first}") if around[0] else then == first


@pytest.mark.parametrize("again", ["p", "not p", "x.sum() > 0"])
def test_a_test_of_what_is_as_it_was_is_the_same(again: str, tmp_path: Path):
    body = f"p = x.sum() > 0\n        if p and x.sum() > 0:\n            self.a(x)\n            if {again}: self.b(x)\n        return x"
    graph = predicted(tmp_path, NET % ("", body), ["3x4"])

    assert not [call for call in graph.calls if call.condition is not None and "later" in call.condition.text]


BOUND_ANEW = {
    "an argument": ("p=False", "if p: p = not p\n        if p: x = self.b(x)\n        return x"),
    "where it is false": ("p=False", "if not p: p = bool(x.sum() > 0)\n        if p: x = self.b(x)\n        return x"),
    "a default": ("p=None", "p = p or x.sum() > 0\n        if p: x = self.b(x)\n        return x"),
    "in place": ("p=False", "if p: pass\n        p ^= x.sum() > 0\n        if p: x = self.b(x)\n        return x"),
    "by a walrus": (
        "p=False",
        "if p: pass\n        if (p := x.sum() > 0) is None: pass\n        if p: x = self.b(x)\n        return x",
    ),
    "an attribute": (
        "p=False",
        "self.p = x.sum() > 0\n        if self.p: self.p = x.max() > 3\n        if self.p: x = self.b(x)\n        return x",
    ),
    "data": ("p=False", "if x.sum() > 0: x = -x\n        if x.sum() > 0: x = self.b(x)\n        return x"),
    "by a loop": (
        "p=False",
        "if p: pass\n        for p in (x.sum() > 0,): pass\n        if p: x = self.b(x)\n        return x",
    ),
}


@pytest.mark.parametrize(("parameter", "body"), BOUND_ANEW.values(), ids=BOUND_ANEW)
def test_a_test_of_what_is_bound_anew_is_a_later_one_where_nothing_is_called(parameter: str, body: str, tmp_path: Path):
    graph = predicted(tmp_path, NET % (parameter, body), ["3x4"])
    told = [call.condition.text for call in graph.calls if call.module == "b" and call.condition]

    assert told
    assert all(text.startswith("later ") for text in told)


BEHIND_A_DOUBT = {
    "of a key": "return {True: self.pos, False: self.one}[bool(x.max() > 1)](x)",
    "of a key, and of two tests": "return {True: self.twice, False: self.one}[bool(x.max() > 1)](x)",
    "of a test before, and of three": (
        "m = self.pos if x.max() > 1 else self.a\n        if x.min() > 9: pass\n        elif x.mean() > 9: pass\n"
        "        else: m = self.a\n        return m(x)"
    ),
    "of a number of items": "for _ in [1, 2][: int(x.max() > 1)]:\n            if x.sum() > 0: x = self.b(x)\n        return x",
}
ASKED_BEHIND = """    def pos(self, x):
        return self.b(x) if x.sum() > 0 else x

    def twice(self, x):
        if x.sum() > 0:
            if x.max() > 0: x = self.b(x)
        return x

    def forward"""


@pytest.mark.needs_torch
@pytest.mark.parametrize("body", BEHIND_A_DOUBT.values(), ids=BEHIND_A_DOUBT)
def test_a_test_behind_what_is_not_told_is_not_all_that_it_depends_on(body: str, tmp_path: Path):
    graph = predicted(tmp_path, NET.replace("    def forward", ASKED_BEHIND) % ("p=True", body), ["3x4"])
    texts = [call.condition.text for call in graph.calls if call.module == "b" and call.condition]

    assert "b" not in _run(tmp_path / "net.py", {}, False, 0.5)[0]
    assert texts
    assert all(text.startswith("depends on ") and "x.sum() > 0" in text for text in texts)
    assert not any("depends on" in text[1:] for text in texts)
    assert not any(re.search(r"(?<!`) (and|>) (?!`)", re.sub(r"`[^`]*`", "``", text)) for text in texts)


AS_IT_WAS = {
    "an argument": ("p=False", "if p: pass\n        if p: x = self.b(x)\n        return x"),
    "of another call": ("p=False", "self.ask(p)\n        self.ask(x.sum() > 0)\n        return x"),
    "of a function": ("p=False", "if p: pass\n        return self.ask(x.sum() > 0)"),
    "data that a copy changes": (
        "p=False",
        "if x.sum() > 0: y = x * 2\n        if x.sum() > 0: x = self.b(x)\n        return x",
    ),
}
ASKING = "    def ask(self, p):\n        if p: self.b(torch.ones(3, 4))\n\n    def forward"


@pytest.mark.parametrize(("parameter", "body"), AS_IT_WAS.values(), ids=AS_IT_WAS)
def test_a_test_of_what_nothing_has_changed_is_none(parameter: str, body: str, tmp_path: Path):
    text = NET.replace("    def forward", ASKING) % (parameter, body)
    told = [call.condition.text for call in predicted(tmp_path, text, ["3x4"]).calls if call.condition]

    assert told
    assert not any("later" in text for text in told)


@pytest.mark.parametrize("asked", ["any", "all", "next"])
def test_what_is_done_for_further_items_says_so(asked: str, tmp_path: Path):
    """Of `any(layer(x).sum() > 0 for layer in layers)` the first call is made in any case."""
    body = {
        "any": "return x + 1 if any(layer(x).sum() > 0 for layer in self.layers) else x",
        "all": "return x + 1 if all(layer(x).sum() > 0 for layer in self.layers) else x",
        "next": "return next((y for layer in self.layers if (y := layer(x)).sum() > 0), x)",
    }[asked]
    text = f"""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])

        def forward(self, x):
            {body}
    """
    calls = {call.module: call for call in predicted(tmp_path, text, ["2x8"]).calls}

    assert calls["layers.0"].certain
    for name in ("layers.1", "layers.2"):
        assert not calls[name].certain
        assert calls[name].condition is not None
        assert calls[name].condition.text


INSIDE_AN_ARM = {
    "while": "while x.sum() > 0:\n                x = -self.b(x).abs()",
    "next": "x = next((self.b(x) for p in [x.sum() > 0, x.sum() < 9] if not p), x)",
    "list": "x = [x, *list(self.b(x) for p in [x.sum() > 0] if not p)][0]",
    "for": "for y in (self.b(x) for p in (x.sum() > 0,) if p): x = x + y",
    "any": "x = x if any(self.b(x).sum() > 0 for p in (x.sum() > 0,) if p) else -x",
    "zip": "x = [x, *zip((self.b(x) for p in (x.sum() > 0,) if not p), [1])][0]",
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("body", INSIDE_AN_ARM.values(), ids=INSIDE_AN_ARM)
@pytest.mark.parametrize("around", ["if p:", "if not p:"])
def test_a_loop_inside_an_arm_depends_on_the_arm_too(around: str, body: str, tmp_path: Path):
    graph = predicted(tmp_path, NET % ("p=False", f"{around}\n            {body}\n        return x"), ["3x4"])
    texts = [call.condition.text for call in graph.calls if call.module == "b" and call.condition]
    assert texts
    # What the run with its defaults does is told of that run.
    for p, fill in itertools.product((True, False) if around == "if p:" else (False,), (1.0, -1.0)):
        seen, local = _run(tmp_path / "net.py", {"p": p}, False, fill)
        known = [each for each in texts if not each.startswith("depends on ")]
        is_true = any(eval(text, {}, {"p": p, "x": local["x"]}) for text in known)
        assert is_true == ("b" in seen) or not known
