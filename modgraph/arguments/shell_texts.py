"""What a reader of a document sees of it, and takes for a command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

FENCE = re.compile(r"\s*(?:```|~~~)[^`]*$")
_LANGUAGE = re.compile(r"\s*[`~]{3,}\W*([\w-]*)")
_CHANGES = frozenset(["diff", "patch", "udiff"])
_OTHER_SHELLS = frozenset(
    ["bat", "batch", "batchfile", "cmd", "dos", "powershell", "pwsh", "ps1", "ps", "posh", "fish", "csh", "tcsh", "nu"]
)
_OTHER_SIGNS = re.compile(r"[%^`$'(]")
"""With them a line means something else there than to bash."""
_MARK = re.compile(r"<!--|-->|`+")
_EXPLICIT = re.compile(r"(\s*)\.\.(?:[ \t]+(\S.*))?$")
_NO_COMMENT = re.compile(r"[\w:+.-]+\s*::|_|\[|\|")
_BLOCK = re.compile(r"(?:code-block|code|sourcecode|highlight)\s*::\s*([\w-]+)")
_CODE = re.compile(r"\t| {4}|\s*(?:(?:[-*+]|\d+[.)])\s+)*(?:(?:\(\w+\)\s*)?[$%]\s|!)")
_INDENTED = re.compile(r"\s+\S")
_WORD_OF_A_SENTENCE = re.compile(r"[^\W\d_]+|.*[,.;:!?]|[-–—]+")
_OPTION = re.compile(r"--?[A-Za-z][^=]*")


def shown(text: str, *, is_rst: bool) -> str:
    """The text, line for line, without comments and lines that a diff takes away."""
    lines = text.split("\n")
    return "\n".join(_without_comments_of_rst(lines) if is_rst else _without_comments(lines))


def _without_comments(lines: Sequence[str]) -> Iterator[str]:
    last = max((number for number, line in enumerate(lines) if "-->" in line), default=-1)
    language, is_fenced, is_comment = "", False, False
    for number, line in enumerate(lines):
        if not is_comment and FENCE.match(line):
            is_fenced = not is_fenced
            found = _LANGUAGE.match(line)
            language = found[1].lower() if found else ""
            yield line
        elif is_fenced:
            yield _line_of(language, line)
        else:
            kept, is_comment = _outside(line, is_comment=is_comment, can_end=number <= last)
            yield kept


def _outside(line: str, *, is_comment: bool, can_end: bool) -> tuple[str, bool]:
    """What of a line stands in no comment; whether one goes on behind it.

    Args:
        can_end: an end comes behind it; without one, only what begins a line is a comment.
    """
    kept: list[str] = []
    place, quoted = 0, ""
    for mark in _MARK.finditer(line):
        if is_comment:
            if mark[0] == "-->":
                place, is_comment = mark.end(), False
        elif mark[0][0] == "`":
            quoted = "" if mark[0] == quoted else quoted or mark[0]
        elif mark[0] == "<!--" and not quoted and (can_end or not line[: mark.start()].strip()):
            kept.append(line[place : mark.start()])
            is_comment = True
    return "".join(kept) + ("" if is_comment else line[place:]), is_comment


def _line_of(language: str, line: str) -> str:
    """Of a block in some language, what bash would be told."""
    if language in _CHANGES:
        return "" if line.lstrip().startswith("-") else line.replace("+", " ", 1) if line.lstrip()[:1] == "+" else line
    return "" if language in _OTHER_SHELLS and _OTHER_SIGNS.search(line) else line


def _without_comments_of_rst(lines: Sequence[str]) -> Iterator[str]:
    """Source: reStructuredText Markup Specification, "Explicit Markup Blocks" and "Comments"."""
    indent, language = -1, ""
    """Of the block that is looked at; its language, "#" of a comment."""
    for number, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth <= indent:
            indent, language = -1, ""
        found = _EXPLICIT.match(line) if indent < 0 else None
        if found is not None:
            block = _BLOCK.match(found[2] or "")
            is_empty = found[2] is None and not "".join(lines[number + 1 : number + 2]).strip()
            if block is not None:
                indent, language = depth, block[1].lower()
            elif not is_empty and _NO_COMMENT.match(found[2] or "") is None:
                indent, language = depth, "#"
        yield "" if language == "#" else _line_of(language, line) if found is None else line


def is_code(line: str, *, is_rst: bool) -> bool:
    """A line outside of quotes and fences is one that is typed, not one of a sentence."""
    return "\n" in line or (_INDENTED if is_rst else _CODE).match(line) is not None or _CODE.match(line) is not None


def reads_as_command(words: Sequence[str]) -> bool:
    """The words behind a script, where they may be those of a sentence: each that could be one is that of an option."""
    before = ""
    for word in words:
        if _WORD_OF_A_SENTENCE.fullmatch(word) and (_OPTION.fullmatch(before) is None or not word.isalpha()):
            return False
        before = word
    return True
