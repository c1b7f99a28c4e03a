"""What an inferred input is before it is a tensor: a shape, a dtype and a range of values, nested as needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import torch

Place = tuple["str | int", ...]
"""Where a tensor stands: ("x",), ("batch", "image"), ("state", 0)."""


def place_name(place: Place) -> str:
    """ "x", "batch['image']", "state[0]"."""
    return str(place[0]) + "".join(f"[{part!r}]" for part in place[1:])


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor to be made."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    low: int = 1
    """Smallest value of an integer tensor: not 0, which often means padding."""
    high: int | None = None
    """Integers stay below it; None where nothing is known, which makes them all `low`. Floats are whole numbers below
    it, where one is stated."""
    row: tuple[int, ...] = ()
    """What the last dimension of an integer tensor holds, where its numbers are sizes of something else."""
    is_array: bool = False
    """It is an array of numpy, and no tensor."""

    @property
    def integral(self) -> bool:
        """It holds indices or counts."""
        return self.dtype.startswith(("int", "uint"))

    def text(self) -> str:
        """As on the command line: "1x8:int64"; a number alone would be that number, and an array has no such text."""
        shape = "x".join(map(str, self.shape)) or "scalar"
        if self.is_array:
            return f"array({shape}:{self.dtype})"
        return shape if self.dtype == "float32" and len(self.shape) > 1 else f"{shape}:{self.dtype}"


@dataclass(frozen=True, slots=True)
class LiteralSpec:
    """A value that is no tensor."""

    value: Any


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """Several values in a tuple, list, dict or object with attributes."""

    kind: str
    """tuple, list, dict, object, or record: a dict whose entries are its attributes too."""
    items: tuple[tuple[str | int, Spec], ...] = ()


Spec: TypeAlias = "TensorSpec | LiteralSpec | GroupSpec"


@dataclass(frozen=True, slots=True)
class Reason:
    """One step towards a candidate: what it changed, and why in words."""

    text: str
    changes: tuple[tuple[Place, Spec | None, Spec], ...] = ()
    """(place, before, after); before is None for what was not there."""
    layer: str | None = None
    """The layer for which it is meant, where that is the reason."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One set of inputs to try: by parameter of `forward`, with how it was come by."""

    entries: tuple[tuple[str, Spec], ...]
    rules: tuple[Reason, ...] = field(default=(), compare=False)

    def tensors(self) -> dict[Place, TensorSpec]:
        """Every tensor in it, by place."""
        return {place: spec for name, entry in self.entries for place, spec in _tensors((name,), entry)}

    @property
    def has_arrays(self) -> bool:
        """One of them is an array of numpy."""
        return any(spec.is_array for spec in self.tensors().values())

    def at(self, place: Place) -> Spec | None:
        """What stands at a place; None where there is none."""
        spec = next((entry for name, entry in self.entries if name == place[0]), None)
        for key in place[1:]:
            spec = dict(spec.items).get(key) if isinstance(spec, GroupSpec) else None
        return spec

    def replaced(self, changes: Mapping[Place, Spec], rule: str, layer: str | None = None) -> Candidate:
        """The same with other values at some places; a parameter that it does not have yet is added.

        Args:
            rule: why, in words.
            layer: the layer that wants it so, where that is the reason.
        """
        entries = [(name, _replaced((name,), entry, changes)) for name, entry in self.entries]
        present = {name for name, _ in entries}
        entries += [(str(p[0]), spec) for p, spec in changes.items() if len(p) == 1 and p[0] not in present]
        made = tuple((place, self.at(place), spec) for place, spec in changes.items())
        return Candidate(tuple(entries), (*self.rules, Reason(rule, made, layer)))

    def without(self, name: str) -> Candidate:
        """The same with one parameter left out."""
        return replace(self, entries=tuple(e for e in self.entries if e[0] != name))

    def text(self) -> str:
        """ "x=1x3x224x224, mask=1x8:bool"."""
        return ", ".join(f"{name}={spec_text(entry)}" for name, entry in self.entries)


def spec_text(spec: Spec) -> str:
    """A short text of one value."""
    if isinstance(spec, TensorSpec):
        return spec.text()
    if isinstance(spec, LiteralSpec):
        return repr(spec.value)
    inside = ", ".join(f"{key}={spec_text(item)}" for key, item in spec.items)
    return f"{spec.kind}({inside})"


def _tensors(place: Place, spec: Spec) -> Iterator[tuple[Place, TensorSpec]]:
    if isinstance(spec, TensorSpec):
        yield place, spec
    elif isinstance(spec, GroupSpec):
        for key, item in spec.items:
            yield from _tensors((*place, key), item)


def _replaced(place: Place, spec: Spec, changes: Mapping[Place, Spec]) -> Spec:
    if place in changes:
        return changes[place]
    if not isinstance(spec, GroupSpec):
        return spec
    items = [(key, _replaced((*place, key), item, changes)) for key, item in spec.items]
    present = {key for key, _ in items}
    inside = {p[-1]: new for p, new in changes.items() if len(p) == len(place) + 1 and p[:-1] == place}
    items += [(key, new) for key, new in inside.items() if key not in present]
    return GroupSpec(spec.kind, tuple(items))


class ProbedDict(dict[str, Any]):
    """A mapping that makes the tensor it is asked for, and remembers that it was asked."""

    def __init__(self, items: Mapping[str, Any], make: Callable[[str], Any]) -> None:
        super().__init__(items)
        self._make = make

    def __missing__(self, key: str) -> Any:
        self[key] = self._make(key)
        return self[key]


class Record(dict[str, Any]):
    """A mapping whose entries are its attributes too, for what reads `batch["x"]` and what reads `batch.x`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Bag:
    """An object whose attributes are the tensors, for `forward(batch)` that reads `batch.x`."""

    def __init__(self, items: Mapping[str, Any]) -> None:
        self.__dict__.update(items)


class ProbedBag(Bag):
    """The same, that makes the attribute it is asked for."""

    def __init__(self, items: Mapping[str, Any], make: Callable[[str], Any]) -> None:
        super().__init__(items)
        self.__dict__["_make"] = make

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self.__dict__["_make"](name)
        self.__dict__[name] = value
        return value


def make_value(
    spec: Spec,
    place: Place,
    tensor: Callable[[Place, TensorSpec], torch.Tensor],
    missing: Callable[[Place, str], Any] | None = None,
) -> Any:
    """The value that `spec` describes.

    Args:
        tensor: makes each tensor.
        missing: makes what a dict or object is asked for and does not have; None makes plain ones.
    """
    if isinstance(spec, TensorSpec):
        return make_array(spec) if spec.is_array else tensor(place, spec)
    if isinstance(spec, LiteralSpec):
        return spec.value
    items = {key: make_value(item, (*place, key), tensor, missing) for key, item in spec.items}
    if spec.kind in ("tuple", "list"):
        return tuple(items.values()) if spec.kind == "tuple" else list(items.values())
    named = {str(key): value for key, value in items.items()}
    if spec.kind == "record":
        return Record(named)
    if missing is None:
        return named if spec.kind == "dict" else Bag(named)
    make = missing
    kind = ProbedDict if spec.kind == "dict" else ProbedBag
    return kind(named, lambda key: make(place, key))


def make_array(spec: TensorSpec) -> Any:
    """What `make_tensor` makes, as an array of numpy, which is not asked of torch: no mode of it may stand between."""
    import numpy

    if spec.dtype == "bool":
        return numpy.full(spec.shape, bool(spec.low))
    if spec.row and spec.shape[-1:] == (len(spec.row),):
        return numpy.full(spec.shape, spec.row, spec.dtype)
    if spec.integral or spec.high is not None:
        span = max(1, (spec.high if spec.high is not None else spec.low + 1) - spec.low)
        return (spec.low + numpy.arange(math.prod(spec.shape)) % span).reshape(spec.shape).astype(spec.dtype)
    dtype = spec.dtype if spec.dtype in ("float16", "float64") else "float32"
    return numpy.random.default_rng(0).standard_normal(spec.shape).astype(dtype)


def make_tensor(spec: TensorSpec, device: torch.device, *, seed: int, fake: bool = False) -> torch.Tensor:
    """Normal noise for floats, a small range of valid values for integers, ones for booleans; the same every time."""
    dtype = getattr(torch, spec.dtype)
    if fake and dtype != torch.bool and not spec.integral:  # no values are asked for
        return torch.empty(spec.shape, dtype=dtype, device=device)
    if dtype == torch.bool:
        return torch.ones(spec.shape, dtype=dtype, device=device) if spec.low else torch.zeros(spec.shape, dtype=dtype)
    if spec.row and spec.shape[-1:] == (len(spec.row),):
        return torch.tensor(spec.row, dtype=dtype, device=device).expand(spec.shape).contiguous()
    if spec.integral or spec.high is not None:
        span = max(1, (spec.high if spec.high is not None else spec.low + 1) - spec.low)
        count = torch.Size(spec.shape).numel()
        values = spec.low + torch.arange(count, dtype=torch.int64) % span
        return values.reshape(spec.shape).to(dtype=dtype, device=device)
    generator = torch.Generator().manual_seed(seed)
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.zeros(spec.shape, dtype=dtype, device=device)
    drawn = torch.float64 if dtype == torch.float64 else torch.complex64 if dtype.is_complex else torch.float32
    return torch.randn(spec.shape, generator=generator, dtype=drawn).to(dtype=dtype, device=device)
