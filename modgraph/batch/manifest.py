"""What is done already, in a file of the output folder: a line for each finished task, written when it is finished.

So an interruption at any moment costs the tasks that were running, and nothing else. At the end the file is written
anew, sorted, without what is no more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from modgraph.batch.tasks import State
from modgraph.export import write_file

NAME = "manifest.jsonl"
SCHEMA = "modgraph-batch/1"


@dataclass(frozen=True, slots=True)
class Record:
    """One finished task."""

    name: str
    """ "pkg/net.py:Net", from the folder of the tree."""
    key: str
    state: State
    reason: str | None
    facts: Mapping[str, Any]
    files: tuple[str, ...]
    """Relative to the output folder, with forward slashes."""

    def line(self) -> str:
        """As a line of the manifest."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, ensure_ascii=False, separators=(",", ":")) + "\n"


class Manifest:
    """The manifest in one output folder."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / NAME
        self.records = {record.name: record for record in self._read()}

    def _read(self) -> list[Record]:
        try:
            lines = self._path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return []
        return [record for line in lines if (record := _parsed(line)) is not None]

    def finished(self, name: str, key: str, *, retry: bool) -> Record | None:
        """The record of a task that need not be done again: nothing has changed, and its files are there.

        Args:
            retry: one that failed is to be done again.
        """
        record = self.records.get(name)
        if record is None or record.key != key or (retry and record.state == "failed"):
            return None
        return record if all((self._directory / file).is_file() for file in record.files) else None

    def add(self, record: Record) -> None:
        """One more task is finished; its files are there."""
        self.records[record.name] = record
        self._directory.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(record.line())

    def keep(self, names: Sequence[str]) -> None:
        """Write it anew, with these alone, sorted."""
        self.records = {name: self.records[name] for name in sorted(names) if name in self.records}
        write_file(self._path, "".join(record.line() for record in self.records.values()))


def _parsed(line: str) -> Record | None:
    """None of a line that was cut off as it was written, or is of another version."""
    try:
        found = json.loads(line)
        if found.pop("schema") != SCHEMA:
            return None
        return Record(**{**found, "files": tuple(found["files"])})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
