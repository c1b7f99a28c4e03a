"""Methods of str, applied where the text and every argument is known."""

from __future__ import annotations

from modgraph.prediction.knowledge.bounds import template_size, too_much
from modgraph.prediction.knowledge.plain import folded, number_unknown, plain
from modgraph.prediction.knowledge.registry import Arguments, Machine, models
from modgraph.prediction.limits import MAX_VALUE_SIZE
from modgraph.prediction.values import Constant, Unknown, Value

_METHODS = """
    capitalize casefold center count encode endswith expandtabs find index isalnum isalpha isascii isdecimal isdigit
    isidentifier islower isnumeric isprintable isspace istitle isupper ljust lower lstrip maketrans partition
    removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip
    swapcase title translate upper zfill
""".split()  # noqa: SIM905  a table of 38 names reads better as text


for _name in _METHODS:
    models(f"builtins.str.{_name}")(folded(getattr(str, _name), f"str.{_name}"))


@models("builtins.str.join")
def join(arguments: Arguments, machine: Machine) -> Value:
    separator, items = arguments.positional[0], machine.iterate(arguments.positional[1])
    if isinstance(items, Unknown):
        return number_unknown(machine, "text of something not known", items)
    if not isinstance(separator, Constant) or not all(isinstance(item, Constant) for item in items):
        return number_unknown(machine, "text of something not known", *items)
    texts = [item.value for item in items if isinstance(item, Constant)]
    refusal = too_much("str.join", (separator.value, texts))
    if refusal is not None:
        return number_unknown(machine, refusal)
    try:
        return Constant(separator.value.join(texts))
    except TypeError as error:
        raise machine.raises("TypeError", str(error)) from None


@models("builtins.str.format", "builtins.str.format_map")
def formatted(arguments: Arguments, machine: Machine) -> Value:
    """Every argument as Python would print it; unknown where one is not known, or is an object with attributes."""
    receiver, *rest = arguments.positional
    values = [plain(machine, value) for value in rest]
    keywords = {key: plain(machine, value) for key, value in arguments.keywords.items()}
    if not isinstance(receiver, Constant) or arguments.open or any(v is None for v in (*values, *keywords.values())):
        return number_unknown(machine, "text of something not known", *rest, *arguments.keywords.values())
    given = [found[0] for found in values if found is not None]
    named = {key: found[0] for key, found in keywords.items() if found is not None}
    if template_size(receiver.value, [*given, *named.values()]) > MAX_VALUE_SIZE:
        return number_unknown(machine, f"a string of more than {MAX_VALUE_SIZE} characters")
    try:
        if arguments.function.endswith("format_map"):
            return Constant(receiver.value.format_map(*given))
        return Constant(receiver.value.format(*given, **named))
    except Exception as error:  # what Python raises for these very arguments
        raise machine.raises(type(error).__name__, str(error)) from None
