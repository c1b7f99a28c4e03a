"""What calls that are not interpreted may do to files, where a script is followed to what it gives a class.

Of the standard library it is known what only looks: everything else there may change any file. Another library changes
the files that it is given the names of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.code import taken_away
from modgraph.prediction.domain import library_effects, registry
from modgraph.prediction.domain.calling import PROCESS_ENDS, Arguments
from modgraph.prediction.domain.file_changes import ON_PATHS
from modgraph.prediction.domain.objects import DictObject, InstanceObject, ListObject, SetObject
from modgraph.prediction.domain.values import (
    GIVEN,
    NONE,
    Address,
    BoundMethod,
    Choice,
    ClassMethod,
    ClassValue,
    Constant,
    KnownClass,
    KnownFunction,
    PartialValue,
    StaticMethod,
    TupleValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

READING = frozenset({"r", "rt", "rb"})
_MAX_LOOKED_AT = 200
_SAYING_SO = frozenset({"chdir", "fchdir", "chroot", "write_text", "write_bytes"})
"""Names of functions that do what they say, wherever they come from."""
_OPENING = frozenset({"builtins.open", "builtins.exec", "builtins.eval", "builtins.compile", "builtins.__import__"})
"""Functions of Python's own that may change files, or run what does."""
_ENDING = frozenset(
    (
        *("sys.exit", "builtins.exit", "builtins.quit", "os._exit", "os.abort", "os.kill", "os.killpg"),
        *("signal.raise_signal", "_thread.exit", *(f"os.exec{each}" for each in ("v", "ve", "vp", "vpe", "l", "le"))),
        *("os.execlp", "os.execlpe"),
    )
)
"""Functions that end the process."""
_REMAKING = ("pickle.", "copy.")
"""Packages that make objects again."""
_WRITING_NOTHING = ("builtins.", "torch.", "math.", "re.")
"""Packages whose functions, as far as they are interpreted, write to no stream, save `print`."""
_OF_STREAMS = ("write", "flush", "read", "readline", "readinto")
_OF_PATHS = ("pathlib.", "os.")
"""Packages whose functions give paths."""
_REDUCING = ("__reduce__", "__reduce_ex__")
"""Methods of a class that say what is called where an object of it is made again."""


def note(machine: Machine, name: str, arguments: Arguments) -> None:
    """Of a call of what is not interpreted.

    Args:
        name: its import path, or that of what made it; "" where nothing is known of it.

    Raises:
        Raised: it is given a function that ends the process.
    """
    if machine.data_of is None:
        return
    name = name.removesuffix(GIVEN)
    given = list(_held(machine, (*arguments.positional, *arguments.keywords.values())))
    _note_called(machine, name, given)
    _note_streams(machine, given)
    if name.startswith(_REMAKING):
        _note_made_again(machine, given)
    if name.partition(".")[0] == "pathlib":
        machine.file_changes.is_path(_texts(given))
    if last_name(name) in _SAYING_SO:
        machine.file_changes.anything()
    elif not library_effects.is_standard(name):
        _note_named(machine, given)
    elif not _only_looks(name, arguments):
        if library_effects.writes_what_it_names(name):
            _note_written(machine, name, arguments)
        else:
            machine.file_changes.anything()


def note_modelled(machine: Machine, name: str, arguments: Arguments) -> None:
    """Of a call of what is interpreted: what its model leaves out.

    Raises:
        Raised: it calls a function that ends the process.
    """
    path = library_effects.usual(name)
    given = (*arguments.positional, *arguments.keywords.values())
    if path.startswith("os.") and not all(isinstance(each, Constant) for each in given):
        machine.file_changes.is_path(_texts(given))
    if name == "builtins.print" or not name.startswith(_WRITING_NOTHING):
        _note_streams(machine, given)
    if name.startswith(_REMAKING):
        _note_made_again(machine, _held(machine, given))
    if registry.is_outside(name) and not library_effects.is_standard(name):
        _note_named(machine, _held(machine, given))


def _note_streams(machine: Machine, given: Iterable[Value]) -> None:
    """Objects that stand for open files: they are read from, and written to."""
    objects = [each for each in given if isinstance(machine.state.find(each, InstanceObject), InstanceObject)]
    if objects:
        machine.may_be_called(objects, machine.unknown("what is written to a stream is not followed"), _OF_STREAMS)


def _note_made_again(machine: Machine, given: Iterable[Value]) -> None:
    """Objects that say themselves what is called where they are made again."""
    given = list(given)
    why = machine.unknown("how an object is made again is not followed")
    machine.may_be_called([each for each in given if isinstance(each, Address)], why, ("__setstate__",))
    for each in given:
        cls = machine.class_of(each) if isinstance(each, Address) else NONE
        for name in _REDUCING if isinstance(cls, ClassValue) else ():
            method = machine.class_attribute(cls, name)
            if not taken_away.is_own(method):
                continue
            assert method is not None
            machine.file_changes.anything()
            given_to = (each,) if name == "__reduce__" else (each, _ANY)
            _note_called(machine, "", list(_held(machine, [machine.call(method, given_to)])))


def note_called(machine: Machine, function: Value) -> None:
    """Of a function that may be called by what is not interpreted, with nothing that is known."""
    if machine.data_of is not None:
        _note_called(machine, "", list(_held(machine, [function])))


def _note_called(machine: Machine, name: str, given: list[Value]) -> None:
    """Functions of libraries that something is given: it may call them with the rest. Those with source are run."""
    for each in given:
        path = _path_of(each)
        if path is None or last_name(path).isupper():  # a constant of its package
            continue
        if path in _ENDING and not name.startswith(library_effects.AFTERWARDS):
            raise machine.raises(PROCESS_ENDS, f"{path} ends the process")
        if path in _OPENING or last_name(path) in _SAYING_SO:
            machine.file_changes.anything()
        elif not library_effects.is_standard(path) or library_effects.writes_what_it_names(path):
            _note_named(machine, given)
        elif not _only_looks(path, Arguments("", (), {}, None, _ANY)):
            machine.file_changes.anything()


_ANY = Unknown("nobody says what it is called with")


def _path_of(value: Value) -> str | None:
    """The import path of a function of a library; None of anything else, and of what a function gives."""
    while isinstance(value, (BoundMethod, PartialValue, StaticMethod, ClassMethod)):
        value = value.function
    if isinstance(value, (KnownFunction, KnownClass)):
        return library_effects.usual(value.name)
    if isinstance(value, Unknown) and "." in value.library and not value.library.endswith(GIVEN):
        return library_effects.usual(value.library)
    return None


def _note_named(machine: Machine, given: Iterable[Value]) -> None:
    """By another library: files whose names it is given."""
    found = list(given)
    machine.file_changes.named(_texts(found))
    if any(isinstance(each, Unknown) and each.library.startswith(_OF_PATHS) for each in found):
        machine.file_changes.some_path()


def _note_written(machine: Machine, name: str, arguments: Arguments) -> None:
    """By one of Python's own that writes to the file that it is given the name of."""
    given = (*arguments.positional, *arguments.keywords.values())
    if name == "logging.basicConfig":
        given = tuple(value for key, value in arguments.keywords.items() if key == "filename")
    if arguments.open is not None:
        machine.file_changes.anything()
    _note_named(machine, _held(machine, given))


def note_opened(machine: Machine, arguments: Arguments) -> None:
    """Of a call of `open`: whether it may write, and to what."""
    if machine.data_of is None or _reads(arguments):
        return
    ends = _ends_of(arguments.get(0, "file", NONE))
    if ends is None:
        machine.file_changes.anything()
    else:
        machine.file_changes.named(ends)


def _ends_of(path: Value) -> list[str] | None:
    """How a path ends: with the whole name of a file; None where that is not known."""
    if isinstance(path, Constant) and isinstance(path.value, str):
        return [path.value]
    if isinstance(path, Unknown) and path.library == "os.devnull":
        return []
    texts = path.text if isinstance(path, Unknown) else None
    if texts is None or not all("/" in end and end.rpartition("/")[2] for _, end in texts):
        return None
    return [end.rpartition("/")[2] for _, end in texts]


def _reads(arguments: Arguments) -> bool:
    mode = arguments.get(1, "mode", Constant("r"))
    return arguments.open is None and isinstance(mode, Constant) and mode.value in READING


def _only_looks(name: str, arguments: Arguments) -> bool:
    package, last = name.partition(".")[0], last_name(name)
    if package == "pathlib":
        if last == "open":  # of a path: the mode comes first
            mode = arguments.get(0, "mode", Constant("r"))
            return isinstance(mode, Constant) and mode.value in READING
        return last not in ON_PATHS or (last == "replace" and len(arguments.positional) > 1)  # that of a text
    if last == "open" and _reads(arguments):
        return True
    if name == "argparse.FileType":
        mode = arguments.get(0, "mode", Constant("r"))
        return isinstance(mode, Constant) and mode.value in READING
    return library_effects.only_looks(name)


def _texts(values: Iterable[Value]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Constant):
            if isinstance(value.value, str):
                yield value.value
            elif isinstance(value.value, bytes):
                yield value.value.decode("latin-1")


def _held(machine: Machine, values: Iterable[Value]) -> Iterator[Value]:
    """These, and what containers and partial calls among them hold; where they are many, any file may be named."""
    pending, seen = list(values), set[Address]()
    for _ in range(_MAX_LOOKED_AT):
        if not pending:
            return
        value = pending.pop()
        yield value
        if isinstance(value, TupleValue):
            pending += value.items
        elif isinstance(value, Choice):
            pending += value.alternatives
        elif isinstance(value, PartialValue):
            pending += (*value.positional, *(each for _, each in value.keywords))
        elif isinstance(value, Address) and value not in seen:
            seen.add(value)
            item = machine.state.read(value)
            if isinstance(item, (ListObject, SetObject)):
                pending += item.items
            elif isinstance(item, DictObject):
                pending += item.entries.values()
    if pending:
        machine.file_changes.anything()
