"""What further runs of a model prove of its graph, and what its calls cost: parts of `Graph`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A step that gave other values when it was run again from the edges."""

    node: str
    """`op:N`, `call:N` or `output:NAME`."""
    output: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRepeated:
    """A step that could not be run again; those behind it were given what it gave in the run."""

    node: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What came of running the recorded graph again from its own edges."""

    steps: int
    """Operations, and calls that show none, from which edges lead to an output."""
    repeated: int
    """Those that were run again."""
    identical: int
    """Those of them that gave the same values to the last bit."""
    unused: int = 0
    """Steps from which no edge leads to an output: they were not run again."""
    outputs: int = 0
    """Tensors of the model's result that were looked at. Without any nothing is proven."""
    gaps: int = 0
    """Places where a value left torch or came into it unseen: what came of it was taken as it was in the run."""
    not_repeated: tuple[NotRepeated, ...] = ()
    differences: tuple[Difference, ...] = ()

    @property
    def proven(self) -> bool:
        """Every step was run again and gave what it gave in the run, up to rounding; of what passed `gaps` that says
        nothing."""
        return self.outputs > 0 and not self.differences and not self.not_repeated


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCost:
    """What one call costs, the calls inside it included."""

    call: int
    flops: int
    """Floating point operations, by the formulas that torch has: a multiplication and an addition are two."""
    seconds: float | None = None
    """None where it ran without values."""
    allocated: int | None = None
    """Bytes that are held more of afterwards: by the allocator of a GPU, elsewhere by the tensors that torch's kernels
    have made."""
    not_counted: int = 0
    """How often an operator ran in it that computes something and has no formula: `flops` is a lower bound then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What the model costs, in runs of their own."""

    flops: int
    seconds: float | None = None
    calls: tuple[CallCost, ...] = ()
    """By call; none where these runs made other calls than the recorded one."""
    not_counted: tuple[tuple[str, int], ...] = ()
    """Operators that compute something and for which torch has no formula, and how often each ran."""
    problem: str | None = None
    """Why the figures are missing or cover a part."""
