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
_FOREIGN = re.compile(r"[^ -~]+")
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\ufffc"
    "\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
"""Letters, marks and symbols for Python that show nothing. Sources: Default_Ignorable_Code_Point of Unicode, where the
two variation selectors of emoji are let through; and what its charts draw as blank: Braille without dots, the null note
head, the filler of Khitan; and what stands for an object that is not there."""
_MOST_MARKS = 4
"""Marks on one base: no writing has more, and hundreds cover the lines above and below."""
_SELECTORS = "\ufe0e\ufe0f"
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
    for run in _FOREIGN.finditer(text):
        for char in run[0]:
            if acts(char) and unicodedata.category(char) not in ("Cs", "Co", "Cn"):
                return _written_out(char)
    return None


def printable(text: str) -> str:
    """`text` on one line of a terminal or a log: nothing in it acts, and it ends no line."""
    return _COMMAND.sub(r"#\\x23", text if _PLAIN.match(text) else _FOREIGN.sub(_acting(_written_out), text))


def excerpt(text: str) -> str:
    """A line of source: as `printable`, each character one character still, so that a caret stands below its own. Tabs
    are kept."""
    shown = text if _PLAIN.match(text) else _FOREIGN.sub(_acting(_kept_or("\ufffd", "\t")), text)
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
    return _COMMAND.sub("## ", _FOREIGN.sub(_acting(lambda _: ""), text.translate(_CLEAN)))


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
    return _COMMAND.sub(r"#\\u0023", re.sub(r"[^ -~\n]+", _acting(_json_character), dumped))


def xml_text(text: str) -> str:
    """`text` for XML, not escaped yet: what acts is U+FFFD, besides tabs and line ends."""
    return _COMMAND.sub("#\ufffd", _FOREIGN.sub(_acting(_kept_or("\ufffd", "\t\n")), text))


def workflow_command(name: str, properties: Mapping[str, object], message: str) -> str:
    """A command to GitHub Actions. Source: "Workflow commands for GitHub Actions", and the escaping of
    `@actions/core`."""
    given = ",".join(
        f"{key}={_percent(str(value)).replace(':', '%3A').replace(',', '%2C')}" for key, value in properties.items()
    )
    return f"::{name} {given}::{_percent(message)}"


# --- Markdown ------------------------------------------------------------------------------------------------------

_LIVE = re.compile(
    r"""@ | :/ | www\. | (?:mailto|xmpp|tel):        # people, and addresses
    | :[\w+-]+:                                      # small pictures
    | \$                                             # formulas
    | [#!%~&^]["\w] | (?<![^\W_])G[HL]-\d            # issues, requests, milestones, labels, epics
    | (?<![^\W_])GHSA- | [\w.-]/[\w.-]+>             # advisories, projects
    | (?<![^\W_])[0-9a-f]{7,40}(?![^\W_])            # commits
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""GitHub and GitLab look for these in the text that comes out, where no escape of Markdown helps: code does. They look
behind an underscore too. A key such as `PROJ-123` is left: it is a link only where the owners of a project have named
their own tracker, it leads nowhere else, and its form is that of `UTF-8` and `SHA-256`."""
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~&]")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "&#124;"}
_LONGEST_MARKER = 500
_BEGINNING = re.compile(r"(?=[-+=/:])|(?<=\d)(?=[.)])")
"""Where a backslash keeps a line from being a list, an underlined heading, a quick action of GitLab, or a command in a
log."""


def markdown(text: str) -> str:
    """`text` within a line of Markdown: it is shown, and nothing in it is a link, a picture, a tag or a person."""
    words = [
        _live_word(word) if _LIVE.search(word) else _SPECIAL.sub(_markdown_character, word)
        for word in printable(" ".join(text.split())).split(" ")
    ]
    if (first := re.match(r"[-+=/:]|\d{1,9}[.)]", words[0])) is not None:
        words[0] = _BEGINNING.sub(r"\\", first[0], count=1) + words[0][first.end() :]
    return " ".join(words)


def _live_word(word: str) -> str:
    """A word as code, without the punctuation of the sentence that it stands in."""
    inner = word.lstrip("(")
    end, unopened = len(inner), inner.count(")") - inner.count("(")
    while end and (inner[end - 1] in ".,;" or (inner[end - 1] == ")" and unopened > 0)):
        end -= 1
        unopened -= inner[end] == ")"
    return word[: len(word) - len(inner)] + markdown_code(inner[:end]) + inner[end:] if end else markdown_code(word)


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


_FORMULA = re.compile(r"[\s'\"]*[=+\-@\uff0b\uff0d\uff1d\uff20]")
"""What a spreadsheet computes, or asks another program for. Source: "CSV Injection" of OWASP, whose list has the wide
forms too; it looks past space and quotes."""


def csv_field(text: str) -> str:
    """`text` in a field of CSV, not quoted yet: nothing in it acts, it ends no line, and no spreadsheet computes it."""
    shown = printable(text)
    return f"'{shown}" if _FORMULA.match(shown) else shown


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


def _acting(written: Callable[[str], str]) -> Callable[[re.Match[str]], str]:
    """Of a run of characters that are not ASCII, what acts as `written` has it, and the others as they are. A mark acts
    that is one too many on its base, and a variation selector that selects nothing: neither can be told by itself."""

    def shown(run: re.Match[str]) -> str:
        parts: list[str] = []
        marks, selected, base = 0, False, run.string[run.start() - 1 : run.start()]
        for at, char in enumerate(run[0], run.start()):
            acting = acts(char)
            if char < "\u0300" or unicodedata.category(char) not in ("Mn", "Me"):
                marks, selected, base = 0, False, char
            else:
                marks += 1
                if char in _SELECTORS:
                    acting = selected or marks > 1 or not _has_pictures(base, run.string[at + 1 : at + 2])
                    selected = True
                acting = acting or marks > _MOST_MARKS
            parts.append(written(char) if acting else char)
        return "".join(parts)

    return shown


def _has_pictures(base: str, behind: str) -> bool:
    """Whether a variation selector makes a difference: on a symbol, or within a key cap; `a` looks the same with it."""
    return base == "\u2139" or behind == "\u20e3" or not (base in ("", "_") or base.isalnum())


def _written_out(char: str) -> str:
    return ascii(char)[1:-1]


def _kept_or(instead: str, kept: str) -> Callable[[str], str]:
    return lambda char: char if char in kept else instead


def _kept_tab(char: str) -> str:
    return char if char == "\t" else _written_out(char)


def _block_line(line: str, styled: bool) -> str:
    if not _PLAIN.match(line):
        parts, end = [], 0
        for style in _STYLE.finditer(line) if styled else ():
            parts += [_FOREIGN.sub(_acting(_kept_tab), line[end : style.start()]), style[0]]
            end = style.end()
        line = "".join([*parts, _FOREIGN.sub(_acting(_kept_tab), line[end:])])
    return _AT_START.sub(r"\1\\x3a:", _COMMAND.sub(r"#\\x23", line), count=1) if ":" in line or "#" in line else line


def _json_character(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
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
