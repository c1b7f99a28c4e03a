"""Findings kept on disk: a file is checked again only if it, what it depends on, the rules or the settings changed.

A few files of JSON, each for some of the folders that are checked, so that a commit reads one of them and a whole tree
reads them all at once. Reading an entry executes nothing; a damaged one, or one that somebody else put there, counts as
absent, and a directory that cannot be written is no error.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

from modgraph._version import __version__
from modgraph.doors.reading import SOURCE_BYTES, read, repository_of
from modgraph.findings import Edit, Finding, Fix, Related
from modgraph.source.cache_home import kept_in

SHARDS = 64
MAX_ENTRIES = 4_000
"""Files kept in one shard; beyond, those that are no longer there are forgotten, then all."""
_RACY = 2_000_000_000
"""Nanoseconds within which a file may change twice without a new time: then its content is looked at again."""


_IMPORTED = (".py", *EXTENSION_SUFFIXES)
_Stat = tuple[int, int, int, int]
"""Size, the times of the content and of the file itself, and its number: a copy that keeps size and time of what it
replaces (tar, rsync) changes the others. Source: git-config(1), core.trustctime and core.checkStat."""
_LINKED = " with links"
"""Of a folder: what its links lead to may change while it does not."""


class ResultsCache:
    """The findings of earlier runs; what is new is written by `write`."""

    def __init__(self, home: str) -> None:
        place = _digest(f"{os.getcwd()}\0{sys.prefix}".encode("utf-8", "surrogateescape"))
        self._folder = f"check/{place}"
        self._kept = kept_in(home)
        self._salt = _salt()
        self._shards: dict[str, dict[str, Any]] = {}
        self._changed: set[str] = set()
        self._stats: dict[str, _Stat | None] = {}
        self._hashes: dict[str, str | None] = {}
        self._reals: dict[str, str] = {}

    def get(self, path: str, shown: str, settings: str) -> list[Finding] | None:
        """What was found in a file, under these settings; None where that is not known, or no longer so."""
        shard = self._shard(path)
        try:
            known, stamps, rows, _ = shard["files"][path]
            if known != settings or not all(self._is_fresh(shard, each) for each in stamps):
                return None
            return [_decoded(row, shown) for row in rows]
        except (KeyError, ValueError, TypeError, IndexError, AttributeError):
            return None

    def unresolved(self, path: str) -> tuple[str, ...]:
        """Of a file whose findings are known: bases of its classes of which nothing was found."""
        return tuple(str(name) for name in self._shard(path)["files"][path][3])

    def put(
        self,
        path: str,
        settings: str,
        depends: Iterable[str],
        findings: Iterable[Finding],
        unresolved: Iterable[str] = (),
    ) -> None:
        """What was found in a file that has just been checked."""
        shard = self._shard(path)
        files = dict.fromkeys((path, *depends))
        for each in files:
            shard["stamps"][each] = self._stamp(each)
        shard["files"][path] = [
            settings,
            list(files),
            [_encoded(finding) for finding in findings],
            list(unresolved),
        ]
        self._changed.add(_name(path))

    def write(self) -> None:
        """Writes what is new, each file whole or not at all."""
        for name in sorted(self._changed):
            shard = self._shards[name]
            _prune(shard)
            try:
                data = json.dumps(shard, separators=(",", ":")).encode("ascii")
            except ValueError:
                continue
            self._kept.write(f"{self._folder}/{name}", data)
        self._changed.clear()

    # ---- one shard ---------------------------------------------------------------------------------------------------

    def _shard(self, path: str) -> dict[str, Any]:
        name = _name(path)
        found = self._shards.get(name)
        if found is None:
            found = self._shards[name] = self._read(name)
        return found

    def _read(self, name: str) -> dict[str, Any]:
        try:
            found = json.loads(self._kept.read(f"{self._folder}/{name}") or b"")
            if found["salt"] == self._salt and isinstance(found["files"], dict) and isinstance(found["stamps"], dict):
                return dict(found)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            pass  # absent, or damaged: it is made again
        return {"salt": self._salt, "files": {}, "stamps": {}}

    # ---- files as they are -------------------------------------------------------------------------------------------

    def _is_fresh(self, shard: dict[str, Any], path: str) -> bool:
        stamp, now = shard["stamps"][path], self._stat(path)
        if stamp is None or now is None:
            return stamp is None and now is None
        stat, content, leads = stamp
        if leads != self._lead(path):
            return False
        if list(now) == stat:
            return True
        return bool((os.path.isdir(path) or now[0] == stat[0]) and self._hash(path) == content)

    def _stamp(self, path: str) -> list[Any] | None:
        stat = self._stat(path)
        if stat is None:
            return None
        size, changed, *others = stat
        content = self._hash(path)
        soon = time.time_ns() - max(changed, others[0]) < _RACY or (content or "").endswith(_LINKED)
        return [[size, 0 if soon else changed, *others], content, self._lead(path)]

    def _stat(self, path: str) -> _Stat | None:
        if path not in self._stats:
            try:
                found = os.stat(path)
                self._stats[path] = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
            except (OSError, ValueError):
                self._stats[path] = None
        return self._stats[path]

    def _lead(self, path: str) -> str:
        """Where links on the way to a file lead, and whether that is within one repository: it decides whether they are
        followed. "" for a path without one."""
        real = self._real(os.path.dirname(path))
        real = os.path.realpath(path) if os.path.islink(path) else os.path.join(real, os.path.basename(path))
        if real == path:
            return ""
        return f"{real} in {repository_of(os.path.dirname(path))} and {repository_of(os.path.dirname(real))}"

    def _real(self, folder: str) -> str:
        if folder not in self._reals:
            self._reals[folder] = os.path.realpath(folder)
        return self._reals[folder]

    def _hash(self, path: str) -> str | None:
        if path not in self._hashes:
            try:
                self._hashes[path] = _listed(path) if os.path.isdir(path) else _digest(read(path, SOURCE_BYTES))
            except OSError:
                self._hashes[path] = None
        return self._hashes[path]


def _listed(folder: str) -> str:
    """What of a folder an import may find: files of Python, extensions, folders, and where links lead."""
    found: list[str] = []
    linked = False
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if entry.is_symlink():
                linked = True
                found.append(f"{name} -> {os.path.realpath(entry.path)} {os.path.isdir(entry.path)}")
            elif name.endswith(_IMPORTED) or entry.is_dir():
                found.append(f"{name} {entry.is_dir()}")
    return _digest("\0".join(sorted(found)).encode("utf-8", "surrogateescape")) + _LINKED * linked


def _name(path: str) -> str:
    """The shard of a file: that of its folder."""
    folder = os.path.dirname(path).encode("utf-8", "surrogateescape")
    return f"{hashlib.blake2b(folder, digest_size=1).digest()[0] % SHARDS:02d}.json"


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _salt() -> str:
    """What findings depend on beside files and settings: modgraph's own code, Python, and what is installed."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parts = [__version__, sys.version, *sys.path]
    floors = ("", "knowledge", "forward", os.path.join("knowledge", "shapes"), os.path.join("knowledge", "torch"))
    rooms = ("", "rules", "source", *(os.path.join("prediction", floor) for floor in floors))
    parts.extend(_contents(os.path.join(root, room)) for room in rooms)
    installed = [folder for folder in sys.path if folder.endswith(("site-packages", "dist-packages"))]
    parts.extend(str(os.stat(folder).st_mtime_ns) for folder in installed if os.path.isdir(folder))
    return _digest("\0".join(parts).encode("utf-8", "surrogateescape"))


def _contents(folder: str) -> str:
    """The files of a folder, and when each of them was changed."""
    try:
        with os.scandir(folder) as entries:
            return repr(sorted((e.name, e.stat().st_size, e.stat().st_mtime_ns) for e in entries if e.is_file()))
    except OSError:  # modgraph lies in an archive
        return ""


def _prune(shard: dict[str, Any]) -> None:
    files = shard["files"]
    if len(files) > MAX_ENTRIES:
        there = {path: entry for path, entry in files.items() if os.path.exists(path)}
        files = shard["files"] = there if len(there) <= MAX_ENTRIES else {}
    needed = {each for entry in files.values() for each in entry[1]}
    shard["stamps"] = {path: stamp for path, stamp in shard["stamps"].items() if path in needed}


def _encoded(finding: Finding) -> list[Any]:
    fix = finding.fix
    edits = [] if fix is None else [[e.line, e.column, e.end_line, e.end_column, e.text] for e in fix.edits]
    return [
        [finding.code, finding.message, finding.name, finding.severity, finding.class_name, finding.attribute],
        [finding.line, finding.column, finding.end_line, finding.end_column],
        [[each.line, each.column, each.message] for each in finding.related],
        None if fix is None else [fix.description, fix.safe, edits],
    ]


def _decoded(row: list[Any], shown: str) -> Finding:
    (code, message, name, severity, class_name, attribute), place, related, fix = row
    line, column, end_line, end_column = place
    return Finding(
        code=code,
        message=message,
        name=name,
        severity=severity,
        class_name=class_name,
        attribute=attribute,
        file=shown,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        related=tuple(Related(*each) for each in related),
        fix=None if fix is None else Fix(fix[0], tuple(Edit(*each) for each in fix[2]), fix[1]),
    )
