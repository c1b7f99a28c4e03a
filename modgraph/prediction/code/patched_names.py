"""Names of attributes that a text stores in others than `self`, or gives to what patches: `nn.ReLU = Mine`,
`setattr(nn, "ReLU", Mine)`, `mock.patch("torch.nn.ReLU")`. By the text alone, so that more may be found than there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from modgraph.source.modules import BYTES_SEARCHED, SourceModule

_STORED = re.compile(r"(?<!self)\.(\w+)\s*(?:=(?!=)|:)")
_QUOTED = re.compile(r"[\"'](\w+)(?=[\"'])")
_WORD = re.compile(r"\w+")


def of(source: SourceModule) -> frozenset[str]:
    """Those of a module's text, read once for all who ask."""
    source.spend_once("patched", len(source.text) // BYTES_SEARCHED)
    facts = source.facts
    if facts.patched is None:
        facts.patched = in_text(source.text)
    return facts.patched


def in_text(text: str) -> frozenset[str]:
    """Those of a text. Each of its lines is read a fixed number of times, however often something begins in it."""
    found = set(_stored(text))
    for rest in _lines_after("setattr(", text):
        found.update(_QUOTED.findall(rest))
    for rest in _lines_after("patch", text):
        found.update(_WORD.findall(rest))
    return frozenset(found)


def _stored(text: str) -> Iterator[str]:
    """`x.name = ...`, and `x.name: Type = ...` on one line."""
    equals = end_of_line = 0
    for match in _STORED.finditer(text):
        position = match.end()
        if text[position - 1] == ":":
            if equals < position:
                equals = _place("=", text, position)
            if end_of_line < position:
                end_of_line = _place("\n", text, position)
            if not position < equals < end_of_line:
                continue
        yield match[1]


def _place(sign: str, text: str, start: int) -> int:
    found = text.find(sign, start)
    return found if found >= 0 else len(text)


def _lines_after(word: str, text: str) -> Iterator[str]:
    """Of each line that has it: what follows it for the first time."""
    position = text.find(word)
    while position >= 0:
        end = _place("\n", text, position)
        yield text[position + len(word) : end]
        position = text.find(word, end)
