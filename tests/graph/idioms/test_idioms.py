"""Idioms are found in models that have them, in every style, and in none that nearly has one: of runs and predictions."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
import torch

import modgraph
from modgraph.graph.idioms.finding import find
from modgraph.graph.model import Graph
from modgraph.merge import merge
from tests.graph.idioms import having, nearly

FOLDER = Path(__file__).parent


def _models(module: ModuleType) -> list[type[torch.nn.Module]]:
    """The classes that say what they are given and what is found: "2x6x32: gated MLP · SiLU; ..."."""
    held = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__]
    return [each for each in held if ": " in (each.__doc__ or "")]


def _wanted(model: type[torch.nn.Module]) -> Counter[str]:
    wanted: Counter[str] = Counter()
    for title in (model.__doc__ or "").partition(": ")[2].strip().split("; "):
        number, _, rest = title.partition(" ")
        if title != "nothing":
            wanted[rest if number.isdigit() else title] = int(number) if number.isdigit() else 1
    return wanted


def _found(graph: Graph) -> Counter[str]:
    assert not graph.problems
    return Counter(idiom.title for idiom in find(graph))


MODELS = [*_models(having), *_models(nearly)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_what_is_proven_is_found_and_nothing_else(model: type[torch.nn.Module]) -> None:
    file = Path(having.__file__ if model.__module__ == having.__name__ else nearly.__file__)
    inputs = (model.__doc__ or "").partition(":")[0].split()
    real = modgraph.trace(model().eval(), tuple(torch.rand(tuple(map(int, each.split("x")))) for each in inputs))
    predicted = modgraph.predict(f"{file}:{model.__name__}", inputs=inputs)
    wanted = _wanted(model)
    assert _found(real) == wanted
    assert _found(predicted) == wanted
    merged = merge(predicted, real)
    assert Counter(idiom.title for idiom in find(merged)) == wanted


def test_there_are_enough_of_both() -> None:
    assert len(_models(having)) >= 40
    assert len(_models(nearly)) >= 40


def test_names_say_nothing() -> None:
    class Attention(torch.nn.Module):
        """Named as one, and none."""

        def __init__(self) -> None:
            super().__init__()
            self.q_proj, self.k_proj, self.v_proj, self.o_proj = (torch.nn.Linear(8, 8) for _ in range(4))
            self.num_heads = 2

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.o_proj(self.q_proj(x) + self.k_proj(x) + self.v_proj(x))

    assert find(modgraph.trace(Attention(), torch.ones(2, 3, 8))) == ()


def test_what_is_not_certain_proves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.a, self.b, self.c = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 8)\n"
        "    def forward(self, x):\n"
        "        y = F.silu(self.a(x))\n"
        "        if x.sum() > 0:\n"
        "            y = torch.zeros_like(y)\n"
        "        return self.c(y * self.b(x))\n",
        encoding="utf-8",
    )
    assert find(modgraph.predict(f"{file}:Net", inputs=["2x8"])) == ()


def test_a_module_that_is_nothing_else_is_told_from_one_that_holds_more() -> None:
    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mlp, self.more = having.SwiGLU(), torch.nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.mlp(self.more(x))

    class Flat(having.SwiGLU):
        def __init__(self) -> None:
            super().__init__()
            self.more = torch.nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(self.more(x))

    x = torch.ones(2, 6, 32)
    assert [(each.module, each.whole) for each in find(modgraph.trace(Block(), x))] == [("mlp", True)]
    assert [(each.module, each.whole) for each in find(modgraph.trace(Flat(), x))] == [("", False)]


def test_a_step_of_very_many_tensors_takes_no_time() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cat([self.layer(x[number]) for number in range(1500)], dim=-1)

    graph = modgraph.trace(Net(), torch.ones(1500, 2))
    began = time.process_time()
    assert find(graph) == ()
    assert time.process_time() - began < 0.5


def test_ten_thousand_modules_take_a_second() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList(having.SwiGLU() for _ in range(500))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = x + layer(x)
            return x

    graph = modgraph.trace(Net(), torch.ones(1, 2, 32))
    began = time.process_time()
    assert len(find(graph)) == 500
    assert time.process_time() - began < 1  # 2,001 modules, as the machine may be busy


def test_branches_that_are_not_alike_are_looked_at_once() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(1000))
            self.more = torch.nn.Linear(2, 2)

        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                a, b = layer(a), layer(b)
            return a - self.more(b)

    graph = modgraph.trace(Net(), (torch.ones(1, 2), torch.ones(1, 2)))
    began = time.process_time()
    assert find(graph) == ()
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("done", "wanted"),
    [
        ("F.normalize({}, dim={})", []),  # 1 is the default, and is not told either
        ("{}.chunk(2, {})[0]", ["siamese"]),
        ("{}.mean({})", ["siamese"]),
        ("{}.softmax(dim={})", ["siamese"]),
    ],
)
def test_dimensions_that_nobody_knows_are_not_taken_for_the_same(done: str, wanted: list[str], tmp_path: Path) -> None:
    one, two = done.format("self.encoder(a)", "self.one"), done.format("self.encoder(b)", "self.two")
    file = tmp_path / "net.py"
    file.write_text(
        "import torch.nn.functional as F\nfrom torch import nn\n\nclass Net(nn.Module):\n"
        "    def __init__(self, one, two):\n        super().__init__()\n        self.one, self.two = one, two\n"
        "        self.encoder = nn.Sequential(nn.Linear(8, 8), nn.ReLU())\n\n"
        f"    def forward(self, a, b):\n        a = {one}\n        b = {two}\n        return a - b\n"
    )
    assert find(modgraph.predict(f"{file}:Net", inputs=["8x8", "8x8"])) == ()
    assert [each.kind for each in find(modgraph.predict(f"{file}:Net(1, 1)", inputs=["8x8", "8x8"]))] == wanted
