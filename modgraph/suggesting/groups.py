"""Groups of parameters for an optimizer, as regular expressions that cover each parameter exactly once."""

from __future__ import annotations

import re
from collections.abc import Iterable

from modgraph.graph.model import Shape
from modgraph.graph.sizes import elements
from modgraph.graph.suggestions import SuggestedEntry, Suggestion
from modgraph.names import last_name, plural
from modgraph.suggesting.blocks import Blocks
from modgraph.suggesting.layers import Held, Layers
from modgraph.suggesting.patterns import covering, listed, starred

_GROUPS = {
    "decay": "weights of linear layers, convolutions and the like",
    "no_decay": "biases, norms, and what is one vector",
    "embeddings": "tables that are looked up: without decay, as a rule",
    "undecided": "what is done with them is not known",
}


def suggest_groups(layers: Layers, _blocks: Blocks) -> Suggestion:
    """Decay, no decay, and embeddings apart; what cannot be told stands in a group of its own."""
    groups: dict[str, list[str]] = {name: [] for name in _GROUPS}
    for key, held in layers.held.items():
        groups[_group(layers.held.get(held.first, held), layers)].append(key)
    every = list(layers.held)
    patterns = {name: covering(keys, every) for name, keys in groups.items() if keys}
    _verify(patterns, every)
    entries = [_entry(name, text, groups[name], layers) for name, texts in patterns.items() for text in texts]
    lines = [f"{listed(name, texts)}  # {_GROUPS[name]}" for name, texts in patterns.items()]
    return Suggestion(
        kind="groups",
        paste="\n".join(lines),
        entries=tuple(entries),
        notes=tuple(_notes(groups, layers)),
        unknown=layers.unknown,
    )


def _group(held: Held, layers: Layers) -> str:
    """Of a parameter under its first name."""
    role = layers.role(held.node.path)
    shape = held.parameter.shape
    if role == "norm":
        return "no_decay"
    if role == "embedding":
        return "embeddings"
    if shape is None:
        return "undecided"
    if len(shape) < 2:
        return "no_decay"
    if role in ("linear", "transposed", "conv", "matrices"):
        return "decay"
    multiplied = layers.is_multiplied(held.key)
    if multiplied is not None:
        return "decay" if multiplied else "no_decay"
    # Of a layer that nothing is known of, a matrix of one row may be one that is multiplied.
    known = held.node.class_name is not None
    return "no_decay" if known and _is_vector(shape) else "undecided"


def _is_vector(shape: Shape) -> bool:
    """Whether all sizes but one are 1."""
    return all(isinstance(size, int) for size in shape) and sum(size != 1 for size in shape) <= 1


def _verify(patterns: dict[str, list[str]], every: list[str]) -> None:
    """Every key fits exactly one of all."""
    compiled = [re.compile(text) for texts in patterns.values() for text in texts]
    for key in every:
        fitting = sum(1 for each in compiled if each.fullmatch(key))
        assert fitting == 1, f"{key!r} fits {fitting} of the groups"


def _entry(role: str, text: str, keys: list[str], layers: Layers) -> SuggestedEntry:
    fitting = [layers.held[key] for key in keys if re.fullmatch(text, key)]
    own = [each for each in fitting if each.first == each.key]
    sizes = [elements(each.parameter.shape) for each in own]
    known = [size for size in sizes if size is not None]
    return SuggestedEntry(
        role=role,
        name=text,
        count=len(own),
        parameters=sum(known) if len(known) == len(sizes) else None,
        where=starred(each.key for each in fitting),
    )


def _notes(groups: dict[str, list[str]], layers: Layers) -> Iterable[str]:
    own = [held for held in layers.held.values() if held.first == held.key]
    tied = len(layers.held) - len(own)
    if own:
        also = f"; {plural(tied, 'further name')} of tied ones are covered too" if tied else ""
        noun = "parameter" if layers.tells_parameters else "tensor"
        yield f"each of {plural(len(own), noun)} fits exactly one of the expressions{also}"
    frozen = [held for held in own if held.parameter.trainable is False]
    if frozen:
        yield f"{plural(len(frozen), 'parameter')} need no gradient, and are covered as well"
    for key in groups["undecided"][:1]:
        held = layers.held[key]
        name = last_name(held.node.class_name or "") or "a class that is not known"
        yield f"undecided are weights of {name} and the like: put them where they belong"
