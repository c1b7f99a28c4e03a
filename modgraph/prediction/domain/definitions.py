"""Functions and classes as they stand in the source: what a FunctionValue or ClassObject points to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import libcst as cst

from modgraph.source.index import Definition, Statement
from modgraph.source.parsed import Parsed

ParameterKind = Literal["positional", "normal", "varargs", "keyword", "varkw"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function."""

    name: str
    kind: ParameterKind
    default: cst.BaseExpression | None = None
    annotation: cst.BaseExpression | None = None

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
    node: cst.FunctionDef | cst.Lambda
    statement: cst.CSTNode
    """The statement in which it stands, for its line."""

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(_parameters(self.node.params))

    @cached_property
    def is_generator(self) -> bool:
        return isinstance(self.node, cst.FunctionDef) and self.parsed.mentions("yield") and _yields(self.node.body)

    @cached_property
    def yielding(self) -> frozenset[cst.CSTNode]:
        """The nodes of its body in which a `yield` of its own stands."""
        found: set[cst.CSTNode] = set()
        if isinstance(self.node, cst.FunctionDef):
            _gather_yielding(self.node.body, found)
        return frozenset(found)

    @property
    def is_async(self) -> bool:
        return isinstance(self.node, cst.FunctionDef) and self.node.asynchronous is not None

    @cached_property
    def bound_names(self) -> frozenset[str]:
        """Names that its own statements bind."""
        return self.parsed.bound_by(self.node) if isinstance(self.node, cst.FunctionDef) else frozenset()

    @cached_property
    def takes_arguments(self) -> bool:
        return bool(self.parameters)

    @cached_property
    def is_abstract(self) -> bool:
        """It stands under abc.abstractmethod."""
        found = [getattr(each.decorator, "attr", each.decorator) for each in getattr(self.node, "decorators", ())]
        return any(isinstance(name, cst.Name) and name.value == "abstractmethod" for name in found)

    @cached_property
    def uses_receiver(self) -> bool:
        """Its first parameter serves for more than calling the method itself again."""
        first = self.parameters[0].name if self.parameters else ""
        return self.parsed.mentions(first) and _uses(self.node.body, first, self.name)


@dataclass(eq=False)
class ClassDefinition:
    """A class statement; compared by identity."""

    name: str
    qualname: str
    module: str
    parsed: Parsed
    node: cst.ClassDef
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


def _is_plain(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Name):
        return node.value in _PLAIN
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, cst.BitOr) and _is_plain(node.left) and _is_plain(node.right)
    if isinstance(node, cst.Subscript):
        origin = node.value.attr if isinstance(node.value, cst.Attribute) else node.value
        name = origin.value if isinstance(origin, cst.Name) else ""
        parts = [each.slice.value for each in node.slice if isinstance(each.slice, cst.Index)]
        inside = all(isinstance(part, cst.Ellipsis) or _is_plain(part) for part in parts)
        return name == "Literal" or (name in _OF_PLAIN and inside)
    return False


def _annotation(param: cst.Param) -> cst.BaseExpression | None:
    return param.annotation.annotation if param.annotation is not None else None


def _parameters(params: cst.Parameters) -> Iterator[Parameter]:
    for param in params.posonly_params:
        yield Parameter(param.name.value, "positional", param.default, _annotation(param))
    for param in params.params:
        yield Parameter(param.name.value, "normal", param.default, _annotation(param))
    if isinstance(params.star_arg, cst.Param):
        yield Parameter(params.star_arg.name.value, "varargs")
    for param in params.kwonly_params:
        yield Parameter(param.name.value, "keyword", param.default, _annotation(param))
    if params.star_kwarg is not None:
        yield Parameter(params.star_kwarg.name.value, "varkw")


def _uses(node: cst.CSTNode, name: str, method: str) -> bool:
    """`name` stands in it, other than in `name.method(...)`."""
    if isinstance(node, cst.Name):
        return node.value == name
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        called = node.func
        if isinstance(called.value, cst.Name) and called.value.value == name and called.attr.value == method:
            return any(_uses(argument, name, method) for argument in node.args)
    return any(_uses(child, name, method) for child in node.children)


def _gather_yielding(node: cst.CSTNode, found: set[cst.CSTNode]) -> bool:
    """Adds those of the nodes from this one down; whether it is one of them."""
    if isinstance(node, (cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.BaseParenthesizableWhitespace)):
        return False
    inside = [_gather_yielding(child, found) for child in node.children]
    if any(inside) or isinstance(node, cst.Yield):
        found.add(node)
        return True
    return False


def _yields(node: cst.CSTNode) -> bool:
    """A `yield` stands in it, outside inner functions and classes."""
    for child in node.children:
        if isinstance(child, cst.Yield):
            return True
        if isinstance(child, (cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.BaseParenthesizableWhitespace)):
            continue
        if _yields(child):
            return True
    return False


def dotted(node: cst.BaseExpression) -> str | None:
    """The text of a dotted name, `package.module.Name`; None of anything else."""
    if isinstance(node, cst.Attribute):
        owner = dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else None
