"""Calls of a class in its own file, also below `if __name__ == "__main__":` and inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.arguments.call_sites import CallSites, call_sites, names_of
from modgraph.arguments.command_lines import CommandLines
from modgraph.arguments.conditions import Way, ways_to
from modgraph.arguments.constructor import Constructor
from modgraph.arguments.followed import followed
from modgraph.arguments.importable import Importable
from modgraph.arguments.kept_answers import kept
from modgraph.arguments.passed_on import Calls, in_package, telling
from modgraph.names import last_name
from modgraph.prediction.calls_elsewhere import ReachedCall
from modgraph.prediction.domain.limits import MAX_ELSEWHERE_WORK

MAX_CALLS = 3
"""Calls of one file that are taken."""
MAX_WORK = 4_000_000
"""Units of work after which no further way to start it is tried."""
MAX_WORK_BESIDE = 1_000_000
"""The same, where an answer is there."""


def calls_in_file(constructor: Constructor, lines: CommandLines, *, beside: bool) -> Iterator[ReachedCall]:
    """The calls, those first of which the text alone says all.

    Args:
        lines: those of the project.
        beside: an answer is there, and a call counts only where all is known that it gives.
    """
    target = constructor.target
    for (positional, keywords), line in list(constructor.file.known_calls(target.name))[:MAX_CALLS]:
        yield ReachedCall(positional, keywords, target.relative_file, line)
    if target.file is None:
        return
    packaged = in_package(target.file)
    question = ("calls in its file", last_name(target.name), beside, packaged)
    tree = constructor.file.tree
    sites, ways = kept(
        constructor.file.module.text, question, lambda: _read(tree, last_name(target.name), beside, packaged)
    )
    if sites is None:
        return
    importable = Importable(target, constructor.file.module, constructor.finder)
    name_of = importable.named_in(constructor.finder)
    once, work = (MAX_WORK_BESIDE, MAX_WORK_BESIDE) if beside else (MAX_ELSEWHERE_WORK, MAX_WORK)
    looked = followed(
        target, sites, constructor, name_of, lines, ways=ways, most=MAX_CALLS, most_work=work, most_once=once
    )
    yield from looked.found or looked.partly[:1]


def _read(tree: ast.Module, name: str, beside: bool, packaged: bool) -> tuple[CallSites | None, list[Way]]:
    sites = call_sites(tree, name)
    left = None if sites is None else telling(tree, Calls(sites, of_class=True, whole=beside), packaged=packaged)
    return left, [] if left is None else ways_to(tree, names_of(tree, name))
