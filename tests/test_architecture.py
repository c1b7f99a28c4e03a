"""The house: imports run one way, heavy packages stay behind their doors, and the documents agree with the tree."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "modgraph"

# Third parties, one door each: who may import them (anywhere in the file, also inside functions).
DOORS = {
    "torch": ("tracing/", "worker.py", "export/onnx_capture.py", "export/onnx_translations.py", "export/onnx_live.py"),
    "libcst": ("source/modules.py", "source/parsed.py", "prediction/"),
    "networkx": ("graph/network.py",),
    "graphviz": ("export/dot.py",),
    "pygraphviz": ("export/images.py",),
    "onnx": ("export/onnx_", "graph/onnx_reading.py"),
    "onnx_ir": ("export/onnx_",),
    "onnxscript": (
        "export/onnx_capture.py",
        "export/onnx_translations.py",
    ),
    "onnxruntime": ("export/onnx_verify.py",),
}
MAX_LINES = 500


def python_files() -> list[Path]:
    return sorted(f for f in PACKAGE.rglob("*.py") if "torch_stubs" not in f.parts)


@cache
def imported_packages(file: Path) -> set[str]:
    """First parts of all imports of a file, those for type checking left out."""
    names: set[str] = set()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names


def test_imports_run_downwards_only():
    run = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()", "--no-cache"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("package", sorted(DOORS))
def test_every_door_is_there(package: str):
    names = [file.relative_to(PACKAGE).as_posix() for file in python_files()]
    assert [door for door in DOORS[package] if not any(name.startswith(door) for name in names)] == []


@pytest.mark.parametrize("package", sorted(DOORS))
def test_third_parties_have_one_door_each(package: str):
    doors = DOORS[package]
    strangers = [
        str(file.relative_to(PACKAGE))
        for file in python_files()
        if package in imported_packages(file) and not str(file.relative_to(PACKAGE)).startswith(doors)
    ]
    assert strangers == []


def test_no_file_is_too_long_without_a_reason():
    reasons = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    long = [
        str(file.relative_to(ROOT))
        for file in python_files()
        if len(file.read_text(encoding="utf-8").splitlines()) > MAX_LINES
    ]
    assert [name for name in long if f"`{name}`" not in reasons] == []


def documented_files() -> list[str]:
    """The files of the tables in the walk through the house."""
    room = ""
    found: list[str] = []
    for line in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines():
        heading = re.fullmatch(r"### `(modgraph/.*)`", line)
        row = re.fullmatch(r"\| `([^`]+\.py)` \| .+ \|", line)
        if heading:
            room = heading[1]
        elif line.startswith("#"):
            room = ""
        elif row and room:
            found.append(room + row[1])
    return found


def test_architecture_names_the_files_there_are_and_no_others():
    there = {file.relative_to(ROOT).as_posix() for file in python_files()}
    with_content = {name for name in there if (ROOT / name).read_text(encoding="utf-8")}
    named = set(documented_files())
    assert len(named) == len(documented_files())
    assert sorted(named - there) == []
    assert sorted(name for name in with_content - named if not name.endswith("__init__.py")) == []


HEAVY = ("torch", "libcst", "libcst.matchers", "networkx", "numpy", "onnx", "graphviz", "rich")


def loaded_after(code: str, *, block_torch: bool = True) -> list[str]:
    """Which heavy packages a fresh interpreter has loaded after `code`; importing torch fails in it."""
    guard = "import sys\nsys.modules['torch'] = None\n" if block_torch else ""
    report = f"import sys\nprint('LOADED', *[n for n in {HEAVY!r} if sys.modules.get(n) is not None])"
    run = subprocess.run(
        [sys.executable, "-c", f"{guard}{code}\n{report}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()[-1].split()[1:]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks a process for each module")
def test_every_module_imports_alone():
    """Each one first, in a process that has imported nothing of the package: no order of imports holds by luck."""
    names = [".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for f in python_files()]
    code = """
        import importlib, os, sys
        from contextlib import suppress
        for heavy in ("libcst", "torch", "networkx", "onnx", "onnx_ir", "onnxscript", "onnxruntime"):
            with suppress(ImportError):  # once here, not in each process
                importlib.import_module(heavy)
        for name in sys.argv[1:]:
            if os.fork() == 0:
                try:
                    importlib.import_module(name)
                except ModuleNotFoundError as error:  # an extra that is not installed
                    if error.name.startswith("modgraph"):
                        print(name, error)
                except BaseException as error:
                    print(name, error)
                sys.stdout.flush()
                os._exit(0)
            os.wait()
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *names], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert len(names) > 100
    assert run.stdout == ""


def test_importing_modgraph_loads_nothing_heavy():
    assert loaded_after("import modgraph; modgraph.Graph; modgraph.Ref; modgraph.ModgraphError") == []


def test_version_and_help_load_nothing_heavy():
    assert loaded_after("from modgraph.cli import main; assert main(['--version']) == 0") == []
    assert loaded_after("from modgraph.cli import main; assert main(['analyze', '--help']) == 0") == []


def test_prediction_never_loads_torch():
    loaded = loaded_after(
        "import modgraph; g = modgraph.predict('samples/resnet.py:ResNet'); assert len(g.modules) > 20"
    )
    assert "torch" not in loaded
    assert "networkx" not in loaded
    assert "libcst.matchers" not in loaded  # a quarter of a second by itself
