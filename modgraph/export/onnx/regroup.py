"""A flat ONNX model -> the same with the modules as nested local functions, one per distinct block.

Two calls share a function where everything inside them agrees: class, operators, attributes, wiring, the names of the
parameters below the module, and (unless asked otherwise) types and shapes. Nothing is computed and nothing guessed: the
nodes are those of the flat model, in an order that its edges allow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from modgraph.export.onnx.body_writer import BodyWriter, Names, below
from modgraph.export.onnx.canon import digest, node_text, type_text
from modgraph.export.onnx.cut import SCOPE, Place, Run, Step, cut, flattened, inner_graphs
from modgraph.graph.onnx_passed import FACT as PASSED
from modgraph.graph.onnx_passed import PassedCall, passed_text
from modgraph.names import last_name
from modgraph.options import OnnxOptions

if TYPE_CHECKING:
    import onnx_ir as ir

MAX_CLONED = 4096
"""Bytes of a constant that is written where it is used; a larger one is handed down as a parameter is."""
MAX_NAMED = 8
"""Calls of a function that its description names; its metadata names all."""

WEIGHT = "modgraph.weight"
"""Metadata of a graph input that stands for a parameter without values."""

Facts = dict[str, str]


@dataclass(slots=True)
class ModuleFacts:
    """What is known of a model beside its operators."""

    class_name: str = ""
    """Of the model itself."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Class of each module by path: those that no operator is left of are listed in the functions that hold them."""
    calls: Mapping[str, Facts] = field(default_factory=dict)
    """By `Place.text`: what is known of that call, with names that begin with "modgraph."."""
    parameters: int | None = None
    """Number of elements of all parameters."""
    tree: Mapping[str, str | None] = field(default_factory=dict)
    """Class of everything in the module tree by path, in the order of registration; the model itself is left out."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """The first path of a module by each further one."""
    tied: Mapping[str, str] = field(default_factory=dict)
    """The first name of a parameter by each further one."""
    traced: tuple[PassedCall, ...] = ()
    """The calls of the run; those that no operator is left of are written down."""

    def of_file(self, reached: Collection[str]) -> Facts:
        """What a file says of the run beside its operators. `reached`: the calls that have some, by `Place.text`."""
        said = {"modgraph.aliases": self.aliases, "modgraph.tied": self.tied}
        facts = {name: json.dumps(dict(fact), ensure_ascii=False) for name, fact in said.items() if fact}
        passed = [call for call in self.traced if call.place not in reached]
        return facts | ({PASSED: passed_text(passed)} if passed else {})


@dataclass(slots=True)
class Regrouped:
    """The result, and its size in words."""

    model: ir.Model
    calls: int
    functions: int


@dataclass(slots=True)
class _Function:
    """One distinct block."""

    key: str
    function: ir.Function
    weights: list[ir.Value]
    """The formals that stand for parameters, and `names` what each is called in the model, in the first call."""
    names: list[str]
    members: list[str]
    nodes: list[ir.Node]
    class_name: str


@dataclass(slots=True)
class _Interface:
    inputs: list[ir.Value]
    weights: list[ir.Value]
    outputs: list[ir.Value]


def clone_constants(graph: ir.Graph, parameters: Iterable[str], package: Any) -> None:
    """Write small constants as nodes where they are used, so that no function has to take them in.

    Args:
        parameters: names of the initialisers that are the model's own; they stay.
    """
    own = set(parameters)
    small = {
        value
        for name, value in graph.initializers.items()
        if name not in own and value.const_value is not None and value.const_value.nbytes <= MAX_CLONED
    }
    kept = set(graph.outputs)
    for node in list(graph):
        for value in dict.fromkeys(read for read in _all_reads(node) if read in small):
            constant = package.node("Constant", [], {"value": package.tensor(value.const_value.numpy())})
            constant.name = f"{node.name}.{value.name}"
            constant.outputs[0].name = f"{value.name}.{node.name}"
            constant.outputs[0].type, constant.outputs[0].shape = value.type, value.shape
            constant.metadata_props[SCOPE] = node.metadata_props.get(SCOPE, "[]")
            graph.insert_before(node, constant)
            _replace_reads(node, value, constant.outputs[0])
    for value in small - kept:
        del graph.initializers[value.name]


def _all_reads(node: ir.Node) -> Iterable[ir.Value]:
    yield from (value for value in node.inputs if value is not None)
    for graph in inner_graphs(node):
        for inner in graph:
            yield from _all_reads(inner)
        yield from graph.outputs


def _replace_reads(node: ir.Node, old: ir.Value, new: ir.Value) -> None:
    for place, value in enumerate(node.inputs):
        if value is old:
            node.replace_input_with(place, new)
    for graph in inner_graphs(node):
        for inner in graph:
            _replace_reads(inner, old, new)
        for place, value in enumerate(graph.outputs):
            if value is old:
                graph.outputs[place] = new


def regroup(flat: ir.Model, facts: ModuleFacts, options: OnnxOptions, package: Any) -> Regrouped:
    """The hierarchical form of `flat`, which stays as it is.

    Args:
        flat: a model whose nodes have the metadata `SCOPE`, and no functions.
        package: onnx_ir.
    """
    return _Regrouping(flat, facts, options, package).result()


class _Regrouping:
    def __init__(self, flat: ir.Model, facts: ModuleFacts, options: OnnxOptions, package: Any) -> None:
        self._flat, self._facts, self._options, self._ir = flat, facts, options, package
        self._items = cut(flat.graph, depth=options.depth)
        steps = list(flattened(self._items))
        self._made = {value: step.position for step in steps for value in step.node.outputs}
        self._last_use: dict[ir.Value, int] = {}
        for step in steps:
            self._last_use.update(dict.fromkeys(step.reads, step.position))
        self._last_use.update(dict.fromkeys(flat.graph.outputs, len(steps)))
        self._weights = set(flat.graph.initializers.values())
        self._weights |= {value for value in flat.graph.inputs if is_weight(value)}
        self._functions: dict[str, _Function] = {}
        self._names: set[tuple[str, str]] = set()
        self._calls = 0
        self._reached = {place.path for step in steps for place in step.scope}
        self._places = {place.text for step in steps for place in step.scope}
        self._holders = {run.place.path for run in _runs(self._items) if self.is_function(run)}
        self._elided = self._find_elided()
        self._children = self._find_children()

    def result(self) -> Regrouped:
        flat, package = self._flat, self._ir
        values = {value: _copied(value, package) for value in (*flat.graph.inputs, *flat.graph.initializers.values())}
        names = Names({*(value.name for value in values), *(value.name for value in flat.graph.outputs)})
        body = BodyWriter(self, "", values, names, kept_names=set(flat.graph.outputs))
        nodes = body.nodes(self._items)
        graph = package.Graph(
            [values[value] for value in flat.graph.inputs],
            [values[value] for value in flat.graph.outputs],
            nodes=nodes,
            initializers=[values[value] for value in flat.graph.initializers.values()],
            opset_imports=dict(flat.graph.opset_imports),
            name=flat.graph.name,
        )
        functions = [made.function for made in self._functions.values()]
        for made in self._functions.values():
            self._describe(made)
        graph.opset_imports.update(_opsets(graph, flat.graph.opset_imports))
        graph.opset_imports.update({function.domain: 1 for function in functions})
        model = package.Model(graph, ir_version=flat.ir_version, functions=functions)
        if self.elided_at_top:
            model.metadata_props["modgraph.elided"] = json.dumps(self.elided_at_top)
        if self._children.get(""):
            model.metadata_props["modgraph.children"] = json.dumps(dict(self._children[""]))
        model.metadata_props.update(self._facts.of_file(self._places))
        return Regrouped(model, self._calls, len(functions))

    def interface(self, run: Run) -> _Interface:
        """What a run takes in and gives: used and not made inside; made inside and used after."""
        steps = list(flattened(run.items))
        start, end = steps[0].position, steps[-1].position
        read = dict.fromkeys(value for step in steps for value in step.reads)
        outside = [value for value in read if not start <= self._made.get(value, -1) <= end]
        return _Interface(
            inputs=[value for value in outside if value not in self._weights],
            weights=[value for value in outside if value in self._weights],
            outputs=[v for step in steps for v in step.node.outputs if self._last_use.get(v, -1) > end],
        )

    def is_function(self, run: Run) -> bool:
        """A layer of one operator stays that operator."""
        if self._options.leaf == "function" or not run.is_leaf:
            return True
        working = [step for step in flattened(run.items) if step.node.op_type != "Constant"]
        return len(working) != 1

    def function_of(self, run: Run, interface: _Interface) -> ir.Function:
        """The function that `run` is a call of, made where there is none yet."""
        self._calls += 1
        names = Names(set())
        values: dict[ir.Value, ir.Value] = {}
        for place, value in enumerate(interface.inputs):
            values[value] = self._formal(value, names.free(f"x{place}"))
        for value in interface.weights:
            inside = below(value.name, run.place.path)
            values[value] = self._formal(value, names.free(inside or _last_name(value.name)))
        body = BodyWriter(self, run.place.path, values, names)
        nodes = body.nodes(run.items)
        own_names = [below(value.name, run.place.path) for value in interface.weights]
        key = self._key(run, interface, values, nodes, own_names)
        if key in self._functions:
            known = self._functions[key]
            known.members.append(_member(run))
            for node, other in zip(known.nodes, nodes, strict=True):
                _keep_common(node, other)
            return known.function
        made = _Function(
            key=key,
            function=self._function(run, interface, values, nodes),
            weights=[values[value] for value in interface.weights],
            names=[value.name for value in interface.weights],
            members=[_member(run)],
            nodes=nodes,
            class_name=run.place.class_name,
        )
        self._functions[key] = made
        return made.function

    def _formal(self, value: ir.Value, name: str) -> ir.Value:
        formal = self._ir.Value(name=name)
        self.set_type(formal, value)
        return formal

    def set_type(self, value: ir.Value, like: ir.Value) -> None:
        """Type, and shape where every call of the function has the same."""
        value.type = like.type
        if self._options.dedup != "structure":
            value.shape = like.shape

    def _key(
        self,
        run: Run,
        interface: _Interface,
        values: Mapping[ir.Value, ir.Value],
        nodes: Sequence[ir.Node],
        own_names: Sequence[str | None],
    ) -> str:
        """The same for two calls that can share a function."""
        formals = [values[value] for value in (*interface.inputs, *interface.weights)]
        described = [
            run.place.class_name,
            [[value.name, type_text(value)] for value in formals],
            own_names,
            [node_text(node) for node in nodes],
            [values[value].name for value in interface.outputs],
            self._elided.get(run.place.path, ()),
            self._children.get(run.place.path, ()),
            _member(run) if self._options.dedup == "none" else "",
        ]
        return digest(described)

    def _function(
        self,
        run: Run,
        interface: _Interface,
        values: Mapping[ir.Value, ir.Value],
        nodes: Sequence[ir.Node],
    ) -> ir.Function:
        module, _, name = run.place.class_name.rpartition(".")
        domain = _domain(module)
        name = _free_in(re.sub(r"[^\w]+", "_", name) or "Module", domain, self._names)
        imports = _opsets(nodes, self._flat.graph.opset_imports)
        graph = self._ir.Graph(
            [values[value] for value in (*interface.inputs, *interface.weights)],
            [values[value] for value in interface.outputs],
            nodes=nodes,
            opset_imports=imports or {"": self._flat.graph.opset_imports[""]},
            name=name,
        )
        function = self._ir.Function(domain, name, graph=graph, attributes={})
        elided = self._elided.get(run.place.path, ())
        if elided:
            function.metadata_props["modgraph.elided"] = json.dumps(dict(elided))
        children = self._children.get(run.place.path, ())
        if children:
            function.metadata_props["modgraph.children"] = json.dumps(dict(children))
        return function

    def _describe(self, made: _Function) -> None:
        """What a viewer shows, and full names for weights of a function that has one call."""
        function, title = made.function, last_name(made.class_name)
        shown = ", ".join(made.members[:MAX_NAMED]) + (", ..." if len(made.members) > MAX_NAMED else "")
        count = "" if len(made.members) == 1 else f", {len(made.members)} calls"
        function.doc_string = f"{title}{count}: {shown}"
        function.metadata_props["modgraph.class"] = made.class_name
        function.metadata_props["modgraph.members"] = json.dumps(made.members)
        if len(made.members) == 1 and self._options.dedup != "structure":
            taken = {value.name for node in function.all_nodes() for value in node.outputs}
            taken |= {value.name for value in function.inputs}
            for value, name in zip(made.weights, made.names, strict=True):
                if name not in taken:
                    value.name = name
                    taken.add(name)

    def _find_elided(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """The modules without operators, by the module that holds them."""
        weights = [value.name or "" for value in self._weights]
        found: dict[str, list[tuple[str, str]]] = {}
        self.elided_at_top: dict[str, str] = {}
        for path, class_name in self._facts.modules.items():
            if path in self._reached or not path or any(below(name, path) for name in weights):
                continue  # one whose weights are read in the arm of an `If` has operators there
            above = self._holder(path)
            if above:
                found.setdefault(above, []).append((path.removeprefix(f"{above}."), class_name))
            else:
                self.elided_at_top[path] = class_name
        return {path: tuple(entries) for path, entries in found.items()}

    def _find_children(self) -> dict[str, tuple[tuple[str, str | None], ...]]:
        """The module tree in its order, cut at the functions, each of which says what lies below it."""
        found: dict[str, list[tuple[str, str | None]]] = {}
        for path, class_name in self._facts.tree.items():
            above = self._holder(path)
            found.setdefault(above, []).append((path.removeprefix(f"{above}."), class_name))
        return {path: tuple(entries) for path, entries in found.items()}

    def _holder(self, path: str) -> str:
        """The nearest module around `path` that is a function; "" where there is none."""
        above = path.rpartition(".")[0]
        while above and above not in self._holders:
            above = above.rpartition(".")[0]
        return above

    def facts_of(self, place: Place) -> Facts:
        """What is written on the node of a call."""
        return {"modgraph.class": place.class_name, **self._facts.calls.get(place.text, {})}

    def node(self, *args: Any, **kwargs: Any) -> ir.Node:
        """A node of onnx_ir."""
        return self._ir.Node(*args, **kwargs)

    def attribute(self, *args: Any) -> ir.Attr:
        """An attribute of onnx_ir."""
        return self._ir.Attr(*args)


def is_weight(value: ir.Value) -> bool:
    """An input of the model that stands for a parameter whose values are not in the file."""
    return bool(value.metadata_props.get(WEIGHT) == "true")


def _copied(value: ir.Value, package: Any) -> ir.Value:
    made = package.Value(name=value.name, type=value.type, shape=value.shape, const_value=value.const_value)
    made.metadata_props.update(value.metadata_props)
    return made


def _runs(items: Iterable[Step | Run]) -> Iterable[Run]:
    for item in items:
        if isinstance(item, Run):
            yield item
            yield from _runs(item.items)


def _last_name(name: str) -> str:
    return last_name(name) or "weight"


def _member(run: Run) -> str:
    return run.place.text + (f"#{run.part}" if run.part > 1 else "")


def _keep_common(node: ir.Node, other: ir.Node) -> None:
    """Of what is written on a node that two calls share, what is true of both."""
    for name, fact in list(node.metadata_props.items()):
        if other.metadata_props.get(name) != fact:
            del node.metadata_props[name]


def _domain(module: str) -> str:
    """The Python module of a class; never one of ONNX's own domains."""
    if not module or module == "ai" or module.startswith("ai.onnx"):
        return f"module.{module}".rstrip(".")
    return module


def _free_in(wanted: str, domain: str, taken: set[tuple[str, str]]) -> str:
    name, count = wanted, 1
    while (domain, name) in taken:
        count += 1
        name = f"{wanted}_{count}"
    taken.add((domain, name))
    return name


def _opsets(nodes: Iterable[ir.Node], known: Mapping[str, int]) -> dict[str, int]:
    """The domains that a body uses, also in the graphs inside its nodes, with their versions."""
    found: dict[str, int] = {}
    for node in nodes:
        found[node.domain] = known.get(node.domain, 1)
        for graph in inner_graphs(node):
            found.update(_opsets(graph, known))
    return found
