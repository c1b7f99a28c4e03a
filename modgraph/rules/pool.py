"""The files of a large check, dealt out to several processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from modgraph.rules.one_file import Checker, undisturbed
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Failure, Outcome

_CHUNKS_PER_PROCESS = 8
_File = tuple[str, str]


def check_in_processes(files: Sequence[_File], options: CheckOptions, jobs: int) -> dict[str, Outcome]:
    """The outcome of each file by its absolute path. A process that dies costs the one file that killed it."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    context = get_context("fork" if sys.platform == "linux" else "spawn")
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
