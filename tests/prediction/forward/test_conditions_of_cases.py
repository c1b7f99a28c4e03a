"""A case is taken where no earlier one was: what no test in Python says of these is not left out. Torch runs each way."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.prediction.forward.judged import PRELUDE, THREE_LAYERS, predicted

torch = pytest.importorskip("torch")
NET = (
    THREE_LAYERS
    + """
    def forward(self, x, n=0, flag=False):
        {body}
"""
)
FIRST = [
    ("n", "int()"), ("n", "int(v)"), ("n", "0"), ("n", "0 as v"), ("n", "str() | None"), ("n", "1 | 2"), ("[n]", "[1]"),
    ("(n, flag)", "(v, False)"), ("(n, flag)", "(0, _)"), ('{"k": n}', '{"k": int(v)}'), ("n", "v"),
]  # fmt: skip
GUARDS = ["", " if flag", " if x.sum() > 9"]
MATCH = """match {subject}:
            case {pattern}{guard}: x = self.a(x)
            case _ if {later}: x = self.b(x)
            case _: x = self.c(x)
        return x"""
RUNS = [*itertools.product((0, 1, 2.0, "s"), (True, False))]


def judge(tmp_path: Path, body: str) -> None:
    """Of each way to give the arguments: what is told with a condition in Python that is true is called, once."""
    scope: dict[str, Any] = {}
    exec(PRELUDE + NET.format(body=body), scope)
    model, x = scope["Net"]().eval(), torch.ones(2, 4)
    graph = predicted(tmp_path, NET.format(body=body), ["2x4"])
    assert not graph.problems
    calls = [each for each in graph.calls if each.module]
    ran: list[str] = []
    for name in "abc":
        getattr(model, name).register_forward_pre_hook(lambda *_, name=name: ran.append(name))
    for n, flag in RUNS:
        ran.clear()
        model(x, n, flag)
        assert set(ran) <= {each.module for each in calls}
        certain = [each.module for each in calls if each.condition is None]
        sure = [each.module for each in calls if each.condition and is_true(each.condition.text, x, n, flag)]
        assert set(sure) <= set(ran), (n, flag, calls)
        assert len(sure) == len(set(sure)), (n, flag, calls)
        if (n, flag) == (0, False):
            assert set(certain) <= set(ran)


def is_true(text: str, x: Any, n: Any, flag: bool) -> bool:
    """What depends on the numbers in a tensor is told of the arguments that are the usual ones."""
    if text.startswith("depends on ") or ("x." in text and (n, flag) != (0, False)):
        return False
    return bool(eval(text, {"x": x, "n": n, "flag": flag}))


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize(("subject", "pattern"), FIRST)
def test_a_case_depends_on_those_before_it(subject: str, pattern: str, guard: str, tmp_path: Path) -> None:
    if (pattern, guard) == ("v", ""):
        guard = " if flag"
    judge(tmp_path, MATCH.format(subject=subject, pattern=pattern, guard=guard, later="n == 1"))


@pytest.mark.parametrize("later", ["flag", "not flag", "n == 2"])
@pytest.mark.parametrize("pattern", ["int()", "float()", "0"])
def test_what_a_case_has_chosen_depends_on_it(pattern: str, later: str, tmp_path: Path) -> None:
    chosen = f"match n:\n            case {pattern}: m = self.a\n            case _ if {later}: m = self.b\n"
    judge(tmp_path, chosen + "            case _: m = self.c\n        return m(x)")


def test_what_comes_behind_a_capture_is_told_once(tmp_path: Path) -> None:
    body = MATCH.format(subject="n", pattern="int(v)", guard=" if v > 1", later="flag")
    graph = predicted(tmp_path, NET.format(body=body), ["2x4"])
    assert sorted(each.module for each in graph.calls if each.module) == ["a", "b", "c"]
