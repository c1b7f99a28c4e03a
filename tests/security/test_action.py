"""The action and the recipes of docs/ci.md against a hostile pull request: nothing runs, nothing of its text is live."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
HOSTILE = runpy.run_path(str(Path(__file__).with_name("hostile.py")))
NASTY = HOSTILE["NASTY"].replace("\udc9b", "")
NET = """\
from torch import nn


class Net(nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.layers = nn.ModuleDict({NAME: nn.Linear(8, width)})
        self.blocks = [nn.Linear(2, 2) for _ in range(3)]  # COMMENT

    def forward(self, x):
        return self.layers[NAME](x)
"""
NAMES = ("@octocat", "<img src=x>", "```", "::add-mask::x", "##[add-mask]x", "](https://evil)", NASTY)
OURS = {"stop-commands", "error", "warning", "notice"}


def net(width: int, name: str = "plain", comment: str = "x") -> str:
    return NET.replace("WIDTH", str(width)).replace("NAME", ascii(name)).replace("COMMENT", comment)


@pytest.fixture
def repository(tmp_path: Path, git: Any) -> Path:
    """At the head of a pull request."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git("init", "-q", "-b", "main", cwd=folder)
    git.commit("net.py", net(4), "pyproject.toml", '[tool.modgraph]\ntargets = ["net.py:Net"]\n', cwd=folder)
    git("update-ref", "refs/remotes/origin/main", "HEAD", cwd=folder)
    git("checkout", "-q", "-b", "topic", cwd=folder)
    git.commit("net.py", net(6), cwd=folder)
    return folder


@pytest.fixture
def act(repository: Path, tmp_path: Path, python_words: list[str]) -> Callable[..., Any]:
    run_action = runpy.run_path(str(ROOT / "tests" / "ci" / "run_action.py"))["run_action"]

    def act(*, base_ref: str = "main", **inputs: str) -> Any:
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        options = {"formats": "json", **given}
        return run_action(repository, tmp_path / "github", options, base_ref=base_ref, python=python_words)

    return act


def obeyed(log: str) -> list[str]:
    """The commands in a log that the runner obeys. Source: `ActionCommandManager` of actions/runner."""
    found, token = [], None
    for line in re.split(r"\r\n|\r|\n", log):
        command = re.match(r"\s*::([\w-]+)(?: [^:]*)?::(.*)", line)
        if token is not None:
            token = None if line.strip() == f"::{token}::" else token
        elif command is not None and command[1] == "stop-commands":
            token = command[2]
        elif command is not None or "##[" in line:
            found.append(line)
    assert token is None
    return found


def markdown_is_dead(text: str) -> None:
    from markdown_it import MarkdownIt

    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert "<img" not in html
    links = re.findall(r'href="([^"]*)"', html)
    assert set(links) <= {"https://github.com/owner/project/actions/runs/1"}
    outside = re.sub(r"<code.*?</code>", "", html, flags=re.DOTALL)
    assert not re.search(r"(?<!\w)@\w", outside)
    assert HOSTILE["acting"](text) == []


def assert_harmless(result: Any, repository: Path) -> None:
    for line in obeyed(result.log):
        assert re.match(r"::(error|warning|notice)( title=modgraph \(MG\d+\),|::modgraph: )", line), line
    assert HOSTILE["acting"](result.log) == []
    for text in (result.summary, *(each["body"] for each in result.comments)):
        markdown_is_dead(text)
    assert not list(repository.parent.rglob("pwned"))


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name)[1:12])
def test_names_in_the_source(act, repository: Path, git, name: str):
    comment = name.replace("\n", " ").replace("\r", " ")
    plain = net(6, name.replace(".", ""), comment)
    git.commit("net.py", plain, f"{name.replace('/', '')[:200]}.py", plain, cwd=repository)
    result = act(fail_on="never")
    assert result.status == 0, result.log
    assert "54" in result.comments[0]["body"]
    assert_harmless(result, repository)
    json.loads((repository / "modgraph-out" / "modgraph.sarif").read_text("utf-8"))


@pytest.mark.parametrize(
    "target",
    [
        *NAMES,
        "net.py:Net -->\n@octocat",
        "$(touch ../pwned)",
        "`touch ../pwned`",
        "--fix",
        "-o",
        "net.py:Net\n::add-mask::x",
    ],
    ids=lambda target: ascii(target)[1:16],
)
@pytest.mark.parametrize("where", ["configured", "given"])
def test_targets(act, repository: Path, git, target: str, where: str):
    if where == "configured":
        git.commit("pyproject.toml", f"[tool.modgraph]\ntargets = [{json.dumps(target)}]\n", cwd=repository)
    result = act(fail_on="never,checkpoint", **({"target": target} if where == "given" else {}))
    assert "not compar" in (result.summary + "".join(each["body"] for each in result.comments)).lower()
    assert_harmless(result, repository)
    for comment in result.comments:
        assert re.fullmatch(r"<!-- modgraph:[^<>]* -->", comment["body"].partition("\n")[0])
        assert comment["body"].split("\n")[1] == "<!-- modgraph-artifact:modgraph -->"


@pytest.mark.parametrize("branch", ["a`b", "x@octocat", "$(touch${IFS}pwned)", "<img>", "a%0A::add-mask::b"])
def test_branches(act, repository: Path, branch: str):
    result = act(base_ref=branch, fail_on="never")
    assert result.summary.startswith("**not compared**: this clone holds no merge base with ")
    assert_harmless(result, repository)


def test_names_of_files(act, repository: Path, git):
    for name in ("-o", "--fix", "-rf", "--format", "-", "$(touch pwned)", "a b", "'", '"', "*"):
        git.commit(f"{name}.py", net(2), f"{name}/x.py", net(2), cwd=repository)
    before = {path: path.read_bytes() for path in repository.rglob("*.py")}
    result = act(fail_on="never")
    assert result.status == 0, result.log
    assert {path: path.read_bytes() for path in repository.rglob("*.py")} == before
    assert_harmless(result, repository)


@pytest.mark.parametrize(
    "place", ["modgraph-out", "modgraph-out/changes", "modgraph-out/changes/Net.md", "modgraph-out/modgraph.sarif"]
)
def test_links_that_a_commit_left_are_not_followed(act, repository: Path, tmp_path: Path, git, place: str):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("before")
    (repository / place).parent.mkdir(parents=True, exist_ok=True)
    (repository / place).symlink_to(outside / "file" if "." in place else outside)
    git("add", "-f", "-A", cwd=repository)
    git.commit("x.txt", "", cwd=repository)
    result = act(fail_on="never")
    assert result.status == 0, result.log
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "before"
    assert "54" in result.comments[0]["body"]


def test_what_a_traced_model_left_for_the_step_with_the_token_is_not_sent(
    repository: Path, tmp_path: Path, python_words: list[str]
):
    run_action = runpy.run_path(str(ROOT / "tests" / "ci" / "run_action.py"))["run_action"]

    def plant() -> None:
        changes = repository / "modgraph-out" / "changes"
        (changes / "link.md").symlink_to("/proc/self/environ")
        (changes / "other.md").write_text("<!-- modgraph:x\n--> not one of ours")

    before = {"Comment on the pull request": plant}
    result = run_action(repository, tmp_path / "github", {"formats": "json"}, before=before, python=python_words)
    assert [each["body"].partition("\n")[0] for each in result.comments] == ["<!-- modgraph:net.py:Net -->"]


def test_a_comment_on_one_target_is_not_written_over_by_another(act, repository: Path, git):
    git.commit("a--b.py", net(2), "a-b.py", net(2), cwd=repository)
    git("update-ref", "refs/remotes/origin/main", "HEAD", cwd=repository)
    targets = '[tool.modgraph]\ntargets = ["a--b.py:Net", "a-b.py:Net"]\n'
    git.commit("a--b.py", net(3), "a-b.py", net(5), "pyproject.toml", targets, cwd=repository)
    result = act(fail_on="never")
    bodies = [each["body"] for each in result.comments if "b.py" in each["body"].partition("\n")[0]]
    assert bodies, result.log
    assert len(bodies) == len({body.partition("\n")[0] for body in bodies}) == 2
    assert [each["body"] for each in act(fail_on="never").comments] == [each["body"] for each in result.comments]


def test_no_text_of_a_model_says_that_nothing_has_changed(act, repository: Path, git):
    name = "**no difference in modules, arguments and tensors**"
    git.commit("net.py", net(6, name), cwd=repository)
    result = act(fail_on="never")
    assert len(result.comments) == 1, result.log


def test_a_check_of_nothing_is_seen(act, repository: Path, git):
    configuration = '[tool.modgraph]\ntargets = ["net.py:Net"]\nexclude = ["*.py"]\n'
    git.commit("pyproject.toml", configuration, cwd=repository)
    assert "What was checked</summary>\n\n```text\n0 files\n" in act(fail_on="never").summary
    git.commit("pyproject.toml", configuration.replace("exclude", "ignore").replace("*.py", "MG101"), cwd=repository)
    summary = act(fail_on="never").summary
    assert "\n1 files\n" in summary
    assert "rules = MG001" in summary
    assert "MG101" not in summary.partition("What was checked")[2].partition("</details>")[0]


# --- what is written in the files ----------------------------------------------------------------------------------

UNTRUSTED = re.compile(r"\$\{\{")


def recipes() -> list[Any]:
    found = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        found += [
            yaml.safe_load(block)
            for block in re.findall(r"```yaml\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL)
        ]
    return found


def steps_of(document: Any) -> list[dict[str, Any]]:
    if not isinstance(document, dict):
        return []
    jobs = document.get("jobs", {})
    runs = document.get("runs", {})
    return [step for job in [*jobs.values(), runs] if isinstance(job, dict) for step in job.get("steps", [])]


def test_the_action_and_the_recipes_keep_the_rules():
    documents = [yaml.safe_load((ROOT / "action.yml").read_text("utf-8")), *recipes()]
    steps = [step for document in documents for step in steps_of(document)]
    assert len(steps) >= 10
    for step in steps:
        assert not UNTRUSTED.search(step.get("run", "")), step["name"]
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@(?:[0-9a-f]{40}|COMMIT)", step["uses"]), step["uses"]
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
    workflows = [document for document in documents if isinstance(document, dict) and "jobs" in document]
    assert workflows
    for workflow in workflows:
        assert "permissions" in workflow
        assert "write-all" not in str(workflow["permissions"])
        assert "pull_request_target" not in json.dumps(workflow, default=str)


def test_only_the_step_that_comments_has_a_token():
    steps = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"]
    assert [step["name"] for step in steps if "github.token" in str(step.get("env"))] == ["Comment on the pull request"]
    (commenting,) = [step for step in steps if step.get("name") == "Comment on the pull request"]
    assert "run.py" not in commenting["run"]
    for step in steps:
        # Neither the working directory nor what lies in it is where a program is taken from.
        assert not re.search(r"(?<![\w/\"])(?:\./|source )", step.get("run", "")), step["name"]
        before, found, _ = re.sub("^ *#.*$", "", step.get("run", ""), flags=re.MULTILINE).partition("python -")
        assert not found or 'cd "$RUNNER_TEMP/modgraph/bin"' in before


# --- GitLab, pre-commit --------------------------------------------------------------------------------------------


def test_the_recipe_of_gitlab(repository: Path, tmp_path: Path, git):
    (job,) = [each["models"] for each in recipes() if "models" in each]
    outside = tmp_path / "outside"
    outside.mkdir()
    (repository / "modgraph-out").symlink_to(outside)
    git.commit(
        "net.py",
        net(5, NASTY.replace(".", ""), "##[add-mask]x"),
        f"{NASTY.replace('/', '')[:200]}.py",
        net(1),
        cwd=repository,
    )
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, line in (("pip", "true"), ("modgraph", f'exec "{sys.executable}" "{programs}/run.py" "$@"')):
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    (programs / "run.py").write_text("import sys\nfrom modgraph.cli import main\nsys.exit(main(sys.argv[1:]))\n")
    base = subprocess.run(["git", "rev-parse", "HEAD~1"], cwd=repository, capture_output=True, text=True, check=True)
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base.stdout.strip(),
    }
    script = "\n".join(job["script"])
    ran = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script], cwd=repository, capture_output=True, text=True, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    HOSTILE["assert_inert"](ran.stdout)
    HOSTILE["assert_inert"](ran.stderr)
    assert not list(outside.iterdir())
    markdown_is_dead((repository / "modgraph-out" / "changes" / "Net.md").read_text("utf-8"))
    HOSTILE["assert_inert"]((repository / "modgraph-out" / "codequality.json").read_text("utf-8"))


def test_a_file_that_is_called_like_an_option_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from modgraph.cli import main

    monkeypatch.chdir(tmp_path)
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")):
        if hook.get("pass_filenames") is False:
            continue
        command = [*hook["entry"].split()[1:], *hook["args"]]
        for name in ("-ovictim.py", "--fix", "--unsafe-fixes", "--exit-zero"):
            (tmp_path / name).write_text("#!/usr/bin/env python\n")
            (tmp_path / "victim.py").write_text("x = 1\n")
            (tmp_path / "bad.py").write_text(net(1))
            before = (tmp_path / "bad.py").read_text()
            status = main([*command, name, "bad.py"])
            assert (tmp_path / "victim.py").read_text() == "x = 1\n"
            if "--fix" not in command:
                assert status == 1
                assert (tmp_path / "bad.py").read_text() == before


def test_a_folder_that_switches_the_check_off_for_itself_is_seen(act, repository: Path, git):
    git.commit("models/modgraph.toml", "select = []\n", cwd=repository)
    git.commit("models/other.py", net(6, "x"), cwd=repository)
    checked = act(fail_on="never").summary.partition("What was checked")[2].partition("</details>")[0]
    assert "configuration = models/modgraph.toml\nfolder = models\nfiles = 1\n" in checked


@pytest.mark.parametrize("module", ["raise ImportError('x')", "def main(argv): raise TypeError('x')", ""])
def test_a_modgraph_that_fails_has_no_status_of_a_result(tmp_path: Path, module: str):
    """Also an older one, which the input `version` names."""
    action = (Path(__file__).parents[2] / "action.yml").read_text("utf-8")
    script = re.search(r"bin/run\.py\" << 'END'\n(.*?)^ +END$", action, re.MULTILINE | re.DOTALL)
    assert script is not None
    (tmp_path / "run.py").write_text(textwrap.dedent(script[1]))
    (tmp_path / "modgraph").mkdir()
    (tmp_path / "modgraph" / "__init__.py").touch()
    (tmp_path / "modgraph" / "cli.py").write_text(module)
    run = subprocess.run([sys.executable, "run.py", "check"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert run.stderr.startswith("error: modgraph failed: ")
