"""Whether statements that were left out are shown to be harmless to a model, by a short rule; else they are a doubt.

A statement is harmless where it binds names of its own and calls nothing but what is known to change nothing: a few
builtins and functions of packages (`pure_calls.py`), methods that read what was made there, and functions of the
project that keep to the same rule. What belongs to anybody else is not changed, iterated, compared or given away.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.source.dotted_names import dotted
from modgraph.source.needed_statements import bound_names
from modgraph.tracing.loading.project_texts import Texts, imported_of, is_of_project, unbound_of
from modgraph.tracing.loading.pure_calls import (
    METHODS_OF_OWN,
    METHODS_OF_READ,
    OTHER,
    OWN,
    READ,
    is_pure,
    kind_of_value,
    parses_plainly,
)

_MOST = 50_000
"""Pieces of code that are read for one model."""
_DEEPEST = 3
"""Functions that call each other."""
_ROUNDS = 5
"""In a loop what a name stands for is known after some."""
_BASES = ("object", "torch.utils.data.dataset.Dataset", "torch.nn.modules.module.Module", "typing.Generic")
_WRAPPERS = ("staticmethod", "classmethod", "property")
_SPECIAL = ("__new__", "__del__", "__setattr__", "__getattribute__", "__getattr__")


class _DoubtError(Exception):
    """The end of a sentence: "it calls x"."""


@dataclass(frozen=True, slots=True)
class _Live:
    """A name stands for this very object."""

    value: Any


@dataclass(slots=True)
class _Scope:
    names: Mapping[str, Any]
    """Those of the file, as they are live."""
    kinds: dict[str, int | _Live] = field(default_factory=dict)
    local: frozenset[str] = frozenset()
    outer: _Scope | None = None
    made: type | None = None
    """The class of which `self` is an object that is just made."""
    given: list[int] = field(default_factory=list)
    """What is returned and yielded."""


class SideEffects:
    """What is said of the statements of one file.

    Args:
        names: what the file's names stand for.
        texts: of the project.
    """

    def __init__(self, names: Mapping[str, Any], texts: Texts) -> None:
        self._top = _Scope(names)
        self._texts = texts
        self._depth = 0

    def of(self, statements: Sequence[ast.stmt]) -> Iterator[str | None]:
        """For each, why it may change the model, as the end of a sentence ("it calls x"); None where it is harmless."""
        for statement in statements:
            reason = None
            try:
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
            before = dict(scope.kinds)
            for each in body:
                self._statement(each, scope)
            if scope.kinds == before:
                return
        raise _DoubtError("binds names in a loop in too many ways to be read")

    # Statements.

    def _statement(self, node: ast.stmt, scope: _Scope) -> None:
        self._count()
        match node:
            case ast.Expr(value=value) | ast.Return(value=ast.expr() as value):
                kind = self._kind(value, scope)
                scope.given += [kind] * isinstance(node, ast.Return)
            case ast.Assign(targets=targets, value=value):
                found = self._value(value, scope)
                for target in targets:
                    self._bind(target, found, scope)
            case ast.AnnAssign(target=target, annotation=annotation, value=value):
                if any(isinstance(each, ast.Call) for each in ast.walk(annotation)):
                    raise _DoubtError("calls something in an annotation")
                if value is not None:
                    self._bind(target, self._value(value, scope), scope)
            case ast.AugAssign(target=ast.Name(id=name) as target, value=value):
                loaded = ast.copy_location(ast.Name(name, ast.Load()), target)
                if self._kind(loaded, scope) != OWN or self._kind(value, scope) != OWN:
                    raise _DoubtError(f"changes {name}")
            case ast.If(test=test) | ast.While(test=test):
                self._read(test, scope)
                self._block((*node.body, *node.orelse), scope)
            case ast.For(target=target, iter=iterated):
                self._bind(target, self._read(iterated, scope), scope)
                self._block((*node.body, *node.orelse), scope)
            case ast.With(items=items, body=body):
                for item in items:
                    kind = self._read(item.context_expr, scope)
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, kind, scope)
                self._block(body, scope)
            case ast.Try():
                for handler in node.handlers:
                    scope.kinds.update({handler.name: READ} if handler.name else {})
                inner = [each for handler in node.handlers for each in handler.body]
                self._block((*node.body, *inner, *node.orelse, *node.finalbody), scope)
            case ast.Raise(exc=exc):
                if isinstance(exc, ast.Call):
                    self._kind(exc, scope)
            case ast.Assert(test=test, msg=msg):
                for each in (test, *([] if msg is None else [msg])):
                    self._read(each, scope)
            case ast.Import() | ast.ImportFrom():
                found_ones, reason = imported_of(node, scope.names)
                if reason is not None:
                    raise _DoubtError(reason)
                for name, value in found_ones.items():
                    self._set(name, _Live(value), scope)
            case ast.FunctionDef():
                self._defined(node, scope, ())
                self._set(node.name, OTHER, scope)
            case ast.ClassDef():
                self._class(node, scope)
            case ast.Pass() | ast.Break() | ast.Continue() | ast.Return():
                pass
            case _:
                raise _DoubtError(f"has a statement that is not read (`{type(node).__name__.lower()}`)")

    def _block(self, body: Iterable[ast.stmt], scope: _Scope) -> None:
        for each in body:
            self._statement(each, scope)

    def _defined(self, node: ast.FunctionDef, scope: _Scope, wrappers: Sequence[str]) -> None:
        if any(dotted(each) not in wrappers for each in node.decorator_list):
            raise _DoubtError(f"decorates {node.name}")
        arguments = [each.annotation for each in ast.walk(node.args) if isinstance(each, ast.arg)]
        noted = [each for each in (*arguments, node.returns) if each is not None]
        if any(isinstance(each, ast.Call) for outer in noted for each in ast.walk(outer)):
            raise _DoubtError("calls something in an annotation")
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self._kind(default, scope)

    def _class(self, node: ast.ClassDef, scope: _Scope) -> None:
        for base in node.bases:
            found = self._value(base, scope)
            if not (isinstance(found, _Live) and isinstance(found.value, type) and _name_of(found.value) in _BASES):
                raise _DoubtError(f"derives {node.name} from {dotted(base) or 'a class'}")
        if node.keywords or node.decorator_list:
            raise _DoubtError(f"decorates {node.name}")
        inner = _Scope(scope.names, outer=scope)
        for each in node.body:
            if isinstance(each, ast.FunctionDef):
                self._defined(each, inner, _WRAPPERS)
                inner.kinds[each.name] = OTHER
            else:
                self._statement(each, inner)
        self._set(node.name, OTHER, scope)

    def _bind(self, target: ast.expr, found: int | _Live, scope: _Scope) -> None:
        match target:
            case ast.Name(id=name):
                self._set(name, found, scope)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if scope.made is not None:
                if hasattr(scope.made, name):
                    raise _DoubtError(f"changes {name}")
                self._set(f"self.{name}", found, scope)
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
                if self._kind(owner, scope) != OWN or self._as_kind(found) != OWN:
                    raise _DoubtError(f"changes {dotted(owner) or 'what it has computed'}")
            case _:
                raise _DoubtError("binds what is not read")

    def _set(self, name: str, found: int | _Live, scope: _Scope) -> None:
        """What a name stands for; of several things the worst."""
        before = scope.kinds.get(name, found)
        if before != found:
            found = min(self._as_kind(before), self._as_kind(found))
        scope.kinds[name] = found

    # Expressions.

    def _as_kind(self, found: int | _Live) -> int:
        if not isinstance(found, _Live):
            return found
        value = found.value
        if isinstance(value, types.FunctionType) and is_of_project(value):
            return self._called(value, OWN)  # who is given it may call it
        return kind_of_value(value)

    def _kind(self, node: ast.expr, scope: _Scope) -> int:
        return self._as_kind(self._value(node, scope)) if not isinstance(node, ast.Name) else self._named(node, scope)

    def _named(self, node: ast.Name, scope: _Scope) -> int:
        found = self._lookup(node.id, scope)
        return OTHER if isinstance(found, _Live) and callable(found.value) else self._as_kind(found)

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
        self._count()
        match node:
            case ast.Constant():
                return OWN
            case ast.Name(id=name):
                return self._lookup(name, scope)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if scope.made is not None:
                return scope.kinds.get(f"self.{name}", OTHER)
            case ast.Attribute(value=owner, attr=name):
                return self._attribute(node, self._value(owner, scope), name)
            case ast.Subscript(value=owner, slice=index):
                self._read(index, scope)
                return OWN if self._is_environment(owner, scope) else self._read(owner, scope)
            case ast.Slice():
                return self._least([each for each in (node.lower, node.upper, node.step) if each], scope)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return min([OWN, *(self._kind(each, scope) for each in parts)])
            case ast.Set(elts=parts) | ast.JoinedStr(values=parts) | ast.BoolOp(values=parts):
                return self._least(parts, scope)
            case ast.Dict(keys=keys, values=values):
                self._least([each for each in keys if each is not None], scope)
                return min([OWN, *(self._kind(each, scope) for each in values)])
            case ast.FormattedValue(value=value) | ast.UnaryOp(operand=value) | ast.Starred(value=value):
                spec = getattr(node, "format_spec", None)
                return self._least([value, *([] if spec is None else [spec])], scope)
            case ast.BinOp(left=left, right=right):
                self._least([left, right], scope)
                return OWN
            case ast.Compare(left=left, ops=ops, comparators=others):
                if not all(isinstance(each, ast.Is | ast.IsNot) for each in ops):
                    self._least([left, *others], scope)
                return min([OWN, *(OWN for each in (left, *others) if self._value(each, scope) is not None)])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._read(test, scope)
                return min(self._kind(body, scope), self._kind(orelse, scope))
            case ast.Call():
                return self._call(node, scope)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, scope)
            case ast.Yield(value=value):
                scope.given.append(OWN if value is None else self._kind(value, scope))
                return OTHER
            case ast.Lambda():
                return OTHER
        raise _DoubtError(f"has an expression that is not read ({type(node).__name__})")

    def _least(self, parts: Sequence[ast.expr], scope: _Scope) -> int:
        return min([OWN, *(self._read(each, scope) for each in parts)])

    def _comprehension(self, node: Any, scope: _Scope) -> int:
        inner = _Scope(scope.names, outer=scope, made=scope.made)
        for each in node.generators:
            self._bind(each.target, self._read(each.iter, inner), inner)
            self._least(each.ifs, inner)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return self._least(parts, inner)

    def _lookup(self, name: str, scope: _Scope) -> int | _Live:
        inner: _Scope | None = scope
        while inner is not None:
            if name in inner.local or name in inner.kinds:
                found = inner.kinds.get(name, OTHER)
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

    def _attribute(self, node: ast.expr, owner: int | _Live, name: str) -> int | _Live:
        value = owner.value if isinstance(owner, _Live) else None
        if isinstance(value, types.ModuleType):
            names = value.__dict__
            return _Live(names[name]) if name in names and self._texts.is_bound_once(names, name) else OTHER
        if isinstance(value, type) and not is_of_project(value):
            return _Live(getattr(value, name))
        kind = self._as_kind(owner)
        if kind < READ:
            raise _DoubtError(f"uses {_shown(node)}, which may be of the model")
        return kind

    def _is_environment(self, node: ast.expr, scope: _Scope) -> bool:
        import os

        found = self._value(node, scope) if isinstance(node, ast.Name | ast.Attribute) else OTHER
        return isinstance(found, _Live) and found.value is os.environ

    # Calls.

    def _call(self, node: ast.Call, scope: _Scope) -> int:
        function = node.func
        given = min([OWN, *(self._argument(each, scope, _shown(function)) for each in _arguments(node))])
        if isinstance(function, ast.Attribute) and self._is_environment(function.value, scope):
            if function.attr in ("get", "copy", "keys", "items"):
                return given
            raise _DoubtError(f"calls {_shown(function)}")
        owner = self._value(function.value, scope) if isinstance(function, ast.Attribute) else OTHER
        if isinstance(owner, _Live) and parses_plainly(owner.value, getattr(function, "attr", "")):
            return OWN
        found = self._value(function, scope)
        if isinstance(found, _Live):
            if isinstance(found.value, types.FunctionType | type) and is_of_project(found.value):
                return self._called(found.value, given)
            if is_pure(found.value, node):
                return given
        elif isinstance(function, ast.Attribute) and (
            function.attr in METHODS_OF_READ or (function.attr in METHODS_OF_OWN and found == given == OWN)
        ):
            return min(found, given)  # READ at least, both
        raise _DoubtError(f"calls {_shown(function)}")

    def _argument(self, node: ast.expr, scope: _Scope, called: str) -> int:
        kind = self._as_kind(self._value(node, scope))
        if kind < READ:
            raise _DoubtError(f"gives {_shown(node)} to {called}")
        return kind

    def _called(self, function: Any, given: int) -> int:
        """What a function of the project gives, or what is made of a class.

        Raises:
            _DoubtError: it may change the model.
        """
        name = getattr(function, "__qualname__", "?")
        made = function if isinstance(function, type) else None
        if made is not None:
            if type(made) is not type or any(_name_of(each) not in _BASES for each in made.__mro__[1:]):
                raise _DoubtError(f"calls {name}, which derives from others")
            if any(each in vars(made) for each in _SPECIAL):
                raise _DoubtError(f"calls {name}")
            if self._texts.tree_of(made) is None:
                raise _DoubtError(f"calls {name}, whose source is not read")
            function = vars(made).get("__init__")
            if function is None and len(made.__mro__) == 2:
                return OTHER
        tree = self._texts.tree_of(function) if isinstance(function, types.FunctionType) else None
        if not isinstance(tree, ast.FunctionDef) or tree.decorator_list or function.__closure__:
            raise _DoubtError(f"calls {name}, which is not read")
        if self._depth >= _DEEPEST:
            raise _DoubtError(f"calls {name}, which is too far to be read")
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        if any(self._as_kind(_Live(each)) < READ for each in defaults):
            raise _DoubtError(f"calls {name}, which has defaults that may be of the model")
        given = min([given, *(self._as_kind(_Live(each)) for each in defaults)])
        return self._run(tree, function.__globals__, given, made)

    def _run(self, tree: ast.FunctionDef, names: Mapping[str, Any], given: int, made: type | None) -> int:
        parameters = [each.arg for each in ast.walk(tree.args) if isinstance(each, ast.arg)]
        local = frozenset((*parameters, *(name for each in tree.body for name in bound_names(each))))
        scope = _Scope(names, dict.fromkeys(parameters, given), local, made=made)
        if made is not None:
            if parameters[:1] != ["self"]:
                raise _DoubtError(f"calls {made.__name__}")
            scope.kinds["self"] = OTHER
        self._depth += 1
        try:
            self._settled(tree.body, scope)
        except _DoubtError as doubt:
            raise _DoubtError(f"calls {tree.name if made is None else made.__name__}, which {doubt}") from None
        finally:
            self._depth -= 1
        return OTHER if made is not None else min([OWN, *scope.given])

    def _count(self) -> None:
        self._texts.n_read += 1
        if self._texts.n_read > _MOST:
            raise _DoubtError("reaches too much code to be read")


def _arguments(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(each.value for each in node.keywords)]


def _name_of(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _shown(node: ast.expr) -> str:
    return dotted(node) or (node.attr if isinstance(node, ast.Attribute) else "what it has computed")
