"""The process beside ours that outlives it: it ends what ours has started, and removes what ours has made.

Started by `processes.py` as `python -I -S keeper.py`, in a process group of its own, so that neither a terminal nor the
death of our group reaches it. Its standard input is the lifeline: a pipe whose other end our
process alone holds, so that the end of the pipe is the end of our process, however it came. It runs none of the user's
code and no module outside of the standard library, so nothing can hold it up.

- `run FDS COMMAND...`: starts the command, ends it with everything that came of it, and writes its status to standard
  output. What the command prints goes to our standard error. FDS, separated by commas, are handed down.
- `end MARK`: ends what our process has started itself with that in its environment: the group of processes that it
  wrote to the lifeline, or, where our process ended before that, whatever has the mark.
- `keep FOLDER`: says when it is ready, by one byte, and removes the folder.

On Linux the keeper is the "child subreaper" of what it started: a process whose parent has ended becomes its child,
also one that left the session and cleared its environment. So nothing is left when it has no children any more. And
the command dies with the keeper: `PR_SET_PDEATHSIG`. Source of both: prctl(2). Elsewhere the process group is ended.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import stat
import sys
import time
from collections.abc import Sequence

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
_END_SECONDS = 10.0
"""How long processes that do not go are ended again and again: some can only be ended by another user, or never."""
_PAUSE_SECONDS = 0.001
_REMOVALS = 50
"""Tries to remove a folder into which a process that is about to end may still write."""
_ENTRIES = 4096
"""How many names of a folder are held at a time."""
_BY_FOLDER = {os.open, os.stat, os.unlink, os.rmdir, os.rename} <= os.supports_dir_fd and os.scandir in os.supports_fd
_LOOKS = 20
"""For what was just being started when our process ended: until it is another program its environment is ours."""
_NOT_STARTED = 127
_LIFE_SECONDS = 1.0
"""How often a process looks whether its parent is there, where the system does not tell it."""
NO_PROCESS = "modgraph: no process can be started"


def prctl(option: int, value: int) -> bool:
    """Set something about this process; False where the system has no such thing."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def die_with_parent(parent: int) -> bool:
    """Have the system kill this process when the thread that started it ends; False where it cannot.

    Args:
        parent: the process that started this one: it may be gone already.
    """
    asked = prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(_NOT_STARTED)
    return asked


def end_with(parent: int) -> None:
    """From now on this process, which runs code of ours alone, ends when `parent` does, which started it."""
    if os.name != "posix" or die_with_parent(parent):
        return
    import _thread

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LIFE_SECONDS)
        os._exit(1)

    _thread.start_new_thread(watch, ())


def remove_tree(folder: str) -> None:
    """Remove a folder of this user with all that is in it, or what is in its place. Never raises.

    However deep it is, and however long its paths are: each folder within it is moved to its top before it is looked
    into. Links are removed, never followed.
    """
    with contextlib.suppress(OSError):
        status = os.lstat(folder)
        if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
            return
        if not stat.S_ISDIR(status.st_mode):
            os.unlink(folder)
            return
        if not _BY_FOLDER:
            _remove_by_name(folder)
            return
        top = _opened(folder, None)
        try:
            if os.fstat(top).st_uid == os.geteuid():
                _empty(top)
        finally:
            os.close(top)
        os.rmdir(folder)


def _remove_by_name(folder: str) -> None:
    """The same on a system without descriptors of folders, whose paths are short."""
    import shutil

    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)


def _empty(top: int) -> None:
    """Remove what is in an open folder; what cannot be removed stays."""
    pending = list(_emptied(top, top))
    while pending:
        name = pending.pop()
        with contextlib.suppress(OSError):
            handle = _opened(name, top)
            try:
                pending.extend(_emptied(handle, top))
            finally:
                os.close(handle)
            os.rmdir(name, dir_fd=top)


def _emptied(handle: int, top: int) -> set[str]:
    """Remove the files of an open folder, and move its folders to the top: under which names they are there now."""
    moved: set[str] = set()
    while True:
        with os.scandir(handle) as entries:  # some at a time: there may be millions
            names = [entry.name for entry in itertools.islice(entries, _ENTRIES + len(moved))]
        gone = 0
        for name in names:
            if name in moved:
                continue
            with contextlib.suppress(OSError):
                if stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
                    os.close(_opened(name, handle))  # moving a folder takes the right to write into it
                    free = os.urandom(16).hex()
                    os.rename(name, free, src_dir_fd=handle, dst_dir_fd=top)
                    moved.add(free)
                else:
                    os.unlink(name, dir_fd=handle)
                gone += 1
        if not gone:
            return moved


def _opened(name: str, above: int | None) -> int:
    """A folder, with all rights for this user, which its files may have taken away. A link is not followed."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    if hasattr(os, "O_PATH"):
        place = os.open(name, flags | os.O_PATH, dir_fd=above)
        try:
            if stat.S_IMODE(os.fstat(place).st_mode) & 0o700 != 0o700:
                os.chmod(f"/proc/self/fd/{place}", 0o700)  # no other call takes such a descriptor; proc(5)
        finally:
            os.close(place)
    elif os.chmod in os.supports_follow_symlinks:
        os.chmod(name, 0o700, dir_fd=above, follow_symlinks=False)
    return os.open(name, flags, dir_fd=above)


def _keep(folder: str) -> None:
    _wake_when_parent_ends()
    with contextlib.suppress(OSError):
        os.write(1, b"\n")
    _wait_for_end()
    for _ in range(_REMOVALS):
        if not os.path.lexists(folder):
            return
        remove_tree(folder)
        time.sleep(0.1)


def _end(mark: str) -> None:
    _wake_when_parent_ends()
    told = _wait_for_end()
    if told.endswith(b"\n"):
        _kill(os.killpg, int(told))
        return
    for _ in range(_LOOKS):
        kill_marked(mark)
        time.sleep(_PAUSE_SECONDS)


def kill_marked(mark: str) -> None:
    """End what has this in its environment, as `NAME=value`. Linux alone tells."""
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            # A process may end, or be another user's, while it is looked at.
            with contextlib.suppress(OSError, ValueError), open(f"/proc/{int(name)}/environ", "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    _kill(os.kill, int(name))


def _wait_for_end() -> bytes:
    """Until the lifeline ends: what our process has written there."""
    told = b""
    with contextlib.suppress(OSError):
        while piece := os.read(0, 64):
            told += piece
    return told


def _run(handed_down: Sequence[int], command: Sequence[str]) -> None:
    import select

    adopts = prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _wake_when_parent_ends()
    told = os.dup(1)
    changed, wake = os.pipe()
    os.set_blocking(changed, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _nothing)
    child = _started(command)
    for descriptor in handed_down:
        os.close(descriptor)
    known: int | None = None
    while True:
        ready, _, _ = select.select([0, changed], [], [])
        if changed in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(changed, 4096)
            has_ended, known = _look_at(child)
            if has_ended:
                break
        if 0 in ready:  # nobody writes there: it is the end of our process, or of its wish for this one
            break
    status = _end_all(child, adopts, known)
    with contextlib.suppress(OSError):
        os.write(told, f"{status}\n".encode())


def _wake_when_parent_ends() -> None:
    """A keeper that was stopped would not see the end of its lifeline: the system sends SIGCONT at that moment. What
    else is sent to it, by the user's code or by a terminal, does not end it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _nothing)
    prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)


def _nothing(_number: int, _frame: object) -> None:
    """A handler, and not SIG_IGN, since the command would inherit that."""


def _started(command: Sequence[str]) -> int:
    keeper = os.getpid()
    try:
        child = os.fork()
    except OSError as error:
        os.write(2, f"{NO_PROCESS}: {error.strerror}\n".encode())
        os._exit(_NOT_STARTED)
    if child:
        return child
    try:
        os.setsid()
        die_with_parent(keeper)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores these two, and a program would inherit it
        if hasattr(signal, "SIGXFSZ"):
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(2, 1)
        os.execv(command[0], list(command))
    except BaseException as error:
        os.write(2, f"{command[0]}: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(_NOT_STARTED)


def _look_at(child: int) -> tuple[bool, int | None]:
    """Whether the command has ended, and its status where it is gone for that. Where it can, it stays a zombie, so that
    its number is nobody else's. Adopted ones are let go."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13; a child that is stopped, or goes on, has not ended
        number, how = os.waitpid(child, os.WNOHANG)
        return (True, os.waitstatus_to_exitcode(how)) if number == child else (False, None)
    while True:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return False, None
        if found.si_pid == child:
            return True, None
        os.waitpid(found.si_pid, 0)


def _end_all(child: int, adopts: bool, status: int | None = None) -> int:
    """Kill the command and all that came of it, until there is none; the exit status of the command, as `subprocess`
    gives it.

    Args:
        status: where it is known: the number of the command is then no longer its own. That of its group is, as long as
            anything is in it.
    """
    if status is not None:
        _kill(os.killpg, child)
    end = time.monotonic() + _END_SECONDS
    while time.monotonic() < end:
        if status is None:  # again and again: one signal misses what is just being forked, or leaves the group
            _kill(os.killpg, child)
            _kill(os.kill, child)
        for number, group in _descendants() if adopts else ():
            # A group is killed at once, with what it is about to fork: a process alone may be forked away from us.
            if group != os.getpgrp():
                _kill(os.killpg, group)
            _kill(os.kill, number)
        try:
            while True:
                number, how = os.waitpid(-1, os.WNOHANG)
                if number == child:
                    status = os.waitstatus_to_exitcode(how)
                if number == 0:
                    break
        except ChildProcessError:
            break
        time.sleep(_PAUSE_SECONDS)
    return -int(signal.SIGKILL) if status is None else status


def _kill(how: object, number: int) -> None:
    assert callable(how)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        how(number, signal.SIGKILL)


def _descendants() -> list[tuple[int, int]]:
    """All processes that came of this one: their numbers and process groups. Source of the fields: proc(5)."""
    children: dict[int, list[tuple[int, int]]] = {}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError), open(f"/proc/{name}/stat", "rb") as file:
                _state, parent, group = file.read().rpartition(b")")[2].split()[:3]
                children.setdefault(int(parent), []).append((int(name), int(group)))
    found: list[tuple[int, int]] = []
    pending = [os.getpid()]
    while pending:
        below = children.pop(pending.pop(), [])
        found.extend(below)
        pending.extend(number for number, _ in below)
    return found


if __name__ == "__main__":
    if sys.argv[1] == "keep":
        _keep(sys.argv[2])
    elif sys.argv[1] == "end":
        _end(sys.argv[2])
    else:
        _run([int(number) for number in sys.argv[2].split(",") if number], sys.argv[3:])
