"""The static half where PyTorch is not installed at all: the same models are found, and the same is predicted of them."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fresh_process

ROOT = Path(__file__).parents[2]
SAMPLES = sorted(
    path
    for path in [*(ROOT / "samples").glob("*.py"), *(ROOT / "samples").glob("*/*.py")]
    if path.name != "__init__.py"
)
_OF_TORCH = ("torch", "functorch")

# Each sample: its root models, and of each the predicted modules with their classes and tensors; or the error.
_FORETELL = """
import importlib.util, json, sys
from modgraph.api import analyze_target, find_targets
from modgraph.errors import ModgraphError
from modgraph.options import TraceOptions

def predicted(target):
    graph = analyze_target(target, options=TraceOptions(), static=True)
    tensors = lambda node: [[t.name, t.shape, t.dtype] for t in (*node.parameters, *node.buffers)]
    modules = [[node.path, node.class_name, tensors(node)] for node in graph.modules]
    return [modules, [problem.message for problem in graph.problems], graph.model.parameters]

def models(sample):
    try:
        return {target.text: predicted(target) for target in find_targets(sample)}
    except ModgraphError as error:
        return error.message

found = {sample: models(sample) for sample in sys.argv[1:]}
print(json.dumps([importlib.util.find_spec("torch") is not None, "torch" in sys.modules, found]))
"""


def predict(*arguments: str, environment: dict[str, str]) -> tuple[bool, bool, dict]:
    run = subprocess.run(
        [sys.executable, *arguments, "-c", _FORETELL, *map(str, SAMPLES)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    return tuple(json.loads(run.stdout))


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with links to all that is installed, but for torch and its kin."""
    folder = tmp_path_factory.mktemp("packages")
    for directory in (*site.getsitepackages(), site.getusersitepackages()):
        for entry in sorted(Path(directory).glob("*")):
            if not entry.name.startswith(_OF_TORCH) and not (folder / entry.name).exists():
                (folder / entry.name).symlink_to(entry, target_is_directory=entry.is_dir())
    return folder


@pytest.fixture(scope="module")
def without_torch(packages: Path) -> dict:
    """What is predicted by an interpreter that has no site-packages but these: `-S` leaves its own out."""
    installed, imported, found = predict("-S", environment={"PYTHONPATH": os.pathsep.join([str(ROOT), str(packages)])})
    assert (installed, imported) == (False, False)
    return found


def test_every_sample_has_models(without_torch: dict):
    """`two_files` has a file of blocks that its model uses, and one of plain numbers."""
    assert len(without_torch) == len(SAMPLES) > 15
    assert [Path(sample).name for sample, found in without_torch.items() if isinstance(found, str)] == ["config.py"]


@pytest.mark.needs_torch
def test_with_torch_the_same_is_predicted(without_torch: dict):
    installed, imported, found = predict(environment={"PYTHONPATH": str(ROOT)})
    assert (installed, imported) == (True, False)
    assert found == without_torch


def test_the_command_needs_no_torch(packages: Path, tmp_path: Path):
    run = subprocess.run(
        [sys.executable, "-S", "-m", "modgraph", "analyze", str(ROOT / "samples" / "resnet.py"), "--static", "--format",
         "json", "-o", str(tmp_path)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(packages)])},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    (file,) = tmp_path.glob("*.json")
    assert len(json.loads(file.read_text("utf-8"))["modules"]) > 20


_ATTENTION = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2)
        self.norm = nn.BatchNorm1d(8)
"""


@pytest.mark.needs_torch
def test_the_json_is_the_same_with_and_without_torch(packages: Path, tmp_path: Path):
    (tmp_path / "model.py").write_text(_ATTENTION)
    said = []
    for options, paths in ((["-S"], [ROOT, packages]), ([], [ROOT])):
        run = subprocess.run(
            [sys.executable, *options, "-m", "modgraph", "analyze", "model.py", "--static", "--format", "json", "-o", "-"],
            capture_output=True, text=True, check=False, cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        )  # fmt: skip
        assert run.returncode == 0, run.stderr
        said.append(run.stdout)
    assert said[0] == said[1]
    assert "self_attn.out_proj" in said[0]


def test_a_checkpoint_that_needs_torch_says_so(tmp_path: Path):
    absent = tmp_path / "absent"  # of another process too, which has the site-packages again
    absent.mkdir()
    (absent / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    (tmp_path / "model.py").write_text(_ATTENTION)
    (tmp_path / "net.pt").write_bytes(b"PK\x03\x04" + b"\0" * 100)
    run = subprocess.run(
        [sys.executable, "-m", "modgraph", "analyze", "model.py", "--static", "--against", "net.pt"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(absent), str(ROOT)])},
    )  # fmt: skip
    assert run.returncode == 2
    assert "to read the checkpoint net.pt, PyTorch is needed" in run.stderr
    assert ".safetensors" in run.stderr
    assert "--static" not in run.stderr
