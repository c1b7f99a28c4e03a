"""Data loaders: batches of data that nobody can tell, any number of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.objects import InstanceObject, IteratorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import Value
from modgraph.prediction.python.plain import data_unknown

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_CALLED = ("dataset", "collate_fn", "sampler", "batch_sampler", "worker_init_fn")
"""Attributes of a loader that are called for a batch, and may change themselves."""


@models("torch.utils.data.dataloader.DataLoader.__iter__")
def batches(arguments: Arguments, machine: Machine) -> Value:
    """`for batch in loader`: its processes, queues and threads are not followed."""
    why = data_unknown(machine, "torch.utils.data", "what a data loader gives is not known")
    loader = machine.state.find(arguments.positional[0], InstanceObject)
    if loader is not None:
        machine.expose([loader.attributes[name] for name in _CALLED if name in loader.attributes], why)
    iterator = IteratorObject([])
    iterator.open = why
    return machine.allocate(iterator)
