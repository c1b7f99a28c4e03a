"""What becomes of a checkpoint: torch says the same when it loads one."""

from __future__ import annotations

import pytest

import modgraph
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


EXTRA = {
    "": "class Own(nn.Linear):\n    pass\n",
    "get set": (
        "class Own(nn.Linear):\n    def get_extra_state(self): return {'a': 1}\n"
        "    def set_extra_state(self, state): pass\n"
    ),
    "get": "class Own(nn.Linear):\n    def get_extra_state(self): return torch.ones(2)\n",
    "set": "class Own(nn.Linear):\n    def set_extra_state(self, state): pass\n",
}


def own(methods: str):
    import torch
    from torch import nn

    names = {"nn": nn, "torch": torch}
    text = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.m = Own(2, 2)\n"
    exec(EXTRA[methods] + text, names)
    return names["Net"]()


@pytest.mark.needs_torch
@pytest.mark.parametrize("ran", [False, True])
@pytest.mark.parametrize("new", EXTRA)
@pytest.mark.parametrize("old", EXTRA)
def test_extra_state_is_a_key_where_a_class_saves_or_asks_for_it(predicted, old, new, ran):
    """What is saved is `get_extra_state`'s, what is asked for `set_extra_state`'s."""
    if ran:
        graphs = [modgraph.trace(own(each), ()) for each in (old, new)]
    else:
        graphs = [predicted("self.m = Own(2, 2)", EXTRA[each]) for each in (old, new)]
    state = compare(*graphs).state
    found = own(new).load_state_dict(own(old).state_dict(), strict=False)
    assert set(state.missing) == set(found.missing_keys)
    assert set(state.unexpected) == set(found.unexpected_keys)
    assert not state.undecided
    assert state.loads is (not found.missing_keys and not found.unexpected_keys)


def test_extra_state_goes_with_its_module(predicted):
    graphs = [predicted(f"self.{name} = Own(2, 2)", EXTRA["get set"]) for name in ("a", "b")]
    assert dict(compare(*graphs).state.renamed)["a._extra_state"] == "b._extra_state"
