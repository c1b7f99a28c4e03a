"""One fact that a change changed, in words: "p 0.1 → 0.2", "ReLU → GELU", "weight frozen now"."""

from __future__ import annotations

from typing import Any

from modgraph.changes.model import ABSENT, Field
from modgraph.export.look.labels import class_title, clean, cut, cut_end, shape_text
from modgraph.names import last_name

LONGEST_VALUE = 40


def name_of(path: str) -> str:
    """A path for people: the root has none."""
    return clean(path) or "the model"


def field_text(field: Field) -> str:
    """One fact: "p 0.1 → 0.2", "ReLU → GELU", "weight frozen"."""
    kind, name = field.kind, clean(field.name)
    old, new = value_text(field, field.old), value_text(field, field.new)
    if kind == "class":
        same = class_title(field.old) == class_title(field.new)
        return f"{field.old} → {field.new}" if same else f"{class_title(field.old)} → {class_title(field.new)}"
    if kind in ("parameter", "buffer") and ABSENT in (field.old, field.new):
        return f"{kind} {name} {'gone' if field.new is ABSENT else 'new'}"
    if kind == "forward_argument" and ABSENT in (field.old, field.new):
        default = f" (default {new})" if field.new else ""
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
    if kind in ("same_as", "tied"):
        what = "same as" if kind == "same_as" else f"{name} tied to"
        gone, come = field.new is ABSENT, field.old is ABSENT
        return f"{what} {old} no longer" if gone else f"{what} {new} now" if come else f"{what} {old} → {new}"
    words = {
        "argument": name,
        "shape": name,
        "output_dtypes": "dtype of outputs",
        "forward_argument": f"default of forward's {name}",
    }.get(kind, f"{kind} of {name}" if name else kind)
    old, new = _with_under(field, old, field.old_under), _with_under(field, new, field.new_under)
    return f"{words} {old} → {new}"


def _with_under(field: Field, text: str, under: Any) -> str:
    """ "0 (1 under a condition)"."""
    return text if under is ABSENT else f"{text} ({value_text(field, under)} under a condition)"


def value_text(field: Field, value: Any) -> str:
    """A value of a field, in a few characters."""
    if value is ABSENT:
        return "default" if field.kind == "argument" else "none"
    if field.kind == "forward_argument":
        return cut(value, LONGEST_VALUE) or "none"
    if field.kind in ("same_as", "tied"):
        return name_of(str(value))
    if field.kind in ("shape", "parameter", "buffer"):
        return shape_text(None if value is None else tuple(value))
    if field.kind == "outputs":
        return ", ".join(shape_text(None if shape is None else tuple(shape)) for shape in value) or "none"
    if field.kind == "output_dtypes":
        return cut_end(", ".join(dict.fromkeys(str(dtype) for dtype in value)), 60) or "none"
    if field.kind == "operations":
        return _counted(value)
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in ("$ref", "$repr"):
        text = str(next(iter(value.values())))
        return cut(last_name(text) if "$ref" in value else text, LONGEST_VALUE)
    if isinstance(value, str):
        return cut(value if field.kind != "argument" else repr(value), LONGEST_VALUE)
    return cut(repr(value), LONGEST_VALUE)


def _counted(words: dict[str, int]) -> str:
    said = ", ".join(word if count == 1 else f"{count} × {word}" for word, count in words.items())
    return cut_end(said, 60) or "none"
