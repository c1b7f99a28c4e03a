"""The judge of predicted runs: it sees what is wrong of one, and takes what is right."""

from __future__ import annotations

import copy
import dataclasses
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import modgraph
from modgraph.prediction import predict_graph
from modgraph.prediction.answer.tree import _Tree
from modgraph.prediction.entry import predict_target
from modgraph.prediction.forward.assumptions import USUAL, assumed_in
from modgraph.prediction.forward.running import follow
from modgraph.source.inputs import parse_input
from modgraph.source.targets import parse_target

pytestmark = pytest.mark.needs_torch
torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))
try:
    import forward_calls
    import forward_models
finally:
    sys.path.pop(0)

MODEL = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, 2 * width)
        self.second = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.second(self.first(x).relu())

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(6) for _ in range(2))
        self.pair = nn.LSTM(6, 5, batch_first=True)
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        y, _ = self.pair(x)
        {then}
        return {{"logits": self.head(y), "rest": [x]}}
"""


def runs(
    folder: Path, then: str = "pass", text: str = "", name: str = "Net", shape: tuple[int, ...] = (4, 7, 6)
) -> tuple[forward_calls.Run, forward_calls.Run]:
    """The real run and the predicted one."""
    file = folder / "net.py"
    file.write_text(text or MODEL.format(then=then))
    spec = importlib.util.spec_from_file_location("net", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = getattr(module, name)().eval()
    told = "x".join(map(str, shape))
    subject = forward_models.Subject(f"{file}:{name}", (told,), model, (torch.ones(shape),), {})
    prediction = predict_target(parse_target(subject.target), assumed=assumed_in(USUAL))
    followed = follow(prediction, [parse_input(each) for each in subject.inputs])
    assert followed is not None
    tree = _Tree(prediction)
    tree.grow(prediction.root)
    names = {name for name, _ in model.named_modules()}
    return forward_calls.real_run(subject), forward_calls.predicted_run(followed, tree.first_paths, names)


def test_right_prediction_is_exact(tmp_path: Path) -> None:
    want, got = runs(tmp_path)
    verdict = forward_calls.judged(want, got)
    assert (verdict.kind, verdict.right, verdict.unknown, verdict.wrong) == ("exact", len(want.calls), 0, 0)
    assert [call.path for call in want.calls] == [
        *("", "blocks.0", "blocks.0.first", "blocks.0.second", "blocks.1", "blocks.1.first", "blocks.1.second"),
        *("pair", "head"),
    ]
    assert want.calls[0].shapes == {".logits": (4, 7, 3), ".rest[0]": (4, 7, 6)}


def _swap(run: forward_calls.Run) -> None:
    run.calls[2], run.calls[3] = run.calls[3], run.calls[2]


def _deepen(run: forward_calls.Run) -> None:
    run.calls[3].depth += 1


def _drop(run: forward_calls.Run) -> None:
    run.calls.pop()


def _repeat(run: forward_calls.Run) -> None:
    run.calls.append(run.calls[-1])


@pytest.mark.parametrize("change", [_swap, _deepen, _drop, _repeat])
def test_another_sequence_is_wrong(tmp_path: Path, change: Callable[[forward_calls.Run], None]) -> None:
    want, got = runs(tmp_path)
    changed = copy.deepcopy(want)
    change(changed)
    assert forward_calls.judged(changed, got).kind == "wrong"


@pytest.mark.parametrize("shape", [(4, 7, 11), (4, 7), (7, 4, 12)])
def test_another_size_is_wrong(tmp_path: Path, shape: tuple[int, ...]) -> None:
    want, got = runs(tmp_path)
    want.calls[2].shapes = {"": shape}
    verdict = forward_calls.judged(want, got)
    assert (verdict.wrong, verdict.right) == (1, len(want.calls) - 1)
    assert verdict.first.startswith("blocks.0.first")


def test_a_tensor_that_is_not_there_is_wrong_and_one_that_is_not_told_is_unknown(tmp_path: Path) -> None:
    want, got = runs(tmp_path)
    more, less = copy.deepcopy(want), copy.deepcopy(want)
    assert more.calls[0].shapes is not None
    assert less.calls[0].shapes is not None
    more.calls[0].shapes[".more"] = (1,)
    del less.calls[0].shapes[".logits"]
    assert forward_calls.judged(more, got).unknown == 1
    assert forward_calls.judged(less, got).wrong == 1


def test_what_is_not_known_ends_a_prefix(tmp_path: Path) -> None:
    want, got = runs(tmp_path, then="y = self.head(y)[..., :5] if y.sum() > 1e9 else y")
    verdict = forward_calls.judged(want, got)
    assert verdict.kind == "prefix"
    assert len(got.calls) < len(want.calls)
    assert got.open_reason


def test_a_crash_is_to_be_told(tmp_path: Path) -> None:
    want, got = runs(tmp_path, then="y = y.view(1, 2, 3)")
    assert want.raised is not None
    assert forward_calls.judged(want, got).kind == "exact"
    fine, _ = runs(tmp_path)
    assert forward_calls.judged(fine, got).kind == "wrong"
    _, told_nothing = runs(tmp_path)
    assert forward_calls.judged(want, told_nothing).kind == "wrong"


def test_ways_of_data_are_those_of_a_trace_and_a_lost_one_shows(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(MODEL.format(then="pass"))
    target = parse_target(f"{file}:Net")
    predicted = predict_graph(target, inputs=[parse_input("4x7x6")])
    traced = modgraph.analyze(f"{file}:Net", inputs=["4x7x6"])
    ways = forward_calls.ways(traced)
    assert forward_calls.ways(predicted) == ways
    assert {("blocks.0.second #1", "blocks.1.first #1"), ("input:x", "blocks.0.first #1")} <= ways
    fewer = dataclasses.replace(predicted, edges=predicted.edges[1:])
    assert forward_calls.ways(fewer) != ways


HIDDEN = """
import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

class Double(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Identity()

    def forward(self, w):
        return self.inner(w) * 2

class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layer):
        ctx.save_for_backward(x)
        return layer(x)

class WithSetup(torch.autograd.Function):
    @staticmethod
    def forward(x, layer):
        return layer(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.c = nn.Conv1d(4, 4, 1)
        self.n = nn.LayerNorm(4)
        {init}

    def forward(self, x):
        {run}
"""

HIDING = {
    "parametrized layer": ("parametrize.register_parametrization(self.a, 'weight', Double())", "return self.b(self.a(x))"),
    "parametrized convolution": ("parametrize.register_parametrization(self.c, 'weight', Double())", "return self.c(x[..., None])"),
    "parametrized norm": ("parametrize.register_parametrization(self.n, 'bias', Double())", "return self.b(self.n(x))"),
    "norms of weights": ("parametrizations.weight_norm(self.a); parametrizations.spectral_norm(self.b)", "return self.b(self.a(x))"),
    "old norms of weights": ("nn.utils.weight_norm(self.a); nn.utils.spectral_norm(self.b)", "return self.b(self.a(x))"),
    "encoder": ("self.e = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)", "return self.e(x[None])"),
    "encoder layer as base": ("self.e = type('E', (nn.TransformerEncoderLayer,), {})(4, 2, 8)", "return self.e(x[None])"),
    "decoder": ("self.e = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 1)", "return self.e(x[None], x[None])"),
    "transformer": ("self.e = nn.Transformer(4, 2, 1, 1, 8)", "return self.e(x[:, None], x[:, None])"),
    "attention": ("self.e = nn.MultiheadAttention(4, 2)", "return self.e(x, x, x)[0]"),
    "checkpoint": ("", "return self.b(checkpoint(self.a, x, use_reentrant=False))"),
    "checkpoint of a lambda": ("", "return self.b(checkpoint(lambda y, by: self.a(y) * by, x, by=2, use_reentrant=False))"),
    "checkpoint of several": ("", "return checkpoint_sequential([self.a, self.b], 2, x, use_reentrant=False)"),
    "function of autograd": ("", "return self.b(Function.apply(x, self.a))"),
    "function with a setup": ("", "return self.b(WithSetup.apply(x, self.a))"),
    "data parallel": ("self.p = nn.DataParallel(nn.Sequential(self.a))", "return self.p(x)"),
    "hook that calls": ("self.a.register_forward_hook(lambda m, i, o: self.b(o))", "return self.a(x)"),
    "forward called directly": ("", "return self.a.forward(self.b(x))"),
    "adaptive softmax": ("self.l = nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 6])", "return self.l.log_prob(x)"),
    "map": ("", "return list(map(self.a, [x, x]))[0]"),
    "key of max": ("", "return max((self.a, self.b), key=lambda m: m(x).shape[0])(x)"),
}  # fmt: skip


@pytest.mark.parametrize("case", HIDING)
def test_calls_that_do_not_stand_in_the_text_are_told(tmp_path: Path, case: str) -> None:
    init, run = HIDING[case]
    text = HIDDEN.replace("{init}", init or "pass").replace("{run}", run)
    want, got = runs(tmp_path, text=text, shape=(2, 4))
    verdict = forward_calls.judged(want, got)
    assert (verdict.kind, verdict.first) == ("exact", "")
    assert len(want.calls) > 1
    assert verdict.right == len(want.calls)
