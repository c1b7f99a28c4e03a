"""A module by the tensors that it holds, where its class is told by nobody: what a file of weights says of it."""

from __future__ import annotations

from modgraph.export.look.labels import class_title, clean, shape_text
from modgraph.graph.model import BufferInfo, ModuleNode, ParameterInfo

MOST_HELD = 4
"""Tensors of one module that are named."""


def is_unnamed(node: ModuleNode) -> bool:
    """Whether the file that was read names no class for it."""
    return node.class_name is None and not node.class_is_open


def held_words(node: ModuleNode, usual: str | None = None) -> list[str]:
    """ "weight 8×4", "bias 8 float16": the first of its own tensors.

    Args:
        usual: the element type that is not worth a word; None to leave all out.
    """
    held: list[ParameterInfo | BufferInfo] = [*node.parameters, *node.buffers]
    words = [
        f"{clean(tensor.name)} {shape_text(tensor.shape)}"
        + (f" {clean(tensor.dtype)}" if usual is not None and tensor.dtype not in (None, usual) else "")
        for tensor in held[:MOST_HELD]
    ]
    return [*words, f"{len(held) - MOST_HELD} more"] if len(held) > MOST_HELD else words


def title_and_rest(node: ModuleNode) -> tuple[str, str]:
    """What stands in the place of a class, and beside it."""
    words = held_words(node)
    return (words[0], ", ".join(words[1:])) if words else ("no tensors", "")


def module_title(node: ModuleNode) -> str:
    """Its class; "" where the file names none."""
    return "" if is_unnamed(node) else class_title(node.class_name)
