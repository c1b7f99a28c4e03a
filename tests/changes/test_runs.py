"""What only runs tell: calls, shapes, operations, ways of data, costs, findings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from modgraph.changes import compare, flow
from modgraph.export.diff.words import verdict
from modgraph.findings import Finding
from modgraph.graph.build import GraphBuilder
from modgraph.graph.measures import Profile
from modgraph.graph.model import (
    Call,
    Edge,
    Graph,
    ModelInfo,
    ModelInput,
    ModuleNode,
    Operation,
    ParameterInfo,
    Problem,
    TensorInfo,
)


def tensor(*shape: int) -> TensorInfo:
    return TensorInfo(name="output", shape=shape, dtype="float32")


def traced(steps: list[str], *, add: str = "", size: int = 4, given: int = 4, twice: bool = False) -> Graph:
    """A model that calls its layers one after the other; `add`: an operation of that name joins first and last."""
    names = [*steps, steps[-1]] if twice else steps
    builder = GraphBuilder(
        ModelInfo(
            name="Net",
            class_name="m.Net",
            target=None,
            mode="eval",
            inputs=(ModelInput(name="x", tensors=(replace(tensor(1, given), name="x"),)),),
        )
    )
    builder.calls.append(Call(index=0, module="", parent=None, outputs=(tensor(1, size),)))
    builder.modules.append(ModuleNode(path="", class_name="m.Net", observed=True, calls=(0,)))
    for name in steps:
        calls = tuple(number for number, each in enumerate(names, 1) if each == name)
        builder.modules.append(ModuleNode(path=name, class_name=f"m.{name}", observed=True, calls=calls))
    before = "input:x"
    for number, name in enumerate(names, 1):
        builder.calls.append(Call(index=number, module=name, parent=0, outputs=(tensor(1, size),)))
        builder.edges.append(Edge(producer=before, consumer=f"call:{number}", tensor=tensor(1, size)))
        before = f"call:{number}"
    if add:
        builder.operations.append(Operation(id="op:0", name=add, call=0))
        builder.edges += [
            Edge(producer="call:1", consumer="op:0", tensor=tensor(1, size)),
            Edge(producer=before, consumer="op:0", tensor=tensor(1, size)),
        ]
        before = "op:0"
    builder.edges.append(Edge(producer=before, consumer="output:0", tensor=tensor(1, size)))
    return builder.build()


def flows(changes):
    return [(flow.side, flow.producer, flow.consumer) for flow in changes.dataflow]


def test_a_layer_put_between_two_others_changes_no_other_way_of_data():
    changes = compare(traced(["a", "c"]), traced(["a", "b", "c"]))
    assert [one.path for one in changes.added] == ["b"]
    assert flows(changes) == []
    assert not changes.changed


def test_another_order_of_calls_is_another_dataflow():
    old, new = traced(["a", "b", "c"]), traced(["a", "c", "b"])
    changes = compare(old, new)
    assert ("old", "a", "b") in flows(changes)
    assert ("new", "a", "c") in flows(changes)
    assert compare(new, old) == changes.reversed()


def test_a_skip_connection_that_is_gone():
    changes = compare(traced(["a", "b"], add="torch.add"), traced(["a", "b"]))
    (change,) = changes.changed
    assert [(field.kind, field.old, field.new) for field in change.fields] == [("operations", {"add": 1}, {})]


def test_another_operation_in_its_place():
    changes = compare(traced(["a", "b"], add="torch.add"), traced(["a", "b"], add="torch.mul"))
    (change,) = changes.changed
    assert [(field.old, field.new) for field in change.fields] == [({"add": 1}, {"mul": 1})]
    assert "operations add → mul" in changes.to_text()


def test_one_call_more():
    changes = compare(traced(["a", "b"]), traced(["a", "b"], twice=True))
    assert [(one.new, [(f.kind, f.old, f.new) for f in one.fields]) for one in changes.changed] == [
        ("b", [("calls", 1, 2)])
    ]


def test_output_shapes_where_both_were_given_the_same():
    changes = compare(traced(["a"], size=4), traced(["a"], size=5))
    assert [(one.new, one.fields[0].kind, one.fields[0].new) for one in changes.changed] == [
        ("", "outputs", [[1, 5]]),
        ("a", "outputs", [[1, 5]]),
    ]
    other = compare(traced(["a"], size=4, given=4), traced(["a"], size=5, given=5))
    assert not other
    assert [one.what for one in other.not_compared] == ["output shapes and dtypes"]
    assert [total.name for total in other.totals] == ["inputs"]


@pytest.mark.parametrize("side", ["old", "new"])
def test_a_run_beside_a_prediction_is_compared_as_far_as_both_know(side, predicted):
    known = predicted("pass")
    run = replace(
        traced(["a"]),
        modules=(replace(traced(["a"]).modules[0], class_name="model.Net", calls=()),),
        calls=(),
        edges=(),
    )
    pair = (known, run) if side == "new" else (run, known)
    changes = compare(*pair)
    assert not changes
    assert [(one.side, one.reason) for one in changes.not_compared] == [
        ("old" if side == "new" else "new", "was not run")
    ]
    assert verdict(changes) == "no difference found · not compared: calls, shapes and dataflow"


def test_a_run_that_breaks_off_is_a_difference():
    fine = traced(["a"])
    broken = replace(fine, problems=(Problem(stage="trace", message="ValueError: no", module="a"),))
    changes = compare(fine, broken)
    assert [(total.name, total.new) for total in changes.totals] == [("run", "broke off: ValueError: no")]
    assert changes


def test_flops_and_findings():
    old = replace(traced(["a"]), profile=Profile(flops=100), findings=(Finding(code="MG101", message="x", module="a"),))
    new = replace(traced(["a"]), profile=Profile(flops=150), findings=(Finding(code="MG204", message="y", module="a"),))
    changes = compare(old, new)
    assert [(total.name, total.old, total.new) for total in changes.totals] == [("flops", 100, 150)]
    assert [(one.side, one.code) for one in changes.findings] == [("old", "MG101"), ("new", "MG204")]
    assert "FLOPs 100 → 150 (+50)" in changes.to_text()


def doing(graph: Graph, words: dict[int, str]) -> Graph:
    """`graph`, with the operations that each call of a number runs."""
    builder = GraphBuilder.of(graph)
    names = [(number, name) for number, said in words.items() for name in said.split()]
    builder.operations.extend(
        Operation(id=f"op:{place}", name=f"torch.{name}", call=number) for place, (number, name) in enumerate(names)
    )
    return builder.build()


def test_every_call_is_compared_with_that_of_its_number():
    """What only the second call does differently was not seen."""
    both = traced(["a", "b"], twice=True)
    old, new = doing(both, {2: "relu", 3: "relu"}), doing(both, {2: "relu", 3: "sigmoid tanh"})
    changes = compare(old, new)
    (change,) = changes.changed
    assert [(field.kind, field.name, field.old, field.new) for field in change.fields] == [
        ("operations", "call 2", {"relu": 1}, {"sigmoid": 1, "tanh": 1})
    ]
    assert "operations of call 2 relu → sigmoid, tanh" in changes.to_text()
    assert compare(new, old) == changes.reversed()


def test_what_all_calls_do_differently_is_told_once():
    both = traced(["a", "b"], twice=True)
    changes = compare(doing(both, {2: "relu", 3: "relu"}), doing(both, {2: "tanh", 3: "tanh"}))
    assert [(field.name, field.new) for field in changes.changed[0].fields] == [("", {"tanh": 1})]


def test_what_is_recomputed_in_backward_is_no_call():
    both = traced(["a", "b"], twice=True)
    calls = (*both.calls[:3], replace(both.calls[3], recomputed=True))
    changes = compare(doing(replace(both, calls=calls), {2: "relu", 3: "relu"}), doing(traced(["a", "b"]), {2: "relu"}))
    assert not changes.changed


def test_dtypes_of_outputs():
    """Under autocast, shapes stay and dtypes do not."""
    old = traced(["a", "b"])
    calls = [
        replace(call, outputs=tuple(replace(one, dtype="bfloat16") for one in call.outputs)) if call.module else call
        for call in old.calls
    ]
    new = replace(old, calls=tuple(calls))
    changes = compare(old, new)
    assert [(one.new, [(f.kind, f.old, f.new) for f in one.fields]) for one in changes.changed] == [
        (name, [("output_dtypes", ["float32"], ["bfloat16"])]) for name in ("a", "b")
    ]
    assert "outputs of another dtype" in changes.to_text()
    assert compare(new, old) == changes.reversed()
    assert not compare(old, replace(new, model=replace(new.model, inputs=()))).changed


def run_of(graph: Graph, **model: object) -> Graph:
    return replace(graph, model=replace(graph.model, **model))


def broken(graph: Graph) -> Graph:
    return replace(graph, problems=(Problem(stage="trace", message="ValueError: no", module="a"),))


PLAIN = traced(["a"])
READ = replace(PLAIN, modules=tuple(replace(node, observed=None) for node in PLAIN.modules))
UNSURE = {
    "two files of other tools, which no run is known of": (
        READ,
        READ,
        "no difference found · not compared: calls, shapes and dataflow",
    ),
    "nothing is left": (PLAIN, PLAIN, "no difference"),
    "a sum may be of another alpha": (
        traced(["a", "b"], add="torch.add"),
        traced(["a", "b"], add="torch.add"),
        "no difference found · not compared: arguments of operations",
    ),
    "both broke off": (
        broken(PLAIN),
        broken(PLAIN),
        "no difference found · not compared: calls, shapes and dataflow",
    ),
    "other inputs": (
        PLAIN,
        traced(["a"], given=5),
        "no difference found · not compared: output shapes and dtypes",
    ),
    "train against eval": (
        PLAIN,
        run_of(PLAIN, mode="train"),
        "no difference found · not compared: runs in one mode",
    ),
    "one was profiled": (
        PLAIN,
        replace(PLAIN, profile=Profile(flops=1)),
        "no difference found · not compared: floating point operations",
    ),
}


@pytest.mark.parametrize("name", UNSURE)
def test_the_verdict_names_what_was_not_compared(name):
    old, new, said = UNSURE[name]
    for changes in (compare(old, new), compare(new, old)):
        assert not changes
        assert verdict(changes) == said
        named = verdict(changes).partition("not compared: ")[2]
        assert named == "; ".join(one.what for one in changes.not_compared)


def test_the_mode_is_told():
    changes = compare(PLAIN, run_of(PLAIN, mode="train"))
    assert [(total.name, total.old, total.new) for total in changes.totals] == [("mode", "eval", "train")]
    assert "ran in different modes" in changes.to_text()


def test_what_is_gone_is_not_taken_for_what_stands_at_its_place_now():
    """Numbered from 0 on both sides: the new `0` is the old `1`, and the old `0` is none of the new ones."""
    old, new = traced(["0", "1", "2"]), traced(["0", "1"])
    kinds = {"0": "m.First", "1": "m.Layer", "2": "m.Layer"}
    weight = (ParameterInfo(name="weight", shape=(4,), dtype="float32"),)

    def as_(graph: Graph, kinds: dict[str, str]) -> Graph:
        nodes = [
            replace(node, class_name=kinds[node.path], parameters=weight) if node.path else node
            for node in graph.modules
        ]
        return replace(graph, modules=tuple(nodes))

    old, new = as_(old, kinds), as_(new, {"0": "m.Layer", "1": "m.Layer"})
    changes = compare(old, new)
    assert [one.path for one in changes.removed] == ["0"]
    assert not changes.dataflow
    assert compare(new, old) == changes.reversed()


def test_a_finding_and_an_alias_of_what_is_gone_are_not_those_of_what_stands_at_its_place_now():
    def model(first: str, kind: str) -> Graph:
        nodes = [ModuleNode(path="", class_name="m.Net", predicted=True)]
        for number, name in enumerate([first, "m.Layer"] if first else ["m.Layer"]):
            weight = ParameterInfo(name="weight", shape=(len(name),), dtype="float32")
            nodes.append(ModuleNode(path=str(number), class_name=name, predicted=True, parameters=(weight,)))
        nodes.append(ModuleNode(path="again", class_name=kind, predicted=True, alias_of="0"))
        finding = Finding(code="MG204", message="x", module="0")
        info = ModelInfo(name="Net", class_name="m.Net", target=None)
        return Graph(model=info, modules=tuple(nodes), findings=(finding,))

    old, new = model("m.First", "m.First"), model("", "m.Layer")
    changes = compare(old, new)
    assert compare(new, old) == changes.reversed()
    assert [(one.side, one.module) for one in changes.findings] == [("new", "0"), ("old", "0")]


def test_too_many_ways_are_none_and_said(monkeypatch: pytest.MonkeyPatch):
    old, new = traced(["a", "b", "c", "d"]), traced(["a", "x", "y", "d"])
    assert not compare(old, new).dataflow
    monkeypatch.setattr(flow, "MOST_STEPS", 1)
    for changes in (compare(old, new), compare(new, old)):
        assert not changes.dataflow
        assert [(one.what, one.side) for one in changes.not_compared] == [("dataflow", "both")]
        assert "not compared: dataflow" in verdict(changes)
