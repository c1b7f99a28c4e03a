"""The text of an expression, as its author wrote it but for spaces, line breaks and comments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from modgraph.source import nodes


def code_text(node: nodes.Node) -> str:
    """Python that means the same; parentheses, quotes and numbers are those of the source."""
    if isinstance(node, nodes.Literal | nodes.Name):
        text: str = node.value
    else:
        writer = _WRITERS.get(type(node))
        text = writer(node) if writer is not None else "..."
    return f"({text})" if isinstance(node, nodes.Expression) and node.parenthesised else text


def _all(parts: Iterable[nodes.Node]) -> str:
    return ", ".join(map(code_text, parts))


def _tuple(node: nodes.Tuple) -> str:
    return _all(node.elements) + ("," if len(node.elements) == 1 else "")


def _formatted(node: nodes.FormattedString) -> str:
    quote = node.start.lstrip("fFrR")
    return node.start + "".join(map(code_text, node.parts)) + quote


def _replaced(node: nodes.FormattedStringExpression) -> str:
    conversion = f"!{node.conversion}" if node.conversion else ""
    spec = f":{''.join(map(code_text, node.format_spec))}" if node.format_spec else ""
    text = node.written or code_text(node.expression)
    return f"{{{' ' if text.startswith('{') else ''}{text}{conversion}{spec}}}"


def _comp_for(node: nodes.CompFor) -> str:
    conditions = "".join(f" if {code_text(each)}" for each in node.ifs)
    inner = f" {code_text(node.inner_for_in)}" if node.inner_for_in is not None else ""
    word = "async for" if node.is_async else "for"
    return f"{word} {code_text(node.target)} in {code_text(node.iter)}{conditions}{inner}"


def _of_comprehension(node: nodes.SimpleComp) -> str:
    return f"{code_text(node.elt)} {code_text(node.for_in)}"


def _dict_comp(node: nodes.DictComp) -> str:
    return f"{{{code_text(node.key)}: {code_text(node.value)} {code_text(node.for_in)}}}"


def _slice(node: nodes.Slice) -> str:
    lower, upper, step = ("" if each is None else code_text(each) for each in (node.lower, node.upper, node.step))
    return f"{lower}:{upper}" + (f":{step}" if step else "")


def _arg(node: nodes.Arg) -> str:
    return f"{node.star}{node.keyword + '=' if node.keyword else ''}{code_text(node.value)}"


def _unary(node: nodes.UnaryOperation) -> str:
    return f"{node.operator}{' ' if node.operator == 'not' else ''}{code_text(node.expression)}"


def _binary(node: nodes.BinaryOperation | nodes.BooleanOperation) -> str:
    """A long chain leans to the left; a loop spares Python's stack."""
    parts: list[str] = []
    left: nodes.Expression = node
    while isinstance(left, type(node)) and (left is node or not left.parenthesised):
        parts.append(f" {left.operator} {code_text(left.right)}")
        left = left.left
    return code_text(left) + "".join(reversed(parts))


def _comparison(node: nodes.Comparison) -> str:
    rest = (f" {each.operator} {code_text(each.comparator)}" for each in node.comparisons)
    return code_text(node.left) + "".join(rest)


def _param(node: nodes.Param) -> str:
    annotation = f": {code_text(node.annotation)}" if node.annotation is not None else ""
    equal = " = " if annotation else "="
    return node.name + annotation + (f"{equal}{code_text(node.default)}" if node.default is not None else "")


def _parameters(node: nodes.Parameters) -> str:
    parts = [code_text(each) for each in node.posonly_params]
    parts += ["/"] if parts else []
    parts += map(code_text, node.params)
    if node.star_arg is not None:
        parts.append(f"*{code_text(node.star_arg)}")
    elif node.kwonly_params:
        parts.append("*")
    parts += map(code_text, node.kwonly_params)
    parts += [f"**{code_text(node.star_kwarg)}"] if node.star_kwarg is not None else []
    return ", ".join(parts)


def _lambda(node: nodes.Lambda) -> str:
    parameters = code_text(node.params)
    return f"lambda{' ' if parameters else ''}{parameters}: {code_text(node.body)}"


def _yield(node: nodes.Yield) -> str:
    value = f" {code_text(node.value)}" if node.value is not None else ""
    return f"yield{' from' if node.is_from else ''}{value}"


_WRITERS: dict[type[nodes.Node], Callable[[Any], str]] = {
    nodes.Ellipsis: lambda _: "...",
    nodes.ConcatenatedString: lambda node: f"{code_text(node.left)} {code_text(node.right)}",
    nodes.FormattedStringText: lambda node: node.value,
    nodes.FormattedStringExpression: _replaced,
    nodes.FormattedString: _formatted,
    nodes.Starred: lambda node: f"*{code_text(node.value)}",
    nodes.Tuple: _tuple,
    nodes.List: lambda node: f"[{_all(node.elements)}]",
    nodes.Set: lambda node: f"{{{_all(node.elements)}}}",
    nodes.DictElement: lambda node: f"{code_text(node.key)}: {code_text(node.value)}",
    nodes.StarredDictElement: lambda node: f"**{code_text(node.value)}",
    nodes.Dict: lambda node: f"{{{_all(node.elements)}}}",
    nodes.CompFor: _comp_for,
    nodes.GeneratorExp: _of_comprehension,
    nodes.ListComp: lambda node: f"[{_of_comprehension(node)}]",
    nodes.SetComp: lambda node: f"{{{_of_comprehension(node)}}}",
    nodes.DictComp: _dict_comp,
    nodes.Attribute: lambda node: f"{code_text(node.value)}.{node.attr}",
    nodes.Slice: _slice,
    nodes.Subscript: lambda node: f"{code_text(node.value)}[{code_text(node.slice)}]",
    nodes.Arg: _arg,
    nodes.Call: lambda node: f"{code_text(node.func)}({_all(node.args)})",
    nodes.UnaryOperation: _unary,
    nodes.BinaryOperation: _binary,
    nodes.BooleanOperation: _binary,
    nodes.Comparison: _comparison,
    nodes.IfExp: lambda node: f"{code_text(node.body)} if {code_text(node.test)} else {code_text(node.orelse)}",
    nodes.Param: _param,
    nodes.Parameters: _parameters,
    nodes.Lambda: _lambda,
    nodes.Await: lambda node: f"await {code_text(node.expression)}",
    nodes.Yield: _yield,
    nodes.NamedExpr: lambda node: f"{code_text(node.target)} := {code_text(node.value)}",
}
