"""The built wheel in an environment of its own, without any extra: what works there, and what it says of the rest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_packaging import ROOT, built

MOST_MEGABYTES = 70
"""Of modgraph with libcst, networkx and graphviz, without the bytecode: what a hook's environment takes on disk."""

NET = """
from torch import nn


class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Linear(4, width)
        self.blocks = [nn.Linear(width, width) for _ in range(3)]
"""


class Installed:
    """The commands of a fresh environment, run in a folder of its own with no other program on the path."""

    def __init__(self, environment: Path, folder: Path) -> None:
        self.environment, self.folder = environment, folder
        self.bin = environment / ("Scripts" if os.name == "nt" else "bin")

    def __call__(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MODGRAPH_DOT")}
        variables |= {"PATH": str(self.bin), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return subprocess.run(
            [str(self.bin / program), *arguments],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder, environment = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("environment")
    wheel = built("wheel", tmp_path_factory.mktemp("wheel"))
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    here = Installed(environment, folder)
    done = here(
        "python",
        "-m",
        "pip",
        "install",
        "-q",
        "--no-compile",
        "-c",
        str(ROOT / "tests" / "constraints.txt"),
        str(wheel),
    )
    if done.returncode and not os.environ.get("CI"):
        pytest.skip(f"nothing can be installed here: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    shutil.copytree(ROOT / "samples", folder / "samples")
    (folder / "net.py").write_text(NET, encoding="utf-8")
    return here


def test_it_is_light_and_brings_no_torch(installed: Installed):
    packages = json.loads(installed("python", "-m", "pip", "list", "--format", "json").stdout)
    names = {package["name"].lower() for package in packages}
    assert {"modgraph", "libcst", "networkx", "graphviz"} <= names
    assert not names & {"torch", "onnx", "numpy", "pygraphviz"}
    (site,) = installed.environment.glob("lib/python*/site-packages")
    files = (path for path in site.rglob("*") if path.is_file() and path.suffix != ".pyc")
    ours = [path for path in files if not path.relative_to(site).parts[0].startswith(("pip", "setuptools"))]
    assert sum(path.stat().st_size for path in ours) / 1e6 < MOST_MEGABYTES


def test_check(installed: Installed):
    done = installed("modgraph", "check", "net.py")
    assert done.returncode == 1, done.stderr
    assert "MG101" in done.stdout


def test_a_static_graph_and_its_page_and_picture_text(installed: Installed):
    done = installed("modgraph", "analyze", "net.py:Net(width=6)", "--static", "--format", "json,html,dot,mermaid")
    assert done.returncode == 0, done.stderr
    written = {path.name for path in (installed.folder / "modgraph-out").iterdir()}
    assert {"Net.json", "Net.html", "Net.dot", "Net.mmd"} <= written
    graph = json.loads((installed.folder / "modgraph-out" / "Net.json").read_text(encoding="utf-8"))
    (first,) = (module for module in graph["modules"] if module["path"] == "first")
    assert [parameter["shape"] for parameter in first["parameters"]] == [[6, 4], [6]]


def test_a_picture_without_a_program_that_draws_becomes_a_page(installed: Installed):
    done = installed("modgraph", "analyze", "samples/resnet.py", "--static", "-o", "drawn/")
    assert done.returncode == 0, done.stderr
    assert 'pip install "modgraph[render]"' in done.stderr
    assert {path.suffix for path in (installed.folder / "drawn").iterdir()} >= {".html", ".dot", ".json"}


def test_a_saved_graph_is_rendered_again(installed: Installed):
    first = installed("modgraph", "analyze", "net.py:Net", "--static", "--format", "json", "-o", "saved.json")
    assert first.returncode == 0, first.stderr
    done = installed("modgraph", "render", "saved.json", "-o", "again.html")
    assert done.returncode == 0, done.stderr
    assert "first" in (installed.folder / "again.html").read_text(encoding="utf-8")


def test_diff(installed: Installed):
    done = installed("modgraph", "diff", "net.py:Net(width=8)", "net.py:Net(width=6)")
    assert done.returncode in (0, 1), done.stderr
    assert "first" in done.stdout


def test_a_run_says_what_is_missing_and_leaves_the_prediction(installed: Installed):
    done = installed("modgraph", "analyze", "net.py:Net", "-o", "run.json")
    assert done.returncode == 1
    graph = json.loads((installed.folder / "run.json").read_text(encoding="utf-8"))
    assert "first" in {module["path"] for module in graph["modules"]}
    assert 'pip install "modgraph[trace]"' in done.stderr
    assert "--static" in done.stderr
