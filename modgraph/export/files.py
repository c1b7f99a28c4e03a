"""The one writer of files: a file is there whole or not at all."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from modgraph.errors import ExportError
from modgraph.export.formats import FORMATS, check_format, format_of, render
from modgraph.graph.model import Graph
from modgraph.options import DEFAULT_DIRECTORY

if TYPE_CHECKING:
    from modgraph.export.picture import PictureOptions

MAX_STEM = 200
"""Bytes of a file name before its extension; file systems take 255 with it."""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one graph."""

    paths: tuple[Path, ...]
    """In the order of the formats."""
    notes: tuple[str, ...] = ()
    """What the user should know, a line each: a format that was replaced by another."""
    failures: tuple[ExportError, ...] = ()
    """Formats that were asked for by name and could not be written."""


def write(
    graph: Graph,
    formats: Sequence[str],
    directory: str | Path,
    *,
    options: PictureOptions | None = None,
    asked: bool = True,
    stem: str | None = None,
    ready: Mapping[str, Sequence[Path]] | None = None,
) -> Written:
    """Write `graph` into `directory`, a file per format; what fails keeps nothing else from being written.

    Args:
        asked: the formats were named by the user. Otherwise they are the default ones, and one whose program is not
            installed is replaced by another, with a note.
        stem: file name without extension; by default the model's name.
        ready: by format, files that are made already and are put into the directory under their own names.

    Raises:
        ExportError: a format does not exist, the directory cannot be written, or nothing at all could be written.
    """
    for name in formats:
        check_format(name)
    stem = file_stem(graph.model.name) if stem is None else stem
    paths: list[Path] = []
    notes: list[str] = []
    failures: list[ExportError] = []
    for name in dict.fromkeys(formats):
        if ready and ready.get(name):
            paths.extend(put_files(ready[name], Path(directory)))
            continue
        drawn = _drawn(graph, name, options, asked=asked)
        if not drawn.contents and drawn.failure is not None:
            failures.append(drawn.failure)
            continue
        used = [Path(directory) / f"{stem}.{FORMATS[each].extension}" for each in drawn.contents]
        if drawn.failure is not None:
            notes.append(_replaced(drawn.failure, used, f"{stem}.{FORMATS[name].extension}"))
        for path, content in zip(used, drawn.contents.values(), strict=True):
            if path not in paths:
                write_file(path, content)
                paths.append(path)
    if failures and not paths:
        raise failures[0]
    return Written(tuple(paths), tuple(notes), tuple(failures))


@dataclass(frozen=True, slots=True)
class _Drawn:
    contents: dict[str, str | bytes]
    """By the format that was used; none where it failed."""
    failure: ExportError | None = None
    """Why the format that was wanted was not used."""


def _drawn(graph: Graph, name: str, options: PictureOptions | None, *, asked: bool) -> _Drawn:
    try:
        return _Drawn({name: render(graph, name, options)})
    except ExportError as error:
        instead = () if asked else FORMATS[name].instead
        return _Drawn({each: render(graph, each, options) for each in instead}, error)


def _replaced(error: ExportError, used: list[Path], wanted: str) -> str:
    remedy = f" ({error.hint})" if error.hint else ""
    return f"{error.message}, wrote {' and '.join(path.name for path in used)} instead of {wanted}{remedy}"


def save(graph: Graph, path: str | Path, options: PictureOptions | None = None) -> None:
    """Write `graph` to `path` in the format that its suffix names.

    Raises:
        ExportError: the suffix is no format, what draws it is not installed, or the file cannot be written.
    """
    path = Path(path)
    write_file(path, render(graph, format_of(path), options))


def write_file(path: str | Path, content: str | bytes) -> None:
    """Put `content` into the file `path`, making its directory; nothing half-written is left, whatever happens.

    Text is UTF-8 with "\\n" line ends on every system.

    Raises:
        ExportError: the file cannot be written.
    """
    path = Path(path)
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()  # where it is a link, the file it points to is replaced and the link stays
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(data)  # a pipe or a device, such as /dev/stdout: nothing can take its place
        else:
            _replace(target, data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExportError(f"cannot write {path}: {reason}", hint="choose another place with -o") from error


def make_default(directory: Path) -> None:
    """Make the folder of results that nobody named a place for, and have git ignore what is in it.

    A folder of any other name is the user's own, who may mean to commit it; one that is there already stays as it is.

    Raises:
        ExportError: it cannot be made.
    """
    if directory == Path(DEFAULT_DIRECTORY) and not directory.exists():
        write_file(directory / ".gitignore", "# What is written here can be written again.\n*\n")


def put_files(sources: Sequence[Path], directory: Path) -> tuple[Path, ...]:
    """Put files that are made already into `directory`, under their names: all of them, or none. They may be larger
    than memory.

    Raises:
        ExportError: the place of one cannot be written.
    """
    places = tuple(directory / source.name for source in sources)
    ready: list[tuple[Path, Path]] = []
    path = directory
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for source, path in zip(sources, places, strict=True):
            target = path.resolve()
            _refuse_directory(target)
            if target.exists() and not target.is_file():
                raise OSError(0, "it is a pipe or a device")  # renaming a file to it would put an end to it
            ready.append((target.with_name(f".modgraph-{os.getpid()}-{len(ready)}.tmp"), target))
            shutil.copyfile(source, ready[-1][0])
        for temporary, path in ready:
            os.replace(temporary, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExportError(f"cannot write {path}: {reason}", hint="choose another place with -o") from error
    finally:
        for temporary, _ in ready:
            temporary.unlink(missing_ok=True)
    return places


def _refuse_directory(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(0, "it is a directory")


def _replace(path: Path, data: bytes) -> None:
    _refuse_directory(path)
    # Not `tempfile`: its files are readable by their owner alone, and the result would be too.
    temporary = path.with_name(f".modgraph-{os.getpid()}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def file_stem(model_name: str) -> str:
    """`model_name` with everything replaced that some file system does not take; "model" where nothing is left."""
    stem = re.sub(r"[^\w.\-]+", "_", model_name).strip("._")
    stem = stem.encode("utf-8")[:MAX_STEM].decode("utf-8", "ignore").rstrip("._")
    if stem.partition(".")[0].upper() in _RESERVED:
        return f"{stem}_"
    return stem or "model"


def file_stems(model_names: Iterable[str]) -> list[str]:
    """A stem for each of several models written into one directory: the second "Net" is "Net_2".

    Names that differ in case alone count as equal, as they do on some file systems.
    """
    taken: set[str] = set()
    stems: list[str] = []
    for name in model_names:
        stem = file_stem(name)
        candidates = itertools.chain([stem], (f"{stem}_{count}" for count in itertools.count(2)))
        free = next(candidate for candidate in candidates if candidate.casefold() not in taken)
        taken.add(free.casefold())
        stems.append(free)
    return stems


_RESERVED = frozenset(
    ["CON", "PRN", "AUX", "NUL", *(f"COM{digit}" for digit in range(1, 10)), *(f"LPT{digit}" for digit in range(1, 10))]
)
"""Names that Windows keeps for devices, with any extension."""
