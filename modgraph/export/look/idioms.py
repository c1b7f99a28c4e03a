"""Names that readers know, for modules that are proven to be what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from modgraph.graph.idioms.finding import find
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.model import Graph
from modgraph.graph.occurrences import Occurrence, Run

MOST_NAMED = 6
"""Kinds of idioms that one line names."""
_WITHIN_OTHERS = "rotary position embedding"
"""Said with the attention that it is a part of."""


def name_idioms(run: Run) -> None:
    """Have `run` know which modules are nothing else than an idiom."""
    run.idioms = named_modules(run.graph)


def named_modules(graph: Graph) -> Mapping[str, Idiom]:
    """By path, what a module is in each of its calls; those of torch say that themselves."""
    found: dict[str, list[Idiom]] = {}
    for idiom in find(graph):
        if idiom.whole:
            found.setdefault(idiom.module, []).append(idiom)
    nodes = {node.path: node for node in graph.modules}
    named: dict[str, Idiom] = {}
    for path, idioms in found.items():
        node = nodes[path]
        calls = {call for call in node.calls if graph.calls[call].observed is not False}
        is_of_torch = (node.class_name or "").startswith("torch.")
        titles, once = {each.title for each in idioms}, [each.call for each in idioms]
        if len(titles) == 1 and sorted(calls) == sorted(each for each in once if each is not None) and not is_of_torch:
            named[path] = idioms[0]
    return named


def idiom_of(run: Run, members: Iterable[Occurrence]) -> Idiom | None:
    """What all of these modules are."""
    found = [run.idioms.get(member.path) for member in members if member.is_module]
    first = found[0] if found else None
    return (
        first if first is not None and all(each is not None and each.title == first.title for each in found) else None
    )


def brief(idiom: Idiom) -> str:
    """ "multi-head attention · 8 heads of 64", without what else is said of it."""
    return " · ".join(each for each in (idiom.kind, idiom.detail.partition(" · ")[0]) if each)


def idioms_line(graph: Graph) -> str:
    """ "12 × multi-head attention, 8 heads of 64; 12 × gated MLP, SiLU"; "" where there is none."""
    found = find(graph)
    turned = any(each.facts.get("rotary") for each in found)
    kept = [each for each in found if not (turned and each.kind == _WITHIN_OTHERS)]
    counts = Counter((each.kind, each.detail) for each in kept)
    by_kind = Counter(kind for kind, _ in counts)
    texts: dict[str, int] = {}
    for (kind, detail), number in counts.items():
        text = f"{kind}, {detail.replace(' · ', ', ')}" if detail and by_kind[kind] <= 2 else kind
        texts[text] = texts.get(text, 0) + number
    named = [f"{number} × {text}" if number > 1 else text for text, number in texts.items()]
    more = len(named) - MOST_NAMED
    return "; ".join([*named[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])
