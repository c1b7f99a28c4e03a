"""A rule that names the error that torch raises is right about its class and its line: torch is asked."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

import pytest

from modgraph.rules.check import check_text
from modgraph.rules.names import Project
from modgraph.rules.registry import selected

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict()
        self.body = nn.Sequential()
        self.scale = nn.Parameter(torch.ones(1))
"""
TAIL = """
    def head(self):
        return 1

    @property
    def late(self):
        return self.not_there_yet.weight

    @property
    def early(self):
        return self.scale
"""
PLACE = HEAD.count("\n") + 1

STATEMENTS = [
    'self.add_module("a.b", nn.Linear(1, 1))',
    'self.add_module("a.b", [nn.Linear(1, 1)])',
    'self.add_module("a.b", nn.Linear)',
    'self.add_module("a.b", F.relu)',
    'self.add_module("a.b", nn.Parameter(torch.ones(1)))',
    'self.add_module("", None)',
    'self.add_module("a.b", 3)',
    "self.add_module(3, nn.Linear(1, 1))",
    "self.add_module(3, [nn.Linear(1, 1)])",
    "self.add_module(None, nn.Linear(1, 1))",
    'self.add_module("head", nn.Linear(1, 1))',
    'self.add_module("late", nn.Linear(1, 1))',
    'self.add_module("early", nn.Linear(1, 1))',
    'self.add_module("training", nn.Linear(1, 1))',
    'self.add_module("weight", nn.Linear(1, 1))',
    'self.add_module(name="forward", module=nn.Linear(1, 1))',
    'self.register_module(name="a.b", module={})',
    'self.register_parameter("a.b", nn.Parameter(torch.ones(1)))',
    'self.register_parameter("a.b", torch.ones(1))',
    'self.register_parameter("", None)',
    "self.register_parameter(5, nn.Parameter(torch.ones(1)))",
    'self.register_buffer("a.b", torch.ones(1))',
    'self.register_buffer("a.b", 3)',
    "self.register_buffer(5, torch.ones(1))",
    'self.register_buffer("forward", None)',
    'self.body.add_module("a.b", nn.Linear(1, 1))',
    'self.heads["a.b"] = nn.Linear(1, 1)',
    'self.heads["keys"] = nn.Linear(1, 1)',
    'self.heads["keys"] = [nn.Linear(1, 1)]',
    'self.heads[""] = nn.Linear(1, 1)',
    "self.heads[3] = nn.Linear(1, 1)",
    'self.heads["a"] = nn.Linear(1, 1)',
    'self.other = nn.ModuleDict({"a.b": nn.Linear(1, 1)})',
    'self.other = nn.ModuleDict({"a.b": nn.Linear})',
    'self.other = nn.ModuleDict({"type": [nn.Linear(1, 1)]})',
    "self.other = nn.ModuleDict({3: nn.Linear(1, 1)})",
    'self.other = nn.ModuleDict({"fine": F.relu, "a.b": nn.Linear(1, 1)})',
    'setattr(self, "a.b", nn.Linear(1, 1))',
    'setattr(self, "", nn.Linear(1, 1))',
    "setattr(self, 3, nn.Linear(1, 1))",
    'setattr(self, "a.b", 3)',
    "self.other = nn.ModuleList([nn.Linear(1, 1), [nn.Linear(1, 1)]])",
    "self.other = nn.ModuleList(nn.Linear(1, 1), nn.Linear(1, 1))",
    "self.other = nn.Sequential([nn.Linear(1, 1)])",
    "self.other = nn.ModuleList([F.relu])",
]


def raised(code: str) -> tuple[str, int] | None:
    """The class of what torch raises, and the line of the text in which it does."""
    namespace: dict[str, object] = {"__name__": "example"}
    exec(compile(code, "example.py", "exec"), namespace)
    try:
        namespace["Net"]()  # type: ignore[operator]
    except Exception as error:
        frames = [
            each.lineno or 0 for each in traceback.extract_tb(error.__traceback__) if each.filename == "example.py"
        ]
        return type(error).__name__, frames[-1]
    return None


@pytest.mark.needs_torch
@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_error_that_a_finding_names_is_raised(statement: str, tmp_path: Path) -> None:
    code = f"{HEAD}        {statement}\n{TAIL}"
    found = check_text(code, "net.py", str(tmp_path / "net.py"), selected(["MG109", "MG110"]), Project())
    truth = raised(code)
    for finding in found:
        assert finding.line == PLACE
        if finding.severity != "error":
            assert truth is None
            continue
        assert truth is not None
        assert truth[1] == PLACE
        named = re.search(r"raises a (\w+)", finding.message)
        assert named is None or named[1] == truth[0]


def test_most_of_them_are_found(tmp_path: Path) -> None:
    """The test above says nothing of what is not found."""
    code = "\n".join([HEAD.rstrip(), *(f"        {each}" for each in STATEMENTS)]) + f"\n{TAIL}"
    found = check_text(code, "net.py", str(tmp_path / "net.py"), selected(["MG109", "MG110"]), Project())
    assert len({finding.line for finding in found}) > len(STATEMENTS) // 2
