"""`modgraph analyze --format onnx`: a model that runs, or its structure and why."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

import onnx
import pytest

import modgraph
from modgraph.cli import main
from modgraph.cli.console import Console
from modgraph.cli.output import Destination, add_picture_arguments, write_graph
from modgraph.errors import ExitStatus, ExportError
from modgraph.graph.build import GraphBuilder
from modgraph.graph.model import ModelInfo, ModuleNode

MODEL = """
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return self.fc(x) + x

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.Sequential(Block(), Block())

        def forward(self, x):
            return self.blocks(x)

    class Decides(Net):
        def forward(self, x):
            return self.blocks(x) if x.sum() > 0 else x
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "model.py").write_text(textwrap.dedent(MODEL), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def facts(file: Path) -> dict[str, str]:
    return {entry.key: entry.value for entry in onnx.load(str(file), load_external_data=False).metadata_props}


@pytest.mark.needs_torch
def test_a_model_becomes_a_file_that_runs(folder, capsys):
    options = ["--onnx-weights", "external", "--dynamic", "x:0=batch", "--onnx-leaf", "function"]
    asked = ["--format", "onnx,json", "-o", "out", "--timeout", "300"]
    status = main(["analyze", "model.py:Net", "--input", "x=1x4", *asked, *options])
    assert status == ExitStatus.OK, capsys.readouterr().err
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["Net.json", "Net.onnx", "Net.onnx.data"]
    onnx.checker.check_model("out/Net.onnx", full_check=True)
    model = onnx.load("out/Net.onnx")
    assert facts(folder / "out" / "Net.onnx")["modgraph.tier"] == "A"
    assert [size.dim_param or size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim] == [
        "batch",
        4,
    ]
    assert sorted(function.name for function in model.functions) == ["Block", "Linear", "Sequential"]
    block = next(function for function in model.functions if function.name == "Sequential")
    lines = [entry.value for node in block.node for entry in node.metadata_props if entry.key == "modgraph.source"]
    assert lines
    assert all(line.startswith("model.py:") for line in lines)


@pytest.mark.needs_torch
def test_what_cannot_be_exported_is_written_as_structure_with_status_1(folder, capsys):
    status = main(["analyze", "model.py:Decides", "--input", "x=1x4", "--format", "onnx,json", "-o", "out"])
    said = capsys.readouterr()
    assert status == ExitStatus.PARTIAL
    assert "structure alone" in said.err
    assert "data-dependent" in said.err.lower()
    assert facts(folder / "out" / "Decides.onnx")["modgraph.kind"] == "structural"
    assert [problem.stage for problem in modgraph.load("out/Decides.json").problems] == ["export"]


NOT_FOR_RUNNING = "note: the ONNX file shows the structure alone, and is not for running"


def test_a_prediction_is_written_as_structure_with_status_0_which_is_said(folder, capsys):
    assert main(["analyze", "model.py:Net", "--static", "--format", "onnx", "-o", "net.onnx"]) == ExitStatus.OK
    assert f"{NOT_FOR_RUNNING}; without --static the model is exported, and runs" in capsys.readouterr().err
    assert main(["analyze", "model.py:Net", "--static", "--format", "json", "-o", "net.json"]) == ExitStatus.OK
    assert "ONNX" not in capsys.readouterr().err
    assert main(["render", "net.json", "-o", "again.onnx"]) == ExitStatus.OK
    assert NOT_FOR_RUNNING in capsys.readouterr().err
    assert facts(folder / "net.onnx")["modgraph.kind"] == "structural"
    onnx.checker.check_model("net.onnx", full_check=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dynamic", "batch"], "belongs to the onnx format"),
        (["--onnx-depth", "1", "--format", "onnx", "--static"], "of no use with --static"),
        (["--onnx-weights", "external", "--format", "onnx", "-o", "-"], "do not fit into standard output"),
        (["--dynamic", "x:0", "--format", "onnx"], "no dynamic size"),
        (["--onnx-weights", "some", "--format", "onnx"], "invalid choice"),
    ],
)
def test_options_that_make_no_sense(folder, capsys, arguments, said):
    try:
        status = main(["analyze", "model.py:Net", *arguments])
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["model.py"]


def test_a_file_in_two_does_not_go_to_standard_output(tmp_path, capsysbinary):
    parser = argparse.ArgumentParser()
    add_picture_arguments(parser, default="svg")
    arguments = parser.parse_args([], argparse.Namespace(color_by="kind"))
    builder = GraphBuilder(ModelInfo(name="Net", class_name="model.Net", target=None))
    builder.modules.append(ModuleNode(path="", class_name="model.Net"))
    graph = builder.build()
    made = [tmp_path / "net.onnx.data", tmp_path / "net.onnx"]
    for file in made:
        file.write_bytes(b"content")
    where = Destination(formats=("onnx",), asked=True, stdout=True)
    with pytest.raises(ExportError, match="too large for one file"):
        write_graph(graph, where, arguments, Console(), onnx=made)
    assert capsysbinary.readouterr().out == b""
    write_graph(graph, where, arguments, Console(), onnx=made[1:])
    assert capsysbinary.readouterr().out == b"content"
