"""[tool.modgraph] of a pyproject.toml -> `Config`: the nearest one above a file holds for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from modgraph.errors import ConfigError

FILE = "pyproject.toml"


class Config(NamedTuple):
    """What a project asks of the check."""

    file: str | None = None
    """The pyproject.toml it was read from; None for the defaults."""
    select: tuple[str, ...] | None = None
    """Codes, names of rules or beginnings of codes ("MG2", "ALL"); None for the rules that are on by default."""
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """By a pattern of paths, relative to the folder of the file."""
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    """`exclude` holds for files that are named one by one too."""
    module_bases: tuple[str, ...] = ()
    """Classes, by name or import path, that derive from `nn.Module` though no source shows it."""
    hidden_names: tuple[str, ...] = ()
    """Words in the name of an attribute that say that modules are hidden in it on purpose."""
    baseline: str | None = None

    @property
    def folder(self) -> str:
        """Against which its patterns are read."""
        return os.path.dirname(os.path.abspath(self.file)) if self.file else os.getcwd()

    def with_(self, **changes: Any) -> Config:
        return self._replace(**changes)


_LISTS = ("select", "extend-select", "ignore", "exclude", "module-bases", "hidden-names")
_KEYS = (*_LISTS, "per-file-ignores", "force-exclude", "baseline", "targets")


class Configs:
    """The configuration of each folder, read once."""

    def __init__(self, isolated: bool = False) -> None:
        self._isolated = isolated
        self._of: dict[str, Config] = {}

    def of(self, path: str) -> Config:
        """What holds for a file.

        Raises:
            ConfigError: the nearest file with a [tool.modgraph] table has a mistake in it.
        """
        return self._of_folder(os.path.dirname(os.path.abspath(path)))

    def _of_folder(self, folder: str) -> Config:
        if self._isolated:
            return Config()
        if folder not in self._of:
            found = read(os.path.join(folder, FILE))
            above = os.path.dirname(folder)
            if found is None:
                found = Config() if above == folder else self._of_folder(above)
            self._of[folder] = found
        return self._of[folder]


def read(file: str) -> Config | None:
    """The table of one file; None where there is no such file, or no such table in it.

    Raises:
        ConfigError: it is no TOML, or has a key or value that cannot be.
    """
    try:
        with open(file, "rb") as handle:
            data = handle.read()
    except OSError:
        return None
    if b"modgraph" not in data:
        return None
    table = _table(file, data)
    return None if table is None else _config(file, table)


def _table(file: str, data: bytes) -> dict[str, Any] | None:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        whole = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{os.path.basename(file)} is no TOML: {error}", file=file) from None
    tools = whole.get("tool", {})
    table = tools.get("modgraph") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError("tool.modgraph must be a table", file=file)
    return table


def _config(file: str, table: dict[str, Any]) -> Config:
    unknown = [key for key in table if key not in _KEYS]
    if unknown:
        from difflib import get_close_matches

        near = get_close_matches(unknown[0].replace("_", "-"), _KEYS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(_KEYS)}"
        raise ConfigError(f"[tool.modgraph] has no key {unknown[0]!r}", file=file, hint=hint)
    lists = {key: _strings(file, key, table[key]) for key in _LISTS if key in table}
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise ConfigError("per-file-ignores must be a table of lists", file=file)
    force = table.get("force-exclude", False)
    baseline = table.get("baseline")
    if not isinstance(force, bool):
        raise ConfigError("force-exclude must be true or false", file=file)
    if baseline is not None and not isinstance(baseline, str):
        raise ConfigError("baseline must be the path of a file", file=file)
    return Config(
        file=file,
        select=lists.get("select"),
        extend_select=lists.get("extend-select", ()),
        ignore=lists.get("ignore", ()),
        per_file_ignores={key: _strings(file, key, codes) for key, codes in per_file.items()},
        exclude=lists.get("exclude", ()),
        force_exclude=force,
        module_bases=lists.get("module-bases", ()),
        hidden_names=lists.get("hidden-names", ()),
        baseline=baseline,
    )


def _strings(file: str, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"{key} must be a list of strings", file=file)
    return tuple(value)
