"""Tensors that a layer has because it derives from one of torch's: they are the layer, and no cards of their own."""

from __future__ import annotations

from modgraph.export.look.kinds import class_kind
from modgraph.graph.occurrences import Occurrence, Run
from modgraph.graph.torch_classes import is_of_layer, layer_base


def leave_out_own_tensors(run: Run) -> None:
    """Take the weights of layers out of a run that their own `forward` gives to functions (`F.conv2d(x, self.weight)`).

    What a class adds to those of the layer that it derives from is drawn.
    """
    if all(layer_base(node.torch_base) is None for node in run.graph.modules):
        return
    own = {leaf for leaf in run.leaves if _is_own(run, leaf)}
    if not own:
        return
    for leaf in own:
        if leaf.parent is not None:
            leaf.parent.children.remove(leaf)
    run.replace(run.root, [link for link in run.links if link.source not in own])


def _is_own(run: Run, leaf: Occurrence) -> bool:
    kind, _, name = (leaf.end or "").partition(":")
    owner, _, tensor = name.rpartition(".")
    if kind != "param" or owner not in run.index.modules or not is_of_layer(tensor):
        return False
    base = layer_base(run.index.modules[owner].torch_base)
    if base is None or not (base == "PReLU" or class_kind(base) in ("weights", "norm", "attention")):
        return False
    users = [link.target for link in run.outgoing[leaf.first]]
    return bool(users) and all(user.operation is not None and user.path == owner for user in users)
