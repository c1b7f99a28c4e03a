"""The scopes of a file, its own and those of its functions, for rules that look at what stands outside of modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from modgraph.rules.subject import FileSubject
from modgraph.source.dotted_names import dotted

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_NOTE = "scopes"
_OF_MODULES = frozenset(["eval", "train", "parameters", "named_parameters", "named_modules", "cuda"])
"""Methods that a module has, and nothing else that has a state dict."""
_TRAINING = frozenset(["step", "backward"])


class Scope:
    """The statements of a file, or of one function in it, without what functions and classes inside hold."""

    def __init__(self, file: FileSubject, node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.file = file
        self.node = node
        self.nodes: list[ast.AST] = []
        """In the order of the text."""
        self.parents: dict[ast.AST, ast.AST] = {}
        self._asked_of: dict[str, set[str]] = {}
        """By name: the methods and attributes that are asked for."""
        pending: list[ast.AST] = list(reversed(node.body))
        self.parents.update(dict.fromkeys(node.body, node))
        while pending:
            each = pending.pop()
            self.nodes.append(each)
            if isinstance(each, (*_FUNCTIONS, ast.ClassDef)):
                continue
            below = list(ast.iter_child_nodes(each))
            self.parents.update(dict.fromkeys(below, each))
            pending.extend(reversed(below))

    @cached_property
    def assigned(self) -> dict[str, list[tuple[ast.stmt | ast.expr, ast.expr | None]]]:
        """By name, dotted ones too: (statement, value) of each assignment; None for what is unpacked or looped over."""
        found: dict[str, list[tuple[ast.stmt | ast.expr, ast.expr | None]]] = {}
        whole: set[ast.AST] = set()
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    name = dotted(target)
                    if name:
                        whole.add(target)
                        found.setdefault(name, []).append((node, node.value))
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and (name := dotted(node.target)):
                whole.add(node.target)
                if node.value is not None:
                    found.setdefault(name, []).append((node, node.value))
        for node in self.nodes:
            if isinstance(node, (ast.Name, ast.Attribute)) and not isinstance(node.ctx, ast.Load) and node not in whole:
                name = dotted(node)
                if name:
                    found.setdefault(name, []).append((self.statement(node), None))
        return found

    def statement(self, node: ast.AST) -> ast.stmt:
        """The one that a node stands in."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node stands in, from the inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def loops(self, node: ast.AST) -> list[ast.For | ast.AsyncFor | ast.While]:
        """Loops that execute a node again in each turn."""
        found: list[ast.For | ast.AsyncFor | ast.While] = []
        below = node
        for each in self.around(node):
            if isinstance(each, (ast.For, ast.AsyncFor, ast.While)) and _repeats(each, below):
                found.append(each)
            below = each
        return found

    @cached_property
    def _reads(self) -> dict[str, list[ast.Name | ast.Attribute]]:
        found: dict[str, list[ast.Name | ast.Attribute]] = {}
        for node in self.nodes:
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                name = dotted(node)
                if name:
                    found.setdefault(name, []).append(node)
        return found

    def reads(self, name: str) -> list[ast.Name | ast.Attribute]:
        """Where a name, a dotted one perhaps, is read whole."""
        return self._reads.get(name, [])

    @cached_property
    def training(self) -> list[int]:
        """The lines in which a step of an optimizer, or a backward pass, is done."""
        lines = (node.lineno for node in self.nodes if isinstance(node, ast.Attribute) and node.attr in _TRAINING)
        return sorted(lines)

    def value(self, name: str) -> ast.expr | None:
        """What a name is assigned, once and for all."""
        found = self.assigned.get(name, [])
        return found[0][1] if len(found) == 1 and name not in self.parameters else None

    @cached_property
    def parameters(self) -> frozenset[str]:
        if isinstance(self.node, ast.Module):
            return frozenset()
        arguments = self.node.args
        every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        return frozenset(each.arg for each in every if each is not None)

    def path(self, node: ast.expr) -> str:
        """The import path of a name of the file, "" for another."""
        name = dotted(node)
        first = (name or "").partition(".")[0]
        if not name or first in self.assigned or first in self.parameters:
            return ""
        return self.file.project.absolute(self.file.summary, name) or ""

    def is_module(self, name: str, *but: str) -> bool:
        """What is called by that name is used as only a module is; methods that are named here do not count."""
        if name not in self._asked_of:
            parents = (self.parents.get(node) for node in self.reads(name))
            self._asked_of[name] = {each.attr for each in parents if isinstance(each, ast.Attribute)}
        return not self._asked_of[name].isdisjoint(_OF_MODULES.difference(but))


def _repeats(loop: ast.For | ast.AsyncFor | ast.While, part: ast.AST) -> bool:
    """A part of a loop is done in each turn."""
    return part not in loop.orelse and (isinstance(loop, ast.While) or part is not loop.iter)


def scopes(file: FileSubject) -> list[Scope]:
    """All of a file: its own first, functions in the order of the text."""
    if _NOTE not in file.notes:
        functions = [node for node in ast.walk(file.tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        functions.sort(key=lambda node: node.lineno)
        file.notes[_NOTE] = [Scope(file, node) for node in (file.tree, *functions)]
    found: list[Scope] = file.notes[_NOTE]
    return found
