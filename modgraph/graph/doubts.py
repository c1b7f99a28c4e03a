"""What is certain with some sizes and not with others, or on other conditions: on what it depends in all.

What is told of a part holds of every size: a call that one way makes for certain, and another where a test comes out
so, is made with the sizes of the one way, or where the test does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from modgraph.graph.model import Call, Condition, Edge, Operation

DEPENDS = "depends on "
_AND, _OR = " and ", " or "
_LOOSE = (" if ", "lambda", ":=")
_UNSAID = Condition(text="")

Doubts = Mapping[Hashable, Condition]
"""Of what is not certain, by what it is: on what it depends, where that is said."""


def name_of(part: Call | Operation | Edge) -> Hashable:
    """What tells a part of a graph from all others."""
    if isinstance(part, Edge):
        return part.producer, part.consumer
    return part.index if isinstance(part, Call) else part.id


def doubts_of(parts: Iterable[tuple[Hashable, Call | Operation | Edge]]) -> Doubts:
    """Of parts by name; of several of one name the name is in doubt where all of them are."""
    found: dict[Hashable, Condition] = {}
    certain: set[Hashable] = set()
    for name, part in parts:
        if part.certain:
            certain.add(name)
        else:
            found.setdefault(name, part.condition or _UNSAID)
    return {name: condition for name, condition in found.items() if name not in certain}


def are_alike(having: Iterable[int], name: Hashable, doubts: Sequence[Doubts]) -> bool:
    """It depends on the same in all these ways, or on nothing."""
    return len({_text(doubts[place].get(name)) for place in having}) <= 1


def in_all(
    having: Sequence[int], name: Hashable, doubts: Sequence[Doubts], when: Callable[[frozenset[int]], Condition]
) -> Condition | None:
    """On what it depends, where it does not on the same in all ways; None where that is not said of one.

    Args:
        having: the ways that have it, of those that the doubts are of.
        when: what tells some of the ways from all others.
    """
    groups: dict[str | None, tuple[Condition | None, list[int]]] = {}
    for place in having:
        condition = doubts[place].get(name)
        groups.setdefault(_text(condition), (condition, []))[1].append(place)
    if _UNSAID.text in groups:
        return None
    # Elsewhere it is certain: the test alone tells it then.
    is_enough = len(having) == len(doubts) and len(groups) == 2 and None in groups
    found: list[Condition] = []
    for condition, places in sorted(groups.values(), key=lambda each: each[0] is not None):
        if condition is not None and is_enough:
            found.append(condition)
        else:
            found.append(both(condition, when(frozenset(places))))
    return _one_of(found)


def both(one: Condition | None, other: Condition) -> Condition:
    """That both hold."""
    if one is None or other.text in one.text.split(_AND) or other.text == f"{DEPENDS}`{one.text}`":
        return one or other
    return Condition(text=both_texts([one.text, other.text]), file=one.file, line=one.line)


def both_texts(texts: Sequence[str]) -> str:
    """That all hold; of "depends on `p`" nobody knows what has to hold: it depends on that and on the tests then."""
    if any(DEPENDS in each for each in texts):
        return _all_named(texts)
    return _AND.join(f"({each})" if _OR in each else each for each in texts)


def _all_named(texts: Sequence[str]) -> str:
    named = (each.removeprefix(DEPENDS) if each.startswith(DEPENDS) else f"`{each}`" for each in texts)
    return DEPENDS + _AND.join(dict.fromkeys(named))


def _text(condition: Condition | None) -> str | None:
    return None if condition is None else condition.text


def _one_of(conditions: Sequence[Condition]) -> Condition:
    """That one of them holds; where of one only is known on what it depends, all that it depends on."""
    texts = list(dict.fromkeys(each.text for each in conditions))
    where = next((each for each in reversed(conditions) if each.line is not None), conditions[-1])
    if any(DEPENDS in each for each in texts):
        text = _all_named(texts)
    else:
        text = _OR.join(f"({each})" if _is_loose(each) else each for each in texts)
    return Condition(text=text, file=where.file, line=where.line)


def _is_loose(text: str) -> bool:
    return any(word in text for word in _LOOSE) or _AND in _outside_brackets(text)


def _outside_brackets(text: str) -> str:
    depth, kept = 0, []
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            kept.append(letter)
    return "".join(kept)
