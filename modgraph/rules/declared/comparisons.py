"""Texts with which names of parts of a model are compared: `"norm" in name`, `model.get_submodule("head")`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from modgraph.rules.declared.constants import Held
from modgraph.rules.declared.declarations import Declaration, strings
from modgraph.rules.declared.table import GETTING, NAMING, Declared, Names
from modgraph.source.dotted_names import dotted

Holding = Callable[[ast.expr], Held]
"""What an expression certainly holds."""
_TESTS = {"startswith": r"^{}", "endswith": r"{}$"}
_REGULAR = {"re.search": "{}", "re.match": "^(?:{})", "re.fullmatch": "^(?:{})$"}
_SMALL = frozenset(("lower", "upper", "casefold"))
_ANY_CASE = "(?i:{})"
"""Of a name in small letters: which letters it has is not held against the tree."""


def tests(nodes: Sequence[ast.AST], held: Holding) -> Iterator[tuple[Declaration, ast.expr]]:
    """Texts with which the names of `model.named_parameters()` are compared, or by which it is asked for a part; and
    that model."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GETTING:
            name, declared = f"{node.func.attr}()", Declared(Names.PLAN)
            for path, text, of in _texts(node.args[0], held) if len(node.args) == 1 else ():
                yield Declaration(name, declared, text, path, variables=of.variables), node.func.value
        loops = [node] if isinstance(node, ast.For) else list(getattr(node, "generators", ()))
        for loop in loops:
            over, target = loop.iter, loop.target
            if not (isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and over.func.attr in NAMING):
                continue
            is_renamed = over.args or any(each.arg == "prefix" for each in over.keywords)
            if is_renamed or not (isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name)):
                continue
            if _is_bound_again(node, target.elts[0].id):
                continue
            for each, pattern, of in _compared(node, target.elts[0].id, held):
                name, declared = f"{over.func.attr}()", Declared(Names.TEXT)
                yield Declaration(name, declared, pattern, each, variables=of.variables), over.func.value


def _is_bound_again(node: ast.AST, name: str) -> bool:
    """Something in a loop binds its name anew, or is another of that name."""
    bound = [each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
    taken = [each for each in ast.walk(node) if isinstance(each, ast.arg) and each.arg == name]
    return sum(each.id == name for each in bound) > 1 or bool(taken)


Compared = tuple[ast.Constant, str, Held]


def _compared(node: ast.AST, name: str, held: Holding) -> Iterator[Compared]:
    """Texts that are looked for in a name, each as a regular expression."""
    for each in ast.walk(node):
        if isinstance(each, ast.Compare) and len(each.ops) == 1 and isinstance(each.ops[0], (ast.In, ast.NotIn)):
            yield from _as_patterns(each.comparators[0], name, [each.left], held, "{}")
        elif isinstance(each, (ast.GeneratorExp, ast.ListComp)) and isinstance(each.elt, ast.Compare):
            yield from _of_any(each, name, held)
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.args:
            function, first = each.func, each.args[0]
            if function.attr in _TESTS and len(each.args) == 1:
                yield from _as_patterns(function.value, name, [first], held, _TESTS[function.attr])
            elif dotted(function) in _REGULAR and len(each.args) == 2 and not each.keywords:
                form = _REGULAR[f"re.{function.attr}"] if getattr(each.args[1], "id", None) == name else None
                if form is None:
                    continue
                yield from ((node, form.format(text), of) for node, text, of in _texts(first, held))


def _as_patterns(where: ast.expr, name: str, parts: Sequence[ast.expr], held: Holding, form: str) -> Iterator[Compared]:
    """Texts that are looked for in a name, or in one in small letters."""
    if isinstance(where, ast.Call) and isinstance(where.func, ast.Attribute) and where.func.attr in _SMALL:
        where, form = where.func.value, form.replace("{}", _ANY_CASE)
    if isinstance(where, ast.Name) and where.id == name:
        for part in parts:
            yield from ((node, form.format(re.escape(text)), of) for node, text, of in _texts(part, held))


def _of_any(node: ast.GeneratorExp | ast.ListComp, name: str, held: Holding) -> Iterator[Compared]:
    """`any(text in name for text in [...])`."""
    loop, test = node.generators[0], node.elt
    assert isinstance(test, ast.Compare)
    is_it = isinstance(test.left, ast.Name) and getattr(loop.target, "id", None) == test.left.id
    if len(node.generators) == 1 and len(test.ops) == 1 and is_it and isinstance(test.ops[0], ast.In):
        of = held(loop.iter)
        for part, is_dict in strings(of.node, False):
            if is_dict:
                return
            for text, pattern, _ in _as_patterns(test.comparators[0], name, [part], held, "{}"):
                yield text, pattern, of


def _texts(node: ast.expr, held: Holding) -> Iterator[tuple[ast.Constant, str, Held]]:
    """The text that stands there; of a test of beginnings or ends, several."""
    of = held(node)
    for each in of.node.elts if isinstance(of.node, ast.Tuple) else [of.node]:
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value:
            yield each, each.value, of
