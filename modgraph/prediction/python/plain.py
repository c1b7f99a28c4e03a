"""Between the interpreter's values and Python's own: constants and containers of constants, both ways."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.limits import (
    ITEMS_OF_A_CONSTANT,
    ITEMS_OF_A_TUPLE,
    ITEMS_OF_AN_ENTRY,
    ITEMS_OF_AN_OBJECT,
    MAX_PLAIN_ITEMS,
)
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, InstanceObject, ListObject, SetObject
from modgraph.prediction.domain.registry import Model
from modgraph.prediction.domain.sizes import is_open
from modgraph.prediction.domain.values import (
    GIVEN,
    SIZE,
    Choice,
    ClassValue,
    Constant,
    EnumMember,
    KnownClass,
    KnownFunction,
    SliceValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.python import exceptions
from modgraph.prediction.python.bounds import is_long_range, too_much, work
from modgraph.prediction.python.stand_ins import (
    ClosedDict,
    FilledDict,
    MemberNumber,
    MemberText,
    NamedTuple,
    OtherDict,
    OtherList,
    OtherSet,
    OtherTextError,
    OtherTuple,
    Size,
)
from modgraph.source.reached import Reached

_DEPTH = 20
TEXT = "<text>"
"""Under this name an instance of a class derived from str, such as `torch.__version__`, keeps what it says."""

_LIST, _DICT = KnownClass("builtins.list"), KnownClass("builtins.dict")
_WORDS_OF_A_CONTAINER = 10
"""Words of memory that could be made while a container is looked at, here and in what it is looked at for."""


class Looking:
    """How much is still looked at: what is shared inside counts at each of its places, as what is made of it does."""

    def __init__(self) -> None:
        self.left = MAX_PLAIN_ITEMS
        self.containers = 0

    @property
    def is_over(self) -> bool:
        """There was more than is looked at."""
        return self.left < 0


TOO_MANY = Reached(f"a value of more than {MAX_PLAIN_ITEMS} items, those of containers inside included")


def plain(machine: Machine, value: Value, looking: Looking | None = None) -> tuple[Any] | None:
    """The Python object that a constant, or a container of constants, stands for, in a tuple of one; None if none.

    What several values are looked at for together shares what is `looking`.
    """
    if type(value) is Constant:
        return (value.value,)
    looking = looking or Looking()
    left, containers = looking.left, looking.containers
    found = _plain(machine, value, 0, looking)
    machine.spend(left - max(looking.left, 0))
    machine.makes(_WORDS_OF_A_CONTAINER * (looking.containers - containers))
    return found


def _plain(machine: Machine, value: Value, depth: int, looking: Looking) -> tuple[Any] | None:
    if type(value) is Constant:
        return (value.value,)
    looking.left -= 1
    looking.containers += 1
    if depth > _DEPTH or looking.is_over:
        return None
    if isinstance(value, EnumMember):
        return _member(machine, value)
    if isinstance(value, TupleValue):
        items = _all(machine, value.items, depth, looking)
        return None if items is None else (_tuple(machine, value, items),)
    if isinstance(value, SliceValue):
        bounds = _all(machine, (value.lower, value.upper, value.step), depth, looking)
        return None if bounds is None else (slice(*bounds),)
    listed = machine.state.find(value, ListObject)
    if listed is not None and listed.open is None:
        items = _all(machine, listed.items, depth, looking)
        return None if items is None else (items if listed.cls == _LIST else OtherList(items),)
    mapping = machine.state.find(value, DictObject)
    if mapping is not None and mapping.open is None:
        keys = _all(machine, mapping.entries, depth, looking)
        values = None if keys is None else _all(machine, mapping.entries.values(), depth, looking)
        made = _class_of_dict(machine, mapping)
        return None if keys is None or values is None else (made(zip(keys, values, strict=True)),)
    members = machine.state.find(value, SetObject)
    if members is not None and members.open is None:
        items = _all(machine, members.items, depth, looking)
        return None if items is None else (OtherSet(items),)
    instance = machine.state.find(value, InstanceObject)
    text = instance.attributes.get(TEXT) if instance is not None else None
    return (text.value,) if isinstance(text, Constant) else None


def _member(machine: Machine, member: EnumMember) -> tuple[Any] | None:
    """The number or text that a member of an Enum class is as well, with its texts."""
    bases = [base.name for base in machine.mro(member.cls) if isinstance(base, KnownClass)]
    held = member.value.value if isinstance(member.value, Constant) else None
    made: MemberNumber | MemberText
    if type(held) is int and "builtins.int" in bases:
        made = MemberNumber(held)
    elif type(held) is str and "builtins.str" in bases:
        made = MemberText(held)
    else:
        return None
    shown, said = (machine.class_attribute(member.cls, name) for name in ("__repr__", "__str__"))
    is_single = "|" not in member.name and bool(member.name)
    title = f"{last_name(member.cls.name)}.{member.name}"
    own = str(held) if _REPLACING in bases else title if is_single else None
    made.texts = (
        f"<{title}: {held!r}>" if is_single and (shown is None or isinstance(shown, KnownFunction)) else None,
        own if said is None or isinstance(said, KnownFunction) else None,
    )
    return (made,)


_REPLACING = "enum.ReprEnum"
"""Classes derived from it have the text of the values; from Python 3.11 on."""


def _all(machine: Machine, values: Collection[Value], depth: int, looking: Looking) -> list[Any] | None:
    looking.left -= len(values)
    if looking.is_over:
        return None
    found: list[Any] = []
    for value in values:
        if type(value) is Constant:
            item = value.value
            if type(item) not in _SMALL:
                looking.left -= _further_items(item)
            found.append(item)
            continue
        one = _plain(machine, value, depth + 1, looking)
        if one is None:
            return None
        found.append(one[0])
    return None if looking.is_over else found


_SMALL = (float, bool, type(None))


def _further_items(value: Any) -> int:
    """As how many further items something counts that is one value, and takes long to write, copy or walk through."""
    if isinstance(value, int):
        return value.bit_length() >> 9
    if isinstance(value, str | bytes):
        return len(value) >> 6
    return MAX_PLAIN_ITEMS if is_long_range(value) else len(value) if isinstance(value, range) else 0


def _class_of_dict(machine: Machine, mapping: DictObject) -> type[dict[Any, Any]]:
    if mapping.cls == _DICT:
        return dict
    order = machine.mro(mapping.cls)
    own = {method for cls in order for method in _ITEMS if isinstance(cls, ClassValue) and _own(machine, cls, method)}
    known = all(
        isinstance(cls, ClassValue) or (isinstance(cls, KnownClass) and cls.name in _LIKE_DICT) for cls in order
    )
    return ClosedDict if "__getitem__" in own else (OtherDict if known and not own else FilledDict)


_ITEMS = ("__getitem__", "__missing__")
_LIKE_DICT = frozenset({"builtins.dict", "collections.OrderedDict", "builtins.object"})
"""Those that have a KeyError for what they lack."""


def _tuple(machine: Machine, value: TupleValue, items: list[Any]) -> tuple[Any, ...]:
    if value.cls is None:
        return tuple(items)
    if value.cls == SIZE:
        return Size(items)
    names = machine.find_attribute(value, "_fields")
    if not isinstance(value.cls, ClassValue) or not isinstance(names, TupleValue) or len(names.items) != len(items):
        return OtherTuple(items)
    if any(_own(machine, value.cls, method) is not None for method in ("__repr__", "__str__", "__format__")):
        return OtherTuple(items)
    made = NamedTuple(items)
    made.title = last_name(value.cls.name)
    made.fields = [str(each.value) for each in names.items if isinstance(each, Constant)]
    return made


def _own(machine: Machine, cls: ClassValue, method: str) -> Value | None:
    """A method that the class, or one that it is derived from, has in its source; or that is not known."""
    found = machine.class_attribute(cls, method)
    return None if isinstance(found, KnownFunction) else found


def has_other_text(value: Any) -> bool:
    """Its text is not that of plain containers: there is a set in it, which is written in another order in every
    process, a container of a class that has a text of its own, or a size that is left open."""
    return _other_in(value) is not None


def _other_in(value: Any) -> str | None:
    """What of that is in it."""
    if is_open(value):
        return "a size that is left open"
    if isinstance(value, set):
        return "a set, which has another text and order in every process,"
    if isinstance(value, (OtherList, OtherDict)):
        return "a container with a class of its own"
    inner: Iterable[Any] = (*value, *value.values()) if isinstance(value, dict) else value
    return next(filter(None, map(_other_in, inner)), None) if isinstance(value, dict | list | tuple) else None


def _not_followed(values: Iterable[Any], name: str) -> str | None:
    """Why what a function gives is not known: one of numbers reckons with a size, or asks it for its number."""
    if name.startswith("math."):
        return None
    others = (_other_in(each) for each in values if not (is_open(each) and name in _ON_NUMBERS))
    held = next(filter(None, others), None)
    return None if held is None else f"what {name} gives of {held} is not followed"


_ON_NUMBERS = frozenset(
    {
        *("int", "float", "abs", "round", "divmod", "pow", "is_integer"),
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "neg", "pos", "index", "and_", "or_", "xor", "lshift"),
        *("rshift", "eq", "ne", "lt", "le", "gt", "ge", "not_", "truth", "__index__", "__int__"),
    }
)


_NUMBERS = (int, float)


def room_of_plain(result: Any) -> int:
    """Words of memory that values take which are made of an object of Python: what one container holds directly, or one
    number or text."""
    if isinstance(result, dict):
        return ITEMS_OF_AN_OBJECT + ITEMS_OF_AN_ENTRY * len(result)
    if isinstance(result, list | tuple | set):
        numbers = sum(type(item) in _NUMBERS for item in result) if isinstance(result, list) else 0
        return ITEMS_OF_A_TUPLE + len(result) + ITEMS_OF_A_CONSTANT * numbers
    return ITEMS_OF_A_CONSTANT + (len(result) // 8 if isinstance(result, str | bytes) else 0)


def lifted(machine: Machine, result: Any) -> Value:
    """A Python object made of constants, lists, tuples, dicts and sets as a value."""
    machine.makes(room_of_plain(result))
    if isinstance(result, tuple):
        return TupleValue(tuple(lifted(machine, item) for item in result))
    if isinstance(result, list):
        items = [Constant(item) if type(item) in _NUMBERS else lifted(machine, item) for item in result]
        return machine.allocate(ListObject(items))
    if isinstance(result, dict):
        return machine.allocate(
            DictObject({lifted(machine, key): lifted(machine, item) for key, item in result.items()})
        )
    if isinstance(result, MemberNumber):
        return Constant(int(result))
    return Constant(str.__str__(result) if isinstance(result, MemberText) else result)


def number_unknown(machine: Machine, reason: str, *causes: Value) -> Unknown:
    """A number, text or truth that is not known: no module can be behind it."""
    return replace(machine.unknown(reason, *causes), inert=True)


def data_unknown(machine: Machine, library: str, reason: str, *causes: Value) -> Unknown:
    """What a library gives that is not a single number: a tensor, an array. No module can be behind it either."""
    found = number_unknown(machine, reason, *causes)
    if library.startswith("torch."):
        library += GIVEN
    return found if found.library else replace(found, library=library)


def is_number(value: Value) -> bool:
    """It is one number of Python, known or not, and no tensor or array: what is reckoned with it keeps its shape."""
    if isinstance(value, Unknown):
        return value.inert and not value.library
    return isinstance(value, Constant) and isinstance(value.value, (bool, int, float, complex))


MAY_RAISE = {
    "divmod": "ZeroDivisionError",
    "chr": "ValueError",
    "str.index": "ValueError",
    "str.rindex": "ValueError",
    **{f"str.{name}": "ValueError" for name in ("split", "rsplit", "partition", "rpartition")},
    **{
        f"math.{name}": "ValueError"
        for name in ("acos", "acosh", "asin", "atanh", "comb", "factorial", "fmod", "gamma", "isqrt", "lgamma", "log")
    },
    **{f"math.{name}": "ValueError" for name in ("log10", "log1p", "log2", "perm", "pow", "remainder", "sqrt")},
}
"""Functions that raise for some arguments of the right type, and what."""

TEXT_ONLY = ("int", "float", "complex")
"""Those that raise so where they are given a text, while any number will do."""


_SINGLE = ("math.", "int", "float", "complex", "len", "ord")
"""How the names begin of functions that give one number, whatever they are given."""


def _is_text(value: Value) -> bool:
    return isinstance(value, Unknown) and value.text is not None


def folded(function: Callable[..., Any], name: str) -> Model:
    """A pure function of plain values, applied where every argument is one; a number not known otherwise."""

    def fold(arguments: Arguments, machine: Machine) -> Value:
        given = arguments.positional
        for place, value in enumerate(given):
            if isinstance(value, Choice):
                before, after = given[:place], given[place + 1 :]
                return machine.distribute(
                    value,
                    lambda one: fold(replace(arguments, positional=(*before, one, *after)), machine),  # noqa: B023
                )
        return fold_each(arguments, machine)

    def fold_each(arguments: Arguments, machine: Machine) -> Value:
        looking = Looking()
        values = [plain(machine, value, looking) for value in arguments.positional]
        keywords = {key: plain(machine, value, looking) for key, value in arguments.keywords.items()}
        if looking.is_over:
            return number_unknown(machine, TOO_MANY)
        if arguments.open is not None or any(found is None for found in (*values, *keywords.values())):
            failure = "ValueError" if name in TEXT_ONLY else MAY_RAISE.get(name)
            if failure is not None and (name not in TEXT_ONLY or any(map(_is_text, arguments.positional))):
                machine.may_refuse(failure)
            found = number_unknown(machine, f"{name} of something not known", *arguments.positional)
            machine.may_be_called([*arguments.positional, *arguments.keywords.values()], found)
            return replace(found, library="") if name.startswith(_SINGLE) else found
        given = [found[0] for found in values if found is not None]
        named = {key: found[0] for key, found in keywords.items() if found is not None}
        refusal = too_much(name, [*given, *named.values()]) or _not_followed([*given, *named.values()], name)
        if refusal is not None:
            return number_unknown(machine, refusal)
        machine.makes(work(name, [*given, *named.values()]))
        try:
            result = function(*given, **named)
        except OtherTextError:
            return number_unknown(machine, "the text of a tuple with a class of its own is not followed")
        except Exception as error:  # what Python raises for these very arguments
            raise exceptions.as_python(machine, error) from None
        return lifted(machine, result)

    return fold
