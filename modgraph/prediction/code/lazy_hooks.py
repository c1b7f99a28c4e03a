"""Imports that only looking up an attribute of a module runs: `module.__getattr__ = lambda name: import_module(...)`.

Nothing of them runs while the module that says so is imported. The hook may be a lambda, a function or what a function
of the same text gives, and may call others that nothing else names.
"""

from __future__ import annotations

import ast

from modgraph.source.quiet import python_tree

_HOOKS = frozenset({"__getattr__", "__dir__"})
"""Of a module. Source: "Customizing module attribute access" in Python's reference."""
_IMPORTING = frozenset({"import_module", "__import__"})
_LISTING = frozenset({"iter_modules", "walk_packages"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def only_hooks_import(text: str) -> bool:
    """All imports by names that this text computes stand in such hooks; False, too, where it is no Python."""
    try:
        tree = python_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    read = _Read(tree)
    return all(read.is_in_a_hook(node) for node in read.parents if _is_computed(node))


def _is_computed(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = _last_name(node.func)
    is_literal = bool(node.args) and isinstance(node.args[0], ast.Constant)
    return called in _LISTING or (called in _IMPORTING and not is_literal)


def _last_name(node: ast.AST) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


class _Read:
    """Where the nodes of a text stand, and which of its functions are hooks, or are called by hooks alone. Functions
    are told apart by their last name, so that fewer may be found than there are."""

    def __init__(self, tree: ast.Module) -> None:
        self.parents: dict[ast.AST, ast.AST] = {}
        self._uses: dict[str, list[ast.AST]] = {}
        pending: list[ast.AST] = [tree]
        while pending:
            node = pending.pop()
            name = _last_name(node)
            if name is not None and isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                self._uses.setdefault(name, []).append(node)
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
                pending.append(child)
        self._known: dict[ast.AST, bool] = {}

    def is_in_a_hook(self, node: ast.AST) -> bool:
        """A function around it is one, or is called by such alone."""
        around: ast.AST | None = self.parents.get(node)
        while around is not None:
            if isinstance(around, _FUNCTIONS) and self._is_lazy(around):
                return True
            around = self.parents.get(around)
        return False

    def _is_lazy(self, function: _Function) -> bool:
        if function not in self._known:
            self._known[function] = False  # one that only calls itself is called by nothing that is known
            self._known[function] = self._is_hook(function) or self._is_called_by_hooks(function)
        return self._known[function]

    def _is_hook(self, value: ast.AST) -> bool:
        """It is what a hook is bound to, as it stands there."""
        statement = self.parents[value]
        return (
            isinstance(statement, ast.Assign) and value is statement.value and all(map(_is_hook_of, statement.targets))
        )

    def _is_called_by_hooks(self, function: _Function) -> bool:
        if isinstance(function, ast.Lambda) or function.decorator_list or not self._is_local(function):
            return False
        return all(
            self._is_hook(each) or self._is_given_to_a_hook(each) or self.is_in_a_hook(each)
            for each in self._uses.get(function.name, [])
        )

    def _is_local(self, function: ast.AST) -> bool:
        """It stands in a function, so that no other module can call it."""
        around = self.parents.get(function)
        while around is not None and not isinstance(around, (*_FUNCTIONS, ast.ClassDef)):
            around = self.parents.get(around)
        return isinstance(around, _FUNCTIONS)

    def _is_given_to_a_hook(self, use: ast.AST) -> bool:
        """`return use` of a function whose every call makes a hook."""
        statement = self.parents[use]
        if not isinstance(statement, ast.Return):
            return False
        factory = self.parents[statement]
        if not isinstance(factory, ast.FunctionDef) or factory.decorator_list:
            return False
        calls = [(self.parents[each], each) for each in self._uses.get(factory.name, [])]
        return bool(calls) and all(
            isinstance(call, ast.Call) and call.func is name and self._is_hook(call) for call, name in calls
        )


def _is_hook_of(target: ast.AST) -> bool:
    return isinstance(target, ast.Attribute) and target.attr in _HOOKS
