"""Which scopes of a graph are one and the same function: names for nodes, values and functions, bodies compared.

Two container calls share a function where everything inside them agrees: classes, constructor arguments, parameters,
shapes, states, wiring. What differs from call to call (path, call index, line) is kept for the place it is true of.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from modgraph.export.look.agreement import Remark, remarks_of
from modgraph.export.look.labels import class_title
from modgraph.export.onnx.scopes import Box, BoxKind, Scope, ScopeTree, Value, relative_name
from modgraph.graph.dataflow import operation_word
from modgraph.graph.index import name_below
from modgraph.graph.model import BufferInfo, ModuleNode, ParameterInfo, SourceLocation, TensorInfo
from modgraph.graph.sizes import sizes_text

Facts = dict[str, str]

_OWN_TYPES: dict[BoxKind, str] = {
    "input": "Input",
    "parameter": "Parameter",
    "constant": "Constant",
    "result": "Result",
    "output": "Output",
}
"""Node types that are modgraph's; a class of the model with such a name is numbered, "Output_2"."""


@dataclass(slots=True)
class Node:
    """One node of a body."""

    kind: BoxKind
    type: str
    name: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    facts: Facts
    """True of every call that shares the body."""


@dataclass(slots=True)
class Body:
    """The content of a function, or of the model."""

    name: str
    class_name: str | None
    members: list[str]
    """What shares it: paths, with "@2" for a second call."""
    nodes: list[Node]
    inputs: list[str]
    outputs: list[str]
    tensors: dict[str, TensorInfo] = field(default_factory=dict)
    """By value name, where a tensor is known."""


class Bodies:
    """The distinct bodies of a tree of scopes, callees before callers; `model` is the outermost."""

    def __init__(self, tree: ScopeTree) -> None:
        self._index = tree.index
        self._remarks = remarks_of(tree.index)
        self._names: dict[Hashable, str] = {}
        self._taken = Taken()
        self._numbers: dict[str, dict[int, int]] = {}
        """By module, which of its calls a call is."""
        for kind in _OWN_TYPES:
            self._name_of(("own", kind), _OWN_TYPES[kind])
        self.functions: dict[Hashable, Body] = {}
        self._function_of: dict[Scope, Body] = {}
        for scope in tree.inner_first():
            body = self._body(scope)
            if scope.outer is None:
                self.model = body
            else:
                self._share(scope, body)

    def _share(self, scope: Scope, body: Body) -> None:
        """Find the function that `scope` is, or make one of its body."""
        key = _content(body)
        if key not in self.functions:
            body.name = self._name_of(("function", key), class_title(body.class_name, "Unknown"))
            self.functions[key] = body
        else:
            known = self.functions[key]
            known.members += body.members
            for node, other in zip(known.nodes, body.nodes, strict=True):
                node.facts = {name: fact for name, fact in node.facts.items() if other.facts.get(name) == fact}
        self._function_of[scope] = self.functions[key]

    def _name_of(self, key: Hashable, wanted: str) -> str:
        if key not in self._names:
            self._names[key] = free_name(wanted, self._taken, "_")
        return self._names[key]

    def _body(self, scope: Scope) -> Body:
        values = _ValueNames()
        taken = Taken()
        inputs = [values.name(value, f"x{position}") for position, value in enumerate(scope.inputs)]
        for box in scope.boxes:
            box.name = free_name(self._wanted_name(box), taken, "@")
            for position, value in enumerate(box.outputs):
                values.name(value, box.name if len(box.outputs) == 1 else f"{box.name}.{position}")
        nodes = [self._node(box, values) for box in scope.boxes]
        node = self._index.modules[scope.path]
        call = scope.outer.call if scope.outer is not None else None
        return Body(
            name="",
            class_name=node.class_name,
            members=[self._member(node, call.index if call is not None else None)],
            nodes=nodes,
            inputs=inputs,
            outputs=[values.of(value) for value in scope.outputs],
            tensors=values.tensors(),
        )

    def _member(self, node: ModuleNode, call: int | None) -> str:
        if node.path not in self._numbers:
            self._numbers[node.path] = {each: number for number, each in enumerate(node.calls, 1)}
        number = self._numbers[node.path][call] if call is not None else 1
        return f"{node.path}@{number}" if number > 1 else node.path

    def _wanted_name(self, box: Box) -> str:
        match box.kind:
            case "module":
                return relative_name(box, self._index) or self._index.graph.model.name or "model"
            case "operation":
                return operation_word(box.path) or "operation"
            case "parameter":
                return name_below(box.path, box.scope.path)
            case "input":
                return box.path
            case "output":
                return f"output_{box.path}" if box.path.isdecimal() else box.path
            case _:
                return box.kind

    def _node(self, box: Box, values: _ValueNames) -> Node:
        facts = _facts_of_inputs(box)
        attributes: dict[str, Any] = {}
        if box.kind == "module":
            type_ = self._module_type(box)
            attributes, more = self._module_facts(box)
            facts |= more
        elif box.kind == "operation":
            type_ = self._name_of(("operation", operation_word(box.path)), operation_word(box.path) or "operation")
            attributes = {"function": box.path}
            facts |= _place("modgraph.source", box.operation.source if box.operation else None)
        else:
            type_ = self._names["own", box.kind]
            attributes = {} if box.kind in ("constant", "result") else {"name": box.name}
        return Node(
            kind=box.kind,
            type=type_,
            name=box.name,
            inputs=[values.of(value) for value in box.inputs],
            outputs=[values.of(value) for value in box.outputs],
            attributes=attributes,
            facts=facts,
        )

    def _module_type(self, box: Box) -> str:
        if box.content is not None:
            return self._function_of[box.content].name
        class_name = self._index.modules[box.path].class_name
        return self._name_of(("leaf", class_name), class_title(class_name, "Unknown"))

    def _module_facts(self, box: Box) -> tuple[dict[str, Any], Facts]:
        """The attributes of a leaf, and what is said beside them."""
        node = self._index.modules[box.path]
        facts: Facts = {}
        if node.class_name is not None:
            facts["modgraph.class"] = node.class_name
        said = " · ".join(_relative(remark, box) for remark in self._remarks[node.path] if remark.state != "failed")
        if said:
            facts["modgraph.state"] = said
        if node.parameters:
            facts["modgraph.parameters"] = json_text({held.name: _held(held) for held in node.parameters})
        if node.buffers:
            facts["modgraph.buffers"] = json_text({held.name: _held(held) for held in node.buffers})
        if node.hooks:
            facts["modgraph.hooks"] = json_text([f"{hook.kind}: {hook.name}" for hook in node.hooks])
        if box.operations:
            facts["modgraph.operations"] = json_text([operation.name for operation in box.operations])
        if box.idle:
            facts["modgraph.not_called"] = json_text([name_below(path, box.path) for path in box.idle])
        attributes: dict[str, Any] = {}
        if box.content is None:
            attributes = {**node.arguments, "class": node.class_name or "unknown"}
        elif node.arguments:
            facts["modgraph.arguments"] = json_text(dict(node.arguments))
        facts["modgraph.path"] = node.path
        if box.call is not None:
            facts["modgraph.call"] = str(box.call.index)
            facts |= _place("modgraph.source", box.call.source)
            if box.call.error is not None:
                facts["modgraph.error"] = box.call.error
        facts |= _place("modgraph.made_at", node.source)
        return attributes, facts


_PER_CALL = frozenset({"modgraph.path", "modgraph.call", "modgraph.source", "modgraph.made_at"})
"""Facts in which two calls that share a function may differ."""


class _ValueNames:
    """Names of the values of one body, each unique."""

    def __init__(self) -> None:
        self._names: dict[Value, str] = {}
        self._taken = Taken()

    def tensors(self) -> dict[str, TensorInfo]:
        """What is known of each, by name."""
        return {name: value.tensor for value, name in self._names.items() if value.tensor is not None}

    def name(self, value: Value, wanted: str) -> str:
        self._names[value] = free_name(wanted or "value", self._taken, ":")
        return self._names[value]

    def of(self, value: Value) -> str:
        return self._names[value]


class Taken:
    """Names that are given, and what each was given last with a number behind it."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = set(names)
        self.numbers: dict[str, int] = {}


def free_name(wanted: str, taken: Taken, mark: str) -> str:
    """`wanted`, or the first of wanted_2, wanted_3, ... that is not taken."""
    wanted = utf8(wanted)
    name, number = wanted, 1
    if name in taken.names:
        number = taken.numbers.get(wanted + mark, 1)
    while name in taken.names:
        number += 1
        name = f"{wanted}{mark}{number}"
    taken.numbers[wanted + mark] = number
    taken.names.add(name)
    return name


def utf8(text: str) -> str:
    """`text` with the halves of characters escaped that a protobuf cannot hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _content(body: Body) -> Hashable:
    """Everything in which bodies must agree to be one function."""
    nodes = tuple(
        (
            node.type,
            node.name,
            tuple(node.inputs),
            tuple(node.outputs),
            json_text(node.attributes),
            tuple((name, fact) for name, fact in node.facts.items() if name not in _PER_CALL),
        )
        for node in body.nodes
    )
    tensors = tuple((name, tensor.shape, tensor.dtype) for name, tensor in body.tensors.items())
    return body.class_name, nodes, tuple(body.inputs), tuple(body.outputs), tensors


def _relative(remark: Remark, box: Box) -> str:
    if remark.state == "shared" and remark.detail.startswith(f"{box.scope.path}."):
        return Remark("shared", name_below(remark.detail, box.scope.path)).text
    return remark.text


def _facts_of_inputs(box: Box) -> Facts:
    """The names of the arguments, in the form in which viewers show them beside the inputs."""
    if box.kind != "module" or not box.input_names or not all(box.input_names):
        return {}
    return {"input_names": repr(box.input_names)}


def _place(name: str, source: SourceLocation | None) -> Facts:
    return {} if source is None else {name: f"{source.file}:{source.line}"}


def _held(held: ParameterInfo | BufferInfo) -> str:
    """ "float32[64, 3, 7, 7]"."""
    flags = [] if not isinstance(held, ParameterInfo) or held.trainable is not False else ["frozen"]
    tied = [f"same as {held.alias_of}"] if held.alias_of is not None else []
    return ", ".join([f"{held.dtype or '?'}{sizes_text(held.shape, '[...]')}", *flags, *tied])


def json_text(value: Any) -> str:
    """`value` as JSON on one line; what is no JSON value is named by its type, as its own text may hold an address."""
    return json.dumps(value, ensure_ascii=False, default=lambda other: f"<{type(other).__qualname__}>")
