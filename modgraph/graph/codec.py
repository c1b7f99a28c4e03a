"""Frozen dataclasses <-> plain JSON values, by their type hints.

A `Codec` knows two things beside the hints: which JSON values each plain type is read from (`Form`), and the keys of an
object, as in "name class:class_name device* ranks?": one for each field, in their order; the field's name behind a
colon, where it is another; `?` where the key is left out for a default, and `*` where it is written always and may be
absent when it is read; `observed&predicted` where it is left out with the field behind the sign. A class without a line
has its fields in their order, those with a default with `?`.
"""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
_NONE = type(None)
_PLAIN = frozenset({str, int, bool, _NONE})
_ALWAYS: Any = object()


class MisfitError(TypeError):
    """A JSON value that is not what its place holds."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.place = ""

    def __str__(self) -> str:
        return f"{self.place.removeprefix('.') or 'the document'}: {self.args[0]}"


class Form(NamedTuple):
    """How values of one type are read."""

    expected: str
    """In words, for the message where something else stands there."""
    kinds: frozenset[type]
    """Of the JSON values that it is read from."""
    test: Callable[[Any], bool] | None = None
    """What else must hold of them."""
    made: Callable[[Any], Any] | None = None
    """Of the JSON value; None where it is taken as it is."""
    many: str = ""
    """In words, for a list of them."""
    or_null: str = ""
    """In words, where null may stand there too."""
    null: Any = None
    """What null is read as, where it may stand there."""

    def reader(self) -> Callable[[Any], Any]:
        """What reads one value; raises MisfitError where it is no such value."""
        expected, kinds, test, made = self[:4]
        may_be_null, null = _NONE in kinds, self.null

        def read(value: Any) -> Any:
            if value is None and may_be_null:
                return null
            if type(value) not in kinds or (test is not None and not test(value)):
                raise MisfitError(f"expected {expected}, found {_named(value)}")
            return value if made is None else made(value)

        return read

    def fit(self, values: list[Any]) -> bool:
        """All of them are such values."""
        return self.kinds.issuperset(map(type, values)) and (self.test is None or all(map(self.test, values)))

    @property
    def taken(self) -> frozenset[type]:
        """Kinds of values that need not be read."""
        plain = self.kinds if self.test is None and self.made is None else self.kinds & {_NONE}
        return plain if self.null is None else plain - {_NONE}


class _Key(NamedTuple):
    """One key of an object."""

    key: str
    name: str
    default: Any
    """For which it is left out."""
    absent: Any
    """What is read where the key is not there; `_ALWAYS`: it must be."""
    beside: str = ""
    """The field for whose default this one is left out."""
    unless: Any = None
    """That default."""


class _Writers(dict[type, Callable[[Any], Any]]):
    """By type, what writes its values; made when one is met."""

    def __init__(self, make: Callable[[type], Callable[[Any], Any]]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        self[kind] = self._make(kind)
        return self[kind]


def _as_it_is(value: Any) -> Any:
    return value


class Codec:
    """One way to write dataclasses down as JSON.

    Args:
        forms: how plain types are read.
        keys: of objects, by class; by class and field where what stands in that field is written in another way.
        written: what is made of a value of a class, or of what stands in a field of one.
    """

    def __init__(
        self,
        forms: Mapping[Any, Form],
        keys: Mapping[Any, str] | None = None,
        written: Mapping[Any, Callable[[Any], Any]] | None = None,
    ) -> None:
        self._known, self._keys, self._written = forms, keys or {}, written or {}
        self._forms: dict[Any, Form] = {}
        self._writers = _Writers(self._writer)

    def decode(self, kind: type[T], value: Any) -> T:
        """The dataclass `kind` that `encode` turned into `value`; keys unknown here are ignored.

        Raises:
            MisfitError: `value` is no such object, or something in it is of another type.
        """
        made: T = self._form(kind).reader()(value)
        return made

    def encode(self, value: Any) -> Any:
        """`value` as JSON values."""
        return self._writers[type(value)](value)

    def _writer(self, kind: type) -> Callable[[Any], Any]:
        if kind in self._written:
            return self._written[kind]
        if is_dataclass(kind):
            return self._object_writer(kind, self._keys.get(kind))
        if issubclass(kind, tuple | list):
            return lambda value: [self._writers[type(item)](item) for item in value]
        if issubclass(kind, Mapping):
            return lambda value: {str(key): self.encode(item) for key, item in value.items()}
        return _as_it_is

    def _object_writer(self, kind: type, keys: str | None) -> Callable[[Any], Any]:
        plan = []
        for each in _keys(kind, keys):
            write = self._written.get((kind, each.name))
            if (kind, each.name) in self._keys:
                write = self._object_writer(_hints(kind)[each.name], self._keys[kind, each.name])
            plan.append((each.key, each.name, each.default, write, each.beside, each.unless))
        writers = self._writers

        def written(value: Any) -> dict[str, Any]:
            encoded = {}
            for key, name, default, write, beside, unless in plan:
                if beside and getattr(value, beside) is unless:
                    continue
                content = getattr(value, name)
                if content is not default and (default is _ALWAYS or content != default):
                    kind = type(content)
                    encoded[key] = content if kind in _PLAIN else (write or writers[kind])(content)
            return encoded

        return written

    def _form(self, hint: Any) -> Form:
        if hint not in self._forms:
            self._forms[hint] = self._made_form(hint)
        return self._forms[hint]

    def _made_form(self, hint: Any) -> Form:
        if hint in self._known:
            return self._known[hint]
        if is_dataclass(hint):
            return Form("an object", frozenset({dict}), made=self._object_reader(hint))
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Literal:
            text = "one of " + ", ".join(json.dumps(choice) for choice in arguments)
            return Form(text, frozenset({str}), test=arguments.__contains__, or_null=text)
        if origin in (typing.Union, types.UnionType):
            (form,) = [self._form(each) for each in arguments if each is not _NONE]
            return form._replace(expected=form.or_null or f"{form.expected} or null", kinds=form.kinds | {_NONE})
        assert origin is tuple
        return _listed(self._form(arguments[0]))

    def _object_reader(self, kind: Any) -> Callable[[Any], Any]:
        plan: dict[str, tuple[str, frozenset[type], Callable[[Any], Any]]] = {}
        absent: dict[str, Any] = {}
        needed: dict[str, str] = {}

        def planned() -> None:  # when something is read, and not before: a class may hold others of its kind
            hints = _hints(kind)
            for each in _keys(kind, self._keys.get(kind)):
                if each.name in hints:
                    form = self._form(hints[each.name])
                    plan[each.key] = (each.name, form.taken, form.reader())
                    if each.absent is _ALWAYS:
                        needed[each.name] = each.key
                    else:
                        absent[each.name] = each.absent

        def made(value: dict[str, Any]) -> Any:
            if not plan:
                planned()
            given = absent.copy()
            key = ""
            try:
                for key, content in value.items():
                    if key in plan:
                        name, taken, read = plan[key]
                        given[name] = content if type(content) in taken else read(content)
                if not needed.keys() <= given.keys():
                    key = next(key for name, key in needed.items() if name not in given)
                    raise MisfitError("this field is missing")
            except MisfitError as error:
                error.place = f".{key}{error.place}"
                raise
            return kind(**given)

        return made


def _listed(form: Form) -> Form:
    """A tuple, read from a list, of what `form` reads."""
    if form.many and form.made is None:
        return Form(f"a list of {form.many}", frozenset({list}), test=form.fit, made=tuple)
    return Form("a list", frozenset({list}), made=partial(_each, form.reader()))


def _each(read: Callable[[Any], Any], values: list[Any]) -> tuple[Any, ...]:
    made: list[Any] = []
    try:
        made.extend(map(read, values))
    except MisfitError as error:
        error.place = f"[{len(made)}]{error.place}"
        raise
    return tuple(made)


def _keys(kind: Any, text: str | None) -> Sequence[_Key]:
    defaults = {field.name: _default(field) for field in fields(kind)}
    if text is None:
        return [
            _Key(name, name, _ALWAYS if default is MISSING else default, _ALWAYS if default is MISSING else default)
            for name, default in defaults.items()
        ]
    found = []
    for word in text.split():
        word, _, beside = word.partition("&")
        key, _, name = word.rstrip("?*").partition(":")
        name = name or key
        default = absent = _ALWAYS
        if beside:
            found.append(_Key(key, name, _ALWAYS, defaults[name], beside, defaults[beside]))
            continue
        if word[-1] in "?*":
            absent = defaults.get(name, ())  # what is no field is computed: never read, and left out where it is empty
            if absent is MISSING:
                absent = "" if _hints(kind)[name] is str else ()
            default = absent if word[-1] == "?" else _ALWAYS
        found.append(_Key(key, name, default, absent))
    return found


def _default(field: Any) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _named(value: Any) -> str:
    """`value` in a message: what it is, and its text where that is short."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        if len(value) > 20 or any(isinstance(each, (dict, list)) for each in value):
            return "a list"
        return "a list" if len(str(value)) > 40 else f"the list {json.dumps(value, ensure_ascii=False)}"
    text = json.dumps(value[:100] if isinstance(value, str) else value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


# ---- what a process says, whose words are put into files and pictures ------------------------------------------------

_MOST = 2**63
"""No size, index or count is larger; the decimal digits of a number without bound could not even be printed."""


def as_text(value: Any) -> str:
    """`value`, which is a text of JSON, as one that can be written to a file; raises TypeError where it is none."""
    if type(value) is not str:
        raise MisfitError("a text is needed")
    # Half of a surrogate pair can be written in JSON, and in no file.
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def _is_small(value: float) -> bool:
    return -_MOST <= value <= _MOST if type(value) is int else math.isfinite(value)


_TEXT = Form("a text", frozenset({str}), made=as_text)
_WHOLE = Form("a whole number of 64 bits", frozenset({int}), test=_is_small)
_whole = _WHOLE.reader()
_COUNTED = Form("a list of a text and a number", frozenset({list}), test=lambda value: len(value) == 2)
_PROCESS: dict[Any, Form] = {
    str: _TEXT,
    int: _WHOLE,
    bool: Form("true or false", frozenset({bool})),
    float | None: Form(
        "a number or null",
        frozenset({int, float, _NONE}),
        test=lambda value: type(value) is float or _is_small(value),
        made=lambda value: value if _is_small(value) else None,
    ),
    int | str | None: Form(
        "a size",
        frozenset({int, str, _NONE}),
        made=lambda value: as_text(value) if type(value) is str else _whole(value),
    ),
    Mapping[str, Any]: Form(
        "an object",
        frozenset({dict}),
        made=lambda value: {as_text(name): item for name, item in value.items()},
    ),
    tuple[str, int]: _COUNTED._replace(made=lambda value: (as_text(value[0]), _whole(value[1]))),
}
_EVENTS = Codec(_PROCESS)
encode, decode = _EVENTS.encode, _EVENTS.decode
