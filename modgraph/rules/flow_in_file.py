"""Which expressions of a file may be an instance of a class, a part of one, or a value at the top of the file that the
class reads: followed through names, attributes, arguments and results, in no order."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from modgraph.rules.read_by_class import FUNCTIONS, Function, Reading, bound_by, is_script, root_of
from modgraph.source.torch_names import GIVING_ITSELF

MAX_ROUNDS = 12
"""Over a file: what is not settled then may be anything."""
_WALKS = frozenset(
    (
        *("children", "named_children", "modules", "named_modules", "get_submodule", "items", "values", "get"),
        *("parameters", "named_parameters", "buffers", "named_buffers", "get_parameter"),
        *("__iter__", "__next__", "__getitem__", "__getattr__"),
    )
)
_OF_ANY_MODULE = frozenset(("children", "named_children", "modules", "named_modules"))
_THROUGH = frozenset(("getattr", "vars", "enumerate", "zip", "reversed", "iter", "next", "list", "tuple", "sorted"))
_WRAPPERS = frozenset(("DataParallel", "DistributedDataParallel", "DDP", "compile", "deepcopy", "copy"))
_OF_MODULES = frozenset(("Module", "Sequential", "ModuleList", "ModuleDict"))
INNER = frozenset(("_modules", "_parameters", "_buffers", "__dict__"))


class Scope:
    """A function, the body of a class, what runs as a script, or the top of a file."""

    def __init__(self, node: ast.AST, parent: Scope | None, owner: ast.ClassDef | None, is_run: bool) -> None:
        self.node = node
        self.parent = parent
        self.owner = owner
        """Of a method: its class."""
        self.is_run = is_run
        """What is done there is known."""
        self.nodes: list[ast.AST] = []
        self.parameters: list[str] = []
        self.bound: set[str] = set()
        self.shared: set[str] = set()
        """Names that it declares global."""
        self.suspects: set[str] = set()
        self.receiver = ""
        if isinstance(node, (*FUNCTIONS, ast.Lambda)):
            arguments = node.args
            every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            self.parameters = [each.arg for each in every]
            self.bound.update(self.parameters)
            if owner is not None and self.parameters and not _is_static(node):
                self.receiver = self.parameters[0]
            self.suspects.update(each.arg for each in every if _says_module(each.annotation))

    @property
    def is_top(self) -> bool:
        return isinstance(self.node, ast.Module)

    @property
    def is_script(self) -> bool:
        return isinstance(self.node, ast.If)


def _is_static(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in getattr(node, "decorator_list", ()))


def _says_module(annotation: ast.expr | None) -> bool:
    return annotation is not None and any(
        getattr(each, "attr", getattr(each, "id", "")) in _OF_MODULES for each in ast.walk(annotation)
    )


class Flow:
    """Of one class."""

    def __init__(
        self, tree: ast.Module, made: frozenset[str], related: set[int], reading: Reading, held: frozenset[str]
    ) -> None:
        """
        Args:
            made: names of the class and of those made of it.
            related: ids of classes of which an instance may be the class's own, or a part of it.
            held: names at the top of the file of which the value may be changed.
        """
        self.made, self.related, self.reading, self.held = made, related, reading, held
        self.scopes: list[Scope] = []
        self.functions: dict[str, list[Scope]] = {}
        self.methods: dict[str, list[Scope]] = {}
        self.inits: dict[str, list[Scope]] = {}
        self.attributes: set[tuple[int, str]] = set()
        """Those that a suspect is stored in: (id of the class on whose `self`, or 0; name)."""
        self.named: set[str] = set()
        self.results: set[str] = set()
        """Names of functions that give one."""
        self.children = self._children()
        self.let_out = self._let_out(tree)
        """Names of functions and classes that are kept or handed over, so that any call may be one of them."""
        self.top = self._enter(tree, None, None)
        self.is_settled = self._settle()

    def _children(self) -> frozenset[str]:
        """Attributes that the classes in question keep on `self`, and read."""
        return frozenset(
            each.attr
            for kind in self.reading.classes
            for each in ast.walk(kind)
            if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store)
            if each.attr in self.reading.attributes
        )

    @staticmethod
    def _let_out(tree: ast.Module) -> frozenset[str]:
        kept: list[ast.expr | None] = []
        for each in ast.walk(tree):
            if isinstance(each, (ast.List, ast.Tuple, ast.Set)):
                kept += each.elts
            elif isinstance(each, ast.Dict):
                kept += each.values
            elif isinstance(each, (ast.Assign, ast.Return, ast.keyword)):
                kept.append(each.value)
            elif isinstance(each, ast.Call) and getattr(each.func, "id", "") not in (
                "isinstance",
                "issubclass",
                "super",
            ):
                kept += each.args
        return frozenset(each.id for each in kept if isinstance(each, ast.Name))

    # ---- scopes ------------------------------------------------------------------------------------------------------

    def _enter(self, node: ast.AST, parent: Scope | None, owner: ast.ClassDef | None) -> Scope:
        inherits = parent is not None and parent.is_run and not parent.is_top
        is_run = isinstance(node, ast.Module) or id(node) in self.reading.run or inherits
        scope = Scope(node, parent, owner, is_run)
        self.scopes.append(scope)
        pending = [(each, scope) for each in ast.iter_child_nodes(node)]
        lambdas: list[tuple[str, ast.Lambda]] = []
        while pending:
            each, home = pending.pop()
            if isinstance(each, (*FUNCTIONS, ast.Lambda)):
                self._note_function(each, home)
            elif isinstance(each, ast.ClassDef):
                outer = home if not isinstance(home.node, ast.ClassDef) else home.parent
                inner = Scope(each, outer, None, home.is_run)
                self.scopes.append(inner)
                pending += [(below, inner) for below in ast.iter_child_nodes(each)]
            elif is_script(each) and home.is_top:
                script = Scope(each, home, None, False)
                self.scopes.append(script)
                pending += [(below, script) for below in ast.iter_child_nodes(each)]
            else:
                home.nodes.append(each)
                if isinstance(each, ast.Assign) and isinstance(each.value, ast.Lambda):
                    lambdas += [(name, each.value) for name, _ in bound_by(each)]
                if isinstance(each, ast.Global):
                    home.shared.update(each.names)
                home.bound.update(name for name, _ in bound_by(each))
                pending += [(below, home) for below in ast.iter_child_nodes(each)]
        for name, function in lambdas:
            self.functions.setdefault(name, []).extend(each for each in self.scopes if each.node is function)
        return scope

    def _note_function(self, node: Function | ast.Lambda, home: Scope) -> None:
        owner = home.node if isinstance(home.node, ast.ClassDef) else None
        made = self._enter(node, home.parent if owner is not None else home, owner)
        if isinstance(node, ast.Lambda):
            return
        if owner is None:
            self.functions.setdefault(node.name, []).append(made)
        elif node.name == "__init__":
            self.inits.setdefault(owner.name, []).append(made)
        else:
            self.methods.setdefault(node.name, []).append(made)

    # ---- what is a suspect -------------------------------------------------------------------------------------------

    def owner_of(self, name: str, scope: Scope) -> ast.ClassDef | None:
        """The class of which a name is the instance that a method is called on, or the class itself."""
        at: Scope | None = scope
        while at is not None:
            if at.receiver == name:
                return at.owner
            if name in at.bound:
                return None
            at = at.parent
        return None

    def home_of(self, name: str, scope: Scope) -> Scope:
        """Where a name is bound."""
        at = scope
        while at.parent is not None and (name not in at.bound or name in at.shared or at.is_script):
            at = at.parent
        return at

    def is_held(self, name: str, scope: Scope) -> bool:
        """The name at the top of the file whose value the class reads; what the top itself does is known."""
        return name in self.held and not scope.is_top and self.home_of(name, scope).is_top

    def is_suspect(self, node: ast.AST | None, scope: Scope) -> bool:
        if isinstance(node, ast.Name):
            owner = self.owner_of(node.id, scope)
            if owner is not None and id(owner) in self.related:
                return not scope.is_run
            return self.is_held(node.id, scope) or node.id in self.home_of(node.id, scope).suspects
        if isinstance(node, ast.Attribute):
            return self._is_suspect_attribute(node, scope)
        if isinstance(node, ast.Call):
            return self._gives_suspect(node, scope)
        if isinstance(node, (ast.Subscript, ast.Starred, ast.Await, ast.NamedExpr)):
            return self.is_suspect(node.value, scope)
        if isinstance(node, ast.IfExp):
            return self.is_suspect(node.body, scope) or self.is_suspect(node.orelse, scope)
        if isinstance(node, (ast.BoolOp, ast.Tuple)):
            parts: Sequence[ast.expr] = node.values if isinstance(node, ast.BoolOp) else node.elts
            return any(self.is_suspect(each, scope) for each in parts)
        return False

    def _is_suspect_attribute(self, node: ast.Attribute, scope: Scope) -> bool:
        reads = node.attr in self.reading.attributes or node.attr in INNER or node.attr == "module"
        if isinstance(node.value, ast.Name):
            owner = self.owner_of(node.value.id, scope)
            if owner is not None:
                is_own = id(owner) in self.related and not scope.is_run
                return (is_own and reads) or (id(owner), node.attr) in self.attributes
        if root_of(node) in self.reading.torch:
            return False
        if node.attr in self.named or node.attr in self.children:
            return True
        return (reads or self.reading.is_open) and self.is_suspect(node.value, scope)

    def _gives_suspect(self, call: ast.Call, scope: Scope) -> bool:
        function = call.func
        if isinstance(function, ast.Name):
            owner = self.owner_of(function.id, scope)
            if owner is not None:  # `cls()`
                return id(owner) in self.related
            if function.id in self.made or function.id in self.results or function.id == "globals":
                return True
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name in _THROUGH | _WRAPPERS:
            given = [each for each in call.args if not self._is_copied(name, each, scope)]
            return any(self.is_suspect(each, scope) for each in given)
        if isinstance(function, ast.Attribute):
            if name in GIVING_ITSELF or name in _WALKS:
                return self.is_suspect(function.value, scope)
            return name in self.made or name in self.results
        is_any = not isinstance(function, ast.Name) or (name not in self.functions and self._is_variable(name, scope))
        return is_any and bool(self.let_out & (self.made | self.results))

    def _is_variable(self, name: str, scope: Scope) -> bool:
        home = self.home_of(name, scope)
        return name in home.bound

    def _is_copied(self, name: str, given: ast.expr, scope: Scope) -> bool:
        """A value of the file that is read is left as it is by what is done to a copy."""
        return name in ("deepcopy", "copy", "list", "tuple", "sorted") and self.is_held(root_of(given), scope)

    # ---- until nothing is new ----------------------------------------------------------------------------------------

    def _settle(self) -> bool:
        for scope in self.scopes:
            for call in scope.nodes:
                function = call.func if isinstance(call, ast.Call) else None
                is_walk = isinstance(function, ast.Attribute) and function.attr in _OF_ANY_MODULE
                if is_walk and isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
                    self._suspect(function.value, scope)
        for _ in range(MAX_ROUNDS):
            before = self._size()
            for scope in self.scopes:
                if scope.is_top or not scope.is_run:
                    self._pass_over(scope)
            if self._size() == before:
                return True
        return False

    def _size(self) -> int:
        return sum(len(each.suspects) for each in self.scopes) + len(self.attributes) + len(self.results)

    def _pass_over(self, scope: Scope) -> None:
        if isinstance(scope.node, ast.Lambda):
            return
        for node in scope.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._bind(target, node.value, scope)
            elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
                self._bind(node.target, node.value, scope)
            elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                over: list[Any] = node.iter.elts if isinstance(node.iter, (ast.List, ast.Set)) else [node.iter]
                for each in over:
                    self._bind(node.target, each, scope)
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                self._bind(node.optional_vars, node.context_expr, scope)
            elif isinstance(node, (ast.Return, ast.Yield)) and self.is_suspect(node.value, scope):
                self.results.add(getattr(scope.node, "name", ""))
            elif isinstance(node, ast.Call):
                self._hand_over(node, scope)

    def _bind(self, target: ast.expr, value: ast.expr | None, scope: Scope) -> None:
        if not self.is_suspect(value, scope):
            return
        for each in ast.walk(target):
            if isinstance(each, (ast.Name, ast.Attribute)) and isinstance(each.ctx, ast.Store):
                self._suspect(each, scope)

    def _suspect(self, node: ast.expr, scope: Scope) -> None:
        if isinstance(node, ast.Name):
            if self.owner_of(node.id, scope) is None:
                self.home_of(node.id, scope).suspects.add(node.id)
        elif isinstance(node, ast.Attribute):
            owner = self.owner_of(node.value.id, scope) if isinstance(node.value, ast.Name) else None
            self.attributes.add((0 if owner is None else id(owner), node.attr))
            self.named.add(node.attr)

    def called(self, call: ast.Call) -> Iterator[tuple[Scope, int]]:
        """The functions of the file that may be called, with the number of parameters that stand before the first
        argument."""
        function = call.func
        if isinstance(function, ast.Name):
            yield from ((each, 0) for each in self.functions.get(function.id, ()))
            yield from ((each, 1) for each in self.inits.get(function.id, ()))
        elif isinstance(function, ast.Attribute):
            yield from ((each, 1 if each.receiver else 0) for each in self.methods.get(function.attr, ()))
            yield from ((each, 0) for each in self.functions.get(function.attr, ()))

    def _hand_over(self, call: ast.Call, scope: Scope) -> None:
        places = [place for place, each in enumerate(call.args) if self.is_suspect(each, scope)]
        names = [each.arg for each in call.keywords if self.is_suspect(each.value, scope)]
        is_spread = any(isinstance(call.args[place], ast.Starred) for place in places)
        if places or names:
            for home, before in self.called(call):
                given = home.parameters[before:]
                home.suspects.update(given if is_spread else [given[n] for n in places if n < len(given)])
                home.suspects.update(name for name in names if name in given)
        holder = call.func.value if isinstance(call.func, ast.Attribute) else None
        if places or names or (holder is not None and self.is_suspect(holder, scope)):
            for each in call.args:
                self._let_in(each)

    def _let_in(self, function: ast.expr) -> None:
        """To a function that is handed over beside a suspect: `net.apply(cut)`, `map(cut, nets)`."""
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        homes = [*self.functions.get(name, ()), *self.methods.get(name, ())]
        homes += [each for each in self.scopes if each.node is function] if isinstance(function, ast.Lambda) else []
        for home in homes:
            home.suspects.update(home.parameters[1 if home.receiver else 0 :])
