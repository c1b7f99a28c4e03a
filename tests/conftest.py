"""Options and fixtures for all tests."""

from __future__ import annotations

import gc
import importlib.util
import os
import runpy
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

# The tests run on all cores already; threads of torch's would only be in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Hundreds of processes are started that import modgraph: compiling it anew in each would take half of the time; and so it
# would of gathering the tests, whose assertions are rewritten.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Tests leave a million objects that live as long as the process: the collector would look through them again and again.
# What is left in circles is taken away between two files instead, after so many seconds of work.
gc.set_threshold(50_000, 20, 50)
COLLECTED_EACH = 30.0
_collected = time.process_time()

# What earlier runs kept is no part of a test; one that is about it names a folder of its own.
os.environ["MODGRAPH_CACHE"] = "off"

# Started in the background, or by nohup, a process ignores what tests of Ctrl-C and of a closed terminal send, and so do
# its children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Examples would else be made of the strings in whatever files of ours are imported by then: others in every process,
# and others again after every change of such a file.
providers._get_local_constants = Constants

# A busy machine is no reason to fail, and every run of the suite tries the same examples.
# `MODGRAPH_EXAMPLES=1000 pytest tests/properties` looks longer than every commit can wait for.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    max_examples=int(os.environ.get("MODGRAPH_EXAMPLES", "40")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
settings.load_profile("suite")

_SPEC = importlib.util.spec_from_file_location("warm_client", Path(__file__).parent / "warm" / "client.py")
assert _SPEC is not None
assert _SPEC.loader is not None
warm = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(warm)

GOLDEN = Path(__file__).parent / "golden"
TRACING = {
    Path(__file__).parent / name
    for name in ("tracing", "security/test_live_models.py", "security/test_fake_stays_fake.py")
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the expected exports; then read the diff")


def pytest_sessionstart() -> None:
    if sys.platform == "linux" and importlib.util.find_spec("torch"):
        warm.begin()


def pytest_sessionfinish() -> None:
    warm.end()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    warm.fresh = item.get_closest_marker("fresh_process") is not None


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Millions of objects that nobody has would be gone through wherever a test, or a model in it, collects garbage."""
    global _collected
    if nextitem is not None and nextitem.path != item.path and time.process_time() - _collected > COLLECTED_EACH:
        gc.collect()
        _collected = time.process_time()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests whose marker names something that is not installed are skipped, and say so.

    The long ones come first, then those of the trace: many look through all objects of the process, and other tests leave
    a million there.
    """
    items.sort(
        key=lambda item: (
            item.get_closest_marker("long") is None,
            TRACING.isdisjoint((item.path, *item.path.parents)),
        )
    )
    drawable = importlib.util.find_spec("pygraphviz") or shutil.which(os.environ.get("MODGRAPH_DOT", "dot"))
    missing = {
        "needs_torch": None if importlib.util.find_spec("torch") else "PyTorch is not installed",
        "needs_dot": None if drawable else "no Graphviz",
        "needs_browser": None if shutil.which("chromium") else "no Chromium",
    }
    for item in items:
        for marker, reason in missing.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_make_parametrize_id(val: object) -> str | None:
    """A line of text is its own name, up to a thousand characters, so that `-k take_along` selects it: pytest would number it."""
    return ascii(val)[1:-1] if isinstance(val, str) and 100 < len(val) < 1000 and "\n" not in val else None


@pytest.fixture(autouse=True)
def _environment() -> Iterator[None]:
    """What a test, or a library in it, leaves in the environment goes with it."""
    before = dict(os.environ)
    yield
    for name in {*before, *os.environ} - {"PYTEST_CURRENT_TEST"}:
        if name not in before:
            del os.environ[name]
        elif os.environ.get(name) != before[name]:
            os.environ[name] = before[name]


@pytest.fixture(scope="session")
def run_code() -> Callable[..., subprocess.CompletedProcess[Any]]:
    """run_code(CODE, WORD, ...): `python -c CODE WORD` where torch is imported already; named ones as of `subprocess.run`."""
    return warm.run_code


@pytest.fixture
def python_words() -> list[str]:
    """For `[sys.executable]` before `-m modgraph`, where not the test but a shell, or another program, starts it."""
    return warm.words()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with `tests/golden/NAME`; on a mismatch the new text is left beside it as NAME.actual."""

    def check(name: str, actual: str) -> None:
        expected, beside = GOLDEN / name, GOLDEN / f"{name}.actual"
        if request.config.getoption("--update-golden"):
            expected.write_text(actual, encoding="utf-8")
        beside.unlink(missing_ok=True)
        if not expected.exists() or expected.read_text(encoding="utf-8") != actual:
            beside.write_text(actual, encoding="utf-8")
            pytest.fail(f"{expected} differs from {beside}; if the new one is right: pytest --update-golden")

    return check


class Git:
    """git as somebody without settings of their own has it, in the working directory or in `cwd`."""

    def __call__(self, *arguments: str, cwd: Path | None = None) -> None:
        subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True)

    def commit(self, *files: str, cwd: Path | None = None) -> None:
        """All that there is, after writing `files`: a name, its text, another name, its text."""
        for name, text in zip(files[::2], files[1::2], strict=True):
            path = (cwd or Path()) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self("add", "-A", cwd=cwd)
        self("commit", "-q", "-m", "a step", cwd=cwd)


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> Git:
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "x@example.org")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return Git()


@pytest.fixture(scope="session")
def torchvision_models() -> Iterator[Any]:
    """`torchvision.models`, also where its compiled extension cannot be loaded."""
    shim = runpy.run_path(str(Path(__file__).parent / "oracle" / "torchvision_shim" / "sitecustomize.py"))
    shim["declare"]()
    yield pytest.importorskip("torchvision.models")
    del shim  # the operators that it declared go with it, so it is kept until here
