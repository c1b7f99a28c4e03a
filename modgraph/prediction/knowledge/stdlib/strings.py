"""Methods of str, applied where the text and every argument is known."""

from __future__ import annotations

import inspect
import keyword
import shlex
import string
import textwrap
from dataclasses import replace
from string import Formatter, capwords

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import MAX_VALUE_SIZE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import Model, constant, models
from modgraph.prediction.domain.values import Constant, Unknown, Value
from modgraph.prediction.python import exceptions
from modgraph.prediction.python.bounds import template_size, too_much
from modgraph.prediction.python.plain import folded, number_unknown, plain
from modgraph.prediction.python.stand_ins import OtherTextError
from modgraph.prediction.python.text import put_together
from modgraph.source.files import encoding_of_text
from modgraph.source.reached import Reached

_METHODS = """
    capitalize casefold center count expandtabs find index isalnum isalpha isascii isdecimal isdigit
    isidentifier islower isnumeric isprintable isspace istitle isupper ljust lower lstrip maketrans partition
    removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines strip
    swapcase title translate upper zfill
""".split()  # noqa: SIM905  a table of 35 names reads better as text


def _asks_for_an_end(method: str) -> Model:
    """`startswith` or `endswith`, which the known ends of a text may decide."""
    asked = folded(getattr(str, method), f"str.{method}")

    def answer(arguments: Arguments, machine: Machine) -> Value:
        receiver, *rest = arguments.positional
        wanted = plain(machine, rest[0]) if len(rest) == 1 else None
        if not isinstance(receiver, Unknown) or receiver.text is None or wanted is None:
            return asked(arguments, machine)
        some = wanted[0] if isinstance(wanted[0], tuple) else (wanted[0],)
        ends = [start if method == "startswith" else end[::-1] for start, end in receiver.text]
        answers = {_begins(end, each if method == "startswith" else each[::-1]) for end in ends for each in some}
        if answers == {False} or (answers == {True} or (True in answers and len(ends) == 1)):
            return Constant(True in answers)
        return asked(arguments, machine)

    return answer


def _begins(known: str, wanted: str) -> bool | None:
    """Whether a text that begins so has that beginning; None where it depends on what follows."""
    if known.startswith(wanted):
        return True
    return None if wanted.startswith(known) else False


for _name in dir(string):
    if not _name.startswith("_") and isinstance(getattr(string, _name), str):
        constant(f"string.{_name}", Constant(getattr(string, _name)))

for _name in _METHODS:
    models(f"builtins.str.{_name}")(folded(getattr(str, _name), f"str.{_name}"))


@models("builtins.str.encode")
def encoded(arguments: Arguments, machine: Machine) -> Value:
    """In an encoding of plain text: looking up any other imports a module whose name the source chose, and some take
    the square of the length."""
    if not 0 < len(arguments.positional) < 4:
        return folded(str.encode, "str.encode")(arguments, machine)  # which raises
    encoding = plain(machine, arguments.get(1, "encoding", Constant("utf-8")))
    name = encoding_of_text(encoding[0]) if encoding is not None and isinstance(encoding[0], str) else None
    if name is None:
        machine.may_refuse("LookupError")  # there may be no such encoding
        return number_unknown(machine, "a text in an encoding that is not followed", *arguments.positional[1:])
    errors = arguments.get(2, "errors", Constant("strict"))
    return folded(str.encode, "str.encode")(
        replace(arguments, positional=(arguments.positional[0], Constant(name), errors), keywords={}), machine
    )


for _function in (textwrap.dedent, textwrap.indent, inspect.cleandoc, shlex.split, shlex.join, shlex.quote, capwords):
    _name = f"{_function.__module__}.{_function.__name__}"
    models(_name)(folded(_function, _name))

for _name in ("iskeyword", "issoftkeyword"):
    models(f"keyword.{_name}")(folded(getattr(keyword, _name), f"keyword.{_name}"))


for _name in ("startswith", "endswith"):
    models(f"builtins.str.{_name}")(_asks_for_an_end(_name))


@models("builtins.str.join")
def join(arguments: Arguments, machine: Machine) -> Value:
    separator, items = arguments.positional[0], machine.iterate(arguments.positional[1])
    if isinstance(items, Unknown):
        return number_unknown(machine, "text of something not known", items)
    if not isinstance(separator, Constant) or not isinstance(separator.value, str):
        return number_unknown(machine, "text of something not known", separator, *items)
    if not all(isinstance(item, Constant) for item in items):
        pieces = [piece for item in items for piece in (separator, item)][1:]
        return put_together(machine, pieces)
    texts = [item.value for item in items if isinstance(item, Constant)]
    refusal = too_much("str.join", (separator.value, texts))
    if refusal is not None:
        return number_unknown(machine, refusal)
    try:
        return Constant(separator.value.join(texts))
    except TypeError as error:
        raise machine.raises("TypeError", str(error)) from None


def _partly(machine: Machine, template: str, given: tuple[Value, ...]) -> Value:
    """The literal parts of a template; what stands in its places is taken as not known."""
    why = number_unknown(machine, "text of something not known", *given)
    machine.may_be_called(given, why)
    try:
        fields = list(Formatter().parse(template))
    except ValueError as error:
        raise machine.raises("ValueError", str(error)) from None
    pieces = [piece for text, field, *_ in fields for piece in (Constant(text), *([why] if field is not None else ()))]
    return put_together(machine, pieces)


def _asks_for_attributes(template: str) -> bool:
    """A field, or one in its format, reads an attribute: that of a value of Python's own leads to objects of ours."""
    try:
        fields = [(name, spec) for _, name, spec, _ in Formatter().parse(template) if name is not None]
    except ValueError:  # which Python itself will say
        return False
    return any("." in name or (spec and _asks_for_attributes(spec)) for name, spec in fields)


@models("builtins.str.format", "builtins.str.format_map")
def formatted(arguments: Arguments, machine: Machine) -> Value:
    """Every argument as Python would print it; unknown where one is not known, or is an object with attributes."""
    receiver, *rest = arguments.positional
    values = [plain(machine, value) for value in rest]
    keywords = {key: plain(machine, value) for key, value in arguments.keywords.items()}
    if not isinstance(receiver, Constant) or arguments.open:
        machine.may_refuse("IndexError")
        machine.may_refuse("KeyError")
        why = number_unknown(machine, "text of something not known", *rest, *arguments.keywords.values())
        machine.may_be_called([*rest, *arguments.keywords.values()], why)
        return why
    if any(v is None for v in (*values, *keywords.values())):
        return _partly(machine, receiver.value, (*rest, *arguments.keywords.values()))
    given = [found[0] for found in values if found is not None]
    named = {key: found[0] for key, found in keywords.items() if found is not None}
    if _asks_for_attributes(receiver.value):
        return number_unknown(machine, "attributes in a template are not interpreted")
    if template_size(receiver.value, [*given, *named.values()]) > MAX_VALUE_SIZE:
        return number_unknown(machine, Reached(f"a string of more than {MAX_VALUE_SIZE} characters"))
    try:
        if arguments.function.endswith("format_map"):
            return Constant(receiver.value.format_map(*given))
        return Constant(receiver.value.format(*given, **named))
    except OtherTextError:
        return _partly(machine, receiver.value, (*rest, *arguments.keywords.values()))
    except Exception as error:  # what Python raises for these very arguments
        raise exceptions.as_python(machine, error) from None
