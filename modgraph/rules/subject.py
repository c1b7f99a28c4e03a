"""What a rule looks at: one class of a file, its facts, what its names mean, and, when it asks, the class interpreted."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from modgraph.rules import known
from modgraph.rules.facts import ClassFacts, Method, attribute_of
from modgraph.rules.names import Project
from modgraph.source.dotted_names import dotted
from modgraph.source.summaries import Summary

if TYPE_CHECKING:
    from modgraph.rules.interpretation import Interpreted

_MAX_DEPTH = 6
"""Assignments and returns followed to say what an expression may be."""

_BUILDERS = frozenset(
    ("list", "tuple", "set", "frozenset", "dict", "reversed", "sorted", "OrderedDict", "deque", "iter")
)
"""Callables whose result holds what their argument holds."""

_PLAIN = frozenset(
    [
        "list",
        "tuple",
        "set",
        "frozenset",
        "dict",
        "collections.OrderedDict",
        "collections.deque",
        "collections.defaultdict",
    ]
)

_SAME = frozenset(
    [
        "to",
        "cuda",
        "cpu",
        "float",
        "half",
        "double",
        "bfloat16",
        "eval",
        "train",
        "requires_grad_",
        "apply",
        "type",
        "share_memory",
    ]
)
"""Methods of a module that give the module itself."""


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

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)


class Subject:
    """One class of a file."""

    def __init__(self, file: FileSubject, facts: ClassFacts) -> None:
        self.file = file
        self.facts = facts
        self._interpreted: Interpreted | bool | None = False

    @cached_property
    def is_module(self) -> bool:
        """It certainly derives from `nn.Module`."""
        return self.file.project.is_module(self.file.path, self.facts.qualname) is True

    # ---- names -------------------------------------------------------------------------------------------------------

    def path_of(self, node: ast.expr) -> str | None:
        """Import path of what a dotted name stands for, "torch.nn.Linear"; None for names of the file itself."""
        name = dotted(node)
        return None if name is None else self.file.project.absolute(self.file.summary, name)

    def torch_class(self, node: ast.expr) -> str | None:
        """ "Linear", where the expression names that class of `torch.nn`."""
        path = self.path_of(node)
        return None if path is None else known.torch_class(path)

    def is_module_class(self, node: ast.expr) -> bool | None:
        """Whether the expression names a class of modules; None where that is not known."""
        name = dotted(node)
        if name is None:
            return None
        if self.torch_class(node):
            return True
        nested = f"{self.facts.qualname}.{name}"
        local = nested if nested in self.file.summary.classes else name
        return self.file.project.is_module(self.file.path, local)

    # ---- what an expression may be -----------------------------------------------------------------------------------

    def may_hold_module(self, node: ast.expr | None, method: Method, depth: int = 0) -> bool:
        """The expression may be a module that is made here, or something that holds one. What comes in as an argument
        or stands in another attribute does not count."""
        if node is None or depth > _MAX_DEPTH:
            return False
        if isinstance(node, ast.Call):
            return self._call_may_give_module(node, method, depth)
        if isinstance(node, ast.Name):
            return any(self.may_hold_module(value, method, depth + 1) for value in local_values(method, node.id))
        return any(self.may_hold_module(part, method, depth + 1) for part in _parts(node))

    def _call_may_give_module(self, node: ast.Call, method: Method, depth: int) -> bool:
        function = node.func
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        own = attribute_of(function, method.receiver) if method.receiver else None
        if own is not None:
            maker = self.facts.methods.get(own)
            if maker is None:
                return True
            return any(self.may_hold_module(each.value, maker, depth + 1) for each in maker.returns)
        name = dotted(function)
        if name is None:
            if isinstance(function, ast.Attribute) and function.attr in _SAME:
                return self.may_hold_module(function.value, method, depth + 1)
            return isinstance(function, (ast.Call, ast.Subscript, ast.IfExp)) and not isinstance(
                getattr(function, "func", None), ast.Name
            )
        if name.rpartition(".")[2] in _BUILDERS or name in ("copy.deepcopy", "deepcopy", "copy.copy", "zip", "map"):
            return any(self.may_hold_module(each, method, depth + 1) for each in given)
        if name in method_parameters(method) or list(local_values(method, name)):
            return self._local_may_build(name, method)
        if self.torch_class(function):
            return True
        path = self.path_of(function)
        if path is not None and path.startswith("torch."):
            wraps = path.startswith(("torch.nn.utils.", "torch.jit.", "torch.compile", "torch.ao."))
            return wraps and any(self.may_hold_module(each, method, depth + 1) for each in given)
        if path is not None and path.partition(".")[0] in known.NO_MODULES:
            return False
        return self._own_code_may_give_module(name)

    def _own_code_may_give_module(self, name: str) -> bool:
        project, file = self.file.project, self.file.path
        if f"{self.facts.qualname}.{name}" in self.file.summary.classes:
            return True
        for home, qualname in project.homes(file, name):
            if not home:
                return project.is_module_path(qualname) is True
            summary = project.summary(home)
            if summary is not None and qualname in summary.functions:
                return True
            return project.is_module(home, qualname) is True
        return False

    def _local_may_build(self, name: str, method: Method) -> bool:
        """A local name that is called: whether one of the classes that it may be is a module's."""
        values = [*local_values(method, name), *method_parameters(method).get(name, [])]
        return any(self.is_module_class(value) for value in values if dotted(value) and dotted(value) != name)

    def is_plain_container(self, node: ast.expr | None, method: Method, depth: int = 0) -> bool:
        """The expression may be a list, tuple, dict or set."""
        if node is None or depth > _MAX_DEPTH:
            return False
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)):
            return True
        if isinstance(node, ast.Name):
            return any(self.is_plain_container(value, method, depth + 1) for value in local_values(method, node.id))
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in _PLAIN or (self.path_of(node.func) or "") in _PLAIN:
                return True
            own = attribute_of(node.func, method.receiver) if method.receiver else None
            maker = self.facts.methods.get(own) if own is not None else None
            if maker is not None:
                return any(self.is_plain_container(each.value, maker, depth + 1) for each in maker.returns)
            return self._is_own_function(name)
        return any(self.is_plain_container(part, method, depth + 1) for part in _alternatives(node))

    def _is_own_function(self, name: str | None) -> bool:
        return name is not None and any(
            home and (summary := self.file.project.summary(home)) is not None and qualname in summary.functions
            for home, qualname in self.file.project.homes(self.file.path, name)
        )

    # ---- interpreted -------------------------------------------------------------------------------------------------

    def interpreted(self) -> Interpreted | None:
        """What the class holds once its constructor has run; None where it cannot be interpreted. Costs far more than
        everything else: only for a class in which something is suspicious."""
        if isinstance(self._interpreted, bool):
            from modgraph.rules.interpretation import interpret

            self._interpreted = interpret(self.file.project, self.file.path, self.facts.qualname, self.file.text)
        return self._interpreted


def local_values(method: Method, name: str) -> list[ast.expr]:
    """What a local name is assigned in a method, and what is put into it."""
    found: list[ast.expr] = []
    for statement in method.assigns:
        if statement.value is None:
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            holder = target.value if isinstance(target, ast.Subscript) else target
            if isinstance(holder, ast.Name) and holder.id == name:
                found.append(statement.value)
    for call in method.calls:
        function = call.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == name:
            if function.attr in ("append", "extend", "insert", "add", "update", "appendleft", "setdefault"):
                found.extend(call.args)
    return found


def method_parameters(method: Method) -> dict[str, list[ast.expr]]:
    """Names of the parameters, with their defaults."""
    arguments = method.node.args
    places = [*arguments.posonlyargs, *arguments.args]
    found: dict[str, list[ast.expr]] = {each.arg: [] for each in (*places, *arguments.kwonlyargs)}
    for place, default in zip(reversed(places), reversed(arguments.defaults), strict=False):
        found[place.arg].append(default)
    for place, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if given is not None:
            found[place.arg].append(given)
    return found


def _parts(node: ast.expr) -> list[ast.expr]:
    """Expressions whose value the value of an expression may be or hold."""
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return node.elts
    if isinstance(node, ast.Dict):
        return node.values
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return [node.elt]
    if isinstance(node, ast.DictComp):
        return [node.value]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return _alternatives(node)


def _alternatives(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, (ast.Starred, ast.NamedExpr, ast.Await)):
        return [node.value]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return []
