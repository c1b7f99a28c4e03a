"""What a container may use bounds how many models are analyzed at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from modgraph.batch import running
from modgraph.batch.capacity import cores, free_memory
from modgraph.batch.running import usual_jobs

GIB = 2**30


def machine(folder: Path, cgroup: str, **files: str) -> tuple[Path, Path]:
    """A /proc and a /sys/fs/cgroup; "__" in a name is "/", "_dot_" is "."."""
    proc, groups = folder / "proc", folder / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text(cgroup)
    (proc / "meminfo").write_text(f"MemTotal: {99 * 2**20} kB\nMemAvailable: {64 * 2**20} kB\n")
    for name, text in files.items():
        file = groups / name.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return proc, groups


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)


def test_the_second_version_counts_groups_above_too(tmp_path: Path):
    there = machine(
        tmp_path,
        "0::/pod/box\n",
        pod__memory_dot_max=f"{4 * GIB}\n",
        pod__memory_dot_current=f"{2 * GIB}\n",
        pod__memory_dot_stat=f"anon 5\ninactive_file {GIB}\nactive_file 7\n",
        pod__box__memory_dot_max="max\n",
        pod__box__memory_dot_current="1\n",
        pod__box__cpu_dot_max="250000 100000\n",
        cpu_dot_max="max 100000\n",
    )
    assert free_memory(*there) == 3 * GIB
    assert cores(*there) == 3


def test_the_first_version_and_a_path_of_outside(tmp_path: Path):
    there = machine(
        tmp_path,
        "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n0::/\n",
        memory__memory_dot_limit_in_bytes=f"{3 * GIB}\n",
        memory__memory_dot_usage_in_bytes=f"{2 * GIB}\n",
        memory__memory_dot_stat="inactive_file 9\ntotal_inactive_file 1024\n",
        cpu__cpu_dot_cfs_quota_us="100000\n",
        cpu__cpu_dot_cfs_period_us="100000\n",
    )
    assert free_memory(*there) == GIB + 1024
    assert cores(*there) == 1


def test_without_limits_the_machine_counts(tmp_path: Path):
    there = machine(
        tmp_path,
        "4:memory:/\n3:cpu:/\n",
        memory__memory_dot_limit_in_bytes=f"{2**63 - 4096}\n",
        memory__memory_dot_usage_in_bytes="5\n",
        cpu__cpu_dot_cfs_quota_us="-1\n",
        cpu__cpu_dot_cfs_period_us="100000\n",
    )
    assert free_memory(*there) == 64 * GIB
    assert cores(*there) == 8


def test_a_system_that_says_nothing_has_no_known_memory(tmp_path: Path):
    assert free_memory(tmp_path, tmp_path) is None
    assert cores(tmp_path, tmp_path) == 8


def test_a_group_that_holds_more_than_it_may_has_nothing_left(tmp_path: Path):
    there = machine(tmp_path, "0::/\n", memory_dot_max="100\n", memory_dot_current="200\n", cpu_dot_max="100 100000\n")
    assert free_memory(*there) == 0
    assert cores(*there) == 1


def test_jobs_are_bounded_by_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    proc, groups = machine(tmp_path, "0::/\n", memory_dot_max=f"{11 * GIB}\n", memory_dot_current=f"{GIB}\n")
    monkeypatch.setattr(running, "free_memory", lambda: free_memory(proc, groups))
    monkeypatch.setattr(running, "cores", lambda: cores(proc, groups))
    assert usual_jobs(None) == 4
    assert usual_jobs(GIB) == 6
    assert usual_jobs(2**50) == 1
    (groups / "cpu.max").write_text("200000 100000")
    assert usual_jobs(None) == 2
    (groups / "memory.max").unlink()
    (proc / "meminfo").unlink()
    assert usual_jobs(2**50) == 2


def test_this_machine():
    assert cores() >= 1
    free = free_memory()
    assert free is None or free >= 0
