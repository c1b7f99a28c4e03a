"""numpy.float64, which most functions of numpy give: a float, of which torch makes tensors of double precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from modgraph.prediction.domain.registry import known_class


class float64(float):  # noqa: N801  numpy's own name, which type(x).__name__ gives
    """The number; what is computed from it is one too. Division by zero gives an infinity, as in numpy."""

    __slots__ = ()


float64.__module__ = "numpy"

known_class("numpy.generic")
known_class("numpy.number", "numpy.generic")
known_class("numpy.floating", "numpy.number")
known_class("numpy.float64", "numpy.floating", "builtins.float")


def double(number: Any) -> Any:
    """A float as numpy's own; anything else as it is."""
    return float64(number) if type(number) is float else number


def single_kind(number: Any) -> Any:
    """numpy's float as Python's own; anything else as it is."""
    return float(number) if isinstance(number, float64) else number


def _operation(name: str) -> Callable[..., Any]:
    plain = getattr(float, name)

    def operate(*operands: Any) -> Any:
        try:
            result = plain(*operands)
        except ZeroDivisionError:
            top, bottom = reversed(operands) if name.startswith("__r") else operands
            result = (
                math.copysign(math.inf, top) * math.copysign(1.0, bottom) if top and "truediv" in name else math.nan
            )
        return double(math.nan if isinstance(result, complex) else result)

    return operate


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    for _side in ("", "r"):
        setattr(float64, f"__{_side}{_name}__", _operation(f"__{_side}{_name}__"))
for _name in ("neg", "pos", "abs"):
    setattr(float64, f"__{_name}__", _operation(f"__{_name}__"))
