"""Python's syntax as the prediction reads it: small nodes, without comments and spaces, that know no parser.

`lowering.py` makes them of a libcst tree, `kept_trees.py` keeps them on disk. A node's fields stand in the order of the
source. Nodes are compared by identity, and never changed after they were made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any


class NotParsedError(Exception):
    """libcst does not know this syntax."""


class Kind(type):
    """The class of a kind of node: what it declares are its fields, given by position when one is made."""

    fields: tuple[str, ...]
    nested: tuple[str, ...]
    """Those of the fields that may hold nodes."""
    declared: dict[str, str]
    """Each field, and its type as it is written."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Kind:
        own: dict[str, str] = {} if "__slots__" in namespace else namespace.get("__annotations__", {})
        namespace.setdefault("__slots__", tuple(own))
        made = super().__new__(mcs, name, bases, namespace)
        inherited = {
            field: written for base in bases if isinstance(base, Kind) for field, written in base.declared.items()
        }
        made.declared = {**inherited, **own}
        made.fields = tuple(made.declared)
        made.nested = tuple(field for field, written in made.declared.items() if holds_nodes(written))
        return made


_PLAIN_TYPES = frozenset({"str", "int", "bool", "tuple", "None"})


def holds_nodes(written: str) -> bool:
    """A field of the type that is written so holds nodes; else texts, numbers or truths."""
    return not _PLAIN_TYPES.issuperset(re.findall(r"\w+", written))


class Node(metaclass=Kind):
    __slots__ = ()

    def __init__(self, *values: Any) -> None:
        for name, value in zip(type(self).fields, values, strict=True):
            setattr(self, name, value)

    @property
    def children(self) -> list[Node]:
        """The nodes in its fields, in the order of the source."""
        found: list[Node] = []
        for name in type(self).nested:
            value = getattr(self, name)
            if value.__class__ is tuple:
                found.extend(value)
            elif value is not None:
                found.append(value)
        return found


class AtLine(Node):
    """What Python says it is at, where something fails in it."""

    __slots__ = ("line",)
    line: int
    """Lines between it and the first one of what was parsed."""

    def __init__(self, *values: Any) -> None:
        super().__init__(*values)
        self.line = 0


class Statement(AtLine):
    pass


class Expression(Node):
    __slots__ = ("parenthesised",)
    parenthesised: bool
    """It stands in parentheses of its own."""

    def __init__(self, *values: Any) -> None:
        super().__init__(*values)
        self.parenthesised = False


class Pattern(Node):
    """What stands behind `case`."""

    __slots__ = ()


Block = tuple[Statement, ...]

# ---- expressions -----------------------------------------------------------------------------------------------------


class OtherExpression(Expression):
    """One of a kind that has no node here."""

    kind: str
    parts: tuple[Node, ...]


class Name(Expression):
    value: str


class Literal(Expression):
    """A number, or a text or bytes in one piece, as it is written."""

    value: str


class Integer(Literal):
    pass


class Float(Literal):
    pass


class Imaginary(Literal):
    pass


class SimpleString(Literal):
    pass


class Ellipsis(Expression):
    pass


class ConcatenatedString(Expression):
    left: Expression
    right: Expression


class FormattedStringText(Node):
    value: str


class FormattedStringExpression(Node):
    expression: Expression
    conversion: str | None
    format_spec: tuple[FormattedStringText | FormattedStringExpression, ...]
    written: str | None
    """What `{value = }` shows before the value."""


class FormattedString(Expression):
    start: str
    parts: tuple[FormattedStringText | FormattedStringExpression, ...]


class Starred(Expression):
    """`*value` in a display, a target or an index."""

    value: Expression


class Tuple(Expression):
    elements: tuple[Expression, ...]


class List(Expression):
    elements: tuple[Expression, ...]


class Set(Expression):
    elements: tuple[Expression, ...]


class DictElement(Node):
    key: Expression
    value: Expression


class StarredDictElement(Node):
    value: Expression


class Dict(Expression):
    elements: tuple[DictElement | StarredDictElement, ...]


class CompFor(Node):
    target: Expression
    iter: Expression
    ifs: tuple[Expression, ...]
    inner_for_in: CompFor | None
    is_async: bool


class SimpleComp(Expression):
    """A comprehension of single values."""

    elt: Expression
    for_in: CompFor


class GeneratorExp(SimpleComp):
    pass


class ListComp(SimpleComp):
    pass


class SetComp(SimpleComp):
    pass


class DictComp(Expression):
    key: Expression
    value: Expression
    for_in: CompFor


class Attribute(Expression):
    value: Expression
    attr: str


class Slice(Expression):
    lower: Expression | None
    upper: Expression | None
    step: Expression | None


class Subscript(Expression):
    value: Expression
    slice: Expression
    """A `Tuple` where several stand between the brackets."""


class Arg(Node):
    value: Expression
    keyword: str | None
    star: str
    """Empty, `*` or `**`."""


class Placed(Expression):
    """An expression whose line may be another than that of its statement."""

    __slots__ = ("line",)
    line: int | None
    """Lines between where it begins and the first one of what was parsed; None where it begins with its statement."""

    def __init__(self, *values: Any) -> None:
        super().__init__(*values)
        self.line = None


class Call(Placed):
    func: Expression
    args: tuple[Arg, ...]


class UnaryOperation(Expression):
    operator: str
    expression: Expression


class BinaryOperation(Expression):
    left: Expression
    operator: str
    right: Expression


class BooleanOperation(Expression):
    left: Expression
    operator: str
    right: Expression


class ComparisonTarget(Node):
    operator: str
    comparator: Expression


class Comparison(Expression):
    left: Expression
    comparisons: tuple[ComparisonTarget, ...]


class IfExp(Expression):
    body: Expression
    test: Expression
    orelse: Expression


class Param(Node):
    name: str
    annotation: Expression | None
    default: Expression | None


class Parameters(Node):
    posonly_params: tuple[Param, ...]
    params: tuple[Param, ...]
    star_arg: Param | None
    kwonly_params: tuple[Param, ...]
    star_kwarg: Param | None


class Lambda(Expression):
    params: Parameters
    body: Expression


class Await(Expression):
    expression: Expression


class Yield(Expression):
    value: Expression | None
    is_from: bool


class NamedExpr(Expression):
    target: Expression
    value: Expression


# ---- statements ------------------------------------------------------------------------------------------------------


class OtherStatement(Statement):
    """One of a kind that has no node here."""

    kind: str
    parts: tuple[Node, ...]


class Expr(Statement):
    value: Expression


class Assign(Statement):
    targets: tuple[Expression, ...]
    value: Expression


class AnnAssign(Statement):
    target: Expression
    annotation: Expression
    value: Expression | None


class AugAssign(Statement):
    target: Expression
    operator: str
    value: Expression


class Del(Statement):
    target: Expression


class Return(Statement):
    value: Expression | None


class Pass(Statement):
    pass


class Break(Statement):
    pass


class Continue(Statement):
    pass


class Global(Statement):
    names: tuple[str, ...]


class Nonlocal(Statement):
    names: tuple[str, ...]


class ImportAlias(Node):
    name: str
    """With its dots."""
    asname: str | None
    bound: str
    """The name that it binds."""


class Import(Statement):
    names: tuple[ImportAlias, ...]


class ImportFrom(Statement):
    level: int
    module: str
    names: tuple[ImportAlias, ...]
    """Empty for `*`."""


class Assert(Statement):
    test: Expression
    msg: Expression | None


class Raise(Statement):
    exc: Expression | None
    cause: Expression | None


class FunctionDef(Statement):
    decorators: tuple[Expression, ...]
    is_async: bool
    name: str
    bound: str
    """The name that it binds: another one for a private name in a class."""
    params: Parameters
    returns: Expression | None
    body: tuple[Statement, ...]
    local_names: tuple[str, ...]
    """What statements of its own bind in it."""


class ClassDef(Statement):
    decorators: tuple[Expression, ...]
    name: str
    bound: str
    bases: tuple[Arg, ...]
    keywords: tuple[Arg, ...]
    body: tuple[Statement, ...]


class If(Statement):
    is_elif: bool
    test: Expression
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


class For(Statement):
    is_async: bool
    target: Expression
    iter: Expression
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


class While(Statement):
    test: Expression
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


class WithItem(Node):
    item: Expression
    asname: Expression | None


class With(Statement):
    is_async: bool
    items: tuple[WithItem, ...]
    body: tuple[Statement, ...]


class ExceptHandler(Node):
    type: Expression | None
    name: str | None
    body: tuple[Statement, ...]


class Try(Statement):
    body: tuple[Statement, ...]
    handlers: tuple[ExceptHandler, ...]
    orelse: tuple[Statement, ...]
    finalbody: tuple[Statement, ...]
    is_star: bool


class MatchCase(AtLine):
    pattern: Pattern
    guard: Expression | None
    body: tuple[Statement, ...]


class Match(Statement):
    subject: Expression
    cases: tuple[MatchCase, ...]


# ---- patterns --------------------------------------------------------------------------------------------------------


class OtherPattern(Pattern):
    """One of a kind that has no node here."""

    kind: str
    parts: tuple[Node, ...]


class MatchValue(Pattern):
    value: Expression


class MatchSingleton(Pattern):
    value: Expression


class MatchAs(Pattern):
    pattern: Pattern | None
    name: str | None


class MatchStar(Pattern):
    name: str | None


class MatchOr(Pattern):
    patterns: tuple[Pattern, ...]


class MatchSequence(Pattern):
    patterns: tuple[Pattern, ...]


class MatchMappingElement(Node):
    key: Expression
    pattern: Pattern


class MatchMapping(Pattern):
    elements: tuple[MatchMappingElement, ...]
    rest: str | None


class MatchKeywordElement(Node):
    key: str
    pattern: Pattern


class MatchClass(Pattern):
    cls: Expression
    patterns: tuple[Pattern, ...]
    kwds: tuple[MatchKeywordElement, ...]


# ---- walking ---------------------------------------------------------------------------------------------------------


class Visitor:
    """Goes through a tree: `visit_Name(node)` is called with every `Name`, and what is in a node is gone through unless
    it gives False."""

    def visit(self, node: Node) -> None:
        method: Callable[[Any], bool | None] | None = getattr(self, f"visit_{type(node).__name__}", None)
        if method is None or method(node) is not False:
            for child in node.children:
                self.visit(child)


def walk(node: Node) -> Iterator[Node]:
    """It and all nodes inside it, each before its own."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def blocks(node: Node) -> Iterator[Block]:
    """The blocks of a compound statement; those behind `elif` are among them."""
    if isinstance(node, If):
        after: If | None = node
        while after is not None:
            node, after = after, following(after)
            yield node.body
        if node.orelse:
            yield node.orelse
    if isinstance(node, (FunctionDef, ClassDef, For, While, With, Try)):
        yield node.body
    for part in node.handlers if isinstance(node, Try) else node.cases if isinstance(node, Match) else ():
        yield part.body
    if isinstance(node, (For, While, Try)) and node.orelse:
        yield node.orelse
    if isinstance(node, Try) and node.finalbody:
        yield node.finalbody


def body_of(function: FunctionDef | Lambda) -> tuple[Node, ...]:
    """What runs when it is called."""
    return function.body if isinstance(function, FunctionDef) else (function.body,)


def following(node: If) -> If | None:
    """The `elif` behind it; None where there is none."""
    after = node.orelse[0] if node.orelse else None
    return after if isinstance(after, If) and after.is_elif else None


def dotted(node: Expression) -> str | None:
    """The text of a dotted name, `package.module.Name`; None of anything else."""
    if isinstance(node, Attribute):
        owner = dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return node.value if isinstance(node, Name) else None


def is_super(node: Node) -> bool:
    """It is a call of `super`."""
    return isinstance(node, Call) and isinstance(node.func, Name) and node.func.value == "super"
