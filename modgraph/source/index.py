"""A file by `ast`: its definitions with their lines, its imports, its module-level names. Nothing is executed.

`ast` is far faster than libcst; so a file is read here as a whole, and libcst (`modules.py`) parses single statements
from the lines that this index names.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from modgraph.source.assignments import aliases_in
from modgraph.source.changed_objects import changed_by_method, root_name, stored_in
from modgraph.source.containers import FUNCTIONS
from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse
from modgraph.source.mangling import bound_as, has_private, imported_as, mangle_syntax
from modgraph.source.summaries import blocks
from modgraph.source.walking import walk

StatementKind = Literal["import", "class", "function", "assign", "expression", "compound", "delete", "other"]


@dataclass(frozen=True, slots=True)
class ImportedName:
    """One name that an import statement binds."""

    name: str
    """The name it binds; "*" for a star import."""
    module: str
    """As written, without the dots of a relative import."""
    attribute: str | None
    """The name taken from the module; None for `import module`; "*" for a star import."""
    level: int
    """Number of leading dots."""
    line: int
    type_checking: bool = False
    """Under `if TYPE_CHECKING:`; not executed when the file is imported."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a module or class body; several that share a line are one."""

    kind: StatementKind
    names: tuple[str, ...]
    """Bound by it, also inside its blocks; not inside functions and classes."""
    touched: tuple[str, ...]
    """Names whose object it changes in place: `x[...] =`, `x.append(...)`, `x.attribute =`, `del x[...]`."""
    first_line: int
    """With decorators."""
    last_line: int
    imports: tuple[ImportedName, ...] = ()
    definition: Definition | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A class or a function."""

    kind: Literal["class", "function"]
    name: str
    qualname: str
    """ "Outer.Inner", "make.<locals>.Inner"."""
    first_line: int
    """Of its first decorator, else of `class` or `def`."""
    line: int
    last_line: int
    body_line: int
    """First line of its body; equal to the header's last line where both share it."""
    bases: tuple[str, ...] = ()
    """Source text of the base classes."""
    decorators: tuple[str, ...] = ()
    """Source text, without the @."""
    body: tuple[Statement, ...] = ()
    """Of a class; empty for a function."""
    inline: bool = False
    """Header and body share a line."""
    defaults: tuple[str, ...] | None = ()
    """Of a function: the dotted names that its default arguments are; literals left out. None where one is anything
    else, which may do something, or give something else later."""


@dataclass(frozen=True)
class ModuleIndex:
    """What stands in a file, without what it means."""

    body: tuple[Statement, ...]
    definitions: dict[str, Definition] = field(default_factory=dict)
    """By qualified name; of several with one name the last."""
    exported: tuple[str, ...] | None = None
    """`__all__`, where it is a literal list of strings."""
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Module-level names that are assigned other names, with these."""

    @cached_property
    def statements(self) -> dict[str, list[Statement]]:
        """By name: the module-level statements that bind it or change it in place, in order."""
        found: dict[str, list[Statement]] = {}
        for statement in self.body:
            for name in dict.fromkeys(statement.names + statement.touched):
                found.setdefault(name, []).append(statement)
        return found

    @cached_property
    def imports(self) -> tuple[ImportedName, ...]:
        """Every import at module level, also inside `if`, `try` and `with`."""
        return tuple(name for statement in self.body for name in statement.imports)

    @cached_property
    def imports_of(self) -> dict[str, tuple[ImportedName, ...]]:
        """By the name that they bind: all imports of it, in order."""
        found: dict[str, list[ImportedName]] = {}
        for name in self.imports:
            found.setdefault(name.name, []).append(name)
        return {name: tuple(imports) for name, imports in found.items()}

    @cached_property
    def imported(self) -> dict[str, ImportedName]:
        """By the name that it binds; of several the first."""
        return {name.name: name for name in reversed(self.imports)}

    @cached_property
    def star_imports(self) -> tuple[ImportedName, ...]:
        return tuple(name for name in self.imports if name.attribute == "*")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names bound at module level, in order of first binding; star imports are not followed."""
        return tuple(dict.fromkeys(name for statement in self.body for name in statement.names))

    @cached_property
    def bound(self) -> frozenset[str]:
        """The same, to look one up."""
        return frozenset(self.names)

    @property
    def public_names(self) -> tuple[str, ...]:
        """What a star import takes, as far as this file says."""
        if self.exported is not None:
            return self.exported
        return tuple(name for name in self.names if not name.startswith("_"))


def read_index(text: str, filename: str = "<source>") -> ModuleIndex:
    """The index of a file's text.

    Raises:
        SyntaxError: the text is no Python of the running version.
        ValueError: it holds a null byte.
        RecursionError: it is nested too deeply to parse.
    """
    tree = parse(text, filename)
    aliases = aliases_in(tree.body)
    if has_private(text):
        mangle_syntax(tree)
    definitions: dict[str, Definition] = {}
    body = _statements(tree.body, "", definitions)
    _local_definitions(tree.body, "", definitions)
    return ModuleIndex(body=body, definitions=definitions, exported=_exported(tree.body), aliases=aliases)


def _statements(nodes: Sequence[ast.stmt], prefix: str, definitions: dict[str, Definition]) -> tuple[Statement, ...]:
    """The statements of a body; neighbours that share a line become one."""
    found: list[list[Statement]] = []
    last_line = 0
    for node in nodes:
        statement = _statement(node, prefix, definitions)
        if found and last_line >= statement.first_line:
            found[-1].append(statement)
            last_line = max(last_line, statement.last_line)
        else:
            found.append([statement])
            last_line = statement.last_line
    return tuple(_merged(neighbours) for neighbours in found)


def _merged(neighbours: Sequence[Statement]) -> Statement:
    if len(neighbours) == 1:
        return neighbours[0]
    return Statement(
        "delete" if any(each.kind == "delete" for each in neighbours) else "other",
        tuple(dict.fromkeys(name for each in neighbours for name in each.names)),
        tuple(dict.fromkeys(name for each in neighbours for name in each.touched)),
        neighbours[0].first_line,
        max(each.last_line for each in neighbours),
        tuple(imported for each in neighbours for imported in each.imports),
    )


def _statement(node: ast.stmt, prefix: str, definitions: dict[str, Definition]) -> Statement:
    definition = None
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        definition = _definition(node, prefix, definitions)
    return Statement(
        kind=_kind(node),
        names=tuple(dict.fromkeys(_bound(node))),
        touched=tuple(dict.fromkeys(_touched(node))),
        first_line=first_line_of(node),
        last_line=node.end_lineno or node.lineno,
        imports=tuple(_imports(node, False)),
        definition=definition,
    )


def _kind(node: ast.stmt) -> StatementKind:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return "import"
    if isinstance(node, ast.ClassDef):
        return "class"
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return "function"
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return "assign"
    if isinstance(node, ast.Expr):
        return "expression"
    if isinstance(node, ast.Delete):
        return "delete"
    return "compound" if any(True for _ in _blocks(node)) else "other"


def first_line_of(node: ast.stmt) -> int:
    """Of a statement, with its decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _definition(
    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, prefix: str, definitions: dict[str, Definition]
) -> Definition:
    qualname = prefix + node.name
    is_class = isinstance(node, ast.ClassDef)
    header_end = _header_end(node)
    body_line = min(first_line_of(statement) for statement in node.body)
    inline = body_line <= header_end
    definition = Definition(
        kind="class" if is_class else "function",
        name=node.name,
        qualname=qualname,
        first_line=first_line_of(node),
        line=node.lineno,
        last_line=node.end_lineno or node.lineno,
        body_line=body_line,
        bases=tuple(ast.unparse(base) for base in node.bases) if isinstance(node, ast.ClassDef) else (),
        decorators=tuple(ast.unparse(decorator) for decorator in node.decorator_list),
        body=_statements(node.body, qualname + ".", definitions) if is_class else (),
        inline=inline,
        defaults=() if isinstance(node, ast.ClassDef) else _defaults(node.args),
    )
    definitions[qualname] = definition
    return definition


def _defaults(arguments: ast.arguments) -> tuple[str, ...] | None:
    found: list[str] = []
    pending = [each for each in (*arguments.defaults, *arguments.kw_defaults) if each is not None]
    while pending:
        each = pending.pop()
        name = dotted(each)
        if name is not None:
            found.append(name)
        elif isinstance(each, ast.Tuple):
            pending.extend(each.elts)
        elif isinstance(each, ast.UnaryOp):
            pending.append(each.operand)
        elif not isinstance(each, ast.Constant):
            return None
    return tuple(sorted(found))


def _header_end(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """A line that certainly belongs to the header: the last that an expression of it reaches."""
    parts: list[ast.AST] = []
    if isinstance(node, ast.ClassDef):
        parts = [*node.bases, *node.keywords]
    else:
        parts = [*ast.iter_child_nodes(node.args), *([node.returns] if node.returns else [])]
    return max([node.lineno, *(getattr(part, "end_lineno", 0) or 0 for part in parts)])


def _local_definitions(nodes: Iterable[ast.stmt], prefix: str, definitions: dict[str, Definition]) -> None:
    """Adds the definitions inside functions and inside blocks, which belong to no body of the index."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if prefix + node.name not in definitions:
                _definition(node, prefix, definitions)
            _local_definitions(node.body, f"{prefix}{node.name}.<locals>.", definitions)
        elif isinstance(node, ast.ClassDef):
            if prefix + node.name not in definitions:
                _definition(node, prefix, definitions)
            _local_definitions(node.body, f"{prefix}{node.name}.", definitions)
        else:
            for block in _blocks(node):
                _local_definitions(block, prefix, definitions)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement that is no definition."""
    if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from blocks(node)


def _bound(node: ast.stmt) -> Iterator[str]:
    """Names that the statement binds, also in its blocks."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        yield bound_as(node)
        return
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for name in _imports(node, False):
            if name.name != "*":
                yield name.name
        return
    for part in _own_expressions(node):
        inside: set[int] = set()  # names of comprehensions, which come before what is in them
        for inner in walk(part):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, (ast.Store, ast.Del)):
                if id(inner) not in inside:
                    yield inner.id
            elif isinstance(inner, ast.comprehension):
                inside.update(map(id, walk(inner.target)))
            elif isinstance(inner, (ast.MatchAs, ast.MatchStar)) and inner.name:
                yield inner.name
            elif isinstance(inner, ast.MatchMapping) and inner.rest:
                yield inner.rest
    for handler in getattr(node, "handlers", ()):
        if handler.name:
            yield handler.name
    for block in _blocks(node):
        if _is_type_checking(node, block):
            continue  # never executed: what it imports is in `imports`, marked so
        for statement in block:
            yield from _bound(statement)


def _is_type_checking(node: ast.stmt, block: list[ast.stmt]) -> bool:
    """The block stands under `if TYPE_CHECKING:`."""
    if not isinstance(node, ast.If) or block is not node.body:
        return False
    test = node.test
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _own_expressions(node: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement that are not statements themselves: targets, values, tests, patterns."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.match_case):
            yield child.pattern
        elif not isinstance(child, (ast.stmt, ast.ExceptHandler)):
            yield child


def _touched(node: ast.stmt) -> Iterator[str]:
    """Names whose objects the statement may change in place."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)):
        return
    for part in _own_expressions(node):
        for inner in walk(part):
            changed = stored_in(inner)
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
                changed = inner.func.value if isinstance(node, ast.Expr) else changed_by_method(inner.func)
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "next":
                changed = inner.args[0] if inner.args else None
            if changed is not None and (root := root_name(changed)) is not None:
                yield root
            if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id in FUNCTIONS:
                yield from (name for name in map(root_name, inner.args) if name is not None)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    inside = [name for block in _blocks(node) for statement in block for name in _touched(statement)]
    yield from inside
    if isinstance(node, (ast.For, ast.AsyncFor)):
        yield from _iterated(node, inside)
    elif isinstance(node, ast.Expr):
        loops = [part for part in walk(node) if isinstance(part, ast.comprehension)]
        receivers = {root_name(each) or "" for each in _receivers(node)} if loops else set()
        for part in loops:
            yield from _iterated(part, receivers)


def _receivers(node: ast.AST) -> Iterator[ast.AST]:
    """What methods are called on."""
    for part in walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            yield part.func.value


def _iterated(loop: ast.For | ast.AsyncFor | ast.comprehension, touched: Collection[str]) -> Iterator[str]:
    """What a loop goes through, where it changes the items; functions that are called for it left out."""
    items = {part.id for part in walk(loop.target) if isinstance(part, ast.Name)}
    if items.isdisjoint(touched):
        return
    called = {id(part.func) for part in walk(loop.iter) if isinstance(part, ast.Call)}
    for part in walk(loop.iter):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and id(part) not in called:
            yield part.id


def _imports(node: ast.stmt, type_checking: bool) -> Iterator[ImportedName]:
    """The imports of a statement and of its blocks."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield ImportedName(imported_as(alias), alias.name, None, 0, node.lineno, type_checking)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            name = alias.asname or alias.name
            yield ImportedName(name, node.module or "", alias.name, node.level, node.lineno, type_checking)
    elif not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        for block in _blocks(node):
            guarded = type_checking or _is_type_checking(node, block)
            for statement in block:
                yield from _imports(statement, guarded)


def _exported(nodes: Iterable[ast.stmt]) -> tuple[str, ...] | None:
    """`__all__` as far as it is written out in literals."""
    names: list[str] | None = None
    for node in nodes:
        target: ast.expr | None = None
        value: ast.expr | None = None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
            target, value = node.target, node.value
        if not isinstance(target, ast.Name) or target.id != "__all__" or value is None:
            continue
        strings = _strings(value)
        if strings is None:
            return None
        names = (names or []) + strings if isinstance(node, ast.AugAssign) else strings
    return None if names is None else tuple(names)


def _strings(node: ast.expr) -> list[str] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _strings(node.left), _strings(node.right)
        return None if left is None or right is None else left + right
    if not isinstance(node, (ast.List, ast.Tuple)):
        return None
    items = [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return items if len(items) == len(node.elts) else None
