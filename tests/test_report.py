"""The command that writes docs/performance.md: it has a place for every benchmark, and never writes half a result."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def report() -> ModuleType:
    spec = importlib.util.spec_from_file_location("report", ROOT / "tests" / "benchmarks" / "report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["report"] = module
    spec.loader.exec_module(module)
    return module


def everything(*names: str) -> argparse.Namespace:
    folder = Path("/somewhere")
    return argparse.Namespace(names=list(names), source=folder, cases=[folder / "a"], peers=folder, torchfix=folder)


def test_the_page_has_one_place_for_each(report: ModuleType):
    page = report.PAGE.read_text(encoding="utf-8")
    benchmarks = report.chosen(everything())
    assert {benchmark.name for benchmark in benchmarks} == {
        path.stem for path in (ROOT / "tests" / "benchmarks").glob("*.py")
    } - {"report", "input_rates"}
    for benchmark in benchmarks:
        written = report.replaced(page, benchmark.name, "| new |")
        assert f"<!-- {benchmark.name}: begin -->\n\n| new |\n\n<!-- {benchmark.name}: end -->" in written
        assert report.replaced(written, benchmark.name, "| new |") == written


def test_no_path_of_a_machine_is_written(report: ModuleType):
    assert not any("/somewhere" in benchmark.shown for benchmark in report.chosen(everything()))


def test_a_page_without_the_place_is_refused(report: ModuleType):
    with pytest.raises(report.ReportError, match="no section"):
        report.replaced("# Performance\n", "fake_trace", "text")


def test_a_name_that_cannot_be_run_is_refused(report: ModuleType):
    with pytest.raises(report.ReportError, match="fake_tracing"):
        report.chosen(everything("fake_tracing"))


def test_a_failure_leaves_the_page_as_it_was(report: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "broken.py").write_text("print('a row', flush=True)\nraise SystemExit(3)\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("<!-- broken: begin -->\nold\n<!-- broken: end -->\n", encoding="utf-8")
    monkeypatch.setattr(report, "HERE", tmp_path)
    monkeypatch.setattr(report, "chosen", lambda options: [report.Benchmark("broken")])
    monkeypatch.setattr(sys, "argv", ["report.py", "-o", str(page)])
    assert report.main() == 1
    assert "old" in page.read_text(encoding="utf-8")
    (tmp_path / "broken.py").write_text("print('a row')\n", encoding="utf-8")
    assert report.main() == 0
    assert "a row" in page.read_text(encoding="utf-8")
    assert "old" not in page.read_text(encoding="utf-8")
