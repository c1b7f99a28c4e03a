"""Text of others made printable: one function for each kind of place in which it is shown.

Names of files, classes and attributes, messages of exceptions, lines of source and keys of checkpoints are written by
whoever wrote the repository. A terminal obeys control characters, a log of CI obeys lines of a certain form, a comment
is Markdown. What is shown of others goes through here; what cannot be shown is written out, as `\\x1b` or `\\u202e`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping

_PLAIN = re.compile(r"[ -~]*\Z")
_FOREIGN = re.compile(r"[^ -~]")
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0d\uffa0\U000e0000-\U000e0fff]")
"""Letters and marks for Python that show nothing. Source: Default_Ignorable_Code_Point of Unicode; the two variation
selectors of emoji are let through."""
_COMMAND = re.compile(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)
"""Anywhere in a line, the beginning of a command to GitHub, Azure or TeamCity. Sources: `ActionCommand.TryParse` of
actions/runner, "Logging commands" of Azure Pipelines, "Service messages" of TeamCity."""
_STYLE = re.compile(r"\x1b\[(?:0|[12](?:;3[1-6])?|3[1-6])m")
"""What `painted` writes, and nothing else: neither concealed nor blinking text, and no background."""
_AT_START = re.compile(rf"((?:\s|{_STYLE.pattern})*)::")
"""A workflow command of GitHub, which looks past space. Source: `ActionCommand.TryParseV2` of actions/runner."""
_SGR = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}


def acts(char: str) -> bool:
    """Whether a character does something instead of being seen: it controls, turns the direction of writing, ends a
    line, is invisible, is half of a pair, or has no meaning at all. A space of any width is seen."""
    if char.isprintable():
        return _UNSEEN.match(char) is not None
    return unicodedata.category(char) != "Zs"


def control_in(text: str) -> str | None:
    """The first character of `text` that controls, ends a line, is invisible or turns the direction of writing, written
    out; None where there is none. Half a character, as in a file name that is not UTF-8, is none of them."""
    for found in _FOREIGN.finditer(text):
        if acts(found[0]) and unicodedata.category(found[0]) not in ("Cs", "Co", "Cn"):
            return _written_out(found)
    return None


def printable(text: str) -> str:
    """`text` on one line of a terminal or a log: nothing in it acts, and it ends no line."""
    return _COMMAND.sub(r"#\\x23", text if _PLAIN.match(text) else _FOREIGN.sub(_written_out, text))


def excerpt(text: str) -> str:
    """A line of source: as `printable`, each character one character still, so that a caret stands below its own. Tabs
    are kept."""
    shown = text if _PLAIN.match(text) else _FOREIGN.sub(_kept_or("\ufffd", "\t"), text)
    return _COMMAND.sub("#\ufffd", shown)


def block(text: str, *, styled: bool = False) -> str:
    """Lines for a terminal or a log, as they are sent there: nothing in them acts, and none is a command to CI.

    Args:
        text: its line ends are kept, so that a name in it must be on one line already.
        styled: keep what `painted` writes.
    """
    return "\n".join(_block_line(line, styled) for line in text.split("\n"))


def painted(text: str, style: str) -> str:
    """`text` in a style such as "bold red"."""
    return f"\033[{';'.join(_SGR[word] for word in style.split())}m{text}\033[0m"


def place(file: str | None, line: int | None = None, column: int | None = None) -> str:
    """ "model.py:12:9", as editors and scripts take it apart: a name that looks like a place is written out."""
    name = None if file is None else re.sub(r":(?=[\d\s]|\Z)", r"\\x3a", printable(file))
    return ":".join(str(part) for part in (name, line, column) if part is not None)


def clean(text: str) -> str:
    """`text` on one line of a picture or a page, without what acts; what is no character is U+FFFD."""
    if text.isascii() and text.isprintable() and "##" not in text:
        return text
    return _COMMAND.sub("## ", text.translate(_CLEAN))


class _Clean(dict[int, str]):
    """What stands for each character, found out when it is first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        if char in "\t\r\n\v\f\u2028\u2029":
            shown = " "
        elif category in ("Cs", "Cn") or code in (0xFFFE, 0xFFFF):
            shown = "\ufffd"
        else:
            shown = "" if category in ("Cc", "Cf") or _UNSEEN.match(char) else char
        if len(self) < _MAX_CLEAN:
            self[code] = shown
        return shown


_MAX_CLEAN = 10_000
_CLEAN = _Clean()


def json_text(dumped: str) -> str:
    """JSON as it is written: what acts stands as `\\u001b` in its strings, which says the same to every reader."""
    if dumped.isascii() and "\x7f" not in dumped and "##" not in dumped:
        return dumped
    return _COMMAND.sub(r"#\\u0023", re.sub(r"[^ -~\n]", _json_character, dumped))


def xml_text(text: str) -> str:
    """`text` for XML, not escaped yet: what acts is U+FFFD, besides tabs and line ends."""
    return _COMMAND.sub("#\ufffd", _FOREIGN.sub(_kept_or("\ufffd", "\t\n"), text))


def workflow_command(name: str, properties: Mapping[str, object], message: str) -> str:
    """A command to GitHub Actions. Source: "Workflow commands for GitHub Actions", and the escaping of
    `@actions/core`."""
    given = ",".join(
        f"{key}={_percent(str(value)).replace(':', '%3A').replace(',', '%2C')}" for key, value in properties.items()
    )
    return f"::{name} {given}::{_percent(message)}"


# --- Markdown ------------------------------------------------------------------------------------------------------

_LIVE = re.compile(
    r"""@ | :/ | \bwww\. | \b(?:mailto|xmpp|tel):  # people, and addresses
    | :[\w+-]+:                                    # small pictures
    | \$                                           # formulas
    | [#!%~&^]["\w] | \bGH-\d                      # issues, requests, milestones, labels, epics
    | \b[0-9a-f]{7,40}\b                           # commits
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""GitHub and GitLab look for these in the text that comes out, where no escape of Markdown helps: code does."""
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~&]")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "&#124;"}
_LONGEST_MARKER = 500
_BEGINNING = re.compile(r"(?=[-+=/])|(?<=\d)(?=[.)])")
"""Where a backslash keeps a line from being a list, an underlined heading, or a quick action of GitLab."""


def markdown(text: str) -> str:
    """`text` within a line of Markdown: it is shown, and nothing in it is a link, a picture, a tag or a person."""
    words = [
        markdown_code(word) if _LIVE.search(word) else _SPECIAL.sub(_markdown_character, word)
        for word in printable(" ".join(text.split())).split(" ")
    ]
    if (first := re.match(r"[-+=/]|\d{1,9}[.)]", words[0])) is not None:
        words[0] = _BEGINNING.sub(r"\\", first[0], count=1) + words[0][first.end() :]
    return " ".join(words)


def markdown_code(text: str) -> str:
    """`text` as code within a line: the fence is longer than any in it, and no character of it ends a line."""
    plain = printable(" ".join(text.split()))
    if not plain:
        return ""
    fence = "`" * (_longest_fence(plain) + 1)
    space = " " if "`" in plain else ""
    return f"{fence}{space}{plain}{space}{fence}"


def in_cell(written: str) -> str:
    """What `markdown` or `markdown_code` wrote, in a cell of a table: there a bar has a backslash inside code too."""
    return written.replace("|", "\\|")


def markdown_block(text: str, language: str = "text") -> str:
    """Lines as a block of code: the fence is longer than any in them."""
    fence = "`" * max(3, _longest_fence(text) + 1)
    return f"{fence}{language}\n{block(text.rstrip(chr(10)))}\n{fence}"


def comment_marker(target: str) -> str:
    """The comment of HTML by which a job finds again what it wrote on a target: one line, another one for every target,
    and closed by nothing in it."""
    shown = re.sub(r"[^ -~]|[%<>@]|(?<=-)-|(?<=#)#", _percent_character, target)
    if len(shown) > _LONGEST_MARKER:
        from hashlib import sha256

        digest = sha256(target.encode("utf-8", "surrogatepass")).hexdigest()
        shown = f"{shown[: _LONGEST_MARKER // 2]}%{digest}"
    return f"<!-- modgraph:{shown} -->"


# --- characters ----------------------------------------------------------------------------------------------------


def _written_out(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1] if acts(found[0]) else found[0]


def _kept_or(instead: str, kept: str) -> Callable[[re.Match[str]], str]:
    return lambda found: instead if found[0] not in kept and acts(found[0]) else found[0]


def _block_line(line: str, styled: bool) -> str:
    if not _PLAIN.match(line):
        parts, end = [], 0
        for style in _STYLE.finditer(line) if styled else ():
            parts += [_FOREIGN.sub(_tab_or_written_out, line[end : style.start()]), style[0]]
            end = style.end()
        line = "".join([*parts, _FOREIGN.sub(_tab_or_written_out, line[end:])])
    return _AT_START.sub(r"\1\\x3a:", _COMMAND.sub(r"#\\x23", line), count=1) if ":" in line or "#" in line else line


def _tab_or_written_out(found: re.Match[str]) -> str:
    return "\t" if found[0] == "\t" else _written_out(found)


def _json_character(found: re.Match[str]) -> str:
    if not acts(found[0]):
        return found[0]
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _percent(text: str) -> str:
    return printable(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _percent_character(found: re.Match[str]) -> str:
    char = found[0]
    if char > "~" and not acts(char) and not char.isspace():
        return char
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _markdown_character(found: re.Match[str]) -> str:
    return _ENTITIES.get(found[0]) or f"\\{found[0]}"


def _longest_fence(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
