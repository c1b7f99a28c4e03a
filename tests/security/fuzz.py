"""Throws hostile sources at the check and the static analysis, and says on which of them a promise is broken.

    python tests/security/fuzz.py --seconds 600 --seed 1 [--sources 20000] [--corpus FOLDER] [--keep FOLDER]
    python tests/security/fuzz.py --seed 1 --only 4711          # one of them again, with its source

Half of the sources are real files mutated, half are made from Python's grammar (`hostile_sources.py`). Each goes through
`check --select ALL`, `check --fix --unsafe-fixes` and `analyze --static`, in processes with little memory under an audit
hook. Looked for: an exception, a traceback or control characters in what is printed, a status that no command has, 20 s
of CPU time, a process that dies, a file written elsewhere, a process started, a connection, a module imported from
elsewhere, and a graph that cannot be loaded. The status is 1 where anything was found.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import queue
import re
import resource
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAX_CPU = 20.0
"""Seconds of CPU time for all commands on one source."""
MEMORY = 2560 * 1024**2
"""Bytes of address space of a process; 512 MiB of it are the stack of the interpretation, touched as far as it is used."""
PER_PROCESS = 300
"""Sources that one process takes: what is kept from one to the next is looked at as well."""
HERE = Path(__file__).parent
SHOWN = 20

_NOT_PRINTED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


# ---- the process that takes sources --------------------------------------------------------------------------------------


_NEVER = (
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "pty.spawn", "webbrowser", "urllib"),
    *("socket.connect", "socket.bind", "ctypes.dlopen", "pickle.find_class"),
)
"""Beginnings of audit events that nothing of ours has on a single file."""


def _places(event: str, arguments: tuple[Any, ...]) -> list[object]:
    """What is changed: paths, which may be relative to a descriptor of their folder."""
    if event in ("os.rename", "os.link", "os.symlink"):
        # A new file has no name until it is linked from its descriptor; a link's own target is not touched.
        given, at = arguments[1], arguments[-1]
    else:
        given, at = arguments[0], arguments[-1] if len(arguments) > 1 else -1
    if isinstance(at, int) and at >= 0 and event not in ("os.chmod", "shutil.rmtree"):
        given = os.path.join(os.readlink(f"/proc/self/fd/{at}"), os.fsdecode(given))
    return [given]


class _Watch:
    """What happens in this process that no source may make happen."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self.seen: list[str] = []
        self._allowed = tuple(os.path.realpath(folder) + os.sep for folder in allowed)
        sys.addaudithook(self._event)

    def _event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            if (writes or (isinstance(mode, str) and set(mode) & set("wax+"))) and not self._is_ours(path):
                self.seen.append(f"opens {path!r} for writing")
        elif event in (
            "os.remove",
            "os.rename",
            "os.mkdir",
            "os.rmdir",
            "os.symlink",
            "os.link",
            "os.chmod",
            "shutil.rmtree",
        ):
            if not all(map(self._is_ours, _places(event, arguments))):
                self.seen.append(f"{event} {arguments!r:.200}")
        elif event.startswith(_NEVER):
            self.seen.append(f"{event} {arguments!r:.200}")

    def _is_ours(self, path: object) -> bool:
        if isinstance(path, int) or path is None:
            return True
        name = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        path = os.path.abspath(name)
        place = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        return name == os.devnull or (place + os.sep).startswith(self._allowed)

    def taken(self) -> list[str]:
        seen, self.seen = self.seen, []
        return seen


def serve(seed: int, corpus: Sequence[str]) -> None:
    """Take numbers of sources from standard input, and say a line of JSON of each."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.dont_write_bytecode = True  # Python's own files beside ours are none of what is looked for
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from modgraph.cli import main  # costs what it costs before the first source

    files = corpus_files(corpus)
    with (
        tempfile.TemporaryDirectory(prefix="modgraph-fuzz-") as name,
        tempfile.TemporaryDirectory(prefix="modgraph-fuzz-cache-") as cache,  # one beside the sources might be theirs
    ):
        top = Path(os.path.realpath(name))
        folder = top / "run"
        folder.mkdir()
        os.chdir(folder)
        os.environ["MODGRAPH_CACHE"] = os.path.join(os.path.realpath(cache), "kept")
        watch = _Watch([str(top), os.path.realpath(cache)])
        for line in sys.stdin:
            number = int(line)
            faults, statuses = _run(main, source_of(seed, number, files), folder, watch)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            answers.write(json.dumps({"number": number, "faults": faults, "statuses": statuses, "peak": peak}) + "\n")
            answers.flush()


def source_of(seed: int, number: int, files: Sequence[Path]) -> bytes:
    """The source of one number."""
    sys.path.insert(0, str(HERE))
    from hostile_sources import generated, mutated

    sys.path.remove(str(HERE))
    own = seed * 1_000_003 + number
    return mutated(own, files) if number % 2 else generated(own)


def corpus_files(folders: Sequence[str]) -> list[Path]:
    """The files that are mutated: by default samples, a part of the standard library, and torch's and torchvision's where they are."""
    if not folders:
        library = sysconfig.get_paths()["stdlib"]
        packages = sysconfig.get_paths()["purelib"]
        folders = [str(HERE.parent.parent / "samples"), f"{library}/json", f"{library}/importlib"]
        folders += [f"{packages}/torch/nn/modules", f"{packages}/torch/ao/nn", f"{packages}/torchvision/models"]
    found = [path for folder in folders for path in Path(folder).rglob("*.py") if path.stat().st_size < 200_000]
    if not found:
        raise SystemExit("no file of Python below " + ", ".join(folders))
    return sorted(found)


def _run(main: Any, data: bytes, folder: Path, watch: _Watch) -> tuple[list[str], dict[str, int]]:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    file = work / "model.py"
    commands = {
        "check": ["check", "--select", "ALL", "work/model.py"],
        "analyze": ["analyze", "work/model.py", "--static", "--format", "json,text,mermaid", "-o", "out/"],
        "fix": ["check", "--select", "ALL", "--fix", "--unsafe-fixes", "work/model.py"],
    }
    faults: list[str] = []
    statuses: dict[str, int] = {}
    for name, argv in commands.items():
        file.write_bytes(data)
        known = set(sys.modules)
        with _captured() as printed:
            try:
                statuses[name] = status = main(argv)
            except BaseException:  # what is looked for
                faults.append(f"{name}: {traceback.format_exc()[-1500:]}")
                continue
        text = printed.text()
        if status not in (0, 1, 2):
            faults.append(f"{name}: status {status}")
        if "Traceback (most recent call last)" in text or "internal error" in text:
            faults.append(f"{name}: prints {text[-1500:]}")
        if (bad := _NOT_PRINTED.search(text)) is not None:
            faults.append(f"{name}: prints {bad[0]!r} in {text[max(bad.start() - 80, 0) : bad.end() + 80]!r}")
        if status == 2 and not text.strip():
            faults.append(f"{name}: status 2 without a word")
        faults.extend(f"{name}: {each}" for each in watch.taken())
        faults.extend(f"{name}: imports {each}" for each in sorted(set(sys.modules) - known) if _is_foreign(each))
    faults.extend(_bad_graphs(folder / "out"))
    return faults, statuses


def _is_foreign(name: str) -> bool:
    """A module that is neither Python's, nor of an installed package."""
    file = getattr(sys.modules.get(name), "__file__", None)
    paths = sysconfig.get_paths()
    ours = (
        paths["stdlib"],
        paths["platstdlib"],
        paths["purelib"],
        paths["platlib"],
        str(HERE.parent.parent),
        *_added(),
    )
    return isinstance(file, str) and not file.startswith(tuple(os.path.realpath(each) for each in ours) + ours)


def _added() -> list[str]:
    return [entry for entry in sys.path if "site-packages" in entry]


def _bad_graphs(out: Path) -> list[str]:
    import modgraph

    faults = []
    for path in out.glob("*") if out.is_dir() else ():
        if path.suffix == ".json":
            try:
                modgraph.load(path)
            except BaseException as error:
                faults.append(f"analyze: {path.name} does not load: {error!r:.500}")
        path.unlink()
    return faults


class _Captured:
    def __init__(self) -> None:
        self.streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogatepass", write_through=True) for _ in range(2)]

    def text(self) -> str:
        return "".join(each.buffer.getvalue().decode("utf-8", "surrogatepass") for each in self.streams)  # type: ignore[attr-defined]


@contextlib.contextmanager
def _captured() -> Iterator[_Captured]:
    captured = _Captured()
    with contextlib.redirect_stdout(captured.streams[0]), contextlib.redirect_stderr(captured.streams[1]):
        yield captured


# ---- the process that hands them out -------------------------------------------------------------------------------------


@dataclass
class Report:
    """What came of a run."""

    sources: int = 0
    faults: dict[int, list[str]] = field(default_factory=dict)
    statuses: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, -1)
    peak: int = 0

    def text(self) -> str:
        """The figures, and the first faults."""
        lines = [
            f"{self.sources} sources, {len(self.faults)} with a fault; slowest {self.slowest[0]:.1f} s of CPU"
            f" (number {self.slowest[1]}), most memory {self.peak} MB",
            "statuses: " + ", ".join(f"{name} {count}" for name, count in sorted(self.statuses.items())),
        ]
        for number, faults in sorted(self.faults.items())[:SHOWN]:
            lines += [f"--- number {number}", *faults[:3]]
        return "\n".join(lines)


def fuzz(seed: int, numbers: Iterator[int], corpus: Sequence[str], jobs: int, until: float) -> Report:
    """Hand out numbers to `jobs` processes until they, or the seconds on the clock, are over."""
    report, lock = Report(), threading.Lock()
    waiting: queue.Queue[int] = queue.Queue(jobs * 2)

    def feed() -> None:
        for number in numbers:
            if time.monotonic() > until:
                break
            waiting.put(number)
        for _ in range(jobs):
            waiting.put(-1)

    def work() -> None:
        while (number := waiting.get()) >= 0:
            worker = _Worker(seed, corpus)
            for _ in range(PER_PROCESS):
                seconds, answer = worker.ask(number)
                with lock:
                    _note(report, number, seconds, answer)
                if "end" in answer or (number := waiting.get()) < 0:
                    break
            else:
                waiting.put(number)
            worker.close()
            if number < 0:
                return

    threads = [threading.Thread(target=each) for each in (feed, *[work] * jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return report


def _note(report: Report, number: int, seconds: float, answer: dict[str, Any]) -> None:
    report.sources += 1
    report.slowest = max(report.slowest, (seconds, number))
    report.peak = max(report.peak, answer.get("peak", 0))
    report.statuses.update(f"{name} {status}" for name, status in answer.get("statuses", {}).items())
    faults = [*answer.get("faults", ()), *([answer["end"]] if "end" in answer else ())]
    if faults:
        report.faults[number] = faults
        print(f"number {number}: {faults[0][-600:]}", file=sys.stderr, flush=True)


class _Worker:
    def __init__(self, seed: int, corpus: Sequence[str]) -> None:
        given = [part for folder in corpus for part in ("--corpus", os.path.abspath(folder))]
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process lives
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--serve", "--seed", str(seed), *given],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
        )  # fmt: skip

    def ask(self, number: int) -> tuple[float, dict[str, Any]]:
        """CPU seconds, and what it says of one source."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        before = self.seconds()
        answers: list[str] = []
        try:
            self.process.stdin.write(f"{number}\n")
            self.process.stdin.flush()
        except OSError:
            return 0.0, {"end": "the process had ended before"}
        reader = threading.Thread(target=lambda: answers.append(self.process.stdout.readline()), daemon=True)  # type: ignore[union-attr]
        reader.start()
        while reader.is_alive():
            reader.join(0.05)
            if reader.is_alive() and self.seconds() - before > MAX_CPU + 5 * (before == 0.0):
                self.process.kill()
                reader.join()
                return MAX_CPU, {"end": f"takes more than {MAX_CPU:g} s of CPU"}
        after = self.seconds()
        if not answers or not answers[0]:
            self.errors.seek(0)
            said = self.errors.read()[-800:].decode("utf-8", "replace")
            return 0.0, {"end": f"the process ended with status {self.process.wait()}: {said}"}
        told: dict[str, Any] = json.loads(answers[0])
        return after - before, told

    def seconds(self) -> float:
        """CPU time of the process until now."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait()
        self.errors.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="on the clock")
    parser.add_argument("--sources", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first source")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--corpus", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this source alone, which is printed")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where sources with a fault are written to")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.seed, given.corpus)
        return 0
    numbers = range(given.first, given.first + given.sources) if given.only is None else [given.only]
    began = time.monotonic()
    report = fuzz(given.seed, iter(numbers), given.corpus, given.jobs, began + given.seconds)
    for number in report.faults if given.keep else ():
        given.keep.mkdir(parents=True, exist_ok=True)
        (given.keep / f"{given.seed}-{number}.py").write_bytes(
            source_of(given.seed, number, corpus_files(given.corpus))
        )
    if given.only is not None:
        sys.stdout.buffer.write(source_of(given.seed, given.only, corpus_files(given.corpus)) + b"\n")
    print(report.text())
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
