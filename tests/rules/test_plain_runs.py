"""A run that is found in the text alone: healthy classes cost no interpreter, and no fault is lost by it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modgraph.rules import forward_looks, forward_rule, plain_runs, plain_tensors
from modgraph.rules.check import check_text
from modgraph.rules.names import Project
from modgraph.rules.registry import rules, selected
from modgraph.rules.subject import Subject

CODES = ("MG301", "MG302", "MG303", "MG304")
RULES = selected(list(CODES))
HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"

PLAIN = {
    "pictures": """
class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, kernel_size=5, padding=1)
        self.norm = nn.BatchNorm2d(16)
        self.pool = nn.AdaptiveAvgPool2d(5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2, 2, 1)
        x = self.pool(F.relu(self.norm(self.conv2(x))))
        x = torch.flatten(x, 1)
        return self.fc2(F.dropout(F.relu(self.fc1(x)), 0.5))
""",
    "blocks": """
class Block(nn.Module):
    expansion = 2

    def __init__(self, inner, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, planes, 3, stride, padding=1)
        self.conv2 = nn.Conv2d(planes, planes * self.expansion, 3, padding=1)
        self.shortcut = nn.Sequential()
        if stride != 1 or inner != planes * self.expansion:
            self.shortcut = nn.Sequential(nn.Conv2d(inner, planes * self.expansion, 1, stride), nn.BatchNorm2d(planes * 2))

    def forward(self, x):
        out = self.conv2(F.relu(self.conv1(x)))
        out += self.shortcut(x)
        return F.relu(out)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 16
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.layers = nn.ModuleList([self.make(8, 2, 1), self.make(24, 1, 2)])
        self.head = nn.Linear(48, 10)

    def make(self, planes, count, stride):
        made = []
        for each in [stride] + [1] * (count - 1):
            made.append(Block(self.width, planes, each))
            self.width = planes * 2
        return nn.Sequential(*made)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        x = F.adaptive_avg_pool2d(x, 1)
        return self.head(x.view(x.size(0), -1))
""",
    "joined": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
        self.down2 = nn.Sequential(nn.MaxPool2d(3, 2, 1), nn.Conv2d(8, 16, 3, padding=1), nn.PReLU(16))
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.last = nn.Conv2d(16, 4, 1)
        self.shuffle = nn.PixelShuffle(2)
        self.out = nn.Conv2d(1, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.up(self.down2(a))
        if b.shape[2:] != a.shape[2:]:
            b = F.interpolate(b, size=a.shape[2:])
        return self.out(self.shuffle(self.last(torch.cat([a, b], dim=1))))
""",
    "words": """
class Net(nn.Module):
    def __init__(self, words=100):
        super().__init__()
        self.embedding = nn.Embedding(words, 24)
        self.wide = nn.Linear(24, 64)
        self.mixer = nn.TransformerEncoderLayer(64, 4)
        self.norm = nn.LayerNorm(64)
        self.head = nn.Linear(64, 5)

    def forward(self, ids):
        states = self.wide(self.embedding(ids))
        states = self.norm(states + self.mixer(states))
        return self.head(states.mean(dim=1)), self.head(states.permute(1, 0, 2)[0])
""",
    "tokens": """
class Net(nn.Module):
    def __init__(self, width=48, heads=4):
        super().__init__()
        self.heads = heads
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, 48))
        self.qkv = nn.Linear(width, width * 3)
        self.out = nn.Linear(48, 48)
        self.mlp = nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 48))

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        b, n, c = x.shape
        x = torch.cat((self.token.expand(b, -1, -1), x), dim=1)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        weights = F.softmax(torch.matmul(q, k.transpose(-2, -1)) / 7, dim=-1)
        x = x + self.out(weights @ v)
        return self.mlp(x)[:, 0]
""",
}


def asked(
    text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, interpreted: bool = True
) -> tuple[dict[str, bool], list[Any]]:
    """What is found of each class that passes the first look, and what the interpreter reports of them all."""
    proved: dict[str, bool] = {}

    def spy(subject: Subject) -> bool:
        proved[subject.facts.qualname] = plain_runs.runs_plainly(subject)
        return not interpreted

    with monkeypatch.context() as patch:
        patch.setattr(forward_rule, "runs_plainly", spy)
        found = check_text(text, "example.py", str(folder / "example.py"), RULES, Project())
    return proved, found


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_class_that_fits_is_proved(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proved, found = asked(HEAD + PLAIN[name], tmp_path, monkeypatch)
    assert proved["Net"]
    assert found == []


def changed(text: str) -> Iterator[str]:
    """Each whole number of a text made another."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            lines = text.splitlines()
            line = lines[node.lineno - 1]
            for other in {node.value + 1, node.value * 2 + 3, max(node.value - 1, 0)} - {node.value}:
                lines[node.lineno - 1] = line[: node.col_offset] + str(other) + line[node.end_col_offset :]
                yield "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_reported_is_never_proved(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever number is changed. Where nothing is proved the interpreter is asked until it has reported ten times."""
    reported = 0
    for text in changed(HEAD + PLAIN[name]):
        proved, _ = asked(text, tmp_path, monkeypatch, False)
        if reported > 10 and not any(proved.values()):
            continue
        proved, found = asked(text, tmp_path, monkeypatch)
        for finding in found:
            reported += 1
            assert not proved[finding.class_name or ""], (finding.message, text)
    assert reported > 10


@pytest.mark.parametrize(
    "code",
    [example.code for rule in rules() if rule.code in CODES for example in rule.invalid],
)
def test_no_example_of_a_fault_is_proved(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proved, found = asked(code, tmp_path, monkeypatch)
    assert found
    assert not any(proved[finding.class_name or ""] for finding in found)


def test_a_healthy_class_loads_no_interpreter(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(HEAD + PLAIN["pictures"])
    program = (
        "import sys\n"
        "from modgraph.__main__ import main\n"
        "sys.argv = ['modgraph', 'check', '--no-cache', 'net.py']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print([name for name in sys.modules if name.startswith(('libcst', 'modgraph.prediction'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


FAULTS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)
        self.last = nn.Conv2d({channels}, 4, 1)

    def forward(self, x):
        x = self.first(x)
        {line}
        return self.last(x)
"""


@pytest.mark.parametrize(
    ("line", "channels"),
    [
        ("x = x + x.mean(dim=(2, 2), keepdim=True)", 8),
        ("x = F.max_pool2d(x, 3, 1, 3)", 8),
        ("x = F.max_pool2d(x, 2, 0)", 8),
        ("x = nn.functional.softmax(x, dim=4)", 8),
        ("x = torch.cat([x, x], dim=1)", 8),
        ("x = x.permute(0, 2, 2, 1)", 8),
        ("x = F.pad(x, (1, 1, 1))", 8),
        ("x = F.interpolate(x.flatten(2), scale_factor=2, mode='bilinear')", 8),
        ("x = torch.bmm(x, x)", 8),
        ("x = torch.mm(x, x)", 8),
        ("x = self.last(x) if None in (1, 2) else x + torch.zeros(5, 8, 2, 3, 7)", 8),
        ("y = x[:, :4] if x.size(0) == 3 else x\n        x = y if x.size(0) != 3 else x", 4),
    ],
)
def test_what_torch_refuses_is_not_proved(
    line: str, channels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved, _ = asked(HEAD + FAULTS.format(line=line, channels=channels), tmp_path, monkeypatch)
    assert not proved["Net"]


def test_a_name_of_the_file_is_not_taken_for_one_of_a_star_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "from nowhere_to_be_found import *\n\nwidth = 32\n" + FAULTS.format(line="pass", channels="width")
    proved, found = asked(HEAD + text, tmp_path, monkeypatch)
    assert not proved["Net"]
    assert [finding.code for finding in found] == ["MG301"]


TESTED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.norm = None

    def forward(self, x):
        x = self.body(x)
        if {test}:
            x = self.norm(x)
        return x
"""


@pytest.mark.parametrize(
    ("test", "is_asked"),
    [("self.norm is not None", False), ("self.norm", False), ("x is not None and self.norm", False), ("True", True)],
)
def test_a_call_behind_a_test_for_none_asks_nobody(
    test: str, is_asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved, found = asked(HEAD + TESTED.format(test=test), tmp_path, monkeypatch)
    assert bool(proved) is is_asked
    assert bool(found) is is_asked


@pytest.mark.parametrize(
    "line",
    [
        "n = math.factorial(3000000)",
        "n = 9 ** 9 ** 9",
        "y = torch.zeros(90000000000).split(1)",
        "y = x.chunk(300000000, 1)",
        "y = torch.flatten(x, 300000000)",
        "y = x.permute(*range(900000000))",
        "y = [1]\n        for _ in range(99):\n            y = y + y",
        "y = [1]\n        for _ in range(99):\n            y += y",
        "y, z = [1], [1]\n        for _ in range(99):\n            y, z = [y, y], [z, z]\n        y = y == z",
        "y = '%0900000000d' % 3",
        "y = '{:0900000000}'.format(3)",
        "y = 'aaaaaaaaaaaaaaaaaaaaaaaa'\n        for _ in range(9):\n            y = y.replace('a', y)",
    ],
)
def test_what_takes_much_is_not_done(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of these ends within a minute, or in the memory of a machine."""
    proved, _ = asked("import math\n" + HEAD + FAULTS.format(line=line, channels=9), tmp_path, monkeypatch, False)
    assert proved == {"Net": False}


def test_a_mistake_of_ours_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_: object, **__: object) -> None:
        raise AttributeError("of ours")

    monkeypatch.setitem(plain_tensors._OTHERS, "view", mistaken)
    with pytest.raises(AttributeError, match="of ours"):
        asked(HEAD + PLAIN["blocks"], tmp_path, monkeypatch)


CHAIN = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        a0 = {first}
{steps}        self.one = nn.Linear(a{last}, 8)
        self.two = nn.Linear(8, 16)

    def forward(self, x):
        return self.two(self.one(x))
"""


@pytest.mark.parametrize("first", ["8", "somewhere()"])
def test_a_chain_of_sizes_costs_its_length(first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = 0
    real = forward_looks.Sizes._below

    def below(*given: Any) -> Any:
        nonlocal counted
        counted += 1
        assert counted < 5_000
        return real(*given)

    monkeypatch.setattr(forward_looks.Sizes, "_below", below)
    steps = "".join(f"        a{n + 1} = a{n} - a{n} + 8\n" for n in range(400))
    asked(HEAD + CHAIN.format(first=first, steps=steps, last=400), tmp_path, monkeypatch)
    assert counted > 400


@pytest.mark.parametrize(
    "line",
    ["x = self.fc.frobnicate(x)", "x = torch.frobnicate(x)", "x = self.fc(x, x)", "x = self.gone(x)", "x = x.frob(8)"],
)
def test_what_is_not_understood_is_not_proved(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 16)
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        x = self.fc(x)
        {line}
        return self.head(x)
"""
    proved, _ = asked(HEAD + text, tmp_path, monkeypatch)
    assert not proved["Net"]


PRODUCTS = [
    *("x @ y", "x @ self.w", "self.w @ x", "x @ self.k", "3 @ x", "x @ None", "x @ self.b.weight", "x @ self.a"),
    *("torch.matmul(x, self.b.weight)", "torch.mm(x, y)", "torch.bmm(y, self.w)", "2 @ 3", "[1] @ x", "x.shape @ x"),
    *("self.k @ self.k", "(y @ y) @ (x @ x)", "torch.baddbmm(y, x, self.w)", "x @ x.shape[0]"),
]


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_of_what_may_be_no_tensor_is_looked_at_without_a_fault(product: str) -> None:
    text = f"""{HEAD}class Net(nn.Module):
    def __init__(self, w=None):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
        self.b = nn.Sequential(nn.Linear(4, 16), nn.ReLU())
        self.w = w
        self.k = 3

    def forward(self, x, y=None):
        return {product}
"""
    assert not [each for each in check_text(text, "net.py", "net.py", RULES, Project()) if each.code not in CODES]
