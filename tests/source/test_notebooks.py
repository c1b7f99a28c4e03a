"""Notebooks as targets: what is code in them, where it stands, and which statements a model needs."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.cli import main
from modgraph.source.needed_statements import needed_statements
from modgraph.source.notebooks import only_statements, read_notebook

CELLS = [
    ("markdown", "# A model"),
    ("code", "%matplotlib inline\n!pip install torch\nimport torch\nfrom torch import nn\nimport no_such_package"),
    ("code", "%%bash\nls -l ("),
    (
        "code",
        "class Block(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
        "        self.lin = nn.Linear(n, n)\n    def forward(self, x):\n        return self.lin(x)",
    ),
    ("code", "%%time\nwidth = 8\nfiles = !ls\ntorch.nn?"),
    (
        "code",
        [
            "class Net(nn.Module):\n",
            "    def __init__(self):\n",
            "        super().__init__()\n",
            "        self.blocks = nn.ModuleList(Block(width) for _ in range(3))\n",
            "    def forward(self, x):\n        for b in self.blocks:\n            x = b(x)\n        return x",
        ],
    ),
    ("code", "model = Net()\nfor x in range(10):\n    raise SystemExit('trained')"),
    ("code", "def broken(:"),
]


def notebook(cells: list[tuple[str, Any]]) -> bytes:
    made = [{"cell_type": kind, "source": source, "metadata": {}} for kind, source in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made}).encode()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.ipynb").write_bytes(notebook(CELLS))
    return tmp_path


def code(*cells: str) -> str:
    return read_notebook(notebook([("code", each) for each in cells])).text


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1\n"),
        ("if a:\n    !ls\nelse:\n    b?", "if a:\n    pass\nelse:\n    pass\n"),
        ("x = (7\n% 4)", "x = (7\n% 4)\n"),
        ("%time\ns = '''\n%no magic\n!neither\n'''", "pass\ns = '''\n%no magic\n!neither\n'''\n"),
        ("!ls \\\n  -l\nx = 1", "pass\n\nx = 1\n"),
        ("%%html\n<b>", "\n\n"),
        ("%%timeit -n 3\nf()", "\nf()\n"),
        ("x = !ls 'a'", """x = get_ipython().getoutput("ls 'a'")\n"""),
        ("?len\n'''it's''' ; x = [1,\n2]\n%cd ..", "pass\n'''it's''' ; x = [1,\n2]\npass\n"),
    ],
)
def test_what_is_ipythons_own_is_no_code(cell: str, python: str):
    assert code(cell) == python
    ast.parse(python)


def test_places_are_cell_and_line():
    found = read_notebook(notebook(CELLS))
    line = found.text.split("\n").index("class Net(nn.Module):") + 1
    assert found.place(line) == (6, 1)
    assert found.place(line + 3) == (6, 4)
    assert found.left_out == ((8, "line 1: invalid syntax"),)


def needs(text: str, *names: str) -> list[str]:
    kept = only_statements(text, needed_statements(text, names))
    return [line for line in kept.split("\n") if line]


def test_only_what_a_name_needs_is_kept_at_its_own_line():
    text = (
        "import torch\nimport pandas\nfrom a import *\nsizes = [1]\nsizes.append(2)\n"
        "def build():\n    x = helper(sizes)\n    return torch.nn.Linear(*x)\n"
        "def helper(s):\n    return s\nfor x in pandas.load():\n    build()\nnet = build()\nnet.eval()\nnet.extra = 3\n"
        "sys.path.append('..')\nimport sys\n"
    )
    kept = needs(text, "net")
    assert kept == [
        line
        for line in text.split("\n")
        if line and not line.startswith(("import pandas", "for x", "    build()", "net.eval"))
    ]
    everything = only_statements(text, needed_statements(text, ["net"])).split("\n")
    assert everything.index("net = build()") == text.split("\n").index("net = build()")


def test_a_model_of_two_cells_is_predicted_and_nothing_is_run(here: Path, capsys: Any):
    assert main(["analyze", "net.ipynb:Net", "--static", "--format", "json"]) == 0
    said = capsys.readouterr()
    assert "net.ipynb: left out, as it is no Python: cell 8 (line 1: invalid syntax)" in said.err
    graph = modgraph.load("modgraph-out/Net.json")
    sources = {node.path: (node.source.file, node.source.line) for node in graph.modules if node.source}
    assert sources["blocks"] == ("net.ipynb:cell 6", 4)
    assert sources["blocks.0.lin"] == ("net.ipynb:cell 4", 4)
    assert [node.path for node in modgraph.predict("net.ipynb:Net").modules] == [node.path for node in graph.modules]


@pytest.mark.needs_torch
def test_a_trace_runs_what_the_model_needs_alone(here: Path):
    """The cell that imports a package which is not there, and the one that trains, are not run."""
    graph = modgraph.analyze("net.ipynb")
    assert graph.complete
    assert graph.model.target == "net.ipynb:model"
    assert {node.path: (node.predicted, node.observed) for node in graph.modules} == dict.fromkeys(
        ["", "blocks", *(f"blocks.{n}{rest}" for n in range(3) for rest in ("", ".lin"))], (True, True)
    )
    (source,) = {
        (call.source.file, call.source.line) for call in graph.calls if call.module == "blocks.1" and call.source
    }
    assert source == ("net.ipynb:cell 6", 7)


@pytest.mark.needs_torch
def test_a_cell_that_fails_is_left_out_and_named(here: Path):
    """The model's class has a method that reads what the cell would have bound; nothing of the run does."""
    cells = [
        ("code", "import json\nfrom torch import nn"),
        ("code", "\nwords = json.load(open('no-words.json'))"),
        ("code", "class Net(nn.Linear):\n    def __init__(self):\n        super().__init__(4, 2)"),
        ("code", "def told(self):\n    return words\nNet.told = told"),
    ]
    (here / "net.ipynb").write_bytes(notebook(cells))
    graph = modgraph.analyze("net.ipynb:Net")
    assert [(each.file, each.line, each.last_line) for each in graph.model.left_out] == [("net.ipynb:cell 2", 2, 2)]
    assert [call.module for call in graph.calls] == [""]


def test_errors_name_the_cell(here: Path, capsys: Any):
    (here / "net.ipynb").write_bytes(
        notebook(
            [
                ("code", "from torch import nn"),
                ("code", "\nclass Net(nn.Module):\n    def __init__(self):\n        x = missing()"),
            ]
        )
    )
    graph = modgraph.predict("net.ipynb:Net")
    assert {(problem.file, problem.line) for problem in graph.problems} == {("net.ipynb:cell 2", 4)}


def test_every_place_of_a_notebook_is_a_cell_and_a_line(here: Path):
    (here / "net.ipynb").write_bytes(
        notebook(
            [
                ("code", "import nowhere\nfrom torch import nn"),
                ("code", "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                 "        self.a = nn.Linear(nowhere.n, 3)\n        self.b = nn.Linear(nowhere.m, 3)\n"
                 "        self.c = nn.Linear(3, 3)"),
                ("code", "class Two(Net):\n    def forward(self, x):\n        x = x.relu() if x.sum() > 0 else self.c(x)\n"
                 "        return x"),
            ]
        )
    )  # fmt: skip
    text = modgraph.predict("net.ipynb:Two", inputs=["2x3"]).to_json()
    assert re.findall(r"net\.ipynb:\d+", text) == []
    places = re.findall(r'"file": *"(net\.ipynb[^"]*)",\s*"line": *(\d+)', text)
    assert {("net.ipynb:cell 2", "4"), ("net.ipynb:cell 2", "5"), ("net.ipynb:cell 3", "3")} <= set(places)
    assert all(":cell " in file for file, _ in places)
