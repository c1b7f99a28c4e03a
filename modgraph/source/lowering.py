"""A few lines of a file, parsed by libcst and lowered to nodes of our own (`nodes.py`).

Only this file reads trees of libcst. They come without positions (libcst computes them too slowly); the `ast` of the
same lines has them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import libcst as cst

from modgraph.source import nodes
from modgraph.source.mangling import bound_as, has_private, imported_as, mangle_syntax, mangled, spelled
from modgraph.source.quiet import python_tree


def lower(text: str, is_indented: bool, class_name: str | None) -> nodes.Block:
    """The statements of a text; of an indented one, those of the block that is its first statement.

    Args:
        class_name: the class in which they stand, whose private names it spells.

    Raises:
        nodes.NotParsedError: libcst does not know this syntax.
        MemoryError, RecursionError, ValueError: as libcst and `ast` do.
    """
    try:
        body: Sequence[Any] = cst.parse_module(text).body
    except cst.ParserSyntaxError as error:
        raise nodes.NotParsedError(str(error)) from error
    except BaseException as error:  # a panic of its native parser is none of `Exception`
        if type(error).__name__ != "PanicException":
            raise
        raise nodes.NotParsedError("its parser failed") from error
    if is_indented:
        body = body[0].body.body
    is_private = has_private(text)
    bound: dict[int, str] = {}
    if is_private or not text.isascii():
        for statement in body:
            bound.update(_spell(statement, class_name))
    lowered = _Lowering(bound).block(body)
    _place(lowered, text, is_indented, class_name, is_private)
    return lowered


# ---- lowering --------------------------------------------------------------------------------------------------------


class _Lowering:
    def __init__(self, bound: dict[int, str]) -> None:
        self.bound = bound
        """By id of a definition or of a part of `import a.b`: what it binds, where that is not what is written."""

    def block(self, body: Sequence[Any]) -> nodes.Block:
        found: list[nodes.Statement] = []
        for each in body:
            if type(each) is cst.SimpleStatementLine:
                found.extend(map(self.node, each.body))
            else:
                found.append(self.node(each))
        return tuple(found)

    def node(self, tree: Any) -> Any:
        """The node of a tree; None of None."""
        if tree is None:
            return None
        kind = type(tree)
        plain = _PLAIN.get(kind)
        if plain is not None:
            make, fields = plain
            found = make(*[self.field(getattr(tree, name)) for name in fields])
        else:
            found = _BY_KIND.get(kind, _other)(self, tree)
        if getattr(tree, "lpar", ()) and isinstance(found, nodes.Expression):
            found.parenthesised = True
        return found

    def field(self, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return value
        return self.node(value) if isinstance(value, cst.CSTNode) else self.all(value)

    def all(self, trees: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(map(self.node, trees))


_PLAIN: dict[type[cst.CSTNode], tuple[type[nodes.Node], tuple[str, ...]]] = {
    getattr(cst, kind.__name__): (kind, kind.fields)
    for kind in (
        nodes.Name,
        nodes.Integer,
        nodes.Float,
        nodes.Imaginary,
        nodes.SimpleString,
        nodes.Ellipsis,
        nodes.ConcatenatedString,
        nodes.FormattedStringText,
        nodes.FormattedString,
        nodes.DictElement,
        nodes.StarredDictElement,
        nodes.Dict,
        nodes.GeneratorExp,
        nodes.ListComp,
        nodes.SetComp,
        nodes.DictComp,
        nodes.Slice,
        nodes.Call,
        nodes.IfExp,
        nodes.Lambda,
        nodes.Await,
        nodes.NamedExpr,
        nodes.Expr,
        nodes.Del,
        nodes.Return,
        nodes.Pass,
        nodes.Break,
        nodes.Continue,
        nodes.Assert,
        nodes.Match,
        nodes.MatchValue,
        nodes.MatchSingleton,
        nodes.MatchMappingElement,
    )
}


def _text_of(name: Any) -> str | None:
    """What a name that may be left out is."""
    return None if name is None else str(name.value)


def _other(lowering: _Lowering, tree: Any) -> nodes.Node:
    parts = tuple(map(lowering.node, _inside(tree)))
    if isinstance(tree, cst.BaseExpression):
        return nodes.OtherExpression(type(tree).__name__, parts)
    if isinstance(tree, cst.MatchPattern):
        return nodes.OtherPattern(type(tree).__name__, parts)
    return nodes.OtherStatement(type(tree).__name__, parts)


_LOWERED = (cst.BaseExpression, cst.CompFor, cst.MatchPattern)


def _inside(tree: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for child in tree.children:
        if isinstance(child, _LOWERED):
            yield child
        else:
            yield from _inside(child)


def _elements(
    make: type[nodes.Tuple] | type[nodes.List] | type[nodes.Set],
) -> Callable[[_Lowering, Any], nodes.Expression]:
    def found(lowering: _Lowering, tree: Any) -> nodes.Expression:
        return make(tuple(_element(lowering, each) for each in tree.elements))

    return found


def _element(lowering: _Lowering, tree: Any) -> nodes.Expression:
    value: nodes.Expression = lowering.node(tree.value)
    return nodes.Starred(value) if type(tree) is cst.StarredElement else value


def _formatted(lowering: _Lowering, tree: cst.FormattedStringExpression) -> nodes.Node:
    written = None
    if tree.equal is not None:
        code = cst.Module([]).code_for_node
        before, after = tree.whitespace_before_expression, tree.whitespace_after_expression
        equal = f"{code(tree.equal.whitespace_before)}={code(tree.equal.whitespace_after)}"
        written = f"{code(before)}{code(tree.expression)}{code(after)}{equal}"
    spec = lowering.all(tree.format_spec or ())
    return nodes.FormattedStringExpression(lowering.node(tree.expression), tree.conversion, spec, written)


def _comp_for(lowering: _Lowering, tree: cst.CompFor) -> nodes.Node:
    return nodes.CompFor(
        lowering.node(tree.target),
        lowering.node(tree.iter),
        tuple(lowering.node(each.test) for each in tree.ifs),
        lowering.node(tree.inner_for_in),
        tree.asynchronous is not None,
    )


def _attribute(lowering: _Lowering, tree: cst.Attribute) -> nodes.Node:
    return nodes.Attribute(lowering.node(tree.value), tree.attr.value)


def _subscript(lowering: _Lowering, tree: cst.Subscript) -> nodes.Node:
    parts = [_index(lowering, each.slice) for each in tree.slice]
    is_one = len(parts) == 1 and type(tree.slice[0].comma) is not cst.Comma and type(parts[0]) is not nodes.Starred
    return nodes.Subscript(lowering.node(tree.value), parts[0] if is_one else nodes.Tuple(tuple(parts)))


def _index(lowering: _Lowering, tree: cst.BaseSlice) -> nodes.Expression:
    if not isinstance(tree, cst.Index):
        part: nodes.Expression = lowering.node(tree)
        return part
    value: nodes.Expression = lowering.node(tree.value)
    return nodes.Starred(value) if tree.star else value


def _arg(lowering: _Lowering, tree: cst.Arg) -> nodes.Node:
    return nodes.Arg(lowering.node(tree.value), _text_of(tree.keyword), tree.star)


_OPERATORS: dict[type[cst.CSTNode], str] = {}


def _operator(tree: Any) -> str:
    """Its text, with one space between two words; what stands around and inside it in the source left out."""
    kind = type(tree)
    found = _OPERATORS.get(kind)
    if found is None:
        found = _OPERATORS[kind] = " ".join(cst.Module([]).code_for_node(kind()).split())
    return found


def _unary(lowering: _Lowering, tree: cst.UnaryOperation) -> nodes.Node:
    return nodes.UnaryOperation(_operator(tree.operator), lowering.node(tree.expression))


def _binary(lowering: _Lowering, tree: cst.BinaryOperation | cst.BooleanOperation) -> nodes.Node:
    """A long chain leans to the left; a loop spares Python's stack."""
    kind = type(tree)
    make = nodes.BinaryOperation if kind is cst.BinaryOperation else nodes.BooleanOperation
    chain = [tree]
    while type(chain[-1].left) is kind:
        chain.append(chain[-1].left)
    found: nodes.Expression = lowering.node(chain[-1].left)
    for each in reversed(chain):
        found = make(found, _operator(each.operator), lowering.node(each.right))
        found.parenthesised = bool(each.lpar)
    return found


def _comparison(lowering: _Lowering, tree: cst.Comparison) -> nodes.Node:
    targets = tuple(
        nodes.ComparisonTarget(_operator(each.operator), lowering.node(each.comparator)) for each in tree.comparisons
    )
    return nodes.Comparison(lowering.node(tree.left), targets)


def _param(lowering: _Lowering, tree: cst.Param) -> nodes.Node:
    annotation = tree.annotation.annotation if tree.annotation is not None else None
    return nodes.Param(tree.name.value, lowering.node(annotation), lowering.node(tree.default))


def _parameters(lowering: _Lowering, tree: cst.Parameters) -> nodes.Node:
    return nodes.Parameters(
        lowering.all(tree.posonly_params),
        lowering.all(tree.params),
        lowering.node(tree.star_arg) if isinstance(tree.star_arg, cst.Param) else None,
        lowering.all(tree.kwonly_params),
        lowering.node(tree.star_kwarg),
    )


def _yield(lowering: _Lowering, tree: cst.Yield) -> nodes.Node:
    if isinstance(tree.value, cst.From):
        return nodes.Yield(lowering.node(tree.value.item), True)
    return nodes.Yield(lowering.node(tree.value), False)


def _assign(lowering: _Lowering, tree: cst.Assign) -> nodes.Node:
    targets = tuple(lowering.node(each.target) for each in tree.targets)
    return nodes.Assign(targets, lowering.node(tree.value))


def _ann_assign(lowering: _Lowering, tree: cst.AnnAssign) -> nodes.Node:
    annotation = lowering.node(tree.annotation.annotation)
    return nodes.AnnAssign(lowering.node(tree.target), annotation, lowering.node(tree.value))


def _aug_assign(lowering: _Lowering, tree: cst.AugAssign) -> nodes.Node:
    operator = _operator(tree.operator).removesuffix("=")
    return nodes.AugAssign(lowering.node(tree.target), operator, lowering.node(tree.value))


def _names(tree: cst.Global | cst.Nonlocal) -> tuple[str, ...]:
    return tuple(each.name.value for each in tree.names)


def _alias(lowering: _Lowering, tree: cst.ImportAlias) -> nodes.Node:
    name = _dotted(tree.name)
    asname = tree.asname.name.value if tree.asname is not None and isinstance(tree.asname.name, cst.Name) else None
    return nodes.ImportAlias(name, asname, asname or lowering.bound.get(id(tree), name.partition(".")[0]))


def _dotted(tree: cst.BaseExpression | None) -> str:
    if isinstance(tree, cst.Attribute):
        return f"{_dotted(tree.value)}.{tree.attr.value}"
    return tree.value if isinstance(tree, cst.Name) else ""


def _import(lowering: _Lowering, tree: cst.Import) -> nodes.Node:
    return nodes.Import(lowering.all(tree.names))


def _import_from(lowering: _Lowering, tree: cst.ImportFrom) -> nodes.Node:
    names = () if isinstance(tree.names, cst.ImportStar) else tree.names
    return nodes.ImportFrom(len(tree.relative), _dotted(tree.module), lowering.all(names))


def _raise(lowering: _Lowering, tree: cst.Raise) -> nodes.Node:
    return nodes.Raise(lowering.node(tree.exc), lowering.node(tree.cause.item if tree.cause is not None else None))


def _decorators(lowering: _Lowering, tree: cst.FunctionDef | cst.ClassDef) -> tuple[nodes.Expression, ...]:
    return tuple(lowering.node(each.decorator) for each in tree.decorators)


def _function(lowering: _Lowering, tree: cst.FunctionDef) -> nodes.Node:
    return nodes.FunctionDef(
        _decorators(lowering, tree),
        tree.asynchronous is not None,
        tree.name.value,
        lowering.bound.get(id(tree), tree.name.value),
        lowering.node(tree.params),
        lowering.node(tree.returns.annotation) if tree.returns is not None else None,
        lowering.block(tree.body.body),
        (),
    )


def _class(lowering: _Lowering, tree: cst.ClassDef) -> nodes.Node:
    return nodes.ClassDef(
        _decorators(lowering, tree),
        tree.name.value,
        lowering.bound.get(id(tree), tree.name.value),
        lowering.all(tree.bases),
        lowering.all(tree.keywords),
        lowering.block(tree.body.body),
    )


def _rest(lowering: _Lowering, tree: cst.Else | cst.Finally | None) -> nodes.Block:
    return lowering.block(tree.body.body) if tree is not None else ()


def _if(lowering: _Lowering, tree: cst.If) -> nodes.Node:
    """A long chain of `elif` is gone through by a loop, which spares Python's stack."""
    chain = [tree]
    while isinstance(chain[-1].orelse, cst.If):
        chain.append(chain[-1].orelse)
    last = chain[-1].orelse
    rest = _rest(lowering, last if isinstance(last, cst.Else) else None)
    for each in reversed(chain):
        rest = (nodes.If(each is not tree, lowering.node(each.test), lowering.block(each.body.body), rest),)
    return rest[0]


def _for(lowering: _Lowering, tree: cst.For) -> nodes.Node:
    return nodes.For(
        tree.asynchronous is not None,
        lowering.node(tree.target),
        lowering.node(tree.iter),
        lowering.block(tree.body.body),
        _rest(lowering, tree.orelse),
    )


def _while(lowering: _Lowering, tree: cst.While) -> nodes.Node:
    return nodes.While(lowering.node(tree.test), lowering.block(tree.body.body), _rest(lowering, tree.orelse))


def _with(lowering: _Lowering, tree: cst.With) -> nodes.Node:
    items = tuple(
        nodes.WithItem(lowering.node(each.item), lowering.node(each.asname.name if each.asname is not None else None))
        for each in tree.items
    )
    return nodes.With(tree.asynchronous is not None, items, lowering.block(tree.body.body))


def _try(lowering: _Lowering, tree: cst.Try | cst.TryStar) -> nodes.Node:
    return nodes.Try(
        lowering.block(tree.body.body),
        tuple(_handler(lowering, each) for each in tree.handlers),
        _rest(lowering, tree.orelse),
        _rest(lowering, tree.finalbody),
        isinstance(tree, cst.TryStar),
    )


def _handler(lowering: _Lowering, tree: cst.ExceptHandler | cst.ExceptStarHandler) -> nodes.Node:
    name = tree.name.name if tree.name is not None else None
    bound = name.value if isinstance(name, cst.Name) else None
    return nodes.ExceptHandler(lowering.node(tree.type), bound, lowering.block(tree.body.body))


def _case(lowering: _Lowering, tree: cst.MatchCase) -> nodes.Node:
    return nodes.MatchCase(lowering.node(tree.pattern), lowering.node(tree.guard), lowering.block(tree.body.body))


def _match_as(lowering: _Lowering, tree: cst.MatchAs) -> nodes.Node:
    return nodes.MatchAs(lowering.node(tree.pattern), _text_of(tree.name))


def _match_or(lowering: _Lowering, tree: cst.MatchOr) -> nodes.Node:
    return nodes.MatchOr(tuple(lowering.node(each.pattern) for each in tree.patterns))


def _match_each(lowering: _Lowering, trees: Sequence[Any]) -> tuple[nodes.Pattern, ...]:
    return tuple(lowering.node(each if isinstance(each, cst.MatchStar) else each.value) for each in trees)


def _match_sequence(lowering: _Lowering, tree: cst.MatchList | cst.MatchTuple) -> nodes.Node:
    return nodes.MatchSequence(_match_each(lowering, tree.patterns))


def _match_mapping(lowering: _Lowering, tree: cst.MatchMapping) -> nodes.Node:
    return nodes.MatchMapping(lowering.all(tree.elements), _text_of(tree.rest))


def _match_class(lowering: _Lowering, tree: cst.MatchClass) -> nodes.Node:
    kwds = tuple(nodes.MatchKeywordElement(each.key.value, lowering.node(each.pattern)) for each in tree.kwds)
    return nodes.MatchClass(lowering.node(tree.cls), _match_each(lowering, tree.patterns), kwds)


_BY_KIND: dict[type[cst.CSTNode], Callable[[_Lowering, Any], nodes.Node]] = {
    cst.Tuple: _elements(nodes.Tuple),
    cst.List: _elements(nodes.List),
    cst.Set: _elements(nodes.Set),
    cst.StarredElement: _element,
    cst.FormattedStringExpression: _formatted,
    cst.CompFor: _comp_for,
    cst.Attribute: _attribute,
    cst.Subscript: _subscript,
    cst.Arg: _arg,
    cst.UnaryOperation: _unary,
    cst.BinaryOperation: _binary,
    cst.BooleanOperation: _binary,
    cst.Comparison: _comparison,
    cst.Param: _param,
    cst.Parameters: _parameters,
    cst.Yield: _yield,
    cst.Assign: _assign,
    cst.AnnAssign: _ann_assign,
    cst.AugAssign: _aug_assign,
    cst.Global: lambda _, tree: nodes.Global(_names(tree)),
    cst.Nonlocal: lambda _, tree: nodes.Nonlocal(_names(tree)),
    cst.ImportAlias: _alias,
    cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.Raise: _raise,
    cst.FunctionDef: _function,
    cst.ClassDef: _class,
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.With: _with,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.MatchCase: _case,
    cst.MatchAs: _match_as,
    cst.MatchStar: lambda _, tree: nodes.MatchStar(_text_of(tree.name)),
    cst.MatchOr: _match_or,
    cst.MatchList: _match_sequence,
    cst.MatchTuple: _match_sequence,
    cst.MatchMapping: _match_mapping,
    cst.MatchClass: _match_class,
}


# ---- private names ---------------------------------------------------------------------------------------------------


def _spell(tree: cst.CSTNode, class_name: str | None) -> dict[int, str]:
    """Spells the names of a tree as Python does.

    Returns:
        By id of a definition, or of a part of `import a.b`, what it binds, where that is not what is written.
    """
    bound: dict[int, str] = {}
    pending: list[tuple[cst.CSTNode, str | None]] = [(tree, class_name)]
    while pending:
        node, owner = pending.pop()
        if isinstance(node, cst.Name):
            # No other holds a node of a tree that was just parsed.
            object.__setattr__(node, "value", spelled(node.value, owner))
            continue
        pending.extend(_parts(node, owner, bound))
    return bound


def _parts(node: cst.CSTNode, owner: str | None, bound: dict[int, str]) -> Iterator[tuple[cst.CSTNode, str | None]]:
    left: tuple[object, ...] = ()
    inside: object = None
    if isinstance(node, (cst.ClassDef, cst.FunctionDef)):
        left = (node.name,)
        object.__setattr__(node.name, "value", spelled(node.name.value, None))
        bound[id(node)] = mangled(node.name.value, owner)
        inside = node.body if isinstance(node, cst.ClassDef) else None
    elif isinstance(node, cst.Arg):
        left = (node.keyword,)
    elif isinstance(node, cst.MatchKeywordElement):
        left = (node.key,)
    elif isinstance(node, cst.ImportAlias) and isinstance(node.name, cst.Attribute):
        left = (node.name,)
        bound[id(node)] = mangled(_dotted(node.name).partition(".")[0], owner)
    elif isinstance(node, cst.ImportFrom) and isinstance(node.module, cst.Attribute):
        left = (node.module,)
    for each in left:
        if isinstance(each, cst.CSTNode):
            yield each, None
    for child in node.children:
        if not any(child is each for each in left):
            yield child, node.name.value if child is inside and isinstance(node, cst.ClassDef) else owner


# ---- lines, and local names ------------------------------------------------------------------------------------------


def _place(statements: nodes.Block, text: str, is_indented: bool, class_name: str | None, is_private: bool) -> None:
    """Tells statements and calls their lines, and functions what they bind; nothing where Python cannot parse it."""
    try:
        tree = python_tree(text)
    except (SyntaxError, ValueError):
        return
    if is_private:
        mangle_syntax(tree, class_name)
    body = tree.body
    if is_indented:
        outer = body[0]
        assert isinstance(outer, ast.If)
        body = outer.body
    pending: list[tuple[Sequence[nodes.Statement], Sequence[ast.stmt]]] = [(statements, body)]
    first = 2 if is_indented else 1
    while pending:
        block, twins = pending.pop()
        for statement, twin in zip(block, twins, strict=False):
            statement.line = twin.lineno - first
            if twin.end_lineno != twin.lineno:
                _place_calls(statement, twin, first)
            if isinstance(statement, nodes.FunctionDef) and isinstance(twin, (ast.FunctionDef, ast.AsyncFunctionDef)):
                statement.local_names = tuple(sorted(_local_names(twin)))
            if isinstance(statement, nodes.Match) and isinstance(twin, ast.Match):
                _place_cases(statement, twin, first)
            pending.extend(_blocks(statement, twin))


def _blocks(statement: nodes.Node, twin: ast.AST) -> Iterator[tuple[Sequence[nodes.Statement], Sequence[ast.stmt]]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, ())
        if isinstance(block, tuple):
            yield block, getattr(twin, field, ())
    for field in ("handlers", "cases"):
        for part, other in zip(getattr(statement, field, ()), getattr(twin, field, ()), strict=False):
            yield part.body, other.body


def _place_cases(statement: nodes.Match, twin: ast.Match, first: int) -> None:
    for case, other in zip(statement.cases, twin.cases, strict=False):
        case.line = other.pattern.lineno - first
        if other.guard is not None and other.guard.end_lineno != other.pattern.lineno:
            _place_calls(case, other, first)


def _place_calls(statement: nodes.AtLine, twin: ast.stmt | ast.match_case, first: int) -> None:
    """The calls of one statement outside its blocks are those of its twin, in the order of their closing brackets."""
    calls = _calls(statement)
    twins = sorted(
        (node for node in _walk_expressions(twin) if isinstance(node, ast.Call)),
        key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0),
    )
    if len(calls) == len(twins):
        for call, other in zip(calls, twins, strict=True):
            call.line = _begin(other) - first


def _begin(node: ast.Call) -> int:
    """The line of what is called: of `a\\n.b()` that of `.b`."""
    function = node.func
    return (function.end_lineno or node.lineno) if isinstance(function, ast.Attribute) else node.lineno


def _walk_expressions(statement: ast.AST) -> Iterator[ast.AST]:
    pending: list[ast.AST] = [statement]
    while pending:
        for child in ast.iter_child_nodes(pending.pop()):
            if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                yield child
                pending.append(child)


def _calls(statement: nodes.AtLine) -> list[nodes.Call]:
    """Those inside it, each after those in its arguments."""
    found: list[nodes.Call] = []
    pending: list[nodes.Node] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, nodes.Call):
            found.append(node)
        pending.extend(
            child
            for child in node.children
            if not isinstance(child, (nodes.Statement, nodes.ExceptHandler, nodes.MatchCase))
        )
    return found[::-1]


def _local_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Names that the body of a function binds, those it declares global or nonlocal left out."""
    found: set[str] = set()
    elsewhere: set[str] = set()
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(bound_as(node))
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            elsewhere.update(node.names)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update(map(imported_as, node.names))
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            found.update(_walruses(node))
        elif isinstance(node, ast.Lambda):
            pending.append(node.args)
        else:
            bound = getattr(node, "name", None) or getattr(node, "rest", None)
            if isinstance(bound, str):  # `except ... as name`, and the captures of a `match`
                found.add(bound)
            pending.extend(ast.iter_child_nodes(node))
    return frozenset(found - elsewhere)


def _walruses(comprehension: ast.AST) -> Iterator[str]:
    """Names that `:=` in a comprehension binds around it; that in a lambda binds a name of the lambda."""
    pending = [comprehension]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.NamedExpr):
            yield node.target.id
        pending.extend(ast.iter_child_nodes(node.args if isinstance(node, ast.Lambda) else node))
