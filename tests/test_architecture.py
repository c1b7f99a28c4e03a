"""The house: imports run one way, heavy packages stay behind their doors, and the documents agree with the tree."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "modgraph"

# Third parties, one door each: who may import them (anywhere in the file, also inside functions).
DOORS = {
    "torch": (
        *("tracing/", "inputs/", "live.py", "worker.py"),
        *("export/onnx/capture.py", "export/onnx/translations.py", "export/onnx/live.py"),
    ),
    "libcst": ("source/lowering.py",),
    "networkx": ("graph/network.py",),
    "graphviz": ("export/picture/dot.py",),
    "pygraphviz": ("export/picture/images.py",),
    "onnx": ("export/onnx/", "graph/onnx_reading.py"),
    "onnx_ir": ("export/onnx/",),
    "onnxscript": (
        "export/onnx/capture.py",
        "export/onnx/translations.py",
    ),
    "onnxruntime": ("export/onnx/verify.py",),
}
MAX_FUNCTION_LINES = 60
MAX_PUBLIC_NAMES = 40


def python_files() -> list[Path]:
    return sorted(f for f in PACKAGE.rglob("*.py") if "torch_stubs" not in f.parts)


@dataclass(frozen=True)
class Seen:
    """What the tests below ask of a file, which is parsed once."""

    imported: frozenset[str]
    """First parts of all imports, those for type checking left out."""
    too_long: tuple[str, ...]
    """Functions."""
    offered: int
    """Public functions and classes."""
    purpose: str


@cache
def seen(file: Path) -> Seen:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return Seen(
        frozenset(imported_packages(nodes)),
        tuple(node.name for node in functions if lines_of(node) > MAX_FUNCTION_LINES),
        sum(isinstance(n, (ast.FunctionDef, ast.ClassDef)) and not n.name.startswith("_") for n in tree.body),
        (ast.get_docstring(tree) or "").strip(),
    )


def imported_packages(nodes: list[ast.AST]) -> set[str]:
    names: set[str] = set()
    typing_only = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in nodes:
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
        if package in seen(file).imported and not str(file.relative_to(PACKAGE)).startswith(doors)
    ]
    assert strangers == []


def lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Without the docstring."""
    first = node.body[1] if len(node.body) > 1 and ast.get_docstring(node) is not None else node.body[0]
    assert node.end_lineno is not None
    return node.body[0].lineno - node.lineno + node.end_lineno - first.lineno + 1


def test_no_function_is_too_long():
    long = [f"{file.relative_to(ROOT)}: {name}" for file in python_files() for name in seen(file).too_long]
    assert long == []


VOCABULARIES = {"modgraph/source/nodes.py": "a class for each kind of node"}


def test_no_file_offers_too_much():
    offered = {
        str(file.relative_to(ROOT)): seen(file).offered
        for file in python_files()
        if file.relative_to(ROOT).as_posix() not in VOCABULARIES
    }
    assert {name: number for name, number in offered.items() if number > MAX_PUBLIC_NAMES} == {}


def test_every_module_says_what_it_is_for():
    silent = [str(file.relative_to(ROOT)) for file in python_files() if file.stat().st_size and not seen(file).purpose]
    assert silent == []


def test_architecture_names_files_and_folders_that_are_there():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:modgraph/)?[a-z_]+(?:/[a-z_]+)*(?:\.py|/))`", text))
    there = {file.relative_to(PACKAGE).as_posix() for file in python_files()}
    there |= {f"{folder}/" for name in there for folder in map(str, Path(name).parents)}
    there |= {f"modgraph/{name}" for name in there} | {f"{path.name}/" for path in ROOT.iterdir() if path.is_dir()}
    there |= {f"tests/{path.relative_to(ROOT / 'tests').as_posix()}" for path in (ROOT / "tests").rglob("*.py")}
    gone = [name for name in named if not any(each == name or each.endswith(f"/{name}") for each in there)]
    assert len(named) > 40
    assert gone == []


def test_the_floors_of_the_prediction_are_told_in_their_order():
    contract = (
        (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition('containers = ["modgraph.prediction"]')[2]
    )
    floors = re.findall(r"\w+", contract.partition("layers = [")[2].partition("]")[0])
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("| floor | what it knows |")[2]
    rows = [row.split("|")[1] for row in table.partition("\n\n")[0].splitlines()[2:]]
    assert [name for row in rows for name in re.findall(r"`(\w+)/?`", row)] == floors


def test_no_modules_of_the_prediction_import_each_other_in_a_circle():
    tool = runpy.run_path(str(ROOT / "tests" / "tools" / "house_figures.py"))
    imports = tool["imports"]()
    assert len(imports) > 100
    assert tool["in_circles"](imports) == []


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
@pytest.mark.long
def test_every_module_imports_alone():
    """Each one first, in a process that has imported nothing of the package: no order of imports holds by luck."""
    names = [".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for f in python_files()]
    run = subprocess.run(
        [sys.executable, "tests/imported_alone.py", *names], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert len(names) > 100
    *wrong, tried = run.stdout.splitlines()
    assert wrong == []
    assert sorted(tried.split()) == sorted(names)


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
