"""What a caller may ask of a trace; plain data, so that it travels to the worker process as JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal, get_args

from modgraph.errors import ConfigError

Device = Literal["cpu", "cuda", "fake"]
Mode = Literal["eval", "train"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """How a model is run and what is recorded of it.

    Raises:
        ConfigError: an option has a value that it cannot have.
    """

    device: Device = "cpu"
    """`fake` allocates no weights or activations."""
    mode: Mode = "eval"
    backward: bool = False
    """Also run and record the backward pass."""
    stats: bool = False
    """Mean, standard deviation, minimum and maximum of every recorded tensor (and gradient, with `backward`)."""
    verify: bool = False
    """Run the recorded graph again from its own edges, and compare what every step gives."""
    profile: bool = False
    """Run the model again to count the operations, seconds and bytes of every call."""
    timeout: float | None = None
    """Seconds that the user's code may take, in a process of its own; None is no limit."""
    memory_limit: int | None = None
    """Bytes of data that the process of the user's code may allocate; None is no limit."""

    def __post_init__(self) -> None:
        _require_one_of("device", self.device, get_args(Device))
        _require_one_of("mode", self.mode, get_args(Mode))
        _require_one_of("backward", self.backward, (True, False))
        _require_one_of("stats", self.stats, (True, False))
        _require_one_of("verify", self.verify, (True, False))
        _require_one_of("profile", self.profile, (True, False))
        if self.verify and self.device == "fake":
            raise ConfigError("verify compares values, and fake tensors have none", hint="leave out one of the two")
        _require_above_zero("timeout", self.timeout, "seconds", (int, float))
        _require_above_zero("memory_limit", self.memory_limit, "bytes", (int,))

    def changed(self, *, reading: bool = False) -> tuple[str, ...]:
        """Names of the options that are not the default; with `reading`, without those that bound a process that only
        reads a file."""
        names = tuple(field.name for field in fields(self) if getattr(self, field.name) != field.default)
        return tuple(name for name in names if name not in ("timeout", "memory_limit")) if reading else names


def _require_one_of(name: str, value: object, choices: tuple[object, ...]) -> None:
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ConfigError(f"{name}={value!r} is not possible", hint=f"{name} is one of {_shown(choices)}")


def _shown(choices: tuple[object, ...]) -> str:
    return ", ".join(repr(choice) for choice in choices)


def _require_above_zero(name: str, value: object, unit: str, kinds: tuple[type, ...]) -> None:
    if value is None:
        return
    number = isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)  # type: ignore[arg-type]
    if not number or value <= 0:  # type: ignore[operator]
        raise ConfigError(f"{name}={value!r} is not possible", hint=f"{name} is a number of {unit} above 0, or None")
