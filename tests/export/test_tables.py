"""The table of modules as CSV and Markdown, and its columns: the same rows for programs and for people."""

from __future__ import annotations

import csv
import io
import re

import pytest

from modgraph.errors import ConfigError
from modgraph.export import PictureOptions, render
from modgraph.export.text.columns import COLUMNS
from modgraph.export.text.summary import summary
from modgraph.export.text.table import text_width
from modgraph.graph.build import GraphBuilder
from modgraph.graph.measures import CallCost, Profile
from modgraph.graph.model import Call, ModelInfo, ModuleNode, ParameterInfo, TensorInfo


def graph_of(*names: str, profile: bool = True, model: str = "Net"):
    """A root that calls each of its layers once; the layers hold 10, 20, ... parameters and take 1, 2, ... ms."""
    builder = GraphBuilder(ModelInfo(name=model, class_name="m.Net", target="m.py:Net", parameters=100, mode="eval"))
    builder.modules.append(ModuleNode(path="", class_name="m.Net", observed=True, calls=(0,)))
    builder.calls.append(Call(index=0, module="", parent=None))
    for number, name in enumerate(names, 1):
        held = ParameterInfo(name="weight", shape=(10 * number,), dtype="float32")
        node = ModuleNode(path=name, class_name="m.Layer", observed=True, calls=(number,), parameters=(held,))
        builder.modules.append(node)
        shapes = (TensorInfo(name="x", shape=(2, number), dtype="float32"),)
        builder.calls.append(Call(index=number, module=name, parent=0, inputs=shapes, outputs=shapes))
    n_layers = len(names)
    costs = [CallCost(call=0, flops=5_000_000, seconds=n_layers * 0.010, allocated=1500, not_counted=1)]
    costs += [
        CallCost(call=number, flops=1000 * number, seconds=number / 1000, allocated=-8 * number)
        for number in range(1, n_layers + 1)
    ]
    if profile:
        builder.profile = Profile(flops=5_000_000, seconds=n_layers * 0.010, calls=tuple(costs))
    return builder.build()


def read(graph, **options) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(str(render(graph, "csv", PictureOptions(**options))))))


def test_csv_has_every_module_with_numbers_in_the_units_of_its_headings():
    rows = read(graph_of("a", "b"))
    assert [row["module"] for row in rows] == ["Net", "a", "b"]
    assert rows[0]["flops"] == ">=5000000"
    assert [int(rows[2][name]) for name in ("parameters", "flops", "memory_bytes")] == [20, 2000, -16]
    assert float(rows[2]["time_s"]) == 0.002
    assert float(rows[2]["share_of_time"]) == pytest.approx(0.1)
    assert rows[2]["output"] == "2x2"


def test_csv_folds_nothing_and_has_the_columns_that_were_asked_for():
    rows = read(graph_of(*"abcd", profile=False), columns=("input", "share"), fold=True)
    assert list(rows[0]) == ["module", "input", "share_of_parameters"]
    assert len(rows) == 5
    assert [float(row["share_of_parameters"]) for row in rows[1:]] == pytest.approx([0.1, 0.2, 0.3, 0.4])


HOSTILE = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "＝1", '"=1', "a,b", 'q"q', "line\nend"]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_is_a_formula_in_a_spreadsheet_or_ends_its_field(name: str):
    graph = graph_of("a", model=name)
    for row in csv.reader(io.StringIO(str(render(graph, "csv")))):
        assert len(row) == len(next(csv.reader(io.StringIO(str(render(graph, "csv"))))))
        for field in row:
            assert re.match(r"[\s'\"]*[=+@＝＋＠－]", field) is None or field.startswith("'")
            assert "\n" not in field
            assert field[:1] != "-" or re.fullmatch(r"-[\d.]+", field)


def test_markdown_is_one_table_whose_names_are_shown_and_nothing_else():
    graph = graph_of("a|b", "[x](http://evil.example)", "@someone", "<img src=x>", "`", model="**Net** | @you")
    head, _, *lines = str(render(graph, "markdown")).splitlines()
    assert "`@you`" in head
    n_columns = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
    assert len(n_columns) == 1
    for name in ("`[x](http://evil.example)`", "`@someone`", "`<img src=x>`", "`a\\|b`"):
        assert any(line.startswith(f"| {name} |") for line in lines)


def test_a_graph_with_a_profile_shows_what_was_measured_without_being_asked():
    for text in (summary(graph_of("a", "b"), width=140), str(render(graph_of("a", "b"), "markdown"))):
        for word in ("flops", "time", "memory", "% of time", "≥ 5 M", "2 ms", "-16 B", "10.0 %"):
            assert word in text
    assert "flops" not in summary(graph_of("a", profile=False), width=140)


def test_neighbours_that_are_alike_show_the_mean_of_what_they_took():
    builder = GraphBuilder.of(graph_of("0", "1", "2"))
    builder.modules = [node if not node.path else _alike(node) for node in builder.modules]
    builder.calls = [call if call.parent is None else _without_shapes(call) for call in builder.calls]
    text = summary(builder.build(), columns=("time", "flops", "share"))
    assert re.search(r"0 – 2 ×3 +2 ms +2 k +6\.7 %", text)


def _alike(node: ModuleNode) -> ModuleNode:
    return ModuleNode(path=node.path, class_name="m.Layer", observed=True, calls=node.calls)


def _without_shapes(call: Call) -> Call:
    return Call(index=call.index, module=call.module, parent=0)


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_the_table_fits_is_aligned_and_has_the_characters_of_its_encoding(width: int, encoding: str):
    graph = graph_of("first", "a_layer_with_a_long_name_that_goes_on", "größe")
    text = summary(graph, width=width, unicode=encoding == "utf-8", encoding=encoding)
    text.encode(encoding)
    table = text.split("\n\n")[1].splitlines()
    assert max(map(text_width, text.splitlines())) <= width
    assert "time" in table[0]
    ends = {line.index(" ms") for line in table if " ms" in line}
    assert len(ends) == 1
    if encoding != "ascii":
        assert "größe" in text
        assert "·" in text


def test_every_column_can_be_asked_for_and_others_are_an_error():
    graph = graph_of("a")
    assert len(read(graph, columns=COLUMNS)[0]) == len(COLUMNS) + 1
    for form in ("csv", "markdown", "text"):
        with pytest.raises(ConfigError, match="unknown column 'flop'") as caught:
            render(graph, form, PictureOptions(columns=("flop",)))
        assert "did you mean 'flops'?" in (caught.value.hint or "")
