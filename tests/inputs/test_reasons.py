"""The reasons of an inferred input: each names the layer that does receive it, and nothing is said of another input."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from modgraph.inputs.making import Inputs, make_inputs
from modgraph.options import TraceOptions
from modgraph.source.inputs import parse_input

LAYERS: dict[str, Any] = {
    "fc8": lambda: nn.Linear(8, 10),
    "fc12": lambda: nn.Linear(12, 10),
    "fc5": lambda: nn.Linear(5, 10),
    "twin8": lambda: nn.Linear(8, 10),
    "conv": lambda: nn.Conv2d(3, 10, 3),
    "grey": lambda: nn.Conv2d(1, 10, 3),
    "signal": lambda: nn.Conv1d(4, 10, 3),
    "up": lambda: nn.ConvTranspose2d(16, 10, 4),
    "norm": lambda: nn.BatchNorm1d(9),
    "rnn": lambda: nn.GRU(6, 10, batch_first=True),
    "cell": lambda: nn.GRUCell(7, 10),
    "words": lambda: nn.Embedding(50, 10),
    "pair": lambda: nn.Sequential(nn.Conv2d(2, 10, 3), nn.ReLU()),
    "head": lambda: nn.Linear(10, 2),
}


class _Reads(nn.Module):
    """Has layers, of which each input is given to one: `first` in the order of registration."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        for name in names:
            self.add_module(name, LAYERS[name]())

    def read(self, name: str, x: Tensor) -> Tensor:
        made = getattr(self, name)(x)
        made = made[0] if isinstance(made, tuple) else made
        made = made.flatten(2).mean(2) if name in ("conv", "grey", "signal", "up", "pair") else made
        return made.mean(1) if made.dim() == 3 else made


class ConvBehindLinear(_Reads):
    made_of = ("fc8", "conv")

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.read("conv", x) + self.read("fc8", y)


class Alike(_Reads):
    made_of = ("fc8", "twin8")

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return self.read("twin8", a) + self.read("fc8", b)


class Backwards(_Reads):
    made_of = ("fc8", "fc12", "fc5")

    def forward(self, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return self.read("fc5", a) + self.read("fc12", b) + self.read("fc8", c)


class HeadFirst(_Reads):
    made_of = ("head", "pair")

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.head(self.read("pair", x)) * y.mean()


class WordsAndSignals(_Reads):
    made_of = ("words", "fc12", "signal")

    def forward(self, a: Tensor, ids: Tensor, c: Tensor) -> Tensor:
        return self.read("fc12", a) + self.read("words", ids) + self.read("signal", c)


class ReadByNoLayer(_Reads):
    made_of = ("fc8", "up")

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.read("up", y) + x.mean()


class Scaled(_Reads):
    made_of = ("fc8", "twin8")

    def forward(self, x: Tensor, scale: Tensor) -> Tensor:
        return self.read("twin8", x * scale)


class Recurrent(_Reads):
    made_of = ("fc5", "rnn")

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.read("rnn", x) + self.read("fc5", y)


class OneStep(_Reads):
    made_of = ("fc12", "cell")

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        return self.cell(x, h)


class Joined(_Reads):
    made_of = ("norm", "fc12")

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return self.fc12(torch.cat([self.norm(a), b], 1))


class Conditioned(_Reads):
    made_of = ("fc8", "conv", "fc5")

    def forward(self, x: Tensor, cond: Tensor) -> Tensor:
        return self.read("conv", x) * self.read("fc5", cond)


class TwoImages(_Reads):
    made_of = ("fc8", "conv", "grey")

    def forward(self, x: Tensor, depth: Tensor) -> Tensor:
        return self.read("conv", x) + self.read("grey", depth)


class Multiplied(_Reads):
    made_of = ("fc12",)

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        return x @ w


class Unpacked(_Reads):
    made_of = ("head", "fc12", "fc5")

    def forward(self, inputs: Any, y: Tensor) -> Tensor:
        a, b = inputs
        return self.head(self.fc12(a) + self.fc5(b)) + y.mean()


class Mapped(_Reads):
    made_of = ("head", "fc12", "conv")

    def forward(self, batch: Any, a: Tensor) -> Tensor:
        return self.fc12(batch["a"]) + self.read("conv", batch["b"]) + self.head(a).mean()


class Attention(_Reads):
    made_of = ("fc8", "fc12", "fc5")

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(self.fc12(q), self.fc5(k), self.fc8(v))


KINDS = _Reads.__subclasses__()


def inferred(model: nn.Module, *given: str) -> Inputs:
    return make_inputs(model, [parse_input(text) for text in given], None, TraceOptions())


def readers(model: nn.Module, inputs: Inputs) -> dict[int, str]:
    """By the address of a tensor, the layer that is the first to be called with it."""
    first: dict[int, str] = {}
    for path, module in model.named_modules():
        if path and not isinstance(module, nn.Sequential):
            module.register_forward_pre_hook(lambda _, args, path=path: first.setdefault(id(args[0]), path) and None)
    with torch.no_grad():
        model.eval()(*inputs.args, **inputs.kwargs)
    return first


def tensors(model: nn.Module, inputs: Inputs) -> dict[str, Tensor]:
    """By the name under which reasons speak of it."""
    found: dict[str, Tensor] = {}
    for info, value in zip(inputs.infos, (*inputs.args, *inputs.kwargs.values()), strict=True):
        parts = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple | list) else ()
        )
        found |= {f"{info.name}[{key!r}]": part for key, part in parts}
        if isinstance(value, Tensor):
            found[info.name] = value
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_reason_names_the_layer_that_receives_the_input(kind: type[Any]) -> None:
    model = kind(*kind.made_of)
    inputs = inferred(model)
    assert inputs.warning is None
    values, first = tensors(model, inputs), readers(model, inputs)

    named = 0
    for info in inputs.infos:
        for rule in info.rules:
            told = re.fullmatch(r"(.+?): (?:for (\S+) \(\w+\)|(\S+) receives it)", rule)
            if told:
                named += 1
                assert first.get(id(values[told[1]])) == (told[2] or told[3]), rule
                assert told[1].partition("[")[0] == info.name
    read = [name for name, value in values.items() if id(value) in first and name not in ("h", "ids")]
    assert named == len(read) or kind is Multiplied


def test_a_reason_stands_with_the_input_that_it_changed() -> None:
    x, w = inferred(Multiplied("fc12")).infos
    assert any("matmul wants" in rule for rule in x.rules)
    assert not any("matmul wants" in rule for rule in w.rules)

    batch, a = inferred(Mapped(*Mapped.made_of)).infos
    assert "a: asked for by forward" in batch.rules
    assert a.rules == ("a: for head (Linear)",)


def test_what_was_given_beside_has_no_reason() -> None:
    x, y = inferred(ConvBehindLinear("fc8", "conv"), "y=1x8").infos
    assert x.rules == ("x: conv receives it",)
    assert not y.rules


def test_a_guess_that_was_not_tried_says_so() -> None:
    inputs = make_inputs(ConvBehindLinear("fc8", "conv"), [], None, TraceOptions(), probe=False)
    assert inputs.infos[0].rules == ("x: for fc8 (Linear), not tried",)
