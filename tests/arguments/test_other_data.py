"""A data file with other values has the same keys, and no value that it had."""

from __future__ import annotations

import json
from itertools import product

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
    return old.keys() == new.keys() and all(
        type(old[key]) is type(new[key]) and (old[key] != new[key] or old[key] is None) for key in old
    )


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


SCALARS = [
    *(
        "gelu",
        " gelu",
        "/m/x",
        "foo bar",
        "16x",
        "a#b",
        "it's",
        "-5",
        "+3",
        "x/y.z",
        "~x",
        "a b  # note",
        "é\U0001f600",
    ),
    *(".5", "1.", "-.5", "1_000", "0x1F", "0b11", "010", "08", "0o17", "1:30", "685_230.15", "9" * 30, "0", "-1"),
    *("1e-3", "1.5e-3", "1e+20", "1.0e+300", ".inf", "-.inf", ".nan", "!!float 1e-4", "!!str 3", '!!int "3"'),
    *("yes", "No", "ON", "true", "y", "null", "~", "2001-01-01", "2002-1-1", "2001-12-14 21:59:43", "00:00"),
    *('"q\\n"', "'a'", "''", '"16"', '"true"', '"\\u0085"', '"- a"', '"a: b"', '"%a"', '"@b"', '"\\t"', "'#'"),
    *(
        "|\n      a\n      b",
        ">-\n      x\n      y",
        "foo\n      bar",
        "[1, two, {x: .5}]",
        "\n    - a\n    - b",
        "&n b",
        "[]",
    ),
]
PLACES = [
    "a: {}\n",
    "a:\n    b: {}\n",
    "- {}\n",
    "1: {}\ntrue: x\n",
    "? [k, l]\n: {}\n",
    "k: &k w\n*k : {}\n",
    "a: {}\n# b: 3\n",
]


@pytest.mark.parametrize("loader", ["SafeLoader", "BaseLoader"])
@pytest.mark.parametrize("value", SCALARS)
def test_each_value_of_yaml_is_another_one_of_its_type(value, loader):
    yaml = pytest.importorskip("yaml")
    read = getattr(yaml, loader)
    for place, ends in product(PLACES, ("\n", "\r\n")):
        text = place.format(value).replace("\n", ends)
        try:
            before = yaml.load(text, Loader=read)
        except yaml.constructor.ConstructorError:
            continue  # a list as a key
        if any(each == "" for _, each in leaves(before)) and loader == "BaseLoader":
            continue  # nothing, which other loaders take for None
        after = yaml.load(other_text("a.yaml", text), Loader=read)
        if loader == "BaseLoader" and value in ("null", "~"):
            assert dict(leaves(after)).keys() == dict(leaves(before)).keys()
        else:
            assert all_other(before, after), (text, other_text("a.yaml", text))


@pytest.mark.parametrize(
    "text", ["a: [1\n", "a: *b\n", "\ta: 1\n", "{" * 501, "a: !b c\n", "a: ${b.c}\n", "", "a: " + "9" * 5_000]
)
def test_yaml_that_is_not_read_stays(text):
    pytest.importorskip("yaml")
    assert other_text("a.yaml", text).strip() == text.strip()


@pytest.mark.parametrize(
    "value", [0, -1, 10**30, 0.5, 1e300, float("inf"), True, None, "", "16", "1e-3", "é\U0001f600", '"\\\n', [[]], {}]
)
def test_each_value_of_json_and_toml_is_another_one(value):
    held = {"a": value, "b.c": {"d e": [value, {"f": value}]}, "": {"g": value}}
    assert all_other(held, json.loads(other_text("a.json", json.dumps(held))))
    tomllib = pytest.importorskip("tomllib")
    if value is None:
        return
    written = {True: "true"}.get(value if value is True else None) or json.dumps(value, ensure_ascii=False)
    written = {"Infinity": "inf", "{}": "{ x.y = 1 }"}.get(written, written)
    text = f'a = {written}\nb.c = 2000-01-31\n[[d]]\n"" = [{written}, 01:59:00]\n[d."e f"]\ng = 1979-05-27T07:32:00Z\n'
    assert all_other(tomllib.loads(text), tomllib.loads(other_text("a.toml", text)))


@pytest.mark.parametrize(
    ("file", "text"), [("a.json", "{"), ("a.json", "[" * 5_000), ("a.toml", "a"), ("a.json", "9" * 5_000)]
)
def test_what_is_not_read_stays(file, text):
    assert other_text(file, text) == text
