"""A pickle read as data: its opcodes build tables, lists and inert objects. Nothing is imported, called or made.

What a pickle would import is a `Named`, what it would call or make is a `Made` that remembers with what. A million
names for one object cost no more than one, as only references are kept; how many opcodes are followed is bounded.
Source of the opcodes: `pickletools`, which also reads their arguments.
"""

from __future__ import annotations

import io
import pickletools
import struct
from dataclasses import dataclass, field
from typing import Any

MAX_OPCODES = 5_000_000
"""Of one pickle; a state dict takes some thirty for each tensor."""
_PLAIN_KEYS = (str, int, bool, bytes, type(None))


class PickleError(ValueError):
    """It is no pickle, breaks off, or is larger than what is read."""


@dataclass(frozen=True, slots=True)
class Named:
    """A class or function by its import path, which nobody imports."""

    module: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(slots=True, eq=False)
class Made:
    """What a call would have made."""

    made_by: Any
    arguments: tuple[Any, ...] = ()
    state: Any = None
    items: dict[Any, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Persistent:
    """What the program that wrote the pickle keeps beside it."""

    key: Any


class Table(dict[Any, Any]):
    """A dict of any class, with what else was said of it."""

    state: Any = None


_DICTS = frozenset(
    ("collections.OrderedDict", "collections.defaultdict", "collections.Counter", "builtins.dict", "__builtin__.dict")
)
_MARK = object()


class _OtherKey:
    """Stands for a key that is no text or number."""


def read_pickle(data: bytes | io.BytesIO) -> Any:
    """What one pickle holds; of a stream, the next one, behind which it stands then.

    Raises:
        PickleError: there is none, or it is too large.
    """
    stream = io.BytesIO(data) if isinstance(data, bytes) else data
    machine = _Machine()
    count = 0
    try:
        for opcode, argument, _ in pickletools.genops(stream):
            count += 1
            if count > MAX_OPCODES:
                raise PickleError(f"it has more than {MAX_OPCODES:,} instructions")
            if opcode.name == "STOP":
                return machine.pop()
            machine.step(opcode.name, argument)
    except PickleError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, struct.error, AssertionError) as error:
        raise PickleError("it breaks off, or is damaged") from error
    raise PickleError("it breaks off")


class _Machine:
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise PickleError("it breaks off, or is damaged")
        return value

    def to_mark(self) -> list[Any]:
        found: list[Any] = []
        while (value := self.stack.pop()) is not _MARK:
            found.append(value)
        found.reverse()
        return found

    def step(self, name: str, argument: Any) -> None:
        action = _ACTIONS.get(name)
        if action is None:
            raise PickleError(f"it has the instruction {name}, which is not read")
        action(self, argument)


def _nothing(machine: _Machine, argument: Any) -> None: ...


def _push(machine: _Machine, argument: Any) -> None:
    machine.stack.append(argument)


def _constant(value: Any) -> Any:
    return lambda machine, _: machine.stack.append(value)


def _empty(kind: Any) -> Any:
    return lambda machine, _: machine.stack.append(kind())


def _tuple(size: int) -> Any:
    def action(machine: _Machine, _: Any) -> None:
        items = [machine.pop() for _ in range(size)]
        machine.stack.append(tuple(reversed(items)))

    return action


def _memo(machine: _Machine, argument: Any) -> None:
    machine.memo[int(argument)] = machine.stack[-1]


def _memoize(machine: _Machine, _: Any) -> None:
    machine.memo[len(machine.memo)] = machine.stack[-1]


def _get(machine: _Machine, argument: Any) -> None:
    machine.stack.append(machine.memo[int(argument)])


def _set(holder: Any, key: Any, value: Any) -> None:
    # What is nested is not asked for its hash: of tuples inside each other Python takes it by recursion.
    plain = key if isinstance(key, _PLAIN_KEYS) else _OtherKey()
    if isinstance(holder, dict):
        holder[plain] = value
    elif isinstance(holder, Made):
        holder.items[plain] = value
    else:
        raise PickleError("it breaks off, or is damaged")


def _setitem(machine: _Machine, _: Any) -> None:
    value, key = machine.pop(), machine.pop()
    _set(machine.stack[-1], key, value)


def _setitems(machine: _Machine, _: Any) -> None:
    items = machine.to_mark()
    for key, value in zip(items[::2], items[1::2], strict=True):
        _set(machine.stack[-1], key, value)


def _append(machine: _Machine, _: Any) -> None:
    value = machine.pop()
    _extend(machine.stack[-1], [value])


def _appends(machine: _Machine, _: Any) -> None:
    items = machine.to_mark()
    _extend(machine.stack[-1], items)


def _extend(holder: Any, items: list[Any]) -> None:
    if isinstance(holder, list):
        holder.extend(items)


def _named(machine: _Machine, argument: Any) -> None:
    module, _, name = str(argument).partition(" ")
    machine.stack.append(Named(module, name))


def _stack_named(machine: _Machine, _: Any) -> None:
    name, module = machine.pop(), machine.pop()
    machine.stack.append(Named(str(module)[:1_000], str(name)[:1_000]))


def _made(made_by: Any, arguments: Any) -> Any:
    given = arguments if isinstance(arguments, tuple) else ()
    if isinstance(made_by, Named):
        if made_by.path in _DICTS:
            table = Table()
            pairs = given[0] if len(given) == 1 and isinstance(given[0], list) else ()
            for pair in pairs:
                if isinstance(pair, list | tuple) and len(pair) == 2:
                    _set(table, pair[0], pair[1])
            return table
        if made_by.path == "torch.Size" and len(given) == 1:
            return given[0]
    return Made(made_by, given)


def _reduce(machine: _Machine, _: Any) -> None:
    arguments, made_by = machine.pop(), machine.pop()
    machine.stack.append(_made(made_by, arguments))


def _reduce_with_names(machine: _Machine, _: Any) -> None:
    machine.pop()
    _reduce(machine, None)


def _instance(machine: _Machine, argument: Any) -> None:
    arguments = machine.to_mark()
    module, _, name = str(argument).partition(" ")
    machine.stack.append(_made(Named(module, name), tuple(arguments)))


def _object(machine: _Machine, _: Any) -> None:
    made_by, *arguments = machine.to_mark()
    machine.stack.append(_made(made_by, tuple(arguments)))


def _build(machine: _Machine, _: Any) -> None:
    state = machine.pop()
    holder = machine.stack[-1]
    if isinstance(holder, Made | Table):
        holder.state = state


def _persistent(machine: _Machine, argument: Any) -> None:
    machine.stack.append(Persistent(argument if argument is not None else machine.pop()))


def _opaque(machine: _Machine, _: Any) -> None:
    machine.stack.append(Made(None))


def _dict_of_mark(machine: _Machine, _: Any) -> None:
    table = Table()
    items = machine.to_mark()
    for key, value in zip(items[::2], items[1::2], strict=True):
        _set(table, key, value)
    machine.stack.append(table)


_ACTIONS: dict[str, Any] = {
    **dict.fromkeys(("PROTO", "FRAME", "READONLY_BUFFER"), _nothing),
    **dict.fromkeys(("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"), _push),
    **dict.fromkeys(("STRING", "BINSTRING", "SHORT_BINSTRING"), _push),
    **dict.fromkeys(("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"), _push),
    **dict.fromkeys(("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"), _push),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _memo),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _get),
    **dict.fromkeys(("EXT1", "EXT2", "EXT4", "NEXT_BUFFER"), _opaque),
    **dict.fromkeys(("REDUCE", "NEWOBJ"), _reduce),
    **dict.fromkeys(("PERSID", "BINPERSID"), _persistent),
    "NEWOBJ_EX": _reduce_with_names,
    "MEMOIZE": _memoize,
    "NONE": _constant(None),
    "NEWTRUE": _constant(True),
    "NEWFALSE": _constant(False),
    "MARK": _constant(_MARK),
    "POP": lambda machine, _: machine.stack.pop(),
    "POP_MARK": lambda machine, _: machine.to_mark(),
    "DUP": lambda machine, _: machine.stack.append(machine.stack[-1]),
    "EMPTY_LIST": _empty(list),
    "EMPTY_DICT": _empty(Table),
    "EMPTY_TUPLE": _constant(()),
    "EMPTY_SET": _empty(list),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "TUPLE": lambda machine, _: machine.stack.append(tuple(machine.to_mark())),
    "LIST": lambda machine, _: machine.stack.append(machine.to_mark()),
    "FROZENSET": lambda machine, _: machine.stack.append(machine.to_mark()),
    "DICT": _dict_of_mark,
    "SETITEM": _setitem,
    "SETITEMS": _setitems,
    "APPEND": _append,
    "APPENDS": _appends,
    "ADDITEMS": _appends,
    "GLOBAL": _named,
    "STACK_GLOBAL": _stack_named,
    "INST": _instance,
    "OBJ": _object,
    "BUILD": _build,
}
