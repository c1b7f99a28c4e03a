"""Values of `plain_runs.py` beside tensors and sizes: classes, layers, containers, and what Python does with these."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from modgraph.rules import plain_tensors
from modgraph.rules.plain_sizes import Given, Open, Tensor, Unproved, seen

_MAX_NUMBER, _MAX_ITEMS = 10**12, 2_000


class Class:
    """A class of the project."""

    def __init__(self, node: ast.ClassDef, home: str) -> None:
        self.node, self.home = node, home


class Function:
    """A function of the project, or a method; with whom it is called, where that is settled."""

    def __init__(self, node: ast.FunctionDef, home: str, owner: Class | None, me: Any = None) -> None:
        self.node, self.home, self.owner, self.me = node, home, owner, me
        self.around: Frame | None = None
        """Of one inside a function."""


class Path:
    """Something of a module of which no file is looked at: "torch.nn.Linear"."""

    def __init__(self, path: str) -> None:
        self.path = path


class Layer:
    """A layer of torch; what it is made with is None for one of which nothing more is known here."""

    def __init__(self, kind: str, given: Given | None) -> None:
        self.kind, self.given = kind, given


class Chain:
    """`nn.Sequential` and `nn.ModuleList`."""

    def __init__(self, items: list[Any], is_called: bool) -> None:
        self.items, self.is_called = items, is_called


class Own:
    """An instance of a class of the project, or of `nn.Module` itself."""

    def __init__(self, kind: Class | None) -> None:
        self.kind = kind
        self.held: dict[str, Any] = {}
        self.chain: list[Any] | None = None
        """Of one that derives from `nn.Sequential`."""


class Bound:
    """A method of a tensor, a list, a chain, or of what a class derives from."""

    def __init__(self, of: Any, name: str) -> None:
        self.of, self.name = of, name


class Ended(Exception):  # noqa: N818 - a statement
    """`return`, `break` and `continue`."""

    def __init__(self, how: str, value: Any = None) -> None:
        self.how, self.value = how, value


class Frame:
    def __init__(self, home: str, owner: Class | None = None, me: Any = None) -> None:
        self.home, self.owner, self.me = home, owner, me
        self.names: dict[str, Any] = {}


def bound_to(
    arguments: ast.arguments, places: list[Any], words: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, ast.expr | None]]:
    """What parameters are given, and the defaults of the others; None for one that has none."""
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    defaults: dict[str, ast.expr | None] = dict.fromkeys((*names, *(each.arg for each in arguments.kwonlyargs)))
    defaults.update(zip(reversed(names), reversed(arguments.defaults), strict=False))
    defaults.update(zip((each.arg for each in arguments.kwonlyargs), arguments.kw_defaults, strict=True))
    given = dict(zip(names, places, strict=False))
    others = {word: value for word, value in words.items() if word not in defaults}
    is_too_much = (others and arguments.kwarg is None) or (len(places) > len(names) and arguments.vararg is None)
    if is_too_much or set(given) & set(words):
        raise Unproved
    given |= {word: value for word, value in words.items() if word in defaults}
    missing = {name: default for name, default in defaults.items() if name not in given}
    if arguments.vararg is not None:
        given[arguments.vararg.arg] = places[len(names) :]
    if arguments.kwarg is not None:
        given[arguments.kwarg.arg] = others
    return given, missing


# ---- what Python does with them --------------------------------------------------------------------------------------

_NUMBERS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}
_TESTS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}
_SCALARS = (int, float, str, bool, type(None))


def is_plain(value: Any) -> bool:
    """It is known, and nothing but Python's own."""
    if isinstance(value, (list, tuple)):
        return all(is_plain(seen(each)) for each in value)
    return isinstance(value, _SCALARS)


def truth(value: Any) -> bool | None:
    """None where it may be either."""
    value = seen(value)
    if isinstance(value, (Open, Tensor)):
        return None
    return bool(value.items) if isinstance(value, Chain) else bool(value)


def compared(test: ast.cmpop, one: Any, other: Any) -> Any:
    """`one < other`: True, False or open."""
    one, other = seen(one), seen(other)
    is_positive = isinstance(test, (ast.Is, ast.Eq))
    if isinstance(test, (ast.Is, ast.IsNot)) or one is None or other is None:
        if one is not None and other is not None and (isinstance(one, Open) or isinstance(other, Open)):
            return Open()
        return (one is other) == is_positive  # what is open is not None
    if is_plain(one) and is_plain(other):
        return _TESTS[type(test)](one, other)
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        return plain_tensors.mixed(one, other)
    return Open()


def computed(sign: ast.operator, one: Any, other: Any) -> Any:
    """`one + other`."""
    if isinstance(sign, ast.MatMult):
        return plain_tensors.product_of(one, other)
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        return plain_tensors.mixed(one, other)
    if isinstance(sign, ast.Add) and isinstance(one, list) and isinstance(other, list):
        return one + other
    if isinstance(sign, ast.Add) and isinstance(one, tuple) and isinstance(other, tuple):
        return one + other
    for items, times in ((one, other), (other, one)):
        if isinstance(items, (list, tuple)) and isinstance(times, Open) and isinstance(sign, ast.Mult):
            return items
        if isinstance(items, (list, tuple)) and type(times) is int and isinstance(sign, ast.Mult):
            return items * times if len(items) * times <= _MAX_ITEMS else _unproved()
    if isinstance(one, Open) or isinstance(other, Open):
        return Open() if all(isinstance(each, (Open, int, float, str)) for each in (one, other)) else _unproved()
    if isinstance(one, str) and isinstance(sign, ast.Mod):
        return (one % other)[:_MAX_ITEMS] if is_plain(other) else Open()
    if isinstance(one, str) and isinstance(other, str) and isinstance(sign, ast.Add):
        return (one + other)[:_MAX_ITEMS]
    if not all(isinstance(each, (int, float)) and abs(each) < _MAX_NUMBER for each in (one, other)):
        raise Unproved
    if isinstance(sign, ast.Pow) and abs(other) > 64:
        raise Unproved
    return _NUMBERS[type(sign)](one, other)


def _unproved() -> Any:
    raise Unproved


def listed(value: Any) -> list[Any]:
    """What a loop over it comes to; of what is open, one element."""
    value = seen(value)
    if isinstance(value, Open):
        return [value.part(0)]
    if isinstance(value, Chain):
        return list(value.items)
    if isinstance(value, Own) and value.chain is not None:
        return list(value.chain)
    if not isinstance(value, (list, tuple, dict, range, str)) or len(value) > _MAX_ITEMS:
        raise Unproved
    return list(value)


def unpacked(value: Any, count: int) -> list[Any]:
    """`a, b = value`."""
    value = seen(value)
    if isinstance(value, Open):
        return [value.part(place) for place in range(count)]
    if isinstance(value, Tensor):
        return [plain_tensors.indexed(value, place) for place in range(count)]
    found = listed(value)
    return found if len(found) == count else _unproved()


def element(value: Any, at: Any) -> Any:
    """`value[at]`."""
    value, at = seen(value), seen(at)
    if isinstance(value, Open):
        return value.part(at) if isinstance(at, (int, str)) else Open()
    if isinstance(value, Tensor):
        return plain_tensors.indexed(value, at)
    if isinstance(value, Chain) or (isinstance(value, Own) and value.chain is not None):
        items = value.items if isinstance(value, Chain) else value.chain or []
        at = at.choose(0) if isinstance(at, Open) else at
        found = items[at]
        return Chain(found, True) if isinstance(at, slice) else found
    if isinstance(at, Open) and isinstance(value, (dict, list, tuple)) and value:
        at = at.choose(next(iter(value)) if isinstance(value, dict) else 0)
    return value[at] if isinstance(value, (list, tuple, dict, str)) else _unproved()


# ---- builtins and methods of containers ------------------------------------------------------------------------------


def _isinstance(value: Any, kinds: Any) -> Any:
    value = seen(value)
    if isinstance(value, Open) and value.is_free:
        return Open()
    wanted = [each.path if isinstance(each, Path) else "" for each in (kinds if isinstance(kinds, tuple) else (kinds,))]
    names = {"builtins.int", "builtins.float", "builtins.str", "builtins.list", "builtins.tuple", "builtins.dict"}
    if not {each for each in wanted if not each.startswith("types.")} <= names:
        raise Unproved
    return f"builtins.{type(value).__name__}" in wanted


def _number(make: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda value: Open() if isinstance(seen(value), Open) else make(seen(value))


def _each(make: Callable[..., Any]) -> Callable[..., Any]:
    """Of numbers, one of which may be open."""

    def made(*given: Any) -> Any:
        numbers = [seen(each) for each in (listed(given[0]) if len(given) == 1 else given)]
        if any(isinstance(each, Open) for each in numbers):
            return Open()
        return make(numbers) if is_plain(numbers) else _unproved()

    return made


def _range(*given: Any) -> Any:
    numbers = [seen(each) for each in given]
    return [Open()] if any(isinstance(each, Open) for each in numbers) else listed(range(*numbers))


def _len(value: Any) -> Any:
    value = seen(value)
    return Open() if isinstance(value, Open) else value.shape[0] if isinstance(value, Tensor) else len(listed(value))


BUILTINS: dict[str, Callable[..., Any]] = {
    "len": _len,
    "range": _range,
    "enumerate": lambda value, start=0: [(n, each) for n, each in enumerate(listed(value), start)],
    "zip": lambda *values: list(zip(*map(listed, values), strict=False)),
    "reversed": lambda value: listed(value)[::-1],
    "list": lambda value=(): listed(value),
    "tuple": lambda value=(): tuple(listed(value)),
    "dict": lambda value=(), **words: {**(value if isinstance(value, dict) else dict(listed(value))), **words},
    "isinstance": _isinstance,
    "int": _number(int),
    "float": _number(float),
    "bool": _number(bool),
    "str": _number(str),
    "abs": _number(abs),
    "sorted": lambda value: sorted(listed(value)) if is_plain(listed(value)) else listed(value),
    "round": _number(round),
    "sum": _each(sum),
    "max": _each(max),
    "min": _each(min),
}


_OF_TEXT = frozenset(("endswith", "format", "join", "lower", "replace", "split", "startswith", "strip", "upper"))


def of_text(value: str, name: str, places: Sequence[Any]) -> Any:
    """A method of a str."""
    given = [seen(each) for each in places]
    return getattr(value, name)(*given) if name in _OF_TEXT and is_plain(given) else _unproved()


def of_list(value: list[Any], name: str, places: Sequence[Any]) -> Any:
    """A method of a list, or of a container of modules, that changes it."""
    if name == "append" and len(places) == 1:
        value.append(places[0])
    elif name == "extend" and len(places) == 1:
        value.extend(listed(places[0]))
    elif name == "insert" and len(places) == 2 and type(places[0]) is int:
        value.insert(*places)
    elif name == "add_module" and len(places) == 2:
        value.append(places[1])
    elif name == "pop" and all(type(each) is int for each in places):
        return value.pop(*places)
    else:
        raise Unproved
    return None


def of_dict(value: dict[Any, Any], name: str, places: Sequence[Any]) -> Any:
    """A method of a dict."""
    if name in ("keys", "values", "items") and not places:
        return list(getattr(value, name)())
    if name == "get" and is_plain(list(places[:1])):
        return value.get(*places)
    raise Unproved
