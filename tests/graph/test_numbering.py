"""Arguments that only say which place a block has."""

from __future__ import annotations

from typing import Any

import pytest

from modgraph.graph.build import GraphBuilder
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Graph, ModelInfo, ModuleNode
from modgraph.graph.numbering import numbered_text, numbering_of
from modgraph.graph.repeats import find_repeats


def graph_of(blocks: list[dict[str, Any]], *, inner: str = "attn", block: str = "model.Block") -> Graph:
    """A list of blocks with these arguments; each holds one layer, with the same ones."""
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target="model.py:Net"))

    def add(path: str, class_name: str, arguments: dict[str, Any]) -> None:
        builder.modules.append(ModuleNode(path=path, class_name=class_name, predicted=True, arguments=arguments))

    add("", "model.Net", {})
    add("h", "torch.nn.modules.container.ModuleList", {})
    for place, arguments in enumerate(blocks):
        add(f"h.{place}", block, arguments)
        if inner:
            add(f"h.{place}.{inner}", "model.Attention", arguments)
    return builder.build()


def folded(graph: Graph) -> dict[str, int]:
    return {path: repeat.count for path, repeat in find_repeats(graph).items() if path.count(".") == 1}


@pytest.mark.parametrize("start", [0, 1, 12])
def test_blocks_that_differ_in_their_number_alone_fold(start):
    graph = graph_of([{"width": 8, "layer_idx": place + start} for place in range(4)])
    assert folded(graph) == {f"h.{place}": 4 for place in range(4)}
    assert numbering_of(GraphIndex(graph))["h.2.attn"] == {"layer_idx": (2, start)}
    first, last = (GraphIndex(graph).modules[path] for path in ("h.0", "h.3"))
    assert numbered_text(first, last) == f"layer_idx {start} – {start + 3}"


@pytest.mark.parametrize(
    "values",
    [[1, 2, 4, 8], [3, 2, 1, 0], [0, 0, 1, 1], [0.0, 1.0, 2.0, 3.0], [False, True], ["0", "1"]],
    ids=str,
)
def test_what_does_not_follow_the_place_is_not_hidden(values):
    found = folded(graph_of([{"i": value} for value in values]))
    for path in found:
        place = int(path.rpartition(".")[2])
        alike = [one for one in (place - 1, place + 1) if 0 <= one < len(values) and f"h.{one}" in found]
        assert any(abs(values[one] - values[place]) in (0, 1) for one in alike)
    assert len(found) < len(values) or values == [0, 0, 1, 1]


def test_a_second_argument_that_differs_keeps_blocks_apart():
    assert folded(graph_of([{"i": place, "width": 8 * 2**place} for place in range(4)])) == {}


def test_single_layers_in_a_row_and_those_of_torch_stay_apart():
    numbered = [{"dilation": place + 1} for place in range(4)]
    assert folded(graph_of(numbered, inner="")) == {}
    assert folded(graph_of(numbered, block="torch.nn.modules.conv.Conv1d")) == {}


def test_a_first_block_that_leaves_its_number_at_the_default_is_one_of_the_row():
    graph = graph_of([{"width": 8}, *({"width": 8, "layer_idx": place} for place in (1, 2, 3))])
    assert folded(graph) == {f"h.{place}": 4 for place in range(4)}
    first, last = (GraphIndex(graph).modules[path] for path in ("h.0", "h.3"))
    assert numbered_text(first, last) == "layer_idx 0 – 3"


@pytest.mark.parametrize("values", [[None, 1], [None, 2, 3], [None, 1, 1], [None, 1, 3]], ids=str)
def test_an_argument_that_the_first_block_leaves_out_and_that_numbers_none_keeps_it_apart(values):
    graph = graph_of([{"width": 8} if value is None else {"width": 8, "i": value} for value in values])
    assert "h.0" not in folded(graph)
