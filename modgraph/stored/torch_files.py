"""What `torch.save` and `torch.jit.save` write: a zip archive with a pickle, or, before torch 1.6, pickles in a row.

The pickle is read as data (`pickles.py`); no tensor's values are. Source: `torch/serialization.py`.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from modgraph.doors import reading
from modgraph.doors.archives import Archive
from modgraph.stored.contents import MAX_TENSORS, Contents
from modgraph.stored.pickled_tensors import add_module, add_state_dict, is_module, tables_in, tensor_in
from modgraph.stored.pickles import Made, Named, PickleError, read_pickle

MAX_PICKLE = 256 * 2**20
"""Bytes of a pickle; that of a hundred thousand tensors takes a tenth."""
MAX_CODE = 8_000_000
"""Bytes of one file of TorchScript's code."""
MAX_ALL_CODE = 64_000_000
_LEGACY = 0x1950A86A20F9469CFC6C
"""What the first pickle of a file of before torch 1.6 holds. Source: `torch/serialization.py`, MAGIC_NUMBER."""
_MAX_LEVELS = 100
_MANGLED = re.compile(r"\.___torch_mangle_\d+")
_CLASS = re.compile(r"class (\w+)\((\w+)\):")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


def read_torch_archive(archive: Archive) -> Contents:
    """A state dict, a checkpoint around one, or a whole module.

    Raises:
        ValueError: it is damaged, too large, or holds no tensors.
    """
    return contents_of(read_pickle(archive.read("data.pkl", MAX_PICKLE)))


def read_legacy(path: Path) -> Contents:
    """The same as torch wrote it before 1.6, and with `_use_new_zipfile_serialization=False`: four pickles in a row
    and then the tensors' values. A lone pickle is read as well.

    Raises:
        ValueError: it is damaged, too large, or holds no tensors.
    """
    stream = io.BytesIO(reading.beginning(path, MAX_PICKLE))
    first = read_pickle(stream)
    if first == _LEGACY and isinstance(first, int):
        read_pickle(stream)  # the version of the protocol
        read_pickle(stream)  # of the machine: sizes of its numbers
        first = read_pickle(stream)
    return contents_of(first)


def contents_of(loaded: Any) -> Contents:
    """What is in a pickled value: the one table of tensors in it, or all of them under the names of their entries.

    Raises:
        PickleError: there is no tensor in it.
    """
    alone = tensor_in(loaded, "tensor")
    if alone is not None:
        return Contents(format="PyTorch tensor", tensors=[alone])
    tables = tables_in(loaded)
    if not tables:
        raise PickleError("there is no state dict and no module in it")
    whole = any(map(is_module, tables.values()))
    contents = Contents(format="pickled PyTorch module" if whole else "PyTorch state dict")
    entry = next(iter(tables)) if len(tables) == 1 else ""
    contents.entry = entry
    contents.entries = tuple(tables) if len(tables) > 1 else ()
    for name, table in tables.items():
        prefix = "" if len(tables) == 1 else name
        if is_module(table):
            add_module(table, contents, prefix)
        else:
            add_state_dict(table, contents, f"{prefix}." if prefix else "")
    if isinstance(loaded, dict) and "" not in tables:
        tops = {name.partition(".")[0] for name in tables}
        contents.other += [str(key)[:100] for key in loaded if isinstance(key, str | int) and str(key) not in tops]
    return contents


def read_torchscript(archive: Archive) -> Contents:
    """The modules of a TorchScript program, with their classes; of its code only the lines are read that say which
    attribute is a parameter and which a buffer.

    Raises:
        ValueError: it is damaged or too large.
    """
    root = read_pickle(archive.read("data.pkl", MAX_PICKLE))
    contents = Contents(format="TorchScript program")
    kinds = _Classes(archive)
    seen: dict[int, str] = {}
    pending: list[tuple[str, Any, int]] = [("", root, 0)]
    while pending:
        here, value, level = pending.pop()
        if len(contents.modules) >= MAX_TENSORS or level > _MAX_LEVELS:
            raise PickleError("it holds more modules, or modules deeper in each other, than are read")
        if not isinstance(value, Made) or not isinstance(value.made_by, Named):
            raise PickleError("it holds no module")
        contents.modules[here] = _plain_name(value.made_by)
        first = seen.setdefault(id(value), here)
        if first != here:
            contents.aliases[here] = first
            continue
        state = value.state if isinstance(value.state, dict) else {}
        buffers = kinds.buffers(value.made_by)
        parameters = kinds.parameters(value.made_by)
        below: list[tuple[str, Any, int]] = []
        for name, held in state.items():
            place = f"{here}.{name}" if here else str(name)
            if isinstance(held, Made) and isinstance(held.made_by, Named) and kinds.is_module(held.made_by):
                below.append((place, held, level + 1))
            elif (name in parameters or name in buffers) and (tensor := tensor_in(held, place)) is not None:
                # Whether a parameter is trained the file does not keep: it is saved without a gradient.
                tensor.kind = "parameter" if name in parameters else "buffer"
                tensor.trainable = None
                contents.tensors.append(tensor)
        pending += reversed(below)
    return contents


def _plain_name(kind: Named) -> str:
    """The class in the words of the source: what TorchScript puts around and between is taken out."""
    path = _MANGLED.sub("", f".{kind.path}").removeprefix(".")
    return path.removeprefix("__torch__.")


class _Classes:
    """What the code in an archive says of its classes, read line by line."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._files: dict[str, dict[str, tuple[bool, frozenset[str], frozenset[str]]]] = {}
        self._left = MAX_ALL_CODE

    def is_module(self, kind: Named) -> bool:
        return self._of(kind)[0]

    def parameters(self, kind: Named) -> frozenset[str]:
        return self._of(kind)[1]

    def buffers(self, kind: Named) -> frozenset[str]:
        return self._of(kind)[2]

    def _of(self, kind: Named) -> tuple[bool, frozenset[str], frozenset[str]]:
        if kind.module not in self._files:
            self._files[kind.module] = self._read(kind.module)
        return self._files[kind.module].get(kind.name, (False, frozenset(), frozenset()))

    def _read(self, module: str) -> dict[str, tuple[bool, frozenset[str], frozenset[str]]]:
        try:
            text = self._archive.read(f"code/{module.replace('.', '/')}.py", min(MAX_CODE, self._left)).decode("utf-8")
        except KeyError:
            return {}
        self._left -= len(text)
        found: dict[str, tuple[bool, frozenset[str], frozenset[str]]] = {}
        name = ""
        for line in text.split("\n"):
            if match := _CLASS.match(line):
                name = match[1]
                found[name] = (match[2] == "Module", frozenset(), frozenset())
            elif name and line.startswith("  __parameters__ = ["):
                found[name] = (found[name][0], frozenset(_TEXT.findall(line)), found[name][2])
            elif name and line.startswith("  __buffers__ = ["):
                found[name] = (*found[name][:2], frozenset(_TEXT.findall(line)))
        return found
