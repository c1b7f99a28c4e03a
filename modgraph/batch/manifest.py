"""What is done already, in a file of the output folder: a line for each finished task, written when it is finished.

So an interruption at any moment costs the tasks that were running, and nothing else. At the end the file is written
anew, sorted, without what is no more, and what the old one listed and the new one does not is removed.

A folder may have come with a repository. Each line has a mark that only this user's modgraph can make, for this folder;
one without it counts as absent: nothing that it says is shown, and nothing that it lists is removed. A line of
ours may stand beside other files, so it holds the hash of each: a file that is another by now counts as absent, and
stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

from modgraph.batch.facts import are_facts, is_list_of_text
from modgraph.batch.places import folder_of
from modgraph.batch.tasks import MAX_BYTES, State
from modgraph.doors.data import TooLargeError, read_json, require_json_in_memory
from modgraph.doors.printing import json_text
from modgraph.doors.reading import GRAPH_BYTES, read
from modgraph.doors.writing import remove
from modgraph.export import append_file, write_file
from modgraph.source.cache_home import cache_home, kept_in

NAME = "manifest.jsonl"
SCHEMA = "modgraph-batch/3"
MAX_LINES = 1_000_000
"""Of a manifest; one with more counts as absent. A line of two characters takes 25 times as much memory once it is
split off, and there is none of a task that is so short."""


@dataclass(frozen=True, slots=True)
class Record:
    """One finished task."""

    name: str
    """ "pkg/net.py:Net", from the folder of the tree."""
    file: str
    """ "pkg/net.py"."""
    key: str
    state: State
    reason: str | None
    facts: Mapping[str, Any]
    files: tuple[str, ...]
    """Relative to the output folder, with forward slashes."""
    hashes: tuple[str, ...]
    """Of what was written into each of them."""

    def line(self, directory: Path) -> str:
        """As a line of the manifest in that folder."""
        found = {"schema": SCHEMA, **asdict(self)}
        found["mark"] = _mark(found, directory)
        return json_text(json.dumps(found, ensure_ascii=False, separators=(",", ":"))) + "\n"


def hash_of(content: bytes) -> str:
    """What stands for the content of a file that was written."""
    return hashlib.sha256(content).hexdigest()


def _mark(found: Mapping[str, Any], directory: Path) -> str:
    """What shows that this user's modgraph wrote a line with these fields into that folder."""
    content = json.dumps(
        [os.path.realpath(directory), found], sort_keys=True
    )  # in ASCII: a name may hold half of a pair
    return kept_in(cache_home()).keyed(f"line of a manifest\n{content}".encode("ascii"))


class Manifest:
    """The manifest in one output folder."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / NAME
        text = self._text()
        self._cut_off = not text.endswith("\n") and text != ""
        # Nothing else is the end of a line here: in a name or a reason stands whatever the user's code says.
        read = [record for line in text.split("\n") if (record := _parsed(line, directory)) is not None]
        self.records = {record.name: record for record in read}
        self._listed = [pair for record in read for pair in zip(record.files, record.hashes, strict=True)]

    def _text(self) -> str:
        if self._path.is_symlink():  # none that modgraph has written
            return ""
        try:
            data = read(self._path, GRAPH_BYTES)
            if data.count(b"\n") > MAX_LINES:
                return ""
            require_json_in_memory(data)
            return data.decode("utf-8", "replace")  # its last character may be cut off
        except (OSError, TooLargeError):
            return ""

    def finished(self, name: str, key: str, *, retry: bool) -> Record | None:
        """The record of a task that need not be done again: nothing has changed, and its files are those that were
        written; otherwise it counts for nothing any more.

        Args:
            retry: one that failed is to be done again.
        """
        record = self.records.get(name)
        if record is None or record.key != key or (retry and record.state == "failed"):
            return None
        if all(map(self._is_as_written, record.files, record.hashes)):
            return record
        del self.records[name]
        return None

    def _is_as_written(self, file: str, written: str) -> bool:
        try:
            return hash_of(read(self._directory / file, MAX_BYTES)) == written
        except OSError:
            return False

    def add(self, record: Record) -> None:
        """One more task is finished; its files are there."""
        self.records[record.name] = record
        # In a name that is no text, what stands for a byte becomes what JSON writes for it.
        append_file(self._path, "\n" * self._cut_off + record.line(self._directory), below=self._directory)
        self._cut_off = False

    def keep(self, keys: Mapping[str, str]) -> None:
        """Write it anew, sorted, with the tasks of these names and keys alone; remove the files of the others."""
        there = (self.records[name] for name in sorted(keys) if name in self.records)
        self.records = {record.name: record for record in there if record.key == keys[record.name]}
        text = "".join(record.line(self._directory) for record in self.records.values())
        write_file(self._path, text, below=self._directory)
        kept = {file.casefold() for record in self.records.values() for file in record.files}
        for file, written in sorted(self._listed):
            if file.casefold() not in kept and self._is_as_written(file, written):
                self._remove(file)

    def _remove(self, file: str) -> None:
        """A file, and the folders that it leaves empty; nothing that a link leads to."""
        with contextlib.suppress(OSError):
            remove(self._directory / file, below=self._directory)


def _is_ours(file: str, record: Record) -> bool:
    """Whether modgraph writes such a file for that model: somebody else may have put a name into the manifest."""
    folder, _, name = file.rpartition("/")
    return folder == folder_of(record.file) and ".." not in folder.split("/") and name not in ("", "..")


def _parsed(line: str, directory: Path) -> Record | None:
    """None of a line that was cut off, is of another version, or that this user's modgraph did not write."""
    try:
        found = read_json(line)
    except ValueError:
        return None
    if type(found) is not dict or found.get("schema") != SCHEMA:
        return None
    if not _is_marked(found, directory) or not _is_record(found):
        return None
    record = Record(**{**found, "files": tuple(found["files"]), "hashes": tuple(found["hashes"])})
    return record if all(_is_ours(file, record) for file in record.files) else None


def _is_marked(found: dict[str, Any], directory: Path) -> bool:
    """Takes the mark out."""
    mark = found.pop("mark", None)
    try:
        return type(mark) is str and mark == _mark(found, directory)
    except (ValueError, RecursionError):  # an integer, or a nesting, that can be read and not be written
        return False


def _is_record(found: dict[str, Any]) -> bool:
    """Whether each field is there, of its type; takes out what is none."""
    found.pop("schema")
    if found.keys() != {field.name for field in fields(Record)}:
        return False
    return (
        all(type(found[name]) is str for name in ("name", "file", "key", "state"))
        and found["state"] in get_args(State)
        and type(found["reason"]) in (str, type(None))
        and are_facts(found["facts"])
        and is_list_of_text(found["files"])
        and is_list_of_text(found["hashes"])
        and len(found["files"]) == len(found["hashes"])
    )
