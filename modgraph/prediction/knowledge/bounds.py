"""How much Python's own functions would make or take, told from their arguments before they run.

Python cannot be stopped in the midst of one of its own functions, so what would be too large, or take too long, is not
begun. The figures are upper bounds: what is refused here might have been small, what is let through is small.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modgraph.prediction.limits import MAX_LOOP_ITERATIONS, MAX_MATCHING_STEPS, MAX_VALUE_SIZE

_AS_LARGE_AS_ASKED_FOR = frozenset(
    ("factorial", "comb", "perm", "center", "ljust", "rjust", "zfill", "expandtabs", "to_bytes", "bytes", "bytearray")
)
"""Functions whose result a number among the arguments can make as large as one likes."""
_NOT_WALKING = frozenset(("len", "bool", "hash", "repr", "str", "type", "id", "callable"))
"""Functions that do not walk through a range that they are given."""


def too_much(name: str, given: Sequence[Any]) -> str | None:
    """Why the function is not to be called with these values, the receiver of a method first; None where it may be."""
    short = name.rpartition(".")[2]
    if short in _AS_LARGE_AS_ASKED_FOR and any(isinstance(one, int) and one > MAX_VALUE_SIZE for one in given):
        return f"the result of {name} is larger than {MAX_VALUE_SIZE}"
    if short not in _NOT_WALKING and any(_is_long_range(one) for one in given):
        return f"a loop of more than {MAX_LOOP_ITERATIONS} turns"
    size = _SIZES.get(short)
    if size is not None and size(given) > MAX_VALUE_SIZE:
        return f"the result of {name} is larger than {MAX_VALUE_SIZE}"
    return None


def _is_long_range(value: Any) -> bool:
    # Not len(): of more than sys.maxsize numbers it raises.
    return isinstance(value, range) and abs(value.stop - value.start) // abs(value.step) > MAX_LOOP_ITERATIONS


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 1


def _power(given: Sequence[Any]) -> int:
    """Bits of base ** exponent; with a modulus the multiplications instead, each of them as long as the modulus."""
    base, exponent, *modulus = given if len(given) >= 2 else (1, 1)
    if not isinstance(exponent, int) or exponent < 0:
        return 0
    return _bits(exponent) * _bits(modulus[0]) if modulus else _bits(base) * exponent


def _product(given: Sequence[Any]) -> int:
    """Bits of the product of all numbers in the first argument."""
    numbers = given[0] if given and isinstance(given[0], list | tuple | set | range) else given
    return sum(_bits(number) for number in numbers)


def _replaced(given: Sequence[Any]) -> int:
    text, old, new, *_ = (*given, "", "", "")
    if not all(isinstance(part, type(text)) for part in (old, new)) or not isinstance(text, str | bytes):
        return 0
    return len(text) + (text.count(old) if old else len(text) + 1) * len(new)  # type: ignore[arg-type]


def _translated(given: Sequence[Any]) -> int:
    text, table = (*given, "", None)[:2]
    longest = (
        max((len(one) for one in table.values() if isinstance(one, str)), default=1) if isinstance(table, dict) else 1
    )
    return len(text) * longest if isinstance(text, str | bytes) else 0


def _substituted(given: Sequence[Any]) -> int:
    """re.sub(pattern, replacement, text): a replacement between any two characters."""
    _, new, text, *_ = (*given, "", "", "")
    return (len(text) + 1) * (len(new) + 1) if isinstance(new, str) and isinstance(text, str) and len(new) > 1 else 0


def _joined(given: Sequence[Any]) -> int:
    separator, parts = (*given, "", ())[:2]
    texts = [len(part) for part in parts if isinstance(part, str | bytes)] if isinstance(parts, list | tuple) else []
    return sum(texts) + len(separator) * len(texts)


def _formatted(given: Sequence[Any]) -> int:
    return format_size(given[1]) if len(given) > 1 and isinstance(given[1], str) else 0


_SIZES: Mapping[str, Callable[[Sequence[Any]], int]] = {
    "pow": _power,
    "prod": _product,
    "lcm": _product,
    "replace": _replaced,
    "translate": _translated,
    "sub": _substituted,
    "join": _joined,
    "format": _formatted,
}


def format_size(text: str) -> int:
    """The largest width or precision that a format spec could ask for."""
    return max((int(digits) if len(digits) < 10 else 10**10 for digits in re.findall(r"\d+", text)), default=0)


def template_size(template: str, values: Sequence[Any]) -> int:
    """Characters that `template.format(*values)` or `template % values` could have: a width may itself be a value."""
    numbers = [abs(value) for value in values if isinstance(value, int)]
    widths = max(numbers, default=0) if re.search(r"\{[^}]*\{|%[^a-zA-Z%]*\*", template) else 0
    places = template.count("{") + template.count("%")
    longest = max((len(value) for value in values if isinstance(value, str | bytes | list | tuple | dict)), default=0)
    specs = re.findall(r"\{[^{}]*:[^{}]*|%[-#0 +.\d]*", template)
    return len(template) + places * max(widths, longest, *map(format_size, specs), 0)


def matching_steps(pattern: str, text: str) -> int:
    """Steps that matching could take: one repetition looks through the text, each further one through it again for each
    place of the one before; and repetitions inside a repetition can part the text in every way there is."""
    repeats = len(re.findall(r"(?<!\\)(?:\\\\)*[*+{]", pattern))
    length = len(text) + 1
    if re.search(r"(?:[*+}?]|\|)[^()]*\)+(?:[*+{])", pattern):
        return 1 << min(length, 64)
    steps: int = length ** min(repeats + 1, 16)
    return steps


def too_long_to_match(pattern: Any, text: Any) -> bool:
    """Whether matching these is not to be begun."""
    if not isinstance(pattern, str) or not isinstance(text, str):
        return False
    nested = max(len(pattern) - len(pattern.replace("(", "")), 0)
    repeated = math.prod(int(n) if len(n) < 6 else 10**6 for n in re.findall(r"\{(\d+)", pattern)[:8])
    too_large = repeated * len(pattern) > MAX_VALUE_SIZE or nested > MAX_NESTED_GROUPS
    return too_large or matching_steps(pattern, text) > MAX_MATCHING_STEPS


MAX_NESTED_GROUPS = 200
"""Groups of a pattern; `re` itself compiles them one inside the other."""
