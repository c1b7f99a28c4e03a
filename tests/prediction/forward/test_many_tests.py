"""Tests that follow each other by the hundred: what is told of them is what each of them says, and is not read again."""

from __future__ import annotations

from modgraph.prediction.domain import conditions_told
from tests.prediction.forward.judged import predicted


def test_to_tell_hundreds_of_tests_is_to_read_each_of_them_once(tmp_path, monkeypatch):
    number, read = 120, []
    original = conditions_told.python_tree

    def counted(text, **options):
        read.append(text)
        return original(text, **options)

    monkeypatch.setattr(conditions_told, "python_tree", counted)
    tests = "".join(f"        if x.sum() > {each}.25:\n            return self.a(x)\n" for each in range(number))
    body = "        self.a = nn.Linear(4, 4)\n    def forward(self, x):\n" + tests + "        return x\n"
    text = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n" + body
    graph = predicted(tmp_path, text, ["x=3x4"])
    last = graph.calls[-1].condition
    assert last is not None
    assert len(conditions_told.tests_in(last.text)) == number
    assert sum(map(len, read)) < 20 * len(tests)


def test_what_is_told_together_is_what_is_read_of_it():
    tests = ["a or b", "not (x > 3)", "c if d else e", "f(a) and g", "it depends"]
    text = conditions_told.all_of(tests[:-1])
    together = conditions_told.tests_in(text)
    conditions_told._TOGETHER.clear()
    assert together == ("a or b", "not (x > 3)", "c if d else e", "f(a)", "g")
    assert conditions_told.tests_in(text) == together
    whole = "(a or b) and not (x > 3) and (c if d else e) and f(a) and g and (it depends)"
    assert conditions_told.all_of(tests) == whole
    assert conditions_told.tests_in(whole) == (whole,)


def test_what_is_remembered_of_tests_is_bounded_by_its_letters():
    tests = [f"x.sum() > {each}.25 + {'y' * 100}" for each in range(400)]
    written = [conditions_told.all_of(tests[: each + 1]) for each in range(400)]
    assert sum(map(len, written)) > conditions_told.MOST_LETTERS_TOGETHER
    assert sum(map(len, conditions_told._TOGETHER)) <= conditions_told.MOST_LETTERS_TOGETHER
    assert all(len(conditions_told.tests_in(text)) == each + 1 for each, text in enumerate(written[:40]))
    assert len(conditions_told.tests_in(written[-1])) == 400
