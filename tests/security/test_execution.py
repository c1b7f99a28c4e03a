"""Nothing is imported, executed or unpickled on the word of what is analysed."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import modgraph
from modgraph.prediction import standard_names

ROOT = Path(modgraph.__file__).resolve().parent
REPOSITORY = ROOT.parent


def of_file(path: Path) -> ModuleType:
    """A file beside the tests as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


watched = of_file(Path(__file__).with_name("watched.py"))
python_names = of_file(REPOSITORY / "tests/oracle/python_names.py")


# ---- every call that can run code --------------------------------------------------------------------------------------

ALLOWED = {
    # Names that stand in our own tables.
    ("__init__.py", "__getattr__", "import_module"): "_HOMES",
    ("cli/__init__.py", "main", "import_module"): "a command that argparse has accepted",
    ("cli/__init__.py", "_parser", "import_module"): "COMMANDS",
    ("export/__init__.py", "__getattr__", "import_module"): "_HOMES",
    ("export/findings.py", "render_findings", "import_module"): "FINDING_FORMATS",
    ("export/diff_picture.py", "mermaid", "import_module"): "a name written out",
    ("rules/registry.py", "rules", "import_module"): "FILES",
    ("prediction/knowledge/registry.py", "load", "import_module"): "_KNOWLEDGE, _BESIDE",
    ("prediction/knowledge/data_texts.py", "toml_text", "import_module"): "'tomllib'",
    (
        "prediction/knowledge/data_texts.py",
        "yaml_text",
        "import_module",
    ): "'yaml', of which the safe loaders alone are used",
    (
        "prediction/knowledge/data_texts.py",
        "yaml_text",
        "yaml.load",
    ): "with a SafeLoader or BaseLoader, and no tag in the text",
    ("export/images.py", "find_engine", "find_spec"): "'pygraphviz'",
    ("export/onnx_capture.py", "_require_packages", "find_spec"): "three names written out, none with a parent",
    ("export/diff_picture.py", "mermaid", "find_spec"): "a name of ours",
    # The process of a trace, which is there to run the user's code.
    ("worker.py", "_capture", "import_module"): "the name that `exporting.py` writes",
    ("tracing/importing.py", "import_target", "import_module"): "the target: in a trace",
    ("tracing/importing.py", "_import_file", "import_module"): "the target's package: in a trace",
    ("tracing/loading.py", "_import_object", "import_module"): "a class that the target names: in a trace",
    ("tracing/checkpoints.py", "_load", "torch.load"): "weights_only=True",
    # Processes.
    ("doors/git.py", "conversation", "subprocess"): "git",
    ("doors/keeper.py", "_started", "execv"): "what its caller starts: Python with code of ours, or dot",
    ("doors/keeper.py", "prctl", "ctypes.CDLL"): "the C library of this process, to end with the one that started it",
    ("doors/processes.py", "_started", "subprocess"): "what its caller names: Python with code of ours, or dot",
    ("tracing/process_settings.py", "", "import_module"): "names written out, of what a run may set",
}
"""File, function and what is called there: whose word it is on that something is imported, started or unpickled."""

NAMES = frozenset(
    ("import_module", "__import__", "exec", "eval", "find_spec", "execv", "execve", "execvp", "system", "popen")
)
OWNERS = frozenset(("pickle", "marshal", "shelve", "runpy", "ctypes", "subprocess", "yaml", "torch"))
METHODS = {
    "pickle": ("load", "loads", "Unpickler"), "marshal": ("load", "loads"), "shelve": ("open",), "torch": ("load",),
    "runpy": ("run_path", "run_module"), "ctypes": ("CDLL", "cdll", "PyDLL"), "yaml": ("load", "full_load", "unsafe_load"),
    "subprocess": ("run", "Popen", "call", "check_call", "check_output"),
}  # fmt: skip


def dangerous(call: ast.Call) -> str | None:
    """What a call that can run code is, by the name that stands there."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id if function.id in NAMES or function.id == "compile" else None
    if not isinstance(function, ast.Attribute):
        return None
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    if owner in METHODS and function.attr in METHODS[owner]:
        return owner if owner == "subprocess" else f"{owner}.{function.attr}"
    known = {"import_module", "__import__", "find_spec", "execv", "execve", "execvp", "system", "popen"}
    return function.attr if function.attr in known and owner not in ("self", "model") else None


def calls(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, str, int]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call) and (what := dangerous(node)) is not None:
            yield inside, what, node.lineno
        of = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else inside
        yield from calls(node, of)


def test_every_call_that_can_run_code_is_known_and_by_whose_word() -> None:
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        name = file.relative_to(ROOT).as_posix()
        if "torch_stubs" not in name:
            for function, what, line in calls(ast.parse(file.read_text(encoding="utf-8"))):
                found[name, function, what] = f"{name}:{line}"
    assert {key: place for key, place in found.items() if key not in ALLOWED} == {}
    assert set(ALLOWED) <= set(found), "a row of what is no longer there"


# ---- the table of the standard library ---------------------------------------------------------------------------------


def test_the_table_of_the_standard_library_is_what_this_python_says() -> None:
    said = python_names.ask_python(sys.executable, python_names.wanted_names())
    exact = said["version"] in standard_names._lines("pythons")[0][0].split()
    assert len(said["modules"]) > 400
    for module, names in said["modules"].items():
        known = standard_names._names_of(module)
        if exact:
            assert known is not None
            assert sorted(known) == names, module
    for name, (kind, lineage, own) in said["objects"].items():
        known_object = standard_names.standard_object(name)
        if exact or known_object is not None:
            assert known_object is not None, name
            assert known_object.is_class is kind.startswith("c"), name
            assert known_object.lineage == tuple(lineage), name
            assert not exact or sorted(known_object.own) == own, name


@pytest.mark.parametrize(
    ("module", "name", "lacks"),
    [
        ("collections", "Mapping", True),  # gone since Python 3.10
        ("collections", "OrderedDict", False),
        ("typing", "Protocol", False),
        ("math", "no_such_name", False),  # not written in Python: not known
        ("no_such_module", "name", False),
        ("collections", "__dict__", False),
        ("collections\n", "Mapping", False),
        ("", "x", False),
    ],
)
def test_a_name_is_only_missing_where_the_table_knows_the_module(module: str, name: str, lacks: bool) -> None:
    assert standard_names.module_lacks(module, name, "") is lacks


def test_by_another_python_a_name_in_the_text_is_taken_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standard_names, "_is_as_asked", lambda: False)
    assert not standard_names.module_lacks("collections", "Mapping", "class Mapping: pass")
    assert not standard_names.module_lacks("collections", "Mapping", "from elsewhere import *")
    assert standard_names.module_lacks("collections", "Mapping", "class Other: pass")


# ---- no name of the source is imported ---------------------------------------------------------------------------------

MARKER = "import os; open(os.environ['MARKER'], 'a').write(__name__ + '\\n'); raise SystemExit(0)\n"
USES = """
import importlib
from torch import nn

def ask(m, name):
    m.no_such_name
    getattr(m, name)
    return hasattr(m, name)
"""
ONE = """
try:
    import {name} as m{i}
    m{i}.no_such_name
    ask(m{i}, "no_such")
except Exception: pass
try:
    from {name} import no_such_name as n{i}
except ImportError: pass
x{i} = importlib.import_module("{name}")
class C{i}(m{i}.Thing): pass
"""
MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        {asked}
    def forward(self, x):
        return self.fc(x)
"""


def every_module() -> list[str]:
    """All modules of the standard library by their files, tests and `__main__` too, without importing any."""
    stdlib = Path(os.__file__).parent
    names = set(sys.stdlib_module_names)
    for file in stdlib.rglob("*.py"):
        parts = file.relative_to(stdlib).with_suffix("").parts
        if parts[0] in names and all(part.isidentifier() for part in parts) and "test" not in parts[0]:
            names.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return sorted(names)


def hostile(folder: Path, modules: list[str], at_a_time: int) -> None:
    """Sources that name these modules in every way, and files beside them that their scripts would import."""
    for start in range(0, len(modules), at_a_time):
        some = modules[start : start + at_a_time]
        text = USES + "".join(ONE.format(name=name, i=i) for i, name in enumerate(some))
        asked = "\n        ".join(
            f"self.a{i} = getattr(m{i}, 'C', n{i} if ask(x{i}, 'z') else C{i})" for i in range(len(some))
        )
        (folder / f"model{start}.py").write_text(text + MODEL.format(asked=asked), encoding="utf-8")
    for beside in ("ensurepip", "test_all", "venv", "colorsys", "this", "lib2to3"):
        (folder / f"{beside}.py").write_text(MARKER, encoding="utf-8")


@pytest.mark.parametrize("command", ["check", "analyze"])
def test_no_module_of_the_standard_library_is_imported_because_the_source_names_it(
    tmp_path: Path, command: str
) -> None:
    modules = every_module()
    assert {"venv.__main__", "unittest.__main__", "this", "ensurepip.__main__", "lib2to3.__main__"} & set(modules)
    folder = tmp_path / "repository"
    folder.mkdir()
    hostile(folder, modules, 40)
    (folder / "plain.py").write_text(USES + MODEL.format(asked="pass"), encoding="utf-8")
    every = {
        "check": ["check", "--select", "ALL", "--no-cache"],
        "analyze": ["analyze", "--static", "--format", "json", "-o", str(tmp_path / "out")],
    }[command]
    files = sorted(folder.glob("model*.py"))
    environment = {"MARKER": str(tmp_path / "marker")}
    watch = {"cwd": folder, "writable": [tmp_path / "out"], "environment": environment}
    there = sorted(path.name for path in folder.iterdir())
    if command == "check":
        seen = [watched.run([*every, *map(str, files)], **watch)]
    else:
        seen = [watched.run([*every, f"{file.name}:Net"], **watch) for file in files[:: max(1, len(files) // 4)]]
    assert sorted(path.name for path in folder.iterdir()) == there
    plain = watched.run([*every, "plain.py" if command == "check" else "plain.py:Net"], **watch)
    for one in seen:
        assert one.forbidden == []
        assert one.status in (0, 1), one.errors
        assert one.output
        new = {name for name in one.imports - plain.imports if not name.startswith("modgraph")}
        assert new - OWN_IMPORTS == set()
    assert not (tmp_path / "marker").exists()


OWN_IMPORTS = {
    "concurrent", "multiprocessing", "html", "difflib", "textwrap", "tomllib", "json", "fractions", "decimal", "unicodedata",
}  # fmt: skip
"""What larger inputs lead our own code to import."""


# ---- nothing of the working directory is imported ----------------------------------------------------------------------

SHADOWS = (
    *(
        "libcst",
        "graphviz",
        "networkx",
        "tomllib",
        "yaml",
        "json",
        "sitecustomize",
        "usercustomize",
        "typing",
        "argparse",
    ),
    *(
        "__future__",
        "dataclasses",
        "ast",
        "resource",
        "concurrent",
        "multiprocessing",
        "pygraphviz",
        "torch",
        "numpy",
        "onnx",
    ),
    *(
        "subprocess",
        "tempfile",
        "shutil",
        "tokenize",
        "heapq",
        "random",
        "socket",
        "zlib",
        "hashlib",
        "html",
        "difflib",
    ),
    *("logging", "datetime", "signal", "threading", "queue", "struct", "textwrap", "statistics", "fontTools", "google"),
)
PLAIN = "from torch import nn\n" + MODEL.format(asked="pass")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shadows")
    for name in SHADOWS:
        (folder / f"{name}.py").write_text(MARKER, encoding="utf-8")
    (folder / "dot").write_text("#!/bin/sh\ntouch $MARKER\n", encoding="utf-8")
    (folder / "dot").chmod(0o755)
    (folder / "model.py").write_text(PLAIN, encoding="utf-8")
    (folder / "other.py").write_text(PLAIN.replace("3)", "4)"), encoding="utf-8")
    saved = modgraph.predict(f"{folder / 'model.py'}:Net", path=[str(folder)])
    saved.save(folder / "saved.json")
    return folder


COMMANDS = {
    "check": ["check", "--select", "ALL", "--no-cache", "model.py", "other.py"],
    "analyze": ["analyze", "--static", "--format", "json,html,mermaid,dot", "model.py"],
    "all": ["analyze", "--all", "--static", "--format", "json", "--jobs", "1", "."],
    "diff": ["diff", "model.py", "other.py"],
    "render": ["render", "saved.json", "--format", "html,mermaid,svg"],
}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_no_file_of_the_working_directory_is_imported(repository: Path, tmp_path: Path, command: str) -> None:
    arguments = list(COMMANDS[command])
    if command in ("analyze", "all", "render"):
        arguments += ["-o", str(tmp_path / "out")]
    environment = {
        **os.environ, "MARKER": str(tmp_path / "marker"), "PATH": f".:{repository}:{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "modgraph", *arguments],
        cwd=repository, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert not (tmp_path / "marker").exists(), (tmp_path / "marker").read_text()
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout or done.stderr


def test_the_first_lines_of_the_package_import_nothing() -> None:
    """They run while `python -m modgraph` still looks for modules in the working directory."""
    for name in ("__init__.py", "__main__.py"):
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                named = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
                assert named in ("sys", "modgraph._version"), f"{name} imports {named}"
    assert not (ROOT / "_version.py").read_text(encoding="utf-8").count("import ")


# ---- a sys.exit() of others does not end ours --------------------------------------------------------------------------

ENDS = {
    "import": ("import sys\nsys.exit(0)\n", "pass", "return self.fc(x)"),
    "init": ("import sys\n", "sys.exit(0)", "return self.fc(x)"),
    "forward": ("import sys\n", "pass", "sys.exit(0)"),
    "train": ("import sys\n", "self.train = lambda mode=True: sys.exit(0)", "return self.fc(x)"),
    "property": (
        "import sys\nclass P:\n    @property\n    def shape(self): sys.exit(0)\n    def __getattr__(self, n): sys.exit(0)\n"
        "    def __repr__(self): sys.exit(0)\n    def __del__(self): sys.exit(0)\n    def __hash__(self): sys.exit(0)\n"
        "    def __eq__(self, o): sys.exit(0)\n    def __reduce_ex__(self, v): sys.exit(0)\n",
        "self.p = P()",
        "return self.fc(x)",
    ),
    "generator": ("", "pass", "raise GeneratorExit"),
    "interrupt": ("", "pass", "raise KeyboardInterrupt"),
    "os": ("import os\n", "pass", "os._exit(0)"),
    "text": ("class E(Exception):\n    def __str__(self): raise SystemExit(0)\n", "pass", "raise E()"),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("place", sorted(ENDS))
def test_where_the_model_ends_the_process_the_graph_is_written_and_says_so(tmp_path: Path, place: str) -> None:
    pytest.importorskip("torch")
    before, init, forward = ENDS[place]
    text = before + "from torch import nn\n" + MODEL.format(asked=init).replace("return self.fc(x)", forward)
    (tmp_path / "model.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "modgraph", "analyze", "model.py:Net", "--input", "1x2", "--format", "json", "-o", "out"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    graph = json.loads((tmp_path / "out/Net.json").read_text(encoding="utf-8"))
    assert any(module["class"] == "Linear" or "Linear" in str(module) for module in graph["modules"])
    if done.returncode == 0:
        assert place in ("train", "property"), "a run that broke off is no whole one"
        assert graph["calls"]
    else:
        assert done.returncode == 1
        assert graph["problems"]
