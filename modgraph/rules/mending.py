"""Text and its findings -> mended text: fixes made until none is left, checked again, and taken back where that fails.

A fix stands if the text still parses, what it mends is no longer found, and nothing else is found that was not before.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from modgraph.findings import Edit, Finding
from modgraph.rules.registry import UNUSED_IGNORE
from modgraph.source.files import lines_of

MAX_ROUNDS = 50
"""Fixes that lie in one another, or of which some have to be refused, are made one after the other; more rounds than
these are a circle."""

Check = Callable[[str], Sequence[Finding]]
_Key = tuple[str, "str | None", "str | None", str]


@dataclass(frozen=True, slots=True)
class Mended:
    """A text and what was mended in it."""

    text: str
    fixed: tuple[Finding, ...]
    left: tuple[Finding, ...]
    """What is still found in it."""


def mend(text: str, check: Check, *, unsafe: bool = False, found: Sequence[Finding] | None = None) -> Mended:
    """Makes fixes until none is left.

    Args:
        check: the findings in a text.
        unsafe: fixes that may change what the code does are made too.
        found: what `check` says of the text as it is, where that is known.
    """
    found = check(text) if found is None else found
    refused: set[_Key] = set()
    fixed: list[Finding] = []
    for _ in range(MAX_ROUNDS):
        chosen = _apart(each for each in found if is_fixable(each, unsafe=unsafe) and _key(each) not in refused)
        if not chosen:
            break
        outcome = _tried(text, found, chosen, check)
        while outcome is None and len(chosen) > 1:
            chosen = chosen[: len(chosen) // 2]
            outcome = _tried(text, found, chosen, check)
        if outcome is None:
            refused.update(map(_key, chosen))
            continue
        text, found = outcome
        fixed.extend(chosen)
    return Mended(text, tuple(fixed), tuple(found))


def is_fixable(finding: Finding, *, unsafe: bool) -> bool:
    """There is a fix, and it may be made."""
    return finding.fix is not None and bool(finding.fix.edits) and (unsafe or finding.fix.safe)


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with its edits made; of several at one place the first comes first."""
    starts = [0]
    for line in lines_of(text):
        starts.append(starts[-1] + len(line))

    def at(line: int, column: int) -> int:
        return min(starts[min(max(line, 1), len(starts)) - 1] + column, len(text))

    spans = [(at(e.line, e.column), at(e.end_line, e.end_column), n, e.text) for n, e in enumerate(edits)]
    for start, end, _, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _tried(
    text: str, found: Sequence[Finding], chosen: Sequence[Finding], check: Check
) -> tuple[str, Sequence[Finding]] | None:
    """The text with the fixes and what is found in it; None where it is not better."""
    edits = dict.fromkeys(edit for each in chosen if each.fix for edit in each.fix.edits)
    changed = applied(text, edits)
    if changed == text or not _is_python(changed):
        return None
    after = check(changed)
    before_count, after_count = _counted(found), _counted(after)
    if any(after_count[_key(each)] >= before_count[_key(each)] for each in chosen):
        return None
    raised = {each.class_name for each in chosen if each.severity == "error"}  # nothing behind it was looked at
    if any(class_name not in raised for _, class_name, _, _ in after_count - before_count):
        return None
    return changed, after


def _counted(findings: Iterable[Finding]) -> Counter[_Key]:
    """A comment that has become idle is no reason to keep the mistake."""
    return Counter(_key(each) for each in findings if each.code != UNUSED_IGNORE)


def _key(finding: Finding) -> _Key:
    return (finding.code, finding.class_name, finding.attribute, finding.message)


def _apart(findings: Iterable[Finding]) -> list[Finding]:
    """Those whose edits do not touch one another; the same edit wanted by two, such as an import, is one."""
    taken: list[Edit] = []
    chosen: list[Finding] = []
    for finding in findings:
        edits = finding.fix.edits if finding.fix else ()
        if all(edit in taken or not any(_touch(edit, other) for other in taken) for edit in edits):
            taken.extend(edits)
            chosen.append(finding)
    return chosen


def _touch(one: Edit, other: Edit) -> bool:
    begins, ends = (one.line, one.column), (one.end_line, one.end_column)
    other_begins, other_ends = (other.line, other.column), (other.end_line, other.end_column)
    return begins <= other_ends and other_begins <= ends


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
