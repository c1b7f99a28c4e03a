"""Text and its findings -> mended text: fixes made until none is left, checked again, and taken back where that fails.

A fix stands if the text still parses, what it mends is no longer found, nothing else is found and nothing else has
vanished, and the class holds, once its constructor has run, all that it held before. Only such fixes are offered.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from modgraph.findings import Edit, Finding
from modgraph.rules.registry import UNUSED_IGNORE
from modgraph.source.files import lines_of

MAX_ROUNDS = 50
"""Fixes that lie in one another, or of which some have to be refused, are made one after the other; more rounds than
these are a circle."""


class Holdings(NamedTuple):
    """What a class holds once its constructor has run."""

    names: frozenset[str]
    """Its attributes, submodules, parameters and buffers."""
    registered: int
    """Modules and parameters that are reached by registration."""
    failed: bool
    """The constructor raises."""


Check = Callable[[str], Sequence[Finding]]
Look = Callable[[str, str], "Holdings | None"]
"""(text, class) -> what it holds; None where that is not known."""
_Key = tuple[str, "str | None", "str | None", str]


def _unknown(text: str, class_name: str) -> Holdings | None:  # noqa: ARG001 - in place of one that looks
    return None


@dataclass(frozen=True, slots=True)
class Mended:
    """A text and what was mended in it."""

    text: str
    fixed: tuple[Finding, ...]
    left: tuple[Finding, ...]
    """What is still found in it."""
    taken_back: int = 0
    """Fixes that did not stand."""


def mend(
    text: str, check: Check, *, unsafe: bool = False, found: Sequence[Finding] | None = None, look: Look = _unknown
) -> Mended:
    """Makes fixes until none is left.

    Args:
        check: the findings in a text.
        unsafe: fixes that may change what the code does are made too.
        found: what `check` says of the text as it is, where that is known.
        look: what a class of a text holds.
    """
    found = check(text) if found is None else found
    refused: set[_Key] = set()
    fixed: list[Finding] = []
    for _ in range(MAX_ROUNDS):
        chosen = _apart(each for each in found if is_fixable(each, unsafe=unsafe) and _key(each) not in refused)
        if not chosen:
            break
        outcome = _tried(text, found, chosen, check, look)
        while outcome is None and len(chosen) > 1:
            chosen = chosen[: len(chosen) // 2]
            outcome = _tried(text, found, chosen, check, look)
        if outcome is None:
            refused.update(map(_key, chosen))
            continue
        text, found = outcome
        fixed.extend(chosen)
    left = [replace(each, fix=None) if _key(each) in refused else each for each in found]
    taken_back = sum(_key(each) in refused for each in found)
    return Mended(text, tuple(fixed), tuple(offered(text, check, left, look)), taken_back)


def offered(text: str, check: Check, found: Sequence[Finding], look: Look = _unknown) -> list[Finding]:
    """The findings, with those fixes only that stand when they are made."""
    standing: set[int] = set()
    pending = [each for each in found if is_fixable(each, unsafe=True)]
    while pending:
        chosen = _apart(pending)
        groups = [chosen]
        while groups:
            group = groups.pop()
            if _tried(text, found, group, check, look) is not None:
                standing.update(map(id, group))
            elif len(group) > 1:
                half = len(group) // 2
                groups += [group[:half], group[half:]]
        tried = set(map(id, chosen))
        pending = [each for each in pending if id(each) not in tried]
    return [each if each.fix is None or id(each) in standing else replace(each, fix=None) for each in found]


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
    text: str, found: Sequence[Finding], chosen: Sequence[Finding], check: Check, look: Look
) -> tuple[str, Sequence[Finding]] | None:
    """The text with the fixes and what is found in it; None where it is not better."""
    edits = dict.fromkeys(edit for each in chosen if each.fix for edit in each.fix.edits)
    changed = applied(text, edits)
    if changed == text or not _is_python(changed):
        return None
    after = check(changed)
    before_count, after_count = Counter(map(_key, found)), Counter(map(_key, after))
    if any(after_count[_key(each)] >= before_count[_key(each)] for each in chosen):
        return None
    if _is_something_else(found, chosen, after):
        return None
    names = dict.fromkeys(each.class_name for each in chosen if each.class_name)
    if any(_is_less(look(text, name), lambda name=name: look(changed, name)) for name in names):  # type: ignore[misc]
        return None
    return changed, after


def _is_something_else(found: Sequence[Finding], chosen: Sequence[Finding], after: Sequence[Finding]) -> bool:
    """Something is found that was not before, or has vanished that was not mended: in other words it may be told of.
    Of what comes behind an error nothing was known."""
    before, now = _counted(found), _counted(after)
    raised = {each.class_name for each in chosen if each.severity == "error"}
    only_errors = all(each.severity == "error" for each in chosen)
    if not only_errors and any(class_name not in raised for _, class_name, _ in now - before):
        return True
    mended = {(each.class_name, each.attribute) for each in chosen}
    return any((class_name, attribute) not in mended for _, class_name, attribute in before - now)


def _is_less(before: Holdings | None, look: Callable[[], Holdings | None]) -> bool:
    """Something of what the class held is gone."""
    if before is None or before.failed:
        return False
    after = look()
    return after is None or after.failed or not before.names <= after.names or before.registered > after.registered


def _counted(findings: Iterable[Finding]) -> Counter[tuple[str, str | None, str | None]]:
    """By rule and attribute. A comment that has become idle is no reason to keep the mistake."""
    return Counter((each.code, each.class_name, each.attribute) for each in findings if each.code != UNUSED_IGNORE)


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
