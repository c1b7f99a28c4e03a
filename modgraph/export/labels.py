"""The words in a picture: class names, numbers, shapes; cut to size, and not escaped (each format does that)."""

from __future__ import annotations

import unicodedata

from modgraph.graph.model import ParameterInfo, Shape

LONGEST = 28
"""Characters of a name; longer ones are cut in the middle."""


def clean(text: str) -> str:
    """`text` on one line, without control, direction-changing or unpaired characters."""
    kept = []
    for char in text:
        category = unicodedata.category(char)
        if char in "\t\r\n\v\f\u2028\u2029":
            kept.append(" ")
        elif category in ("Cs", "Cn") or ord(char) in (0xFFFE, 0xFFFF):
            kept.append("\ufffd")
        elif category not in ("Cc", "Cf"):
            kept.append(char)
    return "".join(kept)


def cut(text: str, longest: int = LONGEST) -> str:
    """`text` with its middle replaced by "…" where it is longer than `longest` characters."""
    text = clean(text)
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def cut_end(text: str, longest: int) -> str:
    """`text` with its end replaced by "…" where it is longer than `longest` characters."""
    text = clean(text)
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def class_title(class_name: str | None) -> str:
    """A class without its package: "torch.nn.modules.conv.Conv2d" gives "Conv2d"."""
    if not class_name:
        return "unknown class"
    return clean(class_name.rpartition(".")[2]).strip() or "unknown class"


def number_text(number: int, digits: int = 3) -> str:
    """`number` with `digits` significant digits: 9408 gives "9.41 K"; below 1000 as it is."""
    if number < 1000:
        return str(number)
    value = float(number)
    for unit in ("K", "M", "B", "T"):
        value /= 1000
        before = len(str(int(value)))
        if before > 3 and unit != "T":
            continue
        text = f"{value:.{max(0, digits - before)}f}"
        if len(text.partition(".")[0]) > 3 and unit != "T":
            continue
        return f"{text} {unit}"
    raise AssertionError("the last unit takes every number")


def elements(shape: Shape | None) -> int | None:
    """Number of elements; None where a size is not known."""
    if shape is None:
        return None
    total = 1
    for size in shape:
        if not isinstance(size, int):
            return None
        total *= size
    return total


def count_text(parameters: list[ParameterInfo]) -> str:
    """Number of elements of `parameters`, tied ones not counted again; "" for none, "≥" where some are unknown."""
    total, unknown = 0, False
    for parameter in parameters:
        if parameter.alias_of is not None:
            continue
        number = elements(parameter.shape)
        unknown = unknown or number is None
        total += number or 0
    if unknown:
        return f"≥ {number_text(total)}" if total else "?"
    return number_text(total) if total else ""


def shape_text(shape: Shape | None, batch: int | str | None = None) -> str:
    """ "64×56×56", without the first of several sizes where it is the batch; "scalar" for none."""
    if shape is None:
        return "?"
    sizes = shape[1:] if batch is not None and len(shape) > 1 and shape[0] == batch else shape
    return "×".join("?" if size is None else clean(str(size)) for size in sizes) or "scalar"
