"""Whether an autocast is around a model is its caller's: both ways are told. Torch is the judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.graph.model import Graph
from tests.prediction.forward.judged import predicted, wrong
from tests.prediction.forward.test_ways_of_sizes import run

LONG = 'torch.is_autocast_enabled("cpu") or x.sum() > 1_000_000 or x.abs().max() > 1_000_000'


@pytest.mark.needs_torch
@pytest.mark.parametrize("test", ['torch.is_autocast_enabled("cpu")', LONG])
def test_a_caller_may_have_put_one_around(test: str, tmp_path: Path) -> None:
    import torch

    source = (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)\n\n    def forward(self, x):\n"
        f"        if {test}:\n            x = self.a(x)\n        return self.b(x)\n"
    )
    graph = predicted(tmp_path, source, ["2x4"])
    certain = {call.module for call in graph.calls if call.certain}
    told = {call.module for call in graph.calls}
    without = run(source, torch.zeros(2, 4))
    with torch.autocast("cpu"):
        within = run(source, torch.zeros(2, 4))
    assert without is not None
    assert within is not None
    assert certain <= set(without)
    assert set(without) | set(within) <= told
    (condition,) = {call.condition.text for call in graph.calls if call.condition is not None}
    assert condition.removeprefix("depends on ").strip("`") == test  # whole, however long it is


CAST = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        {body}
"""
WITHIN = [
    "torch.autocast('cpu')", "torch.autocast('cpu', torch.bfloat16, True, False)", "torch.autocast('cpu', enabled=False)",
    "torch.autocast('cpu', enabled=x.sum() > 0)", "torch.autocast('cpu', enabled=torch.tensor(False))",
    "torch.autocast('cpu', enabled=1)", "torch.autocast('cpu', None, 0)", "torch.autocast('cpu', enabled=None)",
    "torch.cpu.amp.autocast()", "torch.cuda.amp.autocast()",
    "torch.cuda.amp.autocast(False)", "torch.amp.autocast('cpu', enabled=self.training)",
]  # fmt: skip
BODIES = [
    *(f"with {each}:\n            return self.a(x)" for each in WITHIN),
    "return torch.autocast('cpu')(self.a)(x)",
    "torch.set_autocast_enabled('cpu', True)\n        y = self.a(x)\n"
    "        torch.set_autocast_enabled('cpu', False)\n        return y",
    "torch.set_autocast_enabled('cpu', False)\n        return self.a(x)",
]


@pytest.mark.needs_torch
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("body", BODIES)
def test_what_is_said_of_one_of_its_own_is_so(body: str, tmp_path: Path) -> None:
    assert wrong(tmp_path, CAST.format(body=body), ["2x4"]) == []


@pytest.mark.parametrize("body", [BODIES[2], BODIES[4], BODIES[10], BODIES[-1]])
def test_it_is_known_where_none_is_entered(body: str, tmp_path: Path) -> None:
    graph = predicted(tmp_path, CAST.format(body=body), ["2x4"])
    is_refused = any("must be bool" in each.message for each in graph.problems)
    assert is_refused or [each.dtype for call in graph.calls for each in call.outputs] == ["float32", "float32"]


def test_one_for_a_gpu_is_not_known_to_do_nothing(tmp_path: Path) -> None:
    graph = predicted(tmp_path, CAST.format(body=BODIES[9]), ["2x4"])
    assert [each.dtype for call in graph.calls for each in call.outputs] == [None, None]


OF_A_DTYPE = [
    "y.dtype == torch.bfloat16", "y.dtype != x.dtype", "y.dtype is torch.float32", "y.dtype not in (torch.float32, torch.float64)",
    "torch.bfloat16 == y.dtype", "(y + y).dtype == torch.bfloat16", "y.type() == 'torch.BFloat16Tensor'", "y.relu().dtype != x.dtype",
    "{torch.float32: False}.get(y.dtype, True)", "str(y.dtype).endswith('bfloat16')", "y[0].dtype != self.a.weight.dtype",
    "torch.promote_types(y.dtype, torch.bfloat16) == torch.bfloat16", "y.element_size() == 2", "torch.finfo(y.dtype).bits == 16",
    "y.float() is y", "y.to(x.dtype) is y", "x.to(y.dtype) is x", "y.type_as(x) is y", "x.type_as(y).dtype == x.dtype",
    "y.type(torch.float32) is not y",
    "(lambda t: t.dtype)(y) != torch.float32", "getattr(y, 'dtype') != torch.float32", "y.dtype.itemsize == 2",
]  # fmt: skip
"""What an autocast around the model decides, of `y`, which a layer gives."""
OF_NONE = [
    "x.dtype == torch.bfloat16", "self.a.weight.dtype == torch.bfloat16",
    "y.is_floating_point() is False",
    "(y > 0).dtype != torch.bool", "y.float().dtype != torch.float32", "y.double().dtype != torch.float64",
    "x.relu().dtype != x.dtype", "x[:1].softmax(-1).dtype != torch.float32", "torch.zeros(2).dtype != torch.float32",
    "F.layer_norm(x, (4,)).dtype != torch.float32", "self.a.weight.t().dtype != torch.float32",
    "(x + 1).dtype == torch.float16", "y.to(torch.float32).relu().dtype != torch.float32", "not y.dtype.is_floating_point",
]  # fmt: skip
"""What no autocast changes."""
MADE_LIKE = [
    "x.to(y.dtype)", "x.to(dtype=y.dtype, device=y.device)", "x.to(x.device, y.dtype, non_blocking=True)", "x.type(y.dtype)",
    "F.softmax(y, -1, dtype=torch.float32).to(y.dtype)", "y.masked_fill(x > 0, torch.finfo(y.dtype).min)", "x.type_as(y)",
    "y * torch.zeros(2, 4, dtype=y.dtype)", "y.new_zeros(3, dtype=y.dtype)", "(x > 0).to(y.dtype) * y", "y.sum(-1, dtype=y.dtype)",
]  # fmt: skip


def _of_dtype(tmp_path: Path, test: str) -> tuple[Graph, list[int]]:
    """What is predicted; and how many operations there are without an autocast, and within one."""
    import torch

    from tests.prediction.forward.traced import both

    body = f"y = self.a(x)\n        if {test}:\n            y = torch.tanh(y)\n        return y"
    graph, without = both(tmp_path, CAST.format(body=body), "2x4")
    with torch.autocast("cpu"):
        _, within = both(tmp_path, CAST.format(body=body), "2x4")
    return graph, [sum(each.name == "torch.tanh" for each in run.operations) for run in (without, within)]


@pytest.mark.needs_torch
@pytest.mark.parametrize("test", OF_A_DTYPE)
def test_a_test_of_a_dtype_that_it_changes_is_told(test: str, tmp_path: Path) -> None:
    graph, real = _of_dtype(tmp_path, test)
    assert real[0] != real[1]
    told = [each.certain for each in graph.operations if each.name == "torch.tanh"]
    assumed = graph.model.assumed
    assert told == [False] or (assumed is not None and "no autocast is around it" in assumed.text)
    assert told == [False] or len(told) == real[0]


@pytest.mark.needs_torch
@pytest.mark.parametrize("test", OF_NONE)
def test_nothing_is_told_of_a_dtype_that_it_does_not_change(test: str, tmp_path: Path) -> None:
    graph, real = _of_dtype(tmp_path, test)
    assert (graph.model.assumed, real) == (None, [0, 0])


@pytest.mark.parametrize("made", MADE_LIKE)
def test_nothing_is_told_where_a_dtype_decides_nothing(made: str, tmp_path: Path) -> None:
    graph = predicted(tmp_path, CAST.format(body=f"y = self.a(x)\n        return {made}"), ["2x4"])
    assert (graph.model.assumed, graph.problems) == (None, ())


@pytest.mark.needs_torch
@pytest.mark.parametrize("dtypes", ["torch.float16, torch.float64", "torch.float32, torch.float16", "x, y"])
@pytest.mark.parametrize("what", ["x", "(x > 0)"])
def test_what_is_converted_to_one_of_two_is_not_said_to_be_as_it_was(what: str, dtypes: str, tmp_path: Path) -> None:
    first, second = dtypes.split(", ")
    body = f"y = x.double()\n        return {what}.to({first} if x.sum() > 0 else {second})"
    assert wrong(tmp_path, CAST.format(body=body), ["2x4"]) == []


OF_TWO = [
    *(
        "y = x.relu() if {test} else self.a(x)",
        "y = self.a(x) if {test} else x.relu()",
        "y = x.relu()\ny.data = self.a(x)",
    ),
    *("y = self.a(x)\nif {test}:\n    y = y.float()", "y = x.relu()\nfor _ in range(int({test})):\n    y = self.a(y)"),
    *(
        "y = self.a(x)\nz = y.float()",
        "y = [self.a(x), x.relu()][int({test})]",
        "y = [x.relu(), self.a(x)][int({test})]",
    ),
    "y = (lambda t: t.float() if {test} else t)(self.a(x))",
]


@pytest.mark.parametrize("body", OF_TWO)
def test_what_is_cast_on_one_way_is_asked_for(body: str, tmp_path: Path) -> None:
    lines = body.format(test="x.sum() > 0") + "\nreturn torch.tanh(x) if y.dtype == torch.float32 else x"
    graph = predicted(tmp_path, CAST.format(body=lines.replace("\n", "\n        ")), ["2x4"])
    told = [each.certain for each in graph.operations if each.name == "torch.tanh"]
    assumed = graph.model.assumed
    assert told == [False] or (assumed is not None and "no autocast is around it" in assumed.text)
