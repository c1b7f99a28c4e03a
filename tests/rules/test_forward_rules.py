"""MG301 to MG304: what is reported of `forward` fails in torch with every input, and at that line; what is not, runs."""

from __future__ import annotations

import inspect
import itertools
import re
import sys
import textwrap
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modgraph.findings import Finding
from modgraph.rules.check import check_text
from modgraph.rules.names import Project
from modgraph.rules.registry import rules, selected
from modgraph.rules.rule import Invalid, Rule, Valid

CODES = ("MG301", "MG302", "MG303", "MG304")
RULES = selected(list(CODES))


def found_in(text: str, folder: Path, chosen: Any = RULES) -> list[Finding]:
    return check_text(text, "example.py", str(folder / "example.py"), chosen, Project())


def inputs() -> list[Any]:
    """Tensors of every number of dimensions that a layer may take, of channels and features as they stand in examples."""
    import torch

    shapes = [
        (8,),
        (2, 8),
        (2, 10),
        (2, 3, 8),
        (2, 2),
        (2, 512),
        (1, 784),
        (3, 32, 32),
        (2, 3, 12, 12),
        (2, 1, 32, 32),
        (2, 4, 8, 8),
    ]
    return [
        *(torch.ones(shape) for shape in shapes),
        torch.ones(2, 5, dtype=torch.int64),
        torch.ones(5, dtype=torch.int64),
    ]


def runs_of(text: str, name: str) -> Iterator[int | None]:
    """For each of many inputs the line in which a run fails, or None."""
    space: dict[str, Any] = {"__name__": "example"}
    exec(compile(text, "example.py", "exec"), space)
    wanted = inspect.signature(space[name]).parameters.values()
    model = space[name](**{each.name: 8 for each in wanted if each.default is inspect.Parameter.empty})
    number = len(inspect.signature(model.forward).parameters)
    for mode in (True, False):
        model.train(mode)
        yield from (failure_of(model, given) for given in itertools.product(inputs(), repeat=number))


def failure_of(model: Any, given: tuple[Any, ...]) -> int | None:
    try:
        model(*given)
    except Exception as error:
        lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == "example.py"]
        return lines[-1] or 0
    return None


def examples(kind: str) -> list[Any]:
    return [
        pytest.param(rule, example, id=f"{rule.code}-{number}")
        for rule in rules()
        if rule.code in CODES
        for number, example in enumerate(getattr(rule, kind))
    ]


@pytest.mark.needs_torch
@pytest.mark.parametrize(("rule", "example"), examples("invalid"))
def test_torch_fails_with_every_input_and_comes_to_the_line(rule: Rule, example: Invalid, tmp_path: Path) -> None:
    (finding,) = found_in(example.code, tmp_path, [rule])
    lines = list(runs_of(example.code, finding.class_name or ""))
    assert len(lines) > 10
    assert None not in lines
    assert finding.line in lines
    assert "fails with every input" in finding.message


@pytest.mark.needs_torch
@pytest.mark.parametrize(("rule", "example"), examples("valid"))
def test_torch_runs_what_is_not_reported(rule: Rule, example: Valid) -> None:
    names = re.findall(r"^class (\w+)", example.code, re.MULTILINE)
    text = example.code
    if "given" in example.why:  # the layer that is an argument
        text = text.replace("norm=None", "norm=nn.ReLU()")
    if "other code" in example.why:
        text += "\nNet.__init__, made = (lambda self, old=Net.__init__: (old(self), setattr(self, 'head', nn.ReLU()))[0]), 0\n"
    if "argument is 32" in example.why:
        text = text.replace("def __init__(self, width)", "def __init__(self, width=32)")
    assert None in set(runs_of(text, names[-1]))


def faulty(body: str) -> str:
    return "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n" + textwrap.dedent(body)


FAULTY = {
    "a block that is given what it was not made for": """
        class Block(nn.Module):
            def __init__(self, a, b):
                super().__init__()
                self.conv = nn.Conv2d(a, b, 3, padding=1)

            def forward(self, x):
                return self.conv(x)  # MG301

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = Block(3, 8)
                self.two = Block(16, 8)

            def forward(self, x):
                return self.two(self.one(x))
        """,
    "sizes of a view": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv2d(3, 8, 3)
                self.fc = nn.Linear(400, 10)

            def forward(self, x):
                x = F.relu(self.conv(x)).reshape(-1, 16 * 5 * 4)
                return self.fc(x)  # MG301
        """,
    "a normalisation behind a mean": """
        class Net(nn.Module):
            def __init__(self, classes=10):
                super().__init__()
                self.stem = nn.Sequential(nn.Conv2d(3, 24, 4, 4), nn.BatchNorm2d(24), nn.GELU())
                self.norm = nn.LayerNorm(48)
                self.head = nn.Linear(48, classes)

            def forward(self, x):
                x = self.stem(x).mean([-2, -1])
                return self.head(self.norm(x))  # MG301
        """,
    "what is built by default": """
        class Net(nn.Module):
            def __init__(self, width=32):
                super().__init__()
                self.first = nn.Linear(8, width)
                self.second = nn.Linear(64, 4)

            def forward(self, x):
                return self.second(self.first(x))  # MG301
        """,
    "a chain in a loop": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(8, 8)) for _ in range(3)])

            def forward(self, x):
                for block in self.blocks:
                    x = x + block(x)  # MG302
                return x
        """,
    "a chain after a failure that is caught": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.two = nn.Linear(3, 4)
                self.body = nn.Sequential(nn.Linear(8, 8), nn.Linear(9, 8))

            def forward(self, x):
                y = torch.zeros(2, 8)
                try:
                    self.two(y)
                except RuntimeError:
                    pass
                return self.body(y)  # MG302
        """,
    "an attention of another width": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Linear(8, 32)
                self.attention = nn.MultiheadAttention(64, 4, batch_first=True)

            def forward(self, x):
                x = self.embed(x)
                x, _ = self.attention(x, x, x)  # MG301
                return x
        """,
    "an argument by a name that is not there": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(8, 8)
                self.drop = nn.Dropout(0.1)

            def forward(self, x):
                return self.drop(self.fc(x), training=self.training)  # MG303
        """,
}

HARMLESS = {
    "joined along the channels, or along the height of one picture": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Conv2d(3, 8, 1)
                self.b = nn.Conv2d(3, 8, 1)
                self.c = nn.Conv2d(8, 8, 1)

            def forward(self, x):
                return self.c(torch.cat([self.a(x), self.b(x)], 1))
        """,
    "each way of a test fails, and neither is sure": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(8, 16)
                self.second = nn.Linear(32, 4)
                self.third = nn.Linear(64, 4)

            def forward(self, x, flag):
                x = self.first(x)
                if flag.sum() > 0:
                    return self.second(x)
                return self.third(x)
        """,
    "the fault is only in training": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(8, 16)
                self.second = nn.Linear(16, 4)
                self.extra = nn.Linear(32, 4)

            def forward(self, x):
                x = self.first(x)
                if self.training:
                    return self.extra(x)
                return self.second(x)
        """,
    "the exception is caught": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(8, 16)
                self.second = nn.Linear(32, 4)

            def forward(self, x):
                x = self.first(x)
                try:
                    return self.second(x)
                except RuntimeError:
                    return x
        """,
    "a layer is replaced in the file": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(8, 16)
                self.fc = nn.Linear(32, 1000)

            def forward(self, x):
                return self.fc(self.body(x))

        def tuned():
            net = Net()
            net.fc = nn.Linear(16, 2)
            return net
        """,
    "a required argument decides": """
        class Net(nn.Module):
            def __init__(self, width, classes=64):
                super().__init__()
                self.first = nn.Linear(8, classes)
                self.second = nn.Linear(32, width)

            def forward(self, x):
                return self.second(self.first(x))
        """,
    "a module from elsewhere": """
        from somewhere import shrink

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(8, 16)
                self.second = nn.Linear(32, 4)

            def forward(self, x):
                return self.second(shrink(self.first(x)))
        """,
    "a list of pictures": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Conv2d(3, 8, 1)
                self.two = nn.Conv2d(8, 4, 1)

            def forward(self, xs):
                if isinstance(xs, list):
                    xs = torch.stack(xs)
                return self.two(self.one(xs))
        """,
    "two inputs of different ranks": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.image = nn.Linear(8, 32)
                self.text = nn.Embedding(90, 32)
                self.attention = nn.MultiheadAttention(32, 4, batch_first=True)
                self.score = nn.Linear(32, 1)

            def forward(self, regions, ids):
                r, t = self.image(regions), self.text(ids)
                x, _ = self.attention(t, r, r)
                return self.score(x[:, 0]).squeeze(1)
        """,
    "a dtype is the matter, and no shape": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(8, 16)
                self.second = nn.Linear(16, 4)

            def forward(self, x):
                counts = torch.ones(4, 8, dtype=torch.int64)
                return self.second(self.first(x)) + counts.mean()
        """,
    "nothing is ever called": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.chain = nn.Sequential(nn.Linear(8, 16), nn.Linear(32, 8))

            def forward(self, x):
                return self.chain[0](x)
        """,
    "the module is set by setattr": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                for name in ("head", "tail"):
                    setattr(self, name, nn.Linear(8, 8))

            def forward(self, x):
                return self.tail(self.head(x))
        """,
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_is_found_at_its_line(name: str, tmp_path: Path) -> None:
    text = faulty(FAULTY[name])
    wanted = [
        (match[1], number)
        for number, line in enumerate(text.split("\n"), 1)
        if (match := re.search(r"# (MG\d+)", line))
    ]
    found = found_in(text, tmp_path)
    assert [(each.code, each.line) for each in found] == wanted
    assert all(each.related for each in found)
    assert all(re.search(r"line \d+", each.message) for each in found)


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", FAULTY)
def test_torch_fails_there(name: str, tmp_path: Path) -> None:
    text = faulty(FAULTY[name])
    (finding,) = found_in(text, tmp_path)
    lines = list(runs_of(text, "Net"))
    assert None not in lines
    assert finding.line in lines


@pytest.mark.parametrize("name", HARMLESS)
def test_nothing_is_said_of_what_may_run(name: str, tmp_path: Path) -> None:
    assert found_in(faulty(HARMLESS[name]), tmp_path) == []


def test_the_instances_are_named_where_not_all_fail(tmp_path: Path) -> None:
    (finding,) = found_in(faulty(FAULTY["what is built by default"]), tmp_path)
    assert "forward of Net() fails with every input" in finding.message
    (finding,) = found_in(faulty(FAULTY["sizes of a view"]), tmp_path)
    assert "; forward fails with every input" in finding.message


SIZES_BY_NAME = """\
from torch import nn

class Net(nn.Module):
    def __init__(self, width=8, hidden=64, classes=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(){more})
        self.head = nn.Linear({size}, classes)

    def forward(self, x):
        return self.head(self.body(x))
"""


@pytest.mark.parametrize("more", ["", ", nn.Linear(hidden, hidden)", ", nn.Linear(hidden, hidden // 2)"])
@pytest.mark.parametrize("size", ["hidden", "hidden * 2", "width", "hidden // 2", "classes"])
def test_sizes_that_are_all_arguments_with_defaults_are_in_question(size: str, more: str, tmp_path: Path) -> None:
    text = SIZES_BY_NAME.format(size=size, more=more)
    found = found_in(text, tmp_path)
    fails = all(line is not None for line in runs_of(text, "Net"))
    assert [each.line for each in found] == ([10] if fails else [])


def test_a_finding_names_both_layers_their_sizes_and_their_lines(tmp_path: Path) -> None:
    code = next(rule for rule in rules() if rule.code == "MG301").invalid[0].code
    (finding,) = found_in(code, tmp_path)
    assert finding.message == (
        "`self.fc2` (line 10) takes 84 features and is given 120: a tensor of shape (?, 120) from `self.fc1` (line 9); "
        "forward fails with every input"
    )
    assert [each.line for each in finding.related] == [10, 9]
    assert (finding.column, finding.attribute) == (16, "fc2")


BEHIND = {
    "gru": "self.emb, self.part = nn.Embedding(10, 12), nn.GRU(12, 12, batch_first=True)",
    "lstm": "self.emb, self.part = nn.Embedding(10, 12), nn.LSTM(12, 12)",
    "attention": "self.emb, self.part = nn.Embedding(10, 12), Attending(12, 3, batch_first=True)",
    "linear": "self.emb, self.part = nn.Linear(12, 12), nn.GRU(12, 12)",
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", BEHIND)
def test_no_layer_is_named_that_takes_what_it_is_usually_given(name: str, tmp_path: Path) -> None:
    """What fails is the layer behind it, which is given several tensors."""
    import torch

    text = f"""
import torch
from torch import nn

class Attending(nn.MultiheadAttention):
    def forward(self, x):
        return super().forward(x, x, x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {BEHIND[name]}
        self.last = nn.Linear(12, 2)

    def forward(self, x):
        made = self.part(self.emb(x))
        return self.last(made)
"""
    space: dict[str, Any] = {}
    exec(text, space)
    given = torch.ones(4, 7, 12) if name == "linear" else torch.ones(4, 7).long()
    with pytest.raises(TypeError, match="linear"):
        space["Net"]()(given)
    assert {each.line for each in found_in(text, tmp_path)} <= {
        text.splitlines().index("        return self.last(made)") + 1
    }


def test_a_comment_silences_it(tmp_path: Path) -> None:
    text = faulty(FAULTY["sizes of a view"]).replace("# MG301", "# modgraph: ignore[MG301] replaced by its users")
    assert found_in(text, tmp_path) == []


CONFIGURED = """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = nn.Linear(config.hidden_size, 4 * config.hidden_size)
        self.down = nn.Linear(4 * config.hidden_size, config.hidden_size)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))
"""


def test_a_class_of_which_no_size_is_known_is_not_interpreted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from modgraph.rules.subject import Subject

    def refuse(self: Subject, openly: bool = False) -> None:
        raise AssertionError("it is interpreted")

    monkeypatch.setattr(Subject, "interpreted_apart", refuse)
    assert found_in(CONFIGURED, tmp_path) == []
    with pytest.raises(AssertionError, match="it is interpreted"):
        found_in(faulty(FAULTY["sizes of a view"]), tmp_path)


def test_the_work_is_bounded_and_nothing_is_said_beyond(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import modgraph.rules.interpretation as interpretation

    text = faulty(FAULTY["sizes of a view"])
    monkeypatch.setattr(interpretation, "MAX_WORK_OF_A_CLASS_APART", 200)
    project = Project()
    found = check_text(text, "example.py", str(tmp_path / "example.py"), RULES, project)
    assert (found, project.given_up, project.cut) == ([], {}, {})
    monkeypatch.undo()
    assert len(found_in(text, tmp_path)) == 1


def test_torch_is_not_imported(tmp_path: Path) -> None:
    import subprocess

    file = tmp_path / "net.py"
    file.write_text(faulty(FAULTY["sizes of a view"]))
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from modgraph.cli import main\n"
        f"status = main(['check', '--no-cache', '--isolated', '--format', 'concise', {str(file)!r}])\n"
        "sys.exit(status)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stderr
    assert "MG301" in run.stdout
