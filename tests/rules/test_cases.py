"""Files as people write them: each mistake that a comment `# finds MG101` marks is found there, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from modgraph.rules.check import check_text
from modgraph.rules.names import Project
from modgraph.rules.registry import rules

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))


def marked(text: str) -> list[tuple[str, int]]:
    return [
        (code, number)
        for number, line in enumerate(text.splitlines(), 1)
        for code in re.findall(r"MG\d+", line.partition("# finds")[2])
    ]


def test_there_are_enough_of_them():
    assert len(CASES) >= 20


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_marked_mistakes_are_found_and_no_others(path: Path):
    text = path.read_text(encoding="utf-8")
    wanted = marked(text)
    assert wanted
    chosen = [rule for rule in rules() if rule.default or rule.code in {code for code, _ in wanted}]
    found = check_text(text, path.name, str(path), chosen, Project())
    assert [(each.code, each.line) for each in found] == wanted
