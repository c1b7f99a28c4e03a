"""The rules in words: Markdown for people and for docs/rules.md, records for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from modgraph.rules.rule import Rule

_HEAD = """\
# Rules

What `modgraph check` looks for. This page is written by `modgraph check --explain ALL`; every example on it is a test.
"""
_KINDS = {
    True: "The check looks for these unless it is told otherwise.",
    False: "The check looks for these only if they are selected: `--select` or `extend-select`.",
}


def markdown(rules: Sequence[Rule]) -> str:
    """Rules one after the other."""
    return "\n".join(_one(rule, level="#" if len(rules) == 1 else "##") for rule in rules)


def page(rules: Sequence[Rule]) -> str:
    """The page of all rules."""
    parts = [_HEAD]
    for default, words in _KINDS.items():
        chosen = [rule for rule in rules if rule.default is default]
        if chosen:
            parts.append(f"{words}\n\n{_table(chosen)}")
    return "\n".join([*parts, markdown(rules)])


def records(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """Rules as JSON values."""
    return [
        {
            "code": rule.code,
            "name": rule.name,
            "severity": rule.severity,
            "default": rule.default,
            "fixable": _is_fixable(rule),
            "summary": rule.summary,
            "why": rule.why,
            "invalid": [{"code": each.code, "lines": list(each.lines), "fixed": each.fixed} for each in rule.invalid],
            "valid": [{"code": each.code, "why": each.why} for each in rule.valid],
        }
        for rule in rules
    ]


def _table(rules: Sequence[Rule]) -> str:
    rows = ["| code | name | severity | fix | |", "| --- | --- | --- | --- | --- |"]
    for rule in rules:
        anchor = f"{rule.code.lower()}-{rule.name}"
        fix = "yes" if _is_fixable(rule) else ""
        rows.append(f"| [{rule.code}](#{anchor}) | {rule.name} | {rule.severity} | {fix} | {rule.summary} |")
    return "\n".join(rows) + "\n"


def _one(rule: Rule, *, level: str) -> str:
    return "\n".join(_parts(rule, level))


def _parts(rule: Rule, level: str) -> Iterator[str]:
    yield f"{level} {rule.code} {rule.name}\n"
    on = "on by default" if rule.default else "only if selected"
    fix = "; some of it can be fixed with `--fix`" if _is_fixable(rule) else ""
    yield f"{rule.summary} ({rule.severity}, {on}{fix})\n"
    yield f"{rule.why.strip()}\n"
    if rule.invalid:
        yield f"{level}# Reported\n"
    for each in rule.invalid:
        yield _block(_pointed(each.code, each.lines))
        if each.fixed is not None:
            yield f"becomes\n\n{_block(each.fixed)}"
    if rule.valid:
        yield f"{level}# Not reported\n"
    for good in rule.valid:
        yield f"{good.why[:1].upper()}{good.why[1:]}:\n\n{_block(good.code)}"


def _pointed(code: str, lines: Sequence[int]) -> str:
    """The lines in question, marked at their ends."""
    return "\n".join(
        f"{line}  # <--" if number in lines else line for number, line in enumerate(code.rstrip().split("\n"), 1)
    )


def _block(code: str) -> str:
    return f"```python\n{code.rstrip()}\n```\n"


def _is_fixable(rule: Rule) -> bool:
    return any(each.fixed is not None for each in rule.invalid)
