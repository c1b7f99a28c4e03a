"""What a class comes to read when it is built and run, by the text of its file: names, attributes, and the definitions
that these lead to. More is taken for read than is, never less, as far as the text says it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.source.dotted_names import dotted

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_USUAL = frozenset(
    (
        *("training", "device", "dtype", "shape", "requires_grad", "grad", "ndim", "is_cuda", "T", "mT"),
        *("real", "imag", "data", "__class__", "__name__", "__init__"),
    )
)
"""What tensors and all modules have: whether these are set elsewhere says nothing of shapes and calls."""
_OPENING = frozenset(("vars", "asdict", "astuple", "locals", "globals"))


class Reading:
    """What a class reads."""

    def __init__(self, tree: ast.Module, node: ast.ClassDef, of_torch: frozenset[str]) -> None:
        self.definitions: dict[str, list[ast.AST]] = {}
        """By name: classes and functions of the file, and values that names are given at its top."""
        self.top: set[str] = set()
        """Names that the top of the file binds."""
        self.classes: list[ast.ClassDef] = []
        self.seen: set[int] = set()
        """Ids of definitions that are reached."""
        self.run: set[int] = set()
        """Ids of methods that are: what they do is known of the run."""
        self.attributes: set[str] = set()
        self.of_torch: set[str] = set()
        """Attributes of what is imported from torch."""
        self.on_self: set[str] = set()
        self.names: set[str] = set()
        self.is_open = False
        """It may read attributes by any name."""
        self.torch = of_torch
        self._define(tree)
        self._follow(node)
        self.names &= self.top
        self.attributes -= _USUAL

    def _define(self, tree: ast.Module) -> None:
        for each in ast.walk(tree):
            if isinstance(each, (ast.ClassDef, *FUNCTIONS)):
                self.definitions.setdefault(each.name, []).append(each)
        for statement in at_the_top(tree.body):
            if isinstance(statement, (ast.ClassDef, *FUNCTIONS)):
                self.top.add(statement.name)
            elif isinstance(statement, (ast.Import, ast.ImportFrom)):
                self.top.update((each.asname or each.name).partition(".")[0] for each in statement.names)
            for name, value in bound_by(statement):
                self.top.add(name)
                if value is not None:
                    self.definitions.setdefault(name, []).append(value)

    def _follow(self, node: ast.ClassDef) -> None:
        pending: list[ast.AST] = [node]
        while pending:
            while pending:
                each = pending.pop()
                if id(each) not in self.seen:
                    self.seen.add(id(each))
                    pending += self._take(each)
            pending = [each for kind in self.classes for each in self._methods(kind) if id(each) not in self.seen]
            self.run.update(id(each) for each in pending)

    def _methods(self, kind: ast.ClassDef) -> Iterator[Function]:
        """Those that are run, or may be."""
        for each in kind.body:
            is_special = isinstance(each, FUNCTIONS) and each.name.startswith("__") and each.name.endswith("__")
            if isinstance(each, FUNCTIONS) and (is_special or each.name == "forward" or each.name in self.attributes):
                yield each

    def _take(self, part: ast.AST) -> list[ast.AST]:
        """Notes what a definition reads; gives the definitions that it speaks of."""
        parts: list[ast.AST] = [part]
        if isinstance(part, ast.ClassDef):
            self.classes.append(part)
            inner = [each for each in part.body if not isinstance(each, FUNCTIONS)]
            parts = [*part.bases, *part.keywords, *part.decorator_list, *inner]
        receiver = part.args.args[0].arg if isinstance(part, FUNCTIONS) and part.args.args else ""
        found: list[ast.AST] = []
        for each in (node for one in parts for node in ast.walk(one)):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                self.names.add(each.id)
                found += self.definitions.get(each.id, ())
            elif isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Load):
                self._note_attribute(each, receiver)
            elif isinstance(each, ast.Call):
                self._note_call(each)
        return found

    def _note_attribute(self, node: ast.Attribute, receiver: str) -> None:
        if root_of(node) in self.torch:
            self.of_torch.add(node.attr)
            return
        self.attributes.add(node.attr)
        self.is_open = self.is_open or node.attr == "__dict__"
        if receiver and isinstance(node.value, ast.Name) and node.value.id == receiver:
            self.on_self.add(node.attr)

    def _note_call(self, call: ast.Call) -> None:
        name = (dotted(call.func) or "").rpartition(".")[2]
        if name in ("getattr", "hasattr", "attrgetter") and call.args:
            at = call.args[-1] if name == "attrgetter" else call.args[1:2][0] if len(call.args) > 1 else None
            if isinstance(at, ast.Constant) and isinstance(at.value, str):
                self.attributes.update(at.value.split("."))
                self.on_self.update(at.value.split("."))
            else:
                self.is_open = True
        self.is_open = self.is_open or name in _OPENING


def at_the_top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that importing the file executes, those in others too; what runs only as a script is left out."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.ClassDef, *FUNCTIONS)) or is_script(statement):
            continue
        for name in ("body", "orelse", "finalbody"):
            yield from at_the_top(getattr(statement, name, None) or [])
        for handler in getattr(statement, "handlers", ()):
            yield from at_the_top(handler.body)


def is_script(node: ast.AST) -> bool:
    """`if __name__ == "__main__":`."""
    return isinstance(node, ast.If) and any(
        isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(node.test)
    )


def bound_by(statement: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Names that an assignment or a loop binds, with what they are given."""
    pairs: list[tuple[ast.expr, ast.expr | None]] = []
    if isinstance(statement, ast.Assign):
        pairs = [(each, statement.value) for each in statement.targets]
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        pairs = [(statement.target, statement.value)]
    elif isinstance(statement, (ast.For, ast.AsyncFor, ast.comprehension)):
        pairs = [(statement.target, statement.iter)]
    elif isinstance(statement, ast.withitem) and statement.optional_vars is not None:
        pairs = [(statement.optional_vars, statement.context_expr)]
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        pairs = [(each.optional_vars, each.context_expr) for each in statement.items if each.optional_vars is not None]
    for target, value in pairs:
        for each in ast.walk(target):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                yield each.id, value


def root_of(node: ast.expr) -> str:
    """The name at the beginning of `net.blocks[0].fc`; "" where there is none."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
