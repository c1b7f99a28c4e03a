"""At which place of a call or an operation a tensor comes in: `q - k` is not `k - q`.

Another way to write the same is no other place: `torch.sub(q, k)`, `torch.sub(input=q, other=k)` and `k.__rsub__(q)`,
or a `forward` whose argument has another name. Nor is it for members of a list that others come to stand between them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from modgraph.graph.dataflow import operation_word
from modgraph.names import last_name

What = TypeVar("What", bound=Hashable)

_SYNONYMS = {
    "input": "args[0]",
    "self": "args[0]",
    "tensors": "args[0]",
    "query": "args[0]",
    "other": "args[1]",
    "mat2": "args[1]",
    "key": "args[1]",
    "value": "args[2]",
}
"""Names that torch's functions give to the first of their arguments."""
_COMMUTATIVE_WORDS = """
    add mul multiply eq ne equal and or xor logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor
    maximum minimum fmax fmin
"""
COMMUTATIVE = frozenset(_COMMUTATIVE_WORDS.split())
"""Operations that give the same whichever argument is the first."""
_MEMBER = re.compile(r"(?P<row>.+)\[(?P<number>\d+)\]")
_POSITIONAL = re.compile(r"args\[\d+\]")


def place_in_operation(operation: str, name: str) -> str:
    """`name` as every way to call the operation has it; both arguments of one that is commutative have one place."""
    row, number = _split(name)
    place = _SYNONYMS.get(row, row)
    if place in ("args[0]", "args[1]") and number is None:
        word = operation_word(operation)
        if word in COMMUTATIVE:
            return "either"
        if _is_reflected(operation, word):
            return "args[1]" if place == "args[0]" else "args[0]"
    return place if number is None else f"{place}[{number}]"


def _is_reflected(operation: str, word: str) -> bool:
    """Whether its first argument is the right one: `__rsub__`."""
    last = last_name(operation)
    return last.startswith("__r") and last.strip("_") == f"r{word}"


def elsewhere(olds: Sequence[tuple[What, str]], news: Sequence[tuple[What, str]]) -> set[What]:
    """Of what comes in on both sides, what does so at another place.

    Args:
        olds: what comes in, and the names of the places: "args[0]", "args[0][2]", "input1".
        news: the same of the other side.
    """
    both = {what for what, _ in olds} & {what for what, _ in news}
    renamed = _renamed(_rows(olds), _rows(news))
    places = _places(olds, both, lambda row: renamed.get(row, row)), _places(news, both, lambda row: row)
    return {what for what in both if places[0][what] != places[1][what]}


def _split(name: str) -> tuple[str, int | None]:
    """A place as the row that it is in and its number there: "args[0][2]" is 2 of "args[0]"; "args[0]" is in none."""
    member = None if _POSITIONAL.fullmatch(name) else _MEMBER.fullmatch(name)
    return (name, None) if member is None else (member["row"], int(member["number"]))


def _rows(arrivals: Iterable[tuple[object, str]]) -> list[str]:
    return list(dict.fromkeys(_split(name)[0] for _, name in arrivals))


def _renamed(olds: list[str], news: list[str]) -> dict[str, str]:
    """Names of one side alone are, in order, the same; two positions never are."""
    gone = [name for name in olds if name not in news]
    come = [name for name in news if name not in olds]
    if len(gone) != len(come):
        return {}
    pairs = zip(gone, come, strict=True)
    return {old: new for old, new in pairs if not (_POSITIONAL.fullmatch(old) and _POSITIONAL.fullmatch(new))}


def _places(
    arrivals: Sequence[tuple[What, str]], both: set[What], row_of: Callable[[str], str]
) -> dict[What, set[tuple[str, int]]]:
    """Of each, the rows and its place among those of the row that both sides have."""
    rows: dict[str, list[tuple[int, What]]] = {}
    for what, name in arrivals:
        if what in both:
            row, number = _split(name)
            rows.setdefault(row_of(row), []).append((-1 if number is None else number, what))
    found: dict[What, set[tuple[str, int]]] = {}
    for row, members in rows.items():
        numbers = sorted({number for number, _ in members})
        for number, what in members:
            found.setdefault(what, set()).add((row, numbers.index(number)))
    return found
