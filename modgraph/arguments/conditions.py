"""The conditions under which a file calls a class, as values of options: `if args.model == "gat": net = GAT(...)`.

Without words a script takes the branch of its defaults. With the words that lead to another one it says what it gives
the class there.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from modgraph.names import last_name
from modgraph.prediction.domain.asked_options import AskedOption
from modgraph.source.dotted_names import dotted

MAX_WAYS = 6
"""Calls of one file whose conditions are tried."""
_TEXT_METHODS = ("lower", "upper", "strip", "casefold")
_TESTS_OF_TEXT = ("startswith", "endswith")


@dataclass(frozen=True, slots=True)
class Setting:
    """What an option has to be, or must not be."""

    name: str
    """The last name of what the condition looks at: "model" of `self.args.model` and of `config["model"]`."""
    value: object
    """A constant; a bool where only the truth of the option counts."""
    holds: bool = True
    part: bool = False
    """It is a part of the option's text."""


Way = tuple[Setting, ...]
"""What has to hold, for one call to be reached."""


def ways_to(tree: ast.Module, names: Collection[str]) -> list[Way]:
    """What leads to each call, or other use in a table, of one of the names; those without a condition are left out."""
    ways = dict.fromkeys(way for way in _Uses(names).of(tree) if way)
    return list(ways)[:MAX_WAYS]


def together(inner: Sequence[Way], outer: Sequence[Way]) -> list[Way]:
    """What leads through a file to a function in another one, and on to a call."""
    both = ((*first, *second) for first in (outer or [()]) for second in (inner or [()]))
    return list(dict.fromkeys(way for way in both if way))[:MAX_WAYS]


def words_for(way: Way, options: Mapping[str, AskedOption]) -> tuple[str, ...] | None:
    """Words of a command line with which all of a way holds that says something of options; None where there are none,
    or none are needed. Whether they lead to the call is seen where the script is followed."""
    words: dict[str, tuple[str, ...]] = {}
    for setting in sorted(way, key=lambda each: not each.holds):
        option = _option_of(setting, options)
        if option is not None and option.name not in words and not _is_so(setting, option.default):
            given = _words(setting, option)
            if given is None:
                return None
            words[option.name] = given
    return tuple(word for given in words.values() for word in given) or None


def _is_so(setting: Setting, value: object) -> bool:
    if setting.part:
        return (str(setting.value) in str(value)) is setting.holds
    same = bool(value) is setting.value if isinstance(setting.value, bool) else value == setting.value
    return same is setting.holds


def _option_of(setting: Setting, options: Mapping[str, AskedOption]) -> AskedOption | None:
    """By its name; else the only one of which the name is a part, or that has the value among its choices."""
    if setting.name in options:
        return options[setting.name]
    alike = [each for name, each in options.items() if name in setting.name or setting.name in name]
    choosing = [each for each in options.values() if setting.value in each.choices]
    for found in (alike, choosing):
        if len(found) == 1:
            return found[0]
    return None


def _words(setting: Setting, option: AskedOption) -> tuple[str, ...] | None:
    value, flag = setting.value, option.flag
    text: str | None
    if isinstance(value, bool):
        wanted = value is setting.holds
        if option.action == "BooleanOptionalAction" and flag is not None:
            return (flag if wanted else f"--no-{flag.removeprefix('--')}",)
        if option.action in ("store_true", "store_false"):
            return (flag,) if flag is not None and wanted is (option.action == "store_true") else None
        return None  # any value would be one that nobody has said
    if setting.holds and not setting.part:
        alike = [each for each in option.choices if str(each).casefold() == str(value).casefold()]
        text = str(value if value in option.choices or not alike else alike[0])
    else:
        text = next((str(each) for each in option.choices if _is_so(setting, each)), None)
    if text is None or option.action not in (None, "store"):
        return None
    return (text,) if flag is None else (flag, text)


# ---- reading the text ------------------------------------------------------------------------------------------------


class _Uses:
    """Walks a file to the uses of some names, with what holds there."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._tables: dict[str, list[object]] = {}
        """Names that are given a dict with one of the names in it, and the keys under which it stands."""

    def of(self, tree: ast.Module) -> Iterator[Way]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and (keys := self._keys(node.value)):
                self._tables.update({name: keys for each in node.targets if (name := _last(each)) is not None})
        yield from self._block(tree.body, ())

    def _block(self, statements: Sequence[ast.stmt], way: Way) -> Iterator[Way]:
        for statement in statements:
            yield from self._node(statement, way)
            if isinstance(statement, ast.If) and not statement.orelse and _ends(statement.body):
                way += tuple(_settings(statement.test, False))

    def _node(self, node: ast.AST, way: Way) -> Iterator[Way]:
        match node:
            case ast.If():
                yield from self._node(node.test, way)
                yield from self._block(node.body, (*way, *_settings(node.test, True)))
                yield from self._block(node.orelse, (*way, *_settings(node.test, False)))
                return
            case ast.IfExp():
                yield from self._node(node.body, (*way, *_settings(node.test, True)))
                yield from self._node(node.orelse, (*way, *_settings(node.test, False)))
                return
            case ast.Call() if self._is_named(node.func):
                yield way
            case ast.Subscript():
                for key in self._keys(node.value) or self._tables.get(_last(node.value) or "", []):
                    name = _last(node.slice)
                    if name is not None:
                        yield (*way, Setting(name, key))
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield from self._block(value, way)
            else:
                for each in value if isinstance(value, list) else (value,):
                    if isinstance(each, ast.AST):
                        yield from self._node(each, way)

    def _is_named(self, function: ast.expr) -> bool:
        name = dotted(function)
        return name is not None and last_name(name) in self._names

    def _keys(self, value: ast.expr) -> list[object]:
        """Keys of a dict that is written out, under which one of the names stands, or is called."""
        if not isinstance(value, ast.Dict):
            return []
        return [
            key.value
            for key, held in zip(value.keys, value.values, strict=True)
            if isinstance(key, ast.Constant) and any(self._is_named(each) for each in _expressions(held))
        ]


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute))


def _ends(body: Sequence[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _last(node: ast.expr) -> str | None:
    """The last name of what is looked at; None of anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return None if name.startswith("__") else name
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in _TEXT_METHODS:
            return _last(value)
    return None


def _settings(test: ast.expr, truth: bool) -> Iterable[Setting]:
    """What makes a condition true, or false; what says nothing of it is left out."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _settings(operand, not truth)
        case ast.BoolOp(op=operator, values=values):
            if isinstance(operator, ast.And) is truth:
                return [each for value in values for each in _settings(value, truth)]
            return _settings(values[0], truth)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _compared(left, operator, right, truth)
        case ast.Call(func=ast.Attribute(value=value, attr=method), args=[ast.Constant(value=text)]) if (
            method in _TESTS_OF_TEXT
        ):
            name = _last(value)
            return [Setting(name, text, truth, part=True)] if name is not None else []
    name = _last(test)
    return [Setting(name, True, truth)] if name is not None else []


def _compared(left: ast.expr, operator: ast.cmpop, right: ast.expr, truth: bool) -> Iterable[Setting]:
    if isinstance(left, ast.Constant):
        if isinstance(operator, ast.In | ast.NotIn):  # `"gat" in args.model`
            name = _last(right)
            holds = truth is isinstance(operator, ast.In)
            return [Setting(name, left.value, holds, part=True)] if name is not None else []
        left, right = right, left
    name = _last(left)
    if name is None:
        return []
    equal = truth is isinstance(operator, ast.Eq | ast.In | ast.Is)
    match operator, right:
        case ((ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot()), ast.Constant(value=value)) if value is not None:
            return [Setting(name, value, equal)]
        case ((ast.In() | ast.NotIn()), (ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements))):
            values = [each.value for each in elements if isinstance(each, ast.Constant)]
            return [Setting(name, value, equal) for value in (values[:1] if equal else values)]
    return []
