"""Encoder and decoder: one module attends to itself, another, beside it, to what that one gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from modgraph.graph.idioms.flow import KEEPING, Flow
from modgraph.graph.idioms.idiom import Idiom
from modgraph.graph.model import Edge


def find(flow: Flow, known: Iterable[Idiom]) -> Iterator[Idiom]:
    """All that is proven: `known` are the attentions."""
    attending = [each for each in known if "heads" in each.facts and each.call is not None]
    inside: dict[int, list[Idiom]] = {}
    for each in attending:
        for call in flow.around_all(each.call):
            inside.setdefault(call, []).append(each)
    found: dict[tuple[int, int], list[Idiom]] = {}
    for each in attending:
        if each.facts.get("cross"):
            source = _source(flow, each)
            pair = None if source is None or each.call is None else _pair(flow, source, each.call)
            if pair is not None:
                found.setdefault(pair, []).append(each)
    pairs: dict[int, list[tuple[int, int]]] = {}
    for (encoder, decoder), crossing in found.items():
        own, other = (
            [each for each in inside.get(call, ()) if not each.facts.get("cross")] for call in (encoder, decoder)
        )
        home = flow.graph.calls[encoder].parent
        is_all = len(crossing) == sum(bool(each.facts.get("cross")) for each in inside.get(decoder, ()))
        if own and other and home is not None and is_all:
            pairs.setdefault(home, []).append((encoder, decoder))
    for home, sides in pairs.items():
        encoders, decoders = (list(dict.fromkeys(side)) for side in zip(*sides, strict=True))
        if len(encoders) == 1:  # its blocks may be called one by one, and so may those of the decoder
            yield _idiom(flow, home, encoders[0], decoders)


def _idiom(flow: Flow, home: int, encoder: int, decoders: list[int]) -> Idiom:
    calls = flow.graph.calls
    return Idiom(
        kind="encoder | decoder",
        module=calls[home].module,
        call=home,
        whole=True,
        members=(f"call:{encoder}", *(f"call:{each}" for each in decoders)),
        facts={"encoder": calls[encoder].module, "decoder": [calls[each].module for each in decoders]},
    )


def _source(flow: Flow, idiom: Idiom) -> str | None:
    """What makes the keys of an attention, outside of it."""
    edges: list[Edge] = []
    if len(idiom.members) == 1:
        edges = [each for each in flow.into.get(idiom.members[0], ()) if each.tensor.name == "key"]
    else:
        step = flow.step(idiom.members[1])
        data = flow.data(step) if step is not None else None
        edges = [] if data is None else [data]
    return flow.before(edges[0], KEEPING).producer if len(edges) == 1 and edges[0].certain else None


def _pair(flow: Flow, source: str, user: int) -> tuple[int, int] | None:
    """The two calls side by side of which one holds the source, and the other the call that reads it."""
    if not source.startswith(("call:", "op:")):
        return None
    mine = flow.around_all(int(source[5:]) if source.startswith("call:") else flow.index.operations[source].call)
    theirs = flow.around_all(user)
    for one, other in zip(mine, theirs, strict=False):
        if one != other:
            return one, other
    return None
