"""The source of a model's `forward`, where Python finds it."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from torch import nn

from modgraph.source.quiet import tree_of_lines


def forward_of(model: nn.Module) -> Any:
    """As its class has it: a descriptor may raise where it is asked for."""
    return inspect.getattr_static(type(model), "forward", None)


def forward_source(model: nn.Module) -> str:
    """Its text; "" where it has none."""
    try:
        return inspect.getsource(forward_of(model))
    except (OSError, TypeError, SyntaxError):
        return ""


def forward_tree(model: nn.Module) -> ast.AST:
    """Its tree; one without nodes where it has no source."""
    lines = forward_source(model).splitlines()
    return tree_of_lines(lines, 1, len(lines))
