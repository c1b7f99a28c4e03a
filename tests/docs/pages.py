"""The fenced blocks of a page, and the commands in them.

As the test folders are no packages, load this file by its path: `runpy.run_path(path)`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

PROGRAMS = ("modgraph", "python", "pip", "git", "npm", "pytest", "ruff", "mypy", "bash", "mkdocs")
"""What a line begins with that is a command without a `$ ` before it."""
_FENCE = re.compile(r"^(?P<mark>`{3,})(?P<language>[\w-]*)\s*$")
_INLINE = re.compile(r"`((?:\w+=\S+ )?modgraph (?:analyze|check|diff|render) [^`]+)`")


@dataclass
class Command:
    """One line for a shell."""

    line: int
    text: str
    shown: list[str] | None = None
    """The lines below it that say what it prints; None where nothing is shown."""


@dataclass
class Block:
    """One fenced block."""

    line: int
    """Of the fence, from 1."""
    heading: str
    """The heading it stands below, without its signs."""
    language: str
    text: str
    commands: list[Command] = field(default_factory=list)


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    heading, mark, begun = "", "", 0
    body: list[str] = []
    language = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if mark and line.strip() == mark:
            block = Block(begun, heading, language, "\n".join(body))
            block.commands = _commands(block)
            found.append(block)
            mark = ""
        elif mark:
            body.append(line)
        elif fence:
            mark, language, begun, body = fence["mark"], fence["language"], number, []
        elif line.startswith("#"):
            heading = line.lstrip("# ")
    assert not mark, f"{path}:{begun}: a fence without an end"
    return found


def _commands(block: Block) -> list[Command]:
    lines = block.text.splitlines()
    if block.language in ("", "text", "console") and lines and lines[0].startswith("$ "):
        return _session(lines, block.line)
    if block.language in ("", "console", "sh"):
        return [
            Command(block.line + n, line)
            for n, line in enumerate(lines, start=1)
            if line.partition(" ")[0].strip("`") in PROGRAMS
        ]
    return []


def _session(lines: list[str], first: int) -> list[Command]:
    found: list[Command] = []
    for n, line in enumerate(lines, start=1):
        if line.startswith("$ "):
            found.append(Command(first + n, line[2:], []))
        else:
            shown = found[-1].shown
            assert shown is not None
            shown.append(line)
    return found


def inline(path: Path) -> list[Command]:
    """Commands of modgraph in the running text and in tables."""
    found: list[Command] = []
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        inside ^= line.startswith("```")
        if not inside:
            found += [Command(number, match.group(1)) for match in _INLINE.finditer(line)]
    return found


def steps(text: str) -> list[list[str]]:
    """The words of each program in a line of a shell; comments are left out, `&&` and `;` divide."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    found: list[list[str]] = [[]]
    for word in lexer:
        if word in ("&&", ";"):
            found.append([])
        else:
            found[-1].append(word)
    return [step for step in found if step]


def matches(shown: list[str], printed: str) -> bool:
    """What is shown is what was printed; a line `...` stands for any lines, and `...` in a line for any words."""
    pattern = ""
    for line in _trimmed(shown):
        pattern += r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(re.escape("..."), ".*?") + "\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _trimmed(printed.splitlines()))) is not None


def _trimmed(lines: list[str]) -> list[str]:
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    return text.split("\n") if text else []
