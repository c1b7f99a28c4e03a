"""Optimizers and their schedulers: a step changes numbers, and leaves what a model is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.objects import DictObject, InstanceObject, ListObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import NONE, Address, Constant, Value
from modgraph.prediction.python.plain import number_unknown

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_OPTIMIZERS = (
    *("adadelta.Adadelta", "adagrad.Adagrad", "adam.Adam", "adamax.Adamax", "adamw.AdamW", "asgd.ASGD", "lbfgs.LBFGS"),
    *("nadam.NAdam", "radam.RAdam", "rmsprop.RMSprop", "rprop.Rprop", "sgd.SGD", "sparse_adam.SparseAdam"),
    *("_adafactor.Adafactor", "_muon.Muon"),
)


@models(*(f"torch.optim.{name}.step" for name in _OPTIMIZERS))
def step(arguments: Arguments, machine: Machine) -> Value:
    """`optimizer.step(closure)`: the closure is called, once or more often."""
    closure = arguments.get(1, "closure", NONE)
    return NONE if closure == NONE else machine.call(closure)


# ---- schedulers ------------------------------------------------------------------------------------------------------

_SCHEDULER = "torch.optim.lr_scheduler.LRScheduler"
_SCHEDULERS = ("LRScheduler", "SequentialLR", "ChainedScheduler", "ReduceLROnPlateau", "CosineAnnealingWarmRestarts")
"""Those that have a `step` of their own."""
_SCHEDULED = ("lr", "initial_lr", "max_lr", "min_lr", "momentum", "betas", "max_momentum", "base_momentum")
_COUNTED = ("last_epoch", "_step_count", "_last_lr", "base_lrs")


@models(f"{_SCHEDULER}.__init__")
def scheduler(arguments: Arguments, machine: Machine) -> Value:
    """It takes the optimizer, counts its steps, and sets the first rates."""
    receiver = arguments.positional[0]
    if isinstance(receiver, Address) and machine.state.find(receiver, InstanceObject) is not None:
        attributes = machine.state.change(receiver, InstanceObject).attributes
        attributes["optimizer"] = arguments.get(1, "optimizer", NONE)
        _set_rates(machine, receiver)
    return NONE


@models(*(f"torch.optim.lr_scheduler.{name}.step" for name in _SCHEDULERS))
def scheduler_step(arguments: Arguments, machine: Machine) -> Value:
    """`scheduler.step()`: other rates, which are numbers."""
    if arguments.positional:
        _set_rates(machine, arguments.positional[0])
    return NONE


def _set_rates(machine: Machine, receiver: Value) -> None:
    """What a scheduler counts, and what it sets in the groups of its optimizer, is not followed."""
    why = number_unknown(machine, "depends on the steps of a scheduler")
    found = machine.state.find(receiver, InstanceObject)
    if found is None or not isinstance(receiver, Address):
        return
    machine.state.change(receiver, InstanceObject).attributes.update(dict.fromkeys(_COUNTED, why))
    for group in list(_groups(machine, found.attributes.get("optimizer", NONE))):
        entries = machine.state.change(group, DictObject).entries
        entries.update({key: why for name in _SCHEDULED if (key := Constant(name)) in entries})
    machine.expose([each for name, each in found.attributes.items() if name == "lr_lambdas"], why)


def _groups(machine: Machine, optimizer: Value) -> Iterator[Address]:
    held = machine.state.find(optimizer, InstanceObject)
    groups = machine.state.find(held.attributes.get("param_groups", NONE), ListObject) if held is not None else None
    for each in groups.items if groups is not None else ():
        if isinstance(each, Address) and machine.state.find(each, DictObject) is not None:
            yield each
