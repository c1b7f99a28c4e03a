"""What a node of syntax changes, and by which name."""

from __future__ import annotations

import ast

import pytest

from modgraph.source.changed_objects import bound_by, changed_by_method, root_name, stored_in

STATEMENTS = {
    "a.b[0] = 1": {"a"},
    "del a[0].b": {"a"},
    "a[i] += b[j]": {"a"},
    "a.b.append(c.d)": {"a"},
    "(a.b, c[0]), *d.e = f": {"a", "c", "d"},
    "for a.b in c: pass": {"a"},
    "with f() as a[0]: pass": {"a"},
    "f(a.b)[0]": set(),
    "a = b.c": set(),
    "a.get(b)": set(),
    "f().x = 1": set(),
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_names_whose_objects_change(text: str) -> None:
    found = {stored_in(node) or changed_by_method(node) for node in ast.walk(ast.parse(text))} - {None}
    assert {root_name(each) for each in found if each is not None} - {None} == STATEMENTS[text]


def test_names_that_are_bound() -> None:
    tree = ast.parse("a, b.c = d\nfor e in f: (g := h)\ndel i")
    assert {bound_by(node) for node in ast.walk(tree)} - {None} == {"a", "e", "g", "i"}
