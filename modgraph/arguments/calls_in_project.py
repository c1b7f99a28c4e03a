"""Calls of a class in the other files of its project: training scripts, tests, examples, the nearest first.

Files are those of the model's folder, then of the folders around it up to the border of the project. What git ignores
is none of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from modgraph.arguments.call_sites import CallSites, call_sites
from modgraph.arguments.constructor import Constructor
from modgraph.arguments.data_files import data_beside
from modgraph.arguments.importable import Importable
from modgraph.doors.borders import border_around, project_folders
from modgraph.doors.reading import lies_in, read
from modgraph.errors import TargetError
from modgraph.names import last_name
from modgraph.prediction.calls_elsewhere import CallsElsewhere, ReachedCall
from modgraph.source.files import decode, python_files
from modgraph.source.integers import parse
from modgraph.source.modules import finder_for
from modgraph.source.source_roots import with_source_roots
from modgraph.source.targets import Target, file_target

MAX_FILES = 1_000
"""Files of the project whose text is asked for the name of the class."""
MAX_FOLDERS_UP = 4
MAX_TEXT = 300_000
"""Characters of one file that is parsed."""
MAX_FOLLOWED = 8
"""Files with calls that are interpreted."""
MAX_WORK = 8_000_000
"""Units of work, of all of them together."""
MAX_CALLS = 3
"""Calls that are taken."""
_TRAINING = re.compile(r"train|main|run|fit|demo|example|test", re.IGNORECASE)


def calls_in_project(constructor: Constructor) -> Iterator[ReachedCall]:
    """The calls, in the order of the files: each file's first of which all arguments are known; where it has none, the
    first of which some are, the others `Unsaid`."""
    target = constructor.target
    if target.file is None:
        return
    importable = Importable(target, constructor.file.module, constructor.finder)
    work = n_found = 0
    for path, sites in islice(_files_with_calls(target.file, target.name), MAX_FOLLOWED):
        script = _script(path, target)
        if script is None:
            continue
        finder = finder_for([str(script.root), *script.search_path], script.home)
        looked = CallsElsewhere(
            script, (target.file, target.name), importable.named_in(finder), 1, data_beside(str(path))
        )
        looked.look(sites.scopes, sites.names, in_script=sites.in_script)
        for call in looked.found or looked.partly[:1]:
            yield replace(call, file=_shown(path, call.file, script, target))
        work += looked.work
        n_found += len(looked.found)
        if work > MAX_WORK or n_found >= MAX_CALLS:
            return


def _script(path: Path, target: Target) -> Target | None:
    """A file as a target, with all that the model's file may import in reach behind what is its own."""
    try:
        script = file_target(str(path), (), path.parent)
    except TargetError:
        return None
    search = with_source_roots(script.search_path, str(path.parent))
    return replace(script, search_path=tuple(dict.fromkeys((*search, *target.search_path))))


def _shown(path: Path, file: str, script: Target, target: Target) -> str:
    """The file of a call, as it lies to the model's."""
    if file != script.relative_file or target.root is None:
        return file
    return os.path.relpath(path, target.root).replace(os.sep, "/")


def _files_with_calls(model: Path, name: str) -> Iterator[tuple[Path, CallSites]]:
    word = re.compile(rf"\b{re.escape(last_name(name))}\b")
    for path in islice(_files_around(model), MAX_FILES):
        text = _text(path)
        if text is None or word.search(text) is None:
            continue
        try:
            sites = call_sites(parse(text), name)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if sites is not None:
            yield path, sites


def _files_around(model: Path) -> Iterator[Path]:
    """Files of Python but the model's, those first that take the fewest steps from folder to folder."""
    seen = {str(model)}
    folder = str(model.parent)
    border = border_around(folder)
    tops = project_folders(folder)
    for _ in range(MAX_FOLDERS_UP + 1):
        if not any(lies_in(folder, top) for top in tops):
            return
        found = [path for path in islice(python_files(folder), MAX_FILES) if path.endswith(".py")]
        for path in sorted(found, key=lambda path: _distance(path, str(model.parent))):
            real = os.path.realpath(path)
            if real not in seen and border.holds_real(real):
                seen.add(real)
                yield Path(real)
        folder = os.path.dirname(folder)


def _distance(path: str, folder: str) -> tuple[int, bool, str]:
    """Steps between the folders; then what is called as scripts are, then by name."""
    steps = len(Path(os.path.relpath(os.path.dirname(path), folder)).parts)
    return steps, _TRAINING.search(os.path.basename(path)) is None, path


def _text(path: Path) -> str | None:
    try:
        text = decode(read(path))
    except (OSError, ValueError, LookupError, SyntaxError):
        return None
    return text if len(text) <= MAX_TEXT else None
