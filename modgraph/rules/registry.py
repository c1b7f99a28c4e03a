"""Which rules there are, and which of them are asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from functools import cache

from modgraph.errors import ConfigError
from modgraph.rules.rule import Rule

FILES = ("mg101_module_in_plain_container",)
"""One file each, in the order of their codes."""

SYNTAX_ERROR = "MG001"
UNUSED_IGNORE = "MG002"


@cache
def rules() -> tuple[Rule, ...]:
    return tuple(importlib.import_module(f"modgraph.rules.{name}").RULE for name in FILES)


def selected(select: Sequence[str] | None, extend: Iterable[str] = (), ignore: Iterable[str] = ()) -> tuple[Rule, ...]:
    """The rules that are asked for and not ignored; of a rule that is both, the longer word decides.

    Raises:
        ConfigError: a word that is no code, no name and no beginning of a code.
    """
    chosen: list[Rule] = []
    wanted = {rule.code: 0 if rule.default and select is None else -1 for rule in rules()}
    refused = dict.fromkeys(wanted, -1)
    for words, into in ((tuple(select or ()) + tuple(extend), wanted), (tuple(ignore), refused)):
        for word in words:
            for rule in meant(word):
                into[rule.code] = max(into[rule.code], _weight(word))
    for rule in rules():
        if wanted[rule.code] > refused[rule.code]:
            chosen.append(rule)
    return tuple(chosen)


def meant(word: str) -> tuple[Rule, ...]:
    """The rules that a word of `select` or `ignore` stands for.

    Raises:
        ConfigError: it stands for none.
    """
    if word == "ALL":
        return rules()
    found = tuple(rule for rule in rules() if rule.name == word or (word and rule.code.startswith(word.upper())))
    if not found and word.upper() not in (SYNTAX_ERROR, UNUSED_IGNORE):
        raise ConfigError(f"there is no rule {word!r}", hint=f"the rules are {', '.join(r.code for r in rules())}")
    return found


def _weight(word: str) -> int:
    """How exactly a word names a rule."""
    return 1 if word == "ALL" else 100 if "-" in word else 1 + len(word)
