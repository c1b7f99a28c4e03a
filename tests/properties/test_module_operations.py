"""Generated operations on torch's modules and containers: what is claimed of the result is what torch says."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.needs_torch

HEAD = """
import copy
from collections import OrderedDict

import torch
from torch import nn


class Sub(nn.Module):
    def __init__(self, n=2):
        super().__init__()
        self.a = nn.Linear(n, n)
        self.b = self.a
        self.register_buffer("buf", torch.zeros(n))
        self.w = nn.Parameter(torch.ones(n, 1))
        self.register_parameter("none", None)
        self.plain = [nn.ReLU()]


def seen(found):
    if isinstance(found, nn.Module):
        return [
            type(found).__name__,
            [name for name, _ in found.named_modules()],
            [(name, tuple(each.shape), each.requires_grad) for name, each in found.named_parameters()],
            [name for name, _ in found.named_buffers()],
        ]
    if isinstance(found, torch.Tensor):
        return ["tensor", tuple(found.shape), found.requires_grad]
    if isinstance(found, dict):
        return [(key, seen(each)) for key, each in found.items()]
    if isinstance(found, (list, tuple)) or hasattr(found, "__next__"):
        return [seen(each) for each in found]
    return found


def outcome(call):
    try:
        return seen(call())
    except Exception:
        return "raises"
"""
LAYERS = (
    *("nn.Linear(2, 3)", "nn.ReLU()", "nn.Conv2d(1, 2, 3)", "nn.BatchNorm1d(3)", "nn.Embedding(5, 2)", "Sub()"),
    *("nn.Sequential(nn.Linear(1, 2), nn.ReLU())", "nn.GRU(2, 3)", "nn.MultiheadAttention(4, 2)"),
)
STARTS = (
    *("nn.Sequential(LAYER, LAYER, LAYER)", "nn.ModuleList([LAYER, LAYER])", "nn.ModuleDict({'x': LAYER, 'y': LAYER})"),
    *("Sub()", "Sub(3)", "nn.Sequential(OrderedDict([('p', LAYER), ('q', LAYER)]))", "nn.Sequential()"),
    *("nn.ParameterList([nn.Parameter(torch.ones(2)), torch.ones(1)])", "nn.ParameterDict({'k': torch.ones(2)})"),
)
CHANGES = (
    *("m.append(LAYER)", "m.insert(PLACE, LAYER)", "m.extend([LAYER, LAYER])", "m[PLACE] = LAYER", "del m[PLACE]"),
    *("m.add_module(NAME, LAYER)", "m.pop(PLACE)", "m.update({'x': LAYER, 'new': LAYER})", "m.clear()", "m.keep = m"),
    *("setattr(m, NAME, LAYER)", "setattr(m, NAME, nn.Parameter(torch.ones(4)))", "setattr(m, NAME, None)"),
    *("delattr(m, NAME)", "m.register_buffer(NAME, torch.zeros(1))", "m.requires_grad_(False)", "m.eval()"),
    *("m.register_parameter(NAME, nn.Parameter(torch.ones(3)))", "m.apply(lambda each: setattr(each, 'seen', 1))"),
    *(
        "m += [LAYER]",
        "m = m + nn.Sequential(LAYER)",
        "m = copy.deepcopy(m)",
        "m = m[SLICE]",
        "m = nn.Sequential(m, LAYER)",
    ),
    *(
        "m = m * 2",
        "m.set_submodule(NAME, LAYER)",
        "m._modules[NAME] = LAYER",
        "m._modules.pop(NAME, None)",
        "m.half()",
    ),
    *("m.w.requires_grad = False", "m.load_state_dict(m.state_dict())", "m.share = m.a", "m.a.weight = m.w"),
    *("m.plain.append(LAYER)", "m.tup = (LAYER,)", "m.register_buffer('tmp', torch.ones(2), persistent=False)"),
    *("m.a.weight = nn.Parameter(torch.ones(2, 2))", "m.p = nn.ParameterList([torch.ones(1)])", "m.to(torch.float64)"),
)
QUESTIONS = (
    *("m", "len(m)", "list(m)", "list(m.keys())", "m.state_dict()", "list(m.named_children())", "m[PLACE]", "bool(m)"),
    *(
        "m.get_submodule(NAME)",
        "m.get_parameter(NAME)",
        "m.get_buffer(NAME)",
        "hasattr(m, NAME)",
        "getattr(m, NAME, 5)",
    ),
    *("NAME in m", "sum(each.numel() for each in m.parameters())", "m.training", "list(reversed(m))", "m.a is m.b"),
    *("[name for name, _ in m.named_parameters(recurse=False)]", "[name for name, _ in m.named_buffers()]"),
    *("[name for name, _ in m.named_modules(remove_duplicate=False)]", "[type(each).__name__ for each in m.modules()]"),
    *("list(m.items())", "sorted(m.state_dict(prefix='pre.'))", "[hasattr(each, 'seen') for each in m.modules()]"),
    *("[str(each.dtype) for each in m.parameters()]", "list(m._modules)", "next(m.parameters())", "m.extra_repr()"),
)
_WORDS = {
    "PLACE": ("0", "1", "-1", "2", "'x'", "'a'"),
    "NAME": ("'x'", "'a'", "'z'", "'0'", "'b'", "'w'", "'buf'", "'a.weight'", "''", "'none'"),
    "SLICE": ("0:2", "1:", "::2", "0", "-1"),
    "LAYER": LAYERS,
}


def _filled(random: Random, text: str) -> str:
    for word, choices in _WORDS.items():
        while word in text:
            text = text.replace(word, random.choice(choices), 1)
    return text


def _function(random: Random, number: int) -> str:
    lines = [f"def make{number}():", f"    m = {_filled(random, random.choice(STARTS))}"]
    for _ in range(random.randrange(1, 5)):
        lines += [
            "    try:",
            f"        {_filled(random, random.choice(CHANGES))}",
            "    except Exception:",
            "        pass",
        ]
    asked = (f"outcome(lambda: {_filled(random, random.choice(QUESTIONS))})" for _ in range(4))
    return "\n".join([*lines, f"    return {', '.join(asked)}", ""])


@settings(
    max_examples=int(os.environ.get("MODGRAPH_EXAMPLES", "8")),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(number=st.integers(0, 10**6))
def test_it_gives_what_torch_gives(number: int, claimed_names: Callable[[str, list[str]], list[Any]]) -> None:
    random = Random(number)
    functions = [_function(random, each) for each in range(12)]
    names = [f"R{number}_{place}" for number in range(len(functions)) for place in range(4)]
    calls = [f"{', '.join(names[4 * each : 4 * each + 4])} = make{each}()" for each in range(len(functions))]
    text = HEAD + "\n".join([*functions, *calls, ""])
    real: dict[str, Any] = {"__name__": "code"}
    exec(compile(text, "code.py", "exec", dont_inherit=True), real)
    claims = claimed_names(text, names)
    false = [
        f"{functions[place // 4]}{place % 4} is said to be {claim[0]}, and is {real[name]}"
        for place, (name, claim) in enumerate(zip(names, claims, strict=True))
        if claim is not None and repr(claim[0]) != repr(real[name])
    ]
    assert false == []
    assert sum(claim is not None for claim in claims) > len(claims) / 2


@pytest.mark.parametrize("asked", ["named_modules(remove_duplicate=False)", "named_parameters(remove_duplicate=False)"])
def test_a_module_below_itself_has_no_end(asked: str, claimed_names: Callable[[str, list[str]], list[Any]]) -> None:
    text = f"{HEAD}m = nn.ModuleList([nn.Linear(1, 1)])\nm.keep = m\nR = outcome(lambda: len(list(m.{asked})))\n"
    real: dict[str, Any] = {"__name__": "code"}
    exec(compile(text, "code.py", "exec", dont_inherit=True), real)
    assert real["R"] == "raises"
    assert claimed_names(text, ["R"]) == [("raises",)]
