"""Which input is which: `q - k` is not `k - q`, however either is written."""

from __future__ import annotations

import pytest

import modgraph
from modgraph.changes import Changes, compare
from modgraph.changes.places import elsewhere, place_in_operation

pytestmark = pytest.mark.needs_torch


def model_of(line: str, signature: str = "first, second"):
    import torch
    from torch import nn

    names: dict[str, object] = {"torch": torch, "nn": nn}
    leaf = f"class Leaf(nn.Module):\n    def forward(self, {signature}): return {signature.split(', ')[0]}\n"
    layers = (
        "self.a = nn.Linear(4, 4)",
        "self.b = nn.Linear(4, 4)",
        "self.bil = nn.Bilinear(4, 4, 2)",
        "self.mha = nn.MultiheadAttention(4, 2)",
        "self.leaf = Leaf()",
    )
    text = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text += "".join(f"        {layer}\n" for layer in layers)
    text += f"    def forward(self, x):\n        q, k = self.a(x), self.b(x)\n        return {line}\n"
    exec(leaf + text, names)
    return names["Net"]()


@pytest.fixture
def compared():
    import torch

    def compared(old: str, new: str, *signatures: str) -> Changes:
        models = [model_of(line, *signatures[at : at + 1]) for at, line in enumerate((old, new))]
        graphs = [modgraph.trace(model, (torch.zeros(3, 4),)) for model in models]
        changes = compare(*graphs)
        assert compare(graphs[1], graphs[0]) == changes.reversed()
        return changes

    return compared


def said(changes: Changes) -> set[tuple[str, str, str, str]]:
    return {(flow.side, flow.producer, flow.consumer, flow.place) for flow in changes.dataflow}


OTHER = {
    "q - k": "k - q",
    "torch.cat([q, k], -1)": "torch.cat([k, q], -1)",
    "self.bil(q, k)": "self.bil(k, q)",
    "self.mha(q, k, k)[0]": "self.mha(k, q, q)[0]",
    "torch.where(q > 0, k, q)": "torch.where(q > 0, q, k)",
    "5 - q": "q - 5",
    "self.leaf(q, k)": "self.leaf(k, q)",
    "torch.nn.functional.scaled_dot_product_attention(q, k, k)": (
        "torch.nn.functional.scaled_dot_product_attention(k, q, q)"
    ),
    "torch.sub(q, k)": "torch.sub(other=q, input=k)",
    "q.__rsub__(k)": "q - k",
}


@pytest.mark.parametrize("old", OTHER)
def test_another_input_is_another_way_of_data(compared, old):
    changes = compared(old, OTHER[old])
    assert changes.dataflow
    assert {flow.side for flow in changes.dataflow} == {"old", "new"}
    assert all(flow.place for flow in changes.dataflow)


def test_it_says_which(compared):
    changes = compared("self.bil(q, k)", "self.bil(k, q)")
    assert said(changes) == {
        ("old", "a", "bil", "input1"),
        ("old", "b", "bil", "input2"),
        ("new", "a", "bil", "input2"),
        ("new", "b", "bil", "input1"),
    }
    assert "− a → bil, as input1" in changes.to_text()


SAME = {
    "torch.sub(q, k)": "torch.sub(input=q, other=k)",
    "q - k": "torch.sub(other=k, input=q)",
    "k - q": "q.__rsub__(k)",
    "q + k": "k + q",
    "torch.cat([q, k], -1)": "torch.cat(tensors=[q, k], dim=-1)",
    "self.bil(q, k)": "self.bil(input2=k, input1=q)",
    "torch.stack((q, k, q))": "torch.stack([q, k, q])",
}


@pytest.mark.parametrize("old", SAME)
def test_another_way_to_write_it_is_none(compared, old):
    changes = compared(old, SAME[old])
    assert not changes.dataflow
    assert not changes.changed


def test_another_name_of_an_argument_of_forward_is_none(compared):
    assert not compared("self.leaf(q, k)", "self.leaf(q, k)", "first, second", "query, context").dataflow
    swapped = compared("self.leaf(q, k)", "self.leaf(k, q)", "first, second", "query, context")
    assert ("new", "a", "leaf", "context") in said(swapped)


def test_what_comes_between_changes_no_place(compared):
    """A member more in a list, and an operation on the way, are what is told; the others stay where they were."""
    changes = compared("torch.cat([q, k], -1)", "torch.cat([x, q, x, k], -1)")
    assert said(changes) == {("new", "input x", "cat in the model", "")}
    assert not compared("q - k", "q - torch.relu(k)").dataflow


def test_places_of_one_row():
    assert place_in_operation("torch.Tensor.__rsub__", "args[0]") == "args[1]"
    assert place_in_operation("torch.Tensor.__rsub__", "other") == "args[0]"
    assert place_in_operation("torch.mul", "other") == place_in_operation("torch.mul", "args[0]")
    assert place_in_operation("torch.add", "args[2]") == "args[2]"
    assert elsewhere([("a", "x[0]"), ("b", "x[1]")], [("c", "x[0]"), ("a", "x[1]"), ("b", "x[2]")]) == set()
    assert elsewhere([("a", "args[0]")], [("a", "args[1]")]) == {"a"}
    # Two gone and one come: which of them it is cannot be told, so it is no rename.
    assert elsewhere([("a", "x"), ("b", "y")], [("a", "z")]) == {"a"}
