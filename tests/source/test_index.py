"""What the index says of a file, for every form of statement it has to know."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modgraph.source.index import read_index


def index_of(source: str):
    return read_index(textwrap.dedent(source))


def test_definitions_have_qualified_names_and_lines_with_decorators():
    index = index_of(
        """
        import functools

        @functools.wraps
        @other
        class Outer(Base, metaclass=Meta):
            class Inner:
                pass

            @property
            def width(self):
                def local():
                    pass
                return 1
        """
    )
    assert list(index.definitions) == [
        "Outer.Inner",
        "Outer.width",
        "Outer",
        "Outer.width.<locals>.local",
    ]
    outer = index.definitions["Outer"]
    assert (outer.first_line, outer.line, outer.body_line, outer.last_line) == (4, 6, 7, 14)
    assert outer.bases == ("Base",)
    assert outer.decorators == ("functools.wraps", "other")
    assert index.definitions["Outer.width"].first_line == 10


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = b = 1", ("a", "b")),
        ("a, (b, *c) = x", ("a", "b", "c")),
        ("a: int = 1", ("a",)),
        ("for i in x:\n    y = i", ("i", "y")),
        ("with x as y: pass", ("y",)),
        ("try:\n    import a\nexcept E as e:\n    b = 1\nfinally:\n    c = 1", ("e", "a", "b", "c")),
        ("if x:\n    def f(): inner = 1\nelse:\n    class C: inner = 1", ("f", "C")),
        ("match x:\n    case {'k': v, **rest}: pass\n    case [a, *b] as c: pass", ("rest", "v", "c", "a", "b")),
        ("print(n := 1)", ("n",)),
        ("import a.b.c, d as e", ("a", "e")),
    ],
)
def test_names_that_a_statement_binds(source, names):
    assert set(read_index(source).names) == set(names)


def test_imports_under_type_checking_bind_nothing_but_are_listed():
    index = index_of(
        """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from .parts import *
            from .parts import Part
        else:
            value = 1
        """
    )
    assert index.names == ("TYPE_CHECKING", "value")
    assert [(item.name, item.level, item.type_checking) for item in index.imports[1:]] == [
        ("*", 1, True),
        ("Part", 1, True),
    ]


def test_statements_that_change_an_object_in_place_belong_to_its_name():
    index = index_of(
        """
        table = {}
        table["a"] = 1
        table.update(b=2)
        table.x.y = 3
        for key in "cd":
            table[key] = 4
        other = table["a"]
        """
    )
    assert [statement.first_line for statement in index.statements["table"]] == [2, 3, 4, 5, 6]


def test_statements_on_one_line_are_one():
    index = read_index("a = 1; b = 2\nc = 3\n")
    assert [(item.names, item.first_line, item.last_line) for item in index.body] == [
        (("a", "b"), 1, 1),
        (("c",), 2, 2),
    ]


@pytest.mark.parametrize(
    ("source", "exported"),
    [
        ("__all__ = ['a'] + ['b']", ("a", "b")),
        ("__all__ = ('a',)\n__all__ += ['b']", ("a", "b")),
        ("__all__ = make()", None),
        ("x = 1", None),
    ],
)
def test_exported_names(source, exported):
    assert read_index(source).exported == exported


def test_syntax_error_is_raised_with_its_line():
    with pytest.raises(SyntaxError) as caught:
        read_index("a = 1\ndef (:\n")
    assert caught.value.lineno == 2


@given(
    st.lists(
        st.sampled_from(["a = 1", "def f():\n    pass", "class C: x = 1", "if a:\n    b = 2", "import m"]), max_size=8
    )
)
def test_statements_cover_all_lines_of_the_module_in_order(parts):
    source = "\n".join(parts)
    index = read_index(source)
    lines = [(item.first_line, item.last_line) for item in index.body]
    assert lines == sorted(lines)
    assert len(index.body) == len(ast.parse(source).body)
