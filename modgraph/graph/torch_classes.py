"""What the name of a class of torch says: a layer of `torch.nn` counts as one, and so does what derives from it."""

from __future__ import annotations

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
