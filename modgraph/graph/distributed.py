"""What is said of a model that runs in several processes: how a tensor is spread, and where the processes differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalShape:
    """What one process holds of a tensor."""

    rank: int
    shape: tuple[int, ...]
    """Sizes in elements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharding:
    """How one tensor is spread over the processes."""

    placements: tuple[str, ...]
    """One for each dimension of the mesh, in torch's words: "Shard(dim=0)", "Replicate()", "Partial(sum)". "flattened"
    where it is cut out of a row of flattened parameters, as `FullyShardedDataParallel` does."""
    mesh: tuple[int, ...] = ()
    """Number of processes along each dimension of the mesh."""
    local_shapes: tuple[LocalShape, ...] = ()
    """By rank; of the processes that the graph tells of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankValue:
    """What one process has, in words."""

    rank: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RankDifference:
    """Something that was not the same in all processes."""

    module: str
    """Path of the module that it is about."""
    message: str
    about: str = ""
    """What of the module: "class", "argument p", "dataflow"."""
    values: tuple[RankValue, ...] = ()
    """By rank, of those processes that have it at all."""
