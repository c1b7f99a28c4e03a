"""MG304 on what `forward` goes through or takes an element of: torch fails there with every input, or runs and nothing is
said."""

from __future__ import annotations

import textwrap
import traceback
from pathlib import Path
from typing import Any

import pytest

from modgraph.rules.check import check_text
from modgraph.rules.names import Project
from modgraph.rules.registry import selected

RULES = selected(["MG3"])
HEAD = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"
LAYERS = "nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])"
HEADS = 'nn.ModuleDict({"a": nn.Linear(8, 8), "b": nn.Linear(8, 8)})'


def net(built: str, run: str, more: str = "") -> str:
    """A class that builds one thing and does another; the line that is marked is the one that fails."""
    body = f"def __init__(self):\n    super().__init__()\n    self.stem = nn.Linear(8, 8)\n{textwrap.indent(built, '    ')}\n"
    body += f"\ndef forward(self, x):\n    x = self.stem(x)\n{textwrap.indent(run, '    ')}\n{more}"
    return HEAD + textwrap.indent(body, "    ")


FAILING = {
    "None is gone through": ("self.norm = None", "for norm in self.norm:  # fails\n    x = norm(x)\nreturn x"),
    "None is counted through": (
        "self.norm = None",
        "for at, norm in enumerate(self.norm):  # fails\n    x = norm(x)\nreturn x",
    ),
    "None is gone through in a list": ("self.norm = None", "return [norm(x) for norm in self.norm]  # fails"),
    "None has no element": ("self.norm = None", "return self.norm[0](x)  # fails"),
    "None has no method": ("self.norm = None", "return self.norm.forward(x)  # fails"),
    "what is not there is gone through": ("", "for norm in self.norms:  # fails\n    x = norm(x)\nreturn x"),
    "what is not there has no element": ("", "return self.norms[0](x)  # fails"),
    "no such key": (f"self.heads = {HEADS}", 'return self.heads["c"](x)  # fails'),
    "no such key among those of a loop": (
        f'self.heads = {HEADS}\nself.order = ["a", "b", "c"]',
        "for key in self.order:\n    x = self.heads[key](x)  # fails\nreturn x",
    ),
    "no such key where a loop sets them": (
        'self.heads = nn.ModuleDict()\nfor key in ("a", "b"):\n    self.heads[key] = nn.Linear(8, 8)',
        'return self.heads["c"](x)  # fails',
    ),
    "beyond the list": (f"self.layers = {LAYERS}", "return self.layers[4](x)  # fails"),
    "before the list": (
        "self.layers = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))",
        "return self.layers[-3](x)  # fails",
    ),
    "a loop goes beyond": (
        f"self.layers = {LAYERS}",
        "for at in range(5):\n    x = self.layers[at](x)  # fails\nreturn x",
    ),
    "an element is None": (
        "self.layers = nn.ModuleList([nn.Linear(8, 8), None])",
        "for layer in self.layers:\n    x = layer(x)  # fails\nreturn x",
    ),
}
RUNNING = {
    "it is asked for before": ("self.norm = None", "if self.norm is not None:\n    x = self.norm[0](x)\nreturn x", ""),
    "an empty list instead": ("self.norm = None", "for norm in self.norm or []:\n    x = norm(x)\nreturn x", ""),
    "the key is asked for": (
        f"self.heads = {HEADS}",
        'return self.heads["c"](x) if "c" in self.heads else x',
        "",
    ),
    "the error is caught": (
        f"self.heads = {HEADS}",
        'try:\n    return self.heads["c"](x)\nexcept KeyError:\n    return x',
        "",
    ),
    "as many as there are": (
        f"self.layers = {LAYERS}",
        "for at in range(len(self.layers)):\n    x = self.layers[at](x)\nreturn x",
        "",
    ),
    "the last one": (f"self.layers = {LAYERS}", "return self.layers[3](self.layers[-4](x))", ""),
    "an element that is None is left out": (
        "self.layers = nn.ModuleList([nn.Linear(8, 8), None])",
        "for layer in self.layers:\n    x = x if layer is None else layer(x)\nreturn x",
        "",
    ),
}
LATER = {
    "a method adds a head": (
        f"self.heads = {HEADS}",
        'return self.heads["c"](x)',
        "\ndef add(self, key):\n    self.heads[key] = nn.Linear(8, 8)\n",
    ),
    "a method hands the list out": (
        f"self.layers = {LAYERS}",
        "return self.layers[7](x)",
        "\ndef all_of_them(self):\n    return self.layers\n",
    ),
    "a method makes the norms": (
        "self.norm = None",
        "for norm in self.norm:\n    x = norm(x)\nreturn x",
        "\ndef make(self):\n    self.norm = nn.ModuleList([nn.LayerNorm(8)])\n",
    ),
    "nothing is in it yet": ("self.heads = nn.ModuleDict()", 'return self.heads["a"](x)', ""),
}


def found_in(text: str, folder: Path) -> list[tuple[str, int | None]]:
    told = check_text(text, "net.py", str(folder / "net.py"), RULES, Project())
    return [(each.code, each.line) for each in told]


def failure_of(text: str) -> int | None:
    """The line in which a run on a batch of eight features fails."""
    import torch

    space: dict[str, Any] = {"__name__": __name__}  # data classes look for their module
    exec(compile(text, "net.py", "exec"), space)
    model = space["Net"]()
    try:
        model(torch.ones(2, 8))
    except Exception as error:
        return [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == "net.py"][-1]
    return None


def marked(text: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if "# fails" in line)


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", FAILING)
def test_what_is_not_there_is_told_at_its_line(name: str, tmp_path: Path) -> None:
    text = net(*FAILING[name])
    assert failure_of(text) == marked(text)
    assert found_in(text, tmp_path) == [("MG304", marked(text))]


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", RUNNING)
def test_nothing_is_said_of_what_runs(name: str, tmp_path: Path) -> None:
    text = net(*RUNNING[name])
    assert failure_of(text) is None
    assert found_in(text, tmp_path) == []


@pytest.mark.parametrize("name", LATER)
def test_nothing_is_said_of_what_may_be_put_there_later(name: str, tmp_path: Path) -> None:
    assert found_in(net(*LATER[name]), tmp_path) == []


CONFIGURATION = """\
from dataclasses import dataclass
from torch import nn


@dataclass
class Config:
    width: int = 64
    hidden: int = {hidden}


class Net(nn.Module):
    def __init__(self{parameter}):
        super().__init__()
        {before}
        self.first = nn.Linear(8, {cfg}.width)
        self.second = nn.Linear({cfg}.hidden, 2)

    def forward(self, x):
        return self.second(self.first(x))
"""
WAYS = {
    "by default": (", cfg: Config = Config()", "pass", "cfg"),
    "where none is given": (", cfg: Config | None = None", "cfg = cfg or Config()", "cfg"),
    "where None is tested": (", cfg: Config | None = None", "cfg = Config() if cfg is None else cfg", "cfg"),
    "kept": ("", "self.cfg = Config(width=64)", "self.cfg"),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("hidden", [32, 64])
def test_sizes_of_a_configuration_with_defaults_are_followed(name: str, hidden: int, tmp_path: Path) -> None:
    parameter, before, cfg = WAYS[name]
    text = CONFIGURATION.format(hidden=hidden, parameter=parameter, before=before, cfg=cfg)
    line = failure_of(text)
    assert (line is None) is (hidden == 64)
    assert found_in(text, tmp_path) == ([] if line is None else [("MG301", line)])
