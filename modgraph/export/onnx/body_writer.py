"""Writes one body of a hierarchical ONNX model: fresh nodes, named as the module that holds them sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from modgraph.export.onnx.cut import Place, Run, Step, flattened, inner_graphs

if TYPE_CHECKING:
    import onnx_ir as ir


class Interface(Protocol):
    """What a run takes in and gives."""

    inputs: list[ir.Value]
    weights: list[ir.Value]
    outputs: list[ir.Value]


class Regrouping(Protocol):
    """What a body asks of the model that it is part of."""

    def is_function(self, run: Run) -> bool: ...
    def interface(self, run: Run) -> Interface: ...
    def function_of(self, run: Run, interface: Any) -> ir.Function: ...
    def facts_of(self, place: Place) -> Mapping[str, str]: ...
    def set_type(self, value: ir.Value, like: ir.Value) -> None: ...
    def node(self, *args: Any, **kwargs: Any) -> ir.Node: ...
    def attribute(self, *args: Any) -> ir.Attr: ...


def below(path: str, base: str) -> str | None:
    """`path` as seen from the module `base`; None where it does not lie below it."""
    if not base:
        return path
    return path.removeprefix(f"{base}.") if path.startswith(f"{base}.") else None


class BodyWriter:
    """Writes the items of one body: fresh nodes, named as the module that holds them sees them."""

    def __init__(
        self,
        regrouping: Regrouping,
        path: str,
        values: dict[ir.Value, ir.Value],
        names: Names,
        kept_names: set[ir.Value] | None = None,
    ) -> None:
        self._regrouping, self._path, self._values, self._value_names = regrouping, path, values, names
        self._kept = kept_names or set()
        self._node_names = Names(set())
        self._calls: dict[str, list[int]] = {}

    def nodes(self, items: Iterable[Step | Run]) -> list[ir.Node]:
        made: list[ir.Node] = []
        for item in items:
            if isinstance(item, Step):
                made.append(self._operator(item.node, self._prefix(item)))
            elif self._regrouping.is_function(item):
                made.append(self._call(item))
            else:
                made.extend(self._layer(item))
        return made

    def _prefix(self, step: Step) -> str:
        """Of a node that stands deeper than functions go, the module."""
        inner = step.scope[-1].path if step.scope else ""
        return "" if inner == self._path or not inner else f"{below(inner, self._path) or inner}/"

    def _operator(self, node: ir.Node, prefix: str) -> ir.Node:
        return self._copied(node, self._node_names.free(f"{prefix}{node.op_type}"))

    def _layer(self, run: Run) -> list[ir.Node]:
        """A module of one operator, and the constants that this one reads."""
        name = self._call_name(run)
        made = []
        for step in flattened(run.items):
            if step.node.op_type == "Constant":
                made.append(self._copied(step.node, self._node_names.free(f"{name}.value")))
            else:
                made.append(self._copied(step.node, self._node_names.free(name)))
                self._describe(made[-1], run)
        return made

    def _call(self, run: Run) -> ir.Node:
        interface = self._regrouping.interface(run)
        called = self._regrouping.function_of(run, interface)
        inputs = [self._values[value] for value in (*interface.inputs, *interface.weights)]
        node = self._regrouping.node(
            called.domain,
            called.name,
            inputs,
            num_outputs=len(interface.outputs),
            name=self._node_names.free(self._call_name(run)),
        )
        self._describe(node, run)
        self._name_outputs(node, interface.outputs)
        return node

    def _describe(self, node: ir.Node, run: Run) -> None:
        inside = below(run.place.path, self._path)
        node.metadata_props["modgraph.module"] = run.place.path if inside is None else inside
        if inside is None:
            node.metadata_props["modgraph.outside"] = "true"
        node.metadata_props.update(self._regrouping.facts_of(run.place))

    def _call_name(self, run: Run) -> str:
        """ "conv1", "relu@2" for the second call in this body, "conv1#2" for the second piece of one call."""
        relative = below(run.place.path, self._path) or run.place.path
        calls = self._calls.setdefault(relative, [])
        if run.place.call not in calls:
            calls.append(run.place.call)
        count = calls.index(run.place.call) + 1
        return relative + (f"@{count}" if count > 1 else "") + (f"#{run.part}" if run.part > 1 else "")

    def _copied(self, node: ir.Node, name: str) -> ir.Node:
        inputs = [None if value is None else self._values[value] for value in node.inputs]
        made = self._regrouping.node(
            node.domain,
            node.op_type,
            inputs,
            [self._attribute(attribute, name) for attribute in node.attributes.values()],
            overload=node.overload,
            num_outputs=len(node.outputs),
            name=name,
        )
        self._name_outputs(made, node.outputs)
        return made

    def _name_outputs(self, node: ir.Node, like: Sequence[ir.Value]) -> None:
        for place, (new, old) in enumerate(zip(node.outputs, like, strict=True)):
            if old in self._kept:
                new.name = old.name
            elif not old.name:
                new.name = ""  # an optional output that nobody wants
            else:
                new.name = self._value_names.free(node.name if len(like) == 1 else f"{node.name}.{place}")
            if old in self._kept:
                new.type, new.shape = old.type, old.shape
            else:
                self._regrouping.set_type(new, old)
            self._values[old] = new

    def _attribute(self, attribute: ir.Attr, name: str) -> ir.Attr:
        if attribute.is_ref() or attribute.type.name not in ("GRAPH", "GRAPHS"):
            return attribute
        if attribute.type.name == "GRAPH":
            return self._regrouping.attribute(attribute.name, attribute.type, self._inner(attribute.as_graph(), name))
        graphs = [self._inner(graph, name) for graph in attribute.as_graphs()]
        return self._regrouping.attribute(attribute.name, attribute.type, graphs)

    def _inner(self, graph: ir.Graph, name: str) -> ir.Graph:
        """A graph inside a node; its names are unlike those of the body around it."""
        made = graph.clone(allow_outer_scope_values=True)
        own: set[Any] = {*made.inputs, *made.initializers.values()}
        for value in made.inputs:
            value.name = self._value_names.free(f"{name}/{value.name}")
        self._settle(made, own, name)
        return made

    def _settle(self, graph: ir.Graph, own: set[Any], name: str) -> None:
        for node in graph:
            own.update(node.outputs)
            node.metadata_props.clear()
            node.name = self._node_names.free(f"{name}/{node.op_type}")
            for value in node.outputs:
                value.name = self._value_names.free(node.name) if value.name else ""
            for place, value in enumerate(node.inputs):
                if value is not None and value not in own:
                    node.replace_input_with(place, self._values[value])
            for inner in inner_graphs(node):
                for value in inner.inputs:
                    value.name = self._value_names.free(f"{name}/{value.name}")
                self._settle(inner, own | {*inner.inputs, *inner.initializers.values()}, name)
        for place, value in enumerate(graph.outputs):
            if value not in own:
                graph.outputs[place] = self._values[value]


class Names:
    """Names of one body."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._counts: dict[str, int] = {}

    def free(self, wanted: str) -> str:
        """`wanted`, or "wanted_2" where it is taken."""
        name = wanted
        while name in self._taken:
            self._counts[wanted] = self._counts.get(wanted, 1) + 1
            name = f"{wanted}_{self._counts[wanted]}"
        self._taken.add(name)
        return name
