"""What is written about the rules agrees with them."""

from __future__ import annotations

import re
from pathlib import Path

from modgraph.rules import explain
from modgraph.rules.registry import rules

ROOT = Path(__file__).parents[2]


def test_the_page_of_rules_is_what_the_rules_say():
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert page == explain.page(rules()), "modgraph check --explain ALL -o docs/rules.md"


def test_codes_and_names_are_each_rule_s_own():
    assert len({rule.code for rule in rules()}) == len({rule.name for rule in rules()}) == len(rules())
    assert [rule.code for rule in rules()] == sorted(rule.code for rule in rules())


def test_every_file_of_a_rule_is_a_rule_of_its_code():
    files = sorted(path.name[:5].upper() for path in (ROOT / "modgraph" / "rules").glob("mg*.py"))
    assert len(files) > 20
    assert files == [rule.code for rule in rules()]


def between(first: str, last: str) -> list[str]:
    """The codes that "MG101 to MG110" stands for."""
    return [f"MG{number}" for number in range(int(first), int(last or first) + 1)]


def test_the_table_of_the_readme_has_every_rule_where_it_belongs():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (MG\d.*) \| (.*) \|$", text, re.MULTILINE)
    told = {
        by_default: sorted(
            code
            for codes, about in rows
            if ("off by default" not in about) is by_default
            for ends in re.findall(r"MG(\d{3})(?: to MG(\d{3}))?", codes)
            for code in between(*ends)
        )
        for by_default in (True, False)
    }
    walked = [rule for rule in rules() if rule.code not in ("MG001", "MG002")]
    assert told == {each: [rule.code for rule in walked if rule.default is each] for each in (True, False)}
