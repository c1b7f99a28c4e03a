"""The one caller of git: it runs no program of the repository's, writes nothing, fetches nothing and asks nobody.

The configuration of a repository comes with its folder, and names programs in dozens of places. What git is asked here
runs few of them; all that it could run is switched off, in the order in which git lets nobody undo it: an argument `-c`
stands above every file, and a variable above `protocol.NAME.allow`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from modgraph.doors import temporary
from modgraph.doors.processes import MARK, dismiss, start_keeper
from modgraph.doors.programs import find
from modgraph.doors.threads import start_thread
from modgraph.errors import TargetError

SECONDS = 120.0
"""How long one call may take."""
OUTPUT_BYTES = 256 * 1024**2
"""What one call may say: about two million files of a tree."""

SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=" + os.devnull,
    "core.untrackedCache=false",
    "core.pager=",
    "core.editor=:",
    "core.askPass=",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.alternateRefsCommand=:",
    "core.attributesFile=" + os.devnull,
    "core.useReplaceRefs=false",
    "credential.helper=",
    "credential.interactive=false",
    "diff.external=",
    "diff.renameLimit=1000",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.ssh.defaultKeyCommand=",
    "gpg.x509.program=false",
    "log.showSignature=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "maintenance.auto=false",
    "gc.auto=0",
    "safe.bareRepository=explicit",
    "color.ui=false",
)
"""What is switched off, whatever a file of configuration says. Source: git-config(1)."""
GUARDS = (
    "--no-pager",
    "--no-optional-locks",
    "--no-replace-objects",
    *(word for setting in SETTINGS for word in ("-c", setting)),
)
_KEPT = frozenset(
    [
        "GIT_CEILING_DIRECTORIES",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    ]
)
"""Where the user's own settings are, among them which folders of others are trusted, and how far a repository is looked
for. Everything else that begins with GIT_ goes: inside a hook it names the repository that is committed to, it has git
write traces into files, or it names programs."""
_PIECE = 1 << 16


class GitLimitError(TargetError):
    """git takes longer, or says more, than it may."""


class DistrustError(TargetError):
    """The repository is somebody else's."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What git said."""

    status: int
    stdout: bytes
    stderr: bytes

    @property
    def words(self) -> str:
        """Its error: a line on standard error, by default the first."""
        return words_of(self.stderr) or f"status {self.status}"


def words_of(stderr: bytes) -> str:
    """The line of an error on standard error, by default the first; "" where there is none."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    fatal = (line for line in lines if line.startswith(("fatal:", "error:")))
    return next(fatal, next(iter(lines), ""))


def environment() -> dict[str, str]:
    """What git is started with: nothing that names another repository, a program or a file to write."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return {
        **kept,
        "GIT_ALLOW_PROTOCOL": "none",  # above every `protocol.NAME.allow`: nothing is fetched by any way
        "GIT_ASKPASS": "",
        "GIT_EDITOR": ":",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "",
        "GIT_TERMINAL_PROMPT": "0",
        "SSH_ASKPASS": "",
        "LC_ALL": "C",  # what it says is looked at
        "LANGUAGE": "C",
    }


def git(arguments: Sequence[str], cwd: str | Path, *, seconds: float | None = None, most: int | None = None) -> Answer:
    """What git says.

    Args:
        seconds: how long it may take; by default `SECONDS`.
        most: bytes that it may say; by default `OUTPUT_BYTES`.

    Raises:
        TargetError: git is not installed.
        DistrustError: the repository is somebody else's.
        GitLimitError: it reached one of the limits.
    """
    most = OUTPUT_BYTES if most is None else most
    with conversation(arguments, cwd, seconds=seconds) as talk:
        talk.ask_no_more()
        pieces: list[bytes] = []
        held = 0
        while data := talk.read(_PIECE):
            held += len(data)
            if held > most:
                raise GitLimitError(
                    f"git says more than {most // 1024**2} MB to `git {arguments[0]}`",
                    hint="the repository is too large for this",
                )
            pieces.append(data)
        answer = Answer(talk.end(), b"".join(pieces), talk.said())
    _refuse_distrust(answer)
    return answer


class Conversation:
    """A git that runs."""

    def __init__(self, process: subprocess.Popen[bytes], said: IO[bytes], what: str, seconds: float) -> None:
        self._process, self._said, self._what, self._seconds = process, said, what, seconds
        self._end = time.monotonic() + seconds
        self._late = False
        self._closed = threading.Event()

    def watch(self) -> None:
        """From now on it is ended when its time is over.

        Raises:
            ResourceError: no thread can be started.
        """
        start_thread(self._end_late)

    def _end_late(self) -> None:
        if not self._closed.wait(self._seconds):
            self._late = True
            self.kill()

    def ask(self, line: bytes) -> bool:
        """Whether git has taken a line."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except OSError:
            return False
        return True

    def ask_no_more(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def read(self, most: int) -> bytes:
        """At most so many bytes; none at the end.

        Raises:
            TargetError: the time is over.
        """
        assert self._process.stdout is not None
        data = self._process.stdout.read(most)
        if not data:
            self._in_time()
        return data

    def line(self) -> bytes:
        """The next line, as long as one that git itself makes may be.

        Raises:
            TargetError: the time is over.
        """
        assert self._process.stdout is not None
        data = self._process.stdout.readline(_PIECE)
        if not data:
            self._in_time()
        return data

    def end(self) -> int:
        """Waits for its end: its status.

        Raises:
            TargetError: the time is over.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(max(0.0, self._end - time.monotonic()))
            self._in_time()
            return status
        self._late = True
        self._in_time()
        raise AssertionError

    def said(self) -> bytes:
        """The beginning of what is on its standard error."""
        self._said.seek(0)
        return self._said.read(_PIECE)

    def _in_time(self) -> None:
        if self._late:
            raise GitLimitError(f"git did not answer `git {self._what}` within {self._seconds:g} s")

    def kill(self) -> None:
        """It, and what it has started; not once it was waited for, as its number may be another's then."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def close(self) -> None:
        """Ends it, where it has not ended."""
        self._closed.set()
        if self._process.poll() is None:
            self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()


@contextlib.contextmanager
def conversation(arguments: Sequence[str], cwd: str | Path, *, seconds: float | None = None) -> Iterator[Conversation]:
    """A git that is asked line by line; it has ended when the context ends.

    Raises:
        TargetError: git is not installed, or cannot be started there.
        ResourceError: there is no thread or process left that would end it in time.
    """
    found = find("git")
    if found is None:
        raise TargetError("a revision is read by git, which is not installed")
    mark = secrets.token_hex(16)
    with temporary.file() as said, _kept(mark) as tell:
        try:
            process = subprocess.Popen(
                [found, *GUARDS, *arguments],
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env={**environment(), MARK: mark},
                start_new_session=True,  # no terminal to ask on; and it ends with all of its children
            )
        except (OSError, ValueError) as error:
            raise TargetError(f"git cannot be started: {getattr(error, 'strerror', None) or error}") from error
        talk = Conversation(process, said, arguments[0], SECONDS if seconds is None else seconds)
        try:
            tell(process.pid)
            talk.watch()
            yield talk
        finally:
            talk.close()


@contextlib.contextmanager
def _kept(mark: str) -> Iterator[Callable[[int], None]]:
    """A git that is started in this context with that mark ends when this process does, however that is: what takes
    its number.

    The keeper is started beside git and not around it: nobody waits for it to begin, so that a short call takes no
    longer. Its lifeline tells it of our end also where that came before.

    Raises:
        ResourceError: no process can be started.
    """
    if os.name != "posix":
        yield lambda _number: None
        return
    keeper = start_keeper("end", [f"{MARK}={mark}"])
    lifeline = keeper.stdin
    assert lifeline is not None

    def tell(number: int) -> None:
        with contextlib.suppress(OSError):
            os.write(lifeline.fileno(), b"%d\n" % number)

    try:
        yield tell
    finally:
        dismiss(keeper)


def _refuse_distrust(answer: Answer) -> None:
    """Raises DistrustError where git does not trust the folder, as somebody else owns it."""
    if answer.status == 0 or b"dubious ownership" not in answer.stderr:
        return
    folder = answer.stderr.decode("utf-8", "replace").partition("repository at ")[2].partition("\n")[0].strip()
    raise DistrustError(
        f"the repository at {folder or 'this place'} belongs to another user, and git reads none of those",
        hint=f"if you trust it: git config --global --add safe.directory {folder}",
    )
