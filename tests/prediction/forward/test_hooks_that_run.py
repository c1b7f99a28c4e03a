"""Hooks around `forward`, however they are set: what they call and what they make of a result is what torch does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prediction.forward.judged import is_whole, predicted, wrong

pytestmark = pytest.mark.needs_torch

NET = """
import copy
import torch.nn.modules.module as M
from collections import OrderedDict
from torch.nn.modules.module import register_module_forward_hook

class Named(nn.Module):
    def forward(self, x, times=1):
        return torch.cat([x] * times)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 5)
        self.named = Named()
        %s

    def forward(self, x):
        %s
"""
FOLLOWED = {
    "before those that are there": (
        "self.fc.register_forward_hook(lambda m, i, o: self.a(o))\n"
        "self.fc.register_forward_hook(lambda m, i, o: self.b(o)[:, :3], prepend=True)",
        "return self.fc(x)",
    ),
    "with what is given by name": (
        "self.fc.register_forward_hook(lambda m, i, k, o: self.a(k['input']), with_kwargs=True)",
        "return self.fc(input=x)",
    ),
    "what is given by name is changed": (
        "self.named.register_forward_pre_hook(lambda m, i, k: (i, {'times': 3}), with_kwargs=True)",
        "return self.named(x, times=2)",
    ),
    "refused, as it gives one of the two": (
        "self.fc.register_forward_pre_hook(lambda m, i, k: i, with_kwargs=True)",
        "try:\n    return self.fc(x)\nexcept RuntimeError:\n    return self.b(x)",
    ),
    "put into the dict": ("self.fc._forward_hooks[0] = lambda m, i, o: self.b(o)", "return self.fc(x)"),
    "a dict of one's own": (
        "self.fc._forward_hooks = OrderedDict({1: lambda m, i, o: self.b(o)})",
        "return self.fc(x)",
    ),
    "all are taken off": (
        "self.fc.register_forward_hook(lambda m, i, o: self.b(o))\nself.fc._forward_hooks.clear()",
        "return self.fc(x)",
    ),
    "counted": (
        "self.fc.register_forward_hook(lambda m, i, o: None)",
        "return self.a(x) if len(self.fc._forward_hooks) == 1 and not self.fc._forward_pre_hooks else self.b(x)",
    ),
    "of a copy": (
        "handle = self.fc.register_forward_hook(lambda m, i, o: self.b(o))\n"
        "self.c = copy.deepcopy(self.fc)\nhandle.remove()",
        "return self.fc(x), self.c(x)",
    ),
    "of all modules": ("", "handle = register_module_forward_hook(lambda m, i, o: self.b(o) if m is self.fc else None)\n"
                       "y = self.fc(x)\nhandle.remove()\nreturn y, self.fc(x)"),
    "before all modules": (
        "M.register_module_forward_pre_hook(lambda m, i: (torch.cat([i[0], i[0]]),) if m is self.fc else None)",
        "return self.fc(x)",
    ),
    "put into the dict of all modules": (
        "M._global_forward_hooks[7] = lambda m, i, o: self.b(o) if m is self.fc else None",
        "return self.fc(x)",
    ),
}  # fmt: skip
OPEN = {
    "called where forward raises": (
        "self.named.register_forward_hook(lambda m, i, o: self.a(torch.ones(1, 3)) and None, always_call=True)",
        "try:\n    return self.named(x, times=None)\nexcept TypeError:\n    return self.b(x)",
    ),
    "set on some paths": (
        "",
        "if x.sum() > 0:\n    self.fc.register_forward_hook(lambda m, i, o: self.a(o))\nreturn self.fc(x)",
    ),
}


def _text(hooks: str, forward: str) -> str:
    return NET % (hooks.replace("\n", "\n        ") or "pass", forward.replace("\n", "\n        "))


@pytest.mark.parametrize("case", FOLLOWED)
def test_they_run_as_in_torch(case: str, tmp_path: Path):
    text = _text(*FOLLOWED[case])

    assert wrong(tmp_path, text) == []
    assert is_whole(predicted(tmp_path, text, ["2x3"]))


@pytest.mark.parametrize("case", OPEN)
def test_where_it_is_not_known_which_run_nothing_is_claimed(case: str, tmp_path: Path):
    text = _text(*OPEN[case])

    assert wrong(tmp_path, text) == []
    assert any(each.stage == "forward" for each in predicted(tmp_path, text, ["2x3"]).problems)


@pytest.mark.parametrize(
    "change",
    [
        "self.layers.append(nn.Tanh())",
        "self.layers.append(nn.Tanh()) if len(self.layers) == 9 else None",
        "setattr(self.layers, '1', nn.Tanh())",
    ],
)
def test_layers_that_change_while_they_run_do_as_in_torch(change: str, tmp_path: Path):
    text = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.refused = nn.Sequential(nn.ReLU(), nn.Sigmoid()), nn.ELU()

        def change(module, given, found):
            {change}

        self.layers[0].register_forward_hook(change)

    def forward(self, x):
        try:
            return self.layers(x)
        except RuntimeError:
            return self.refused(x)
"""

    assert wrong(tmp_path, text) == []
    assert not predicted(tmp_path, text, ["2x3"]).problems


BEFORE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), {layer}
        self.b.{hook}
    def forward(self, x):
        return self.b(x) + 1
"""


@pytest.mark.parametrize(
    "hook",
    [
        "register_forward_pre_hook(lambda m, a: self.a(a[0]))",
        "register_forward_pre_hook(lambda m, a, k: ((self.a(a[0]),), k), with_kwargs=True)",
        "register_forward_pre_hook(lambda m, a: (a[0] * 2,))",
        "register_forward_hook(lambda m, a, o: self.a(o))",
    ],
)
@pytest.mark.parametrize(
    "layer",
    [
        "nn.Linear(8, 8)", "nn.ReLU()", "nn.ReLU(inplace=True)", "nn.Dropout(0.5)", "nn.Identity()", "nn.LayerNorm(8)",
        "nn.BatchNorm1d(8)", "nn.ZeroPad1d(0)", "nn.Sequential(nn.Linear(8, 8))", "type('Mine', (nn.Linear,), {})(8, 8)",
    ],
)  # fmt: skip
def test_a_layer_around_whose_operation_modules_are_called_has_it(layer: str, hook: str, tmp_path: Path):
    pytest.importorskip("torch")
    from tests.prediction.forward.traced import both, differences

    assert differences(*both(tmp_path, BEFORE.format(layer=layer, hook=hook), "2x8")) == []
