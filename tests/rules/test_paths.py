"""The engine of the check: nothing that lies in a file, or happens to it, ends in a traceback."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modgraph.errors import ConfigError
from modgraph.rules import one_file, paths
from modgraph.rules.options import CheckOptions
from modgraph.rules.outcomes import Report
from modgraph.rules.paths import check_paths, check_source
from modgraph.rules.registry import rules

NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, depth=2):
        super().__init__()
        self.blocks = [nn.Linear(2, 2) for _ in range(depth)]
        self.scale = nn.Parameter(torch.zeros(3)).cuda()

    def forward(self, x):
        return nn.Dropout(0.1)(x)
"""
ALL = CheckOptions(select=("ALL",), isolated=True)
EXAMPLES = [each.code for rule in rules() for each in (*rule.invalid, *rule.valid)]


def codes(report: Report) -> list[str]:
    assert report.failures == []
    return [each.code for each in report.findings]


@given(st.data())
def test_mutated_sources_are_survived(tmp_path, data):
    text = data.draw(st.sampled_from(EXAMPLES))
    pieces = text.splitlines(keepends=True)
    generator = random.Random(data.draw(st.integers(0, 10**6)))
    for _ in range(generator.randint(1, 4)):
        at = generator.randrange(len(pieces))
        line = pieces[at]
        cut = generator.randrange(len(line) + 1)
        pieces[at] = generator.choice(
            [
                "",
                line * 2,
                line[:cut] + line[cut + 1 :],
                line[:cut] + generator.choice("()[]:,.*=\t\"'#\\é\0") + line[cut:],
            ]
        )
    file = tmp_path / "model.py"
    file.write_text("".join(pieces), encoding="utf-8")
    report = check_paths([str(file)], ALL)
    assert report.failures == []


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_survived(tmp_path, data, torch):
    file = tmp_path / "model.py"
    file.write_bytes((NET.encode() if torch else b"") + data)
    report = check_paths([str(file)], ALL)
    assert report.failures == []


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param("x = " + "(" * 5_000, id="brackets"),
        pytest.param("x = " + "-" * 20_000 + "1", id="signs"),
        pytest.param("x = " + "+".join("1" * 10_000), id="sums"),
        pytest.param("x = a" + ".b" * 10_000, id="attributes"),
        pytest.param("x = f" + "()" * 10_000, id="calls"),
        pytest.param("if a:\n  pass\n" + "elif a:\n  pass\n" * 3_000, id="elifs"),
        pytest.param("class A" + ":\n class A".join([""] * 90), id="classes"),
        pytest.param("x = '" + "y" * 3_000_000 + "'", id="long line"),
        pytest.param("\0", id="null"),
        pytest.param("# coding: rot13", id="codec of no text, too late"),
        pytest.param("s = '\\d'", id="escape"),
        pytest.param("x = 1 if 1is 1 else 2", id="joined number"),
    ],
)
def test_code_that_is_hard_to_read_is_survived(tmp_path, tail):
    file = tmp_path / "model.py"
    file.write_text(NET + tail + "\n")
    limit = sys.getrecursionlimit()
    report = check_paths([str(file)], ALL)
    assert report.failures == []
    assert report.findings
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize(
    "data",
    [
        b"# coding: rot13\n",
        b"# coding: hex\n",
        b"# coding: no-such-thing\n",
        b"# coding: undefined\n",
        b"\xef\xbb\xbf# coding: latin-1\n",
        b"\xff\xfei\x00m\x00",
        b"import torch\nclass A(torch.nn.Module): '\xe9'\n",
    ],
)
def test_encodings_that_do_not_fit_are_findings(tmp_path, data):
    file = tmp_path / "model.py"
    file.write_bytes(data + NET.encode())
    assert codes(check_paths([str(file)], ALL)) == ["MG001"]


@pytest.mark.parametrize("coding", ["latin-1", "cp1252", "shift_jis", "utf-8-sig"])
def test_a_declared_encoding_is_used(tmp_path, coding):
    file = tmp_path / "model.py"
    file.write_bytes(f"# -*- coding: {coding.removesuffix('-sig')} -*-\n{NET}".encode(coding))
    assert "MG101" in codes(check_paths([str(file)], ALL))


def test_a_file_that_is_too_large_is_said_to_be(tmp_path, monkeypatch):
    monkeypatch.setattr(one_file, "MAX_BYTES", 100)
    (tmp_path / "model.py").write_text(NET)
    (failure,) = check_paths([str(tmp_path)], ALL).failures
    assert "larger than" in failure.message


def test_a_defect_of_a_rule_costs_one_file(tmp_path, monkeypatch):
    for name in "abc":
        (tmp_path / f"{name}.py").write_text(NET)
    whole = one_file.check_text

    def check(text: str, shown: str, *rest: object) -> object:
        if shown.endswith("b.py"):
            raise AssertionError("ours")
        return whole(text, shown, *rest)

    monkeypatch.setattr(one_file, "check_text", check)
    report = check_paths([str(tmp_path)], CheckOptions(isolated=True, select=("MG101",)))
    assert [os.path.basename(each.file) for each in report.findings] == ["a.py", "c.py"]
    (failure,) = report.failures
    assert "AssertionError: ours" in failure.message
    assert "in check" in failure.trace


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_said_to_be(tmp_path):
    (tmp_path / "model.py").write_text(NET)
    os.chmod(tmp_path / "model.py", 0)
    (failure,) = check_paths([str(tmp_path)], ALL).failures
    assert "cannot be read" in failure.message


def test_a_file_that_vanishes_is_none(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text(NET)
    monkeypatch.setattr(paths, "find_files", lambda *_: iter([("gone.py", str(tmp_path / "gone.py"))]))
    assert codes(check_paths([str(tmp_path)], ALL)) == []


def test_several_processes_find_the_same(tmp_path):
    for number in range(12):
        (tmp_path / f"m{number}.py").write_text(NET if number % 3 else "x = 1\n")
    alone = check_paths([str(tmp_path)], CheckOptions(isolated=True, jobs=1))
    together = check_paths([str(tmp_path)], CheckOptions(isolated=True, jobs=3))
    assert together.findings == alone.findings
    assert together.files == alone.files
    assert len(alone.findings) > 8


def test_a_process_that_dies_costs_the_file_that_killed_it(tmp_path, monkeypatch):
    for name in "abcd":
        (tmp_path / f"{name}.py").write_text(NET)
    whole = one_file.check_text

    def check(text: str, shown: str, *rest: object) -> object:
        if shown.endswith("c.py"):
            os._exit(9)
        return whole(text, shown, *rest)

    monkeypatch.setattr(one_file, "check_text", check)
    report = check_paths([str(tmp_path)], CheckOptions(isolated=True, select=("MG101",), jobs=2))
    assert [os.path.basename(each.file) for each in report.findings] == ["a.py", "b.py", "d.py"]
    assert [failure.message for failure in report.failures] == ["the process that checked it died"]


def test_a_class_is_interpreted_as_the_text_says_and_not_the_file(tmp_path):
    (tmp_path / "model.py").write_text("x = 1\n")
    name = str(tmp_path / "model.py")
    outcome = check_source(NET, name, CheckOptions(isolated=True, select=("MG101",)))
    assert [each.code for each in outcome.findings] == ["MG101"]
    registered = NET.replace("[nn.Linear(2, 2) for _ in range(depth)]", "nn.ModuleList()")
    assert check_source(registered, name, CheckOptions(isolated=True, select=("MG101",))).findings == []


def test_a_base_class_in_another_file_is_seen_though_nothing_here_speaks_of_torch(tmp_path):
    (tmp_path / "base.py").write_text("from torch import nn\nclass Layer(nn.Module):\n    pass\n")
    (tmp_path / "net.py").write_text(
        "from base import Layer\n\nclass Net(Layer):\n    def __init__(self):\n        super().__init__()\n"
        "        self.rows = [Part(), Part()]\n\nclass Part(Layer):\n    def __init__(self):\n"
        "        super().__init__()\n        self.weight = make()\n\ndef make():\n    import base\n    return base\n"
    )
    report = check_paths([str(tmp_path)], CheckOptions(isolated=True, select=("MG101", "MG122")))
    assert [os.path.basename(each.file) for each in report.findings] == ["net.py"]


def test_the_name_of_a_rule_that_is_not_there_is_said_before_any_work(tmp_path):
    (tmp_path / "a.py").write_text(NET)
    with pytest.raises(ConfigError, match="no rule"):
        check_paths([str(tmp_path)], CheckOptions(select=("X1",)))


def test_paths_are_shown_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    options = CheckOptions(isolated=True, select=("MG101",))
    for path in (".", "a.py", "./a.py", str(tmp_path), str(tmp_path / "a.py")):
        assert [each.file for each in check_paths([path], options).findings] == ["a.py"]
    assert len(check_paths([".", "a.py", str(tmp_path)], options).findings) == 1


def test_warnings_about_the_code_that_is_read_are_not_ours(tmp_path, recwarn):
    (tmp_path / "a.py").write_text(NET + "s = '\\d'\nassert (1, 'x')\n")
    check_paths([str(tmp_path)], ALL)
    assert [str(each.message) for each in recwarn] == []


def test_links_to_files_are_checked_once_each(tmp_path: Path):
    (tmp_path / "a.py").write_text(NET)
    (tmp_path / "b.py").symlink_to("a.py")
    report = check_paths([str(tmp_path)], CheckOptions(isolated=True, select=("MG101",)))
    assert [os.path.basename(each.file) for each in report.findings] == ["a.py", "b.py"]
