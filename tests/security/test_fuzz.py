"""A small part of what `fuzz.py` does, and that it would see what it looks for."""

from __future__ import annotations

import ast
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import fuzz  # noqa: E402
import hostile_sources  # noqa: E402

sys.path.remove(str(HERE))


class NothingSeen:
    def taken(self) -> list[str]:
        return []


def parses(data: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def test_forty_sources_break_no_promise():
    run = subprocess.run(
        [sys.executable, str(HERE / "fuzz.py"), "--sources", "40", "--seed", "11", "--jobs", "1"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    assert "40 sources, 0 with a fault" in run.stdout


def test_most_sources_are_python_and_each_is_the_same_again():
    files = [HERE / "fuzz.py", HERE / "hostile_sources.py"]
    for make in (hostile_sources.generated, lambda seed: hostile_sources.mutated(seed, files)):
        sources = [make(seed) for seed in range(30)]
        assert sources == [make(seed) for seed in range(30)]
        assert len(set(sources)) == 30
        assert sum(map(parses, sources)) >= 10


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: sys.exit(0), "SystemExit"),
        (lambda: 7, "status 7"),
        (lambda: 2, "status 2 without a word"),
        (lambda: print("Traceback (most recent call last):"), "prints"),
        (lambda: print("\x1b[2J"), "prints '\\x1b'"),
        (lambda: print("a\u202eb"), "prints '\\u202e'"),
        (lambda: Path("out").mkdir() or Path("out/x.json").write_text("{}"), "does not load"),
    ],
)
def test_a_fault_is_seen(does: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    watch: Any = NothingSeen()

    def main(argv: list[str]) -> int:
        told = does() if argv[0] == "analyze" else 0
        return told if isinstance(told, int) and told < 10 else 0

    faults, _ = fuzz._run(main, b"x = 1\n", tmp_path, watch)
    assert any(said in fault for fault in faults), faults
    assert all(fault.startswith("analyze: ") for fault in faults)


@pytest.mark.parametrize(
    "act",
    [
        "open('../elsewhere', 'w')", "os.open('../elsewhere', os.O_CREAT | os.O_RDWR)", "os.mkdir('../elsewhere')",
        "os.system('true')", "subprocess.run(['true'])", "os.symlink('a', '../elsewhere')",
        "socket.socket().connect(('127.0.0.1', 9))", "pickle.loads(pickle.dumps(ast.parse))",
    ],
)  # fmt: skip
def test_what_may_not_happen_is_seen(act: str, tmp_path: Path):
    inside = tmp_path / "inside"
    inside.mkdir()
    code = (
        "import ast, contextlib, os, pickle, socket, subprocess, sys\n"
        f"sys.path.insert(0, {str(HERE)!r})\nimport fuzz\n"
        "watch = fuzz._Watch([os.getcwd()])\nopen('fine', 'w').close()\nassert not watch.taken()\n"
        f"with contextlib.suppress(OSError):\n    {act}\nassert watch.taken()\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=inside, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
