"""How fast the check is: `python tests/benchmarks/check_speed.py FOLDER [--files N] [--torchfix DIR] [--rounds N]`.

FOLDER is a package's source, such as that of the installed transformers. Measured are N of its files (a fixed sample)
with the rules that look by default and with all, the whole folder without and with a cache, one small file, and some
files of the folder one by one, as a commit has them, beside `ruff check --select ALL --no-cache` and, where DIR holds
an installation of it, `torchfix --select ALL`. Every measurement is a process of its own on one core; times are of CPU,
user and system, the least of some rounds, so that other work on the machine counts little. Bytecode is written and
used, as it is with a user. `--only-sample` leaves the whole folder out.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
SMALL = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(x)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--torchfix", type=Path)
    parser.add_argument("--only-sample", action="store_true")
    arguments = parser.parse_args()
    every = sorted(str(file) for file in arguments.folder.rglob("*.py"))
    sample = sorted(random.Random(0).sample(every, min(arguments.files, len(every))))
    rounds = arguments.rounds
    with tempfile.TemporaryDirectory() as place:
        small = Path(place, "model.py")
        small.write_text(SMALL)
        cpu(modgraph("--no-cache", str(small)), 1)  # bytecode is written
        measured = {
            "nothing: python -c pass": cpu([sys.executable, "-c", "pass"], rounds * 3),
            "one small file: modgraph": cpu(modgraph(str(small), "--cache-dir", place), rounds * 3),
            "one small file: ruff": cpu(ruff(str(small)), rounds),
            f"{len(sample)} files: modgraph": cpu(modgraph("--no-cache", *sample), rounds),
            f"{len(sample)} files: ruff": cpu(ruff(*sample), rounds),
            f"{len(sample)} files: modgraph, all rules": cpu(modgraph("--no-cache", "--select", "ALL", *sample), 1),
        }
        staged = [
            cpu(modgraph(file, "--cache-dir", f"{place}/staged"), rounds) for file in sample[:: len(sample) // 20 or 1]
        ]
        measured["one staged file: modgraph, median"] = median(staged)
        measured["one staged file: modgraph, most"] = max(staged)
        if arguments.torchfix:
            measured[f"{len(sample)} files: torchfix"] = cpu(
                torchfix(arguments.torchfix, *sample), 1, arguments.torchfix
            )
        if not arguments.only_sample:
            measured.update(whole(str(arguments.folder), len(every), place, rounds))
    report(measured, len(sample))


def whole(folder: str, count: int, place: str, rounds: int) -> dict[str, float]:
    """The whole folder, without and with what an earlier run has kept."""
    kept = ("--cache-dir", f"{place}/cache")
    return {
        f"all {count} files: modgraph, cold": cpu(modgraph(folder, *kept), 1),
        f"all {count} files: modgraph, warm": cpu(modgraph(folder, *kept), rounds),
        f"all {count} files: ruff": cpu(ruff(folder), 1),
    }


def report(measured: dict[str, float], count: int) -> None:
    for name, seconds in measured.items():
        print(f"{seconds * 1000:10.0f} ms CPU  {name}")
    ours = measured[f"{count} files: modgraph"]
    print(f"{count / ours:10.0f} files per CPU second")
    start = measured["nothing: python -c pass"]
    for name in ("one small file: modgraph", "one staged file: modgraph, median", "one staged file: modgraph, most"):
        print(
            f"{(measured[name] - start) * 1000:10.0f} ms CPU beyond Python's start: {name.partition(':')[0]}{name.partition(',')[2]}"
        )
    print(f"{measured[f'{count} files: modgraph, all rules'] / ours:10.2f} times the default with all rules")
    for peer in ("ruff", "torchfix"):
        theirs = measured.get(f"{count} files: {peer}")
        if theirs is not None:
            less = f" ({theirs / ours:.1f} times less)" if ours < theirs else ""
            print(f"{ours / theirs:10.3f} times the CPU time of {peer}{less}")


def modgraph(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "modgraph", "check", "-q", "--isolated", "-j", "1", *arguments]


def ruff(*arguments: str) -> list[str]:
    return ["ruff", "check", "--select", "ALL", "--no-cache", "--isolated", "-q", *arguments]


def torchfix(place: Path, *arguments: str) -> list[str]:
    program = next(place.rglob("bin/torchfix"))
    return [sys.executable, str(program), "--select", "ALL", "--jobs", "1", *arguments]


def cpu(command: list[str], rounds: int, path: Path | None = None) -> float:
    """CPU seconds of a process and of those it starts; the least of some rounds."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": os.pathsep.join([str(ROOT), *([str(path)] if path else [])])}
    best = float("inf")
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if run.returncode not in (0, 1):
            raise SystemExit(f"{command[:6]} failed: {run.stderr.decode()[-500:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


if __name__ == "__main__":
    main()
