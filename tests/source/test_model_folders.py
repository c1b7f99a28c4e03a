"""A folder with a config.json: the class that it names is found, and built from it, as torch builds it."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.cli import main
from modgraph.errors import TargetError

LIBRARY = {
    "zoo/__init__.py": "",
    "zoo/base.py": """
        class Configuration:
            def __init__(self, **entries):
                self.dropout = entries.pop("dropout", 0.0)
                for key, value in entries.items():
                    setattr(self, key, value)
    """,
    "zoo/lm/__init__.py": "from .modeling import *\n",
    "zoo/lm/settings.py": """
        from ..base import Configuration
        class LmConfiguration(Configuration):
            model_type = "lm"
            def __init__(self, width=4, depth=1, **entries):
                self.width, self.depth = width, depth
                super().__init__(**entries)
    """,
    "zoo/lm/modeling.py": """
        from torch import nn
        from .settings import LmConfiguration
        class Base(nn.Module):
            config_class = LmConfiguration
            def __init__(self, config):
                super().__init__()
                self.config = config
        class LmForTest(Base):
            def __init__(self, config):
                super().__init__(config)
                self.layers = nn.ModuleList(nn.Linear(config.width, config.width) for _ in range(config.depth))
                self.dropout = nn.Dropout(config.dropout)
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return self.dropout(x)
    """,
    "zoo/lm/modular.py": "class LmForTest: pass\n",
    "zoo/unet.py": """
        from torch import nn
        class UNetForTest(nn.Module):
            def __init__(self, channels=3, sizes=(8,)):
                super().__init__()
                self.convs = nn.ModuleList(nn.Conv2d(channels, size, 1) for size in sizes)
            def forward(self, x):
                return [conv(x) for conv in self.convs]
    """,
    "zoo/data.py": """
        from dataclasses import dataclass
        from torch import nn
        @dataclass
        class Settings:
            width: int = 2
        class DataNet(nn.Module):
            def __init__(self, settings: Settings):
                super().__init__()
                self.a = nn.Linear(settings.width, 1)
            def forward(self, x):
                return self.a(x)
    """,
}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in LIBRARY.items():
        file = tmp_path / "installed" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    return work


def folder(place: Path, **entries: Any) -> str:
    made = place / "net"
    made.mkdir(exist_ok=True)
    (made / "config.json").write_text(json.dumps(entries))
    return "net"


def shapes(graph: modgraph.Graph) -> dict[str, list[int]]:
    return {f"{node.path}.{tensor.name}": list(tensor.shape) for node in graph.modules for tensor in node.parameters}


@pytest.mark.needs_torch
def test_a_configuration_object_is_built_of_the_entries(library: Path):
    import importlib

    entries = {
        "architectures": ["LmForTest"],
        "model_type": "lm",
        "width": 6,
        "depth": 3,
        "dropout": 0.25,
        "zoo_version": "1",
    }
    graph = modgraph.analyze(folder(library, **entries), static=True)
    modeling, settings = (importlib.import_module(f"zoo.lm.{name}") for name in ("modeling", "settings"))
    real = modeling.LmForTest(settings.LmConfiguration(**entries))
    assert [node.path for node in graph.modules] == [name for name, _ in real.named_modules()]
    assert shapes(graph) == {name: list(each.shape) for name, each in real.named_parameters()}
    assert graph.model.name == "LmForTest"
    assert {node.path: node for node in graph.modules}["dropout"].arguments == {"p": 0.25}


def test_the_entries_that_a_constructor_names(library: Path, capsys: Any):
    name = folder(library, _class_name="UNetForTest", _zoo_version="0.1", channels=1, sizes=[4, 5], sample=32)
    assert main(["analyze", name, "--static", "--format", "json"]) == 0
    said = capsys.readouterr().err
    assert "zoo.unet:UNetForTest, built from config.json; it does not take sample" in said
    assert shapes(modgraph.load("modgraph-out/UNetForTest.json"))["convs.1.weight"] == [5, 1, 1, 1]


def test_a_dataclass_takes_its_fields(library: Path):
    graph = modgraph.predict(folder(library, architectures=["DataNet"], width=7, model_type="x"))
    assert shapes(graph) == {"a.weight": [1, 7], "a.bias": [1]}
    assert modgraph.predict("net/config.json") == graph


@pytest.mark.needs_torch
def test_a_trace_is_on_fake_tensors(library: Path):
    """No machine has the memory for these weights."""
    graph = modgraph.analyze(
        folder(library, architectures=["DataNet"], width=10**11), path=[str(library.parent / "installed")]
    )
    assert graph.complete
    assert graph.model.device == "fake"
    assert graph.model.parameters == 10**11 + 1


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"model_type": "lm"}, "it has neither architectures nor _class_name, only the model_type 'lm'"),
        ({"architectures": ["NoSuchClass"]}, "no file of the project and no installed package defines"),
        ({"architectures": ["os.system"]}, "names no class"),
        ({"architectures": [3]}, "names no class"),
    ],
)
def test_what_cannot_be_built_is_said(library: Path, entries: dict[str, Any], said: str):
    with pytest.raises(TargetError, match=said):
        modgraph.predict(folder(library, **entries), path=[str(library.parent / "installed")])


def test_several_classes_of_one_name_are_named(library: Path):
    for name in ("one", "two"):
        (library.parent / "installed" / "zoo" / f"{name}.py").write_text("class Twice: pass\n")
    with pytest.raises(TargetError, match=r"several modules define: zoo\.one:Twice, zoo\.two:Twice"):
        modgraph.predict(folder(library, architectures=["Twice"]), path=[str(library.parent / "installed")])
