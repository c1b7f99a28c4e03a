"""What may raise, and for which values: a `try` around it goes both ways, and one path that raises is not all of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from modgraph.graph.model import Graph

TRY = """\
import math, random
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        n = random.randint(0, 1)
        x = None if n else 3
        try:
            {}
            self.done = nn.ReLU()
        except (ArithmeticError, ValueError, TypeError):
            self.failed = nn.ReLU()
"""
MAY_RAISE = [
    "10 // n",
    "10 / (n * 2)",
    "10 % len([0] * n)",
    "x //= n",
    "0.0 ** (n - 1)",
    "1 << n - 1",
    "divmod(10, int(n))",
    "math.sqrt(n - 1)",
    "math.log(n)",
    "chr(n - 1)",
    "int('a' * n)",
    "int(f'{n}x')",
    "range(0, 4, n)",
    "max(i for i in range(n))",
    "a, b = [0] * n",
    "['a'].index('ab'[n])",
    "x < 4",
    "4 <= x",
    "3 in ([3] if n else None)",
    "x + 1",
]
CANNOT = [
    "n + 1, n * 2, n - 3, n / 2, n // 2, n % 7, 2**n, abs(n), -n, n < 3, n == 3",
    "str(n), int(n), float(n), min(n, 3), bool(n), f'{n}', {n: 1}, [0] * n, range(n), list(range(n))",
    "math.floor(n), math.sin(n), max(range(n), default=0)",
]


@pytest.mark.parametrize("line", MAY_RAISE)
def test_what_some_values_raise_is_handled_on_some_paths(predict_source: Callable[..., Graph], line: str) -> None:
    graph = predict_source(TRY.format(line))
    assert {(node.path, node.class_name) for node in graph.modules[1:]} == {("done", None), ("failed", None)}


@pytest.mark.parametrize("line", CANNOT)
def test_what_no_value_raises_is_not(predict_source: Callable[..., Graph], line: str) -> None:
    graph = predict_source(TRY.format(line))
    assert graph.problems == ()
    assert [node.path for node in graph.modules] == ["", "done"]


@pytest.mark.parametrize("test", ["x < 4", "4 >= x", "3 in l"])
def test_a_comparison_that_one_of_two_values_cannot_take_goes_on_with_the_other(
    predict_source: Callable[..., Graph], test: str
) -> None:
    graph = predict_source(
        f"""\
        import random
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                x, l = (None, None) if random.random() < 0.5 else (3, [3])
                if {test}:
                    self.a = nn.ReLU()
                self.b = nn.ReLU()
        """
    )
    assert [(node.path, node.class_name) for node in graph.modules[1:]] == [
        ("a", "torch.nn.modules.activation.ReLU"),
        ("b", "torch.nn.modules.activation.ReLU"),
    ]


@pytest.mark.needs_torch
def test_a_patch_holds_in_the_function_under_it(agrees: Callable[[str], Graph]) -> None:
    agrees(
        """\
        from unittest import mock
        from unittest.mock import patch
        class My(nn.Linear):
            pass
        TABLE = {"a": 1}
        class Config:
            width = 2
        @patch.object(nn, "Linear", My)
        def linear():
            return nn.Linear(2, 3)
        @patch.dict(TABLE, b=4)
        @patch.object(Config, "width", 3)
        def two():
            return nn.Linear(TABLE["b"], Config.width)
        @patch("torch.nn.init.kaiming_uniform_")
        @patch("torch.nn.init.uniform_")
        def mocked(first, second):
            return nn.Linear(2, 3)
        class Sizes:
            width, depth = 2, 3
        @mock.patch.multiple(Sizes, width=9, depth=6)
        @mock.patch.multiple(Sizes, width=5)
        def several():
            return nn.Linear(Sizes.width, Sizes.depth)
        class Net(nn.Module):
            @mock.patch.object(Config, "width", 7)
            def __init__(self):
                super().__init__()
                self.build(5)
                self.a, self.b, self.c, self.d = linear(), two(), mocked(), nn.Linear(len(TABLE), 1)
                self.f, self.g = several(), nn.Linear(Sizes.width, Sizes.depth)
                with mock.patch.multiple(Sizes, depth=8) as mocks:
                    self.h = nn.Linear(Sizes.depth, len(mocks) + 1)
            @mock.patch.object(Config, "width", 8)
            def build(self, n, k=2):
                self.e = nn.Linear(Config.width, n + k)
        """
    )
