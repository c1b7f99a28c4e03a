"""What sources cost that grow in one direction: CPU seconds and memory of n and of 4n, and which limit was told.

    python tests/benchmarks/scale.py [SHAPE ...] [--all] [--most SECONDS]

Each is read by the command in a fresh process, without its cache; the seconds are those of it and of its children, user
and system, the memory is the largest of any of them. Prints the table of docs/performance.md; with `--all` that of every
shape in `tests/security/source_shapes.py`. The status is 1 where one takes more than `--most` seconds or 1.5 GB.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_MEGABYTES = 1536
FAR = 120
"""Seconds of CPU after which a process is ended."""
ANALYZE = ("analyze", "--static", "model.py", "--format", "json", "-o", "out")
NAMED = ("analyze", "--static", "model.py:Net", "--format", "json", "-o", "out")
CHECK = ("check", "model.py")
TREE = ("analyze", "--all", "--static", ".", "--format", "json", "-o", "out")
CHILD = """
import json, resource, sys
from modgraph.cli import main
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]),) * 2)
try:
    status = main(sys.argv[2:])
except SystemExit as end:
    status = end.code
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print("@" + json.dumps([int(status or 0), sum(u.ru_utime + u.ru_stime for u in used), max(u.ru_maxrss for u in used)]))
"""
LIMITS = ("more than", "given up", "taking the first", "nested too deeply", "larger than")


@dataclass(frozen=True)
class Row:
    """One shape, and how it is asked about. `n`: the smaller of the two sizes."""

    shape: str
    command: tuple[str, ...]
    n: int
    unit: str


ROWS = (
    Row("classes", ANALYZE, 1_250, "models in a file"),
    Row("nesting", NAMED, 1_000, "containers inside each other"),
    Row("inheritance", ANALYZE, 300, "classes, each of the last"),
    Row("line_length", NAMED, 100_000, "characters in a line"),
    Row("layers", NAMED, 5_000, "layers written out"),
    Row("fixes", CHECK, 500, "findings with a fix"),
    Row("files", NAMED, 500, "files in a ring of star imports"),
    Row("files", CHECK, 500, "the same, checked"),
    Row("files", TREE, 8, "the same, all of them analyzed"),
    Row("branches", NAMED, 1_000, "branches that nothing decides"),
)


@dataclass(frozen=True)
class Measured:
    """What one run took; `status` is None for one that was ended."""

    status: int | None
    seconds: float
    megabytes: int
    limit: str


def shapes() -> dict[str, object]:
    spec = importlib.util.spec_from_file_location("source_shapes", ROOT / "tests" / "security" / "source_shapes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, object] = module.SHAPES
    return found


def measured(files: dict[str, str], command: tuple[str, ...]) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        environment = {**os.environ, "MODGRAPH_CACHE": "off"}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(FAR), *command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    last = done.stdout.rpartition("\n@")[2] or done.stdout.lstrip("@")
    try:
        status, seconds, kilobytes = json.loads(last.lstrip("@"))
    except ValueError:
        return Measured(None, float(FAR), 0, "none: it was ended")
    told = [line for line in (done.stderr + done.stdout).splitlines() if any(limit in line for limit in LIMITS)]
    return Measured(status, seconds, kilobytes // 1024, _limit_in(told[0]) if told else "")


def _limit_in(line: str) -> str:
    """The words of a limit, from a line that tells it."""
    start = min(line.find(limit) for limit in LIMITS if limit in line)
    words = line[start:].partition("; ")[0].partition(", at ")[0]
    return words[:80].replace("|", "\\|").replace("`", "")


def exponent(small: Measured, large: Measured, base: float) -> str:
    """The power of n with which the seconds grow that the size makes; "" where they are too few to say."""
    one, four = small.seconds - base, large.seconds - base
    return f"{math.log(four / one, 4):.1f}" if one > 0.3 and four > one else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", help="names of shapes; default: the eight of the page")
    parser.add_argument("--all", action="store_true", help="every shape there is")
    parser.add_argument("--most", type=float, default=20.0, help="seconds of CPU that one may take")
    options = parser.parse_args()
    known = shapes()
    rows = list(ROWS)
    if options.all or options.shapes:
        own = {row.shape: row for row in ROWS}
        names = options.shapes or known
        rows = [own.get(name, Row(name, ANALYZE, 1_000, name.replace("_", " "))) for name in names]
    base = measured(known["layers"](1), NAMED).seconds  # type: ignore[operator]
    print(
        "| shape | n | n: s | n: MB | 4n: s | 4n: MB | grows as n to the | limit told |\n|---|--:|--:|--:|--:|--:|--:|---|"
    )
    too_much = False
    for row in rows:
        small, large = (measured(known[row.shape](n), row.command) for n in (row.n, 4 * row.n))  # type: ignore[operator]
        too_much |= any(one.seconds > options.most or one.megabytes > MOST_MEGABYTES for one in (small, large))
        cells = [f"{small.seconds:.1f}", str(small.megabytes), f"{large.seconds:.1f}", str(large.megabytes)]
        grows = "" if large.limit or small.limit else exponent(small, large, base)
        print(f"| {row.unit} | {row.n:,} | {' | '.join(cells)} | {grows} | {large.limit or small.limit} |", flush=True)
    return 1 if too_much else 0


if __name__ == "__main__":
    raise SystemExit(main())
