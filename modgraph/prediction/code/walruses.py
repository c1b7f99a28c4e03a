"""Names that `:=` inside a comprehension binds in the scope around it."""

from __future__ import annotations

from functools import lru_cache

from modgraph.source import nodes


@lru_cache(maxsize=1024)  # a comprehension may stand in a loop
def bound_by(node: nodes.Expression) -> tuple[str, ...]:
    """Those of an expression, what its comprehensions bind among them."""
    finder = _Finder()
    finder.visit(node)
    return tuple(dict.fromkeys(finder.found))


class _Finder(nodes.Visitor):
    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_NamedExpr(self, node: nodes.NamedExpr) -> None:  # noqa: N802 - after the kind of node
        if isinstance(node.target, nodes.Name):
            self.found.append(node.target.value)

    def visit_Lambda(self, node: nodes.Lambda) -> bool:  # noqa: N802
        self.visit(node.params)
        return False
