"""What is said of a module beside its class: where prediction and run disagree, what failed, what is shared."""

from __future__ import annotations

from collections import Counter

from modgraph.export.labels import cut_end
from modgraph.export.parts import Mark, State
from modgraph.export.style import STATES
from modgraph.graph.model import ModuleNode
from modgraph.graph.occurrences import Occurrence, Run

FRAME_STATES: tuple[State, ...] = ("failed", "unregistered", "runtime only", "static only", "never called", "unknown")
"""Those that set the frame, in order: the first that holds."""
NOTE_LENGTH = 44


def marks_of(run: Run, occurrence: Occurrence) -> tuple[Mark, ...]:
    """The states of one module, in the order in which their rows stand; none for an operation."""
    if not occurrence.is_module or occurrence.path == "":
        failed = _failure(run, occurrence)
        return (failed,) if failed else ()
    node = run.index.modules[occurrence.path]
    parent = run.index.modules[run.index.parents[occurrence.path] or ""]
    candidates = (
        _failure(run, occurrence),
        _unregistered(node, parent),
        _one_half(node, parent),
        _never_called(run, occurrence, node),
        Mark(state="unknown", note=_unknown_note(node)) if _is_unknown(node) else None,
        Mark(state="shared", note=cut_end(node.alias_of, NOTE_LENGTH)) if node.alias_of else None,
        _again(run, occurrence),
    )
    return tuple(mark for mark in candidates if mark is not None)


def frame_state(marks: tuple[Mark, ...]) -> State | None:
    """The state that sets the frame around what has `marks`."""
    states = {mark.state for mark in marks}
    return next((state for state in FRAME_STATES if state in states), None)


def marks_inside(run: Run, occurrence: Occurrence) -> tuple[Mark, ...]:
    """What a collapsed container hides, counted: "▲ 1 · ✕ 2"; () where everything in it is ordinary."""
    counted: Counter[State] = Counter()
    pending = list(occurrence.children)
    while pending:
        inner = pending.pop()
        pending.extend(inner.children)
        counted.update(mark.state for mark in marks_of(run, inner))
    if not occurrence.children:
        counted.update(_static_states(run, occurrence.path))
    shown = [f"{STATES[state].sign} {counted[state]}" for state in FRAME_STATES if counted[state]]
    return (Mark(state="inside", note=" · ".join(shown)),) if shown else ()


def _static_states(run: Run, path: str) -> list[State]:
    """States of the modules below one that was not called, apart from that."""
    found: list[State] = []
    for node in run.index.below(path):
        parent = run.index.modules[run.index.parents[node.path] or ""]
        found.extend(mark.state for mark in (_unregistered(node, parent), _one_half(node, parent)) if mark)
    return found


def _failure(run: Run, occurrence: Occurrence) -> Mark | None:
    """The call in which an exception arose, not those that it passed on its way out."""
    call = occurrence.call
    if call is None or call.error is None or (occurrence.path == "" and occurrence.end is not None):
        return None
    inner = run.index.child_calls.get(call.index, ())
    if any(child.error is not None for child in inner):
        return None
    return Mark(state="failed", note=cut_end(call.error, NOTE_LENGTH))


def _unregistered(node: ModuleNode, parent: ModuleNode) -> Mark | None:
    if node.registered or not parent.registered:
        return None
    key = node.path[node.path.rfind("[") + 1 : -1] if node.path.endswith("]") else ""
    if key.isdecimal():
        return Mark(state="unregistered", note="kept in a plain list")
    return Mark(state="unregistered", note="kept in a plain dict" if key else "not in the module tree")


def _one_half(node: ModuleNode, parent: ModuleNode) -> Mark | None:
    both = (node.predicted, node.observed)
    if both == (parent.predicted, parent.observed):
        return None
    if both == (True, False):
        return Mark(state="static only", note="not on the live model")
    if both == (False, True):
        return Mark(state="runtime only", note="not foreseen from the source")
    return None


def _never_called(run: Run, occurrence: Occurrence, node: ModuleNode) -> Mark | None:
    if not run.index.run_finished or occurrence.call is not None or occurrence.children:
        return None
    if node.alias_of is not None or node.observed is False or _is_unknown(node):
        return None
    return Mark(state="never called", note="no call seen")


def _is_unknown(node: ModuleNode) -> bool:
    return node.class_name is None or is_open_place(node.path)


def is_open_place(path: str) -> bool:
    """Whether `path` is a place where further children may stand, not a module."""
    return path == "?" or path.endswith(".?")


def _unknown_note(node: ModuleNode) -> str:
    return "further modules may stand here" if is_open_place(node.path) else "its class is not known"


def _holds_tensors(run: Run, path: str) -> bool:
    """Whether calling a module twice uses something twice; a `ReLU` is only a function with a name."""
    nodes = (run.index.modules[path], *run.index.below(path))
    return any(node.parameters or node.buffers for node in nodes)


def _again(run: Run, occurrence: Occurrence) -> Mark | None:
    """A further call of something with weights; said once, on the outermost container that is called again."""
    call = occurrence.call
    if call is None or occurrence.path != call.module:
        return None
    number, count = run.call_numbers.get(call.index, (1, 1))
    above = occurrence.parent
    if number == 1 or (above is not None and above.path and _again(run, above) is not None):
        return None
    return Mark(state="again", note=f"{number} of {count}") if _holds_tensors(run, call.module) else None
