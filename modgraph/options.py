"""What a caller may ask of a trace, as plain data that travels to the worker process as JSON, and of a picture."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from modgraph.errors import ConfigError

DEFAULT_DIRECTORY = "modgraph-out"
"""Where results go that nobody names a place for."""
IMPORT_SECONDS = 300.0
"""How long the user's file may take to be imported and its model to be built, where no `timeout` is given."""
Device = Literal["cpu", "cuda", "fake"]
Mode = Literal["eval", "train"]
Weights = Literal["embed", "external", "none"]
Dedup = Literal["shape", "structure", "none"]
Leaf = Literal["operator", "function"]
Direction = Literal["TB", "LR"]
"""Of a picture: from top to bottom, or from left to right."""
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
Measure = Literal["kind", "parameters", "flops", "time", "memory"]
"""What the colours of a picture say."""
MEASURES: tuple[Measure, ...] = get_args(Measure)
Look = Literal["screen", "dark", "paper"]
"""The style of a picture."""
LOOKS: tuple[Look, ...] = get_args(Look)


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
    """Seconds that the user's code may take, in a process of its own, from the moment at which torch is imported:
    importing the file, building the model, finding inputs, the runs, an export to ONNX. None is no limit but
    `IMPORT_SECONDS` for the first two."""
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

    @classmethod
    def among(cls, given: Mapping[str, Any]) -> TraceOptions:
        """Those of these values that are options of a trace, as those of a command line."""
        return cls(**{field.name: given[field.name] for field in fields(cls) if field.name in given})

    def changed(self, *, reading: bool = False, but: Collection[str] = ()) -> tuple[str, ...]:
        """Names of the options that are not the default.

        Args:
            reading: without those that bound a process that only reads a file.
            but: names of others that are left out.
        """
        names = tuple(field.name for field in fields(self) if getattr(self, field.name) != field.default)
        left_out = {*but, *(("timeout", "memory_limit") if reading else ())}
        return tuple(name for name in names if name not in left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicSize:
    """A dimension that an exported model leaves open."""

    input: str | None
    """None for every input that has the dimension."""
    dimension: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OnnxOptions:
    """How a model that runs is written as ONNX.

    Raises:
        ConfigError: an option has a value that it cannot have.
    """

    weights: Weights = "embed"
    """In the file; in a second file beside it; or nowhere, so that they are inputs of the model."""
    dynamic: tuple[str, ...] = ()
    """Sizes that are left open: "ids:1=seq"; "batch" is dimension 0 of every input."""
    dedup: Dedup = "shape"
    """Which blocks share a function: those of the same shapes, those of the same structure, or none."""
    leaf: Leaf = "operator"
    """What a layer of one operator is: that operator, or a function as well."""
    depth: int | None = None
    """How deep functions are nested; None is as deep as the modules are, 0 gives a flat model."""

    def __post_init__(self) -> None:
        _require_one_of("weights", self.weights, get_args(Weights))
        _require_one_of("dedup", self.dedup, get_args(Dedup))
        _require_one_of("leaf", self.leaf, get_args(Leaf))
        for text in self.dynamic:
            dynamic_size(text)
        if self.depth is not None and (
            isinstance(self.depth, bool) or not isinstance(self.depth, int) or self.depth < 0
        ):
            raise ConfigError(f"depth={self.depth!r} is not possible", hint="depth is a whole number from 0, or None")


def dynamic_size(text: str) -> DynamicSize:
    """What "ids:1=seq" or "batch" says.

    Raises:
        ConfigError: it says nothing.
    """
    found = re.fullmatch(r"(?:(?P<input>[^\s:=]+):(?P<dimension>\d+)=)?(?P<name>[A-Za-z_]\w*)", text)
    if found is None:
        raise ConfigError(
            f"{text!r} is no dynamic size",
            hint='write "ids:1=seq": the input, its dimension from 0, a name; or "batch"',
        )
    return DynamicSize(input=found["input"], dimension=int(found["dimension"] or 0), name=found["name"])


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
