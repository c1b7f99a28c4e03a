"""What the metadata of an ONNX file of modgraph says, read as what it should be: any other value counts as not said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from modgraph.doors.data import read_json
from modgraph.graph.model import Problem, Shape, SourceLocation, Stage
from modgraph.graph.onnx_amount import MAX_DIMENSIONS, Amount

MAX_NAMED = 3
"""Calls that a problem names."""
MAX_DIGITS = 18
"""Of a number: no size and no line has more."""


def mapping(text: str | None) -> dict[str, Any]:
    try:
        found = read_json(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def texts(text: str | None) -> dict[str, str | None]:
    """A mapping to texts; what is none counts as not known."""
    return {key: value if isinstance(value, str) else None for key, value in mapping(text).items()}


def list_of(text: str | None) -> list[str]:
    try:
        found = read_json(text or "[]")
    except ValueError:
        return []
    return [entry for entry in found if isinstance(entry, str)] if isinstance(found, list) else []


def shape_of(text: str) -> Shape | None:
    """ "float32[64, 3]" as sizes."""
    found = re.fullmatch(r"\w*\[([\d, ]*)\]", text)
    if found is None or found[1].count(",") >= MAX_DIMENSIONS:
        return None
    sizes = [size.strip() for size in found[1].split(",") if size.strip()]
    if any(len(size) > MAX_DIGITS or not size.isdecimal() for size in sizes):
        return None
    return tuple(map(int, sizes))


def number_of(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else None


def place_of(text: str | None) -> SourceLocation | None:
    file, _, line = (text or "").rpartition(":")
    number = number_of(line)
    return SourceLocation(file, number) if file and number is not None else None


def mode_of(facts: Mapping[str, str]) -> Any:
    mode = facts.get("modgraph.mode")
    return mode if mode in ("eval", "train") else None


def losses(facts: Mapping[str, str], loose: Sequence[str], amount: Amount) -> list[Problem]:
    """What a file says that it lacks, and `loose`, the calls whose place in the dataflow it does not tell."""
    found, said = [], list_of(facts.get("modgraph.problems"))
    amount.add_nodes(len(said))
    for text in said:
        stage, _, message = text.partition(": ")
        found += [Problem(stage=known, message=message) for known in get_args(Stage) if known == stage]
    left_out = facts.get("modgraph.edges_left_out", "")
    lacking = []
    if left_out.isdecimal() and len(left_out) < 10:
        lacking.append(f"the ONNX file leaves out {left_out} edges, which run backwards between calls that interleave")
    if facts.get("modgraph.tier") == "B":
        lacking.append("the ONNX file is flat: it does not say what the calls of modules take and give")
    if loose:
        named = ", ".join(loose[:MAX_NAMED]) + (", ..." if len(loose) > MAX_NAMED else "")
        count = "a call" if len(loose) == 1 else f"{len(loose)} calls"
        lacking.append(f"the ONNX file does not say where in the dataflow {count} without operators stood: {named}")
    return [*found, *(Problem(stage="export", message=message) for message in lacking)]
