"""Whether statements that were left out could have changed what a model is made of, or does.

They bind nothing that it uses: that is seen where it looks for a name. But they may set an attribute of a class, put
something into a registry, or change what is set for the whole process; or call what does. So each is read, with the
functions and classes of the project that it reaches, as they are live; what is installed changes nothing of the
project's but what it is given, and nothing for the process but by functions that say so by their names. What is not
known to be harmless is not.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import inspect
import linecache
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath
from typing import Any

import torch
from torch import nn

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse
from modgraph.source.needed_statements import bound_names
from modgraph.tracing.basics.origins import is_installed, is_own
from modgraph.tracing.loading.placeholders import Absent

_MOST = 400
"""Functions and classes that are read for one model."""
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PLAIN = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, re.Pattern, PurePath),
    *(torch.dtype, torch.device, torch.Size, types.ModuleType, types.BuiltinFunctionType, Absent),
)
"""Kinds of values that nobody changes by having them; modules are asked for what is changed of them. What stands for a
package that is not there is a doubt of its own."""
_SETTING = re.compile(r"(?:set_default|register|override|patch|monkey|replace_|install_|wrap_)")
"""Functions of packages that change what others do say so by how their names begin."""
_OF_MODELS = frozenset(
    (
        "parameters",
        "named_parameters",
        "buffers",
        "named_buffers",
        "modules",
        "named_modules",
        "children",
        "named_children",
        "state_dict",
        "load_state_dict",
        "train",
        "eval",
        "zero_grad",
        "to",
        "cuda",
        "cpu",
        "get_parameter",
        "get_submodule",
        "forward",
    )
)
"""Methods of `nn.Module` that leave what it is made of as it is."""
_OF_RESULTS = frozenset(
    ("backward", "step", "zero_grad", "item", "tolist", "detach", "cpu", "cuda", "numpy", "size", "dim", "mean", "sum")
)
"""Methods of what a model gives: of a loss, an optimizer, a tensor."""
_TAKING_MODELS = re.compile(
    r"torch\.(?:optim|nn\.modules|nn\.parallel|nn\.init|nn\.utils\.clip_grad|utils\.data)\b|torch\.(?:save|serialization)\b|logging\b|builtins\b|_io\b"
)
"""Where the functions stand that may be given a model, or parts of it, and leave it as it is."""
_ANYTHING = frozenset(("exec", "eval", "globals", "__import__", "compile"))
_CHANGING = frozenset(("setattr", "delattr"))
_BACKENDS = re.compile(r"torch\.backends\.|cudnn\.|os\.environ$")
_VARIABLES = re.compile(r"PYTHONHASHSEED|CUDA_|NCCL_|OMP_|MKL_|TOKENIZERS_PARALLELISM|WANDB_")
"""What a training sets of the environment, of which no architecture depends."""
_LOST = object()


@dataclass(slots=True)
class _Scope:
    """Where names are looked up: in a function or among statements of a file."""

    names: Mapping[str, Any]
    """Those of the file."""
    local: set[str] = field(default_factory=set)
    live: set[str] = field(default_factory=set)
    """Of the local ones: those that may stand for something of the model."""
    globals: set[str] = field(default_factory=set)
    """Names of the file that are bound here."""


class SideEffects:
    """What is said of the statements of one file.

    Args:
        names: what the file's names stand for.
        needed: those that the model needs; None where it may be any.
        unbound: those that are not bound, as the statements were left out.
    """

    def __init__(self, names: Mapping[str, Any], needed: frozenset[str] | None, unbound: Iterable[str]) -> None:
        self._names, self._needed, self._unbound = names, needed, set(unbound)
        self._read: set[tuple[int, frozenset[str]]] = set()
        self._returning: dict[types.FunctionType, bool] = {}

    def of(self, statements: Sequence[ast.AST]) -> list[str | None]:
        """For each, what it may change, as the end of a sentence ("it changes Net"); None where that is nothing."""
        scope = _Scope(self._names, set(self._unbound))
        found: list[str | None] = []
        try:
            for _ in range(2):  # a name may be used above the statement that says what it stands for
                for statement in statements:
                    self._follow(statement, scope)
        except RAISED_BY_OTHERS as error:
            return [f"cannot be read ({type(error).__name__})" for _ in statements]
        for statement in statements:
            self._read.clear()
            try:
                found.append(next(self._effects(_as_it_is_run(statement), scope), None))
            except RAISED_BY_OTHERS as error:  # the names and the objects that are read are others' own
                found.append(f"cannot be read ({type(error).__name__})")
        return found

    # What names stand for.

    def _follow(self, tree: ast.AST, scope: _Scope) -> None:
        """Which local names may stand for something of the model."""
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=targets, value=value):
                    pass
                case (
                    ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value)
                ):
                    targets = [target]
                case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                    targets = [target]
                case ast.withitem(optional_vars=ast.expr() as target, context_expr=value):
                    targets = [target]
                case _:
                    continue
            if self._is_live(value, scope):
                scope.live |= {name for target in targets for name in bound_names(target)}

    def _is_live(self, value: ast.expr, scope: _Scope) -> bool:
        """Something of the model may come with a value: a class of the project, a module, what holds such."""
        return any(self._is_live_part(part, scope) for part in _given(value))

    def _is_live_part(self, part: ast.expr, scope: _Scope) -> bool:
        if isinstance(part, ast.Call):
            return self._gives_live(part, scope)
        root = _root(part)
        if not isinstance(root, ast.Name):
            return False
        if root.id in scope.local:
            return root.id in scope.live
        found = scope.names.get(root.id, _LOST)
        if isinstance(found, types.ModuleType) and part is not root:
            found = self._value(part, scope)
            if dotted(part) in ("sys.modules", "os.environ"):
                return True
            if not isinstance(found, type) and not _is_of_project(scope.names[root.id]):
                return False
            if found is _LOST:
                return True
        return self._is_live_value(found)

    def _gives_live(self, call: ast.Call, scope: _Scope) -> bool:
        """Whether a call gives something of the model, of itself: what it is given is looked at for its own sake."""
        found = self._value(call.func, scope)
        if isinstance(found, types.FunctionType) and _is_of_project(found):
            return self._returns_live(found)
        name = dotted(call.func) or ""
        return name.rpartition(".")[2] in ("import_module", "__import__", "globals", "vars", "type")

    def _returns_live(self, function: types.FunctionType) -> bool:
        if function in self._returning:
            return self._returning[function]
        self._returning[function] = False  # of one that calls itself, what it gives otherwise
        tree = _tree_of(inspect.unwrap(function))
        if tree is None:
            return True
        scope = _scope_of(tree, function.__globals__)
        for _ in range(2):
            self._follow(tree, scope)
        values = [each.value for each in ast.walk(tree) if isinstance(each, ast.Return | ast.Yield) and each.value]
        self._returning[function] = any(self._is_live(each, scope) for each in values)
        return self._returning[function]

    def _is_live_value(self, found: Any) -> bool:
        if found is _LOST or isinstance(found, (*_PLAIN, types.FunctionType)):
            return False
        if isinstance(found, type):
            return issubclass(found, nn.Module) or _is_of_project(found)
        if isinstance(found, tuple | frozenset):
            return not all(isinstance(each, _PLAIN) for each in found)
        return True

    def _value(self, node: ast.expr, scope: _Scope) -> Any:
        """What a name, or an attribute of a module or class, stands for; `_LOST` where that is not known."""
        if isinstance(node, ast.Name):
            if node.id in scope.local:
                return _LOST
            return scope.names.get(node.id, getattr(builtins, node.id, _LOST))
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value, scope)
            if isinstance(owner, types.ModuleType):
                return owner.__dict__.get(node.attr, _LOST)
            if isinstance(owner, type):
                found = inspect.getattr_static(owner, node.attr, _LOST)
                return found.__func__ if isinstance(found, staticmethod | classmethod) else found
        return _LOST

    # What a text does.

    def _effects(self, tree: ast.AST, scope: _Scope) -> Iterator[str]:
        for node in ast.walk(tree):
            match node:
                case ast.Import() | ast.ImportFrom():
                    yield from self._imports(node, scope, failed=node is tree)
                case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                    yield from self._stores(node, scope)
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if name in scope.globals:
                    if name in scope.names and (self._needed is None or name in self._needed):
                        yield f"binds {name} anew"
                case ast.Call():
                    yield from self._calls(node, scope)
                case ast.Name() | ast.Attribute():
                    found = self._value(node, scope)
                    if isinstance(found, types.FunctionType | type) and _is_of_project(found):
                        yield from self._reached(found, frozenset())
                case ast.ClassDef(bases=bases):
                    yield from self._derives(bases, scope)

    def _derives(self, bases: Sequence[ast.expr], scope: _Scope) -> Iterator[str]:
        """What comes of it that a class is derived from another."""
        for base in bases:
            found = self._value(base, scope)
            if isinstance(found, type) and _is_of_project(found):
                told = inspect.getattr_static(found, "__init_subclass__", None)
                if isinstance(told, classmethod) and _is_of_project(told.__func__):
                    yield f"tells {found.__name__} of a class that is derived from it"
                if any("__subclasses__" in text for text in _texts_of_project()):
                    yield f"derives from {found.__name__}, and the project asks for classes that are"
            if isinstance(found, type) and _is_of_project(type(found)):
                yield f"makes a class with {type(found).__name__}"

    def _imports(self, node: ast.Import | ast.ImportFrom, scope: _Scope, *, failed: bool) -> Iterator[str]:
        """What comes of an import.

        Args:
            failed: it was tried, and is left out for that.
        """
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        else:
            package = scope.names.get("__package__") or ""
            try:
                names = [importlib.util.resolve_name("." * node.level + (node.module or ""), package)]
            except ImportError:
                names = [""]
        for name in names:
            module = sys.modules.get(name)
            if module is None and (failed or not _places_of(name)):
                yield f"imports {name}, which could not be imported"
            elif module is None and not _is_installed_module(name):
                yield f"imports {name}, which nothing else has imported"
            elif isinstance(node, ast.ImportFrom) and hasattr(module, "__path__") and not _is_installed_module(name):
                for each in node.names:
                    if each.name != "*" and each.name not in vars(module) and each.name not in _unbound_of(module):
                        yield f"imports {each.name} of {name}, which could not be imported"
            elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*" and not scope.local:
                yield f"imports all names of {name}, and it is not known which"

    def _stores(self, node: ast.Attribute | ast.Subscript, scope: _Scope) -> Iterator[str]:
        text = dotted(node.value if isinstance(node, ast.Subscript) else node) or ""
        if _BACKENDS.match(text) and (isinstance(node, ast.Attribute) or _is_of_training(node.slice)):
            return
        root = _root(node)
        if isinstance(root, ast.Name):
            if root.id in scope.local:
                if root.id in scope.live or "__class__" in text:
                    yield f"changes {text or root.id}, which may be of the model"
            elif root.id in scope.names:
                yield f"changes {text or root.id}"
        elif self._is_live(root, scope):
            yield "changes what it is given of the model"

    def _calls(self, node: ast.Call, scope: _Scope) -> Iterator[str]:
        given = [*node.args, *(each.value for each in node.keywords)]
        is_live = any(self._is_live(each, scope) for each in given)
        found = self._value(node.func, scope)
        name = dotted(node.func) or getattr(node.func, "attr", "") or "what it has computed"
        if isinstance(found, types.FunctionType | type) and _is_of_project(found):
            yield from self._reached(found, self._live_parameters(node, found, scope) if is_live else frozenset())
        elif found is _LOST:
            yield from self._calls_unknown(node, scope, name, is_live=is_live)
        elif isinstance(found, types.BuiltinFunctionType) and found.__name__ in _ANYTHING | _CHANGING:
            if found.__name__ in _ANYTHING or is_live or (given and not _is_fresh(given[0], scope)):
                yield f"calls {found.__name__}"
        elif not callable(found) or isinstance(found, nn.Module):
            yield from self._calls_unknown(node, scope, name, is_live=is_live)
        elif _SETTING.match(name.rpartition(".")[2]):
            yield f"calls {name}"
        elif is_live and not _takes_models(found):
            yield f"gives something of the model to {name}"

    def _calls_unknown(self, node: ast.Call, scope: _Scope, name: str, *, is_live: bool) -> Iterator[str]:
        """A method of an object, or the object itself."""
        function = node.func
        method = function.attr if isinstance(function, ast.Attribute) else ""
        root = _root(function)
        owner = scope.names.get(root.id, _LOST) if isinstance(root, ast.Name) and root.id not in scope.local else _LOST
        if isinstance(owner, types.ModuleType) and not is_live and not _SETTING.match(method):
            return
        of_model = self._is_live(root, scope)
        if is_live:
            yield f"gives something of the model to {name}"
        elif of_model and not (isinstance(owner, nn.Module) and _leaves_as_it_is(owner, function, method)):
            is_result = owner is _LOST and method in _OF_RESULTS | _OF_MODELS
            is_called = owner is _LOST and isinstance(function, ast.Name)
            is_logger = type(owner).__module__ == "logging"
            if not (is_result or is_called or is_logger):
                yield f"calls {name} of what may be of the model"

    def _live_parameters(self, node: ast.Call, found: Any, scope: _Scope) -> frozenset[str]:
        """Which parameters of a function of the project are given something of the model."""
        tree = _tree_of(inspect.unwrap(found))
        if not isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef):
            return frozenset(("*",))
        places = [each.arg for each in (*tree.args.posonlyargs, *tree.args.args)]
        live = {each.arg or "*" for each in node.keywords if self._is_live(each.value, scope)}
        for place, value in enumerate(node.args):
            if self._is_live(value, scope):
                is_place = place < len(places) and not any(isinstance(each, ast.Starred) for each in node.args)
                live.add(places[place] if is_place else "*")
        return frozenset(live)

    def _reached(self, found: Any, live: frozenset[str]) -> Iterator[str]:
        """What a function or a class of the project does.

        Args:
            live: parameters that are given something of the model; "*" for any.
        """
        found = inspect.unwrap(found) if callable(found) else found
        if (id(found), live) in self._read:
            return
        self._read.add((id(found), live))
        if len(self._read) > _MOST:
            yield "reaches too much code to be read"
            return
        tree = _tree_of(found)
        module = sys.modules.get(getattr(found, "__module__", None) or "")
        names = getattr(found, "__globals__", None) or (None if module is None else module.__dict__)
        if tree is None or names is None:
            yield f"calls {getattr(found, '__qualname__', '?')}, whose source cannot be read"
            return
        for function in _functions(tree):
            yield from self._effects_of(function, names, live)

    def _effects_of(self, function: ast.AST, names: Mapping[str, Any], live: frozenset[str]) -> Iterator[str]:
        body = getattr(function, "body", [])
        scope = _scope_of(function, names)
        parameters = {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
        scope.live |= parameters & (live | {"cls"}) if "*" not in live else parameters - {"self"}
        for _ in range(2):
            self._follow(function, scope)
        for each in body if isinstance(body, list) else [body]:
            if not isinstance(function, ast.ClassDef) or not isinstance(each, _FUNCTION):
                yield from self._effects(each, scope)


def _as_it_is_run(statement: ast.AST) -> ast.AST:
    """A definition without what is done where it is called: by its own statement that is not."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        defaults = [*statement.args.defaults, *(each for each in statement.args.kw_defaults if each is not None)]
        return ast.Module([ast.Expr(each) for each in (*statement.decorator_list, *defaults)], [])
    if isinstance(statement, ast.ClassDef):
        body = [_as_it_is_run(each) for each in statement.body]
        told = [ast.Expr(each.value) for each in statement.keywords]
        bare = ast.ClassDef(statement.name, statement.bases, [], [], statement.decorator_list)
        return ast.Module([bare, *told, *body], [])  # type: ignore[list-item]
    return statement


def _scope_of(function: ast.AST, names: Mapping[str, Any]) -> _Scope:
    """That of a function, with those of functions in it."""
    scope = _Scope(names)
    if isinstance(function, ast.ClassDef):
        return scope  # its methods see none of its names
    body = getattr(function, "body", [])
    for each in body if isinstance(body, list) else [body]:
        for node in ast.walk(each):
            scope.local.update(bound_names(node) if isinstance(node, ast.stmt | ast.comprehension) else ())
            if isinstance(node, ast.Global):
                scope.globals.update(node.names)
    scope.local |= {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
    scope.local -= scope.globals
    return scope


def _given(value: ast.expr) -> Iterator[ast.expr]:
    """Names and dotted names in an expression, and calls for what they give; not what is called."""
    pending: list[ast.AST] = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            yield node
            if dotted(node.func) in (*_QUESTIONS, "os.environ.get", "os.getenv"):
                continue
            if isinstance(node.func, ast.Attribute):  # of an object that has been made, `Net().fc`, or that is there
                pending.append(node.func.value)
            elif not isinstance(node.func, ast.Name):
                pending.append(node.func)
            pending += [*node.args, *(each.value for each in node.keywords)]
        elif isinstance(node, ast.Subscript) and dotted(node.value) == "os.environ":
            continue  # a text
        elif isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and dotted(node) is not None):
            yield node
        elif isinstance(node, ast.expr | ast.keyword | ast.comprehension) and not isinstance(
            node, ast.Compare | ast.Lambda
        ):
            pending += ast.iter_child_nodes(node)


_QUESTIONS = frozenset(
    (
        "isinstance",
        "issubclass",
        "len",
        "print",
        "super",
        "str",
        "repr",
        "type",
        "id",
        "hasattr",
        "callable",
        "int",
        "float",
        "bool",
    )
)
"""Functions that give nothing of what they are given, and change nothing of it."""


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node


def _is_fresh(node: ast.expr, scope: _Scope) -> bool:
    root = _root(node)
    return isinstance(root, ast.Name) and root.id in scope.local and root.id not in scope.live


def _is_of_training(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and isinstance(key.value, str) and _VARIABLES.match(key.value) is not None


def _leaves_as_it_is(owner: nn.Module, function: ast.expr, method: str) -> bool:
    if isinstance(function, ast.Name):
        return True  # the model is run
    found = inspect.getattr_static(type(owner), method, None)
    return method in _OF_MODELS and (method == "forward" or not _is_of_project(found))


def _takes_models(function: Any) -> bool:
    home = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__name__", "")
    return name in _QUESTIONS or _TAKING_MODELS.match(home) is not None


def _places_of(name: str) -> list[str]:
    """Where the package lies that a module is of; none where it is not there. Nothing is imported."""
    try:
        spec = importlib.util.find_spec(name.partition(".")[0]) if name else None
    except RAISED_BY_OTHERS:
        return []
    found = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    return [each for each in found if each is not None]


def _is_installed_module(name: str) -> bool:
    return any(each in ("built-in", "frozen") or is_installed(each) for each in _places_of(name))


def _unbound_of(module: types.ModuleType | None) -> Iterable[str]:
    return () if module is None else getattr(module.__dict__.get("__builtins__"), "unbound", ())


def _is_of_project(found: Any) -> bool:
    if isinstance(found, types.FunctionType):
        file = found.__code__.co_filename
    elif isinstance(found, types.ModuleType):
        file = getattr(found, "__file__", None) or ""
    else:
        module = sys.modules.get(getattr(found, "__module__", None) or "")
        file = getattr(module, "__file__", None) or ""
    return bool(file) and not file.startswith("<") and not is_installed(file) and not is_own(file)


def _texts_of_project() -> Iterator[str]:
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType) and _is_of_project(module):
            yield "".join(linecache.getlines(getattr(module, "__file__", None) or ""))


@lru_cache(maxsize=256)
def _file_tree(file: str) -> ast.Module | None:
    text = "".join(linecache.getlines(file))
    try:
        tree: ast.Module = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if text else None


def _tree_of(found: Any) -> ast.AST | None:
    """Where a function or a class is defined in its file."""
    if isinstance(found, type):
        file, line = getattr(sys.modules.get(found.__module__), "__file__", None) or "", None
    else:
        code = getattr(found, "__code__", None)
        file, line = ("", None) if code is None else (code.co_filename, code.co_firstlineno)
    tree = _file_tree(file) if file else None
    kinds = (ast.ClassDef,) if isinstance(found, type) else _FUNCTION
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, kinds):
            first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
            if first == line or (line is None and getattr(node, "name", "") == found.__name__):
                return node
    return None


def _functions(tree: ast.AST) -> Iterator[ast.AST]:
    """A function; of a class itself and its methods."""
    yield tree
    if isinstance(tree, ast.ClassDef):
        yield from (each for each in tree.body if isinstance(each, _FUNCTION))
