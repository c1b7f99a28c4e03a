"""[tool.modgraph] of a pyproject.toml, or a modgraph.toml -> `Config`: the nearest one above a file holds for it, up to
the border of its project."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from modgraph.doors.borders import TOML_FILES, border_around, leads_out, others_may_write
from modgraph.doors.data import TooLargeError, read_toml
from modgraph.doors.printing import control_in
from modgraph.doors.reading import CONFIG_BYTES, INSTEAD_OF_A_PIPE, irregular
from modgraph.doors.reading import read as read_file
from modgraph.errors import ConfigError

MAX_PATTERNS = 1_000
"""Of `exclude`, and of `per-file-ignores`."""
MAX_PATTERN = 1_000
"""Characters of one."""
FILE = "pyproject.toml"
OWN_FILE = "modgraph.toml"
"""Holds the same keys without a table around them; beside a pyproject.toml it is the one that counts."""


class Config(NamedTuple):
    """What a project asks of the check, and which models it has."""

    file: str | None = None
    """The file it was read from; None for the defaults."""
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
    targets: tuple[str, ...] = ()
    """The project's models, as `analyze` and `diff` take them: "model.py:Net", relative to the folder of the file."""

    @property
    def folder(self) -> str:
        """Against which its patterns are read."""
        return os.path.dirname(os.path.abspath(self.file)) if self.file else os.getcwd()

    def with_(self, **changes: Any) -> Config:
        return self._replace(**changes)


_LISTS = ("select", "extend-select", "ignore", "exclude", "module-bases", "hidden-names", "targets")
_KEYS = (*_LISTS, "per-file-ignores", "force-exclude", "baseline")


class Configs:
    """The configuration of each folder, read once.

    Args:
        isolated: none is looked for.
        given: a file that holds for everything, in place of those that would be found, and "KEY=VALUE" in the words of
            TOML, which hold above every file.

    Raises:
        ConfigError: what is given cannot be used.
    """

    def __init__(self, isolated: bool = False, given: Sequence[str] = ()) -> None:
        self._of: dict[str, Config | ConfigError] = {}
        files = [each for each in given if _is_file(each)]
        if len(files) > 1 or (files and isolated):
            what = "--isolated reads no file" if isolated else "several files"
            raise ConfigError(f"{what}: --config {files[-1]} is too much", hint="KEY=VALUE may be given many times")
        self._above = _given(each for each in given if not _is_file(each))
        self._fixed: Config | None = self._changed(_whole(files[0])) if files else None
        self.names_baseline = bool(files) or "baseline" in self._above
        """The baseline is the user's word, not that of a file that was found."""
        if isolated:
            self._fixed = self._changed(Config())

    def of(self, path: str) -> Config:
        """What holds for a file.

        Raises:
            ConfigError: the nearest file with a configuration has a mistake in it, or cannot be read.
        """
        found = self._fixed or self._of_folder(os.path.dirname(os.path.abspath(path)))
        if isinstance(found, ConfigError):
            raise found.with_traceback(None)
        return found

    def _of_folder(self, folder: str) -> Config | ConfigError:
        """A loop, and not a call for each folder above: a tree may be deeper than Python's stack."""
        passed: list[str] = []
        while folder not in self._of:
            found = self._decided_at(folder)
            if found is not None:
                self._of[folder] = found
            else:
                passed.append(folder)
                folder = os.path.dirname(folder)
        self._of.update(dict.fromkeys(passed, self._of[folder]))
        return self._of[folder]

    def _decided_at(self, folder: str) -> Config | ConfigError | None:
        """What holds for a folder without a look at those above it; None where it is what holds for the one above."""
        try:
            found = _found(folder)
        except ConfigError as error:
            return error
        above = os.path.dirname(folder)
        if found is None and above != folder and not leads_out(folder, above):
            return None
        return self._changed(found or Config())

    def _changed(self, config: Config) -> Config:
        return config.with_(**self._above) if self._above else config


def _is_file(given: str) -> bool:
    return "=" not in given or os.path.isfile(given)


def _given(assignments: Iterable[str]) -> dict[str, Any]:
    """The fields that "KEY=VALUE" set."""
    table: dict[str, Any] = {}
    for each in assignments:
        table.update(_toml("--config", each.encode("utf-8", "surrogateescape"), f"--config {each}"))
    config = _config("--config", table)
    return {name: getattr(config, name) for name in (key.replace("-", "_") for key in table)}


def _whole(file: str) -> Config:
    """A file that must be there and hold a configuration."""
    if (kind := irregular(file)) is not None:
        raise ConfigError(f"the configuration cannot be read: {file} is {kind}", file=file, hint=INSTEAD_OF_A_PIPE)
    if not os.path.isfile(file):
        raise ConfigError("the configuration cannot be read: there is no such file", file=file)
    found = read(file)
    if found is None:
        hint = f"write one, or put the keys into {OWN_FILE} without a table"
        raise ConfigError("there is no [tool.modgraph] in the file", file=file, hint=hint)
    return found


def _found(folder: str) -> Config | None:
    """What a folder has. Nobody has named the file: a link that leads out of the project, or to a file of another kind,
    is not followed, as what is read there would be shown; and outside of a repository, one that another user has put
    there, or could, counts as absent."""
    for name in (OWN_FILE, FILE):
        file = os.path.join(folder, name)
        if others_may_write(file):
            continue
        if os.path.islink(file) and not (border := border_around(folder)).admits(file, TOML_FILES):
            where = "to a file that is not called .toml" if border.holds(file) else "that leads out of the project"
            raise ConfigError(
                f"the configuration is a link {where}, and is not read",
                file=file,
                hint="put the file itself there, name it (check --config FILE), or read none (check --isolated)",
            )
        found = read(file)
        if found is not None:
            return found
    return None


def read(file: str) -> Config | None:
    """The configuration in one file; None where there is no such file, or no such table in a pyproject.toml.

    Raises:
        ConfigError: it cannot be read, is no TOML, or has a key or value that cannot be.
    """
    own = os.path.basename(file) != FILE
    try:
        data = read_file(file, CONFIG_BYTES)
    except OSError as error:
        if not _is_there(file):
            return None
        raise ConfigError(f"the configuration cannot be read: {error.strerror or error}", file=file) from None
    if not own and b"modgraph" not in data:
        return None
    table = _toml(file, data, os.path.basename(file))
    if not own:
        found = _table(file, table)
        return None if found is None else _config(file, found)
    return _config(file, table)


def _is_there(file: str) -> bool:
    try:
        os.lstat(file)
    except (OSError, ValueError):  # what may not even be asked for cannot be told from what is not there
        return False
    return True


def _toml(file: str, data: bytes, what: str) -> dict[str, Any]:
    hint = """for example --config 'select=["MG1"]'""" if file == "--config" else None
    try:
        return read_toml(data.decode("utf-8"))
    except TooLargeError as error:
        raise ConfigError(f"{what} is not read: {error}", file=None if hint else file, hint=hint) from None
    except ValueError as error:  # bytes that are no UTF-8, no TOML, an integer of more digits than Python reads
        raise ConfigError(f"{what} is no TOML: {error}", file=None if hint else file, hint=hint) from None


def _table(file: str, whole: dict[str, Any]) -> dict[str, Any] | None:
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
        where = "[tool.modgraph]" if os.path.basename(file) == FILE else "the configuration"
        raise ConfigError(f"{where} has no key {unknown[0]!r}", file=file, hint=hint)
    lists = {key: _strings(file, key, table[key]) for key in _LISTS if key in table}
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise ConfigError("per-file-ignores must be a table of lists", file=file)
    _require_few(file, "exclude", lists.get("exclude", ()))
    _require_few(file, "per-file-ignores", per_file)
    force = table.get("force-exclude", False)
    baseline = table.get("baseline")
    if not isinstance(force, bool):
        raise ConfigError("force-exclude must be true or false", file=file)
    if baseline is not None and not isinstance(baseline, str):
        raise ConfigError("baseline must be the path of a file", file=file)
    for target in lists.get("targets", ()):
        if (control := control_in(target)) is not None:
            raise ConfigError(
                f"a target cannot hold the character {control}, as {target!r} does",
                file=file,
                hint='a target is written "model.py:Net", on one line',
            )
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
        targets=lists.get("targets", ()),
    )


def _require_few(file: str, key: str, patterns: Collection[str]) -> None:
    """Each is held against each file."""
    if len(patterns) > MAX_PATTERNS:
        hint = "name folders in place of the files in them"
        raise ConfigError(f"{key} has {len(patterns):,} patterns, more than {MAX_PATTERNS:,}", file=file, hint=hint)
    if any(len(each) > MAX_PATTERN for each in patterns):
        raise ConfigError(f"{key} has a pattern of more than {MAX_PATTERN:,} characters", file=file)


def _strings(file: str, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"{key} must be a list of strings", file=file)
    return tuple(value)
