"""Strategies that several property tests draw from.

`graphs` is given as a fixture because test files do not import each other:

    @given(data=st.data())
    def test_something(graphs, data):
        graph = data.draw(graphs)
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import (
    BackwardRecord,
    BufferInfo,
    Call,
    Edge,
    Finding,
    Gap,
    HookInfo,
    ModelInfo,
    ModelInput,
    ModuleNode,
    Operation,
    ParameterInfo,
    Problem,
    Repeat,
    SourceLocation,
    Statistics,
    TensorInfo,
)
from modgraph.graph.paths import is_open_place

_words = st.text(max_size=8) | st.sampled_from(["x", "output", "input", "weight", "a.b", "é×", "\n", '"', "</b>"])
_names = st.sampled_from(["conv", "act", "0", "1", "a.b", "blocks[0]", "heads['k.v']", "Output", "é"])
_classes = st.none() | st.sampled_from(
    ["torch.nn.modules.conv.Conv2d", "a.Block", "b.Block", "m.Net.Inner", "add", "NoneType", "Block_2", "Output"]
)
_shapes = st.none() | st.lists(st.none() | st.integers(0, 5) | st.sampled_from(["s0", "T"]), max_size=4).map(tuple)
_dtypes = st.none() | st.sampled_from(["float32", "bfloat16", "int64", "bool", "complex64", "float8_e4m3fn", "qint8"])
_floats = st.none() | st.floats(allow_nan=False)
_numbers = st.none() | st.integers(0, 10**13)
_flags = st.none() | st.booleans()
_sources = st.none() | st.builds(SourceLocation, st.sampled_from(["model.py", "pkg/net.py"]), st.integers(1, 999))
_statistics = st.none() | st.builds(
    Statistics, mean=_floats, std=_floats, min=_floats, max=_floats, numel=st.none() | st.integers(0)
)
_tensors = st.builds(
    TensorInfo,
    name=_words,
    shape=_shapes,
    dtype=_dtypes,
    device=st.sampled_from([None, "cpu", "cuda:0"]),
    statistics=_statistics,
)
_tensor_lists = st.lists(_tensors, max_size=3).map(tuple)
_hooks = st.lists(st.builds(HookInfo, kind=st.sampled_from(["forward", "forward_pre"]), name=_words), max_size=2)
_literals = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _words
_arguments = st.dictionaries(
    st.sampled_from(["in_channels", "class", "kernel_size", "p", ""]),
    st.recursive(
        _literals,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("$ref") | _words, inner, max_size=2),
        max_leaves=4,
    ),
    max_size=3,
)


@st.composite
def _paths(draw: st.DrawFn) -> list[str]:
    """Paths of a tree with hidden modules, names that hold dots and places that are not known; the root is first."""
    paths = [""]
    for _ in range(draw(st.integers(0, 8))):
        parent = draw(st.sampled_from([path for path in paths if not is_open_place(path)]))
        name = draw(_names | st.just("?"))
        path = f"{parent}.{name}" if parent else name
        if path not in paths:
            paths.append(path)
    return paths


@st.composite
def _modules(draw: st.DrawFn) -> list[ModuleNode]:
    predicted, observed = draw(st.sampled_from([(True, None), (None, True), (True, True), (None, None)]))
    nodes = [
        ModuleNode(
            path=path,
            class_name=draw(_classes),
            predicted=draw(st.booleans() if path and predicted else st.just(predicted)),
            observed=draw(st.booleans() if path and observed else st.just(observed)),
            registered=draw(st.booleans()),
            own_state_dict=draw(st.booleans()),
            extra_state=draw(st.sampled_from([(), ("get",), ("set",), ("get", "set")])),
            unknown_arguments=draw(st.sampled_from([(), ("p",), ("class", "x")])),
            repeat=draw(st.none() | st.builds(Repeat, group=st.just(path), count=st.integers(2, 9))),
            parameters=() if is_open_place(path) else draw(_parameters),
            buffers=() if is_open_place(path) else draw(_buffers),
            hooks=tuple(draw(_hooks)),
            arguments=draw(_arguments),
            source=draw(_sources),
        )
        for path in draw(_paths())
    ]
    builder = GraphBuilder(ModelInfo(name="Net", class_name=None, target=None))
    builder.modules.extend(nodes)
    ordered = list(builder.build().modules)
    for position in range(1, len(ordered)):
        if draw(st.integers(0, 5)) == 0:
            first = ordered[draw(st.integers(0, position - 1))]
            if first.alias_of is None:
                ordered[position] = dataclasses.replace(ordered[position], alias_of=first.path)
    return _tied(draw, ordered)


def _tied(draw: st.DrawFn, modules: list[ModuleNode]) -> list[ModuleNode]:
    """The modules, some of their parameters and buffers the same objects as earlier ones."""
    first: list[str] = []
    tied = []
    for node in modules:
        stores = {"parameters": [], "buffers": []}
        for store, tensors in stores.items():
            for tensor in getattr(node, store):
                if first and draw(st.integers(0, 4)) == 0:
                    tensors.append(dataclasses.replace(tensor, alias_of=draw(st.sampled_from(first))))
                else:
                    tensors.append(tensor)
                    first.append(_tensor_path(node, tensor))
        tied.append(dataclasses.replace(node, **{store: tuple(tensors) for store, tensors in stores.items()}))
    # Two modules may hold a tensor of one full path ("a.b" and its parameter "c", "a" and its parameter "b.c").
    return tied if len(set(first)) == len(first) else modules


def _tensor_path(node: ModuleNode, tensor: ParameterInfo | BufferInfo) -> str:
    return f"{node.path}.{tensor.name}" if node.path else tensor.name


_parameters = st.lists(
    st.builds(ParameterInfo, name=_words, shape=_shapes, dtype=_dtypes, trainable=_flags),
    max_size=2,
    unique_by=lambda parameter: parameter.name,
).map(tuple)
_buffers = st.lists(
    st.builds(BufferInfo, name=_words, shape=_shapes, dtype=_dtypes, persistent=_flags), max_size=1
).map(tuple)


@st.composite
def _calls(draw: st.DrawFn, paths: list[str]) -> list[Call]:
    """Calls of any module inside any earlier call; mostly the first is the root's, as in a real run."""
    calls: list[Call] = []
    for index in range(draw(st.integers(0, 8))):
        first = index == 0 and draw(st.integers(0, 4)) > 0
        parents = st.none() | st.integers(0, index - 1) if index else st.none()
        calls.append(
            Call(
                index=index,
                module="" if first else draw(st.sampled_from(paths)),
                parent=draw(parents),
                inputs=draw(_tensor_lists),
                outputs=draw(_tensor_lists),
                source=draw(_sources),
                error=draw(st.none() | st.just("ValueError: no")),
                direct=draw(st.booleans()),
                recomputed=draw(st.booleans()),
            )
        )
    return calls


@st.composite
def _edges(draw: st.DrawFn, calls: list[Call], operations: list[Operation], modules: list[ModuleNode]) -> list[Edge]:
    """Edges between any ends that a graph allows, also such as no run would give (cycles)."""
    containers = {call.parent for call in calls}
    inner = [f"call:{call.index}" for call in calls if call.index not in containers]
    inner += [operation.id for operation in operations]
    held = [f"param:{_tensor_path(node, tensor)}" for node in modules for tensor in (*node.parameters, *node.buffers)]
    held = [end for end in held if end != "param:"]
    producers = ["input:x", "input:1", "const:0", "const:1", *held, *inner]
    consumers = ["output:0", "output:logits", *inner]
    ends = st.builds(Edge, producer=st.sampled_from(producers), consumer=st.sampled_from(consumers), tensor=_tensors)
    return draw(st.lists(ends, max_size=12))


_inputs = st.builds(
    ModelInput,
    name=_words,
    tensors=_tensor_lists,
    literal=st.none() | _words,
    origin=st.sampled_from(["given", "example_inputs", "inferred"]),
    rules=st.lists(_words, max_size=2).map(tuple),
)
_models = st.builds(
    ModelInfo,
    name=_words,
    class_name=_classes,
    target=st.none() | _words,
    parameters=_numbers,
    trainable_parameters=_numbers,
    buffers=_numbers,
    inputs=st.lists(_inputs, max_size=2).map(tuple),
    hooks=_hooks.map(tuple),
    mode=st.sampled_from([None, "eval", "train"]),
    device=st.none() | st.just("cpu"),
)


@st.composite
def _graphs(draw: st.DrawFn):
    builder = GraphBuilder(draw(_models))
    modules = draw(_modules())
    paths = [node.path for node in modules]
    called = [node.path for node in modules if node.observed is not False]
    builder.calls.extend(draw(_calls(called)))
    for node in modules:
        indices = tuple(call.index for call in builder.calls if call.module == node.path)
        builder.modules.append(dataclasses.replace(node, calls=indices))
    open_calls = st.none() | st.sampled_from(range(len(builder.calls))) if builder.calls else st.none()
    for position in range(draw(st.integers(0, 4))):
        name = draw(st.sampled_from(["torch.add", "torch.Tensor.view", "torch.ops.mine.Block", "é"]))
        builder.operations.append(
            Operation(
                id=f"op:{position}",
                name=name,
                call=draw(open_calls),
                source=draw(_sources),
                arguments=draw(_arguments),
            )
        )
    builder.edges.extend(draw(_edges(builder.calls, builder.operations, modules)))
    if draw(st.booleans()):
        builder.gaps.append(Gap(kind=draw(_words), call=draw(open_calls), source=draw(_sources)))
        builder.backward.append(
            BackwardRecord(
                module=draw(st.sampled_from(paths)),
                grad_inputs=draw(_tensor_lists),
                grad_outputs=draw(_tensor_lists),
                call=draw(open_calls),
            )
        )
        module = draw(st.none() | st.sampled_from(paths))
        builder.findings.append(Finding(code="MG101", message=draw(_words), file="model.py", line=3, module=module))
    if draw(st.booleans()):
        module = draw(st.none() | st.sampled_from(paths))
        stage = draw(st.sampled_from(["predict", "forward", "trace", "merge", "export"]))
        builder.problems.append(Problem(stage=stage, message=draw(_words), module=module, file="model.py", line=3))
    return builder.build()


@pytest.fixture(scope="session")
def graphs():
    """Every graph that `GraphBuilder` lets through."""
    return _graphs()


@pytest.fixture(scope="session")
def claimed_names(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, list[str]], list[Any]]:
    """claimed_names(text, names): what the interpreter says of each name of a module; None where it does not know, (value,)
    where it does."""
    from modgraph.prediction.deep_stack import with_deep_stack
    from modgraph.prediction.entry import begin, interpreter
    from modgraph.prediction.python.plain import plain

    folder: Path = tmp_path_factory.mktemp("code")

    def claim(text: str, names: list[str]) -> list[Any]:
        (folder / "code.py").write_text(text, encoding="utf-8")
        machine = interpreter([str(folder), *sys.path])

        def values() -> list[Any]:
            source = machine.finder.source("code")
            assert source is not None
            begin(machine, source)
            assert source.name in machine.modules.whole
            module = machine.resolve("code")
            return [_told(plain(machine, machine.get_attribute(module, name))) for name in names]

        return with_deep_stack(values)

    return claim


def _told(value: tuple[Any] | None) -> tuple[Any] | None:
    """None as well where a stand-in refuses to show itself."""
    try:
        repr(value)
    except Exception:
        return None
    return value
