"""What no input can help is not blamed on inputs; inputs that are joined; what is said of an unusual size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import modgraph
from modgraph.errors import InputError
from modgraph.inputs.making import Inputs, make_inputs
from modgraph.options import TraceOptions
from tests.inputs.optional_models import Nothing

pytestmark = pytest.mark.needs_torch


def inferred(model: nn.Module) -> Inputs:
    return make_inputs(model, [], None, TraceOptions())


def shapes(inputs: Inputs) -> dict[str, Any]:
    return {info.name: info.tensors[0].shape for info in inputs.infos if info.tensors}


class _Ends(nn.Module):
    def __init__(self, end: Callable[[nn.Module, torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.a = nn.Linear(8, 4)
        self.end = [end]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.end[0](self, x, self.a(x))


CAUSES: dict[str, Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "Device index must not be negative": lambda net, x, h: h + torch.zeros(4, device=x.get_device()),
    "No such file or directory": lambda net, x, h: h * torch.load("/nonexistent/prior.pt"),
    "has no attribute 'later'": lambda net, x, h: net.later(h),
    "name 'undefined_name' is not defined": lambda net, x, h: h * undefined_name,  # type: ignore[name-defined]  # noqa: F821
    "No module named 'missing_of_tests'": lambda net, x, h: h * __import__("missing_of_tests").scale,
}


@pytest.mark.parametrize("cause", CAUSES)
def test_what_comes_from_no_input_is_the_one_problem(cause: str) -> None:
    model = _Ends(CAUSES[cause])
    inputs = inferred(model)
    assert inputs.warning is None
    assert inputs.tries <= 30
    graph = modgraph.trace(model)
    assert [cause in problem.message for problem in graph.problems] == [True]


def test_an_error_that_comes_from_an_input_is_still_repaired() -> None:
    """Equal words, several times, of a function that got the input."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.zeros(3, 5))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.embedding(x, self.table).sum()

    inputs = inferred(Net())
    assert inputs.warning is None
    Net()(*inputs.args)


class Conditional(nn.Module):
    """An image, and a label that is spread over it."""

    def __init__(self, c_dim: int = 5) -> None:
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(3 + c_dim, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1))

    def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        c = c.view(c.size(0), c.size(1), 1, 1).repeat(1, 1, x.size(2), x.size(3))
        return self.main(torch.cat([x, c], dim=1))


class Twice(nn.Module):
    """The second join says how large the label is, and so what is left of the first for the input."""

    def __init__(self, c_dim: int = 10) -> None:
        super().__init__()
        self.encode = nn.Linear(784 + c_dim, 20)
        self.decode = nn.Linear(20 + c_dim, 784)

    def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return self.decode(torch.cat([self.encode(torch.cat([x, c], 1)), c], 1))


@pytest.mark.parametrize(("model", "sizes"), [(Conditional(), (3, 5)), (Conditional(2), (3, 2)), (Twice(), (784, 10))])
def test_joined_inputs_fit_the_constructor(model: nn.Module, sizes: tuple[int, int]) -> None:
    inputs = inferred(model)
    assert inputs.warning is None
    found = shapes(inputs)
    assert (found["x"][1], found["c"][1]) == sizes
    model(*inputs.args, **inputs.kwargs)


class _Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(self.words(x))


class _Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(60, 16)
        self.layers = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 2, 32, batch_first=True), 1)

    def forward(self, y: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        return self.layers(self.words(y), memory)


class _Translates(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = _Encoder(), _Decoder()


class SourceTarget(_Translates):
    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        return self.decoder(tgt, self.encoder(src))


class Letters(_Translates):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.decoder(y, self.encoder(x))


@pytest.mark.parametrize("kind", [SourceTarget, Letters, _Decoder])
def test_inputs_of_a_decoder_are_found(kind: type[nn.Module]) -> None:
    inputs = inferred(kind())
    assert inputs.warning is None
    tokens = [info.tensors[0] for info in inputs.infos if info.name != "memory"]
    assert {tensor.dtype for tensor in tokens} == {"int64"}
    kind()(*inputs.args, **inputs.kwargs)


class OddSide(nn.Module):
    def __init__(self, side: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.Conv2d(4, 4, 3, stride=2), nn.Flatten())
        self.head = nn.Linear(self.body(torch.zeros(1, 3, side, side)).shape[1], 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))


def test_a_model_that_runs_at_an_unusual_size_says_that_the_usual_one_failed() -> None:
    (info,) = inferred(OddSide(299)).infos
    note = next(rule for rule in info.rules if "ran at" in rule)
    assert note.startswith("x: ran at 1x3x299x299; 224 failed: RuntimeError: ")
    (info,) = inferred(OddSide(224)).infos
    assert not any("ran at" in rule for rule in info.rules)


@pytest.mark.parametrize("run", [modgraph.trace, modgraph.analyze])
def test_no_arguments_are_no_arguments_and_only_what_is_left_out_is_inferred(run: Callable[..., Any]) -> None:
    assert run(Nothing(), ()).model.inputs == ()
    assert [each.name for each in run(Nothing()).model.inputs] == ["x"]
    assert [each.origin for each in run(Nothing(), None).model.inputs] == ["inferred"]
    assert [each.origin for each in run(Nothing(), torch.zeros(4, 2)).model.inputs] == ["given"]
    with pytest.raises(InputError, match="missing a required argument"):
        run(nn.Linear(2, 3), ())


def test_a_list_of_modules_may_hold_none(tmp_path: Path):
    text = (
        "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.steps = nn.ModuleList([nn.Linear(4, 4), None, nn.Linear(4, 2)])\n\n    def forward(self, x):\n"
        "        for step in self.steps:\n            x = x if step is None else step(x)\n        return x\n"
    )
    (tmp_path / "net.py").write_text(text)
    graph = modgraph.analyze(str(tmp_path / "net.py"))
    assert graph.complete, graph.problems
    assert [call.module for call in graph.calls if call.module] == ["steps.0", "steps.2"]
