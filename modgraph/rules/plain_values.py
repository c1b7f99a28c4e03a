"""Values of `plain_runs.py` beside tensors and sizes: classes, layers, containers, and what Python does with these."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

from modgraph.rules import plain_tensors
from modgraph.rules.plain_sizes import (
    MAX_ITEMS,
    Given,
    Open,
    Opposite,
    Tensor,
    Test,
    Unproved,
    attempted,
    is_plain,
    seen,
    settled,
    small,
    unproved,
)


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


def members(node: ast.ClassDef) -> dict[str, ast.stmt]:
    """What the body of a class binds, by name; of a body that does anything else nothing is known."""
    found: dict[str, ast.stmt] = {}
    for each in node.body:
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[each.name] = each
        elif isinstance(each, (ast.Assign, ast.AnnAssign)):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            found.update((one.id, each) for one in targets if isinstance(one, ast.Name))
        elif not isinstance(each, (ast.Expr, ast.Pass)):
            raise Unproved
    return found


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
    ast.Lt: operator.lt,
    ast.Gt: operator.gt,
    ast.In: lambda one, other: one in other,
}
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.NotEq: ast.Eq,
    ast.GtE: ast.Lt,
    ast.LtE: ast.Gt,
    ast.NotIn: ast.In,
    ast.IsNot: ast.Is,
}


def truth(value: Any) -> bool | None:
    """None where it may be either."""
    value = seen(value)
    if isinstance(value, Open):
        return value.holds
    if isinstance(value, Tensor):
        raise Unproved  # what its numbers say is not followed
    return bool(value.items) if isinstance(value, Chain) else bool(value)


def decided(value: Any, wanted: bool) -> bool:
    """Which way a test goes: the wanted one, where it may be either."""
    value = seen(value)
    holds = truth(value)
    return value.decide(wanted) if holds is None else holds


def opposite(value: Any) -> Any:
    """`not value`."""
    holds = truth(value)
    return Opposite(seen(value)) if holds is None else not holds


class Tests:
    """The comparisons of a run: where one is made again, it comes out alike."""

    def __init__(self) -> None:
        self._made: dict[Any, Test] = {}

    def compared(self, test: ast.cmpop, one: Any, other: Any) -> Any:
        """`one < other`: True, False or open."""
        kind = type(test)
        one, other = seen(one), seen(other)
        if isinstance(one, Tensor) or isinstance(other, Tensor):
            return _of_tensors(kind, one, other)
        if kind in _OPPOSITES:
            return opposite(self.compared(_OPPOSITES[kind](), one, other))
        if kind is ast.In and not isinstance(other, (list, tuple, dict, str, Open)):
            raise Unproved
        one, other = settled(one), list(other) if isinstance(other, dict) else settled(other)
        if kind is ast.Is or (kind is ast.Eq and (one is None or other is None)):
            return one is other if one is None or other is None else unproved()  # what is open is not None
        if is_plain(one) and is_plain(other):
            return attempted(_TESTS[kind], one, other)
        return self._kept((kind, _key(one), _key(other)), Test(_TESTS[kind], one, other))

    def _kept(self, key: Any, test: Test) -> Any:
        """A test keeps what it compares, so that nothing else has the ids of its key."""
        made = self._made.setdefault(key, test)
        return made if made.holds is None else made.holds

    def is_instance(self, value: Any, kinds: Any) -> Any:
        """`isinstance(value, kinds)`, of Python's own kinds."""
        value = seen(value)
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        names = tuple(each.path if isinstance(each, Path) else "" for each in wanted)
        types = tuple(_KINDS.get(name, ()) for name in names if not name.startswith("types."))
        if isinstance(value, Open) and value.is_free and all(names):
            return self._kept((names, id(value)), Test(lambda one, _: isinstance(one, types), value, None))
        if () in types:
            raise Unproved
        if not isinstance(value, Open):
            return isinstance(value, types)
        return unproved() if {int, float} & set(types) else False  # an input is chosen to be no list


def _key(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(_key, value))
    return (type(value), value) if is_plain(value) else id(value) if isinstance(value, Open) else unproved()


def _of_tensors(kind: type[ast.cmpop], one: Any, other: Any) -> Any:
    if kind in (ast.Is, ast.IsNot):
        return (kind is ast.IsNot) is not (one is other)
    if kind in (ast.In, ast.NotIn):
        raise Unproved
    if one is None or other is None:
        return kind is ast.NotEq if kind in (ast.Eq, ast.NotEq) else unproved()
    return plain_tensors.mixed(one, other)


_KINDS = {f"builtins.{kind.__name__}": kind for kind in (int, float, str, list, tuple, dict)}


_FORMATTED = re.compile(r"(?:[^%]|%[sdi%])*")
_MOST_OF_A_POWER = 20


def computed(sign: ast.operator, one: Any, other: Any) -> Any:
    """`one + other`."""
    if isinstance(sign, ast.MatMult):
        return plain_tensors.product_of(one, other)
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        return plain_tensors.mixed(one, other)
    for kind in (list, tuple, str):
        if isinstance(sign, ast.Add) and isinstance(one, kind) and isinstance(other, kind):
            return small(operator.add(one, other))
    for items, times in ((one, other), (other, one)):
        if isinstance(items, (list, tuple)) and isinstance(sign, ast.Mult):
            if isinstance(times, Open):
                times = times.choose(1)
            is_few = type(times) is int and len(items) * times <= MAX_ITEMS
            return items * times if is_few else unproved()
    if isinstance(one, Open) or isinstance(other, Open):
        return Open() if all(isinstance(each, (Open, int, float, str)) for each in (one, other)) else unproved()
    if isinstance(one, str) and isinstance(sign, ast.Mod):
        if not _FORMATTED.fullmatch(one) or not is_plain(other):
            raise Unproved
        return attempted(operator.mod, one, other)
    if not all(isinstance(each, (int, float)) for each in (one, other)):
        raise Unproved
    if isinstance(sign, ast.Pow) and abs(other) > _MOST_OF_A_POWER:
        raise Unproved
    return attempted(_NUMBERS[type(sign)], one, other) if type(sign) in _NUMBERS else unproved()


def listed(value: Any) -> list[Any]:
    """What a loop over it comes to; of what is open, one element."""
    value = seen(value)
    if isinstance(value, Open):
        return [value.part(0)]
    if isinstance(value, Chain):
        return list(value.items)
    if isinstance(value, Own) and value.chain is not None:
        return list(value.chain)
    return list(small(value)) if isinstance(value, (list, tuple, dict, range, str)) else unproved()


def unpacked(value: Any, count: int) -> list[Any]:
    """`a, b = value`."""
    value = seen(value)
    if isinstance(value, Open):
        return [value.part(place) for place in range(count)]
    if isinstance(value, Tensor):
        return [plain_tensors.indexed(value, place) for place in range(count)]
    found = listed(value)
    return found if len(found) == count else unproved()


def element(value: Any, at: Any) -> Any:
    """`value[at]`."""
    value, at = seen(value), seen(at)
    if isinstance(value, Open):
        return value.part(at) if isinstance(at, (int, str)) else Open()
    if isinstance(value, Tensor):
        return plain_tensors.indexed(value, at)
    if isinstance(value, Chain) or (isinstance(value, Own) and value.chain is not None):
        items = value.items if isinstance(value, Chain) else value.chain or []
        found = attempted(operator.getitem, items, at.choose(0) if isinstance(at, Open) else at)
        return Chain(found, isinstance(value, Own) or value.is_called) if isinstance(at, slice) else found
    if isinstance(at, Open) and isinstance(value, (dict, list, tuple)) and value:
        at = at.choose(next(iter(value)) if isinstance(value, dict) else 0)
    return attempted(operator.getitem, value, at) if isinstance(value, (list, tuple, dict, str)) else unproved()


# ---- builtins and methods of containers ------------------------------------------------------------------------------


def _number(make: Callable[[Any], Any]) -> Callable[..., Any]:
    def made(value: Any) -> Any:
        value = seen(value)
        return Open() if isinstance(value, Open) else attempted(make, value) if is_plain(value) else unproved()

    return made


def _each(make: Callable[..., Any]) -> Callable[..., Any]:
    """Of numbers, one of which may be open."""

    def made(*given: Any) -> Any:
        numbers = [seen(each) for each in (listed(given[0]) if len(given) == 1 else given)]
        if any(isinstance(each, Open) for each in numbers):
            return Open()
        return attempted(make, numbers) if is_plain(numbers) else unproved()

    return made


OF_NUMBERS = frozenset(("ceil", "floor", "sqrt", "log", "log2", "log10", "exp", "sin", "cos", "gcd", "prod"))
"""Functions of `math`, and of numpy, that cost about the same for all numbers."""


def of_numbers(name: str, places: Sequence[Any]) -> Any:
    """One of these."""
    numbers = [seen(each) for each in places]
    if name == "prod":
        return _each(math.prod)(*numbers) if len(numbers) == 1 else unproved()
    if any(isinstance(each, Open) for each in numbers):
        return Open()
    return attempted(getattr(math, name), *numbers) if is_plain(numbers) else unproved()


def _range(*given: Any) -> Any:
    numbers = [seen(each) for each in given]
    return [Open()] if any(isinstance(each, Open) for each in numbers) else listed(attempted(range, *numbers))


def _len(value: Any) -> Any:
    value = seen(value)
    if isinstance(value, Tensor):
        return value.shape[0] if value.shape else unproved()
    return Open() if isinstance(value, Open) else len(listed(value))


def _dict(value: Any = (), **words: Any) -> Any:
    return {**(value if isinstance(value, dict) else attempted(dict, listed(value))), **words}


def _sorted(value: Any) -> Any:
    return attempted(sorted, settled(listed(value))) if is_plain(listed(value)) else unproved()


BUILTINS: dict[str, Callable[..., Any]] = {
    "len": _len,
    "range": _range,
    "enumerate": lambda value, start=0: [(n, each) for n, each in enumerate(listed(value), _whole(start))],
    "zip": lambda *values: list(zip(*map(listed, values), strict=False)),
    "reversed": lambda value: listed(value)[::-1],
    "list": lambda value=(): listed(value),
    "tuple": lambda value=(): tuple(listed(value)),
    "dict": _dict,
    "int": _number(int),
    "float": _number(float),
    "bool": lambda value: value if isinstance(seen(value), Open) else truth(value),
    "str": _number(str),
    "abs": _number(abs),
    "sorted": _sorted,
    "round": _number(round),
    "sum": _each(sum),
    "max": _each(max),
    "min": _each(min),
}


def _whole(value: Any) -> int:
    return value if type(value) is int else unproved()


_BRACES = re.compile(r"(?:[^{}]|\{\d?\})*")
_OF_TEXT = frozenset(("endswith", "format", "join", "lower", "replace", "split", "startswith", "strip", "upper"))


def of_text(value: str, name: str, places: Sequence[Any]) -> Any:
    """A method of a str."""
    given = [small(seen(each)) for each in places]
    if name not in _OF_TEXT or not is_plain(given) or (name == "format" and not _BRACES.fullmatch(small(value))):
        raise Unproved
    return attempted(getattr(value, name), *settled(given))


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
    elif name == "pop" and len(places) < 2:
        return attempted(value.pop, *places)
    else:
        raise Unproved
    small(value)
    return None


def of_dict(value: dict[Any, Any], name: str, places: Sequence[Any]) -> Any:
    """A method of a dict."""
    if name in ("keys", "values", "items") and not places:
        return list(getattr(value, name)())
    if name == "get" and len(places) in (1, 2) and isinstance(places[0], (str, int)):
        return value.get(*places)
    raise Unproved
