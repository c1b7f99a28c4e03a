"""`modgraph diff BASE`: each of the project's models against what it was at a revision."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from modgraph.cli.base_targets import BaseTarget, Key, base_targets, key_of, renames
from modgraph.cli.configured import as_many_as_are_taken, configured_targets, targets_within
from modgraph.cli.console import Console
from modgraph.cli.diff import status_of, write_changes
from modgraph.diffing import Found, GraphFinder, compared, named_as, require_own
from modgraph.doors.borders import border_around
from modgraph.doors.printing import printable
from modgraph.errors import (
    ConfigError,
    ExitStatus,
    MissingFileError,
    ModgraphError,
    TargetError,
    UnknownNameError,
)
from modgraph.names import last_name, listed
from modgraph.source.targets import Target, file_in, shortened

if TYPE_CHECKING:
    from modgraph.source.checkouts import Checkout
    from modgraph.source.revisions import Revision

_MOST_NAMED = 4
_TOGETHER = ("text", "markdown")
"""Formats of which several fit into one stream."""
_FILE = re.compile(r"\.(?:py(?::.*)?|json|onnx)\Z", re.IGNORECASE)
"""How a model is written, and hardly ever a revision."""


def run(arguments: argparse.Namespace, finder: GraphFinder, console: Console) -> ExitStatus:
    """Compare every model; the status of the worst."""
    from modgraph.source.checkouts import files_of
    from modgraph.source.revisions import the_revision

    try:
        revision = the_revision(arguments.old)
    except TargetError as error:
        if not _FILE.search(arguments.old):
            raise
        raise ConfigError(
            f"{shortened(arguments.old)!r} is one model, and nothing is named to compare it with",
            hint="name both: modgraph diff HEAD:model.py:Net model.py:Net; one alone is a revision: modgraph diff HEAD",
        ) from error
    format = arguments.format or "text"
    folder, texts = configured_targets(f"modgraph diff {arguments.old}:model.py:Net model.py:Net")
    if arguments.emit_map is not None:
        one = texts[0] if folder == Path.cwd() else "model.py:Net"  # they are read against the folder
        pair = " ".join(map(shlex.quote, (f"{arguments.old}:{one}", one)))
        named = f"; the configuration names {listed(texts, _MOST_NAMED)}"
        raise ConfigError(
            "--emit-map is of one model" + (named if len(texts) > 1 else ""),
            hint=f"name both: modgraph diff {pair} --emit-map {shlex.quote(arguments.emit_map)}",
        )
    texts, too_many = as_many_as_are_taken(texts, console)
    finder.n_named = len(texts)
    directory = _directory(arguments.output, format)
    with files_of(revision, everything=finder.run, cwd=folder) as files:
        comparison = _Comparison(
            revision, files, folder, finder, _Telling(console, directory, format, arguments.fail_on)
        )
        return max(too_many, comparison.all(texts))


def _directory(output: str | None, format: str) -> Path | None:
    """Where a file for each target goes; None for standard output.

    Raises:
        ConfigError: several do not fit there.
    """
    if output in (None, "-"):
        if format not in _TOGETHER:
            raise ConfigError(f"several targets do not fit into one {format}", hint="name a directory: -o changes/")
        return None
    if Path(output).suffix and not output.endswith(("/", os.sep)) and not Path(output).is_dir():
        raise ConfigError(f"-o {output} is one file, and there is one for each target", hint="-o changes/")
    return Path(output)


class _Telling:
    """Where what is said of each model goes."""

    def __init__(self, console: Console, directory: Path | None, format: str, fail_on: str) -> None:
        from modgraph.export.diff.formats import FORMATS

        self.console, self.format = console, format
        self.directory, self.fail_on = directory, fail_on
        self._suffix = FORMATS[format].extension
        self._n_told = 0

    def file(self, stem: str) -> Path | None:
        """The file of the next model; None for standard output."""
        if self._n_told and self.directory is None:
            self.console.result("\n")
        self._n_told += 1
        return None if self.directory is None else self.directory / f"{stem}.{self._suffix}"

    def failed(self, there: str, error: ModgraphError, file: Path | None) -> ExitStatus:
        """What keeps a model from being compared; it keeps no other."""
        from modgraph.export.diff.markdown import not_comparable

        self.console.error(error)
        if self.format == "markdown":  # what a job said of it before is true no longer
            where = f" ({error.file}:{error.line})" if error.line else ""
            self._write(not_comparable(there, error.message + where), file)
        return ExitStatus.FAILED

    def one_side(self, there: str, verdict: str, why: str, file: Path | None) -> ExitStatus:
        """Of a model that only one side has."""
        from modgraph.export.diff.markdown import one_side

        if self.format == "markdown":
            self._write(one_side(there, verdict, why), file)
        elif self.format == "text" and file is None:
            self.console.result(f"{verdict}: {printable(there)}\n\n{printable(why)}\n")
        self.console.note(f"{there}: {verdict}: {why}")
        # Of a model that is new no checkpoint breaks; nor of one that is still there, and is compared no more.
        breaks = self.fail_on == "change" or verdict == "removed"
        return ExitStatus.PARTIAL if breaks else ExitStatus.OK

    def _write(self, text: str, file: Path | None) -> None:
        from modgraph.export import write_file

        if file is None:
            self.console.document(text)
        else:
            write_file(file, text, below=self.directory)


def _name_in(text: str) -> str:
    """What a target that could not be found is called: its class, else its file."""
    place, _, name = text.partition(":")
    return name or Path(place).stem


class _Comparison:
    """The models of a project at a revision, and now."""

    def __init__(
        self, revision: Revision, files: Checkout, folder: Path, finder: GraphFinder, telling: _Telling
    ) -> None:
        from modgraph.source.checkouts import working_tree

        self.revision, self.files, self.folder, self.finder, self.telling = revision, files, folder, finder, telling
        self.tree = working_tree(revision, cwd=folder)
        self.renamed = renames(revision)
        self.gone: dict[Key, BaseTarget] = {}
        """Targets of the revision that are none now, until one of now turns out to be what became of it."""
        self.unpaired: dict[Key, Target] = {}
        """Targets of now that were none."""

    def all(self, texts: Sequence[str]) -> ExitStatus:
        """What changed in each; the status of the worst."""
        from modgraph.export import file_stems

        now = [found for text in texts for found in self._now(text)]
        self._pair(now)
        gone = dict(self.gone)
        names = [each.name if isinstance(each, Target) else _name_in(each[0]) for each in now]
        names += [each.target.name for each in gone.values()]
        stems = iter(file_stems(last_name(name) for name in names))
        status = ExitStatus.OK
        for each, stem in zip(now, stems, strict=False):
            file = self.telling.file(stem)
            told = self.one(each, file) if isinstance(each, Target) else self.telling.failed(*each, file)
            status = max(status, told)
        for (key, base), stem in zip(gone.items(), stems, strict=True):
            if key in self.gone:
                told = self.telling.one_side(base.written, *base.became(self.tree.top), self.telling.file(stem))
                status = max(status, told)
        return status

    def _now(self, text: str) -> Iterator[Target | tuple[str, ModgraphError]]:
        """The models of a target that is configured; or it, and why there is none."""
        try:
            path, border = self.tree.search_path(self.finder.path), border_around(self.folder)
            found = targets_within(text, border, self.folder, path)
            for target in found:
                if target.file is None:
                    require_own(target, self.tree)
        except ModgraphError as error:
            yield text, error
        else:
            yield from found

    def _pair(self, found: Sequence[Target | tuple[str, ModgraphError]]) -> None:
        """What the revision had as a target and the project has not now, and the other way round."""
        now = [each for each in found if isinstance(each, Target)]
        failed = [each[0] for each in found if not isinstance(each, Target)]
        try:
            base = base_targets(self.files, self.finder.path)
        except ConfigError as error:
            why = f"its configuration cannot be read ({error.message})"
            self.telling.console.warning(f"models that are gone since {self.revision.name} are not told: {why}")
            return
        files = {self.files.place_in(file) for file in map(file_in, failed) if file is not None}
        keys = {key_of(target, self.tree.top): target for target in now}
        kept = [each for each in base if each.text not in failed and each.key[0] not in files]
        self.gone = {each.key: each for each in kept if each.key not in keys}
        self.unpaired = {key: target for key, target in keys.items() if key not in {each.key for each in base}}

    def one(self, target: Target, file: Path | None) -> ExitStatus:
        """What changed in one model, written into `file`."""
        from modgraph.export.diff.words import verdict

        there = self._written_there(target)
        console = self.telling.console
        try:
            new = self.finder.analyzed(target)
            try:
                old = self._old(target, there)
            except (MissingFileError, UnknownNameError) as error:
                why = f"not at {self.revision.name}: {error.message}"
                return self.telling.one_side(there, "a new model", why, file)
            changes = compared(old, named_as(new, there))
            fail_on, below = self.telling.fail_on, self.telling.directory
            write_changes(
                changes, file, self.telling.format, console, below=below, of_checkpoints=fail_on == "checkpoint"
            )
        except ModgraphError as error:
            return self.telling.failed(there, error, file)
        if file is not None:
            console.note(f"{there}: {verdict(changes)}")
            console.note(f"wrote {file}")
        return status_of(changes, fail_on, console, there)

    def _old(self, target: Target, there: str) -> Found:
        """The model at the revision: of that name, else what git or its name says that it was.

        Raises:
            MissingFileError, UnknownNameError: the revision has no such model.
            TargetError, GraphError: it cannot be read.
        """
        missing: TargetError | None = None
        for written, key in self._written_before(target, there):
            try:
                found = self.finder.found_at(replace(self.revision, target=written), self.files)
            except (MissingFileError, UnknownNameError) as error:  # noqa: PERF203
                missing = missing or error
            else:
                self.gone.pop(key, None)
                return found
        assert missing is not None
        raise missing

    def _written_before(self, target: Target, there: str) -> Iterator[tuple[str, Key]]:
        key = key_of(target, self.tree.top)
        yield there, key
        if key[0] in self.renamed:
            before = self.renamed[key[0]]
            place = os.path.relpath(self.tree.top / before, self.tree.cwd).replace(os.sep, "/")
            yield f"{place}:{key[1]}", (before, key[1])
        alike = [other for other in self.gone if other[1] == key[1]]
        if len(alike) == 1 and [other for other in self.unpaired if other[1] == key[1]] == [key]:
            yield self.gone[alike[0]].written, alike[0]

    def _written_there(self, target: Target) -> str:
        """The target as it is written from the folder of the configuration."""
        if target.file is None:
            return target.text
        place = os.path.relpath(target.file, os.path.realpath(self.folder)).replace(os.sep, "/")
        return f"{place}:{target.text.partition(':')[2]}"
