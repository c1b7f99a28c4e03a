"""A class as the rules see it first: what its methods store, change and call, from one walk over its `ast`.

Nothing is decided here. A rule that finds nothing suspicious among these facts is done with the class; only for the
others is the class interpreted.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from modgraph.source import containers
from modgraph.source.mangling import bound_as

_LEAVES = frozenset(
    [
        ast.Break,
        ast.ClassDef,
        ast.Constant,
        ast.Continue,
        ast.Global,
        ast.Import,
        ast.ImportFrom,
        ast.Name,
        ast.Nonlocal,
        ast.Pass,
        bool,
        int,
        str,
        type(None),
    ]
)
"""Below these nothing is looked for."""
_NO_NODES = frozenset(
    [
        "ctx",
        "op",
        "ops",
        "id",
        "attr",
        "arg",
        "name",
        "names",
        "asname",
        "module",
        "level",
        "type_comment",
        "kind",
        "conversion",
        "is_async",
        "type_params",
        "rest",
        "simple",
        "annotation",
    ]
)
"""Fields that hold no expressions, or none that is executed."""
_BELOW: dict[type[ast.AST], tuple[str, ...]] = {}
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Import, ast.ImportFrom, ast.Raise)
"""Statements without statements in them."""
_SEQUENCES = (ast.List, ast.Tuple)


def _fields_below(kind: type[ast.AST]) -> tuple[str, ...]:
    _BELOW[kind] = tuple(name for name in kind._fields if name not in _NO_NODES)
    return _BELOW[kind]


class Method:
    """A function in the body of a class."""

    __slots__ = (
        "__dict__",
        "_parameters",
        "_parents",
        "_values",
        "assigns",
        "calls",
        "comprehensions",
        "deletes",
        "functions",
        "iterated",
        "loops",
        "name",
        "node",
        "products",
        "put_into",
        "receiver",
        "returns",
    )

    def __init__(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.node = node
        self.name = bound_as(node)
        self.receiver = _receiver(node)
        """Name of its first parameter, "self"; "" for a static method."""
        self.assigns: list[ast.Assign | ast.AnnAssign | ast.AugAssign] = []
        self.calls: list[ast.Call] = []
        self.returns: list[ast.Return] = []
        self.functions: list[ast.AST] = []
        """Functions and lambdas inside it; what they do is listed too."""
        self.loops: list[ast.For] = []
        self.iterated: list[ast.expr] = []
        """What loops and comprehensions go through."""
        self.deletes: list[ast.Delete] = []
        self.products: list[ast.BinOp] = []
        """`[x] * n` and `n * (x,)`."""
        self.comprehensions: list[ast.ListComp | ast.GeneratorExp] = []
        """`[x for ...]`, of a name alone."""
        self._values: dict[str, list[ast.expr | None]] | None = None
        self._parameters: dict[str, list[ast.expr]] | None = None
        self._parents: dict[ast.AST, ast.AST] | None = None
        self.put_into: dict[str, list[ast.expr]] | None = None
        """By local name, what is stored in it beside `values`, where somebody has asked."""
        self._walk()

    @property
    def values(self) -> dict[str, list[ast.expr | None]]:
        """What each local name is assigned; None for a value that does not stand there by itself."""
        if self._values is None:
            self._values = {}
            for statement in self.assigns:
                plain = isinstance(statement, ast.Assign)
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                for target in targets if statement.value is not None else ():
                    for place, value in _pairs(target, statement.value):
                        if isinstance(place, ast.Name):
                            value = value if plain or isinstance(statement, ast.AnnAssign) else None
                            self._values.setdefault(place.id, []).append(value)
        return self._values

    @cached_property
    def names(self) -> Counter[str]:
        """How often each name stands in it."""
        return Counter(node.id for node in ast.walk(self.node) if isinstance(node, ast.Name))

    @cached_property
    def called(self) -> Counter[str]:
        """How often each name is called."""
        return Counter(call.func.id for call in self.calls if isinstance(call.func, ast.Name))

    @cached_property
    def is_seeded(self) -> bool:
        """It calls `torch.manual_seed`, or its like."""
        return any("manual_seed" in (ast.unparse(c.func)) for c in self.calls if isinstance(c.func, ast.Attribute))

    @property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """What each node below the method stands in."""
        if self._parents is None:
            self._parents = {below: node for node in ast.walk(self.node) for below in ast.iter_child_nodes(node)}
        return self._parents

    @property
    def parameters(self) -> dict[str, list[ast.expr]]:
        """Names of its parameters, the receiver left out, each with its default."""
        if self._parameters is None:
            arguments = self.node.args
            places = [*arguments.posonlyargs, *arguments.args]
            found: dict[str, list[ast.expr]] = {each.arg: [] for each in (*places, *arguments.kwonlyargs)}
            for place, default in zip(reversed(places), reversed(arguments.defaults), strict=False):
                found[place.arg].append(default)
            for place, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
                if given is not None:
                    found[place.arg].append(given)
            found.pop(self.receiver, None)
            self._parameters = found
        return self._parameters

    def _walk(self) -> None:
        """In the order of the text."""
        pending: list[ast.AST] = list(reversed(self.node.body))
        while pending:
            node = pending.pop()
            kind = type(node)
            if kind in _LEAVES:
                continue
            if kind is ast.Call:
                self.calls.append(node)  # type: ignore[arg-type]
            elif kind in (ast.Assign, ast.AnnAssign, ast.AugAssign):
                self.assigns.append(node)  # type: ignore[arg-type]
            elif kind is ast.Return:
                self.returns.append(node)  # type: ignore[arg-type]
            elif kind is ast.BinOp:
                if type(node.op) is ast.Mult and (  # type: ignore[attr-defined]
                    type(node.left) in _SEQUENCES or type(node.right) in _SEQUENCES  # type: ignore[attr-defined]
                ):
                    self.products.append(node)  # type: ignore[arg-type]
            elif kind is ast.ListComp or kind is ast.GeneratorExp:
                if type(node.elt) is ast.Name:  # type: ignore[attr-defined]
                    self.comprehensions.append(node)  # type: ignore[arg-type]
            elif kind is ast.For:
                self.loops.append(node)  # type: ignore[arg-type]
                self.iterated.append(node.iter)  # type: ignore[attr-defined]
            elif kind is ast.comprehension:
                self.iterated.append(node.iter)  # type: ignore[attr-defined]
            elif kind is ast.Delete:
                self.deletes.append(node)  # type: ignore[arg-type]
            elif kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda):
                self.functions.append(node)
            below: list[ast.AST] = []
            for name in _BELOW.get(kind) or _fields_below(kind):
                value = getattr(node, name, None)
                if value.__class__ is list:
                    below += [each for each in value if each.__class__ not in _LEAVES]
                elif value.__class__ not in _LEAVES:
                    below.append(value)  # type: ignore[arg-type]
            below.reverse()
            pending += below


class Store:
    """`self.name = value` in a method; `value` is None where it is a part of what is unpacked."""

    __slots__ = ("method", "name", "statement", "target", "value")

    def __init__(
        self, name: str, method: Method, statement: ast.stmt, target: ast.Attribute, value: ast.expr | None
    ) -> None:
        self.name = name
        self.method = method
        self.statement = statement
        self.target = target
        self.value = value


class Change:
    """`self.name.append(value)`, `self.name[key] = value`, `self.name += value`: what changes the object in place."""

    __slots__ = ("how", "method", "name", "node", "values")

    def __init__(self, name: str, how: str, method: Method, node: ast.AST, values: list[ast.expr]) -> None:
        self.name = name
        self.how = how
        """"append", "[]", "+=", ..."""
        self.method = method
        self.node = node
        self.values = values


class ClassFacts:
    """One class of a file."""

    def __init__(self, node: ast.ClassDef, qualname: str) -> None:
        self.node = node
        self.qualname = qualname
        self.methods: dict[str, Method] = {}
        self.body_assigns: list[ast.Assign | ast.AnnAssign] = []
        """Of the class's own body."""
        self._reached: dict[str, list[Method]] = {}
        self._read(node.body)
        self.stores: list[Store] = []
        self.changes: list[Change] = []
        for method in self.methods.values():
            if method.receiver:
                self.stores.extend(_stores(method))
                self.changes.extend(_changes(method))

    def _read(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.methods[bound_as(statement)] = Method(statement)
            elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
                self.body_assigns.append(statement)
            elif isinstance(statement, (ast.If, ast.Try, ast.With)):
                self._read(statement.body)
                self._read(getattr(statement, "orelse", []))

    @cached_property
    def stored(self) -> dict[str, list[Store]]:
        """By the attribute's name, in the order of their first stores."""
        found: dict[str, list[Store]] = {}
        for store in self.stores:
            found.setdefault(store.name, []).append(store)
        return found

    @cached_property
    def set_by_name(self) -> list[Store]:
        """`setattr(self, "name", value)`, the first for each name that no statement stores as well."""
        found: dict[str, Store] = {}
        for method, call in self.calls_of("setattr"):
            if not isinstance(call.func, ast.Name) or len(call.args) != 3:
                continue
            owner, name, value = call.args
            statement = method.parents.get(call)
            if not isinstance(owner, ast.Name) or owner.id != method.receiver or not isinstance(statement, ast.Expr):
                continue
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and name.value not in self.stored:
                place = ast.Attribute(owner, name.value, ast.Store())
                found.setdefault(name.value, Store(name.value, method, statement, place, value))
        return list(found.values())

    def stores_of(self, name: str) -> list[Store]:
        return self.stored.get(name, [])

    def reached(self, name: str) -> list[Method]:
        """A method of this class and those that it calls on itself."""
        if name not in self._reached:
            self._reached[name] = self._reached_from(name)
        return self._reached[name]

    def _reached_from(self, name: str) -> list[Method]:
        found: dict[str, Method] = {}
        pending = [name]
        while pending:
            method = self.methods.get(pending.pop())
            if method is None or method.name in found:
                continue
            found[method.name] = method
            for call in method.calls:
                called = attribute_of(call.func, method.receiver) if method.receiver else None
                if called is not None:
                    pending.append(called)
        return list(found.values())

    @cached_property
    def calls(self) -> dict[str, list[tuple[Method, ast.Call]]]:
        """Calls in its methods, by the last word of what is called: "Linear" for `nn.Linear(...)`."""
        found: dict[str, list[tuple[Method, ast.Call]]] = {}
        for method in self.methods.values():
            for call in method.calls:
                function = call.func
                if type(function) is ast.Attribute:
                    found.setdefault(function.attr, []).append((method, call))
                elif type(function) is ast.Name:
                    found.setdefault(function.id, []).append((method, call))
        return found

    def calls_of(self, *names: str) -> list[tuple[Method, ast.Call]]:
        return [each for name in names for each in self.calls.get(name, ())]


def enclosing(method: Method, node: ast.AST) -> list[ast.AST]:
    """The statements and functions around a node, from the outside in; the one it stands in is the last."""
    found: list[ast.AST] = []
    each = node
    while each in method.parents:
        if isinstance(each, (ast.stmt, ast.Lambda, ast.excepthandler)):
            found.append(each)
        each = method.parents[each]
    return found[::-1] if each is method.node else []


_DECIDING = (ast.If, ast.For, ast.While, ast.Try, ast.Match, ast.excepthandler, ast.FunctionDef, ast.Lambda)


def is_unconditional(method: Method, node: ast.AST) -> bool:
    """It is executed whenever the method comes so far: no branch, loop, `try` or inner function is around it."""
    return not any(isinstance(each, _DECIDING) for each in enclosing(method, node))


def are_apart(one: Store, other: Store) -> bool:
    """They stand in the two arms of one test, so that only one of them is executed, where no loop is around it."""
    if one.method is not other.method:
        return False
    first, second = ([*enclosing(each.method, each.target), each.target] for each in (one, other))
    for above, left, right in zip(first, first[1:], second[1:], strict=False):
        if isinstance(above, (ast.For, ast.While)):
            return False
        if left is not right:
            return isinstance(above, ast.If) and (left in above.orelse) is not (right in above.orelse)
    return False


def expects_error(method: Method, node: ast.AST) -> bool:
    """An exception is caught or expected there: `try`, `with pytest.raises(...)`."""
    for each in enclosing(method, node):
        if isinstance(each, ast.Try) and each.handlers:
            return True
        if isinstance(each, ast.With) and any("aises" in ast.unparse(item.context_expr) for item in each.items):
            return True
    return False


def classes(tree: ast.Module) -> Iterator[tuple[ast.ClassDef, str]]:
    """Every class of a file with its qualified name, those inside functions too, outer ones first."""
    pending: list[tuple[ast.AST, str]] = [(node, "") for node in reversed(tree.body)]
    while pending:
        node, prefix = pending.pop()
        if type(node) in _SIMPLE:
            continue
        below = prefix
        if isinstance(node, ast.ClassDef):
            yield node, prefix + node.name
            below = f"{prefix}{node.name}."
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            below = f"{prefix}{node.name}.<locals>."
        for name in ("orelse", "finalbody", "handlers", "cases", "body"):
            block = getattr(node, name, None)
            if type(block) is list:
                pending.extend(
                    (each, below)
                    for each in reversed(block)
                    if isinstance(each, (ast.stmt, ast.excepthandler, ast.match_case))
                )


def attribute_of(node: ast.AST, receiver: str) -> str | None:
    """ "x" for `self.x`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == receiver:
        return node.attr
    return None


def _receiver(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Name) and decorator.id in ("staticmethod", "classmethod"):
            return ""
    places = [*node.args.posonlyargs, *node.args.args]
    return places[0].arg if places else ""


def _stores(method: Method) -> Iterator[Store]:
    for statement in method.assigns:
        if isinstance(statement, ast.AugAssign):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if statement.value is None:
            continue
        for target in targets:
            for place, value in _pairs(target, statement.value):
                name = attribute_of(place, method.receiver)
                if name is not None and isinstance(place, ast.Attribute):
                    yield Store(name, method, statement, place, value)


def _pairs(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """(place, value) of one assignment; the value of a part is None where it does not stand there by itself."""
    if isinstance(target, (ast.Tuple, ast.List)):
        same = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        for number, each in enumerate(target.elts):
            yield from _pairs(each, value.elts[number] if same else None)  # type: ignore[union-attr]
    elif isinstance(target, ast.Starred):
        yield from _pairs(target.value, None)
    else:
        yield target, value


def _changes(method: Method) -> Iterator[Change]:
    for call in method.calls:
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr in containers.ADDING:
            changed: ast.expr = function.value
            while isinstance(changed, ast.Subscript):  # self.name[key].append(value)
                changed = changed.value
            name = attribute_of(changed, method.receiver)
            if name is not None:
                values = [*call.args, *(keyword.value for keyword in call.keywords)]
                yield Change(name, function.attr, method, call, values)
    for statement in method.assigns:
        if isinstance(statement, ast.AugAssign):
            name = attribute_of(statement.target, method.receiver)
            if name is not None:
                yield Change(name, "+=", method, statement, [statement.value])
            elif isinstance(statement.target, ast.Subscript):
                name = attribute_of(statement.target.value, method.receiver)
                if name is not None:
                    yield Change(name, "[]", method, statement, [statement.value])
        elif statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Subscript):
                    name = attribute_of(target.value, method.receiver)
                    if name is not None:
                        yield Change(name, "[]", method, statement, [statement.value])
