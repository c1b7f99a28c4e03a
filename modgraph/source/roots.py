"""The root models of a file: what `modgraph analyze model.py` is about when it names nothing in it.

They are the `nn.Module` classes that no other class of the file uses as a part, and the module-level instances, which
stand for the classes they are built of. A class that cannot be built without arguments is built as the file itself does
it: by a factory function that needs none, or by a call whose arguments the text says.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property

from modgraph.errors import MissingFileError, TargetError
from modgraph.source.bases import BaseResolver, pairs
from modgraph.source.call_arguments import Arguments, calls_with_values
from modgraph.source.dotted_names import dotted
from modgraph.source.integers import parse
from modgraph.source.modules import ModuleFinder, SourceError, SourceModule, finder_for
from modgraph.source.syntax import (
    SELF_RETURNING,
    FunctionNode,
    annotation_name,
    assigned_names,
    assigned_values,
    bound_names,
    callable_bare,
    classes_in,
    is_constant,
    is_own_attribute,
    keeps_subclasses,
    main_test,
    names_in,
    raises_not_implemented,
    receiver,
    returned_calls,
    top_level,
)
from modgraph.source.targets import SCRIPT, Target, references_in, shortened


def find_roots(target: Target) -> tuple[Target, ...]:
    """The models of the file or module that `target` names, in the order of the file.

    Raises:
        TargetError: it does not exist, does not parse, or has no model in it.
    """
    finder = finder_for(target.search_path)
    return roots_in(model_file(target, finder, BaseResolver(finder)), target, finder)


def model_file(target: Target, finder: ModuleFinder, resolver: BaseResolver) -> ModelFile:
    """The file that a target names, parsed.

    Raises:
        TargetError: it does not exist, or does not parse.
    """
    module = _source_of(target, finder)
    tree = _tree_of(module)
    module.index  # noqa: B018  # raises the error with its place
    return ModelFile(tree, module, resolver)


def roots_in(file: ModelFile, target: Target, finder: ModuleFinder) -> tuple[Target, ...]:
    """`find_roots` of a file that is parsed already."""
    instances = file.instances()
    stood_for = file.built_by(instances)
    roots = [_buildable(target, name, file) for name in file.root_classes() if name not in stood_for]
    as_arguments = {value for root in roots for value in references_in((root.arguments, root.keywords))}
    roots = [root for root in roots if f"{root.module}.{root.name}" not in as_arguments]
    roots += [target.named(name) for name in file.whole(instances)]
    if not roots:
        roots = [target.named(name) for name, function in file.functions.items() if callable_bare(function)
                 and file.returns_module(function)]  # fmt: skip
    if not any(file.is_buildable(root) for root in roots):
        roots += [replace(target.named(name), doubtful=True) for name in file.open_instances()]
    if not roots:
        raise TargetError(f"{target.place} has no nn.Module", file=target.place, hint=_what_is_there(file, finder))
    return tuple(replace(root, discovered=True) for root in roots)


def as_its_file_builds_it(target: Target) -> Target:
    """The target; of a class that needs arguments, named without any, the way in which its file builds it."""
    if target.called:
        return target
    finder = finder_for(target.search_path)
    module = find_source(target, finder)
    try:
        definition = module.index.definitions.get(target.name) if module is not None else None
    except SourceError:  # said where it is predicted; there, the stack is deeper too
        return target
    if module is None or definition is None or definition.kind != "class":
        return target
    file = ModelFile(_tree_of(module), module, BaseResolver(finder))
    return _buildable(target, target.name, file) if target.name in file.classes else target


def _source_of(target: Target, finder: ModuleFinder) -> SourceModule:
    source = find_source(target, finder)
    if source is None:
        raise MissingFileError(
            f"there is no module {shortened(target.module)!r} with Python source on the search path",
            hint="a file is named with its ending: model.py" if "." not in target.module else None,
        )
    return source


def _tree_of(module: SourceModule) -> ast.Module:
    """The file's tree; an empty one of a file that cannot be parsed here."""
    try:
        return parse(module.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def find_source(target: Target, finder: ModuleFinder) -> SourceModule | None:
    """The file or module of a target, which the finder knows from then on."""
    if target.file is None:
        return finder.source(target.module)
    module = SourceModule(target.module, target.file, target.relative_file, target.file.stem == "__init__")
    finder.add(module)
    return module


class ModelFile:
    """One parsed file, and what its top-level names are."""

    def __init__(self, tree: ast.Module, module: SourceModule, resolver: BaseResolver) -> None:
        self.module = module
        self._resolver = resolver
        self.statements = list(top_level(tree.body))
        self.classes = dict(classes_in(self.statements))
        """By qualified name: nested in each other too."""
        self.functions = {s.name: s for s in self.statements if isinstance(s, FunctionNode)}
        self.tree = tree

    @cached_property
    def module_classes(self) -> list[str]:
        """Classes derived from nn.Module; one that is nested in another such is a part of it."""
        found: list[str] = []
        for name in self.classes:
            outer = (name[:end] for end, character in enumerate(name) if character == ".")
            if self._resolver.is_module_class(self.module, name) and not any(other in found for other in outer):
                found.append(name)
        return found

    def unknown_bases(self) -> dict[str, list[str]]:
        """By class: bases that cannot be found."""
        found = {name: self._resolver.unknown_bases(self.module, name) for name in self.classes}
        return {name: bases for name, bases in found.items() if bases}

    @cached_property
    def references(self) -> dict[str, set[str]]:
        """Top-level name -> the names that stand in its body; bases and decorators are no parts."""
        found: dict[str, set[str]] = {}
        nested: dict[str, set[str]] = {}
        for name in self.classes:
            nested.setdefault(name.rpartition(".")[2], set()).update([name] if "." in name else [])
        for name, node in self.classes.items():
            own = [part for part in node.body if not isinstance(part, ast.ClassDef)]
            found[name] = names_in(own)
            # A nested class is used as an attribute: `self.Block`, `Outer.Block`.
            attributes = {inner.attr for part in own for inner in ast.walk(part) if isinstance(inner, ast.Attribute)}
            found[name].update(*(nested.get(last, ()) for last in attributes | found[name]))
        for statement in self.statements:
            if isinstance(statement, ast.ClassDef):
                continue
            if isinstance(statement, FunctionNode):
                found.setdefault(statement.name, set()).update(names_in([*statement.body, statement.args]))
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                for name in assigned_names(statement):
                    found.setdefault(name, set()).update(names_in([statement.value] if statement.value else []))
        return found

    def reach(self, name: str) -> set[str]:
        """Every top-level name that `name` uses, also through functions, tables and registries of the file."""
        seen: set[str] = set()
        pending = [name]
        lineage = self._lineage(name)
        while pending:
            user = pending.pop()
            # A class that keeps its subclasses in a table uses them for others, not for itself or one of them.
            entered = self._entered.get(user, set()) if user not in lineage else set()
            for other in self.references.get(user, set()) | entered:
                if other in self.references and other not in seen:
                    seen.add(other)
                    pending.append(other)
        return seen

    @cached_property
    def _entered(self) -> dict[str, set[str]]:
        """By the name of a registry: the classes of the file that are entered into it.

        A registry is a table or object by which a class is decorated, a table that its decorator fills, or a base class
        whose `__init_subclass__` keeps what is derived from it.
        """
        found: dict[str, set[str]] = {}
        keepers = {name for name, node in self.classes.items() if keeps_subclasses(node)}
        for name, node in self.classes.items():
            registries = (self._lineage(name) - {name}) & keepers
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

    def _lineage(self, name: str) -> set[str]:
        """A class and its bases in the file."""
        found: set[str] = set()
        pending = [name]
        while pending:
            one = pending.pop()
            if one in self.classes and one not in found:
                found.add(one)
                pending.extend(self._bases(one))
        return found

    def root_classes(self) -> list[str]:
        """Module classes that no other one uses as a part; of those that use each other, all."""
        reach = {name: self.reach(name) for name in self.module_classes}
        used = {
            part
            for user, parts in reach.items()
            for part in parts
            if part in reach and part != user and user not in reach[part]
        }
        return [name for name in reach if name not in used and not self._is_abstract(name)]

    def _is_abstract(self, name: str) -> bool:
        """A base of another class of the file that has no forward to run."""
        is_base = any(name in self._bases(other) for other in self.classes)
        if self._unwritten(name) and (is_base or self._is_abc(name)):
            return True
        return is_base and (self.forward(name) is None or self._construction_is_unwritten(name))

    def _construction_is_unwritten(self, name: str) -> bool:
        """Building the class comes to a method that raises NotImplementedError alone."""
        pending, seen = ["__init__"], set()
        while pending:
            method = pending.pop()
            node = self.method_of(name, method)
            if node is None or method in seen:
                continue
            seen.add(method)
            if any(raises_not_implemented(statement) for statement in node.body):
                return True
            pending.extend(inner.attr for inner in ast.walk(node) if is_own_attribute(inner, node))
        return False

    def _bases(self, name: str) -> list[str]:
        """Bases of a class as written; of the file's own classes by their qualified names."""
        outer = name.rpartition(".")[0]
        written = [ast.unparse(base) for base in self.classes[name].bases]
        return [f"{outer}.{base}" if f"{outer}.{base}" in self.classes else base for base in written]

    def _unwritten(self, name: str, depth: int = 20) -> set[str]:
        """Abstract methods that a class, with its bases in the file, leaves for others to write."""
        node = self.classes.get(name)
        if node is None or depth == 0:
            return set()
        missing = {method for base in self._bases(name) for method in self._unwritten(base, depth - 1)}
        for statement in node.body:
            if isinstance(statement, FunctionNode):
                abstract = any("abstract" in ast.unparse(decorator) for decorator in statement.decorator_list)
                (missing.add if abstract else missing.discard)(statement.name)
            elif isinstance(statement, ast.Assign | ast.AnnAssign):
                missing.difference_update(assigned_names(statement))
        return missing

    def _is_abc(self, name: str, depth: int = 20) -> bool:
        """Python itself refuses to build the class while methods are unwritten."""
        node = self.classes.get(name)
        if node is None or depth == 0:
            return False
        bases = self._bases(name)
        metaclasses = [ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg == "metaclass"]
        if any(written.rpartition(".")[2] in ("ABC", "ABCMeta") for written in bases + metaclasses):
            return True
        return any(self._is_abc(base, depth - 1) for base in bases)

    def forward(self, name: str) -> FunctionNode | None:
        """`forward` of a class or of its bases in the file, where its body does more than raise or pass."""
        method = self.method_of(name, "forward")
        if method is None:
            return None
        real = [s for s in method.body if not isinstance(s, ast.Raise | ast.Pass) and not is_constant(s)]
        return method if real else None

    def method_of(self, name: str, method: str, depth: int = 20) -> FunctionNode | None:
        """A method of a class or of the nearest of its bases in the file."""
        node = self.classes.get(name)
        if node is None or depth == 0:
            return None
        for statement in node.body:
            if isinstance(statement, FunctionNode) and statement.name == method:
                return statement
        bases = (self.method_of(base, method, depth - 1) for base in self._bases(name))
        return next((found for found in bases if found is not None), None)

    def needs_arguments(self, name: str) -> bool:
        """Whether the class certainly cannot be built without arguments."""
        method = self.method_of(name, "__init__")
        return method is not None and not callable_bare(method, bound=1)

    def is_buildable(self, root: Target) -> bool:
        """Nothing is known to be missing for building what is named."""
        return root.called or root.name not in self.classes or not self.needs_arguments(root.name)

    def instances(self) -> dict[str, ast.expr]:
        """Module-level names that hold a module, and the call that makes it."""
        return self._held(self.makes_module)

    def open_instances(self) -> dict[str, ast.expr]:
        """Module-level names that hold what a call gives of which the text says nothing: `MODELS[kind](8)`."""
        return self._held(self._may_make_module)

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
        taken = {
            inner.id
            for name, value in instances.items()
            for call in ast.walk(value)
            if isinstance(call, ast.Call)
            for argument in (*call.args, *(keyword.value for keyword in call.keywords))
            for inner in ast.walk(argument)
            if isinstance(inner, ast.Name) and inner.id != name
        }
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
                    built = [kind for kind in self.module_classes if self.builds(self.functions[name], kind)]
                    found.update(built if len(built) == 1 else [])
        return found

    def handed_on(self) -> list[str]:
        """Module classes that the file imports from beside it, as an `__init__.py` does."""
        near = [one for one in self.module.index.imports if one.level > 0 and one.attribute not in (None, "*")]
        return [one.name for one in near if self._resolver.is_module_class(self.module, one.name)]

    def files_beside(self, finder: ModuleFinder) -> list[str]:
        """Files that it imports from beside it and that have module classes."""
        found: dict[str, None] = {}
        for one in self.module.index.imports:
            home = self.module.absolute(one.module, one.level)
            source = (finder.source(f"{home}.{one.attribute}") or finder.source(home)) if one.level > 0 else None
            if source is not None and source.name != self.module.name:
                names = [name for name, each in source.index.definitions.items() if each.kind == "class"]
                names += [imported.name for imported in source.index.imports if imported.level > 0]
                if any(self._resolver.is_module_class(source, name) for name in names):
                    found[source.file] = None
        return list(found)

    def _may_make_module(self, node: ast.expr) -> bool:
        """Whether an expression is a call that may give a module, for all that can be found."""
        if not isinstance(node, ast.Call):
            return False
        name = dotted(node.func)
        if name is None:
            return isinstance(node.func, ast.Subscript | ast.Call)
        first = name.partition(".")[0]
        if name in self.functions:
            return self.functions[name].returns is None and bool(returned_calls(self.functions[name]))
        imported = [one for one in self.module.index.imports if one.name == first]
        homes = {one.module.partition(".")[0] for one in imported if one.level == 0}
        return bool(imported) and not homes & (sys.stdlib_module_names | {"torch"})

    def makes_module(self, node: ast.expr, depth: int = 8) -> bool:
        """Whether an expression is a call that gives a module, as far as its text says."""
        if not isinstance(node, ast.Call) or depth == 0:
            return False
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in SELF_RETURNING:
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
        return depth > 0 and any(
            self.makes_module(call, depth) or self._makes_local(call, function) for call in returned_calls(function)
        )

    def _makes_local(self, call: ast.Call, function: FunctionNode) -> bool:
        """Whether a call is of a module class that stands in the function itself."""
        name = f"{function.name}.<locals>.{dotted(call.func)}"
        return name in self.module.index.definitions and self._resolver.is_module_class(self.module, name)

    def builds(self, function: FunctionNode, name: str, depth: int = 8) -> bool:
        """Whether a function gives an instance of the class `name`."""
        if function.returns is not None and annotation_name(function.returns) == name:
            return True
        for call in returned_calls(function):
            called = dotted(call.func)
            if called == name:
                return True
            if depth > 0 and called in self.functions and self.builds(self.functions[called], name, depth - 1):
                return True
        return False

    def known_call(self, name: str) -> Arguments | None:
        """Arguments of the first call of the class in the file, outside its classes, of which all are known."""
        return next(calls_with_values(self.tree, self.module, name), None)

    def caller_of(self, name: str) -> str | None:
        """What of the file comes to a call of the class when it is run: its script part, or a function that needs no
        arguments and has the call in its body."""
        for statement in self.tree.body:
            if main_test(statement) and isinstance(statement, ast.If):
                used = names_in(statement.body)
                if name in used or any(name in self.reach(other) for other in used):
                    return SCRIPT
        for function, node in self.functions.items():
            if callable_bare(node) and name in self.references[function]:
                return function
        return None


def _buildable(target: Target, name: str, file: ModelFile) -> Target:
    """The class itself, or the way in which the file builds it where it needs arguments."""
    return as_file_builds(target, name, file) if file.needs_arguments(name) else target.named(name)


def as_file_builds(target: Target, name: str, file: ModelFile) -> Target:
    """A class that needs arguments, the way in which its file builds it; as it is where the file does not."""
    factories = [f for f, node in file.functions.items() if callable_bare(node) and file.builds(node, name)]
    if factories:
        others = f"; others: {', '.join(factories[1:])}" if factories[1:] else ""
        return replace(target.named(factories[0]), note=f"{name} needs arguments: taking {factories[0]}(){others}")
    known = file.known_call(name)
    if known is not None:
        found = target.named(name, *known, called=True)
        return replace(found, note=f"{name} needs arguments: taking those of a call in the file, {found.text}")
    return replace(target.named(name), caller=file.caller_of(name))


def _what_is_there(file: ModelFile, finder: ModuleFinder) -> str:
    for name, bases in file.unknown_bases().items():
        return (
            f"nothing is known of {bases[0]}, a base of class {name}: if it is installed beside modgraph and is an"
            f" nn.Module, name the class: {file.module.file}:{name}"
        )
    handed_on = file.handed_on()
    if handed_on:
        shown = ", ".join(handed_on[:6]) + (f" and {len(handed_on) - 6} more" if len(handed_on) > 6 else "")
        return f"it hands on {shown} from another file: name one of them, as in {file.module.file}:{handed_on[0]}"
    beside = file.files_beside(finder)
    if beside and not file.classes:
        return f"it imports files that have some: {', '.join(beside[:6])}"
    classes = [f"class {name}" for name in file.classes]
    functions = [f"function {name}" for name in file.functions]
    things = classes + functions
    if not things:
        return "it defines no class and no function"
    shown = ", ".join(things[:6]) + (f" and {len(things) - 6} more" if len(things) > 6 else "")
    return f"it has {shown}; a model is a class derived from torch.nn.Module, or an instance of one"
