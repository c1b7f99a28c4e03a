"""Blocks with a cache of keys and values: each takes and gives its own of a row of inputs and outputs."""

from __future__ import annotations

import pytest

from modgraph.graph.repeats import find_repeats


def cached(sketch, blocks: int = 4, *, given=lambda block: f"input:past[{block}][0]", own: bool = True):
    """Blocks with a cache: each takes its own of a row of inputs, and gives its own of a row of outputs."""
    net = sketch("Cached")
    net.modules("h ModuleList")
    x = "input:x"
    for block in range(blocks):
        net.module(f"h.{block}", "model.Block")
        net.modules(f"h.{block}.up Linear *", f"h.{block}.down Conv2d *")
        net.enter(f"h.{block}")
        kept = net.op("torch.cat", net.call(f"h.{block}.up", x), given(block))
        x = net.op("torch.add", net.call(f"h.{block}.down", kept), x)
        net.leave()
        net.output(kept if own else x)
    net.output(x)
    return net.graph()


@pytest.mark.parametrize("blocks", [2, 4, 7])
def test_blocks_that_take_their_own_of_a_row_of_inputs_are_alike(sketch, blocks):
    found = find_repeats(cached(sketch, blocks))
    assert found["h.0"].count == blocks


@pytest.mark.parametrize(
    "given",
    [
        lambda block: f"input:past[{3 - block}][0]",  # the other way round
        lambda block: f"input:past[{block}][{block % 2}]",  # of some the keys, of some the values
        lambda block: f"input:past[{2 * block}][0]",
        lambda block: f"input:{'past' if block % 2 else 'other'}[{block}]",
        lambda block: f"input:{'abcd'[block]}",
    ],
)
def test_blocks_that_take_others_inputs_are_not(sketch, given):
    assert "h.0" not in find_repeats(cached(sketch, given=given))


def test_a_mask_that_all_take_is_no_hindrance(sketch):
    assert find_repeats(cached(sketch, given=lambda block: "input:mask"))["h.0"].count == 4
