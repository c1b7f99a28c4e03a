"""`modgraph diff BASE`: each of the project's models against what it was at a revision."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from modgraph.cli.configured import configured_targets, found_targets
from modgraph.cli.console import Console
from modgraph.cli.diff import write_changes
from modgraph.diffing import GraphFinder, compared, named_as
from modgraph.errors import ConfigError, ExitStatus, ModgraphError, TargetError
from modgraph.source.targets import Target, shortened

_TOGETHER = ("text", "markdown")
"""Formats of which several fit into one stream."""
_FILE = re.compile(r"\.(?:py(?::.*)?|json|onnx)\Z", re.IGNORECASE)
"""How a model is written, and hardly ever a revision."""


def run(arguments: argparse.Namespace, finder: GraphFinder, console: Console) -> ExitStatus:
    """Compare every model; the status of the worst."""
    from modgraph.export import file_stems
    from modgraph.export.diff import FORMATS
    from modgraph.source.revisions import require_revision

    try:
        require_revision(arguments.old)
    except TargetError as error:
        if not _FILE.search(arguments.old):
            raise
        raise ConfigError(
            f"{shortened(arguments.old)!r} is one model, and nothing is named to compare it with",
            hint="name both: modgraph diff HEAD:model.py:Net model.py:Net; one alone is a revision: modgraph diff HEAD",
        ) from error
    format = arguments.format or "text"
    folder, texts = configured_targets(f"modgraph diff {arguments.old}:model.py:Net model.py:Net")
    directory = _directory(arguments.output, format)
    groups = [found_targets(folder, text, console) for text in texts]
    status = ExitStatus.OK if all(groups) else ExitStatus.FAILED
    targets = [target for group in groups for target in group]
    stems = file_stems(target.name.rpartition(".")[2] for target in targets)
    for number, (target, stem) in enumerate(zip(targets, stems, strict=True)):
        if number and directory is None:
            console.result("\n")
        file = None if directory is None else directory / f"{stem}.{FORMATS[format].extension}"
        status = max(status, _Comparison(arguments.old, folder, finder, console).one(target, file, format))
    return status


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


class _Comparison:
    """One model, at a revision and now."""

    def __init__(self, base: str, folder: Path, finder: GraphFinder, console: Console) -> None:
        self.base, self.folder, self.finder, self.console = base, folder, finder, console

    def one(self, target: Target, file: Path | None, format: str) -> ExitStatus:
        """What changed, written into `file`; what keeps this model from being compared keeps no other."""
        from modgraph.export import write_file
        from modgraph.export.diff_markdown import not_comparable
        from modgraph.export.diff_words import verdict

        there = self._written_there(target)
        try:
            new = self.finder.analyzed(target)
            try:
                old = self.finder.found(f"{self.base}:{there}", cwd=self.folder)
            except TargetError as error:
                return self._is_new(there, error, file, format)
            changes = compared(old, named_as(new, there))
            write_changes(changes, file, format, self.console)
        except ModgraphError as error:
            self.console.error(error)
            if file is not None and format == "markdown":  # what a job said of it before is true no longer
                write_file(file, not_comparable(there, error.message))
            return ExitStatus.FAILED
        if file is not None:
            self.console.note(f"{there}: {verdict(changes)}\nwrote {file}")
        return ExitStatus.PARTIAL if changes else ExitStatus.OK

    def _written_there(self, target: Target) -> str:
        """The target as it is written from the folder of the configuration."""
        if target.file is None:
            return target.text
        place = os.path.relpath(target.file, os.path.realpath(self.folder)).replace(os.sep, "/")
        return f"{place}:{target.text.partition(':')[2]}"

    def _is_new(self, there: str, error: TargetError, file: Path | None, format: str) -> ExitStatus:
        """What is said of a model that the revision does not have."""
        from modgraph.export import write_file
        from modgraph.export.diff_markdown import new_model

        why = f"not at {self.base}: {error.message}"
        if format == "markdown":
            text = new_model(there, why)
            if file is None:
                self.console.result(text)
            else:
                write_file(file, text)
        elif format == "text" and file is None:
            self.console.result(f"new  {there}\n\n{why}\n")
        self.console.note(f"{there} is new: {why}")
        return ExitStatus.PARTIAL
