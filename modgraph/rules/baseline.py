"""Old findings that are known and kept quiet, by file, rule, class and attribute: lines may move, new ones show."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from modgraph.doors.borders import Border, holds_many, project_folders
from modgraph.doors.data import TooLargeError, read_json
from modgraph.doors.reading import CONFIG_BYTES, read
from modgraph.errors import ConfigError
from modgraph.findings import Finding

VERSION = 1
_MOST_OF_A_KIND = 10**9
Key = tuple[str, str, str]
"""Path from the baseline's folder, code, and what it is about: "Net.blocks"."""


class Baseline:
    """How many findings of each kind are known."""

    def __init__(self, file: str, known: Counter[Key]) -> None:
        self.file = file
        self.known = known

    @classmethod
    def read(cls, file: str) -> Baseline:
        """Raises ConfigError where the file is not there, or is no baseline."""
        try:
            data = read_json(read(file, CONFIG_BYTES).decode("utf-8"))
        except OSError as error:
            hint = "write one with --write-baseline"
            raise ConfigError(f"the baseline cannot be read: {error.strerror}", file=file, hint=hint) from None
        except TooLargeError as error:
            raise ConfigError(f"the baseline is not read: {error}", file=file) from None
        except ValueError as error:
            raise ConfigError(f"the baseline is no JSON: {error}", file=file) from None
        return cls(file, _known(data, file))

    def hide(self, findings: Sequence[Finding]) -> list[Finding]:
        """Those that are not known; of several of one kind the later ones count as new."""
        left = Counter(self.known)
        shown: list[Finding] = []
        for finding in findings:
            key = self.key(finding)
            if left[key] > 0:
                left[key] -= 1
            else:
                shown.append(finding)
        return shown

    def stale(self, findings: Iterable[Finding], checked: Collection[str]) -> list[str]:
        """What it knows and is no longer found, as sentences; of files that were not checked only if they are gone."""
        found = Counter(self.key(finding) for finding in findings)
        looked = {self.path(file) for file in checked}
        said: list[str] = []
        is_there = self._presence()
        for key in sorted(self.known):
            path, code, about = key
            gone = path not in looked and not is_there(path)
            if found[key] < self.known[key] and (path in looked or gone):
                said.append(f"{path}: {code} {about or 'in the file'} is no longer found")
        return said

    def _presence(self) -> Callable[[str], bool]:
        """Whether a path that it names is there. What lies neither in its project nor in the one from which the check
        runs is not, without a look: what is said of it would tell whether there is such a file."""
        folder, here = (os.path.realpath(each) for each in (os.path.dirname(os.path.abspath(self.file)), os.curdir))
        border = Border((*project_folders(folder), *(() if holds_many(here) else project_folders(here))))

        def is_there(path: str) -> bool:
            place = os.path.normpath(os.path.join(folder, path))
            return border.holds_real(place) and border.holds(place) and os.path.exists(place)

        return is_there

    def key(self, finding: Finding) -> Key:
        about = ".".join(part for part in (finding.class_name, finding.attribute) if part)
        return self.path(finding.file or ""), finding.code, about

    def path(self, file: str) -> str:
        folder = os.path.dirname(os.path.abspath(self.file))
        try:
            return os.path.relpath(file, folder).replace(os.sep, "/")
        except ValueError:  # another drive
            return file.replace(os.sep, "/")


def text(file: str, findings: Iterable[Finding]) -> str:
    """A baseline that knows these findings, for this file."""
    known = Counter(Baseline(file, Counter()).key(finding) for finding in findings)
    tree: dict[str, dict[str, dict[str, int]]] = {}
    for path, code, about in sorted(known):
        tree.setdefault(path, {}).setdefault(code, {})[about] = known[path, code, about]
    return json.dumps({"version": VERSION, "findings": tree}, indent=2) + "\n"


def _known(data: Any, file: str) -> Counter[Key]:
    """What a file says is known. It may have come with a stranger's repository: whatever JSON holds may be in it."""
    found = data if isinstance(data, dict) else {}
    version = found.get("version")
    if type(version) is int and version != VERSION:
        raise ConfigError(f"a baseline of version {version}; this modgraph reads {VERSION}", file=file)
    try:
        entries = dict(_entries(_table(found.get("findings"))))
    except TypeError:
        version = None
    if type(version) is not int:
        raise ConfigError("the file is no baseline", file=file, hint="write one with --write-baseline")
    return Counter(entries)


def _entries(tree: dict[str, Any]) -> Iterable[tuple[Key, int]]:
    """Raises TypeError where anything is not as `text` writes it."""
    for path, codes in tree.items():
        for code, places in _table(codes).items():
            for about, count in _table(places).items():
                if type(count) is not int or not 0 <= count <= _MOST_OF_A_KIND:
                    raise TypeError
                yield (path, code, about), count


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value
