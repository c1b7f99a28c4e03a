"""Whether statements that were left out are shown to be harmless to a model, by a short rule; else they are a doubt.

A statement is harmless where it binds names of its own and calls nothing but what is known to change nothing: a few
builtins and functions of packages (`pure_calls.py`), methods that read what was made there, and functions of the
project that keep to the same rule. What belongs to anybody else is not changed, iterated, compared or given away.
The rule allows what it knows: every part of a statement that it has no word for is a doubt (`known_syntax.py`).
"""

from __future__ import annotations

import argparse
import ast
import builtins
import inspect
import logging
import os
import sys
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.utils.data

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.source.dotted_names import dotted
from modgraph.source.needed_statements import bound_names
from modgraph.tracing.loading.known_syntax import unread_part
from modgraph.tracing.loading.patched import Patches
from modgraph.tracing.loading.project_texts import Texts, imported_of, is_all_seen, is_of_project, unbound_of
from modgraph.tracing.loading.pure_calls import (
    LOGGER,
    METHODS_OF_LOGGERS,
    OTHER,
    OWN,
    READ,
    gives,
    is_known_kind,
    is_plain_error,
    is_pure_method,
    kind_of_value,
    logs_plainly,
    parses_plainly,
    shows,
)

_MOST = 50_000
"""Pieces of code that are read for one model."""
_DEEPEST = 3
"""Functions that call each other."""
_ROUNDS = 5
"""In a loop what a name stands for is known after some."""
_BASES: tuple[Any, ...] = (object, torch.utils.data.Dataset, typing.Generic)
_BASES_OF_STATEMENTS = (*_BASES, torch.nn.Module)
_WRAPPERS = (staticmethod, classmethod, property)
_SPECIAL = ("__new__", "__del__", "__setattr__", "__getattribute__", "__getattr__")


class _DoubtError(Exception):
    """The end of a sentence: "it calls x"."""


@dataclass(frozen=True, slots=True)
class _Live:
    """A name stands for this very object."""

    value: Any


@dataclass(slots=True)
class _Made:
    """An object of a class of the project that is just made: nobody else has it."""

    kind: type
    attributes: dict[str, int | _Live] = field(default_factory=dict)


@dataclass(slots=True)
class _Scope:
    names: Mapping[str, Any]
    """Those of the file, as they are live."""
    kinds: dict[str, int | _Live] = field(default_factory=dict)
    local: frozenset[str] = frozenset()
    outer: _Scope | None = None
    made: _Made | None = None
    """What `self` is."""
    is_class: bool = False
    """Of a body of a class, whose names its comprehensions do not see."""
    given: list[int] = field(default_factory=list)
    """What is returned and yielded."""


class SideEffects:
    """What is said of the statements of one file.

    Args:
        names: what the file's names stand for.
        texts: of the project.
        patches: what the project has changed of others.
    """

    def __init__(self, names: Mapping[str, Any], texts: Texts, patches: Patches) -> None:
        self._top = _Scope(names)
        self._texts = texts
        self._patches = patches
        self._depth = 0
        self._there: frozenset[str] | None = None
        self._numbers: set[str] = set()
        """Names that were bound to one."""
        self.asks_for_logs = False
        """A log by its name, of which Python keeps a list."""
        self.imports_unseen = False
        """A module of Python that nobody else had imported."""

    def of(
        self, statements: Sequence[ast.stmt], there: Sequence[frozenset[str] | None] | None = None
    ) -> Iterator[str | None]:
        """For each, why it may change the model, as the end of a sentence ("it calls x"); None where it is harmless.

        Args:
            there: for each the modules of the project that had been imported when it was left out; None for any.
        """
        for statement, self._there in zip(statements, there or [None] * len(statements), strict=True):
            reason = None
            try:
                patch = self._patches.anywhere()
                if patch is not None:
                    raise _DoubtError(f"may run {patch.name} of {patch.module}, which the project has changed")
                self._settled([statement], self._top)
                special = [each for each in bound_names(statement) if each.startswith("__")]
                reason = f"binds {special[0]}" if special else None
            except _DoubtError as doubt:
                reason = str(doubt)
            except RAISED_BY_OTHERS as error:  # the names and the objects that are read are others' own
                reason = f"cannot be read ({type(error).__name__})"
            if reason is not None:
                self._top.kinds.update(dict.fromkeys(bound_names(statement), OTHER))
            yield reason

    def _settled(self, body: Sequence[ast.stmt], scope: _Scope) -> None:
        for _ in range(_ROUNDS):
            before = _kinds_in(scope)
            for each in body:
                self._statement(each, scope)
            if _kinds_in(scope) == before:
                return
        raise _DoubtError("binds names in a loop in too many ways to be read")

    # Statements.

    def _statement(self, node: ast.stmt, scope: _Scope) -> None:
        self._count(node)
        match node:
            case ast.Expr(value=value):
                self._kind(value, scope)
            case ast.Return(value=value):
                scope.given.append(OWN if value is None else self._kind(value, scope))
            case ast.Assign(targets=targets, value=value):
                found = self._value(value, scope)
                if isinstance(value, ast.Constant) and isinstance(value.value, int):
                    self._numbers.update(each.id for each in targets if isinstance(each, ast.Name))
                for target in targets:
                    self._bind(target, found, scope)
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                self._annotation(annotation, scope)
                if value is not None:
                    self._bind(target, self._value(value, scope), scope)
                elif not isinstance(target, ast.Name):
                    raise _DoubtError("notes the kind of what is not a name")
            case ast.AugAssign(target=target, value=value):
                self._changed_in_place(target, value, scope)
            case ast.Raise(exc=exc, cause=cause):
                for raised in (exc, cause):
                    self._raised(raised, scope)
            case ast.Assert(test=test, msg=msg):
                self._least([test, *([] if msg is None else [msg])], scope)
            case ast.Import() | ast.ImportFrom():
                found_ones, reason = imported_of(node, scope.names, self._there)
                if reason is not None:
                    raise _DoubtError(reason)
                self.imports_unseen |= not is_all_seen(node)
                for name, value in found_ones.items():
                    self._set(name, _Live(value), scope)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._defined(node, scope)
                self._define(node.name, scope)
            case ast.ClassDef():
                self._class(node, scope)
            case ast.Pass() | ast.Break() | ast.Continue():
                pass
            case _:
                self._compound(node, scope)

    def _compound(self, node: ast.stmt, scope: _Scope) -> None:
        match node:
            case ast.If(test=test) | ast.While(test=test):
                self._read(test, scope)
                self._block((*node.body, *node.orelse), scope)
            case ast.For(target=target, iter=iterated):
                self._bind(target, self._read(iterated, scope), scope)
                self._block((*node.body, *node.orelse), scope)
            case ast.With(items=items, body=body):
                for item in items:
                    if _yields(body) and dotted(getattr(item.context_expr, "func", item.context_expr)) != "open":
                        raise _DoubtError("may leave a block before its end")
                    kind = self._read(item.context_expr, scope)
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, kind, scope)
                self._block(body, scope)
            case ast.Try(handlers=handlers):
                for handler in handlers:
                    if handler.type is not None:
                        self._value(handler.type, scope)
                    if handler.name is not None:  # only errors of Python and of packages are raised
                        self._set(handler.name, READ, scope)
                inner = [each for handler in handlers for each in handler.body]
                self._block((*node.body, *inner, *node.orelse, *node.finalbody), scope)
            case _:
                raise _DoubtError(f"has a statement that is not read (`{type(node).__name__.lower()}`)")

    def _raised(self, node: ast.expr | None, scope: _Scope) -> None:
        if node is None:
            return
        found = self._value(node, scope)
        if self._as_kind(found) < READ and not (isinstance(found, _Live) and is_plain_error(found.value)):
            raise _DoubtError(f"raises {_shown(node)}")

    def _changed_in_place(self, target: ast.expr, value: ast.expr, scope: _Scope) -> None:
        match target:
            case ast.Name(id=name):
                if scope.is_class:
                    raise _DoubtError(f"changes {name}")
                loaded: ast.expr = ast.Name(name, ast.Load())
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if scope.made is not None:
                loaded = ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load())
            case ast.Subscript(value=owner, slice=index):
                self._read(index, scope)
                loaded = owner
            case _:
                raise _DoubtError("changes what is not read")
        is_live = isinstance(self._value(loaded, scope), _Live)
        if is_live or self._kind(loaded, scope) != OWN or self._kind(value, scope) != OWN:
            raise _DoubtError(f"changes {_shown(loaded)}")

    def _block(self, body: Iterable[ast.stmt], scope: _Scope) -> None:
        for each in body:
            self._statement(each, scope)

    def _defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope) -> None:
        for each in node.decorator_list:
            found = self._value(each, scope)
            if not (scope.is_class and isinstance(found, _Live) and any(found.value is one for one in _WRAPPERS)):
                raise _DoubtError(f"decorates {node.name}")
        arguments = [each.annotation for each in ast.walk(node.args) if isinstance(each, ast.arg)]
        for noted in (*arguments, node.returns):
            if noted is not None:
                self._annotation(noted, scope)
        self._defaults(node.args, scope)

    def _defaults(self, arguments: ast.arguments, scope: _Scope) -> None:
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self._value(default, scope)

    def _annotation(self, node: ast.expr, scope: _Scope) -> None:
        """What notes the kind of a value is evaluated, too."""
        self._count(node)
        match node:
            case ast.Constant() | ast.Name():
                pass
            case ast.Attribute():
                self._value(node, scope)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for each in parts:
                    self._annotation(each, scope)
            case ast.Subscript(value=owner, slice=index):
                if not _is_kind(self._value(owner, scope)):
                    raise _DoubtError("notes a kind that is not read")
                self._annotation(index, scope)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                for each in (left, right):
                    self._annotation(each, scope)
                    side = self._value(each, scope) if isinstance(each, ast.Name | ast.Attribute) else _Live(None)
                    if not _is_kind(side, with_project=True):
                        raise _DoubtError("notes a kind that is not read")
            case _:
                raise _DoubtError("notes a kind that is not read")

    def _class(self, node: ast.ClassDef, scope: _Scope) -> None:
        for base in node.bases:
            found = self._value(base, scope)
            is_known = isinstance(found, _Live) and any(found.value is each for each in _BASES_OF_STATEMENTS)
            if not is_known or is_of_project(getattr(found.value, "__init_subclass__", None)):  # type: ignore[union-attr]
                raise _DoubtError(f"derives {node.name} from {dotted(base) or 'a class'}")
        inner = _Scope(scope.names, outer=scope, is_class=True)
        self._settled(node.body, inner)
        self._define(node.name, scope)

    def _bind(self, target: ast.expr, found: int | _Live, scope: _Scope) -> None:
        match target:
            case ast.Name(id=name):
                self._set(name, found, scope)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if scope.made is not None:
                if hasattr(scope.made.kind, name) or name.startswith("__"):
                    raise _DoubtError(f"changes {name}")
                self._join(scope.made.attributes, name, found)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                if self._as_kind(found) < READ:
                    raise _DoubtError("takes apart what is not its own")
                for each in parts:
                    self._bind(each, self._as_kind(found), scope)
            case ast.Starred(value=inner):
                self._bind(inner, found, scope)
            case ast.Attribute(value=owner) | ast.Subscript(value=owner):
                if isinstance(target, ast.Subscript):
                    self._read(target.slice, scope)
                held = self._value(owner, scope)
                if isinstance(held, _Live) or held != OWN or self._as_kind(found) != OWN:
                    raise _DoubtError(f"changes {dotted(owner) or 'what it has computed'}")
            case _:
                raise _DoubtError("binds what is not read")

    def _set(self, name: str, found: int | _Live, scope: _Scope) -> None:
        told = hasattr(type(found.value), "__set_name__") if isinstance(found, _Live) else found < READ
        if scope.is_class and told:
            raise _DoubtError(f"holds {name} in a class, which may be told of that")
        if scope.outer is None and scope is self._top and name in scope.kinds:
            before = scope.kinds[name]
            if before != found and min(self._as_kind(before), self._as_kind(found)) < self._as_kind(before):
                raise _DoubtError(f"binds {name} to another thing")  # what was computed of it may not be done yet
        self._join(scope.kinds, name, found)

    def _define(self, name: str, scope: _Scope) -> None:
        if scope.is_class:
            self._join(scope.kinds, name, OTHER)
        else:
            self._set(name, OTHER, scope)

    def _join(self, kinds: dict[str, int | _Live], name: str, found: int | _Live) -> None:
        """What a name stands for; of several things the worst."""
        before = kinds.get(name, found)
        if before != found:
            found = min(self._as_kind(before), self._as_kind(found))
        kinds[name] = found

    # Expressions.

    def _as_kind(self, found: int | _Live) -> int:
        if not isinstance(found, _Live):
            return found
        return kind_of_value(found.value)

    def _kind(self, node: ast.expr, scope: _Scope) -> int:
        return self._as_kind(self._value(node, scope))

    def _read(self, node: ast.expr, scope: _Scope) -> int:
        """Of what is looked into: nobody's code runs where that is its own, or plain.

        Raises:
            _DoubtError: it is not.
        """
        kind = self._as_kind(self._value(node, scope))
        if kind < READ:
            raise _DoubtError(f"uses {_shown(node)}, which may be of the model")
        return kind

    def _value(self, node: ast.expr, scope: _Scope) -> int | _Live:
        self._count(node)
        match node:
            case ast.Constant():
                return OWN
            case ast.Name(id=name):
                return self._lookup(name, scope)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if scope.made is not None:
                return self._of_self(scope.made, name)
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(node, self._value(owner, scope), name)
            case ast.Subscript(value=owner, slice=index):
                self._read(index, scope)
                return OWN if self._is_environment(owner, scope) else self._read(owner, scope)
            case ast.Call():
                return self._call(node, scope)
            case ast.Lambda(args=arguments):
                self._defaults(arguments, scope)
                return OTHER
            case ast.Yield(value=value):
                scope.given.append(OWN if value is None else self._kind(value, scope))
                return OTHER
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, scope)
        return self._computed(node, scope)

    def _computed(self, node: ast.expr, scope: _Scope) -> int:
        match node:
            case ast.Slice():
                return self._least([each for each in (node.lower, node.upper, node.step) if each], scope)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return min([OWN, *(self._kind(each, scope) for each in parts)])
            case ast.Set(elts=parts) | ast.JoinedStr(values=parts) | ast.BoolOp(values=parts):
                return self._least(parts, scope)
            case ast.Dict(keys=keys, values=values):
                self._least([each for each in keys if each is not None], scope)
                self._least([each for key, each in zip(keys, values, strict=True) if key is None], scope)
                held = [*values, *(each for each in keys if each is not None)]
                return min([OWN, *(self._kind(each, scope) for each in held)])
            case ast.FormattedValue(value=value) | ast.UnaryOp(operand=value) | ast.Starred(value=value):
                spec = getattr(node, "format_spec", None)
                return self._least([value, *([] if spec is None else [spec])], scope)
            case ast.BinOp(left=left, op=op, right=right):
                kind = self._least([left, right], scope)
                return kind if isinstance(op, ast.Add | ast.Mult | ast.BitOr) else OWN
            case ast.Compare(left=left, ops=ops, comparators=others):
                if all(isinstance(each, ast.Is | ast.IsNot) for each in ops):
                    for each in (left, *others):
                        self._value(each, scope)
                else:
                    self._least([left, *others], scope)
                return OWN
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._read(test, scope)
                return min(self._kind(body, scope), self._kind(orelse, scope))
        raise _DoubtError(f"has an expression that is not read ({type(node).__name__})")

    def _least(self, parts: Sequence[ast.expr], scope: _Scope) -> int:
        return min([OWN, *(self._read(each, scope) for each in parts)])

    def _comprehension(self, node: Any, scope: _Scope) -> int:
        seen: _Scope | None = scope
        while seen is not None and seen.is_class:
            seen = seen.outer
        inner = _Scope(scope.names, outer=seen, made=scope.made, given=scope.given)
        for number, each in enumerate(node.generators):
            self._bind(each.target, self._read(each.iter, inner if number else scope), inner)
            self._least(each.ifs, inner)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return self._least(parts, inner)

    def _lookup(self, name: str, scope: _Scope) -> int | _Live:
        inner: _Scope | None = scope
        while inner is not None:
            if name in inner.local or name in inner.kinds:
                found = inner.kinds.get(name, OTHER)
                if inner.is_class and inner.outer is not None and self._stands_outside(name, inner.outer):
                    return OTHER  # which of the two is not told
                return OTHER if inner is self._top and name in scope.names else found
            inner = inner.outer
        names = scope.names
        if names is self._top.names and name in self._top.kinds:
            return OTHER if name in names else self._top.kinds[name]
        if name in unbound_of(names):
            return OTHER
        if name in names:
            return _Live(names[name]) if self._texts.is_bound_once(names, name) else OTHER
        return _Live(vars(builtins)[name]) if name in vars(builtins) else OTHER

    def _stands_outside(self, name: str, scope: _Scope) -> bool:
        inner: _Scope | None = scope
        while inner is not None:
            if name in inner.local or name in inner.kinds:
                return True
            inner = inner.outer
        return name in self._top.kinds or any(
            name in each for each in (scope.names, unbound_of(scope.names), vars(builtins))
        )

    def _of_self(self, made: _Made, name: str) -> int | _Live:
        """An attribute of an object that is just made: one that it was given, or a plain one of its class."""
        if name in made.attributes:
            return made.attributes[name]
        value = inspect.getattr_static(made.kind, name, None)
        if value is None or kind_of_value(value) < READ:
            raise _DoubtError(f"uses self.{name}")
        return _Live(value)

    def _attribute(self, node: ast.expr, owner: int | _Live, name: str) -> int | _Live:
        value = owner.value if isinstance(owner, _Live) else None
        if isinstance(value, types.ModuleType) and not is_of_project(type(value)):
            names = value.__dict__
            if name not in names and is_of_project(names.get("__getattr__")):
                raise _DoubtError(f"uses {_shown(node)}")
            return _Live(names[name]) if name in names and self._texts.is_bound_once(names, name) else OTHER
        if type(value) is argparse.Namespace and name in vars(value):
            return _Live(vars(value)[name])
        if isinstance(value, type) and not is_of_project(value):
            return _Live(getattr(value, name))
        kind = self._as_kind(owner)
        if kind < READ:
            raise _DoubtError(f"uses {_shown(node)}, which may be of the model")
        return kind if shows(name) else OTHER

    def _is_environment(self, node: ast.expr, scope: _Scope) -> bool:
        found = self._value(node, scope) if isinstance(node, ast.Name | ast.Attribute) else OTHER
        return isinstance(found, _Live) and found.value is os.environ

    # Calls.

    def _call(self, node: ast.Call, scope: _Scope) -> int | _Live:
        function = node.func
        given = self._given(node, scope)
        if isinstance(function, ast.Attribute) and self._is_environment(function.value, scope):
            if function.attr in ("get", "copy", "keys", "items"):
                return given
            raise _DoubtError(f"calls {_shown(function)}")
        if isinstance(function, ast.Attribute):
            of_self = isinstance(function.value, ast.Name) and function.value.id == "self" and scope.made is not None
            method = vars(scope.made.kind).get(function.attr) if of_self and scope.made is not None else None
            if isinstance(method, types.FunctionType) and scope.made is not None:
                return self._called_function(method, given, scope.made)
            owner = self._value(function.value, scope)
            if isinstance(owner, int):
                return self._method(function, owner, given, node)
            if parses_plainly(owner.value, function.attr):
                return OWN
            if isinstance(owner.value, logging.Logger):
                if function.attr in METHODS_OF_LOGGERS and (owner.value is LOGGER or logs_plainly(owner.value)):
                    return OWN
                raise _DoubtError(f"calls {_shown(function)}")
            if kind_of_value(owner.value) >= READ and not isinstance(owner.value, type):
                return self._method(function, kind_of_value(owner.value), given, node)
        found = self._value(function, scope)
        is_open = isinstance(found, _Live) and found.value is builtins.open
        files = [*node.args[:1], *(each.value for each in node.keywords if each.arg == "file")]
        if is_open and any(self._is_number(each, scope) for each in files):
            raise _DoubtError("reads a file that others may have open")
        return self._of_live(found, given, node)

    def _method(self, function: ast.Attribute, owner: int, given: int, node: ast.Call) -> int:
        if owner < READ:
            raise _DoubtError(f"uses {_shown(function)}, which may be of the model")
        if not is_pure_method(node, function.attr, owner, given):
            raise _DoubtError(f"calls {_shown(function)}")
        return min(owner, given)

    def _of_live(self, found: int | _Live, given: int, node: ast.Call) -> int | _Live:
        value = found.value if isinstance(found, _Live) else None
        if isinstance(value, type) and is_of_project(value):
            return self._made(value, given)
        if isinstance(value, types.FunctionType) and is_of_project(value):
            return self._called_function(value, given, None)
        result = None if value is None or self._patches.below(value) else gives(value, node, given)
        if result is None:
            raise _DoubtError(f"calls {_shown(node.func)}")
        if result is LOGGER:
            self.asks_for_logs = True
            if not logs_plainly(LOGGER):
                raise _DoubtError(f"calls {_shown(node.func)}")
            return _Live(LOGGER)
        return int(result)

    def _given(self, node: ast.Call, scope: _Scope) -> int:
        """The worst of what a call is given, but for kinds to which a parser or a reader turns texts."""
        takes_kinds = self._takes_kinds(node.func, scope)
        kinds = [OWN]
        for each in _arguments(node):
            word = next((one.arg for one in node.keywords if one.value is each), None)
            found = self._value(each, scope) if takes_kinds and word in ("type", "dtype") else None
            if not (isinstance(found, _Live) and is_known_kind(found.value)):
                kinds.append(self._argument(each, scope, _shown(node.func)))
        return min(kinds)

    def _takes_kinds(self, function: ast.expr, scope: _Scope) -> bool:
        if not isinstance(function, ast.Attribute) or function.attr not in ("add_argument", "loadtxt", "genfromtxt"):
            return False
        owner = self._value(function.value, scope)
        if isinstance(owner, _Live):
            return isinstance(owner.value, types.ModuleType) and owner.value is sys.modules.get("numpy")
        return function.attr == "add_argument"

    def _is_number(self, node: ast.expr, scope: _Scope) -> bool:
        found = self._value(node, scope)
        value = node.value if isinstance(node, ast.Constant) else found.value if isinstance(found, _Live) else None
        is_made = isinstance(node, ast.Call) and dotted(node.func) in ("int", "len")
        is_named = isinstance(node, ast.Name) and node.id in self._numbers
        return isinstance(value, int) or is_made or is_named or isinstance(node, ast.UnaryOp)

    def _argument(self, node: ast.expr, scope: _Scope, called: str) -> int:
        kind = self._as_kind(self._value(node, scope))
        if kind < READ:
            raise _DoubtError(f"gives {_shown(node)} to {called}")
        return kind

    def _made(self, kind: type, given: int) -> int:
        """What is made of a class of the project."""
        name = kind.__qualname__
        if type(kind) is not type or not all(any(each is one for one in _BASES) for each in kind.__mro__[1:]):
            raise _DoubtError(f"calls {name}, which derives from others")
        if any(each in vars(kind) for each in _SPECIAL):
            raise _DoubtError(f"calls {name}")
        if self._texts.tree_of(kind) is None:
            raise _DoubtError(f"calls {name}, whose source is not read")
        function = vars(kind).get("__init__")
        if function is not None:
            self._called_function(function, given, _Made(kind))
        elif len(kind.__mro__) != 2:
            raise _DoubtError(f"calls {name}, which is not read")
        return OTHER

    def _called_function(self, function: Any, given: int, made: _Made | None) -> int:
        """What a function of the project gives.

        Args:
            made: of what it is a method.

        Raises:
            _DoubtError: it may change the model.
        """
        name = getattr(function, "__qualname__", "?")
        tree = self._texts.tree_of(function) if isinstance(function, types.FunctionType) else None
        if not isinstance(tree, ast.FunctionDef) or tree.decorator_list or function.__closure__:
            raise _DoubtError(f"calls {name}, which is not read")
        if self._depth >= _DEEPEST:
            raise _DoubtError(f"calls {name}, which is too far to be read")
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        if any(self._as_kind(_Live(each)) < READ for each in defaults):
            raise _DoubtError(f"calls {name}, which has defaults that may be of the model")
        given = min([given, *(self._as_kind(_Live(each)) for each in defaults)])
        said = made.kind.__name__ if made is not None and tree.name == "__init__" else tree.name
        self._depth += 1
        try:
            return self._run(tree, function.__globals__, given, made)
        except _DoubtError as doubt:
            raise _DoubtError(f"calls {said}, which {doubt}") from None
        finally:
            self._depth -= 1

    def _run(self, tree: ast.FunctionDef, names: Mapping[str, Any], given: int, made: _Made | None) -> int:
        self._count(tree)
        parameters = [each.arg for each in ast.walk(tree.args) if isinstance(each, ast.arg)]
        bound = [name for each in tree.body for name in bound_names(each)]
        scope = _Scope(names, dict.fromkeys(parameters, given), frozenset((*parameters, *bound)), made=made)
        if made is not None:
            stored = [
                each.id
                for each in ast.walk(tree)
                if isinstance(each, ast.Name) and each.id == "self" and not isinstance(each.ctx, ast.Load)
            ]
            if parameters[:1] != ["self"] or "self" in (*parameters[1:], *bound, *stored):
                raise _DoubtError("binds self in a way that is not read")
            scope.kinds["self"] = OTHER
        self._settled(tree.body, scope)
        return min([OWN, *scope.given])

    def _count(self, node: ast.AST) -> None:
        self._texts.n_read += 1
        if self._texts.n_read > _MOST:
            raise _DoubtError("reaches too much code to be read")
        unread = unread_part(node)
        if unread is not None:
            raise _DoubtError(f"has a part that is not read ({unread})")


def _kinds_in(scope: _Scope) -> tuple[dict[str, Any], dict[str, Any]]:
    return dict(scope.kinds), {} if scope.made is None else dict(scope.made.attributes)


def _arguments(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(each.value for each in node.keywords)]


def _yields(body: Iterable[ast.AST]) -> bool:
    pending = list(body)
    while pending:
        each = pending.pop()
        if isinstance(each, ast.Yield):
            return True
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(each)
    return False


def _is_kind(found: int | _Live, *, with_project: bool = False) -> bool:
    """What a note of a kind may name: a class, or a form of `typing`."""
    value = found.value if isinstance(found, _Live) else 0
    if is_of_project(type(value)) or (not with_project and is_of_project(value)):
        return False
    return value is None or isinstance(value, type) or type(value).__module__ in ("typing", "types")


def _shown(node: ast.expr) -> str:
    return dotted(node) or (node.attr if isinstance(node, ast.Attribute) else "what it has computed")
