"""The policy of merge, row by row, and its four columns."""

from __future__ import annotations

from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import (
    Call,
    Edge,
    Graph,
    ModelInfo,
    ModuleNode,
    ParameterInfo,
    Problem,
    SourceLocation,
    TensorInfo,
)
from modgraph.merge import merge

LINEAR = "torch.nn.modules.linear.Linear"
CONV = "torch.nn.modules.conv.Conv2d"


def node(path, class_name=LINEAR, **fields):
    return ModuleNode(path=path, class_name=class_name, **fields)


def graph(*nodes: ModuleNode, half: str, problems=(), calls=(), edges=()) -> Graph:
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target="model.py:Net"))
    for each in (ModuleNode(path="", class_name="model.Net"), *nodes):
        fields = {name: getattr(each, name) for name in each.__dataclass_fields__}
        builder.modules.append(ModuleNode(**{**fields, half: True}))
    builder.problems.extend(problems)
    builder.calls.extend(calls)
    builder.edges.extend(edges)
    return builder.build()


def merged(predicted, traced, problems=()):
    joined = merge(graph(*predicted, half="predicted", problems=problems), graph(*traced, half="observed"))
    return {module.path: module for module in joined.modules}, joined.problems


def test_exists_in_both():
    modules, problems = merged([node("fc")], [node("fc")])
    assert (modules["fc"].predicted, modules["fc"].observed) == (True, True)
    assert problems == ()


def test_exists_only_in_the_prediction():
    modules, problems = merged([node("fc", source=SourceLocation("model.py", 7))], [])
    assert (modules["fc"].predicted, modules["fc"].observed, modules["fc"].calls) == (True, False, ())
    assert [(p.stage, p.module, p.file, p.line) for p in problems] == [("merge", "fc", "model.py", 7)]


def test_exists_only_in_the_trace():
    modules, problems = merged([], [node("fc")])
    assert (modules["fc"].predicted, modules["fc"].observed) == (False, True)
    assert [p.module for p in problems] == ["fc"]


def test_exists_only_in_the_trace_where_the_prediction_said_unknown():
    unknown = Problem(stage="predict", message="depends on a file", module="blocks")
    modules, problems = merged(
        [node("blocks", "torch.nn.modules.container.ModuleList"), node("blocks.?", None)],
        [node("blocks", "torch.nn.modules.container.ModuleList"), node("blocks.0"), node("blocks.0.fc")],
        problems=[unknown],
    )
    assert list(modules) == ["", "blocks", "blocks.0", "blocks.0.fc"]
    assert modules["blocks.0"].predicted is False
    assert problems == ()


def test_below_a_child_of_unknown_class_nothing_is_a_problem():
    modules, problems = merged([node("net", None)], [node("net", CONV), node("net.inner")])
    assert modules["net"].class_name == CONV
    assert modules["net"].predicted is True
    assert problems == ()


def test_open_root_covers_everything():
    _, problems = merged([node("?", None)], [node("a"), node("b")])
    assert problems == ()


def test_an_unknown_place_does_not_cover_its_neighbours():
    _, problems = merged(
        [node("a", "torch.nn.modules.container.ModuleList"), node("a.?", None)],
        [node("a", "torch.nn.modules.container.ModuleList"), node("ab")],
    )
    assert [p.module for p in problems] == ["ab"]


def test_class_differs():
    modules, problems = merged([node("fc", source=SourceLocation("model.py", 3))], [node("fc", CONV)])
    assert modules["fc"].class_name == CONV
    assert LINEAR in problems[0].message
    assert CONV in problems[0].message
    assert problems[0].line == 3


def test_parameter_shapes_differ():
    weight = ParameterInfo(name="weight", shape=(4, 4), dtype="float32")
    other = ParameterInfo(name="weight", shape=(4, 8), dtype="float32")
    modules, problems = merged([node("fc", parameters=(weight,))], [node("fc", parameters=(other,))])
    assert modules["fc"].parameters == (other,)
    assert "[4, 4]" in problems[0].message
    assert "[4, 8]" in problems[0].message


def test_a_size_that_was_not_known_does_not_differ():
    weight = ParameterInfo(name="weight", shape=(4, None), dtype="float32")
    other = ParameterInfo(name="weight", shape=(4, 8), dtype="float32")
    modules, problems = merged([node("fc", parameters=(weight,))], [node("fc", parameters=(other,))])
    assert modules["fc"].parameters == (other,)
    assert problems == ()


def test_registered_differs():
    modules, problems = merged([node("blocks[0]", registered=False)], [node("blocks[0]", registered=True)])
    assert modules["blocks[0]"].registered is True
    assert "hidden from registration" in problems[0].message


def test_line_and_arguments_come_from_the_prediction():
    predicted = node("fc", source=SourceLocation("model.py", 3), arguments={"in_features": 4})
    traced = node("fc", source=SourceLocation("torch/nn/modules/linear.py", 50), arguments={"in_features": 5})
    modules, _ = merged([predicted], [traced])
    assert modules["fc"].source == SourceLocation("model.py", 3)
    assert modules["fc"].arguments == {"in_features": 4}


def test_line_and_arguments_come_from_the_trace_where_it_alone_knows():
    traced = node("fc", source=SourceLocation("torch/nn/modules/linear.py", 50), arguments={"in_features": 5})
    modules, _ = merged([], [traced])
    assert modules["fc"].source == traced.source
    assert modules["fc"].arguments == {"in_features": 5}


def test_what_is_hidden_and_only_observed_is_no_problem():
    modules, problems = merged([], [node("blocks[0]", registered=False)])
    assert modules["blocks[0]"].predicted is False
    assert problems == ()


def test_calls_and_edges_come_from_the_trace():
    tensor = TensorInfo(name="x", shape=(1, 4), dtype="float32")
    calls = [Call(index=0, module="", parent=None), Call(index=1, module="fc", parent=0)]
    edges = [Edge(producer="input:x", consumer="call:1", tensor=tensor)]
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target=None))
    builder.modules = [
        ModuleNode(path="", class_name="model.Net", observed=True, calls=(0,)),
        ModuleNode(path="fc", class_name=LINEAR, observed=True, calls=(1,)),
    ]
    builder.calls.extend(calls)
    builder.edges.extend(edges)
    traced = builder.build()
    joined = merge(graph(node("fc"), node("gone"), half="predicted"), traced)
    assert joined.calls == traced.calls
    assert joined.edges == traced.edges
    assert [module.calls for module in joined.modules] == [(0,), (1,), ()]


def test_order_is_the_observed_one_with_the_foretold_between():
    modules, _ = merged([node("a"), node("gone"), node("b")], [node("a"), node("new"), node("b")])
    assert list(modules) == ["", "a", "gone", "new", "b"]


def test_the_halves_alone_say_none():
    predicted = graph(node("fc"), half="predicted")
    assert [(m.predicted, m.observed) for m in predicted.modules] == [(True, None), (True, None)]
    assert predicted.predicted
    assert not predicted.traced
