"""What torch.distributed puts around a module is seen through, wherever it stands."""

from __future__ import annotations

from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Call, Edge, ModelInfo, ModuleNode, Operation, ParameterInfo, Problem
from modgraph.graph.wrappers import seen_through

DDP = "torch.nn.parallel.distributed.DistributedDataParallel"
LINEAR = "torch.nn.modules.linear.Linear"


def weight(**fields):
    return (ParameterInfo(name="weight", shape=(2, 2), dtype="float32", **fields),)


def wrapped_inside():
    """A root whose `encoder` is wrapped, and whose `tied` shares a weight with what is inside."""
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target=None))
    builder.modules = [
        ModuleNode(path="", class_name="model.Net", observed=True, calls=(0,)),
        ModuleNode(path="encoder", class_name=DDP, observed=True, calls=(1,)),
        ModuleNode(path="encoder.module", class_name=LINEAR, observed=True, calls=(2,), parameters=weight()),
        ModuleNode(
            path="tied",
            class_name=LINEAR,
            observed=True,
            calls=(3,),
            parameters=weight(alias_of="encoder.module.weight"),
        ),
    ]
    parents = (("", None), ("encoder", 0), ("encoder.module", 1), ("tied", 0))
    builder.calls = [Call(index=n, module=module, parent=parent) for n, (module, parent) in enumerate(parents)]
    builder.operations = [Operation(id="op:0", name="torch.cat", call=1)]
    return builder


def test_what_is_inside_stands_in_the_place_of_the_wrapper():
    graph = seen_through(wrapped_inside().build())
    assert [(node.path, node.class_name, node.calls) for node in graph.modules] == [
        ("", "model.Net", (0,)), ("encoder", LINEAR, (1,)), ("tied", LINEAR, (2,))
    ]  # fmt: skip
    assert [node.wrappers for node in graph.modules] == [(), (DDP,), ()]
    assert [(call.index, call.module, call.parent) for call in graph.calls] == [
        (0, "", None), (1, "encoder", 0), (2, "tied", 0)
    ]  # fmt: skip
    assert graph.modules[2].parameters[0].alias_of == "encoder.weight"
    assert graph.operations[0].call == 0  # in the wrapper, so in what called it


def test_ends_of_edges_and_problems_follow():
    from modgraph.graph.model import TensorInfo

    builder = wrapped_inside()
    data = TensorInfo(name="", shape=(2,), dtype="float32")
    builder.edges = [
        Edge(producer="call:2", consumer="call:3", tensor=data),
        Edge(producer="param:encoder.module.weight", consumer="op:0", tensor=data),
    ]
    builder.problems = [Problem(stage="trace", message="no", module="encoder.module")]
    graph = seen_through(builder.build())
    assert [(edge.producer, edge.consumer) for edge in graph.edges] == [
        ("call:1", "call:2"), ("param:encoder.weight", "op:0")
    ]  # fmt: skip
    assert graph.problems[0].module == "encoder"


def test_a_wrapper_that_failed_before_it_called_anything_is_a_call_of_what_is_inside():
    builder = wrapped_inside()
    builder.calls = [*builder.calls[:1], Call(index=1, module="encoder", parent=0, error="RuntimeError: peer")]
    calls = {"": (0,), "encoder": (1,)}
    builder.modules = [
        ModuleNode(path=node.path, class_name=node.class_name, observed=True, calls=calls.get(node.path, ()))
        for node in builder.modules
    ]
    graph = seen_through(builder.build())
    assert [(call.module, call.error) for call in graph.calls] == [("", None), ("encoder", "RuntimeError: peer")]
    assert graph.modules[1].calls == (1,)


def test_a_graph_without_wrappers_is_itself():
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target=None))
    builder.modules = [ModuleNode(path="", class_name="model.Net", observed=True)]
    graph = builder.build()
    assert seen_through(graph) is graph
