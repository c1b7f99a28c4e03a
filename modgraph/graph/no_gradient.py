"""Parameters to which the backward pass brought no gradient, and why, where the recorded run tells it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from modgraph.graph.dataflow import operation_word
from modgraph.graph.index import parents_of
from modgraph.graph.model import Graph, ModuleNode, Operation, ParameterInfo
from modgraph.graph.paths import parameter_path

FROZEN = "requires_grad=False"
NEVER_USED = "never used in the forward"
NO_OUTPUT = "used, but nothing that comes of it reaches an output"
NOT_KNOWN = "no gradient came back; it may be used under no_grad, or not at all"
_CUTTING_WORDS = """
    detach argmax argmin argsort eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_not
    nonzero one_hot multinomial bernoulli searchsorted bucketize long int bool sign
"""
_CUTTING = frozenset(_CUTTING_WORDS.split())
"""Operations through whose result no gradient goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutGradient:
    """A parameter that got none."""

    parameter: str
    """Its first path."""
    reason: str


def without_gradient(graph: Graph) -> tuple[WithoutGradient, ...]:
    """Those of a run whose backward pass was asked for and came to its end; in the order of the modules."""
    if not graph.model.backward or any(call.error for call in graph.calls):
        return ()
    if any(problem.stage == "trace" for problem in graph.problems):
        return ()
    reached = {gradient.name for gradient in graph.parameter_gradients}
    reasons = _Reasons(graph)
    return tuple(
        WithoutGradient(parameter=path, reason=reasons.of(node, held, path))
        for node, held, path in parameters_of(graph)
        if path not in reached
    )


def parameters_of(graph: Graph) -> list[tuple[ModuleNode, ParameterInfo, str]]:
    """Each parameter once, with its first path, of the modules that were there."""
    return [
        (node, held, parameter_path(node.path, held.name))
        for node in graph.modules
        if node.alias_of is None and node.observed and node.registered
        for held in node.parameters
        if held.alias_of is None
    ]


class _Reasons:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._next: defaultdict[str, list[str]] = defaultdict(list)
        for edge in graph.edges:
            self._next[edge.producer].append(edge.consumer)
        self._operations = {operation.id: operation for operation in graph.operations}
        self._parents = parents_of(node.path for node in graph.modules)
        containers = {call.parent for call in graph.calls}
        self._leaves: defaultdict[str, list[str]] = defaultdict(list)
        for call in graph.calls:
            if call.index not in containers:
                self._leaves[call.module].append(f"call:{call.index}")

    def of(self, node: ModuleNode, held: ParameterInfo, path: str) -> str:
        """Why that parameter of that module got none."""
        if held.trainable is False:
            return FROZEN
        users = [*self._next[f"param:{path}"], *self._around(node.path)]
        if not users:
            return NEVER_USED
        if self._reached(users, past_cuts=False)[0]:
            return NOT_KNOWN
        leads, cuts = self._reached(users, past_cuts=True)
        if not leads:
            return NO_OUTPUT
        return f"what comes of it reaches an output through {_said(cuts[0])} alone, which passes no gradient on"

    def _around(self, path: str | None) -> list[str]:
        """Calls without calls inside of the module, and of those around it: they may use it in a way that is not
        seen."""
        found: list[str] = []
        while path is not None:
            found += self._leaves[path]
            path = self._parents[path]
        return found

    def _reached(self, users: list[str], *, past_cuts: bool) -> tuple[bool, list[Operation]]:
        """Whether an output is reached, and the operations on the way through which no gradient goes."""
        seen = set(users)
        pending, cuts, leads = list(users), [], False
        while pending:
            node = pending.pop()
            operation = self._operations.get(node)
            if operation is not None and _cuts(operation):
                cuts.append(operation)
                if not past_cuts:
                    continue
            leads = leads or node.startswith("output:")
            for after in self._next[node]:
                if after not in seen:
                    seen.add(after)
                    pending.append(after)
        return leads, sorted(cuts, key=lambda cut: int(cut.id.partition(":")[2]))


def _cuts(operation: Operation) -> bool:
    return operation.name == "torch.Tensor.data.__get__" or operation_word(operation.name) in _CUTTING


def _said(operation: Operation) -> str:
    word = "data" if operation.name.endswith(".__get__") else operation_word(operation.name)
    place = f" ({operation.source.file}:{operation.source.line})" if operation.source is not None else ""
    return f"op {word}{place}"
