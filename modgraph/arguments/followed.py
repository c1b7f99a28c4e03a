"""One file, followed to the calls of a class that it makes: as it runs without words, then as the project starts it,
then with the words that lead to a call which stands under a condition."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from modgraph.arguments.call_sites import CallSites
from modgraph.arguments.command_lines import CommandLines
from modgraph.arguments.composed import Composing
from modgraph.arguments.conditions import Way, words_for
from modgraph.arguments.constructor import Constructor
from modgraph.arguments.data_files import Opened, data_beside, links_beside
from modgraph.arguments.search_time import require_time, until
from modgraph.prediction.answer.found_arguments import NameOf
from modgraph.prediction.calls_elsewhere import CallsElsewhere, Data, ReachedCall
from modgraph.prediction.domain.asked_options import AskedOption
from modgraph.prediction.domain.limits import MAX_ELSEWHERE_WORK
from modgraph.source.files import text_of
from modgraph.source.targets import Built, Target, Unsaid

_CHANGING = "append|extend|insert|pop|remove|clear|reverse|sort|__\\w+__"
_WORDS_SET = re.compile(
    rf"\bargv\s*(?:\[[^\]\n]*\]\s*)?(?:\+=|=(?!=)|\.(?:{_CHANGING})\b)"
    # Under another name, or as an argument, which a function may change.
    r"|=\s*(?:sys\s*\.\s*)?argv\s*(?:$|[;#])|(?<!\blen)[(,]\s*(?:sys\s*\.\s*)?argv\s*[,)]",
    re.MULTILINE,
)


@dataclass
class Followed:
    """What became of it."""

    found: list[ReachedCall]
    """Calls of which all is known."""
    partly: list[ReachedCall]
    """Others, of which something is."""
    work: int
    """Units that it took."""
    options: dict[str, AskedOption] = field(default_factory=dict)
    """Those of the command line that it asks for."""


def followed(
    script: Target,
    sites: CallSites,
    constructor: Constructor,
    name_of: NameOf,
    lines: CommandLines,
    *,
    ways: Sequence[Way] = (),
    most: int,
    most_work: int,
    most_once: int = MAX_ELSEWHERE_WORK,
) -> Followed:
    """The calls of a class that a file comes to.

    Args:
        name_of: where what the script names is imported from in the process of the model.
        lines: those of the project.
        ways: what leads to the calls that stand under a condition.
        most: calls that are wanted.
        most_work: where it took as much, no further command line is tried.
        most_once: what it may take with one.
    """
    target, path = constructor.target, script.file
    assert target.file is not None
    assert path is not None
    wanted = (target.file, target.name)

    def look_with(words: tuple[str, ...] | None, opened: Opened) -> Followed:
        require_time()
        data = Data(data_beside(str(path), opened), links_beside(str(path)))
        compose = Composing(str(path), opened)
        says_all = partial(_says_all, constructor)
        looked = CallsElsewhere(script, wanted, name_of, most, data, words, says_all, compose, until(), most_once)
        looked.look(sites.scopes, sites.names, in_script=sites.in_script)
        return Followed(looked.found, looked.partly, looked.work, looked.options)

    def look(words: tuple[str, ...] | None) -> Followed:
        opened = Opened()
        looked = look_with(words, opened)
        return _with_files(looked, list(opened.paths), lambda *which: look_with(words, Opened(*which)), target)

    first = look(() if _sets_words(path) else None)
    work = first.work
    if first.found:
        return first
    found: list[ReachedCall] = []
    for words, where, is_said in _starts(first, path, target, lines, ways):
        if work > most_work or len(found) >= _MOST_BRANCHES:
            break
        again = look(words)
        work += again.work
        found += [replace(call, started_by=where) for call in again.found]
        if found and is_said:
            break
        first.partly = first.partly or [replace(call, started_by=where) for call in again.partly]
    return Followed(found, [], work) if found else replace(first, work=work)


_Following = Callable[["str | None", "str | None"], Followed]
"""Follows a script with one of its files hidden, or with another."""
_MOST_AGAIN = 2_000_000
"""Units of work of a script that is followed again to see which data file says what."""
_MOST_IN_ALL = 6_000_000
"""The same, of all times that it is followed for its files."""


def _with_files(looked: Followed, paths: list[str], with_other: _Following, target: Target) -> Followed:
    """The same, each call with the data files that say what it is given: where it is not known what such a file holds,
    the script comes to no such call, and neither does it where the file holds other values. The first alone would be
    true of one whose values another replaces. Where that is too much to ask of every file, none is named."""
    calls = (*looked.found, *looked.partly)
    if not calls or looked.work > _MOST_AGAIN or looked.work * len(paths) > _MOST_IN_ALL:
        return looked
    beside: dict[int, tuple[str, ...]] = {}
    for path in paths:
        lost = calls
        for hidden, changed in ((path, None), (None, path)):
            if lost:  # the work is not counted: what is found does not depend on what is said of it
                other = with_other(hidden, changed)
                lost = tuple(call for call in lost if call not in (*other.found, *other.partly))
        for call in lost:
            beside[id(call)] = (*beside.get(id(call), ()), relative(path, target))

    def told(calls: list[ReachedCall]) -> list[ReachedCall]:
        return [replace(call, with_files=beside.get(id(call), ())) for call in calls]

    return replace(looked, found=told(looked.found), partly=told(looked.partly))


_MOST_BRANCHES = 3
"""Calls under conditions that are named."""


def _starts(
    first: Followed, path: Path, target: Target, lines: CommandLines, ways: Sequence[Way]
) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    """Words with which the script may be started, how that is told, and whether the project says them: these first,
    then those that lead to a call."""
    started = list(lines.of(path))
    for command in started:
        yield command.words, f"{relative(command.file, target)}:{command.line}", True
    for further in dict.fromkeys(words_for(way, first.options) for way in ways):
        if further is not None:
            for words in ((), *(command.words for command in started[:1])):
                yield (*words, *further), shlex.join([path.name, *words, *further]), False


def _sets_words(path: Path) -> bool:
    """The script itself says words of its command line."""
    text = text_of(path)
    return text is not None and _WORDS_SET.search(text) is not None


def _says_all(constructor: Constructor, call: ReachedCall) -> bool:
    """Nothing is unsaid that `__init__` itself reads from an object that it is given."""
    bound = constructor.bound(call.positional, call.keywords) or {}
    return not any(
        isinstance(held, Unsaid) and name in constructor.reads(parameter)
        for parameter, value in bound.items()
        if isinstance(value, Built)
        for name, held in value.attributes or ()
    )


def relative(path: str, target: Target) -> str:
    """A file, as it lies to a target's."""
    return path if target.root is None else os.path.relpath(path, target.root).replace(os.sep, "/")
