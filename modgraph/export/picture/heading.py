"""The title of a picture and its legend: what the model is, what is shown of it, what was cut."""

from __future__ import annotations

from collections import Counter

from modgraph.export.look.folding import Arrangement, Cut
from modgraph.export.look.idioms import brief
from modgraph.export.look.labels import class_title, cut, cut_end, number_text, shape_text
from modgraph.export.look.parts import Card, Frame, Item, Kind, Legend, State
from modgraph.export.look.style import KINDS, STATES
from modgraph.export.picture.rows import parameters_text
from modgraph.export.text.arguments import arguments_line, assumed_line, no_calls_line
from modgraph.export.text.checkpoint import checkpoint_headline
from modgraph.export.text.left_out import left_out_line
from modgraph.export.text.stored import stored_title
from modgraph.export.text.weights import weights_line
from modgraph.graph.focus import Focus
from modgraph.graph.model import Graph
from modgraph.graph.occurrences import Run
from modgraph.graph.torch_classes import CONTAINERS

MOST_INPUTS = 3


def heading(
    run: Run,
    items: tuple[Item, ...],
    cut_at: Cut,
    levels: int,
    arrangement: Arrangement,
    focus: Focus | None = None,
) -> tuple[str, str, tuple[str, ...], Legend]:
    """Name, line beside it, further lines, and the legend of what occurs in `items`."""
    graph = run.graph
    return (
        model_title(graph) if focus is None else cut(focus.path) or "model",
        subtitle_of(run, focus),
        _notes(graph, cut_at, levels, arrangement),
        legend_of(items),
    )


def model_title(graph: Graph) -> str:
    """What the model is called: its class, where that says something, not the function or variable that gives it."""
    kind = graph.model.class_name
    named = kind is not None and not kind.startswith(CONTAINERS) and kind != "NoneType"
    return cut(class_title(kind) if named else graph.model.name) or "model"


def subtitle_of(run: Run, focus: Focus | None = None) -> str:
    """What stands beside the name: where the model comes from, its size, its inputs."""
    graph = run.graph
    target = graph.model.target or ""
    facts = [
        "" if focus is not None or target.endswith(graph.model.name) else _given_name(graph),
        cut_end(target, 60),
        _idiom(run, focus),
        *([_parameters(graph), _inputs(run)] if focus is None else _focus_facts(run, focus)),
        _half(graph),
        "train mode" if graph.model.mode == "train" and graph.traced else "",
    ]
    return " · ".join(fact for fact in facts if fact)


def figure_subtitle(run: Run, focus: Focus | None = None) -> str:
    """What stands beside the name in a figure: size and inputs."""
    graph = run.graph
    facts = [_given_name(graph), _parameters(graph), _inputs(run)] if focus is None else _focus_facts(run, focus)
    return " · ".join(fact for fact in (_idiom(run, focus), *facts) if fact)


def _idiom(run: Run, focus: Focus | None) -> str:
    """What readers call all of it."""
    idiom = run.idioms.get("" if focus is None else focus.path)
    return "" if idiom is None else brief(idiom)


def _given_name(graph: Graph) -> str:
    """What the function or variable is called that gives the model, where the title is its class."""
    name = cut(graph.model.name)
    return "" if name == model_title(graph) else name


def _focus_facts(run: Run, focus: Focus) -> list[str]:
    node = run.index.modules[focus.path]
    numbers = parameters_text(run, node)
    occurs = f"the first of {focus.times} calls" if focus.times > 1 else ""
    return [cut(class_title(node.class_name)), f"{numbers} params" if numbers else "", occurs]


def _parameters(graph: Graph) -> str:
    number = graph.model.parameters
    if number is None and graph.stored is not None and graph.stored.elements is not None:
        return f"{number_text(graph.stored.elements, 4)} elements"
    return "" if number is None else f"{number_text(number, 4)} param{'' if number == 1 else 's'}"


def _inputs(run: Run) -> str:
    shapes = [
        (f"{given.name} ×{times}" if times > 1 else given.name, text)
        for given in run.graph.model.inputs
        for text, times in Counter(shape_text(tensor.shape) for tensor in given.tensors).items()
    ]
    if not shapes:
        seen = {edge.producer: edge.tensor for edge in run.graph.edges if edge.producer.startswith("input:")}
        shapes = [(end.partition(":")[2], shape_text(tensor.shape)) for end, tensor in seen.items()]
    if not shapes:
        return ""
    if len(shapes) == 1:
        return f"input {shapes[0][1]}"
    shown = ", ".join(f"{cut(name)} {text}" for name, text in shapes[:MOST_INPUTS])
    return f"inputs {shown}" + (" …" if len(shapes) > MOST_INPUTS else "")


def _half(graph: Graph) -> str:
    if graph.predicted and not graph.traced:
        return f"predicted ({graph.model.mode})" if graph.model.mode else "predicted"
    if graph.traced and not graph.predicted:
        return "traced"
    return stored_title(graph)


def conditions(graph: Graph, most: int = 120) -> list[str]:
    """Under what the graph holds: arguments that were found or assumed, surroundings, weights that are not there.

    Args:
        most: characters of each.
    """
    notes = []
    if arguments := arguments_line(graph):
        notes.append(cut_end(arguments, most))
    if assumed := assumed_line(graph):
        notes.append(cut_end(f"assumed: {assumed}", most))
    if unpredicted := no_calls_line(graph):
        notes.append(cut_end(f"forward {unpredicted}", most))
    if missing := weights_line(graph.model.missing_weights):
        notes.append(cut_end(f"weights {missing}", most))
    if left_out := left_out_line(graph.model.left_out):
        notes.append(cut_end(f"left out {left_out}", most))
    return notes


def partial_line(graph: Graph, most: int = 90) -> str:
    """ "partial: the model may have a child 'body' · and 2 more"; "" of a graph that leaves nothing open.

    Args:
        most: characters of the first problem.
    """
    if not graph.problems:
        return ""
    number = len(graph.problems)
    text = graph.problems[0].headline
    return f"partial: {cut_end(text, most)}" + (f" · and {number - 1} more" if number > 1 else "")


def _notes(graph: Graph, cut_at: Cut, levels: int, arrangement: Arrangement) -> tuple[str, ...]:
    notes = conditions(graph)
    shown = []
    if cut_at.depth < levels:
        deeper = f", {count} deeper" if (count := len(cut_at.deeper)) else ""
        shown.append(f"drawn to depth {cut_at.depth} of {levels}{deeper}")
    if arrangement.left_out:
        shown.append(f"{arrangement.left_out} steps in the middle left out")
    if arrangement.operations:
        shown.append(f"{arrangement.operations} operations collapsed (▸)")
    if arrangement.like:
        what = "1 container" if arrangement.like == 1 else f"{arrangement.like} containers"
        some = "" if arrangement.resized >= arrangement.like else "some with "
        sizes = f", {some}other sizes" if arrangement.resized else ""
        shown.append(f"{what} collapsed (▸): same structure{sizes}")
    if shown:
        notes.append(" · ".join(shown))
    if partial := partial_line(graph):
        notes.append(partial)
    if graph.checkpoint is not None:
        notes.append(cut_end(checkpoint_headline(graph.checkpoint), 120))
    return tuple(notes)


def legend_of(items: tuple[Item, ...]) -> Legend:
    """Kinds and states that occur in `items`, in the order of the tables."""
    kinds: set[Kind] = set()
    states: set[State] = set()
    collapsed = repeated = False
    pending = list(items)
    while pending:
        item = pending.pop()
        if isinstance(item, Frame):
            pending.extend(item.items)
            repeated = repeated or item.copies > 1
            states.update(mark.state for mark in item.marks)
        elif isinstance(item, Card):
            states.update(mark.state for mark in item.marks)
            for row in item.rows:
                states.update(mark.state for mark in row.marks)
                repeated = repeated or row.copies > 1
                collapsed = collapsed or row.collapsed
                if not row.muted and not (row.collapsed and row.kind == "other"):
                    kinds.add(row.kind)
    return Legend(
        kinds=tuple(kind for kind in KINDS if kind in kinds),
        collapsed=collapsed,
        repeated=repeated,
        states=tuple(state for state in STATES if state in states and STATES[state].legend),
    )
