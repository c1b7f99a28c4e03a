"""A module that is called several times, beside itself, is drawn once; what is not alike or not beside is not."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Card, Frame, Join
from modgraph.export.picture.choosing import picture_of
from modgraph.graph.model import Condition
from tests.export.items import everything


def shown(graph, **options):
    """By path, how often a row or frame is drawn; what is said of each; what stands on arrows."""
    picture = picture_of(graph, PictureOptions(**options))
    items = list(everything(picture.items))
    rows = [row for item in items if isinstance(item, Card) for row in item.rows]
    marks = [mark for row in rows for mark in row.marks]
    marks += [mark for item in items if isinstance(item, Card | Frame) for mark in item.marks]
    names = [row.path or row.title for row in rows] + [item.sign for item in items if isinstance(item, Join)]
    return sorted(names), [(mark.state, mark.note) for mark in marks], [arrow.label for arrow in picture.arrows]


def twins(sketch, between=("torch.flatten",), *, last="torch.sub"):
    """Two inputs through one encoder and one projection; the results meet in `last`."""
    net = sketch("Twins")
    net.modules("encoder Linear *", "project Linear *", "out Linear *")
    results = []
    for name in ("input:a", "input:b"):
        net.shapes[name] = (1, 8)
        x = net.call("encoder", name)
        for operation in between:
            x = net.op(operation, x)
        results.append(net.call("project", x))
    net.output(net.call("out", net.op(last, *results)))
    return net.graph()


@pytest.mark.parametrize("between", [(), ("torch.flatten",), ("torch.relu", "torch.nn.functional.normalize")])
def test_twins_are_drawn_once_with_what_is_done_for_each(sketch, between):
    names, said, labels = shown(twins(sketch, between))
    words = [name.rpartition(".")[2] for name in between]
    assert names == sorted(["encoder", "project", "out", "−", *words])
    assert set(said) == {("called", "2 times")}
    assert [label for label in labels if label.startswith("×2")] == ["×2"]  # into the difference; it is one card before


def test_nothing_is_put_together_where_that_is_asked(sketch):
    names, said, _ = shown(twins(sketch), fold=False)
    assert names.count("encoder") == names.count("project") == names.count("flatten") == 2
    assert said == [("again", "2 of 2"), ("again", "2 of 2")]


def pyramid(sketch, levels: int = 4, *, sizes=lambda level: 64 >> level, head=("conv", "out")):
    """Each level of a backbone goes through one head, whose container is not called itself where it is open."""
    net = sketch("Pyramid")
    net.modules(*(f"down{level} Conv2d *" for level in range(levels)), "head Sequential")
    net.modules(*(f"head.{name} {kind} *" for name, kind in zip(head, itertools.cycle(("Conv2d", "Linear")))))
    x = "input:x"
    for level in range(levels):
        x = net.call(f"down{level}", x, shape=(1, 8, sizes(level), sizes(level)))
        net.enter("head")
        y = x
        for name in head:
            y = net.call(f"head.{name}", y, shape=(1, 4, sizes(level), sizes(level)))
        net.leave()
        net.output(y)
    return net.graph()


@pytest.mark.parametrize("levels", [2, 4, 6])
def test_a_head_is_drawn_once_for_all_levels(sketch, levels):
    names, said, labels = shown(pyramid(sketch, levels))
    assert names == sorted([*(f"down{level}" for level in range(levels)), "head.conv", "head.out"])
    assert set(said) == {("called", f"{levels} times")}
    assert levels < 4 or f"×{levels}" in labels  # four outputs are one pill


def test_sizes_in_which_calls_differ_are_left_open(sketch):
    names = [f"step{number}" for number in range(9)]  # eight are one card
    assert "4×…×…" in shown(pyramid(sketch, head=names))[2]


def test_calls_that_depend_on_each_other_stay_apart(sketch):
    net = sketch("Deep")
    net.modules("layer Linear *", "out Linear *")
    first = [net.call("layer", name) for name in ("input:a", "input:b")]
    joined = net.op("torch.add", *first)
    again = net.call("layer", net.call("out", joined))
    net.output(again)
    names, said, _ = shown(net.graph())
    assert names.count("layer") == 2
    assert sorted(said) == [("again", "3 of 3"), ("called", "2 of 3 times")]


def test_the_steps_of_a_recurrence_keep_their_order(sketch):
    """What each step takes of its own input is no reason to draw that before all steps."""
    net = sketch("Steps")
    net.modules("ih Linear *", "hh Linear *")
    h = "input:h"
    for step in range(2):
        h = net.op("torch.tanh", net.op("torch.add", net.call("ih", f"input:x{step}"), net.call("hh", h)))
    net.output(h)
    assert shown(net.graph())[0].count("ih") == 2


def test_a_sum_that_grows_is_no_recurrence(sketch):
    net = sketch("Sum")
    net.modules("head Linear *")
    total = net.call("head", "input:a")
    for name in ("b", "c"):
        total = net.op("torch.add", total, net.call("head", f"input:{name}"))
    net.output(total)
    names, said, _ = shown(net.graph())
    assert names == ["+", "+", "head"]
    assert said == [("called", "3 times")]


def test_functions_with_a_name_are_drawn_where_they_are_used(sketch):
    net = sketch("Plain")
    net.modules("relu ReLU", "one Linear *", "two Linear *")
    net.output(net.op("torch.add", *(net.call("relu", net.call(name, "input:x")) for name in ("one", "two"))))
    assert shown(net.graph())[0].count("relu") == 2


def with_call(graph, number, **changes):
    calls = [dataclasses.replace(each, **changes) if each.index == number else each for each in graph.calls]
    return dataclasses.replace(graph, calls=tuple(calls))


@pytest.mark.parametrize(
    "changes", [{"error": "RuntimeError: no"}, {"condition": Condition(text="flag")}, {"observed": False}]
)
def test_a_call_in_another_state_is_drawn_by_itself(sketch, changes):
    graph = twins(sketch)
    (_, again) = (call.index for call in graph.calls if call.module == "encoder")
    assert shown(with_call(graph, again, **changes))[0].count("encoder") == 2


def test_data_does_not_go_round_where_two_modules_feed_each_other_crosswise(sketch):
    """`a(x) → b` and `b(y) → a`: drawn once each, they would feed each other."""
    net = sketch("Crossed")
    net.modules("a Linear *", "b Conv2d *")
    one = net.call("b", net.call("a", "input:x"))
    other = net.call("a", net.call("b", "input:y"))
    net.output(net.op("torch.add", one, other))
    names, _, _ = shown(net.graph())
    assert names == ["+", "a", "a", "b", "b"]


def test_a_second_name_is_said_of_the_module_that_it_names(sketch):
    net = sketch("Named")
    net.modules("emb Embedding *", "out Linear *")
    net.module("tied", "Embedding", alias_of="emb")
    net.output(net.call("out", net.call("emb", "input:x")))
    names, said, _ = shown(net.graph())
    assert names == ["emb", "out"]
    assert said == [("also", "tied")]


def test_one_layer_listed_three_times_is_one_loop(sketch):
    net = sketch("Listed")
    net.modules("layers ModuleList", "layers.0 Linear *")
    net.module("layers.1", "Linear", alias_of="layers.0")
    net.module("layers.2", "Linear", alias_of="layers.0")
    x = "input:x"
    for _ in range(3):
        x = net.call("layers.0", x)
    net.output(x)
    picture = picture_of(net.graph())
    rows = [row for item in everything(picture.items) if isinstance(item, Card) for row in item.rows]
    assert [(row.copies, [mark.state for mark in row.marks]) for row in rows] == [(3, ["also"])]
