"""What an expression is, or may be, as far as the text says it: a module, a parameter, a plain container.

A question that ends at a function of the project is asked of what that function returns, in whichever file it stands.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Protocol

from modgraph.names import last_name
from modgraph.rules.facts import Method, attribute_of
from modgraph.rules.names import Project
from modgraph.source import containers, module_classes, torch_names
from modgraph.source.dotted_names import dotted
from modgraph.source.summaries import Summary

_MAX_DEPTH = 6
"""Assignments and returns followed to say what an expression may be."""

_BUILDERS = frozenset(
    ("list", "tuple", "set", "frozenset", "reversed", "sorted", "deque", "iter", "enumerate", "chain")
)
"""Callables whose result holds what their arguments hold."""
_MAPPINGS = frozenset(("dict", "OrderedDict", "defaultdict"))
_THROUGH = frozenset(("zip", "map", "filter", "deepcopy", "copy"))

_PLAIN = frozenset(
    [
        "list",
        "tuple",
        "set",
        "frozenset",
        "sorted",
        "dict",
        "collections.OrderedDict",
        "collections.deque",
        "collections.defaultdict",
    ]
)

_NAMED = frozenset(("collections.namedtuple", "typing.NamedTuple"))
_PARAMETERS = frozenset(("torch.nn.Parameter", "torch.nn.parameter.Parameter"))
_WRAPPERS = ("torch.nn.utils.", "torch.jit.", "torch.compile", "torch.ao.", "torch.quantization.")


class _Question(Protocol):
    __name__: str

    def __call__(self, node: ast.expr | None, method: Method, depth: int = 0) -> bool: ...


class Reader:
    """Reads expressions that stand in one class, or in one function at the top of a file."""

    __slots__ = ("_known", "file", "methods", "project", "qualname", "summary")
    _question = "module"
    """What the answers of functions are kept under."""

    def __init__(
        self, project: Project, file: str, summary: Summary, methods: Mapping[str, Method], qualname: str
    ) -> None:
        self.project = project
        self.file = file
        self.summary = summary
        self.methods = methods
        self.qualname = qualname
        self._known: dict[tuple[str, Method, str, int], bool] = {}
        """Answers on local names and on what methods return, which lead to one another in many ways."""

    def _once(self, question: str, method: Method, name: str, depth: int, ask: Callable[[], bool]) -> bool:
        key = (question, method, name, depth)
        if key not in self._known:
            self._known[key] = ask()
        return self._known[key]

    # ---- names -------------------------------------------------------------------------------------------------------

    def path_of(self, node: ast.expr) -> str | None:
        """Import path of what a dotted name stands for, "torch.nn.Linear"; None for names of the file itself."""
        name = dotted(node)
        if name is None or name.partition(".")[0] in self.summary.classes:
            return None
        return self.project.absolute(self.summary, name)

    def torch_class(self, node: ast.expr) -> str | None:
        """ "Linear", where the expression names that class of `torch.nn`."""
        path = self.path_of(node)
        return None if path is None else torch_names.torch_class(path)

    def is_module_class(self, node: ast.expr) -> bool | None:
        """Whether the expression names a class of modules; None where that is not known."""
        name = dotted(node)
        if name is None:
            return None
        if self.torch_class(node):
            return True
        nested = f"{self.qualname}.{name}"
        local = nested if nested in self.summary.classes else name
        return self.project.is_module(self.file, local)

    def _own_method(self, function: ast.expr, method: Method) -> str | None:
        """ "build", for what is called as `self.build`, `Net.build`, `type(self).build` or `self.__class__.build`."""
        own = attribute_of(function, method.receiver) if method.receiver else None
        if own is not None or not isinstance(function, ast.Attribute):
            return own
        holder = function.value
        if isinstance(holder, ast.Name):
            is_class = holder.id == self.qualname
        elif isinstance(holder, ast.Call):
            is_class = isinstance(holder.func, ast.Name) and holder.func.id == "type"
        else:
            is_class = bool(method.receiver) and attribute_of(holder, method.receiver) == "__class__"
        return function.attr if is_class else None

    # ---- what an expression certainly is -----------------------------------------------------------------------------

    def is_module(self, node: ast.expr | None, method: Method, depth: int = 0) -> bool:
        """It certainly is a module that is made here."""
        made = self.made(node, method, depth)
        return bool(made) and all(self.is_module_class(each.func) for each in made)

    def made(self, node: ast.expr | None, method: Method, depth: int = 0) -> list[ast.Call]:
        """The calls of which one certainly made the value: its class called, or a method that gives the object itself
        on such; none where that is not certain."""
        if node is None or depth > _MAX_DEPTH:
            return []
        if isinstance(node, ast.IfExp):
            first, second = self.made(node.body, method, depth + 1), self.made(node.orelse, method, depth + 1)
            return [*first, *second] if first and second else []
        if isinstance(node, ast.Name):
            values = method.values.get(node.id, [])
            if len(values) != 1 or node.id in method.parameters:
                return []
            return self.made(values[0], method, depth + 1)
        if not isinstance(node, ast.Call):
            return []
        function = node.func
        if (
            isinstance(function, ast.Attribute)
            and function.attr in torch_names.GIVING_ITSELF
            and isinstance(function.value, ast.Call)
        ):
            return self.made(function.value, method, depth + 1)
        first_name = (dotted(function) or "").partition(".")[0]
        if not first_name or first_name in method.values or first_name in method.parameters:
            return []
        return [node]

    def is_parameter(self, node: ast.expr | None) -> bool:
        """It is a call of `nn.Parameter`."""
        return isinstance(node, ast.Call) and self.path_of(node.func) in _PARAMETERS

    # ---- what it may be ----------------------------------------------------------------------------------------------

    def may_hold_module(self, node: ast.expr | None, method: Method, depth: int = 0) -> bool:
        """It may be a module that is made here, or something that holds one. What comes in as an argument or stands in
        another attribute does not count."""
        if node is None or depth > _MAX_DEPTH:
            return False
        if isinstance(node, ast.Call):
            return self._call_may_give_module(node, method, depth)
        if isinstance(node, ast.Name):
            if self._some_value(self.may_hold_module, node.id, method, depth):
                return True
            return node.id in method.parameters and self._once(
                "given", method, "", depth, lambda: self._is_given_module(method, depth)
            )
        if isinstance(node, ast.Subscript):
            return isinstance(node.slice, ast.Slice) and self.may_hold_module(node.value, method, depth + 1)
        return any(self.may_hold_module(part, method, depth + 1) for part in _parts(node))

    def _is_given_module(self, method: Method, depth: int) -> bool:
        """Another method of the class calls this one, and hands it what may hold a module that it has made."""
        if method.name == "__init__":
            return False
        return any(
            self.may_hold_module(given, caller, depth + 1)
            for caller in self.methods.values()
            if caller is not method and caller.receiver
            for call in caller.calls
            if attribute_of(call.func, caller.receiver) == method.name
            for given in (*call.args, *(keyword.value for keyword in call.keywords))
        )

    def _call_may_give_module(self, node: ast.Call, method: Method, depth: int) -> bool:
        function = node.func
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        own = self._own_method(function, method)
        if own is not None:
            maker = self.methods.get(own)
            return maker is not None and self._some_result(self.may_hold_module, maker, depth)
        copied = self._copied(node)
        if copied is not None:
            return self.may_hold_module(copied, method, depth + 1)
        name = dotted(function)
        if name is None:
            return self._result_may_give_module(function, method, depth)
        last = last_name(name)
        if name == "map" and given and self._maps_to_modules(given[0], method, depth):
            return True
        if name in _BUILDERS or name in _MAPPINGS or last in _THROUGH or last in ("deque", "OrderedDict"):
            return any(self.may_hold_module(each, method, depth + 1) for each in given)
        if self.is_named_tuple(name):
            return any(self.may_hold_module(each, method, depth + 1) for each in given)
        if name in method.parameters or name in method.values:
            return self._local_may_build(name, method)
        layer = self.torch_class(function)
        if layer is not None:
            return self._counts(layer, node) or any(self.may_hold_module(each, method, depth + 1) for each in given)
        path = self.path_of(function)
        if path is not None and path.startswith("torch."):
            return path.startswith(_WRAPPERS) and any(self.may_hold_module(each, method, depth + 1) for each in given)
        if path is not None and module_classes.makes_no_modules(path):
            return False
        return self._own_code_may_give_module(name, depth) or any(
            isinstance(each, ast.Call) and self.may_hold_module(each, method, depth + 1) for each in given
        )

    def _counts(self, layer: str, call: ast.Call) -> bool:  # noqa: ARG002
        """A layer of torch that the call makes is one of those that are asked for."""
        return True

    def _maps_to_modules(self, function: ast.expr, method: Method, depth: int) -> bool:
        """What is given to `map` makes modules: a class, or a function that gives one."""
        if isinstance(function, ast.Lambda):
            return self.may_hold_module(function.body, method, depth + 1)
        if not isinstance(function, (ast.Name, ast.Attribute)):
            return False
        return self.may_hold_module(ast.Call(function, [], []), method, depth + 1)

    def _result_may_give_module(self, function: ast.expr, method: Method, depth: int) -> bool:
        """`make()(...)`, `Block(8).eval()`, `table[kind](...)`."""
        if isinstance(function, ast.Attribute):
            return function.attr in torch_names.GIVING_ITSELF and self.may_hold_module(
                function.value, method, depth + 1
            )
        if isinstance(function, ast.IfExp):
            return bool(self.is_module_class(function.body) or self.is_module_class(function.orelse))
        if isinstance(function, ast.Subscript) and isinstance(function.value, ast.Dict):
            return any(self.is_module_class(each) for each in function.value.values)
        return False

    def _own_code_may_give_module(self, name: str, depth: int) -> bool:
        if f"{self.qualname}.{name}" in self.summary.classes:
            return self.project.is_module(self.file, f"{self.qualname}.{name}") is True
        for home, qualname in self.project.homes(self.file, name):
            if not home:
                return self.project.is_module_path(qualname) is True
            if self._is_function(home, qualname):
                return self._returned(home, qualname, self._question, depth)
            return self.project.is_module(home, qualname) is True
        return False

    def _local_may_build(self, name: str, method: Method) -> bool:
        """A local name that is called: whether one of the classes that it may be is a module's."""
        values = [*local_values(method, name), *method.parameters.get(name, [])]
        return any(self._is_builder(value, name) for value in values)

    def _is_builder(self, value: ast.expr, name: str) -> bool:
        """A class of modules, or one with arguments: `partial(nn.LayerNorm, eps=1e-6)`."""
        while isinstance(value, ast.Call) and value.args and self.path_of(value.func) == "functools.partial":
            value = value.args[0]
        if isinstance(value, (ast.IfExp, ast.BoolOp)):
            return any(self._is_builder(each, name) for each in _alternatives(value))
        spelled = dotted(value)
        return spelled not in (None, name) and bool(self.is_module_class(value))

    def may_be_anything(self, node: ast.expr | None, method: Method, depth: int = 0) -> bool:
        """It holds the result of a call of which nothing is known: of an argument, or of what no file is found for."""
        if node is None or depth > _MAX_DEPTH:
            return False
        if isinstance(node, ast.Name):
            return self._some_value(self.may_be_anything, node.id, method, depth)
        if not isinstance(node, ast.Call):
            return any(self.may_be_anything(part, method, depth + 1) for part in _parts(node))
        name = dotted(node.func)
        if name is None:
            return isinstance(node.func, (ast.Subscript, ast.Call))
        if name in _BUILDERS or name in _MAPPINGS:
            return any(self.may_be_anything(each, method, depth + 1) for each in node.args)
        if name in method.parameters:
            return True
        path = self.path_of(node.func)
        return (
            path is not None
            and path.partition(".")[0] not in ("torch", *module_classes.OF_NO_MODULES)
            and (self.is_module_class(node.func) is None)
        )

    def may_hold_parameter(self, node: ast.expr | None, method: Method, depth: int = 0) -> bool:
        """It may be a parameter that is made here, or something that holds one."""
        if node is None or depth > _MAX_DEPTH:
            return False
        if isinstance(node, ast.Name):
            return self._some_value(self.may_hold_parameter, node.id, method, depth)
        if isinstance(node, ast.Subscript):
            return isinstance(node.slice, ast.Slice) and self.may_hold_parameter(node.value, method, depth + 1)
        if isinstance(node, ast.Lambda):  # given to `map`
            return self.may_hold_parameter(node.body, method, depth + 1)
        if isinstance(node, ast.Call):
            if self.is_parameter(node):
                return True
            copied = self._copied(node)
            if copied is not None:
                return self.may_hold_parameter(copied, method, depth + 1)
            own = self._own_method(node.func, method)
            maker = self.methods.get(own) if own is not None else None
            if maker is not None:
                return self._some_result(self.may_hold_parameter, maker, depth)
            name = dotted(node.func)
            if last_name(name or "") not in (_BUILDERS | _MAPPINGS | _THROUGH) and not self.is_named_tuple(name):
                return False
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            return any(self.may_hold_parameter(each, method, depth + 1) for each in given)
        return any(self.may_hold_parameter(part, method, depth + 1) for part in _parts(node))

    def is_plain_container(self, node: ast.expr | None, method: Method, depth: int = 0) -> bool:
        """It may be a list, tuple, dict or set."""
        if node is None or depth > _MAX_DEPTH:
            return False
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)):
            return True
        if isinstance(node, ast.Name):
            local = node.id
            return self._once(
                "plain container",
                method,
                local,
                depth,
                lambda: any(
                    self.is_plain_container(value, method, depth + 1) for value in method.values.get(local, ()) if value
                ),
            )
        if isinstance(node, ast.Subscript):  # a part of it is one too
            return isinstance(node.slice, ast.Slice) and self.is_plain_container(node.value, method, depth + 1)
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in _PLAIN or (self.path_of(node.func) or "") in _PLAIN or self.is_named_tuple(name):
                return True
            copied = self._copied(node)
            if copied is not None:
                return self.is_plain_container(copied, method, depth + 1)
            own = self._own_method(node.func, method)
            maker = self.methods.get(own) if own is not None else None
            if maker is not None:
                return self._some_result(self.is_plain_container, maker, depth)
            return name is not None and self._function_gives_container(name, method, depth)
        return any(self.is_plain_container(part, method, depth + 1) for part in _alternatives(node))

    def _copied(self, node: ast.Call) -> ast.expr | None:
        """`x`, for `copy.copy(x)` and `x.copy()`."""
        if len(node.args) == 1 and self.path_of(node.func) in ("copy.copy", "copy.deepcopy"):
            return node.args[0]
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args
        return node.func.value if is_method else None  # type: ignore[attr-defined]

    def is_named_tuple(self, name: str | None) -> bool:
        """The name is that of a class of named tuples, which the file makes."""
        if name is None or "." in name or not self.project.makes_named_tuples(self.file):
            return False
        bases = self.summary.classes.get(name)
        if bases is not None:
            return any(self.project.absolute(self.summary, each) in _NAMED for each in bases)
        if name in self.summary.functions or name in self.summary.imports:
            return False
        made = self.project.stores(self.file, name)
        calls = [each.value for each in made if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call)]
        return bool(calls) and len(calls) == len(made) and all(self.path_of(each.func) in _NAMED for each in calls)

    def is_tuple(self, node: ast.expr | None, method: Method, depth: int = 0) -> bool:
        """It certainly is a tuple, of whatever length."""
        if node is None or depth > _MAX_DEPTH:
            return False
        if isinstance(node, ast.Tuple):
            return True
        if isinstance(node, ast.Name):
            values = method.values.get(node.id, [])
            is_given = node.id in method.parameters
            return bool(values) and not is_given and all(self.is_tuple(each, method, depth + 1) for each in values)
        if not isinstance(node, ast.Call):
            return False
        own = self._own_method(node.func, method)
        maker = self.methods.get(own) if own is not None else None
        if maker is not None:
            return bool(maker.returns) and all(self.is_tuple(each.value, maker, depth + 1) for each in maker.returns)
        is_builtin = isinstance(node.func, ast.Name) and node.func.id == "tuple"
        return is_builtin and "tuple" not in method.values and "tuple" not in method.parameters

    def _function_gives_container(self, name: str, method: Method, depth: int) -> bool:
        if name in method.parameters or name in method.values:
            return False
        path = self.project.absolute(self.summary, name)
        if path is not None and path.partition(".")[0] in ("torch", *module_classes.OF_NO_MODULES):
            return False
        if not self.project.may_make_containers(self.file, self.summary, name):
            return False
        for home, qualname in self.project.homes(self.file, name):
            if home and self._is_function(home, qualname):
                return self._returned(home, qualname, "container", depth)
        return False

    def _some_value(self, ask: _Question, name: str, method: Method, depth: int) -> bool:
        """Something that the local name is assigned is so."""
        return self._once(
            ask.__name__,
            method,
            name,
            depth,
            lambda: any(ask(value, method, depth + 1) for value in local_values(method, name)),
        )

    def _some_result(self, ask: _Question, maker: Method, depth: int) -> bool:
        """Something that the method returns is so."""
        return self._once(
            ask.__name__,
            maker,
            "return",
            depth,
            lambda: any(ask(each.value, maker, depth + 1) for each in maker.returns),
        )

    # ---- functions of the project ------------------------------------------------------------------------------------

    def _is_function(self, home: str, qualname: str) -> bool:
        summary = self.project.summary(home)
        return summary is not None and qualname in summary.functions

    def _returned(self, home: str, name: str, question: str, depth: int) -> bool:
        """Whether what a function returns may hold a module, or be a plain container."""
        return self.project.answered((home, name, question), lambda: self._asks(home, name, question, depth))

    def _asks(self, home: str, name: str, question: str, depth: int) -> bool:
        summary, node = self.project.summary(home), self.project.function(home, name)
        if summary is None or node is None:
            return False
        method = Method(node)
        method.receiver = ""
        reader = type(self)(self.project, home, summary, {}, "")
        asked = reader.is_plain_container if question == "container" else reader.may_hold_module
        return any(asked(each.value, method, depth + 1) for each in method.returns)


class LosingReader(Reader):
    """The same, to which a module counts only if something may be lost with it: not a loss or an activation of torch
    that certainly keeps no tensor and does the same in both modes."""

    __slots__ = ()
    _question = "losing module"

    def _counts(self, layer: str, call: ast.Call) -> bool:
        if layer in torch_names.STATELESS and not layer.endswith("Loss"):
            return False
        is_loss = layer.endswith("Loss") and layer not in torch_names.LEARNING
        # A weight, which is kept as a buffer, is among the first arguments.
        return not is_loss or bool(call.args) or any(word.arg in (None, *_KEPT) for word in call.keywords)


_KEPT = ("weight", "pos_weight")


def local_values(method: Method, name: str) -> list[ast.expr]:
    """What a local name is assigned in a method, and what is put into it."""
    if method.put_into is None:
        method.put_into = _put_into(method)
    found: list[ast.expr] = [value for value in method.values.get(name, ()) if value is not None]
    return [*found, *method.put_into.get(name, ())]


def _put_into(method: Method) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for statement in method.assigns:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets if statement.value is not None else ():
            changed = target.value if isinstance(target, ast.Subscript) else target
            is_put = isinstance(target, ast.Subscript) or isinstance(statement, ast.AugAssign)
            if is_put and isinstance(changed, ast.Name) and statement.value is not None:
                found.setdefault(changed.id, []).append(statement.value)
    for call in method.calls:
        function = call.func
        if (
            isinstance(function, ast.Attribute)
            and function.attr in containers.ADDING
            and isinstance(function.value, ast.Name)
        ):
            found.setdefault(function.value.id, []).extend(call.args)
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
