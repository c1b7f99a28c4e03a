"""The one writer of files: a file is there whole or not at all."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from modgraph.doors import writing
from modgraph.errors import ExportError, ExportWarning
from modgraph.export.formats import FORMATS, check_format, format_of, render
from modgraph.graph.model import Graph
from modgraph.options import DEFAULT_DIRECTORY

if TYPE_CHECKING:
    from modgraph.export.look.options import PictureOptions

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
                write_file(path, content, below=directory)
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
    name = format_of(path)
    write_file(path, render(graph, name, options))
    if name == "onnx":
        text = "shows the structure alone, and is not for running; modgraph.export_onnx writes a model that runs"
        warnings.warn(f"{path} {text}", ExportWarning, stacklevel=3)


def write_file(path: str | Path, content: str | bytes, *, below: str | Path | None = None) -> None:
    """Put `content` into the file `path`, making its directory; nothing half-written is left, whatever happens.

    Text is UTF-8 with "\\n" line ends on every system.

    Args:
        below: the directory that was asked for, where that is not `path` itself: no link in it is followed, and a link
            at `path` is replaced.

    Raises:
        ExportError: the file cannot be written.
    """
    with _told(path):
        writing.put(path, _data(content), below=below)


def append_file(path: str | Path, content: str, *, below: str | Path) -> None:
    """Put `content` at the end of a file in the directory `below`, which is made where there is none.

    Raises:
        ExportError: the file cannot be written, or is a link.
    """
    with _told(path):
        writing.append(path, _data(content), below=below)


def _data(content: str | bytes) -> bytes:
    return content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content


@contextlib.contextmanager
def _told(path: str | Path) -> Iterator[None]:
    """An error of the system in words of ours."""
    try:
        yield
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else path
        reason = error.strerror or str(error)
        raise ExportError(f"cannot write {where}: {reason}", hint="choose another place with -o") from error
    except ValueError as error:  # a name with a NUL in it
        raise ExportError(f"cannot write {path}: {error}", hint="choose another place with -o") from error


def make_default(directory: Path) -> None:
    """Make the folder of results that nobody named a place for, and have git ignore what is in it.

    A folder of any other name is the user's own, who may mean to commit it; one that is there already stays as it is.

    Raises:
        ExportError: it cannot be made.
    """
    if directory != Path(DEFAULT_DIRECTORY):
        return
    refuse_linked_default(directory)
    if not directory.exists():
        text = "# What is written here can be written again.\n*\n"
        write_file(directory / ".gitignore", text, below=directory)


def refuse_linked_default(directory: Path) -> None:
    """Raises ExportError where the folder of results that nobody named a place for leads elsewhere: it may have come
    with what is analysed."""
    if directory == Path(DEFAULT_DIRECTORY) and os.path.islink(directory):
        raise ExportError(
            f"{directory} is a link, which is not followed",
            hint=f"remove it, or name what it leads to: -o {os.path.realpath(directory)}",
        )


def put_files(sources: Sequence[Path], directory: Path, *, named: Path | None = None) -> tuple[Path, ...]:
    """Put files that are made already into `directory`, under their names: all of them, or none. They may be larger
    than memory.

    Args:
        named: of their places, the one that was asked for; a link there is followed.

    Raises:
        ExportError: the place of one cannot be written.
    """
    places = tuple(directory / source.name for source in sources)
    with _told(directory):
        writing.copy_all(
            list(zip(sources, places, strict=True)), below=directory, named=() if named is None else (named,)
        )
    return places


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
