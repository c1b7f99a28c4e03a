"""Inputs as the user writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modgraph.errors import InputError
from modgraph.source.inputs import DTYPES, parse_input, require_sizes


@pytest.mark.parametrize(
    ("text", "name", "shape", "dtype", "literal"),
    [
        ("1x3x224x224", None, (1, 3, 224, 224), None, None),
        ("x=1x3x224x224", "x", (1, 3, 224, 224), None, None),
        ("ids=1x128:int64", "ids", (1, 128), "int64", None),
        ("mask=1x128:bool", "mask", (1, 128), "bool", None),
        ("ids=1x128:torch.long", "ids", (1, 128), "int64", None),
        ("t=5:int64", "t", (5,), "int64", None),
        ("t=scalar:float32", "t", (), "float32", None),
        ("x=batch x 3 x h x w", "x", ("batch", 3, "h", "w"), None, None),
        ("ids=batch x 128:int64", "ids", ("batch", 128), "int64", None),
        ("batch x 3x224x224", None, ("batch", 3, 224, 224), None, None),
        ("1 x 3 x 224 x 224", None, (1, 3, 224, 224), None, None),
        ("x x 3", None, ("x", 3), None, None),
        ("xs=length:float32", "xs", ("length",), "float32", None),
        ("b×3×h", None, ("b", 3, "h"), None, None),
        ("Bx3x4", None, ("B", 3, 4), None, None),
        ("x=BxCx5x5", "x", ("B", "C", 5, 5), None, None),
        ("Bx3xHxW", None, ("B", 3, "H", "W"), None, None),
        ("batchx3x224x224", None, ("batch", 3, 224, 224), None, None),
        ("x=NXCxHxW:float16", "x", ("N", "C", "H", "W"), "float16", None),
        ("ids=batchxseqlen:int64", "ids", ("batch", "seqlen"), "int64", None),
        ("hxwx3", None, ("h", "w", 3), None, None),
        ("max x 3", None, ("max", 3), None, None),
        ("max2:int64", None, ("max2",), "int64", None),
        ("xs=Box3 x 4", "xs", ("Box3", 4), None, None),
        ("flag=True", "flag", None, None, True),
        ("n=5", "n", None, None, 5),
        ("n=None", "n", None, None, None),
        ("sizes=(2, 3)", "sizes", None, None, (2, 3)),
        ("mode='a=b'", "mode", None, None, "a=b"),
    ],
)
def test_forms(text, name, shape, dtype, literal):
    spec = parse_input(text)
    assert (spec.name, spec.shape, spec.dtype, spec.literal) == (name, shape, dtype, literal)


@pytest.mark.parametrize(
    "text", ["x=1x", "x=axb", "", "x=", "1x3:floot32", "x=foo(1)", "x=1x-3", "batch", "batch x", "if x 3"]
)
def test_what_is_no_input_is_an_error_with_help(text):
    with pytest.raises(InputError) as caught:
        parse_input(text)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("boxesx4", "boxes x 4"),
        ("boxesx4x5", "boxes x 4 x 5"),
        ("x=myBx3x4", "x=myB x 3 x 4"),
        ("Boxx3", "Box x 3"),
        ("OnexTwo", "One x Two"),
    ],
)
def test_names_of_which_it_is_not_plain_where_they_end_are_asked_for_with_spaces(text, meant):
    with pytest.raises(InputError) as caught:
        parse_input(text)
    assert caught.value.hint is not None
    assert caught.value.hint.endswith(f"as in '{meant}'")  # with the quotes that a shell needs


@pytest.mark.parametrize("text", ["mode=exp", "s=text", "axe"])
def test_words_are_no_sizes(text):
    with pytest.raises(InputError, match="is no input"):
        parse_input(text)


@pytest.mark.parametrize(
    "given", [None, 3, (1, 3), b"1x3", "1" + "x1" * 64, "x=" + " x ".join(f"a{i}" for i in range(65))]
)
def test_what_is_no_text_and_no_tensor_of_torchs_is_an_error(given):
    with pytest.raises(InputError, match=r"an input is a text|64 dimensions"):
        parse_input(given)


def test_a_run_takes_no_sizes_that_are_left_open():
    require_sizes([parse_input("1x3"), parse_input("flag=True")])
    with pytest.raises(InputError, match="leaves batch and h open, and a run needs sizes") as caught:
        require_sizes([parse_input("1x3"), parse_input("x=batch x 3 x h x h")])
    assert "--static" in caught.value.hint


def test_a_mistyped_dtype_gets_a_suggestion():
    with pytest.raises(InputError, match="did you mean 'float32'"):
        parse_input("1x3:flaot32")


@given(
    st.lists(st.integers(0, 10**6), min_size=2, max_size=6),
    st.sampled_from(DTYPES),
    st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True),
)
def test_every_shape_and_dtype_is_read_back(shape, dtype, name):
    spec = parse_input(f"{name}={'x'.join(map(str, shape))}:{dtype}")
    assert (spec.name, spec.shape, spec.dtype) == (name, tuple(shape), dtype)


@pytest.mark.parametrize("text", ["x=bxt:int64", "bxt:float32", "x=axb:long"])
def test_a_word_that_may_be_two_sizes_is_not_read_as_one(text: str) -> None:
    with pytest.raises(InputError, match="is not plain") as raised:
        parse_input(text)
    assert raised.value.hint is not None
    assert " x " in raised.value.hint
