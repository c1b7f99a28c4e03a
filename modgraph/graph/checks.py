"""What must hold of a graph, whoever made it: one check per sentence of `model.py`.

Every look-up of the exports relies on these, so that none of them has to ask again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from modgraph.errors import GraphError
from modgraph.graph.index import parents_of
from modgraph.graph.model import (
    BackwardRecord,
    BufferInfo,
    Call,
    Edge,
    Finding,
    Gap,
    Graph,
    ModelInfo,
    ModuleNode,
    Operation,
    ParameterInfo,
    Problem,
    Stage,
)
from modgraph.graph.paths import parameter_path
from modgraph.options import Device, Mode

_PRODUCERS = frozenset({"call", "op", "input", "param", "const"})
_CONSUMERS = frozenset({"call", "op", "output"})


def check(graph: Graph) -> None:
    """Nothing, where every index and path of `graph` names what is there, and no two facts contradict each other.

    Raises:
        GraphError: the first sentence of `model.py` that does not hold.
    """
    paths = {node.path for node in graph.modules}
    parents = parents_of(paths)
    tensors = _tensor_paths(graph.modules)
    _check_model(graph.model)
    _check_halves(graph.modules)
    for node in graph.modules:
        _check_module(node, len(graph.calls))
        _check_repeat(node, parents)
        _check_tensors(node, tensors)
    _check_calls(graph.calls, graph.modules, paths)
    operations = _check_operations(graph.operations, len(graph.calls))
    _check_edges(graph.edges, operations, tensors, graph.calls)
    _check_gaps(graph.gaps, len(graph.calls))
    _check_backward(graph.backward, paths, len(graph.calls))
    _check_remarks(graph.problems, graph.findings, paths)


def require(holds: bool, otherwise: str) -> None:
    """Raises GraphError with that text where something does not hold."""
    if not holds:
        raise GraphError(otherwise)


def _tensor_paths(modules: Iterable[ModuleNode]) -> dict[str, str | None]:
    """What each parameter and buffer, by its full path, is an alias of.

    Two may have one path (a buffer beside a parameter; "b.c" of "a", "c" of "a.b"): then the one that is no alias.
    """
    aliases: dict[str, str | None] = {}
    for node in modules:
        held: tuple[ParameterInfo | BufferInfo, ...] = (*node.parameters, *node.buffers)
        for tensor in held:
            path = parameter_path(node.path, tensor.name)
            aliases[path] = tensor.alias_of if path not in aliases or tensor.alias_of is None else aliases[path]
    return aliases


def _check_model(model: ModelInfo) -> None:
    modes, devices = get_args(Mode), get_args(Device)
    require(model.mode is None or model.mode in modes, f"the mode is one of {', '.join(modes)}, not {model.mode!r}")
    require(
        model.device is None or model.device in devices,
        f"the device is one of {', '.join(devices)}, not {model.device!r}",
    )


def _check_halves(modules: Sequence[ModuleNode]) -> None:
    """A half ran for the whole model, or did not run."""
    root = modules[0]
    for node in modules:
        for half in ("predicted", "observed"):
            ran, there = getattr(root, half) is not None, getattr(node, half) is not None
            require(ran == there, f"{half} is known of {(root if ran else node).path!r}, and not of all modules")


def _check_module(node: ModuleNode, n_calls: int) -> None:
    for index in node.calls:
        require(0 <= index < n_calls, f"module {node.path!r} names call {index}, of {n_calls}")
    require(len(set(node.calls)) == len(node.calls), f"module {node.path!r} names a call twice")
    require(not node.calls or node.observed is not False, f"module {node.path!r} was called, and does not exist")


def _check_repeat(node: ModuleNode, parents: Mapping[str, str | None]) -> None:
    if node.repeat is None:
        return
    group = node.repeat.group
    require(group in parents, f"{node.path!r} repeats {group!r}, which does not exist")
    siblings = parents[group] == parents[node.path]
    require(siblings, f"{node.path!r} repeats {group!r}, which is no sibling of it")
    require(node.repeat.count > 1, f"{node.path!r} is one of {node.repeat.count} that are alike")


def _check_tensors(node: ModuleNode, aliases: dict[str, str | None]) -> None:
    stores: tuple[tuple[str, Sequence[ParameterInfo | BufferInfo]], ...] = (
        ("parameter", node.parameters),
        ("buffer", node.buffers),
    )
    for kind, tensors in stores:
        names = [tensor.name for tensor in tensors]
        require(len(set(names)) == len(names), f"two {kind}s of {node.path!r} have one name")
        for tensor in tensors:
            first = tensor.alias_of
            if first is not None:
                what = f"{kind} {parameter_path(node.path, tensor.name)!r} is an alias of {first!r}"
                require(first in aliases, f"{what}, which does not exist")
                require(aliases[first] is None, f"{what}, which is an alias itself")


def _check_calls(calls: Sequence[Call], modules: Iterable[ModuleNode], paths: set[str]) -> None:
    for position, call in enumerate(calls):
        require(call.index == position, f"call {call.index} stands at position {position}")
        require(call.module in paths, f"call {call.index} names module {call.module!r}, which does not exist")
        require(
            call.parent is None or 0 <= call.parent < position,
            f"call {call.index} names call {call.parent} as its parent, which did not begin before it",
        )
    listed = {(node.path, index) for node in modules for index in node.calls}
    made = {(call.module, call.index) for call in calls}
    for path, index in sorted(listed ^ made):
        raise GraphError(f"module {path!r} and call {index} do not agree on whether the call was the module's")


def _check_operations(operations: Iterable[Operation], n_calls: int) -> set[str]:
    ids: set[str] = set()
    for operation in operations:
        require(_number(operation.id, "op") is not None, f"{operation.id!r} is no id of an operation, such as 'op:0'")
        require(operation.id not in ids, f"operation {operation.id} stands twice")
        _check_call_of(f"operation {operation.id}", operation.call, n_calls)
        ids.add(operation.id)
    return ids


def _check_edges(
    edges: Iterable[Edge], operations: set[str], tensors: dict[str, str | None], calls: Sequence[Call]
) -> None:
    containers = {call.parent for call in calls}
    for edge in edges:
        others = ((other, _PRODUCERS) for other in edge.or_from)
        require(
            edge.made_by is None or edge.made_by in operations, f"an edge is made by {edge.made_by!r}, no operation"
        )
        for end, kinds in ((edge.producer, _PRODUCERS), (edge.consumer, _CONSUMERS), *others):
            kind, _, rest = end.partition(":")
            require(kind in kinds and rest != "", f"{end!r} is no end of an edge")
            if kind == "call":
                index = _number(end, "call")
                require(index is not None and index < len(calls), f"an edge ends at {end!r}, of {len(calls)} calls")
                require(index not in containers, f"an edge ends at {end!r}, which made calls of its own")
            elif kind == "op":
                require(end in operations, f"an edge ends at {end!r}, which does not exist")
            elif kind == "param":
                require(rest in tensors, f"an edge ends at {end!r}, and no module has such a parameter or buffer")
            elif kind == "const":
                require(_number(end, "const") is not None, f"{end!r} is no end of an edge")


def _number(end: str, kind: str) -> int | None:
    """7 for "op:7"; None where it is not written just so."""
    digits = end.removeprefix(f"{kind}:")
    if digits == end or not (digits.isascii() and digits.isdecimal()) or str(int(digits)) != digits:
        return None
    return int(digits)


def _check_gaps(gaps: Iterable[Gap], n_calls: int) -> None:
    for gap in gaps:
        _check_call_of(f"a gap ({gap.kind})", gap.call, n_calls)


def _check_backward(records: Iterable[BackwardRecord], paths: set[str], n_calls: int) -> None:
    for record in records:
        require(record.module in paths, f"backward names module {record.module!r}, which does not exist")
        _check_call_of(f"backward of {record.module!r}", record.call, n_calls)


def _check_call_of(what: str, call: int | None, n_calls: int) -> None:
    require(call is None or 0 <= call < n_calls, f"{what} names call {call}, of {n_calls}")


def _check_remarks(problems: Iterable[Problem], findings: Iterable[Finding], paths: set[str]) -> None:
    for problem in problems:
        require(problem.stage in get_args(Stage), f"there is no stage {problem.stage!r} for a problem to be of")
    places = [place for problem in problems for place in problem.places]
    for what, remarks in (("problem", problems), ("place", places), ("finding", findings)):
        for remark in remarks:
            known = remark.module is None or remark.module in paths
            require(known, f"a {what} names module {remark.module!r}, which does not exist")
