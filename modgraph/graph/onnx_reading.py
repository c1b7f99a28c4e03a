"""An ONNX file -> Graph: local functions are modules, nodes are operations, initialisers are parameters.

A file of modgraph says more of each node in its metadata. Of any other the nodes are known and their shapes, and its
local functions stand for modules. Nothing is computed, and no weight is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    SourceLocation,
    TensorInfo,
)
from modgraph.graph.onnx_types import dtype_of

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
        raise GraphError(f"cannot read the graph: {error.strerror or error}", file=str(path)) from error
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # protobuf's own
        refuse_pointer(path)
        raise GraphError("this is no ONNX file", file=str(path)) from error
    if not model.graph.node and not model.graph.output and not model.graph.input:
        raise GraphError("this is no ONNX file, or one of an empty graph", file=str(path))
    try:
        return _Reader(onnx, model, Path(path).stem).graph()
    except RecursionError as error:
        raise GraphError("this is no ONNX that can be read: a function of it calls itself", file=str(path)) from error


@dataclass(slots=True)
class _Body:
    """A function or the graph itself, as it is called once."""

    nodes: Sequence[onnx.NodeProto]
    path: str
    call: int | None
    ends: dict[str, str]
    """What each value comes from, as an end of an edge."""
    tensors: Mapping[str, TensorInfo]
    counts: dict[str, int] = field(default_factory=dict)


class _Reader:
    def __init__(self, onnx_package: Any, model: onnx.ModelProto, stem: str) -> None:
        self._onnx, self._model = onnx_package, model
        self._facts = _facts(model)
        self._kind = self._facts.get("modgraph.kind")
        self._ran = "traced" in self._facts.get("modgraph.graph", "traced")
        self._functions = {(entry.domain, entry.name): entry for entry in model.functions}
        self._modules: dict[str, ModuleNode] = {}
        self._class = self._facts.get("modgraph.class")
        name = (self._class or model.graph.name or stem).rpartition(".")[2]
        self._builder = GraphBuilder(
            ModelInfo(name=name, class_name=self._class, target=self._facts.get("modgraph.target"))
        )
        self._classes = _mapping(self._facts.get("modgraph.classes"))
        self._opened: dict[tuple[str, ...], int] = {}
        """Calls that the nodes of a flat file name."""
        self._held: dict[str, tuple[Shape | None, str | None]] = {}
        self._buffers = set(_list(self._facts.get("modgraph.buffers")))
        self._weights = {tensor.name for tensor in model.graph.initializer}
        self._weights |= {value.name for value in model.graph.input if _facts(value).get("modgraph.weight") == "true"}

    def graph(self) -> Graph:
        """The graph of the whole file."""
        builder, root = self._builder, self._model.graph
        self._add_module("", self._class)
        tensors = self._tensors([*root.input, *root.value_info, *root.output])
        ends = self._inputs(tensors)
        call = None
        if self._ran:
            call = self._add_call("", None, (), tuple(tensors[value.name] for value in root.output))
        self._walk(_Body(root.node, "", call, ends, tensors))
        for value in root.output:
            if value.name in ends:
                tensor = tensors[value.name]
                builder.edges.append(Edge(producer=ends[value.name], consumer=f"output:{value.name}", tensor=tensor))
        elided = _mapping(self._facts.get("modgraph.elided"))
        for path, class_name in {**self._classes, **elided}.items():
            self._add_module(path, class_name)
        for name, (shape, dtype) in self._held.items():
            self._add_parameter(name, shape, dtype)
        self._add_parents()
        builder.modules.extend(self._modules.values())
        total = self._facts.get("modgraph.parameters", "")
        builder.model = replace(
            builder.model, parameters=int(total) if total.isdecimal() else None, mode=_mode(self._facts)
        )
        return builder.build()

    def _inputs(self, tensors: dict[str, TensorInfo]) -> dict[str, str]:
        ends: dict[str, str] = {}
        given = []
        for tensor in self._model.graph.initializer:
            self._held[tensor.name] = (tuple(tensor.dims), self._dtype(tensor.data_type))
            ends[tensor.name] = f"param:{tensor.name}"
        for value in self._model.graph.input:
            if value.name in self._weights:
                known = tensors[value.name]
                self._held.setdefault(value.name, (known.shape, known.dtype))
                ends[value.name] = f"param:{value.name}"
            else:
                ends[value.name] = f"input:{value.name}"
                given.append(ModelInput(name=value.name, tensors=(tensors[value.name],)))
        self._builder.model = replace(self._builder.model, inputs=tuple(given))
        return ends

    def _walk(self, body: _Body) -> None:
        for node in body.nodes:
            function = self._functions.get((node.domain, node.op_type))
            facts = _facts(node)
            if node.domain == DOMAIN and node.op_type in _OWN_NODES and "modgraph.class" not in facts:
                self._own_node(node, body)
            elif function is not None:
                self._function_call(node, facts, function, body)
            elif self._is_layer(node, facts):
                self._layer(node, facts, body)
            elif node.op_type == "Constant" and not node.input:
                continue
            else:
                self._operation(node, facts, body)

    def _is_layer(self, node: onnx.NodeProto, facts: Mapping[str, str]) -> bool:
        if node.domain == DOMAIN:
            return "modgraph.class" in facts or any(entry.name == "class" for entry in node.attribute)
        return "modgraph.module" in facts and self._facts.get("modgraph.tier") == "A"

    def _own_node(self, node: onnx.NodeProto, body: _Body) -> None:
        """Of a structural file: a source of values, or where they end."""
        if node.op_type == "Output":
            self._connect(node, f"output:{node.name}", body)
        for name in node.output:
            if node.op_type == "Input":
                body.ends[name] = f"input:{node.name}"

    def _function_call(
        self, node: onnx.NodeProto, facts: Mapping[str, str], function: onnx.FunctionProto, body: _Body
    ) -> None:
        said = _facts(function)
        path = self._path(node, facts, body)
        class_name = facts.get("modgraph.class") or said.get("modgraph.class")
        self._describe(path, class_name or f"{function.domain}.{function.name}".lstrip("."), facts)
        outputs = tuple(body.tensors.get(name) or _unknown(name) for name in node.output)
        inputs = tuple(body.tensors[name] for name in node.input if name in body.tensors and name not in self._weights)
        call = self._add_call(path, body.call, inputs, outputs, facts) if self._ran else None
        pairs = zip(function.input, node.input, strict=False)
        ends = {formal: body.ends[name] for formal, name in pairs if name in body.ends}
        tensors = self._tensors(function.value_info)
        self._walk(_Body(function.node, path, call, ends, tensors))
        for formal, name in zip(function.output, node.output, strict=False):
            if formal in ends:
                body.ends[name] = ends[formal]
        for relative, kind in _mapping(said.get("modgraph.elided")).items():
            self._add_module(f"{path}.{relative}", kind)

    def _layer(self, node: onnx.NodeProto, facts: Mapping[str, str], body: _Body) -> None:
        path = self._path(node, facts, body)
        self._describe(path, facts.get("modgraph.class") or _attribute(node, "class"), facts)
        if not self._ran or "never called" in facts.get("modgraph.state", ""):
            return
        outputs = tuple(body.tensors.get(name) or _unknown(name) for name in node.output if name)
        call = self._add_call(path, body.call, (), outputs, facts)
        self._connect(node, f"call:{call}", body, below=path)
        body.ends.update((name, f"call:{call}") for name in node.output if name)

    def _operation(self, node: onnx.NodeProto, facts: Mapping[str, str], body: _Body) -> None:
        name = f"op:{len(self._builder.operations)}"
        word = node.op_type if node.domain in (DOMAIN, "", "ai.onnx") else f"{node.domain}.{node.op_type}"
        call = self._named_call(facts, body)
        self._builder.operations.append(
            Operation(id=name, name=f"onnx.{word}", call=call, source=_place(facts.get("modgraph.source")))
        )
        self._connect(node, name, body)
        body.ends.update((output, name) for output in node.output if output)

    def _named_call(self, facts: Mapping[str, str], body: _Body) -> int | None:
        """The call that a node of a flat file says it ran in, opened with those around it."""
        places, call = tuple(_list(facts.get("modgraph.calls"))), body.call
        for depth, place in enumerate(places, 1):
            known = self._opened.get(places[:depth])
            if known is None:
                path = re.sub(r"@\d+$", "", place)
                self._add_module(path, self._classes.get(path))
                said = facts if depth == len(places) else None
                known = self._opened[places[:depth]] = self._add_call(path, call, (), (), said)
            call = known
        return call

    def _connect(self, node: onnx.NodeProto, end: str, body: _Body, below: str | None = None) -> None:
        """Edges for what a node reads; those of a layer's own parameters are not drawn."""
        for value in dict.fromkeys([*node.input, *self._captured(node)]):
            producer = body.ends.get(value)
            if producer is None or (below is not None and producer.startswith(f"param:{below}.")):
                continue
            tensor = body.tensors.get(value) or _unknown(value)
            self._builder.edges.append(Edge(producer=producer, consumer=end, tensor=tensor))

    def _captured(self, node: onnx.NodeProto) -> Iterator[str]:
        """What the graphs inside a node read, also of themselves: names without a producer are passed over."""
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                for inner in graph.node:
                    yield from inner.input
                    yield from self._captured(inner)

    def _path(self, node: onnx.NodeProto, facts: Mapping[str, str], body: _Body) -> str:
        if "modgraph.path" in facts:
            return facts["modgraph.path"]
        said = facts.get("modgraph.module")
        if said is not None and facts.get("modgraph.outside") == "true":
            return said
        name = said or re.sub(r"[@#]\d+$", "", re.sub(r"#\d+$", "", node.name))
        if not name:
            count = body.counts[node.op_type] = body.counts.get(node.op_type, 0) + 1
            name = node.op_type if count == 1 else f"{node.op_type}_{count}"
        if self._kind is None:
            name = re.sub(r"[.\s]+", "_", name)  # any other name is no path
        return f"{body.path}.{name}" if body.path else name

    def _describe(self, path: str, class_name: str | None, facts: Mapping[str, str]) -> None:
        self._add_module(path, class_name)
        held = self._modules[path]
        arguments = _mapping(facts.get("modgraph.arguments"))
        parameters = tuple(
            ParameterInfo(name=name, shape=_shape(text), dtype=text.partition("[")[0] or None, trainable=None)
            for name, text in _mapping(facts.get("modgraph.parameters")).items()
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
        held = self._modules[owner]
        if name in self._buffers:
            buffer = BufferInfo(name=own, shape=shape, dtype=dtype, persistent=None)
            self._modules[owner] = replace(held, buffers=(*held.buffers, buffer))
        else:
            parameter = ParameterInfo(name=own, shape=shape, dtype=dtype, trainable=None)
            self._modules[owner] = replace(held, parameters=(*held.parameters, parameter))

    def _add_call(
        self,
        path: str,
        parent: int | None,
        inputs: tuple[TensorInfo, ...],
        outputs: tuple[TensorInfo, ...],
        facts: Mapping[str, str] | None = None,
    ) -> int:
        index = len(self._builder.calls)
        source = _place((facts or {}).get("modgraph.source"))
        self._builder.calls.append(
            Call(index=index, module=path, parent=parent, inputs=inputs, outputs=outputs, source=source)
        )
        self._modules[path] = replace(self._modules[path], calls=(*self._modules[path].calls, index))
        return index

    def _add_parents(self) -> None:
        """Containers that only paths tell of: "layers" of "layers.0"."""
        for path in list(self._modules):
            above = path.rpartition(".")[0]
            while above and self._kind is not None:
                self._add_module(above, None)
                above = above.rpartition(".")[0]

    def _tensors(self, values: Iterable[onnx.ValueInfoProto]) -> dict[str, TensorInfo]:
        return {value.name: self._tensor(value) for value in values}

    def _tensor(self, value: onnx.ValueInfoProto) -> TensorInfo:
        kind = value.type.tensor_type
        if not value.type.HasField("tensor_type"):
            return _unknown(value.name)
        sizes = None
        if kind.HasField("shape"):
            sizes = tuple(_size(size) for size in kind.shape.dim)
        return TensorInfo(name=value.name, shape=sizes, dtype=self._dtype(kind.elem_type))

    def _dtype(self, code: int) -> str | None:
        """None of a type that is not said, or that the installed onnx does not know."""
        known = self._onnx.TensorProto.DataType
        return dtype_of(known.Name(code)) if code and code in known.values() else None


def _facts(held: Any) -> dict[str, str]:
    return {entry.key: entry.value for entry in held.metadata_props}


def _mapping(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _list(text: str | None) -> list[str]:
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return []
    return [entry for entry in found if isinstance(entry, str)] if isinstance(found, list) else []


def _attribute(node: onnx.NodeProto, name: str) -> str | None:
    return next((entry.s.decode("utf-8", "replace") for entry in node.attribute if entry.name == name), None)


def _unknown(name: str) -> TensorInfo:
    return TensorInfo(name=name, shape=None, dtype=None)


def _size(size: Any) -> int | str | None:
    if size.HasField("dim_value"):
        return int(size.dim_value)
    return str(size.dim_param) if size.HasField("dim_param") and size.dim_param else None


def _shape(text: str) -> Shape | None:
    """ "float32[64, 3]" as sizes."""
    found = re.fullmatch(r"\w*\[([\d, ]*)\]", text)
    return tuple(int(size) for size in found[1].split(",") if size.strip()) if found else None


def _place(text: str | None) -> SourceLocation | None:
    file, _, line = (text or "").rpartition(":")
    return SourceLocation(file, int(line)) if file and line.isdecimal() else None


def _mode(facts: Mapping[str, str]) -> Any:
    mode = facts.get("modgraph.mode")
    return mode if mode in ("eval", "train") else None
