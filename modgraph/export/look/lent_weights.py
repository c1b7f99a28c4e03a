"""Layers that are never called, of which others use the weights: each is drawn as that which is used."""

from __future__ import annotations

from modgraph.export.look.agreement import remarks_of
from modgraph.graph.occurrences import Occurrence, Run, preorder


def take_lenders_in(run: Run) -> None:
    """Take layers out of a run of which nothing but their one parameter takes part (`self.queries.weight`): they would
    stand beside it, and joined to nothing. `run.lenders` has them, and what uses the parameter is fed by the layer."""
    used = {(leaf.end or "").partition(":")[2] for leaf in run.leaves if (leaf.end or "").startswith("param:")}
    owners = {name.rpartition(".")[0] for name in used}
    idle = [each for each in preorder(run.root) if each.is_module and each.end is None and each.path in owners]
    lenders = [each for each in idle if not each.children and each.path not in run.said and _is_lender(run, each)]
    if not lenders:
        return
    remarks = remarks_of(run.index)
    found = set()
    for occurrence in lenders:
        if {each.state for each in remarks[occurrence.path]} == {"weights used"} and occurrence.parent is not None:
            occurrence.parent.children.remove(occurrence)
            found.add(occurrence.path)
    run.lenders = frozenset(found)


def _is_lender(run: Run, occurrence: Occurrence) -> bool:
    node = run.index.modules[occurrence.path]
    return len(node.parameters) == 1 and not node.buffers and node.parameters[0].alias_of is None
