"""The text of a dotted name, `torch.nn.ReLU`, from its `ast`."""

from __future__ import annotations

import ast


def dotted(node: ast.expr) -> str | None:
    """None for anything but a name or attributes of one."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):  # no recursion: a stranger's name may have thousands of parts
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)]) if parts else node.id
