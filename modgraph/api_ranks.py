"""`modgraph.merge_ranks`: the graphs of the processes that a model runs in as one."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import overload

from modgraph.api import load
from modgraph.errors import ConfigError
from modgraph.graph.model import Graph
from modgraph.graph.repeats import mark_repeats

TIMEOUT = 60.0
"""Seconds that rank 0 waits for the others."""


@overload
def merge_ranks(graphs: Graph, *, timeout: float = TIMEOUT) -> Graph | None: ...
@overload
def merge_ranks(graphs: Sequence[Graph | str | os.PathLike[str]]) -> Graph: ...


def merge_ranks(graphs: Graph | Sequence[Graph | str | os.PathLike[str]], *, timeout: float = TIMEOUT) -> Graph | None:
    """The graphs of all processes as one: what all did is there once, what only some did says which.

    In a process of `torchrun`, with `torch.distributed` initialised, called in every process with its own graph:

        graph = modgraph.merge_ranks(modgraph.trace(model, (x,)))
        if graph is not None:
            graph.save("net.json")

    Args:
        graphs: the graph of this process; or those of all, as graphs or as files of them, in any order.
        timeout: seconds that rank 0 waits for the graphs of the others. One that does not come, because its process
            has failed, makes the graph partial, and is named in `problems`.

    Returns:
        The merged graph; where it is gathered, None on every rank but 0. The graph itself where there is one process.

    Raises:
        GraphError: a file is no graph; a graph does not say its rank, two say the same, or they are of different runs.
        TraceError: the process that holds the store of `torch.distributed` has ended.
        ConfigError: the time limit is no number of seconds.
    """
    from modgraph.ranks import merge_ranks as merged

    if not isinstance(graphs, Graph):
        return mark_repeats(merged([one if isinstance(one, Graph) else load(os.fspath(one)) for one in graphs]))
    if not timeout > 0:
        raise ConfigError(f"timeout is a number of seconds above 0, not {timeout!r}")
    if "torch" not in sys.modules:
        return graphs
    from modgraph.graph.serial import from_json
    from modgraph.tracing.gathering import gathered, is_initialised

    if not is_initialised():
        return graphs
    found = gathered(graphs.to_json(), timeout)
    if found is None:
        return None
    texts, reasons = found
    others = [from_json(text) for rank, text in texts.items() if rank]
    return mark_repeats(merged([graphs, *others], missing=reasons))
