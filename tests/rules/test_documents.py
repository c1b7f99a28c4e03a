"""What is written about the rules agrees with them."""

from __future__ import annotations

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
