"""What a caller may ask of a trace; plain data, so that it travels to the worker process as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Device = Literal["cpu", "cuda", "fake"]
Mode = Literal["eval", "train"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """How a model is run and what is recorded of it."""

    device: Device = "cpu"
    """`fake` allocates no weights or activations."""
    mode: Mode = "eval"
    backward: bool = False
    """Also run and record the backward pass."""
    stats: bool = False
    """Mean, standard deviation, minimum and maximum of every recorded tensor (and gradient, with `backward`)."""
    timeout: float | None = None
    """Seconds that the user's code may take, in a process of its own; None is no limit."""
    memory_limit: int | None = None
    """Bytes of data that the process of the user's code may allocate; None is no limit."""
