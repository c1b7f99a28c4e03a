"""What a function binds by an import, another name or a class is seen by the classes in it: to write `from torch import
nn` one level further in hides no class from the check."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.cli import main

NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = [nn.Linear(1, 1)]
"""


def within(*lines: str, net: str = NET) -> str:
    """Behind a line of its own in a function."""
    body = "\n".join([*lines, *net.splitlines(), "return Net"])
    return "def make(size):\n" + "".join(f"    {line}\n" for line in body.splitlines())


HIDDEN = {
    "import from": within("from torch import nn"),
    "import as": within("import torch.nn as nn"),
    "import": within("import torch", net=NET.replace("nn.", "torch.nn.")),
    "other name": "import torch\n" + within("nn = torch.nn"),
    "other names": within("import torch", "nn = torch.nn"),
    "in a try": within("try:", "    from torch import nn", "except ImportError:", "    nn = None"),
    "in an if": within("if size:", "    from torch import nn"),
    "the class itself": within("from torch.nn import Module, Linear", net=NET.replace("nn.", "")),
    "a base in there": "from torch import nn\n"
    + within("class Base(nn.Module):", "    pass", net=NET.replace("nn.Module", "Base")),
    "a base and its import": within(
        "from torch import nn", "class Base(nn.Module):", "    pass", net=NET.replace("nn.Module", "Base")
    ),
    "in a method": "class Maker:\n" + "".join(f"    {line}\n" for line in within("from torch import nn").splitlines()),
    "two functions": within("from torch import nn", "def inner():", "    from math import pi")
    + "\n\n"
    + within("import math as nn", net="class Net:\n    pass\n"),
    "a name of the file that means something else": "import math as nn\n" + within("from torch import nn"),
    "in a function in a function": "def outer():\n    from torch import nn\n"
    + "".join(f"    {line}\n" for line in within().splitlines()),
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_it_is_found(kind: str, tmp_path: Path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(HIDDEN[kind])
    line = HIDDEN[kind].splitlines().index(next(each for each in HIDDEN[kind].splitlines() if "self.a" in each)) + 1
    assert main(["check", "--no-cache", "--format", "concise", "net.py"]) == 1
    out = capfd.readouterr().out
    assert out.count("MG101") == 1
    assert f"net.py:{line}:" in out


OTHER = {
    "another library": within("from other import nn"),
    "a parameter": within(net=NET.replace("nn.", "size.")),
    "a name of the function around is nearer": "from torch import nn\n" + within("import math as nn"),
    "the other function's": within("from torch import nn", net="class Net:\n    pass\n") + "\n\n" + within("nn = size"),
}


@pytest.mark.parametrize("kind", OTHER)
def test_what_means_something_else_is_no_module(kind: str, tmp_path: Path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(OTHER[kind])
    assert main(["check", "--no-cache", "--format", "concise", "net.py"]) == 0
    assert "MG" not in capfd.readouterr().out


def test_what_the_next_class_of_the_file_sees_is_the_file_s(tmp_path: Path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text("from torch import nn\n" + within("import math as nn") + "\n\n" + NET)
    assert main(["check", "--no-cache", "--format", "concise", "net.py"]) == 1
    assert capfd.readouterr().out.count("MG101") == 1


def test_a_fix_stands(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(HIDDEN["import from"])
    assert main(["check", "--no-cache", "--fix", "--unsafe-fixes", "-q", "net.py"]) == 0
    assert "self.a = nn.ModuleList([nn.Linear(1, 1)])" in (tmp_path / "net.py").read_text()
