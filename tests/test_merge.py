"""The policy of merge, row by row, and its four columns."""

from __future__ import annotations

import dataclasses

import pytest

from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import (
    BufferInfo,
    Call,
    Edge,
    Finding,
    Graph,
    ModelInfo,
    ModuleNode,
    ParameterInfo,
    Problem,
    Repeat,
    SourceLocation,
    TensorInfo,
)
from modgraph.merge import merge

LINEAR = "torch.nn.modules.linear.Linear"
CONV = "torch.nn.modules.conv.Conv2d"


def node(path, class_name=LINEAR, **fields):
    return ModuleNode(path=path, class_name=class_name, **fields)


def graph(*nodes: ModuleNode, half: str, problems=(), calls=(), edges=(), findings=()) -> Graph:
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target="model.py:Net"))
    for each in (ModuleNode(path="", class_name="model.Net"), *nodes):
        fields = {name: getattr(each, name) for name in each.__dataclass_fields__}
        builder.modules.append(ModuleNode(**{**fields, half: True}))
    builder.problems.extend(problems)
    builder.calls.extend(calls)
    builder.edges.extend(edges)
    builder.findings.extend(findings)
    return builder.build()


def parameter(name="weight", shape=(4, 4), dtype="float32", **fields):
    return ParameterInfo(name=name, shape=shape, dtype=dtype, **fields)


def buffer(name="mean", shape=(4,), dtype="float32", **fields):
    return BufferInfo(name=name, shape=shape, dtype=dtype, **fields)


def messages(predicted, traced, problems=()):
    return [problem.message for problem in merged(predicted, traced, problems)[1]]


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


def test_a_lazy_module_becomes_what_it_is_after_the_run():
    lazy = "torch.nn.modules.linear.LazyLinear"
    before = node("fc", lazy, arguments={"out_features": 4}, parameters=(parameter(shape=None),))
    after = node(
        "fc", LINEAR, lazy_class=lazy, arguments={"in_features": 2, "out_features": 4}, parameters=(parameter(),)
    )
    modules, problems = merged([before], [after])
    assert (modules["fc"].class_name, modules["fc"].arguments, problems) == (LINEAR, after.arguments, ())
    assert "predicted to be" in messages([before], [node("fc", CONV, lazy_class="model.OtherLazy")])[0]


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


def test_open_root_does_not_cover_what_stands_below_a_module_that_is_known():
    _, problems = merged([node("a"), node("?", None)], [node("a"), node("a.extra"), node("b"), node("b.inner")])
    assert [p.module for p in problems] == ["a.extra"]


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


def test_what_stands_below_a_hidden_module_that_was_only_observed_is_no_problem():
    hidden, inner = node("blocks[0]", "net.Block", registered=False), node("blocks[0].fc")
    known = node("blocks[0]", "net.Block", registered=False)
    assert messages([], [hidden, inner]) == []
    assert len(messages([known], [hidden, inner])) == 1


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


def test_where_a_tensor_was_taken_from_that_a_call_gave_back_is_predicted():
    tensor = TensorInfo(name="input", shape=(1, 4), dtype="float32")
    paths = ["a", "drop", "b"]
    calls = [Call(index=i, module=path, parent=None) for i, path in enumerate(paths)]
    nodes = [node(path, calls=(i,)) for i, path in enumerate(paths)]
    from_a, from_drop = (Edge(producer=f"call:{i}", consumer="call:2", tensor=tensor) for i in (0, 1))
    open_edge = dataclasses.replace(from_drop, or_from=("call:0",))
    claimed = [dataclasses.replace(call, predicted=True, observed=None) for call in calls]
    traced = graph(*nodes, half="observed", calls=calls, edges=[open_edge])
    for said, found in ((from_a, from_a), (from_drop, from_drop), (None, open_edge)):
        edges = [] if said is None else [dataclasses.replace(said, predicted=True, observed=None)]
        joined = merge(graph(*nodes, half="predicted", calls=claimed, edges=edges), traced)
        assert [(each.producer, each.or_from) for each in joined.edges] == [(found.producer, found.or_from)]


def test_order_is_the_observed_one_with_the_predicted_between():
    modules, _ = merged([node("a"), node("gone"), node("b")], [node("a"), node("new"), node("b")])
    assert list(modules) == ["", "a", "gone", "new", "b"]


def test_the_halves_alone_say_none():
    predicted = graph(node("fc"), half="predicted")
    assert [(m.predicted, m.observed) for m in predicted.modules] == [(True, None), (True, None)]
    assert predicted.predicted
    assert not predicted.traced


def test_a_class_that_the_trace_cannot_name_is_the_predicted_one():
    modules, problems = merged([node("fc")], [node("fc", None)])
    assert modules["fc"].class_name == LINEAR
    assert problems == ()


def test_of_another_class_the_parameters_are_not_compared():
    told = messages([node("fc", parameters=(parameter(),))], [node("fc", CONV, parameters=(parameter("kernel"),))])
    assert told == [f"'fc' was predicted to be {LINEAR}, and is {CONV}"]


def test_predicted_to_be_registered_and_hidden():
    modules, problems = merged([node("blocks[0]")], [node("blocks[0]", registered=False)])
    assert modules["blocks[0]"].registered is False
    assert [p.message for p in problems] == [
        "'blocks[0]' was predicted to be registered, and is hidden from registration"
    ]


@pytest.mark.parametrize(
    ("expected", "seen", "said"),
    [
        (parameter(dtype="float32"), parameter(dtype="float16"), "parameter fc.weight was predicted as float32, and is float16"),
        (parameter(trainable=True), parameter(trainable=False), "parameter fc.weight was predicted to be trainable, and is frozen"),
        (buffer(shape=(4,)), buffer(shape=(8,)), "buffer fc.mean was predicted with shape [4], and has [8]"),
        (buffer(persistent=False), buffer(), "buffer fc.mean was predicted to be not persistent, and is persistent"),
    ],
)  # fmt: skip
def test_facts_of_a_tensor_differ(expected, seen, said):
    store = "parameters" if isinstance(expected, ParameterInfo) else "buffers"
    modules, problems = merged([node("fc", **{store: (expected,)})], [node("fc", **{store: (seen,)})])
    assert getattr(modules["fc"], store) == (seen,)
    assert [(p.message, p.module) for p in problems] == [(said, "fc")]


@pytest.mark.parametrize("unknown", [{"dtype": None}, {"trainable": None}, {"shape": None}])
def test_a_fact_that_was_not_known_does_not_differ(unknown):
    expected = dataclasses.replace(parameter(), **unknown)
    modules, problems = merged([node("fc", parameters=(expected,))], [node("fc", parameters=(parameter(),))])
    assert modules["fc"].parameters == (parameter(),)
    assert problems == ()


def test_a_tensor_that_was_predicted_alone():
    line = SourceLocation("model.py", 7)
    modules, problems = merged(
        [node("fc", parameters=(parameter(), parameter("bias")), buffers=(buffer(),), source=line)],
        [node("fc", parameters=(parameter(),))],
    )
    assert (modules["fc"].parameters, modules["fc"].buffers) == ((parameter(),), ())
    assert [(p.message, p.line) for p in problems] == [
        ("parameter fc.bias was predicted, but the live model has no such parameter", 7),
        ("buffer fc.mean was predicted, but the live model has no such buffer", 7),
    ]


def test_a_tensor_that_was_seen_alone():
    modules, problems = merged([node("fc")], [node("fc", parameters=(parameter(),), buffers=(buffer(),))])
    assert (modules["fc"].parameters, modules["fc"].buffers) == ((parameter(),), (buffer(),))
    assert [p.message for p in problems] == [
        "parameter fc.weight is on the live model, but was not predicted",
        "buffer fc.mean is on the live model, but was not predicted",
    ]


def test_a_tensor_that_was_seen_alone_where_the_prediction_said_unknown():
    unknown = Problem(stage="predict", message="further parameters are not known", module="fc")
    assert messages([node("fc")], [node("fc", parameters=(parameter(),))], [unknown]) == []
    assert messages([node("fc", None)], [node("fc", parameters=(parameter(),))]) == []
    elsewhere = dataclasses.replace(unknown, module="")
    assert len(messages([node("fc")], [node("fc", parameters=(parameter(),))], [elsewhere])) == 1


def test_parameters_of_a_module_that_was_only_predicted_are_kept():
    modules, _ = merged([node("gone", parameters=(parameter(),), buffers=(buffer(),))], [])
    assert (modules["gone"].parameters, modules["gone"].buffers) == ((parameter(),), (buffer(),))


def test_one_instance_in_both():
    modules, problems = merged([node("a"), node("b", alias_of="a")], [node("a"), node("b", alias_of="a")])
    assert modules["b"].alias_of == "a"
    assert problems == ()


def test_one_instance_was_predicted_and_there_are_two():
    modules, problems = merged([node("a"), node("b", alias_of="a")], [node("a"), node("b")])
    assert modules["b"].alias_of is None
    assert [(p.message, p.module) for p in problems] == [
        ("'b' was predicted to be the same as 'a', and is another", "b")
    ]


def test_two_instances_were_predicted_and_there_is_one():
    modules, problems = merged([node("a"), node("b")], [node("a"), node("b", alias_of="a")])
    assert modules["b"].alias_of == "a"
    assert [p.message for p in problems] == ["'b' is the same as 'a', and was predicted to be another"]


def test_an_instance_that_was_not_known_is_no_problem():
    assert messages([node("a"), node("b", None)], [node("a"), node("b", alias_of="a")]) == []


@pytest.mark.parametrize(
    ("expected", "seen", "said"),
    [
        (None, None, []),
        ("a.weight", "a.weight", []),
        ("a.weight", None, ["parameter b.weight was predicted to be the same as 'a.weight', and is another"]),
        (None, "a.weight", ["parameter b.weight is the same as 'a.weight', and was predicted to be another"]),
    ],
)
def test_tied_parameters(expected, seen, said):
    def half(first):
        return [node("a", parameters=(parameter(),)), node("b", parameters=(parameter(alias_of=first),))]

    assert messages(half(expected), half(seen)) == said


def test_the_first_path_of_an_instance_is_that_of_the_observed_order():
    """`y.j` was predicted behind the instance that it shares, and stands before it on the live model."""
    modules, problems = merged(
        [node("x", "m.B"), node("x.i"), node("y", "m.B"), node("y.j", alias_of="x.i")],
        [node("y", "m.B"), node("x", "m.B"), node("x.i")],
    )
    assert list(modules) == ["", "y", "y.j", "x", "x.i"]
    assert (modules["y.j"].alias_of, modules["x.i"].alias_of) == (None, None)
    assert [p.module for p in problems] == ["y.j"]


def test_what_was_only_predicted_is_the_same_as_what_is_there():
    modules, _ = merged(
        [node("a"), node("b", alias_of="a"), node("gone", alias_of="a")], [node("a"), node("b", alias_of="a")]
    )
    assert modules["gone"].alias_of == "a"


def test_a_tensor_that_was_only_predicted_is_the_same_as_what_is_there_or_nothing():
    gone = node("gone", parameters=(parameter(alias_of="a.weight"), parameter("w", alias_of="a.lost")))
    expected = [node("a", parameters=(parameter(), parameter("lost"))), gone]
    modules, _ = merged(expected, [node("a", parameters=(parameter(),))])
    assert [p.alias_of for p in modules["gone"].parameters] == ["a.weight", None]


def test_problems_of_the_prediction_are_settled_by_the_trace():
    problems = [Problem(stage="predict", message="depends on a file", module=module) for module in (None, "fc")]
    assert messages([node("fc")], [node("fc")], problems) == []


def test_findings_of_both_are_kept_once():
    both, one, other = (Finding(code="MG101", message=text, module="fc") for text in ("both", "one", "other"))
    joined = merge(
        graph(node("fc"), half="predicted", findings=(both, one)), graph(node("fc"), half="observed", findings=(both, other))
    )  # fmt: skip
    assert joined.findings == (both, one, other)


def test_a_finding_of_an_open_place_is_of_the_module_around_it():
    finding = Finding(code="MG101", message="hidden", module="blocks.?")
    predicted = graph(node("blocks"), node("blocks.?", None), half="predicted", findings=(finding,))
    joined = merge(predicted, graph(node("blocks"), half="observed"))
    assert [found.module for found in joined.findings] == ["blocks"]


def test_the_model_as_a_whole():
    predicted, traced = graph(half="predicted"), graph(half="observed")
    expected = ModelInfo(name="Net", class_name=None, target="model.py:Net(4)", parameters=3, buffers=1)
    seen = ModelInfo(
        name="build", class_name="model.Net", target=None, parameters=5, trainable_parameters=5, mode="eval"
    )
    joined = merge(dataclasses.replace(predicted, model=expected), dataclasses.replace(traced, model=seen)).model
    assert (joined.name, joined.class_name, joined.target) == ("Net", "model.Net", "model.py:Net(4)")
    assert (joined.parameters, joined.trainable_parameters, joined.buffers, joined.mode) == (5, 5, None, "eval")


def test_a_module_that_is_really_named_like_an_open_place_is_one():
    modules, problems = merged([node("?", None)], [node("?"), node("?.fc")])
    assert list(modules) == ["", "?", "?.fc"]
    assert problems == ()


def test_repeats_are_left_to_be_found_anew():
    pair = [node("a", repeat=Repeat(group="a", count=2)), node("b", repeat=Repeat(group="a", count=2))]
    modules, _ = merged(pair, [pair[0], node("c", repeat=Repeat(group="a", count=2))])
    assert {module.repeat for module in modules.values()} == {None}
