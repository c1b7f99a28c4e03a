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
        if node.class_name is None or node.class_name.startswith("torch."):
            continue
        is_layer = not index.children[node.path]
        for depth, place, beside in _rows(index, node.path):
            if is_layer and depth == 1:
                continue
            for key in _left_at_zero(index, node, depth, place):
                found.setdefault(node.path, {}).setdefault(key, (depth, 0))
            for key, value in numbers.items():
                if any(_number(other, key) == value + step for step, other in beside):
                    found.setdefault(node.path, {}).setdefault(key, (depth, value - place))
    return found


def _left_at_zero(index: GraphIndex, node: ModuleNode, depth: int, place: int) -> list[str]:
    """Arguments that the first of a row leaves at their default, which is 0 as the two that follow have 1 and 2."""
    if place != 0:
        return []
    parts = node.path.split(".")
    following = []
    for number in (1, 2):
        parts[-depth] = str(number)
        following.append(index.modules.get(".".join(parts)))
    second, third = following
    if second is None or third is None:
        return []
    return [
        key
        for key, value in second.arguments.items()
        if key not in node.arguments and type(value) is int and value == 1 and _number(third, key) == 2
    ]


def numbered_text(first: ModuleNode, last: ModuleNode) -> str:
    """What tells the members of one row apart: "layer_idx 0 – 31"; "" where nothing does."""
    # One that the first leaves out is at its default, which numbers it 0.
    starts = ((key, _number(first, key) if key in first.arguments else 0) for key in last.arguments)
    ends = ((key, start, _number(last, key)) for key, start in starts if start is not None)
    return " · ".join(f"{key} {start} – {end}" for key, start, end in ends if end is not None and end != start)


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
