"""Modules of the user's project, executed from top to bottom when they are imported, as Python does.

What registers, decorates, counts or replaces has then happened, in its order. Statements that can only bind a name wait
until the name is asked for: imports of installed packages, functions without decorators and defaults, plain classes.
Where a module cannot be executed to its end, `NotWholeError` says so, and all are evaluated name by name instead.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from modgraph.prediction.code.import_order import is_installed, top_of
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.limits import MAX_EXECUTED_WORK, MAX_FOLLOWED_TEXT, LimitError
from modgraph.prediction.domain.loaded import NotWholeError, Whole
from modgraph.prediction.domain.objects import EnvironmentObject
from modgraph.prediction.domain.values import Address
from modgraph.prediction.python import standard_sources
from modgraph.source.index import Statement
from modgraph.source.modules import BUNDLED, SourceError, SourceModule

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

_PROGRAM = re.compile(r"if\s+(?:__name__\s*==|(?:\w+\.)?TYPE_CHECKING\b)")
_TEXT = re.compile(r"[rRuU]{0,2}[\"']")
_HAS_DEFAULT = re.compile(r"=|\blambda\b")
_WORD = re.compile(r"[^\W\d]\w*")
_PLAIN_DECORATORS = frozenset({"property", "staticmethod", "classmethod"})


def begin(machine: Machine, source: SourceModule) -> None:
    """Executes the module, and what it imports of its project.

    Raises:
        NotWholeError: it cannot be executed to its end.
    """
    if machine.modules.is_lazy or machine.modules.roots != [source.name] or not _is_of_project(source):
        return
    imported = machine.imported_with(source.name)
    if imported.incomplete is not None:
        raise NotWholeError(imported.incomplete)
    if imported.large:
        raise NotWholeError(f"{', '.join(imported.large)} is large")
    if sum(len(each.text) for each in imported.modules.values() if _is_of_project(each)) > MAX_FOLLOWED_TEXT:
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
        if name not in machine.modules.whole and not machine.modules.is_lazy:
            source = machine.finder.source(name)
            if source is not None and _is_of_project(source):
                _execute(machine, source)


def _is_of_project(source: SourceModule) -> bool:
    is_bundled = source.path.is_relative_to(BUNDLED)
    return not is_installed(source) and not is_bundled and not standard_sources.is_standard(source)


def _execute(machine: Machine, source: SourceModule) -> None:
    if machine.modules.is_executing:
        _execute_body(machine, source)
        return
    base = machine.base
    before = dict(base.objects)
    try:
        _execute_body(machine, source)
        why = f"what importing {source.name} changes is not followed"
    except NotWholeError as error:
        del machine.modules.whole[source.name]
        machine.problem(f"what importing {source.name} changes is not known: {error}")
        return
    changed = [index for index, item in before.items() if base.objects[index] is not item]
    if changed and machine.undecided:
        machine.problem(f"{why}: it is imported on some paths only")
    machine.expose([Address(each) for each in changed if machine.state.get(each)], machine.unknown(why))


def _execute_body(machine: Machine, source: SourceModule) -> None:
    try:
        body = source.index.body
    except SourceError as error:
        raise NotWholeError(error.message) from None
    whole = machine.modules.whole[source.name] = Whole(source)
    for statement in body:
        whole.line = statement.first_line
        _take(machine, whole, statement)
    whole.line = None


def _take(machine: Machine, whole: Whole, statement: Statement) -> None:
    source = whole.source
    text = source.lines[statement.first_line - 1]
    if statement.kind == "expression" and _TEXT.match(text):
        return
    if statement.kind == "compound" and _PROGRAM.match(text) and not _has_else(source, statement):
        return
    if statement.kind == "import":
        for imported in statement.imports:
            require(machine, source.absolute(imported.module, imported.level), imported.attribute)
    if _can_wait(machine, whole, statement):
        for name in statement.names:
            machine.modules.namespaces.setdefault(source.name, {}).pop(name, None)
            machine.base.globals.pop((source.name, name), None)
            machine.state.globals.pop((source.name, name), None)
            whole.waiting[name] = statement
        return
    _run(machine, whole, statement)
    for name in statement.names:
        whole.waiting.pop(name, None)


def _has_else(source: SourceModule, statement: Statement) -> bool:
    return any(re.match(r"(?:else|elif)\b", line) for line in source.lines[statement.first_line : statement.last_line])


def _run(machine: Machine, whole: Whole, statement: Statement) -> None:
    source = whole.source
    failed = machine.modules.failed
    try:
        with machine.at_module_level():
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
        raise NotWholeError(f"line {statement.first_line} of {source.file}: {limit}") from None
    except (Raised, SourceError) as error:
        raise NotWholeError(f"line {statement.first_line} of {source.file}: {error}") from None
    if machine.modules.failed != failed:
        raise NotWholeError(f"line {statement.first_line} of {source.file} fails")


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
        return all(
            _import_waits(machine, source, each.module, each.level, each.attribute) for each in statement.imports
        )
    definition = statement.definition
    if definition is None or len(source.index.statements[definition.name]) > 1:
        return False
    if definition.kind == "function":
        return function_waits(source, statement)
    if definition.decorators or "=" in _header(source, statement) or definition.inline:
        return False
    if not all(_base_waits(whole, base) for base in definition.bases):
        return False
    return all(member_waits(source, each, definition.body) for each in definition.body)


def _import_waits(machine: Machine, source: SourceModule, module: str, level: int, attribute: str | None) -> bool:
    origin = machine.modules.whole.get(source.absolute(module, level))
    if origin is None or attribute is None or attribute == "*":
        return True
    return attribute in origin.waiting and len(origin.source.index.statements[attribute]) == 1


def _base_waits(whole: Whole, base: str) -> bool:
    """Deriving from it runs nothing of the project's."""
    words = _WORD.findall(base)
    first = whole.waiting.get(words[0]) if words and re.fullmatch(r"[\w.]+", base) else None
    if first is None:
        return base in ("object", "")
    if first.kind == "import":
        return len(whole.source.index.statements[words[0]]) == 1 and not any(each.level for each in first.imports)
    return True


def function_waits(source: SourceModule, statement: Statement) -> bool:
    """The statement defines a function of which nothing is evaluated when it is defined."""
    definition = statement.definition
    assert definition is not None
    decorators = definition.decorators
    if any(each not in _PLAIN_DECORATORS or each in source.index.bound for each in decorators) or definition.inline:
        return False
    return definition.name not in ("__init_subclass__", "__set_name__") and not _has_defaults(source, statement)


def _has_defaults(source: SourceModule, statement: Statement) -> bool:
    """A default that calls something; all others may be evaluated at any time."""
    header = _header(source, statement)
    return "=" in header and header.count("(") > 1


def _header(source: SourceModule, statement: Statement) -> str:
    definition = statement.definition
    assert definition is not None
    return "\n".join(source.lines[definition.first_line - 1 : definition.body_line - 1])


def member_waits(source: SourceModule, statement: Statement, body: tuple[Statement, ...]) -> bool:
    """The same of a statement of a class body."""
    names = statement.names
    if names and sum(names[0] in (*each.names, *each.touched) for each in body) > 1:
        return False
    if statement.definition is not None:
        return statement.definition.kind == "function" and function_waits(source, statement)
    if statement.kind == "assign":
        return len(names) == 1 and source.literal(statement) is not None
    text = source.lines[statement.first_line - 1].strip()
    return (statement.kind == "expression" and (_TEXT.match(text) is not None or text == "...")) or text == "pass"
