"""argparse: the values that a parser gives for arguments that are known; for those of the process, its defaults.

A file is predicted, and run, as if it were started without arguments of its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NoReturn

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.asked_options import AskedOption
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, InstanceObject, ListObject
from modgraph.prediction.domain.registry import constant, is_argv, known_class, models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Address,
    Constant,
    KnownClass,
    KnownFunction,
    ModuleReference,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.python.plain import lifted, plain

PARSER = "argparse.ArgumentParser"
NAMESPACE = "argparse.Namespace"
_OPTION = "argparse.Action"

known_class(PARSER)
known_class(_OPTION)
constant("argparse.SUPPRESS", Constant("==SUPPRESS=="))
constant("argparse.REMAINDER", Constant("..."))
for _name in ("ArgumentDefaultsHelpFormatter", "RawTextHelpFormatter", "HelpFormatter", "RawDescriptionHelpFormatter"):
    known_class(f"argparse.{_name}")
_BOTH_WAYS = KnownClass("argparse.BooleanOptionalAction")
known_class(_BOTH_WAYS.name)

_SUPPRESS = Constant("==SUPPRESS==")
_FLAGS = {"store_true": (FALSE, TRUE), "store_false": (TRUE, FALSE)}


@models(PARSER, f"{PARSER}.__init__")
def parser(arguments: Arguments, machine: Machine) -> Value:
    """A parser keeps its options in a list, each with its name, default and the strings that select it."""
    is_new = not arguments.function.endswith("__init__")
    if is_new:
        made = machine.allocate(InstanceObject(KnownClass(PARSER), {}, where=arguments.where))
    else:
        assert isinstance(arguments.positional[0], Address)
        made = arguments.positional[0]
    options: list[Value] = []
    defaults = DictObject()
    parents = arguments.keywords.get("parents", NONE)
    found = machine.iterate(parents) if parents != NONE else []
    why = found if isinstance(found, Unknown) else arguments.open
    for parent in found if isinstance(found, list) else ():
        held = _options(machine, parent)
        options += held.items if held is not None else []
        why = why or (held.open if held is not None else machine.unknown("a parent parser is not known", parent))
        stored = _held(machine, parent, "<defaults>")
        given = machine.state.find(stored, DictObject) if stored is not None else None
        if given is not None:
            defaults.entries.update(given.entries)
            defaults.open = defaults.open or given.open
    attributes = machine.state.change(made, InstanceObject).attributes
    attributes["<options>"] = machine.allocate(ListObject(options, why))
    attributes["<defaults>"] = machine.allocate(defaults)
    if _CHANGING & arguments.keywords.keys():
        why = machine.unknown("a parser that reads its words in another way is not modelled")
        attributes["<another way>"] = why
    attributes["<on conflict>"] = arguments.keywords.get("conflict_handler", Constant("error"))
    return made if is_new else NONE


_CHANGING = frozenset(("prefix_chars", "fromfile_prefix_chars", "argument_default", "allow_abbrev", "exit_on_error"))
"""Keywords of a parser by which the same words give something else."""


def _held(machine: Machine, receiver: Value, name: str) -> Value | None:
    item = machine.state.find(receiver, InstanceObject)
    return item.attributes.get(name) if item is not None else None


def _options(machine: Machine, receiver: Value) -> ListObject | None:
    held = _held(machine, receiver, "<options>")
    return machine.state.find(held, ListObject) if held is not None else None


@models(f"{PARSER}.add_argument")
def add_argument(arguments: Arguments, machine: Machine) -> Value:
    receiver, *names = arguments.positional
    texts = [name.value for name in names if isinstance(name, Constant) and isinstance(name.value, str)]
    held = _held(machine, receiver, "<options>")
    if not isinstance(held, Address):
        return machine.unknown("the parser is not known")
    if arguments.open is not None or len(texts) < len(names) or not (texts or "dest" in arguments.keywords):
        changed = machine.state.change(held, ListObject)
        changed.open = changed.open or machine.unknown("an argument of the parser is not known", *names)
        return NONE
    dest = arguments.keywords.get("dest", NONE)
    if dest == NONE:
        long = [text for text in texts if text.startswith("--")]
        dest = Constant((long or texts)[0].lstrip("-").replace("-", "_"))
    flag = _FLAGS.get(str(getattr(arguments.keywords.get("action"), "value", "")), (NONE, NONE))[0]
    option: dict[str, Value] = {**arguments.keywords, "dest": dest}
    option["option_strings"] = TupleValue(tuple(Constant(text) for text in texts if text.startswith("-")))
    stored = _held(machine, receiver, "<defaults>")
    defaults = machine.state.find(stored, DictObject) if stored is not None else None
    option.setdefault("default", defaults.entries.get(dest, flag) if defaults is not None else flag)
    _drop_namesakes(machine, receiver, held, {text for text in texts if text.startswith("-")})
    made = machine.allocate(InstanceObject(KnownClass(_OPTION), option))
    machine.state.change(held, ListObject).items.append(made)
    return made


def _drop_namesakes(machine: Machine, receiver: Value, held: Address, texts: set[str]) -> None:
    """Of options that one of these strings selects already: the new one takes their place, where the parser resolves
    conflicts; else Python raises."""
    options = machine.state.read(held)
    assert isinstance(options, ListObject)
    same = [each for each in options.items if texts & _strings(machine, each)]
    if not same:
        return
    changed = machine.state.change(held, ListObject)
    whole = all(_strings(machine, each) <= texts for each in same)
    if _held(machine, receiver, "<on conflict>") == Constant("resolve") and whole:
        changed.items = [each for each in changed.items if each not in same]
    else:
        changed.open = changed.open or machine.unknown("an option of the parser is added twice")
        machine.may_fail()


def _strings(machine: Machine, option: Value) -> set[str]:
    item = machine.state.find(option, InstanceObject)
    texts = item.attributes.get("option_strings") if item is not None else None
    return (
        {str(each.value) for each in texts.items if isinstance(each, Constant)}
        if isinstance(texts, TupleValue)
        else set()
    )


@models(f"{PARSER}.add_argument_group", f"{PARSER}.add_mutually_exclusive_group")
def group(arguments: Arguments, machine: Machine) -> Value:
    """What is added to a group is added to the parser, which may refuse two that exclude each other."""
    receiver = arguments.positional[0]
    item = machine.state.find(receiver, InstanceObject)
    if item is not None and isinstance(receiver, Address) and "exclusive" in arguments.function:
        machine.state.change(receiver, InstanceObject).attributes["<exclusive>"] = TRUE
    return arguments.positional[0]


@models(f"{PARSER}.add_subparsers", f"{PARSER}.register")
def subparsers(arguments: Arguments, machine: Machine) -> Value:
    why = machine.unknown("commands of a parser are not modelled")
    held = _held(machine, arguments.positional[0], "<options>")
    if isinstance(held, Address):
        machine.state.change(held, ListObject).open = why
    return why


@models(f"{PARSER}.set_defaults")
def set_defaults(arguments: Arguments, machine: Machine) -> Value:
    held = _held(machine, arguments.positional[0], "<defaults>")
    if isinstance(held, Address):
        changed = machine.state.change(held, DictObject)
        changed.entries.update({Constant(name): value for name, value in arguments.keywords.items()})
        changed.open = changed.open or arguments.open
    options = _options(machine, arguments.positional[0])
    if arguments.open is not None and options is not None:
        _doubt_defaults(machine, options, arguments.open)
    for each in options.items if options is not None else ():
        item = machine.state.find(each, InstanceObject)
        dest = item.attributes.get("dest") if item is not None else None
        given = arguments.keywords.get(str(dest.value)) if isinstance(dest, Constant) else None
        if given is not None and isinstance(each, Address):
            machine.state.change(each, InstanceObject).attributes["default"] = given
    return NONE


def _doubt_defaults(machine: Machine, options: ListObject, why: Unknown) -> None:
    for each in options.items:
        item = machine.state.find(each, InstanceObject)
        if item is not None and isinstance(each, Address):
            held = item.attributes.get("default", NONE)
            machine.state.change(each, InstanceObject).attributes["default"] = points_to.either_of(why, (held,))


@models(f"{PARSER}.exit", f"{PARSER}.error")
def leave(arguments: Arguments, machine: Machine) -> Value:
    raise machine.raises("SystemExit", "2" if arguments.function.endswith("error") else "0")


@models(f"{PARSER}.print_help", f"{PARSER}.print_usage", f"{PARSER}.format_help", f"{PARSER}.format_usage")
def shown(arguments: Arguments, machine: Machine) -> Value:
    return machine.unknown("the text of a parser is not made")


@models(f"{PARSER}.parse_args", f"{PARSER}.parse_known_args")
def parse(arguments: Arguments, machine: Machine) -> Value:
    """Python ends the process where words do not fit, or are not what the type of their option takes."""
    try:
        found = _parse(arguments, machine)
    except Raised as raised:
        if not any(machine.is_instance(raised.exception, KnownClass(each)) for each in _REFUSALS):
            raise
        raise machine.raises("SystemExit", "2") from None
    namespace = found.items[0] if isinstance(found, TupleValue) else found
    item = machine.state.find(namespace, InstanceObject)
    is_exclusive = _held(machine, arguments.positional[0], "<exclusive>") is not None
    if (
        is_exclusive
        or item is None
        or item.open is not None
        or any(isinstance(each, Unknown) for each in item.attributes.values())
    ):
        machine.may_fail("SystemExit")
    return found


_REFUSALS = ("builtins.ValueError", "builtins.TypeError")


def _parse(arguments: Arguments, machine: Machine) -> Value:
    receiver, given = arguments.positional[0], arguments.get(1, "args", NONE)
    words = _words_of_script(machine) if given == NONE else machine.iterate(given)
    options, defaults = _options(machine, receiver), _held(machine, receiver, "<defaults>")
    others = machine.state.find(defaults, DictObject) if defaults is not None else None
    if options is None or others is None or isinstance(words, Unknown) or "namespace" in arguments.keywords:
        return machine.unknown("the arguments of the command line are not known", given)
    if machine.asked_options is not None:
        machine.asked_options.update(_asked(machine, options))
    if isinstance(another := _held(machine, receiver, "<another way>"), Unknown):
        return another
    why = options.open or others.open
    given_values, rest = ({}, []) if not words else _parsed(machine, options, words)
    if isinstance(given_values, Unknown):
        return given_values
    only_known = not arguments.function.endswith("parse_args")
    if rest and not only_known:
        return machine.unknown("the command line has words that no option takes", *rest)
    values = _values(machine, options, others, given_values)
    namespace = machine.allocate(InstanceObject(KnownClass(NAMESPACE), values, why, where=arguments.where))
    if not only_known:
        return namespace
    return TupleValue((namespace, machine.allocate(ListObject(rest, why))))


def _asked(machine: Machine, options: ListObject) -> Iterator[tuple[str, AskedOption]]:
    """Those that are known, for who wants the words for another branch."""
    for address in options.items:
        item = machine.state.find(address, InstanceObject)
        known = plain(machine, item.attributes["dest"]) if item is not None else None
        if item is None or known is None or not isinstance(known[0], str):
            continue
        action = item.attributes.get("action", NONE)
        default = plain(machine, item.attributes["default"])
        choices = plain(machine, item.attributes.get("choices", NONE))
        is_listed = choices is not None and isinstance(choices[0], list | tuple)
        yield (
            known[0],
            AskedOption(
                known[0],
                max(_strings(machine, address), key=len, default=None),
                None if action == NONE else str(action.value if isinstance(action, Constant) else _short(action)),
                default[0] if default is not None else None,
                tuple(choices[0]) if choices is not None and is_listed else (),
            ),
        )


def _short(action: Value) -> str:
    return last_name(action.name) if isinstance(action, KnownClass) else "?"


def _words_of_script(machine: Machine) -> list[Value] | Unknown:
    """Those of the command line with which the script is taken to be started, and what it has made of them; none where
    nothing says them."""
    argv = machine.get_attribute(ModuleReference("sys"), "argv")
    if isinstance(argv, Unknown):
        return [] if is_argv(argv) else machine.unknown("the words of the command line are changed")
    words = machine.iterate(argv)
    return words[1:] if isinstance(words, list) else words


def _plain_of(machine: Machine, value: Value) -> tuple[Any] | None:
    return (argparse.BooleanOptionalAction,) if value == _BOTH_WAYS else plain(machine, value)


_ACTIONS = (
    *("store", "store_true", "store_false", "store_const", "append", "extend", "count"),
    argparse.BooleanOptionalAction,
)
_PARSED = ("action", "nargs", "const", "required", "dest")
"""Keywords of an option by which Python's own parser decides what belongs to it."""


def _parsed(
    machine: Machine, options: ListObject, words: list[Value]
) -> tuple[dict[str, Value] | Unknown, list[Value]]:
    """What the words of a command line give, and those that belong to no option: by Python's own parser, which is told
    of the options as text."""
    why = machine.unknown("the words of a command line are not known", *words)
    texts = [text for each in words if (text := _text_of(each)) is not None]
    if options.open is not None or len(texts) < len(words):
        return options.open or why, []
    if _takes_long(machine, options, len(words)):
        return machine.unknown("a command line with too many words or options"), []
    real = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    by_name: dict[str, dict[str, Value]] = {}
    for address in options.items:
        item = machine.state.find(address, InstanceObject)
        if item is not None and item.attributes.get("action") in (Constant("help"), Constant("version")):
            continue
        option = (
            {name: _plain_of(machine, value) for name, value in item.attributes.items() if name in _PARSED}
            if item
            else {}
        )
        if item is None or None in option.values() or not _is_plain(option, item.attributes["default"]):
            return machine.unknown("an option of the parser is not modelled"), []
        known = {name: found[0] for name, found in option.items() if found}
        strings = plain(machine, item.attributes["option_strings"])
        if not isinstance(known["dest"], str):
            return machine.unknown("an option of the parser is not modelled"), []
        by_name[known["dest"]] = item.attributes
        name = known["dest"] if strings and strings[0] else known.pop("dest")
        try:
            real.add_argument(*(strings[0] if strings and strings[0] else (name,)), **known)
        except (TypeError, ValueError, argparse.ArgumentError):
            return machine.unknown("an option of the parser is not modelled"), []
    try:
        found, rest = real.parse_known_args(texts)
    except (_EndsError, TypeError, ValueError, AttributeError, LookupError, argparse.ArgumentError):
        return machine.unknown("the words of a command line do not fit its options"), []
    given: dict[str, Value] = {}
    for name, value in vars(found).items():
        option_of = by_name.get(name, {})
        if _holds_open(value):
            if not _takes_one_word(option_of):
                return why, []
            given[name] = machine.unknown(f"the command line does not say all of what {name} is given")
            continue
        typed = _typed(machine, value, option_of.get("type", NONE))
        chosen = _is_chosen(machine, value, typed, option_of.get("choices", NONE))
        if chosen is False:
            return machine.unknown(f"the command line gives {name} what is none of its choices"), []
        given[name] = typed if chosen else machine.unknown(f"it is not known what {name} may be")
    return (why, []) if _holds_open(rest) else (given, [Constant(word) for word in rest])


_OPEN = "\0"
"""Stands for the part of a word that is not known, where Python's parser reads it."""


def _text_of(word: Value) -> str | None:
    """A word as text; one that is known in part, with `_OPEN` for the rest. None where it may be an option, or which of
    them is not known."""
    if isinstance(word, Constant):
        return word.value if type(word.value) is str and _OPEN not in word.value else None
    if not isinstance(word, Unknown) or word.text is None or len(word.text) != 1:
        return None
    ((begin, end),) = word.text
    return None if begin.startswith("-") and "=" not in begin else f"{begin}{_OPEN}{end}"


def _holds_open(value: Any) -> bool:
    return any(map(_holds_open, value)) if isinstance(value, list) else isinstance(value, str) and _OPEN in value


def _takes_one_word(option: dict[str, Value]) -> bool:
    """What follows it is its word, or Python ends: not so of arguments by position, and of those of several words."""
    strings = option.get("option_strings")
    return isinstance(strings, TupleValue) and bool(strings.items) and option.get("nargs", NONE) == NONE


class _EndsError(Exception):
    """Python's parser would end the process."""


class _Parser(argparse.ArgumentParser):
    """Writes nothing and ends nothing: standard error belongs to the whole process, with all of its threads."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise _EndsError(message or status)

    def error(self, message: str) -> NoReturn:
        raise _EndsError(message)

    def _print_message(self, message: str, file: Any = None) -> None:
        pass


def _is_chosen(machine: Machine, words: Any, typed: Value, choices: Value) -> bool | None:
    """Whether what words were made into is one of the choices; None where that is not known."""
    if choices == NONE:
        return True
    if isinstance(words, list):
        held = machine.state.find(typed, ListObject)
        items = held.items if held is not None and len(held.items) == len(words) else [machine.unknown("a list")]
        each = [_is_chosen(machine, word, item, choices) for word, item in zip(words, items, strict=False)]
        return False if False in each else None if None in each or len(each) < len(words) else True
    if not isinstance(words, str):  # what stands for an option without words
        return True
    allowed = machine.iterate_in_any_order(choices)
    if isinstance(allowed, Unknown):
        return None
    same = [machine.equal(typed, choice) for choice in allowed]
    return True if True in same else None if None in same else False


_MOST_TRIES = 10_000_000
_MOST_WORDS_OF_ONE = 1_000


def _takes_long(machine: Machine, options: ListObject, words: int) -> bool:
    """Python's parser looks through the options for each word, and tries in every way which words belong to which
    argument by position that takes several."""
    several = 0
    for address in options.items:
        item = machine.state.find(address, InstanceObject)
        nargs = item.attributes.get("nargs", NONE) if item is not None else NONE
        if isinstance(nargs, Constant) and isinstance(nargs.value, int) and nargs.value > _MOST_WORDS_OF_ONE:
            return True
        strings = item.attributes.get("option_strings", NONE) if item is not None else NONE
        several += nargs != NONE and not (isinstance(strings, TupleValue) and strings.items)
    return words * len(options.items) > _MOST_TRIES // 10 or (words + 1) ** min(several, 64) > _MOST_TRIES


def _is_plain(option: dict[str, tuple[Any] | None], default: Value) -> bool:
    action = option.get("action") or ("store",)
    return action[0] in _ACTIONS and (default == NONE or action[0] not in ("append", "extend", "count"))


def _typed(machine: Machine, value: Any, kind: Value) -> Value:
    """Words as the option's type makes them."""
    if isinstance(value, list):
        return machine.allocate(ListObject([_typed(machine, each, kind) for each in value]))
    if isinstance(value, str) and kind != NONE:
        return machine.call(kind, (Constant(value),))
    return lifted(machine, value)


def _values(machine: Machine, options: ListObject, others: DictObject, given: dict[str, Value]) -> dict[str, Value]:
    """What each name has; one that has to be given and is not, is unknown."""
    values: dict[str, Value] = {}
    for address in options.items:
        item = machine.state.find(address, InstanceObject)
        assert item is not None
        option = item.attributes
        name, default = option["dest"], option["default"]
        if option.get("action") in (Constant("help"), Constant("version")) or not isinstance(name, Constant):
            continue
        if name.value in given:
            values[str(name.value)] = given[str(name.value)]
            continue
        if default == NONE and _takes_any(option):
            default = machine.allocate(ListObject([]))
        if _required(machine, option):
            values[str(name.value)] = machine.unknown(f"the command line has to give {name.value}")
            continue
        kind = option.get("type", NONE)
        if isinstance(default, Constant) and isinstance(default.value, str) and default != _SUPPRESS and kind != NONE:
            default = machine.call(kind, (default,))
        if default != _SUPPRESS:
            values.setdefault(str(name.value), default)
    for key, value in others.entries.items():
        if isinstance(key, Constant):
            values.setdefault(str(key.value), value)
    return values


def _takes_any(option: dict[str, Value]) -> bool:
    """An argument by position, of any number: without words an empty list."""
    strings = option["option_strings"]
    return isinstance(strings, TupleValue) and not strings.items and option.get("nargs") in (Constant("*"), _REMAINDER)


_REMAINDER = Constant("...")


def _required(machine: Machine, option: dict[str, Value]) -> bool:
    strings = option["option_strings"]
    if isinstance(strings, TupleValue) and strings.items:
        return machine.truth(option.get("required", FALSE)) is True
    return option.get("nargs", NONE) not in (Constant("?"), Constant("*"), Constant("..."))


@models(f"{PARSER}.get_default")
def get_default(arguments: Arguments, machine: Machine) -> Value:
    parsed = parse(Arguments("parse_args", arguments.positional[:1]), machine)
    return machine.call(KnownFunction("builtins.getattr"), (parsed, arguments.get(1, "dest", NONE), NONE))
