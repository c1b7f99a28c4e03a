"""`modgraph analyze` on every sample, without options, as a new user would: the main job, end to end."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryDirectory

import pytest

import modgraph

ROOT = Path(__file__).parents[2]
SAMPLES = {sample.file: sample for sample in runpy.run_path(str(ROOT / "tests/samples/facts.py"))["SAMPLES"]}
run_modgraph = runpy.run_path(str(Path(__file__).with_name("conftest.py")))["run_modgraph"]

pytestmark = [pytest.mark.needs_torch, pytest.mark.needs_dot]

FORMATS = "svg,json,dot,mermaid,text"

_folders: list[TemporaryDirectory] = []


@cache
def analyzed(file: str) -> tuple[CompletedProcess, dict[str, Path]]:
    """The command's result, and what it wrote by name; each sample is run once for all tests."""
    folder = TemporaryDirectory()
    _folders.append(folder)
    run = run_modgraph(
        "analyze", str(ROOT / "samples" / file), "--format", FORMATS, cwd=Path(folder.name),
        environment={"PYTHONHASHSEED": "1"},
    )  # fmt: skip
    return run, {path.name: path for path in (Path(folder.name) / "modgraph-out").glob("[!.]*")}


def graphs(file: str) -> dict[str, dict]:
    """By model name: the JSON that was written."""
    return {
        name[:-5]: json.loads(path.read_text()) for name, path in analyzed(file)[1].items() if name.endswith(".json")
    }


def model_name(target: str) -> str:
    return target.partition("(")[0]


def file_cases(condition=lambda sample: True) -> list:
    return [pytest.param(sample, id=file) for file, sample in SAMPLES.items() if condition(sample)]


def model_cases(attribute: str) -> list:
    """Models of roots (not of other targets of the file) that have this fact."""
    return [
        pytest.param(sample, model, id=f"{sample.file}:{model.target}")
        for sample in SAMPLES.values()
        for model in sample.models
        if getattr(model, attribute) and (model.target in sample.roots or model.target == "build")
    ]


@pytest.mark.parametrize("sample", file_cases())
def test_exit_status(sample):
    run, _ = analyzed(sample.file)
    assert run.returncode == sample.status, run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("sample", file_cases())
def test_every_root_gets_a_picture_a_graph_and_a_summary(sample):
    run, files = analyzed(sample.file)
    names = {model_name(model.target) for model in sample.models if model.target in sample.roots}
    for name in names or {"build"}:
        assert files[f"{name}.svg"].read_text().rstrip().endswith("</svg>")
        assert files[f"{name}.json"].stat().st_size > 0
        assert name in run.stdout


JSON_READ = ("plain_list.py", "raises.py")
"""Samples whose JSON was read too; of the others, that would be a second look at the same."""


@pytest.mark.parametrize("sample", file_cases())
def test_what_is_written_is_what_was_read_and_found_good(sample, golden):
    files = analyzed(sample.file)[1]
    stem = sample.file.removesuffix(".py").partition("/")[0]
    kinds = (".dot", ".mmd", ".txt", *([".json"] if sample.file in JSON_READ else []))
    for path in sorted(files.values()):
        if path.suffix in kinds:
            model = "" if len(files) == len(FORMATS.split(",")) else f"-{path.stem}"
            golden(f"{stem}{model}{path.suffix}", path.read_text(encoding="utf-8"))


geometry = runpy.run_path(str(ROOT / "tests/export/svg_geometry.py"))["problems"]


@pytest.mark.parametrize("sample", file_cases())
def test_no_text_of_the_picture_is_cut_off_or_overlaps(sample):
    for path in analyzed(sample.file)[1].values():
        if path.suffix == ".svg":
            assert geometry(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("sample", file_cases())
def test_the_json_validates_against_the_published_schema(sample):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "modgraph/graph/modgraph-1.schema.json").read_text())
    for graph in graphs(sample.file).values():
        jsonschema.validate(graph, schema)


@pytest.mark.parametrize("sample", file_cases(lambda sample: sample.status == 0))
def test_a_complete_graph_was_predicted_in_full(sample):
    for graph in graphs(sample.file).values():
        assert graph["complete"], graph["problems"]
        registered = [module for module in graph["modules"] if module["registered"]]
        assert [module["path"] for module in registered if not (module["predicted"] and module["observed"])] == []


@pytest.mark.parametrize(("sample", "model"), model_cases("outputs"))
def test_output_shapes_have_the_rank_and_number_of_the_real_ones(sample, model):
    graph = graphs(sample.file)[model_name(model.target)]
    outputs = [output["shape"] for output in graph["calls"][0]["outputs"]]
    assert [len(shape) for shape in outputs] == [len(shape) for shape in model.outputs]


@pytest.mark.parametrize(("sample", "model"), model_cases("hidden"))
def test_hidden_modules_are_called_and_not_registered(sample, model):
    modules = {module["path"]: module for module in graphs(sample.file)[model_name(model.target)]["modules"]}
    for path in model.hidden:
        assert modules[path]["registered"] is False
        assert modules[path]["predicted"] is True
        assert modules[path]["calls"] != []
    dot = analyzed(sample.file)[1][f"{model_name(model.target)}.dot"].read_text()
    assert "<b>▲ unregistered</b>" in dot  # once for blocks that are folded
    assert model.hidden[0] in dot


@pytest.mark.parametrize(("sample", "model"), model_cases("never_called"))
def test_never_called_modules_have_no_calls(sample, model):
    modules = {module["path"]: module for module in graphs(sample.file)[model_name(model.target)]["modules"]}
    for path in model.never_called:
        assert modules[path]["calls"] == []


@pytest.mark.parametrize(("sample", "model"), model_cases("aliases"))
def test_shared_modules_name_their_first_path(sample, model):
    modules = {module["path"]: module for module in graphs(sample.file)[model_name(model.target)]["modules"]}
    assert {(path, modules[path]["alias_of"]) for path, _ in model.aliases} == set(model.aliases)


@pytest.mark.parametrize(("sample", "model"), model_cases("fails_in"))
def test_a_forward_that_raises_leaves_the_calls_so_far_and_says_where(sample, model):
    run, _ = analyzed(sample.file)
    graph = graphs(sample.file)[model_name(model.target)]
    (problem,) = graph["problems"]
    assert (problem["stage"], problem["module"], problem["file"]) == ("trace", model.fails_in, sample.file)
    line = (ROOT / "samples" / sample.file).read_text().splitlines()[problem["line"] - 1]
    assert "raise" in line
    assert model.error in problem["message"]
    assert model.error in run.stderr
    failed = [call["module"] for call in graph["calls"] if call["error"]]
    assert failed == ["", *(model.fails_in.rsplit(".", n)[0] for n in range(model.fails_in.count("."), -1, -1))]
    assert len(graph["calls"]) > len(failed)
    assert all(module["predicted"] and module["observed"] for module in graph["modules"])


@pytest.mark.parametrize("sample", file_cases())
def test_its_structure_as_onnx_passes_the_checker_and_says_what_it_is(sample, tmp_path):
    onnx = pytest.importorskip("onnx")
    files = [path for name, path in analyzed(sample.file)[1].items() if name.endswith(".json")]
    assert files
    for path in files:
        modgraph.load(path).save(tmp_path / "net.onnx")
        model = onnx.load(tmp_path / "net.onnx")
        onnx.checker.check_model(model, full_check=True)
        assert {entry.key: entry.value for entry in model.metadata_props}["modgraph.kind"] == "structural"


_STATIC = """
import os, sys
sys.modules["torch"] = None
from modgraph.cli import main
for number, sample in enumerate(sys.argv[1:]):
    os.mkdir(str(number))
    os.chdir(str(number))
    status = main(["analyze", sample, "--static", "--format", "json,dot"])
    open("status", "w").write(str(status))
    os.chdir("..")
"""


@pytest.fixture(scope="module")
def predicted_without_torch(tmp_path_factory) -> dict[str, Path]:
    """The folder in which the command ran, by sample; all in one process in which torch cannot be imported."""
    folder = tmp_path_factory.mktemp("static")
    run = subprocess.run(
        [sys.executable, "-c", _STATIC, *(str(ROOT / "samples" / file) for file in SAMPLES)],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "MODGRAPH_SAMPLE_MARKER": str(folder / "executed"), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return {file: folder / str(number) for number, file in enumerate(SAMPLES)}


@pytest.mark.parametrize("sample", file_cases())
def test_static_needs_no_torch_and_executes_nothing(sample, predicted_without_torch):
    folder = predicted_without_torch[sample.file]
    assert (folder / "status").read_text() == "0"
    assert not (folder.parent / "executed").exists()
    written = sorted((folder / "modgraph-out").glob("*.json"))
    assert written
    for path in written:
        static, full = json.loads(path.read_text()), graphs(sample.file)[path.stem]
        expected = [(m["path"], m["class"]) for m in full["modules"] if m["predicted"]]
        assert [(m["path"], m["class"]) for m in static["modules"]] == expected


REPEATED = ("resnet.py", "moe.py", "raises.py", "plain_list.py", "two_files/model.py")


@pytest.mark.parametrize("sample", file_cases(lambda sample: sample.file in REPEATED))
def test_another_run_with_another_hash_seed_and_working_directory_writes_the_same_bytes(sample, tmp_path):
    file = ROOT / "samples" / sample.file
    run_modgraph(
        "analyze", file.name, "--format", FORMATS, "-o", f"{tmp_path}/", cwd=file.parent,
        environment={"PYTHONHASHSEED": "2", "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    first = {name: path.read_bytes() for name, path in analyzed(sample.file)[1].items()}
    assert len(first) == 5
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first
    folder = next(iter(analyzed(sample.file)[1].values())).parent
    for name, content in first.items():
        assert str(ROOT).encode() not in content, name
        assert str(folder.parent).encode() not in content, name


def test_the_side_effect_of_the_sample_is_real(tmp_path):
    marker = tmp_path / "executed"
    run_modgraph(
        "analyze", str(ROOT / "samples/side_effect.py"), "--format", "json", cwd=tmp_path,
        environment={"MODGRAPH_SAMPLE_MARKER": str(marker)},
    )  # fmt: skip
    assert marker.exists()
