"""One fact that a change changed, in words: "p 0.1 → 0.2", "ReLU → GELU", "weight frozen now"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from modgraph.changes.model import ABSENT, Field
from modgraph.export.look.labels import class_title, clean, cut, cut_apart, cut_end, shape_text
from modgraph.export.look.torch_defaults import torch_default
from modgraph.names import last_name

LONGEST_VALUE = 40
LONGEST_FACT = 72
SHORTEST_VALUE = 12
"""Characters that a value is cut to at least."""


def name_of(path: str) -> str:
    """A path for people: the root has none."""
    return clean(path) or "the model"


def field_text(field: Field, classes: tuple[str | None, str | None] = (None, None), longest: int = LONGEST_FACT) -> str:
    """One fact: "p 0.1 → 0.2", "ReLU → GELU", "weight frozen".

    Args:
        classes: of the module on both sides, whose defaults are said where they are torch's own.
        longest: about so many characters; the values are cut where they are alike.
    """
    kind, name = field.kind, clean(field.name)
    if kind in ("parameter", "buffer") and ABSENT in (field.old, field.new):
        return f"{kind} {name} {'gone' if field.new is ABSENT else 'new'}"
    if kind == "forward_argument" and ABSENT in (field.old, field.new):
        default = f" (default {cut(field.new, LONGEST_VALUE)})" if field.new is not ABSENT and field.new else ""
        return f"argument {name} of forward {'gone' if field.new is ABSENT else f'new{default}'}"
    if kind == "registered":
        return "registered now" if field.new else "hidden from registration now"
    if kind == "trainable":
        return f"{name} {'trained' if field.new else 'frozen'} now"
    if kind == "persistent":
        return f"{name} {'in' if field.new else 'no longer in'} the state dict"
    if kind == "order":
        return f"registered in another order: {cut_end(', '.join(map(str, field.new)), 60)}"
    if kind == "state_dict":
        return "says itself what its state dict is" if field.new else "has an ordinary state dict now"
    field, words = _changed_alone(field, _words_before(kind, name))
    old, new = _told_apart(field, classes, longest - len(words) - len("  → "))
    if kind in ("same_as", "tied"):
        what = "same as" if kind == "same_as" else f"{name} tied to"
        gone, come = field.new is ABSENT, field.old is ABSENT
        return f"{what} {old} no longer" if gone else f"{what} {new} now" if come else f"{what} {old} → {new}"
    return f"{words} {old} → {new}".strip()


def _changed_alone(field: Field, words: str) -> tuple[Field, str]:
    """Of as many outputs as before, those that are others: "dtype of 1 of 4 outputs"."""
    old, new = field.old, field.new
    is_one = field.kind == "output_dtypes" and field.old_under is ABSENT and field.new_under is ABSENT
    if not is_one or not isinstance(old, (list, tuple)) or not isinstance(new, (list, tuple)) or len(old) != len(new):
        return field, words
    places = [place for place, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
    if len(places) == len(old) or not places:
        return field, words
    told = replace(field, old=[old[place] for place in places], new=[new[place] for place in places])
    return told, f"dtype of {len(places)} of {len(old)} outputs"


def _words_before(kind: str, name: str) -> str:
    """What of a module two values are."""
    words = {
        "argument": name,
        "shape": name,
        "class": "",
        "output_dtypes": "dtype of outputs",
        "forward_argument": f"default of forward's {name}",
    }
    return words.get(kind, f"{kind} of {name}" if name else kind)


def _told_apart(field: Field, classes: tuple[str | None, str | None], room: int) -> tuple[str, str]:
    """Both values, with what is there under conditions, in texts that are not the same."""
    if field.kind in ("same_as", "tied"):
        return value_text(field, field.old), value_text(field, field.new)
    sides = (field.old, field.old_under, classes[0]), (field.new, field.new_under, classes[1])
    old, new = (_whole_text(field, value, under, kind) for value, under, kind in sides)
    if old == new:
        old, new = (_exactly(field, value) for value, _, _ in sides)
    if field.kind == "operations" and len(old) + len(new) > room and ABSENT not in (field.old, field.new):
        old, new = _others(field.old, field.new), _others(field.new, field.old)
    return cut_apart(old, new, max(room, 2 * SHORTEST_VALUE))


def _others(words: Mapping[str, int], than: Mapping[str, int]) -> str:
    """Those of them that the other side has not as often; "…" stands for the rest."""
    found = {word: count for word, count in words.items() if than.get(word) != count}
    return f"{_counted(found)}, …" if found else "…"


def _whole_text(field: Field, value: Any, under: Any, class_name: str | None) -> str:
    """ "0 + 1 conditional", "0.5 (default)"."""
    if value is ABSENT and field.kind == "argument":
        default = torch_default(class_name, field.name)
        return f"{default} (default)" if default else "default"
    text = value_text(field, value, None)
    return text if under is ABSENT else f"{text} + {value_text(field, under, None)} conditional"


def _exactly(field: Field, value: Any) -> str:
    """All of a value: where two are not the same, so are these texts."""
    return ", ".join(map(str, value)) if field.kind == "output_dtypes" else str(value)


def value_text(field: Field, value: Any, longest: int | None = LONGEST_VALUE) -> str:
    """A value of a field, in a few characters; all of it where `longest` is None."""
    if value is ABSENT:
        return "default" if field.kind == "argument" else "none"
    text = _uncut(field, value)
    return clean(text) if longest is None else cut(text, longest)


def _uncut(field: Field, value: Any) -> str:
    kind = field.kind
    if kind in ("same_as", "tied"):
        return name_of(str(value))
    if kind == "class":
        return class_title(value)
    if kind in ("shape", "parameter", "buffer"):
        return shape_text(None if value is None else tuple(value))
    if kind == "outputs":
        return ", ".join(shape_text(None if shape is None else tuple(shape)) for shape in value) or "none"
    if kind == "output_dtypes":
        return _counted(Counter(map(str, value)))
    if kind == "operations":
        return _counted(value)
    if kind == "forward_argument":
        return str(value) or "none"
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("$ref", "$repr"):
        text = str(next(iter(value.values())))
        return last_name(text) if "$ref" in value else text
    if isinstance(value, str):
        return value if kind != "argument" else repr(value)
    return repr(value)


def _counted(words: Mapping[str, int]) -> str:
    said = ", ".join(word if count == 1 else f"{count} × {word}" for word, count in words.items())
    return said or "none"
