"""Runs modgraph in a process of its own under an audit hook, and says what it did that code of a stranger may have asked for.

    seen = watched.run(["check", "--select", "ALL", "."], cwd=tmp_path)
    assert seen.forbidden == []
    assert seen.status == 1

The hook cannot be taken off, and sees what Python's own C code does, too. Forbidden is:

- code of a file that is neither the standard library's, nor installed, nor modgraph's, that is executed or imported;
- a process that is started, but for the programs that are allowed by name;
- a socket, a pickle that names a class, a foreign library;
- a file that is written outside of the folders that are allowed, or removed there; a file that is read below a folder
  that is named as secret;
- a file of the working directory that is another one afterwards, by its name, size or time: whoever changed it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import modgraph

_HOOK = r"""
import json, os, sys

def _install(said, trusted, writable, secret, programs, bare):
    import fnmatch
    real = os.path.realpath
    prefix = lambda path, roots: any(path == one or path.startswith(one + os.sep) for one in roots)
    busy = []

    def say(event, what):
        os.write(said, (json.dumps([event, str(what)[:300]]) + "\n").encode())

    def foreign(file):
        if not isinstance(file, str) or file.startswith("<"):
            return False
        return not prefix(real(file), trusted)

    def path_of(given, folder=-1):
        if not isinstance(given, (str, bytes)) and not hasattr(given, "__fspath__"):
            return None
        inside = os.readlink("/proc/self/fd/%d" % folder) if isinstance(folder, int) and folder >= 0 else ""
        return real(os.path.join(inside, os.fsdecode(given)))

    def hook(event, args):
        if busy:
            return
        busy.append(event)
        try:
            if event == "exec":
                if foreign(getattr(args[0], "co_filename", None)):
                    say(event, args[0].co_filename)
            elif event == "import":
                say("imports", args[0])
                if args[1] and foreign(args[1]):
                    say(event, args[1])
            elif event == "open":
                path, mode, flags = args
                writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
                name = os.fsdecode(path) if isinstance(path, (str, bytes)) or hasattr(path, "__fspath__") else "/"
                if mode is None and os.path.basename(name) == name:
                    # Of a bare name the event does not tell in which folder it is opened: it may be any.
                    if writes and not any(fnmatch.fnmatchcase(name, one) for one in bare):
                        say("perhaps written", name)
                    if any(os.path.lexists(os.path.join(one, name)) for one in secret):
                        say("perhaps read", name)
                    return
                path = path_of(path)
                if path is None:
                    return
                if writes and not prefix(path, writable) and path != os.devnull:
                    say("written", path)
                if prefix(path, secret):
                    say("read", path)
            elif event in ("os.remove", "os.rmdir"):
                path = path_of(args[0], args[1])
                if path is not None and not prefix(path, writable):
                    say(event, path)
            elif event in ("os.rename", "os.link", "os.symlink", "os.mkdir", "os.chmod", "os.truncate"):
                place = 1 if event in ("os.rename", "os.link", "os.symlink") else 0
                folder = {"os.rename": 3, "os.link": 3, "os.truncate": 9}.get(event, 2)
                path = path_of(args[place], args[folder] if folder < len(args) else -1)
                if path is not None and not prefix(path, writable):
                    say(event, path)
            elif event == "subprocess.Popen":
                if os.path.basename(os.fsdecode(args[0] if args[0] else args[1][0])) not in programs:
                    say(event, args[:2])
            elif event in ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn", "pickle.find_class",
                           "ctypes.dlopen", "webbrowser.open", "sys.settrace", "sys.setprofile"):
                say(event, args[:2])
            elif event.startswith(("socket.", "urllib.", "ftplib.", "smtplib.", "http.client.", "telnetlib.")):
                say(event, args[:2])
        finally:
            busy.pop()

    sys.addaudithook(hook)
"""

_COMMAND = (
    _HOOK
    + r"""
import sysconfig, tempfile, subprocess, importlib
if sys.path[:1] == [""]: del sys.path[0]
settings = json.loads(sys.argv[1])
sys.path[:0] = settings.pop("path")
import modgraph.cli
for name in settings.pop("before"):
    importlib.import_module(name)
_install(**settings)
sys.exit(modgraph.cli.main(sys.argv[2:]))
"""
)


OWN_FILES = (".", ".modgraph-*.tmp")
"""Names under which modgraph writes in a folder that it holds open: nameless, and random ones."""


@dataclass(frozen=True)
class Watched:
    """What came of a command that was watched."""

    status: int
    output: str
    errors: str
    forbidden: list[tuple[str, str]]
    """Event and what it was about, in order: `("exec", "/tmp/x/hostile.py")`."""
    imports: frozenset[str]
    """Names that were imported, or looked for."""


def run(
    arguments: Sequence[str],
    cwd: Path,
    *,
    writable: Sequence[Path] = (),
    secret: Sequence[Path] = (),
    programs: Sequence[str] = ("git",),
    bare: Sequence[str] = (),
    before: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    seconds: float = 300,
    run_code: Callable[..., Any] | None = None,
) -> Watched:
    """Run `modgraph ARGUMENTS` in `cwd`.

    Args:
        writable: where files may be written and removed, besides a temporary folder of its own.
        secret: below these nothing may be read.
        programs: file names of programs that may be started.
        bare: patterns of names that may be opened for writing in a folder that is not known; see `OWN_FILES`.
        before: modules that are imported before the watch begins.
        environment: variables to be added.
        run_code: the fixture of that name, for a process in which modgraph is imported already. What is imported is
            not told then, and a file of Python that modgraph itself imports is not seen to be read.
    """
    root = Path(modgraph.__file__).resolve().parent
    trusted = [str(root), *(os.path.realpath(path) for path in (*sys.path, *sysconfig.get_paths().values()) if path)]
    trusted = [path for path in trusted if not os.path.realpath(cwd).startswith(path) and path != str(root.parent)]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said:
        os.mkdir(f"{folder}/tmp")
        settings = {
            "said": said.fileno(),
            "path": [str(root.parent)],
            "trusted": trusted,
            "writable": [os.path.realpath(path) for path in (f"{folder}/tmp", *writable)],
            "secret": [os.path.realpath(path) for path in secret],
            "programs": list(programs),
            "bare": list(bare),
            "before": list(before),
        }
        env = {
            **os.environ,
            "TMPDIR": f"{folder}/tmp",
            "XDG_CACHE_HOME": f"{folder}/tmp",
        }
        there = _state(cwd, settings["writable"])
        if run_code is None:
            run_code, env["PYTHONDONTWRITEBYTECODE"] = _fresh, "1"
        done = run_code(
            _COMMAND, json.dumps(settings), *arguments,
            cwd=cwd, env={**env, **(environment or {})}, pass_fds=[said.fileno()], stdin=subprocess.DEVNULL,
            capture_output=True, timeout=seconds,
        )  # fmt: skip
        said.seek(0)
        events = [tuple(json.loads(line)) for line in said.read().decode().splitlines()]
        after = _state(cwd, settings["writable"])
        events += [("changed", path) for path in sorted({*there, *after}) if there.get(path) != after.get(path)]
    return Watched(
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
        [(event, what) for event, what in events if event != "imports"],
        frozenset(what for event, what in events if event == "imports"),
    )


def _fresh(code: str, *words: str, **given: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", code, *words], check=False, **given)


def _state(folder: Path, writable: Sequence[str]) -> dict[str, tuple[object, ...]]:
    """What lies in a folder, but for where may be written: links as such, and when each was changed."""
    found: dict[str, tuple[object, ...]] = {}
    pending = [os.path.realpath(folder)]
    while pending:
        here = pending.pop()
        for entry in os.scandir(here):
            if entry.path in writable:
                continue
            status = entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                pending.append(entry.path)
                holds = any(one.startswith(entry.path + os.sep) for one in writable)
                found[entry.path] = () if holds else (status.st_mtime_ns,)
            else:
                found[entry.path] = (status.st_mode, status.st_size, status.st_mtime_ns)
    return found
