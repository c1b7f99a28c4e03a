"""`modgraph check` as a user runs it: statuses, selection, files, fixes, baseline, settings."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

BAD = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(8, 8) for _ in range(3)]  # the three

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
GOOD = BAD.replace("[nn.Linear(8, 8) for _ in range(3)]", "nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])")


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    (tmp_path / "bad.py").write_text(BAD)
    return tmp_path


def codes(run: subprocess.CompletedProcess) -> list[str]:
    return [found["code"] for found in json.loads(run.stdout)["findings"]]


def test_a_clean_file_exits_0(tmp_path, modgraph):
    (tmp_path / "good.py").write_text(GOOD)
    run = modgraph("check", "good.py")
    assert (run.returncode, run.stdout) == (0, "nothing found in 1 file\n")
    assert run.stderr == ""


def test_findings_exit_1_with_the_source_and_the_way_out(bad, modgraph):
    run = modgraph("check", "bad.py", "--no-cache")
    assert run.returncode == 1
    lines = run.stdout.splitlines()
    assert lines[0].startswith("warning[MG101] unregistered-module-container: 3 modules (Linear)")
    assert lines[1] == "  --> bad.py:7:9"
    at = lines.index("7 |         self.blocks = [nn.Linear(8, 8) for _ in range(3)]  # the three")
    assert lines[at + 1] == "  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    assert "help: wrap in nn.ModuleList (--fix --unsafe-fixes)" in lines
    assert lines[-1] == "1 finding (1 warning) in 1 file; 1 can be fixed with --fix --unsafe-fixes"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("--fail-on", "error"), 0),
        (("--fail-on", "info"), 1),
        (("--exit-zero",), 0),
        (("--ignore", "MG101"), 0),
        (("--ignore", "unregistered-module-container"), 0),
        (("--ignore", "MG1"), 0),
        (("--ignore", "ALL", "--select", "MG101"), 1),
        (("--select", "MG105,MG110"), 0),
        (("--select", "MG10"), 1),
        (("--select", "ALL", "--ignore", "MG1,MG2"), 0),
        (("--extend-select", "MG2"), 1),
    ],
)
def test_what_is_selected_and_what_fails(bad, modgraph, arguments, status):
    run = modgraph("check", "bad.py", *arguments)
    assert run.returncode == status, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.py",), "no such file"),
        (("bad.py", "--select", "MG999"), "there is no rule 'MG999'"),
        (("bad.py", "--select", "unregistered-modul-container"), "did you mean unregistered-module-container?"),
        (("--explain", "nothing"), "there is no rule"),
        (("bad.py", "--baseline", "none.json"), "baseline"),
        (("bad.py", "--stdin-filename", "x.py"), "--stdin-filename"),
        (("-", "bad.py"), "standard input"),
        (("bad.py", "-j", "0"), "whole number"),
        (("bad.py", "--format", "xml"), "invalid choice"),
    ],
)
def test_what_cannot_be_used_exits_2(bad, modgraph, arguments, message):
    run = modgraph("check", *arguments)
    assert run.returncode == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr


def test_a_missing_path_keeps_nothing_else_from_being_checked(bad, modgraph):
    run = modgraph("check", "nowhere.py", "bad.py", "--format", "json")
    assert run.returncode == 2
    assert codes(run) == ["MG101"]


def test_a_file_that_does_not_parse_is_a_finding(tmp_path, modgraph):
    (tmp_path / "broken.py").write_text("import torch\nclass Net(torch.nn.Module:\n    pass\n")
    run = modgraph("check", "--format", "json")
    assert run.returncode == 1
    (found,) = json.loads(run.stdout)["findings"]
    assert (found["code"], found["line"], found["severity"]) == ("MG001", 2, "error")
    assert modgraph("check", "--ignore", "MG001").returncode == 0


def test_safe_fixes_leave_alone_what_changes_the_state_dict(bad, modgraph):
    run = modgraph("check", "--fix", "bad.py")
    assert run.returncode == 1
    assert (bad / "bad.py").read_text() == BAD


def test_fixes_change_the_mistake_and_nothing_else(bad, modgraph):
    os.chmod(bad / "bad.py", 0o755)
    run = modgraph("check", "--fix", "--unsafe-fixes", "bad.py")
    assert (run.returncode, run.stdout) == (0, "nothing found in 1 file; 1 fixed\n")
    assert (bad / "bad.py").read_text() == GOOD
    assert (bad / "bad.py").stat().st_mode & 0o777 == 0o755
    again = modgraph("check", "--fix", "--unsafe-fixes", "--exit-non-zero-on-fix", "bad.py")
    assert again.returncode == 0
    assert os.listdir(bad) == ["bad.py"]


@pytest.mark.parametrize(
    ("encoding", "head", "newline"),
    [
        ("utf-8", "", "\r\n"),
        ("utf-8-sig", "", "\n"),
        ("latin-1", "# coding: latin-1 \xe9\n", "\n"),
        ("utf-8", "\f# é\n", "\r"),
    ],
)
def test_fixes_keep_encoding_and_line_ends(tmp_path, modgraph, encoding, head, newline):
    def written(text: str) -> bytes:
        return (head + text).replace("the three", "the thr\xe9\xe9").replace("\n", newline).encode(encoding)

    (tmp_path / "bad.py").write_bytes(written(BAD))
    run = modgraph("check", "--fix", "--unsafe-fixes", "bad.py", "--exit-non-zero-on-fix")
    assert run.returncode == 1, run.stdout + run.stderr
    assert (tmp_path / "bad.py").read_bytes() == written(GOOD)


def test_a_diff_changes_nothing_and_says_that_something_would_change(bad, modgraph):
    run = modgraph("check", "--diff", "--unsafe-fixes")
    assert run.returncode == 1
    assert "-        self.blocks = [nn.Linear(8, 8) for _ in range(3)]  # the three\n" in run.stdout
    assert "+        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])  # the three\n" in run.stdout
    assert (bad / "bad.py").read_text() == BAD
    assert modgraph("check", "--diff").returncode == 0


def test_a_fix_after_which_something_else_is_amiss_is_taken_back(tmp_path, modgraph):
    text = BAD.replace("for block in self.blocks:\n            x = block(x)\n        return x", "return self.blocks(x)")
    (tmp_path / "bad.py").write_text(text)
    run = modgraph("check", "--fix", "--unsafe-fixes", "--format", "json")
    assert codes(run) == ["MG101"]
    assert (tmp_path / "bad.py").read_text() == text


def test_standard_input_is_checked_under_the_name_it_is_given(bad, modgraph):
    found = modgraph("check", "-", "--stdin-filename", "pkg/new.py", "--format", "json", stdin=BAD)
    assert found.returncode == 1
    assert [each["file"] for each in json.loads(found.stdout)["findings"]] == ["pkg/new.py"]
    outcome = modgraph("check", "-", "--fix", "--unsafe-fixes", stdin=BAD)
    assert (outcome.returncode, outcome.stdout) == (0, GOOD)
    left = modgraph("check", "-", "--fix", stdin=BAD)
    assert (left.returncode, left.stdout) == (1, BAD)
    assert "MG101" in left.stderr
    assert modgraph("check", "-", stdin=GOOD).returncode == 0
    assert modgraph("check", "-", stdin="import torch\nclass A(nn.Module:\n").returncode == 1


def test_an_ignore_comment_silences_and_an_idle_one_is_reported(tmp_path, modgraph):
    silenced = BAD.replace("# the three", "# modgraph: ignore[MG101] on purpose")
    (tmp_path / "a.py").write_text(silenced)
    (tmp_path / "b.py").write_text(BAD.replace("# the three", "# noqa: MG101"))
    (tmp_path / "c.py").write_text(BAD.replace("# the three", "# noqa: E501"))
    (tmp_path / "d.py").write_text("# modgraph: ignore-file[unregistered-module-container]\n" + BAD)
    (tmp_path / "e.py").write_text(GOOD.replace("# the three", "# modgraph: ignore[MG101]"))
    (tmp_path / "f.py").write_text("x = 1  # modgraph: ignore[MG999]\ny = '# modgraph: ignore[MG998]'\n")
    (tmp_path / "g.py").write_text(
        BAD.replace("        self.blocks =", "        # modgraph: ignore[MG101] so\n        self.blocks =")
    )
    (tmp_path / "h.py").write_text(GOOD.replace("# the three", "# modgraph: ignore[MG201]"))
    run = modgraph("check", "--format", "concise", "--quiet")
    assert [line.split(" ")[0] + line.split(" ")[2] for line in run.stdout.splitlines()] == [
        "c.py:7:9:MG101",
        "e.py:7:75:MG002",
        "f.py:1:8:MG002",
    ]


def test_the_configuration_nearest_to_a_file_holds(tmp_path, modgraph):
    (tmp_path / "pyproject.toml").write_text('[tool.modgraph]\nignore = ["MG101"]\n')
    (tmp_path / "a.py").write_text(BAD)
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text(
        '[tool.modgraph]\nper-file-ignores = { "tests/*" = ["MG101"] }\nexclude = ["old"]\n'
    )
    for name in ("b.py", "tests/c.py", "old/d.py"):
        (inner / name).parent.mkdir(exist_ok=True)
        (inner / name).write_text(BAD)
    run = modgraph("check", "--format", "json")
    assert [found["file"] for found in json.loads(run.stdout)["findings"]] == ["inner/b.py"]
    isolated = modgraph("check", "--format", "json", "--isolated")
    assert len(codes(isolated)) == 4
    named = modgraph("check", "--format", "json", "inner/old/d.py")
    assert codes(named) == ["MG101"]
    assert modgraph("check", "inner/old/d.py", "--force-exclude").returncode == 0
    shown = modgraph("check", "--show-settings", "inner/b.py").stdout
    assert "configuration = inner/pyproject.toml\n" in shown
    files = modgraph("check", "--show-files").stdout
    assert files == "a.py\ninner/b.py\ninner/tests/c.py\n"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('selct = ["MG101"]', "did you mean 'select'?"),
        ('select = "MG101"', "select must be a list"),
        ('select = ["MG777"]', "there is no rule 'MG777'"),
        ("select = [", "is no TOML"),
        ('per-file-ignores = ["a"]', "per-file-ignores must be a table"),
    ],
)
def test_a_configuration_that_cannot_be_used_exits_2(bad, modgraph, table, message):
    (bad / "pyproject.toml").write_text(f"[tool.modgraph]\n{table}\n")
    run = modgraph("check", "bad.py")
    assert run.returncode == 2
    assert message in run.stderr
    assert "pyproject.toml" in run.stderr


@pytest.mark.parametrize(
    ("name", "table", "told"),
    [
        ("modgraph.toml", "select = []\n", "rules = MG001\n"),
        ("modgraph.toml", 'per-file-ignores = {"*" = ["ALL"]}\n', "per-file-ignores = *: ALL\n"),
        ("modgraph.toml", 'exclude = ["*"]\n', "files = 0\nexcluded files = 2\n"),
        ("pyproject.toml", '[tool.modgraph]\nignore = ["MG"]\n', "rules =\n"),
    ],
)
def test_every_configuration_that_holds_is_shown(bad, modgraph, name, table, told):
    for folder in ("models", "models/deep", "build", "dist", "sub/build"):
        (bad / folder).mkdir(parents=True)
        (bad / folder / "net.py").write_text(BAD)
    (bad / "models" / name).write_text(table)
    blocks = modgraph("check", "--show-settings").stdout.split("\n\n")
    assert len(blocks) == 3
    assert blocks[0].startswith("configuration = none\nfolder =\nfiles = 1\nexcluded files = 0\nrules = MG0")
    assert blocks[1].startswith(f"configuration = models/{name}\nfolder = models\n")
    assert told in f"{blocks[1]}\n"
    assert "exclude" in table or "files = 2\n" in blocks[1]
    assert blocks[2] == "not looked into = build (2), dist\n"
    assert "3 folders are not looked into, by name: build (2), dist\n" in modgraph("check", "-v").stderr
    assert ("2 files are excluded" in modgraph("check", "-v").stderr) == ("exclude" in table)


def test_a_baseline_hides_old_findings_and_reports_stale_entries(bad, modgraph):
    assert modgraph("check", "--write-baseline", "base.json").returncode == 0
    (bad / "bad.py").write_text("# moved down\n" + BAD)
    assert modgraph("check", "--baseline", "base.json").returncode == 0
    (bad / "bad.py").write_text(BAD + BAD.replace("Net", "Other"))
    new = modgraph("check", "--baseline", "base.json", "--format", "json")
    assert [found["class"] for found in json.loads(new.stdout)["findings"]] == ["Other"]
    (bad / "bad.py").write_text(GOOD)
    stale = modgraph("check", "--baseline", "base.json")
    assert stale.returncode == 0
    assert "bad.py: MG101 Net.blocks is no longer found" in stale.stderr
    (bad / "other.py").write_text(GOOD)
    assert "no longer" not in modgraph("check", "other.py", "--baseline", "base.json").stderr
    (bad / "pyproject.toml").write_text('[tool.modgraph]\nbaseline = "base.json"\n')
    (bad / "bad.py").write_text(BAD)
    assert modgraph("check").returncode == 0


@pytest.mark.parametrize("name", ["-", "--", "-o", "--fix"])
def test_behind_two_dashes_stand_names_of_files(bad, modgraph, name):
    (bad / name).write_text(f"#!/usr/bin/env python3\n{BAD}")
    run = modgraph("check", "--force-exclude", "--format", "json", "--", name, stdin="")
    assert [found["file"] for found in json.loads(run.stdout)["findings"]] == [name]
    both = modgraph("check", "--format", "json", "--", name, "bad.py", stdin="")
    assert [found["file"] for found in json.loads(both.stdout)["findings"]] == sorted([name, "bad.py"])
    before = modgraph("check", "--format", "json", "-", stdin=BAD)
    assert [found["file"] for found in json.loads(before.stdout)["findings"]] == ["-"]


def test_what_git_ignores_and_notebooks_are_left_out(bad, modgraph):
    subprocess.run(["git", "init", "-q", "."], cwd=bad, check=True)
    (bad / ".gitignore").write_text("generated/\n*_gen.py\n")
    for name in ("generated/a.py", "b_gen.py", ".venv/c.py", "sub/d.py"):
        (bad / name).parent.mkdir(exist_ok=True)
        (bad / name).write_text(BAD)
    (bad / "n.ipynb").write_text("{}")
    run = modgraph("check", "--show-files")
    assert run.stdout == "bad.py\nsub/d.py\n"
    assert "1 notebook is skipped" in modgraph("check").stderr
    assert modgraph("check", "generated/a.py").returncode == 1


def test_links_in_circles_and_files_that_cannot_be_read_are_survived(bad, modgraph):
    (bad / "sub").mkdir()
    os.symlink("..", bad / "sub" / "up")
    os.symlink("itself.py", bad / "itself.py")
    os.symlink("nowhere.py", bad / "dangling.py")
    os.mkfifo(bad / "pipe.py")
    (bad / "folder.py").mkdir()
    run = modgraph("check", "--format", "json", ".", "sub", "bad.py")
    assert codes(run) == ["MG101"]
    assert run.returncode == 1


def test_results_go_into_a_file_and_statistics_count(bad, modgraph):
    run = modgraph("check", "--format", "json", "-o", "out/found.json")
    assert (run.returncode, run.stdout) == (1, "")
    assert len(json.loads((bad / "out" / "found.json").read_text())["findings"]) == 1
    assert modgraph("check", "--statistics", "-q").stdout == "1  MG101  unregistered-module-container\n"


def test_a_rule_explains_itself(modgraph):
    run = modgraph("check", "--explain", "MG101")
    assert run.returncode == 0
    assert run.stdout.startswith("# MG101 unregistered-module-container\n")
    rules = json.loads(modgraph("check", "--explain", "ALL", "--format", "json").stdout)["rules"]
    assert {"MG001", "MG101"} <= {rule["code"] for rule in rules}
    assert all(rule["summary"] and rule["why"] for rule in rules)


def test_colour_is_for_terminals_and_for_who_asks(bad, modgraph):
    assert "\033[" not in modgraph("check").stdout
    assert "\033[" in modgraph("check", environment={"FORCE_COLOR": "1", "NO_COLOR": ""}).stdout
    assert "\033[" not in modgraph("check", environment={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout
