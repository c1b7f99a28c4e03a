"""A model spread over several processes: which rank this is, how its tensors are spread, whose class a module has.

`torch.distributed` is looked at only where somebody else has loaded it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import nn

from modgraph.graph.distributed import LocalShape, Sharding
from modgraph.graph.wrappers import WRAPPERS

_DISTRIBUTED = "torch.distributed."


def place_in_world() -> tuple[int, int] | None:
    """The rank of this process and the number of all; None where it is alone.

    By `torch.distributed` where it is initialised, else by what `torchrun` says in the environment.
    """
    group = torch.distributed
    if group.is_available() and group.is_initialized():
        return group.get_rank(), group.get_world_size()
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if not (rank.isdecimal() and world.isdecimal()) or int(rank) >= int(world) or int(world) < 2:
        return None
    return int(rank), int(world)


def user_class(kind: type) -> type:
    """The class that the user wrote, where `fully_shard` or `replicate` made another of it; else `kind` itself."""
    if not kind.__module__.startswith(_DISTRIBUTED):
        return kind
    own = next((base for base in kind.__mro__ if not base.__module__.startswith(_DISTRIBUTED)), kind)
    return own if own is not nn.Module and issubclass(own, nn.Module) else kind


def wrappers_of(kind: type) -> tuple[str, ...]:
    """What has made another class of the user's: import paths of the bases that came with it."""
    own = user_class(kind)
    if own is kind:
        return ()
    added = [base for base in kind.__bases__ if base is not own]
    return tuple(f"{base.__module__}.{base.__qualname__}" for base in added)


def unwrapped(module: nn.Module) -> nn.Module:
    """What is inside of `DistributedDataParallel` and its like, see `graph/wrappers.py`; else the module itself."""
    while True:
        kind = type(module)
        name = WRAPPERS.get(f"{kind.__module__}.{kind.__qualname__}")
        inner = None if name is None else module._modules.get(name)
        if inner is None:
            return module
        module = inner


def is_sharded(tensor: torch.Tensor) -> bool:
    """Whether it is a `DTensor`."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and issubclass(type(tensor), module.DTensor)


def sharding_of(tensor: torch.Tensor) -> Sharding | None:
    """How a `DTensor` is spread; None for any other tensor. Call with torch functions off."""
    if not is_sharded(tensor):
        return None
    spread: Any = tensor
    return Sharding(
        placements=tuple(map(repr, spread.placements)),
        mesh=tuple(spread.device_mesh.shape),
        local_shapes=_here(tuple(spread._local_tensor.shape)),
    )


def _here(shape: tuple[int, ...]) -> tuple[LocalShape, ...]:
    rank, _ = place_in_world() or (0, 1)
    return (LocalShape(rank=rank, shape=shape),)


class FlatParameter(NamedTuple):
    """A parameter as its module had it, before `FullyShardedDataParallel` laid it in a row with others."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    trainable: bool
    row: torch.Tensor
    """The row that it lies in; the same object for all that do."""
    position: int
    """Which of the row it is; that of the first where it is shared."""
    sharding: Sharding | None


def flat_parameters(modules: Iterable[nn.Module]) -> dict[int, list[FlatParameter]]:
    """By the `id` of the module that has them; empty where nothing is laid in rows."""
    found: dict[int, list[FlatParameter]] = {}
    loaded = sys.modules.get("torch.distributed.fsdp.fully_sharded_data_parallel")
    if loaded is None:
        return found
    for module in modules:
        handle = getattr(module, "_handle", None) if isinstance(module, loaded.FullyShardedDataParallel) else None
        if handle is not None:
            _add_row(handle, found)
    return found


def _add_row(handle: Any, found: dict[int, list[FlatParameter]]) -> None:
    row = handle.flat_param
    positions: dict[tuple[int, str], int] = {}
    original = row._params if handle._use_orig_params else None
    for position, (name, module, _) in enumerate(row._param_infos):
        positions[id(module), name] = position
        trainable = (row if original is None else original[position]).requires_grad
        sharding = _cut(handle, position) if handle.uses_sharded_strategy else None
        shape = tuple(row._shapes[position])
        found.setdefault(id(module), []).append(
            FlatParameter(name, shape, handle._orig_param_dtype, trainable, row, position, sharding)
        )
    for name, module, _, first_name, first_module, _ in row._shared_param_infos:
        first = next(one for one in found[id(first_module)] if one.name == first_name)
        found.setdefault(id(module), []).append(first._replace(name=name))


def _cut(handle: Any, position: int) -> Sharding:
    """How many elements of one parameter this process holds of its row."""
    numel = handle.flat_param._shard_param_infos[position].numel_in_shard or 0
    return Sharding(placements=("flattened",), mesh=(handle.world_size,), local_shapes=_here((numel,)))


def in_original_order(names: Iterable[str], flat: Iterable[FlatParameter]) -> list[FlatParameter]:
    """As `_parameters` had them: by its `names` where they are still there, else as they lie in the row."""
    order = {name: place for place, name in enumerate(names)}
    return sorted(flat, key=lambda one: order.get(one.name, len(order)))


def is_row(tensor: torch.Tensor) -> bool:
    """Whether it is a row of flattened parameters, which is no parameter of the user's."""
    module = sys.modules.get("torch.distributed.fsdp._flat_param")
    return module is not None and isinstance(tensor, module.FlatParameter)
