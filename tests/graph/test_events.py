"""Events as JSON lines, and the graph that any beginning of a stream folds into."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modgraph.errors import GraphError
from modgraph.graph.events import (
    DoneEvent,
    EnterEvent,
    ErrorEvent,
    Event,
    ExitEvent,
    Flow,
    GapEvent,
    GradientEvent,
    ModuleEvent,
    OperationEvent,
    OutputEvent,
    StartEvent,
    replay,
)
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import (
    HookInfo,
    ModelInfo,
    ModelInput,
    ModuleNode,
    ParameterInfo,
    SourceLocation,
    Statistics,
    TensorInfo,
)

WEIGHT = (ParameterInfo(name="w", shape=(2,), dtype="float32"),)
INFO = ModelInfo(name="Net", class_name="model.Net", target="model.py:Net")


def tensor(name="x", shape=(1, 2)):
    return TensorInfo(name=name, shape=shape, dtype="float32", device="cpu")


def flow(producer, name="x", shape=(1, 2)):
    return Flow(producer=producer, tensor=tensor(name, shape))


def start(*paths, parameters=()):
    nodes = [ModuleNode(path="", class_name="model.Net", observed=True)]
    nodes += [ModuleNode(path=path, class_name="model.Part", observed=True, parameters=parameters) for path in paths]
    return StartEvent(model=INFO, modules=tuple(nodes))


def edges(graph):
    return [(edge.producer, edge.consumer) for edge in graph.edges]


def test_every_event_survives_its_line():
    place = SourceLocation("pkg/mödel.py", 3)
    statistics = Statistics(mean=0.5, std=None, min=-1.0, max=1.0, numel=4)
    seen = TensorInfo(name="x[0]", shape=(1, "s0", None), dtype="float32", device="cpu", statistics=statistics)
    node = ModuleNode(
        path="a['k']",
        class_name=None,
        observed=True,
        registered=False,
        alias_of="a",
        parameters=(ParameterInfo(name="w", shape=None, dtype=None, trainable=None),),
        hooks=(HookInfo(kind="forward", name="m.f"),),
        arguments={"p": 0.5, "nested": [1, {"$repr": "inf"}]},
        source=place,
    )
    model = dataclasses.replace(INFO, inputs=(ModelInput(name="x", tensors=(seen,), origin="inferred", rules=("r",)),))
    for event in (
        StartEvent(model=model, modules=(ModuleNode(path="", class_name="N"), node)),
        ModuleEvent(modules=(node,)),
        EnterEvent(call=0, module="", inputs=(seen,), flows=(flow("input:x"),), source=place, direct=True),
        EnterEvent(call=1, module="a", parent=0, recomputed=True),
        ExitEvent(call=0, outputs=(seen,)),
        ExitEvent(call=0, error="ValueError: line\nbreak \u2028"),
        OperationEvent(
            index=0,
            name="torch.add",
            flows=(flow("op:3"), flow("const:0")),
            source=place,
            arguments={"other": 2, "dims": [1, 0]},
        ),
        GapEvent(kind="item", call=3, source=None),
        OutputEvent(name="logits[0]", flows=(flow("call:0"),)),
        GradientEvent(call=0, side="input", tensor=seen),
        ErrorEvent(message="boom", module="a", file="f.py", line=3),
        DoneEvent(),
    ):
        line = event.to_json()
        assert "\n" not in line
        assert Event.from_json(line) == event
        assert Event.from_json(line).to_json() == line


@pytest.mark.parametrize("line", ["", "{", "[]", "null", '{"event": "nonsense"}', '{"event": "enter"}', '{"call": 1}'])
def test_a_line_that_is_no_event(line):
    with pytest.raises(GraphError):
        Event.from_json(line)


@given(st.text(max_size=60))
def test_any_text_is_an_event_or_a_graph_error(text):
    try:
        event = Event.from_json(text)
    except GraphError:
        return
    assert isinstance(event, Event)


def test_a_leaf_is_one_node_for_its_surroundings():
    graph = replay(
        [
            start("a", "b", parameters=WEIGHT),
            EnterEvent(call=0, module=""),
            EnterEvent(call=1, module="a", parent=0, flows=(flow("input:x"),)),
            OperationEvent(index=0, name="torch.mul", call=1, flows=(flow("input:x"), flow("param:a.w"))),
            OperationEvent(index=1, name="torch.add", call=1, flows=(flow("op:0"), flow("param:b.w", shape=(3,)))),
            ExitEvent(call=1),
            OperationEvent(index=2, name="torch.tanh", call=0, flows=(flow("op:1"),)),
            EnterEvent(call=2, module="b", parent=0, flows=(flow("op:2"), flow("op:0", name="y"))),
            ExitEvent(call=2),
            ExitEvent(call=0),
            OutputEvent(name="0", flows=(flow("call:2"),)),
            DoneEvent(),
        ]
    )
    assert edges(graph) == [
        ("input:x", "call:1"),
        ("op:0", "op:1"),
        ("param:b.w", "call:1"),
        ("call:1", "op:2"),
        ("op:2", "call:2"),
        ("call:1", "call:2"),
        ("call:2", "output:0"),
    ]
    assert graph.complete
    assert [node.calls for node in graph.modules] == [(0,), (1,), (2,)]
    assert GraphIndex(graph).is_leaf_call(1)


def test_a_container_binds_nothing():
    graph = replay(
        [
            start("a", "a.b", parameters=WEIGHT),
            EnterEvent(call=0, module="a", flows=(flow("input:x"),)),
            OperationEvent(index=0, name="torch.mul", call=0, flows=(flow("input:x"), flow("param:a.w"))),
            EnterEvent(call=1, module="a.b", parent=0, flows=(flow("op:0"),)),
            ExitEvent(call=1),
            ExitEvent(call=0),
            DoneEvent(),
        ]
    )
    assert edges(graph) == [("input:x", "op:0"), ("param:a.w", "op:0"), ("op:0", "call:1")]


def test_own_parameters_of_a_leaf_are_known_by_all_their_names():
    tied = (ParameterInfo(name="w", shape=(2,), dtype="float32", alias_of="embed.w"),)
    root, embed, head = start("embed", "head", parameters=WEIGHT).modules
    begin = StartEvent(model=INFO, modules=(root, embed, dataclasses.replace(head, parameters=tied)))
    graph = replay(
        [
            begin,
            EnterEvent(call=0, module="head"),
            OperationEvent(index=0, name="torch.mul", call=0, flows=(flow("param:embed.w"), flow("param:head.in.b"))),
            ExitEvent(call=0),
            DoneEvent(),
        ]
    )
    assert graph.edges == ()


def test_calls_still_open_are_closed():
    events = [start("a"), EnterEvent(call=0, module=""), EnterEvent(call=1, module="a", parent=0)]
    graph = replay(events)
    assert [call.outputs for call in graph.calls] == [(), ()]
    assert (graph.problems[0].stage, graph.problems[0].module) == ("trace", "a")


def test_error_names_module_and_line():
    graph = replay([start("a"), ErrorEvent(message="E: x", module="a", file="f.py", line=2), DoneEvent()])
    (problem,) = graph.problems
    assert (problem.module, problem.file, problem.line) == ("a", "f.py", 2)


@pytest.mark.parametrize(
    "event",
    [
        EnterEvent(call=1, module=""),
        EnterEvent(call=0, module="nowhere"),
        EnterEvent(call=0, module="", parent=4),
        ExitEvent(call=0),
        GradientEvent(call=0, side="input", tensor=tensor()),
        OperationEvent(index=0, name="f", flows=(flow("op:9"),)),
        OperationEvent(index=0, name="f", call=7),
        start(),
    ],
)
def test_a_stream_that_contradicts_itself(event):
    with pytest.raises(GraphError):
        replay([start(), event])


@st.composite
def streams(draw):
    """A run as a recorder would tell it: nested calls, operations, gaps and gradients, with producers from before."""
    paths = ["a", "a.b", "c[0]"]
    events: list[Event] = [start(*paths, parameters=WEIGHT)]
    open_calls: list[int] = []
    producers = ["input:x", "const:0", "param:a.w"]
    n_calls = n_operations = 0
    for step in draw(st.lists(st.integers(0, 5), max_size=30)):
        flows = tuple(flow(p) for p in draw(st.lists(st.sampled_from(producers), max_size=3)))
        inside = open_calls[-1] if open_calls else None
        if step <= 1:
            path = draw(st.sampled_from(["", *paths]))
            events.append(EnterEvent(call=n_calls, module=path, parent=inside, flows=flows))
            open_calls.append(n_calls)
            n_calls += 1
        elif step == 2 and open_calls:
            call = open_calls.pop()
            events.append(ExitEvent(call=call, outputs=(tensor(),), error=draw(st.sampled_from([None, "E: x"]))))
            producers.append(f"call:{call}")
        elif step == 3:
            events.append(OperationEvent(index=n_operations, name="torch.f", call=inside, flows=flows))
            producers.append(f"op:{n_operations}")
            n_operations += 1
        elif step == 4:
            events.append(GapEvent(kind="item", call=inside))
        elif n_calls:
            call = draw(st.integers(0, n_calls - 1))
            events.append(GradientEvent(call=call, side="output", tensor=tensor()))
    events.append(OutputEvent(name="0", flows=(flow(producers[-1]),)))
    events.append(DoneEvent())
    return events


@given(streams())
def test_every_beginning_folds_into_a_valid_graph(events):
    for end in range(1, len(events) + 1):
        graph = replay(Event.from_json(event.to_json()) for event in events[:end])
        assert len(graph.calls) == sum(isinstance(event, EnterEvent) for event in events[:end])
        assert graph.complete is (end == len(events))
        index = GraphIndex(graph)
        for edge in graph.edges:
            for end_name in (edge.producer, edge.consumer):
                kind, _, rest = end_name.partition(":")
                assert kind != "call" or index.is_leaf_call(int(rest))
            if edge.consumer.startswith("op:"):
                home = index.operations[edge.consumer].call
                if home is not None and index.is_leaf_call(home):
                    assert index.operations[edge.producer].call == home
