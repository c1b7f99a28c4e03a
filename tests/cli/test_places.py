"""Files are named as the user would type them from where he stands."""

from __future__ import annotations

import json
import os
import re
import textwrap
from pathlib import Path

import pytest

MODEL = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.parts = [nn.Linear(width, 4)]
            self.kind = open("kind.txt").read()
            self.body = nn.Sequential(*make(self.kind))

        def forward(self, x):
            return self.body(x)
    """


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "net.py").write_text(textwrap.dedent(MODEL))
    (tmp_path / "train.py").write_text("from models.net import Net\nmodel = Net(8)\n")
    (tmp_path / "below").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("cwd", "target"),
    [(".", "models/net.py"), ("models", "net.py"), ("below", "../models/net.py"), (".", "{absolute}"), (".", "models.net:Net")],
    ids=["above", "beside", "elsewhere", "absolute", "a module"],
)  # fmt: skip
@pytest.mark.parametrize("quiet", [[], ["-q"]], ids=["summary", "quiet"])
def test_a_file_that_is_named_is_there(project: Path, modgraph, cwd: str, target: str, quiet: list[str]) -> None:
    typed = target.format(absolute=project / "models" / "net.py")
    run = modgraph("analyze", typed, "--static", "--format", "json", *quiet, cwd=project / cwd)
    said = run.stdout + run.stderr
    named = re.findall(r"([\w./-]+\.py)(?=:\w)", said.replace("\n    ", ""))
    assert named
    assert {os.path.realpath(project / cwd / each) for each in named} <= {
        str((project / "models" / "net.py").resolve()),
        str((project / "train.py").resolve()),
    }
    if target.endswith(".py"):
        assert {os.path.isabs(each) for each in named if not each.endswith("train.py")} == {os.path.isabs(typed)}


def test_the_graph_itself_reads_the_same_from_everywhere(project: Path, modgraph) -> None:
    texts = []
    for cwd, target in ((".", "models/net.py"), ("models", "net.py")):
        run = modgraph("analyze", f"{target}:Net(8)", "--static", "--format", "json", "-o", "-", cwd=project / cwd)
        texts.append(json.loads(run.stdout))
    above, beside = (
        [(each["file"], each["line"]) for each in (*text["problems"], *text["findings"])] for text in texts
    )
    assert above == beside
    assert above
