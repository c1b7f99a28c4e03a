"""Functions and classes as they stand in the source: what a FunctionValue or ClassObject points to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from modgraph.source import nodes
from modgraph.source.index import Definition, Statement
from modgraph.source.parsed import Parsed

ParameterKind = Literal["positional", "normal", "varargs", "keyword", "varkw"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function."""

    name: str
    kind: ParameterKind
    default: nodes.Expression | None = None
    annotation: nodes.Expression | None = None

    @property
    def is_plain(self) -> bool:
        """Its annotation says that it is a number or text, or made of such: no module can be behind it."""
        return self.annotation is not None and _is_plain(self.annotation)


@dataclass(eq=False)
class FunctionDefinition:
    """A `def` or a lambda; compared by identity."""

    name: str
    qualname: str
    module: str
    parsed: Parsed
    node: nodes.FunctionDef | nodes.Lambda
    statement: nodes.Node
    """The statement in which it stands, for its line."""

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(_parameters(self.node.params))

    @cached_property
    def is_left_out(self) -> bool:
        """Its body is `...`: it says which arguments there are, and not what is done."""
        last = self.node.body[-1] if isinstance(self.node, nodes.FunctionDef) else None
        return isinstance(last, nodes.Expr) and isinstance(last.value, nodes.Ellipsis)

    @cached_property
    def is_generator(self) -> bool:
        return isinstance(self.node, nodes.FunctionDef) and self.parsed.mentions("yield") and _yields(self.node)

    @cached_property
    def yielding(self) -> frozenset[nodes.Node]:
        """The nodes of its body in which a `yield` of its own stands."""
        found: set[nodes.Node] = set()
        if isinstance(self.node, nodes.FunctionDef):
            for statement in self.node.body:
                _gather_yielding(statement, found)
        return frozenset(found)

    @cached_property
    def ends_with_effects(self) -> bool:
        """A `yield` of its own stands in a `try` or `with`, whose end runs where the generator is given up."""
        return any(isinstance(each, (nodes.Try, nodes.With)) for each in self.yielding)

    @property
    def is_async(self) -> bool:
        return isinstance(self.node, nodes.FunctionDef) and self.node.is_async

    @cached_property
    def bound_names(self) -> frozenset[str]:
        """Names that its own statements bind."""
        return frozenset(self.node.local_names if isinstance(self.node, nodes.FunctionDef) else ())

    @cached_property
    def local_names(self) -> tuple[str, ...] | None:
        """Its parameters and what its own statements bind, in the order in which Python keeps them in its code; None
        where that is not plain to see."""
        order = ("positional", "normal", "keyword", "varargs", "varkw")
        given = sorted(self.parameters, key=lambda parameter: max(order.index(parameter.kind), 1))
        return self.parsed.local_names(self.name, [each.name for each in given])

    @cached_property
    def takes_arguments(self) -> bool:
        return bool(self.parameters)

    @cached_property
    def is_abstract(self) -> bool:
        """It stands under abc.abstractmethod."""
        found = [getattr(each, "attr", getattr(each, "value", None)) for each in getattr(self.node, "decorators", ())]
        return "abstractmethod" in found

    @cached_property
    def uses_receiver(self) -> bool:
        """Its first parameter serves for more than calling the method itself again."""
        first = self.parameters[0].name if self.parameters else ""
        return self.parsed.mentions(first) and _uses_in(self.node.body, first, self.name)


@dataclass(eq=False)
class ClassDefinition:
    """A class statement; compared by identity."""

    name: str
    qualname: str
    module: str
    parsed: Parsed
    node: nodes.ClassDef
    """With a body of `pass` where `entry` is given."""
    entry: Definition | None
    """In the index of its module: its body is then read from there, name by name."""

    @cached_property
    def statements(self) -> dict[str, list[Statement]]:
        """By name: statements of the body that bind it or change it in place."""
        found: dict[str, list[Statement]] = {}
        for statement in self.entry.body if self.entry else ():
            for name in dict.fromkeys(statement.names + statement.touched):
                found.setdefault(name, []).append(statement)
        return found

    @cached_property
    def is_ordered(self) -> bool:
        """A name of the body is deleted, or a decorator in it is another name of the body, or is given one, which it
        may change: then the body cannot be read name by name."""
        body = self.entry.body if self.entry else ()
        bound = {name for statement in body for name in statement.names}
        if any(statement.kind == "delete" for statement in body):
            return True  # `del`: what stands behind it has the name no more
        return any(
            statement.definition is not None
            and any(
                bound.intersection(_IDENTIFIERS.findall(text)) - {statement.definition.name}
                for text in statement.definition.decorators
            )
            for statement in body
        )


_IDENTIFIERS = re.compile(r"(?<![\w.])[^\W\d]\w*")
_PLAIN = frozenset({"int", "float", "bool", "str", "bytes", "complex", "None"})
_OF_PLAIN = frozenset(
    {"Optional", "Union", "List", "Tuple", "Sequence", "Iterable", "Dict", "Set", "list", "tuple", "dict", "set"}
)


def _is_plain(node: nodes.Expression) -> bool:
    if isinstance(node, nodes.Name):
        return node.value in _PLAIN
    if isinstance(node, nodes.BinaryOperation):
        return node.operator == "|" and _is_plain(node.left) and _is_plain(node.right)
    if isinstance(node, nodes.Subscript):
        name = node.value.attr if isinstance(node.value, nodes.Attribute) else getattr(node.value, "value", "")
        parts = node.slice.elements if isinstance(node.slice, nodes.Tuple) else (node.slice,)
        inside = all(isinstance(part, nodes.Ellipsis) or _is_plain(part) for part in parts)
        return name == "Literal" or (name in _OF_PLAIN and inside)
    return False


def _parameters(params: nodes.Parameters) -> Iterator[Parameter]:
    for param in params.posonly_params:
        yield Parameter(param.name, "positional", param.default, param.annotation)
    for param in params.params:
        yield Parameter(param.name, "normal", param.default, param.annotation)
    if params.star_arg is not None:
        yield Parameter(params.star_arg.name, "varargs")
    for param in params.kwonly_params:
        yield Parameter(param.name, "keyword", param.default, param.annotation)
    if params.star_kwarg is not None:
        yield Parameter(params.star_kwarg.name, "varkw")


def _uses_in(body: nodes.Expression | nodes.Block, name: str, method: str) -> bool:
    return any(_uses(each, name, method) for each in (body if isinstance(body, tuple) else (body,)))


def _uses(node: nodes.Node, name: str, method: str) -> bool:
    """`name` stands in it, other than in `name.method(...)`."""
    if isinstance(node, nodes.Name):
        return node.value == name
    if isinstance(node, nodes.Call) and isinstance(node.func, nodes.Attribute):
        called = node.func
        if isinstance(called.value, nodes.Name) and called.value.value == name and called.attr == method:
            return any(_uses(argument, name, method) for argument in node.args)
    return any(_uses(child, name, method) for child in node.children)


def _gather_yielding(node: nodes.Node, found: set[nodes.Node]) -> bool:
    """Adds those of the nodes from this one down; whether it is one of them."""
    if isinstance(node, (nodes.FunctionDef, nodes.ClassDef, nodes.Lambda)):
        return False
    inside = [_gather_yielding(child, found) for child in node.children]
    if any(inside) or isinstance(node, nodes.Yield):
        found.add(node)
        return True
    return False


def _yields(node: nodes.Node) -> bool:
    """A `yield` stands in it, outside inner functions and classes."""
    for child in node.children:
        if isinstance(child, nodes.Yield):
            return True
        if isinstance(child, (nodes.FunctionDef, nodes.ClassDef, nodes.Lambda)):
            continue
        if _yields(child):
            return True
    return False
