"""Calls of a class in its own file, also below `if __name__ == "__main__":` and inside functions."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.arguments.call_sites import call_sites, names_of
from modgraph.arguments.command_lines import CommandLines
from modgraph.arguments.conditions import ways_to
from modgraph.arguments.constructor import Constructor
from modgraph.arguments.followed import followed
from modgraph.arguments.importable import Importable
from modgraph.names import last_name
from modgraph.prediction.calls_elsewhere import ReachedCall

MAX_CALLS = 3
"""Calls of one file that are taken."""
MAX_WORK = 4_000_000
"""Units of work after which no further way to start it is tried."""


def calls_in_file(constructor: Constructor, lines: CommandLines) -> Iterator[ReachedCall]:
    """The calls, those first of which the text alone says all.

    Args:
        lines: those of the project.
    """
    target = constructor.target
    for (positional, keywords), line in list(constructor.file.known_calls(target.name))[:MAX_CALLS]:
        yield ReachedCall(positional, keywords, target.relative_file, line)
    sites = call_sites(constructor.file.tree, target.name)
    if sites is None or target.file is None:
        return
    importable = Importable(target, constructor.file.module, constructor.finder)
    name_of = importable.named_in(constructor.finder)
    ways = ways_to(constructor.file.tree, names_of(constructor.file.tree, last_name(target.name)))
    looked = followed(target, sites, constructor, name_of, lines, ways=ways, most=MAX_CALLS, most_work=MAX_WORK)
    yield from looked.found or looked.partly[:1]
