"""Which installed distribution a file belongs to: its version, and those of what it needs, stand for its files."""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

_TORCH = "torch"
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_OF_AN_EXTRA = re.compile(r";.*\bextra\s*==")
_STANDARD = tuple(
    dict.fromkeys(
        os.path.realpath(path) for name in ("stdlib", "platstdlib") if (path := sysconfig.get_paths().get(name))
    )
)
_SITES = frozenset(["site-packages", "dist-packages"])


def is_standard(path: Path) -> bool:
    """The file is one of Python's own library, for which Python's version stands."""
    for folder in _STANDARD:
        if path.is_relative_to(folder):
            return not _SITES.intersection(path.relative_to(folder).parts)
    return False


class Installed:
    """The distributions of each folder of the search path, looked at once."""

    def __init__(self) -> None:
        self._owners: dict[Path, Mapping[str, frozenset[str]]] = {}
        self._versions: dict[str, str | None] = {}
        self._needs: dict[str, frozenset[str]] = {}

    def owners(self, root: Path, path: Path) -> frozenset[str]:
        """Names of the distributions in `root`, a folder of the search path, that have installed what `path` is part
        of; none for a file that only lies there, and for one of a project that is installed to be edited."""
        if root not in self._owners:
            self._owners[root] = self._of(root)
        return self._owners[root].get(path.relative_to(root).parts[0].removesuffix(".py"), frozenset())

    def versions(self, names: frozenset[str]) -> dict[str, str]:
        """Versions of distributions, and of those that they need, directly or not. What torch needs is left out,
        as its own version stands for all of it; and so are extras, which are mostly tools."""
        found: dict[str, str] = {}
        pending = list(names)
        while pending:
            name = pending.pop()
            version = self._version(name)
            if name not in found and version is not None:
                found[name] = version
                pending.extend(self._needs[name])
        return found

    def _of(self, root: Path) -> Mapping[str, frozenset[str]]:
        owners: dict[str, set[str]] = {}
        for distribution in metadata.distributions(path=[str(root)]):
            name = self._noted(distribution)
            for top in _top_levels(distribution):
                owners.setdefault(top, set()).add(name)
        return {top: frozenset(names) for top, names in owners.items()}

    def _version(self, name: str) -> str | None:
        if name not in self._versions:
            try:
                self._noted(metadata.distribution(name))
            except (metadata.PackageNotFoundError, ValueError):
                self._versions[name] = None
        return self._versions.get(name)

    def _noted(self, distribution: metadata.Distribution) -> str:
        name = _normalized(str(distribution.metadata["Name"]))
        self._versions[name] = str(distribution.version)
        requires = () if name == _TORCH else distribution.requires or ()
        needed = [each for each in requires if not _OF_AN_EXTRA.search(each)]
        self._needs[name] = frozenset(_normalized(match[1]) for each in needed if (match := _REQUIREMENT.match(each)))
        return name


def _normalized(name: str) -> str:
    """Source: the packaging specifications, "Names and normalization"."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _top_levels(distribution: metadata.Distribution) -> set[str]:
    """What it has put into its folder: names of packages and modules, as the list of its files says."""
    recorded = distribution.read_text("RECORD")
    if recorded is None:
        return set((distribution.read_text("top_level.txt") or "").split())
    tops = {re.split(r"[/,]", line.lstrip('"'), maxsplit=1)[0] for line in recorded.splitlines()}
    return {top.removesuffix(".py") for top in tops}
