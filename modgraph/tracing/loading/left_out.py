"""A project's modules executed statement by statement: one that raises is left out, and the model may need none of it.

Research code opens a vocabulary, reads the environment, parses a command line or trains where it is imported. Where the
import of a model fails of that, or does not end, it is imported anew, in a process of its own: of the file of the model
the statements that it needs (`source/needed_statements.py`), of the other modules of the project all. The names that a
statement would have bound are not bound, so that nothing can be decided by them unseen: whoever looks for one is told
what came of the statement, and noted. A module that is imported where an exception may be handled runs as it is.

A graph is complete where no such name was looked for, and nothing that was left out can change what the model is made
of (`side_effects.py`).
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib.util
import linecache
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import Any

from modgraph.doors.reading import read
from modgraph.errors import RAISED_BY_OTHERS, TraceError
from modgraph.graph.events import ErrorEvent
from modgraph.graph.model import ENDED, NO_END, LeftOut
from modgraph.source.files import decode
from modgraph.source.needed_statements import bound_names, names_of, needed_of
from modgraph.source.quiet import python_tree
from modgraph.source.targets import Target
from modgraph.tracing.basics.failures import describe, is_interruption
from modgraph.tracing.basics.sites import location_of, relative_file, site_of
from modgraph.tracing.loading.patched import Patches
from modgraph.tracing.loading.placeholders import needed_by_statements
from modgraph.tracing.loading.project_texts import (
    NAMES_OF_ALL,
    NAMES_OF_HOOKS,
    NAMES_OF_LOGS,
    NAMES_OF_MODULES,
    NAMES_OF_NOTES,
    Texts,
    asks_for_all,
    is_project_file,
    names_any,
)
from modgraph.tracing.loading.side_effects import SideEffects

_MAX_ERROR = 200
"""Characters of what a statement raised."""
_MAX_TOLD = 100
"""Places that a graph names."""
_MOST_LOOKS = 300
"""Times that all is looked at which the project may have changed; it takes some milliseconds."""
_MOST_PLACES = 3
"""Further places that a problem names."""
_CHOSEN = "__modgraph_chosen__"
"""What the test of an `if` has given is called so, for a moment, in its module."""
_UNNEEDED = "nothing shows that the model needs it"
_ALL_NAMES = "globals"
_ALL_NAMES_HERE = ("vars", "dir", "locals")


@dataclass(slots=True)
class _Unit:
    """A module of the project that is executed statement by statement."""

    module: types.ModuleType
    file: str
    compiled: Callable[[ast.Module], types.CodeType]
    """A statement of it as code."""
    names: dict[str, LeftOut] = field(default_factory=dict)
    """Names that are not bound, and which statement would have done that."""
    nodes: list[tuple[ast.stmt, LeftOut, int]] = field(default_factory=list)
    """Each statement that was left out, and how many modules had been begun before it was."""
    reasons: list[str | None] = field(default_factory=list)
    """Of each, why it may change the model, by what everything was when it was left out."""
    effects: SideEffects | None = None
    """What has said so."""
    told: list[LeftOut] = field(default_factory=list)
    """The same; what follows each other unneeded as one."""
    said: set[LeftOut] = field(default_factory=set)
    futures: list[ast.stmt] = field(default_factory=list)
    """Its imports from `__future__`, which change how every statement is compiled."""


@dataclass(frozen=True, slots=True)
class _Look:
    """Somebody looked for a name that is not bound."""

    name: str
    """"" for all names of the module."""
    unit: _Unit
    file: str | None
    line: int | None
    error: Exception | None = None
    """What whoever looked was told by."""


_LookedFor = Callable[[_Unit, str, type[NameError | AttributeError], Any], Exception]


class LeftOutCode:
    """Inside, modules of the project are executed as far as they can be, and the model's own as far as it needs it.

    Args:
        endless: files of which a statement did not end; of these, too, only what is needed is run.
        ended_at: where the import ended when it was tried as it is: file, line, and what was raised or is said of it.
        through: which errors are let through, as they are no statement's own: something can be done about them.
    """

    def __init__(
        self,
        target: Target,
        endless: Iterable[str] = (),
        ended_at: tuple[str, int, str] | None = None,
        through: Callable[[BaseException], bool] = lambda _: False,
    ) -> None:
        self._target = target
        self._ended_at = ended_at
        self._endless = frozenset(os.path.realpath(each) for each in endless)
        self._through = through
        self._units: dict[str, _Unit] = {}
        """By the name of the module."""
        self._looks: list[_Look] = []
        self._begun: dict[str, None] = {}
        """Modules of the project, in the order in which they were begun."""
        self._undo = contextlib.ExitStack()
        self._texts = Texts()
        self._patches: Patches | None = None
        """What has been made otherwise since this was entered."""
        self._n_looks = 0
        self._has_run = False
        """Code of the project, since it was last looked for what is changed."""

    def __enter__(self) -> LeftOutCode:
        finder: Any = _Finder(self)
        place = next((n for n, each in enumerate(sys.meta_path) if each is PathFinder), len(sys.meta_path))
        sys.meta_path.insert(place, finder)
        self._undo.callback(sys.meta_path.remove, finder)
        self._undo.callback(setattr, builtins, "__class__", type(builtins))
        builtins.__class__ = _class_of_builtins(self._all_looked_for)
        self._patches = Patches()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    def told(self) -> tuple[LeftOut, ...]:
        """What was left out, in the order of its modules; what follows each other unneeded as one."""
        told = [each for unit in self._units.values() for each in unit.told][:_MAX_TOLD]
        if self._ended_at is not None and told and all(each.error is None for each in told):
            # It ended so fast that nobody saw where, or where now nothing is left out.
            told[0] = replace(told[0], error=f"{self._ended_at[2]}, there or elsewhere")
        return tuple(told)

    def doubts(self) -> Iterator[ErrorEvent]:
        """What makes the graph less than complete."""
        try:
            yield from self._doubts()
        except RAISED_BY_OTHERS as error:  # the names and the objects that are read are others' own
            yield ErrorEvent(message=f"whether what was left out changes the model cannot be told: {describe(error)}")

    def _doubts(self) -> Iterator[ErrorEvent]:
        said = set[tuple[int, str]]()
        for look in self._looks:
            if (id(look.unit), look.name) not in said:
                said.add((id(look.unit), look.name))
                yield ErrorEvent(message=self._about(look), file=look.file, line=look.line)
        units = [unit for unit in list(self._units.values()) if unit.nodes]
        files, root = [unit.file for unit in units], str(self._target.root or "")
        for file, word in [*names_any(files, root, NAMES_OF_ALL)][:1] if units else ():
            message = (
                f"{word} stands in {relative_file(file)}: whether a name that was left out is looked for is not seen"
            )
            yield ErrorEvent(message=message)
        patches, texts = self._patches or Patches(), self._texts.anew()
        patches.look()
        read = [SideEffects(vars(unit.module), texts, patches) for unit in units]
        begun = list(self._begun)
        changing = [each for unit, effects in zip(units, read, strict=True) for each in _effects(unit, effects, begun)]
        read += [unit.effects for unit in units if unit.effects is not None]
        for file, word in [*names_any(files, root, [*_traces_of(units, read)])][:1]:
            message = f"{word} stands in {relative_file(file)}: whether it shows what was left out is not seen"
            yield ErrorEvent(message=message)
        if changing:
            (left, reason), *others = changing
            places = ", ".join(f"{each.file}:{each.line}" for each, _ in others[:_MOST_PLACES])
            more = f"; the same may hold of {len(others)} more, as of {places}" if others else ""
            message = f"{_why(left)}: with it the model may be another, as it {reason}{more}"
            yield ErrorEvent(message=message, file=left.file, line=left.line)

    def _about(self, look: _Look) -> str:
        if not look.name:
            first = next(iter(look.unit.names.values()))
            return f"the names of {relative_file(look.unit.file)} are asked for, and not all are bound: {_why(first)}"
        left = look.unit.names[look.name]
        told = f"{left.file}:{left.line}: {_why(left)}"
        return f"{look.name} is looked for and not bound ({told}): with it the model may be another"

    def require(self, module: types.ModuleType, target: Target) -> None:
        """Raises TraceError where what the target names is not bound, as its statement was left out."""
        unit, name = self._units.get(module.__name__), target.name.partition(".")[0]
        left = None if unit is None or name in vars(module) else unit.names.get(name)
        if left is not None:
            message = f"importing {target.place} gives no {name}: its statement {_happened(left)}"
            raise TraceError(message, file=left.file, line=left.line)

    # Which modules, and what of them.

    def loader(self, name: str, path: str, text: str | None = None) -> SourceFileLoader:
        """What executes a module of the project.

        Args:
            text: its source, where its file holds no Python: all of it is needed.
        """
        return _Loader(self, name, path, text)

    def execute(
        self,
        module: types.ModuleType,
        text: str,
        path: str,
        compiled: Callable[[ast.Module], types.CodeType],
        *,
        whole: bool,
    ) -> None:
        """Raises: SyntaxError, and what is let through."""
        tree: ast.Module = python_tree(text, path)
        needed = (
            None
            if whole or not self._is_cut(module.__name__, path)
            else needed_of(text, self._names_of(module.__name__, path), with_plain=True)
        )
        unit = _Unit(module, path, compiled)
        self._units[module.__name__] = unit
        self._watch(unit, text)
        if ast.get_docstring(tree, clean=False) is not None:
            module.__doc__ = ast.get_docstring(tree, clean=False)
        follows = False
        for number, node in enumerate(tree.body):
            is_needed = needed is None or number in needed.statements
            if is_needed:
                self._run(node, unit)
            elif not _is_name_check(node):
                self._leave_out(unit, node, None, follows=follows)
            follows = not is_needed

    def _is_cut(self, name: str, path: str) -> bool:
        return self._is_target(name, path) or os.path.realpath(path) in self._endless

    def _is_target(self, name: str, path: str) -> bool:
        file = self._target.file
        return name == self._target.module or (file is not None and os.path.realpath(file) == os.path.realpath(path))

    def _names_of(self, name: str, path: str) -> Iterator[str]:
        """The names that are needed of a module: the target's, or those that the modules which import it name."""
        if self._is_target(name, path):
            yield self._target.name.partition(".")[0]
            yield "example_inputs"
        for other in list(sys.modules.values()):
            file = getattr(other, "__file__", None)
            if isinstance(file, str) and file.endswith(".py") and file != path and is_project_file(file):
                yield from _named_in(file, name.rpartition(".")[2])

    def _watch(self, unit: _Unit, text: str) -> None:
        """Whoever looks for a name that is not bound, in the module or from outside, is seen."""
        hidden = {_ALL_NAMES: True, **asks_for_all(text, _ALL_NAMES_HERE)}
        vars(unit.module)["__builtins__"] = _Builtins(unit, self._looked_for, hidden)
        unit.module.__class__ = _module_class(unit, self._looked_for)

    # Statement by statement.

    def _run(self, node: ast.stmt, unit: _Unit) -> None:
        match node:
            case ast.ImportFrom(module="__future__"):
                unit.futures.append(node)
                self._attempt(unit, node, lambda: _execute(node, unit))
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                self._attempt(unit, node, lambda: self._star(node, unit))
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    one = ast.copy_location(_with_names(node, [alias]), node)
                    self._attempt(unit, one, lambda one=one: _execute(one, unit))  # type: ignore[misc]
            case ast.If():
                chosen = self._attempt(unit, node, lambda: [_arm(node, unit)])
                for each in chosen or ():
                    for inner in each:
                        self._run(inner, unit)
            case ast.Expr(value=ast.Constant()):
                pass
            case _:
                self._attempt(unit, node, lambda: _execute(node, unit))

    def _attempt(self, unit: _Unit, node: ast.stmt, do: Callable[[], Any]) -> Any:
        looks = len(self._looks)
        self._has_run = True
        try:
            return do()
        except BaseException as error:
            if is_interruption(error) or self._through(error):
                raise
            self._looks[looks:] = [each for each in self._looks[looks:] if not _is_told_by(error, each)]
            self._leave_out(unit, node, describe(error)[:_MAX_ERROR])
            return None

    def _star(self, node: ast.ImportFrom, unit: _Unit) -> None:
        """`from x import *`: with it comes what is known of the names that are not bound there."""
        package = getattr(unit.module, "__package__", None) or ""
        name = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
        looks = len(self._looks)
        try:
            _execute(node, unit)
        except AttributeError:
            if name not in self._units:
                raise
        other = self._units.get(name)
        if other is not None and other is not unit:
            here = (relative_file(unit.file), node.lineno)
            self._looks[looks:] = [
                each  # the others are by Python, which looks for all
                for each in self._looks[looks:]
                if each.unit is not other or each.name not in ("", "__all__") or (each.file, each.line) != here
            ]
            there = vars(other.module)
            brought = there.get("__all__", [each for each in (*there, *other.names) if not each.startswith("_")])
            for each in brought:
                if each in there:
                    vars(unit.module)[each] = there[each]
                elif each in other.names:
                    unit.names[each] = other.names[each]

    def _leave_out(self, unit: _Unit, node: ast.stmt, error: str | None, *, follows: bool = False) -> None:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        last = node.end_lineno or first
        error = self._known_error(unit, first, last) if error is None else error
        left = LeftOut(file=relative_file(unit.file), line=first, last_line=last, error=error)
        unit.nodes.append((node, left, len(self._begun)))
        if follows and unit.told and unit.told[-1].error is None and error is None:
            unit.told[-1] = replace(unit.told[-1], last_line=left.last_line)
        elif left not in unit.said:  # of one line there may be several names
            unit.told.append(left)
        unit.said.add(left)
        there = vars(unit.module)
        for name in bound_names(node):
            if isinstance(node, ast.Import) and name in there:
                continue  # of `import a.b`, a was there before
            there.pop(name, None)
            unit.names[name] = left
            there["__builtins__"].pop(name, None)  # else Python's own would be found in its place
        unit.reasons.append(self._reason_now(unit, node))

    def _reason_now(self, unit: _Unit, node: ast.stmt) -> str | None:
        """Why a statement may change the model, by what names stand for now; later they may stand for other things."""
        patches = self._patches
        if patches is None:
            return None
        if self._has_run:
            self._n_looks += 1
            if self._n_looks > _MOST_LOOKS:
                return "stands among too many that fail to be read"
            patches.look()
            self._has_run = False
        if unit.effects is None:
            unit.effects = SideEffects(vars(unit.module), self._texts, patches)
        (reason,) = unit.effects.of([node], [frozenset(self._begun)])
        return reason

    def _known_error(self, unit: _Unit, first: int, last: int) -> str | None:
        """What came of a statement when all was run, if that is where it ended."""
        if self._ended_at is None:
            return None
        file, line, error = self._ended_at
        is_here = first <= line <= last and os.path.realpath(file) == os.path.realpath(unit.file)
        return error[:_MAX_ERROR] if is_here else None

    def _all_looked_for(self) -> None:
        """Somebody may look for all names of whatever module."""
        for unit in list(self._units.values()):
            if unit.names:
                self._looked_for(unit, "", NameError, None)

    def begin(self, name: str) -> None:
        """A module of the project is executed, in whatever way."""
        self._begun[name] = None

    def _looked_for(self, unit: _Unit, name: str, raised: type[NameError | AttributeError], owner: Any) -> Exception:
        """Notes it, and gives the error that says why it is not there."""
        place = location_of(site_of(sys._getframe(2), None))
        file, line = (None, None) if place is None else (place.file, place.line)
        if not name:
            error: Exception = raised("the names of a module are asked for")
        else:
            left = unit.names[name]
            message = f"{name} is not bound, as {left.file}:{left.line} {_happened(left)}"
            error = (
                NameError(message, name=name) if raised is NameError else AttributeError(message, name=name, obj=owner)
            )
        self._looks.append(_Look(name, unit, file, line, error))
        return error


def _is_told_by(error: BaseException, look: _Look) -> bool:
    """A statement failed of this look, and nothing else came of it."""
    if look.error is error:
        return True
    if not isinstance(error, ImportError) or error.name != look.unit.module.__name__:
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    here = None if trace is None else location_of((trace.tb_frame.f_code, trace.tb_lasti))
    is_here = here is not None and (here.file, here.line) == (look.file, look.line)
    return is_here and f"cannot import name {look.name!r}" in str(error)


def _traces_of(units: Iterable[_Unit], read: Iterable[SideEffects]) -> Iterator[str]:
    """Words by which somebody may ask for what harmless statements leave behind."""
    yield from NAMES_OF_HOOKS if any(unit.nodes for unit in units) else ()
    nodes = [node for unit in units for left, *_ in unit.nodes for node in ast.walk(left)]
    if any(isinstance(node, ast.AnnAssign) for node in nodes):
        yield from NAMES_OF_NOTES
    if any(each.asks_for_logs for each in read):
        yield from NAMES_OF_LOGS
    if any(each.imports_unseen for each in read):
        yield from NAMES_OF_MODULES


def _effects(unit: _Unit, effects: SideEffects, begun: list[str]) -> Iterator[tuple[LeftOut, str]]:
    """What may have changed the model, and how: by what everything is now, and by what it was."""
    there = {number: frozenset(begun[:number]) for number in {number for *_, number in unit.nodes}}
    reasons = effects.of([node for node, *_ in unit.nodes], [there[number] for *_, number in unit.nodes])
    for (_, left, _), now, before in zip(unit.nodes, reasons, unit.reasons, strict=True):
        reason = now or before
        if reason is not None:
            yield left, reason


def _why(left: LeftOut) -> str:
    return f"left out, as {_UNNEEDED}" if left.error is None else f"left out, as it {_happened(left)}"


def _happened(left: LeftOut) -> str:
    if left.error is None:
        return f"was left out, and {_UNNEEDED}"
    return left.error if left.error.startswith((NO_END, ENDED)) else f"raised {left.error}"


def _is_name_check(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`, which does nothing in a module that is imported."""
    match node:
        case ast.If(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]), orelse=[]):
            sides = {ast.dump(left), ast.dump(right)}
            return sides == {ast.dump(ast.Name("__name__", ast.Load())), ast.dump(ast.Constant("__main__"))}
    return False


def _execute(node: ast.stmt, unit: _Unit) -> None:
    exec(unit.compiled(ast.Module([*unit.futures, node], [])), vars(unit.module))


def _arm(node: ast.If, unit: _Unit) -> list[ast.stmt]:
    target = ast.copy_location(ast.Name(_CHOSEN, ast.Store()), node)
    try:
        _execute(ast.copy_location(ast.Assign([target], node.test), node), unit)
        return node.body if vars(unit.module)[_CHOSEN] else node.orelse
    finally:
        vars(unit.module).pop(_CHOSEN, None)


def _with_names(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> ast.Import | ast.ImportFrom:
    return ast.Import(names) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, names, node.level)


def _named_in(file: str, module: str) -> frozenset[str]:
    try:
        return names_of(decode(read(file)), module)
    except (OSError, ValueError, LookupError, SyntaxError, RecursionError, MemoryError):
        return frozenset()


class _Loader(SourceFileLoader):
    def __init__(self, code: LeftOutCode, name: str, path: str, text: str | None) -> None:
        super().__init__(name, path)
        self._left_out, self._text = code, text

    def get_code(self, fullname: str) -> types.CodeType | None:
        return super().get_code(fullname) if self._text is None else self.source_to_code(self._text.encode(), self.path)

    def exec_module(self, module: types.ModuleType) -> None:
        self._left_out.begin(module.__name__)
        text = self._text
        if text is not None:  # who asks for the source of a class in it looks there
            linecache.cache[self.path] = (len(text), None, text.splitlines(keepends=True), self.path)
        if not needed_by_statements():
            super().exec_module(module)
            return
        source = importlib.util.decode_source(self.get_data(self.path)) if text is None else text
        self._left_out.execute(module, source, self.path, self._compiled, whole=text is not None)

    def _compiled(self, tree: ast.Module) -> types.CodeType:
        return self.source_to_code(tree, self.path)


class _Finder:
    """Finds modules as ever; those of the project are given our loader."""

    def __init__(self, code: LeftOutCode) -> None:
        self._code = code

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or not is_project_file(spec.loader.path):
            return None
        spec.loader = self._code.loader(name, spec.loader.path)
        return spec


class _Builtins(dict[str, Any]):
    """Where Python looks for a name that a module does not bind: its own are there, and what is left out is noted."""

    def __init__(self, unit: _Unit, looked_for: _LookedFor, hidden: Mapping[str, bool]) -> None:
        super().__init__(vars(builtins))
        self._unit, self._looked_for, self._hidden = unit, looked_for, dict(hidden)
        self.unbound = unit.names
        for name in self._hidden:
            self.pop(name, None)

    def __missing__(self, name: str) -> Any:
        if name in self._hidden:
            if self._unit.names and (self._hidden[name] or sys._getframe(1).f_code.co_name == "<module>"):
                self._looked_for(self._unit, "", NameError, None)
            return getattr(builtins, name)
        if name in self._unit.names:
            raise self._looked_for(self._unit, name, NameError, None)
        return vars(builtins)[name]


def _module_class(unit: _Unit, looked_for: _LookedFor) -> type[types.ModuleType]:
    class Module(types.ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name in unit.names:
                raise looked_for(unit, name, AttributeError, self)
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)

        def __getattribute__(self, name: str) -> Any:
            if name == "__dict__" and unit.names and is_project_file(sys._getframe(1).f_code.co_filename):
                looked_for(unit, "", AttributeError, self)
            return super().__getattribute__(name)

        def __dir__(self) -> Iterable[str]:
            if unit.names:
                looked_for(unit, "", AttributeError, self)
            return super().__dir__()

    Module.__name__ = Module.__qualname__ = "module"
    return Module


def _class_of_builtins(looked_for: Callable[[], None]) -> type[types.ModuleType]:
    """Whoever asks the module itself, by whatever name it has there, for a function that gives all names is noted."""

    class Module(types.ModuleType):
        def __getattribute__(self, name: str) -> Any:
            is_asked = name in (_ALL_NAMES, *_ALL_NAMES_HERE, "__dict__")
            if is_asked and is_project_file(sys._getframe(1).f_code.co_filename):
                looked_for()
            return super().__getattribute__(name)

    Module.__name__ = Module.__qualname__ = "module"
    return Module
