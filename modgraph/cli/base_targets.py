"""The models that a project named at a revision, and what became of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from modgraph.cli.configured import MAX_TARGETS, targets_within
from modgraph.diffing import file_of
from modgraph.doors.borders import PYTHON_FILES, border_below
from modgraph.errors import ConfigError, ModgraphError
from modgraph.source.history import renamed_between
from modgraph.source.targets import Target

if TYPE_CHECKING:
    from modgraph.config import Config
    from modgraph.source.checkouts import Checkout
    from modgraph.source.revisions import Revision

Key = tuple[str, str]
"""By which a model is the same one: its file, relative to the top of the repository, and what is behind the colon."""


@dataclass(frozen=True, slots=True)
class BaseTarget:
    """A model that the configuration at a revision names."""

    text: str
    """As it stands there."""
    target: Target
    key: Key
    written: str
    """As it is written from the folder of the configuration of now."""

    def became(self, top: Path) -> tuple[str, str]:
        """Verdict and reason, of one that is no target now: whether it is still there."""
        file, name = self.key[0], self.target.name
        refusal = border_below(top).refusal(top / file, PYTHON_FILES)  # it may be a link by now
        if refusal is not None:
            return "removed", f"{file} {refusal} now"
        if not (top / file).is_file():
            return "removed", f"{file} is not there any more"
        if not _has(top / file, name):
            return "removed", f"{file} has no {name} any more"
        return "no target any more", f"{self.key[0]} still has {name}, and [tool.modgraph] does not name it"


def key_of(target: Target, top: Path) -> Key:
    """The key of a model whose repository has its top there."""
    file = file_of(target)
    place = target.module if file is None else os.path.relpath(file, top).replace(os.sep, "/")
    return place, target.text.partition(":")[2]


def base_targets(files: Checkout, path: Sequence[str] | None) -> list[BaseTarget]:
    """The models that the configuration at the revision names, as far as they are there.

    Raises:
        ConfigError: it has a mistake, or names too many.
    """
    config = _config(files)
    if config is None:
        return []
    folder = Path(config.folder)
    found: list[BaseTarget] = []
    texts = tuple(dict.fromkeys(config.targets))
    if len(texts) > MAX_TARGETS:
        raise ConfigError(f"it names {len(texts):,} models, more than {MAX_TARGETS:,}", file=config.file)
    for text in texts:
        try:
            search = [str(folder), *files.search_path(path)]
            targets = targets_within(text, border_below(files.root), folder, search)
        except ModgraphError:
            continue  # it was none then
        for target in targets:
            file = file_of(target)
            if file is not None and file.is_relative_to(files.root) and _has(file, target.name):
                key = key_of(target, files.root)
                place = os.path.relpath(file, files.cwd).replace(os.sep, "/")
                found.append(BaseTarget(text, target, key, f"{place}:{key[1]}"))
    return found


def renames(revision: Revision) -> dict[str, str]:
    """Paths of files as they are committed now, and at the revision, where git takes them for the same file."""
    return renamed_between(revision.top, revision.commit, "HEAD")


def _config(files: Checkout) -> Config | None:
    """That of the folder at the revision, or of the nearest one above it."""
    from modgraph.config import FILE, OWN_FILE, read

    folder = files.cwd
    while True:
        for name in (OWN_FILE, FILE):
            if (found := read(str(folder / name))) is not None:
                return found
        if folder == files.root:
            return None
        folder = folder.parent


def _has(file: Path, name: str) -> bool:
    """Whether the text of a file binds a name; yes, where it cannot be told."""
    from modgraph.source.modules import SourceError, SourceModule

    try:
        index = SourceModule(file.stem, file, file.name, False).index
    except SourceError:
        return True
    return name in index.definitions or name.partition(".")[0] in index.names or bool(index.star_imports)
