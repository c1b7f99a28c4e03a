"""A text that `forward` looks for is given as one that it knows."""

from __future__ import annotations

from typing import Any, Literal

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402 needs torch

import modgraph  # noqa: E402


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleDict({"seg": nn.Linear(4, 2), "depth": nn.Linear(4, 1)})
        self.head_of_a, self.head_of_b = nn.Linear(4, 2), nn.Linear(4, 3)
        self.tasks = ("depth", "seg")
        self.widths = {"small": 2, "large": 4}


class OfADict(Base):
    def forward(self, x: Tensor, task: str) -> Tensor:
        return self.heads[task](x)


class OfADictUnsaid(Base):
    def forward(self, x, task) -> Tensor:  # type: ignore[no-untyped-def]
        return self.heads[task](x)


class Compared(Base):
    def forward(self, x: Tensor, mode: str) -> Tensor:
        if mode == "first":
            return self.heads["seg"](x)
        if mode.lower() != "second":
            raise ValueError(mode)
        return self.heads["depth"](x)


class Member(Base):
    def forward(self, x: Tensor, mode: str) -> Tensor:
        assert mode in self.tasks
        return self.heads[mode](x)


class Named(Base):
    def forward(self, x: Tensor, which: str) -> Tensor:
        return getattr(self, f"head_of_{which}")(x)


class Added(Base):
    def forward(self, x: Tensor, which: str) -> Tensor:
        return self.heads["se" + which](x)


class Keys(Base):
    def forward(self, x: Tensor, size: str) -> Tensor:
        return self.heads["seg"](x)[..., : self.widths[size]]


class Matched(Base):
    def forward(self, x: Tensor, mode: str) -> Tensor:
        match mode:
            case "one" | "two":
                return self.heads["seg"](x)
            case _:
                raise ValueError(mode)


class Stated(Base):
    def forward(self, x: Tensor, mode: Literal["one", "two"]) -> Tensor:
        if len(mode) != 3:
            raise ValueError(mode)
        return self.heads["seg"](x)


class Refused(Base):
    """The first word that is named is not taken here."""

    def forward(self, x: Tensor, mode: str) -> Tensor:
        if mode == "train":
            raise RuntimeError("needs targets")
        return self.heads["seg"](x) if mode == "infer" else self.heads["nothing"](x)


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (OfADict, "'seg'"), (OfADictUnsaid, "'seg'"), (Compared, "'first'"), (Member, "'depth'"), (Named, "'a'"),
        (Added, "'g'"), (Keys, "'small'"), (Matched, "'one'"), (Stated, "'one'"), (Refused, "'infer'"),
    ],
)  # fmt: skip
def test_a_word_is_one_that_forward_asks_for(model: Any, given: str) -> None:
    graph = modgraph.trace(model())
    assert [problem.message for problem in graph.problems] == []
    assert graph.model.inputs[1].literal == given


class Image(Base):
    def forward(self, x, y) -> Tensor:  # type: ignore[no-untyped-def]
        other = "y" if self.tasks == "y" else "x"
        return self.heads["seg"](x) + y * len(other)


def test_what_is_compared_with_no_word_is_a_tensor() -> None:
    assert modgraph.trace(Image()).model.inputs[1].literal is None
