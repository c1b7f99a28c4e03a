"""Which rules there are, and which of them are asked for."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterable, Sequence
from functools import cache

from modgraph.errors import ConfigError
from modgraph.rules.rule import Rule

SYNTAX_ERROR = "MG001"
UNUSED_IGNORE = "MG002"
"""Both are found without a walk over classes; documented like any other rule."""

_IS_RULE = re.compile(r"mg\d{3}_\w+\.py").fullmatch
"""The name of a file that holds one rule as RULE; its code comes first, so that names are in the order of codes."""


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, in the order of their codes."""
    names = sorted(name[:-3] for name in os.listdir(os.path.dirname(__file__)) if _IS_RULE(name))
    return tuple(importlib.import_module(f"modgraph.rules.{name}").RULE for name in names)


def selected(select: Sequence[str] | None, extend: Iterable[str] = (), ignore: Iterable[str] = ()) -> tuple[Rule, ...]:
    """The rules that are asked for and not ignored; of a rule that is both, the longer word decides.

    A file that cannot be read is reported whatever is asked for, unless that is ignored by its own code.

    Raises:
        ConfigError: a word that is no code, no name and no beginning of a code.
    """
    wanted = {rule.code: 0 if rule.default and select is None else -1 for rule in rules()}
    wanted[SYNTAX_ERROR] = 1
    refused = dict.fromkeys(wanted, -1)
    for words, into in ((tuple(select or ()) + tuple(extend), wanted), (tuple(ignore), refused)):
        for word in words:
            for rule in meant(word):
                into[rule.code] = max(into[rule.code], _weight(word))
    return tuple(rule for rule in rules() if wanted[rule.code] > refused[rule.code])


def meant(word: str) -> tuple[Rule, ...]:
    """The rules that a word of `select` or `ignore` stands for: a code, a name, the beginning of codes, or ALL.

    Raises:
        ConfigError: it stands for none.
    """
    if word == "ALL":
        return rules()
    found = tuple(rule for rule in rules() if rule.name == word or (word and rule.code.startswith(word.upper())))
    if not found:
        from difflib import get_close_matches

        # Codes are alike by their letters: of those, none is meant more than another.
        near = [] if word[:2].upper() == "MG" else get_close_matches(word, [rule.name for rule in rules()], 1)
        rest = f"the rules are {', '.join(rule.code for rule in rules())}"
        raise ConfigError(f"there is no rule {word!r}", hint=f"did you mean {near[0]}?" if near else rest)
    return found


def _weight(word: str) -> int:
    """How exactly a word names a rule."""
    return 1 if word == "ALL" else 100 if "-" in word else 1 + len(word)
