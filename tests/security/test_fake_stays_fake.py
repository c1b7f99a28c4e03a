"""`--device fake` never runs for real: a question for values ends the run, or is told where the model goes on."""

from __future__ import annotations

import copy
import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import nn

import modgraph
from modgraph.cli import main
from modgraph.tracing.faking import fake

pytestmark = [pytest.mark.needs_torch, pytest.mark.filterwarnings("ignore")]
X = torch.ones(2, 4)

_library = torch.library.Library("modgraph_tests", "DEF")
_library.define("shapeless(Tensor x) -> Tensor")
_library.impl("shapeless", lambda x: x.clone(), "CPU")


class Decides(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


def in_a_thread(x: torch.Tensor) -> torch.Tensor:
    made: list[torch.Tensor] = []
    thread = threading.Thread(target=lambda: made.append(x * 2 if x.sum() > 0 else x))
    thread.start()
    thread.join()
    return made[0] if made else x


ASKS = {
    "bool": lambda x: x * 2 if bool(x.sum() > 0) else x,
    "if": lambda x: x * 2 if x.sum() > 0 else x,
    "item": lambda x: x * 2 if x.sum().item() > 0 else x,
    "tolist": lambda x: torch.tensor(x.tolist()),
    "int": lambda x: x * int(x.sum()),
    "float": lambda x: x * float(x.sum()),
    "nonzero": lambda x: x * 2 if len(x.nonzero()) > 3 else x,
    "mask": lambda x: x * 2 if x[x > 0].shape[0] > 3 else x,
    "unique": lambda x: x * len(x.unique()),
    "numpy": lambda x: torch.from_numpy(x.detach().cpu().numpy()),
    "equal": lambda x: x * 2 if torch.equal(x, x + 1) else x,
    "allclose": lambda x: x * 2 if torch.allclose(x, x + 1) else x,
    "max": lambda x: x * max(x.flatten()),
    "sorted": lambda x: x * sorted(x.flatten())[0],
    "in": lambda x: x * 2 if 3 in x else x,
    "math": lambda x: x * math.sqrt(x.abs().sum()),
    "range": lambda x: x * len(range(x.abs().sum().int())),
    "random": lambda x: x * 2 if torch.rand(1) > 0.5 else x,
    "function": Decides.apply,
    "operator without a shape": lambda x: torch.ops.modgraph_tests.shapeless(x),
    "compiled": lambda x: torch.compile(lambda y: y * 2 if y.sum() > 0 else y, backend="eager")(x),
    "pool": lambda x: ThreadPoolExecutor(1).submit(lambda: x * 2 if x.sum() > 0 else x).result(),
}


def asking(ask: Any, *, caught: bool = False, width: int = 4) -> nn.Module:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(width, width), nn.Identity()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.a(x)
            if not caught:
                return self.b(ask(x))
            try:
                ask(x)
            except Exception:
                return self.b(x + 1)
            return self.b(x)

    return Net()


@pytest.fixture
def never_computed(monkeypatch):
    """The layer's own kernel may not run on a tensor that has values."""
    real = nn.functional.linear
    computed = []

    def linear(x, *others):
        if isinstance(x, torch.Tensor) and not isinstance(x, fake.FakeTensor):
            computed.append(x)
        return real(x, *others)

    monkeypatch.setattr(nn.functional, "linear", linear)
    yield
    assert computed == []


@pytest.mark.parametrize("given", [True, False], ids=["given", "inferred"])
@pytest.mark.parametrize("name", ASKS)
def test_a_question_for_values_ends_the_run(name, given, never_computed):
    graph = modgraph.trace(asking(ASKS[name]), *((X,) if given else ()), device="fake")
    assert graph.model.device == "fake"
    assert [call.module for call in graph.calls] == ["", "a"]
    assert not graph.complete
    assert graph.problems[0].stage == "trace"
    assert graph.problems[0].line is not None


@pytest.mark.parametrize("name", [name for name in ASKS if name not in ("tolist", "float", "unique")])
def test_a_question_whose_error_the_model_catches_is_told(name, never_computed):
    graph = modgraph.trace(asking(ASKS[name], caught=True), X, device="fake")
    assert graph.model.device == "fake"
    assert any("the model caught that" in problem.message for problem in graph.problems)


def test_a_question_in_a_thread_is_told(never_computed):
    graph = modgraph.trace(asking(in_a_thread), X, device="fake")
    assert not graph.complete


@pytest.mark.parametrize(
    "harmless",
    [copy.deepcopy, copy.copy, lambda x: x * 2 if torch.ones(3).sum() > 0 else x, lambda x: x[x > 0], torch.nonzero],
    ids=["deepcopy", "copy", "constants", "mask", "nonzero"],
)
def test_what_asks_for_no_value_goes_on(harmless, never_computed):
    graph = modgraph.trace(asking(harmless), X, device="fake")
    assert graph.problems == ()
    assert [call.module for call in graph.calls] == ["", "a", "b"]


def test_analyze_of_a_live_model_stays_fake(never_computed):
    graph = modgraph.analyze(asking(ASKS["if"]), device="fake")
    assert graph.model.device == "fake"
    assert any(problem.stage == "trace" for problem in graph.problems)


SOURCE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        x = self.a(x)
        with open("ran", "a") as out:
            out.write(type(x).__name__ + chr(10))
        if bool(x.sum() > 0):
            return x * 2
        return x
"""


@pytest.mark.parametrize(
    "options", [(), ("--input", "1x4"), ("--format", "onnx,json")], ids=["inferred", "given", "onnx"]
)
def test_the_command_ends_there_with_a_problem(options, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(SOURCE, "utf-8")
    output = ("-o", "out") if "--format" in options else ("-o", "net.json")
    status = main(["analyze", "model.py:Net", "--device", "fake", *options, *output])
    assert status == 1
    assert set((tmp_path / "ran").read_text().split()) == {"FakeTensor"}
    file = next(iter(tmp_path.rglob("*.json")))
    graph = json.loads(file.read_text("utf-8"))
    assert graph["model"]["device"] == "fake"
    assert "decides by values" in capsys.readouterr().out


class TooLarge(nn.Module):
    """Reads a value, so that it cannot be built without any, and takes more weights before than are granted."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = [torch.rand(1 << 16) for _ in range(16)]
        self.scale = float(self.parts[0][0])


def test_a_constructor_that_reads_values_takes_no_more_than_is_granted(monkeypatch):
    monkeypatch.setattr(fake, "MAX_BUILT", 1 << 20)
    taken = []

    class Counted(TooLarge):
        def __init__(self) -> None:
            super().__init__()
            taken.append("built")

    with pytest.raises(Exception, match=r"meta tensors|values"):
        fake.build(Counted, fake.new_mode())
    assert taken == []


class Scheduled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rates = [rate.item() for rate in torch.linspace(0, 1, 4)]
        self.layer = nn.Linear(1 << 18, 1 << 18)


def test_a_constructor_that_reads_a_schedule_is_built_without_weights():
    model: Any = fake.build(Scheduled, fake.new_mode())
    assert isinstance(model.layer.weight, fake.FakeTensor)
    assert model.rates[0] == 0.0


class Held:
    def __init__(self) -> None:
        self.table = torch.ones(4)


def test_tensors_in_plain_objects_are_fake_in_the_copy_too(monkeypatch):
    model = asking(lambda x: x)
    model.held = Held()
    cloned = []
    monkeypatch.setattr(torch.Tensor, "__deepcopy__", lambda self, memo: cloned.append(self))
    made: Any = fake.fake_copy(model, fake.new_mode())
    assert isinstance(made.held.table, fake.FakeTensor)
    assert cloned == []
