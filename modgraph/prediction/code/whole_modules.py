"""Modules of the user's project, executed from top to bottom when they are imported, as Python does.

What registers, decorates, counts or replaces has then happened, in its order. Statements that can only bind a name wait
until the name is asked for: imports of installed packages, functions without decorators and defaults, plain classes.
Where a module cannot be executed to its end, `NotWholeError` says so, and all are evaluated name by name instead.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from modgraph.graph.model import SourceLocation
from modgraph.names import last_name
from modgraph.prediction.code import moved_imports, patched_names, path_imports, star_imports
from modgraph.prediction.code.import_order import is_installed, top_of
from modgraph.prediction.domain import endings
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.limits import MAX_EXECUTED_WORK, MAX_FOLLOWED_TEXT, LimitError, TooDeepError
from modgraph.prediction.domain.loaded import NotWholeError, Whole
from modgraph.prediction.domain.objects import ClassObject, EnvironmentObject, HeapObject
from modgraph.prediction.domain.values import Address
from modgraph.prediction.python import standard_sources
from modgraph.source.index import ImportedName, Statement
from modgraph.source.layer_parameters import BUNDLED_SOURCE
from modgraph.source.modules import SourceError, SourceModule
from modgraph.source.quiet import literal_value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_PROGRAM = re.compile(r"if\s+(?:(__name__)\s*==\s*(?:'__main__'|\"__main__\")|(?:(\w+)\.)?TYPE_CHECKING)\s*:")
_TYPINGS = ("typing", "typing_extensions")
_TEXT = re.compile(r"[rRuU]{0,2}[\"']")
_CALLING_ANNOTATION = re.compile(r"(?::|->)[\w.\[\], |]*\w\(")
_WORD = re.compile(r"[^\W\d]\w*")
_ASKED_IN_A_UNIT = 16
"""Names or modules that are looked at in one unit of work."""
_AT_ONCE = 64
"""Statements, a unit each, after which it is asked whether work is left."""
_UNITS_OF_A_NAME = 4
"""Units that asking a star import for one name takes."""
_PLAIN_DECORATORS = frozenset({"property", "staticmethod", "classmethod"})


def begin(machine: Machine, source: SourceModule) -> None:
    """Executes the module, and what it imports of its project.

    Raises:
        NotWholeError: it cannot be executed to its end.
    """
    if machine.modules.is_lazy or machine.modules.roots != [source.name] or not is_of_project(source):
        return
    imported = machine.imported_with(source.name)
    if imported.incomplete is not None:
        raise NotWholeError(imported.incomplete)
    if imported.large:
        raise NotWholeError(f"{', '.join(imported.large)} is large")
    if sum(len(each.text) for each in imported.modules.values() if is_of_project(each)) > MAX_FOLLOWED_TEXT:
        raise NotWholeError(f"{top_of(source.name)} has more than {MAX_FOLLOWED_TEXT} characters")
    machine.modules.is_executing = True
    try:
        with machine.at_most(MAX_EXECUTED_WORK):
            require(machine, source.name)
    except LimitError as limit:
        if machine.exhausted:
            raise
        raise NotWholeError(str(limit)) from None
    finally:
        machine.modules.is_executing = False


@contextmanager
def failing_as(machine: Machine, expected: bool) -> Iterator[None]:
    """What a module raises that is imported inside is raised where it is imported, if something there expects it."""
    before = machine.modules.failing_is_expected
    machine.modules.failing_is_expected = expected
    try:
        yield
    finally:
        machine.modules.failing_is_expected = before


def require(machine: Machine, module: str, attribute: str | None = None) -> None:
    """The module is imported, and the packages that it is in: those of the project are executed, each once. So is a
    submodule that is taken from it."""
    if attribute is not None and attribute != "*":
        require(machine, module)
        if module not in machine.modules.whole or machine.finder.find(f"{module}.{attribute}") is None:
            return
        module = f"{module}.{attribute}"
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        if machine.modules.is_lazy or path_imports.is_imported(machine, name):
            continue
        source = machine.finder.source(name)
        if source is not None and is_of_project(source):
            _execute(machine, source)


def is_of_project(source: SourceModule) -> bool:
    """It is the user's: no installed package, not of the standard library, and none that stands for torch."""
    return not is_installed(source) and not _is_bundled(source.path) and not standard_sources.is_standard(source)


@lru_cache(maxsize=16_384)
def _is_bundled(path: Path) -> bool:
    return path.is_relative_to(BUNDLED_SOURCE)


def _execute(machine: Machine, source: SourceModule) -> None:
    name = source.name
    at_top = machine.modules.is_executing and not machine.module_depth
    if moved_imports.is_other(machine, name) is not None:
        path_imports.perhaps(machine, name, lambda: _execute_on_path(machine, source))
    elif path_imports.is_imported(machine, name) is None:
        path_imports.on_the_others(machine, name, lambda: _execute_on_path(machine, source))
    elif not at_top and (path_imports.is_parted(machine) or name in machine.modules.on_paths):
        _execute_on_path(machine, source)
    elif machine.modules.is_executing:
        path_imports.note(machine, name)
        _execute_body(machine, source)
    else:
        _execute_later(machine, source)


def reload(machine: Machine, module: str) -> None:
    """A module of the project is executed once more."""
    source = machine.finder.source(module)
    if source is not None and module in machine.modules.whole:
        _execute_on_path(machine, source)


def _execute_on_path(machine: Machine, source: SourceModule) -> None:
    """In the present state, as other paths may go on without it."""
    here = machine.state
    before = here.fork()
    try:
        with path_imports.imported_here(machine, source.name):
            _execute_body(machine, source, on_path=True)
    except NotWholeError as error:
        if machine.modules.is_executing:
            raise
        machine.modules.whole.pop(source.name, None)
        changed = [Address(index) for index in machine.state.changed_since(before) if before.get(index) is not None]
        machine.state = before
        _doubt(machine, changed, f"what importing {source.name} changes is not known: {error}")


def _doubt(machine: Machine, changed: list[Address], why: str) -> None:
    machine.problem(why)
    machine.expose(changed, machine.unknown(why))


def _execute_later(machine: Machine, source: SourceModule) -> None:
    """On all paths, while the model is built."""
    base = machine.base
    before = {index: item.copy() for index, item in base.objects.items()}
    try:
        _execute_body(machine, source)
    except NotWholeError as error:
        del machine.modules.whole[source.name]
        changed = [
            Address(index)
            for index, item in before.items()
            if not isinstance(item, (ClassObject, EnvironmentObject)) and not _is_as_before(base.objects[index], item)
        ]
        _doubt(machine, changed, f"what importing {source.name} changes is not known: {error}")


def _is_as_before(item: HeapObject, before: HeapObject) -> bool:
    names = [each.name for each in fields(before)]
    return type(item) is type(before) and all(getattr(item, each) == getattr(before, each) for each in names)


def _execute_body(machine: Machine, source: SourceModule, on_path: bool = False) -> None:
    try:
        body = source.index.body
    except SourceError as error:
        raise NotWholeError(error.message) from None
    before = machine.modules.whole.get(source.name)
    whole = machine.modules.whole[source.name] = Whole(source, on_path=on_path)
    moved_imports.note(machine, source)
    try:
        for position, statement in enumerate(body):
            if position % _AT_ONCE == 0:
                machine.spend(min(_AT_ONCE, len(body) - position))
            whole.line = statement.first_line
            _take(machine, whole, statement)
    except Raised:
        del machine.modules.whole[source.name]
        if before is not None:  # another path has imported it
            machine.modules.whole[source.name] = before
        raise
    whole.line = None


def _take(machine: Machine, whole: Whole, statement: Statement) -> None:
    source = whole.source
    text = source.lines[statement.first_line - 1]
    if statement.kind == "expression" and _TEXT.match(text) and _is_text(source, statement):
        return
    program = _PROGRAM.match(text) if statement.kind == "compound" else None
    if program is not None and not _has_else(source, statement) and _is_left_out(machine, source, *program.groups()):
        return
    if statement.kind == "import":
        for imported in statement.imports:
            require(machine, source.absolute(imported.module, imported.level), imported.attribute)
            origin = source.absolute(imported.module, imported.level)
            if imported.attribute == "*" and star_imports.is_as_written(machine, origin):
                _rebind(machine, whole, origin)
    if _can_wait(machine, whole, statement):
        for name in statement.names:
            _unbind(machine, whole, name)
            whole.waiting[name] = statement
        return
    _run(machine, whole, statement)
    for name in statement.names:
        whole.waiting.pop(name, None)


def _unbind(machine: Machine, whole: Whole, name: str) -> None:
    """What the name was given so far is no more."""
    module = whole.source.name
    machine.modules.namespaces.setdefault(module, {}).pop(name, None)
    machine.base.globals.pop((module, name), None)
    machine.state.globals.pop((module, name), None)
    whole.waiting.pop(name, None)


def _rebind(machine: Machine, whole: Whole, module: str) -> None:
    """A star import gives names that were there another value."""
    names = whole.source.index.names
    machine.spend(len(names) // _ASKED_IN_A_UNIT)
    for name in names:
        key = (whole.source.name, name)
        if name in whole.waiting or key in machine.base.globals or key in machine.state.globals:
            machine.spend(_UNITS_OF_A_NAME)
            if star_imports.brings(machine, module, name):
                _unbind(machine, whole, name)


def _is_text(source: SourceModule, statement: Statement) -> bool:
    """It is a string, as those that document are, and nothing is done with it."""
    try:
        return isinstance(literal_value("\n".join(source.lines[statement.first_line - 1 : statement.last_line])), str)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return False


def _is_left_out(machine: Machine, source: SourceModule, name: str | None, typings: str | None) -> bool:
    """What is tested is false when a module is executed: that it is the program, or `TYPE_CHECKING` of `typing`."""
    name = name or typings or "TYPE_CHECKING"
    if any((source.name, name) in held for held in (machine.base.globals, machine.state.globals)):
        return False
    bound = source.index.statements.get(name, ())
    machine.spend(len(bound) // _ASKED_IN_A_UNIT)
    if name == "__name__":
        return not bound
    taken = [(each.module, each.attribute) for each in source.index.imports_of.get(name, ()) if not each.level]
    wanted = [(module, None if typings else name) for module in _TYPINGS]
    return all(each.kind == "import" for each in bound) and all(each in wanted for each in taken) and bool(taken)


def _has_else(source: SourceModule, statement: Statement) -> bool:
    return any(re.match(r"(?:else|elif)\b", line) for line in source.lines[statement.first_line : statement.last_line])


def _run(machine: Machine, whole: Whole, statement: Statement) -> None:
    source = whole.source
    failed, frames = machine.modules.failed, len(machine.frames)
    try:
        with machine.with_own_steps() if whole.on_path else machine.at_module_level():
            environment = machine.allocate(EnvironmentObject())
            if statement.definition is not None:
                value = machine.define(source, statement.definition)
                if value is not None:
                    machine.state.globals[(source.name, statement.names[0])] = value
            else:
                parsed = source.statement(statement)
                frame = Frame(source.name, parsed, environment, global_names=EVERY)
                machine.frames.append(frame)
                machine.execute(frame, parsed.statements)
    except LimitError as limit:
        if machine.exhausted:
            raise
        failure = endings.unknown(limit, _place(source, statement)) if isinstance(limit, TooDeepError) else None
        raise NotWholeError(f"line {statement.first_line} of {source.file}: {limit}", failure) from None
    except Raised as raised:
        if machine.modules.failing_is_expected or machine.undecided:
            raise
        failure = endings.unknown(raised, _place(source, statement))
        why = f"line {statement.first_line} of {source.file}: {raised}"
        raise NotWholeError(why, failure, raises=True) from None
    except SourceError as error:
        raise NotWholeError(f"line {statement.first_line} of {source.file}: {error}") from None
    finally:
        del machine.frames[frames:]
    if machine.modules.failed != failed:
        raise NotWholeError(f"line {statement.first_line} of {source.file} fails")


def _place(source: SourceModule, statement: Statement) -> SourceLocation:
    return SourceLocation(source.file, statement.first_line)


class _AllBut(frozenset[str]):
    """All names but those that it holds: a comprehension binds some of its own."""

    def __contains__(self, name: object) -> bool:
        return not super().__contains__(name)

    def __or__(self, others: AbstractSet[object]) -> _AllBut:
        return self

    def __sub__(self, others: AbstractSet[object]) -> _AllBut:
        return _AllBut((*self, *map(str, others)))


EVERY = _AllBut()


# ---- what can wait ---------------------------------------------------------------------------------------------------


def _can_wait(machine: Machine, whole: Whole, statement: Statement) -> bool:
    """It does nothing but bind its names, and may do so when they are asked for."""
    source = whole.source
    if statement.kind == "import":
        return all(_import_waits(machine, whole, each) for each in statement.imports)
    definition = statement.definition
    if definition is None or len(source.index.statements[definition.name]) > 1:
        return False
    if definition.kind == "function":
        return function_waits(machine, source, statement) and not (whole.on_path and definition.defaults)
    if whole.on_path:
        return False
    if definition.decorators or definition.inline:
        return False
    return all(_base_waits(machine, whole, base) for base in definition.bases) and _class_waits(
        machine, source, statement
    )


def _class_waits(machine: Machine, source: SourceModule, statement: Statement) -> bool:
    """Nothing but names stands in its header, and all its members wait. Where that lies in the text alone it is
    remembered: every model of a file asks."""
    definition = statement.definition
    assert definition is not None
    known = source.facts.waiting_bodies
    key = (definition.first_line, definition.last_line)
    if key in known:
        waits, asked = known[key]
        machine.base.work += asked
        return waits
    members, asked, waits = Members(definition.body), 0, "=" not in _header(source, statement)
    while waits and asked < len(definition.body):
        waits = member_waits(machine, source, definition.body[asked], members)
        asked += 1
    inner = (each.definition for each in definition.body if each.definition is not None)
    if not any("." in name for each in inner for name in each.defaults or ()):
        known[key] = waits, asked
    return waits


def _import_waits(machine: Machine, whole: Whole, imported: ImportedName) -> bool:
    if machine.modules.failing_is_expected:
        return False
    attribute = imported.attribute
    origin = machine.modules.whole.get(whole.source.absolute(imported.module, imported.level))
    if origin is None or attribute is None:
        return True
    if whole.on_path or origin.on_path:
        return False
    if attribute == "*":
        return not origin.source.facts.declared_global and star_imports.is_as_written(machine, origin.source.name)
    return attribute in origin.waiting and _is_bound_once(origin.source, attribute, sys.maxsize)


def _base_waits(machine: Machine, whole: Whole, base: str) -> bool:
    """Deriving from it runs nothing of the project's, and it is the same class later."""
    known = whole.imported_bases.get(base)
    if known is not None and whole.waiting.get(known.names[0]) is known:
        return True
    words = _WORD.findall(base)
    first = whole.waiting.get(words[0]) if words and re.fullmatch(r"[\w.]+", base) else None
    if first is None:
        return base in ("object", "")
    if not _is_bound_once(whole.source, words[0], first.first_line + 1):
        return False
    if first.kind != "import":
        return True
    waits = _is_of_installed(machine, whole.source, words[0])
    if waits and first.names[0] == words[0]:
        whole.imported_bases[base] = first
    return waits


def _is_bound_once(source: SourceModule, name: str, line: int) -> bool:
    """The name has one value from a statement before that line on."""
    statements = source.index.statements.get(name, ())
    return len(statements) == 1 and statements[0].first_line < line and name not in source.facts.declared_global


def _is_of_installed(machine: Machine, source: SourceModule, name: str) -> bool:
    """It is imported, and not from the project."""
    imports = source.index.imports_of.get(name, ())
    machine.spend(len(imports))
    for each in imports:
        module = source.absolute(each.module, each.level)
        found = machine.finder.source(module)
        if each.level or each.attribute == "*" or (found is not None and is_of_project(found)):
            return False
    return bool(imports)


def function_waits(machine: Machine, source: SourceModule, statement: Statement) -> bool:
    """The statement defines a function of which nothing is evaluated when it is defined, or what has the same value
    later."""
    definition = statement.definition
    assert definition is not None
    decorators = definition.decorators
    if any(each not in _PLAIN_DECORATORS or each in source.index.bound for each in decorators) or definition.inline:
        return False
    if definition.name in ("__init_subclass__", "__set_name__") or definition.defaults is None:
        return False
    if _CALLING_ANNOTATION.search(_header(source, statement)):
        return False
    return all(_is_the_same_later(machine, source, each, statement.first_line) for each in definition.defaults)


def _is_the_same_later(machine: Machine, source: SourceModule, name: str, line: int) -> bool:
    """A dotted name in the default of an argument."""
    first, _, rest = name.partition(".")
    if first not in source.index.statements:
        return not rest and not source.index.star_imports and first not in source.facts.declared_global
    if not _is_bound_once(source, first, line):
        return False
    return not rest or (_is_of_installed(machine, source, first) and not _is_patched(machine, rest))


def _is_patched(machine: Machine, name: str) -> bool:
    """A module of the project stores an attribute of that name, other than of `self`."""
    last = last_name(name)
    machine.spend(1 + len(machine.modules.whole) // _ASKED_IN_A_UNIT)
    return any(last in patched_names.of(each.source) for each in machine.modules.whole.values())


def _header(source: SourceModule, statement: Statement) -> str:
    definition = statement.definition
    assert definition is not None
    return "\n".join(source.lines[definition.first_line - 1 : definition.body_line - 1])


class Members:
    """The names of a class body."""

    def __init__(self, body: tuple[Statement, ...]) -> None:
        self.body = body
        self.statements = Counter(name for each in body for name in {*each.names, *each.touched})
        """By name: how many statements bind it or change it in place."""
        self.bound = {name for each in body for name in each.names}


def member_waits(machine: Machine, source: SourceModule, statement: Statement, members: Members) -> bool:
    """The same of a statement of a class body."""
    machine.spend(1)
    names = statement.names
    if names and members.statements[names[0]] > 1:
        return False
    if statement.definition is not None:
        read = {name.partition(".")[0] for name in statement.definition.defaults or ()}
        if read & members.bound:  # a name of the class body, that an index of the module has not
            return False
        return statement.definition.kind == "function" and function_waits(machine, source, statement)
    if statement.kind == "assign":
        return len(names) == 1 and source.literal(statement) is not None
    text = source.lines[statement.first_line - 1].strip()
    if statement.kind == "expression" and text != "...":
        return _TEXT.match(text) is not None and _is_text(source, statement)
    return text in ("...", "pass")
