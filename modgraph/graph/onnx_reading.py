"""An ONNX file -> Graph: local functions are modules, nodes are operations, initialisers are parameters.

A file of modgraph says more of each node in its metadata. Of any other the nodes are known and their shapes, and its
local functions stand for modules. Nothing is computed, and no weight is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from modgraph.doors.reading import ONNX_BYTES, read
from modgraph.errors import GraphError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.lfs import refuse_pointer
from modgraph.graph.model import (
    BufferInfo,
    Call,
    Edge,
    Graph,
    ModelInfo,
    ModelInput,
    ModuleNode,
    Operation,
    ParameterInfo,
    Shape,
    TensorInfo,
)
from modgraph.graph.onnx_amount import MAX_DIMENSIONS, WORD, Amount, words
from modgraph.graph.onnx_facts import list_of, losses, mapping, mode_of, number_of, place_of, shape_of, texts
from modgraph.graph.onnx_parts import (
    Body,
    Function,
    Node,
    attribute,
    facts_of,
    function_of,
    node_of,
    require_text,
    size_of,
    unknown,
)
from modgraph.graph.onnx_passed import FACT as PASSED
from modgraph.graph.onnx_passed import join_calls, read_passed, split_place
from modgraph.graph.onnx_types import dtype_of
from modgraph.graph.serial import unreadable
from modgraph.names import last_name

if TYPE_CHECKING:
    import onnx

DOMAIN = "modgraph"
"""Of the nodes of a file that shows the structure alone."""
_OWN_NODES = {"Input", "Parameter", "Constant", "Result", "Output"}
"""Nodes of that domain that stand for no module and no operation."""


def load_onnx(path: str | Path) -> Graph:
    """The graph of an ONNX file.

    Raises:
        GraphError: the file cannot be read or is no ONNX, or onnx is not installed.
    """
    try:
        import onnx
    except ImportError as error:
        raise GraphError('reading ONNX needs the onnx package: pip install "modgraph[onnx]"', file=str(path)) from error
    try:
        content = read(path, ONNX_BYTES)
    except OSError as error:
        raise unreadable(error, path) from error
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # protobuf's own
        refuse_pointer(path)
        raise GraphError("this is no ONNX file", file=str(path)) from error
    require_text(model, str(path))
    if not model.graph.node and not model.graph.output and not model.graph.input:
        raise GraphError("this is no ONNX file, or one of an empty graph", file=str(path))
    try:
        return _Reader(onnx, model, Path(path).stem).graph()
    except RecursionError as error:
        why = "a function of it calls itself, or is nested too deeply"
        raise GraphError(f"this is no ONNX that can be read: {why}", file=str(path)) from error
    except GraphError as error:
        error.file = str(path)
        raise
    except (ValueError, TypeError, KeyError, OverflowError) as error:  # texts that are no UTF-8, numbers too large
        raise GraphError(f"this is no ONNX that can be read: {str(error)[:200]}", file=str(path)) from error


class _Reader:
    def __init__(self, onnx_package: Any, model: onnx.ModelProto, stem: str) -> None:
        self._onnx, self._model = onnx_package, model
        self._facts = facts_of(model)
        self._kind = self._facts.get("modgraph.kind")
        self._ran = "traced" in self._facts.get("modgraph.graph", "traced")
        self._functions = {(entry.domain, entry.name): entry for entry in model.functions}
        self._modules: dict[str, ModuleNode] = {}
        self._calls: dict[str, list[int]] = {}
        """By module, in order."""
        self._parameters: dict[str, list[ParameterInfo]] = {}
        self._buffers_of: dict[str, list[BufferInfo]] = {}
        self._known: dict[tuple[str, str], Function] = {}
        """Functions that were called."""
        self._amount = Amount()
        self._class = self._facts.get("modgraph.class")
        name = last_name(self._class or model.graph.name or stem)
        self._builder = GraphBuilder(
            ModelInfo(name=name, class_name=self._class, target=self._facts.get("modgraph.target"))
        )
        self._classes = texts(self._facts.get("modgraph.classes"))
        self._opened: dict[tuple[str, ...], int] = {}
        """Calls that the nodes of a flat file name."""
        self._held: dict[str, tuple[Shape | None, str | None]] = {}
        self._buffers = set(list_of(self._facts.get("modgraph.buffers")))
        tied = texts(self._facts.get("modgraph.tied"))
        self._first_names = {name: first for name, first in tied.items() if first is not None}
        self._outputs: dict[int, list[TensorInfo]] = {}
        """Of calls that come in several pieces."""
        self._weights = {tensor.name for tensor in model.graph.initializer}
        self._weights |= {value.name for value in model.graph.input if facts_of(value).get("modgraph.weight") == "true"}

    def graph(self) -> Graph:
        """The graph of the whole file."""
        builder, root = self._builder, self._model.graph
        self._add_module("", self._class)
        self._add_children("", texts(self._facts.get("modgraph.children")))
        tensors = self._tensors([*root.input, *root.value_info, *root.output])
        ends = self._inputs(tensors)
        call = None
        if self._ran:
            call = self._add_call("", None, (), tuple(tensors[value.name] for value in root.output))
        self._amount.add_nodes(len(root.node))
        self._walk(Body(tuple(map(node_of, root.node)), "", call, ends, tensors))
        for value in root.output:
            if value.name in ends:
                tensor = tensors[value.name]
                builder.edges.append(Edge(producer=ends[value.name], consumer=f"output:{value.name}", tensor=tensor))
        elided = texts(self._facts.get("modgraph.elided"))
        self._amount.add_nodes(len(elided) + len(self._classes))
        for path, class_name in {**self._classes, **elided}.items():
            self._add_module(path, class_name)
        self._add_aliases()
        for name, (shape, dtype) in self._held.items():
            self._add_parameter(name, shape, dtype)
        self._add_tied()
        self._add_parents()
        self._join_calls()
        self._amount.require_room(self._builder, len(self._modules))
        builder.modules.extend(self._whole(node) for node in self._modules.values())
        total = self._facts.get("modgraph.parameters", "")
        builder.model = replace(builder.model, parameters=number_of(total), mode=mode_of(self._facts))
        return builder.build()

    def _inputs(self, tensors: dict[str, TensorInfo]) -> dict[str, str]:
        ends: dict[str, str] = {}
        given = []
        for tensor in self._model.graph.initializer:
            name = self._first_names.get(tensor.name, tensor.name)
            self._held[name] = (tuple(tensor.dims), self._dtype(tensor.data_type))
            ends[tensor.name] = f"param:{name}"
        for value in self._model.graph.input:
            if value.name in self._weights:
                known = tensors[value.name]
                name = self._first_names.get(value.name, value.name)
                self._held.setdefault(name, (known.shape, known.dtype))
                ends[value.name] = f"param:{name}"
            else:
                ends[value.name] = f"input:{value.name}"
                given.append(ModelInput(name=value.name, tensors=(tensors[value.name],)))
        self._builder.model = replace(self._builder.model, inputs=tuple(given))
        return ends

    def _whole(self, node: ModuleNode) -> ModuleNode:
        """With what has come together for it."""
        return replace(
            node,
            calls=tuple(self._calls.get(node.path, ())),
            parameters=(*node.parameters, *self._parameters.get(node.path, ())),
            buffers=(*node.buffers, *self._buffers_of.get(node.path, ())),
        )

    def _called(self, function: onnx.FunctionProto) -> Function:
        """The function, of which what one more call of it brings is counted."""
        self._amount.add_nodes(1 + len(function.value_info) // 4 + len(function.node))
        name = (function.domain, function.name)
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = function_of(function, self._tensors(function.value_info))
        self._amount.add_words(known.words)
        self._amount.add_nodes(len(known.elided))
        return known

    def _walk(self, body: Body) -> None:
        for held in body.nodes:
            self._amount.add_words(held.words)
            node, facts = held.proto, held.facts
            function = self._functions.get((node.domain, node.op_type))
            if node.domain == DOMAIN and node.op_type in _OWN_NODES and "modgraph.class" not in facts:
                self._own_node(held, body)
            elif function is not None:
                self._function_call(held, function, body)
            elif self._is_layer(node, facts):
                self._layer(held, body)
            elif node.op_type == "Constant" and not node.input:
                continue
            else:
                self._operation(held, body)

    def _is_layer(self, node: onnx.NodeProto, facts: Mapping[str, str]) -> bool:
        if node.domain == DOMAIN:
            return "modgraph.class" in facts or any(entry.name == "class" for entry in node.attribute)
        return "modgraph.module" in facts and self._facts.get("modgraph.tier") == "A"

    def _own_node(self, held: Node, body: Body) -> None:
        """Of a structural file: a source of values, or where they end."""
        node = held.proto
        if node.op_type == "Output":
            self._connect(held, f"output:{node.name}", body)
        for name in node.output:
            if node.op_type == "Input":
                body.ends[name] = f"input:{node.name}"

    def _function_call(self, held: Node, function: onnx.FunctionProto, body: Body) -> None:
        node, facts, known = held.proto, held.facts, self._called(function)
        path = self._path(held, body)
        class_name = facts.get("modgraph.class") or known.facts.get("modgraph.class")
        self._describe(path, class_name or f"{function.domain}.{function.name}".lstrip("."), facts)
        self._add_children(path, known.children)
        call = self._node_call(held, path, body) if self._ran else None
        pairs = zip(function.input, node.input, strict=False)
        ends = {formal: body.ends[name] for formal, name in pairs if name in body.ends}
        self._walk(Body(known.nodes, path, call, ends, known.tensors))
        for formal, name in zip(function.output, node.output, strict=False):
            if formal in ends:
                body.ends[name] = ends[formal]
        self._amount.add_words(len(known.elided) * words(path))
        for relative, kind in known.elided.items():
            self._add_module(f"{path}.{relative}", kind)

    def _layer(self, held: Node, body: Body) -> None:
        node, facts = held.proto, held.facts
        path = self._path(held, body)
        self._describe(path, facts.get("modgraph.class") or attribute(node, "class"), facts)
        if not self._ran or "never called" in facts.get("modgraph.state", ""):
            return
        call = self._node_call(held, path, body)
        self._connect(held, f"call:{call}", body, below=path)
        body.ends.update((name, f"call:{call}") for name in node.output if name)

    def _node_call(self, held: Node, path: str, body: Body) -> int:
        """The call that a node is: one of its own, or a further piece of an earlier one that other work divides."""
        node = held.proto
        outputs = tuple(body.tensors.get(name) or unknown(name) for name in node.output if name)
        whole = node.name if self._kind is None else held.whole
        self._amount.add_tensors(outputs)
        known = body.pieces.get(whole)
        if known is not None and whole != node.name and self._builder.calls[known].module == path:
            self._outputs.setdefault(known, list(self._builder.calls[known].outputs)).extend(outputs)
            return known
        self._amount.add_words(len(node.input))
        inputs = tuple(
            body.tensors[name]
            for name in node.input
            if name in body.tensors and not body.ends.get(name, "").startswith("param:")
        )
        self._amount.add_tensors(inputs)
        call = body.pieces[whole] = self._add_call(path, body.call, inputs, outputs, held.facts)
        return call

    def _operation(self, held: Node, body: Body) -> None:
        node, facts = held.proto, held.facts
        name = f"op:{len(self._builder.operations)}"
        word = node.op_type if node.domain in (DOMAIN, "", "ai.onnx") else f"{node.domain}.{node.op_type}"
        call = self._named_call(facts, body)
        self._builder.operations.append(
            Operation(id=name, name=f"onnx.{word}", call=call, source=place_of(facts.get("modgraph.source")))
        )
        self._connect(held, name, body)
        body.ends.update((output, name) for output in node.output if output)

    def _named_call(self, facts: Mapping[str, str], body: Body) -> int | None:
        """The call that a node of a flat file says it ran in, opened with those around it."""
        places, call = tuple(list_of(facts.get("modgraph.calls"))), body.call
        self._amount.add_nodes(len(places) ** 2 // 1_000)
        for depth, place in enumerate(places, 1):
            known = self._opened.get(places[:depth])
            if known is None:
                path = re.sub(r"@\d+$", "", place)
                self._add_module(path, self._classes.get(path))
                said = facts if depth == len(places) else None
                known = self._opened[places[:depth]] = self._add_call(path, call, (), (), said)
            call = known
        return call

    def _connect(self, held: Node, end: str, body: Body, below: str | None = None) -> None:
        """Edges for what a node reads; those of a layer's own parameters are not drawn."""
        own = None if below is None else f"param:{below}."
        for value in held.reads:
            producer = body.ends.get(value)
            if producer is None or (own is not None and producer.startswith(own)):
                continue
            self._amount.add_words(len(producer) // WORD)
            tensor = body.tensors.get(value) or unknown(value)
            self._amount.add_tensors((tensor,))
            self._builder.edges.append(Edge(producer=producer, consumer=end, tensor=tensor))
            self._amount.require_room(self._builder)

    def _path(self, held: Node, body: Body) -> str:
        node, facts = held.proto, held.facts
        if "modgraph.path" in facts:
            return facts["modgraph.path"]
        said = facts.get("modgraph.module")
        if said is not None and facts.get("modgraph.outside") == "true":
            return said
        name = said or held.own
        if not name:
            count = body.counts[node.op_type] = body.counts.get(node.op_type, 0) + 1
            name = node.op_type if count == 1 else f"{node.op_type}_{count}"
        if self._kind is None:
            name = re.sub(r"[.\s]+", "_", name)  # any other name is no path
        self._amount.add_words(words(body.path))
        return f"{body.path}.{name}" if body.path else name

    def _describe(self, path: str, class_name: str | None, facts: Mapping[str, str]) -> None:
        self._add_module(path, class_name)
        held = self._modules[path]
        arguments = mapping(facts.get("modgraph.arguments"))
        parameters = tuple(
            ParameterInfo(name=name, shape=shape_of(text), dtype=text.partition("[")[0] or None, trainable=None)
            for name, text in mapping(facts.get("modgraph.parameters")).items()
            if isinstance(text, str)
        )
        self._modules[path] = replace(
            held, arguments=arguments or held.arguments, parameters=held.parameters or parameters
        )

    def _add_module(self, path: str, class_name: str | None) -> None:
        known = self._modules.get(path)
        if known is None:
            predicted = True if "predicted" in self._facts.get("modgraph.graph", "") else None
            observed = True if self._ran else None
            self._modules[path] = ModuleNode(path=path, class_name=class_name, predicted=predicted, observed=observed)
        elif known.class_name is None and class_name is not None:
            self._modules[path] = replace(known, class_name=class_name)

    def _add_parameter(self, name: str, shape: Shape | None, dtype: str | None) -> None:
        """A weight stands on the module that its name says."""
        owner, _, own = name.rpartition(".") if self._kind is not None else ("", "", name)
        self._add_module(owner, None)
        if name in self._buffers:
            buffer = BufferInfo(name=own, shape=shape, dtype=dtype, persistent=None)
            self._buffers_of.setdefault(owner, []).append(buffer)
        else:
            parameter = ParameterInfo(name=own, shape=shape, dtype=dtype, trainable=None)
            self._parameters.setdefault(owner, []).append(parameter)

    def _add_call(
        self,
        path: str,
        parent: int | None,
        inputs: tuple[TensorInfo, ...],
        outputs: tuple[TensorInfo, ...],
        facts: Mapping[str, str] | None = None,
    ) -> int:
        index = len(self._builder.calls)
        source = place_of((facts or {}).get("modgraph.source"))
        self._builder.calls.append(
            Call(index=index, module=path, parent=parent, inputs=inputs, outputs=outputs, source=source)
        )
        self._calls.setdefault(path, []).append(index)
        return index

    def _add_children(self, path: str, children: Mapping[str, str | None]) -> None:
        """What a function, or the file, says of the modules below, in the order of their registration."""
        self._amount.add_nodes(len(children))
        self._amount.add_words(len(children) * words(path))
        for relative, class_name in children.items():
            if relative:
                self._add_module(f"{path}.{relative}" if path else relative, class_name)

    def _add_aliases(self) -> None:
        """Further paths of modules that stand under several."""
        aliases = texts(self._facts.get("modgraph.aliases"))
        self._amount.add_nodes(2 * len(aliases))  # of each comes a module, which is put together twice
        for path, first in aliases.items():
            if not path or first is None or first not in self._modules or first in aliases or self._calls.get(path):
                continue
            self._add_module(path, self._modules[first].class_name)
            self._modules[path] = replace(self._modules[path], alias_of=first)

    def _add_tied(self) -> None:
        """Further names of parameters that stand under several."""
        self._amount.add_nodes(len(self._first_names))
        for name, first in self._first_names.items():
            owner, _, own = name.rpartition(".")
            if first not in self._held or first in self._first_names or name in self._held:
                continue
            self._add_module(owner, None)
            shape, dtype = self._held[first]
            self._amount.add_words(len(shape or ()))  # it is written out again
            parameter = ParameterInfo(name=own, shape=shape, dtype=dtype, trainable=None, alias_of=first)
            self._parameters.setdefault(owner, []).append(parameter)

    def _join_calls(self) -> None:
        """The calls without operators are put among the others, and edges end at calls as those of a trace do."""
        for index, outputs in self._outputs.items():
            self._builder.calls[index] = replace(self._builder.calls[index], outputs=tuple(outputs))
        passed = read_passed(self._facts.get(PASSED), self._amount) if self._ran and self._builder.calls else []
        known = [call for call in passed if split_place(call.place)[0] in self._modules]
        loose = join_calls(self._builder, known, self._owners(), self._amount)
        self._calls = {}
        for call in self._builder.calls:
            self._calls.setdefault(call.module, []).append(call.index)
        self._builder.problems.extend(losses(self._facts, loose, self._amount))

    def _owners(self) -> dict[str, list[str]]:
        """The modules that hold each parameter, by its first name."""
        owners = {name: [name.rpartition(".")[0]] for name in self._held}
        for name, first in self._first_names.items():
            owners.setdefault(first, []).append(name.rpartition(".")[0])
        return owners

    def _add_parents(self) -> None:
        """Containers that only paths tell of: "layers" of "layers.0"."""
        for path in list(self._modules):
            above = path.rpartition(".")[0]
            while above and self._kind is not None:
                self._amount.add_nodes(1 + len(above) // 100)
                self._add_module(above, None)
                above = above.rpartition(".")[0]

    def _tensors(self, values: Iterable[onnx.ValueInfoProto]) -> dict[str, TensorInfo]:
        return {value.name: self._tensor(value) for value in values}

    def _tensor(self, value: onnx.ValueInfoProto) -> TensorInfo:
        kind = value.type.tensor_type
        if not value.type.HasField("tensor_type"):
            return unknown(value.name)
        sizes = None
        if kind.HasField("shape") and len(kind.shape.dim) <= MAX_DIMENSIONS:
            sizes = tuple(size_of(size) for size in kind.shape.dim)
        return TensorInfo(name=value.name, shape=sizes, dtype=self._dtype(kind.elem_type))

    def _dtype(self, code: int) -> str | None:
        """None of a type that is not said, or that the installed onnx does not know."""
        known = self._onnx.TensorProto.DataType
        return dtype_of(known.Name(code)) if code and code in known.values() else None
