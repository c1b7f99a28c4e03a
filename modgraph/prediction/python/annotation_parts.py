"""What an annotation is made of: `get_origin` and `get_args` of `list[int]`, `Optional[int]` and `int | None`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from modgraph.prediction.domain.registry import known_class
from modgraph.prediction.domain.values import (
    NONE,
    ClassValue,
    Constant,
    GenericAlias,
    KnownClass,
    KnownFunction,
    TupleValue,
    Value,
)

_NONE_TYPE = KnownClass("builtins.NoneType")
_UNION = KnownFunction("typing.Union")
_LITERAL = KnownFunction("typing.Literal")
BY_BAR: Value = _UNION if sys.version_info >= (3, 14) else KnownClass("types.UnionType")
"""What `int | None` is an instance of."""
known_class("typing._GenericAlias")
known_class("typing._LiteralGenericAlias", "typing._GenericAlias")
known_class("typing._UnionGenericAlias", "typing._GenericAlias")
_OF_TYPING = KnownClass("typing._GenericAlias")
_OF_LITERALS = KnownClass("typing._LiteralGenericAlias")
_OF_UNIONS = KnownClass("typing._UnionGenericAlias" if sys.version_info < (3, 14) else "typing.Union")
_OF_ONE = frozenset({"typing.ClassVar", "typing.Final", "typing.Required", "typing.NotRequired"})
_CONTAINERS = ("builtins.", "collections.")
_ODD = frozenset({"collections.abc.Callable", "builtins.type"})
"""Their arguments are put down in another way, or are seldom classes."""


def subscripted(origin: Value, key: Value) -> GenericAlias:
    """origin[key], where that is an annotation; what it is made of is left out where that is not plain."""
    keys = key.items if isinstance(key, TupleValue) else (key,)
    plain = GenericAlias(origin)
    name = origin.name if isinstance(origin, (KnownClass, KnownFunction)) else ""
    if origin == _LITERAL:
        return GenericAlias(origin, origin, TupleValue(keys)) if _are_values(keys) else plain
    if not all(map(_is_type, keys)):
        return plain
    if name == "typing.Optional" and len(keys) == 1:
        return _union(origin, _UNION, (*keys, _NONE_TYPE)) or plain
    if origin == _UNION:
        return _union(origin, _UNION, keys) or plain
    spelled = NONE in keys  # by typing as its class, in a container of Python's own as it is
    if name in _OF_ONE and len(keys) == 1 and not spelled:
        return GenericAlias(origin, origin, TupleValue(keys))
    if isinstance(origin, ClassValue) or (name.startswith(_CONTAINERS) and name not in _ODD):
        return plain if spelled else GenericAlias(origin, origin, TupleValue(keys))
    return plain


def united(left: Value, right: Value) -> GenericAlias:
    """left | right."""
    sides = (left, right)
    if not all(map(_is_type, sides)) or any(map(_is_open, sides)):
        return GenericAlias(left)
    by = _UNION if any(map(_is_of_typing, sides)) else BY_BAR
    return _union(left, by, sides) or GenericAlias(left)


def _union(origin: Value, by: Value, sides: Iterable[Value]) -> GenericAlias | None:
    """None where it is no union, of one type, or of what is not known."""
    found: dict[Value, None] = {}
    for side in sides:
        if _is_open(side):
            return None
        parts = types_of_union(side) if isinstance(side, GenericAlias) else None
        found.update(dict.fromkeys(parts or (_NONE_TYPE if side == NONE else side,)))
    return GenericAlias(origin, by, TupleValue(tuple(found))) if len(found) > 1 else None


def _is_open(value: Value) -> bool:
    return isinstance(value, GenericAlias) and value.form == NONE


def _is_of_typing(value: Value) -> bool:
    """What `|` asks is of typing, which answers with its own union."""
    if isinstance(value, GenericAlias):
        return _is_of_typing(value.origin) or value.form == _UNION or _is_of_typing(value.form)
    if isinstance(value, KnownFunction):
        return True
    return isinstance(value, KnownClass) and value.of_typing


def _is_type(value: Value) -> bool:
    """A class, another annotation, `None` or `...`; what else stands for a type is read otherwise by typing."""
    if isinstance(value, Constant):
        return value.value is None or value.value is ...
    return isinstance(value, (ClassValue, KnownClass, GenericAlias))


def types_of_union(value: GenericAlias) -> tuple[Value, ...] | None:
    """What stands between the bars; None where it is no union."""
    return value.args.items if value.form in (_UNION, BY_BAR) and isinstance(value.args, TupleValue) else None


def _are_values(values: tuple[Value, ...]) -> bool:
    """Of a Literal, each once: those of one inside another would come to stand beside each other."""
    held = [(type(each.value), each.value) for each in values if isinstance(each, Constant)]
    return len(held) == len(values) == len(set(held))


def taken_apart(value: Value, wants_origin: bool) -> Value | None:
    """`get_origin` or `get_args` of that annotation; None where it is not known what it was written with."""
    nothing = NONE if wants_origin else TupleValue(())
    if isinstance(value, KnownClass) and value.of_typing:
        return KnownClass(value.name) if wants_origin else nothing
    if isinstance(value, KnownClass) and value.name.startswith(("typing.", "typing_extensions.")):
        return nothing if value.name == "typing.Any" else None
    if isinstance(value, (ClassValue, KnownClass, KnownFunction, Constant)):
        return nothing
    if isinstance(value, GenericAlias) and value.form != NONE:
        return value.form if wants_origin else value.args
    return None


def class_of(value: GenericAlias) -> KnownClass:
    """type(value)."""
    if value.form in (_UNION, BY_BAR):
        return BY_BAR if value.form == BY_BAR and isinstance(BY_BAR, KnownClass) else _OF_UNIONS
    if value.form == _LITERAL:
        return _OF_LITERALS
    return _OF_TYPING if _is_of_typing(value) else KnownClass("types.GenericAlias")
