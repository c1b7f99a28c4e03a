"""`torch.finfo` and `torch.iinfo`: what a dtype can hold."""

from __future__ import annotations

from dataclasses import dataclass

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.registry import known_class, models
from modgraph.prediction.domain.values import (
    NONE,
    NOT_IMPLEMENTED,
    Address,
    Constant,
    Device,
    Dtype,
    KnownClass,
    TupleValue,
    Value,
    is_optional,
)
from modgraph.prediction.knowledge.tensors.tensor_values import DEFAULT_DTYPE
from modgraph.prediction.python.plain import number_unknown


@dataclass(frozen=True)
class _Format:
    """Of floating numbers."""

    bits: int
    fraction: int
    """Bits of it."""
    exponents: tuple[int, int]
    """The least and the largest of a normal number."""
    digits: int
    """Decimal ones that are kept for certain."""
    is_cut: bool = False
    """The largest fraction says that it is no number."""

    def limits(self) -> dict[str, float]:
        """What `finfo` has of it."""
        least, last = self.exponents
        largest = (2 - 2.0 ** -(self.fraction - self.is_cut)) * 2.0**last
        smallest = 2.0**least
        named = {"bits": self.bits, "eps": 2.0**-self.fraction, "max": largest, "min": -largest}
        return {**named, "resolution": float(f"1e-{self.digits}"), "smallest_normal": smallest, "tiny": smallest}


_FORMATS = {
    "float16": _Format(16, 10, (-14, 15), 3),
    "bfloat16": _Format(16, 7, (-126, 127), 2),
    "float32": _Format(32, 23, (-126, 127), 6),
    "float64": _Format(64, 52, (-1022, 1023), 15),
    "float8_e4m3fn": _Format(8, 3, (-6, 8), 0, is_cut=True),
    "float8_e5m2": _Format(8, 2, (-14, 15), 0),
}
_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_WHOLE = {f"{kind}{bits}": (bits, kind == "int") for bits in (8, 16, 32, 64) for kind in ("int", "uint")}
_NAMES = {
    "torch.finfo": ("bits", "eps", "max", "min", "resolution", "smallest_normal", "tiny", "dtype"),
    "torch.iinfo": ("bits", "max", "min", "dtype"),
}
for _each in _NAMES:
    known_class(_each)


def _whole(name: str) -> dict[str, float]:
    bits, is_signed = _WHOLE[name]
    largest = 2 ** (bits - is_signed) - 1
    return {"bits": bits, "max": largest, "min": -largest - 1 if is_signed else 0}


@models(*_NAMES)
def limits(arguments: Arguments, machine: Machine) -> Value:
    """Numbers by name; each is a number that is not known where the dtype is not.

    Raises:
        Raised: TypeError, for whole numbers where floating ones are meant, and the other way round, and for what is no
            dtype.
    """
    function = arguments.function
    is_floating = function.endswith("finfo")
    _require_one(machine, arguments, is_floating)
    asked = arguments.get(0, "type", NONE)
    if is_floating and not arguments.positional and not arguments.keywords and arguments.open is None:
        asked = machine.state.bound(DEFAULT_DTYPE) or Dtype("float32")
    name = asked.name if isinstance(asked, Dtype) else ""
    if isinstance(asked, (Address, Constant, Device, TupleValue)):
        raise machine.raises("TypeError", f"{last_name(function)}(): argument 'type' must be torch.dtype")
    if name == "bool" or name in (_WHOLE if is_floating else {**_FORMATS, **_PARTS}):
        raise machine.raises("TypeError", f"{function}() does not take torch.{name}")
    name = _PARTS.get(name, name) if is_floating else name
    known: dict[str, float] = {}
    if name in (_FORMATS if is_floating else _WHOLE):
        known = _FORMATS[name].limits() if is_floating else _whole(name)
    else:
        machine.may_refuse("TypeError")
    names = {each: number_unknown(machine, "the limits of a dtype are not known", asked) for each in _NAMES[function]}
    attributes: dict[str, Value] = {**names, **{each: Constant(value) for each, value in known.items()}}
    attributes["dtype"] = Constant(name) if known else machine.unknown("a dtype is not known", asked)
    return machine.allocate(InstanceObject(KnownClass(function), attributes))


def _require_one(machine: Machine, arguments: Arguments, is_floating: bool) -> None:
    """
    Raises:
        Raised: TypeError, where it is certainly not one dtype that is given, or none to `finfo`.
    """
    if arguments.open is not None:
        return
    given = len(arguments.positional) + len(arguments.keywords)
    sure = len(arguments.positional) + sum(not is_optional(each) for each in arguments.keywords.values())
    others = [each for name, each in arguments.keywords.items() if name != "type"]
    if sure > 1 or any(not is_optional(each) for each in others) or (given == 0 and not is_floating):
        raise machine.raises("TypeError", f"{last_name(arguments.function)}() takes one dtype")
    if given > sure:
        machine.may_refuse("TypeError")


@models(*(f"{name}.__eq__" for name in _NAMES))
def equal(arguments: Arguments, machine: Machine) -> Value:
    """Two of one kind are equal where they are of one dtype, of whatever dtype they were asked."""
    left, right = (machine.state.find(each, InstanceObject) for each in arguments.positional[:2])
    if left is None or right is None or left.cls != right.cls:
        return NOT_IMPLEMENTED
    dtypes = [each.attributes["dtype"] for each in (left, right)]
    if any(not isinstance(each, Constant) for each in dtypes):
        return number_unknown(machine, "a dtype is not known", *dtypes)
    return Constant(dtypes[0] == dtypes[1])


@models(*(f"{name}.{method}" for name in _NAMES for method in ("__setattr__", "__delattr__")))
def change(arguments: Arguments, machine: Machine) -> Value:
    """
    Raises:
        Raised: AttributeError. What a dtype can hold is not written.
    """
    raise machine.raises("AttributeError", f"attributes of '{arguments.function.rpartition('.')[0]}' are not writable")
