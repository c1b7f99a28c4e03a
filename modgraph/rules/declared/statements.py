"""What a statement does."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from modgraph.rules.declared.expressions import Expressions
from modgraph.rules.declared.functions import (
    FUNCTIONS,
    owner_of,
    parameters_of,
)
from modgraph.rules.declared.known_functions import (
    REGISTRIES,
)
from modgraph.rules.declared.sources import assigned
from modgraph.rules.declared.values import (
    ANY,
    DATA,
    NOTHING,
    NUMBER,
    NUMBERS,
    ONLY_NONE,
    ONLY_OPEN,
    Box,
    Frame,
    Made,
    Values,
)


class Statements(Expressions):
    """Assignments, loops, imports."""

    def execute(self, body: Iterable[ast.stmt], frame: Frame) -> None:
        for node in body:
            self._statement(node, frame)

    def _statement(self, node: ast.stmt, frame: Frame) -> None:
        if isinstance(node, FUNCTIONS):
            code = self.code_at(frame.code.file, node, frame.code.owner, frame)
            self.put(frame.names, node.name, frozenset([code]))
        elif isinstance(node, ast.ClassDef):
            self.put(frame.names, node.name, ONLY_OPEN)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._import(node, frame)
        elif isinstance(node, ast.Return):
            self.give_back(frame, self.value(node.value, frame) if node.value is not None else ONLY_NONE)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.loop(node.target, node.iter, frame)
            self.execute((*node.body, *node.orelse), frame)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                values = self.value(item.context_expr, frame)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, values, frame)
            self.execute(node.body, frame)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            for target, value in assigned(node):
                values = NOTHING if value is None else self.value(value, frame)
                if isinstance(node, ast.AugAssign):
                    self.add_to(target, values, [NUMBERS] if isinstance(node.op, ast.Add) else [ANY], frame)
                else:
                    self.assign(target, values, frame)
        else:
            self._compound(node, frame)

    def _compound(self, node: ast.AST, frame: Frame) -> None:
        """What is in a statement of another kind, in the order of the text."""
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.stmt):
                self._statement(each, frame)
            elif isinstance(each, ast.expr):
                self.value(each, frame)
            elif isinstance(each, (ast.ExceptHandler, ast.match_case)):
                self._compound(each, frame)

    def _import(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        for each in node.names:
            if isinstance(node, ast.Import):
                name, bound = (each.asname, (each.name, "", 0)) if each.asname else (
                    each.name.partition(".")[0], (each.name.partition(".")[0], "", 0))  # fmt: skip
            else:
                name, bound = each.asname or each.name, (node.module or "", each.name, node.level)
            self.put(frame.names, name, self.known(self.sources.imported(frame.code.file, bound)))

    def loop(self, target: ast.expr, over: ast.expr, frame: Frame) -> None:
        """Each name of a loop is what stands at its place."""
        called = over.func.id if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) else ""
        if isinstance(over, ast.Call) and called in ("enumerate", "zip") and isinstance(target, ast.Tuple):
            parts = [self.value(each, frame) for each in over.args]
            parts = [frozenset([NUMBER]), *parts] if called == "enumerate" else parts
            if len(parts) == len(target.elts) and not over.keywords:
                for place, values in zip(target.elts, parts, strict=True):
                    self.assign(place, self.items(values), frame)
                return
        self.assign(target, self.items(self.value(over, frame)), frame)

    def assign(self, target: ast.expr, values: Values, frame: Frame) -> None:
        """Something is stored where an expression says."""
        if isinstance(target, ast.Name):
            self.put(owner_of(frame, target.id).names, target.id, values)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, values, frame)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self.assign(each, self.items(values), frame)
        elif isinstance(target, ast.Attribute):
            for base in self.value(target.value, frame):
                self.store(base, target.attr, values)
        elif isinstance(target, ast.Subscript):
            self.value(target.slice, frame)
            self.add_to(target.value, values, self.texts(target.slice, frame), frame)

    def add_to(self, node: ast.expr, values: Values, names: Sequence[str], frame: Frame) -> None:
        """Something is put into the container that an expression gives."""
        found = self.value(node, frame)
        for base in found:
            if isinstance(base, Box) or (isinstance(base, Made) and self.is_container(base.kind)):
                for name in names:
                    self.store(base, name, values)
        if isinstance(node, ast.Attribute) and node.attr in REGISTRIES:  # self._modules["x"] = module
            for base in self.value(node.value, frame):
                for name in names:
                    self.store(base, name, values | (ONLY_OPEN if DATA in values else NOTHING))
            return
        if found and all(isinstance(base, Box) for base in found):
            return
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            owner = owner_of(frame, node.id)
            self.put(owner.names, node.id, values)
            if node.id in parameters_of(owner.node):
                self.put(owner.changed, node.id, values, "changed", id(owner))
        elif isinstance(node, ast.Attribute):
            for base in self.value(node.value, frame):
                self.store(base, node.attr, values)
