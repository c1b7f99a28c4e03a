"""What a rule raises is told as a mistake of modgraph's own, and never as a finding about the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from modgraph.rules import registry
from modgraph.rules.check import check_text
from modgraph.rules.names import Project
from modgraph.rules.one_file import Checker
from modgraph.rules.options import CheckOptions
from modgraph.rules.rule import Found, Rule
from modgraph.rules.subject import Subject

TEXT = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
"""


def mistaken(error: type[Exception]) -> list[Rule]:
    """All rules, one of which raises."""

    def find(_: Subject) -> Iterator[Found]:
        raise error("of ours")

    return [rule._replace(find=find) if rule.code == "MG204" else rule for rule in registry.selected(["ALL"])]


@pytest.mark.parametrize("error", [MemoryError, RecursionError, ValueError])
def test_what_a_rule_raises_is_no_finding(
    error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = mistaken(error)
    with pytest.raises(error, match="of ours"):
        check_text(TEXT, "net.py", str(tmp_path / "net.py"), rules, Project())
    (tmp_path / "net.py").write_text(TEXT)
    checker = Checker(CheckOptions(isolated=True))
    checker.settings(str(tmp_path / "net.py")).rules = rules
    outcome = checker.check("net.py", str(tmp_path / "net.py"))
    assert outcome.findings == []
    assert outcome.failure is not None
    assert outcome.failure.trace is not None


def test_a_file_that_is_nested_too_deeply_is_a_finding(tmp_path: Path) -> None:
    text = TEXT + "x = " + "(" * 5_000 + ")" * 5_000 + "\n"
    found = check_text(text, "net.py", str(tmp_path / "net.py"), registry.selected(["ALL"]), Project())
    assert [finding.code for finding in found] == ["MG001"]
