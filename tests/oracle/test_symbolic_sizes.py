"""A part of the sweep over models whose sizes are left open: at random sizes torch gives what was predicted."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))
try:
    import symbolic_models
    import symbolic_sizes
finally:
    sys.path.pop(0)

from modgraph.prediction import predict_graph  # noqa: E402
from modgraph.source.targets import parse_target  # noqa: E402

FILE = Path(symbolic_models.__file__)
NOT_YET = {"Patches"}
"""A layer of torch's own that calls others is not gone into."""
CONSTRAINTS = {
    "Unet": {"h % 4 == 0", "w % 4 == 0"},
    "Language": {"length <= 48"},
    "Squares": {"h == w", "h % 2 == 0"},
    "Mixer": {"h >= 3", "w >= 3"},
}
"""Of some models: what they say themselves."""


@pytest.mark.parametrize("name", [name for name in symbolic_models.MODELS if name not in NOT_YET])
def test_every_shape_is_that_of_torch_at_sizes_that_meet_the_constraints(name: str) -> None:
    row = symbolic_sizes.row_of(f"{FILE}:{name}", n_sizes=6)
    assert (row.verdict, row.wrong, row.unknown, row.refused, row.other_calls, row.example) == ("", 0, 0, 0, 0, "")
    assert row.n_sizes == 6
    assert row.right >= 6 * 3
    assert CONSTRAINTS.get(name, set()) <= {*row.constraints, *row.followed}
    assert row.broken_taken == 0
    # What is said to be needed is, except where other sizes take another way to the same shapes.
    assert row.outside_differs == 0


LOOPS = {
    "of a product": "for _ in range(x.numel()): pass\nreturn self.fc(x)",
    "of as many as are asserted": "assert x.numel() > 14\nfor _ in range(x.numel()): pass\nreturn self.fc(x)",
    "of a length": "return torch.stack([self.fc(x[i]) for i in range(len(x))])",
    "of half a size": "return torch.stack([self.fc(x[:, 2 * i]) for i in range(x.shape[1] // 2)], 1)",
    "of a sum": "for _ in range(x.shape[0] + x.shape[1]): x = self.fc(x)\nreturn x",
    "of what is left": "for _ in range(x.shape[1] % 3): x = self.fc(x)\nreturn x",
    "while there is more": "while x.shape[1] > 1: x = self.fc(x[:, ::2])\nreturn x",
    "of some turns": "for _ in range(min(x.shape[1], 3)): x = self.fc(x)\nreturn x",
}


@pytest.mark.parametrize("name", LOOPS)
def test_the_turns_of_a_loop_are_what_was_followed_and_not_required(name: str, tmp_path: Path) -> None:
    body = "".join(f"        {line}\n" for line in LOOPS[name].splitlines())
    init = "    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(7, 7)\n"
    text = f"import torch\nfrom torch import nn\nclass Net(nn.Module):\n{init}    def forward(self, x):\n{body}"
    (tmp_path / "loops.py").write_text(text)
    row = symbolic_sizes.row_of(f"{tmp_path / 'loops.py'}:Net", ["batch x d x 7"], n_sizes=6)
    assert (row.verdict, row.is_faulty, row.example) == ("", False, "")
    assert row.followed or "some" in name or "more" in name
    assert not any("200002" in each or "100001" in each for each in row.followed)


@pytest.mark.parametrize("wrong", ["condition", "certain", "required"])
def test_the_judge_sees_what_is_wrong_of_calls_on_a_condition(wrong: str, tmp_path: Path) -> None:
    body = "        if x.shape[0] > 4:\n            x = self.a(x)\n        return self.b(x)\n"
    init = "    def __init__(self):\n        super().__init__()\n        self.a, self.b = nn.Linear(7, 7), nn.Linear(7, 7)\n"
    text = f"from torch import nn\nclass Net(nn.Module):\n{init}    def forward(self, x):\n{body}"
    (tmp_path / "wrong.py").write_text(text)
    target = f"{tmp_path / 'wrong.py'}:Net"
    graph = predict_graph(parse_target(target), inputs=())
    model = symbolic_sizes.build(target)
    row = symbolic_sizes.judge(target, model, graph, 12, 0)
    assert (row.verdict, row.is_faulty, row.conditional) == ("", False, 1)
    (call,) = (call for call in graph.calls if not call.certain)
    assert call.condition is not None
    calls = list(graph.calls)
    changed = replace(call, condition=replace(call.condition, text="batch <= 4"))
    calls[call.index] = replace(call, certain=True, condition=None) if wrong == "certain" else changed
    (given,) = graph.model.inputs
    if wrong == "required":
        calls, given = list(graph.calls), replace(given, constraints=("batch >= 5",))
    graph = replace(graph, calls=tuple(calls), model=replace(graph.model, inputs=(given,)))
    row = symbolic_sizes.judge(target, model, graph, 12, 0)
    assert (row.other_calls > 0, row.broken_taken > 0) == (wrong != "required", wrong == "required")


@pytest.mark.parametrize("wrong", ["shape", "call", "constraint"])
def test_the_judge_sees_what_is_wrong(wrong: str) -> None:
    target = f"{FILE}:Unet"
    graph = predict_graph(parse_target(target), inputs=())
    calls = list(graph.calls)
    if wrong == "shape":
        last = calls[-1]
        (tensor,) = last.outputs
        calls[-1] = replace(last, outputs=(replace(tensor, shape=("batch", 2, "h + 1", "w")),))
    elif wrong == "call":
        calls[2], calls[3] = replace(calls[2], module=calls[3].module), replace(calls[3], module=calls[2].module)
    inputs = graph.model.inputs
    if wrong == "constraint":
        inputs = tuple(replace(each, constraints=(), followed=()) for each in inputs)
    graph = replace(graph, calls=tuple(calls), model=replace(graph.model, inputs=inputs))
    row = symbolic_sizes.judge(target, symbolic_sizes.build(target), graph, 6, 0)
    assert (row.wrong, row.other_calls, row.refused) != (0, 0, 0)
    assert row.example


def test_constraints_are_broken_by_sizes_that_torch_refuses() -> None:
    """Half of the sizes that break a constraint, at least, cannot be run: no constraint is there for nothing."""
    for name in ("Unet", "Language", "Waves", "Mixer", "Squares"):
        row = symbolic_sizes.row_of(f"{FILE}:{name}", n_sizes=8)
        assert row.outside_refused + row.broken_refused >= 4, (name, row)
