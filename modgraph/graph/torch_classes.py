"""What the name of a class of torch says: a layer of `torch.nn` counts as one, and so does what derives from it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PACKAGE = "torch.nn.modules."
_BASE_OF_ALL = f"{_PACKAGE}module.Module"
CONTAINERS = f"{_PACKAGE}container."


def torch_base(names: Sequence[str]) -> str | None:
    """Of a class that is not torch's, the nearest of its bases that is a layer or container of torch.

    Args:
        names: definition sites of the class and its bases, in the order of its MRO.
    """
    if not names or names[0].startswith("torch."):
        return None
    return next((name for name in names if name.startswith(_PACKAGE) and name != _BASE_OF_ALL), None)


def layer_base(base: str | None) -> str | None:
    """The layer of torch of which a class derives, without its package; None where `base` is a container, or none."""
    return None if base is None or base.startswith(CONTAINERS) else base.rpartition(".")[2]


_OF_LAYERS = re.compile(
    r"weight|bias|running_(mean|var)|num_batches_tracked|(weight|bias)_(ih|hh|hr)(_l\d+)?(_reverse)?"
    r"|in_proj_(weight|bias)|[qkv]_proj_weight|bias_[kv]"
)


def is_of_layer(tensor: str) -> bool:
    """Whether layers of torch that have tensors call one of theirs so. Source: torch.nn.modules of 2.13."""
    return _OF_LAYERS.fullmatch(tensor) is not None
