"""What prediction and run say together of each module; signs and words are those of the pictures.

`states.py` answers the same for one occurrence of a module in a picture; here it is the module, over all of its calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from modgraph.export.look.parts import State
from modgraph.export.look.style import STATES
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Graph, ModuleNode
from modgraph.graph.paths import is_open_place, parameter_path
from modgraph.graph.untaken import any_of

DIFF_STATES: tuple[State, ...] = ("removed", "added", "changed")
"""What a picture of two graphs says; nothing that one graph alone could."""
FRAME_STATES: tuple[State, ...] = (
    *DIFF_STATES,
    "failed",
    "unregistered",
    "runtime only",
    "static only",
    "never called",
    "unseen",
    "unknown",
    "conditional",
)
"""Those that set the frame, in order: the first that holds."""
SHOWN_STATES: tuple[State, ...] = (*FRAME_STATES, "weights used", "shared")
"""In the order in which several are named."""

_WITHOUT_FORWARD = frozenset(
    f"torch.nn.modules.container.{name}" for name in ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
)
"""That these are never called says nothing."""
_IDLE: tuple[State, ...] = ("never called", "unseen", "conditional")
"""What is said of modules without calls."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One state of a module."""

    state: State
    detail: str = ""
    """The path after "same as"; the exception after "failed here"."""

    @property
    def text(self) -> str:
        """ "▲ unregistered", "↺ same as conv1"."""
        style = STATES[self.state]
        return f"{style.sign} {style.words} {self.detail}".rstrip()


def remarks_of(index: GraphIndex) -> dict[str, tuple[Remark, ...]]:
    """The states of every module of a graph, by path; () for an ordinary one.

    What is true of a module because it is true of the one around it (it was not called, only one half knows it, it
    stands under a second name) is said of the outer one alone.
    """
    reached = reached_modules(index)
    owners, unforeseen = _owners_of_used_tensors(index), _unforeseen(index.graph)
    all_of = {
        node.path: tuple(
            _remarks(
                node,
                index,
                idle=index.all_calls_told and node.path not in reached,
                owners=owners,
                unforeseen=node.path in unforeseen,
            )
        )
        for node in index.graph.modules
    }
    return {
        path: tuple(remark for remark in remarks if not _is_said(remark, path, index, all_of))
        for path, remarks in all_of.items()
    }


def _is_said(remark: Remark, path: str, index: GraphIndex, remarks: Mapping[str, tuple[Remark, ...]]) -> bool:
    """Whether the same is true of the parent, and of this module because of that.

    Of a list of modules it is not said that it is never called: what is true of the one around that holds in it.
    """
    parent = index.parents[path]
    if parent is None:
        return False
    while remark.state in _IDLE and index.modules[parent].class_name in _WITHOUT_FORWARD:
        above = index.parents[parent]
        if above is None or index.modules[parent].calls:
            break
        parent = above
    if remark.state == "shared":
        rest = path[len(parent) :] if parent else f".{path}"
        return any(other.state == "shared" and other.detail + rest == remark.detail for other in remarks[parent])
    inherited = ("unregistered", "runtime only", "static only", "never called", "unseen", "conditional", "taken")
    return remark.state in inherited and remark in remarks[parent]


def _unforeseen(graph: Graph) -> set[str]:
    """Paths of the modules that the run alone knows. Nobody knows with what a live model was built: it is correct to
    have more than its prediction could tell, which is no problem of its graph."""
    found = {node.path for node in graph.modules if (node.predicted, node.observed) == (False, True)}
    if graph.model.target is not None or not found:
        return found
    told = {problem.module for problem in graph.open_places}
    return {node.path for node in graph.modules if node.path in found and (_is_hidden(node) or node.path in told)}


def _is_hidden(node: ModuleNode) -> bool:
    return not node.registered or node.made_in_forward


def _remarks(node: ModuleNode, index: GraphIndex, *, idle: bool, owners: set[str], unforeseen: bool) -> list[Remark]:
    remarks: list[Remark] = []
    failure = next((error for number in node.calls if (error := failure_in(index, number)) is not None), None)
    if failure is not None:
        remarks.append(Remark("failed", failure.partition(":")[0]))
    if not node.registered:
        remarks.append(Remark("unregistered"))
    if unforeseen:
        remarks.append(Remark("runtime only"))
    if (node.predicted, node.observed) == (True, False):
        remarks.append(Remark("static only"))
    if idle and _may_be_called(node) and not _is_read(node.path, index, owners):
        remarks.append(_idle(node, index))
    if is_unknown(node):
        remarks.append(Remark("unknown"))
    condition = _condition(node, index)
    if condition:
        ran = any(index.graph.calls[number].observed for number in node.calls)
        remarks.append(Remark("taken" if ran else "conditional", condition))
    if idle and node.path in owners:
        remarks.append(Remark("weights used"))
    if node.alias_of is not None:
        remarks.append(Remark("shared", node.alias_of or "the root"))
    return remarks


def _idle(node: ModuleNode, index: GraphIndex) -> Remark:
    """Of a module that was not called: what is known of why."""
    if _is_scripted_above(node.path, index):
        return Remark("unseen")
    if node.untaken:
        return Remark("conditional", f"{node.untaken}; not in this run")
    if what := _unfollowed(index.graph):
        return Remark("conditional", what)
    followed = [text for each in index.graph.model.inputs for text in each.followed]
    return Remark("never called", f"where {' and '.join(followed)}" if followed else "")


def _unfollowed(graph: Graph) -> str:
    """What it may depend on that a module is called, as that was not followed; "" where all was that may be told."""
    if graph.model.open_ways is None:
        return ""
    return "other arguments or modes, not followed" + ("; not in this run" if graph.traced else "")


def _condition(node: ModuleNode, index: GraphIndex) -> str:
    """On what it depends whether the module is called at all; empty where one call is certain."""
    calls = [call for number in node.calls if (call := index.graph.calls[number]).observed is not False]
    if not calls or any(call.depends_on is None for call in calls):
        return ""
    return any_of(call.depends_on for call in calls)


def failure_in(index: GraphIndex, call: int) -> str | None:
    """The exception that arose in a call; None for one that only passed through from an inner call."""
    if any(inner.error is not None for inner in index.child_calls.get(call, ())):
        return None
    return index.graph.calls[call].error


def is_unknown(node: ModuleNode) -> bool:
    """Whether it is not known which module stands there, or whether one does."""
    return node.class_is_open or is_open_place(node.path)


def _may_be_called(node: ModuleNode) -> bool:
    if node.observed is False or node.alias_of is not None or is_unknown(node):
        return False
    return node.class_name != "NoneType" and node.class_name not in _WITHOUT_FORWARD


def _is_scripted_above(path: str, index: GraphIndex) -> bool:
    """Whether a module that was called runs as a TorchScript program, which calls what it holds without Python."""
    above = index.parents[path]
    while above is not None:
        node = index.modules[above]
        if node.calls and (node.class_name or "").startswith("torch.jit."):
            return True
        above = index.parents[above]
    return False


def _owners_of_used_tensors(index: GraphIndex) -> set[str]:
    """Paths of the modules of which a parameter or buffer was used outside their own call."""
    owners = {
        parameter_path(node.path, name): node.path
        for node in index.graph.modules
        for name in (*(held.name for held in node.parameters), *(held.name for held in node.buffers))
    }
    used = (edge.producer.removeprefix("param:") for edge in index.graph.edges if edge.producer.startswith("param:"))
    return {owners[path] for path in used if path in owners}


def _is_read(path: str, index: GraphIndex, owners: set[str]) -> bool:
    """Whether a module is of use without a call: something in it was used, or a layer of torch's own reads it.

    `MultiheadAttention` registers `out_proj` for its parameters alone.
    """
    if path in owners or any(inner.path in owners for inner in index.below(path)):
        return True
    above = index.parents[path]
    while above is not None:
        node = index.modules[above]
        if _is_layer_of_torch(node) and node.calls:
            return all(index.is_leaf_call(number) for number in node.calls)
        above = index.parents[above]
    return False


def _is_layer_of_torch(node: ModuleNode) -> bool:
    room = (node.class_name or "").rpartition(".")[0]
    return room.startswith("torch.nn.modules.") and room != "torch.nn.modules.container"


def reached_modules(index: GraphIndex) -> set[str]:
    """Paths of the modules that were called, also under another name, and of all that hold one of them."""
    reached: set[str] = set()
    called = {node.path for node in index.graph.modules if node.calls}
    called |= {node.alias_of for node in index.graph.modules if node.calls and node.alias_of is not None}
    for node in index.graph.modules:
        if node.path in called or (node.alias_of in called and _may_be_meant(node, index)):
            above: str | None = node.path
            while above is not None and above not in reached:
                reached.add(above)
                above = index.parents[above]
    return reached


def _may_be_meant(node: ModuleNode, index: GraphIndex) -> bool:
    """Whether a call of a module may have gone by this further name: not where all are made by what has the module
    under its first name alone."""
    first = node.alias_of or ""
    calls = [index.graph.calls[number] for number in (*index.modules[first].calls, *node.calls)]
    callers = {None if call.parent is None else index.graph.calls[call.parent].module for call in calls}
    return not callers or any(
        caller is None or not _is_below(first, caller) or _is_below(node.path, caller) for caller in callers
    )


def _is_below(path: str, above: str) -> bool:
    return above == "" or path.startswith((f"{above}.", f"{above}["))
