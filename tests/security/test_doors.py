"""Nobody goes round the doors: who starts git, opens a file or writes one does it there, or is listed here with a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "modgraph"

# What reads, writes or starts something, by the name that is called.
WATCHED = {
    *("open", "os.open", "os.fdopen", "io.open", "codecs.open", "tokenize.open", "builtins.open"),
    *(".open", ".read_text", ".read_bytes", ".write_text", ".write_bytes", ".unlink", ".mkdir", ".rmdir", ".touch"),
    *(".symlink_to", ".hardlink_to", ".chmod", ".rename"),
    *("os.replace", "os.rename", "os.renames", "os.remove", "os.unlink", "os.rmdir", "os.removedirs", "os.truncate"),
    *("os.mkdir", "os.makedirs", "os.chmod", "os.chown", "os.link", "os.symlink", "os.mkfifo", "os.utime"),
    *("os.system", "os.popen", "os.startfile", "os.execv", "os.execve", "os.spawnv", "os.posix_spawn", "os.fork"),
    *("np.load", "torch.load", "mmap.mmap", "sqlite3.connect", "shelve.open", "webbrowser.open"),
}
WHOLE = ("subprocess", "tempfile", "shutil", "zipfile", "tarfile", "fileinput", "linecache", "runpy", "pty", "dbm")
"""Modules of which every call counts."""
HARMLESS = ("shutil.which", "shutil.get_terminal_size", "zipfile.is_zipfile")

OWN = "what lies in the folder of the package itself, or a temporary folder that modgraph has made"
WORKER = "the process that runs the user's code, which may do all that the user may"
ALLOWED: dict[str, tuple[str, str]] = {
    "isolation.py": ("shutil. .open .write_text .read_bytes .touch os.fdopen", OWN + ": the worker's"),
    "worker.py": ("os.open .read_text .mkdir", WORKER),
    "tracing/sites.py": ("linecache.", WORKER),
    "tracing/input_mismatch.py": ("linecache.", WORKER),
    "tracing/input_refusal.py": ("linecache.", WORKER),
    "tracing/checkpoints.py": ("open zipfile. torch.load", WORKER + ": a checkpoint that was named"),
    "batch/installed.py": (".read_text", "the metadata of what is installed, through importlib"),
    "export/images.py": (".read_bytes", OWN + ": the fonts"),
    "export/html.py": (".read_text", OWN + ": the viewer"),
    "export/onnx_file.py": (".unlink", OWN + ": what a failed export leaves in one"),
    "graph/serial.py": (".read_text", OWN + ": the schema"),
    "prediction/joining.py": (".open", "no files: methods of its own classes"),
    "prediction/standard_names.py": (".read_text", OWN + ": the table of the standard library's names"),
    "cli/streams.py": ("open os.open", "the null device, in the place of an output that was closed"),
}


def called(node: ast.Call, names: dict[str, str]) -> Iterator[str]:
    """What a call calls: "os.open", "open", and ".open" of whatever object."""
    function = node.func
    if isinstance(function, ast.Name):
        yield names.get(function.id, function.id)
    elif isinstance(function, ast.Attribute):
        value = function.value
        if isinstance(value, ast.Name) and value.id in names:
            yield f"{names[value.id]}.{function.attr}"
        else:
            yield f".{function.attr}"


def imported(tree: ast.Module) -> dict[str, str]:
    """What names of modules and of their functions stand for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update({each.asname or each.name.partition(".")[0]: each.name for each in node.names})
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})
    return names


def uses(text: str) -> set[str]:
    """What a file calls that reads, writes or starts something."""
    tree = ast.parse(text)
    names = imported(tree)
    found: set[str] = set()
    for node in ast.walk(tree):
        for name in called(node, names) if isinstance(node, ast.Call) else ():
            if name in HARMLESS or name.startswith("modgraph."):
                continue
            if name in WATCHED or name.partition(".")[0] in WHOLE:
                found.add(name)
    return found


def files() -> list[Path]:
    stubs = PACKAGE / "prediction" / "knowledge" / "torch_stubs"
    return sorted(file for file in PACKAGE.rglob("*.py") if not file.is_relative_to(stubs))


def is_allowed(name: str, allowed: str) -> bool:
    return any(name == each or (each.endswith(".") and name.startswith(each)) for each in allowed.split())


def test_nobody_goes_round_the_doors():
    round_them = {}
    for file in files():
        place = file.relative_to(PACKAGE).as_posix()
        if place.startswith("doors/"):
            continue
        found = {
            name for name in uses(file.read_text("utf-8")) if not is_allowed(name, ALLOWED.get(place, ("", ""))[0])
        }
        if found:
            round_them[place] = sorted(found)
    assert round_them == {}


def test_whoever_is_listed_needs_it():
    """A door that was closed is taken off the list."""
    for place, (allowed, _) in ALLOWED.items():
        found = uses((PACKAGE / place).read_text("utf-8"))
        assert [each for each in allowed.split() if not any(is_allowed(name, each) for name in found)] == [], place


def test_git_is_started_in_one_place():
    said = [
        (file.relative_to(PACKAGE).as_posix(), node.lineno)
        for file in files()
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.List) and node.elts and getattr(node.elts[0], "value", None) == "git"
    ]
    assert said == []
    starting = [file for file in files() if "subprocess.Popen(" in file.read_text("utf-8")]
    assert sorted(file.relative_to(PACKAGE).as_posix() for file in starting) == ["doors/git.py", "doors/processes.py"]


def test_what_would_go_round_is_seen():
    text = (
        "import os, subprocess as sp\nfrom pathlib import Path\nfrom shutil import copyfile as cp\nfrom os import replace\n"
        "sp.run(['git'])\nopen('x')\nPath('x').write_text('')\ncp('a', 'b')\nreplace('a', 'b')\nos.open('x', 0)\n"
    )
    assert uses(text) == {"subprocess.run", "open", ".write_text", "shutil.copyfile", "os.replace", "os.open"}
