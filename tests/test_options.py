"""Options of a trace: what they may be, and what is said of the others."""

from __future__ import annotations

import math

import pytest

from modgraph.errors import ConfigError
from modgraph.options import TraceOptions


@pytest.mark.parametrize(
    ("option", "value", "hint"),
    [
        ("device", "tpu", "device is one of 'cpu', 'cuda', 'fake'"),
        ("device", None, "device is one of 'cpu', 'cuda', 'fake'"),
        ("mode", "evaluate", "mode is one of 'eval', 'train'"),
        ("mode", True, "mode is one of 'eval', 'train'"),
        ("backward", "yes", "backward is one of True, False"),
        ("stats", 1, "stats is one of True, False"),
        ("timeout", 0, "timeout is a number of seconds above 0, or None"),
        ("timeout", -1.5, "timeout is a number of seconds above 0, or None"),
        ("timeout", math.inf, "timeout is a number of seconds above 0, or None"),
        ("timeout", math.nan, "timeout is a number of seconds above 0, or None"),
        ("timeout", "3", "timeout is a number of seconds above 0, or None"),
        ("timeout", True, "timeout is a number of seconds above 0, or None"),
        ("memory_limit", 0, "memory_limit is a number of bytes above 0, or None"),
        ("memory_limit", 1.5, "memory_limit is a number of bytes above 0, or None"),
        ("memory_limit", "4G", "memory_limit is a number of bytes above 0, or None"),
    ],
)
def test_a_value_that_an_option_cannot_have_is_named_with_those_it_can(option, value, hint):
    with pytest.raises(ConfigError) as caught:
        TraceOptions(**{option: value})
    assert caught.value.message == f"{option}={value!r} is not possible"
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    "options",
    [{"device": "cuda"}, {"device": "fake"}, {"mode": "train"}, {"backward": True}, {"timeout": 3}, {"timeout": 0.5},
     {"memory_limit": 1}],
)  # fmt: skip
def test_what_they_can_be(options):
    assert TraceOptions(**options).changed() == tuple(options)


def test_the_defaults_are_no_change():
    assert TraceOptions(device="cpu", mode="eval", backward=False, stats=False).changed() == ()
