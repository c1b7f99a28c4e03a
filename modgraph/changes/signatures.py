"""The arguments that `forward` of a module takes, and their defaults: what of them is on one side alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from modgraph.changes.model import ABSENT, Field

SIGNATURE = "arguments of forward"
"""Under this name, beside the methods of a class: its arguments as JSON, each with the text of its default ("" for
none), and whether that is a literal."""
NO_DEFAULT = ""


def signature_fields(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Field]:
    """What differs between the arguments of two `forward`, where both are known. What no literal is has a value that
    the text does not tell."""
    if SIGNATURE not in old or SIGNATURE not in new:
        return
    olds, news = (
        {name: (default, literal) for name, default, literal in json.loads(methods[SIGNATURE])}
        for methods in (old, new)
    )
    for name in dict.fromkeys([*olds, *news]):
        one, other = olds.get(name), news.get(name)
        if one is None or other is None:
            sides = [ABSENT if each is None else each[0] for each in (one, other)]
            yield Field(kind="forward_argument", name=name, old=sides[0], new=sides[1])
        elif one[0] != other[0] and one[1] and other[1]:
            yield Field(kind="forward_argument", name=name, old=one[0], new=other[0])
