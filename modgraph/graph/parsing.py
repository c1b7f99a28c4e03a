"""JSON text of schema `modgraph/1` -> `Graph`, with a clear message for every way in which it can be wrong.

It checks what it reads by itself, so that a graph loads where no JSON Schema library is installed. Fields that it does
not know are left alone: more may stand beside the fixed ones.
"""

from __future__ import annotations

import json
from typing import Any

from modgraph.doors.data import MAX_GRAPH_MEMORY, TooLargeError, read_json
from modgraph.errors import GraphError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.codec import MisfitError
from modgraph.graph.json_fields import CODEC
from modgraph.graph.model import Graph

SCHEMA = "modgraph/1"

MAX_RECORDS = 400_000
"""Modules, calls, operations and edges of one graph, all together: of more, nobody waits for a picture. Modules take
most room; of these, a file that is read (`reading.GRAPH_BYTES`) holds some 200,000."""
MAX_LEVELS = 1_000
"""Modules inside each other; Python itself follows no more."""


def parse_graph(text: str) -> Graph:
    """The graph that `text` holds.

    Raises:
        GraphError: the text is no JSON, no graph of this schema, or a graph that contradicts itself.
    """
    document = _parse_json(text)
    if type(document) is dict:
        _check_schema(document.get("schema"))
        _check_size(document)
    try:
        read = CODEC.decode(Graph, document)
    except MisfitError as error:
        raise GraphError(str(error)) from error
    for position, node in enumerate(read.modules):
        if node.path.count(".") >= MAX_LEVELS:
            raise GraphError(
                f"modules[{position}].path: more than {MAX_LEVELS:,} modules inside each other, which is not read"
            )
    graph = GraphBuilder.of(read).build()
    if type(document.get("complete")) is not bool:
        raise GraphError("complete: expected true or false")
    if document["complete"] != graph.complete:
        raise GraphError(
            f"complete: is {str(not graph.complete).lower()}, and there are {len(graph.problems)} problems"
        )
    return graph


def _parse_json(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON number")

    try:
        return read_json(text, MAX_GRAPH_MEMORY, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise GraphError(f"this is no JSON: {error.msg}", line=error.lineno, column=error.colno) from error
    except TooLargeError as error:
        raise GraphError(f"this graph is not read: {error}") from error
    except ValueError as error:
        raise GraphError(f"this is no JSON: {error}") from error


def _check_schema(schema: Any) -> None:
    if schema is None:
        raise GraphError('this is no graph of modgraph: it has no "schema"')
    if schema != SCHEMA:
        known = isinstance(schema, str) and schema.startswith("modgraph/")
        raise GraphError(
            f"the graph is of schema {schema!r}, and this version of modgraph reads {SCHEMA!r}",
            hint="read it with the version of modgraph that wrote it, or a newer one" if known else None,
        )


def _check_size(document: dict[str, Any]) -> None:
    held = (document.get(key) for key in ("modules", "calls", "operations", "edges"))
    number = sum(len(each) for each in held if isinstance(each, list))
    if number > MAX_RECORDS:
        raise GraphError(
            f"the graph is too large to be read: {number:,} modules, calls, operations and edges, more than "
            f"{MAX_RECORDS:,}"
        )
