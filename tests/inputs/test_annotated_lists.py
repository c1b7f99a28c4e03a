"""What stands in a list or tuple is what its annotation says."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402 needs torch

import modgraph  # noqa: E402


class Given(nn.Module):
    """Refuses what is not of the types that are stated."""

    def __init__(self, *types: type) -> None:
        super().__init__()
        self.fc, self.types = nn.Linear(4, 4), types

    def check(self, items: object) -> None:
        assert items
        assert all(isinstance(item, self.types) for item in items), f"{items!r} is not of {self.types}"


class Texts(Given):
    def forward(self, x: Tensor, texts: list[str]) -> Tensor:
        self.check(texts)
        return self.fc(x)


class Pair(Given):
    def forward(self, x: Tensor, size: tuple[int, int]) -> Tensor:
        self.check(size)
        return self.fc(x)


class Scales(Given):
    def forward(self, x: Tensor, scales: tuple[float, ...]) -> Tensor:
        self.check(scales)
        return self.fc(x)


class Dicts(Given):
    def forward(self, x: Tensor, rows: list[dict[str, int]]) -> Tensor:
        self.check(rows)
        return self.fc(x)


class Nested(Given):
    def forward(self, x: Tensor, rows: list[list[str]]) -> Tensor:
        for row in rows:
            self.check(row)
        return self.fc(x)


class Tensors(Given):
    def forward(self, x: Tensor, more: list[Tensor]) -> Tensor:
        self.check(more)
        return self.fc(x) + sum(map(self.fc, more))


@pytest.mark.parametrize(
    "model",
    [Texts(str), Pair(int), Scales(float), Dicts(dict), Nested(str), Tensors(Tensor)],
    ids=lambda model: type(model).__name__,
)
def test_it_is_given_what_is_stated(model: nn.Module) -> None:
    graph = modgraph.trace(model)
    assert [call.module for call in graph.calls][:2] == ["", "fc"]
    assert not graph.problems
