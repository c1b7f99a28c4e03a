"""What does nothing to the data: left out of a figure, whose reader would only wonder."""

from __future__ import annotations

from dataclasses import replace

from modgraph.export.look.labels import class_title
from modgraph.graph.model import ModuleNode
from modgraph.graph.occurrences import Link, Occurrence, Run


def leave_out_idle(run: Run) -> None:
    """Take `Identity`, and dropout of probability 0, out of a run: what was given to it goes to who used its result."""
    idle = {leaf for leaf in run.leaves if _is_idle(run, leaf) and len(run.incoming[leaf.first]) == 1}
    if not idle:
        return
    origin: dict[Occurrence, Occurrence] = {}
    for leaf in run.leaves:  # as they ran, so that what stands behind another finds what that one stands for
        if leaf in idle:
            source = run.incoming[leaf.first][0].source
            origin[leaf] = origin.get(source, source)
    links: list[Link] = [
        replace(link, source=origin.get(link.source, link.source)) for link in run.links if link.target not in idle
    ]
    for leaf in idle:
        _take_away(leaf)
    run.replace(run.root, links)


def _take_away(occurrence: Occurrence) -> None:
    """With every container in which nothing is left."""
    parent = occurrence.parent
    if parent is None:
        return
    parent.children = [child for child in parent.children if child is not occurrence]
    if not parent.children and parent.parent is not None:
        _take_away(parent)


def _is_idle(run: Run, leaf: Occurrence) -> bool:
    if not leaf.is_module or leaf.end is None or leaf.path not in run.index.modules:
        return False
    return is_idle(run.index.modules[leaf.path])


def is_idle(node: ModuleNode) -> bool:
    """Whether a layer of torch's gives what it gets."""
    if not (node.class_name or "").startswith("torch.nn.modules."):
        return False
    name = class_title(node.class_name)
    return name == "Identity" or ("Dropout" in name and node.arguments.get("p") == 0)
