"""Numbers and sizes on the command line: what `argparse` says of one that cannot be used is a sentence of ours."""

from __future__ import annotations

import argparse
import math


def above_zero(text: str, otherwise: str) -> float:
    """The number that `text` is, above 0 and finite.

    Raises:
        argparse.ArgumentTypeError: it is none; says `otherwise`.
    """
    try:
        number = float(text)
    except (ValueError, OverflowError):
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(otherwise)
    return number


def count(text: str) -> int:
    """The whole number that `text` is, above 0.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def count_or_none(text: str) -> int:
    """The whole number that `text` is, from 0.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    if text == "0":
        return 0
    try:
        return count(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0") from None


def names(text: str) -> tuple[str, ...]:
    """The words between commas, each once.

    Raises:
        argparse.ArgumentTypeError: there are none.
    """
    found = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not found:
        raise argparse.ArgumentTypeError("it names nothing")
    return found


def seconds(text: str) -> float:
    """A time limit.

    Raises:
        argparse.ArgumentTypeError: it is no number above 0.
    """
    return above_zero(text, f"{text!r} is not a number of seconds above 0")


_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_MAX_SIZE = 2**63
"""Bytes beyond what any system can be asked for."""


def size(text: str) -> int:
    """Bytes of "4G", "512M", "1.5GiB".

    Raises:
        argparse.ArgumentTypeError: it is no such size.
    """
    otherwise = f"{text!r} is not a size such as 512M or 4G"
    number = text.upper().removesuffix("IB").removesuffix("B")
    unit = number[-1:] if number[-1:] in _UNITS else ""
    found = above_zero(number.removesuffix(unit), otherwise) * _UNITS[unit]
    if not 1 <= found < _MAX_SIZE:
        raise argparse.ArgumentTypeError(otherwise)
    return int(found)
