"""What costs much, runs for long or cannot be told leaves everything else known; what is claimed beside it is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from modgraph.graph.model import Graph

pytestmark = pytest.mark.needs_torch

ENUMS = """
import enum
class Base(enum.Enum):
    def double(self): return self.value * 2
class Flags(enum.Flag): pass
class Texts(str, enum.Enum): pass
class Own(enum.Enum):
    def _generate_next_value_(name, start, count, last): return len(name) + count
A = Base("A", {"SMALL": 4, "LARGE": 8})
B = Base("B", ["X", "Y"])
C = Base("C", names="P Q R")
D = Base("D", [("U", 5), ("V", 5)])
E = Flags("E", "ONE TWO FOUR")
F = Texts("F", {"S": "s"})
G = Own("G", "AB C")
H = enum.IntEnum("H", "M N", module=__name__)
RESULT = (A.SMALL.value, A["LARGE"].double(), A(8).name, B.Y.value, [m.name for m in C], C.R.value, len(D), D.V.name,
          E.FOUR.value, (E.ONE | E.TWO).value, F.S.value, G.C.value, H.N + 1, isinstance(A.SMALL, Base), issubclass(A, Base))
"""


def test_the_call_of_an_enum_class_without_members_makes_a_class(evaluated: Callable[[str], Any]) -> None:
    namespace: dict[str, Any] = {"__name__": "code"}
    exec(ENUMS, namespace)
    assert evaluated(ENUMS) == namespace["RESULT"]


COSTLY = """
def costly(seen=[]):
    n = 0
    while n < 10 ** 9:
        n += 1
    return n
STATE = {"width": 4}
def changing():
    STATE["width"] = 5
    return costly()
"""


@pytest.mark.parametrize("default", ["costly()", "[costly()][0]", "sum(i for i in range(10 ** 9))", "2 * costly()"])
def test_a_costly_default_is_all_that_is_lost(predict_source: Callable[..., Graph], default: str) -> None:
    graph = predict_source(
        COSTLY
        + f"""
class Net(nn.Module):
    def __init__(self, width=8, seed={default}, depth=2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.last = nn.Linear(width, seed)
        self.beside = nn.Linear(STATE["width"], 2)
"""
    )
    shapes = {node.path: node.parameters[0].shape for node in graph.modules if node.parameters}
    assert shapes == {"layers.0": (8, 8), "layers.1": (8, 8), "last": (None, 8), "beside": (2, 4)}
    assert [problem.message.partition(":")[0] for problem in graph.problems] == [
        "the shapes of parameters 'weight', 'bias' of 'last' are not known"
    ]


def test_what_a_costly_default_was_changing_is_not_claimed(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source(
        COSTLY
        + """
class Net(nn.Module):
    def __init__(self, seed=changing()):
        super().__init__()
        self.a = nn.Linear(STATE["width"], 2)
        self.b = nn.Linear(3, 2)
"""
    )
    shapes = {node.path: [p.shape for p in node.parameters] for node in graph.modules if node.parameters}
    assert shapes["a"][0] in ((2, None), None)
    assert shapes["b"] == [(2, 3), (2,)]


def test_a_long_range_that_nobody_walks_through_takes_no_work(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source("""
        def count():
            total = 0
            for i in range(10 ** 9):
                total += i * i % 7
            return total
        SEED = count()
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(3, 4)
    """)
    assert graph.problems == ()


LOOPS = {
    "an optimizer": "optimizer = torch.optim.SGD(net.parameters(), 0.1)\nfor _ in range(9):\n    {step}",
    "batches of a loader": """
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(8, 4)), batch_size=2, shuffle=True)
optimizer = torch.optim.Adam(net.parameters())
for epoch in range(10):
    for i, (x,) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), x)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        {step}
""",
    "gradients by hand": "for _ in range(9):\n    for p in net.parameters():\n        p.data -= 0.1 * torch.ones_like(p)",
    **{
        f"a step of {name}": "optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)\n"
        f"scheduler = torch.optim.lr_scheduler.{name}(optimizer{arguments})\n"
        "for _ in range(9):\n    {step}\n    scheduler.step()"
        for name, arguments in {
            "StepLR": ", 3",
            "LambdaLR": ", lambda epoch: 0.9 ** epoch",
            "OneCycleLR": ", 0.1, 100",
            "CosineAnnealingWarmRestarts": ", 3",
            "ExponentialLR": ", 0.9",
        }.items()
    },
    **{
        f"a step of {name}": f"optimizer = torch.optim.{name}(net.parameters())\nfor _ in range(9):\n    {{step}}"
        for name in ("Adagrad", "Adafactor", "LBFGS")
    },
}


@pytest.mark.parametrize("loop", LOOPS)
def test_training_changes_no_shape(predict_source: Callable[..., Graph], loop: str) -> None:
    step = "optimizer.step(lambda: net(torch.zeros(2, 4)).sum())" if "LBFGS" in loop else "optimizer.step()"
    graph = predict_source(
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.a = nn.Linear(4, 4)\n"
        "    def forward(self, x):\n"
        "        return self.a(x)\n"
        f"net = Net()\n{LOOPS[loop].format(step=step)}\n",
        "net",
    )
    assert graph.problems == ()
    assert [p.shape for p in graph.modules[1].parameters] == [(4, 4), (4,)]


def test_functions_of_torch_that_ask_change_nothing(predict_source: Callable[..., Graph]) -> None:
    graph = predict_source("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(4, 3)
                for p in self.parameters():
                    assert not torch.is_complex(p)
                    torch.is_same_size(p, p), torch.is_conj(p), torch.get_device(p), torch.relu_(p.data)
    """)
    assert graph.problems == ()
    assert [p.shape for p in graph.modules[1].parameters] == [(3, 4), (3,)]


@pytest.mark.parametrize(
    "expression",
    [
        "torch.fft.fft(v) * k",
        "k * torch.fft.fft(v)",
        "(torch.fft.fft(v) / 2) * k",
        "(torch.fft.fft(v) if k.sum() > 0 else torch.fft.ifft(v)) * k",
        "[torch.fft.fft(v), torch.fft.ifft(v)][int(k.sum() > 3)] * k",
        "k.clamp(torch.linalg.inv(v.expand(3, 8, 8)[:, :3, :3].sum((1, 2))), None) if False else torch.fft.fft(v) + k",
    ],
)
def test_what_a_library_gives_is_no_single_number(predict_source: Callable[..., Graph], expression: str) -> None:
    """A model that builds was said to be one that cannot be built."""
    graph = predict_source(f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                v, k = torch.zeros(3, 8), torch.hann_window(8)
                self.register_buffer("s", {expression})
                self.register_buffer("flat", self.s.reshape(24))
    """)
    assert not any("cannot be built" in problem.message for problem in graph.problems)
    found = {buffer.name: buffer.shape for buffer in graph.modules[0].buffers}
    assert found["s"] in (None, (3, 8), (None, None), (None, 8))


@pytest.mark.parametrize(
    "number", ["int(text)", "len(text)", "math.sqrt(float(text))", "float(text) / 3", "k.sum().item()"]
)
def test_a_number_that_is_not_known_keeps_the_shape(predict_source: Callable[..., Graph], number: str) -> None:
    graph = predict_source(f"""
        import math, os
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                text, k = os.environ["SCALE"], torch.rand(8)
                self.register_buffer("s", torch.ones(3, 8) * ({number}))
    """)
    assert [buffer.shape for buffer in graph.modules[0].buffers] == [(3, 8)]


def test_arguments_of_operators_may_be_given_by_name(agrees: Callable[[str], Graph]) -> None:
    agrees("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                x = torch.zeros(2, 3)
                self.register_buffer("a", torch.matmul(input=x, other=x.t()))
                self.register_buffer("b", torch.where(condition=x > 0, input=x, other=torch.ones(5, 2, 3)))
                self.register_buffer("c", torch.mm(x, mat2=x.t()))
                self.register_buffer("d", torch.outer(input=x[0], vec2=x[1]))
                self.register_buffer("e", torch.add(input=x, other=1))
                self.register_buffer("f", torch.sum(input=x, dim=1, keepdim=True))
                self.register_buffer("g", torch.pow(x, exponent=2))
    """)
