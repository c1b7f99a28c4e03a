"""Keys and shapes of the tensors in a file that torch reads. Only tensors are loaded: `weights_only` runs no code."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping
from typing import Any

import torch

from modgraph.errors import InputError

MAX_DEPTH = 4
"""Entries within entries that are looked through for state dicts."""
MAX_TABLES = 64
_MAX_TEXT = 200
_MAX_NAMES = 5

_HINT = "save the state dict alone: torch.save(model.state_dict(), ...), or as safetensors"

Table = dict[str, list[int]]


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
    try:
        # Mapped, the tensors' data is never read; files of before torch 1.6 are no archives and cannot be mapped.
        return torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except pickle.UnpicklingError as error:
        raise _refused(path, error) from error
    except MemoryError as error:
        raise InputError(f"cannot read the checkpoint {path}: out of memory") from error
    except Exception as error:  # what torch raises on a broken file is of many kinds
        if _is_program(path):
            raise InputError(f"{path} is a TorchScript program, not a state dict", hint=_HINT) from error
        kind = type(error).__name__
        raise InputError(f"{path} is no checkpoint that torch can read: {kind}: {_first_line(error)}") from error


def _refused(path: str, error: Exception) -> InputError:
    names = _foreign_names(path)
    if not names:
        return InputError(f"{path} is no checkpoint that torch can read without running code: {_first_line(error)}")
    return InputError(
        f"{path} holds more than tensors ({', '.join(names)}), and nothing that would run code is loaded",
        hint=_HINT,
    )


def _is_program(path: str) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.rpartition("/")[2] == "constants.pkl" for name in archive.namelist())


def _foreign_names(path: str) -> list[str]:
    """What the file would import to be loaded, beyond tensors; nothing of it is imported to find out."""
    find = getattr(torch.serialization, "get_unsafe_globals_in_checkpoint", None)
    if find is None or not zipfile.is_zipfile(path):
        return []
    try:
        return sorted(find(path))[:_MAX_NAMES]
    except Exception:  # the message is poorer by the names
        return []


def _first_line(error: Exception) -> str:
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return text[:_MAX_TEXT]


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
            table = {key: list(one.shape) for key, one in named.items() if isinstance(one, torch.Tensor)}
            if table:
                tables[entry] = table
            below += [(f"{entry}.{key}" if entry else key, one) for key, one in named.items()]
        level = below
    return tables
