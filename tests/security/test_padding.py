"""What makes a class or a file too much to be followed does not make it clean: each format says so, and the status."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tokenize
from pathlib import Path
from xml.etree import ElementTree

import pytest

from modgraph.cli import main
from modgraph.rules import interpretation
from modgraph.rules.long_comments import without_long_comments

HEAD = """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
"""
LIST = "        self.a = [nn.Linear(1, 1)]"
PADDED = {
    "on the line": f"{HEAD}{LIST}  # {'x' * 3_000_000}\n",
    "above": f"# {'x' * 3_000_000}\n{HEAD}{LIST}\n",
    "within": f"{HEAD}{LIST[:-1]},  # {'x' * 3_000_000}\n        ]\n",
    "in many lines": HEAD + f"{LIST}  # {'x' * 3_000}\n" + f"        # {'y' * 3_000}\n" * 800,
    "in another class": f"{HEAD}{LIST}\n\nclass Other:\n    pass  # {'x' * 3_000_000}\n",
}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "net.py"


@pytest.mark.parametrize("where", PADDED)
def test_a_comment_costs_nothing(file: Path, where: str, capfd):
    file.write_text(PADDED[where])
    assert main(["check", "--no-cache", "--format", "concise", "net.py"]) == 1
    said = capfd.readouterr()
    assert "MG101" in said.out
    assert "not followed" not in said.out + said.err


@pytest.mark.parametrize(
    "text",
    [
        f"x = 1  # {'y' * 1000}\nz = 2\n",
        f"x = '# {'y' * 1000}'  # {'#' * 1000}\n",
        f'x = """\n# {"y" * 1000}\n"""\n',
        f"x = [  # {'y' * 1000}\r\n 1]\r\n",
        f"if x:\n\t# {'y' * 1000}\n\tpass\n",
        f"é = 'ü'  # {'é' * 1000}\n",
        f"x = '''# {'y' * 1000}",
    ],
)
def test_only_comments_become_shorter(text: str):
    short = without_long_comments(text)
    assert said(short) == said(text)
    assert len(short) < len(text) or "'''" in text or '"""' in text
    assert short.count("\n") == text.count("\n")


def said(text: str) -> list[tuple[str, tuple[int, int]]]:
    """The tokens, comments left out, up to where it is no Python any more, and where they stand."""
    found: list[tuple[str, tuple[int, int]]] = []
    kinds = (tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL)
    tokens = tokenize.generate_tokens(io.StringIO(text, newline=None).readline)
    with contextlib.suppress(tokenize.TokenError):
        found.extend((token.string, token.start) for token in tokens if token.type not in kinds)
    return found


@pytest.fixture
def cut(file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A class that is too much."""
    monkeypatch.setattr(interpretation, "MAX_WORK", 1)
    file.write_text(f"{HEAD}{LIST}\n")
    return file


def check(form: str, capfd, *more: str) -> str:
    assert main(["check", "--no-cache", "--format", form, *more, "net.py"]) == 0
    said = capfd.readouterr()
    assert said.err.count("class 'Net' is not followed to its end: ") == ("-q" not in more)
    return said.out


WHY = "class 'Net' is not followed to its end: "


def test_people_are_told(cut: Path, capfd):
    for form in ("text", "concise"):
        assert "1 class not followed to its end" in check(form, capfd)
    assert check("text", capfd, "-q") == ""


def test_sarif_says_that_it_was_not_all(cut: Path, capfd):
    (run,) = json.loads(check("sarif", capfd))["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is True
    (told,) = invocation["toolExecutionNotifications"]
    assert told["level"] == "note"
    assert told["message"]["text"].startswith(WHY)
    assert told["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "net.py"


def test_github_shows_it_beside_the_file(cut: Path, capfd):
    (line,) = check("github", capfd).splitlines()
    assert line.startswith("::notice title=modgraph (not-checked),file=net.py::")
    assert WHY in line


def test_gitlab_has_an_issue(cut: Path, capfd):
    (issue,) = json.loads(check("gitlab", capfd))
    assert issue["check_name"] == "not-checked"
    assert WHY in issue["description"]
    assert issue["location"]["path"] == "net.py"
    assert issue["fingerprint"]


def test_junit_has_a_case_that_is_skipped(cut: Path, capfd):
    suites = ElementTree.fromstring(check("junit", capfd))
    (case,) = suites.iter("testcase")
    assert [child.tag for child in case] == ["skipped"]
    assert case[0].attrib["message"].startswith(WHY)
    assert (suites.attrib["errors"], suites.attrib["tests"]) == ("0", "1")


def test_reviewdog_and_programs_are_told(cut: Path, capfd):
    (diagnostic,) = json.loads(check("rdjson", capfd))["diagnostics"]
    assert "is not followed to its end" in diagnostic["message"]
    assert json.loads(check("json", capfd))["not_done"][0]["message"].startswith(WHY)
    (line,) = check("json-lines", capfd).splitlines()
    assert json.loads(line)["message"].startswith(WHY)


def test_a_file_that_is_not_checked_is_in_each_of_them_too(file: Path, capfd):
    os_error = "net.py"
    file.symlink_to("/dev/zero")
    for form in ("sarif", "github", "gitlab", "junit", "rdjson", "json", "json-lines"):
        assert main(["check", "--no-cache", "--format", form, os_error]) == 2
        assert "not a regular file" in capfd.readouterr().out, form


def test_standard_input_is_no_exception(cut: Path, monkeypatch, capfd):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(cut.read_bytes())))
    assert main(["check", "--no-cache", "-"]) == 0
    assert WHY in capfd.readouterr().err


def test_what_is_followed_says_nothing_of_it(file: Path, capfd):
    file.write_text(f"{HEAD}        self.a = nn.Linear(1, 1)\n")
    for form in ("sarif", "github", "gitlab", "junit", "rdjson", "json", "json-lines"):
        assert main(["check", "--no-cache", "--format", form, "net.py"]) == 0
        said = capfd.readouterr().out
        assert "not-checked" not in said
        assert "invocations" not in said
        assert "<error" not in said
