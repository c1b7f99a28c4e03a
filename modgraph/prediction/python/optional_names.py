"""Names that a module holds on some paths only: what is done with one is done both where it is there and where not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.prediction.domain.objects import ModuleObject
from modgraph.prediction.domain.values import NONE, Address, Unknown, Value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_STORES = ("modules", "parameters", "buffers")


def on_paths(machine: Machine, address: Address, name: str, change: Callable[[], None]) -> None:
    """Does `change` on a path for each store that may hold the name, and on one where none does: there the name takes
    its place at the end, and nothing refuses the new value.

    Raises:
        Raised: it is raised on each of them.
    """
    module = machine.state.find(address, ModuleObject)
    held = {store: found for store in _STORES if (found := _optional(module, store, name)) is not None}
    if not held:
        change()
        return

    def path(kept: str) -> Value:
        module = machine.state.change(address, ModuleObject)
        for store, value in held.items():
            if store == kept:
                getattr(module, store)[name] = replace(value, optional=False)
            else:
                del getattr(module, store)[name]
        change()
        return NONE

    ways = [lambda kept=kept: path(kept) for kept in (*held, "")]
    machine.fork(ways, next(iter(held.values())).reason)


def _optional(module: ModuleObject | None, store: str, name: str) -> Unknown | None:
    found = getattr(module, store, {}).get(name)
    return found if isinstance(found, Unknown) and found.optional else None
