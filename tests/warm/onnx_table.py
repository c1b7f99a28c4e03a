"""The table of functions that an export of torch's translates operators with, made once instead of for each export."""

from __future__ import annotations

import contextlib
import copy
import functools
from typing import Any


def keep() -> None:
    """From now on each export gets a copy of the one table, into which it may write."""
    with contextlib.suppress(ImportError, AttributeError):
        from torch.onnx._internal.exporter._registration import ONNXRegistry

        made = functools.cache(ONNXRegistry.from_torchlib.__func__)

        def from_torchlib(cls: Any, *given: Any, **named: Any) -> Any:
            one = copy.copy(made(cls, *given, **named))
            one.functions = {target: list(found) for target, found in one.functions.items()}
            return one

        ONNXRegistry.from_torchlib = classmethod(from_torchlib)
