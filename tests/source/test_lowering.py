"""libcst's trees, lowered to our nodes, say what Python's own parser says."""

from __future__ import annotations

import ast
import importlib.util
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from modgraph.source import kept_trees, nodes
from modgraph.source.code_text import code_text
from modgraph.source.kept_trees import Measures, Piece
from modgraph.source.lowering import lower
from modgraph.source.nesting import Readings

EVERYTHING = """
import a.b as c, d.e
from . import x as y, z
from ..f import *
@decorated(1)
async def f(p, /, q: int = 1, *args: "A", k, l=2, **kw) -> None:
    global g1, g2
    async with a() as b, c: await d
    async for i, *j in k: yield i
    else: pass
    return [u async for u in v if u if not u for w in x]
class C(B, make(*bases, **options), metaclass=M, **options):
    x: int = 3
    y: str
    def m(self):
        nonlocal_ = lambda *, a, b=1, **c: (yield)
        x = y = yield from z
        del a, (b, c[1:2, ..., ::3, *d]), e.f
        while a < b <= c is not None not in d: continue
        else: break
        x += 1; y //= 2; z @= 3; w **= 4; v >>= 5; u |= 6
        if a if b else c: pass
        elif (n := 10) and not -x or ~y: pass
        else:
            if z: pass
        try: raise E from None
        except (A, B) as error: raise
        except C: pass
        else: pass
        finally: pass
        assert x, "message" "more" if 0 else b"" b"" and f"{x!r:>{width}} {{}} {y = } {z:%Y}"
        return {**a, 'b': 1}, {*c, d}, {k: v for k, v in w}, {s for s in t}, (g for g in h), (), (1,), -1 ** 2, 1j, [2.5]
match a:
    case [1, *rest] | (2, _) if x: pass
    case {"a": b, **others}: pass
    case C(1, d=2) as e: pass
    case None | True | d.e | -1: pass
    case [*_]: pass
    case _: pass
"""
LIBRARY = ("ast", "dataclasses", "inspect", "statistics")


def texts() -> Iterator[tuple[str, str]]:
    yield "everything", EVERYTHING
    for name in LIBRARY:
        found = importlib.util.find_spec(name)
        assert found is not None
        assert found.origin is not None
        yield name, Path(found.origin).read_text("utf-8")


CASES = dict(texts())


def outermost(statement: nodes.Node) -> Iterator[nodes.Expression]:
    """The expressions of a tree that stand in no other."""
    for child in statement.children:
        if isinstance(child, nodes.Tuple) and isinstance(statement, nodes.Del) and not child.parenthesised:
            yield from child.elements  # two that are taken away
        elif isinstance(child, nodes.Expression):
            yield child
        else:
            yield from outermost(child)


def outermost_of_python(tree: ast.AST) -> Iterator[ast.expr]:
    if isinstance(tree, ast.MatchSingleton):
        yield ast.Constant(tree.value)
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.expr):
            yield child
        else:
            yield from outermost_of_python(child)


class Loads(ast.NodeTransformer):
    """Whether a name is stored or read is no matter of its text."""

    def visit(self, node: ast.AST) -> ast.AST:
        if hasattr(node, "ctx"):
            node.ctx = ast.Load()
        return super().visit(node)


def dumped(node: ast.AST) -> str:
    return ast.dump(Loads().visit(node))


def read_again(text: str) -> str:
    is_named = ":=" in text and not text.startswith("(")
    tree = ast.parse(f"async def f():\n _ = {f'({text})' if is_named else text}")
    (statement,) = tree.body[0].body  # type: ignore[attr-defined]
    return dumped(statement.value)


@pytest.mark.parametrize("name", CASES)
def test_every_expression_is_that_of_pythons_parser(name: str) -> None:
    text = CASES[name]
    ours = Counter(
        read_again(code_text(each)) for statement in lower(text, False, None) for each in outermost(statement)
    )
    tree = ast.parse(text)
    theirs = Counter(map(dumped, outermost_of_python(tree)))
    assert ours == theirs


@pytest.mark.parametrize("name", CASES)
def test_statements_and_calls_stand_in_the_lines_of_pythons_parser(name: str) -> None:
    text = CASES[name]
    tree = ast.parse(text)
    found = [node for statement in lower(text, False, None) for node in nodes.walk(statement)]
    lines = Counter(node.line + 1 for node in found if isinstance(node, nodes.Statement))
    assert lines == Counter(node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt))
    long = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    assert {node.line + 1 for node in found if isinstance(node, nodes.Call) and node.line is not None} <= long


@pytest.mark.parametrize("name", CASES)
def test_a_piece_is_the_same_after_it_was_kept(name: str) -> None:
    piece = Piece(Measures(1, 2, Readings(3, 4), 5), lower(CASES[name], False, None))
    text = kept_trees._text(piece)
    assert text is not None
    again = kept_trees._decoded(kept_trees.json.loads(text))
    assert again.measures == piece.measures
    assert kept_trees._text(again) == text
    first, second = ([node for each in one.statements for node in nodes.walk(each)] for one in (piece, again))
    assert list(map(type, first)) == list(map(type, second))
    for one, other in zip(first, second, strict=True):
        plain = set(type(one).fields) - set(type(one).nested)
        assert {name: getattr(one, name) for name in plain} == {name: getattr(other, name) for name in plain}
        assert getattr(one, "line", None) == getattr(other, "line", None)
        assert getattr(one, "parenthesised", None) == getattr(other, "parenthesised", None)


def test_every_kind_of_node_is_made() -> None:
    found = {type(node) for each in lower(EVERYTHING, False, None) for node in nodes.walk(each)}
    kinds = {each for each in vars(nodes).values() if isinstance(each, nodes.Kind) and not each.__subclasses__()}
    left = {nodes.OtherExpression, nodes.OtherStatement, nodes.OtherPattern, nodes.Nonlocal}
    assert kinds - found <= left


def test_what_stands_around_an_operator_is_no_part_of_it() -> None:
    texts = ["a or \\\n b", "(a not # why\n in b)", "a *\\\n b", "a or b", "a not in b", "a * b", "a is \\\n not b"]
    for text in [*texts, *texts]:
        (statement,) = lower(f"{text}\n", False, None)
        assert isinstance(statement, nodes.Expr)
        assert read_again(code_text(statement.value)) == read_again(text.replace("\n", "\n "))
    (statement,) = lower("a += \\\n b\n", False, None)
    assert isinstance(statement, nodes.AugAssign)
    assert statement.operator == "+"


def test_a_set_in_an_f_string_is_no_brace() -> None:
    (statement,) = lower('f"{ {1} }"\n', False, None)
    assert isinstance(statement, nodes.Expr)
    assert eval(code_text(statement.value)) == "{1}"
