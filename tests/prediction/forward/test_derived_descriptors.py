"""Classes derived from property, classmethod, staticmethod and cached_property: what an instance sees of them. Torch's
own distributions are written with them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

from tests.prediction.forward.judged import predicted, wrong  # noqa: E402 needs torch
from tests.prediction.forward.traced import both, differences  # noqa: E402 needs torch

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
"""
PROPERTIES = """
class with_option(property):
    def __init__(self, function=None, *, option=None):
        super().__init__(function)
        self.option = option
    def __call__(self, function):
        return with_option(function, option=self.option)

class plain(property):
    pass

class asking(property):
    def __get__(self, instance, owner=None):
        return self if instance is None else super().__get__(instance, owner)

class of_class(property):
    def __get__(self, instance, owner):
        return self.fget(owner)
"""
OTHERS = """
import functools

class on_class(classmethod):
    pass

class on_none(staticmethod):
    pass

class kept(functools.cached_property):
    pass

class lazy(functools.cached_property):
    def __get__(self, instance, owner=None):
        return self if instance is None else super().__get__(instance, owner)
"""
MODELS = [
    f"""{PROPERTIES}{NET}
    @with_option(option=2)
    def chosen(self):
        return self.a
    @asking
    def other(self):
        return self.b
    @of_class
    def turns(cls):
        return 3
    def forward(self, x):
        for _ in range(self.turns):
            x = self.other(x)
        return self.chosen(x)
""",
    f"""{PROPERTIES}{NET}
        self.turns = 1
    @plain
    def turns(self):
        return self.held
    @turns.setter
    def turns(self, number):
        self.held = number + 1
    @turns.deleter
    def turns(self):
        self.held = 0
    def forward(self, x):
        for _ in range(self.turns):
            x = self.a(x)
        del self.turns
        for _ in range(self.turns):
            x = self.b(x)
        return x
""",
    f"""{OTHERS}{NET}
        self.c = self.make(3)
    @on_class
    def make(cls, width):
        return nn.Linear(4, width)
    @on_none
    def doubled(x):
        return x * 2
    @kept
    def turns(self):
        return 2
    @lazy
    def layer(self):
        return self.a
    def forward(self, x):
        for _ in range(self.turns):
            x = self.layer(x)
        return self.c(self.doubled(Net.doubled(x)))
""",
]


@pytest.mark.parametrize("text", MODELS, ids=["properties", "with a setter", "others"])
def test_what_an_instance_sees(tmp_path: Path, text: str) -> None:
    predicted, real = both(tmp_path, text, "2x4")
    assert predicted.problems == ()
    assert differences(predicted, real) == []


@pytest.mark.parametrize("text", ["self.turns = 2", "del self.turns"])
def test_what_has_no_setter_refuses(tmp_path: Path, text: str) -> None:
    text = f"""{PROPERTIES}{NET}
    @plain
    def turns(self):
        return 1
    def forward(self, x):
        {text}
        return self.a(x)
"""
    assert "raises AttributeError" in predicted(tmp_path, text, ["2x4"]).problems[0].message
    assert wrong(tmp_path, text, ["2x4"]) == []


DISTRIBUTIONS = [
    "Categorical(logits=y).log_prob(torch.zeros(2, dtype=torch.long))",
    "Normal(y, torch.ones_like(y)).log_prob(x)",
    "LogNormal(y, torch.ones_like(y)).log_prob(x.abs() + 1)",
    "Gumbel(y, torch.ones_like(y)).rsample()",
    "Bernoulli(logits=y).probs",
    "OneHotCategorical(logits=y).entropy()",
    "RelaxedOneHotCategorical(torch.tensor(0.5), logits=y).rsample()",
    "TransformedDistribution(Normal(y, torch.ones_like(y)), [TanhTransform(cache_size=1)]).rsample()",
    "kl_divergence(Normal(y, torch.ones_like(y)), Normal(0.0, 1.0)).sum()",
    "kl_divergence(Independent(Normal(y, y.exp()), 1), Independent(Normal(y, y.exp()), 1)).mean()",
    "MixtureSameFamily(Categorical(logits=y), Normal(y, torch.ones_like(y))).log_prob(x[:, 0])",
    "Dirichlet(y.exp()).log_prob(torch.softmax(x, -1))",
]


@pytest.mark.parametrize("text", DISTRIBUTIONS)
def test_a_distribution_is_not_said_to_raise(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # What compiles switches the checks off for the whole process; a prediction is of one that has not.
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)
    model = f"from torch.distributions import *\n{NET}    def forward(self, x):\n        y = self.a(x)\n        return {text}\n"
    predicted, real = both(tmp_path, model, "2x4")
    assert not [each for each in predicted.problems if "raise" in each.message]
    assert differences(predicted, real) == []
