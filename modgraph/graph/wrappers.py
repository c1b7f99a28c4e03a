"""Modules that torch puts around the user's to spread them over processes, seen through: the graph of what is inside.

`DistributedDataParallel(net)` holds `net` as its child "module", so that every path of the model, and every call of it,
has one more level. Here the child stands in the place of the wrapper, and says in `wrappers` what was around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from modgraph.graph.build import GraphBuilder
from modgraph.graph.index import name_below, parent_path
from modgraph.graph.measures import Profile, Verification
from modgraph.graph.model import (
    BackwardRecord,
    BufferInfo,
    Call,
    Edge,
    Graph,
    ModelInfo,
    ModuleNode,
    ParameterInfo,
    Problem,
    TensorInfo,
)
from modgraph.names import last_name

WRAPPERS: Mapping[str, str] = {
    "torch.nn.parallel.distributed.DistributedDataParallel": "module",
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel": "_fsdp_wrapped_module",
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper.CheckpointWrapper": "_checkpoint_wrapped_module",
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper.OffloadWrapper": "_checkpoint_wrapped_module",
}
"""The name of the wrapped child by the wrapper's class. A class derived from one of these is the user's own."""


def seen_through(graph: Graph) -> Graph:
    """The graph without the wrappers in it; itself where there are none."""
    paths = _Paths(graph)
    if not paths.wrapped:
        return graph
    calls = _Calls(graph, paths)
    builder = GraphBuilder(_model(graph, paths))
    builder.modules = _modules(graph, paths, calls)
    builder.calls = calls.kept
    builder.operations = [replace(one, call=calls.around(one.call)) for one in graph.operations]
    builder.edges = [_edge(edge, paths, calls) for edge in graph.edges]
    builder.gaps = [replace(gap, call=calls.around(gap.call)) for gap in graph.gaps]
    builder.backward = [_backward(one, paths, calls) for one in graph.backward if one.call not in calls.inside]
    builder.parameter_gradients = [_gradient(one, paths) for one in graph.parameter_gradients]
    builder.findings = [replace(one, module=paths.module(one.module)) for one in graph.findings]
    builder.problems = [_problem(one, paths) for one in graph.problems]
    builder.checkpoint = graph.checkpoint
    builder.verification = None if graph.verification is None else _verification(graph.verification, calls)
    builder.profile = None if graph.profile is None else _profile(graph.profile, calls)
    builder.stored = graph.stored
    builder.rank_differences = [replace(one, module=paths.module(one.module) or "") for one in graph.rank_differences]
    return builder.build()


def _problem(problem: Problem, paths: _Paths) -> Problem:
    places = tuple(replace(each, module=paths.module(each.module)) for each in problem.places)
    return replace(problem, module=paths.module(problem.module), places=places)


class _Paths:
    """What the paths are once the wrappers are gone."""

    def __init__(self, graph: Graph) -> None:
        classes = {node.path: node.class_name for node in graph.modules}
        self.wrapped: dict[str, str] = {}
        """The path of the child by that of the wrapper."""
        for path, class_name in classes.items():
            name = WRAPPERS.get(class_name or "")
            child = None if name is None else f"{path}.{name}" if path else name
            if child is not None and child in classes:
                self.wrapped[path] = child
        children = set(self.wrapped.values())
        self._new: dict[str, str] = {"": ""}
        for path in classes if self.wrapped else ():
            parent = parent_path(path, classes)
            if parent is None:
                continue
            above = self._new[parent]
            name = name_below(path, parent)
            self._new[path] = above if path in children else f"{above}.{name}" if above else name

    def module(self, path: str | None) -> str | None:
        return None if path is None else self._new.get(path, path)

    def tensor(self, path: str) -> str:
        """Of a parameter or buffer, by its full path."""
        owner = parent_path(path, self._new)
        if not owner:
            return path
        above, name = self._new[owner], name_below(path, owner)
        return f"{above}.{name}" if above else name


class _Calls:
    """The calls without those of wrappers that called what is inside them once, as they do."""

    def __init__(self, graph: Graph, paths: _Paths) -> None:
        inner: dict[int, list[Call]] = {}
        for call in graph.calls:
            if call.parent is not None and call.module == paths.wrapped.get(graph.calls[call.parent].module):
                inner.setdefault(call.parent, []).append(call)
        self.inside = {index: calls[0].index for index, calls in inner.items() if len(calls) == 1}
        """The call of what is inside, by that of the wrapper."""
        wrappers = {call: wrapper for wrapper, call in self.inside.items()}
        self._new: dict[int, int] = {}
        self._parents = {call.index: call.parent for call in graph.calls}
        self.kept: list[Call] = []
        for call in graph.calls:
            if call.index in self.inside:
                continue
            index = self._new[call.index] = len(self.kept)
            around = wrappers.get(call.index)
            call = replace(call, index=index, module=paths.module(call.module) or "", parent=self.around(call.parent))
            while around is not None:  # what happened to a wrapper happened to what is inside, and where
                outer = graph.calls[around]
                call = replace(call, source=outer.source or call.source, error=call.error or outer.error)
                around = wrappers.get(around)
            self.kept.append(call)

    def around(self, call: int | None) -> int | None:
        """The innermost call that is still there, as it is numbered now."""
        while call is not None and call in self.inside:
            call = self._parents[call]
        return None if call is None else self._new[call]

    def module_calls(self, calls: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self._new[call] for call in calls if call in self._new)

    def number(self, call: int) -> int | None:
        return self._new.get(call)

    def end(self, node: str) -> str:
        """An end of an edge."""
        kind, _, number = node.partition(":")
        return f"call:{self._new[int(number)]}" if kind == "call" and int(number) in self._new else node


def _modules(graph: Graph, paths: _Paths, calls: _Calls) -> list[ModuleNode]:
    wrappers = {child: path for path, child in paths.wrapped.items()}
    nodes = {node.path: node for node in graph.modules}
    found = []
    for node in graph.modules:
        if node.path in paths.wrapped:
            continue
        made = replace(node, path=paths.module(node.path) or "", calls=calls.module_calls(node.calls), repeat=None)
        above = wrappers.get(node.path)
        while above is not None:
            outer = nodes[above]
            made = replace(
                made,
                wrappers=(outer.class_name or "", *outer.wrappers, *made.wrappers),
                hooks=(*outer.hooks, *made.hooks),
                calls=tuple(sorted({*made.calls, *calls.module_calls(outer.calls)})),
                registered=outer.registered,
                made_in_forward=outer.made_in_forward,
                own_state_dict=outer.own_state_dict or made.own_state_dict,
            )
            above = wrappers.get(above)
        found.append(
            replace(
                made,
                alias_of=paths.module(made.alias_of),
                parameters=tuple(_parameter(one, paths) for one in made.parameters),
                buffers=tuple(_buffer(one, paths) for one in made.buffers),
            )
        )
    return found


def _parameter(held: ParameterInfo, paths: _Paths) -> ParameterInfo:
    return held if held.alias_of is None else replace(held, alias_of=paths.tensor(held.alias_of))


def _buffer(held: BufferInfo, paths: _Paths) -> BufferInfo:
    return held if held.alias_of is None else replace(held, alias_of=paths.tensor(held.alias_of))


def _edge(edge: Edge, paths: _Paths, calls: _Calls) -> Edge:
    producer = edge.producer
    if producer.startswith("param:"):
        producer = f"param:{paths.tensor(producer.removeprefix('param:'))}"
    others = tuple(map(calls.end, edge.or_from))
    return replace(edge, producer=calls.end(producer), consumer=calls.end(edge.consumer), or_from=others)


def _backward(record: BackwardRecord, paths: _Paths, calls: _Calls) -> BackwardRecord:
    call = None if record.call is None else calls.number(record.call)
    return replace(record, module=paths.module(record.module) or "", call=call)


def _gradient(gradient: TensorInfo, paths: _Paths) -> TensorInfo:
    return replace(gradient, name=paths.tensor(gradient.name))


def _verification(found: Verification, calls: _Calls) -> Verification:
    return replace(
        found,
        not_repeated=tuple(replace(one, node=calls.end(one.node)) for one in found.not_repeated),
        differences=tuple(replace(one, node=calls.end(one.node)) for one in found.differences),
    )


def _profile(found: Profile, calls: _Calls) -> Profile:
    numbered = [(one, calls.number(one.call)) for one in found.calls]
    return replace(found, calls=tuple(replace(one, call=call) for one, call in numbered if call is not None))


def _model(graph: Graph, paths: _Paths) -> ModelInfo:
    """Named for what is inside, where it was named for the wrapper."""
    inside = ""
    while inside in paths.wrapped:
        inside = paths.wrapped[inside]
    if not inside:
        return graph.model
    around = graph.modules[0].class_name or ""
    within = next(node.class_name for node in graph.modules if node.path == inside)
    name, class_name = graph.model.name, graph.model.class_name
    if within and name == last_name(around):
        name = last_name(within)
    return replace(graph.model, name=name, class_name=within if class_name == around else class_name)
