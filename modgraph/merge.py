"""Joins what was foretold and what was seen: predicted Graph + traced Graph -> Graph.

The policy, in one table (a test per row):

| fact                                   | both ran and agree | both ran and differ                    | only predicted knows                    | only observed knows                                        |
| -------------------------------------- | ------------------ | -------------------------------------- | --------------------------------------- | ---------------------------------------------------------- |
| the module exists                      | both True          | -                                      | observed False, a problem at its line   | predicted False; no problem where the prediction said unknown there |
| class, parameter shapes, registered    | that               | the observed one; a problem names both | the predicted                           | the observed                                               |
| line, arguments                        | prediction         | prediction                             | prediction                              | source of the live class, arguments read off the instance  |
| calls, operations, edges, statistics   | trace              | trace                                  | none: `calls` is empty                  | trace                                                      |

The prediction's own problems are settled by the trace, which saw the whole tree: they are dropped. Modules that are
made or found only while `forward` runs are in no constructor, so that not foretelling them is no problem either; the
same holds for what is hidden from registration.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from modgraph.graph.build import GraphBuilder
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import (
    BufferInfo,
    Finding,
    Graph,
    ModelInfo,
    ModuleNode,
    ParameterInfo,
    Problem,
    Shape,
    SourceLocation,
)


def merge(predicted: Graph, traced: Graph) -> Graph:
    """One graph of both halves; the policy is this module's docstring. Neither argument is changed.

    Raises:
        GraphError: the two are not graphs of halves of the same model (one names what the other cannot hold).
    """
    builder = GraphBuilder.of(traced)
    builder.model = _merge_model(predicted.model, traced.model)
    builder.findings = _merge_findings(predicted, traced)
    unknown = _UnknownPlaces(predicted.modules)
    foretold = {node.path: node for node in predicted.modules if not _is_wildcard(node.path)}
    seen = {node.path: node for node in traced.modules}
    builder.modules = []
    for path in _paths_in_order(predicted, traced):
        node, problems = _merge_module(foretold.get(path), seen.get(path), unknown)
        builder.modules.append(node)
        builder.problems.extend(problems)
    return builder.build()


def _is_wildcard(path: str) -> bool:
    return path == "?" or path.endswith(".?")


class _UnknownPlaces:
    """Where the prediction said that it does not know what stands there."""

    def __init__(self, modules: Iterable[ModuleNode]) -> None:
        self._open: set[str] = set()
        self._unknown_class: set[str] = set()
        for node in modules:
            if _is_wildcard(node.path):
                self._open.add(node.path[:-1].rstrip("."))
            elif node.class_name is None:
                self._unknown_class.add(node.path)

    def cover(self, path: str) -> bool:
        """Whether `path` lies in a place that the prediction left open."""
        if "" in self._open or path in self._unknown_class:
            return True
        end = len(path)
        while (end := path.rfind(".", 0, end)) > 0:
            if path[:end] in self._open or path[:end] in self._unknown_class:
                return True
        return False


def _paths_in_order(predicted: Graph, traced: Graph) -> Iterator[str]:
    """Every path once: the observed order, and what was only foretold after the sibling that it was foretold to follow.

    Siblings are all that matters here: the builder puts the tree into depth-first order.
    """
    foretold, seen = GraphIndex(predicted), GraphIndex(traced)
    parents = [*seen.modules, *(path for path in foretold.modules if path not in seen.modules)]
    yield ""
    for parent in parents:
        if _is_wildcard(parent):
            continue
        order = [node.path for node in seen.children.get(parent, ())]
        known = set(order)
        position = 0
        for node in foretold.children.get(parent, ()):
            if _is_wildcard(node.path):
                continue
            if node.path in known:
                position = order.index(node.path) + 1
            elif node.path not in seen.modules:
                order.insert(position, node.path)
                position += 1
        yield from order


def _merge_module(
    predicted: ModuleNode | None, traced: ModuleNode | None, unknown: _UnknownPlaces
) -> tuple[ModuleNode, list[Problem]]:
    if traced is None:
        assert predicted is not None  # a path comes from one of the two
        return _only_predicted(predicted)
    if predicted is None:
        return _only_observed(traced, unknown)
    class_problems = _class_differs(predicted, traced)
    parameters, parameter_problems = _merge_parameters(predicted, traced)
    buffers, buffer_problems = _merge_buffers(predicted, traced)
    node = replace(
        traced,
        predicted=True,
        class_name=traced.class_name if traced.class_name is not None else predicted.class_name,
        parameters=parameters,
        buffers=buffers,
        arguments=_merge_arguments(predicted, traced),
        source=predicted.source or traced.source,
    )
    return node, class_problems + parameter_problems + buffer_problems


def _only_predicted(node: ModuleNode) -> tuple[ModuleNode, list[Problem]]:
    what = f"{node.class_name or 'a module'} at {node.path!r}"
    problem = _problem(f"{what} was foretold, but the live model has no such module", node.path, node.source)
    return replace(node, observed=False, calls=()), [problem]


def _only_observed(node: ModuleNode, unknown: _UnknownPlaces) -> tuple[ModuleNode, list[Problem]]:
    merged = replace(node, predicted=False)
    if not node.registered or unknown.cover(node.path):
        return merged, []
    message = f"{node.class_name or 'a module'} at {node.path!r} is on the live model, but was not foretold"
    return merged, [_problem(message, node.path, node.source)]


def _class_differs(predicted: ModuleNode, traced: ModuleNode) -> list[Problem]:
    problems = []
    if None not in (predicted.class_name, traced.class_name) and predicted.class_name != traced.class_name:
        message = f"{predicted.path!r} was foretold to be {predicted.class_name}, and is {traced.class_name}"
        problems.append(_problem(message, predicted.path, predicted.source))
    if predicted.registered != traced.registered:
        words = {True: "registered", False: "hidden from registration"}
        message = (
            f"{predicted.path!r} was foretold to be {words[predicted.registered]}, and is {words[traced.registered]}"
        )
        problems.append(_problem(message, predicted.path, predicted.source))
    return problems


def _merge_parameters(predicted: ModuleNode, traced: ModuleNode) -> tuple[tuple[ParameterInfo, ...], list[Problem]]:
    return traced.parameters, _shapes_differ(
        predicted,
        "parameter",
        {parameter.name: parameter.shape for parameter in predicted.parameters},
        {parameter.name: parameter.shape for parameter in traced.parameters},
    )


def _merge_buffers(predicted: ModuleNode, traced: ModuleNode) -> tuple[tuple[BufferInfo, ...], list[Problem]]:
    return traced.buffers, _shapes_differ(
        predicted,
        "buffer",
        {buffer.name: buffer.shape for buffer in predicted.buffers},
        {buffer.name: buffer.shape for buffer in traced.buffers},
    )


def _shapes_differ(
    node: ModuleNode, kind: str, foretold: Mapping[str, Shape | None], seen: Mapping[str, Shape | None]
) -> list[Problem]:
    """A problem per name that both know with sizes that cannot be the same."""
    problems = []
    for name, shape in foretold.items():
        if name in seen and not _compatible(shape, seen[name]):
            place = f"{node.path}.{name}" if node.path else name
            message = f"{kind} {place} was foretold with shape {_shown(shape)}, and has {_shown(seen[name])}"
            problems.append(_problem(message, node.path, node.source))
    return problems


def _compatible(one: Shape | None, other: Shape | None) -> bool:
    if one is None or other is None:
        return True
    if len(one) != len(other):
        return False
    return all(a == b or not isinstance(a, int) or not isinstance(b, int) for a, b in zip(one, other, strict=True))


def _shown(shape: Shape | None) -> str:
    if shape is None:
        return "unknown"
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


def _merge_arguments(predicted: ModuleNode, traced: ModuleNode) -> Mapping[str, object]:
    return predicted.arguments or traced.arguments


def _merge_model(predicted: ModelInfo, traced: ModelInfo) -> ModelInfo:
    return replace(
        traced,
        name=predicted.name,
        target=predicted.target or traced.target,
        class_name=traced.class_name or predicted.class_name,
    )


def _merge_findings(predicted: Graph, traced: Graph) -> list[Finding]:
    return list(dict.fromkeys((*predicted.findings, *traced.findings)))


def _problem(message: str, module: str, source: SourceLocation | None) -> Problem:
    return Problem(
        stage="merge",
        message=message,
        module=module,
        file=source.file if source else None,
        line=source.line if source else None,
    )
