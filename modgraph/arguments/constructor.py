"""What a class wants: the parameters of its `__init__` as the text says them, and what it reads from each."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from modgraph.source.model_files import ModelFile
from modgraph.source.modules import ModuleFinder
from modgraph.source.roots import file_of
from modgraph.source.syntax import FunctionNode
from modgraph.source.targets import Target


@dataclass(frozen=True)
class Constructor:
    """The `__init__` of a class."""

    target: Target
    file: ModelFile
    finder: ModuleFinder
    node: FunctionNode

    @cached_property
    def parameters(self) -> tuple[ast.arg, ...]:
        """Those that a call can give by name, the object itself aside."""
        given = self.node.args
        return (*[*given.posonlyargs, *given.args][1:], *given.kwonlyargs)

    @cached_property
    def required(self) -> tuple[ast.arg, ...]:
        """Those without a default."""
        given = self.node.args
        positional = [*given.posonlyargs, *given.args]
        bare = positional[: len(positional) - len(given.defaults)][1:]
        named = zip(given.kwonlyargs, given.kw_defaults, strict=True)
        return (*bare, *(each for each, default in named if default is None))

    def reads(self, parameter: str) -> set[str]:
        """The attributes of a parameter that `__init__` reads."""
        return {
            inner.attr
            for inner in ast.walk(self.node)
            if isinstance(inner, ast.Attribute)
            and isinstance(inner.value, ast.Name)
            and inner.value.id == parameter
            and isinstance(inner.ctx, ast.Load)
        }

    def paths(self, parameter: str) -> dict[tuple[str, ...], bool]:
        """What `__init__` reads from a parameter, through what it reads: `config.model.width` is ("model", "width").
        Whether by attributes, else by keys."""
        found: dict[tuple[str, ...], bool] = {}
        for node in ast.walk(self.node):
            names: list[str] = []
            by_attribute: set[bool] = set()
            inner: ast.expr | None = node if isinstance(node, ast.Attribute | ast.Subscript) else None
            while isinstance(inner, ast.Attribute | ast.Subscript) and isinstance(inner.ctx, ast.Load):
                key = inner.slice if isinstance(inner, ast.Subscript) else ast.Constant(inner.attr)
                if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                    break
                names.insert(0, key.value)
                by_attribute.add(isinstance(inner, ast.Attribute))
                inner = inner.value
            if isinstance(inner, ast.Name) and inner.id == parameter and len(by_attribute) == 1:
                found[tuple(names)] = by_attribute.pop()
        return found

    def bound(self, positional: Sequence[Any], keywords: Iterable[tuple[str, Any]]) -> Mapping[str, Any] | None:
        """Arguments by parameter; None where Python would not take them for this class."""
        given = self.node.args
        names = [each.arg for each in [*given.posonlyargs, *given.args][1:]]
        found: dict[str, Any] = dict(zip(names, positional, strict=False))
        if len(positional) > len(names):
            if given.vararg is None:
                return None
            found[f"*{given.vararg.arg}"] = tuple(positional[len(names) :])
        known = {each.arg for each in self.parameters}
        for name, value in keywords:
            if name in found or (name not in known and given.kwarg is None):
                return None
            found[name] = value
        return found if all(each.arg in found for each in self.required) else None


def constructor_of(target: Target) -> Constructor | None:
    """That of a target's class; None of what is no class of its file, or has no `__init__` there."""
    found = file_of(target)
    if found is None:
        return None
    file, finder = found
    node = file.method_of(target.name, "__init__")
    if node is None or not (node.args.posonlyargs or node.args.args):
        return None
    return Constructor(target, file, finder, node)
