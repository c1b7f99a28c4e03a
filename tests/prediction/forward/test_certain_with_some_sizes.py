"""What is certain with some sizes and depends on data with others: it is told so, and torch is the judge."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

import modgraph
from modgraph.graph.doubts import in_all
from modgraph.graph.model import Condition
from tests.prediction.forward.judged import PRELUDE

MODEL = """
import contextlib


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for name in "abc":
            setattr(self, name, nn.Linear(8, 8))

    def forward(self, x):
        y, n = x, x.shape[0]
"""
TESTS = ("n == 2 and y.sum() > 0", "n > 4 and y.sum() > 0", "y.sum() > 0 and n % 2 == 1")
BODIES = {
    "returns": "if TEST:\n    return x\nx = self.b(x)",
    "passes": "if TEST:\n    pass\nelse:\n    x = self.b(x)",
    "raises": "with contextlib.suppress(ValueError):\n    if TEST:\n        raise ValueError\n    x = self.b(x)",
    "breaks": "for _ in range(2):\n    if TEST:\n        break\n    x = self.b(x)",
    "goes on": "for _ in range(2):\n    if TEST:\n        continue\n    x = self.b(x)",
    "a flag": "k = 1 if TEST else 0\nif not k:\n    x = self.b(x)",
    "a choice": "m = self.a if TEST else self.b\nx = m(x)",
    "a function": "def f(t):\n    if TEST:\n        return t\n    return self.b(t)\nx = f(x)",
    "an operation behind": "if TEST:\n    return x\nx = self.b(x).relu()",
}


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("kind", BODIES)
def test_a_call_that_data_leaves_out_with_some_sizes_is_not_certain(tmp_path: Path, kind: str, test: str) -> None:
    lines = [*BODIES[kind].replace("TEST", test).split("\n"), "return x"]
    text = MODEL + "".join(f"        {line}\n" for line in lines)
    (tmp_path / "net.py").write_text(PRELUDE + text)
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["x=b x 8"])
    assert not graph.problems
    scope: dict[str, Any] = {}
    exec(PRELUDE + text, scope)
    model = scope["Net"]()
    for size in (1, 2, 3, 5, 6, 11):
        for fill in (1.0, -1.0):
            seen: Counter[str] = Counter()
            hooks = [
                each.register_forward_pre_hook(lambda *_, name=name, seen=seen: seen.update([name]))
                for name, each in model.named_children()
            ]
            with torch.no_grad():
                model(torch.full((size, 8), fill))
            for hook in hooks:
                hook.remove()
            for name in "abc":
                made = [
                    _is_made(each.certain, each.condition, size, fill) for each in graph.calls if each.module == name
                ]
                assert made.count(True) <= seen[name] <= len(made) - made.count(False), (size, fill, name)
            if not seen["b"]:
                assert not any(each.certain for each in graph.operations if each.name.endswith("relu"))


def _is_made(certain: bool, condition: Condition | None, size: int, fill: float) -> bool | None:
    if certain:
        return True
    assert condition is not None
    if condition.text.startswith("depends on "):
        return None
    x = torch.full((size, 8), fill)
    names = {"b": size, "n": size, "y": x, "x": x, "t": x}
    try:
        return bool(eval(condition.text, {}, names))
    except NameError:  # `k` of the program
        return None


def _when(places: frozenset[int]) -> Condition:
    return Condition(text={frozenset({0}): "b != 2", frozenset({0, 1}): "b >= 2"}.get(places, "depends on `len(p)`"))


TOLD: dict[str, tuple[list[int], list[str | None], str | None]] = {
    "certain in one way": ([0, 1], [None, "s > 0"], "b != 2 or s > 0"),
    "of two tests": ([0, 1], [None, "s > 0 and t"], "b != 2 or (s > 0 and t)"),
    "not at all in one": ([0, 1], [None, "s > 0", None], "b != 2 or depends on `len(p)`"),
    "alike in two": ([0, 1, 2], ["s > 0", "s > 0", None], "depends on `len(p)` and `s > 0`"),
    "a test of a way that is not told": ([1, 2], [None, "s > 0", "s > 0"], "depends on `s > 0` and `len(p)`"),
    "what two ways depend on": ([1, 2], [None, "depends on `p`", "depends on `p`"], "depends on `p` and `len(p)`"),
    "not said": ([0, 1], [None, ""], None),
}


@pytest.mark.parametrize("kind", TOLD)
def test_what_it_depends_on_in_all_is_said(kind: str) -> None:
    having, texts, told = TOLD[kind]
    doubts = [{} if text is None else {"part": Condition(text=text)} for text in texts]
    found = in_all(having, "part", doubts, _when)
    if kind == "not at all in one":
        assert found is not None
        assert found.text.startswith("depends on ")
    else:
        assert (None if found is None else found.text) == told
