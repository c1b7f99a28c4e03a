"""What a model gives: the ends of edges that stand for it, and what of it is not known."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.graph.model import Graph, TensorInfo


def output_end(place: str) -> str:
    """The end of the edges that lead to a place: "output[0][1]" -> "output:0[1]", "output.logits" -> "output:logits",
    "output['a'][0]" -> "output:a[0]"; "output:0" for the only one."""
    place = place.removeprefix("output")
    if not place:
        return "output:0"
    if place.startswith("."):
        return f"output:{place[1:]}"
    end = place.index("]")
    return "output:" + place[1:end].strip("'\"") + place[end + 1 :]


def unknown_outputs(graph: Graph) -> Iterator[TensorInfo]:
    """The places in what the model gives of which nothing is known; none where a run has shown it."""
    root = next((call for call in graph.calls if call.parent is None and call.module == ""), None)
    if root is not None:
        yield from (each for each in root.outputs if each.unknown is not None)
