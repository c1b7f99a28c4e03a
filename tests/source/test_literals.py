"""Long tables of data are read without a tree of libcst, and mean what Python makes of them."""

from __future__ import annotations

import ast

import pytest

from modgraph.source.literals import assigned_literal
from modgraph.source.walking import walk

NUMBERS = ", ".join(f"{number}, -{number}.5, 1e{number % 9}" for number in range(500))
TABLES = {
    "a list": f"SIZES = [{NUMBERS}]",
    "indented": f"    SIZES = [{NUMBERS}]",
    "rows": f"SIZES = [\n    [{NUMBERS}],\n    [],\n]",
    "texts": f"SIZES = ['a', \"b\", {NUMBERS}, '\\n', None, True]",
    "a dict of tuples": f"SIZES: dict = {{'x': ({NUMBERS}), 'y': b'z'}}",
    "comments": f"SIZES = [  # the first\n    {NUMBERS},  # true\n]",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES.keys())
def test_long_tables(text: str) -> None:
    found = assigned_literal(text.split("\n"))
    namespace: dict[str, object] = {}
    exec(text.strip(), namespace)
    assert found is not None
    assert found[0] == "SIZES"
    assert repr(found[1]) == repr(namespace["SIZES"])


@pytest.mark.parametrize(
    "value",
    [f"[true, {NUMBERS}]", f"[NaN, {NUMBERS}]", f"[f(), {NUMBERS}]", f"{{1, {NUMBERS}}}", f"[{NUMBERS}] + [1]"],
    ids=["a name of JSON", "another", "a call", "a set", "a sum"],
)
def test_what_is_no_literal_is_left_to_the_interpreter(value: str) -> None:
    assert assigned_literal([f"SIZES = {value}"]) is None


def test_walks_leave_out_nothing_that_holds_a_name() -> None:
    tree = ast.parse("def f(a, *b, c=1):\n    return [x.y[z] + -1 for x in g(a, k=b) if not x or 1 < 2]\n")
    left_out = (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    assert list(walk(tree)) == [node for node in ast.walk(tree) if not isinstance(node, left_out)]
