"""The root models of a file: what `modgraph analyze model.py` is about when it names nothing in it.

They are the `nn.Module` classes that no other class of the file uses as a part, and the module-level instances. A class
that cannot be built without arguments is built as the file itself does it: by a factory function that needs none, or by
a call with literal arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from modgraph.errors import TargetError
from modgraph.source.bases import BaseResolver
from modgraph.source.modules import ModuleFinder, SourceModule
from modgraph.source.targets import Target

_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_SELF_RETURNING = frozenset(
    {"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "eval", "train", "requires_grad_", "apply", "type"}
)
"""Methods of nn.Module that return the module itself. Source: the reference of torch.nn.Module."""


def find_roots(target: Target) -> tuple[Target, ...]:
    """The models of the file or module that `target` names, in the order of the file.

    Raises:
        TargetError: it does not exist, does not parse, or has no model in it.
    """
    finder = ModuleFinder(target.search_path)
    module = _source_of(target, finder)
    try:
        tree = ast.parse(module.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = ast.Module([], [])  # the index, asked next, raises the error with its place
    module.index  # noqa: B018
    file = _File(tree, module, BaseResolver(finder))
    roots = [_buildable(target, name, file) for name in file.root_classes()]
    roots += [target.named(name) for name in file.instances()]
    if not roots:
        roots = [target.named(name) for name, function in file.functions.items() if _callable_bare(function)
                 and file.returns_module(function)]  # fmt: skip
    if not roots:
        raise TargetError(f"{target.place} has no nn.Module", file=target.place, hint=_what_is_there(file))
    return tuple(roots)


def _source_of(target: Target, finder: ModuleFinder) -> SourceModule:
    if target.file is not None:
        module = SourceModule(target.module, target.file, target.relative_file, target.file.stem == "__init__")
        finder.add(module)
        return module
    source = finder.source(target.module)
    if source is None:
        raise TargetError(
            f"there is no module {target.module!r} with Python source on the search path",
            hint="a file is named with its ending: model.py" if "." not in target.module else None,
        )
    return source


class _File:
    """One parsed file, and what its top-level names are."""

    def __init__(self, tree: ast.Module, module: SourceModule, resolver: BaseResolver) -> None:
        self.module = module
        self._resolver = resolver
        self.statements = list(_top_level(tree.body))
        self.classes = {s.name: s for s in self.statements if isinstance(s, ast.ClassDef)}
        self.functions = {s.name: s for s in self.statements if isinstance(s, _FunctionNode)}
        self.tree = tree

    @cached_property
    def module_classes(self) -> list[str]:
        return [name for name in self.classes if self._resolver.is_module_class(self.module, name)]

    @cached_property
    def _references(self) -> dict[str, set[str]]:
        """Top-level name -> the names that stand in its body; bases and decorators are no parts."""
        found: dict[str, set[str]] = {}
        for statement in self.statements:
            if isinstance(statement, ast.ClassDef):
                found.setdefault(statement.name, set()).update(_names(statement.body))
            elif isinstance(statement, _FunctionNode):
                found.setdefault(statement.name, set()).update(_names([*statement.body, statement.args]))
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                for name in _assigned(statement):
                    found.setdefault(name, set()).update(_names([statement.value] if statement.value else []))
        return found

    def _reach(self, name: str) -> set[str]:
        """Every top-level name that `name` uses, also through functions and tables of the file."""
        seen: set[str] = set()
        pending = [name]
        while pending:
            for other in self._references.get(pending.pop(), ()):
                if other in self._references and other not in seen:
                    seen.add(other)
                    pending.append(other)
        return seen

    def root_classes(self) -> list[str]:
        """Module classes that no other one uses as a part; of those that use each other, all."""
        reach = {name: self._reach(name) for name in self.module_classes}
        used = {
            part
            for user, parts in reach.items()
            for part in parts
            if part in reach and part != user and user not in reach[part]
        }
        return [name for name in reach if name not in used and not self._is_abstract(name)]

    def _is_abstract(self, name: str) -> bool:
        """A base of another class of the file that has no forward to run."""
        is_base = any(name in (ast.unparse(base) for base in node.bases) for node in self.classes.values())
        return is_base and self._forward(name) is None

    def _forward(self, name: str) -> _FunctionNode | None:
        """`forward` of a class or of its bases in the file, where its body does more than raise or pass."""
        method = self._method(name, "forward")
        if method is None:
            return None
        real = [s for s in method.body if not isinstance(s, ast.Raise | ast.Pass) and not _is_constant(s)]
        return method if real else None

    def _method(self, name: str, method: str, depth: int = 20) -> _FunctionNode | None:
        """A method of a class or of the nearest of its bases in the file."""
        node = self.classes.get(name)
        if node is None or depth == 0:
            return None
        for statement in node.body:
            if isinstance(statement, _FunctionNode) and statement.name == method:
                return statement
        bases = (self._method(ast.unparse(base), method, depth - 1) for base in node.bases)
        return next((found for found in bases if found is not None), None)

    def needs_arguments(self, name: str) -> bool:
        """Whether the class certainly cannot be built without arguments."""
        method = self._method(name, "__init__")
        return method is not None and not _callable_bare(method, bound=1)

    def instances(self) -> list[str]:
        """Module-level names that hold a module."""
        found: dict[str, None] = {}
        for statement in self.statements:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                makes = self.makes_module(statement.value)
                for name in _assigned(statement):
                    if makes:
                        found[name] = None
                    else:
                        found.pop(name, None)
        return list(found)

    def makes_module(self, node: ast.expr, depth: int = 8) -> bool:
        """Whether an expression is a call that gives a module, as far as its text says."""
        if not isinstance(node, ast.Call) or depth == 0:
            return False
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _SELF_RETURNING:
            return self.makes_module(function.value, depth - 1)
        name = _dotted(function)
        if name is None:
            return False
        if name in self.functions:
            return self.returns_module(self.functions[name], depth - 1)
        return self._resolver.is_module_class(self.module, name)

    def returns_module(self, function: _FunctionNode, depth: int = 8) -> bool:
        """Whether a function of the file gives a module: by its annotation, or by what it returns."""
        if function.returns is not None and (name := _annotation(function.returns)) is not None:
            return self._resolver.is_module_class(self.module, name)
        return depth > 0 and any(self.makes_module(call, depth) for call in _returned(function))

    def builds(self, function: _FunctionNode, name: str, depth: int = 8) -> bool:
        """Whether a function gives an instance of the class `name`."""
        if function.returns is not None and _annotation(function.returns) == name:
            return True
        for call in _returned(function):
            called = _dotted(call.func)
            if called == name:
                return True
            if depth > 0 and called in self.functions and self.builds(self.functions[called], name, depth - 1):
                return True
        return False

    def literal_call(self, name: str) -> tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]] | None:
        """Arguments of the first call of the class in the file, outside its classes, that has literals alone."""
        for statement in self.statements:
            if isinstance(statement, ast.ClassDef):
                continue
            for node in ast.walk(statement):
                if isinstance(node, ast.Call) and _dotted(node.func) == name and (node.args or node.keywords):
                    try:
                        positional = tuple(ast.literal_eval(argument) for argument in node.args)
                        keywords = tuple((str(k.arg), ast.literal_eval(k.value)) for k in node.keywords if k.arg)
                    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                        continue
                    if len(keywords) == len(node.keywords):
                        return positional, keywords
        return None


def _buildable(target: Target, name: str, file: _File) -> Target:
    """The class itself, or the way in which the file builds it where it needs arguments."""
    if not file.needs_arguments(name):
        return target.named(name)
    factories = [f for f, node in file.functions.items() if _callable_bare(node) and file.builds(node, name)]
    if factories:
        others = f"; others: {', '.join(factories[1:])}" if factories[1:] else ""
        return replace(target.named(factories[0]), note=f"{name} needs arguments: taking {factories[0]}(){others}")
    literal = file.literal_call(name)
    if literal is not None:
        found = target.named(name, *literal, called=True)
        return replace(found, note=f"{name} needs arguments: taking those of a call in the file, {found.text}")
    return target.named(name)


def _what_is_there(file: _File) -> str:
    classes = [f"class {name}" for name in file.classes]
    functions = [f"function {name}" for name in file.functions]
    things = classes + functions
    if not things:
        return "it defines no class and no function"
    shown = ", ".join(things[:6]) + (f" and {len(things) - 6} more" if len(things) > 6 else "")
    return f"it has {shown}; a model is a class derived from torch.nn.Module, or an instance of one"


def _top_level(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of the module, also inside `if`, `try` and `with`: all that runs on import, and `__main__` blocks."""
    for statement in statements:
        yield statement
        if isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test):
            continue
        for block in ("body", "orelse", "finalbody"):
            if isinstance(statement, ast.If | ast.Try | ast.With):
                yield from _top_level(getattr(statement, block, []))
        for handler in getattr(statement, "handlers", []):
            yield from _top_level(handler.body)


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {
        inner.id for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Name)
    } | {
        # Annotations in quotes name classes too.
        inner.value
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and inner.value.isidentifier()
    }  # fmt: skip


def _assigned(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_constant(statement: ast.stmt) -> bool:
    """A docstring or an ellipsis."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _callable_bare(function: _FunctionNode, bound: int = 0) -> bool:
    """Whether it can be called without arguments, its first `bound` parameters aside."""
    arguments = function.args
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional <= bound and all(default is not None for default in arguments.kw_defaults)


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (prefix := _dotted(node.value)) is not None:
        return f"{prefix}.{node.attr}"
    return None


def _annotation(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return _dotted(node)


def _returned(function: _FunctionNode) -> list[ast.Call]:
    """Calls that the function returns, at once or through a local name."""
    local: dict[str, ast.Call] = {}
    found: list[ast.Call] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            local.update(dict.fromkeys(_assigned(node), node.value))
    for node in ast.walk(function):
        if isinstance(node, ast.Return):
            value = node.value
            if isinstance(value, ast.Name):
                value = local.get(value.id)
            if isinstance(value, ast.Call):
                found.append(value)
    return found
