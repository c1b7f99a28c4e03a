"""Every command and every block of Python that a page shows is run: its status and what it prints are what the page says."""

from __future__ import annotations

import ast
import itertools
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
pages = runpy.run_path(str(Path(__file__).with_name("pages.py")))
scenes = runpy.run_path(str(Path(__file__).with_name("scenes.py")))

PAGES = ["README.md", "CONTRIBUTING.md", "samples/README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]  # fmt: skip
EXAMPLES_OF_THEIR_OWN = {"docs/rules.md": "every example on it is a test in tests/rules"}

FAILS = {
    ("README.md", "modgraph check model.py"): 1,
    ("README.md", "modgraph diff HEAD~1:model.py:Net model.py:Net"): 1,
    ("README.md", "modgraph diff HEAD~1 --format markdown -o changes/"): 1,
    ("docs/diff.md", "modgraph diff HEAD~1:model.py:Net model.py:Net"): 1,
    ("docs/check.md", "modgraph check"): 1,
    ("docs/check.md", "modgraph check src/ train.py"): 1,
    ("docs/check.md", "modgraph check --fix --unsafe-fixes --diff"): 1,
    ("docs/check.md", "modgraph check model.py"): 1,
    ("docs/check.md", "modgraph check lenet.py"): 1,
    ("docs/declared-names.md", "modgraph check plans.py --select MG4 --format concise"): 1,
    ("docs/checkpoints.md", "modgraph analyze net.py:Net --static --against net.bin"): 1,
    ("docs/checkpoints.md", "modgraph diff v1.0:model.py:Net model.py:Net --fail-on checkpoint"): 1,
    ("docs/checkpoints.md", "modgraph diff v1.0:model.py:Net model.py:Net --fail-on checkpoint --emit-map keys.txt"): 1,
}
"""Commands whose status is not 0, as their page says; where a session goes on with `echo $?`, it is read there."""

NOT_RUN = {
    "modgraph analyze --all src/ --jobs 4": "bounds processes of its own, each of which imports torch; tests/batch does so",
    "pip": "would change the environment; its extras and files are looked up",
    "python -m venv": "makes an environment",
    "python -m build": "the wheel is built in tests/test_packaging.py",
    "python tests/": "sweeps of minutes to hours over other libraries; the script is there and knows the options",
    "npm": "needs the network",
    "git": "would change the repository",
    "pytest": "is what runs this",
    "ruff": "is run beside the tests",
    "mypy": "is run beside the tests",
    "bash": "is what runs this",
    "mkdocs": "is run in tests/docs/test_site.py",
    ".": "activates an environment",
    "cd": "goes into a clone",
}
"""Beginnings of commands that are not run, and why."""
FRAGMENTS = {
    ("docs/check.md", "Silencing"): "two lines of a class, to show where a comment stands",
    (
        "docs/distributed.md",
        "Distributed models",
    ): "runs in several processes: tests/tracing/test_distributed.py does so",
    ("docs/ci.md", "On a cluster, and in a notebook"): "needs a cluster: tests/batch has one of this machine",
}
"""Blocks of Python that are no program, and why."""

IN_A_SCENE = (["git", "init"], ["git", "add"], ["git", "commit"])
"""Run in the page's folder."""
CELLS = ("docs/notebooks.md",)
"""Pages whose blocks of Python are one program, as the cells of a notebook are."""

pytestmark = [pytest.mark.needs_torch, pytest.mark.needs_dot]


class Warm:
    """Runs what pages show, without importing torch anew each time."""

    def __init__(self, run_code: Any, cache: Path) -> None:
        self.run_code = run_code
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "MODGRAPH_"))},
            "PYTHONPATH": path, "COLUMNS": "100", "NO_COLOR": "1", "MODGRAPH_CACHE": str(cache),
            "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
        }  # fmt: skip

    def ask(
        self, cwd: Path, *, argv: list[str] | None = None, code: str = "", environment: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """What came of a command line, or of Python."""
        given: dict[str, Any] = {
            "cwd": cwd, "env": {**self.environment, **(environment or {})}, "stdin": subprocess.DEVNULL,
            "capture_output": True, "text": True, "encoding": "utf-8",
        }  # fmt: skip
        if argv is None:
            done = self.run_code(f"import warnings; warnings.simplefilter('ignore')\n{code}", **given)
        else:
            done = subprocess.run([sys.executable, "-m", "modgraph", *argv], check=False, **given)
        return {"status": done.returncode, "stdout": done.stdout, "stderr": done.stderr}


@pytest.fixture(scope="module")
def warm(run_code: Any, tmp_path_factory: pytest.TempPathFactory) -> Warm:
    return Warm(run_code, tmp_path_factory.mktemp("cache"))


class Page:
    """One page's commands, run in order; what goes wrong is gathered."""

    def __init__(self, name: str, warm: Warm, folder: Path) -> None:
        self.name = name
        self.warm = warm
        self.folder = folder
        self.wrong: list[str] = []
        self.status = 0
        self.printed = ""
        self.cells = ""
        self.asked = False
        """The page says the status itself: below the command, or in its line."""

    def place(self, scene: str) -> Path:
        """The folder of a scene, made when it is first asked for."""
        folder = self.folder / (scene or "project")
        if not folder.exists():
            folder.mkdir()
            scenes["build"](scene, folder)
            code = scenes["PREPARE"].get(scene)
            if code:
                answer = self.warm.ask(folder, code=code)
                assert answer["status"] == 0, answer["stderr"]
        return folder

    def run_block(self, block: Any) -> None:
        scene = scenes["scene_of"](self.name, block.heading)
        if block.language == "python" and (self.name, block.heading) not in FRAGMENTS:
            self.run_python(block, scene)
        for command, after in itertools.zip_longest(block.commands, block.commands[1:]):
            self.asked = "echo $?" in command.text or (after is not None and after.text == "echo $?")
            self.run_command(command, scene)

    def run_python(self, block: Any, scene: str) -> None:
        named = re.match(r"# ([\w/]+\.py)\n", block.text)
        if named:
            (self.place(scene) / named.group(1)).write_text(block.text + "\n", encoding="utf-8")
            return
        if self.name in CELLS:
            self.cells += block.text + "\n"
        code = self.cells or scenes["PRELUDE"].get(scene, "") + block.text
        answer = self.warm.ask(self.place(scene), code=code)
        if answer["status"]:
            self.wrong.append(f"{self.name}:{block.line}: {answer['stderr']}")

    def run_command(self, command: Any, scene: str) -> None:
        if command.text == "echo $?":
            if command.shown != [str(self.status)] and command.shown != [str(self.status), ""]:
                self.wrong.append(f"{self.name}:{command.line}: the status is {self.status}")
            return
        self.printed, said = "", ""
        for words in pages["steps"](command.text):
            environment = {}
            while re.fullmatch(r"[A-Z_]+=.*", words[0]):
                key, _, environment[key] = words.pop(0).partition("=")
            if words[0] == "echo":
                continue
            if words[:2] in IN_A_SCENE:
                scenes["git"](self.place(scene), *words[1:])
                self.status = 0
                continue
            if words[0] != "modgraph" or " ".join(words).startswith(tuple(NOT_RUN)):
                self.look_at(words, command)
                continue
            answer = self.warm.ask(self.place(scene), argv=words[1:], environment=environment)
            self.status = answer["status"]
            self.printed += answer["stdout"]
            said += answer["stderr"]
        self.judge(command, said)

    def judge(self, command: Any, said: str) -> None:
        where = f"{self.name}:{command.line}: {command.text}"
        plain = command.text.partition("#")[0].strip()
        expected = FAILS.get((self.name, plain), 0)
        if not self.asked and self.status != expected:
            self.wrong.append(f"{where}\nended with {self.status}, not {expected}:\n{self.printed}{said}")
        if command.shown and not any(
            pages["matches"](command.shown, text) for text in (self.printed, self.printed + said, said + self.printed)
        ):
            self.wrong.append(f"{where}\nprinted\n{self.printed}\nand on standard error\n{said}")

    def look_at(self, words: list[str], command: Any) -> None:
        """What is not run is there, at least."""
        where, text = f"{self.name}:{command.line}: {command.text}", " ".join(words)
        self.status = 0
        if not any(
            text == start or text.startswith(start if start.endswith("/") else f"{start} ") for start in NOT_RUN
        ):
            self.wrong.append(f"{where}\nneither run nor in NOT_RUN")
        elif words[0] == "python" and words[1].startswith("tests/"):
            self.wrong += [f"{where}\n{problem}" for problem in script_problems(words[1:])]
        elif words[0] == "pip":
            self.wrong += [f"{where}\n{problem}" for problem in pip_problems(words)]


def script_problems(words: list[str]) -> list[str]:
    """The script that a command names is not there, or has no such option."""
    path = ROOT / words[0]
    if not path.is_file():
        return [f"there is no {words[0]}"]
    trees = [ast.parse(path.read_text(encoding="utf-8"))]
    beside = (
        path.with_name(f"{alias.name}.py") for n in ast.walk(trees[0]) if isinstance(n, ast.Import) for alias in n.names
    )
    trees += [ast.parse(each.read_text(encoding="utf-8")) for each in beside if each.is_file()]
    known = {"--help"}
    for node in (each for tree in trees for each in ast.walk(tree)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            known |= {arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}
    return [f"{words[0]} has no option {word}" for word in words[1:] if word.startswith("-") and word not in known]


def pip_problems(words: list[str]) -> list[str]:
    """An extra that the package does not have, or a file of constraints that is not there."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = set(
        re.findall(r"^(\w+) = \[", text.partition("[project.optional-dependencies]")[2].partition("\n[")[0], re.M)
    )
    asked = {extra for word in words for group in re.findall(r"\[([\w,]+)\]", word) for extra in group.split(",")}
    files = [words[n + 1] for n, word in enumerate(words) if word in ("-c", "-r")]
    missing = [f"there is no extra {extra}" for extra in sorted(asked - extras)]
    return missing + [f"there is no {file}" for file in files if not (ROOT / file).is_file()]


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in PAGES if name not in EXAMPLES_OF_THEIR_OWN])
def test_what_a_page_shows_is_what_happens(name: str, warm: Warm, tmp_path: Path):
    page = Page(name, warm, tmp_path)
    found = pages["blocks"](ROOT / name)
    for block in found:
        page.run_block(block)
    if name == "samples/README.md":
        for command in pages["inline"](ROOT / name):
            page.asked = "echo $?" in command.text
            page.run_command(command, "")
    if page.wrong:
        pytest.fail("\n\n".join(page.wrong), pytrace=False)


@pytest.mark.parametrize("name", PAGES)
def test_commands_in_the_running_text_are_ones_there_are(name: str, capsys: pytest.CaptureFixture):
    from modgraph.cli import _parsers

    for command in pages["inline"](ROOT / name):
        for words in pages["steps"](command.text):
            if words[0] == "modgraph" and not {"--help", "..."} & set(words):
                try:
                    _parsers(words[1:])[0].parse_args(words[1:])
                except SystemExit:
                    pytest.fail(f"{name}:{command.line}: {command.text}: {capsys.readouterr().err}")


def test_every_block_without_a_language_is_one_of_commands():
    for name in PAGES:
        for block in pages["blocks"](ROOT / name):
            assert block.language or block.commands, f"{name}:{block.line}: neither commands nor a language"


def test_a_command_that_does_something_else_than_its_page_says_is_found(warm: Warm, tmp_path: Path):
    shown = "```console\n$ modgraph check model.py\nwarning[MG999] ...\n...\n$ echo $?\n0\n```\n\n```\npython tests/oracle/none.py\npip install modgraph[none]\n```\n"
    (tmp_path / "page.md").write_text(shown, encoding="utf-8")
    page = Page("docs/check.md", warm, tmp_path)
    for block in pages["blocks"](tmp_path / "page.md"):
        page.run_block(block)
    assert [text.splitlines()[0].partition(": ")[2] for text in page.wrong] == [
        "modgraph check model.py", "the status is 1", "python tests/oracle/none.py", "pip install modgraph[none]",
    ]  # fmt: skip
