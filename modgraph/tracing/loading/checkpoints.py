"""Keys and shapes of the tensors in a file that torch reads. Only tensors are loaded: `weights_only` runs no code.

Plain data that training scripts save beside them (options, dates, numbers of numpy) is read past: inert stand-ins take
the place of its classes, so that nothing of them is imported or called. Anything else is refused by its name.
"""

from __future__ import annotations

import contextlib
import pickle
import pickletools
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import torch

from modgraph.doors.reading import shown
from modgraph.errors import InputError
from modgraph.source.checkpoints import NOT_A_TENSOR

MAX_DEPTH = 4
"""Entries within entries that are looked through for state dicts."""
MAX_TABLES = 64
_MAX_NAMES = 5
_MAX_OPCODES = 10_000
_MAX_INFLATED = 64_000_000
"""Bytes of what an archive holds compressed, all together: torch.save compresses nothing."""
_MAX_PICKLE = 512_000_000
"""Bytes of the pickle in an archive: names and shapes, the numbers of the tensors lie beside it."""
_CODECS = frozenset(["latin1", "utf8", "ascii", "iso88591"])
"""With which `pickle` writes bytes: others take time that grows with the square of a text, or double what they get."""

_HINT = (
    "whoever has the model can save its state dict alone: torch.save(model.state_dict(), ...), or as safetensors,"
    " which needs no trust"
)

Table = dict[str, "list[int] | str | None"]


class _Inert:
    """Stands for an object of plain data, and keeps nothing of it."""

    def __new__(cls, *_args: object) -> _Inert:
        return super().__new__(cls)

    def __init__(self, *_args: object) -> None: ...

    def __setstate__(self, _state: object) -> None: ...


class _Unshaped(_Inert):
    """Stands for a parameter or buffer of a lazy layer, which has no shape yet."""


def _empty_dict(*_args: object) -> dict[Any, Any]:
    return {}


def _empty_list(*_args: object) -> list[Any]:
    return []


_PATHS = ("Path", "PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")
_NUMBERS = ("int", "float", "bool", "str", "list", "dict", "tuple", "frozenset", "slice", "range")
_PLAIN = {
    "argparse": ("Namespace",),
    "types": ("SimpleNamespace",),
    "pathlib": _PATHS,
    "pathlib._local": _PATHS,
    "datetime": ("datetime", "date", "time", "timedelta", "timezone"),
    "uuid": ("UUID", "SafeUUID"),
    "decimal": ("Decimal",),
    "fractions": ("Fraction",),
    "numpy": ("dtype", "ndarray"),
    "numpy.core.multiarray": ("scalar", "_reconstruct"),
    "numpy._core.multiarray": ("scalar", "_reconstruct"),
    "numpy.core.numeric": ("_frombuffer",),
    "numpy._core.numeric": ("_frombuffer",),
    "builtins": _NUMBERS,
    "__builtin__": (*_NUMBERS, "long", "unicode", "xrange"),
}
"""Classes and functions by which plain data is pickled, in the names of all releases of Python and numpy."""
_STAND_INS: list[Callable[..., Any] | tuple[Callable[..., Any], str]] = [
    *((_Inert, f"{module}.{name}") for module, names in _PLAIN.items() for name in names),
    (_empty_dict, "collections.defaultdict"),
    (_empty_list, "collections.deque"),
    (_Unshaped, "torch.nn.parameter.UninitializedParameter"),
    (_Unshaped, "torch.nn.parameter.UninitializedBuffer"),
]


def read_checkpoint(paths: list[str]) -> dict[str, Table]:
    """The state dicts in the files together, by the entry that holds them: "" for the whole, "model", "ema.model".

    Raises:
        InputError: a file holds more than tensors and plain values, is broken, or has no state dict in it.
    """
    tables: dict[str, Table] = {}
    for path in paths:
        for entry, table in _state_dicts(_load(path)).items():
            tables.setdefault(entry, {}).update(table)
    if not tables:
        raise InputError(f"{paths[0]} is no checkpoint: there is no state dict in it")
    return tables


def _load(path: str) -> Any:
    _require_not_compressed(path)
    try:
        with torch.serialization.safe_globals(_STAND_INS), _few_codecs():
            # Mapped, the tensors' data is never read; files of before torch 1.6 are no archives and cannot be mapped.
            return torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except MemoryError as error:
        raise InputError(f"cannot read the checkpoint {path}: out of memory") from error
    except _CodecError as error:
        raise InputError(f"{path} is no checkpoint that torch.save wrote: {error}") from error
    except Exception as error:  # what torch raises on a broken file is of many kinds
        raise _refused(path, error) from error


class _CodecError(Exception):
    """Bytes are written in a way in which `pickle` writes none."""


def _encoded(text: str, codec: str = "utf-8", errors: str = "strict") -> bytes:
    """What stands for `_codecs.encode`, by which bytes are pickled in the protocols of old."""
    if not isinstance(text, str) or not isinstance(codec, str) or errors != "strict":
        raise _CodecError("it encodes what is no text")
    if codec.lower().replace("-", "").replace("_", "") not in _CODECS:
        raise _CodecError(f"it encodes a text as {codec[:40]!r}")
    return text.encode(codec)


@contextlib.contextmanager
def _few_codecs() -> Iterator[None]:
    """In this context torch encodes texts by `_encoded`. What it calls is a table that it makes once, and has no other
    way to be changed; where a release has none, the limits of this process stay."""
    try:
        from torch._weights_only_unpickler import _get_allowed_globals
    except ImportError:
        yield
        return
    known = _get_allowed_globals()
    before = known.get("_codecs.encode")
    known["_codecs.encode"] = _encoded
    try:
        yield
    finally:
        if before is not None:
            known["_codecs.encode"] = before


def _require_not_compressed(path: str) -> None:
    """Raises InputError for an archive whose members would take far more memory than the file."""
    members = _infos(path)
    inflated = sum(each.file_size for each in members if each.compress_type != zipfile.ZIP_STORED)
    pickled = sum(each.file_size for each in members if each.filename.endswith(".pkl"))
    if inflated > _MAX_INFLATED:
        raise InputError(f"{path} is no checkpoint that torch.save wrote: {shown(inflated)} of it are compressed")
    if pickled > _MAX_PICKLE:
        raise InputError(f"{path} holds {shown(pickled)} beside its tensors, more than {shown(_MAX_PICKLE)}")


def _refused(path: str, error: Exception) -> InputError:
    """In words of ours: torch's are long, name its own switches, and some of their advice is to run the file."""
    members = _members(path)
    if any(name.rpartition("/")[2] == "constants.pkl" for name in members):
        return InputError(f"{path} is a TorchScript program, not a state dict", hint=_HINT)
    names = _foreign_names(path, error)
    if names:
        return InputError(
            f"{path} holds more than tensors ({', '.join(names)}), and nothing that would run code is loaded",
            hint=_HINT,
        )
    if members and not any(name.rpartition("/")[2] == "data.pkl" for name in members):
        return InputError(f"{path} is no checkpoint that torch can read: an archive of another kind")
    if isinstance(error, pickle.UnpicklingError) and not members:
        return InputError(f"{path} is no checkpoint that torch can read: a pickle that torch.save did not write")
    return InputError(f"{path} is no checkpoint that torch can read: it is cut off, damaged or of another kind")


def _members(path: str) -> list[str]:
    """Names of the files in an archive; none where it is not one, or has no directory."""
    return [each.filename for each in _infos(path)]


def _infos(path: str) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.infolist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return []


def _foreign_names(path: str, error: Exception) -> list[str]:
    """What the file would import to be loaded, beyond plain data; nothing of it is imported to find out."""
    named = re.search(r"GLOBAL (\S+) (?:was not|whose module)", str(error))
    names = [named[1]] if named is not None else []
    if zipfile.is_zipfile(path):
        try:
            with torch.serialization.safe_globals(_STAND_INS):
                names = torch.serialization.get_unsafe_globals_in_checkpoint(path) or names
        except Exception:  # the message is poorer by the other names
            return names
    return sorted(names or _pickled_names(path))[:_MAX_NAMES]


def _pickled_names(path: str) -> set[str]:
    """What the first pickle of a file that is no archive would import, read from its opcodes."""
    names: set[str] = set()
    texts: list[str] = []
    try:
        with open(path, "rb") as file:
            for opcode, argument, _ in islice(pickletools.genops(file), _MAX_OPCODES):
                if opcode.name == "GLOBAL":
                    names.add(str(argument).replace(" ", "."))
                elif opcode.name == "STACK_GLOBAL":
                    names.add(".".join(texts[-2:]))
                elif isinstance(argument, str):
                    texts.append(argument)
    except ValueError:  # broken off, or no pickle at all
        return names
    return names


def _described(value: Any) -> list[int] | str | None:
    if isinstance(value, torch.Tensor):
        return list(value.shape)
    return None if isinstance(value, _Unshaped) else NOT_A_TENSOR


def _state_dicts(loaded: Any) -> dict[str, Table]:
    """Every mapping from names to tensors in what was loaded, the outermost first."""
    tables: dict[str, Table] = {}
    seen: set[int] = set()
    level = [("", loaded)]
    for _ in range(MAX_DEPTH):
        below: list[tuple[str, Any]] = []
        for entry, value in level:
            if not isinstance(value, Mapping) or id(value) in seen or len(tables) >= MAX_TABLES:
                continue
            seen.add(id(value))
            named = {key: one for key, one in value.items() if isinstance(key, str)}
            table = {key: _described(one) for key, one in named.items()}
            if any(one != NOT_A_TENSOR for one in table.values()):
                tables[entry] = table
            below += [(f"{entry}.{key}" if entry else key, one) for key, one in named.items()]
        level = below
    return tables
