"""The parameters of layers as the bundled source says them, against torch's own."""

from __future__ import annotations

import inspect

import pytest

from modgraph.source.layer_parameters import layer_defaults, layer_parameters
from modgraph.source.torch_names import MODAL, STATEFUL, STATELESS

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")


def test_they_are_those_of_torch() -> None:
    compared = 0
    for kind in sorted(STATELESS | MODAL | STATEFUL):
        try:
            found = layer_parameters(kind)
        except LookupError:
            continue
        real = dict(list(inspect.signature(getattr(torch.nn, kind).__init__).parameters.items())[1:])
        if not any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in real.values()):
            compared += 1
            assert found == {name: each.default is each.empty for name, each in real.items()}, kind
    assert compared > 80


def test_defaults_are_those_of_torch() -> None:
    compared = 0
    for name, kind in sorted(vars(torch.nn).items()):
        if not isinstance(kind, type) or not issubclass(kind, torch.nn.Module):
            continue
        try:
            defaults = layer_defaults(name)
        except LookupError:
            continue
        known = inspect.signature(kind.__init__).parameters
        if "args" not in known:
            compared += bool(defaults)
            assert {key: known[key].default for key in defaults} == defaults, name
            plain = {key: each.default for key, each in known.items() if type(each.default) in (int, float, str, bool)}
            assert plain == defaults, name
    assert compared > 110


def test_a_layer_that_hands_on_what_it_is_given_has_the_parameters_of_its_base() -> None:
    found = layer_parameters("LSTM")
    assert list(found)[:3] == ["input_size", "hidden_size", "num_layers"]
    assert found["input_size"]
    assert not found["num_layers"]
    torch.nn.LSTM(**dict.fromkeys([name for name, is_needed in found.items() if is_needed], 3))
