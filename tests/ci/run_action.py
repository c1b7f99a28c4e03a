"""Runs the steps of `action.yml` on this machine, in a repository with the two commits of a pull request.

Not GitHub: `run` steps are executed by bash as they stand, with the environment that GitHub gives them; a `uses` step is
a stand-in that writes down what it was given; `gh` is a program that keeps comments in a file. So it shows that the steps
do what they say, not that GitHub would take it.

    python tests/ci/run_action.py REPOSITORY OUTPUT [INPUT=VALUE ...]
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
GH = '''#!{python}
"""`gh api`, as far as the action uses it."""
import json, os, shutil, subprocess, sys
path = os.environ["FAKE_COMMENTS"]
comments = json.load(open(path)) if os.path.exists(path) else []
arguments = sys.argv[1:]
if "--jq" in arguments:
    if os.environ.get("FAKE_UNREADABLE"):
        sys.exit("HTTP 502: Server Error")
    given = [{{**c, "user": {{"type": c.get("type", "Bot")}}}} for c in comments]
    wanted = arguments[arguments.index("--jq") + 1]
    if shutil.which("jq"):  # which gh has built in
        sys.exit(subprocess.run(["jq", "-r", wanted], input=json.dumps(given), text=True).returncode)
    assert '.user.type == "Bot"' in wanted and "env.OURS" in wanted
    for c in given:
        lines = [*c["body"].split("\\n"), ""]
        if c["user"]["type"] == "Bot" and c["body"].startswith("<!-- modgraph:"):
            print(c["id"], str(lines[1] == os.environ["OURS"]).lower(), lines[0])
else:
    if os.environ.get("FAKE_REFUSED"):
        sys.exit("HTTP 403: Resource not accessible by integration")
    method = arguments[arguments.index("--method") + 1]
    file = arguments[arguments.index("--field") + 1].removeprefix("body=@")
    body = open(file, encoding="utf-8").read()
    assert os.environ["GH_TOKEN"]
    if method == "POST":
        assert arguments[3].endswith("/comments"), arguments
        comments.append({{"id": len(comments) + 1, "body": body}})
    else:
        number = int(arguments[3].rpartition("/")[2])
        comments = [{{**c, "body": body}} if c["id"] == number else c for c in comments]
    json.dump(comments, open(path, "w"))
'''


@dataclass
class Result:
    """What the action left."""

    status: int
    """Of the job: 0 or 1."""
    summary: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    used: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Actions that were used, with what they were given."""
    log: str = ""


def run_action(
    repository: Path,
    output: Path,
    inputs: dict[str, str],
    *,
    base_ref: str = "main",
    fork: bool = False,
    number: int = 7,
    before: dict[str, Callable[[], object]] | None = None,
    python: Sequence[str] = (sys.executable,),
) -> Result:
    """Run every step.

    Args:
        repository: a working tree of git, at the head of the pull request; "origin/BASE_REF" is its base.
        output: a folder for what GitHub would keep: comments stay there from one run to the next.
        inputs: of the action; the others have their defaults.
        number: of the pull request; 0 for a push.
        before: what is done before the step of that name.
        python: words before the name of a script that runs modgraph.
    """
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    unknown = inputs.keys() - action["inputs"].keys()
    assert not unknown, unknown
    values = {name: each["default"] for name, each in action["inputs"].items()} | inputs
    known = {f"inputs.{name}": value for name, value in values.items()} | {
        "github.action_path": str(ROOT),
        "github.base_ref": base_ref if number else "",
        "github.token": "token",
        "github.event.pull_request.number": str(number or ""),
        "github.event.pull_request.head.repo.full_name": ("stranger/project" if fork else "owner/project")
        if number
        else "",
    }
    environment = _environment(output.resolve(), python)
    result = Result(0)
    for step in action["runs"]["steps"]:
        if not _wanted(step.get("if", ""), known, failed=bool(result.status)):
            continue
        if "uses" in step:
            result.used.append((step["uses"], {k: _filled(v, known) for k, v in step.get("with", {}).items()}))
            continue
        (before or {}).get(step["name"], bool)()
        given = {name: _filled(value, known) for name, value in step.get("env", {}).items()}
        run = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=repository, env={**environment, **given}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        result.log += f"== {step['name']}\n{run.stdout}{run.stderr}"
        result.status = result.status or run.returncode
    result.summary = Path(environment["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")
    comments = Path(environment["FAKE_COMMENTS"])
    result.comments = json.loads(comments.read_text()) if comments.exists() else []
    return result


def _environment(output: Path, python: Sequence[str]) -> dict[str, str]:
    programs, temporary = output / "bin", output / "temp"
    for folder in (programs, temporary):
        folder.mkdir(parents=True, exist_ok=True)
    (programs / "gh").write_text(GH.format(python=sys.executable))
    (programs / "gh").chmod(0o755)
    # Installing is what the network is needed for: `python -m pip` writes down what it was asked for, and modgraph is there.
    pip = f'echo "$@" >> "{output}/pip.txt"; pwd >> "{output}/pip_folders.txt"'
    fake = (
        f'#!/usr/bin/env bash\nif [ "$1 $2" = "-m pip" ]; then {pip}; exit; fi\n'
        f'case "$1" in */run.py) exec {shlex.join(python)} "$@";; esac\nexec "{sys.executable}" "$@"\n'
    )
    (programs / "python").write_text(fake)
    (programs / "python").chmod(0o755)
    summary = output / "summary.md"
    summary.write_text("")
    return {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])),
        "RUNNER_TEMP": str(temporary),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_REPOSITORY": "owner/project",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_RUN_ID": "1",
        "FAKE_COMMENTS": str(output / "comments.json"),
        "NO_COLOR": "1",
    }


def _filled(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda found: known[found[1]], str(text))


def _wanted(condition: str, known: dict[str, str], *, failed: bool) -> bool:
    """`always()`, `inputs.x == 'y'` and `inputs.x != 'y'`."""
    if condition == "always()":
        return True
    if failed:
        return False
    if not condition:
        return True
    name, sign, value = re.fullmatch(r"(\S+) (==|!=) '(.*)'", condition).groups()  # type: ignore[union-attr]
    return (known[name] == value) is (sign == "==")


if __name__ == "__main__":
    found = run_action(Path(sys.argv[1]), Path(sys.argv[2]), dict(each.split("=", 1) for each in sys.argv[3:]))
    print(found.log, found.summary, found.used, found.comments, sep="\n")
    sys.exit(found.status)
