"""Inputs that are arrays of numpy, where the code asks of one what a tensor does not have, or reckons with one and an
array."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from modgraph.inputs.mismatch import names_where_it_failed
from modgraph.inputs.probe import Attempt
from modgraph.inputs.specs import Candidate, Place, Spec, place_name
from modgraph.tracing.basics.failures import said

_OF_ARRAYS = frozenset(
    {
        *("argpartition", "astype", "byteswap", "compress", "copy", "fill", "flat", "partition", "ptp", "searchsorted"),
        *("setflags", "strides", "tobytes", "tofile"),
    }
)
"""Attributes of an array that no tensor has."""
_LACKING = re.compile(r"'\w*(Tensor|Parameter)' object has no attribute '(\w+)'")
_ARRAY_LACKING = re.compile(r"'numpy\.ndarray' object has no attribute")
_WANTED = re.compile(
    r"expected np\.ndarray|'numpy\.ndarray' and '\w*Tensor'|'\w*Tensor' and 'numpy\.ndarray'|"
    r"(must be|expected|should be) (an? )?(np|numpy)[ .]?(nd)?array"
)


def arrays(attempt: Attempt) -> Iterator[Candidate]:
    """Arrays in place of the tensors that failed, or of all; a tensor in place of an array that did."""
    error, text = attempt.outcome.error, said(attempt.outcome.error)
    lacking = _LACKING.search(text)
    if _ARRAY_LACKING.search(text):
        yield from _changed(attempt, _failing(attempt, error), is_array=False)
    if _WANTED.search(text) or (lacking and lacking[2] in _OF_ARRAYS):
        yield from _changed(attempt, _failing(attempt, error), is_array=True)
        yield from _changed(attempt, list(attempt.candidate.tensors()), is_array=True)


def _failing(attempt: Attempt, error: BaseException | None) -> list[Place]:
    """The inputs that are named on the line that failed, or the one that was asked for an attribute."""
    if error is None:
        return []
    given = attempt.outcome.given
    if isinstance(error, AttributeError):
        place = given.get(id(error.obj))
        return [] if place is None else [place]
    return [given[id(value)] for value in names_where_it_failed(error) if id(value) in given]


def _changed(attempt: Attempt, places: list[Place], *, is_array: bool) -> Iterator[Candidate]:
    tensors = attempt.candidate.tensors()
    changes: dict[Place, Spec] = {
        place: replace(tensors[place], is_array=is_array)
        for place in dict.fromkeys(places)
        if place in tensors and tensors[place].is_array is not is_array
    }
    if changes:
        names = ", ".join(map(place_name, changes))
        what = "an array of numpy, as forward uses it" if is_array else "a tensor, as forward uses it"
        yield attempt.candidate.replaced(changes, f"{names}: {what}")
