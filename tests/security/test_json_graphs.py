"""Graphs in JSON from strangers: whatever stands there, it is a graph or a message, in steps that go with its size."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import modgraph
from modgraph.cli import main
from modgraph.errors import GraphError
from modgraph.export.formats import render
from modgraph.graph import json_fields, parsing
from modgraph.graph.dataflow import contracted_edges
from modgraph.graph.index import GraphIndex, parent_path, parents_of
from modgraph.graph.serial import from_json, to_json


def tensor(**more: Any) -> dict[str, Any]:
    return {"name": "x", "shape": [2, None, "n"], "dtype": "float32", "device": "cpu", **more}


def module(path: str, *calls: int, **more: Any) -> dict[str, Any]:
    return {
        "path": path, "class": "torch.nn.modules.linear.Linear", "predicted": None, "observed": True,
        "registered": True, "alias_of": None, "calls": list(calls), "repeat": None, "parameters": [], "buffers": [],
        "hooks": [], "arguments": {}, "source": None, **more,
    }  # fmt: skip


def call(index: int, path: str, parent: int | None = None) -> dict[str, Any]:
    return {
        "index": index, "module": path, "parent": parent, "inputs": [], "outputs": [tensor()],
        "source": {"file": "net.py", "line": 3}, "error": None,
    }  # fmt: skip


def edge(producer: str, consumer: str) -> dict[str, Any]:
    return {"from": producer, "to": consumer, "tensor": {"shape": [2, 2], "dtype": "float32"}}


def operation(number: int, name: str = "torch.add") -> dict[str, Any]:
    return {"id": f"op:{number}", "name": name, "call": 0, "source": None}


def document(
    modules: list[Any], calls: list[Any] | None = None, edges: list[Any] | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "schema": "modgraph/1",
        "model": {
            "name": "Net", "class": "net.Net", "target": "net.py:Net", "parameters": 6, "trainable_parameters": 6,
            "buffers": 0,
        },
        "complete": True, "problems": [], "modules": modules, "calls": calls or [], "operations": [],
        "edges": edges or [], "backward": [], "findings": [], **more,
    }  # fmt: skip


def small() -> dict[str, Any]:
    """A graph with one of everything."""
    weight = {"name": "weight", "shape": [2, 3], "dtype": "float32", "trainable": True}
    mean = {"name": "mean", "shape": [2], "dtype": "float32", "persistent": True}
    modules = [
        module("", 0),
        module("a", 1, repeat={"group": "a", "count": 2}, parameters=[weight], arguments={"n": 1, "of": [{"k": 2.5}]}),
        module("b", 2, repeat={"group": "a", "count": 2}, buffers=[mean], hooks=[{"kind": "forward", "name": "h"}]),
        module("c", alias_of="b"),
    ]
    statistics = {"mean": 0.5, "std": "NaN", "min": None, "max": 2, "numel": 4}
    calls = [call(0, ""), call(1, "a", 0), call(2, "b", 0)]
    edges = [edge("input:x", "call:1"), edge("call:1", "op:0"), edge("op:0", "call:2"), edge("call:2", "output:y")]
    edges[0]["tensor"]["statistics"] = statistics
    edges.append(edge("param:a.weight", "op:0"))
    return document(
        modules, calls, edges, operations=[operation(0)], complete=False,
        problems=[{"stage": "trace", "message": "m", "module": "a", "file": "net.py", "line": 2}],
        findings=[{"code": "MG101", "message": "m", "file": "net.py", "line": 2, "module": "b"}],
        gaps=[{"kind": "jit", "call": 1, "source": None}],
        backward=[{"module": "a", "call": 1, "grad_inputs": [tensor()], "grad_outputs": []}],
    )  # fmt: skip


FORMATS = ("text", "json", "dot", "mermaid", "html")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([10**30, -1, 1e308, "a.b"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


def test_the_graph_from_which_the_others_are_made_is_one():
    text = to_json(from_json(json.dumps(small())))
    assert to_json(from_json(text)) == text
    assert all(render(from_json(text), name) for name in FORMATS)


# ---- any value ------------------------------------------------------------------------------------------------------


def graph_or_message(text: str) -> modgraph.Graph | None:
    said = ""
    try:
        return from_json(text)
    except GraphError as error:
        said = str(error)
    assert 0 < len(said) < 2_000
    return None


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_any_json_is_a_graph_or_a_message(value: Any):
    assert graph_or_message(json.dumps(value)) is None


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(place for key, each in items for place in places(each, (*way, key)))]


PLACES = [place for place in places(small()) if place]


@st.composite
def changed(draw: st.DrawFn) -> dict[str, Any]:
    """The small graph with something else in one or two places, or without it, or with it twice."""
    whole = copy.deepcopy(small())
    for way in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=2)):
        holder: Any = whole
        try:
            for key in way[:-1]:
                holder = holder[key]
            what = draw(st.sampled_from(["other", "other", "gone", "twice", "swapped"]))
            if what == "gone":
                del holder[way[-1]]
            elif what == "twice" and isinstance(holder, list):
                holder.insert(way[-1], copy.deepcopy(holder[way[-1]]))
            elif what == "swapped" and isinstance(holder, list):
                holder.reverse()
            else:
                holder[way[-1]] = draw(JSON)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change has taken the place away
    return whole


@settings(max_examples=60, deadline=None)
@given(changed())
def test_a_changed_graph_saves_and_loads_or_is_refused(value: dict[str, Any]):
    graph = graph_or_message(json.dumps(value))
    if graph is None:
        return
    text = to_json(graph)
    assert to_json(from_json(text)) == text
    assert all(render(graph, name) for name in FORMATS)


# ---- what is written to do harm ---------------------------------------------------------------------------------------


def with_(value: str, key: str = "arguments") -> str:
    """The small graph with a text in place of one field of module "a"."""
    whole = small()
    whole["modules"][1][key] = "HERE"
    return json.dumps(whole).replace('"HERE"', value)


REFUSED = {
    "brackets": ("[" * 200_000, "nested too deeply"),
    "objects": ('{"a":' * 200_000, "nested too deeply"),
    "arguments in arguments": (with_('{"a": ' + "[" * 400 + "]" * 400 + "}"), "nested more than"),
    "NaN": (with_('{"a": NaN}'), "no JSON number"),
    "Infinity": (with_('{"a": -Infinity}'), "no JSON number"),
    "digits": (with_('{"a": ' + "9" * 5_000 + "}"), "this is no JSON"),
    "a count of many digits": (
        json.dumps({**small(), "model": {**small()["model"], "parameters": 10**200}}),
        "expected an integer of",
    ),
    "a size of many digits": (
        with_(f'[{{"name": "w", "shape": [{10**200}], "dtype": null, "trainable": null}}]', "parameters"),
        "expected a list of sizes",
    ),
    "a path": (json.dumps(document([module(""), module("a" + ".a" * 5_000)])), "inside each other"),
    "a repeat of none": (with_('{"group": "nowhere", "count": 2}', "repeat"), "does not exist"),
    "an alias of itself": (with_('"a"', "alias_of"), "is an alias itself"),
    "aliases in a circle": (
        json.dumps(document([module(""), module("a", alias_of="b"), module("b", alias_of="a")])),
        "is an alias itself",
    ),
    "a call within itself": (json.dumps(document([module("", 0)], [call(0, "", 0)])), "did not begin before it"),
    "calls within one another": (
        json.dumps(document([module("", 0, 1)], [call(0, "", 1), call(1, "", 0)])),
        "did not begin before it",
    ),
    "a module twice": (json.dumps(document([module(""), module("a"), module("a")])), "stands twice"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_a_message(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text, why = REFUSED[name]
    file = tmp_path / "net.json"
    file.write_text(text)
    assert main(["render", str(file), "--format", "text", "-o", str(tmp_path / "out.txt")]) == 2
    said = capsys.readouterr().err
    assert why in said
    assert len(said) < 2_000
    assert not (tmp_path / "out.txt").exists()


TAKEN = {
    "1e999": with_('{"a": 1e999}'),
    "a statistic of 1e999": json.dumps(small()).replace('"mean": 0.5', '"mean": 1e999'),
    "seconds that are no number": json.dumps(
        {
            **small(),
            "profile": {
                "flops": 1, "seconds": "NaN", "problem": None, "not_counted": [{"operator": "aten.x", "count": 2}],
                "calls": [{"call": 0, "flops": 1, "seconds": "Infinity", "allocated": None}],
            },
        }
    ),
    "keys twice": json.dumps(small()).replace('"schema"', '"schema": "modgraph/1", "schema"'),
    "half a character": with_('{"a": "\\ud800"}'),
    "half a character as a class": with_('"\\udfff"', "class"),
    "a class of two million characters": with_(f'"{"x" * 2_000_000}"', "class"),
    "a repeat of 2**100": with_(f'{{"group": "a", "count": {2**100}}}', "repeat"),
    "a size of 2**100": with_(f'[{{"name": "weight", "shape": [{2**100}], "dtype": "bool", "trainable": true}}]', "parameters"),
    "a size below 0": with_('[{"name": "weight", "shape": [-5], "dtype": "float32", "trainable": true}]', "parameters"),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_it_is_read_and_drawn(name: str):
    graph = from_json(TAKEN[name])
    text = to_json(graph)
    assert to_json(from_json(text)) == text
    for form in FORMATS:
        content = render(graph, form)
        data = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
        assert len(data) > 100


# ---- in proportion ----------------------------------------------------------------------------------------------------


def chain(n: int) -> dict[str, Any]:
    modules = [module("", 0), *(module(f"l{k}", k, arguments={"n": k}) for k in range(1, n + 1))]
    calls = [call(0, ""), *(call(k, f"l{k}", 0) for k in range(1, n + 1))]
    return document(modules, calls, [edge(f"call:{k}", f"call:{k + 1}") for k in range(1, n)])


def nested_calls(n: int) -> dict[str, Any]:
    calls = [call(k, "", k - 1 if k else None) for k in range(n)]
    return document([module("", *range(n))], calls, [edge("input:x", f"call:{n - 1}")])


def one_module(n: int) -> dict[str, Any]:
    calls = [call(0, ""), *(call(k, "a", 0) for k in range(1, n + 1))]
    edges = [edge(f"call:{k}", f"call:{k + 1}") for k in range(1, n)]
    return document([module("", 0), module("a", *range(1, n + 1))], calls, edges)


def aliases(n: int) -> dict[str, Any]:
    return document([module(""), module("a"), *(module(f"b{k}", alias_of="a") for k in range(n))])


def fan(n: int) -> dict[str, Any]:
    """Everything reads one input, and ends in one output."""
    edges = [each for k in range(n) for each in (edge("input:x", f"op:{k}"), edge(f"op:{k}", "output:y"))]
    return document([module("", 0)], [call(0, "")], edges, operations=[operation(k) for k in range(n)])


def children(n: int) -> dict[str, Any]:
    return document([module(""), *(module(f"l{k}") for k in range(n))])


def calls_of(function: Any) -> int:
    """Calls of functions that a function leads to, those written in C too."""
    number = 0

    def count(_frame: object, event: str, _what: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    outer = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(outer)
    return number


WRITTEN = ("text", "json", "dot", "mermaid", "html")


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("make", [chain, nested_calls, one_module, aliases, fan, children])
def test_four_times_the_graph_takes_four_times_the_steps(make: Any, form: str):
    sizes = (
        (240, 960) if form in ("dot", "html") else (60, 240)
    )  # both so large that a picture is tried in several ways
    texts = [json.dumps(make(n)) for n in (10, *sizes)]
    render(from_json(texts[0]), form)  # what is imported and made once is there now
    few, many = (calls_of(lambda text=text: render(from_json(text), form)) for text in texts[1:])  # type: ignore[misc]
    assert many < 7 * few  # sorting, repeats, and a second try of a large picture take more; pair by pair it were 16


NAMES = st.sampled_from(
    ["a", "b", "a.b", "a.b.c", "a.c", "ab", "a-b", "a\0b", "a\1b", "a\0", "a\0.c", "a..b", ".a", "é"]
)


@given(st.sets(st.lists(NAMES, max_size=4).map(".".join)))
def test_parents_of_all_are_those_of_each(paths: set[str]):
    assert parents_of(paths) == {path: parent_path(path, paths) for path in paths}


def test_a_path_of_many_dots_is_gone_through_once():
    """Not once for each of its ends."""
    path = "a" + ".a" * 200_000
    assert calls_of(lambda: parents_of([path])) < 50


def test_views_hand_on_no_more_than_the_graph_is_large(monkeypatch: pytest.MonkeyPatch):
    """A thousand views of a thousand ends each would be a million edges."""
    views = [operation(k, "torch.Tensor.view") for k in range(40)]
    ends = [operation(k) for k in range(40, 80)]
    edges = [edge(f"input:{k}", "op:0") for k in range(40)] + [edge("op:0", f"op:{k}") for k in range(1, 40)]
    edges += [edge(f"op:{k - 40}", f"op:{k}") for k in range(41, 80)] + [
        edge(f"op:{k}", "output:y") for k in range(41, 80)
    ]
    text = json.dumps(document([module("", 0)], [call(0, "")], edges, operations=[*views, *ends]))
    index = GraphIndex(from_json(text))
    assert len(contracted_edges(index)) == 40 * 39 + 39
    monkeypatch.setattr("modgraph.graph.dataflow.MAX_PASSED", 0)
    assert len(contracted_edges(index)) <= len(edges)


# ---- limits -----------------------------------------------------------------------------------------------------------


def test_a_graph_that_is_too_large_is_refused_and_says_so(monkeypatch: pytest.MonkeyPatch):
    text = json.dumps(chain(20))
    assert len(from_json(text).modules) == 21
    monkeypatch.setattr(parsing, "MAX_RECORDS", 60)
    with pytest.raises(
        GraphError, match=r"too large to be read: 61 modules, calls, operations and edges, more than 60"
    ):
        from_json(text)


@pytest.mark.parametrize(("levels", "is_read"), [(json_fields.MAX_DEPTH - 2, True), (json_fields.MAX_DEPTH + 1, False)])
def test_arguments_may_be_nested_so_deep(levels: int, is_read: bool):
    graph = graph_or_message(with_('{"a": ' + "[" * levels + "]" * levels + "}"))
    assert (graph is not None) == is_read
    if graph is not None:
        assert to_json(from_json(to_json(graph))) == to_json(graph)


@pytest.mark.parametrize(("levels", "is_read"), [(parsing.MAX_LEVELS, True), (parsing.MAX_LEVELS + 1, False)])
def test_modules_may_be_nested_so_deep(levels: int, is_read: bool):
    paths = ["", *(".".join(["a"] * k) for k in range(1, levels + 1))]
    graph = graph_or_message(json.dumps(document([module(path) for path in paths])))
    assert (graph is not None) == is_read
    if graph is not None:
        assert render(graph, "text")
        assert render(graph, "dot")
