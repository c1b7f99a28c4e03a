"""A data file with other values under the same keys: what comes of it tells whether a call is given some of them."""

from __future__ import annotations

import re
from typing import Any

_NOTE = r"(?P<note>(?:^|(?<=\s))\#[^\n]*)"
_QUOTED = r"(?P<quoted>\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
_NUMBER = r"(?P<sign>(?<![\w.\-+])[-+]?)(?P<whole>\d+)(?=\.\d|[eE][-+]?\d|[^\w.]|\.?$)"
_TRUTH = r"(?P<truth>\b(?:[Tt]rue|[Ff]alse)\b)"
_BARE = r"(?P<bare>(?:(?<=:\s)|(?<=-\s)|(?<=[\[,]\s)|(?<=[\[,]))[A-Za-z_][\w./-]*(?=[ \t]*(?:[,\]}#\n]|$)))"
_BEHIND_KEY = re.compile(r"\s*[:=]")
_HEADER = r"(?P<header>^\s*\[[^\n]*\]\s*$)"
_JSON = re.compile(rf"{_QUOTED}|{_NUMBER}|{_TRUTH}", re.MULTILINE)
_TOML = re.compile(rf"{_NOTE}|{_HEADER}|{_QUOTED}|{_NUMBER}|{_TRUTH}", re.MULTILINE)
_YAML = re.compile(rf"{_NOTE}|{_QUOTED}|{_NUMBER}|{_TRUTH}|{_BARE}", re.MULTILINE)
_OTHER = {"true": "false", "false": "true", "True": "False", "False": "True"}
_NONE = frozenset({"null", "Null", "NULL"})


def other_text(path: str, text: str) -> str:
    """The text of a YAML, JSON or TOML file with other numbers, truths and words as its values."""
    ending = path.lower().rpartition(".")[2]
    pattern = {"json": _JSON, "toml": _TOML}.get(ending, _YAML)
    return pattern.sub(_changed, text)


def _changed(found: re.Match[str]) -> str:
    held = found.groupdict()
    if _BEHIND_KEY.match(found.string, found.end()):
        return found[0]
    if held.get("quoted"):
        return f"{found[0][:-1]}x{found[0][-1]}"
    if held.get("whole"):
        return f"{held['sign']}{int(held['whole'][:100]) + 1}"
    if held.get("truth"):
        return _OTHER[found[0]]
    if held.get("bare") and found[0] not in _NONE:
        return f"{found[0]}x"
    return found[0]


def other_values(held: Any) -> Any:
    """The same lists and dicts with other values in them."""
    if isinstance(held, dict):
        return {key: other_values(each) for key, each in held.items()}
    if isinstance(held, list):
        return [other_values(each) for each in held]
    if isinstance(held, bool):
        return not held
    if isinstance(held, int | float):
        return held + 1
    return f"{held}x" if isinstance(held, str) else held
