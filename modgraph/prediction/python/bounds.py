"""How much Python's own functions would make or take, told from their arguments before they run.

Python cannot be stopped in the midst of one of its own functions, so what would be too large, or take too long, is not
begun. The figures are upper bounds: what is refused here might have been small, what is let through is small.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from modgraph.names import last_name
from modgraph.prediction.domain.limits import MAX_LOOP_ITERATIONS, MAX_MATCHING_STEPS, MAX_VALUE_SIZE
from modgraph.prediction.python.matching_steps import compared_characters, matching_steps
from modgraph.source.reached import Reached

_AS_LARGE_AS_ASKED_FOR = frozenset(
    ("factorial", "comb", "perm", "center", "ljust", "rjust", "zfill", "expandtabs", "to_bytes", "bytes", "bytearray")
)
"""Functions whose result a number among the arguments can make as large as one likes."""
_NOT_WALKING = frozenset(("len", "bool", "hash", "repr", "str", "type", "id", "callable"))
"""Functions that do not walk through a range that they are given."""


def too_much(name: str, given: Sequence[Any]) -> str | None:
    """Why the function is not to be called with these values, the receiver of a method first; None where it may be."""
    short = last_name(name)
    if short in _AS_LARGE_AS_ASKED_FOR and any(isinstance(one, int) and one > MAX_VALUE_SIZE for one in given):
        return Reached(f"the result of {name} is larger than {MAX_VALUE_SIZE}")
    if short not in _NOT_WALKING and any(is_long_range(one) for one in given):
        return Reached(f"a loop of more than {MAX_LOOP_ITERATIONS} turns")
    if name.startswith(_SQUARE) and any(isinstance(one, str) and len(one) > MAX_TEXT_WALKED for one in given):
        return Reached(f"{name} of more than {MAX_TEXT_WALKED} characters")
    if _compared(given) > MAX_COMPARED:
        return Reached(f"more than {MAX_COMPARED} comparisons of characters")
    size = _quoted if name == "shlex.join" else _SIZES.get(short)
    if size is not None and size(given) > MAX_VALUE_SIZE:
        return Reached(f"the result of {name} is larger than {MAX_VALUE_SIZE}")
    return None


_SQUARE = ("textwrap.", "inspect.", "shlex.")
"""Modules written in Python, which take a text to pieces one by one, and copy the rest each time."""
MAX_TEXT_WALKED = 20_000
MAX_COMPARED = 2_000_000_000
_FEW = 64
"""Characters that are compared with each of a text in no time."""


def _compared(given: Sequence[Any]) -> int:
    """Comparisons where each character of one text may be compared with each of another, as `strip` and `rfind` do."""
    *_, shorter, longer = (0, 0, *sorted(len(one) for one in given if isinstance(one, str | bytes)))
    return shorter * longer if shorter > _FEW else 0


MOST_LONG_NUMBERS = 500
_LONG_NUMBER = re.compile(r"\d[\w:]{14,}")


def has_many_long_numbers(text: str | bytes) -> bool:
    """So many that, as keys of one dict whose hashes are chosen to be equal, they take much longer than as others."""
    shown = text if isinstance(text, str) else text.decode("latin-1")
    return sum(1 for _ in islice(_LONG_NUMBER.finditer(shown), MOST_LONG_NUMBERS + 1)) > MOST_LONG_NUMBERS


def work(name: str, given: Sequence[Any]) -> int:
    """How long a function that may be called with these takes, in the words of memory that could be made meanwhile."""
    factor = next((factor for module, factor in _SLOW.items() if name.startswith(module)), 1)
    size = _SIZES.get(last_name(name))
    numbers = sum(_bits(one) for one in given if isinstance(one, int))
    if size is not None and name.startswith("math."):
        numbers = max(numbers, size(given))
    texts = sum(text_size(one) for one in given if not isinstance(one, int))
    return texts * factor // 200 + _compared(given) // 200 + int(numbers**1.5) // 2000


_SLOW: Mapping[str, int] = {
    "textwrap.": 500,
    "inspect.": 2000,
    "shlex.": 500,
    "string.": 10,
    "JSON": 100,
    "TOML": 600,
    "YAML": 8000,
}
"""How many times longer than a plain method of str these take for a character."""


def is_long_range(value: Any) -> bool:
    """A range that is not walked through."""
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
    """re.sub(pattern, replacement, text): a replacement between any two characters, in which a group is repeated."""
    _, new, text, *_ = (*given, "", "", "")
    if not isinstance(new, str) or not isinstance(text, str) or len(new) < 2:
        return 0
    return (len(text) + 1) * (len(new) + 1 + new.count("\\"))


def _joined(given: Sequence[Any]) -> int:
    separator, parts = (*given, "", ())[:2]
    texts = [len(part) for part in parts if isinstance(part, str | bytes)] if isinstance(parts, list | tuple) else []
    return sum(texts) + len(separator) * len(texts)


def _formatted(given: Sequence[Any]) -> int:
    return format_size(given[1]) if len(given) > 1 and isinstance(given[1], str) else 0


def _expanded(given: Sequence[Any]) -> int:
    text, width = (*given, 8)[:2]
    return len(text) + text.count("\t") * width if isinstance(text, str | bytes) and isinstance(width, int) else 0  # type: ignore[arg-type]


def _indented(given: Sequence[Any]) -> int:
    text, prefix = (*given, "")[:2]
    known = isinstance(text, str) and isinstance(prefix, str)
    return len(text) + (len(text.splitlines()) + 1) * len(prefix) if known else 0


def _quoted(given: Sequence[Any]) -> int:
    """shlex.join: each quotation mark of a part becomes five characters."""
    parts = given[0] if given and isinstance(given[0], list | tuple) else ()
    return sum(5 * len(part) + 3 for part in parts if isinstance(part, str))


def _capitalised(given: Sequence[Any]) -> int:
    text, separator = (*given, " ")[:2]
    return len(text) * 3 if isinstance(text, str) and isinstance(separator, str) else 0


def _rounded(given: Sequence[Any]) -> int:
    """round(n, -digits) of an integer makes the power of ten, however small n is."""
    number, digits = (*given, 0)[:2]
    return 4 * abs(digits) if isinstance(number, int) and isinstance(digits, int) else 0


def _factorial(given: Sequence[Any]) -> int:
    number = given[0] if given else 0
    return number * _bits(number) if isinstance(number, int) else 0


def _chosen(given: Sequence[Any]) -> int:
    """Bits of math.comb and math.perm: of the product of as many numbers as are chosen."""
    number, chosen = (*given, given[0] if given else 0)[:2]
    if not isinstance(number, int) or not isinstance(chosen, int):
        return 0
    return max(chosen, 0) * _bits(number)


_SIZES: Mapping[str, Callable[[Sequence[Any]], int]] = {
    "pow": _power,
    "prod": _product,
    "lcm": _product,
    "replace": _replaced,
    "translate": _translated,
    "sub": _substituted,
    "join": _joined,
    "format": _formatted,
    "expandtabs": _expanded,
    "indent": _indented,
    "capwords": _capitalised,
    "round": _rounded,
    "factorial": _factorial,
    "comb": _chosen,
    "perm": _chosen,
}


def format_size(text: str) -> int:
    """The largest width or precision that a format spec could ask for."""
    return max((int(digits) if len(digits) < 10 else 10**10 for digits in re.findall(r"\d+", text)), default=0)


def text_size(value: Any) -> int:
    """Characters that `repr(value)` could have at most, but for signs that are written as escapes."""
    if isinstance(value, str | bytes):
        return len(value) + 3
    if isinstance(value, int):
        return value.bit_length() // 3 + 2
    if isinstance(value, dict):
        return 2 + sum(text_size(each) + 2 for pair in value.items() for each in pair)
    if isinstance(value, list | tuple | set):
        return 2 + sum(text_size(each) + 2 for each in value)
    return 50


def template_size(template: str, values: Sequence[Any]) -> int:
    """Characters that `template.format(*values)` or `template % values` could have: a width may itself be a value."""
    values = [part for value in values for part in (value.values() if isinstance(value, dict) else (value,))]
    numbers = [abs(value) for value in values if isinstance(value, int)]
    widths = max(numbers, default=0) if re.search(r"\{[^}]*\{|%[^a-zA-Z%]*\*", template) else 0
    if re.search(r"\{[^}]*\{", template):  # a text may be the format of another value
        texts = [value for value in values if isinstance(value, str)]
        widths = max(widths, *(format_size(text) if len(text) < 100 else MAX_VALUE_SIZE + 1 for text in texts), 0)
    places = template.count("{") + template.count("%")
    longest = max(map(text_size, values), default=0)
    specs = re.findall(r"\{[^{}]*:[^{}]*|%(?:\([^)]*\))?[-#0 +.\d]*", template)
    return len(template) + places * max(widths, longest, *map(format_size, specs), 0)


def too_long_to_match(pattern: Any, text: Any, flags: int = 0) -> bool:
    """Whether matching these is not to be begun."""
    if isinstance(pattern, bytes) or isinstance(text, bytes):
        return True
    if not isinstance(pattern, str) or not isinstance(text, str):
        return too_long_to_compile(pattern)
    return (
        too_long_to_compile(pattern)
        or matching_steps(pattern, text, flags) > MAX_MATCHING_STEPS
        or compared_characters(pattern, text, flags) > MAX_MATCHING_STEPS * _CHARACTERS_OF_A_STEP
    )


def too_long_to_compile(pattern: Any) -> bool:
    """Whether `re` is not to be given this pattern."""
    if not isinstance(pattern, str):
        return isinstance(pattern, bytes)
    repeated = math.prod(int(n) if len(n) < 6 else 10**6 for n in re.findall(r"\{(\d+)", pattern)[:8])
    return (
        repeated * len(pattern) > MAX_PATTERN_SIZE
        or pattern.count("(") > MAX_NESTED_GROUPS
        or pattern.count("[") > MAX_CHARACTER_SETS
    )


def matching_work(pattern: str, text: str, flags: int = 0) -> int:
    """Units of work that a match takes which is begun, compiling the pattern included."""
    sets = pattern.count("[") if "\\" in pattern or not pattern.isascii() else 0
    attempts = min(matching_steps(pattern, text, flags), MAX_MATCHING_STEPS)
    compared = min(compared_characters(pattern, text, flags), MAX_MATCHING_STEPS * _CHARACTERS_OF_A_STEP)
    return len(pattern) + sets * _UNITS_OF_A_SET + max(attempts // 100, compared // 400)


_CHARACTERS_OF_A_STEP = 20
_UNITS_OF_A_SET = 4_000
"""Measured: of the set of all characters."""

MAX_PATTERN_SIZE = 20_000
"""Characters of a pattern, each as often as it is to be repeated: compiling takes more than their number."""

MAX_CHARACTER_SETS = 250
"""Of a pattern: each may be of all characters, which `re` goes through one by one."""

MAX_NESTED_GROUPS = 200
"""Groups of a pattern; `re` itself compiles them one inside the other."""
