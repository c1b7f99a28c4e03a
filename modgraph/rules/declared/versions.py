"""A function in which each name is bound once: `model = wrap(model)` reads one name and binds another.

What follows a function takes its statements in any order. A name that is bound again would be both, before and after.
So each binding in the straight line of a function gets a name of its own, and where two arms of an `if` meet, one that
is either. Within loops, `try` and `with`, where a statement may come before and after any other, a name stays one.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Sequence

from modgraph.rules.declared.functions import FUNCTIONS, inside, locals_of, parameters_of

Plain = ast.FunctionDef | ast.AsyncFunctionDef
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_MARK = "@"
"""Between a name and its number: no name that is written holds it."""


def in_versions(node: Plain, around: ast.AST) -> Plain:
    """A copy of a function in which names that are bound more than once are told apart; places in the text are kept.

    Args:
        node: The function.
        around: What holds the functions that may read its names: the file where it is its top, else the function.
    """
    names = _apart(node, around)
    found = copy.deepcopy(node)
    if names:
        versions = _Versions(names)
        found.body = versions.block(found.body, {name: name for name in names})
    return found


def _apart(node: Plain, around: ast.AST) -> frozenset[str]:
    """Names that are bound more than once, and that no function inside reads."""
    names = (each for each in inside(node) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load))
    bound = Counter(each.id for each in names) + Counter(parameters_of(node))
    twice = {name for name, times in bound.items() if times > 1}
    for each in ast.walk(around):
        if isinstance(each, (*FUNCTIONS, ast.Lambda)) and each is not node:
            known = locals_of(each)
            twice -= {below.id for below in ast.walk(each) if isinstance(below, ast.Name)} - known
        elif isinstance(each, ast.ClassDef):
            twice -= {below.id for below in ast.walk(each) if isinstance(below, ast.Name)}
        elif isinstance(each, (ast.Global, ast.Nonlocal)):
            twice -= set(each.names)
        elif isinstance(each, (ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.ExceptHandler, ast.alias)):
            twice -= _bound_as_text(each)
    return frozenset(twice)


def _bound_as_text(node: ast.AST) -> set[str]:
    """Names that stand in a node as text: these are left as they are."""
    found = {getattr(node, "name", None), getattr(node, "asname", None), getattr(node, "rest", None)}
    return {name.partition(".")[0] for name in found if isinstance(name, str)}


class _Versions:
    """The statements of a function, in their order."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.n_made = 0

    def block(self, body: Sequence[ast.stmt], now: dict[str, str]) -> list[ast.stmt]:
        """The statements under their new names; `now` becomes what the names are after them."""
        return [each for node in body for each in self._statement(node, now)]

    def _statement(self, node: ast.stmt, now: dict[str, str]) -> Iterator[ast.stmt]:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            _rename(node.value, now)
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from self._bind(target, now)
            yield node
        elif isinstance(node, ast.If):
            yield from self._loosely([node.test], now)
            arms = [node.body, node.orelse]
            self._arms(arms, now)
            node.body, node.orelse = arms
            yield node
        else:
            yield from self._loosely([node], now)
            yield node

    def _bind(self, target: ast.expr, now: dict[str, str]) -> Iterator[ast.stmt]:
        """What an assignment binds, after its value and from left to right."""
        if isinstance(target, ast.Name):
            if target.id in self.names:
                now[target.id] = target.id = self._new(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                yield from self._bind(each, now)
        elif isinstance(target, ast.Starred):
            yield from self._bind(target.value, now)
        else:
            yield from self._loosely([target], now)

    def _arms(self, arms: list[list[ast.stmt]], now: dict[str, str]) -> None:
        """Each on its own; what a name is behind them is what it is at the end of any."""
        ends: list[dict[str, str]] = []
        for at, body in enumerate(arms):
            end = dict(now)
            arms[at] = self.block(body, end)
            ends.append(end)
        for name in sorted(self.names):
            if len({end[name] for end in ends}) == 1:
                now[name] = ends[0][name]
                continue
            now[name] = self._new(name)
            for at, body in enumerate(arms):
                if not (body and isinstance(body[-1], _LEAVING)):
                    arms[at] = [*body, _copied(now[name], ends[at][name], body)]

    def _loosely(self, nodes: Sequence[ast.AST], now: dict[str, str]) -> Iterator[ast.stmt]:
        """Nodes in which the order is not known: a name that one of them binds is one name in all, and before them."""
        bound = {
            each.id
            for node in nodes
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load) and each.id in self.names
        }
        for name in sorted(bound):
            before, now[name] = now[name], self._new(name)
            yield _copied(now[name], before, nodes)
        for node in nodes:
            _rename(node, now)

    def _new(self, name: str) -> str:
        self.n_made += 1
        return f"{name.partition(_MARK)[0]}{_MARK}{self.n_made}"


def _rename(node: ast.AST, now: dict[str, str]) -> None:
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id in now:
            each.id = now[each.id]


def _copied(name: str, of: str, beside: Sequence[ast.AST]) -> ast.stmt:
    """`name = of`, where neither stands in the text."""
    made = ast.Assign(targets=[ast.Name(name, ast.Store())], value=ast.Name(of, ast.Load()))
    place = next((each for each in beside if hasattr(each, "lineno")), None)
    for each in ast.walk(made):
        each.lineno = getattr(place, "lineno", 1)  # type: ignore[attr-defined]
        each.col_offset = getattr(place, "col_offset", 0)  # type: ignore[attr-defined]
    return made
