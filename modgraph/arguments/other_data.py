"""A data file with other values under the same keys: what comes of it tells whether a call is given some of them.

What a value is, the parser of the file says. Another one has the same type. None, and what is empty, has no other.
"""

from __future__ import annotations

import datetime
import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from modgraph.doors.data import TooLargeError, read_json, read_toml
from modgraph.doors.yaml_texts import MAX_NESTED

_WHOLE = re.compile(r"[-+]?[0-9]{1,100}", re.ASCII)
_FLOAT = re.compile(r"(?P<sign>[-+]?)(?P<whole>[0-9]{1,100})(?P<rest>(?:\.[0-9]*)?[eE][-+]?[0-9]+)", re.ASCII)
"""A text of YAML 1.1 and a number of YAML 1.2: another one is the same of both."""
_REFERENCE = re.compile(r"\$\{[^{}]*\}")
"""A value that is what another is, which has another value itself."""
_MOST_BRACKETS = 500
"""YAML's scanner looks through the open ones at each token."""
_MOST_DIGITS = 100
_CORE = "tag:yaml.org,2002:"
_MADE = frozenset(_CORE + kind for kind in ("int", "float", "timestamp"))
_TRUTHS = {"yes": "no", "no": "yes", "true": "false", "false": "true", "on": "off", "off": "on"}


def other_values(held: Any) -> Any:
    """The same lists and dicts with other values in them."""
    if isinstance(held, dict):
        return {key: other_values(each) for key, each in held.items()}
    if isinstance(held, list):
        return [other_values(each) for each in held]
    return _other(held)


def _other(held: Any) -> Any:
    if isinstance(held, bool):
        return not held
    if isinstance(held, int):
        return held + 1
    if isinstance(held, float):
        return held + 1 if abs(held) < 1e15 else 1.0  # so too of what is no number
    if isinstance(held, str):
        return _other_word(held)
    if isinstance(held, datetime.date):
        return held.replace(day=1 if held.day > 1 else 2)
    if isinstance(held, datetime.time):
        return held.replace(minute=(held.minute + 1) % 60)
    return held


def _other_word(held: str) -> str:
    """A number stays one, as a script may make one of it."""
    if _WHOLE.fullmatch(held):
        return str(int(held) + 1)
    found = _FLOAT.fullmatch(held)
    if found is not None:
        return f"{found['sign']}{int(found['whole']) + 1}{found['rest']}"
    return f"{held}x"


def other_text(path: str, text: str) -> str:
    """The text of a YAML, JSON or TOML file with other values; as it is where it cannot be read."""
    change = {"json": _json, "toml": _toml}.get(path.lower().rpartition(".")[2], _yaml)
    try:
        return change(text)
    except (ValueError, ImportError, RecursionError, OverflowError):
        return text


def _json(text: str) -> str:
    import json  # slow to import

    return json.dumps(other_values(read_json(text)))


# ---- TOML ------------------------------------------------------------------------------------------------------------


def _toml(text: str) -> str:
    return "".join(f"{_quoted(key)} = {_in_toml(each)}\n" for key, each in other_values(read_toml(text)).items())


def _in_toml(held: Any) -> str:
    if isinstance(held, dict):
        return "{" + ", ".join(f"{_quoted(key)} = {_in_toml(each)}" for key, each in held.items()) + "}"
    if isinstance(held, list):
        return f"[{', '.join(map(_in_toml, held))}]"
    if isinstance(held, str):
        return _quoted(held)
    if isinstance(held, bool):
        return str(held).lower()
    return held.isoformat() if isinstance(held, datetime.date | datetime.time) else repr(held)


def _quoted(text: str) -> str:
    r"""A basic string: what is no plain letter is a `\U`."""
    plain = (
        each if " " <= each <= "~" and each not in '"\\' else f"\\U{ord(each):08X}"  # whatever it would mean as itself
        for each in text
    )
    return f'"{"".join(plain)}"'


# ---- YAML ------------------------------------------------------------------------------------------------------------


def _yaml(text: str) -> str:
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        return text
    yaml: Any = importlib.import_module("yaml")
    try:
        events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        changed = _Scalars(yaml).changed(events)
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        found: str = yaml.emit(changed, Dumper=dumper, width=1_000_000, allow_unicode=True)
    except yaml.YAMLError:
        return text
    return found


class _Scalars:
    """Of a text of YAML, as the events of its parser: those that are no keys get other values."""

    def __init__(self, yaml: Any) -> None:
        self._yaml = yaml
        self._resolver = yaml.resolver.Resolver()
        self._constructor = yaml.constructor.SafeConstructor()
        self._anchored: dict[str, Any] = {}
        """Scalars that references name, as they were."""

    def changed(self, events: Iterator[Any]) -> Iterator[Any]:
        open_ones: list[int] = []
        """Of each collection: how many nodes of it were met; -1 in a sequence."""
        within = 0
        """In how many collections inside of a key."""
        for event in events:
            kind = type(event).__name__
            is_key = within > 0 or (bool(open_ones) and open_ones[-1] >= 0 and open_ones[-1] % 2 == 0)
            if kind.endswith("EndEvent") and kind[0] in "SM" and not kind.startswith("Stream"):
                open_ones.pop()
                within -= within > 0
            elif kind in ("ScalarEvent", "AliasEvent", "SequenceStartEvent", "MappingStartEvent"):
                if open_ones and open_ones[-1] >= 0:
                    open_ones[-1] += 1
                if kind.endswith("StartEvent"):
                    if len(open_ones) > MAX_NESTED:
                        raise TooLargeError("it is nested too deeply")
                    within += is_key
                    open_ones.append(0 if kind.startswith("Map") else -1)
            if kind == "ScalarEvent":
                event = self._scalar(event, is_key=is_key)
            elif kind == "AliasEvent" and is_key and event.anchor in self._anchored:
                event = self._anchored[event.anchor]
            yield event

    def _scalar(self, event: Any, *, is_key: bool) -> Any:
        if event.anchor is not None:
            self._anchored[event.anchor] = self._with(event, event.value, anchor=None)
        if is_key:
            return event
        is_plain = bool(event.implicit[0])
        tag = event.tag if event.tag not in (None, "!") else self._tag(event.value) if is_plain else f"{_CORE}str"
        return self._with(event, self._other(tag, event.value, is_plain=is_plain), anchor=event.anchor)

    def _with(self, event: Any, value: str, anchor: str | None) -> Any:
        implicit = (bool(event.implicit[0]), True) if event.tag is None else event.implicit
        return self._yaml.ScalarEvent(anchor, event.tag, implicit, value, style=event.style)

    def _tag(self, value: str) -> str:
        found: str = self._resolver.resolve(self._yaml.ScalarNode, value, (True, False))
        return found

    def _other(self, tag: str, value: str, *, is_plain: bool) -> str:
        if tag == f"{_CORE}str":
            other = value if _REFERENCE.fullmatch(value) else _other_word(value)
            return f"{value}x" if is_plain and self._tag(other) != tag else other
        if tag == f"{_CORE}bool":
            other = _TRUTHS.get(value.lower(), value)
            spell: Callable[[str], str] = str.upper if value.isupper() else str.title if value.istitle() else str.lower
            return spell(other)
        if tag not in _MADE or len(value) > _MOST_DIGITS:
            return value
        try:
            made = _other(self._constructor.construct_object(self._yaml.ScalarNode(tag, value)))
        except (ValueError, OverflowError):
            return value
        if isinstance(made, float):
            whole, exponent, power = repr(made).partition("e")
            return whole if not exponent else f"{whole}e{power}" if "." in whole else f"{whole}.0e{power}"
        return str(made)
