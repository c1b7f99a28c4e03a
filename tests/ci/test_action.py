"""`action.yml`: its steps run in a repository with a pull request, and what they leave."""

from __future__ import annotations

import functools
import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NET = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, {width}), nn.ReLU())
        self.blocks = {blocks}

    def forward(self, x):
        return self.body(x)
"""
OTHER = "from torch import nn\n\nclass Other(nn.Linear):\n    def __init__(self):\n        super().__init__(2, 3)\n"
CONFIGURATION = '[tool.modgraph]\ntargets = ["net.py:Net", "other.py"]\n'


@pytest.fixture
def repository(tmp_path: Path, git: Any) -> Path:
    """At the head of a pull request: its base has a narrower Net, and no list of layers."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git("init", "-q", "-b", "main", cwd=folder)
    git.commit(
        "net.py", NET.format(width=16, blocks="nn.ModuleList()"),
        "other.py", OTHER,
        "pyproject.toml", CONFIGURATION,
        ".gitignore", "modgraph-out/\n",
        cwd=folder,
    )  # fmt: skip
    git("update-ref", "refs/remotes/origin/main", "HEAD", cwd=folder)
    git("checkout", "-q", "-b", "topic", cwd=folder)
    git.commit("net.py", NET.format(width=32, blocks="[nn.Linear(2, 2) for _ in range(3)]"), cwd=folder)
    return folder


@pytest.fixture
def act(repository: Path, tmp_path: Path, python_words: list[str]) -> Callable[..., Any]:
    run_action = runpy.run_path(str(HERE / "run_action.py"))["run_action"]
    run_action = functools.partial(run_action, python=python_words)
    return lambda **options: run_action(
        repository, tmp_path / "github", {"formats": "json", **options.pop("inputs", {})}, **options
    )


def test_a_pull_request_gets_graphs_a_summary_comments_and_findings(act, repository: Path, tmp_path: Path):
    result = act(inputs={"sarif": "true", "formats": "json,mermaid"})
    assert result.status == 0, result.log
    out = repository / "modgraph-out"
    assert {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} == {
        "graphs/Net.json", "graphs/Net.mmd", "graphs/Other.json", "graphs/Other.mmd",
        "changes/Net.md", "changes/Other.md", "modgraph.sarif", "checked.txt", ".gitignore",
    }  # fmt: skip
    assert "parameters 144 → 288 (+144)" in result.summary
    assert "PlainListNet" not in result.summary
    assert "Net · net.py:Net · predicted" in result.summary
    assert "owner/project/actions/runs/1" in result.summary
    assert len(result.comments) == 1  # the other one has not changed
    body = result.comments[0]["body"]
    assert body.startswith("<!-- modgraph:net.py:Net -->\n")
    assert "parameters 144 → 288 (+144)" in body
    assert "1 new finding · " in body
    assert re.search(r"old: `[0-9a-f]{40}:net.py:Net`", body)
    assert len(body) <= 65_536
    sarif = json.loads((out / "modgraph.sarif").read_text("utf-8"))
    found = sarif["runs"][0]["results"]
    assert [each["ruleId"] for each in found] == ["MG101"]
    assert found[0]["locations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": "net.py",
        "uriBaseId": "%SRCROOT%",
    }
    assert [name.partition("@")[0] for name, _ in result.used] == [
        "actions/upload-artifact",
        "github/codeql-action/upload-sarif",
    ]
    assert result.used[0][1] == {"name": "modgraph", "path": "modgraph-out/", "if-no-files-found": "error"}
    assert "torch" not in (tmp_path / "github" / "pip.txt").read_text().split()


def test_a_comment_is_updated_and_stays_when_the_change_is_taken_back(act, repository: Path, git):
    act()
    git.commit("net.py", NET.format(width=64, blocks="nn.ModuleList()"), cwd=repository)
    second = act()
    assert len(second.comments) == 1
    assert "144 → 576" in second.comments[0]["body"]
    git.commit("net.py", NET.format(width=16, blocks="nn.ModuleList()"), cwd=repository)
    third = act()
    assert len(third.comments) == 1
    assert "no difference" in third.comments[0]["body"]


def test_a_comment_on_a_model_that_is_no_target_any_more_says_so(act, repository: Path, git, tmp_path: Path):
    comments = tmp_path / "github" / "comments.json"
    comments.parent.mkdir()
    other_job = {"id": 50, "body": "<!-- modgraph:gone.py:Gone -->\n<!-- modgraph-artifact:other -->\n\n144 → 1"}
    added_and_taken_back = {"id": 2, "body": "<!-- modgraph:x.py:X -->\n<!-- modgraph-artifact:modgraph -->\n\n144 → 1"}
    comments.write_text(json.dumps([other_job, added_and_taken_back]))
    first = act()
    assert "144 → 288" in first.comments[2]["body"]
    git.commit("pyproject.toml", CONFIGURATION.replace('"net.py:Net", ', ""), cwd=repository)
    kept, stale, told = act().comments
    assert kept == other_job  # another job of a matrix compares it
    assert stale["body"].startswith("<!-- modgraph:x.py:X -->\n<!-- modgraph-artifact:modgraph -->\n")
    assert "the last run had no such model" in stale["body"]
    assert told["body"].startswith("<!-- modgraph:net.py:Net -->\n<!-- modgraph-artifact:modgraph -->\n")
    assert "**no target any more**" in told["body"]
    assert "144 → 288" not in told["body"]
    git.commit("pyproject.toml", CONFIGURATION, cwd=repository)
    assert "144 → 288" in act().comments[2]["body"]
    # Where nothing was compared, nothing is known of any of them.
    git("update-ref", "-d", "refs/remotes/origin/main", cwd=repository)
    assert "144 → 288" in act().comments[2]["body"]


def test_a_model_that_cannot_be_compared_any_more_says_so(act, repository: Path, git):
    act()
    git.commit("net.py", "class Net(", cwd=repository)
    (comment,) = act().comments
    assert "**not comparable**" in comment["body"]
    assert "144 → 288" not in comment["body"]


def test_a_model_that_is_gone_gets_a_comment(act, repository: Path, git):
    (repository / "other.py").unlink()
    git.commit("pyproject.toml", CONFIGURATION.replace(', "other.py"', ""), cwd=repository)
    result = act()
    (gone,) = [each["body"] for each in result.comments if "other.py:Other" in each["body"]]
    assert "**removed**" in gone
    assert "other.py is not there any more" in result.summary


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (["net.py", "from nowhere import make\n\n\ndef build():\n    return make()\n"], "nothing is known"),
        (["other.txt", ""], "net.py has no class or function 'build'"),
    ],
)
def test_a_configured_model_that_cannot_be_compared_is_in_the_summary(act, repository: Path, git, files, why):
    git.commit(*files, "pyproject.toml", CONFIGURATION.replace("net.py:Net", "net.py:build"), cwd=repository)
    git("update-ref", "refs/remotes/origin/main", "HEAD", cwd=repository)
    git.commit("change.txt", "", cwd=repository)
    result = act(inputs={"fail-on": "never"})
    summary = result.summary.replace("\\", "").replace("&#39;", "'")
    assert "**not comparable**" in summary
    assert why in summary
    assert "<!-- modgraph:net.py:build -->" in summary


def test_a_base_that_has_moved_on_is_compared_with_where_the_branch_left_it(act, repository: Path, git):
    git("checkout", "-q", "main", cwd=repository)
    git.commit("other.py", OTHER.replace("2, 3", "20, 30"), cwd=repository)
    git("update-ref", "refs/remotes/origin/main", "HEAD", cwd=repository)
    git("checkout", "-q", "topic", cwd=repository)
    result = act()
    assert "no difference" in (repository / "modgraph-out/changes/Other.md").read_text("utf-8")
    assert "144 → 288" in result.summary


@pytest.fixture
def shallow(repository: Path, git, tmp_path: Path, python_words: list[str]) -> Callable[..., Any]:
    """The action in a clone of the last commit alone."""
    git.commit("net.py", NET.format(width=48, blocks="nn.ModuleList()"), cwd=repository)
    clone = tmp_path / "clone"
    git("clone", "-q", "--depth", "1", "--branch", "topic", repository.as_uri(), str(clone), cwd=tmp_path)
    run_action = runpy.run_path(str(HERE / "run_action.py"))["run_action"]
    return lambda **inputs: run_action(clone, tmp_path / "github", {"formats": "json", **inputs}, python=python_words)


def test_a_shallow_clone_is_made_whole_where_the_merge_base_is_missing(shallow):
    result = shallow(**{"fail-on": "never"})
    assert "144 → 432" in result.summary
    assert "**not compared**" not in result.summary


def test_what_was_not_compared_is_not_called_unchanged(shallow, repository: Path):
    repository.rename(repository.with_name("elsewhere"))  # nothing can be fetched
    result = shallow(**{"fail-on": "failed"})
    assert result.status == 0, result.log
    assert result.summary.startswith("**not compared**: this clone holds no merge base with main")
    assert "diff 2" in result.log
    assert shallow(**{"fail-on": "change"}).status == 1
    unknown = shallow(**{"fail-on": "change", "base": "v9"})
    assert unknown.status == 1
    assert unknown.summary.startswith("**not compared**: 'v9' is no revision of this repository")


def test_a_change_of_forward_alone_gets_a_comment(act, repository: Path, git):
    net = NET.format(width=16, blocks="nn.ModuleList()")
    git.commit("net.py", net.replace("self.body(x)", "self.body(x) * 2"), cwd=repository)
    result = act(inputs={"fail-on": "failed,change"})
    assert result.status == 1
    assert "operations none → mul" in result.comments[0]["body"]


@pytest.mark.needs_torch
def test_with_a_trace_the_changes_are_those_of_runs(act, repository: Path, git):
    net = NET.format(width=16, blocks="nn.ModuleList()")
    git.commit("net.py", net.replace("self.body(x)", "self.body(x) * 2"), cwd=repository)
    result = act(inputs={"trace": "true", "input": "3x8", "target": "net.py:Net"})
    assert result.status == 0, result.log
    body = result.comments[0]["body"]
    assert "operations none → mul" in body
    assert "predicted and traced" in body
    graph = json.loads((repository / "modgraph-out/graphs/1/Net.json").read_text("utf-8"))
    assert graph["calls"][0]["inputs"][0]["shape"] == [3, 8]


def test_inputs_are_those_of_a_prediction_too(act, repository: Path):
    result = act(inputs={"input": "x=seven x 8", "target": "net.py:Net"})
    assert result.status == 0, result.log
    graph = json.loads((repository / "modgraph-out/graphs/1/Net.json").read_text("utf-8"))
    assert graph["calls"][0]["inputs"][0]["shape"] == ["seven", 8]
    assert graph["calls"][0]["observed"] is None


def test_the_token_of_a_fork_cannot_comment_and_nothing_fails(act, monkeypatch: pytest.MonkeyPatch):
    result = act(fork=True)
    assert (result.status, result.comments) == (0, [])
    assert "::notice::" in result.log
    assert "144 → 288" in result.summary
    monkeypatch.setenv("FAKE_REFUSED", "1")
    refused = act()
    assert (refused.status, refused.comments) == (0, [])
    assert "::warning::modgraph: no comment could be written" in refused.log


@pytest.mark.parametrize(
    ("inputs", "status"),
    [
        ({"fail-on": "never"}, 0),
        ({"fail-on": "change"}, 1),
        ({"fail-on": "finding"}, 1),
        ({"fail-on": "failed,checkpoint"}, 1),
        ({"target": "net.py:Net", "fail-on": "checkpoint"}, 1),
        ({"target": "other.py:Other", "fail-on": "checkpoint"}, 0),
        ({"base": "v9", "fail-on": "checkpoint"}, 1),
        ({"target": "gone.py"}, 1),
        ({"target": "other.py:Other\n", "fail-on": "failed,change"}, 0),
        ({"fail-on": "alwys"}, 1),
    ],
)
def test_when_the_job_fails(act, inputs: dict[str, str], status: int):
    result = act(inputs=inputs)
    assert result.status == status, result.log
    assert "actions/upload-artifact" in result.used[0][0]


def test_named_targets_are_compared_one_by_one(act, repository: Path, git):
    net = NET.format(width=16, blocks="nn.ModuleList()")
    git.commit("net.py", net, "fresh.py", OTHER.replace("Other", "Fresh"), cwd=repository)
    result = act(inputs={"target": "fresh.py:Fresh\nnet.py:Net"})
    assert result.status == 0, result.log
    assert [body.partition("\n")[0] for body in (each["body"] for each in result.comments)] == [
        "<!-- modgraph:fresh.py:Fresh -->"
    ]
    assert "fresh.py does not exist (at the revision" in result.comments[0]["body"]


def test_a_summary_that_is_too_long_is_cut(act, repository: Path):
    long = repository / "modgraph-out" / "changes" / "zzz.md"
    result = act(
        inputs={"comment": "false"},
        before={"Write the summary": lambda: long.write_text("é" * 600_000, "utf-8")},
    )
    assert 890_000 < len(result.summary.encode()) < 950_000
    assert result.summary.endswith("the rest is in the artifact\n")


def test_nothing_given_by_others_is_part_of_a_script(tmp_path: Path):
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    steps = action["runs"]["steps"]
    assert [step["name"] for step in steps if "${{" in step.get("run", "")] == []
    assert all("shell" in step for step in steps if "run" in step)
    for step in steps:
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"])


def test_a_hostile_target_is_only_a_target(act, repository: Path):
    result = act(inputs={"target": '$(touch pwned)`touch pwned`"; touch pwned #'})
    assert result.status == 1
    assert not list(repository.rglob("pwned"))


def test_no_file_of_the_repository_is_imported_in_place_of_a_module_of_python(
    act, repository: Path, git, tmp_path: Path
):
    modules = ("json", "libcst", "modgraph", "networkx", "pip", "re", "runpy", "tempfile", "tomllib")
    for name in modules:
        (repository / f"{name}.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'a').write('{name} ')\n")
    git.commit(cwd=repository)
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    result = act(inputs={"formats": action["inputs"]["formats"]["default"]})
    assert result.status == 0, result.log
    assert not (tmp_path / "imported").exists(), (tmp_path / "imported").read_text()
    # What pip imports is seen only where it runs: it is not run here.
    assert str(repository) not in (tmp_path / "github" / "pip_folders.txt").read_text().splitlines()


def test_what_a_commit_left_in_the_output_is_not_told(act, repository: Path, git):
    stale = repository / "modgraph-out" / "changes" / "stale.md"
    stale.parent.mkdir(parents=True)
    stale.write_text("<!-- modgraph:stale -->\n\n### of another run\n")
    git("add", "-f", "-A", cwd=repository)
    git.commit(cwd=repository)
    result = act()
    assert "of another run" not in result.summary
    assert len(result.comments) == 1


def test_only_its_own_comments_are_written_anew(act, tmp_path: Path):
    (tmp_path / "github").mkdir()
    quoted = {"id": 90, "type": "User", "body": "<!-- modgraph:net.py:Net -->\nwhat is this?"}
    (tmp_path / "github" / "comments.json").write_text(json.dumps([quoted]))
    result = act()
    assert result.comments[0] == quoted
    assert "144 → 288" in result.comments[1]["body"]


def test_no_second_comment_where_the_first_cannot_be_looked_for(act, monkeypatch: pytest.MonkeyPatch):
    act()
    monkeypatch.setenv("FAKE_UNREADABLE", "1")
    again = act()
    assert (again.status, len(again.comments)) == (0, 1)
    assert "::warning::modgraph: the comments of the pull request could not be read" in again.log


def test_documented_inputs_are_those_there_are():
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    rows = re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "docs" / "ci.md").read_text("utf-8"), flags=re.MULTILINE)
    assert set(action["inputs"]) <= set(rows)
