"""Python's built-in functions and the constructors of its types; methods of str, list, dict, set stand in files beside.

`isinstance`, `getattr`, `super`, `type` and kin, which look into the interpreter, are in `reflection.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from modgraph.names import last_name
from modgraph.prediction.code import file_effects
from modgraph.prediction.domain import points_to, sizes
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import MAX_ALTERNATIVES, MAX_LOOP_ITERATIONS, MAX_VALUE_SIZE
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import (
    DictObject,
    InstanceObject,
    IteratorObject,
    ListObject,
    ModuleObject,
    SetObject,
)
from modgraph.prediction.domain.registry import constant, known_class, models
from modgraph.prediction.domain.values import (
    NONE,
    TRUE,
    Address,
    ClassValue,
    Constant,
    EnumMember,
    FunctionValue,
    KnownClass,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.knowledge.stdlib import mappings, opened_files, sorting
from modgraph.prediction.knowledge.stdlib.iteration import prefix_of
from modgraph.prediction.paths import partial_texts, several
from modgraph.prediction.python import classes, exceptions, hashing, items, iterables, node_text, unordered
from modgraph.prediction.python.bounds import text_size
from modgraph.prediction.python.plain import TOO_MANY, Looking, folded, has_other_text, number_unknown, plain
from modgraph.prediction.python.stand_ins import Identity, OtherTextError
from modgraph.source.reached import Reached

known_class("builtins.object", "")
for _name in ("int", "float", "complex", "str", "bytes", "bytearray", "list", "dict", "tuple", "set", "frozenset"):
    known_class(f"builtins.{_name}")
for _name in ("range", "slice", "type", "property", "classmethod", "staticmethod", "super", "memoryview"):
    known_class(f"builtins.{_name}")
for _name in ("function", "method", "module", "NoneType", "ellipsis", "generator", "builtin_function_or_method"):
    known_class(f"builtins.{_name}")
for _name in ("list_iterator", "dict_keys", "dict_values", "dict_items"):
    known_class(f"builtins.{_name}")
known_class("builtins.bool", "builtins.int")


def _exceptions(cls: type[BaseException]) -> Iterator[type[BaseException]]:
    """A class and those of Python's own that are derived from it; those of groups have a file of their own."""
    yield cls
    for each in cls.__subclasses__():
        if each.__module__ == "builtins" and not each.__name__.endswith("Group"):
            yield from _exceptions(each)


for _cls in _exceptions(BaseException):
    known_class(f"builtins.{_cls.__name__}", *(f"builtins.{_base.__name__}" for _base in _cls.__bases__))
constant("builtins.IOError", KnownClass("builtins.OSError"))
constant("builtins.EnvironmentError", KnownClass("builtins.OSError"))
constant("builtins.NotImplemented", Constant(NotImplemented))
constant("builtins.Ellipsis", Constant(...))
constant("builtins.__debug__", TRUE)


# ---- numbers ---------------------------------------------------------------------------------------------------------


for _function in (divmod, chr, ord, bin, hex, oct, ascii):
    models(f"builtins.{_function.__name__}")(folded(_function, _function.__name__))


def _dunder(name: str) -> Callable[[Arguments, Machine], Value | None]:
    """`x.__name__()` of an object that is no number itself; None where it has no such method."""

    def call(arguments: Arguments, machine: Machine) -> Value | None:
        receiver = arguments.positional[0]
        if not isinstance(receiver, Address):
            return None
        cls = machine.class_of(receiver)
        method = machine.class_attribute(cls, name) if machine.is_class(cls) else cls
        if method is None or isinstance(method, Unknown):
            return method
        return machine.call(machine.bound(method, receiver, cls), arguments.positional[1:])

    return call


@models("builtins.abs")
def absolute(arguments: Arguments, machine: Machine) -> Value:
    return _dunder("__abs__")(arguments, machine) or folded(abs, "abs")(arguments, machine)


@models("builtins.pow")
def power(arguments: Arguments, machine: Machine) -> Value:
    """As the operator, but for what is a number and for a third argument."""
    given = (*arguments.positional, *arguments.keywords.values())
    objects = [each for each in given if isinstance(each, (Address, Unknown)) and not points_to.is_plain(each)]
    if not objects or len(given) != 2 or arguments.open is not None:
        return folded(pow, "pow")(arguments, machine)
    return machine.binary("**", arguments.get(0, "base", NONE), arguments.get(1, "exp", NONE))


@models("builtins.round")
def rounded(arguments: Arguments, machine: Machine) -> Value:
    return _dunder("__round__")(arguments, machine) or folded(round, "round")(arguments, machine)


@models("builtins.int", "builtins.int.__new__")
def integer(arguments: Arguments, machine: Machine) -> Value:
    return _converted(arguments, machine, sizes.whole, "int", ("__int__", "__index__", "__trunc__"))


@models("builtins.float", "builtins.float.__new__")
def floating(arguments: Arguments, machine: Machine) -> Value:
    return _converted(arguments, machine, sizes.floating, "float", ("__float__", "__index__"))


@models("builtins.complex")
def complex_number(arguments: Arguments, machine: Machine) -> Value:
    return _converted(arguments, machine, complex, "complex", ("__complex__", "__float__"))


def _converted(
    arguments: Arguments, machine: Machine, to: Callable[..., Any], name: str, methods: tuple[str, ...]
) -> Value:
    if arguments.function.endswith("__new__"):
        arguments = replace(arguments, positional=arguments.positional[1:])
    if not arguments.positional and not arguments.keywords:
        return Constant(to())
    for method in methods:
        found = _dunder(method)(arguments, machine) if arguments.positional else None
        if isinstance(found, Constant):
            return Constant(to(found.value))
        if found is not None:
            return replace(number_unknown(machine, f"{name} of something not known", found), library="")
    return folded(to, name)(arguments, machine)


@models("builtins.bool")
def boolean(arguments: Arguments, machine: Machine) -> Value:
    if not arguments.positional:
        return Constant(False)
    truth = machine.truth(arguments.positional[0])
    return (
        number_unknown(machine, node_text.why_not_true(machine, arguments.positional[0]), *arguments.positional)
        if truth is None
        else Constant(truth)
    )


@models("builtins.int.bit_length", "builtins.int.__index__", "builtins.int.__int__", "builtins.int.conjugate")
def integer_method(arguments: Arguments, machine: Machine) -> Value:
    return _method(int, arguments, machine)


@models("builtins.float.is_integer", "builtins.float.hex", "builtins.float.as_integer_ratio", "builtins.int.is_integer")
def float_method(arguments: Arguments, machine: Machine) -> Value:
    return _method(float, arguments, machine)


def _method(cls: type, arguments: Arguments, machine: Machine) -> Value:
    name = last_name(arguments.function)
    return folded(lambda receiver, *rest: getattr(receiver, name)(*rest), name)(arguments, machine)


# ---- text ------------------------------------------------------------------------------------------------------------


@models("builtins.str", "builtins.str.__new__")
def string(arguments: Arguments, machine: Machine) -> Value:
    values = arguments.positional[1:] if arguments.function.endswith("__new__") else arguments.positional
    if len(values) > 1 or arguments.keywords or arguments.open is not None:
        return number_unknown(machine, "text of bytes in an encoding", *values)
    if not values:
        return Constant("")
    text = machine.string(values[0])
    if text is not None:
        return Constant(text)
    return replace(number_unknown(machine, "text of something not known", values[0]), text=partial_texts.ANY)


@models("builtins.repr")
def representation(arguments: Arguments, machine: Machine) -> Value:
    found = plain(machine, arguments.positional[0], looking := Looking())
    if looking.is_over:
        return number_unknown(machine, TOO_MANY)
    if found is None or has_other_text(found[0]):
        return number_unknown(machine, "repr of something not known", arguments.positional[0])
    if text_size(found[0]) > MAX_VALUE_SIZE:
        return number_unknown(machine, Reached(f"a text of more than {MAX_VALUE_SIZE} characters"))
    try:
        return Constant(repr(found[0]))
    except OtherTextError:
        return number_unknown(machine, "repr of a tuple with a class of its own")
    except ValueError:  # an integer with more digits than Python makes a text of
        return number_unknown(machine, "repr of an integer that is too long")


@models("builtins.format")
def formatted(arguments: Arguments, machine: Machine) -> Value:
    return folded(format, "format")(arguments, machine)


@models("builtins.bytes", "builtins.bytearray", "builtins.memoryview")
def raw(arguments: Arguments, machine: Machine) -> Value:
    if arguments.positional or arguments.keywords:
        machine.may_refuse("ValueError")  # a number that is no byte
    return number_unknown(machine, "bytes are not interpreted")


@models("builtins.print", "builtins.breakpoint")
def prints(arguments: Arguments, machine: Machine) -> Value:
    """The text of an object of a class with source is made by its own method, which may change others."""
    for each in arguments.positional if arguments.function == "print" else ():
        cls = machine.class_of(each) if isinstance(each, Address) else None
        if isinstance(cls, ClassValue) and not machine.is_module_class(cls):
            several.does(machine, (each,), lambda one=each, of=cls: _shows(machine, one, of), *several.TEXTS)  # type: ignore[misc]
        elif not isinstance(each, Constant):
            machine.may_be_called([each], machine.unknown("how often a text is asked for is not known"), several.TEXTS)
    return NONE


def _shows(machine: Machine, value: Value, cls: ClassValue) -> None:
    method = machine.class_attribute(cls, "__str__") or machine.class_attribute(cls, "__repr__")
    if isinstance(method, FunctionValue):
        machine.call(method, (value,))


@models("builtins.input", "builtins.open", "builtins.compile")
def outside(arguments: Arguments, machine: Machine) -> Value:
    name = last_name(arguments.function)
    if name == "input":
        return number_unknown(machine, "depends on input()")
    if name == "open":
        file_effects.note_opened(machine, arguments)
    if name == "open" and (opened := opened_files.opened(machine, arguments)) is not None:
        return opened
    if name == "compile":
        machine.may_refuse("SyntaxError")
        machine.file_changes.anything()  # what runs it later is not followed
    return machine.unknown(f"depends on {name}()")


# ---- iteration -------------------------------------------------------------------------------------------------------


@models("builtins.len")
def length(arguments: Arguments, machine: Machine) -> Value:
    size = machine.length(arguments.get(0, "obj", NONE))
    return replace(size, inert=True) if isinstance(size, Unknown) else Constant(size)


@models("builtins.range")
def number_range(arguments: Arguments, machine: Machine) -> Value:
    bounds = []
    for place, value in enumerate(arguments.positional):
        if isinstance(value, Address):
            value = _dunder("__index__")(Arguments("", (value,)), machine) or value
        if not isinstance(value, Constant) or type(value.value) is Identity:
            if len(arguments.positional) == 3 and not isinstance(arguments.positional[2], Constant):
                machine.may_refuse("ValueError")
            if any(items.is_no_index(machine, each) for each in arguments.positional):
                raise machine.raises("TypeError", "an object cannot be interpreted as an integer")
            why = machine.unknown("the length of a range is not known", value)
            machine.may_be_called(arguments.positional[place + 1 :], why, ("__index__",))
            return points_to.plain(why)
        bounds.append(value.value)
    _note_turns(bounds)
    try:
        return Constant(range(*bounds))
    except (TypeError, ValueError) as error:
        raise exceptions.as_python(machine, error) from None


def _note_turns(bounds: list[Any]) -> None:
    """How many there are, where that is left open."""
    start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2] if len(bounds) > 1 else (0, 0)
    step = bounds[2] if len(bounds) > 2 else 1
    if any(map(sizes.is_open, (start, stop))) and type(step) is int and step:
        sizes.counted(-((start - stop) // step))


@models("builtins.slice")
def slice_value(arguments: Arguments, machine: Machine) -> Value:
    bounds = arguments.positional
    if len(bounds) == 1:
        return SliceValue(NONE, bounds[0], NONE)
    return SliceValue(bounds[0], bounds[1], bounds[2] if len(bounds) > 2 else NONE)


def _iterator(machine: Machine, items: list[Value], why: Unknown | None = None) -> Address:
    iterator = IteratorObject(items)
    iterator.open = why
    return machine.allocate(iterator)


@models("builtins.reversed")
def backwards(arguments: Arguments, machine: Machine) -> Value:
    receiver = arguments.positional[0]
    cls = machine.class_of(receiver)
    own = (
        machine.class_attribute(cls, "__reversed__")
        if isinstance(receiver, Address) and machine.is_class(cls)
        else None
    )
    if own is not None and not isinstance(own, Unknown):
        return machine.call(machine.bound(own, receiver, cls))
    item = machine.state.read(receiver) if isinstance(receiver, Address) else None
    if isinstance(cls, KnownClass) and (isinstance(item, IteratorObject) or cls.name in _WITHOUT_ORDER):
        raise machine.raises("TypeError", f"'{cls.name.removeprefix('builtins.')}' object is not reversible")
    if isinstance(item, InstanceObject) and isinstance(receiver, Address):
        return _by_place(machine, receiver, cls)
    if isinstance(item, ModuleObject):
        return _from_last(machine, receiver, MAX_VALUE_SIZE, lambda place: machine.get_item(receiver, place))
    if isinstance(receiver, EnumMember) and KnownClass("builtins.str") not in machine.mro(receiver.cls):
        raise machine.raises("TypeError", f"'{last_name(receiver.cls.name)}' object is not reversible")
    items = machine.iterate(receiver)
    return _iterator(machine, [], items) if isinstance(items, Unknown) else _iterator(machine, items[::-1])


def _from_last(machine: Machine, receiver: Value, most: int, item: Callable[[Constant], Value]) -> Value:
    """The items of an object by their places, as often as it says: `__iter__` is not asked."""
    size = machine.length(receiver)
    if isinstance(size, Unknown) or size > most:
        return _iterator(machine, [], machine.unknown("its length is not known"))
    return _iterator(machine, [item(Constant(place)) for place in reversed(range(size))])


def _by_place(machine: Machine, receiver: Address, cls: Value) -> Value:
    """The items of an object without `__reversed__`, from the last place on."""
    order = machine.mro(cls)
    if not all(isinstance(base, ClassValue) or base == classes.OBJECT for base in order):
        items = machine.iterate(receiver)
        return _iterator(machine, [], items) if isinstance(items, Unknown) else _iterator(machine, items[::-1])
    getter = machine.class_attribute(cls, "__getitem__")
    if getter is None:
        raise machine.raises("TypeError", f"'{classes.short_name(cls)}' object is not reversible")
    return _from_last(machine, receiver, MAX_LOOP_ITERATIONS, lambda place: machine.call(getter, (receiver, place)))


@models("builtins.NoneType", "builtins.ellipsis")
def single(arguments: Arguments, machine: Machine) -> Value:
    """The one object of its class."""
    if arguments.positional or arguments.keywords:
        raise machine.raises("TypeError", f"{last_name(arguments.function)} takes no arguments")
    return NONE if arguments.function.endswith("NoneType") else Constant(...)


_WITHOUT_ORDER = tuple(
    f"builtins.{name}" for name in ("set", "frozenset", "int", "float", "bool", "complex", "NoneType")
)
"""Classes whose objects `reversed` does not take."""


@models("builtins.sorted")
def in_order(arguments: Arguments, machine: Machine) -> Value:
    in_any_order = unordered.is_one(machine, arguments.positional[0])
    items = machine.iterate_in_any_order(arguments.positional[0])
    if isinstance(items, Unknown):
        sorting.of_unknown(machine, arguments, items)
        return machine.allocate(ListObject([], items))
    ordered = sorting.sort(machine, items, arguments, in_any_order)
    return machine.allocate(ListObject([], ordered) if isinstance(ordered, Unknown) else ListObject(ordered))


@models("builtins.min", "builtins.max")
def extreme(arguments: Arguments, machine: Machine) -> Value:
    name = last_name(arguments.function)
    given = arguments.positional
    in_any_order = len(given) == 1 and unordered.is_one(machine, given[0])
    items: list[Value] | Unknown = list(given)
    if arguments.open is not None:
        items = arguments.open
    elif len(given) == 1:
        items = machine.iterate_in_any_order(given[0])
    if isinstance(items, Unknown):
        if "default" not in arguments.keywords:
            machine.may_refuse("ValueError")
        sorting.of_unknown(machine, arguments, items)
        return sorting.one_of_unknown(machine, arguments, items, f"{name} of something not known")
    if not items:
        default = arguments.keywords.get("default")
        if default is None:
            raise machine.raises("ValueError", f"{name}() iterable argument is empty")
        return default
    key = arguments.keywords.get("key", NONE)
    keys = [sorting.made_by(machine, key, item) for item in items]
    looking = Looking()
    known = [plain(machine, each, looking) for each in keys]
    if looking.is_over:
        return points_to.read(machine, number_unknown(machine, TOO_MANY), items)
    pick = min if name == "min" else max
    try:
        if any(found is None for found in known):
            best = pick(range(len(items)), key=sorting.by_order(machine, keys))
        else:
            best = pick(range(len(items)), key=lambda i: known[i][0])  # type: ignore[index]
    except sorting.NoOrderError:
        sorting.go_on(machine, keys)
        reason = f"{name} of something not known"
        if any(isinstance(each, Unknown) for each in items) or len(items) > MAX_ALTERNATIVES:
            return points_to.read(machine, number_unknown(machine, reason, *items), items)
        return machine.choice(items, reason)
    except TypeError as error:
        raise machine.raises("TypeError", str(error)) from None
    if not in_any_order:
        return items[best]
    tied = [
        item for place, item in enumerate(items) if place == best or sorting.are_tied(machine, items, keys, place, best)
    ]
    return tied[0] if len(tied) == 1 else points_to.read(machine, machine.unknown(unordered.WHY), tied)


# ---- containers ------------------------------------------------------------------------------------------------------


@models("builtins.list")
def new_list(arguments: Arguments, machine: Machine) -> Value:
    if not arguments.positional:
        return machine.allocate(ListObject([]))
    found = unordered.elements(machine, arguments.positional[0])
    if found is not None:
        return unordered.listed(machine, found)
    iterables.asked_for_length(machine, arguments.positional[0])
    first, why = prefix_of(machine, arguments.positional[0])
    return machine.allocate(ListObject(first, why))


@models("builtins.tuple", "builtins.tuple.__new__")
def new_tuple(arguments: Arguments, machine: Machine) -> Value:
    values = arguments.positional[1:] if arguments.function.endswith("__new__") else arguments.positional
    if not values:
        return TupleValue(())
    iterables.asked_for_length(machine, values[0])
    items = machine.iterate(values[0])
    return items if isinstance(items, Unknown) else TupleValue(tuple(items))


@models("builtins.set", "builtins.frozenset")
def new_set(arguments: Arguments, machine: Machine) -> Value:
    first: list[Value] = []
    why = None
    if arguments.positional:
        known = unordered.elements(machine, arguments.positional[0])
        first, why = prefix_of(machine, arguments.positional[0]) if known is None else (known, None)
    elements, doubt = hashing.unique(machine, first)
    cls = KnownClass("builtins.frozenset" if "frozenset" in arguments.function else "builtins.set")
    return machine.allocate(SetObject(elements, why or doubt, cls))


@models("builtins.dict")
def new_dict(arguments: Arguments, machine: Machine) -> Value:
    address = machine.allocate(DictObject({}))
    mappings.fill(machine, address, arguments.positional[:1], arguments.keywords, arguments.open)
    return address
