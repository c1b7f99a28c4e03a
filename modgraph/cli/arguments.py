"""Numbers on the command line: what `argparse` says of one that cannot be used is a sentence of ours."""

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
