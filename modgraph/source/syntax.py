"""What the statements of a file are and bind, as far as looking for models in it asks."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from modgraph.source.assignments import blocks, pairs
from modgraph.source.dotted_names import dotted
from modgraph.source.torch_names import GIVING_ITSELF

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def top_level(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that importing the module may carry out, also inside `if`, `try`, `with`, loops and `match`."""
    for statement in statements:
        yield statement
        if isinstance(statement, ast.ClassDef | FunctionNode):
            continue
        main = main_test(statement)
        for block in blocks(statement):
            # What is for the script alone does not exist on import, and what is for the import alone does.
            if main is None or (block is getattr(statement, "body", None)) is not main:
                yield from top_level(block)


def main_test(statement: ast.stmt) -> bool | None:
    """Whether an `if` asks for (True) or against (False) the file's being run as a script; None if for neither."""
    if not isinstance(statement, ast.If) or not isinstance(statement.test, ast.Compare):
        return None
    written = ast.unparse(statement.test)
    if "__name__" not in written or "__main__" not in written:
        return None
    return isinstance(statement.test.ops[0], ast.Eq)


def classes_in(statements: Iterable[ast.stmt], outer: str = "") -> Iterator[tuple[str, ast.ClassDef]]:
    """Qualified name and node of every class among these statements, and of those nested in them."""
    for statement in statements:
        if isinstance(statement, ast.ClassDef):
            yield f"{outer}{statement.name}", statement
            yield from classes_in(statement.body, f"{outer}{statement.name}.")


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    nodes = list(nodes)
    return {
        inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)
    } | {
        # Annotations in quotes name classes too.
        inner.value
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and inner.value.isidentifier()
    }  # fmt: skip


def assigned_names(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [name for target in targets for name in bound_names(target)]


def receiver(node: ast.expr) -> str:
    """The name of the module that a chain of methods returns, each of which returns its own; "" for anything else."""
    chained = False
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GIVING_ITSELF:
        node, chained = node.func.value, True
    return node.id if chained and isinstance(node, ast.Name) else ""


def assigned_values(statement: ast.stmt) -> Iterator[ast.expr]:
    """What an assignment assigns, taken apart."""
    if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            for _, value in pairs(target, statement.value):
                yield value


def bound_names(target: ast.expr) -> list[str]:
    """Names that an assignment to `target` binds."""
    if isinstance(target, ast.Tuple | ast.List):
        return [name for element in target.elts for name in bound_names(element)]
    return [target.id] if isinstance(target, ast.Name) else []


def is_constant(statement: ast.stmt) -> bool:
    """A docstring or an ellipsis."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def raises_not_implemented(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Raise) or statement.exc is None:
        return False
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def is_own_attribute(node: ast.AST, method: FunctionNode) -> TypeGuard[ast.Attribute]:
    """`self.name`, in a method that is called on `self`."""
    parameters = [*method.args.posonlyargs, *method.args.args]
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name) or not parameters:
        return False
    return isinstance(node.ctx, ast.Load) and node.value.id == parameters[0].arg


def callable_bare(function: FunctionNode, bound: int = 0) -> bool:
    """Whether it can be called without arguments, its first `bound` parameters aside."""
    arguments = function.args
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional <= bound and all(default is not None for default in arguments.kw_defaults)


def required(function: FunctionNode, given: int) -> set[str]:
    """Parameters without a default, those for the first `given` positional arguments aside."""
    arguments = function.args
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    open_ones = set(positional[given : len(positional) - len(arguments.defaults)])
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return open_ones | {each.arg for each, default in named if default is None}


def handed_on(constructor: FunctionNode) -> tuple[int, frozenset[str]] | None:
    """Of a constructor that gives the next one what it was given: `super().__init__(1, *args, kind=2, **kwargs)`.

    Returns:
        How many positional arguments it gives of its own, and the names of the others; None where it hands on nothing.
    """
    given = {each.arg for each in (constructor.args.vararg, constructor.args.kwarg) if each is not None}
    for node in ast.walk(constructor):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__":
            stars = [each.value for each in node.args if isinstance(each, ast.Starred)]
            stars += [each.value for each in node.keywords if each.arg is None]
            if stars and all(isinstance(each, ast.Name) and each.id in given for each in stars):
                own = sum(not isinstance(each, ast.Starred) for each in node.args)
                return own, frozenset(each.arg for each in node.keywords if each.arg is not None)
    return None


def annotation_name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return dotted(node)


def returned_calls(function: FunctionNode) -> list[ast.Call]:
    """Calls that the function returns, at once or through a local name."""
    local: dict[str, ast.Call] = {}
    found: list[ast.Call] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            local.update(dict.fromkeys(assigned_names(node), node.value))
    for node in ast.walk(function):
        if isinstance(node, ast.Return):
            value = node.value
            if isinstance(value, ast.Name):
                value = local.get(value.id)
            if isinstance(value, ast.Call):
                found.append(value)
    return found


def keeps_subclasses(node: ast.ClassDef) -> bool:
    """Whether the class has an `__init_subclass__` that puts the new class into a table, or hands it on."""
    methods = (each for each in node.body if isinstance(each, FunctionNode) and each.name == "__init_subclass__")
    method = next(methods, None)
    if method is None or not method.args.args:
        return False
    own = method.args.args[0].arg
    for inner in ast.walk(method):
        handed: list[ast.expr] = []
        if isinstance(inner, ast.Assign) and any(isinstance(target, ast.Subscript) for target in inner.targets):
            handed = [inner.value]
        elif isinstance(inner, ast.Call) and dotted(inner.func) != "super":
            handed = inner.args
        if any(isinstance(each, ast.Name) and each.id == own for each in handed):
            return True
    return False
