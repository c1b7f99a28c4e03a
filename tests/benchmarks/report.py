"""Runs every benchmark and writes what they print into their sections of docs/performance.md.

    python tests/benchmarks/report.py [NAME ...] [--source FOLDER] [--cases FILE ...] [--peers DIR] [--torchfix DIR]

One benchmark after the other, each a process of its own. FOLDER is a package's source that the check reads; FILE holds
recorded constructor calls (`tests/oracle/record_cases.py`); DIR holds torchinfo, torchview and torchlens, or torchfix.
What is not given is left out, and its section of the page stays as it was. A section lies between two comments that
name its benchmark; under its output stand the command, the day and the versions. Run it on a machine that does nothing
else.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs" / "performance.md"
TOOLS = ("torch", "libcst", "networkx", "onnx", "onnxruntime", "ruff", "playwright")
PEERS = ("torchinfo", "torchview", "torchlens", "torchfix")


class ReportError(Exception):
    """A benchmark failed, or the page has no place for it."""


@dataclass(frozen=True)
class Benchmark:
    """A file of this folder, with its arguments. `table`: it prints Markdown, else text that is shown as it is."""

    name: str
    arguments: tuple[str, ...] = ()
    table: bool = False
    peers: Path | None = None

    @property
    def shown(self) -> str:
        """The command, with folders of this machine by their last name alone."""
        words = [Path(word).name if os.path.isabs(word) else word for word in self.arguments]
        return " ".join(["python", f"tests/benchmarks/{self.name}.py", *words])


def chosen(options: argparse.Namespace) -> list[Benchmark]:
    """The benchmarks that can be run with what was given."""
    peers = ("--path", str(options.peers)) if options.peers else ()
    found = [
        Benchmark("trace_overhead", peers, table=True, peers=options.peers),
        Benchmark("fake_trace"),
        Benchmark("page_speed"),
        Benchmark("picture_scale", table=True),
        Benchmark("scale", table=True),
    ]
    if options.cases:
        found.append(Benchmark("prediction_speed", ("--cases", *map(str, options.cases))))
    if options.source:
        torchfix = ("--torchfix", str(options.torchfix)) if options.torchfix else ()
        found.append(Benchmark("check_speed", (str(options.source), *torchfix), peers=options.torchfix))
    known = [benchmark.name for benchmark in found]
    for name in options.names:
        if name not in known:
            raise ReportError(f"{name} cannot be run with what was given; there are: {', '.join(known)}")
    return [benchmark for benchmark in found if not options.names or benchmark.name in options.names]


def measured(benchmark: Benchmark) -> str:
    """What the benchmark prints."""
    command = [sys.executable, str(HERE / f"{benchmark.name}.py"), *benchmark.arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ReportError(f"{benchmark.shown} ended with status {done.returncode}")
    output = done.stdout.strip()
    if not output:
        raise ReportError(f"{benchmark.shown} printed nothing")
    return output if benchmark.table else f"```text\n{output}\n```"


def versions(folder: Path | None) -> str:
    """Name and version of each tool that is installed, and of the peers in a folder."""
    installed = {each.name.lower(): each.version for each in importlib.metadata.distributions()}
    beside = {each.name.lower(): each.version for each in importlib.metadata.distributions(path=[str(folder)])}
    found = {name: installed[name] for name in TOOLS if name in installed}
    found |= {name: beside[name] for name in PEERS if folder and name in beside}
    return ", ".join(f"{name} {version}" for name, version in found.items())


def stamp(benchmark: Benchmark) -> str:
    """Where and when it was measured."""
    return (
        f"`{benchmark.shown}`, {datetime.date.today():%Y-%m-%d}: {platform.system()} on {platform.machine()}, "
        f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions(benchmark.peers)}."
    )


def replaced(page: str, name: str, content: str) -> str:
    """The page with another content of a section.

    Raises:
        ReportError: it has no section of that name.
    """
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if len(pattern.findall(page)) != 1:
        raise ReportError(f"the page has no section between {begin!r} and {end!r}")
    return pattern.sub(lambda _: f"{begin}\n\n{content}\n\n{end}", page)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of benchmarks; default: all that can be run")
    parser.add_argument("--source", type=Path, help="a package's source, for the check")
    parser.add_argument("--cases", type=Path, nargs="+", default=[], help="recorded calls, for the prediction")
    parser.add_argument("--peers", type=Path, help="where torchinfo, torchview and torchlens are installed")
    parser.add_argument("--torchfix", type=Path, help="where torchfix is installed")
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    options = parser.parse_args()
    try:
        for benchmark in chosen(options):
            print(f"{benchmark.shown} ...", file=sys.stderr, flush=True)
            content = f"{measured(benchmark)}\n\n{stamp(benchmark)}"
            page = replaced(options.output.read_text(encoding="utf-8"), benchmark.name, content)
            options.output.write_text(page, encoding="utf-8")
    except ReportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
