"""What a module does to torch or to others when it is imported is followed or said: never neither."""

from __future__ import annotations

from pathlib import Path

import pytest

import modgraph

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 3)
"""


def problems(text: str, folder: Path) -> list[tuple[int | None, str]]:
    (folder / "other.py").write_text("WIDTH = 3\nclass Part: pass\n", encoding="utf-8")
    (folder / "net.py").write_text("import torch\nfrom torch import nn\n" + text + NET, encoding="utf-8")
    graph = modgraph.predict(f"{folder / 'net.py'}:Net", path=[str(folder)])
    return [(problem.line, problem.message) for problem in graph.problems]


@pytest.mark.parametrize(
    "text",
    [
        "torch.nn.Linear.__init__ = print",
        "nn.Module.add = lambda self, n, m: self.add_module(n, m)",
        "torch.set_default_tensor_type(torch.DoubleTensor)",
        "nn.Module.device: object = property(lambda self: 'cpu')",
    ],
)
def test_a_change_that_is_not_followed_is_a_problem_with_its_line(text: str, tmp_path: Path) -> None:
    found = problems(text, tmp_path)
    assert [line for line, message in found if "not followed" in message] == [3]


def test_also_below_an_if(tmp_path: Path) -> None:
    assert [line for line, _ in problems("if True:\n    pass\n    nn.Linear.__init__ = print\n", tmp_path)] == [5]


@pytest.mark.parametrize(
    "text",
    [
        "torch.backends.cudnn.benchmark = True",
        "import os; os.environ['A'] = '1'",
        "torch.manual_seed(0)",
        "import logging; logging.raiseExceptions = False",
        "class Own: pass\nOwn.size = 3",
        "def patch():\n    nn.Linear = nn.Identity\n",
        "import torch.nn.functional as F\nact = F.relu",
    ],
)
def test_what_changes_no_model_is_none(text: str, tmp_path: Path) -> None:
    assert problems(text, tmp_path) == []
