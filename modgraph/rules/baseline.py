"""Old findings that are known and kept quiet, by file, rule, class and attribute: lines may move, new ones show."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from modgraph.errors import ConfigError
from modgraph.findings import Finding

VERSION = 1
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
            with open(file, encoding="utf-8") as handle:
                data = json.load(handle)
        except OSError as error:
            hint = "write one with --write-baseline"
            raise ConfigError(f"the baseline cannot be read: {error.strerror}", file=file, hint=hint) from None
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"the baseline is no JSON: {error}", file=file) from None
        try:
            if data["version"] != VERSION:
                raise ConfigError(f"a baseline of version {data['version']}; this modgraph reads {VERSION}", file=file)
            return cls(file, Counter(dict(_entries(data["findings"]))))
        except (KeyError, TypeError, AttributeError, ValueError):
            raise ConfigError("the file is no baseline", file=file, hint="write one with --write-baseline") from None

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
        folder = os.path.dirname(os.path.abspath(self.file))
        looked = {self.path(file) for file in checked}
        said: list[str] = []
        for key in sorted(self.known):
            path, code, about = key
            gone = path not in looked and not os.path.exists(os.path.join(folder, path))
            if found[key] < self.known[key] and (path in looked or gone):
                said.append(f"{path}: {code} {about or 'in the file'} is no longer found")
        return said

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


def _entries(tree: Any) -> Iterable[tuple[Key, int]]:
    for path, codes in tree.items():
        for code, places in codes.items():
            for about, count in places.items():
                yield (path, code, about), int(count)
