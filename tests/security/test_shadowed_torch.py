"""A file of a project that is called as PyTorch is does not switch off the check of its other files."""

from __future__ import annotations

import importlib.machinery
import json
import sys
from pathlib import Path

import pytest

from modgraph.cli import main

NETS = """\
import torch
import torch.nn as nn
from torch.nn import Module

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = [nn.Linear(1, 1)]

class Net2(Module):
    def __init__(self):
        super().__init__()
        self.a = [torch.nn.Linear(1, 1)]
"""
SHADOWS = {
    "package": {"torch/__init__.py": ""},
    "package in src": {"src/torch/__init__.py": "", "pyproject.toml": '[project]\nname = "x"\n'},
    "folder of pytest": {"t/torch.py": "", "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["t"]\n'},
    "file": {"torch.py": "nn = None\n"},
    "compiled": {f"torch{importlib.machinery.EXTENSION_SUFFIXES[0]}": "\x7fELF"},
    "package with nn": {"torch/__init__.py": "", "torch/nn/__init__.py": "class Module: ...\n"},
    "package with a file nn": {"torch/__init__.py": "", "torch/nn.py": "class Module: ...\n"},
    "not Python": {"torch/__init__.py": "def\n"},
}


@pytest.mark.parametrize("kind", SHADOWS)
def test_it_is_told_and_names_of_torch_mean_pytorch(kind: str, tmp_path: Path, monkeypatch, capfd):
    for name, text in {"net.py": NETS, **SHADOWS[kind]}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert main(["check", "--no-cache", "--format", "concise", "net.py"]) == 1
    said = capfd.readouterr()
    assert [line.split(":")[1] for line in said.out.splitlines() if "MG101" in line] == ["8", "13"]
    assert said.err.count("is called as PyTorch is, and is not") == 1
    assert main(["analyze", "--static", "net.py:Net", "--format", "json", "-o", "-"]) in (0, 1)
    names = [each["path"] for each in json.loads(capfd.readouterr().out)["modules"]]
    assert any("a[0]" in name for name in names)


def test_what_is_taken_for_pytorch_is_told(tmp_path: Path, monkeypatch, capfd):
    (tmp_path / "net.py").write_text(NETS)
    (tmp_path / "torch" / "nn" / "modules").mkdir(parents=True)
    for folder in ("torch", "torch/nn", "torch/nn/modules"):
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "torch" / "nn" / "modules" / "module.py").touch()
    monkeypatch.chdir(tmp_path)
    main(["check", "--no-cache", "net.py"])
    assert "torch/__init__.py is taken for PyTorch" in capfd.readouterr().err


def test_a_folder_that_is_no_package_is_none(tmp_path: Path, monkeypatch, capfd):
    (tmp_path / "net.py").write_text(NETS)
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "other.py").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--no-cache", "."]) == 1
    assert "PyTorch" not in capfd.readouterr().err
