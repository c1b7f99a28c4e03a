"""Joins what was predicted and what was seen: predicted Graph + traced Graph -> Graph.

The policy, in one table (a test per row):

| fact                                   | both ran and agree | both ran and differ                    | only predicted knows                    | only observed knows                                        |
| -------------------------------------- | ------------------ | -------------------------------------- | --------------------------------------- | ---------------------------------------------------------- |
| the module exists                      | both True          | -                                      | observed False, a problem at its line   | predicted False; no problem where the prediction said unknown there |
| class, registered                      | that               | the observed one; a problem names both | the predicted                           | the observed                                               |
| a parameter or buffer of such a module | that               | -                                      | left out, a problem                     | kept; a problem, but where the prediction said unknown     |
| its shape, dtype, trainable, persistent | that              | the observed one; a problem names both | the predicted, of a module it alone knows | the observed                                             |
| the same instance or tensor as another | that               | the observed; a problem                | the predicted, if that one is there     | the observed; a problem, but where the prediction said unknown |
| line, arguments                        | prediction         | prediction                             | prediction                              | source of the live class, arguments read off the instance  |
| calls, operations, edges               | both True          | the observed                           | observed False, behind what ran: another way through a branch | predicted False                              |
| where a tensor was taken from that a call gave back | that  | the prediction, of the ends that the run leaves open (`or_from`) | - | the last call that gave it, with `or_from` |
| statistics                             | trace              | trace                                  | none                                    | trace                                                      |
| findings                               | once               | both                                   | the prediction's                        | the trace's                                                |

The prediction's own problems are settled by the trace, which saw the whole tree: they are dropped. Modules that are
made or found only while `forward` runs are in no constructor, so that not predicting them is no problem either; the
same holds for what is hidden from registration, and for what stands below that. Where the class is another than predicted, that is the one problem: its
parameters are not compared. Which blocks are alike is found out anew, in what came of it.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from modgraph.graph.assumed import claimed_tree
from modgraph.graph.build import GraphBuilder, depth_first
from modgraph.graph.index import GraphIndex, parent_path
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
from modgraph.graph.paths import is_open_place, parameter_path
from modgraph.graph.sizes import sizes_text
from modgraph.graph.untaken import add_untaken

Tensor = ParameterInfo | BufferInfo


def merge(predicted: Graph, traced: Graph) -> Graph:
    """One graph of both halves; the policy is this module's docstring. Neither argument is changed."""
    builder = GraphBuilder.of(traced)
    builder.model = _merge_model(predicted.model, traced.model)
    told, predicted = predicted, claimed_tree(predicted)  # the run has surroundings of its own
    halves = _Halves.of(predicted, traced)
    modules = []
    for path in _paths_in_order(predicted, traced):
        node, problems = _merge_module(path, halves)
        modules.append(replace(node, repeat=None))
        builder.problems.extend(problems)
    builder.modules = _with_aliases_that_exist(depth_first(modules))
    add_untaken(builder, told)
    builder.findings = _merge_findings(predicted, traced, {node.path for node in modules})
    return builder.build()


@dataclass(frozen=True, slots=True)
class _Halves:
    """What both sides say, by path."""

    expected: Mapping[str, ModuleNode]
    """Without the places where further children may stand."""
    seen: Mapping[str, ModuleNode]
    predicted_instances: _Instances
    seen_instances: _Instances
    unknown: _UnknownPlaces

    @classmethod
    def of(cls, predicted: Graph, traced: Graph) -> _Halves:
        expected = {node.path: node for node in predicted.modules if not is_open_place(node.path)}
        return cls(
            expected,
            {node.path: node for node in traced.modules},
            _Instances(expected.values()),
            _Instances(traced.modules),
            _UnknownPlaces(predicted, traced),
        )


class _Instances:
    """Which names stand for one object: of modules, and of parameters and buffers by their full paths."""

    def __init__(self, modules: Iterable[ModuleNode]) -> None:
        self.modules: dict[str, str] = {}
        self.tensors: dict[str, str] = {}
        for node in modules:
            self.modules[node.path] = node.path if node.alias_of is None else node.alias_of
            for tensor in _tensors_of(node):
                path = parameter_path(node.path, tensor.name)
                if tensor.alias_of is None:
                    self.tensors[path] = path
                else:
                    self.tensors.setdefault(path, tensor.alias_of)


class _UnknownPlaces:
    """Where the prediction said that it does not know what stands there."""

    def __init__(self, predicted: Graph, traced: Graph) -> None:
        self._open: set[str] = set()
        self._unknown_class: set[str] = set()
        self._known: set[str] = set()
        self._in_doubt = {problem.module for problem in predicted.open_places}
        for node in predicted.modules:
            if is_open_place(node.path):
                self._open.add(node.path[:-1].rstrip("."))
            elif node.class_name is None:
                self._unknown_class.add(node.path)
            elif node.alias_of is None:
                self._known.add(node.path)
        expected = {node.path for node in predicted.modules}
        # Of what is hidden from registration nothing need be predicted, nor of what it has registered itself.
        self._open |= {node.path for node in traced.modules if not node.registered} - expected

    def cover(self, path: str) -> bool:
        """Whether `path` lies in a place that the prediction left open: what stands below a module that it knows, and
        did not leave open, is no part of what is open around that."""
        if path in self._unknown_class:
            return True
        end = len(path)
        while (end := path.rfind(".", 0, end)) > 0:
            if path[:end] in self._open or path[:end] in self._unknown_class:
                return True
            if path[:end] in self._known:
                return False
        return "" in self._open or "" in self._unknown_class

    def cover_tensors(self, path: str) -> bool:
        """Whether the module at `path` may have further parameters and buffers, or others than were predicted."""
        return self.cover(path) or path in self._open or path in self._in_doubt or None in self._in_doubt


def _paths_in_order(predicted: Graph, traced: Graph) -> Iterator[str]:
    """Every path once: the observed order, and what was only predicted after its predicted sibling.

    Siblings are all that matters here: the tree is put into depth-first order afterwards.
    """
    expected, seen = GraphIndex(predicted), GraphIndex(traced)
    parents = [*seen.modules]
    parents += [path for path in expected.modules if path not in seen.modules and not is_open_place(path)]
    yield ""
    for parent in parents:
        order = [node.path for node in seen.children.get(parent, ())]
        known = set(order)
        position = 0
        for node in expected.children.get(parent, ()):
            if is_open_place(node.path) or (node.class_name is None and node.path not in seen.modules):
                continue  # nothing was said that the run could gainsay
            if node.path in known:
                position = order.index(node.path) + 1
            elif node.path not in seen.modules:
                order.insert(position, node.path)
                position += 1
        yield from order


def _merge_module(path: str, halves: _Halves) -> tuple[ModuleNode, list[Problem]]:
    predicted, traced = halves.expected.get(path), halves.seen.get(path)
    if traced is None:
        assert predicted is not None  # a path comes from one of the two
        return _only_predicted(predicted)
    if predicted is None:
        return _only_observed(traced, halves.unknown)
    problems = _class_differs(predicted, traced)
    is_as_predicted = predicted.class_name in (None, traced.class_name, traced.lazy_class)
    if traced.class_name is None or is_as_predicted:
        problems += _instance_differs(path, halves, predicted.source)
        if traced.alias_of is None:
            problems += _tensors_differ(predicted, traced, halves)
    arguments = predicted.arguments if traced.lazy_class is None else {}  # those of the class that it was
    node = replace(
        traced,
        predicted=True,
        observed=True,
        class_name=traced.class_name if traced.class_name is not None else predicted.class_name,
        arguments=arguments or traced.arguments,
        unknown_arguments=predicted.unknown_arguments if arguments else (),
        defaults=predicted.defaults,
        source=predicted.source or traced.source,
        torch_base=traced.torch_base or (predicted.torch_base if is_as_predicted else None),
    )
    return node, problems


def _only_predicted(node: ModuleNode) -> tuple[ModuleNode, list[Problem]]:
    what = f"{node.class_name or 'a module'} at {node.path!r}"
    problem = _problem(f"{what} was predicted, but the live model has no such module", node.path, node.source)
    return replace(node, predicted=True, observed=False, calls=()), [problem]


def _only_observed(node: ModuleNode, unknown: _UnknownPlaces) -> tuple[ModuleNode, list[Problem]]:
    merged = replace(node, predicted=False, observed=True)
    if not node.registered or node.made_in_forward or unknown.cover(node.path):
        return merged, []
    message = f"{node.class_name or 'a module'} at {node.path!r} is on the live model, but was not predicted"
    return merged, [_problem(message, node.path, node.source)]


def _class_differs(predicted: ModuleNode, traced: ModuleNode) -> list[Problem]:
    problems = []
    if traced.class_name is not None and predicted.class_name not in (None, traced.class_name, traced.lazy_class):
        message = f"{predicted.path!r} was predicted to be {predicted.class_name}, and is {traced.class_name}"
        problems.append(_problem(message, predicted.path, predicted.source))
    if predicted.registered != traced.registered:
        words = {True: "registered", False: "hidden from registration"}
        message = (
            f"{predicted.path!r} was predicted to be {words[predicted.registered]}, and is {words[traced.registered]}"
        )
        problems.append(_problem(message, predicted.path, predicted.source))
    return problems


def _instance_differs(path: str, halves: _Halves, source: SourceLocation | None) -> list[Problem]:
    """A problem where one half says that a module is the same instance as another, and the other half does not."""
    in_doubt = halves.unknown.cover(path) or halves.expected[path].class_name is None
    message = _identity_differs(
        repr(path), path, halves.predicted_instances.modules, halves.seen_instances.modules, in_doubt=in_doubt
    )
    return [_problem(message, path, source)] if message else []


def _identity_differs(
    what: str, path: str, expected: Mapping[str, str], seen: Mapping[str, str], *, in_doubt: bool
) -> str | None:
    """What to say of a name that stands for one object with another name on one side alone; None if none does."""
    first = expected[path]
    if first != path and first in seen and seen[first] != seen[path]:
        return f"{what} was predicted to be the same as {first!r}, and is another"
    first = seen[path]
    if first != path and not in_doubt and first in expected and expected[first] != expected[path]:
        return f"{what} is the same as {first!r}, and was predicted to be another"
    return None


def _tensors_differ(predicted: ModuleNode, traced: ModuleNode, halves: _Halves) -> list[Problem]:
    """A problem per parameter or buffer of a module that one half alone knows, or of which the halves differ."""
    messages: list[str] = []
    kinds: tuple[tuple[str, Sequence[Tensor], Sequence[Tensor]], ...] = (
        ("parameter", predicted.parameters, traced.parameters),
        ("buffer", predicted.buffers, traced.buffers),
    )
    in_doubt = halves.unknown.cover_tensors(predicted.path)
    for kind, expected, seen in kinds:
        by_name = {tensor.name: tensor for tensor in seen}
        for tensor in expected:
            what = f"{kind} {parameter_path(predicted.path, tensor.name)}"
            other = by_name.pop(tensor.name, None)
            if other is None:
                messages.append(f"{what} was predicted, but the live model has no such {kind}")
                continue
            messages += [f"{what} was predicted {said}" for said in _facts_differ(tensor, other)]
            full = parameter_path(predicted.path, tensor.name)
            unlike = _identity_differs(
                what, full, halves.predicted_instances.tensors, halves.seen_instances.tensors, in_doubt=in_doubt
            )
            messages += [unlike] if unlike and predicted.alias_of is None else []
        if not in_doubt:
            messages += [
                f"{kind} {parameter_path(predicted.path, name)} is on the live model, but was not predicted"
                for name in by_name
            ]
    return [_problem(message, predicted.path, predicted.source) for message in messages]


def _facts_differ(expected: Tensor, seen: Tensor) -> Iterator[str]:
    """What was predicted and what is, where both are known and cannot be the same."""
    if not _compatible(expected.shape, seen.shape):
        yield f"with shape {sizes_text(expected.shape, 'unknown')}, and has {sizes_text(seen.shape, 'unknown')}"
    if None not in (expected.dtype, seen.dtype) and expected.dtype != seen.dtype:
        yield f"as {expected.dtype}, and is {seen.dtype}"
    words, one, other = _flag_of(expected), _flag(expected), _flag(seen)
    if one is not None and other is not None and one != other:
        yield f"to be {words[one]}, and is {words[other]}"


def _flag(tensor: Tensor) -> bool | None:
    return tensor.trainable if isinstance(tensor, ParameterInfo) else tensor.persistent


def _flag_of(tensor: Tensor) -> dict[bool, str]:
    if isinstance(tensor, ParameterInfo):
        return {True: "trainable", False: "frozen"}
    return {True: "persistent", False: "not persistent"}


def _compatible(one: Shape | None, other: Shape | None) -> bool:
    if one is None or other is None:
        return True
    if len(one) != len(other):
        return False
    return all(a == b or not isinstance(a, int) or not isinstance(b, int) for a, b in zip(one, other, strict=True))


def _tensors_of(node: ModuleNode) -> tuple[Tensor, ...]:
    return (*node.parameters, *node.buffers)


def _with_aliases_that_exist(modules: Sequence[ModuleNode]) -> list[ModuleNode]:
    """The modules in order, those that were only predicted the same as something that stands before them, or nothing.

    What the live model has keeps its own aliases: they name one another alone.
    """
    before: dict[str, str] = {}
    settled = []
    for node in modules:
        if node.observed is False and node.alias_of is not None:
            node = replace(node, alias_of=before.get(node.alias_of))
        settled.append(node)
        before[node.path] = node.path if node.alias_of is None else node.alias_of
    first = _Instances(settled).tensors
    return [_with_tensors_that_exist(node, first) if node.observed is False else node for node in settled]


def _with_tensors_that_exist(node: ModuleNode, first: Mapping[str, str]) -> ModuleNode:
    def settled(tensor: Tensor) -> str | None:
        if tensor.alias_of is None:
            return None
        found = first.get(tensor.alias_of)
        return found if found is not None and first.get(found) == found else None

    return replace(
        node,
        parameters=tuple(replace(tensor, alias_of=settled(tensor)) for tensor in node.parameters),
        buffers=tuple(replace(tensor, alias_of=settled(tensor)) for tensor in node.buffers),
    )


def _merge_model(predicted: ModelInfo, traced: ModelInfo) -> ModelInfo:
    return replace(
        traced,
        name=predicted.name,
        target=predicted.target or traced.target,
        class_name=traced.class_name or predicted.class_name,
        open_ways=predicted.open_ways,
    )


def _merge_findings(predicted: Graph, traced: Graph, paths: set[str]) -> list[Finding]:
    """Both halves' findings; one of a place where further children may stand is of the module around it."""
    findings = dict.fromkeys((*predicted.findings, *traced.findings))
    return [
        finding
        if finding.module is None or finding.module in paths
        else replace(finding, module=parent_path(finding.module, paths))
        for finding in findings
    ]


def _problem(message: str, module: str, source: SourceLocation | None) -> Problem:
    return Problem(
        stage="merge",
        message=message,
        module=module,
        file=source.file if source else None,
        line=source.line if source else None,
    )
