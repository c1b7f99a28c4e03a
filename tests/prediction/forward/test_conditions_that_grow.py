"""Conditions on sizes that are long, many, or of far more sizes than can be counted out: what is told is right, takes no
long time, and what cannot be told takes nothing else with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import modgraph
from modgraph.graph.model import Graph
from modgraph.prediction.domain import forms
from modgraph.prediction.forward import predicting
from tests.prediction.forward.judged import PRELUDE

MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)

    def forward(self, x):
        n = x.shape[0]
"""
PRIMES = "11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67"
BODIES = {
    "many moduli": f"for p in ({PRIMES}):\n    if n % p == 0:\n        x = self.a(x)",
    "many moduli of one test": f"if all(n % p for p in ({PRIMES})):\n    x = self.a(x)",
    "a loop until a size is one": ("while n != 1:\n    n = n // 2 if n % 2 == 0 else 3 * n + 1\n    x = self.a(x)"),
    "a size that is squared": "for _ in range(40):\n    n = n * n\n    if n % 7 == 0:\n        x = self.a(x)",
    "products of two": (
        "m = n + 1\nfor _ in range(40):\n    n, m = n * m + n // 2, n + m\n    if n % 7 == m % 5:\n        x = self.a(x)"
    ),
    "sums of divisions": "s = 0\nfor i in range(2, 90):\n    s = s + n // i\nif s > 99:\n    x = self.a(x)",
    "divisions inside each other": "for _ in range(60):\n    n = (3 * n + 1) // 2\n    if n % 3 == 0:\n        x = self.a(x)",
}
SECONDS = 8.0
"""Of the processor; it takes about one."""


def _predicted(tmp_path: Path, body: str) -> Graph:
    text = "".join(f"        {line}\n" for line in [*body.split("\n"), "return x"])
    (tmp_path / "net.py").write_text(PRELUDE + MODEL + text)
    return modgraph.predict(f"{tmp_path / 'net.py'}:Net", inputs=["x=b x 8"])


@pytest.mark.parametrize("kind", BODIES)
def test_it_is_told_in_short_time(tmp_path: Path, kind: str) -> None:
    began = time.process_time()
    graph = _predicted(tmp_path, BODIES[kind])
    assert time.process_time() - began < SECONDS
    assert not graph.problems
    assert not any(call.certain for call in graph.calls[1:]) or any(each.followed for each in graph.model.inputs)


@pytest.mark.parametrize("times", [2**17, 2**64, 10**25])
def test_a_size_that_is_multiplied_is_compared_with_numbers_as_large(tmp_path: Path, times: int) -> None:
    graph = _predicted(
        tmp_path, f"x = self.a(x)\nif n * {times} >= {times * max(64, 2**40 // times)}:\n    x = self.a(x)"
    )
    certain = [call.certain for call in graph.calls if call.module == "a"]
    assert certain == [True, False] or any(each.followed for each in graph.model.inputs)


def _turn(form: forms.Form) -> forms.Form:
    return forms.floor_divide(forms.add(forms.scale(form, 3), forms.number(1)), forms.number(2))


def _without_end(found: list[forms.Form]) -> Iterator[forms.Form]:
    while True:
        yield found[-1]


def test_a_form_that_is_too_heavy_is_none() -> None:
    forms_of_turns = [forms.of(forms.Symbol("n", 26))]
    with pytest.raises(forms.TooLargeError):
        forms_of_turns.extend(map(_turn, _without_end(forms_of_turns)))
    assert 5 < len(forms_of_turns) < forms.MAX_WEIGHT


def test_a_heavy_form_has_the_value_of_what_it_is_made_of() -> None:
    symbol = forms.Symbol("n", 26)
    form, sizes = forms.of(symbol), range(1, 60)
    held = {size: size for size in sizes}
    for _ in range(6):
        form = _turn(form)
        held = {size: (3 * value + 1) // 2 for size, value in held.items()}
    assert form.weight > forms.LIGHT
    assert {size: form.evaluate({symbol: size}) for size in sizes} == held


@pytest.mark.parametrize("name", ["judged", "when"])
def test_a_defect_in_telling_conditions_leaves_the_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fails(*_: object) -> None:
        raise OverflowError("too large")

    monkeypatch.setattr(*((predicting, "judged") if name == "judged" else (predicting.Telling, "when")), fails)
    graph = _predicted(tmp_path, "if n > 5:\n    x = self.a(x)")
    (given,) = graph.model.inputs
    assert [call.module for call in graph.calls] == ["", "a"]
    if name == "judged":
        assert given.followed == ("b >= 6",)
        assert "too large" in graph.problems[0].message
    else:
        assert not graph.calls[1].certain
        assert "n > 5" in (graph.calls[1].condition.text if graph.calls[1].condition else "")
