"""What a graph must be: a bad graph for each check, and the order that building gives."""

from __future__ import annotations

import dataclasses

import pytest

from modgraph.errors import GraphError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import (
    BackwardRecord,
    BufferInfo,
    Call,
    Edge,
    Finding,
    Gap,
    ModelInfo,
    ModuleNode,
    Operation,
    ParameterInfo,
    Problem,
    Repeat,
    TensorInfo,
)

X = TensorInfo(name="x", shape=(1, 4), dtype="float32")
WEIGHT = ParameterInfo(name="weight", shape=(4, 4), dtype="float32")
COUNT = BufferInfo(name="count", shape=(), dtype="int64")


def node(path: str, **fields) -> ModuleNode:
    return ModuleNode(**{"path": path, "class_name": "m.M", "observed": True, **fields})


def sound() -> GraphBuilder:
    """A graph with something of everything: the root calls `a`, then `b`."""
    builder = GraphBuilder(ModelInfo(name="Net", class_name="m.Net", target=None, mode="eval", device="cpu"))
    builder.modules = [
        node("", calls=(0,)),
        node("a", calls=(1,), parameters=(WEIGHT,), buffers=(COUNT,), repeat=Repeat(group="a", count=2)),
        node("b", calls=(2,), repeat=Repeat(group="a", count=2)),
        node("c", alias_of="a"),
    ]
    builder.calls = [
        Call(index=0, module="", parent=None),
        Call(index=1, module="a", parent=0),
        Call(index=2, module="b", parent=0),
    ]
    builder.operations = [Operation(id="op:0", name="torch.add", call=0)]
    ends = [("input:x", "call:1"), ("call:1", "op:0"), ("param:a.weight", "op:0"), ("param:a.count", "call:2"),
            ("const:0", "call:2"), ("op:0", "output:0")]  # fmt: skip
    builder.edges = [Edge(producer=producer, consumer=consumer, tensor=X) for producer, consumer in ends]
    builder.gaps = [Gap(kind="item", call=2)]
    builder.backward = [BackwardRecord(module="a", call=1)]
    builder.problems = [Problem(stage="trace", message="no", module="b")]
    builder.findings = [Finding(code="MG101", message="hidden", module="b")]
    return builder


def changed(path: str, **fields):
    def change(builder: GraphBuilder) -> None:
        builder.modules = [
            dataclasses.replace(each, **fields) if each.path == path else each for each in builder.modules
        ]

    return change


def edge(producer: str, consumer: str):
    return lambda builder: builder.edges.append(Edge(producer=producer, consumer=consumer, tensor=X))


def model(**fields):
    def change(builder: GraphBuilder) -> None:
        builder.model = dataclasses.replace(builder.model, **fields)

    return change


def test_a_sound_graph_is_built_and_holds_everything():
    builder = sound()
    graph = builder.build()
    assert GraphBuilder.of(graph).build() == graph
    assert (graph.calls, graph.edges, graph.gaps) == (tuple(builder.calls), tuple(builder.edges), tuple(builder.gaps))


BAD = {
    "no root": (lambda b: b.modules.pop(0), "a graph needs a root"),
    "a path twice": (lambda b: b.modules.append(node("a")), "module 'a' stands twice"),
    "a mode of nothing": (model(mode="evaluate"), "the mode is one of eval, train, not 'evaluate'"),
    "a device of nothing": (model(device="tpu"), "the device is one of cpu, cuda, fake, not 'tpu'"),
    "half of a half": (changed("b", observed=None, calls=()), "observed is known of '', and not of all modules"),
    "more than a half": (changed("b", predicted=True), "predicted is known of 'b', and not of all modules"),
    "alias of nothing": (changed("c", alias_of="z"), "'c' is an alias of 'z', which does not exist"),
    "alias of itself": (changed("c", alias_of="c"), "'c' is an alias of 'c', which is an alias itself"),
    "alias of an alias": (lambda b: b.modules.append(node("d", alias_of="c")), "'d' is an alias of 'c', which is"),
    "calls beyond the last": (changed("a", calls=(3,)), "module 'a' names call 3, of 3"),
    "calls before the first": (changed("a", calls=(-1,)), "module 'a' names call -1, of 3"),
    "calls twice": (changed("a", calls=(1, 1)), "module 'a' names a call twice"),
    "calls of what is not there": (changed("a", observed=False), "module 'a' was called, and does not exist"),
    "calls of another": (changed("a", calls=()), "module 'a' and call 1 do not agree"),
    "repeats nothing": (changed("b", repeat=Repeat(group="z", count=2)), "'b' repeats 'z', which does not exist"),
    "repeats no sibling": (changed("b", repeat=Repeat(group="", count=2)), "'b' repeats '', which is no sibling"),
    "repeats once": (changed("b", repeat=Repeat(group="a", count=1)), "'b' is one of 1 that are alike"),
    "two parameters of one name": (changed("b", parameters=(WEIGHT, WEIGHT)), "two parameters of 'b' have one name"),
    "two buffers of one name": (changed("b", buffers=(COUNT, COUNT)), "two buffers of 'b' have one name"),
    "parameter tied to nothing": (
        changed("b", parameters=(dataclasses.replace(WEIGHT, alias_of="z.weight"),)),
        "parameter 'b.weight' is an alias of 'z.weight', which does not exist",
    ),
    "buffer tied to itself": (
        changed("b", buffers=(dataclasses.replace(COUNT, alias_of="b.count"),)),
        "buffer 'b.count' is an alias of 'b.count', which is an alias itself",
    ),
    "calls out of order": (lambda b: b.calls.reverse(), "call 2 stands at position 0"),
    "a call of nothing": (
        lambda b: b.calls.append(Call(index=3, module="z", parent=0)),
        "call 3 names module 'z', which does not exist",
    ),
    "a call inside itself": (
        lambda b: b.calls.append(Call(index=3, module="b", parent=3)),
        "call 3 names call 3 as its parent, which did not begin before it",
    ),
    "an operation without a number": (
        lambda b: b.operations.append(Operation(id="banana", name="f", call=0)),
        "'banana' is no id of an operation",
    ),
    "an operation named like a call": (
        lambda b: b.operations.append(Operation(id="call:0", name="f", call=0)),
        "'call:0' is no id of an operation",
    ),
    "an operation twice": (
        lambda b: b.operations.append(Operation(id="op:0", name="f", call=0)),
        "operation op:0 stands twice",
    ),
    "an operation of no call": (
        lambda b: b.operations.append(Operation(id="op:1", name="f", call=3)),
        "operation op:1 names call 3, of 3",
    ),
    "an edge from nowhere": (edge("output:0", "op:0"), "'output:0' is no end of an edge"),
    "an edge to nowhere": (edge("op:0", "input:x"), "'input:x' is no end of an edge"),
    "an edge to what has no name": (edge("op:0", "output:"), "'output:' is no end of an edge"),
    "an edge to a call too many": (edge("op:0", "call:3"), "an edge ends at 'call:3', of 3 calls"),
    "an edge to an Arabic digit": (edge("op:0", "call:١"), "an edge ends at 'call:١', of 3 calls"),
    "an edge to a padded number": (edge("op:0", "call:01"), "an edge ends at 'call:01', of 3 calls"),
    "an edge into a container": (edge("input:x", "call:0"), "an edge ends at 'call:0', which made calls of its own"),
    "an edge to no operation": (edge("input:x", "op:1"), "an edge ends at 'op:1', which does not exist"),
    "an edge from no module's parameter": (edge("param:z.weight", "op:0"), "'param:z.weight', and no module has such"),
    "an edge from no parameter": (edge("param:a.bias", "op:0"), "'param:a.bias', and no module has such"),
    "an edge from a constant without a number": (edge("const:pi", "op:0"), "'const:pi' is no end of an edge"),
    "a gap in no call": (lambda b: b.gaps.append(Gap(kind="item", call=3)), "a gap (item) names call 3, of 3"),
    "backward of nothing": (
        lambda b: b.backward.append(BackwardRecord(module="z")),
        "backward names module 'z', which does not exist",
    ),
    "backward of no call": (
        lambda b: b.backward.append(BackwardRecord(module="a", call=3)),
        "backward of 'a' names call 3, of 3",
    ),
    "a problem of nothing": (
        lambda b: b.problems.append(Problem(stage="trace", message="no", module="z")),
        "a problem names module 'z', which does not exist",
    ),
    "a problem of no stage": (
        lambda b: b.problems.append(Problem(stage="draw", message="no")),
        "there is no stage 'draw'",
    ),
    "a finding of nothing": (
        lambda b: b.findings.append(Finding(code="MG101", message="no", module="z")),
        "a finding names module 'z', which does not exist",
    ),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_a_bad_graph_is_refused(change, message: str):
    builder = sound()
    change(builder)
    with pytest.raises(GraphError) as caught:
        builder.build()
    assert message in caught.value.message


def test_modules_come_depth_first_and_siblings_as_they_were_added():
    builder = GraphBuilder(ModelInfo(name="Net", class_name=None, target=None))
    builder.modules = [node(path) for path in ("b.x", "a", "b", "", "b.w", "a.y")]
    assert [each.path for each in builder.build().modules] == ["", "a", "a.y", "b", "b.x", "b.w"]


def test_an_instance_is_called_after_its_first_path():
    """What a plain list in `a` holds was met last, and stands before `z`."""
    builder = GraphBuilder(ModelInfo(name="Net", class_name=None, target=None))
    builder.modules = [
        node("", calls=(0,)),
        node("a"),
        node("z"),
        node("z.l[0]", registered=False, calls=(1,)),
        node("z.l[0].fc", calls=(2,)),
        node("a.l[0]", registered=False, alias_of="z.l[0]"),
        node("a.l[0].fc", alias_of="z.l[0].fc"),
    ]
    paths = ("", "z.l[0]", "z.l[0].fc")
    builder.calls = [Call(index=i, module=path, parent=i - 1 if i else None) for i, path in enumerate(paths)]
    builder.backward = [BackwardRecord(module="z.l[0].fc", call=2)]
    graph = builder.build()
    assert [(each.path, each.alias_of, each.calls) for each in graph.modules] == [
        ("", None, (0,)),
        ("a", None, ()),
        ("a.l[0]", None, (1,)),
        ("a.l[0].fc", None, (2,)),
        ("z", None, ()),
        ("z.l[0]", "a.l[0]", ()),
        ("z.l[0].fc", "a.l[0].fc", ()),
    ]
    assert [call.module for call in graph.calls] == ["", "a.l[0]", "a.l[0].fc"]
    assert graph.backward[0].module == "a.l[0].fc"
    assert GraphBuilder.of(graph).build() == graph


def test_a_module_may_be_the_root_itself():
    builder = GraphBuilder(ModelInfo(name="Net", class_name=None, target=None))
    builder.modules = [node(""), node("me", registered=False, alias_of="")]
    assert [each.alias_of for each in builder.build().modules] == [None, ""]


def test_a_tree_may_be_thousands_deep():
    builder = GraphBuilder(ModelInfo(name="Net", class_name=None, target=None))
    builder.modules = [node(".".join(["a"] * depth)) for depth in range(3000)]
    assert len(builder.build().modules) == 3000
