"""What prediction and run say together of each module; signs and words are those of the pictures.

`states.py` answers the same for one occurrence of a module in a picture; here it is the module, over all of its calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from modgraph.export.parts import State
from modgraph.export.states import FRAME_STATES, is_open_place
from modgraph.export.style import STATES
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import ModuleNode

SHOWN_STATES: tuple[State, ...] = (*FRAME_STATES, "shared")
"""In the order in which several are named."""

_WITHOUT_FORWARD = frozenset(
    f"torch.nn.modules.container.{name}" for name in ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
)
"""That these are never called says nothing."""


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
    all_of = {
        node.path: tuple(_remarks(node, index, never_called=index.run_finished and node.path not in reached))
        for node in index.graph.modules
    }
    return {
        path: tuple(remark for remark in remarks if not _is_said(remark, path, index.parents[path], all_of))
        for path, remarks in all_of.items()
    }


def _is_said(remark: Remark, path: str, parent: str | None, remarks: Mapping[str, tuple[Remark, ...]]) -> bool:
    """Whether the same is true of the parent, and of this module because of that."""
    if parent is None:
        return False
    if remark.state == "shared":
        rest = path[len(parent) :] if parent else f".{path}"
        return any(other.state == "shared" and other.detail + rest == remark.detail for other in remarks[parent])
    return remark.state in ("never called", "static only", "runtime only") and remark in remarks[parent]


def _remarks(node: ModuleNode, index: GraphIndex, *, never_called: bool) -> list[Remark]:
    remarks: list[Remark] = []
    failure = _failure(node, index)
    if failure is not None:
        remarks.append(Remark("failed", failure.partition(":")[0]))
    if not node.registered:
        remarks.append(Remark("unregistered"))
    if (node.predicted, node.observed) == (False, True):
        remarks.append(Remark("runtime only"))
    if (node.predicted, node.observed) == (True, False):
        remarks.append(Remark("static only"))
    if never_called and _may_be_called(node):
        remarks.append(Remark("never called"))
    if node.class_name is None or is_open_place(node.path):
        remarks.append(Remark("unknown"))
    if node.alias_of is not None:
        remarks.append(Remark("shared", node.alias_of or "the root"))
    return remarks


def _failure(node: ModuleNode, index: GraphIndex) -> str | None:
    """The exception that arose in one of its calls, not one that passed through from an inner call."""
    for number in node.calls:
        error = index.graph.calls[number].error
        if error is not None and not any(inner.error for inner in index.child_calls.get(number, ())):
            return error
    return None


def _may_be_called(node: ModuleNode) -> bool:
    if node.observed is False or node.alias_of is not None or is_open_place(node.path):
        return False
    return node.class_name != "NoneType" and node.class_name not in _WITHOUT_FORWARD


def reached_modules(index: GraphIndex) -> set[str]:
    """Paths of the modules that were called, also under another name, and of all that hold one of them."""
    reached: set[str] = set()
    called = {node.path for node in index.graph.modules if node.calls}
    called |= {node.alias_of for node in index.graph.modules if node.calls and node.alias_of is not None}
    for node in index.graph.modules:
        if node.path in called or node.alias_of in called:
            above: str | None = node.path
            while above is not None and above not in reached:
                reached.add(above)
                above = index.parents[above]
    return reached
