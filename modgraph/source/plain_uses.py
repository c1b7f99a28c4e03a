"""Which attributes of a class are used as numbers and texts alone: what every statement of its methods does with them.

`self.width = width` says nothing of what `width` is; `width // 2` and `range(self.width)` do: no module can be divided.
An attribute is plain where one use at least is of that kind, and no use is one that a module could be meant for: a call
of it, an attribute of it, an argument of a function that is not known. `1 + self.width`, in a method other than the
constructor, says less: a parameter may be added too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from modgraph.names import last_name
from modgraph.source.quiet import python_tree

Verdict = Literal["number", "arithmetic", "neutral", "other"]
"""What a use says: a number, text or flag; a number or tensor; nothing; it may be anything."""
Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"

_ALWAYS_NUMBERS = (ast.FloorDiv, ast.Mod)
_LAYERS = frozenset(
    [
        f"{kind}{rank}d"
        for kind in ("Conv", "ConvTranspose", "BatchNorm", "InstanceNorm", "Dropout")
        for rank in (1, 2, 3)
    ]
    + [f"{kind}Pool{rank}d" for kind in ("Max", "Avg", "AdaptiveAvg", "AdaptiveMax") for rank in (1, 2, 3)]
    + [
        "Linear",
        "Bilinear",
        "Embedding",
        "EmbeddingBag",
        "LayerNorm",
        "RMSNorm",
        "GroupNorm",
        "Dropout",
        "AlphaDropout",
    ]
    + ["MultiheadAttention", "LSTM", "GRU", "LSTMCell", "GRUCell", "Softmax", "LeakyReLU", "PixelShuffle", "Flatten"]
)
"""Of torch, those whose arguments are numbers, texts and flags."""
_OF_NUMBERS = frozenset(["range", "int", "float", "round", "divmod", "math"])
_MAKING = frozenset(["zeros", "ones", "empty", "rand", "randn", "arange", "linspace", "full", "eye", "randint"])
_NOT_TELLING = frozenset(["print", "str", "repr", "bool", "min", "max", "abs"])
"""Functions that are given numbers, and tensors or anything at all, and keep nothing of it."""
_RESHAPING = (
    "view",
    "reshape",
    "expand",
    "repeat",
    "transpose",
    "permute",
    "flatten",
    "unflatten",
    "unsqueeze",
    "squeeze",
)
_OF_TENSORS = frozenset([*_RESHAPING, "chunk", "split", "sum", "mean", "softmax", "size", "format", "join"])
_TAKING_MODULES = frozenset(["compile", "save", "vmap"])
_OF_TEXTS = frozenset(["lower", "upper", "startswith", "endswith", "strip", "replace", "format", "split", "title"])


@dataclass(slots=True)
class _Uses:
    """What is known of one attribute."""

    verdicts: set[Verdict] = field(default_factory=set)
    aliases: list[str] = field(default_factory=list)
    """Other attributes that are given the same."""
    sources: list[_Uses] = field(default_factory=list)
    """What is done with what it is given, shared by all attributes that are given it."""


Uses: TypeAlias = "Mapping[str, _Uses]"
_ANY = "*"
"""In place of a name that is computed."""


Known = Literal["number", "no module", "unknown"]


def kinds(found: Sequence[Uses]) -> dict[str, Known]:
    """What attributes are by all that classes do with them, of which one is derived from the other."""
    known: dict[str, Known] = {}
    computed = any(_ANY in uses for uses in found)
    for name in (each for uses in found for each in uses):
        if name not in known:
            together, verdicts = _together(name, found)
            kind: Known = "number" if "number" in verdicts else "no module" if "arithmetic" in verdicts else "unknown"
            known.update(dict.fromkeys(together, "unknown" if computed or "other" in verdicts else kind))
    return known


def _together(name: str, found: Sequence[Uses]) -> tuple[set[str], set[Verdict]]:
    """The attributes that are the same as this one, and what all uses of them say."""
    names, verdicts, seen = {name}, set[Verdict](), set[int]()
    pending = [uses[name] for uses in found if name in uses]
    while pending:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        verdicts |= each.verdicts
        pending += each.sources
        for alias in each.aliases:
            if alias not in names:
                names.add(alias)
                pending += [uses[alias] for uses in found if alias in uses]
    return names, verdicts


def uses_in(text: str) -> Mapping[str, _Uses]:
    """By attribute of the instance, what the methods of a class do with it; of a text that is no Python, nothing."""
    try:
        (statement,) = python_tree(text if not text[:1].isspace() else f"if 1:\n{text}").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    while isinstance(statement, ast.If):
        statement = statement.body[0]
    found: dict[str, _Uses] = {}
    for method in statement.body if isinstance(statement, ast.ClassDef) else ():
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _Method(method, found).read()
    return found


class _Method:
    """One method, whose uses are added to those of its class."""

    def __init__(self, function: Function, found: dict[str, _Uses]) -> None:
        self.function = function
        self.found = found
        first = [*function.args.posonlyargs, *function.args.args][:1]
        self.receiver = first[0].arg if first else ""
        self.nodes = list(ast.walk(function))
        self.parents = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self.given: dict[object, _Uses] = {}
        """By the text of what attributes are given, and by the statement that gives it to several."""
        self.by_text: dict[str, list[ast.expr]] = {}
        """What is read, by its dotted text."""
        self.by_name: dict[str, list[ast.Name | ast.arg]] = {}
        """What is stored, and parameters of functions inside."""
        for node in self.nodes:
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                self.by_text.setdefault(_dotted(node), []).append(node)
            elif isinstance(node, ast.Name):
                self.by_name.setdefault(node.id, []).append(node)
            elif isinstance(node, ast.arg) and self.parents.get(node) is not function.args:
                self.by_name.setdefault(node.arg, []).append(node)

    def read(self) -> None:
        for node in self.nodes:
            if isinstance(node, ast.Call):
                self._read_by_name(node)
            if not isinstance(node, ast.Attribute) or not _is_name(node.value, self.receiver):
                continue
            uses = self.found.setdefault(node.attr, _Uses())
            if isinstance(node.ctx, ast.Load):
                uses.verdicts.add(self._verdict(node, uses))
            elif isinstance(node.ctx, ast.Store):
                uses.verdicts |= self._stored(node, uses)

    def _read_by_name(self, node: ast.Call) -> None:
        """`getattr(self, name)`, `vars(self)`: what is done with the attribute is not looked at."""
        if not (isinstance(node.func, ast.Name) and node.args and _is_name(node.args[0], self.receiver)):
            return
        if node.func.id in ("getattr", "setattr", "delattr", "vars"):
            name = node.args[1] if len(node.args) > 1 else None
            known = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else _ANY
            self.found.setdefault(known, _Uses()).verdicts.add("other")

    def _stored(self, target: ast.Attribute, uses: _Uses) -> set[Verdict]:
        statement = self.parents[target]
        if isinstance(statement, ast.AugAssign):
            return {"arithmetic" if _is_arithmetic(statement.op) else "neutral"}
        value = getattr(statement, "value", None)
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or value is None:
            return {"neutral"}
        self._note_aliases(statement, uses)
        if _makes_number(value):
            return {"arithmetic"}
        text = _dotted(value)
        if text:
            uses.sources.append(self._given(text))
        return {"neutral"}

    def _note_aliases(self, statement: ast.Assign | ast.AnnAssign, uses: _Uses) -> bool:
        """Adds the attributes that are given the value; whether it is given to these alone."""
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if statement not in self.given:
            own = [each for each in targets if isinstance(each, ast.Attribute) and _is_name(each.value, self.receiver)]
            self.given[statement] = _Uses(aliases=[each.attr for each in own])
        uses.sources.append(self.given[statement])
        return len(self.given[statement].aliases) == len(targets)

    def _given(self, text: str) -> _Uses:
        """What is done, in this method, with what attributes are given: a parameter, or `config.width`."""
        if text not in self.given:
            uses = self.given[text] = _Uses()
            uses.verdicts.update([self._verdict(node, uses) for node in self.by_text.get(text, ())])
            for node in self.by_name.get(text.partition(".")[0], ()):  # else another thing of that name
                uses.verdicts.add(self._rebound(node) if isinstance(node, ast.Name) else "other")
        return self.given[text]

    def _rebound(self, target: ast.Name) -> Verdict:
        statement = self.parents[target]
        always = self.parents.get(statement) is self.function
        if isinstance(statement, ast.AugAssign):
            return "arithmetic" if always and _is_arithmetic(statement.op) else "other"
        if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
            return "other"
        if _makes_number(statement.value):
            return "arithmetic" if always else "neutral"
        leaves = list(_alternatives(statement.value))
        same = all(isinstance(each, ast.Constant) or _is_name(each, target.id) for each in leaves)
        return "neutral" if same else "other"

    def _verdict(self, node: ast.expr, uses: _Uses) -> Verdict:
        """What a use says of the value."""
        around = self.parents[node]
        if isinstance(around, ast.BinOp):
            return self._of_arithmetic(around, node)
        if isinstance(around, ast.UnaryOp):
            return "neutral" if isinstance(around.op, ast.Not) else self._computed
        if isinstance(around, ast.Compare):
            return self._of_comparison(around)
        if isinstance(around, ast.BoolOp) or (isinstance(around, ast.IfExp) and node is not around.test):
            return self._verdict(around, uses)
        if isinstance(around, (ast.IfExp, ast.If, ast.While, ast.Assert, ast.FormattedValue, ast.Expr)):
            return "neutral"
        if isinstance(around, ast.Slice):
            return "number"
        if isinstance(around, ast.Subscript):
            return "neutral" if node is around.slice else "other"
        if isinstance(around, (ast.Assign, ast.AnnAssign)):
            alone = self._note_aliases(around, uses)
            renewed = isinstance(around, ast.Assign) and isinstance(around.targets[0], ast.Name)
            return "neutral" if alone or (renewed and isinstance(node, (ast.BoolOp, ast.IfExp))) else "other"
        if isinstance(around, ast.Attribute):
            call = self.parents[around]
            return (
                "number" if around.attr in _OF_TEXTS and isinstance(call, ast.Call) and call.func is around else "other"
            )
        return self._of_argument(node, around)

    def _of_arithmetic(self, around: ast.BinOp, node: ast.expr) -> Verdict:
        """In a constructor sizes are computed; elsewhere tensors, so that it may be a parameter."""
        left = around.left
        if isinstance(around.op, ast.Mod) and node is not left and isinstance(left, (ast.Constant, ast.JoinedStr)):
            return "neutral" if isinstance(getattr(left, "value", ""), str) else "number"
        if isinstance(around.op, _ALWAYS_NUMBERS):
            return "number"
        with_number = any(_is_number(each) for each in (around.left, around.right))
        in_constructor = self.function.name == "__init__" and not isinstance(around.op, ast.Add)
        return self._computed if with_number or in_constructor else "neutral"

    @property
    def _computed(self) -> Verdict:
        """What a computation says of what it is made with."""
        return "number" if self.function.name == "__init__" else "arithmetic"

    def _of_comparison(self, around: ast.Compare) -> Verdict:
        ordered = all(isinstance(each, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for each in around.ops)
        with_number = any(_is_number(each) for each in (around.left, *around.comparators))
        return self._computed if ordered and (with_number or self.function.name == "__init__") else "neutral"

    def _of_argument(self, node: ast.expr, around: ast.AST) -> Verdict:
        """Of an argument of a call, also within a tuple or list of sizes."""
        if isinstance(around, (ast.Tuple, ast.List)):
            inner = self.parents[around]
            return self._of_argument(around, inner) if isinstance(inner, (ast.Call, ast.keyword)) else "other"
        if isinstance(around, ast.keyword):
            around = self.parents[around]
        if not isinstance(around, ast.Call) or around.func is node:
            return "other"
        return _of_function(around.func)


def _of_function(function: ast.expr) -> Verdict:
    text = _dotted(function)
    root, _, rest = text.partition(".")
    last = last_name(rest)
    if text in (f"nn.{last}", f"torch.nn.{last}") and last in _LAYERS:
        return "number"
    if root in _OF_NUMBERS or (text == f"torch.{last}" and last in _MAKING):
        return "number"
    if text in _NOT_TELLING or text in (f"F.{last}", f"torch.nn.functional.{last}"):
        return "neutral"
    if text == f"torch.{last}":
        return "other" if last in _TAKING_MODULES else "neutral"
    is_method = isinstance(function, ast.Attribute) and function.attr in _OF_TENSORS
    return "neutral" if is_method else "other"


def _alternatives(value: ast.expr) -> Iterator[ast.expr]:
    """The expressions of which `a or b`, or `a if test else b`, gives one."""
    parts: Sequence[ast.expr] = ()
    if isinstance(value, ast.BoolOp):
        parts = value.values
    elif isinstance(value, ast.IfExp):
        parts = (value.body, value.orelse)
    for part in parts:
        yield from _alternatives(part)
    if not parts:
        yield value


def _makes_number(value: ast.expr) -> bool:
    """What it gives is a number, text or truth, or a tensor that is no parameter."""
    if isinstance(value, ast.BinOp):
        added = _is_number(value.left) or _is_number(value.right)
        return _is_arithmetic(value.op) or added or isinstance(value.left, ast.JoinedStr)
    if isinstance(value, ast.Call):
        return _dotted(value.func).partition(".")[0] in _OF_NUMBERS | {"len", "str", "bool", "min", "max"}
    if isinstance(value, ast.UnaryOp):
        return True
    return isinstance(value, (ast.Compare, ast.JoinedStr))


def _is_arithmetic(operator: ast.operator) -> bool:
    """Other than `+`, which joins lists of modules too."""
    return isinstance(operator, (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow))


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _dotted(node: ast.expr) -> str:
    """`a.b.c`; empty for anything else."""
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""
