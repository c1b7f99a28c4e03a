"""What paths say, and how many elements a shape has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from modgraph.graph.paths import is_below, is_open_place, parameter_path, relative_path
from modgraph.graph.sizes import elements


@pytest.mark.parametrize(
    ("path", "is_open"), [("?", True), ("heads.?", True), ("heads", False), ("a?", False), ("", False)]
)
def test_open_places(path, is_open):
    assert is_open_place(path) is is_open


def test_the_path_of_a_parameter_of_the_root_is_its_name():
    assert (parameter_path("", "w"), parameter_path("a.b", "w")) == ("w", "a.b.w")


def test_like_blocks_see_their_like_parts_under_the_same_relative_path():
    assert relative_path("blocks.0.fc", "blocks.0.norm") == relative_path("blocks.3.fc", "blocks.3.norm") == (1, "fc")
    assert relative_path("embed", "blocks.0") == (2, "embed")


@pytest.mark.parametrize(
    ("shape", "number"), [((), 1), ((2, 3), 6), ((2, 0), 0), (None, None), ((2, "T"), None), ((None,), None)]
)
def test_elements(shape, number):
    assert elements(shape) == number


class Asked(set[str]):
    """Paths that are looked up, and never gone through."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError


@pytest.mark.parametrize(
    ("path", "below"),
    [("a.b", True), ("a.b.c", True), ("a", False), ("ab.c", False), ("h[0].x", True), ("h[0]", False), ("", False)],
)
def test_below_one_of_many(path, below):
    assert is_below(path, Asked(["a", "h[0]", ""])) is below
