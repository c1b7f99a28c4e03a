"""Strings: str(value), f-strings, %-formatting."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from modgraph.prediction.domain.frames import Frame
from modgraph.prediction.domain.limits import MAX_VALUE_SIZE
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.sizes import is_open
from modgraph.prediction.domain.values import (
    NONE,
    Address,
    ClassValue,
    Constant,
    Device,
    Dtype,
    Ends,
    EnumMember,
    FunctionValue,
    KnownClass,
    KnownFunction,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.paths import partial_texts, several
from modgraph.prediction.python import exceptions, literal_texts
from modgraph.prediction.python.bounds import format_size, template_size, text_size
from modgraph.prediction.python.plain import has_other_text, lifted, number_unknown, plain
from modgraph.prediction.python.stand_ins import OtherTextError
from modgraph.source import nodes
from modgraph.source.quiet import literal_value
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


class NotPlainError(Exception):
    """The value has no counterpart among Python's own literals, or is not known."""


def to_python(machine: Machine, value: Value) -> Any:
    """The value as a Python object, through lists, tuples and dicts.

    Raises:
        NotPlainError: some part is no literal, or there are too many.
    """
    found = plain(machine, value)
    if found is None or has_other_text(found[0]):
        raise NotPlainError
    return found[0]


def from_python(machine: Machine, value: Any) -> Value:
    """The value of a Python literal, lists and dicts on the heap."""
    return lifted(machine, value)


def string(machine: Machine, value: Value) -> str | None:
    """str(value); None where it cannot be known."""
    if isinstance(value, Constant):
        return None if is_open(value.value) else _written(value.value)
    if isinstance(value, Dtype):
        return f"torch.{value.name}"
    if isinstance(value, Device):
        return value.name
    if isinstance(value, EnumMember):
        return _own_text(machine, value, lambda: _member(machine, value))
    if isinstance(value, (ClassValue, KnownClass)):
        return f"<class '{value.name.removeprefix('builtins.')}'>"
    if isinstance(value, Address) and isinstance(machine.state.read(value), InstanceObject):
        return _own_text(machine, value, lambda: _instance(machine, value))
    if isinstance(value, TupleValue) and value.cls is None and any(isinstance(each, _CLASSES) for each in value.items):
        return _of_classes(machine, value.items)
    if isinstance(value, TupleValue) and value.cls is not None:
        return _own_text(machine, value, lambda: _tuple(machine, value))
    return _literal(machine, value)


def _literal(machine: Machine, value: Value) -> str | None:
    try:
        return _written(to_python(machine, value))
    except (NotPlainError, OtherTextError, TypeError):
        machine.may_be_called([value], machine.unknown("how often a text is asked for is not known"), _TEXTS)
        return None


_TEXTS = ("__str__", "__repr__", "__format__")


def _tuple(machine: Machine, value: TupleValue) -> str | None:
    method = machine.class_attribute(value.cls, "__str__") if value.cls is not None else None
    return _said(machine.call(method, (value,))) if isinstance(method, FunctionValue) else _literal(machine, value)


def _own_text(machine: Machine, value: Value, made: Callable[[], str | None]) -> str | None:
    """The text that its class gives it, on each of the paths on which that has other methods for it."""

    def operation() -> Value:
        text = made()
        return NONE if text is None else Constant(text)

    return _said(several.decided(machine, (value,), operation, several.TEXTS))


def _said(value: Value) -> str | None:
    """The text that `__str__` has given."""
    return value.value if isinstance(value, Constant) and isinstance(value.value, str) else None


def _written(value: Any) -> str | None:
    """str(value); None where it would be too long, or is an integer with more digits than Python makes a text of."""
    if not isinstance(value, str) and text_size(value) > MAX_VALUE_SIZE:
        return None
    try:
        return str(value)
    except ValueError:
        return None


_CLASSES = (ClassValue, KnownClass)


def _of_classes(machine: Machine, items: tuple[Value, ...]) -> str | None:
    """The text of a tuple of classes, whose metaclasses do not give them another."""
    texts = [string(machine, each) for each in items if isinstance(each, _CLASSES) and _is_plain_class(machine, each)]
    if len(texts) < len(items) or None in texts:
        return None
    return f"({', '.join(map(str, texts))}{',' * (len(texts) == 1)})"


def _is_plain_class(machine: Machine, cls: ClassValue | KnownClass) -> bool:
    meta = machine.class_of(cls)
    return meta == KnownClass("builtins.type") or (
        isinstance(meta, ClassValue) and machine.class_attribute(meta, "__repr__") is None
    )


def _member(machine: Machine, value: EnumMember) -> str | None:
    method = machine.class_attribute(value.cls, "__str__")
    if hasattr(method, "definition"):
        result = machine.call(method, (value,)) if method is not None else None
        return result.value if isinstance(result, Constant) and isinstance(result.value, str) else None
    names = {base.name for base in machine.mro(value.cls) if isinstance(base, KnownClass)}
    if "enum.ReprEnum" in names:
        return string(machine, value.value)
    return f"{value.cls.name.rpartition('.')[2]}.{value.name}" if value.name and "|" not in value.name else None


def _instance(machine: Machine, value: Address) -> str | None:
    item = machine.state.read(value)
    assert isinstance(item, InstanceObject)
    given = item.attributes.get("args")
    exceptional = isinstance(given, TupleValue) and KnownClass("builtins.BaseException") in machine.mro(item.cls)
    for name in ("__str__",) if exceptional else ("__str__", "__repr__"):
        method = machine.class_attribute(item.cls, name)
        if method is not None and not isinstance(method, Unknown) and hasattr(method, "definition"):
            return _said(machine.call(method, (value,)))
    return _exception(machine, item.cls, given) if exceptional and isinstance(given, TupleValue) else None


_OWN_TEXT = ("builtins.OSError", "builtins.SyntaxError", "builtins.UnicodeError", "builtins.BaseExceptionGroup")
"""Exceptions whose text is made of more than their arguments."""


def _exception(machine: Machine, cls: Value, given: TupleValue) -> str | None:
    """What BaseException makes of its arguments; KeyError shows a key as it is written."""
    order = machine.mro(cls)
    if any(isinstance(base, Unknown) or (isinstance(base, KnownClass) and base.name in _OWN_TEXT) for base in order):
        return None
    if len(given.items) != 1:
        return string(machine, given) if given.items else ""
    if KnownClass("builtins.KeyError") not in order:
        return string(machine, given.items[0])
    try:
        return repr(to_python(machine, given.items[0]))
    except (NotPlainError, OtherTextError, TypeError, ValueError):
        return None


def concatenated(machine: Machine, frame: Frame, node: nodes.ConcatenatedString) -> Value:
    left = machine.evaluate(frame, node.left)
    found = machine.binary("+", left, machine.evaluate(frame, node.right))
    part: nodes.Expression = node
    while isinstance(part, nodes.ConcatenatedString) and isinstance(part.left, nodes.SimpleString):
        part = part.right
    if not isinstance(part, nodes.SimpleString) or not isinstance(found, Constant):
        return found
    return Constant(literal_texts.kept(machine, found.value))


def formatted(machine: Machine, frame: Frame, node: nodes.FormattedString) -> Value:
    """An f-string."""
    return _parts(machine, frame, node.parts, "r" in node.start.lower())


def unread(machine: Machine, frame: Frame, node: nodes.FormattedString) -> Value:
    """An f-string that goes where nothing depends on it: what stands in it is evaluated, but not made into text."""
    for part in node.parts:
        if isinstance(part, nodes.FormattedStringExpression):
            machine.evaluate(frame, part.expression)
    return Unknown("a text that is not needed", None, inert=True)


def _parts(machine: Machine, frame: Frame, parts: Any, raw: bool) -> Value:
    found: list[Value] = []
    for part in parts:
        if isinstance(part, nodes.FormattedStringText):
            text = part.value.replace("{{", "{").replace("}}", "}")
            found.append(Constant(text if raw or "\\" not in text else _unescaped(text)))
        else:
            found.append(_replacement(machine, frame, part))
    if not all(type(each) is Constant for each in found):
        return put_together(machine, found)
    texts = [str(each.value) for each in found if type(each) is Constant]
    if sum(map(len, texts)) > MAX_VALUE_SIZE:
        return machine.unknown(Reached(f"a string of more than {MAX_VALUE_SIZE} characters"))
    machine.makes(sum(map(len, texts)) // 8)
    return Constant("".join(texts))


def put_together(machine: Machine, pieces: Sequence[Value]) -> Value:
    """The text that these give one after the other, some of which are not known."""
    ends = [_piece(each) for each in pieces]
    if sum(len(each) for each in ends if isinstance(each, str)) > MAX_VALUE_SIZE:
        return number_unknown(machine, Reached(f"a string of more than {MAX_VALUE_SIZE} characters"))
    made = partial_texts.concatenated(ends)
    if isinstance(made, str):
        return Constant(made)
    return replace(number_unknown(machine, "a part of the string is not known", *pieces), text=made)


def _piece(value: Value) -> str | Ends:
    if isinstance(value, Constant):
        return str(value.value)
    return partial_texts.ends_of(value) or partial_texts.ANY


def _unescaped(text: str) -> str:
    try:
        return str(literal_value('"""' + text.replace('"', '\\"') + '"""'))
    except (ValueError, SyntaxError):
        return text


def _replacement(machine: Machine, frame: Frame, part: nodes.FormattedStringExpression) -> Value:
    value = machine.evaluate(frame, part.expression)
    spec: Value = Constant("")
    if part.format_spec:
        spec = _parts(machine, frame, part.format_spec, False)
    prefix = part.written or ""
    rendered = format_value(machine, value, part.conversion or ("r" if prefix and not part.format_spec else None), spec)
    if prefix:
        return put_together(machine, (Constant(prefix), rendered))
    return rendered


def format_value(machine: Machine, value: Value, conversion: str | None, spec: Value) -> Value:
    """format(value, spec), after str or repr where asked for."""
    if not isinstance(spec, Constant):
        return machine.unknown("how it is formatted is not known", spec)
    if isinstance(value, Unknown) and value.text is not None and conversion in (None, "s") and not spec.value:
        return value
    if format_size(spec.value) > MAX_VALUE_SIZE:
        return number_unknown(machine, Reached(f"a string of more than {MAX_VALUE_SIZE} characters"))
    if isinstance(value, Constant):
        if is_open(value.value):
            return _not_told(machine, value)
        return _formatted(machine, _CONVERSIONS[conversion or ""](value.value), spec.value)
    if conversion in ("r", "a"):
        text = _shown(machine, value, _CONVERSIONS[conversion])
    elif conversion is None and (method := _own_format(machine, value)) is not None:
        return machine.call(method, (value, spec)) if isinstance(method, FunctionValue) else _not_told(machine, value)
    else:
        text = string(machine, value)
    if text is None:
        return _not_told(machine, value)
    if conversion is None and spec.value:
        if isinstance(value, EnumMember) and isinstance(value.value, Constant) and text == str(value.value.value):
            return _formatted(machine, value.value.value, spec.value)  # of an IntEnum
        if not isinstance(value, EnumMember):
            return _without_a_spec(machine, value)
    return _formatted(machine, text, spec.value)


_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {"": lambda value: value, "s": str, "r": repr, "a": ascii}


def _formatted(machine: Machine, value: Any, spec: str) -> Value:
    try:
        return Constant(format(value, spec))
    except (ArithmeticError, TypeError, ValueError) as error:
        raise exceptions.as_python(machine, error) from None


def _not_told(machine: Machine, value: Value) -> Value:
    return number_unknown(machine, "its text is not known", value)


def _shown(machine: Machine, value: Value, show: Callable[[Any], str]) -> str | None:
    """repr or ascii of it; None where it cannot be known."""
    if isinstance(value, Dtype):
        return f"torch.{value.name}"
    if isinstance(value, EnumMember):
        return _shown_member(machine, value, show)
    if isinstance(value, Address) and isinstance(machine.state.read(value), InstanceObject):
        method = machine.class_attribute(machine.class_of(value), "__repr__")
        said = _said(machine.call(method, (value,))) if isinstance(method, FunctionValue) else None
        return said if said is None or show is repr or said.isascii() else None
    try:
        python = to_python(machine, value)
        return None if text_size(python) > MAX_VALUE_SIZE or isinstance(python, str) else show(python)
    except (NotPlainError, OtherTextError, TypeError, ValueError):
        return None


def _shown_member(machine: Machine, value: EnumMember, show: Callable[[Any], str]) -> str | None:
    method = machine.class_attribute(value.cls, "__repr__")
    if isinstance(method, FunctionValue):
        said = _said(machine.call(method, (value,)))
    elif method is None and isinstance(value.value, Constant) and value.name and "|" not in value.name:
        said = f"<{value.cls.name.rpartition('.')[2]}.{value.name}: {value.value.value!r}>"
    else:
        return None
    return said if said is None or show is repr or said.isascii() else None


def _own_format(machine: Machine, value: Value) -> Value | None:
    """The `__format__` of its class, or what is not known of it; None of one that has that of Python's own classes."""
    if not isinstance(value, (Address, EnumMember, TupleValue)) or (
        isinstance(value, TupleValue) and value.cls is None
    ):
        return None
    cls = machine.class_of(value)
    found = cls if isinstance(cls, Unknown) else machine.class_attribute(cls, "__format__")
    return None if isinstance(found, KnownFunction) else found


def _without_a_spec(machine: Machine, value: Value) -> Value:
    """Where something that is no text and no number is to be formatted: containers have no format of their own."""
    cls = machine.class_of(value)
    if isinstance(cls, KnownClass) and cls.name in _WITHOUT_A_FORMAT:
        said = f"unsupported format string passed to {cls.name.removeprefix('builtins.')}.__format__"
        raise machine.raises("TypeError", said, (Constant(said),))
    return _not_told(machine, value)


_WITHOUT_A_FORMAT = (
    *(f"builtins.{name}" for name in ("list", "tuple", "dict", "set", "frozenset", "type")),
    *("torch.dtype", "torch.device"),
)


_CONVERSION = re.compile(r"%(%)|%(?:\([^)]*\))?[#0\- +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?[a-zA-Z]")


_LOOKED_AT_IN_A_UNIT = 2_000
"""Characters of a template that are looked at in one unit of work."""


def _literals(template: str) -> list[str]:
    """What stands literally in a template of %, and "" for each of its places."""
    found: list[str] = []
    position = 0
    for match in _CONVERSION.finditer(template):
        found += [template[position : match.start()], "%"] if match[1] else [template[position : match.start()], ""]
        position = match.end()
        if not found[-2]:
            del found[-2]
    return [*found, template[position:]] if template[position:] else found


def _holds_size(value: Any) -> bool:
    """A size that is left open is it, or in it."""
    if isinstance(value, dict):
        return any(map(_holds_size, value.values()))
    return is_open(value) or (isinstance(value, list | tuple) and any(map(_holds_size, value)))


def percent(machine: Machine, template: str, value: Value) -> Value:
    """template % value."""
    machine.spend(template.count("%(") * len(template) // _LOOKED_AT_IN_A_UNIT)  # a key may go on to the end
    found = plain(machine, value)
    try:
        if found is None or _holds_size(found):
            raise NotPlainError
        python = found[0]
        if template_size(template, python if isinstance(python, tuple) else [python]) > MAX_VALUE_SIZE:
            return number_unknown(machine, Reached(f"a string of more than {MAX_VALUE_SIZE} characters"))
        return Constant(template % python)
    except (NotPlainError, OtherTextError):
        why = number_unknown(machine, "a part of the string is not known", value)
        machine.may_be_called([value], why)
        return put_together(machine, [Constant(each) if each else why for each in _literals(template)])
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise exceptions.as_python(machine, error) from None
