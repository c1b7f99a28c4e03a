"""The files of a large check, dealt out to several processes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence

from modgraph.rules.one_file import Checker, undisturbed
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Failure, Outcome

_CHUNKS_PER_PROCESS = 8
_File = tuple[str, str]


def check_in_processes(files: Sequence[_File], options: CheckOptions, jobs: int) -> dict[str, Outcome]:
    """The outcome of each file by its absolute path. A process that dies costs the one file that killed it."""
    if _FORKS:
        return _dealt_out(files, options, jobs)
    if not _KEEPS_OFF:  # what is spawned there looks for `multiprocessing` in the working directory first
        _begin(options)
        return _check_all(files)
    with _safe_path():
        return _dealt_out(files, options, jobs)


_FORKS = sys.platform.startswith("linux")


def _dealt_out(files: Sequence[_File], options: CheckOptions, jobs: int) -> dict[str, Outcome]:
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    context = get_context("fork" if _FORKS else "spawn")
    outcomes: dict[str, Outcome] = {}
    chunks = _chunks(files, jobs * _CHUNKS_PER_PROCESS)
    with ProcessPoolExecutor(min(jobs, len(chunks)), context, _begin, (options,)) as pool:
        futures = [pool.submit(_check_all, chunk) for chunk in chunks]
        for future in as_completed(futures):
            if not isinstance(future.exception(), BrokenProcessPool):
                outcomes.update(future.result())
    for shown, path in files:
        if path not in outcomes:
            with ProcessPoolExecutor(1, context, _begin, (options,)) as pool:
                alone = pool.submit(_check_all, [(shown, path)])
                died = isinstance(alone.exception(), BrokenProcessPool)
            failure = Failure(shown, "the process that checked it died")
            outcomes[path] = Outcome([], failure=failure) if died else alone.result()[path]
    return outcomes


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Interpreters that start meanwhile do not look for modules in the working directory, which may be a stranger's."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


_SAFE_PATH = "PYTHONSAFEPATH"
_KEEPS_OFF = sys.hexversion >= 0x30B0000
"""From Python 3.11 on an interpreter obeys that."""


def _begin(options: CheckOptions) -> None:
    global _checker
    _checker = Checker(options)


def _check_all(files: Sequence[_File]) -> dict[str, Outcome]:
    assert _checker is not None
    with undisturbed():
        return {path: _checker.check(shown, path) for shown, path in files}


_checker: Checker | None = None
"""Of this process: what it has learned of the project serves the next files too."""


def _chunks(files: Sequence[_File], count: int) -> list[list[_File]]:
    """Neighbours together, as they import the same files; about the same number of bytes in each."""
    sizes = [_size(path) for _, path in files]
    share = max(1, sum(sizes) // count)
    chunks: list[list[_File]] = []
    filled = share
    for file, size in zip(files, sizes, strict=True):
        if filled >= share:
            chunks.append([])
            filled = 0
        chunks[-1].append(file)
        filled += size
    return chunks


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
