"""Which parts of Python the rule on what was left out reads: whatever else stands in a statement is a doubt.

Names are read and bound by `side_effects.py`; here stands, for each kind of a node, which of its fields are read there.
A field that is not among them has to be empty, so that a newer Python, too, adds nothing unseen.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

READ_FIELDS: Mapping[type[ast.AST], tuple[str, ...]] = {
    # Statements.
    ast.Expr: ("value",),
    ast.Return: ("value",),
    ast.Assign: ("targets", "value", "type_comment"),
    ast.AnnAssign: ("target", "annotation", "value", "simple"),
    ast.AugAssign: ("target", "op", "value"),
    ast.If: ("test", "body", "orelse"),
    ast.While: ("test", "body", "orelse"),
    ast.For: ("target", "iter", "body", "orelse", "type_comment"),
    ast.With: ("items", "body", "type_comment"),
    ast.Try: ("body", "handlers", "orelse", "finalbody"),
    ast.Raise: ("exc", "cause"),
    ast.Assert: ("test", "msg"),
    ast.Import: ("names",),
    ast.ImportFrom: ("module", "names", "level"),
    ast.FunctionDef: ("name", "args", "body", "decorator_list", "returns", "type_comment"),
    ast.AsyncFunctionDef: ("name", "args", "body", "decorator_list", "returns", "type_comment"),
    ast.ClassDef: ("name", "bases", "body"),
    ast.Pass: (),
    ast.Break: (),
    ast.Continue: (),
    # Expressions.
    ast.Constant: ("value", "kind"),
    ast.Name: ("id", "ctx"),
    ast.Attribute: ("value", "attr", "ctx"),
    ast.Subscript: ("value", "slice", "ctx"),
    ast.Slice: ("lower", "upper", "step"),
    ast.Tuple: ("elts", "ctx"),
    ast.List: ("elts", "ctx"),
    ast.Set: ("elts",),
    ast.Dict: ("keys", "values"),
    ast.JoinedStr: ("values",),
    ast.FormattedValue: ("value", "conversion", "format_spec"),
    ast.BoolOp: ("op", "values"),
    ast.UnaryOp: ("op", "operand"),
    ast.BinOp: ("left", "op", "right"),
    ast.Compare: ("left", "ops", "comparators"),
    ast.IfExp: ("test", "body", "orelse"),
    ast.Call: ("func", "args", "keywords"),
    ast.ListComp: ("elt", "generators"),
    ast.SetComp: ("elt", "generators"),
    ast.GeneratorExp: ("elt", "generators"),
    ast.DictComp: ("key", "value", "generators"),
    ast.Yield: ("value",),
    ast.Lambda: ("args", "body"),
    ast.Starred: ("value", "ctx"),
    # Parts of these.
    ast.comprehension: ("target", "iter", "ifs"),
    ast.withitem: ("context_expr", "optional_vars"),
    ast.ExceptHandler: ("type", "name", "body"),
    ast.alias: ("name", "asname"),
    ast.keyword: ("arg", "value"),
    ast.arguments: ("posonlyargs", "args", "vararg", "kwonlyargs", "kw_defaults", "kwarg", "defaults"),
    ast.arg: ("arg", "annotation", "type_comment"),
}
_FIELDLESS = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)


def unread_part(node: ast.AST) -> str | None:
    """What of a node, its own statements and expressions apart, is not read; None where all is."""
    pending: list[ast.AST] = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, _FIELDLESS) and not each._fields:
            continue
        fields = READ_FIELDS.get(type(each))
        if fields is None:
            return type(each).__name__
        for field in each._fields:
            value = getattr(each, field, None)
            if value and field not in fields:
                return f"{type(each).__name__}.{field}"
            inner = value if isinstance(value, list) else [value]
            pending += [one for one in inner if isinstance(one, ast.AST) and not isinstance(one, ast.stmt | ast.expr)]
    return None
