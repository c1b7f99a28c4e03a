"""Nothing is imported, executed or unpickled on the word of what is analysed."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import modgraph
from modgraph.prediction.python import standard_names

pytestmark = pytest.mark.fresh_process

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
test_doors = of_file(Path(__file__).with_name("test_doors.py"))
python_names = of_file(REPOSITORY / "tests/oracle/python_names.py")


# ---- every call that can run code --------------------------------------------------------------------------------------

ALLOWED = {
    # Names that stand in our own tables.
    ("__init__.py", "__getattr__", "importlib.import_module"): "_HOMES",
    ("cli/__init__.py", "main", "importlib.import_module"): "a command that argparse has accepted",
    ("cli/__init__.py", "_parsers", "importlib.import_module"): "COMMANDS",
    ("source/quiet.py", "python_code", "builtins.compile"): "the file's, for its names: nothing runs what it makes",
    ("arguments/config_files.py", "_read_yaml", "importlib.import_module"): "'yaml'",
    ("arguments/config_files.py", "_read_yaml", "yaml"): "makes plain values",
    ("arguments/config_files.py", "_read_yaml", "yaml.SafeLoader"): "makes plain values",
    ("arguments/config_files.py", "_read_yaml", "yaml.parse"): "events alone, with that loader",
    ("arguments/config_files.py", "_read_yaml", "yaml.load"): "CSafeLoader or SafeLoader, and 1e-5 is a number",
    ("arguments/other_data.py", "_yaml", "importlib.import_module"): "'yaml'",
    ("arguments/other_data.py", "__init__", "yaml"): "what makes plain values, below",
    ("arguments/other_data.py", "__init__", "yaml.resolver.Resolver"): "tells the type of a scalar",
    ("arguments/other_data.py", "__init__", "yaml.constructor.SafeConstructor"): "is given numbers and dates alone",
    ("arguments/other_data.py", "_yaml", "yaml"): "of scalars, numbers and dates alone are made, by SafeConstructor",
    ("arguments/other_data.py", "_yaml", "yaml.SafeLoader"): "makes plain values",
    ("arguments/other_data.py", "_yaml", "yaml.parse"): "events alone, with that loader",
    ("arguments/other_data.py", "_yaml", "yaml.SafeDumper"): "writes events",
    ("arguments/other_data.py", "_yaml", "yaml.emit"): "of these events a text",
    ("tracing/basics/interruptions.py", "", "importlib.import_module"): "'_signal'",
    ("export/__init__.py", "__getattr__", "importlib.import_module"): "_HOMES",
    ("export/formats.py", "render", "importlib.import_module"): "a name written out",
    ("export/findings/formats.py", "render_findings", "importlib.import_module"): "FINDING_FORMATS",
    ("rules/registry.py", "rules", "importlib.import_module"): "FILES",
    ("source/kept_trees.py", "_salt", "importlib.util.find_spec"): "'libcst'",
    ("prediction/knowledge/__init__.py", "import_all", "importlib.import_module"): "the files of its folder",
    ("prediction/knowledge/__init__.py", "import_all", "pkgutil.walk_packages"): "the files of its folder",
    ("prediction/knowledge/stdlib/data_formats.py", "toml_text", "importlib.import_module"): "'tomllib'",
    (
        "prediction/knowledge/stdlib/data_formats.py",
        "yaml_text",
        "importlib.import_module",
    ): "'yaml', of which `yaml.` below is used",
    ("prediction/knowledge/stdlib/data_formats.py", "yaml_text", "yaml.parse"): "events alone, with that loader",
    (
        "prediction/knowledge/stdlib/data_formats.py",
        "yaml_text",
        "yaml.load",
    ): "with the loaders below, and no tag in the text",
    (
        "prediction/knowledge/stdlib/data_formats.py",
        "yaml_text",
        "yaml",
    ): "a SafeLoader or BaseLoader is asked for, by our own table",
    ("export/picture/images.py", "find_engine", "importlib.util.find_spec"): "'pygraphviz'",
    ("export/onnx/capture.py", "_require_packages", "importlib.util.find_spec"): "three names, none with a parent",
    # The process of a trace, which is there to run the user's code.
    ("worker.py", "_capture", "importlib.import_module"): "the name that `exporting.py` writes",
    ("tracing/loading/importing.py", "import_target", "importlib.import_module"): "the target: in a trace",
    (
        "tracing/loading/placeholders.py",
        "__enter__",
        "builtins.__import__",
    ): "what the target's own statements import",
    ("tracing/loading/importing.py", "_import_file", "importlib.import_module"): "the target's package: in a trace",
    ("tracing/loading/importing.py", "_import_file", "importlib.machinery.SourceFileLoader"): "the target: in a trace",
    (
        "tracing/loading/importing.py",
        "_import_file",
        "importlib.util.spec_from_file_location",
    ): "the target: in a trace",
    ("tracing/loading/importing.py", "_import_file", "importlib.util.module_from_spec"): "the target: in a trace",
    ("tracing/loading/importing.py", "_import_file", ".exec_module"): "the target: in a trace",
    (
        "tracing/loading/importing.py",
        "",
        "importlib.machinery.SourceFileLoader",
    ): "the same of a notebook or a configuration",
    # The same where the import of the target fails or does not end: in a trace, statement by statement.
    ("tracing/loading/left_out.py", "", "importlib.machinery.SourceFileLoader"): "modules of the target's project",
    ("tracing/loading/left_out.py", "exec_module", ".exec_module"): "one that may fail, as it is",
    ("tracing/loading/left_out.py", "_execute", "builtins.exec"): "a statement of one",
    ("tracing/loading/left_out.py", "exec_module", "importlib.util.decode_source"): "bytes into a text",
    ("tracing/loading/left_out.py", "_star", "importlib.util.resolve_name"): "a name alone",
    (
        "tracing/loading/left_out.py",
        "__enter__",
        "importlib.machinery.PathFinder",
    ): "where in `sys.meta_path` it stands",
    ("tracing/loading/left_out.py", "find_spec", "importlib.machinery.PathFinder.find_spec"): "as Python asks for it",
    ("tracing/loading/left_out.py", "find_spec", "importlib.machinery.SourceFileLoader"): "asked for its class",
    ("tracing/loading/project_texts.py", "imported_of", "importlib.util.resolve_name"): "a name alone",
    ("tracing/loading/project_texts.py", "_is_there", "importlib.util.find_spec"): "a name without a parent",
    ("tracing/loading/project_texts.py", "_is_there", "builtins.__import__"): "asked who has put it there",
    ("tracing/loading/pure_calls.py", "_is_as_made", "torch.load"): "asked whether it is this function",
    (
        "tracing/loading/target_arguments.py",
        "_import_object",
        "importlib.import_module",
    ): "a class that the target names: in a trace",
    (
        "tracing/loading/own_modules.py",
        "_folders_of",
        "importlib.machinery.PathFinder.find_spec",
    ): "where a package lies, which is not imported: in a trace",
    (
        "tracing/loading/absent_weights.py",
        "__enter__",
        "importlib.import_module",
    ): "two libraries of our own table, which the target has imported: in a trace",
    ("tracing/loading/checkpoints.py", "_load", "torch.load"): "weights_only=True",
    # Processes.
    ("doors/git.py", "conversation", "subprocess.Popen"): "git",
    ("doors/keeper.py", "_started", "os.fork"): "what its caller starts",
    ("doors/keeper.py", "_started", "os.execv"): "what its caller starts: Python with code of ours, or dot",
    ("doors/keeper.py", "prctl", "ctypes.CDLL"): "the C library of this process, to end with the one that started it",
    ("doors/processes.py", "_started", "subprocess.Popen"): "what its caller names: Python with code of ours, or dot",
    ("rules/pool.py", "_dealt_out", "multiprocessing.get_context"): "processes that run our own check",
    ("rules/pool.py", "pool_of", "concurrent.futures.ProcessPoolExecutor"): "processes that run our own check",
}
"""File, function and what is referred to: whose word it is on that something is imported, started or unpickled."""

RUNS = """
    builtins.exec builtins.eval builtins.compile builtins.__import__ builtins.breakpoint .exec_module .load_module
    .import_module .find_spec pickle. cPickle. _pickle. marshal. shelve. dill. cloudpickle. joblib. pandas. runpy. ctypes.
    cffi. yaml. pydoc. code. codeop. pty. multiprocessing. zipimport. imp. pkgutil. subprocess. asyncio. timeit. pdb. doctest.
    importlib.import_module importlib.__import__ importlib.reload importlib.util. importlib.machinery.
    importlib.metadata.entry_points importlib.metadata.EntryPoint concurrent.futures.ProcessPoolExecutor
    concurrent.futures.process.ProcessPoolExecutor numpy.load numpy.lib. numpy.ctypeslib. torch.load torch.hub. torch.package.
    torch.serialization.load torch.serialization.add_safe_globals torch.jit.load torch.utils.cpp_extension.
    torch.ops.load_library torch.classes.load_library os.system os.popen os.startfile os.fork os.forkpty
"""
FAMILIES = ("os.exec", "os.spawn", "os.posix_spawn")
CONSTANTS = """
    pickle.UnpicklingError subprocess.PIPE subprocess.DEVNULL subprocess.TimeoutExpired ctypes.c_char
    importlib.machinery.EXTENSION_SUFFIXES yaml.YAMLError
"""


def running(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """Function, name and line of what can run code, start a program or unpickle, wherever it is referred to.

    A statement that imports a function runs nothing, and where that is used it is found; but all that a star brings is.
    """
    modules = {each.partition(".")[0] for each in RUNS.split()} | {"os"}
    for each in test_doors.references(tree):
        if each.name.rpartition(".")[2] == "*" and each.name.partition(".")[0] in modules:
            yield each.function, each.name, each.line
        elif each.is_import or test_doors.is_listed(each.name, CONSTANTS):
            continue
        elif (
            test_doors.is_listed(each.name, RUNS)
            or each.name.startswith(FAMILIES)
            or f"{each.name}." in RUNS.split()  # the module itself, of which anything may be asked for
        ):
            yield each.function, each.name, each.line


def test_everything_that_can_run_code_is_known_and_by_whose_word() -> None:
    found = {}
    for file in test_doors.files():
        name = file.relative_to(ROOT).as_posix()
        for function, what, line in running(ast.parse(file.read_text(encoding="utf-8"))):
            found[name, function, what] = f"{name}:{line}"
    assert {key: place for key, place in found.items() if key not in ALLOWED} == {}
    assert set(ALLOWED) <= set(found), "a row of what is no longer there"


SEEN = """
import pickle as p; p.loads(b'')
from pickle import loads; loads(b'')
from pickle import *
import pickle; f = pickle.Unpickler
import marshal; marshal.loads(b'')
from subprocess import run; run(['x'])
import subprocess as s; s.check_call(['x'])
def f(spec, module): spec.loader.exec_module(module)
import importlib.util as u; u.spec_from_file_location('x', 'y')
import importlib; importlib.reload(1)
from importlib import import_module as i; i('x')
import importlib; importlib.import_module('pickle').loads(b'')
import importlib; y = importlib.import_module('yaml'); y.unsafe_load('')
import numpy; numpy.load('x', allow_pickle=True)
import numpy as np; np.load('x')
import joblib; joblib.load('x')
import torch; torch.load('x')
from torch.serialization import load; load('x')
import torch; torch.hub.load('x')
from torch.utils import cpp_extension; cpp_extension.load('x')
import pydoc; pydoc.locate('x')
import os; os.execvpe('x', [], {})
import os; os.spawnlp(0, 'x')
from os import posix_spawnp as q; q('x', [], {})
import os; os.forkpty()
from os import *
import runpy; runpy.run_path('x')
import pkgutil; pkgutil.resolve_name('x')
import code; code.interact()
import ctypes; ctypes.cdll.LoadLibrary('x')
import multiprocessing as m; m.Process()
from concurrent.futures import ProcessPoolExecutor as P; P()
eval('1')
list(map(exec, ['1']))
e = compile
__import__('x')
import builtins; builtins.exec('1')
import pickle; getattr(pickle, 'loads')
"""


@pytest.mark.parametrize("text", SEEN.strip().splitlines())
def test_what_would_run_code_is_seen(text: str) -> None:
    assert list(running(ast.parse(text)))


def test_what_runs_nothing_is_not_seen() -> None:
    text = "import re, subprocess\nfrom pickle import loads\nre.compile('x'), subprocess.PIPE\ndef f(o): o.eval(), o.load()"
    assert list(running(ast.parse(text))) == []


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
    for name, (kind, lineage, own, parameters) in said["objects"].items():
        known_object = standard_names.standard_object(name)
        if exact or known_object is not None:
            assert known_object is not None, name
            assert known_object.is_class is kind.startswith("c"), name
            assert known_object.lineage == tuple(lineage), name
            assert not exact or sorted(known_object.own) == own, name
            assert not exact or known_object.parameters == parameters or not parameters, name
            assert (known_object.is_static, known_object.is_of_class) == ("s" in kind, "m" in kind), name


@pytest.mark.parametrize(
    ("module", "name", "lacks"),
    [
        ("collections", "Mapping", True),  # gone since Python 3.10
        ("collections", "OrderedDict", False),
        ("typing", "Protocol", False),
        ("math", "no_such_name", True),  # compiled, and in the table too
        ("math", "floor", False),
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
    bare = watched.OWN_FILES if command == "analyze" else ()
    watch = {"cwd": folder, "writable": [tmp_path / "out"], "environment": environment, "bare": bare}
    if command == "check":
        seen = [watched.run([*every, *map(str, files)], **watch)]
    else:
        seen = [watched.run([*every, f"{file.name}:Net"], **watch) for file in files[:: max(1, len(files) // 4)]]
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


WATCHED = {
    "a file in a folder that is held open": (
        "os.open('x', os.O_WRONLY | os.O_CREAT, dir_fd=os.open(HERE, os.O_RDONLY))",
        [("perhaps written", "x")],
    ),
    "a name that is bare": (
        "os.close(os.open('x', os.O_RDWR | os.O_CREAT))",
        [("perhaps written", "x"), ("changed", "x")],
    ),
    "a secret in a folder that is held open": (
        "os.open('token', os.O_RDONLY, dir_fd=os.open(os.path.join(HERE, 'secret'), os.O_RDONLY))",
        [("read", "secret"), ("perhaps read", "token")],
    ),
    "a file by another program": ("subprocess.run(['sh', '-c', 'echo >> model.py'])", [("changed", "model.py")]),
    "a file that is there again": (
        "subprocess.run(['sh', '-c', 'touch t; rm t; touch sub/t; rm sub/t'])",
        [("changed", "sub")],
    ),
    "a link": ("subprocess.run(['sh', '-c', 'ln -s model.py link'])", [("changed", "link")]),
    "nothing": ("os.close(os.open('model.py', os.O_RDONLY)), open('model.py').read()", []),
}


@pytest.mark.skipif(sys.platform != "linux", reason="the watch reads /proc")
@pytest.mark.parametrize("what", WATCHED)
def test_the_watch_sees(tmp_path: Path, what: str) -> None:
    code, expected = WATCHED[what]
    for name in ("here/sub", "evil", "secret"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "secret/token").write_text("")
    (tmp_path / "here/model.py").write_text("")
    text = f"import os, subprocess\nHERE = {str(tmp_path)!r}\nimport modgraph.cli\n"
    (tmp_path / "evil/evil.py").write_text(f"{text}modgraph.cli.main = lambda _: ({code}, 0)[-1]\n")
    seen = watched.run(
        [], cwd=tmp_path / "here", secret=[tmp_path / "secret"], programs=["sh"], before=["evil"],
        environment={"PYTHONPATH": str(tmp_path / "evil")},
    )  # fmt: skip
    assert seen.status == 0, seen.errors
    found = [(event, path if event.startswith("perhaps") else os.path.basename(path)) for event, path in seen.forbidden]
    assert found == expected


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


RUN_BY_PYTHON = [
    "importlib",
    "warnings",
    "keyword",
    "types",
    "contextlib",
    "collections",
    "functools",
    "json",
    "modgraph",
    "os",
]


@pytest.mark.parametrize("how", [["-P", "-m", "modgraph"], ["-I", "-m", "modgraph"], ["SCRIPT"]])
def test_the_ways_in_that_are_recommended_run_nothing_of_the_working_directory(tmp_path: Path, how: list[str]):
    """As docs/security.md says of them, and of `python -m modgraph` that it does."""
    folder = tmp_path / "repository"
    folder.mkdir()
    for name in RUN_BY_PYTHON:
        (folder / f"{name}.py").write_text("print('ran', __name__)\n")
    script = tmp_path / "modgraph-command"
    script.write_text("import sys\nfrom modgraph.__main__ import main\nsys.exit(main())\n")
    if "-P" in how and sys.version_info < (3, 11):
        pytest.skip("from Python 3.11 on")
    if "-I" in how:  # looks at no variable: the package has to be installed
        code = f"import runpy, sys; sys.path.insert(0, {str(REPOSITORY)!r}); runpy.run_module('modgraph', run_name='__main__')"
        how = ["-I", "-c", code]
    command = [sys.executable, *(str(script) if part == "SCRIPT" else part for part in how), "--version"]
    run = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "ran" not in run.stdout


def test_no_recipe_starts_modgraph_as_a_module():
    page = (REPOSITORY / "docs" / "ci.md").read_text("utf-8")
    recipes = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert recipes
    texts = [*recipes, *((REPOSITORY / name).read_text("utf-8") for name in ("action.yml", ".pre-commit-hooks.yaml"))]
    assert not any("-m modgraph" in text for text in texts)
