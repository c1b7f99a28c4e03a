"""The text of a dotted name, `torch.nn.ReLU`, from its `ast`."""

from __future__ import annotations

import ast


def dotted(node: ast.expr) -> str | None:
    """None for anything but a name or attributes of one."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (prefix := dotted(node.value)) is not None:
        return f"{prefix}.{node.attr}"
    return None
