"""Which top-level statements of a text a name needs: what binds it, what binds the names in that, and so on.

For notebooks, whose other cells train, plot and download, and for scripts that do so while they are imported. A
statement counts as binding also where it changes an attribute or an item of a name, or calls a method on it that
changes a container, a module or a parser of options. Whatever else a call changes is not followed.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from modgraph.source.containers import CHANGING
from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse

_OF_MODULES = frozenset(
    (
        "add_module",
        "register_module",
        "register_buffer",
        "register_parameter",
        "register_forward_hook",
        "register_forward_pre_hook",
    )
)
"""Methods of `nn.Module` that change what it holds."""
_OF_PARSERS = frozenset(
    (
        "add_argument",
        "add_argument_group",
        "add_mutually_exclusive_group",
        "add_parser",
        "add_subparsers",
        "set_defaults",
    )
)
"""Methods of `argparse.ArgumentParser` that change what it reads."""
_BY_METHOD = CHANGING | _OF_MODULES | _OF_PARSERS
_SETTINGS = (
    *("sys.path.", "os.chdir", "torch.set_", "warnings.filter"),
    *("random.seed", "numpy.random.seed", "torch.manual_seed", "torch.seed", "torch.random.", "torch.cuda.manual_seed"),
)
"""Calls of a statement of their own that change how what follows is found or built."""


@dataclass(frozen=True, slots=True)
class _Facts:
    binds: frozenset[str]
    uses: frozenset[str]
    always: bool
    changes: bool = False
    """Beside what it binds it changes what another name stands for, so that both may be one object."""


@dataclass(frozen=True, slots=True)
class Needed:
    """What some names need of a text."""

    statements: frozenset[int]
    """Numbers of the top-level statements, from 0 on."""
    names: frozenset[str]
    """The names that are asked for, and those that they need in turn."""


def needed_statements(text: str, names: Iterable[str]) -> frozenset[int]:
    """Numbers of the top-level statements that `names` need, from 0 on.

    Raises:
        SyntaxError, ValueError, RecursionError: as parsing does.
    """
    return needed_of(text, names).statements


def needed_of(text: str, names: Iterable[str], *, with_plain: bool = False) -> Needed:
    """The same with the names.

    Args:
        with_plain: what imports, defines, calls nothing or changes what was imported is among them in any case.

    Raises:
        SyntaxError, ValueError, RecursionError: as parsing does.
    """
    tree: ast.Module = parse(text)
    lines = text.split("\n")
    origins = _origins(tree.body)
    facts = [_facts(node, lines, origins) for node in tree.body]
    by_name: dict[str, list[int]] = {}
    for number, each in enumerate(facts):
        for name in each.binds:
            by_name.setdefault(name, []).append(number)
    imported = _imported(tree.body) if with_plain else frozenset()
    kept: set[int] = set()
    pending = [name for name in names if name]
    seen: set[str] = set()
    for number, (node, each) in enumerate(zip(tree.body, facts, strict=True)):
        if each.always or not imported.isdisjoint(_changed(node)):
            kept.add(number)
            pending.extend(each.uses)
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for number in by_name.get(name, ()):
            if number not in kept:
                kept.add(number)
                pending.extend(facts[number].uses)
                pending.extend(facts[number].binds if facts[number].changes else ())
    plain = [number for number, node in enumerate(tree.body) if with_plain and is_plain(node)]
    return Needed(frozenset((*kept, *plain)), frozenset(seen))


def is_plain(node: ast.stmt) -> bool:
    """It imports or defines something, or binds a name to what no call makes: the model may need none of it, and to run
    it takes no time and changes nothing else."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Pass():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign() | ast.AnnAssign():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            are_names = all(isinstance(each, ast.Name | ast.Tuple | ast.List) for each in targets)
            return are_names and _calls_nothing(node)
        case ast.If():
            return _calls_nothing(node.test) and all(map(is_plain, (*node.body, *node.orelse)))
        case ast.Try():
            handled = [each for handler in node.handlers for each in handler.body]
            return all(map(is_plain, (*node.body, *handled, *node.orelse, *node.finalbody)))
    return False


_ACTING = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.comprehension, ast.NamedExpr)


def _calls_nothing(node: ast.AST) -> bool:
    return not any(isinstance(each, _ACTING) for each in ast.walk(node))


def bound_names(node: ast.AST) -> Iterator[str]:
    """Names that a statement binds or deletes in the scope that it stands in, whatever else it does."""
    pending: list[ast.AST] = [node]
    while pending:
        each = pending.pop()
        match each:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield each.name
                continue
            case ast.Name(ctx=ast.Store() | ast.Del()):
                yield each.id
            case ast.alias(name=name):
                yield each.asname or name.partition(".")[0]
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() | ast.Lambda():
                pending += [inner.target for inner in ast.walk(each) if isinstance(inner, ast.NamedExpr)]
                continue
        pending.extend(ast.iter_child_nodes(each))


def _imported(statements: Sequence[ast.stmt]) -> frozenset[str]:
    imports = [each for each in statements if isinstance(each, ast.Import | ast.ImportFrom)]
    return frozenset(name for each in imports for name in bound_names(each))


def _origins(statements: Sequence[ast.stmt]) -> dict[str, str]:
    """What a name stands for by the imports of a file: "np" for "numpy"."""
    found: dict[str, str] = {}
    for each in statements:
        if isinstance(each, ast.Import):
            found.update((alias.asname, alias.name) for alias in each.names if alias.asname)
        elif isinstance(each, ast.ImportFrom) and each.level == 0:
            found.update((alias.asname or alias.name, f"{each.module}.{alias.name}") for alias in each.names)
    return found


def _facts(node: ast.stmt, lines: list[str], origins: Mapping[str, str]) -> _Facts:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    table = symtable.symtable("\n".join(lines[first - 1 : node.end_lineno]) + "\n", "cell", "exec")
    binds = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()} | {
        symbol.get_name() for symbol in table.get_symbols() if symbol.is_namespace()
    }
    uses = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    uses |= set(_globals_below(table))
    star = isinstance(node, ast.ImportFrom) and any(each.name == "*" for each in node.names)
    changed = set(_changed(node))
    return _Facts(
        frozenset(binds | changed),
        frozenset(uses),
        star or _is_setting(node, origins),
        changes=bool(changed) and not changed.issuperset(binds),
    )


def _globals_below(table: symtable.SymbolTable) -> Iterator[str]:
    pending = list(table.get_children())
    while pending:
        inner = pending.pop()
        pending.extend(inner.get_children())
        for symbol in inner.get_symbols():
            if symbol.is_global() and symbol.is_referenced():
                yield symbol.get_name()


def _within(node: ast.stmt) -> Iterator[ast.stmt]:
    """The simple statements in a block that comes to its end; the statement itself where it is none."""
    if isinstance(node, ast.If | ast.For | ast.With | ast.Try):
        handled = [each for handler in getattr(node, "handlers", ()) for each in handler.body]
        for each in (*node.body, *handled, *getattr(node, "orelse", ()), *getattr(node, "finalbody", ())):
            yield from _within(each)
    else:
        yield node


def _changed(statement: ast.stmt) -> Iterator[str]:
    """Names of which a statement changes an attribute, an item, or by a method what they hold."""
    for node in _within(statement):
        yield from _changed_by(node)


def _changed_by(node: ast.stmt) -> Iterator[str]:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        targets = list(node.targets)
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    if isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
        function = node.value.func
        if isinstance(function, ast.Attribute) and function.attr in _BY_METHOD:
            targets.append(function)
        elif isinstance(function, ast.Name) and function.id in ("setattr", "delattr") and node.value.args:
            targets.append(ast.Attribute(node.value.args[0], "", ast.Store()))
    for target in targets:
        inner: ast.AST = target
        while isinstance(inner, ast.Attribute | ast.Subscript | ast.Starred):
            inner = inner.value
        if isinstance(inner, ast.Name) and inner is not target:
            yield inner.id


def _is_setting(statement: ast.stmt, origins: Mapping[str, str]) -> bool:
    calls = [
        each.value for each in _within(statement) if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)
    ]
    return any(_origin(each.func, origins).startswith(_SETTINGS) for each in calls)


def _origin(function: ast.expr, origins: Mapping[str, str]) -> str:
    root, dot, rest = (dotted(function) or "").partition(".")
    return origins.get(root, root) + dot + rest


def names_of(text: str, module: str) -> frozenset[str]:
    """The names that a text imports from a module of this last name, or asks such a module for.

    Raises:
        SyntaxError, ValueError, RecursionError: as parsing does.
    """
    if module not in text:
        return frozenset()
    tree: ast.Module = parse(text)
    nodes = list(ast.walk(tree))
    called = {module}
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            called |= {each.asname for each in node.names if each.asname and each.name.rpartition(".")[2] == module}
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] == module:
            found |= {each.name for each in node.names}
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name)) if name in called:
                found.add(node.attr)
    return frozenset(found)


def is_needed(text: str, names: Iterable[str], line: int) -> bool:
    """The statement at a line is one that `names` need: nothing is won if the others are left out.

    Raises:
        SyntaxError, ValueError, RecursionError: as parsing does.
    """
    kept = needed_of(text, names, with_plain=True).statements
    tree: ast.Module = parse(text)
    return all(
        number in kept for number, node in enumerate(tree.body) if node.lineno <= line <= (node.end_lineno or line)
    )
