"""Constructor arguments that only say which place a block has: `Block(config, layer_idx)` for each of a row.

Such an argument goes up by one from each member of a numbered row to the next. It tells blocks apart, and makes none of
them another: what differs in it as well (a dilation, a width) does so in a layer inside. So a single layer in a row has
no such argument, and torch's own have none at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from modgraph.graph.index import GraphIndex
from modgraph.graph.model import ModuleNode

Numbering = Mapping[str, Mapping[str, "tuple[int, int]"]]
"""Path -> argument -> (the part of the path that it follows, counted from the end; what it is at place 0)."""


def numbering_of(index: GraphIndex) -> Numbering:
    """The arguments of each module that follow its place, or that of a block around it; the innermost first."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for node in index.graph.modules:
        numbers = {key: value for key, value in node.arguments.items() if type(value) is int}
        if not numbers or node.class_name is None or node.class_name.startswith("torch."):
            continue
        is_layer = not index.children[node.path]
        for depth, place, beside in _rows(index, node.path):
            if is_layer and depth == 1:
                continue
            for key, value in numbers.items():
                if any(_number(other, key) == value + step for step, other in beside):
                    found.setdefault(node.path, {}).setdefault(key, (depth, value - place))
    return found


def numbered_text(first: ModuleNode, last: ModuleNode) -> str:
    """What tells the members of one row apart: "layer_idx 0 – 31"; "" where nothing does."""
    ends = ((key, value, _number(last, key)) for key, value in first.arguments.items() if type(value) is int)
    return " · ".join(f"{key} {value} – {end}" for key, value, end in ends if end is not None and end != value)


def _rows(index: GraphIndex, path: str) -> Iterator[tuple[int, int, list[tuple[int, ModuleNode]]]]:
    """For each numbered part of the path: its place, its number, and the same module in the blocks before and after."""
    parts = path.split(".")
    for depth, part in enumerate(reversed(parts), 1):
        if not (part.isascii() and part.isdecimal()):
            continue
        above, below = parts[: len(parts) - depth], parts[len(parts) - depth + 1 :]
        beside = []
        for step in (-1, 1):
            other = index.modules.get(".".join([*above, str(int(part) + step), *below]))
            if other is not None:
                beside.append((step, other))
        yield depth, int(part), beside


def _number(node: ModuleNode, key: str) -> int | None:
    value = node.arguments.get(key)
    return value if type(value) is int else None
