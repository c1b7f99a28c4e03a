"""One parsed file as looking for models in it sees it: what its top-level names are, use and make."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from modgraph.doors.reading import lies_in
from modgraph.names import last_name
from modgraph.source.assignments import pairs
from modgraph.source.bases import BaseResolver, LostBase
from modgraph.source.call_arguments import Arguments, Written, calls_at_lines, written_calls
from modgraph.source.dotted_names import dotted
from modgraph.source.file_classes import FileClasses
from modgraph.source.module_classes import TORCH
from modgraph.source.modules import ModuleFinder, SourceModule
from modgraph.source.syntax import (
    FunctionNode,
    annotation_name,
    assigned_names,
    assigned_values,
    bound_names,
    callable_bare,
    classes_in,
    keeps_subclasses,
    main_test,
    names_in,
    receiver,
    top_level,
)
from modgraph.source.syntax import returned_calls as _returned_calls
from modgraph.source.targets import SCRIPT, Target
from modgraph.source.torch_names import GIVING_ITSELF
from modgraph.source.usage import Looks, used_by_others

_MAX_LOOKED_THROUGH = 64
"""Files that are read for models where a file has none itself."""


class ModelFile(FileClasses):
    """One parsed file, and what its top-level names are."""

    def __init__(self, tree: ast.Module, module: SourceModule, resolver: BaseResolver) -> None:
        self.statements = list(top_level(tree.body))
        super().__init__(dict(classes_in(self.statements)), Looks(module.file))
        self.module = module
        self._resolver = resolver
        self.functions = {s.name: s for s in self.statements if isinstance(s, FunctionNode)}
        self.tree = tree
        self._built: dict[tuple[str, int], frozenset[str]] = {}
        self._calls_in: dict[str, list[ast.Call]] = {}
        self._returned: dict[str, list[ast.Call]] = {}
        self._gives_module: dict[tuple[str, int], bool] = {}

    def begin(self) -> None:
        """Another target is looked for in it: what was spent on those before does not count."""
        self._looks.spent = 0
        self._resolver.begin()

    @cached_property
    def module_classes(self) -> list[str]:
        """Classes derived from nn.Module; one that is nested in another such is a part of it."""
        found: dict[str, None] = {}
        for name in self.classes:
            outer = (name[:end] for end, character in enumerate(name) if character == ".")
            if self._resolver.is_module_class(self.module, name) and not any(other in found for other in outer):
                found[name] = None
        return list(found)

    def unknown_base(self) -> tuple[str, str] | None:
        """The first class with a base that cannot be found, and that base."""
        seen: set[str] = set()
        for name in self.classes:
            if bases := self._resolver.unknown_bases(self.module, name, seen):
                return name, bases[0]
        return None

    def open_classes(self) -> dict[str, LostBase]:
        """Classes at the top that make modules, with a base of which nothing is found, so that they may be modules."""
        lost = {name: self._resolver.lost_base(self.module, name) for name in self.classes if "." not in name}
        found = {name: base for name, base in lost.items() if base is not None and self._makes_modules(name)}
        bases = {base for name in found for base in self.module.index.definitions[name].bases}
        parts = bases.union(*(self.references.get(name, set()) - {name} for name in found))
        return {name: base for name, base in found.items() if name not in parts}

    def _makes_modules(self, name: str) -> bool:
        """Its body names torch, or a class that is an `nn.Module`."""
        imported = self.module.index.imported
        return any(
            (used in imported and imported[used].module.partition(".")[0] == TORCH)
            or self._resolver.is_module_class(self.module, used)
            for used in sorted(names_in(self.classes[name].body))
        )

    def lost_base(self) -> tuple[str, LostBase] | None:
        """The first class of which it is not known whether it is a module, and why."""
        found = ((name, self._resolver.lost_base(self.module, name)) for name in self.classes)
        return next(((name, base) for name, base in found if base is not None), None)

    @cached_property
    def references(self) -> dict[str, set[str]]:
        """Top-level name -> the names that stand in its body; bases and decorators are no parts."""
        found: dict[str, set[str]] = {}
        nested: dict[str, set[str]] = {}
        for name in self.classes:
            nested.setdefault(last_name(name), set()).update([name] if "." in name else [])
        for name, node in self.classes.items():
            own = [part for part in node.body if not isinstance(part, ast.ClassDef)]
            found[name] = names_in(own) - self._only_called_upon(name, own)
            # A nested class is used as an attribute: `self.Block`, `Outer.Block`.
            attributes = {inner.attr for part in own for inner in ast.walk(part) if isinstance(inner, ast.Attribute)}
            for last in attributes | found[name]:
                self._looks.spend(len(nested.get(last, ())))
                found[name].update(nested.get(last, ()))
        for statement in self.statements:
            if isinstance(statement, ast.ClassDef):
                continue
            if isinstance(statement, FunctionNode):
                found.setdefault(statement.name, set()).update(names_in([*statement.body, statement.args]))
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                for name in assigned_names(statement):
                    found.setdefault(name, set()).update(names_in([statement.value] if statement.value else []))
        return {name: used & found.keys() for name, used in found.items()}

    def _only_called_upon(self, name: str, body: list[ast.stmt]) -> set[str]:
        """Bases that a class names only to call their methods: `Base.__init__(self)`, `super(Base, self)`."""
        bases = set(self.bases_of(name)) & self.classes.keys()
        if not bases:
            return bases
        nodes = [node for part in body for node in ast.walk(part)]
        upon: set[int] = set()
        for node in nodes:
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name):
                if isinstance(node.func, ast.Name) and node.func.id == "super":
                    upon.add(id(node.args[0]))
                elif isinstance(node.func, ast.Attribute) and node.args[0].id == "self":
                    upon.add(id(node.func.value))
        return bases - {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in upon}

    def reach(self, name: str) -> set[str]:
        """Every top-level name that `name` uses, also through functions, tables and registries of the file."""
        seen: set[str] = set()
        pending = [name]
        lineage = self._lineage(name) if self.enters_its_own else set()
        while pending:
            user = pending.pop()
            # A class that keeps its subclasses in a table uses them for others, not for itself or one of them.
            entered = self._entered.get(user, set()) if user not in lineage else set()
            others = self.references.get(user, set()) | entered
            self._looks.spend(1 + len(others))
            for other in others:
                if other in self.references and other not in seen:
                    seen.add(other)
                    pending.append(other)
        return seen

    @cached_property
    def enters_its_own(self) -> bool:
        """A class keeps others of the file in a table: what is used differs with who asks."""
        return any(name in self.classes for name in self._entered)

    def uses(self, name: str) -> set[str]:
        """What `name` uses itself, where no class keeps others; see `reach`."""
        entered = self._entered.get(name)
        return self.references.get(name, set()) | (entered & self.references.keys() if entered else set())

    @cached_property
    def _entered(self) -> dict[str, set[str]]:
        """By the name of a registry: the classes of the file that are entered into it.

        A registry is a table or object by which a class is decorated, a table that its decorator fills, or a base class
        whose `__init_subclass__` keeps what is derived from it.
        """
        found: dict[str, set[str]] = {}
        keepers = {name for name, node in self.classes.items() if keeps_subclasses(node)}
        for name, node in self.classes.items():
            registries = (self._lineage(name) - {name}) & keepers if keepers else set()
            for decorator in node.decorator_list:
                written = decorator.func if isinstance(decorator, ast.Call) else decorator
                first = (dotted(written) or "").partition(".")[0]
                if first in self.functions:
                    used = self.references.get(first, set())
                    registries |= {other for other in used if other not in self.functions and other not in self.classes}
                else:
                    registries.add(first)
            for registry in registries:
                found.setdefault(registry, set()).add(name)
        return found

    def root_classes(self) -> list[str]:
        """Module classes that no other one uses as a part; of those that use each other, all."""
        return [name for name in self.module_classes if name not in self._used and not self.is_abstract(name)]

    @cached_property
    def _used(self) -> set[str]:
        """Module classes that another one uses as a part."""
        if not self.enters_its_own:
            return used_by_others(dict.fromkeys(self.module_classes).keys(), self.uses)
        reach = {name: self.reach(name) for name in self.module_classes}
        return {
            part
            for user, parts in reach.items()
            for part in parts
            if part in reach and part != user and user not in reach[part]
        }

    def is_buildable(self, root: Target) -> bool:
        """Nothing is known to be missing for building what is named."""
        return root.called or root.name not in self.classes or not self.needs_arguments(root.name)

    def instances(self) -> dict[str, ast.expr]:
        """Module-level names that hold a module, and the call that makes it."""
        return self._held(self.makes_module)

    def open_instances(self) -> dict[str, ast.expr]:
        """Module-level names that hold what a call gives of which the text says nothing: `MODELS[kind](8)`."""
        return self._held(self.may_make_module)

    def _held(self, test: Callable[[ast.expr], bool]) -> dict[str, ast.expr]:
        found: dict[str, ast.expr] = {}
        for statement in self.statements:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                    for bound, value in pairs(target, statement.value):
                        for name in bound_names(bound):
                            same = found.get(receiver(value))  # model = model.to(device)
                            found.pop(name, None)
                            if same is not None or test(value):
                                found[name] = same or value
        return found

    def whole(self, instances: Mapping[str, ast.expr]) -> list[str]:
        """The instances without those that another one takes as an argument: they are parts of it."""
        taken: set[str] = set()
        for name, value in instances.items():
            taken.update(_given_in(value) - {name})
        return [name for name in instances if name not in taken]

    def built_by(self, instances: Mapping[str, ast.expr]) -> set[str]:
        """Classes of the file that these instances stand for; one in a branch, which may not be taken, stands for none.

        A function that gives one of several classes stands for none of them.
        """
        certain = {id(value) for s in self.tree.body for value in assigned_values(s)}
        found: set[str] = set()
        for value in instances.values():
            if id(value) not in certain:
                continue
            for call in ast.walk(value):
                name = dotted(call.func) if isinstance(call, ast.Call) else None
                if name in self.classes:
                    found.add(name)
                elif name in self.functions:
                    kinds = self._built_by(name) & self._module_class_set
                    self._looks.spend(1 + len(kinds))
                    found.update(kinds if len(kinds) == 1 else [])
        return found

    def handed_on(self) -> list[str]:
        """Module classes that the file imports from beside it, as an `__init__.py` does."""
        near = [one for one in self.module.index.imports if one.level > 0 and one.attribute not in (None, "*")]
        return [one.name for one in near if self._resolver.is_module_class(self.module, one.name)]

    def files_beside(self, finder: ModuleFinder) -> list[Path]:
        """Files below its folder, or in its package, that have module classes and to which its imports lead, the
        nearest first."""
        home = self.module.path.parent
        for _ in range(self.module.name.count(".") + self.module.is_package - 1):
            home = home.parent
        found: dict[Path, None] = {}
        seen, pending = {self.module.name}, [self.module]
        while pending and len(seen) < _MAX_LOOKED_THROUGH:
            for source in _imported(pending.pop(0), finder):
                if source.name not in seen and lies_in(str(source.path), str(home)):
                    seen.add(source.name)
                    pending.append(source)
                    classes = (name for name, each in source.index.definitions.items() if each.kind == "class")
                    if any(self._resolver.is_module_class(source, name) for name in classes):
                        found[source.path] = None
        return list(found)

    def may_make_module(self, node: ast.expr) -> bool:
        """Whether an expression is a call that may give a module, for all that can be found."""
        if not isinstance(node, ast.Call):
            return False
        name = dotted(node.func)
        if name is None:
            return isinstance(node.func, ast.Subscript | ast.Call)
        first = name.partition(".")[0]
        if name in self.functions:
            return self.functions[name].returns is None and bool(self.returned_calls(name))
        imported = self.module.index.imports_of.get(first, ())
        homes = {one.module.partition(".")[0] for one in imported if one.level == 0}
        return bool(imported) and not homes & (sys.stdlib_module_names | {"torch"})

    def makes_module(self, node: ast.expr, depth: int = 8) -> bool:
        """Whether an expression is a call that gives a module, as far as its text says."""
        if not isinstance(node, ast.Call) or depth == 0:
            return False
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in GIVING_ITSELF:
            return self.makes_module(function.value, depth - 1)
        name = dotted(function)
        if name is None:
            return False
        if name in self.functions:
            return self.returns_module(self.functions[name], depth - 1)
        return self._resolver.is_module_class(self.module, name)

    def returns_module(self, function: FunctionNode, depth: int = 8) -> bool:
        """Whether a function of the file gives a module: by its annotation, or by what it returns."""
        if function.returns is not None and (name := annotation_name(function.returns)) is not None:
            return self._resolver.is_module_class(self.module, name)
        key = (function.name, depth)
        if self.functions.get(function.name) is not function:
            return self._returns_module(function, depth)
        if key not in self._gives_module:
            self._gives_module[key] = self._returns_module(function, depth)
        return self._gives_module[key]

    def _returns_module(self, function: FunctionNode, depth: int) -> bool:
        calls = self.returned_calls(function.name) if depth > 0 else []
        self._looks.spend(1 + len(calls))
        return any(self.makes_module(call, depth) or self._makes_local(call, function) for call in calls)

    def returned_calls(self, name: str) -> list[ast.Call]:
        """Calls that a function of the file returns."""
        if name not in self._returned:
            self._returned[name] = _returned_calls(self.functions[name])
        return self._returned[name]

    def _makes_local(self, call: ast.Call, function: FunctionNode) -> bool:
        """Whether a call is of a module class that stands in the function itself."""
        name = f"{function.name}.<locals>.{dotted(call.func)}"
        return name in self.module.index.definitions and self._resolver.is_module_class(self.module, name)

    def _built_by(self, function: str, depth: int = 8) -> frozenset[str]:
        """The names of which a function gives an instance, as its annotation and what it returns say."""
        key = (function, depth)
        if key not in self._built:
            node = self.functions[function]
            found = {annotation_name(node.returns)} if node.returns is not None else set()
            for called in {dotted(call.func) for call in self.returned_calls(function)} - {None}:
                found.add(called)
                if depth > 0 and called in self.functions:
                    found |= self._built_by(str(called), depth - 1)
            self._looks.spend(1 + len(found))
            self._built[key] = frozenset(map(str, found - {None}))
        return self._built[key]

    @cached_property
    def _module_class_set(self) -> frozenset[str]:
        return frozenset(self.module_classes)

    @cached_property
    def _factories(self) -> dict[str, list[str]]:
        """By class: functions that need no arguments and give an instance of it."""
        found: dict[str, list[str]] = {}
        for name, node in self.functions.items():
            for built in self._built_by(name) & self._module_class_set if callable_bare(node) else ():
                found.setdefault(built, []).append(name)
        return found

    def factories_of(self, name: str) -> list[str]:
        """Functions that need no arguments and give an instance of a module class."""
        return self._factories.get(name, [])

    def known_call(self, name: str) -> Arguments | None:
        """Arguments of the first call of the class in the file, outside its classes, of which all are known."""
        return next((found for found, _ in self.known_calls(name)), None)

    def known_calls(self, name: str) -> Iterator[tuple[Arguments, int]]:
        """Arguments and lines of all of them."""
        return calls_at_lines(self._calls.get(name, ()))

    @cached_property
    def _calls(self) -> dict[str, list[Written]]:
        return written_calls(self.tree, self.module)

    def is_made_outside(self, name: str) -> bool:
        """A call of the class stands outside of all classes: in a function, or in the script."""
        return name in self._calls or self.caller_of(name) is not None

    def calls_in(self, name: str) -> list[ast.Call]:
        """The calls that stand in a class."""
        if name not in self._calls_in:
            walked = list(ast.walk(self.classes[name]))
            self._looks.spend(len(walked) // 10)
            self._calls_in[name] = [node for node in walked if isinstance(node, ast.Call)]
        return self._calls_in[name]

    def caller_of(self, name: str) -> str | None:
        """What of the file comes to a call of the class when it is run: its script part, or a function that needs no
        arguments and has the call in its body."""
        return SCRIPT if name in self._used_by_script else self._callers.get(name)

    @cached_property
    def _used_by_script(self) -> set[str]:
        found: set[str] = set()
        for statement in self.tree.body:
            if main_test(statement) and isinstance(statement, ast.If):
                used = names_in(statement.body)
                found |= used
                if self.enters_its_own:
                    found.update(*map(self.reach, used))
                else:
                    pending = list(used)
                    while pending:
                        new = self.uses(pending.pop()) - found
                        found |= new
                        pending.extend(new)
        return found

    @cached_property
    def _callers(self) -> dict[str, str]:
        """By what they use: the first function that needs no arguments."""
        found: dict[str, str] = {}
        for function, node in self.functions.items():
            for used in self.references[function] if callable_bare(node) else ():
                found.setdefault(used, function)
        return found


def _given_in(value: ast.expr) -> set[str]:
    """Names in the arguments of the calls of an expression."""
    found: set[str] = set()
    pending: list[tuple[ast.AST, bool]] = [(value, False)]
    while pending:
        node, given = pending.pop()
        if isinstance(node, ast.Name) and given:
            found.add(node.id)
        if isinstance(node, ast.Call):
            pending.append((node.func, given))
            pending += [(argument, True) for argument in (*node.args, *(each.value for each in node.keywords))]
        else:
            pending += [(child, given) for child in ast.iter_child_nodes(node)]
    return found


def _imported(module: SourceModule, finder: ModuleFinder) -> Iterator[SourceModule]:
    """What the imports of a module lead to, as far as it can be read."""
    for one in module.index.imports:
        home = module.absolute(one.module, one.level)
        source = finder.readable(f"{home}.{one.attribute}") or finder.readable(home)
        if source is not None and not finder.is_installed(source):
            yield source
