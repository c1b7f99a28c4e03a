"""What is said of one occurrence of a module in a picture: what `agreement.py` says of the module, and of this call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from modgraph.export.look.agreement import FRAME_STATES, Remark, failure_in, remarks_of
from modgraph.export.look.labels import cut_end
from modgraph.export.look.parts import Mark, State
from modgraph.export.look.style import STATES
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Condition
from modgraph.graph.occurrences import Occurrence, Run
from modgraph.graph.paths import is_open_place

NOTE_LENGTH = 44
_NOT_TAKEN = "; not taken"
_OF_CALLS = ("failed", "conditional", "taken")
"""States of a module that are said of each call instead."""


@lru_cache(maxsize=1)
def _remarks(index: GraphIndex) -> Mapping[str, tuple[Remark, ...]]:
    """Kept for the graph that is being drawn, as each of its occurrences asks."""
    return remarks_of(index)


def marks_of(run: Run, occurrence: Occurrence) -> tuple[Mark, ...]:
    """The states of one module, in the order in which their rows stand; of an operation, on what it depends."""
    said = list(run.said.get(occurrence.path, ())) if occurrence.is_module else []
    if any(mark.state == "removed" for mark in said):
        return tuple(said)
    failure = _failure(run, occurrence)
    marks = [*said, failure] if failure else said
    if occurrence.is_module and occurrence.path != "":
        remarks = [remark for remark in _remarks(run.index)[occurrence.path] if remark.state not in _OF_CALLS]
        marks += [Mark(state=remark.state, note=_note(remark, occurrence.path)) for remark in remarks]
        marks += conditional_mark(occurrence)
        again = _again(run, occurrence)
        marks += [again] if again else _also(run, occurrence)
    elif occurrence.operation is not None:
        marks += conditional_mark(occurrence)
    return tuple(marks)


def frame_state(marks: tuple[Mark, ...]) -> State | None:
    """The state that sets the frame around what has `marks`."""
    states = {mark.state for mark in marks}
    return next((state for state in FRAME_STATES if state in states), None)


def marks_inside(run: Run, occurrence: Occurrence) -> tuple[Mark, ...]:
    """What a collapsed container hides, counted: "▲ 1 · ✕ 2"; () where everything in it is ordinary."""
    counted = _counted(run, occurrence.children)
    if not occurrence.children:
        remarks = _remarks(run.index)
        counted.update(remark.state for node in run.index.below(occurrence.path) for remark in remarks[node.path])
        counted.update(mark.state for node in run.index.below(occurrence.path) for mark in run.said.get(node.path, ()))
    return _inside(counted)


def marks_inside_all(run: Run, hidden: Iterable[Occurrence]) -> tuple[Mark, ...]:
    """What a row hides that stands for all of `hidden`, counted."""
    return _inside(_counted(run, hidden))


def _counted(run: Run, hidden: Iterable[Occurrence]) -> Counter[State]:
    counted: Counter[State] = Counter()
    pending = list(hidden)
    while pending:
        inner = pending.pop()
        pending.extend(inner.children)
        counted.update(mark.state for mark in marks_of(run, inner))
    return counted


def _inside(counted: Counter[State]) -> tuple[Mark, ...]:
    shown = [f"{STATES[state].sign} {counted[state]}" for state in FRAME_STATES if counted[state]]
    return (Mark(state="inside", note=" · ".join(shown)),) if shown else ()


def _failure(run: Run, occurrence: Occurrence) -> Mark | None:
    call = occurrence.call
    if call is None or (occurrence.path == "" and occurrence.end is not None):
        return None
    error = failure_in(run.index, call.index)
    return Mark(state="failed", note=cut_end(error, NOTE_LENGTH)) if error else None


def conditional_mark(occurrence: Occurrence) -> list[Mark]:
    """On what it depends whether a call or an operation is made; said once, on the outermost that depends on it."""
    part = occurrence.call if occurrence.is_module else occurrence.operation
    if part is None or part.depends_on is None:
        return []
    above = occurrence.parent
    while above is not None:
        if above.call is not None and above.call.depends_on == part.depends_on:
            return []
        above = above.parent
    if part.observed and occurrence.operation is not None and _beside_the_same(occurrence, part.depends_on):
        return []
    text = part.depends_on.text.removeprefix("depends on ")
    if part.observed is False:
        return [Mark(state="conditional", note=f"{cut_end(text, NOTE_LENGTH - len(_NOT_TAKEN))}{_NOT_TAKEN}")]
    return [Mark(state="taken" if part.observed else "conditional", note=cut_end(text, NOTE_LENGTH))]


def _beside_the_same(occurrence: Occurrence, condition: Condition) -> bool:
    """Whether a module stands beside an operation that was made on the same condition, and says so."""
    beside = () if occurrence.parent is None else occurrence.parent.children
    return any(each.call is not None and each.call.depends_on == condition for each in beside)


_NOTES: dict[State, str] = {
    "runtime only": "not foreseen from the source",
    "static only": "not on the live model",
    "never called": "no call seen",
    "unseen": "calls inside a scripted module pass Python by",
    "weights used": "without a call",
}


def _note(remark: Remark, path: str) -> str:
    """What explains a state, beside its words."""
    if remark.state == "unregistered":
        key = path[path.rfind("[") + 1 : -1] if path.endswith("]") else ""
        if path.rpartition(".")[2].startswith("<"):
            return "made in forward"
        if path.rpartition("[")[0].endswith(".closure"):
            return "held by a function"
        if key.isdecimal():
            return "kept in a plain list or tuple"
        return "kept in a plain dict" if key else "not in the module tree"
    if remark.state == "unknown":
        return "further modules may stand here" if is_open_place(path) else "its class is not known"
    return _NOTES.get(remark.state) or cut_end(remark.detail, NOTE_LENGTH)


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
    if number == 1 or _is_inside_another(run, occurrence) or not _holds_tensors(run, call.module):
        return None
    return Mark(state="again", note=_number_text(run, call.module, number, count))


def _also(run: Run, occurrence: Occurrence) -> list[Mark]:
    """Under which further names a module is registered beside itself; said of its first call."""
    names = run.also.get(occurrence.path)
    call = occurrence.call
    if not names or (call is not None and run.call_numbers.get(call.index, (1, 1))[0] > 1):
        return []
    return [Mark(state="also", note=cut_end(", ".join(names), NOTE_LENGTH))]


def _is_inside_another(run: Run, occurrence: Occurrence) -> bool:
    """Whether a container around it is called again, and says so."""
    above = occurrence.parent
    while above is not None:
        if above.call is not None and run.call_numbers.get(above.call.index, (1, 1))[0] > 1:
            return True
        above = above.parent
    return False


def call_text(run: Run, occurrence: Occurrence) -> str:
    """ "call 2 of 3" for a layer without parameters, where a state of its own would say too much; "" for one call."""
    call = occurrence.call
    if call is None or occurrence.end is None or occurrence.path != call.module or not occurrence.path:
        return ""
    if _is_inside_another(run, occurrence):
        return ""
    number, count = run.call_numbers.get(call.index, (1, 1))
    if number == 1 or _holds_tensors(run, call.module):
        return ""
    return f"call {_number_text(run, call.module, number, count)}"


def _number_text(run: Run, path: str, number: int, count: int) -> str:
    """ "2 of 3"; "2" where nobody knows how many there will be."""
    calls = (run.graph.calls[index] for index in run.index.modules[path].calls)
    return str(number) if any(call.may_repeat for call in calls) else f"{number} of {count}"
