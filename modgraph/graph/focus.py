"""A run seen from one module: what is in it, and what enters and leaves it, named by the neighbour's path."""

from __future__ import annotations

import difflib
import shlex
from dataclasses import dataclass, replace

from modgraph.errors import ExportError
from modgraph.graph.dataflow import operation_word
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import ModuleNode
from modgraph.graph.occurrences import Occurrence, Run, preorder


@dataclass(frozen=True, slots=True)
class Focus:
    """What a run was narrowed to."""

    path: str
    times: int
    """So often the module occurs; the first is kept."""


def focus_on(run: Run, path: str) -> Focus:
    """Leaves nothing in `run` but the module `path`, and an input or output for each neighbour it is joined to.

    Raises:
        ExportError: there is no such module, or it takes no part in the run.
    """
    shown, times = _shown(run, path)
    inside = {leaf for each in shown for leaf in range(each.first, each.past)}
    root = Occurrence(path="", parent=None, call=run.root.call)
    neighbours: dict[tuple[str, str], Occurrence] = {}
    links = []
    for link in run.links:
        source, target = (end.first in inside for end in (link.source, link.target))
        if source and target:
            links.append(link)
        elif target:
            pill = _neighbour(root, neighbours, "input", _name(run, link.source, shown[0]))
            links.append(replace(link, source=pill))
        elif source:
            pill = _neighbour(root, neighbours, "output", _name(run, link.target, shown[0]))
            links.append(replace(link, target=pill))
    pills = {kind: [pill for (k, _), pill in neighbours.items() if k == kind] for kind in ("input", "output")}
    root.children = [*pills["input"], *shown, *pills["output"]]
    for each in shown:
        each.parent = root
    run.replace(root, links)
    return Focus(path, times)


def module_at(index: GraphIndex, path: str) -> ModuleNode:
    """The module of that path.

    Raises:
        ExportError: there is none; the error names one that is called nearly so.
    """
    node = index.modules.get(path)
    if node is None:
        near = difflib.get_close_matches(path, [each for each in index.modules if each], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "name a module as the summary or the JSON does: layer1.0"
        raise ExportError(f"the model has no module {path!r}", hint=hint)
    return node


def _shown(run: Run, path: str) -> tuple[list[Occurrence], int]:
    """The first occurrence of the module, and how many there are; of a list that is no box, the modules in it."""
    node = module_at(run.index, path)
    found = [each for each in preorder(run.root) if each.is_module and each.path == path]
    if node.alias_of and all(each.first == each.past for each in found):
        return _shown(run, node.alias_of)
    if found:
        return found[:1], len(found)
    below = {path, *(each.path for each in run.index.below(path))}
    parts = [each for each in preorder(run.root) if each.is_module and each.path in below]
    parts = [each for each in parts if each.parent is None or each.parent.path not in below]
    if parts:
        return parts, 1
    outer = run.index.parents[path]
    if outer:
        hint = f"it is part of {outer}, which may be drawn: --focus {shlex.quote(outer)}"
    else:
        hint = "it is never called"
    raise ExportError(f"the module {path!r} takes no part in what is drawn", hint=hint)


def _neighbour(root: Occurrence, known: dict[tuple[str, str], Occurrence], kind: str, name: str) -> Occurrence:
    pill = known.get((kind, name))
    if pill is None:
        pill = known[kind, name] = Occurrence(path="", parent=root, end=f"{kind}:{name}")
    return pill


def _name(run: Run, leaf: Occurrence, module: Occurrence) -> str:
    """What a neighbour is called: the largest module around `leaf` that `module` is not in, else what it is."""
    around = set(_chain(module))
    outside = [each for each in _chain(leaf) if each not in around]
    top = outside[-1]
    if top.operation is not None:
        word = operation_word(top.operation.name)
        return f"{top.path}.{word}" if top.path else word
    if not top.is_module and not top.turn:
        return (top.end or "").partition(":")[2]
    return top.path or run.graph.model.name


def _chain(occurrence: Occurrence) -> list[Occurrence]:
    chain = [occurrence]
    while chain[-1].parent is not None:
        chain.append(chain[-1].parent)
    return chain
