"""Calls of a class in its own file, also below `if __name__ == "__main__":` and inside functions."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.arguments.call_sites import call_sites
from modgraph.arguments.constructor import Constructor
from modgraph.arguments.data_files import data_beside
from modgraph.arguments.importable import Importable
from modgraph.prediction.calls_elsewhere import CallsElsewhere, ReachedCall

MAX_CALLS = 3
"""Calls of one file that are taken."""


def calls_in_file(constructor: Constructor) -> Iterator[ReachedCall]:
    """The calls, those first of which the text alone says all."""
    target = constructor.target
    for (positional, keywords), line in list(constructor.file.known_calls(target.name))[:MAX_CALLS]:
        yield ReachedCall(positional, keywords, target.relative_file, line)
    sites = call_sites(constructor.file.tree, target.name)
    if sites is None or target.file is None:
        return
    importable = Importable(target, constructor.file.module, constructor.finder)
    looked = CallsElsewhere(
        target,
        (target.file, target.name),
        importable.named_in(constructor.finder),
        most=MAX_CALLS,
        data_of=data_beside(str(target.file)),
    )
    looked.look(sites.scopes, sites.names, in_script=sites.in_script)
    yield from looked.found or looked.partly[:1]
