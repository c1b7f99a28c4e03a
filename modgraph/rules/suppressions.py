"""`# modgraph: ignore[MG101] reason` on a line or above it, `# noqa: MG101`, `# modgraph: ignore-file[MG101]`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from modgraph.findings import Finding
from modgraph.rules.registry import UNUSED_IGNORE
from modgraph.rules.rule import Rule

_OWN = re.compile(r"#\s*modgraph:\s*(ignore|ignore-file)(?:\[([^\]]*)\])?(?![\w-])")
_NOQA = re.compile(r"#\s*noqa(?::\s*([A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)


@dataclass(slots=True)
class _Comment:
    line: int
    column: int
    words: tuple[str, ...]
    """Codes or names; empty for all."""
    whole_file: bool
    own: bool
    """Ours, and not a `noqa`, which may be meant for others."""
    alone: bool
    """Nothing else stands on its line: it is about the next one."""
    used: set[str] = field(default_factory=set)


def apply(text: str, shown: str, findings: Sequence[Finding], rules: Sequence[Rule]) -> list[Finding]:
    """The findings that no comment silences, and one for each comment of ours that silences nothing."""
    comments = list(_comments(text))
    kept: list[Finding] = []
    for finding in findings:
        silenced = False
        for comment in comments:
            word = _fits(comment, finding)
            if word is not None:
                comment.used.add(word)
                silenced = True
        if not silenced:
            kept.append(finding)
    kept.extend(_unused(comments, shown, rules))
    return sorted(kept, key=lambda finding: finding.key)


def unused(text: str, shown: str, findings: Sequence[Finding], rules: Sequence[Rule]) -> list[Finding]:
    """For a file in which nothing can be found."""
    return list(_unused(_comments(text), shown, rules)) if "modgraph:" in text else list(findings)


def _fits(comment: _Comment, finding: Finding) -> str | None:
    """The word of a comment that silences a finding; "" for a comment without words."""
    first, last = finding.line or 0, finding.end_line or finding.line or 0
    here = comment.whole_file or first <= comment.line <= last or (comment.alone and comment.line == first - 1)
    if not here:
        return None
    if not comment.words:
        return ""
    return next((word for word in comment.words if word.upper() == finding.code or word == finding.name), None)


def _unused(comments: Iterable[_Comment], shown: str, rules: Sequence[Rule]) -> Iterator[Finding]:
    known = {rule.code for rule in rules} | {rule.name for rule in rules}
    for comment in comments:
        if not comment.own:
            continue
        idle = [word for word in comment.words if word not in comment.used and (word in known or word.upper() in known)]
        strange = [word for word in comment.words if not _is_rule(word)]
        if strange:
            message = f"there is no rule {strange[0]!r}"
        elif idle:
            message = f"{', '.join(idle)} is not found here: the comment can go"
        elif not comment.words and not comment.used:
            message = "nothing is found here: the comment can go"
        else:
            continue
        yield Finding(
            code=UNUSED_IGNORE, name="unused-ignore", severity="warning", message=message, file=shown, line=comment.line,
            column=comment.column + 1, end_line=comment.line, end_column=comment.column + 2,
        )  # fmt: skip


def _is_rule(word: str) -> bool:
    from modgraph.rules.registry import rules

    return any(word.upper() == rule.code or word == rule.name for rule in rules())


def _comments(text: str) -> Iterator[_Comment]:
    if "modgraph:" not in text and "noqa" not in text.lower():
        return
    for number, line in enumerate(text.splitlines(), 1):
        if "#" not in line or ("modgraph:" not in line and "noqa" not in line.lower()):
            continue
        own, noqa = _OWN.search(line), _NOQA.search(line)
        match = own or noqa
        if match is None or not _is_comment(text, number, match.start()):
            continue
        given = match.group(2) if own else match.group(1)
        words = tuple(word for word in re.split(r"[,\s]+", given or "") if word)
        if own and own.group(2) is not None and not words:
            continue
        alone = not line[: match.start()].strip()
        yield _Comment(
            number, match.start(), words, bool(own and own.group(1) == "ignore-file"), own is not None, alone
        )


def _is_comment(text: str, line: int, column: int) -> bool:
    """It is no part of a string."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and token.start[0] == line:
                return token.start[1] <= column
            if token.start[0] > line:
                return False
    except (tokenize.TokenError, SyntaxError):
        return True
    return False
