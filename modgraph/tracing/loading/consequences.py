"""What follows from the answer of a state dict that stands for weights that are not there, as the source shows.

An answer does no harm where it ends in state dicts, loads, reports and errors only: where keys are renamed and
filtered, or an entry is chosen. What the source does not show does harm: an unknown call, an attribute, a module.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import itertools
import linecache
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

from modgraph.source.quiet import python_tree
from modgraph.tracing.basics.origins import is_internal, is_own

_INNER = frozenset(["<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"])
_REPORTS = frozenset(["print", "info", "warning", "warn", "debug", "log", "error", "exception"])
_COLLECTING = (
    dict,
    OrderedDict,
    list,
    tuple,
    set,
    frozenset,
    sorted,
    copy.copy,
    copy.deepcopy,
    iter,
    next,
    enumerate,
    zip,
)
_LOOKING = (len, str, repr, format, any, all, sum, min, max, bool, isinstance, type, map, filter, reversed)
_PASSED_ON = (*_COLLECTING, *_LOOKING)
"""What gives something of what it is given, and does nothing else."""
_ADDING = ["update", "setdefault", "append", "add", "extend"]
_OF_CONTAINERS = frozenset([*_ADDING, "pop", "remove", "discard", "clear", "popitem", "move_to_end"])
_KINDS = frozenset(["isinstance", "type", "callable", "id"])
_NOT_AS_THOUGHT = (KeyError, TypeError, AttributeError, ValueError)
"""What comes of an entry that is not there, or of another kind."""
_STEPS = 2000


class AsksItself:
    """A state dict whose every answer is looked at by itself."""


class Source:
    """A file, as it is parsed once."""

    def __init__(self, tree: ast.AST) -> None:
        self.tree = tree
        self.parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

        self._found: dict[tuple[int, int, int, int], ast.expr | None] = {}

    def at(self, position: tuple[int, int, int, int]) -> ast.expr | None:
        """The smallest expression that holds a position: lines from 1 and columns of its begin and end."""
        if position not in self._found:
            self._found[position] = self._look(position)
        return self._found[position]

    def _look(self, position: tuple[int, int, int, int]) -> ast.expr | None:
        best: tuple[tuple[int, int], ast.expr] | None = None
        start, end = position[:2], position[2:]
        for node in self.parents:
            if not isinstance(node, ast.expr) or node.end_lineno is None or node.end_col_offset is None:
                continue
            first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
            if first <= start and last >= end:
                size = (last[0] - first[0], last[1] - first[1] if last[0] == first[0] else last[1])
                if best is None or size < best[0]:
                    best = (size, node)
        return None if best is None else best[1]

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """What it stands in, from the innermost."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def scope(self, node: ast.AST) -> ast.AST:
        """The function or the file that it stands in."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        return next((each for each in self.above(node) if isinstance(each, kinds)), self.tree)


def does_no_harm(how: str) -> bool:
    """Whether nothing but state dicts follows from what is asked just now.

    Args:
        how: the method that is asked.
    """
    frame = _asking()
    if frame is None:
        return True  # we ask, to describe
    node = _node_of(frame)
    nodes = [] if node is None else [node]
    if node is None and how == "load_state_dict":  # any of those in its line
        nodes = [each for each in _nodes_of(frame) if isinstance(each, ast.Call) and _called(each) == how]
    answer = _Answer(frame, how)
    return bool(nodes) and all(answer.is_harmless(each) for each in nodes)


def is_taken_as_it_is() -> bool:
    """Whether it does no harm that a stand-in is given just now, though it is of another kind than what it stands for,
    and is there in any case: neither its kind, nor whether it is None, nor that it is missing decides."""
    frame = _asking()
    if frame is None:
        return True
    answer = _Answer(frame, "")
    nodes = _nodes_of(frame)
    return bool(nodes) and all(answer.kind_is_harmless(each) and answer.lack_is_harmless(each) for each in nodes)


def is_caught(error: type[BaseException], home: CodeType | None) -> bool:
    """Whether an error that is raised just now is caught by code that is not ours, which then goes on.

    Args:
        home: the function that runs that code.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not home:
        file = frame.f_code.co_filename
        for node in () if is_internal(file) else _nodes_of(frame):
            if any(_goes_on(each, error, frame) for each in _handlers(_source(file), node)):
                return True
        frame = frame.f_back
    return False


class _Answer:
    """One look at what follows from one answer."""

    def __init__(self, frame: FrameType, how: str) -> None:
        self._how = how
        self._frames = list(_frames(frame))
        self._depth = 0
        self._seen: set[tuple[int, ast.AST, str]] = set()
        self._steps = itertools.count()

    @property
    def _frame(self) -> FrameType:
        return self._frames[self._depth]

    @property
    def _source(self) -> Source:
        source = _source(self._frame.f_code.co_filename)
        return _NOTHING if source is None else source

    def _is_new(self, node: ast.AST, name: str = "") -> bool:
        key = (self._depth, node, name)
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new

    def is_harmless(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Attribute) and node.func.attr == self._how):
                return self._in_call(node)
            if isinstance(self._source.parents.get(node), ast.Expr):
                return True
        return self._goes(node)

    def kind_is_harmless(self, node: ast.expr) -> bool:
        parent = self._source.parents.get(node)
        named: list[ast.expr] = [node]
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
            named += self._reads(parent.targets[0].id, node)
        for each in named:
            use = self._source.parents.get(each)
            is_kind = isinstance(use, ast.Call) and isinstance(use.func, ast.Name) and use.func.id in _KINDS
            is_none = isinstance(use, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in use.ops)
            if isinstance(use, ast.expr) and (is_kind or is_none) and not self._goes(use):
                return False
        return True

    def lack_is_harmless(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Subscript):
            return True
        for handler in _handlers(self._source, node):
            statement = self._source.parents[handler]
            if isinstance(statement, ast.Try) and any(_goes_on(handler, each, self._frame) for each in _NOT_AS_THOUGHT):
                return all(
                    self._are_harmless(part)
                    for part in (statement.body, statement.orelse, *(each.body for each in statement.handlers))
                )
        return True

    def _goes(self, node: ast.expr) -> bool:
        """Whether the value of an expression goes nowhere but into state dicts."""
        if not self._is_new(node):
            return True
        if next(self._steps) > _STEPS:
            return False
        parent = self._source.parents.get(node)
        match parent:
            case ast.Expr() | ast.Assert() | ast.Raise() | ast.Delete():
                return True
            case ast.Assign(targets=targets):
                return all(self._is_kept(target) for target in targets)
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                return self._is_kept(target)
            case ast.NamedExpr(target=ast.Name(id=name)):
                return self._is_read(name, parent) and self._goes(parent)
            case ast.Return():
                return self._returned(parent)
            case ast.If() | ast.While() | ast.For():
                return self._decides(parent)
            case ast.Call():
                return self._in_call(parent)
            case ast.keyword():
                call = self._source.parents[parent]
                return isinstance(call, ast.Call) and self._in_call(call)
            case ast.comprehension():
                whole = self._source.parents[parent]
                return isinstance(whole, ast.expr) and self._goes(whole)
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                return True
            case ast.Subscript(value=ast.Name(id=name), slice=index) if node is index and self._asks_itself(name):
                return True
            case ast.Lambda() | ast.Await() | ast.Yield() | ast.YieldFrom():
                return False
            case ast.IfExp(test=test, body=first, orelse=second) if node is test:
                asked = _names(test)
                return (_entry_of(first, asked) and _entry_of(second, asked)) or self._goes(parent)
            case ast.expr():
                return self._goes(parent)
        return False

    def _in_call(self, call: ast.Call) -> bool:
        """The same of an argument of a call, or of the object whose method is called."""
        if self._is_report_or_load(call) or isinstance(self._source.parents.get(call), ast.Raise):
            return True
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant):  # ", ".join(...)
            return self._goes(call)
        if isinstance(call.func, ast.Attribute):
            if call.func.attr in _OF_CONTAINERS:
                return self._is_filled(call.func.value) and self._goes(call)
            if (self._depth, call.func, "") in self._seen:  # of the object
                return self._goes(call)
        function = _value(call.func, self._frame)
        return any(function is each for each in _PASSED_ON) and self._goes(call)

    def _is_report_or_load(self, call: ast.Call) -> bool:
        name = _called(call)
        if name == "load_state_dict":  # torch's own: another may ask what is in a renamed one
            code = getattr(_value(call.func, self._frame), "__code__", None)
            return code is None or is_internal(code.co_filename)
        is_own_method = isinstance(call.func, ast.Attribute) and _is_self(call.func.value)
        return name in _REPORTS and not is_own_method

    def _is_kept(self, target: ast.AST) -> bool:
        match target:
            case ast.Name(id=name):
                return self._is_seen_only_here(target) and self._is_read(name, target)
            case ast.Subscript(value=ast.Name() as of):
                return self._is_filled(of)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return all(self._is_kept(part) for part in parts)
        return False

    def _is_filled(self, container: ast.expr) -> bool:
        """The same of what is put into a container, or taken out of it."""
        if not isinstance(container, ast.Name):
            return False
        if self._asks_itself(container.id):
            return True
        scope = self._source.scope(container)
        return not _takes(scope, container.id) and self._is_read(container.id, container)

    def _asks_itself(self, name: str) -> bool:
        return isinstance(self._frame.f_locals.get(name), AsksItself)

    def _is_seen_only_here(self, name: ast.Name) -> bool:
        """Whether nobody else reads a name: those of classes and files are there for all."""
        above = list(self._source.above(name))
        scope = self._source.scope(name)
        if any(isinstance(each, ast.ClassDef) for each in above[: above.index(scope)]):
            return False
        if not isinstance(scope, ast.Module):
            return True
        statement = next(each for each in above if isinstance(each, ast.stmt))
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.DictComp):
            return True
        loops = [each for each in above if isinstance(each, ast.For)]
        return bool(loops) and all(loops[-1] in self._source.above(each) for each in self._reads(name.id, name))

    def _is_read(self, name: str, where: ast.AST) -> bool:
        scope = self._source.scope(where)
        if not self._is_new(scope, name):
            return True
        if any(isinstance(each, ast.Global | ast.Nonlocal) and name in each.names for each in ast.walk(scope)):
            return False
        return all(self._goes(each) for each in self._reads(name, where))

    def _reads(self, name: str, where: ast.AST) -> list[ast.Name]:
        """Where a name of the function of `where` is read; not in those within that have it as their own."""
        found: list[ast.Name] = []
        waiting = list(ast.iter_child_nodes(self._source.scope(where)))
        while waiting:
            each = waiting.pop()
            if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load):
                found.append(each)
            if not _takes(each, name):
                waiting += ast.iter_child_nodes(each)
        return found

    def _returned(self, statement: ast.Return) -> bool:
        here = _node_of(self._frame)
        if here is None or self._source.scope(here) is not self._source.scope(statement):
            return False  # of another function than the one that runs
        if self._depth + 1 == len(self._frames):
            return False
        self._depth += 1
        call = _node_of(self._frame)
        harmless = isinstance(call, ast.Call) and self._goes(call)
        self._depth -= 1
        return harmless

    # What an answer decides.

    def _decides(self, statement: ast.If | ast.While | ast.For) -> bool:
        chosen = _chosen(statement)
        return all(each in chosen or self._is_harmless(each) for each in (*statement.body, *statement.orelse))

    def _are_harmless(self, statements: Iterable[ast.stmt]) -> bool:
        return all(self._is_harmless(each) for each in statements)

    def _is_harmless(self, statement: ast.stmt) -> bool:
        if not self._is_new(statement):
            return True
        match statement:
            case ast.Pass() | ast.Raise() | ast.Assert():
                return True
            case ast.Continue() | ast.Break():
                loop = next(each for each in self._source.above(statement) if isinstance(each, ast.For | ast.While))
                return self._are_harmless(loop.body)
            case ast.Expr(value=ast.Constant()):
                return True
            case ast.Expr(value=ast.Call() as call):
                name, of = _called(call), call.func.value if isinstance(call.func, ast.Attribute) else None
                if name == "copy_" or self._is_report_or_load(call):
                    return True
                return name in _OF_CONTAINERS and of is not None and self._is_filled(of)
            case ast.Assign(targets=targets, value=value):
                return _is_plain(value) and all(self._is_kept(target) for target in targets)
            case ast.AugAssign(target=target, value=value):
                return _is_plain(value) and self._is_kept(target)
            case ast.Delete(targets=targets):
                return all(isinstance(each, ast.Name | ast.Subscript) and self._is_kept(each) for each in targets)
            case ast.If() | ast.While() | ast.For():
                return self._decides(statement)
            case ast.With(body=body):
                return self._are_harmless(body)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=last):
                parts = (body, orelse, last, *(each.body for each in handlers))
                return all(self._are_harmless(part) for part in parts)
            case ast.Return():
                after = [
                    each
                    for each in ast.walk(self._source.scope(statement))
                    if isinstance(each, ast.stmt) and each.lineno > (statement.end_lineno or statement.lineno)
                ]
                return self._returned(statement) and self._are_harmless(after)
        return False


def _chosen(statement: ast.If | ast.While | ast.For) -> set[ast.Assign]:
    """The assignments of one that chooses an entry of the state dict that it asks, or the state dict itself:
    `if "model" in state: state = state["model"]`. What comes of it is asked by itself."""
    if not isinstance(statement, ast.If):
        return set()
    asked = _names(statement.test)
    by_side: list[dict[str, ast.Assign]] = []
    for side in (statement.body, statement.orelse):
        by_side.append({})
        for each in side:
            match each:
                case ast.Assign(targets=[ast.Name(id=target)], value=value) if _entry_of(value, asked):
                    by_side[-1][target] = each
    first, second = by_side
    return {
        each
        for side in by_side
        for target, each in side.items()
        if _entry_of(each.value, {target}) or (target in first and target in second)
    }


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _entry_of(value: ast.expr, names: set[str]) -> bool:
    """Whether it is one of those, or an entry of one."""
    match value:
        case ast.Name(id=of) | ast.Subscript(value=ast.Name(id=of), slice=ast.Constant()):
            return of in names
    return False


def _takes(function: ast.AST, name: str) -> bool:
    """Whether a function has a parameter of that name."""
    given = getattr(function, "args", None)
    return isinstance(given, ast.arguments) and any(
        isinstance(each, ast.arg) and each.arg == name for each in ast.walk(given)
    )


def _is_plain(value: ast.expr) -> bool:
    """Nothing of the model is called for it: what a method of `self` does is not known."""
    return not any(
        isinstance(each, ast.Call)
        and (_called(each) in ("setattr", "delattr", "exec", "eval") or _root(each.func) == "self")
        and _called(each) not in ("load_state_dict", "state_dict", "named_parameters", "parameters")
        for each in ast.walk(value)
    )


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _called(call: ast.Call) -> str | None:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def _handlers(source: Source | None, node: ast.AST) -> Iterator[ast.ExceptHandler]:
    """Those of the `try` statements in whose body it stands, within its function."""
    if source is None:
        return
    scope, inner = source.scope(node), node
    for each in source.above(node):
        if each is scope:
            return
        if isinstance(each, ast.Try) and inner in each.body:
            yield from each.handlers
        inner = each


def _goes_on(handler: ast.ExceptHandler, error: type[BaseException], frame: FrameType) -> bool:
    """Whether it may catch such an error, and does not end in another."""
    if handler.body and isinstance(handler.body[-1], ast.Raise):
        return False
    if handler.type is None:
        return True
    caught = [_value(each, frame) for each in getattr(handler.type, "elts", [handler.type])]
    kinds = [each for every in caught for each in (every if isinstance(every, tuple) else (every,))]
    return any(not isinstance(each, type) or issubclass(error, each) or issubclass(each, error) for each in kinds)


def _value(node: ast.expr, frame: FrameType) -> Any:
    match node:
        case ast.Name(id=name):
            return frame.f_locals.get(name, frame.f_globals.get(name, getattr(builtins, name, None)))
        case ast.Attribute(value=of, attr=name):
            return getattr(_value(of, frame), name, None)
    return None


def _asking() -> FrameType | None:
    """The innermost frame that is neither torch's nor Python's; None where it is ours that asks."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in _HERE:
        frame = frame.f_back
    while frame is not None and is_internal(frame.f_code.co_filename):
        if is_own(frame.f_code.co_filename) and frame.f_code.co_filename not in _HERE:
            return None
        frame = frame.f_back
    return frame


_HERE: set[str] = {__file__}
"""Our files by way of which somebody else asks."""


def asks_by_way_of(file: str) -> None:
    """What is asked in a file of ours is what its caller asks."""
    _HERE.add(file)


def _frames(frame: FrameType) -> Iterator[FrameType]:
    """The functions of a frame and its callers, outward."""
    each: FrameType | None = frame
    while each is not None:
        if each.f_code.co_name not in _INNER or each is frame:
            yield each
        name, each = each.f_code, each.f_back
        while name.co_name in _INNER and each is not None and each.f_code.co_filename == name.co_filename:
            name, each = each.f_code, each.f_back  # a comprehension returns into the function that it stands in


def _node_of(frame: FrameType) -> ast.expr | None:
    """The expression that a frame is at."""
    source = _source(frame.f_code.co_filename)
    position = _position(frame.f_code, frame.f_lasti)
    return None if source is None or position is None else source.at(position)


def _nodes_of(frame: FrameType) -> list[ast.expr]:
    """The same; all of its line where Python does not tell which one."""
    node, source = _node_of(frame), _source(frame.f_code.co_filename)
    if node is not None or source is None:
        return [] if node is None else [node]
    return [each for each in source.parents if isinstance(each, ast.expr) and each.lineno == frame.f_lineno]


def _position(code: CodeType, instruction: int) -> tuple[int, int, int, int] | None:
    positions = getattr(code, "co_positions", None)  # since Python 3.11
    found = None if positions is None else next(itertools.islice(positions(), instruction // 2, None), None)
    if found is None or None in found:
        return None
    line, end_line, column, end_column = found
    return line, column, end_line, end_column


@functools.lru_cache(maxsize=256)
def _source(file: str) -> Source | None:
    text = "".join(linecache.getlines(file))
    try:
        return Source(python_tree(text)) if text else None
    except (SyntaxError, ValueError, RecursionError):
        return None


_NOTHING = Source(ast.Module([], []))
"""Of a file that cannot be read."""
