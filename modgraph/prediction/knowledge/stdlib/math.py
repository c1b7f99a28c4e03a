"""math: its constants, and its functions of numbers that are known."""

from __future__ import annotations

import math

from modgraph.prediction.domain.registry import (
    constant,
    models,
)
from modgraph.prediction.domain.values import (
    Constant,
)
from modgraph.prediction.python.plain import folded

for _name in dir(math):
    _item = getattr(math, _name)
    if isinstance(_item, float):
        constant(f"math.{_name}", Constant(_item))
    elif callable(_item) and not _name.startswith("_") and _name != "prod":
        models(f"math.{_name}")(folded(_item, f"math.{_name}"))
