"""A real run: a live module and its arguments -> Graph. Torch is imported here, and for the export of live models."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from modgraph.graph.events import Event
from modgraph.graph.model import Graph, ModelInfo
from modgraph.options import TraceOptions

if TYPE_CHECKING:
    from torch import nn


def trace_graph(
    model: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: TraceOptions,
    *,
    info: ModelInfo | None = None,
    emit: Callable[[Event], None] | None = None,
) -> Graph:
    """The graph of one run of `model(*args, **kwargs)`; the model is left as it was.

    Whatever the model raises ends in the graph, as a problem that names the module it failed in: only
    `KeyboardInterrupt` goes through.

    Args:
        info: name, target and inputs of the model, where the caller knows them; the rest is filled in.
        emit: is given each event when it happens (a worker writes it to its pipe).
    """
    from modgraph.tracing.run import trace

    return trace(model, args, kwargs, options, info=info, emit=emit)
