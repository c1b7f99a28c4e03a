"""A problem with several places: told as one, and apart."""

from __future__ import annotations

import pytest

from modgraph.errors import GraphError
from modgraph.export.look.options import PictureOptions
from modgraph.export.page.html import page_data
from modgraph.export.text.summary import summary
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import Graph, ModelInfo, ModuleNode, OpenPlace, Problem
from modgraph.graph.paths import common_path
from modgraph.graph.repeats import remarks_by_module
from modgraph.graph.serial import from_json, to_json
from modgraph.graph.state_dict import state_dict_of
from modgraph.graph.wrappers import seen_through

PATHS = ("", "a", "b", "c", "d", "e", "f")


def graph(problem: Problem, *nodes: ModuleNode) -> Graph:
    builder = GraphBuilder(ModelInfo(name="Net", class_name="m.Net", target="m.py:Net"))
    builder.modules = [*nodes] or [ModuleNode(path=path, class_name="m.Part", predicted=True) for path in PATHS]
    builder.problems = [problem]
    return builder.build()


def shared(*modules: str, message: str = "No module named 'x'") -> Problem:
    places = tuple(
        OpenPlace(message=f"what '{path}' is, is not known", module=path, file="m.py", line=number)
        for number, path in enumerate(modules, 3)
    )
    return Problem(stage="predict", message=message, module="", file="m.py", line=1, places=places)


def test_apart_there_is_one_for_each_place() -> None:
    problem = shared("a", "b")
    assert [(one.module, one.message, one.line) for one in problem.apart] == [
        ("a", "what 'a' is, is not known: No module named 'x'", 3),
        ("b", "what 'b' is, is not known: No module named 'x'", 4),
    ]
    alone = Problem(stage="predict", message="it is not known", module="a")
    assert alone.apart == (alone,)
    assert alone.headline == "it is not known"


def test_the_headline_is_a_sentence() -> None:
    assert shared("a", "b").headline == "No module named 'x'; 2 places depend on it"
    outside = shared("a", "b", message="depends on os.environ")
    assert outside.headline == "what os.environ gives is known only when it runs; 2 places depend on it"


def test_the_summary_has_the_cause_and_the_first_places() -> None:
    lines = summary(graph(shared("a", "b", "c", "d", "e")), width=100).splitlines()
    start = lines.index("1 problem")
    assert lines[start + 1 :] == [
        "  predict m.py:1: No module named 'x'; 5 places depend on it",
        "    line 3: what 'a' is, is not known",
        "    line 4: what 'b' is, is not known",
        "    line 5: what 'c' is, is not known",
        "    line 6: what 'd' is, is not known",
        "    and 1 more",
    ]


def test_the_page_has_the_problem_at_each_of_its_modules() -> None:
    data = page_data(graph(shared("a", "c")), PictureOptions())
    assert [place["module"] for place in data["problems"][0]["places"]] == ["a", "c"]
    assert [module["path"] for module in data["modules"] if module.get("problems") == [0]] == ["a", "c"]


def test_what_reads_problems_by_module_reads_the_places() -> None:
    made = graph(shared("a", "c"))
    assert set(remarks_by_module(made)) == {"a", "c"}
    assert state_dict_of(made).open_at == {"a.", "c."}


def test_it_is_read_as_it_was_written_and_its_modules_must_be_there() -> None:
    made = graph(shared("a", "b"))
    assert from_json(to_json(made)).problems == made.problems
    with pytest.raises(GraphError, match="a place names module 'z'"):
        graph(shared("a", "z"))


def test_a_wrapper_is_seen_through_in_the_places() -> None:
    ddp = "torch.nn.parallel.distributed.DistributedDataParallel"
    nodes = [ModuleNode(path=path, class_name=name, observed=True)
             for path, name in (("", "m.Net"), ("a", ddp), ("a.module", "m.Part"))]  # fmt: skip
    (problem,) = seen_through(graph(shared("a.module", "a.module"), *nodes)).problems
    assert {place.module for place in problem.places} == {"a"}


@pytest.mark.parametrize(
    ("paths", "common"),
    [
        (["layers.0.fc", "layers.1"], "layers"),
        (["layers.0.fc", "layers.0"], "layers.0"),
        (["layers[0].fc", "layers[0].norm"], "layers[0]"),
        (["layer", "layers"], ""),
        (["a.b", ""], ""),
        (["a.b"], "a.b"),
        (["blocks[0]", "blocks[1]"], ""),
        (["a.blocks[0].fc", "a.blocks[1]"], "a"),
        ([], ""),
    ],
)
def test_the_module_around_several(paths: list[str], common: str) -> None:
    modules = {"", "a", "a.b", "layers", "layers.0", "layers.1", "layers[0]", "layer"}
    assert common_path(paths, modules) == common
