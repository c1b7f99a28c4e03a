"""What only another mode or argument leads to is no part of the usual run, though it is of the same module in the same
line; and no way leads through tests that exclude each other. Torch runs each setting."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from modgraph.graph.model import Graph
from tests.prediction.forward.judged import predicted

pytestmark = pytest.mark.needs_torch


class Holding:
    """What has attributes, and is true."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


NET = """
from torch.utils.checkpoint import checkpoint

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(4, 4) for _ in range(3))

    def blk(self, t):
        return self.a(t)

    def aux(self, x):
        if self.training: return self.b(x).mean()
        return None

    def extra(self, x, given=False):
        more = None
        if given: more = x.mean()
        return more

    def forward(self, x, flag=False):
        {}
"""
ARMS = {
    "the first arm": "if flag: x = self.blk(x * 2)\n        else: x = self.blk(x)\n        return self.c(x)",
    "the second arm": "if not flag: x = self.blk(x)\n        else: x = self.blk(x * 2)\n        return self.c(x)",
    "the mode": "if self.training: x = self.blk(x * 2)\n        else: x = self.blk(x)\n        return self.c(x)",
    "a function that calls it": (
        "if self.training: x = checkpoint(self.blk, x * 2, use_reentrant=False)\n"
        "        else: x = self.blk(x)\n        return self.c(x)"
    ),
    "of an expression": "x = self.blk(x * 2) if flag else self.blk(x)\n        return self.c(x)",
    "of and": "if flag and self.training: x = self.blk(x * 2)\n        else: x = self.blk(x)\n        return self.c(x)",
    "of or": "if flag or self.training: x = self.blk(x * 2)\n        else: x = self.blk(x)\n        return self.c(x)",
    "of elif": (
        "if self.training: x = self.blk(x * 2)\n        elif flag: x = self.blk(x * 3)\n"
        "        else: x = self.blk(x)\n        return self.c(x)"
    ),
    "nested": (
        "if flag:\n            if self.training: x = self.blk(x * 2)\n            else: x = self.blk(x * 3)\n"
        "        else: x = self.blk(x)\n        return self.c(x)"
    ),
    "returns": "if flag: return self.blk(x * 2)\n        return self.blk(x)",
    "of match": (
        "match flag:\n            case True: x = self.blk(x * 2)\n            case _: x = self.blk(x)\n        return self.c(x)"
    ),
    "of a guard": (
        "match x.ndim:\n            case 2 if flag: x = self.blk(x * 2)\n            case _: x = self.blk(x)\n        return self.c(x)"
    ),
    "once more before": "if flag: x = self.blk(x * 2)\n        x = self.blk(x)\n        return self.c(x)",
    "in each turn": (
        "for _ in range(2):\n            if flag: x = self.blk(x * 2)\n            else: x = self.blk(x)\n        return self.c(x)"
    ),
    "of a filter": "[self.blk(x * 2) for _ in range(1) if flag]\n        return self.blk(x)",
}


def _runs(file: Path) -> dict[tuple[bool, bool], Counter[str]]:
    """By mode and flag, how often each module is called, and how often something is added."""
    import torch
    from torch.overrides import TorchFunctionMode

    names: dict[str, Any] = {}
    exec(compile(file.read_text("utf-8"), str(file), "exec"), names)
    found = {}
    for training, flag in itertools.product((False, True), (False, True)):
        seen: Counter[str] = Counter()

        class Adding(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None, seen=seen):
                seen["add"] += function.__name__ == "add"
                return function(*args, **(kwargs or {}))

        net = names["Net"]().train(training)
        for path, module in net.named_children():
            module.register_forward_hook(lambda *_, path=path, seen=seen: seen.update([path]))
        with Adding():
            net(torch.ones(3, 4), flag=flag)
        found[training, flag] = seen
    return found


def _told(graph: Graph, training: bool, flag: bool) -> tuple[Counter[str], Counter[str]]:
    """How often each module is called for certain, and on conditions that are true then."""
    net = type("Net", (), {"training": training})()
    names = {"flag": flag, "self": net, "x": type("X", (), {"ndim": 2})()}
    certain = Counter(call.module for call in graph.calls if call.certain and call.module)
    further = Counter(
        call.module
        for call in graph.calls
        if not call.certain and call.condition is not None and eval(call.condition.text, {}, names)
    )
    return certain, further


@pytest.mark.parametrize("name", ARMS)
def test_a_call_of_another_way_is_none_of_the_usual_one(name: str, tmp_path: Path) -> None:
    graph = predicted(tmp_path, NET.format(ARMS[name]), ["x=3x4"])
    runs = _runs(tmp_path / "net.py")
    certain, further = _told(graph, False, False)
    assert certain == Counter({path: n for path, n in runs[False, False].items() if path != "add"})
    assert not further
    assert any(not call.certain for call in graph.calls)
    for setting, seen in runs.items():
        further = _told(graph, *setting)[1]
        assert all(n <= seen[path] for path, n in further.items()), setting
        assert all(n <= certain[path] + further[path] for path, n in seen.items() if path != "add"), setting


TOTALS = {
    "set when it trains": (
        "total = 0.0\n        for _ in range(2):\n            y = self.aux(x)\n"
        "            if y is not None: total = total + y\n        return self.a(x), total"
    ),
    "of an expression": (
        "total = 0.0\n        for _ in range(3):\n            y = self.aux(x)\n"
        "            total = total + y if y is not None else total\n        return self.a(x), total"
    ),
    "asked the other way round": (
        "total = 0.0\n        for _ in range(2):\n            y = self.aux(x)\n"
        "            if y is None: continue\n            total = total + y\n        return self.a(x), total"
    ),
    "set by an argument": (
        "total = 0.0\n        for _ in range(2):\n            y = self.extra(x, flag)\n"
        "            if y is not None: total = total + y\n        return self.a(x), total"
    ),
    "set by an argument of another name": (
        "total = 0.0\n        for _ in range(2):\n            y = self.extra(x, given=flag)\n"
        "            if y is not None: total = total + y\n        return self.a(x), total"
    ),
    "of both": (
        "total = 0.0\n        y, z = self.aux(x), self.extra(x, flag)\n        if y is not None: total = total + y\n"
        "        if z is not None: total = total + z\n        return self.a(x), total"
    ),
    "of what is computed of an argument": (
        "total = 0.0\n        y, z = self.extra(x, flag), self.extra(x, not flag)\n"
        "        if y is not None: total = total + y\n        if z is not None: total = total + z\n"
        "        return self.a(x), total"
    ),
    "of an argument that is bound anew": (
        "total = 0.0\n        if flag: total = total + x.mean()\n        flag = not flag\n"
        "        if flag: total = total + x.mean()\n        return self.a(x), total"
    ),
}
APART = {
    "set by an argument": 3,
    "set by an argument of another name": 3,
    "of both": 3,
    "of what is computed of an argument": 3,
    "of an argument that is bound anew": 3,
}
"""How many sums are told where not all of them are made in one run: of the second with what is there without the first."""


@pytest.mark.parametrize("name", TOTALS)
def test_no_sum_is_of_what_excludes_each_other(name: str, tmp_path: Path) -> None:
    graph = predicted(tmp_path, NET.format(TOTALS[name]), ["x=3x4"])
    runs = _runs(tmp_path / "net.py")
    told = [each for each in graph.operations if each.name == "torch.Tensor.add"]
    most = max(seen["add"] for seen in runs.values())
    assert len([each for each in told if each.certain]) == runs[False, False]["add"]
    assert most <= len(told) <= APART.get(name, most)


def test_a_way_that_an_earlier_test_of_the_mode_excludes_is_not_told(tmp_path: Path) -> None:
    body = "if self.training:\n            x = self.a(x)\n            if not self.training: x = self.b(x)\n        return self.c(x)"
    graph = predicted(tmp_path, NET.format(body), ["x=3x4"])
    assert {call.module for call in graph.calls} == {"", "a", "c"}


@pytest.mark.parametrize(
    "between",
    ["flag = not flag", "flag ^= True", "flag = flag + 1", "flag = self.training", "[flag := v for v in [1]]"],
)
def test_what_is_bound_anew_is_asked_again(between: str, tmp_path: Path) -> None:
    body = f"if flag:\n            x = self.a(x)\n            {between}\n            if not flag: x = self.b(x)\n        return self.c(x)"
    graph = predicted(tmp_path, NET.format(body), ["x=3x4"])
    seen = set().union(*_runs(tmp_path / "net.py").values()) - {"add"}
    assert seen <= {call.module for call in graph.calls}


OUT_OF = {
    "items": ("p=None", "if p is not None:\n            for o in p: x = self.ask(x, o)", {"p": [None]}),
    "items of a list of it": (
        "p=None",
        "if p is not None:\n            for o in list(p): x = self.ask(x, o)",
        {"p": [None]},
    ),
    "items in a comprehension": (
        "p=None",
        "if p is not None:\n            for x in [self.ask(x, o) for o in p]: pass",
        {"p": [None]},
    ),
    "what is unpacked": (
        "p=None",
        "if p is not None:\n            o, *_ = p\n            x = self.ask(x, o)",
        {"p": [None]},
    ),
    "what stars give": ("p=None", "if p is not None: x = self.ask(x, *p)", {"p": [None]}),
    "an attribute": ("p=None", "if p is not None: x = self.ask(x, p.real)", {"p": Holding(real=None)}),
    "an attribute that is asked": (
        "p=None",
        "if p is not None:\n            if p.real is None: x = self.b(x)\n            else: x = self.a(x)",
        {"p": Holding(real=None)},
    ),
    "an attribute of a flag": ("p=False", "if p: x = self.ask(x, p.real or None)", {"p": Holding(real=None)}),
    "the mode of another": (
        "p=False",
        "if p:\n            if p.training: x = self.a(x)\n            else: x = self.b(x)",
        {"p": Holding(training=False)},
    ),
    "what is emptied": ("p=False", "if p:\n            p.clear()\n            if not p: x = self.b(x)", {"p": [1]}),
    "of one of two tensors": (
        "p=False",
        "y = x if p else x * 1\n        if self.training:\n            if y.grad is None: x = self.b(x)\n            else: x = self.a(x)",
        {"p": True},
    ),
    "of one of two layers": (
        "p=False",
        "m = self.free if p else self.c\n        if self.training:\n            if m.bias is None: x = self.b(x)\n            else: x = self.a(x)",
        {"p": True},
    ),
}
ASKED = NET.replace(
    "    def forward(self, x, flag=False):\n        {}\n",
    "    @property\n    def free(self): return self.d\n\n    def ask(self, x, o=1):\n        if o is None: return self.b(x)\n"
    "        return self.a(x)\n\n    def forward(self, x, {}):\n        {}\n        return self.c(x)\n",
).replace(
    "        self.a, self.b, self.c =", "        self.d = nn.Linear(4, 4, bias=False)\n        self.a, self.b, self.c ="
)


@pytest.mark.parametrize("name", OUT_OF)
def test_what_comes_out_of_an_argument_is_not_what_was_asked(name: str, tmp_path: Path) -> None:
    import torch

    parameter, body, given = OUT_OF[name]
    graph = predicted(tmp_path, ASKED.format(parameter, body), ["x=3x4"])
    space: dict[str, Any] = {"torch": torch, "nn": torch.nn}
    exec((tmp_path / "net.py").read_text(), space)
    net = space["Net"]().train()
    seen: set[str] = set()
    for path, module in net.named_children():
        module.register_forward_hook(lambda *_, path=path: seen.add(path))
    net(torch.ones(3, 4), **given)
    assert "b" in seen
    assert seen <= {call.module for call in graph.calls}
