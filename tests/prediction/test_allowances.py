"""What module-level names may cost: of many each pays for itself, and of one that costs too much only it is unknown."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modgraph.graph.model import Graph
from modgraph.prediction.entry import interpreter

MACHINE = type(interpreter([]))

COUNTED = "def counted(n):\n    total = 0\n    for i in range(n):\n        total += i % 7\n    return total\n"

GREEDY = (
    "import os\nWORD = os.environ.get('WORD', '')\n"
    "def compiled(text): return [_at7(letter, 0) for letter in text]\n"
    "def _at0(letter, n):\n    for i in range(50):\n        n += i\n    return n\n"
) + "".join(
    f"def _at{i}(letter, n):\n    if WORD[n:] == letter:\n        return _at{i - 1}(letter, n + {2**i})\n"
    f"    return _at{i - 1}(letter, n)\n"
    for i in range(1, 8)
)
"""A library that searches something unknown in all directions."""


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many steps were taken, of whatever."""
    taken = 0
    step = MACHINE.step

    def counting(machine: Any) -> None:
        nonlocal taken
        taken += 1
        step(machine)

    monkeypatch.setattr(MACHINE, "step", counting)
    return lambda: taken


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., None]:
    """put(name, text, installed=False): a module beside the model; where one is installed, all are."""

    def write(name: str, text: str, *, installed: bool = False) -> None:
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        if installed:
            (tmp_path / f"{name}-1.0.dist-info").mkdir()

    return write


def test_a_name_does_not_pay_for_those_that_it_needs(
    predict_source: Callable[..., Graph], put: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python itself says what the thirty come to; together they take more than one name may."""
    monkeypatch.setattr("modgraph.prediction.interpreter.MAX_MODULE_STEPS", 1500)
    names = [f"N{i}" for i in range(30)]
    table = COUNTED + "".join(f"{name} = counted({200 + i})\n" for i, name in enumerate(names))
    put("tables", table + f"WIDTH = sum([{', '.join(names)}])\n")
    said = subprocess.run(
        [sys.executable, "-c", "import tables; print(tables.WIDTH)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    graph = predict_source(
        "from tables import WIDTH\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.l = nn.Linear(WIDTH, 2)\n",
        with_torch=False,
    )
    assert graph.problems == ()
    assert graph.modules[1].parameters[0].shape == (2, int(said.stdout))


def test_of_a_name_that_costs_too_much_only_it_is_unknown(
    predict_source: Callable[..., Graph], put: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("modgraph.prediction.interpreter.MAX_MODULE_STEPS", 1500)
    put("tables", COUNTED + "LONG = counted(5000)\nSHORT = 3\n")
    graph = predict_source(
        "import tables\ndef told(cls):\n    cls.note = tables.LONG\n    return cls\n"
        "@told\nclass Part(nn.Linear):\n    pass\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.a = Part(tables.SHORT, 4)\n        self.b = nn.Linear(tables.LONG, 4)\n",
        with_torch=False,
    )
    shapes = {node.path: node.parameters[0].shape for node in graph.modules[1:]}
    assert shapes == {"a": (4, 3), "b": (4, None)}


@pytest.mark.parametrize("installed", [False, True])
def test_a_library_that_is_there_leaves_known_what_was_known_without_it(
    predict_source: Callable[..., Graph],
    put: Callable[..., None],
    steps: Callable[[], int],
    installed: bool,
) -> None:
    """The layers do not need what the library makes; a second pattern is not even begun."""
    put(
        "kit",
        "import greedy\nfrom torch import nn\n"
        + "".join(f"P{i} = greedy.compiled('{'abcdefgh' * 40}{i}')\n" for i in range(6))
        + "def documented(cls):\n    cls.patterns = [P0, P1, P2, P3, P4, P5]\n    return cls\n"
        "@documented\nclass Base(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
        "        self.l = nn.Linear(n, n)\n",
        installed=True,
    )
    if installed:
        put("greedy", GREEDY)
    graph = predict_source(
        "import kit\nclass Net(kit.Base):\n    def __init__(self):\n        super().__init__(3)\n"
        "        self.act = nn.ReLU()\n",
        with_torch=False,
    )
    assert [(node.path, node.class_name) for node in graph.modules] == [
        ("", "net.Net"),
        ("l", "torch.nn.modules.linear.Linear"),
        ("act", "torch.nn.modules.activation.ReLU"),
    ]
    # What stands in the list of the class is not known, and that is all.
    said = "the model may hold further modules in 'patterns["
    assert all(each.message.startswith(said) for each in graph.problems)
    assert steps() < 20_000


def test_what_was_being_changed_when_it_was_given_up_is_not_known(
    predict_source: Callable[..., Graph], put: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python goes on, and puts Tanh there."""
    monkeypatch.setattr("modgraph.prediction.interpreter.MAX_MODULE_STEPS", 1500)
    put("tables", "from torch import nn\nLAYERS = {'act': nn.ReLU, 'norm': nn.BatchNorm1d}\n")
    put(
        "filling",
        COUNTED + "from torch import nn\nfrom tables import LAYERS\n"
        "def fill():\n    LAYERS['act'] = nn.GELU\n    n = counted(5000)\n    LAYERS['act'] = nn.Tanh\n    return n\n"
        "N = fill()\n",
    )
    graph = predict_source(
        "from tables import LAYERS\nimport filling\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.act = LAYERS['act']()\n        self.l = nn.Linear(filling.N, 2)\n",
        with_torch=False,
    )
    assert graph.modules[1].path == "act"
    assert graph.modules[1].class_name in (None, "torch.nn.modules.activation.Tanh")


PATTERNS = """
def compiled(text):
    found = []
    for i in range(40_000):
        found.append(i % 7)
    return found
def short(n):
    return n + 1
"""


def test_a_library_that_never_says_torch_gets_a_part_of_what_a_name_may_cost(
    predict_source: Callable[..., Graph], put: Callable[..., None], steps: Callable[[], int]
) -> None:
    """What it makes of little is followed, and what asks it for much goes on without that."""
    put("patterns", PATTERNS, installed=True)
    put("layers", "import patterns\nimport torch\nPATTERN = patterns.compiled('x')\nWIDTH = patterns.short(6)\n")
    graph = predict_source(
        "import layers\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(layers.WIDTH, 2)\n"
        "        self.b = nn.Linear(len(layers.PATTERN), 2)\n"
    )
    nodes = {node.path: node for node in graph.modules}
    assert nodes["a"].parameters[0].shape == (2, 7)
    assert nodes["b"].parameters[0].shape == (2, None)
    assert steps() < 12_000
    assert any("5000 steps" in str(problem) for problem in graph.problems) or not graph.complete


def test_a_library_that_says_torch_has_all_of_it(
    predict_source: Callable[..., Graph], put: Callable[..., None]
) -> None:
    put("patterns", "import torch\n" + PATTERNS.replace("40_000", "9_000"), installed=True)
    put("layers", "import patterns\nPATTERN = patterns.compiled('x')\n")
    graph = predict_source(
        "import layers\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.b = nn.Linear(len(layers.PATTERN), 2)\n"
    )
    nodes = {node.path: node for node in graph.modules}
    assert nodes["b"].parameters[0].shape == (2, 9_000)
