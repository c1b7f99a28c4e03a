"""The summary for a terminal: what it says, that it lines up, that it fits."""

from __future__ import annotations

import dataclasses
import re

import pytest

from modgraph.errors import ConfigError, ExportError
from modgraph.export.text import table
from modgraph.export.text.summary import summary
from modgraph.export.text.table import Cell, Column, Pen, text_width
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import (
    BufferInfo,
    Call,
    Edge,
    Finding,
    Gap,
    HookInfo,
    ModelInfo,
    ModelInput,
    ModuleNode,
    Operation,
    ParameterInfo,
    Problem,
    SourceLocation,
    TensorInfo,
)


def weight(*shape, name="weight", **fields):
    return ParameterInfo(name=name, shape=shape, dtype="float32", **fields)


def tensor(*shape, name="output", dtype="float32"):
    return TensorInfo(name=name, shape=shape, dtype=dtype)


class Maker:
    """Builds a graph module by module; each module that is called is called once, inside the root."""

    def __init__(self, *, traced=True, both=False, **model):
        model = {"name": "Net", "class_name": "model.Net", "target": "model.py:Net", **model}
        self.builder = GraphBuilder(ModelInfo(**model))
        self.halves = {"observed": True if traced else None, "predicted": True if both or not traced else None}
        self.traced = traced
        self.add("", "model.Net", shape=(1, 10))

    def add(self, path, class_name, *held, shape=None, calls=1, error=None, **fields):
        indices = tuple(range(len(self.builder.calls), len(self.builder.calls) + calls)) if self.traced else ()
        fields = {**self.halves, **fields}
        self.builder.modules.append(
            ModuleNode(path=path, class_name=class_name, parameters=held, calls=indices, **fields)
        )
        outputs = (tensor(*shape),) if shape is not None else ()
        self.builder.calls += [
            Call(index=index, module=path, parent=0 if path else None, outputs=outputs, error=error)
            for index in indices
        ]
        return self

    def text(self, **options):
        return summary(self.builder.build(), **options)


def row(text: str, name: str) -> list[str]:
    """The fields of the table's row for `name`."""
    line = next(line for line in text.splitlines() if re.search(rf"^[├└─│ ]*{re.escape(name)}(  |$)", line))
    return re.split(r"\s{2,}", re.sub(r"^[├└─│ ]*", "", line).strip())


def blocks(maker: Maker, count: int, **fields):
    maker.add("layers", "torch.nn.modules.container.Sequential", shape=(1, 8))
    for number in range(count):
        maker.add(f"layers.{number}", "model.Block", shape=(1, 8))
        maker.add(f"layers.{number}.fc", "torch.nn.Linear", weight(8, 8), shape=(1, 8), **fields)
    return maker


def test_a_row_says_class_output_parameters_and_calls():
    text = (
        Maker()
        .add("fc", "torch.nn.modules.linear.Linear", weight(10, 20), weight(10, name="bias"), shape=(1, 10))
        .text()
    )
    assert row(text, "Net") == ["Net", "Net", "1×10", "210", "1"]
    assert row(text, "fc") == ["fc", "Linear", "1×10", "210", "1"]


def test_columns_are_aligned():
    text = blocks(Maker(), 2).add("a_rather_long_name", "torch.nn.Linear", weight(1000, 1000), shape=(1, 1000)).text()
    table = text.split("\n\n")[1].splitlines()
    starts = [
        line.index(word)
        for line, word in zip(table[1:], ["Net", "Sequential", "Block", "Linear", "Linear"], strict=True)
    ]
    assert len({start for start in starts if start > 4}) == 1
    end = table[0].index("parameters") + len("parameters")
    assert {line[end - 1] for line in table[1:]} == {"8", "4", "0"}  # 1,000,128  128  64  64  1,000,000
    assert {line[end] for line in table} == {" "}


def test_alike_blocks_are_folded_and_said_to_be():
    text = blocks(Maker(), 3).text()
    assert row(text, "0 – 2 ×3") == ["0 – 2 ×3", "Block", "1×8", "64", "1"]
    assert "folded" in text
    assert row(blocks(Maker(), 3).text(fold=False), "2")[1] == "Block"


@pytest.mark.parametrize(
    "change",
    [
        {"arguments": {"p": 0.5}},
        {"registered": False},
        {"parameters": (weight(8, 9),)},
        {"class_name": "torch.nn.Bilinear"},
        {"predicted": False},
        {"calls": ()},
    ],
)
def test_a_fold_hides_no_difference(change):
    maker = blocks(Maker(both=True), 3)
    position = next(i for i, node in enumerate(maker.builder.modules) if node.path == "layers.1.fc")
    node = maker.builder.modules[position]
    if "calls" in change:
        (index,) = node.calls
        maker.builder.calls[index] = dataclasses.replace(maker.builder.calls[index], module="layers.1")
        maker.builder.modules[position - 1] = dataclasses.replace(
            maker.builder.modules[position - 1], calls=(*maker.builder.modules[position - 1].calls, index)
        )
    maker.builder.modules[position] = dataclasses.replace(node, **change)
    text = maker.text()
    assert "×3" not in text
    assert row(text, "1")[1] == "Block"


@pytest.mark.parametrize(
    ("first", "last", "shown"),
    [
        ("0", "2", "0 – 2 ×3"),
        ("layer_8", "layer_10", "layer_8 – 10 ×3"),
        ("blocks[0]", "blocks[2]", "blocks[0 – 2] ×3"),
        ("left", "right", "left – right ×3"),
    ],
)
def test_the_range_of_a_fold_is_short(first: str, last: str, shown: str):
    maker = Maker()
    for name in (first, "between", last):
        maker.add(name, "torch.nn.ReLU", shape=(1, 8))
    assert row(maker.text(), shown)[1] == "ReLU"


def test_states_are_in_the_words_of_the_pictures():
    maker = Maker(both=True)
    maker.add("stem", "torch.nn.Linear", shape=(1, 4), predicted=True)
    maker.add("late", "torch.nn.Linear", shape=(1, 4), predicted=False)
    maker.add("gone", "torch.nn.Linear", calls=0, predicted=True, observed=False)
    maker.add("blocks[0]", "torch.nn.Linear", shape=(1, 4), registered=False, predicted=True)
    maker.add("idle", "torch.nn.Linear", calls=0, predicted=True)
    maker.add("again", "torch.nn.Linear", calls=0, alias_of="stem", predicted=True)
    maker.add("what", None, calls=0)
    maker.add("inner", "torch.nn.Linear", error="ValueError: no", predicted=True)
    text = maker.text()
    states = {name: row(text, name)[-1] for name in ("late", "gone", "blocks[0]", "idle", "again", "inner")}
    assert states == {
        "late": "● runtime only",
        "gone": "◌ static only",
        "blocks[0]": "▲ unregistered",
        "idle": "✕ never called",
        "again": "↺ same as stem",
        "inner": "✖ failed here ValueError",
    }
    assert row(text, "what")[1] == "?"
    assert row(text, "stem")[-1] == "1"


def test_nothing_is_never_called_where_the_run_failed():
    maker = Maker().add("after", "torch.nn.Linear", calls=0)
    maker.builder.calls[0] = dataclasses.replace(maker.builder.calls[0], error="ValueError: no")
    assert "never called" not in maker.text()


def test_a_list_of_modules_is_not_said_to_be_never_called():
    text = Maker().add("blocks", "torch.nn.modules.container.ModuleList", calls=0).text()
    assert "never called" not in text


def test_what_holds_for_a_whole_container_is_said_once():
    maker = Maker()
    maker.add("aux", "model.Aux", calls=0).add("aux.fc", "torch.nn.Linear", calls=0)
    assert maker.text().count("never called") == 1


@pytest.mark.parametrize("kind", ["ModuleList", "ModuleDict", "ParameterList"])
def test_it_is_said_once_also_through_lists_of_modules(kind: str):
    maker = Maker()
    maker.add("aux", "model.Aux", calls=0).add("aux.list", f"torch.nn.modules.container.{kind}", calls=0)
    maker.add("aux.list.0", "torch.nn.Linear", calls=0).add("aux.list.1", "torch.nn.Linear", calls=0)
    text = maker.text()
    assert text.count("never called") == 1
    assert row(text, "aux")[-1] == "✕ never called"


def test_a_list_with_uncalled_modules_in_a_called_one_names_each():
    maker = Maker().add("aux", "model.Aux").add("aux.list", "torch.nn.modules.container.ModuleList", calls=0)
    maker.add("aux.list.0", "torch.nn.Linear").add("aux.list.1", "torch.nn.Linear", calls=0)
    assert [row(maker.text(), name)[-1] for name in ("0", "1")] == ["1", "✕ never called"]


@pytest.mark.parametrize(("caller", "is_told"), [("body", True), ("", False)])
def test_a_container_of_further_names_is_called_where_a_call_may_have_gone_by_them(caller: str, is_told: bool):
    maker = Maker().add("body", "torch.nn.modules.container.Sequential").add("body.0", "torch.nn.Linear")
    maker.add("body2", "torch.nn.modules.container.Sequential", calls=0)
    maker.add("body2.0", "torch.nn.Linear", calls=0, alias_of="body.0")
    number = {call.module: call.index for call in maker.builder.calls}
    inner = number["body.0"]
    maker.builder.calls[inner] = dataclasses.replace(maker.builder.calls[inner], parent=number[caller])
    assert ("never called" in maker.text()) == is_told


def test_a_collapsed_module_says_what_is_inside_with_its_states():
    maker = blocks(Maker(), 2).add("layers.2", "model.Block", shape=(1, 8)).add("layers.2.idle", "m.Idle", calls=0)
    text = maker.text(depth=1)
    assert "layers.0" not in text
    assert row(text, "layers")[-1] == "▸ 2 × Block, Block · ✕ 1 inside"
    assert "shown to depth 1" in text


@pytest.mark.parametrize("count", [1, 30, 200])
def test_the_tree_has_at_most_forty_rows(count: int):
    maker = Maker()
    for number in range(count):
        maker.add(f"m{number}", f"model.Block{number}", shape=(1, 8))
        maker.add(f"m{number}.fc", "torch.nn.Linear", weight(number + 1, 8), shape=(1, 8))
        maker.add(f"m{number}.idle", "torch.nn.Linear", weight(number + 1, 8), calls=0)
    table = maker.text().split("\n\n")[1].splitlines()[1:]
    assert len(table) <= 40
    assert table[-1].startswith(("└─", "   "))
    if count == 200:
        assert "… 162 more" in maker.text()
        assert "the middle left out" in maker.text()


def test_lines_that_are_left_show_the_first_of_each_kind():
    maker = Maker()
    for number in range(8):
        maker.add(f"m{number}", "model.Block", shape=(1, 8))
        for inner in range(5):
            maker.add(f"m{number}.fc{inner}", f"model.L{inner}", weight(number + 1, 8), shape=(1, 8))
    text = maker.text()
    assert "shown to depth 1; below that the first of each kind" in text
    assert row(text, "fc4")[1] == "L4"
    assert text.count("fc4") == 1


def test_parameters_are_counted_once_per_storage_and_unregistered_ones_apart():
    maker = Maker(parameters=64, trainable_parameters=32, buffers=7)
    maker.add("embed", "torch.nn.Embedding", weight(8, 8), shape=(1, 8))
    maker.add("head", "torch.nn.Linear", weight(8, 8, alias_of="embed.weight"), shape=(1, 8))
    maker.add("again", "torch.nn.Embedding", weight(8, 8), calls=0, alias_of="embed")
    maker.add("hidden[0]", "torch.nn.Linear", weight(5, 5), shape=(1, 5), registered=False)
    text = maker.text()
    assert row(text, "Net")[3] == "64"
    assert "64 · trainable 32 · buffers 7" in text
    assert "and 25 in unregistered modules" in text
    assert "again is embed, head.weight is embed.weight; counted once" in text


def test_a_parameter_without_a_known_shape_is_not_counted_as_nothing():
    lazy = ParameterInfo(name="weight", shape=None, dtype=None)
    text = (
        Maker()
        .add("a", "torch.nn.Linear", weight(2, 2), shape=(1,))
        .add("b", "torch.nn.LazyLinear", lazy, shape=(1,))
        .text()
    )
    assert row(text, "Net")[3] == "≥ 4"
    assert row(text, "b")[3] == "?"
    assert "number not known" in text


def test_several_and_changing_outputs_are_said():
    maker = Maker().add("lstm", "torch.nn.LSTM", shape=(1, 2), calls=2)
    first, second = maker.builder.calls[-2:]
    maker.builder.calls[-2] = dataclasses.replace(first, outputs=(tensor(1, 2), tensor(3)))
    maker.builder.calls[-1] = dataclasses.replace(second, outputs=(tensor(1, 5, dtype="int64"),))
    assert row(maker.text(), "lstm")[2] == "1×2 +1 …"


def test_a_prediction_has_no_columns_of_a_run():
    text = Maker(traced=False).add("fc", "torch.nn.Linear", weight(2, 2)).text()
    assert text.splitlines()[0] == "Net · model.py:Net · predicted"
    assert text.splitlines()[2].split() == ["module", "class", "parameters"]
    assert "tree        2 modules" in text


def test_inputs_say_where_they_come_from():
    rules = ("3 channels of conv1", "side of 224")
    maker = Maker(
        inputs=(
            ModelInput(name="x", tensors=(tensor(1, 3, 8, 8, name="x"),), origin="inferred", rules=rules),
            ModelInput(name="batch", tensors=(tensor(2, name="batch['a']", dtype="int64"),), origin="example_inputs"),
            ModelInput(name="flag", literal="True"),
        ),
        mode="eval",
        device="cpu",
    )
    text = maker.text()
    assert "x = 1×3×8×8 float32, inferred (3 channels of conv1; side of 224)" in text
    assert "batch = batch['a'] 2 int64, from example_inputs" in text
    assert "flag = True" in text
    assert "traced (eval, cpu)" in text


def test_findings_of_one_line_in_many_modules_are_one():
    maker = Maker()
    maker.add("b", "model.B")
    for number in range(7):
        maker.add(f"b.{number}", "model.B")
        kept = Finding(code="MG101", message="kept in a list", file="m.py", line=3, module=f"b.{number}", attribute="a")
        maker.builder.findings.append(kept)
    maker.builder.findings.append(dataclasses.replace(kept, module="b.0", attribute="other"))
    lines = maker.text().partition("8 findings")[2].split("\n  MG101 ")[1:]
    assert [" ".join(line.split()) for line in lines] == [
        "m.py:3 b.0: kept in a list; so in 6 more: b.1, b.2, b.3, b.4, ...",
        "m.py:3 b.0: kept in a list",
    ]


def test_findings_and_problems_stand_below_with_their_place():
    maker = Maker()
    maker.builder.findings.append(Finding(code="MG101", message="kept in a list", file="model.py", line=12, module=""))
    maker.builder.problems.append(Problem(stage="trace", message="no\nmore", module="", file="net.py", line=3))
    maker.builder.gaps += [Gap(kind="item", call=0), Gap(kind="item", call=0), Gap(kind="bool", call=0)]
    text = maker.text()
    assert "1 finding\n  MG101 model.py:12: kept in a list" in text
    assert "1 problem\n  trace net.py:3: no more" in text
    assert text.splitlines()[1] == "partial: 1 problem, see below"
    assert "bool 1×, item 2×" in text


@pytest.fixture
def long_names():
    maker = Maker(target="a/very/long/path/to/some/model.py:AVeryLongClassNameIndeed(depth=4, width=96, name='x')")
    path = "a_module_with_a_name_that_nobody_would_want_to_type"
    maker.add(path, "model.ClassOfAModuleWithALongName", weight(123, 456), shape=(1, 123, 456))
    maker.add(f"{path}.{path}", "model.ClassOfAModuleWithALongName", shape=(1, 2), calls=0)
    maker.builder.problems.append(Problem(stage="trace", message="word " * 60, module=path))
    return maker


@pytest.mark.parametrize("width", [70, 80, 100, 160])
@pytest.mark.parametrize("unicode", [True, False])
def test_every_line_fits_the_width(long_names, width: int, unicode: bool):
    lines = long_names.text(width=width, unicode=unicode).splitlines()
    assert max(map(text_width, lines)) <= width
    assert any("56,088" in line for line in lines)
    if width < 160:
        assert any(("…" if unicode else "~") in line for line in lines)


def test_ascii_is_ascii_and_still_aligned():
    maker = blocks(Maker(), 3).add("größe", "model.Größe", shape=(1, 4)).add("idle", "m.Idle", calls=0)
    text = maker.text(unicode=False)
    assert text.isascii()
    assert "gr\\xf6\\xdfe" in text
    assert "x3" in text
    table = text.split("\n\n")[1].splitlines()
    assert len({len(line) for line in table if line.endswith(" 1")}) == 1


def test_wide_characters_take_two_columns():
    maker = (
        Maker()
        .add("层", "torch.nn.Linear", weight(2, 2), shape=(1, 4))
        .add("ab", "torch.nn.Linear", weight(2, 2), shape=(1, 4))
    )
    lines = [line for line in maker.text().splitlines() if "Linear" in line]
    assert len({text_width(line[: line.index("Linear")]) for line in lines}) == 1


def test_nothing_from_the_model_reaches_the_terminal_as_a_command():
    maker = Maker(name="Net\x1b[2J").add("a\nb\x1b[31m", "m.C", shape=(1,))
    maker.builder.problems.append(Problem(stage="trace", message="bell \x07", module=None))
    text = maker.text()
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "a\\nb\\x1b[31m" in text


def test_colour_changes_nothing_but_colour():
    maker = blocks(Maker(), 2).add("idle", "m.Idle", calls=0)
    colored = maker.text(color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == maker.text()


def test_a_tree_thousands_deep_is_no_trouble():
    maker = Maker(traced=False)
    path = "a"
    for _ in range(3000):
        maker.add(path, "m.Wrap")
        path += ".a"
    text = maker.text()
    assert len(text.split("\n\n")[1].splitlines()) <= 41


@pytest.mark.parametrize("change", ["problem", "finding", "hook", "buffer", "error"])
def test_a_fold_hides_nothing_that_is_said_of_a_block(change):
    maker = blocks(Maker(), 4)
    position = next(i for i, node in enumerate(maker.builder.modules) if node.path == "layers.2")
    node = maker.builder.modules[position]
    if change == "problem":
        maker.builder.problems.append(Problem(stage="trace", message="odd", module="layers.2"))
    elif change == "finding":
        maker.builder.findings.append(Finding(code="MG101", message="odd", module="layers.2"))
    elif change == "hook":
        node = dataclasses.replace(node, hooks=(HookInfo(kind="forward", name="mypkg.log"),))
    elif change == "buffer":
        node = dataclasses.replace(node, buffers=(BufferInfo(name="mean", shape=(3,), dtype="float32"),))
    else:
        (index,) = node.calls
        maker.builder.calls[index] = dataclasses.replace(maker.builder.calls[index], error="ValueError: no")
    maker.builder.modules[position] = node
    assert "×4" in blocks(Maker(), 4).text()
    assert "×4" not in maker.text()


def test_parameters_of_a_place_left_open_are_not_counted_as_none():
    text = Maker(traced=False).add("fc", "torch.nn.Linear", weight(3, 3)).add("rest.?", None).text()
    assert row(text, "Net")[-1] == "≥ 9"


@pytest.mark.parametrize("width", [42, 50, 60])
def test_a_narrow_terminal_loses_columns_and_no_line_is_too_long(long_names, width: int):
    text = blocks(Maker(), 2).add("idle", "m.Idle", calls=0).text(width=width)
    assert max(map(text_width, text.splitlines())) <= width
    assert "128" in text
    assert "✕" in text
    assert max(map(text_width, long_names.text(width=width).splitlines())) <= width


def test_a_module_whose_weights_are_used_without_a_call_is_not_never_called():
    maker = Maker().add("proj", "torch.nn.Linear", weight(2, 2), calls=0).add("idle", "m.Idle", calls=0)
    maker.builder.operations.append(Operation(id="op:0", name="torch.nn.functional.linear", call=0))
    maker.builder.edges.append(Edge(producer="param:proj.weight", consumer="op:0", tensor=tensor(2, 2)))
    text = maker.text()
    assert row(text, "proj")[-1] == "→ weights used"
    assert row(text, "idle")[-1] == "✕ never called"


def test_what_a_layer_of_torch_keeps_for_its_parameters_is_not_never_called():
    attention = "torch.nn.modules.activation.MultiheadAttention"
    for class_name, said in ((attention, False), ("model.Attention", True)):
        maker = Maker().add("att", class_name, shape=(1, 4)).add("att.out_proj", "torch.nn.Linear", calls=0)
        assert ("never called" in maker.text()) is said


def columned():
    maker = Maker().add("fc", "torch.nn.Linear", weight(4, 10), shape=(1, 4), arguments={"p": 0.5})
    maker.add("net", "model.Block", shape=(1, 4), source=SourceLocation(file="model.py", line=7))
    maker.add("net.a", "torch.nn.Linear", weight(4, 4), shape=(1, 4), arguments={"in_features": 4, "out_features": 4})
    return maker.add("net.b", "torch.nn.modules.dropout.Dropout", shape=(1, 4), arguments={"p": 0.1})


def test_columns_are_those_that_were_asked_for_in_that_order_however_narrow_it_is():
    text = columned().text(columns=("source", "arguments", "output"), width=42)
    assert row(text, "module") == ["module", "source", "arguments", "output"]
    assert row(text, "net") == ["net", "model.py:7", "1×4"]
    assert row(text, "a") == ["a", "4 → 4", "1×4"]
    assert row(text, "b") == ["b", "p 0.1", "1×4"]


def test_a_column_that_was_asked_for_is_there_also_without_anything_in_it():
    assert row(columned().text(columns=("state",)), "module") == ["module", "state"]
    assert "state" not in row(columned().text(), "module")


@pytest.mark.parametrize(("name", "hint"), [("inptu", "did you mean 'input'?"), ("zzz", "columns are class, output")])
def test_a_column_that_does_not_exist_is_an_error_that_names_those_that_do(name, hint):
    with pytest.raises(ConfigError, match=f"unknown column '{name}'") as caught:
        columned().text(columns=(name,))
    assert hint in caught.value.hint


def test_what_differs_in_its_input_alone_is_not_folded():
    def text(*sizes):
        maker = Maker().add("pools", "torch.nn.modules.container.ModuleList")
        for number, size in enumerate(sizes):
            maker.add(f"pools.{number}", "torch.nn.AdaptiveAvgPool1d", shape=(1, 2))
            maker.builder.calls[-1] = dataclasses.replace(maker.builder.calls[-1], inputs=(tensor(1, size),))
        return maker.text(columns=("input",))

    assert row(text(8, 8, 8), "0 – 2 ×3") == ["0 – 2 ×3", "1×8"]
    assert [row(text(8, 16, 8), name) for name in "012"] == [["0", "1×8"], ["1", "1×16"], ["2", "1×8"]]


def test_a_focus_is_the_tree_from_that_module_on_and_says_so():
    text = columned().text(focus="net")
    assert "the tree from net; below it the whole model" in " ".join(text.split())
    assert row(text, "net")[:3] == ["net", "Block", "1×4"]
    assert row(text, "a")[1] == "Linear"
    assert not re.search(r"^[├└]─ fc", text, re.MULTILINE)
    with pytest.raises(ExportError, match="no module 'nett'"):
        columned().text(focus="nett")


@pytest.mark.parametrize("width", range(1, 30))
@pytest.mark.parametrize("text", ["Größe", "层一二三", "a\x07b", "é" * 9])
@pytest.mark.parametrize("at_end", [False, True])
def test_an_escape_and_a_letter_with_its_accent_are_not_cut_in_two(text, width, at_end):
    pen = table.Pen(unicode=False)
    whole = pen.plain(text)
    cut = table.shortened(whole, width, pen, at_end=at_end)
    assert table.text_width(cut) <= max(width, 1)
    rest = re.sub(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}", "", cut)
    assert "\\" not in rest
    assert set(rest) <= set(re.sub(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}", "", whole)) | {"~"}


def test_of_several_states_the_first_can_be_read_where_they_are_cut():
    column = table.Column("state", shortest=10, at_end=True)
    lines = table.table([column], [[table.Cell("✖ failed here RuntimeError ▲ unregistered")]], 14, table.Pen())
    assert lines[1] == "✖ failed here…"


def test_sizes_that_only_the_user_knows_are_asked_for():
    def line(shape: tuple[int | str, ...] | None) -> str:
        given = TensorInfo(name="x", shape=shape, dtype="float32")
        text = Maker(inputs=(ModelInput(name="x", tensors=(given,), origin="symbols"),), traced=False).text()
        return next(each for each in text.splitlines() if each.startswith("inputs"))

    assert line(("batch", 3)).endswith("x = batch×3 float32")
    assert line(None).endswith("x = ? float32; --input gives its sizes")


@pytest.mark.parametrize(("traced", "said"), [(True, "x = no tensor"), (False, "x is not known; --input gives it")])
def test_only_of_a_run_is_it_known_that_an_input_was_no_tensor(traced: bool, said: str):
    text = Maker(inputs=(ModelInput(name="x", tensors=(), origin="given"),), traced=traced).text()
    assert next(each for each in text.splitlines() if each.startswith("inputs")).endswith(said)


@pytest.mark.parametrize(
    ("shape", "width", "shown"),
    [
        ("batch×16×((h+1)//2-1)×((w+1)//2-1)", 24, "batch×16×(h…)×(w…)"),
        ("batch×16×((h+1)//2-1)×((w+1)//2-1)", 30, "batch×16×(h…)×((w+1)//2-1)"),
        ("batch×16×((h+1)//2-1)×((w+1)//2-1)", 40, "batch×16×((h+1)//2-1)×((w+1)//2-1)"),
        ("((h//2)*(w//2)*batch//169)×10", 24, "(h, w, batch…)×10"),
    ],
)
def test_a_shape_is_cut_by_what_its_longest_sizes_are_made_of(shape, width, shown):
    column = Column("output", shortest=width, sizes=True)
    assert table.table([column], [[Cell(shape)]], width, Pen(unicode=True))[1] == shown
