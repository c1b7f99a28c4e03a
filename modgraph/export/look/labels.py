"""The words in a picture: class names, numbers, shapes; cut to size, and not escaped (each format does that)."""

from __future__ import annotations

from collections import Counter

from modgraph.doors.printing import clean as clean
from modgraph.graph.model import Graph, ParameterInfo, Shape
from modgraph.graph.sizes import elements
from modgraph.names import last_name

LONGEST = 28
"""Characters of a name; longer ones are cut in the middle."""


_REACH = 8
"""So many times the wanted length is looked at, as cleaning may shorten it; names can be tens of thousands long."""


def cut(text: str, longest: int = LONGEST) -> str:
    """`text` with its middle replaced by "…" where it is longer than `longest` characters."""
    reach = _REACH * longest
    text = clean(text if len(text) <= 2 * reach else text[:reach] + text[-reach:])
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def cut_end(text: str, longest: int) -> str:
    """`text` with its end replaced by "…" where it is longer than `longest` characters."""
    text = clean(text[: _REACH * longest])
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def cut_apart(one: str, other: str, room: int) -> tuple[str, str]:
    """Two texts within `room` characters together, each cut so that the first place where they differ stays."""
    one, other = clean(one), clean(other)
    if len(one) + len(other) <= room:
        return one, other
    half = room // 2
    longest = room - len(other) if len(other) < half else half, room - len(one) if len(one) < half else half
    pairs = enumerate(zip(one, other, strict=False))
    at = next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))
    return _cut_at(one, max(longest[0], 8), at), _cut_at(other, max(longest[1], 8), at)


def _cut_at(text: str, longest: int, at: int) -> str:
    """`text` within `longest` characters, with what stands at `at`; its beginning too, where there is room."""
    if len(text) <= longest:
        return text
    if at < longest * 2 // 3:
        return f"{text[: longest - 1].rstrip()}…"
    head = text[: longest // 3]
    rest = longest - len(head) - 1
    start = min(max(at - rest // 4, len(head)), len(text) - rest)
    return f"{head}…{text[start:]}" if start + rest >= len(text) else f"{head}…{text[start : start + rest - 1]}…"


def class_title(class_name: str | None, unknown: str = "unknown class") -> str:
    """A class without its package: "torch.nn.modules.conv.Conv2d" gives "Conv2d"."""
    if class_name == "NoneType":
        return "None"
    return clean(last_name(class_name or "")).strip() or unknown


def member_range(first: str, last: str) -> str:
    """A row of siblings by their paths: "layer1.0 – 5", "layer_0 – 5", "blocks[0 – 5]"; one name for one."""
    if first == last:
        return first
    end = "]" if first.endswith("]") and last.endswith("]") else ""
    start = first.removesuffix(end)
    stem = start.rstrip("0123456789")
    number = last.removesuffix(end).removeprefix(stem)
    if stem != start and number.isdecimal():
        return f"{start} – {number}{end}"
    home, _, name = last.rpartition(".")
    return f"{first} – {name if home and first.startswith(f'{home}.') else last}"


def usual_dtype(graph: Graph) -> str | None:
    """The one that is not worth a word: that of most parameters, else of the first floating-point tensor."""
    dtypes = Counter(held.dtype for node in graph.modules for held in node.parameters if held.dtype is not None)
    if dtypes:
        return dtypes.most_common(1)[0][0]
    return next((edge.tensor.dtype for edge in graph.edges if "float" in (edge.tensor.dtype or "")), None)


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


def count_text(parameters: list[ParameterInfo], unknown: bool = False) -> str:
    """Number of elements of `parameters`, tied ones not counted again: "tied" where there are no others, "" for none.
    "≥" where some are unknown.

    `unknown`: there may be more parameters than these.
    """
    total = 0
    for parameter in parameters:
        if parameter.alias_of is not None:
            continue
        number = elements(parameter.shape)
        unknown = unknown or number is None
        total += number or 0
    if unknown:
        return f"≥ {number_text(total)}" if total else "?"
    if total:
        return number_text(total)
    return "tied" if any(parameter.alias_of is not None for parameter in parameters) else ""


def shape_text(shape: Shape | None, batch: int | str | None = None) -> str:
    """ "64×56×56", without the first of several sizes where it is the batch; "scalar" for none."""
    if shape is None:
        return "?"
    sizes = shape[1:] if batch is not None and len(shape) > 1 and shape[0] == batch else shape
    return "×".join(map(_size_text, sizes)) or "scalar"


def drawn_shape(shape: Shape | None, batch: int | str | None = None) -> str:
    """The shape as it stands in a picture by itself: "1 value", as a bare 1 would say nothing."""
    text = shape_text(shape, batch)
    return "1 value" if text == "1" else text


def _size_text(size: int | str | None) -> str:
    """ "?" for one that is not known, "(h-2)" for one that is computed of an open one."""
    if size is None:
        return "?"
    text = clean(str(size))
    return f"({text.replace(' ', '')})" if any(sign in text for sign in "+-*/%") else text
