"""Text and its findings -> fixed text: fixes made until none is left, checked again, and taken back where that fails.

A fix stands if the text still parses, what it fixes is no longer found, nothing else is found and nothing else has
vanished, and the class holds, once its constructor has run, all that it held before. Only such fixes are offered.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from modgraph.findings import Edit, Finding
from modgraph.rules.names import EnoughTried
from modgraph.rules.registry import UNUSED_IGNORE
from modgraph.source.files import lines_of
from modgraph.source.quiet import python_tree

MAX_ROUNDS = 50
"""Fixes that lie in one another, or of which some have to be refused, are made one after the other; more rounds than
these are a circle."""

MAX_WORK = 3_000_000
"""What may be spent on trying the fixes of one file: characters read and checked, and what equals them."""
WORK_OF_A_CLASS = 4_000
"""Of one with findings: it is interpreted, which takes as long as to read and check so many characters."""
WORK_OF_A_FINDING = 40


class Holdings(NamedTuple):
    """What a class holds once its constructor has run."""

    names: frozenset[str]
    """Its attributes, submodules, parameters and buffers."""
    registered: int
    """Modules and parameters that are reached by registration."""
    failed: bool
    """The constructor raises."""


Check = Callable[[str], Sequence[Finding]]
Part = Callable[[str, frozenset[str]], Sequence[Finding]]
"""(text, classes) -> findings in these classes."""
Look = Callable[[str, str], "Holdings | None"]
"""(text, class) -> what it holds; None where that is not known."""
_Key = tuple[str, "str | None", "str | None", str]


def _unknown(text: str, class_name: str) -> Holdings | None:  # noqa: ARG001 - in place of one that looks
    return None


@dataclass(frozen=True, slots=True)
class Fixed:
    """A text and what was fixed in it."""

    text: str
    fixed: tuple[Finding, ...]
    left: tuple[Finding, ...]
    """What is still found in it."""
    taken_back: int = 0
    """Fixes that did not stand."""
    untried: int = 0
    """Fixes that were not tried, as that takes too much work."""


class Offers(NamedTuple):
    """Findings with the fixes that stand."""

    findings: list[Finding]
    untried: int
    """Fixes that were not tried, and are not offered, as that takes too much work."""


class Budget:
    """How much may be spent on trying the fixes of one file, in classes and characters looked at, never in seconds."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = MAX_WORK if limit is None else limit
        self.spent = 0

    @property
    def left(self) -> int:
        return self.limit - self.spent

    def allows(self, work: int) -> bool:
        """Whether so much is left; it is spent then."""
        if self.spent + work > self.limit:
            return False
        self.spent += work
        return True


def fix(
    text: str,
    check: Check,
    *,
    unsafe: bool = False,
    found: Sequence[Finding] | None = None,
    look: Look = _unknown,
    part: Part | None = None,
    budget: Budget | None = None,
) -> Fixed:
    """Makes fixes until none is left.

    Args:
        check: the findings in a text.
        unsafe: fixes that may change what the code does are made too.
        found: what `check` says of the text as it is, where that is known.
        look: what a class of a text holds.
        part: what `check` says of some classes alone.
        budget: for trying fixes; those that are beyond it are not made.
    """
    found = check(text) if found is None else found
    budget = Budget() if budget is None else budget
    refused: set[_Key] = set()
    untried: set[_Key] = set()
    fixed: list[Finding] = []
    for _ in range(MAX_ROUNDS):
        left_out = refused | untried
        chosen = _apart(each for each in found if is_fixable(each, unsafe=unsafe) and _key(each) not in left_out)
        if not chosen:
            break
        trials = _Trials(text, found, check, part, look, budget)
        standing, changed, after = trials.standing(chosen)
        if changed is not None:
            text, found = changed, check(changed) if after is None else after
            fixed.extend(standing)
        skipped = set(map(id, trials.untried if changed is not None or not standing else chosen))
        made = set(map(id, standing)) if changed is not None else set()
        untried.update(_key(each) for each in chosen if id(each) in skipped)
        refused.update(_key(each) for each in chosen if id(each) not in made | skipped)
    left = [replace(each, fix=None) if _key(each) in refused | untried else each for each in found]
    taken_back = sum(_key(each) in refused for each in found)
    offers = offered(text, check, left, look, part, budget)
    number = sum(_key(each) in untried for each in found)
    return Fixed(text, tuple(fixed), tuple(offers.findings), taken_back, number + offers.untried)


def offered(
    text: str,
    check: Check,
    found: Sequence[Finding],
    look: Look = _unknown,
    part: Part | None = None,
    budget: Budget | None = None,
) -> Offers:
    """The findings, with those fixes only that stand when they are made."""
    budget = Budget() if budget is None else budget
    standing: set[int] = set()
    untried = 0
    pending = [each for each in found if is_fixable(each, unsafe=True)]
    while pending:
        chosen = _apart(pending)
        trials = _Trials(text, found, check, part, look, budget)
        standing.update(map(id, trials.standing(chosen)[0]))
        untried += len(trials.untried)
        tried = set(map(id, chosen))
        pending = [each for each in pending if id(each) not in tried]
    kept = [each if each.fix is None or id(each) in standing else replace(each, fix=None) for each in found]
    return Offers(kept, untried)


class _Trials:
    """Trials of fixes of one text. All are made at once; where that is not better, those of each class by themselves,
    in one text for all classes, so that the number of trials does not grow with the number of classes."""

    def __init__(
        self, text: str, found: Sequence[Finding], check: Check, part: Part | None, look: Look, budget: Budget
    ) -> None:
        self.text = text
        self.found = found
        self.check = check
        self.part = part
        self.look = look
        self.budget = budget
        self.untried: list[Finding] = []
        """Those for which the budget was too small."""
        self._before = _Counts(found)

    def standing(self, wanted: Sequence[Finding]) -> tuple[list[Finding], str | None, Sequence[Finding] | None]:
        """Those that stand, the text with all of them, if these were tried in one, and what is found in it, if all of
        it was looked at."""
        try:
            return self._standing(wanted)
        except EnoughTried:
            self.budget.spent = self.budget.limit
            self.untried = list(wanted)
            return [], None, None

    def _standing(self, wanted: Sequence[Finding]) -> tuple[list[Finding], str | None, Sequence[Finding] | None]:
        chosen, only = self._affordable(wanted)
        if not chosen:
            return [], None, None
        outcome = self._tried(chosen, only)
        kept = list(chosen)
        if not outcome.fits:
            good = set(map(id, self._sorted_out(outcome, chosen)))
            kept = [each for each in chosen if id(each) in good]
            outcome = self._again(kept, only)
        if not outcome.fits and kept:
            kept = self._halved(kept, only)
            outcome = self._again(kept, only)
        return kept, outcome.text if outcome.fits else None, outcome.found if outcome.fits and only is None else None

    def _affordable(self, wanted: Sequence[Finding]) -> tuple[Sequence[Finding], frozenset[str] | None]:
        """As many as can be tried, and the classes that are looked at then; None for all."""
        if self._affords(None):
            return wanted, None
        groups = _by_class(wanted)
        taken: list[str] = []
        work = len(self.text)
        for name in groups:
            work += self._before.work(name)
            if work > self.budget.left // 2:
                break
            taken.append(name)
        only = frozenset(taken)
        chosen = [each for each in wanted if (each.class_name or "") in only]
        self.untried += [each for each in wanted if (each.class_name or "") not in only]
        if chosen:
            self._affords(only)
        return chosen, only

    def _again(self, kept: list[Finding], only: frozenset[str] | None) -> _Trial:
        if not kept:
            return _FAILED
        if not self._affords(only):
            self.untried += kept
            kept.clear()
            return _FAILED
        return self._tried(kept, only)

    def _sorted_out(self, outcome: _Trial, chosen: Sequence[Finding]) -> list[Finding]:
        """Those that stand by themselves: of each class one group is tried, and halved where it fails, in one text with
        a group of each other class."""
        kept: list[Finding] = []
        groups = _by_class(chosen)
        halves = {name: [group] for name, group in groups.items()}
        first = True
        while any(halves.values()):
            now = {name: waiting.pop() for name, waiting in halves.items() if waiting}
            if not first:
                if not self._affords(frozenset(now)):
                    self.untried += [each for group in now.values() for each in group]
                    self.untried += [each for waiting in halves.values() for group in waiting for each in group]
                    break
                outcome = self._tried([each for group in now.values() for each in group], frozenset(now))
            first = False
            if outcome.strayed and len(now) > 1:
                kept += self._halved([each for group in now.values() for each in group], None)
                continue
            for name, group in now.items():
                if name not in outcome.failed and not outcome.strayed:
                    kept += group
                elif len(group) > 1:
                    half = len(group) // 2
                    halves[name] += [group[half:], group[:half]]
        return kept

    def _halved(self, chosen: Sequence[Finding], only: frozenset[str] | None) -> list[Finding]:
        """Those that stand in the halves of halves, where it cannot be told which class a trial fails for."""
        kept: list[Finding] = []
        groups = [list(chosen)]
        while groups:
            group = groups.pop()
            if not self._affords(only):
                self.untried += group
            elif self._tried(group, only).fits:
                kept += group
            elif len(group) > 1:
                half = len(group) // 2
                groups += [group[:half], group[half:]]
        return kept

    def _affords(self, only: frozenset[str] | None) -> bool:
        names = self._before.names if only is None else only
        return self.budget.allows(len(self.text) + sum(map(self._before.work, names)))

    def _tried(self, chosen: Sequence[Finding], only: frozenset[str] | None = None) -> _Trial:
        """Makes the fixes and looks what is better.

        Args:
            only: classes that are looked at; None for all.
        """
        edits = dict.fromkeys(edit for each in chosen if each.fix for edit in each.fix.edits)
        changed = applied(self.text, edits)
        if changed == self.text or not _is_python(changed):
            return _FAILED
        after = self.check(changed) if only is None or self.part is None else self.part(changed, only)
        failed = self._worse(chosen, after, only)
        for name in dict.fromkeys(each.class_name for each in chosen if each.class_name):
            if name not in failed and _is_less(self.look(self.text, name), partial(self.look, changed, name)):
                failed.add(name)
        mine = {each.class_name or "" for each in chosen}
        return _Trial(changed, after, frozenset(failed & mine), not failed <= mine)

    def _worse(self, chosen: Sequence[Finding], after: Sequence[Finding], only: frozenset[str] | None) -> set[str]:
        """Classes in which what was to be fixed is found still, something is found that was not before, or has
        vanished that was not fixed: in other words it may be told of. Of what comes behind an error nothing was
        known."""
        now = _Counts(after)
        failed = {each.class_name or "" for each in chosen if now.keys[_key(each)] >= self._before.keys[_key(each)]}
        raised = {each.class_name or "" for each in chosen if each.severity == "error"}
        only_errors = all(each.severity == "error" for each in chosen)
        meant = {(each.class_name, each.attribute) for each in chosen}
        for name in self._before.names | now.names if only is None else only:
            before_count, after_count = self._before.counts(name), now.counts(name)
            if not only_errors and name not in raised and after_count - before_count:
                failed.add(name)
            gone = before_count - after_count
            if any((class_name, attribute) not in meant for _, class_name, attribute in gone):
                failed.add(name)
        return failed


class _Trial(NamedTuple):
    """What came of fixes."""

    text: str
    found: Sequence[Finding]
    failed: frozenset[str]
    """Classes of the fixes in which it is not better."""
    strayed: bool
    """It is worse in another class, or nobody knows where."""

    @property
    def fits(self) -> bool:
        """It is better, and worse nowhere."""
        return not self.failed and not self.strayed


_FAILED = _Trial("", (), frozenset(), True)


class _Counts:
    """Findings counted, by class."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.keys = Counter(map(_key, findings))
        self._of: dict[str, Counter[tuple[str, str | None, str | None]]] = {}
        for each in findings:
            if each.code != UNUSED_IGNORE:  # a comment that has become idle is no reason to keep the mistake
                counter = self._of.setdefault(each.class_name or "", Counter())
                counter[each.code, each.class_name, each.attribute] += 1

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._of)

    def counts(self, name: str) -> Counter[tuple[str, str | None, str | None]]:
        return self._of.get(name, Counter())

    def work(self, name: str) -> int:
        """What it takes to look at a class again."""
        return WORK_OF_A_CLASS + WORK_OF_A_FINDING * self.counts(name).total()


def _by_class(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    groups: dict[str, list[Finding]] = {}
    for each in findings:
        groups.setdefault(each.class_name or "", []).append(each)
    return groups


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

    spans = sorted((at(e.line, e.column), at(e.end_line, e.end_column), n, e.text) for n, e in enumerate(edits))
    parts: list[str] = []
    reached = 0
    for start, end, _, new in spans:
        if start < reached:
            return _in_one_another(text, spans)
        parts += [text[reached:start], new]
        reached = end
    return "".join([*parts, text[reached:]])


def _in_one_another(text: str, spans: Sequence[tuple[int, int, int, str]]) -> str:
    for start, end, _, new in reversed(spans):
        text = text[:start] + new + text[end:]
    return text


def _is_less(before: Holdings | None, look: Callable[[], Holdings | None]) -> bool:
    """Something of what the class held is gone."""
    if before is None or before.failed:
        return False
    after = look()
    return after is None or after.failed or not before.names <= after.names or before.registered > after.registered


def _key(finding: Finding) -> _Key:
    return (finding.code, finding.class_name, finding.attribute, finding.message)


_Place = tuple[int, int]


def _apart(findings: Iterable[Finding]) -> list[Finding]:
    """Those whose edits do not touch one another; the same edit wanted by two, such as an import, is one."""
    taken: set[Edit] = set()
    spans: list[tuple[_Place, _Place]] = []
    """Of the edits that are taken, in order, those that touch one another as one."""
    chosen: list[Finding] = []
    for finding in findings:
        edits = finding.fix.edits if finding.fix else ()
        new = _joined(((e.line, e.column), (e.end_line, e.end_column)) for e in edits if e not in taken)
        if not any(_touches(spans, span) for span in new):
            taken.update(edits)
            chosen.append(finding)
            for span in new:
                insort(spans, span)
    return chosen


def _joined(spans: Iterable[tuple[_Place, _Place]]) -> list[tuple[_Place, _Place]]:
    joined: list[tuple[_Place, _Place]] = []
    for begins, ends in sorted(spans):
        if joined and begins <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], ends)
        else:
            joined.append((begins, ends))
    return joined


def _touches(spans: Sequence[tuple[_Place, _Place]], span: tuple[_Place, _Place]) -> bool:
    place = bisect_left(spans, span)
    begins, ends = span
    return (place > 0 and spans[place - 1][1] >= begins) or (place < len(spans) and spans[place][0] <= ends)


def _is_python(text: str) -> bool:
    try:
        python_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
