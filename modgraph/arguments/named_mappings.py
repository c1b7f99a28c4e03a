"""Mappings that name a class and have its arguments beside the name, or below: `{type: Net, depth: 3}`,
`{target: nets.Net, params: {depth: 3}}`.

What such a mapping is, its shape says, and no list of libraries: a text is the name of the class, and the other keys,
or those of one mapping among them, are parameters of its constructor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from modgraph.arguments.annotated import names_for_bases
from modgraph.arguments.constructor import Constructor
from modgraph.arguments.interpolations import Path
from modgraph.arguments.naming import has_module

MAX_VALUES = 20_000
"""Of one file that are looked at."""
_MAX_DEPTH = 16
_IN_A_LIST = ("_args_", "args")
"""Keys of arguments by place."""
_OF_A_CLASS = frozenset(
    ("type", "class", "cls", "target", "arch", "architecture", "model", "network", "net", "module", "layer", "backbone")
)
"""Words of a key under which a class of a model stands."""
_WORDS = re.compile(r"[a-z]+")
_FOREIGN = 0.5
"""Keys that are no parameters, of those that are: more of them, and the mapping is something else."""


@dataclass(frozen=True)
class NamedMapping:
    """A mapping that names the class, with what it gives."""

    number: int
    """How many texts before it name the class."""
    key: str
    """The one of the name."""
    mapping: Mapping[str, Any]
    keywords: Mapping[str, Any]
    """By parameter, those too that are given by place."""
    inside: Path
    """Where in the file the mapping stands that holds the keywords."""


def named_mappings(
    held: Any, constructor: Constructor, names: Callable[[str], bool], known: Mapping[str, Any]
) -> tuple[list[NamedMapping], int]:
    """Those of what a file holds that fit the constructor, and how many texts name the class.

    Args:
        names: whether a text names it.
        known: what parameters are given that need a value and have none there.
    """
    found: list[NamedMapping] = []
    n_texts = 0
    for mapping, key, text, where in _texts(held):
        if not names(text):
            continue
        for positional, keywords, below in arguments_in(mapping, key) if mapping is not None else ():
            own = mapping if mapping is not None and not below else {}
            taken = _taken(constructor, positional, keywords, {key: own[key]} if key in own else {}, known)
            if taken is not None and mapping is not None and _is_of_class(constructor, mapping, key, below):
                found.append(NamedMapping(n_texts, key, mapping, taken, (*where, *below)))
                break
        n_texts += 1
    return found, n_texts


def _is_of_class(constructor: Constructor, mapping: Mapping[str, Any], key: str, below: Path) -> bool:
    """Whether the mapping has arguments of a class for sure: under a key that says so, or with a module, or with
    nothing else in it. `{name: Mnist, size: 6, path: ./data}` may be anything that has a name."""
    if has_module(mapping[key]) or _OF_A_CLASS & set(_WORDS.findall(key.lower())):
        return True
    taken = {each.arg for each in constructor.parameters}
    if constructor.node.args.kwarg is not None:
        taken |= names_for_bases(constructor)
    known = {key, *_IN_A_LIST, *below[:1]}
    return all(name in known or name in taken or is_marker(str(name)) for name in mapping)


def _texts(held: Any) -> Iterator[tuple[dict[str, Any] | None, str, str, Path]]:
    """Texts in the order in which they stand: the mapping whose value one is, key and text, and where that stands."""
    pending: list[tuple[Any, Any, Any, Path]] = [(None, "", held, ())]
    n_seen = 0
    while pending and n_seen < MAX_VALUES:
        outer, key, value, where = pending.pop()
        n_seen += 1
        if isinstance(value, str):
            yield outer, key, value, where[:-1]
        elif isinstance(value, dict) and len(where) < _MAX_DEPTH:
            pending += [
                (value if isinstance(name, str) else None, name, each, (*where, name))
                for name, each in reversed(value.items())
            ]
        elif isinstance(value, list | tuple) and len(where) < _MAX_DEPTH:
            pending += [(None, "", each, (*where, number)) for number, each in reversed(list(enumerate(value)))]


def is_marker(key: str) -> bool:
    """`_partial_`, `_delete_`: words for what builds the object."""
    return key.startswith("_") and key.endswith("_")


def arguments_in(mapping: Mapping[str, Any], key: str) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any], Path]]:
    """The ways in which a mapping may give arguments, by place and by name, and where the latter stand in it: beside
    the key of the name, then in each of the mappings there."""
    others = {name: value for name, value in mapping.items() if isinstance(name, str) and name != key}
    places = next((name for name in _IN_A_LIST if isinstance(others.get(name), list | tuple)), "")
    beside = {name: value for name, value in others.items() if not is_marker(name)}
    if places != _IN_A_LIST[0]:
        yield (), beside, ()
    positional = tuple(others[places]) if places else ()
    beside.pop(places, None)
    for name, value in beside.items() if places != _IN_A_LIST[0] else ():
        if isinstance(value, dict) and all(isinstance(inner, str) for inner in value):
            yield positional, value, (name,)
    if places:
        yield positional, beside, ()


def _taken(
    constructor: Constructor,
    positional: tuple[Any, ...],
    keywords: Mapping[str, Any],
    naming: Mapping[str, Any],
    known: Mapping[str, Any],
) -> Mapping[str, Any] | None:
    """Those that the constructor takes, by parameter; None where they do not fit it.

    Args:
        naming: the entry that names the class, where the others stand beside it.
    """
    required = [each.arg for each in constructor.required]
    taken = {each.arg: keywords[each.arg] for each in constructor.parameters if each.arg in keywords}
    foreign = [name for name in keywords if name not in taken]
    if foreign and constructor.node.args.kwarg is not None:
        further = names_for_bases(constructor)
        taken.update({name: keywords[name] for name in foreign if name in further})
        foreign = [name for name in foreign if name not in further]
    if any(name in _IN_A_LIST and isinstance(keywords[name], list | tuple) for name in foreign):
        return None  # arguments by place, which these are not
    if len(foreign) > max(1, int(_FOREIGN * (len(taken) + len(positional)))):
        return None
    if not taken and not positional:
        return None
    if not positional:  # a class may be told its own name
        lacking = {name: value for name, value in (*known.items(), *naming.items()) if name in required}
        taken = {**lacking, **taken}
    bound = constructor.bound(positional, taken.items())
    return None if bound is None or any(name.startswith("*") for name in bound) else bound
