"""A graph of the source alone says why it has no calls, at the line, where `forward` could not be followed."""

from __future__ import annotations

import builtins
import json
import re
from pathlib import Path

import jsonschema
import pytest

import modgraph
from modgraph.export.text.summary import summary
from modgraph.graph.serial import schema
from modgraph.prediction.domain import budget

PRELUDE = "import torch\nfrom torch import nn\n"
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
"""

WITHOUT = [
    ("", "class Net", "the class has no forward"),
    (
        "    def forward(self, batch):\n        return self.a(batch['image'][0]['x'])\n",
        "return self.a(batch",
        "raises IndexError: tensors cannot be indexed by a str; batch is taken for a mapping of tensors, as nobody gave inputs",
    ),
    (
        "    def forward(self, images, targets):\n        raise NotImplementedError('later')\n",
        "raise NotImplementedError",
        "raises NotImplementedError: later; images, targets are taken for tensors, as nobody gave inputs",
    ),
    (
        "    def forward(self, *args):\n        return self.a(args[0])\n",
        "return self.a(args[0])",
        "raises IndexError: tuple index out of range",
    ),
    (
        "    def forward(self, x):\n        import nowhere\n        return nowhere.run(self.a, x)\n",
        "return nowhere.run",
        "what is called here is not known: No module named 'nowhere'",
    ),
    ("    def forward(self, x):\n        while True:\n            x = x + 1\n", "while True", "this loop never ends"),
]


@pytest.mark.parametrize(("forward", "line", "message"), WITHOUT)
def test_the_reason_and_the_line_are_told(forward: str, line: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(PRELUDE + NET + forward, encoding="utf-8")
    graph = modgraph.predict(f"{file}:Net")
    assert graph.complete
    assert graph.calls == ()
    why = graph.model.no_calls
    assert why is not None
    number = next(i for i, each in enumerate(file.read_text(encoding="utf-8").splitlines(), 1) if line in each)
    assert (why.message, why.file, why.line) == (message, "net.py", number)
    document = json.loads(graph.to_json())
    jsonschema.validate(document, schema())
    assert document["model"]["no_calls"]["line"] == number
    graph.save(tmp_path / "net.json")
    assert modgraph.load(tmp_path / "net.json") == graph


def test_the_module_in_whose_call_it_is_is_named(tmp_path: Path) -> None:
    inner = "class Inner(nn.Module):\n    def forward(self, x):\n        raise ValueError('no')\n"
    outer = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.inner = Inner()\n"
    file = tmp_path / "net.py"
    file.write_text(
        f"{PRELUDE}{inner}{outer}    def forward(self, x):\n        return self.inner(x)\n", encoding="utf-8"
    )
    why = modgraph.predict(f"{file}:Net").model.no_calls
    assert why is not None
    assert why.line == 5


def test_a_limit_that_is_reached_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_FORWARD_WORK", budget.MAX_FORWARD_WORK // 100)
    file = tmp_path / "net.py"
    body = "    def forward(self, x):\n        for i in range(15000):\n            x = self.a(x)[:, :3]\n        return x\n"
    file.write_text(PRELUDE + NET + body, encoding="utf-8")
    why = modgraph.predict(f"{file}:Net").model.no_calls
    assert why is not None
    assert "units of work" in why.message


@pytest.mark.parametrize("forward", [True, False])
def test_nothing_is_said_where_there_are_calls_or_nobody_asked(forward: bool, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(f"{PRELUDE}{NET}    def forward(self, x):\n        return self.a(x)\n", encoding="utf-8")
    graph = modgraph.predict(f"{file}:Net", forward=forward)
    assert bool(graph.calls) == forward
    assert graph.model.no_calls is None
    assert "no_calls" not in json.loads(graph.to_json())["model"]


def test_the_summary_says_it(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(PRELUDE + NET, encoding="utf-8")
    graph = modgraph.predict(f"{file}:Net")
    assert "forward     not predicted, net.py:4: the class has no forward\n" in summary(graph)
    for name in ("net.md", "net.html", "net.dot"):
        graph.save(tmp_path / name)
        assert "the class has no forward" in (tmp_path / name).read_text(encoding="utf-8")


def test_it_is_said_where_a_problem_of_the_tree_has_the_same_cause(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        f"import absent\n{PRELUDE}class Net(absent.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(2, 2)\n\n    def forward(self, x):\n        return self.a(x)\n",
        encoding="utf-8",
    )
    graph = modgraph.predict(f"{file}:Net")
    assert not graph.complete
    assert not graph.calls
    assert graph.model.no_calls is not None
    assert "absent" in graph.model.no_calls.message


WRONG = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(32, 32), nn.Linear(32, 64)
    def forward(self, x):
        return self.q(x) @ self.k(x).transpose(1, 2)
"""


def test_where_each_shape_is_refused_that_was_tried_one_is_told(tmp_path):
    (tmp_path / "net.py").write_text(PRELUDE + WRONG, encoding="utf-8")
    graph = modgraph.predict(f"{tmp_path / 'net.py'}:Net")
    assert graph.model.open_shapes is not None
    assert graph.model.open_shapes.line is not None
    said = re.search(r"not known: x = (.*) is refused at net.py:(\d+): (\w+): ", summary(graph))
    assert said is not None
    shape, line, kind = said.groups()
    space: dict = {}
    exec(PRELUDE + WRONG, space)
    torch = pytest.importorskip("torch")
    sizes = [int(size) if size.isdecimal() else 5 + place for place, size in enumerate(shape.split(" x "))]
    with pytest.raises(getattr(builtins, kind)):
        space["Net"]()(torch.rand(sizes))
    assert "@" in (tmp_path / "net.py").read_text().splitlines()[int(line) - 1]
