"""What becomes of a checkpoint: torch says the same when it loads one."""

from __future__ import annotations

import pytest

from modgraph.changes import compare

PAIRS = {
    "a rename": ("self.a = nn.Linear(2, 3)", "self.b = nn.Linear(2, 3)"),
    "a widening": ("self.a = nn.Linear(2, 3)", "self.a = nn.Linear(2, 4)"),
    "an insertion": (
        "self.r = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))",
        "self.r = nn.Sequential(nn.Dropout(), nn.Linear(3, 3), nn.Linear(3, 3))",
    ),
    "another class": ("self.n = nn.BatchNorm1d(4)", "self.n = nn.LayerNorm(4)"),
    "buffers": (
        "self.register_buffer('x', torch.ones(2))\nself.register_buffer('y', torch.ones(2), persistent=False)",
        "self.register_buffer('x', torch.ones(3))\nself.register_buffer('y', torch.ones(2))",
    ),
    "tied": (
        "self.e = nn.Embedding(5, 4)\nself.o = nn.Linear(4, 5, bias=False)\nself.o.weight = self.e.weight",
        "self.e = nn.Embedding(5, 4)\nself.o = nn.Linear(4, 5)",
    ),
    "hidden": ("self.r = [nn.Linear(2, 2)]", "self.r = nn.ModuleList([nn.Linear(2, 2)])"),
    "the same": ("self.a = nn.Linear(2, 3)", "self.a = nn.Linear(2, 3)\nself.d = nn.Dropout()"),
}


def built(body: str):
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            exec(body, {"self": self, "nn": nn, "torch": torch})

    return Net()


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", PAIRS)
def test_it_is_what_torch_finds(predicted, name):
    changes = compare(*map(predicted, PAIRS[name]))
    saved, model = (built(body) for body in PAIRS[name])
    state, wanted = saved.state_dict(), model.state_dict()
    mismatched = {key for key in state.keys() & wanted.keys() if state[key].shape != wanted[key].shape}
    found = model.load_state_dict({key: value for key, value in state.items() if key not in mismatched}, strict=False)
    assert set(changes.state.missing) == set(found.missing_keys) - mismatched
    assert set(changes.state.unexpected) == set(found.unexpected_keys)
    assert {one.key for one in changes.state.mismatched} == mismatched


def test_keys_that_load_into_another_layer_are_told(predicted):
    changes = compare(*map(predicted, PAIRS["an insertion"]))
    assert changes.state.misplaced == ("r.1.bias", "r.1.weight")
    assert changes.state.unexpected == ("r.0.bias", "r.0.weight")
    assert dict(changes.state.renamed) == {
        "r.0.bias": "r.1.bias",
        "r.0.weight": "r.1.weight",
        "r.1.bias": "r.2.bias",
        "r.1.weight": "r.2.weight",
    }
    assert not changes.state.loads
    assert not changes.state.lost


def test_only_what_is_new_has_no_values(predicted):
    changes = compare(
        predicted("self.a = nn.Linear(2, 3)"), predicted("self.b = nn.Linear(2, 3)\nself.c = nn.Linear(9, 9)")
    )
    assert changes.state.fresh == ("c.bias", "c.weight")
    assert "it has no values for c.* (2 keys)" in changes.to_text()
