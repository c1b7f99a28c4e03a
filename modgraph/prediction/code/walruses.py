"""Names that `:=` inside a comprehension binds in the scope around it."""

from __future__ import annotations

from functools import lru_cache

import libcst as cst


@lru_cache(maxsize=1024)  # a comprehension may stand in a loop
def bound_by(node: cst.BaseExpression) -> tuple[str, ...]:
    """Those of an expression, what its comprehensions bind among them."""
    finder = _Finder()
    node.visit(finder)
    return tuple(dict.fromkeys(finder.found))


class _Finder(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:  # noqa: N802 - libcst's name
        if isinstance(node.target, cst.Name):
            self.found.append(node.target.value)

    def visit_Lambda(self, node: cst.Lambda) -> bool:  # noqa: N802
        node.params.visit(self)
        return False
