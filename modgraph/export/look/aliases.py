"""Further names of a module: said of the module itself, where they stand beside it."""

from __future__ import annotations

from modgraph.export.look.agreement import remarks_of
from modgraph.graph.occurrences import Occurrence, Run, preorder
from modgraph.names import last_name


def take_aliases_in(run: Run) -> None:
    """Take second names out of a run that are drawn as nothing but that: no call goes through them, and the module that
    they stand for, a child of the same container, is called. `run.also` has them."""
    if all(node.alias_of is None for node in run.graph.modules):
        return
    remarks = remarks_of(run.index)
    called = {occurrence.path for occurrence in preorder(run.root) if occurrence.first < occurrence.past}
    names: dict[str, list[str]] = {}
    taken: set[Occurrence] = set()
    for occurrence in preorder(run.root):
        node = run.index.modules.get(occurrence.path) if occurrence.is_module else None
        target = node.alias_of if node is not None else None
        if node is None or target is None or target not in called or occurrence.first < occurrence.past:
            continue
        # A registered name of what is registered under no other says that its weights are kept after all.
        beside = run.index.parents[node.path] == run.index.parents[target] and run.index.modules[target].registered
        if beside and not run.said.get(node.path) and {each.state for each in remarks[node.path]} == {"shared"}:
            taken.add(occurrence)
            names.setdefault(target, []).append(last_name(node.path))
    for occurrence in taken:
        if occurrence.parent is not None:
            occurrence.parent.children.remove(occurrence)
    run.also = {path: tuple(others) for path, others in names.items()}
