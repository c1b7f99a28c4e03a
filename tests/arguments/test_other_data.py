"""A data file with other values has the same keys, and no value that it had."""

from __future__ import annotations

import json

import pytest

from modgraph.arguments.other_data import other_text, other_values

VALUES = {"a": 1, "b-2": -2, "c": 0.5, "d": "relu", "e": True, "f": [1, 20, "x y"], "g": {"1": "2", "h": 1e-3}, "n": 9}


def leaves(held, keys=()):
    if isinstance(held, dict | list):
        for key, each in held.items() if isinstance(held, dict) else enumerate(held):
            yield from leaves(each, (*keys, key))
    else:
        yield keys, held


def all_other(old, new):
    old, new = dict(leaves(old)), dict(leaves(new))
    return old.keys() == new.keys() and all(old[key] != new[key] and type(old[key]) is type(new[key]) for key in old)


def test_values_and_json():
    assert all_other(VALUES, other_values(VALUES))
    for indent in (None, 2):
        assert all_other(VALUES, json.loads(other_text("a.json", json.dumps(VALUES, indent=indent))))


TOML = """\
# 3 words
a = 1
"b c" = 'x'
d = ["x", 2, 3.5]

[part.one]
e = true # false
f = 1e3
"""


def test_toml():
    tomllib = pytest.importorskip("tomllib")
    assert all_other(tomllib.loads(TOML), tomllib.loads(other_text("a.toml", TOML)))


YAML = """\
# 3 words
a: 1
b: relu  # as it was
c: [one, two, 3]
d:
  - x
  - e: 0.5
    f: 'no'
1: true
g: {h: word, i: 2}
"""


def test_yaml():
    yaml = pytest.importorskip("yaml")
    assert all_other(yaml.safe_load(YAML), yaml.safe_load(other_text("a.yaml", YAML)))
