"""How much of the machine this process may use: cores and memory, within the limits of containers (control groups)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from modgraph.doors.reading import kernel_text

_GROUPS = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


def cores(proc: Path = _PROC, groups: Path = _GROUPS) -> int:
    """Cores that this process may use, at least 1."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([there, *map(math.ceil, _shares(proc, groups))]))


def free_memory(proc: Path = _PROC, groups: Path = _GROUPS) -> int | None:
    """Bytes that are free for this process; None where the system does not say."""
    known = [*_available(proc), *_left(proc, groups)]
    return max(0, min(known)) if known else None


def _available(proc: Path) -> Iterator[int]:
    for line in _lines(proc / "meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _shares(proc: Path, groups: Path) -> Iterator[float]:
    """Cores' worth of time, of each group that has a limit."""
    for folder, version in _folders(proc, groups, "cpu"):
        if version == 2:
            quota, period = [*_numbers(folder / "cpu.max"), None, None][:2]
        else:
            quota = next(_numbers(folder / "cpu.cfs_quota_us"), None)
            period = next(_numbers(folder / "cpu.cfs_period_us"), None)
        if quota is not None and period is not None and quota > 0 and period > 0:
            yield quota / period


def _left(proc: Path, groups: Path) -> Iterator[int]:
    """Bytes that each group with a limit has left; what it holds of files that it can let go is free."""
    for folder, version in _folders(proc, groups, "memory"):
        limit, used, letting_go = (
            ("memory.max", "memory.current", "inactive_file ")
            if version == 2
            else ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ")
        )
        most, now = next(_numbers(folder / limit), None), next(_numbers(folder / used), None)
        if most is not None and now is not None:
            files = [int(line.split()[1]) for line in _lines(folder / "memory.stat") if line.startswith(letting_go)]
            yield most - now + sum(files)


def _folders(proc: Path, groups: Path, controller: str) -> Iterator[tuple[Path, int]]:
    """The folder of this process's group and of those above it, with the version of control groups.

    Source: cgroups(7). In a container the path may be that outside of it: then only the top is there.
    """
    for line in _lines(proc / "self" / "cgroup"):
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and controller not in controllers.split(","):
            continue
        inner = PurePosixPath(path.lstrip("/"))
        top = groups / controllers
        if not top.is_dir():  # "cpu,cpuacct" may be there as "cpu"
            top = groups / controller
        for each in (inner, *inner.parents):
            if ".." not in each.parts:
                yield top / each, 1 if controllers else 2


def _numbers(file: Path) -> Iterator[int]:
    """The numbers in the first line; "max" is no number, and the next is not one of another field."""
    for word in next(iter(_lines(file)), "").split():
        if not word.lstrip("-").isdecimal():
            return
        yield int(word)


def _lines(file: Path) -> Iterable[str]:
    try:
        return kernel_text(file).splitlines()
    except OSError:
        return ()
