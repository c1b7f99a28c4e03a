"""Graph -> Picture: cards, frames, folds, states, tags, labels, cuts; without drawing anything."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

import modgraph
from modgraph.export.look.arguments import LONGEST_ARGUMENTS, argument_text
from modgraph.export.look.kinds import class_kind, operation_kind
from modgraph.export.look.labels import clean, count_text, cut, member_range, number_text, shape_text
from modgraph.export.look.metrics import text_width
from modgraph.export.look.options import PictureOptions
from modgraph.export.look.parts import Card, Frame, Join, Pill, Tag
from modgraph.export.look.widths import card_width, mark_width, title_width
from modgraph.export.picture.choosing import FEW_CARDS, MOST_CARDS, MOST_EDGES, count_cards, picture_of
from modgraph.graph.model import CheckpointComparison, ModuleNode, ParameterInfo
from tests.export.items import everything, of_kind


def rows(picture):
    return [row for card in of_kind(picture, Card) for row in card.rows]


def card_with(picture, path):
    return next(card for card in of_kind(picture, Card) if any(row.path == path for row in card.rows))


def test_a_run_of_leaves_shares_a_card_a_join_is_a_circle_and_a_fold_a_blue_frame(nets):
    picture = picture_of(nets["residual"](3).graph())
    assert [frame.title for frame in of_kind(picture, Frame)] == ["blocks", "blocks.0 – 2"]
    assert [frame.copies for frame in of_kind(picture, Frame)] == [1, 3]
    assert [[row.path for row in card.rows] for card in of_kind(picture, Card)] == [
        ["stem"],
        ["fc1", "act", "fc2"],
        ["head"],
    ]
    assert [join.sign for join in of_kind(picture, Join)] == ["+"]
    assert [pill.title for pill in of_kind(picture, Pill)] == ["input", "output"]
    assert picture.legend.repeated


def test_the_arrows_of_a_fold_are_those_into_the_first_and_out_of_the_last_block(nets):
    picture = picture_of(nets["residual"](3).graph())
    pairs = {(arrow.tail, arrow.head) for arrow in picture.arrows}
    assert pairs == {
        ("input:x", "stem"),
        ("stem", "blocks.0.fc1"),
        ("stem", "blocks.0.add"),
        ("blocks.0.fc1", "blocks.0.add"),
        ("blocks.0.add", "head"),
        ("head", "output:0"),
    }


def test_the_main_path_runs_through_the_rows_and_skips_are_not_on_it(nets):
    picture = picture_of(nets["residual"](2).graph())
    assert {(a.tail, a.head) for a in picture.arrows if not a.main} == {("stem", "blocks.0.add")}


def test_without_folding_every_block_is_drawn(nets):
    picture = picture_of(nets["residual"](3).graph(), PictureOptions(fold=False))
    assert [frame.title for frame in of_kind(picture, Frame)] == ["blocks", "blocks.0", "blocks.1", "blocks.2"]
    assert not picture.legend.repeated


def test_a_block_that_differs_is_drawn_apart(nets):
    picture = picture_of(nets["residual"](5, broken=2).graph())
    assert [frame.title for frame in of_kind(picture, Frame)] == ["blocks", "blocks.0 – 1", "blocks.2", "blocks.3 – 4"]


def test_a_fork_ends_a_run_and_a_ninth_row_begins_the_next_card(sketch):
    net = sketch()
    net.modules(*[f"fc{number} Linear" for number in range(12)])
    for number in range(12):
        net.nodes[f"fc{number}"] = dataclasses.replace(
            net.nodes[f"fc{number}"], parameters=(ParameterInfo(name="weight", shape=(4 + number, 4), dtype="float32"),)
        )
    x = net.chain(" ".join(f"fc{number}" for number in range(10)), "input:x")
    net.output(net.op("torch.mul", net.call("fc10", x), net.call("fc11", x)))
    sizes = [len(card.rows) for card in of_kind(picture_of(net.graph()), Card)]
    assert sizes == [8, 2, 1, 1]


def test_views_are_left_out_and_their_data_goes_on(sketch):
    net = sketch()
    net.modules("a Linear *", "b LayerNorm")
    x = net.call("a", "input:x", shape=(1, 4, 4))
    net.output(net.call("b", net.op("torch.Tensor.view", x, shape=(1, 16))))
    assert [row.title for row in rows(picture_of(net.graph()))] == ["Linear", "LayerNorm"]
    shown = rows(picture_of(net.graph(), PictureOptions(views=True)))
    assert [row.title for row in shown] == ["Linear", "view", "LayerNorm"]


def test_an_indexing_by_another_tensor_is_no_view():
    import torch

    class Gathers(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Linear(3, 5)

        def forward(self, x, index, last):
            y = self.embed(x)
            return y[:, 1:][index].relu() * y[last, 1:] + y[0, 1:]

    graph = modgraph.trace(Gathers(), (torch.randn(4, 3), torch.tensor([2, 0]), torch.tensor(3)))
    assert sorted(row.title for row in rows(picture_of(graph))) == ["Linear", "getitem", "relu"]


def test_a_buffer_of_which_a_part_is_used_has_its_own_shape_and_what_is_not_registered_is_a_tensor():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mask", torch.ones(64, 48))
            self.unregistered = [torch.nn.Parameter(torch.ones(4))]
            self.fc = torch.nn.Linear(4, 4)

        def forward(self, x):
            return (self.fc(x) + self.unregistered[0]) @ self.mask[:4, :6]

    drawn = rows(picture_of(modgraph.trace(Net(), torch.zeros(2, 4))))
    assert [(row.title, row.detail) for row in drawn if row.path == "mask"] == [("buffer", "64×48")]
    assert [(row.title, row.detail) for row in drawn if not row.path] == [("tensor", "4")]  # it need not be a constant


def test_an_operation_whose_result_is_only_looked_at_is_not_drawn(sketch):
    net = sketch()
    net.modules("a Linear *")
    x = net.call("a", "input:x")
    net.op("torch.Tensor.any", net.op("torch.eq", x))
    net.output(x)
    assert [row.title for row in rows(picture_of(net.graph()))] == ["Linear"]


def test_an_add_of_a_number_is_a_row_since_nothing_joins(sketch):
    net = sketch()
    net.modules("a Linear *")
    net.output(net.op("torch.Tensor.__iadd__", net.call("a", "input:x")))
    picture = picture_of(net.graph())
    assert [row.title for row in rows(picture)] == ["Linear", "add"]
    assert of_kind(picture, Join) == []


def test_a_plain_container_that_is_one_card_has_no_frame_but_a_named_class_has(sketch):
    net = sketch()
    net.modules("net Sequential", "net.0 Linear *", "net.1 ReLU")
    net.module("mlp", "model.Mlp")
    net.modules("mlp.fc Linear *")
    net.enter("net")
    x = net.chain("net.0 net.1", "input:x")
    net.leave()
    net.enter("mlp")
    net.output(net.call("mlp.fc", x))
    net.leave()
    picture = picture_of(net.graph())
    assert [frame.title for frame in of_kind(picture, Frame)] == ["mlp"]
    assert [row.path for row in rows(picture)] == ["net.0", "net.1", "fc"]


def test_a_container_in_a_container_keeps_one_frame_with_the_longer_path(sketch):
    net = sketch()
    for path in ("outer", "outer.inner"):
        net.module(path, "model.Part")
    net.modules("outer.inner.a Linear *", "outer.inner.b Linear *")
    net.enter("outer")
    net.enter("outer.inner")
    x = net.op("torch.mul", net.call("outer.inner.a", "input:x"), net.call("outer.inner.b", "input:x"))
    net.output(x)
    (frame,) = of_kind(picture_of(net.graph()), Frame)
    assert frame.title == "outer.inner"
    assert frame.level == 0


def test_every_state_is_said_once_and_the_first_sets_the_frame(nets):
    picture = picture_of(nets["states"]().graph())
    states = {card.rows[0].path: card.state for card in of_kind(picture, Card)}
    assert states["1"] == "static only"
    assert states["2"] == "never called"
    assert states["head"] == "runtime only"
    assert states["layers[0]"] == "unregistered"
    assert states["unsure"] == "unknown"
    assert states["again"] is None
    assert [mark.state for mark in card_with(picture, "again").rows[0].marks] == ["shared"]
    said = [mark.note for row in rows(picture) for mark in row.marks]
    assert "kept in a plain list or tuple" in said
    assert set(picture.legend.states) == {"unregistered", "runtime only", "static only", "never called", "unknown"}
    assert [arrow.kind for arrow in picture.arrows if arrow.head == "head"] == ["runtime"]


def test_modules_that_no_data_reaches_are_placed_by_arrows_that_are_not_drawn(nets):
    picture = picture_of(nets["states"]().graph())
    drawn = {end for arrow in picture.arrows if arrow.kind != "order" for end in (arrow.tail, arrow.head)}
    placed = {arrow.head for arrow in picture.arrows if arrow.kind == "order"}
    nodes = {item.id for item in everything(picture.items) if not isinstance(item, Frame)}
    assert nodes == drawn | placed


def test_when_only_one_half_ran_its_state_is_ordinary_and_the_title_says_which(nets, sketch):
    expected = picture_of(nets["predicted"]().graph())
    assert expected.subtitle.endswith("predicted")
    assert expected.legend.states == ("unknown",)
    net = sketch(predicted=None)
    net.modules("a Linear *")
    net.output(net.call("a", "input:x"))
    traced = picture_of(net.graph())
    assert traced.subtitle.endswith("traced")
    assert traced.legend.states == ()


def test_how_a_checkpoint_fits_stands_below_the_title(nets):
    compared = CheckpointComparison(file="net.pt", matching=3, missing=("a.weight",))
    graph = dataclasses.replace(nets["predicted"]().graph(), checkpoint=compared)
    assert picture_of(graph).notes[-1] == "checkpoint net.pt · 3 of 4 keys match · 1 missing"


def test_a_layer_whose_parameters_are_all_of_another_says_so(sketch):
    net = sketch(ran=False)
    net.module("a", "Linear", (4, 4))
    tied = ParameterInfo(name="weight", shape=(4, 4), dtype="float32", alias_of="a.weight")
    net.module("b", "Linear", parameters=(tied,))
    assert [row.count for row in rows(picture_of(net.graph()))] == ["16", "tied"]
    assert count_text([tied, dataclasses.replace(tied, alias_of=None)]) == "16"


@pytest.mark.parametrize(
    ("around", "is_chain"),
    [("Sequential", True), ("ModuleList", False), ("model.Block", False), ("model.Sequential", False)],
)
def test_modules_of_which_no_dataflow_is_known_share_a_card_in_a_chain_alone(sketch, around: str, is_chain: bool):
    net = sketch("Net", ran=False)
    net.modules(f"body {around}", "body.0 Linear *", "body.1 ReLU", "head Linear *", "loss LayerNorm *")
    cards = [[row.path for row in card.rows] for card in of_kind(picture_of(net.graph()), Card)]
    assert [each for each in cards if each[0] in ("head", "loss")] == [["head"], ["loss"]]
    assert any(len(each) == 2 for each in cards) == is_chain


def test_a_tree_without_a_run_has_no_invented_arrows(nets):
    picture = picture_of(nets["predicted"]().graph())
    assert {arrow.kind for arrow in picture.arrows} == {"order"}
    assert [frame.title for frame in of_kind(picture, Frame)] == ["blocks", "blocks.0 – 2", "heads"]
    assert [row.path for row in card_with(picture, "stem.0").rows] == ["stem.0", "stem.1", "stem.2"]


def test_the_call_that_failed_is_marked_and_those_it_passed_through_are_not(sketch):
    net = sketch()
    net.module("block", "model.Block")
    net.modules("block.a Linear *", "block.b ReLU", "later Linear *")
    net.builder.calls[0] = dataclasses.replace(net.builder.calls[0], error="RuntimeError: no")
    net.enter("block", error="RuntimeError: no")
    net.call("block.b", net.call("block.a", "input:x"), error="RuntimeError: no")
    net.problem("RuntimeError: no", "block.b")
    picture = picture_of(net.graph())
    assert card_with(picture, "b").state == "failed"
    assert [frame.state for frame in of_kind(picture, Frame)] == [None]
    assert card_with(picture, "later").rows[0].marks == (), "whether it is ever called, a run that failed does not say"
    assert picture.notes == ("partial: RuntimeError: no",)


def test_a_second_call_of_something_with_weights_is_said_but_not_that_of_a_relu(sketch):
    net = sketch()
    net.modules("fc Linear *", "act ReLU")
    net.output(net.chain("fc act act", net.op("torch.neg", net.chain("fc act", "input:x"))))
    said = [(row.path, mark.state, mark.note) for row in rows(picture_of(net.graph())) for mark in row.marks]
    assert said == [("fc", "again", "2 of 2")]


def test_a_source_used_in_many_containers_is_named_by_tags(nets):
    picture = picture_of(nets["masked"](6).graph())
    assert [tag.text for tag in of_kind(picture, Tag)] == ["full"] * 6
    assert all(arrow.tail != "full" for arrow in picture.arrows)
    few = picture_of(nets["masked"](4).graph())
    assert of_kind(few, Tag) == []
    assert sum(arrow.tail == "full" for arrow in few.arrows) == 4


def test_a_shape_is_written_where_it_changes_without_the_batch(nets):
    picture = picture_of(nets["states"]().graph())
    labels = {(arrow.tail, arrow.head): arrow.label for arrow in picture.arrows if arrow.label}
    assert labels == {
        ("conv", "blocks.0"): "16×32×32",
        ("blocks.0", "head"): "16×32×32",
        ("head", "layers[0]"): "16",
    }


def unlike_blocks(sketch, count, width=2):
    """Blocks of `width` parallel layers, all of different sizes."""
    net = sketch("Wide")
    net.modules("blocks ModuleList")
    x = "input:x"
    for number in range(count):
        net.module(f"blocks.{number}", "model.Block")
        net.enter(f"blocks.{number}")
        ends = []
        for branch in range(width):
            net.module(f"blocks.{number}.fc{branch}", "Linear", (5 + number, 4 + branch))
            ends.append(net.call(f"blocks.{number}.fc{branch}", x))
        x = net.op("torch.cat", *ends)
        net.leave()
    net.output(x)
    return net.graph()


def test_the_automatic_depth_keeps_a_picture_small_and_says_what_was_cut(sketch):
    picture = picture_of(unlike_blocks(sketch, 90))
    assert count_cards(picture.items) <= MOST_CARDS
    assert len(picture.arrows) <= MOST_EDGES
    assert picture.notes
    assert picture.legend.collapsed or count_cards(picture.items) > FEW_CARDS
    whole = picture_of(unlike_blocks(sketch, 90), PictureOptions(depth=9))
    assert count_cards(whole.items) == 180
    assert whole.notes == ()


def test_a_depth_of_zero_shows_closed_rows_with_what_is_inside(nets):
    picture = picture_of(nets["residual"](3).graph(), PictureOptions(depth=0))
    (row,) = [row for row in rows(picture) if row.collapsed]
    assert (row.title, row.detail, row.path, row.count) == ("▸ Sequential", "3 × Block", "blocks", "96")
    assert picture.notes == ("drawn to depth 0 of 2",)


def test_a_closed_container_counts_what_it_hides(sketch):
    net = sketch()
    net.module("part", "model.Part")
    net.modules("part.a Linear *", "part.unused Linear *")
    net.module("part.extra[0]", "Linear", (2, 2), registered=False)
    net.enter("part")
    net.output(net.call("part.extra[0]", net.call("part.a", "input:x")))
    (row,) = rows(picture_of(net.graph(), PictureOptions(depth=0)))
    assert [mark.note for mark in row.marks] == ["▲ 1 · ✕ 1"]


def test_of_containers_alike_but_for_sizes_one_is_open_and_a_problem_opens_another(sketch):
    graph = unlike_blocks(sketch, 8, width=4)
    titles = [frame.title for frame in of_kind(picture_of(graph), Frame)]
    assert titles == ["blocks", "blocks.0"]
    modules = [
        dataclasses.replace(node, predicted=False) if node.path == "blocks.5.fc2" else node for node in graph.modules
    ]
    marked = picture_of(dataclasses.replace(graph, modules=tuple(modules)))
    assert [frame.title for frame in of_kind(marked, Frame)] == ["blocks", "blocks.0", "blocks.5"]


def test_long_rows_of_containers_alike_but_for_sizes_are_one_row(sketch):
    picture = picture_of(unlike_blocks(sketch, 40, width=4))
    (row,) = [row for row in rows(picture) if row.collapsed]
    assert (row.detail, row.path, row.copies) == ("39 like those above", "1 – 39", 1)


def test_ids_are_unique_and_every_arrow_ends_at_one(nets, sketch):
    for graph in (*(net().graph() for net in nets.values()), unlike_blocks(sketch, 20)):
        picture = picture_of(graph)
        ids = [item.id for item in everything(picture.items)] + [arrow.id for arrow in picture.arrows]
        assert len(ids) == len(set(ids))
        assert {end for arrow in picture.arrows for end in (arrow.tail, arrow.head)} <= set(ids)


def test_the_badge_of_a_fold_that_begins_with_a_frame_stands_where_no_edge_enters(sketch):
    net = sketch()
    net.modules("stem Linear", "blocks Sequential *", *(f"blocks.{n} my.Block *" for n in range(3)))
    net.modules(*(f"blocks.{n}.{part}" for n in range(3) for part in ("arm my.Arm *", "arm.a Linear", "arm.b Linear")))
    net.modules(*(f"blocks.{n}.act ReLU" for n in range(3)))
    at = net.call("stem", "input:x")
    for number in range(3):
        arm = net.op("torch.add", net.chain(f"blocks.{number}.arm.a blocks.{number}.arm.b", at), at)
        at = net.call(f"blocks.{number}.act", arm)
    net.output(at)
    folds = [frame for frame in of_kind(picture_of(net.graph()), Frame) if frame.copies > 1]
    assert [(fold.copies, fold.gap) for fold in folds if isinstance(fold.items[0], Frame)] == [(3, 0)]


def test_a_first_card_leaves_room_for_the_title_and_for_its_remarks(nets):
    picture = picture_of(nets["residual"](3).graph())
    fold = next(frame for frame in of_kind(picture, Frame) if frame.copies > 1)
    assert card_width(fold.items[0]) / 2 > title_width(fold)
    for card in of_kind(picture_of(nets["states"]().graph()), Card):
        assert all(card_width(card) >= mark_width(mark) for row in card.rows for mark in row.marks)


@pytest.mark.parametrize(
    ("class_name", "arguments", "expected"),
    [
        ("conv.Conv2d", {"kernel_size": 7, "stride": 2, "out_channels": 64}, "7×7 /2 → 64"),
        ("conv.Conv2d", {"kernel_size": [3, 5], "stride": [1, 1], "out_channels": 8}, "3×5 → 8"),
        ("conv.Conv2d", {"kernel_size": 3, "in_channels": 8, "out_channels": 8, "groups": 8}, "3×3 → 8 · depthwise"),
        ("conv.Conv1d", {"kernel_size": [7], "stride": [2], "out_channels": 64}, "k7 /2 → 64"),
        ("pooling.MaxPool1d", {"kernel_size": 3, "stride": 3}, "k3"),
        ("conv.ConvTranspose2d", {"kernel_size": 2, "stride": 2, "out_channels": 4}, "2×2 ↑2 → 4"),
        ("linear.Linear", {"in_features": 512, "out_features": 1000}, "512 → 1000"),
        ("activation.MultiheadAttention", {"embed_dim": 512, "num_heads": 8}, "8 heads · 512"),
        ("dropout.Dropout", {"p": 0.1}, "p 0.1"),
        ("dropout.Dropout", {"p": 0.5}, ""),
        ("pooling.MaxPool2d", {"kernel_size": 3, "stride": 2}, "3×3 /2"),
        ("pooling.MaxPool2d", {"kernel_size": 2, "stride": 2}, "2×2"),
        ("pooling.AdaptiveAvgPool2d", {"output_size": [1, 1]}, "1×1"),
        ("activation.ReLU", {"inplace": True}, ""),
        ("flatten.Flatten", {"start_dim": 2}, "dim 2"),
        ("upsampling.Upsample", {"scale_factor": 2.0}, "×2"),
        ("rnn.LSTM", {"input_size": 64, "hidden_size": 128, "num_layers": 2}, "64 → 128 · 2 layers"),
    ],
)
def test_arguments_are_short_and_leave_out_defaults(class_name, arguments, expected):
    node = ModuleNode(path="x", class_name=f"torch.nn.modules.{class_name}", arguments=arguments)
    assert argument_text(node) == expected


def test_arguments_that_are_not_known_are_read_off_the_parameters():
    weight = ParameterInfo(name="weight", shape=(64, 3, 7, 7), dtype="float32")
    node = ModuleNode(path="x", class_name="torch.nn.modules.conv.Conv2d", parameters=(weight,))
    assert argument_text(node) == "7×7 → 64"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
argument_names = st.sampled_from(["kernel_size", "stride", "out_channels", "groups", "p", "size", "num_heads", "dim"])


@given(
    st.sampled_from(["conv.Conv1d", "linear.Linear", "pooling.MaxPool3d", "rnn.GRU", "dropout.Dropout", "my.Own"]),
    st.dictionaries(argument_names, json_values),
)
def test_no_argument_breaks_the_text(class_name, arguments):
    node = ModuleNode(path="x", class_name=f"torch.nn.modules.{class_name}", arguments=arguments)
    assert len(argument_text(node)) <= LONGEST_ARGUMENTS


@given(st.text())
def test_cleaned_text_is_one_line_that_xml_and_terminals_take(text):
    cleaned = clean(text)
    assert not set(cleaned) & set("\n\r\t\x00\x1b\u202e\u2028")
    cleaned.encode("utf-8")
    assert len(cut(text)) <= 28


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1.00 K"), (9408, "9.41 K"), (147584, "148 K"), (999_500, "1.00 M"),
     (2_099_712, "2.10 M"), (7_000_000_000, "7.00 B"), (12_345_678_901_234_567, "12346 T")],
)  # fmt: skip
def test_numbers_have_three_significant_digits(number, text):
    assert number_text(number) == text


def test_tied_parameters_count_once_and_unknown_ones_are_said():
    known = ParameterInfo(name="a", shape=(10, 10), dtype="float32")
    tied = ParameterInfo(name="b", shape=(10, 10), dtype="float32", alias_of="x.a")
    lazy = ParameterInfo(name="c", shape=None, dtype=None)
    assert count_text([known, tied]) == "100"
    assert count_text([known, lazy]) == "≥ 100"
    assert count_text([]) == ""


def test_shapes_keep_symbols_and_drop_only_the_batch():
    assert shape_text((1, 64, 56, 56), 1) == "64×56×56"
    assert shape_text(("B", "T", 768), "B") == "T×768"
    assert shape_text((7, 2, 5), 2) == "7×2×5"
    assert shape_text((4,), 4) == "4"
    assert shape_text((), 4) == "scalar"
    assert shape_text((None, 3), None) == "?×3"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Conv2d", "weights"), ("Linear", "weights"), ("LSTM", "weights"), ("BatchNorm2d", "norm"), ("RMSNorm", "norm"),
     ("GELU", "activation"), ("Dropout", "activation"), ("Softmax", "activation"), ("AdaptiveAvgPool2d", "shape"),
     ("Flatten", "shape"), ("Upsample", "shape"), ("MultiheadAttention", "attention"), ("MyBlock", "other")],
)  # fmt: skip
def test_kinds_of_classes(name, kind):
    assert class_kind(name) == kind


def test_kinds_of_operations():
    words = ("matmul", "layer_norm", "relu", "max_pool2d", "conv2d", "flatten", "topk")
    kinds = ["attention", "norm", "activation", "shape", "weights", "shape", "other"]
    assert [operation_kind(word) for word in words] == kinds


def test_bold_text_is_wider_and_width_grows_with_size():
    assert text_width("Conv2d", 12, bold=True) > text_width("Conv2d", 12) > text_width("Conv2d", 10)
    assert text_width("conv1", 10, mono=True) == pytest.approx(30)


def test_recurrent_layers_say_their_sizes_where_only_the_parameters_know_them():
    """torch's LSTM takes `*args`: sizes given by position are in no argument. Shapes: torch.nn.LSTM's documentation."""
    shapes = {"weight_ih_l0": (192, 32), "weight_hh_l0": (192, 48), "weight_ih_l1": (192, 96)}
    held = {name + end: shape for name, shape in shapes.items() for end in ("", "_reverse")}
    node = ModuleNode(
        path="lstm",
        class_name="torch.nn.modules.rnn.LSTM",
        parameters=tuple(ParameterInfo(name=name, shape=shape, dtype="float32") for name, shape in held.items()),
    )
    assert argument_text(node) == "32 → 48 · 2 layers · bidirectional"
    cell = (ParameterInfo(name="weight_ih", shape=(30, 7), dtype="float32"),)
    assert argument_text(ModuleNode(path="c", class_name="torch.nn.modules.rnn.GRUCell", parameters=cell)) == "7 → 10"


@pytest.mark.parametrize(
    ("first", "last", "shown"),
    [
        ("layer1.0", "layer1.11", "layer1.0 – 11"),
        ("layer_8", "layer_10", "layer_8 – 10"),
        ("blocks[0]", "blocks[2]", "blocks[0 – 2]"),
        ("a.left", "a.right", "a.left – right"),
        ("a.0.fc", "a.3.fc", "a.0.fc – a.3.fc"),
        ("same", "same", "same"),
    ],
)
def test_the_range_of_a_fold(first, last, shown):
    assert member_range(first, last) == shown


@pytest.mark.parametrize(("between", "cards"), [(1, 1), (20, 2)])
def test_a_parameter_is_drawn_once_for_users_near_each_other(sketch, between, cards):
    net = sketch()
    scale = ParameterInfo(name="scale", shape=(8,), dtype="float32")
    net.nodes[""] = dataclasses.replace(net.nodes[""], parameters=(scale,))
    net.modules("a Linear *", *(f"b{number} {'LayerNorm' if number % 2 else 'GELU'}" for number in range(between)))
    x = net.op("torch.mul", net.call("a", "input:x"), "param:scale")
    for number in range(between):
        x = net.op("torch.add", net.call(f"b{number}", x), x)
    net.output(net.op("torch.mul", x, "param:scale"))
    picture = picture_of(net.graph(), PictureOptions(fold=False))
    found = [card for card in of_kind(picture, Card) if [row.path for row in card.rows] == ["scale"]]
    assert len(found) == cards
    joined = [arrow for arrow in picture.arrows if arrow.tail in [card.id for card in found]]
    assert len({arrow.head for arrow in joined}) == 2


@pytest.mark.parametrize(
    ("class_name", "name", "target", "title", "beside", "in_a_figure"),
    [
        ("net.Net", "create_model", "net.py:create_model", "Net", "net.py:create_model", "create_model"),
        ("net.Net", "build", None, "Net", "build", "build"),
        ("net.Net", "Net", "net.py:Net", "Net", "net.py:Net", ""),
        ("torch.nn.modules.container.Sequential", "model", "net.py:model", "model", "net.py:model", ""),
        (None, "weights", "weights.safetensors", "weights", "weights.safetensors", ""),
    ],
)
def test_the_title_is_the_class_and_what_gives_the_model_stands_beside(
    sketch, class_name, name, target, title, beside, in_a_figure
):
    graph = sketch("Net", ran=False).graph()
    graph = dataclasses.replace(
        graph, model=dataclasses.replace(graph.model, class_name=class_name, name=name, target=target)
    )
    picture, figure = picture_of(graph), picture_of(graph, PictureOptions(style="paper"))
    assert (picture.name, figure.name) == (title, title)
    assert picture.subtitle.split(" · ")[0] == beside
    assert (in_a_figure in figure.subtitle) if in_a_figure else (name not in figure.subtitle)
