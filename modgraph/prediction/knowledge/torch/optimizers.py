"""Optimizers: a step changes numbers, and leaves what a model is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_OPTIMIZERS = (
    *("adadelta.Adadelta", "adagrad.Adagrad", "adam.Adam", "adamax.Adamax", "adamw.AdamW", "asgd.ASGD", "lbfgs.LBFGS"),
    *("nadam.NAdam", "radam.RAdam", "rmsprop.RMSprop", "rprop.Rprop", "sgd.SGD"),
)


@models(*(f"torch.optim.{name}.step" for name in _OPTIMIZERS))
def step(arguments: Arguments, machine: Machine) -> Value:
    """`optimizer.step(closure)`: the closure is called, once or more often."""
    closure = arguments.get(1, "closure", NONE)
    return NONE if closure == NONE else machine.call(closure)
