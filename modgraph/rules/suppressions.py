"""`# modgraph: ignore[MG101] reason` on a line or above it, `# noqa: MG101`, `# modgraph: ignore-file[MG101]`."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from modgraph.rules.registry import SYNTAX_ERROR, UNUSED_IGNORE, rules
from modgraph.rules.rule import Rule
from modgraph.source.files import lines_of

if TYPE_CHECKING:
    from modgraph.findings import Finding

_OWN = re.compile(r"#\s*modgraph:\s*(ignore-file|ignore)(?![\w-])(?:\s?\[([^\]]*)\])?")
_STRANGE = re.compile(r"#\s*modgraph:\s*(?:disable|enable|ignore|noqa|off|silence|skip|suppress|MG\d)", re.IGNORECASE)
"""What is meant as one of ours, where it is none."""
_BARE_WORD = re.compile(r"[\s:=(]*([\w-]+)")
_NOQA = re.compile(r"#\s*noqa(?![\w-])(?::\s*([A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)


_NONE = ""
"""A word that stands for no rule."""
_NOT_UNDERSTOOD = "not understood: write `# modgraph: ignore[CODE]`, or ignore-file[CODE]"
_OF_CONTAINERS = ("MG101", "MG102", "MG121", "MG122")


class _Comment:
    __slots__ = ("about", "column", "fault", "line", "own", "used", "whole_file", "words")

    def __init__(
        self,
        line: int,
        column: int,
        words: tuple[str, ...],
        *,
        own: bool,
        whole_file: bool,
        about: int,
        fault: str | None = None,
    ) -> None:
        self.line = line
        self.column = column
        self.words = words
        """Codes or names; empty for all."""
        self.own = own
        """Ours, and not a `noqa`, which may be meant for others."""
        self.whole_file = whole_file
        self.about = about
        """The line it is about: its own, or the next statement's where nothing else stands on its line."""
        self.used: set[str] = set()
        self.fault = fault
        """What is wrong with how it is written."""


def apply(
    text: str,
    shown: str,
    findings: Sequence[Finding],
    chosen: Sequence[Rule],
    ignored: Collection[str] = (),
    undecided: Sequence[tuple[int, int]] = (),
) -> list[Finding]:
    """The findings that no comment silences, and one for each comment of ours that silences nothing.

    Args:
        chosen: the rules that looked; what a comment says of others is left alone.
        undecided: lines of classes of whose containers nothing could be said: a comment on these may be right.
    """
    if "modgraph:" not in text and not findings:
        return []
    comments = list(_comments(text))
    near = _Near(comments)
    kept: list[Finding] = []
    for finding in findings:
        fitting = [(comment, word) for comment in near.of(finding) if (word := _fits(comment, finding)) is not None]
        for comment, word in fitting:
            comment.used.add(word)
        if not fitting:
            kept.append(finding)
    codes = {rule.code for rule in chosen} - set(ignored)
    if UNUSED_IGNORE in codes:
        idle = (each for each in _unused(comments, shown, codes, undecided))
        kept.extend(each for each in idle if not any(_fits(comment, each) for comment in near.of(each)))
    return sorted(kept, key=lambda finding: finding.key)


class _Near:
    """Comments by where they stand and what they are about, so that not each is held against each finding."""

    def __init__(self, comments: Sequence[_Comment]) -> None:
        self._whole = [each for each in comments if each.whole_file]
        self._placed = sorted((each for each in comments if not each.whole_file), key=lambda each: each.line)
        self._lines = [each.line for each in self._placed]
        self._about: dict[int, list[_Comment]] = {}
        for each in self._placed:
            if each.about != each.line:
                self._about.setdefault(each.about, []).append(each)

    def of(self, finding: Finding) -> Iterator[_Comment]:
        """Those that may fit a finding."""
        first, last = finding.line or 0, finding.end_line or finding.line or 0
        yield from self._whole
        yield from self._placed[bisect_left(self._lines, first) : bisect_right(self._lines, last)]
        yield from self._about.get(first, ())


def _fits(comment: _Comment, finding: Finding) -> str | None:
    """The word of a comment that silences a finding; "" for a comment without words."""
    first, last = finding.line or 0, finding.end_line or finding.line or 0
    if not (comment.whole_file or first <= comment.line <= last or comment.about == first):
        return None
    if not comment.words:
        return ""
    return next((word for word in comment.words if word.upper() == finding.code or word == finding.name), None)


def _unused(
    comments: Iterable[_Comment], shown: str, codes: Collection[str], undecided: Sequence[tuple[int, int]]
) -> Iterator[Finding]:
    known = {name: rule.code for rule in rules() for name in (rule.code, rule.name)}
    doubtful = {line for first, last in set(undecided) for line in range(first, last + 1)} if undecided else ()
    everything = all(rule.code in codes for rule in rules() if rule.default)
    for comment in comments:
        if not comment.own:
            continue
        if comment.fault is not None:
            yield _at(comment, shown, comment.fault)
            continue
        meant = {word: known.get(word, known.get(word.upper())) for word in comment.words if word != _NONE}
        strange = [word for word, code in meant.items() if code is None]
        idle = [word for word, code in meant.items() if code in codes and word not in comment.used]
        idle = [word for word in idle if meant[word] not in (SYNTAX_ERROR, UNUSED_IGNORE)]
        in_doubt = bool(undecided) and (comment.whole_file or comment.about in doubtful)
        if in_doubt:
            idle = [word for word in idle if meant[word] not in _OF_CONTAINERS]
        if strange:
            message = f"there is no rule {strange[0]!r}"
        elif idle:
            message = f"{', '.join(idle)} is not found here: the comment can go"
        elif not comment.words and not comment.used and everything and not in_doubt:
            message = "nothing is found here: the comment can go"
        else:
            continue
        yield _at(comment, shown, message)


def _at(comment: _Comment, shown: str, message: str) -> Finding:
    from modgraph.findings import Finding

    return Finding(
        code=UNUSED_IGNORE, name="unused-ignore", severity="warning", message=message, file=shown,
        line=comment.line, column=comment.column + 1, end_line=comment.line, end_column=comment.column + 2,
    )  # fmt: skip


def _comments(text: str) -> Iterator[_Comment]:
    lower = text.lower()
    if "modgraph:" not in lower and "noqa" not in lower:
        return
    lines = lines_of(text)
    below = _statements_below(lines)
    for number, column, content in _tokens(text):
        own = _OWN.search(content)
        match = own or _STRANGE.search(content) or _NOQA.search(content)
        if match is None:
            continue
        if match.re is _STRANGE:
            place = column + match.start()
            yield _Comment(number, place, (_NONE,), own=True, whole_file=False, about=number, fault=_NOT_UNDERSTOOD)
            continue
        given = own.group(2) if own else match.group(1)
        words = tuple(word for word in re.split(r"[,\s]+", given or "") if word)
        fault: str | None = None
        if given is not None and not words:
            words, fault = (_NONE,), "it names no rule: write ignore[CODE], or ignore alone for every rule"
        elif own and given is None:
            words, fault = _without_brackets(content[own.end() :])
        alone = not lines[number - 1][:column].strip("\ufeff \t\f")
        about = below[number - 1] if alone and own else number
        whole = own is not None and own.group(1) == "ignore-file"
        place = column + match.start()
        yield _Comment(number, place, words, own=own is not None, whole_file=whole, about=about, fault=fault)


def _without_brackets(rest: str) -> tuple[tuple[str, ...], str | None]:
    """The rule that stands behind `ignore` without brackets, and what is to be said of that."""
    match = _BARE_WORD.match(rest)
    known = {name for rule in rules() for name in (rule.code, rule.code.lower(), rule.name)}
    if match is None or match[1] not in known:
        return (), None
    return (match[1],), f"write ignore[{match[1]}], with brackets"


def _statements_below(lines: Sequence[str]) -> list[int]:
    """Of each line that of the code below it, its own where there is none; decorators belong to what they decorate."""
    found = [0] * len(lines)
    code = 0
    for number in range(len(lines), 0, -1):
        found[number - 1] = code or number
        if not lines[number - 1].lstrip().startswith(("#", "@")):
            code = number
    return found


def _tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """(line, column, text) of the comments; as many as there are before a mistake."""
    import io
    import tokenize

    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline=None).readline):
            if token.type == tokenize.COMMENT and ("modgraph" in token.string or "noqa" in token.string.lower()):
                yield token.start[0], token.start[1], token.string
    except (tokenize.TokenError, SyntaxError):
        return
