"""torch.fx: what it makes of a module by running it on stand-ins. Its own code writes programs, which to follow comes
to nothing: what it gives is not known.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import alias, models
from modgraph.prediction.domain.values import Value

_TRACING = "torch.fx._symbolic_trace"
alias("torch.fx.symbolic_trace", f"{_TRACING}.symbolic_trace")


@models(f"{_TRACING}.symbolic_trace", f"{_TRACING}.Tracer.trace")
def traced(arguments: Arguments, machine: Machine) -> Value:
    """It runs what it is given, which may change whatever that reaches."""
    why = machine.unknown("what torch.fx traces is not followed")
    machine.expose((*arguments.positional, *arguments.keywords.values()), why)
    return why
