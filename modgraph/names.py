"""Dotted names, as texts."""

from __future__ import annotations


def last_name(name: str) -> str:
    """What stands behind the last dot: "Conv2d" of "torch.nn.modules.conv.Conv2d", and "Net" of "Net"."""
    return name.rpartition(".")[2]
