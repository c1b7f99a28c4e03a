"""Names that are bound again are told apart, and the function does what it did: Python is the judge."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modgraph.rules.declared.versions import in_versions

NAMES = ("a", "b", "c")
names = st.sampled_from(NAMES)
values = st.one_of(
    st.integers(0, 9).map(str),
    st.tuples(names, names).map(lambda each: f"{each[0]} + {each[1]} + 1"),
    names.map(lambda name: f"sum([{name} for {name} in [{name}, 2]])"),
    st.tuples(names, names).map(lambda each: f"({each[0]} := {each[1]} + 2)"),
)
# fmt: off
simple = st.one_of(
    st.tuples(names, values).map(lambda each: [f"{each[0]} = {each[1]}"]),
    st.tuples(names, values).map(lambda each: [f"{each[0]} += {each[1]}"]),
    st.tuples(names, names, values).map(lambda each: [f"{each[0]}, {each[1]} = {each[2]}, 3"]),
    st.tuples(names, names, names, values).map(lambda each: [f"{each[0]}, ({each[1]}, *{each[2]}) = {each[2]}, ({each[3]}, {each[0]}, 2)", f"{each[2]} = sum({each[2]}) if isinstance({each[2]}, list) else {each[2]}"]),
    st.tuples(names, names).map(lambda each: [f"{each[0]}, held[{each[0]} % 3] = {each[1]}, {each[0]}"]),
    names.map(lambda name: [f"seen.append({name} + sum(held))"]),
)
# fmt: on
leaving = st.sampled_from([["return seen"], ["raise KeyError(a)"]])


def _indented(body: list[list[str]]) -> list[str]:
    return ["    " + line for lines in body for line in lines] or ["    pass"]


def _compound(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    bodies = st.lists(st.one_of(inner, leaving), min_size=1, max_size=3).map(_indented)
    return st.one_of(
        st.tuples(names, bodies, bodies).map(lambda each: [f"if {each[0]} % 2:", *each[1], "else:", *each[2]]),
        st.tuples(names, bodies).map(lambda each: [f"if ({each[0]} := {each[0]} + 1) % 3:", *each[1]]),
        st.tuples(names, bodies).map(lambda each: [f"for {each[0]} in range(3):", *each[1]]),
        st.tuples(bodies, bodies, bodies).map(lambda each: ["try:", *each[0], "except KeyError:", *each[1], "finally:", *each[2]]),
        bodies.map(lambda body: ["with open_():", *body]),
        st.tuples(names, bodies).map(lambda each: [f"match {each[0]} % 2:", "  case 0:", *("  " + line for line in each[1]), "  case d:", "    seen.append(d)"]),
    )  # fmt: skip


programs = st.lists(st.recursive(simple, _compound, max_leaves=6), min_size=1, max_size=6)


class _Open:
    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, *_: object) -> bool:
        return kind is KeyError


def _outcome(node: ast.stmt) -> Any:
    tree = ast.fix_missing_locations(ast.Module([node], type_ignores=[]))
    space: dict[str, Any] = {"open_": _Open}
    exec(compile(ast.unparse(tree).replace("@", "_at_"), "<made>", "exec"), space)
    seen: list[int] = []
    try:
        space["made"](0, 1, 2, seen)
    except KeyError as error:
        return seen, str(error)
    return seen


def _made(lines: list[str]) -> ast.FunctionDef:
    node = ast.parse(
        "\n".join(["def made(a, b, c, seen):", "    held = [0, 0, 0]", *("    " + line for line in lines)])
    ).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


@given(programs)
def test_a_function_does_what_it_did(program: list[list[str]]):
    node = _made([line for lines in program for line in lines] + ["seen.append((a, b, c))"])
    before = ast.dump(node)
    assert _outcome(in_versions(node, node)) == _outcome(node)
    assert ast.dump(node) == before


@pytest.mark.parametrize(
    ("body", "n_names"),
    [
        (["x = 1", "seen.append(x)", "x = 2", "seen.append(x)"], 2),
        (["x = 1", "if a:", "    x = 2", "    seen.append(x)", "seen.append(x)"], 3),
        (["x = 1", "for i in range(2):", "    seen.append(x)", "    x = 2"], 2),
        (["x = 1", "seen.append(x)", "x = 2", "f = lambda: x", "seen.append(x)"], 1),
        (["x = 1", "with open_():", "    x = 2", "    raise KeyError(a)", "seen.append(x)"], 2),
    ],
)
def test_as_many_names_as_the_text_tells_apart(body: list[str], n_names: int):
    made = _made(body)
    node = in_versions(made, made)
    bound = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id.partition("@")[0] == "x"}
    assert len(bound) == n_names


def test_a_function_that_reads_a_name_of_the_file_keeps_it_one():
    tree = ast.parse("x = 1\nx = 2\n\ndef f():\n    return x\n")
    top = ast.FunctionDef(
        "top", ast.arguments([], [], None, [], [], None, []), tree.body[:2], [], lineno=1, col_offset=0
    )
    assert {each.id for each in ast.walk(in_versions(top, tree)) if isinstance(each, ast.Name)} == {"x"}
    assert len({each.id for each in ast.walk(in_versions(top, top)) if isinstance(each, ast.Name)}) == 2
