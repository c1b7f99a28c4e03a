"""The files of a large check, dealt out to several processes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from modgraph.doors.keeper import end_with
from modgraph.doors.signals import deferred
from modgraph.errors import ResourceError
from modgraph.rules.one_file import Checker, undisturbed
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Failure, Outcome
from modgraph.source.cache_home import analysing

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

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

    def pool_of(processes: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(processes, context, _begin_beside, (options, os.getpid()))

    with _ended(pool_of(min(jobs, len(chunks)))) as pool:
        for future in as_completed(_submitted(pool, chunks)):
            if not isinstance(future.exception(), BrokenProcessPool):
                outcomes.update(future.result())
    for shown, path in files:
        if path not in outcomes:
            with _ended(pool_of(1)) as pool:
                (alone,) = _submitted(pool, [[(shown, path)]])
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


def _submitted(pool: ProcessPoolExecutor, chunks: Sequence[Sequence[_File]]) -> list[Future[dict[str, Outcome]]]:
    """The processes are forked here: one that hears Ctrl-C before it has begun would show a traceback."""
    with deferred():
        try:
            return [pool.submit(_check_all, chunk) for chunk in chunks]
        except OSError as error:
            raise ResourceError(
                f"no processes can be started: {error.strerror}", hint="check in this one alone: --jobs 1"
            ) from error


@contextlib.contextmanager
def _ended(pool: ProcessPoolExecutor) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes are gone at the end, also where they have work left because of an exception here."""
    try:
        yield pool
    except BaseException:
        with deferred():
            for process in list((getattr(pool, "_processes", None) or {}).values()):
                process.kill()
        raise
    finally:
        with deferred():
            pool.shutdown(cancel_futures=True)


def _begin_beside(options: CheckOptions, parent: int) -> None:
    """In a process of its own, which ends when `parent` does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent ends this one
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    end_with(parent)
    _begin(options)


def _begin(options: CheckOptions) -> None:
    global _checker
    _checker = Checker(options)


def _check_all(files: Sequence[_File]) -> dict[str, Outcome]:
    assert _checker is not None
    for folder in dict.fromkeys(os.path.dirname(path) for _, path in files):
        analysing(folder)
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
