"""Programs that change nothing of a shell: of which words it is known that they end well, or never end."""

from __future__ import annotations

import re
from collections.abc import Callable

from modgraph.arguments.shell_values import BASE, MANY
from modgraph.prediction.calls_elsewhere import OPEN

MAY_FAIL = frozenset(
    """
    ls cat head tail wc which free df du uname id nproc printenv touch nvidia-smi wget curl gdown unzip tar
    gunzip pip pip3 conda mamba module ml bash sh [ test wait grep basename dirname
    echo : true pwd date hostname whoami sleep tee yes
    """.split()  # noqa: SIM905 - a text is read with less effort
)
"""What follows runs with or without them."""
_TIME = re.compile(r"[0-9]{1,6}(?:\.[0-9]+)?[smhd]?", re.ASCII)
_FOLLOWS = re.compile(r"-[a-zA-Z0-9]*[fF].*|--f.*|--retry")
_DATE = ("-u", "--utc", "--universal", "-R", "-I", "--rfc-email")


def _any_words(_: list[str]) -> bool:
    return True


def _no_words(words: list[str]) -> bool:
    return not words


def _pwd(words: list[str]) -> bool:
    return all(each in ("-P", "-L") for each in words)


def _date(words: list[str]) -> bool:
    formats = [each for each in words if each not in _DATE]
    return len(formats) <= 1 and all(each.startswith("+") for each in formats)


def _sleep(words: list[str]) -> bool:
    return bool(words) and all(map(_TIME.fullmatch, words))


def _named(most: int) -> Callable[[list[str]], bool]:
    """Programs that make a name of a name: of words that are no options."""

    def ends_well(words: list[str]) -> bool:
        given = words[1:] if words[:1] == ["--"] else words
        is_plain = given is not words or not any(each.startswith(("-", OPEN)) for each in given)
        return 1 <= len(given) <= most and is_plain

    return ends_well


_ENDS_WELL: dict[str, Callable[[list[str]], bool]] = {
    **dict.fromkeys(["echo", ":", "true"], _any_words),
    **dict.fromkeys(["hostname", "whoami", "nproc"], _no_words),
    "pwd": _pwd,
    "date": _date,
    "sleep": _sleep,
    "basename": _named(2),
    "dirname": _named(1),
}


def ends_well(words: list[str]) -> bool:
    """It is known of a command that it does."""
    known = _ENDS_WELL.get(words[0]) if words else None
    return known is not None and (words[0] in ("echo", ":", "true") or MANY not in words) and known(words[1:])


def may_not_end(words: list[str]) -> bool:
    """It is not known of a command that something comes behind it."""
    name, rest = words[0], words[1:]
    if name == "sleep":
        return any(not _TIME.fullmatch(each) for each in rest)
    if name == "tail":
        return any(_FOLLOWS.fullmatch(each) or each[:1] in (OPEN, MANY) for each in rest)
    if name == "nvidia-smi":
        return any(each.startswith(("-l", "--l", "dmon", "pmon", "daemon")) for each in rest)
    if name == "free":
        return any(each.startswith(("-s", "-c", "--s", "--c")) for each in rest)
    return name == "yes"


def files_of_tee(words: list[str]) -> list[str] | None:
    """Those that it writes; None where that is not known."""
    files = [each for each in words[1:] if each not in ("-a", "-i", "--append")]
    return None if any(each.startswith(("-", MANY)) or each == BASE for each in files) else files
