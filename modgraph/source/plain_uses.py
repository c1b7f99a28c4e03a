"""Which attributes of a class are used as numbers and texts alone: what every statement of its methods does with them.

`self.width = width` says nothing of what `width` is; `width // 2` and `range(self.width)` do: no module can be divided.
An attribute is plain where one use at least is of that kind, and no use is one that a module could be meant for: a call
of it, an attribute of it, an argument of a function that is not known. `1 + self.width`, in a method other than the
constructor, says less: a parameter may be added too.

A use that every run of a constructor comes to (`nn.Linear(width, 2)`, not below an `if`) decides alone: what else is
done with the value does not matter, as the constructor would raise with a module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from modgraph.source.plain_functions import OF_MODULES, OF_NUMBERS, OF_TEXTS, Verdict, dotted_text, of_function
from modgraph.source.quiet import python_tree

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"

_ALWAYS_NUMBERS = (ast.FloorDiv, ast.Mod)
_TELLING: frozenset[Verdict] = frozenset(["certain", "number"])
_SHOWING = frozenset(["__repr__", "__str__"])
_EQUALITY = frozenset(["__eq__", "__ne__"])
_ALWAYS_EVALUATED = (
    ast.Expr,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.Call,
    ast.keyword,
    ast.BinOp,
    ast.UnaryOp,
    ast.Tuple,
    ast.List,
    ast.Attribute,
    ast.Subscript,
    ast.Slice,
    ast.Starred,
)
"""Nodes that evaluate all that stands in them."""


@dataclass(slots=True)
class _Uses:
    """What is known of one attribute."""

    verdicts: set[Verdict] = field(default_factory=set)
    aliases: list[str] = field(default_factory=list)
    """Other attributes that are given the same."""
    sources: list[_Uses] = field(default_factory=list)
    """What is done with what it is given, shared by all attributes that are given it."""
    read: set[str] = field(default_factory=set)
    """Names below it that are read, and are numbers, texts or flags by what is done with them."""
    stores: list[Stored] = field(default_factory=list)
    """What each statement that assigns it gives it."""
    is_attribute: bool = False
    """It is one of the attributes, and not what these are given."""
    is_given: bool = False
    """It is a value that attributes are given, by its text."""
    rebound: bool = False
    """Of what is given: it is another thing elsewhere in the method."""

    @property
    def is_certain(self) -> bool:
        """It is a number, text or flag, whatever else is done with it."""
        return "certain" in self.verdicts and not self.rebound


Uses: TypeAlias = "Mapping[str, _Uses]"
Stored = Literal["number", "constant", "computed", "multiplied", "other"]
"""What a statement assigns: a number; another constant; what arithmetic or a test gives, which is no module and no
parameter; a product, as `*` gives a Sequential of one too; anything."""
_ANY = "*"
"""In place of a name that is computed, behind the text with which it begins."""


Known = Literal["number", "no module", "object", "unknown"]
"""What an attribute is: a number, text or flag; that or a tensor; an object of which others are read, and that is no
module; it may be anything."""
_READ_OF_AN_OBJECT = 2
"""Numbers, texts and flags that are read of an object which nobody calls: options, not a module."""


def kinds(found: Sequence[Uses]) -> dict[str, Known]:
    """What attributes are by all that classes do with them, of which one is derived from the other."""
    known: dict[str, Known] = {}
    computed = tuple(each.removesuffix(_ANY) for uses in found for each in uses if each.endswith(_ANY))
    for name in (each for uses in found for each in uses):
        if name not in known:
            together, verdicts, read = _together(name, found)
            kind: Known = "unknown"
            if verdicts & _TELLING:
                kind = "number"
            elif "arithmetic" in verdicts:
                kind = "no module"
            if kind == "unknown" and len(read) >= _READ_OF_AN_OBJECT:
                kind = "object"
            if "other" in verdicts or (computed and any(each.startswith(computed) for each in together)):
                kind = "unknown"
            known.update(dict.fromkeys(together, kind))
    known.update((name, "object") for name in known if known[name] == "unknown" and _is_computed(name, found))
    known.update((name, "number") for name in known if _is_certain(name, found))
    return known


def _is_computed(name: str, found: Sequence[Uses]) -> bool:
    """All that the classes assign it are constants, and what arithmetic gives."""
    stores = {each for uses in found if name in uses for each in uses[name].stores}
    if "other" in stores or ("multiplied" in stores and "number" not in stores):
        return False
    return bool(stores & {"computed", "multiplied"})


def _is_certain(name: str, found: Sequence[Uses]) -> bool:
    """All that it is given are numbers, texts and flags, as the constructors that give them come to such a use."""
    here = [uses[name] for uses in found if name in uses]
    stores = [each for uses in here for each in uses.stores]
    if len(stores) == 1 and any("certain" in uses.verdicts for uses in here):
        return True
    sources = [each for uses in here for each in uses.sources if not each.aliases]
    return (
        bool(sources)
        and len(sources) + sum(each in ("number", "constant") for each in stores) == len(stores)
        and all(each.is_certain for each in sources)
    )


def _together(name: str, found: Sequence[Uses]) -> tuple[set[str], set[Verdict], set[str]]:
    """The attributes that are the same as this one, what all uses of them say, and what is read of them.

    That a constructor hands on what it was given says nothing where the attribute itself is used as a number: the veto
    of what is given to others is for the attribute. `if act == "relu"` of what it was given says nothing either: that
    may be a text or a module. Of an attribute with which nothing else is done it does.
    """
    names, verdicts, read, seen = {name}, set[Verdict](), set[str](), set[int]()
    own, silent = set[Verdict](), False
    pending = [uses[name] for uses in found if name in uses]
    while pending:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        verdicts |= each.verdicts
        own |= each.verdicts if each.is_attribute else set()
        silent = silent or (each.is_given and each.verdicts.isdisjoint((*_TELLING, "arithmetic")))
        read |= each.read
        pending += each.sources
        for alias in each.aliases:
            if alias not in names:
                names.add(alias)
                pending += [uses[alias] for uses in found if alias in uses]
    if silent:  # what one statement gives it says nothing of what another does
        verdicts = (verdicts - {*_TELLING, "arithmetic"}) | own
    if "asked" in own:
        verdicts.add("number")
    if "passed" in own or ("passed" in verdicts and not own & {"asked", *_TELLING} and not read):
        verdicts.add("other")
    return names, verdicts, read


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
        self.stored: dict[str, int] = {}
        """How often attributes are stored, by their dotted text."""
        for node in self.nodes:
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                self.by_text.setdefault(dotted_text(node), []).append(node)
            elif isinstance(node, ast.Attribute):
                self.stored[dotted_text(node)] = self.stored.get(dotted_text(node), 0) + 1
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
            uses = self.found.setdefault(node.attr, _Uses(is_attribute=True))
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
            first = name.values[0] if isinstance(name, ast.JoinedStr) and name.values else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                known = f"{first.value}{_ANY}"
            self.found.setdefault(known, _Uses(is_attribute=True)).verdicts.add("other")

    def _stored(self, target: ast.Attribute, uses: _Uses) -> set[Verdict]:
        statement = self.parents[target]
        value = getattr(statement, "value", None)
        uses.stores.append(_stored(statement))
        if isinstance(statement, ast.AugAssign):
            return {"arithmetic" if _is_arithmetic(statement.op) else "neutral"}
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or value is None:
            return {"neutral"}
        self._note_aliases(statement, uses)
        if _makes_number(value):
            return {"arithmetic"}
        text = dotted_text(value)
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
            uses = self.given[text] = _Uses(is_given=True)
            uses.verdicts.update([self._verdict(node, uses) for node in self.by_text.get(text, ())])
            for node in self.by_name.get(text.partition(".")[0], ()):  # else another thing of that name
                uses.verdicts.add(self._rebound(node) if isinstance(node, ast.Name) else "other")
                uses.rebound = True
            uses.rebound = uses.rebound or bool(self.stored.get(text))
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
        said = self._said(node, uses)
        return "certain" if said == "number" and self._is_come_to(node) else said

    def _is_come_to(self, node: ast.AST) -> bool:
        """Each run of the constructor that comes to its end evaluates it."""
        if self.function.name != "__init__" or self.function.decorator_list:
            return False
        while node is not self.function:
            node, inner = self.parents[node], node
            if not isinstance(node, _ALWAYS_EVALUATED) and node is not self.function:
                return False
        # What stands behind a `return` is not come to.
        return not any(isinstance(each, (ast.Return, ast.Yield)) for each in self.nodes) and inner in self.function.body

    def _said(self, node: ast.expr, uses: _Uses) -> Verdict:
        around = self.parents[node]
        if isinstance(around, ast.BinOp):
            return self._of_arithmetic(around, node)
        if isinstance(around, ast.AugAssign):
            return "arithmetic" if _is_arithmetic(around.op) else "neutral"
        if isinstance(around, ast.UnaryOp):
            return self._truth if isinstance(around.op, ast.Not) else self._computed
        if isinstance(around, ast.Compare):
            return self._of_comparison(around, node)
        if isinstance(around, ast.BoolOp) or (isinstance(around, ast.IfExp) and node is not around.test):
            return self._said(around, uses)
        if isinstance(around, ast.FormattedValue):
            return "neutral" if self.function.name in _SHOWING else "asked"
        if isinstance(around, (ast.IfExp, ast.If, ast.While, ast.Assert)):
            return self._truth if node is around.test else "neutral"
        if isinstance(around, ast.Expr):
            return "neutral"
        if isinstance(around, ast.Slice):
            return "number"
        if isinstance(around, ast.Subscript):
            return self._computed if node is around.slice else "other"
        if isinstance(around, ast.Tuple) and self._is_index(around):
            return "arithmetic"
        if isinstance(around, (ast.Assign, ast.AnnAssign)):
            alone = self._note_aliases(around, uses)
            renewed = isinstance(around, ast.Assign) and isinstance(around.targets[0], ast.Name)
            return "neutral" if alone or (renewed and isinstance(node, (ast.BoolOp, ast.IfExp))) else "other"
        if isinstance(around, ast.Attribute):
            return self._of_read(around, uses)
        return self._of_argument(node, around)

    @property
    def _truth(self) -> Verdict:
        """What a test of the truth says: it is a flag, where nothing else is done with it."""
        return "asked"

    def _of_read(self, node: ast.Attribute, uses: _Uses) -> Verdict:
        """Of the object of which an attribute is read."""
        call = self.parents[node]
        if isinstance(call, ast.Call) and call.func is node:
            return "number" if node.attr in OF_TEXTS else "other"
        if node.attr in OF_MODULES or not isinstance(node.ctx, ast.Load):
            return "other"
        inside = _Uses()
        said = self._said(node, inside)
        if said in ("number", "asked"):
            uses.read.add(dotted_text(node) or node.attr)
        uses.read |= inside.read
        return "other" if said == "other" and isinstance(call, ast.Attribute) else "neutral"

    def _is_index(self, node: ast.expr) -> bool:
        around = self.parents[node]
        return isinstance(around, ast.Subscript) and node is around.slice

    def _of_arithmetic(self, around: ast.BinOp, node: ast.expr) -> Verdict:
        """In a constructor sizes are computed; elsewhere tensors, so that it may be a parameter."""
        left = around.left
        if isinstance(around.op, ast.Mod) and node is not left and isinstance(left, (ast.Constant, ast.JoinedStr)):
            return "neutral" if isinstance(getattr(left, "value", ""), str) else "number"
        if isinstance(around.op, _ALWAYS_NUMBERS):
            return "number"
        with_number = any(_is_number(each) for each in (around.left, around.right))
        if with_number or (self.function.name == "__init__" and not isinstance(around.op, ast.Add)):
            return self._computed
        return "arithmetic" if _is_arithmetic(around.op) or isinstance(around.op, ast.MatMult) else "neutral"

    @property
    def _computed(self) -> Verdict:
        """What a computation says of what it is made with."""
        return "number" if self.function.name == "__init__" else "arithmetic"

    def _of_comparison(self, around: ast.Compare, node: ast.expr) -> Verdict:
        others = [each for each in (around.left, *around.comparators) if each is not node]
        ordered = all(isinstance(each, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for each in around.ops)
        equal = all(isinstance(each, (ast.Eq, ast.NotEq)) for each in around.ops)
        among = node is around.left and all(isinstance(each, (ast.In, ast.NotIn)) for each in around.ops)
        if (equal and all(map(_is_told, others))) or (among and all(map(_are_told, others))):
            return "asked" if self.function.name not in _EQUALITY else "neutral"
        if equal:
            return "arithmetic" if self.function.name not in ("__init__", *_EQUALITY) else "neutral"
        if ordered:
            with_number = any(map(_is_number, others))
            return self._computed if with_number or self.function.name == "__init__" else "arithmetic"
        return "neutral"

    def _of_argument(self, node: ast.expr, around: ast.AST) -> Verdict:
        """Of an argument of a call, also within a tuple or list of sizes."""
        if isinstance(around, (ast.Tuple, ast.List, ast.Starred)):
            inner = self.parents[around]
            return self._of_argument(around, inner) if isinstance(inner, (ast.Call, ast.keyword)) else "passed"
        keyword = around.arg if isinstance(around, ast.keyword) else None
        if isinstance(around, ast.keyword):
            around = self.parents[around]
        if not isinstance(around, ast.Call) or around.func is node:
            return "other"
        is_first = bool(around.args) and around.args[0] is node
        return of_function(around.func, keyword, is_first=is_first)


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


def _stored(statement: ast.AST) -> Stored:
    if isinstance(statement, ast.AugAssign):
        if isinstance(statement.op, ast.Mult):
            return "multiplied"
        return "computed" if _is_arithmetic(statement.op) or _is_number(statement.value) else "other"
    value = getattr(statement, "value", None)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or value is None:
        return "other"
    if isinstance(value, ast.Constant):
        return "number" if _is_number(value) else "constant"
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return "multiplied"
    return "computed" if _makes_number(value) else "other"


def _makes_number(value: ast.expr) -> bool:
    """What it gives is a number, text or truth, or a tensor that is no parameter."""
    if isinstance(value, ast.BinOp):
        added = _is_number(value.left) or _is_number(value.right)
        return _is_arithmetic(value.op) or added or isinstance(value.left, ast.JoinedStr)
    if isinstance(value, ast.Call):
        return dotted_text(value.func).partition(".")[0] in OF_NUMBERS | {"len", "str", "bool", "min", "max"}
    if isinstance(value, ast.UnaryOp):
        return True
    return isinstance(value, (ast.Compare, ast.JoinedStr))


def _is_arithmetic(operator: ast.operator) -> bool:
    """Other than `+`, which joins lists of modules too."""
    return isinstance(operator, (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow))


def _is_told(node: ast.expr) -> bool:
    """A number or text that is written there."""
    return isinstance(node, ast.Constant) and type(node.value) in (int, float, str)


def _are_told(node: ast.expr) -> bool:
    return isinstance(node, (ast.Tuple, ast.List, ast.Set)) and all(map(_is_told, node.elts))


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
