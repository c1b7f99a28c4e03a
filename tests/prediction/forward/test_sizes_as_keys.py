"""Sizes that are left open, as keys of dicts and elements of sets: whether two are one key is a condition on them. Torch
is the judge, at sizes where they are and where they are not."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.prediction.forward.judged import predicted
from tests.prediction.forward.test_ways_of_sizes import run

PRELUDE = """
import collections, dataclasses, enum, functools

class E(enum.IntEnum):
    A = 4

@dataclasses.dataclass(frozen=True)
class Held:
    n: int

class Own:
    def __init__(self, n): self.n = n
    def __hash__(self): return self.n
    def __eq__(self, other): return self.n == other.n

def put(held, *keys):
    for key in keys:
        held[key] = key
    return held

def added(held, *items):
    for item in items:
        held.add(item)
    return held

def times(*arguments):
    seen = []

    @functools.lru_cache(None)
    def made(*given):
        seen.append(given)

    for each in arguments:
        made(*each)
    return len(seen)
"""
TESTS = (
    *("len({n, 4}) == 1", "len({4, n}) == 1", "len({n, m}) == 1", "len({(1, n), (1, m)}) == 1", "len({True, n}) == 1"),
    *("len({n: 1, 4: 2}) == 1", "len({4: 1, n: 2}) == 1", "{n: 1}.get(4) == 1", "4 in {n: 1}", "(1, 4) in {(1, n)}"),
    *("{n} == {4}", "{n} <= {4, 5}", "{4, 5} > {n}", "{4, 5}.issuperset([n])", "not {4, 5}.isdisjoint({n})"),
    *("{n: 1} == {4: 1}", "{n: 1}.keys() == {4}", "{n: 1}.items() == {(4, 1)}", "frozenset([n]) == frozenset([4])"),
    *("len({frozenset([n]), frozenset([4])}) == 1", "{4} ^ {n} == set()", "{4}.intersection([n]) != set()"),
    *("len(dict.fromkeys([n, 4])) == 1", "len({n: 1} | {4: 2}) == 1", "len({**{n: 1}, **{4: 2}}) == 1"),
    *("len(put({}, n, 4)) == 1", "len(put({}, 7, n, 4)) == 2", "len(put({}, (n, 1), (4, 1))) == 1"),
    *("len(added(set(), n, 4)) == 1", "len(added({7, 5}, n, 4)) == 3", "put({}, n).setdefault(4, 0) == 4"),
    *("len(collections.Counter([n, 4])) == 1", "collections.Counter([n]) == collections.Counter([4])"),
    *("len(collections.ChainMap({n: 1}, {4: 2})) == 1", "times((n,), (4,)) == 1", "times((4, 1), (n, 1)) == 1"),
    *("hash(n) == 4", "hash(n - 2) == -2", "slice(n) == slice(4)", "len({n / 2, 2}) == 1", "n == 4 + 0j"),
    *("len({E.A, n}) == 1", "len({Held(n), Held(4)}) == 1", "len({Own(n), Own(4)}) == 1"),
    *("len(str(n)) == 1", "len(f'{n}') > 1", "len({str(n), '4'}) == 1"),
)
SIZES = [(1, 1), (3, 4), (4, 3), (5, 5), (7, 1), (11, 2)]


@pytest.mark.needs_torch
@pytest.mark.parametrize("test", TESTS)
def test_whether_a_size_is_another_key_is_asked(test: str, tmp_path: Path) -> None:
    import torch

    body = f"n, m = x.shape[0], x.shape[1]\nif {test}:\n    x = self.a(x)\nreturn self.b(x)"
    source = (
        f"{PRELUDE}\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)\n\n    def forward(self, x):\n"
        + textwrap.indent(body, " " * 8)
    )
    graph = predicted(tmp_path, source, ["x=n x m x 4"])
    (given,) = graph.model.inputs
    (call,) = (each for each in graph.calls if each.module == "a")
    for n, m in SIZES:
        held = {"n": n, "m": m}
        if not all(eval(text, {}, held) for text in (*given.constraints, *given.followed)):
            continue
        seen = run(source, torch.zeros(n, m, 4))
        assert seen is not None
        assert not call.certain
        assert call.condition is not None
        if "(" not in call.condition.text:  # else it is that of the program
            assert bool(seen["a"]) is bool(eval(call.condition.text, {}, held)), (held, call.condition)


@pytest.mark.needs_torch
def test_sizes_that_are_to_be_one_key_are_required_to_be_equal(tmp_path: Path) -> None:
    source = (
        "class Net(nn.Module):\n    def forward(self, x, y):\n"
        "        if len({each.shape[-1] for each in (x, y)}) > 1:\n            raise ValueError\n        return x + y\n"
    )
    graph = predicted(tmp_path, source, ["x=b x 3 x n", "y=b x 3 x m"])
    assert not graph.problems
    assert {text for each in graph.model.inputs for text in each.constraints} in ({"n == m"}, {"m == n"})
