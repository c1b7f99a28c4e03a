"""Nobody goes round the doors: who starts git, opens a file or writes one does it there, or is listed here with a reason."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

PACKAGE = Path(__file__).parents[2] / "modgraph"


def beside(name: str) -> ModuleType:
    """A file beside the tests as a module."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


references = beside("references").references

_HARMLESS = """
    __future__ _signal _thread abc argparse array ast bisect collections contextlib contextvars copy dataclasses datetime
    difflib dis enum errno faulthandler fnmatch functools gc hashlib heapq html inspect itertools json keyword libcst locale
    math modgraph numbers onnxscript operator pickletools platform posixpath queue random re resource secrets shlex signal
    site sre_parse stat statistics string struct symtable sys sysconfig textwrap threading time traceback types typing unicodedata
    warnings weakref zlib
"""
HARMLESS = frozenset(_HARMLESS.split())
"""Modules that read, write and start nothing. What is neither here nor below goes round the doors, whatever it is."""
BUILT_IN = frozenset(("open", "exec", "eval", "__import__", "breakpoint", "input"))
"""Of what is built in, what is not harmless; `test_execution.py` says who may run code."""
NAMES: dict[str, str] = {
    "base64": "b64encode",
    "codecs": "lookup",
    "encodings": "aliases. normalize_encoding",
    "concurrent": "futures.Future futures.ThreadPoolExecutor futures.as_completed futures.process. futures.wait",
    "ctypes": "c_char",
    "fcntl": "F_DUPFD_CLOEXEC fcntl",
    "graphviz": "escape quoting.",
    "importlib": "import_module machinery. metadata. metadata util.",
    "io": "RawIOBase StringIO TextIOBase BytesIO",
    "logging": "CRITICAL Logger PlaceHolder disable getLogger root root.manager.",
    "networkx": "DiGraph MultiDiGraph generate_graphml relabel_nodes",
    "numpy": "arange array_equal asarray complex128 float64 full isfinite random.default_rng",
    "onnx": "AttributeProto FunctionProto GraphProto ModelProto NodeProto ValueInfoProto checker.check_model "
    "load_model_from_string shape_inference.infer_shapes",
    "onnx_ir": "Attr Function Graph Model Node Value from_proto node passes. to_proto",
    "os": "DirEntry O_APPEND O_CREAT O_RDWR O_WRONLY PathLike W_OK X_OK __file__ access close cpu_count curdir devnull dup2 "
    "environ environ. fsdecode fspath fstat get_terminal_size getcwd getpgrp getpid getppid listdir lstat name pardir path "
    "path. pathsep pipe scandir sched_getaffinity sep set_inheritable stat strerror walk write",
    "pathlib": "Path PurePath PurePosixPath PureWindowsPath Path.cwd Path.home Path.is_dir Path.is_file Path().anchor "
    "Path().exists Path().is_dir Path().is_file Path().name Path().parent Path().parents Path().parts Path().resolve "
    "Path().resolve(). Path().stem Path().suffix Path().suffix. PurePosixPath().parents",
    "pickle": "UnpicklingError",
    "shutil": "get_terminal_size which",
    "tokenize": "COMMENT DEDENT INDENT NAME NEWLINE NL OP STRING TokenError generate_tokens",
    "tomli": "loads",
    "tomllib": "loads",
    "urllib": "parse.quote",
    "xml": "sax.saxutils.escape sax.saxutils.quoteattr",
    "zipfile": "BadZipFile ZIP_STORED ZipInfo is_zipfile",
}
"""By module: the names of it that are harmless; `x.` is everything below. To look at names of files counts as such."""
NOT_OF_TORCH = """
    load save from_file hub. hub package. package serialization. serialization jit.load jit.save export.load export.save
    onnx.export utils.cpp_extension. utils.cpp_extension ops.load_library classes.load_library distributed.checkpoint.
    utils.data. profiler.
"""
"""Of torch, which is too large for the other way round."""
_METHODS = """
    .read_text .read_bytes .write_text .write_bytes .unlink .mkdir .rmdir .touch .symlink_to .hardlink_to .link_to .chmod
    .lchmod .rename .tofile .extractall .exec_module .load_module .savez .to_csv .to_pickle .read_pickle .savefig
"""
METHODS = frozenset(_METHODS.split())
"""Of objects that are not known."""

OWN = "what lies in the folder of the package itself, or a temporary folder that modgraph has made"
WORKER = "the process that runs the user's code, which may do all that the user may"
ENDING = "it ends, or is set up, as a process of its own"
LIBRARY = "the library itself, of which an attribute is asked for"
ALLOWED: dict[str, tuple[str, str]] = {
    "__main__.py": ("os._exit", ENDING),
    "isolation.py": (".open .touch os.fdopen", OWN + ": the worker's"),
    "worker.py": (
        "builtins.open os.open os._exit os.killpg .mkdir pathlib.Path().read_text pathlib.Path().read_text().",
        WORKER,
    ),
    "tracing/basics/sites.py": ("linecache.", WORKER),
    "inputs/mismatch.py": ("linecache.", WORKER),
    "inputs/refusal.py": ("linecache.", WORKER),
    "tracing/restoring/process_settings.py": ("os.chdir", WORKER + ": back to where it was"),
    "tracing/loading/consequences.py": ("linecache.", WORKER + ": the target's own text"),
    "tracing/loading/placeholders.py": ("builtins.__import__", WORKER + ": what the target's statements import"),
    "tracing/loading/importing.py": (".exec_module linecache.", WORKER + ": the target"),
    "tracing/loading/left_out.py": (".exec_module builtins.exec linecache.", WORKER + ": the target's project"),
    "tracing/loading/project_texts.py": (
        "linecache. builtins.__import__",
        WORKER + ": the text of the target's project; whether it has put a function of its own in place of Python's",
    ),
    "tracing/loading/pure_calls.py": (
        "csv.DictReader io.TextIOWrapper logging logging. pathlib.PosixPath pathlib.WindowsPath torch.load"
        " torch.serialization torch.serialization.get_safe_globals",
        WORKER + ": asked for their classes and for who was registered with them, and not called",
    ),
    "tracing/loading/patched.py": (
        "codecs.lookup_error",
        WORKER + ": whether the project has put one of its own there",
    ),
    "tracing/loading/side_effects.py": (
        "torch.utils.data.Dataset builtins.open",
        WORKER + ": compared with what a name of the target stands for, and not called",
    ),
    "prediction/knowledge/stdlib/data_formats.py": ("yaml yaml.", "texts are read, by loaders that make no objects"),
    "arguments/config_files.py": ("yaml yaml.", "texts are read, by a loader that makes no objects"),
    "arguments/other_data.py": (
        "yaml yaml.",
        "events are read and written; of scalars, numbers and dates alone are made",
    ),
    "tracing/loading/checkpoints.py": (
        "builtins.open zipfile.ZipFile torch.load torch.serialization.",
        WORKER + ": a checkpoint that was named",
    ),
    "batch/capacity.py": ("os", LIBRARY),
    "batch/installed.py": (".read_text", "the metadata of what is installed, through importlib"),
    "prediction/domain/forms.py": ("fractions.Fraction", "no file: numbers"),
    "export/text/csv.py": ("csv.writer", "no file: it writes into a text in memory"),
    "export/picture/images.py": (".read_bytes", OWN + ": the fonts"),
    "export/picture/placing.py": (
        "xml.etree.ElementTree xml.etree.ElementTree.ParseError xml.etree.ElementTree.fromstring",
        "no file: what Graphviz wrote, in memory",
    ),
    "export/picture/tikz.py": (
        "xml.etree.ElementTree xml.etree.ElementTree.ParseError xml.etree.ElementTree.fromstring",
        "no file: what Graphviz wrote, in memory",
    ),
    "export/page/html.py": (".read_text", OWN + ": the viewer"),
    "export/onnx/capture.py": (
        "torch.onnx.export",
        "torch's own export, of which the model is taken and no file written",
    ),
    "export/onnx/file.py": ("onnx_ir onnx_ir.save .unlink", OWN + ": a failed export leaves nothing in one"),
    "export/onnx/structural.py": ("onnx", LIBRARY),
    "export/onnx/verify.py": ("onnxruntime.InferenceSession onnxruntime.SessionOptions", OWN + ": what was exported"),
    "graph/onnx_reading.py": ("onnx", LIBRARY),
    "graph/serial.py": (".read_text importlib.resources importlib.resources.files", OWN + ": the schema"),
    "prediction/knowledge/__init__.py": ("pkgutil.walk_packages", OWN + ": the files of its folder"),
    "prediction/paths/joining_fields.py": (".open", "no files: methods of its own classes"),
    "prediction/python/standard_attributes.py": ("importlib", LIBRARY),
    "prediction/python/standard_names.py": (".read_text", OWN + ": the table of names"),
    "prediction/python/torch_names.py": (".read_text", OWN + ": the table of names"),
    "rules/pool.py": (
        "concurrent.futures.ProcessPoolExecutor multiprocessing.get_context",
        "processes that run our own check",
    ),
    "cli/streams.py": ("builtins.open os.open", "the null device, in the place of a stream that was closed"),
}


def is_listed(name: str, listed: str) -> bool:
    return any(name == each or (each.endswith(".") and name.startswith(each)) for each in listed.split())


def goes_round(reference: object) -> bool:
    """Whether it reads, writes or starts something, or may."""
    name, call = reference.name, reference.call  # type: ignore[attr-defined]
    module, _, rest = name.partition(".")
    if not module:
        # A path is replaced by one argument, and what is in a text by two.
        replaces = name == ".replace" and call is not None and len(call.args) == 1 and not call.keywords
        return name in METHODS or replaces or (name == ".open" and call is not None)
    if module == "builtins":
        return rest in BUILT_IN
    if module == "torch":
        return is_listed(rest, NOT_OF_TORCH)
    if rest == "*":
        return module != "modgraph"
    return module not in HARMLESS and not (rest and is_listed(rest, NAMES.get(module, "")))


@cache
def uses(text: str) -> frozenset[str]:
    """What a file refers to that reads, writes or starts something."""
    return frozenset(each.name for each in references(ast.parse(text)) if goes_round(each))


def files() -> list[Path]:
    stubs = PACKAGE / "prediction" / "knowledge" / "torch_stubs"
    return sorted(file for file in PACKAGE.rglob("*.py") if not file.is_relative_to(stubs))


def test_nobody_goes_round_the_doors():
    round_them = {}
    for file in files():
        place = file.relative_to(PACKAGE).as_posix()
        if place.startswith("doors/"):
            continue
        found = {name for name in uses(file.read_text("utf-8")) if not is_listed(name, ALLOWED.get(place, ("", ""))[0])}
        if found:
            round_them[place] = sorted(found)
    assert round_them == {}


def test_whoever_is_listed_needs_it():
    """A door that was closed is taken off the list."""
    for place, (allowed, _) in ALLOWED.items():
        found = uses((PACKAGE / place).read_text("utf-8"))
        assert [each for each in allowed.split() if not any(is_listed(name, each) for name in found)] == [], place


def test_git_is_started_in_one_place():
    said = [
        (file.relative_to(PACKAGE).as_posix(), node.lineno)
        for file in files()
        if re.search("['\"]git['\"]", text := file.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.List) and node.elts and getattr(node.elts[0], "value", None) == "git"
    ]
    assert said == []
    starting = [file for file in files() if "subprocess.Popen(" in file.read_text("utf-8")]
    assert sorted(file.relative_to(PACKAGE).as_posix() for file in starting) == ["doors/git.py", "doors/processes.py"]


SEEN = """
import os; os.open('x', 0)
import subprocess as sp; sp.run(['git'])
open('x')
from pathlib import Path; Path('x').write_text('')
from pathlib import Path; Path.write_text(Path('x'), '')
from pathlib import Path; Path('x').replace('y')
from pathlib import Path; f = Path('x').replace
import pathlib; pathlib.Path.unlink
def f(path): path.replace('y')
def f(path): path.open()
def f(self): self.path.read_text()
from shutil import copyfile as cp; cp('a', 'b')
from os import replace; replace('a', 'b')
from os import system
from os import *
from pathlib import *
import gzip; gzip.open('x')
import bz2; bz2.open('x')
import lzma; lzma.open('x')
import zipfile; zipfile.ZipFile('x')
import tarfile; tarfile.open('x')
import io; io.FileIO('x')
import io; io.open_code('x')
o = open; o('x')
print(list(map(open, ['x'])))
import builtins; builtins.open('x')
import logging; logging.FileHandler('x')
import logging.handlers; logging.handlers.SocketHandler('x', 1)
import os; os.mknod('x')
import os; os.posix_spawnp('x', [], {})
import os; os.execvp('x', [])
import os; os.spawnlp(0, 'x')
import os; os.forkpty()
import os; run = getattr(os, 'system')
import os; from_os = os; from_os.system('x')
import asyncio; asyncio.create_subprocess_exec('x')
import multiprocessing; multiprocessing.Process()
from concurrent.futures import ProcessPoolExecutor
import numpy; numpy.save('x', 1)
import numpy as np; np.load('x')
import onnx; onnx.load('x')
from onnx import save
import torch; torch.save(1, 'x')
from torch.jit import load
import importlib.resources; importlib.resources.files('x')
from importlib import resources; resources.read_text('x', 'y')
import socket; socket.socket()
from urllib.request import urlopen
import urllib.request as r; r.urlretrieve('x')
import http.client; http.client.HTTPConnection('x')
from xml.etree.ElementTree import ElementTree
import pkgutil; pkgutil.get_data('x', 'y')
import sqlite3; sqlite3.connect('x')
import mmap; mmap.mmap(0, 1)
import tempfile; tempfile.mkdtemp()
import linecache; linecache.getline('x', 1)
import some_library; some_library.go()
__import__('os').system('x')
import importlib; importlib.import_module('shutil').rmtree('x')
"""


@pytest.mark.parametrize("text", SEEN.strip().splitlines())
def test_what_would_go_round_is_seen(text: str):
    assert uses(text)


@pytest.mark.parametrize(
    "text",
    [
        "import os; os.path.join('a', 'b')",
        "'a'.replace('a', 'b')",
        "from dataclasses import replace; replace(1, a=2)",
        "def f(text, time): text.replace('a', 'b'), time.replace(hour=1)",
        "from pathlib import Path; Path('x').parent, Path.cwd()",
        "import subprocess\ndef f(process: subprocess.Popen) -> subprocess.Popen: ...",
        "import io; io.StringIO()",
        "def f(table): return table.open",
        "class A:\n    def open(self): ...",
    ],
)
def test_what_does_not_is_not(text: str):
    assert uses(text) == frozenset()
