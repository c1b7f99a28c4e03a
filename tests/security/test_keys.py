"""Keys that an author chooses make no dict and no set slow: that their hashes are equal is of no use to him."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.prediction.domain.values import Constant, number_key

PRIME = 2**61 - 1
"""Python's hash of a number is its remainder by this."""
MANY = [each * PRIME for each in range(1, 12_000)]


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("{%s}", len(MANY)),
        ("{(each, 1) for each in [%s]}", len(MANY)),
        ("dict.fromkeys([%s])", len(MANY)),
        ("{each: 1 for each in [%s]}", len(MANY)),
    ],
)
def test_keys_of_equal_hashes_cost_as_much_as_others(ended, made: str, count: int) -> None:
    numbers = ", ".join(map(str, MANY))
    assert ended(f"made = {made % numbers}", seconds=12) == [count, 1]


def test_a_table_of_a_module_whose_keys_have_equal_hashes_is_read(ended) -> None:
    table = ", ".join(f"{each}: {place}" for place, each in enumerate(MANY))
    assert ended("made = TABLE", f"TABLE = {{{table}}}\n", seconds=12) == [len(MANY), 1]


def test_elements_that_are_compared_one_by_one_are_counted(ended) -> None:
    assert ended("made = {(1.5, each) for each in range(9_000)}", seconds=20) in ([9_000, 1], None)


@pytest.fixture
def ended(tmp_path: Path, run_code: Callable[..., Any]) -> Callable[..., list[object] | None]:
    """The shape of a layer with as many outputs as are made, None where a limit is reached before; in a process that has
    no more time than that."""

    def ended(statement: str, before: str = "", *, seconds: int) -> list[object] | None:
        (tmp_path / "model.py").write_text(
            f"from torch import nn\n{before}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            f"        {statement}\n        self.a = nn.Linear(1, len(made))\n"
        )
        code = (
            f"import resource; resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))\n"
            "import modgraph, json\n"
            "graph = modgraph.predict('model.py:Net')\n"
            "found = [p.shape for m in graph.modules for p in m.parameters if p.name == 'weight']\n"
            "print(json.dumps(found[0] if found else None if graph.problems else 'no answer'))"
        )
        done = run_code(code, cwd=tmp_path, env={**os.environ, "MODGRAPH_CACHE": "off"}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-500:]
        found: list[object] | None = json.loads(done.stdout)
        return found

    return ended


def test_what_python_takes_for_equal_has_one_key_and_nothing_else_has() -> None:
    plain = [
        *(0, 1, -1, 5, 2000, PRIME, 2**70, True, False, 0.0, -0.0, 1.0, 2000.0, float(2**70), 0.5, 1e300, float("inf")),
        *(0j, 1 + 0j, 1j, 0.5 + 0j, "1", "", b"", b"1", None, range(0), range(3, 3), range(0, 3, 2), range(0, 4, 2)),
        *(range(2**80), range(0, 2**80, 2), range(5), ..., NotImplemented),
    ]
    for left, right in itertools.product(plain, plain):
        assert (number_key(left) == number_key(right)) == (left == right), (left, right)
        if Constant(left) == Constant(right):
            assert hash(Constant(left)) == hash(Constant(right)), (left, right)
        if left == right:
            assert hash(number_key(left)) == hash(number_key(right)), (left, right)
