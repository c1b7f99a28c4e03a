"""What a rule looks at: one class of a file, its facts, what its names mean, and the class interpreted if it asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from modgraph.rules import local_classes
from modgraph.rules.facts import ClassFacts, Method, attribute_of
from modgraph.rules.names import Costly, Project
from modgraph.rules.reading import LosingReader, Reader
from modgraph.source.dotted_names import dotted
from modgraph.source.files import lines_of
from modgraph.source.summaries import Summary

if TYPE_CHECKING:
    from modgraph.rules.interpretation import Interpreted


class FileSubject:
    """A file that is checked."""

    def __init__(self, path: str, shown: str, text: str, tree: ast.Module, summary: Summary, project: Project) -> None:
        self.path = path
        """Absolute."""
        self.shown = shown
        """As the user named it."""
        self.text = text
        self.tree = tree
        self.summary = summary
        self.project = project
        self.notes: dict[str, Any] = {}
        """What is found out once for all classes."""

    @cached_property
    def lines(self) -> list[str]:
        return lines_of(self.text)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Names that the file gives whole numbers, or tuples and lists that begin with one, at its top."""
        return frozenset(
            target.id
            for statement in self.tree.body
            if isinstance(statement, ast.Assign) and _is_number(statement.value)
            for target in statement.targets
            if isinstance(target, ast.Name)
        )

    @cached_property
    def renamed(self) -> list[tuple[str, str]]:
        """(name, what is imported under it), where these differ."""
        bound = self.summary.imports.items()
        return [(new, old) for new, (_, old, _) in bound if old and new != old]

    @cached_property
    def _walked(self) -> _Walked:
        return _Walked(self.tree)

    @property
    def words(self) -> set[str]:
        """Every str that stands in the file."""
        return self._walked.words

    @property
    def bases(self) -> dict[str, list[ast.ClassDef]]:
        """By the names that the bases of its classes speak of: these classes."""
        return self._walked.bases

    @cached_property
    def script_bases(self) -> list[ast.expr]:
        """Where a class of it derives from `torch.jit.ScriptModule`."""
        if "ScriptModule" not in self.text:
            return []
        bases = ((dotted(base), base) for node in self._walked.classes for base in node.bases)
        absolute = self.project.absolute
        return [base for name, base in bases if name and absolute(self.summary, name) == "torch.jit.ScriptModule"]

    @property
    def spelling_of_module(self) -> str | None:
        """How `nn.Module` is written in it."""
        absolute = self.project.absolute
        words = ("torch.nn.Module", *(f"{name}{rest}" for name in self.summary.imports for rest in (".Module", "")))
        return next((word for word in words if absolute(self.summary, word) == "torch.nn.Module"), None)

    def stored_of(self, name: str, node: ast.ClassDef) -> Iterator[ast.Attribute]:
        """The attributes of that name in which something is stored that may be an instance of a class: all but those on
        `self` in classes that are not made of it."""
        classes = {id(each) for each in (node, *self.bases.get(node.name, ()))}
        for place in (None, *classes):
            for each in self._stored_in.get((name, place), ()):
                if classes.issuperset(self._storing.get(id(each), ())):
                    yield each

    @cached_property
    def _stored_in(self) -> dict[tuple[str, int | None], list[ast.Attribute]]:
        """By name and class: the attributes that something is stored in on `self` there; None: in no class."""
        found: dict[tuple[str, int | None], list[ast.Attribute]] = {}
        for each in self._walked.stored:
            for place in self._storing.get(id(each), (None,)):
                found.setdefault((each.attr, place), []).append(each)
        return found

    @cached_property
    def _storing(self) -> dict[int, list[int]]:
        """By id of an attribute of the first parameter of a method: the ids of the classes in which that stands."""
        found: dict[int, list[int]] = {}
        for node in self._walked.classes:
            for function in node.body:
                if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and function.args.args:
                    first = function.args.args[0].arg
                    for each in ast.walk(function):
                        if (
                            isinstance(each, ast.Attribute)
                            and isinstance(each.value, ast.Name)
                            and each.value.id == first
                        ):
                            found.setdefault(id(each), []).append(id(node))
        return found

    def seen_with(self, summary: Summary) -> FileSubject:
        """The same, where names mean something else: to a class in a function that binds them."""
        other = FileSubject(self.path, self.shown, self.text, self.tree, summary, self.project)
        other.__dict__.update(lines=self.lines)
        return other


class _Walked:
    """What one walk over a whole file finds."""

    def __init__(self, tree: ast.Module) -> None:
        self.words: set[str] = set()
        self.bases: dict[str, list[ast.ClassDef]] = {}
        self.stored: list[ast.Attribute] = []
        self.classes: list[ast.ClassDef] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                self.stored.append(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.words.add(node.value)
            elif isinstance(node, ast.ClassDef):
                self.classes.append(node)
                for name in {name for base in node.bases for name in names_in(base)}:
                    self.bases.setdefault(name, []).append(node)


def names_in(node: ast.expr) -> set[str]:
    """The names that an expression speaks of."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
        return _is_number(node.elts[0])
    return isinstance(node, ast.Constant) and type(node.value) is int


class Subject:
    """One class of a file."""

    def __init__(self, file: FileSubject, facts: ClassFacts) -> None:
        self.file = file
        self.facts = facts
        self.notes: dict[str, Any] = {}
        """What several rules find out alike."""
        self._interpreted: Interpreted | bool | None = False
        self._interpreted_openly: Interpreted | bool | None = False
        self._interpreted_with_more: Interpreted | bool | None = False

    @cached_property
    def is_module(self) -> bool:
        """It certainly derives from `nn.Module`."""
        file = self.file
        if not self.is_local:
            answer = file.project.is_module(file.path, self.facts.qualname)
            if answer is None:
                self._note_unknown_bases()
            return answer is True
        own = local_classes.bound_around(file.tree, self.facts.node)
        bases = [dotted(each) for each in self.facts.node.bases]
        return any(
            base is not None and base.partition(".")[0] not in own and file.project.is_module(file.path, base) is True
            for base in bases
        )

    def _note_unknown_bases(self) -> None:
        project, path = self.file.project, self.file.path
        names = [dotted(each.value if isinstance(each, ast.Subscript) else each) for each in self.facts.node.bases]
        found = [name for name in names if name and project.is_module(path, name) is None]
        project.unresolved.update((project.absolute(self.file.summary, name) or name, None) for name in found)

    @property
    def is_local(self) -> bool:
        """It stands in a function."""
        return "<locals>" in self.facts.qualname

    @cached_property
    def reads(self) -> Reader:
        """What its expressions are."""
        return Reader(self.file.project, self.file.path, self.file.summary, self.facts.methods, self.facts.qualname)

    @cached_property
    def reads_losing(self) -> LosingReader:
        """The same, to which modules count with which something may be lost."""
        reads = self.reads
        return LosingReader(reads.project, reads.file, reads.summary, reads.methods, reads.qualname)

    def calls_of(self, *names: str) -> list[tuple[Method, ast.Call]]:
        """Calls in its methods of what the file may call so: `from torch.nn import Linear as L` is seen too."""
        renamed = [new for new, old in self.file.renamed if old in names]
        return self.facts.calls_of(*names, *renamed)

    # ---- interpreted -------------------------------------------------------------------------------------------------

    def interpreted(self) -> Interpreted | None:
        """What the class holds once its constructor has run; None where it cannot be interpreted. Costs far more than
        everything else: only for a class in which something is suspicious."""
        if isinstance(self._interpreted, bool):
            self._interpreted = self._interpret(())
        return self._interpreted

    def interpreted_apart(self, openly: bool = False) -> Interpreted | None:
        """The same for what may be left unsaid, within bounds of its own; `openly`: nothing is known of arguments that
        have defaults."""
        names = self._with_defaults() if openly else []
        known = self._interpreted_openly if names else self._interpreted
        if not isinstance(known, bool):
            return known
        text = self._text_to_interpret()
        if text is None:
            return None
        from modgraph.rules.interpretation import interpret_apart

        return interpret_apart(self.file.project, self.file.path, self.facts.qualname, text, names)

    def _with_defaults(self) -> list[str]:
        """Parameters of the constructor that have a default."""
        init = self.facts.methods.get("__init__")
        return [name for name, default in init.parameters.items() if default] if init is not None else []

    def interpreted_with_more_given(self) -> Interpreted | None:
        """The same with nothing known of arguments that are None by default: where None will not do, they are given."""
        if isinstance(self._interpreted_with_more, bool):
            init = self.facts.methods.get("__init__")
            defaults = init.parameters.items() if init is not None else ()
            names = [name for name, default in defaults if default and ast.unparse(default[0]) == "None"]
            self._interpreted_with_more = self._interpret(names) if names else None
        return self._interpreted_with_more

    def interpreted_openly(self) -> Interpreted | None:
        """The same with nothing known of arguments that have defaults: what may be there on any path."""
        if isinstance(self._interpreted_openly, bool):
            names = self._with_defaults()
            self._interpreted_openly = self._interpret(names) if names else None
        return self._interpreted_openly

    def _interpret(self, unknown: Sequence[str]) -> Interpreted | None:
        from modgraph.rules.interpretation import interpret

        file = self.file
        text = self._text_to_interpret()
        name = self.facts.qualname
        if self.is_local and text is not None:
            name = self.facts.node.name
            text = local_classes.with_it_at_the_end(text, lines_of(text), file.tree, self.facts.node)
        found = None if text is None else interpret(file.project, file.path, name, text, unknown)
        tuples = self._tuples if found is not None else frozenset()
        return found.told(tuples) if found is not None and tuples else found

    @cached_property
    def _tuples(self) -> frozenset[str]:
        """Attributes that certainly are tuples: the interpreter does not know one of unknown length from what may be a
        module."""
        stored = [*self.facts.stored.items(), *((each.name, [each]) for each in self.facts.set_by_name)]
        changed = {change.name for change in self.facts.changes}
        return frozenset(
            name
            for name, stores in stored
            if name not in changed and all(self.reads.is_tuple(each.value, each.method) for each in stores)
        )

    def _text_to_interpret(self) -> str | None:
        if self.file.project.reluctant:
            raise Costly
        return self._without_strange_initialisers()

    def _without_strange_initialisers(self) -> str:
        """The text of the file, where `self.apply(init)` does nothing if no source of `init` is found: such functions
        set weights, and to think that they might do anything would be to say nothing of many a model. For the same
        reason a ScriptModule is a Module there: it keeps its submodules as that does."""
        from modgraph.rules.edits import replace
        from modgraph.rules.fixing import applied

        edits = [
            replace(self, call.args[0], "(lambda _: None)")
            for method, call in self.facts.calls_of("apply")
            if attribute_of(call.func, method.receiver) and len(call.args) == 1 and self._is_nowhere(call.args[0])
        ]
        module = self.file.spelling_of_module
        edits += [replace(self, base, module) for base in self.file.script_bases if module]
        return applied(self.file.text, edits) if edits else self.file.text

    def _is_nowhere(self, function: ast.expr) -> bool:
        """It is imported, or may be, from a module of which no file is found."""
        name = dotted(function)
        if name is None:
            return False
        summary, project = self.file.summary, self.file.project
        homes = list(project.homes(self.file.path, name))
        if name.partition(".")[0] in summary.imports:
            return not any(home for home, _ in homes)
        return bool(summary.stars) and "." not in name and not any(home for home, _ in homes)
