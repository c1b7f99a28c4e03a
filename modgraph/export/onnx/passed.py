"""What a trace knows of calls that an exporter may leave no operator of: `graph/onnx_passed.py` reads it back."""

from __future__ import annotations

from collections import defaultdict

from modgraph.export.onnx.cut import Place
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Call, Edge, Graph, TensorInfo
from modgraph.graph.onnx_passed import PassedCall


def traced_calls(graph: Graph) -> tuple[PassedCall, ...]:
    """Every call of a trace but the model's own, as it is to be said where no operator is left of it."""
    index = GraphIndex(graph)
    counts: dict[str, int] = defaultdict(int)
    places: dict[int, str] = {}
    for call in graph.calls:
        places[call.index] = Place(call.module, counts[call.module], "").text if call.module else ""
        counts[call.module] += 1
    found = []
    last: dict[int | None, str] = {}
    for call in graph.calls:
        if call.parent is not None and call.module:
            found.append(_passed(call, index, places, last.get(call.parent)))
        last[call.parent] = places[call.index]
    return tuple(found)


def _passed(call: Call, index: GraphIndex, places: dict[int, str], before: str | None) -> PassedCall:
    given = _data(index.incoming.get(f"call:{call.index}", ()))
    producer, alone = None, False
    if len(given) == 1:
        end = given[0].producer
        alone = {edge.consumer for edge in index.outgoing.get(end, ())} == {f"call:{call.index}"}
        kind, _, number = end.partition(":")
        producer = end if kind == "input" else places[int(number)] if kind == "call" else None
    readers = []
    for edge in index.outgoing.get(f"call:{call.index}", ()):
        kind, _, number = edge.consumer.partition(":")
        if kind == "call" and len(_data(index.incoming[edge.consumer])) == 1:
            readers.append(places[int(number)])
    return PassedCall(
        place=places[call.index],
        parent=places[call.parent] if call.parent is not None else "",
        before=before,
        inputs=tuple(_tensor(tensor) for tensor in call.inputs),
        outputs=tuple(_tensor(tensor) for tensor in call.outputs),
        producer=producer,
        alone=alone,
        readers=tuple(readers),
    )


def _data(edges: tuple[Edge, ...]) -> list[Edge]:
    return [edge for edge in edges if not edge.producer.startswith("param:")]


def _tensor(tensor: TensorInfo) -> tuple[str, str | None, tuple[int | str | None, ...] | None]:
    return tensor.name, tensor.dtype, tensor.shape
