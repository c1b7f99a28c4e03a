"""The one writer of files: a file is there whole or not at all, and where it was asked for.

What is analysed may lie in the folder that is written to, and whoever made it may have put links there. So a file is
made under a name that nobody can foresee, in the folder itself, and takes the place of what is there; a link is
replaced and not followed, and a folder below the one that was named is never gone into through a link. The one
exception is a path that the user wrote out: what it points to is what was asked for.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from modgraph.doors.reading import lies_in
from modgraph.doors.signals import deferred

Path = str | os.PathLike[str]

_BY_FOLDER = {os.open, os.stat, os.mkdir, os.unlink, os.rename} <= os.supports_dir_fd
"""Whether a folder can be held open, so that nothing can take its place between two steps."""
# By O_PATH also a folder whose names may not be listed.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NOT_FOLLOWED = getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOT_FOLLOWED | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NAMELESS = getattr(os, "O_TMPFILE", 0)
_OWN_FILES = "/proc/self/fd"
_PIECE = 1 << 20
_SEPARATORS = os.sep + (os.altsep or "")
_TRIES = 100


@dataclass(slots=True)
class _Folder:
    """A folder that is written to."""

    path: str
    handle: int | None
    """Open for as long as it is written to; None on a system that cannot refer to it so."""

    def _at(self, name: str) -> str:
        return name if self.handle is not None else os.path.join(self.path, name)

    def stat(self, name: str) -> os.stat_result | None:
        """What is there, links not followed; None where nothing is."""
        try:
            return os.stat(self._at(name), dir_fd=self.handle, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def make(self, mode: int | None) -> tuple[int, str]:
        """A new file under a name that nobody foresaw: its handle, and the name."""
        for _ in range(_TRIES):
            name = f".modgraph-{os.urandom(8).hex()}.tmp"
            try:
                handle = os.open(self._at(name), _NEW, 0o666 if mode is None else mode, dir_fd=self.handle)
            except FileExistsError:
                continue
            return handle, name
        raise FileExistsError(errno.EEXIST, "no free name for a temporary file", self.path)

    def make_nameless(self, mode: int | None) -> int | None:
        """A new file that has no name yet, so that nothing is left of it if this process is killed; None where the
        system has none. Source: open(2), "O_TMPFILE"."""
        if self.handle is None or not _NAMELESS or not os.path.isdir(_OWN_FILES):
            return None
        try:
            return os.open(
                ".", os.O_WRONLY | _NAMELESS | os.O_CLOEXEC, 0o666 if mode is None else mode, dir_fd=self.handle
            )
        except OSError:
            return None

    def name(self, handle: int, name: str) -> None:
        """Give a file a name that nothing has."""
        os.link(f"{_OWN_FILES}/{handle}", name, dst_dir_fd=self.handle, follow_symlinks=True)

    def put(self, name: str, into: str) -> None:
        if self.handle is None:
            os.replace(self._at(name), self._at(into))
        else:
            os.replace(name, into, src_dir_fd=self.handle, dst_dir_fd=self.handle)

    def remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._at(name), dir_fd=self.handle)

    def below(self, name: str) -> _Folder:
        """A folder in it, made where there is none.

        Raises:
            OSError: it is a link, or no folder.
        """
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._at(name), dir_fd=self.handle)
        path = os.path.join(self.path, name)
        found = self.stat(name)
        if found is not None and (stat.S_ISLNK(found.st_mode) or _is_junction(path)):
            raise OSError(errno.ELOOP, f"{path} is a link, and what it leads to was not named")
        if found is not None and not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, f"{path} is a file")
        return _Folder(
            path, None if self.handle is None else os.open(name, _FOLDER | _NOT_FOLLOWED, dir_fd=self.handle)
        )

    def close(self) -> None:
        if self.handle is not None:
            os.close(self.handle)


def put(path: Path, data: bytes, *, below: Path | None = None, mode: int | None = None) -> None:
    """Put `data` into the file `path`, making its folder; nothing half-written is left, whatever happens.

    A file that is there is replaced, and keeps its mode; a new one has that of the umask.

    Args:
        below: the folder that was named, `path` being a file in it or below: links from there on are not followed, and
            no pipe or device is written to. None where the path itself was named.
        mode: of a file that was not there.

    Raises:
        OSError: it cannot be written, or would lie elsewhere; `strerror` says why.
    """
    if below is None and _is_special(path):
        # A pipe or a device, such as /dev/stdout: nothing can take its place.
        with open(path, "wb") as file:
            file.write(data)
        return
    put_all(
        [(path, lambda handle: _write(handle, data))], below=below, named=[path] if below is None else (), mode=mode
    )


def copy_all(pairs: Sequence[tuple[Path, Path]], *, below: Path, named: Sequence[Path] = ()) -> None:
    """Put copies of files in the place of others: all of them, or none. They may be larger than memory.

    Args:
        pairs: what is copied, and where to.
        below: the folder that was named; see `put`.
        named: of the places, those that the user wrote out.

    Raises:
        OSError: one cannot be read or written; `filename` says which where it is known.
    """
    put_all([(to, _copier(source)) for source, to in pairs], below=below, named=named)


def put_all(
    wanted: Sequence[tuple[Path, Callable[[int], None]]],
    *,
    below: Path | None,
    named: Sequence[Path] = (),
    mode: int | None = None,
) -> None:
    """Files that belong together, each written by a function that is given its handle: all of them, or none."""
    made = _Made()
    with contextlib.ExitStack() as stack:
        try:
            for path, write in wanted:
                with _about(path):
                    folder, name = stack.enter_context(_place(path, None if path in named else below))
                    _make(made, folder, name, write, mode)
            made.finish()
        finally:
            made.undo()


@contextlib.contextmanager
def _about(path: Path) -> Iterator[None]:
    """An error names the file that was asked for, not the temporary one."""
    try:
        yield
    except OSError as error:
        error.filename = os.fspath(path)
        raise


def _make(made: _Made, folder: _Folder, name: str, write: Callable[[int], None], mode: int | None) -> None:
    before = _replaced(folder, name)
    wanted = mode if before is None else before
    with deferred():  # a file that is not noted here would not be removed
        handle = folder.make_nameless(wanted)
        temporary = None
        if handle is None:
            handle, temporary = folder.make(wanted)
        one = _Pending(folder, handle, temporary, name)
        made.pending.append(one)
    if before is not None and hasattr(os, "fchmod"):
        with contextlib.suppress(OSError):  # some file systems have no modes
            os.fchmod(handle, before)
    write(handle)
    if temporary is not None:
        one.close()


def put_new(path: Path, pieces: Iterable[bytes], *, below: Path) -> None:
    """Make a file in a folder of our own, such as a temporary one in which there are no links; its folder is made too.

    Raises:
        OSError: it cannot be written, or would lie elsewhere.
    """
    place = os.path.join(os.fspath(below), *_parts(path, below))
    make_folder(os.path.dirname(place))
    with contextlib.suppress(FileNotFoundError):  # of a name that differs in case alone, where that is the same
        os.unlink(place)
    handle = os.open(place, _NEW, 0o666)
    try:
        for piece in pieces:
            _write(handle, piece)
    finally:
        os.close(handle)


def put_link(path: Path, target: str, *, below: Path) -> bool:
    """Make a link, in a folder of our own, to something that is there and lies in that folder; False where it would
    lead elsewhere or there is something at its place already.

    Args:
        target: relative to `below`.

    Raises:
        OSError: it cannot be made.
    """
    top = os.path.realpath(below)
    place, leads = os.path.join(top, *_parts(path, below)), os.path.join(top, *target.split("/"))
    folder = os.path.dirname(place)
    real = os.path.realpath(leads)
    if os.path.lexists(place) or real != leads or not os.path.exists(real) or not lies_in(real, top):
        return False
    make_folder(folder)
    if os.path.realpath(folder) != folder:  # another link stands on the way
        return False
    os.symlink(os.path.relpath(leads, folder), place, target_is_directory=os.path.isdir(leads))
    return True


def append(path: Path, data: bytes, *, below: Path) -> None:
    """Put `data` at the end of a regular file in the folder `below`, which is made where there is none.

    Raises:
        OSError: it cannot be written, or is a link or no regular file.
    """
    with _place(path, below) as (folder, name):
        _replaced(folder, name)
        found = folder.stat(name)
        if found is not None and stat.S_ISLNK(found.st_mode):
            raise OSError(errno.ELOOP, f"{os.fspath(path)} is a link, and what it leads to was not named")
        flags = (_NEW & ~os.O_EXCL) | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(folder._at(name), flags, 0o666, dir_fd=folder.handle)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.EINVAL, "it is a pipe or a device")
            _write(handle, data)
        finally:
            os.close(handle)


def remove(path: Path, *, below: Path) -> None:
    """Remove a file below a folder, and the folders between that it leaves empty; nothing that a link leads to."""
    parts = _parts(path, below)
    folders = [os.path.join(os.fspath(below), *parts[:count]) for count in range(1, len(parts))]
    if any(os.path.islink(folder) or _is_junction(folder) for folder in folders):
        return
    with contextlib.suppress(OSError):
        os.unlink(path)
        for folder in reversed(folders):
            os.rmdir(folder)


def make_folder(path: Path, *, mode: int = 0o777) -> None:
    """A folder, and those above it, where there is none; however many these are.

    Raises:
        OSError: one cannot be made, or is a file.
    """
    missing: list[str] = []
    place = os.fspath(path)
    while place and not os.path.isdir(place):
        missing.append(place)
        place = os.path.dirname(place.rstrip(_SEPARATORS))
    for place in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was quicker, or it is told below
            os.mkdir(place, mode if place is missing[0] else 0o777)
    if missing and not os.path.isdir(path):
        raise FileExistsError(errno.EEXIST, f"{missing[-1]} is no folder")


@dataclass(slots=True)
class _Pending:
    """A file that is not yet in its place."""

    folder: _Folder
    handle: int | None
    """None once it is closed."""
    temporary: str | None
    """None where it has no name."""
    name: str

    def close(self) -> None:
        if self.handle is not None:
            handle, self.handle = self.handle, None
            os.close(handle)

    def finish(self) -> None:
        """Put it in its place."""
        if self.temporary is None:
            assert self.handle is not None
            with contextlib.suppress(FileExistsError):
                self.folder.name(self.handle, self.name)
                return
            with deferred():
                self.temporary = f".modgraph-{os.urandom(8).hex()}.tmp"
                self.folder.name(self.handle, self.temporary)
        self.folder.put(self.temporary, self.name)

    def undo(self) -> None:
        self.close()
        if self.temporary is not None:
            self.folder.remove(self.temporary)


@dataclass(slots=True)
class _Made:
    """Files that are written and not yet in their places."""

    pending: list[_Pending] = field(default_factory=list)

    def finish(self) -> None:
        while self.pending:
            one = self.pending[0]
            with _about(os.path.join(one.folder.path, one.name)):
                one.finish()
            one.close()
            del self.pending[0]

    def undo(self) -> None:
        with deferred():
            for one in self.pending:
                one.undo()
            self.pending.clear()


@contextlib.contextmanager
def _place(path: Path, below: Path | None) -> Iterator[tuple[_Folder, str]]:
    """The folder in which a file is made, and its name there."""
    if below is None:
        real = os.path.realpath(path)  # where it is a link, the file it points to is replaced and the link stays
        top, parts = os.path.dirname(real), [os.path.basename(real)]
    else:
        top, parts = os.fspath(below) or os.curdir, _parts(path, below)
    if not parts[-1]:
        raise IsADirectoryError(0, "it is a directory")
    if os.path.lexists(top) and not os.path.isdir(top):
        what = "a link that leads nowhere" if os.path.islink(top) else "a file"
        raise NotADirectoryError(errno.ENOTDIR, f"{top} is {what}")
    make_folder(top)
    folder = _Folder(top, os.open(top, _FOLDER) if _BY_FOLDER else None)
    try:
        for part in parts[:-1]:
            inner = folder.below(part)
            folder.close()
            folder = inner
        yield folder, parts[-1]
    finally:
        folder.close()


def _parts(path: Path, below: Path) -> list[str]:
    """What leads from the folder to the file.

    Raises:
        OSError: it would lie elsewhere.
    """
    inner, outer = os.path.normpath(path), os.path.normpath(os.fspath(below) or os.curdir)
    if outer == os.curdir:
        outer = ""
    beginning = os.path.join(outer, "")
    rest = inner[len(beginning) :] if inner.startswith(beginning) else ""
    parts = rest.split(os.sep)
    strange = os.name == "nt" and any(":" in part for part in parts)
    if not rest or "\0" in rest or os.path.isabs(rest) or os.pardir in parts or strange:
        raise OSError(errno.EINVAL, f"it would lie outside of {os.fspath(below)}")
    return parts


def _replaced(folder: _Folder, name: str) -> int | None:
    """The mode of the file that will be replaced; None where none is, or a link."""
    found = folder.stat(name)
    if found is None or stat.S_ISLNK(found.st_mode):
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(0, "it is a directory")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, "it is a pipe or a device")  # renaming a file to it would put an end to it
    return stat.S_IMODE(found.st_mode) & 0o777


def _is_special(path: Path) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _is_junction(path: str) -> bool:
    """On Windows a folder may lead elsewhere without being a link."""
    if os.name != "nt":
        return False
    with contextlib.suppress(OSError):
        return bool(getattr(os.lstat(path), "st_reparse_tag", 0))
    return False


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def _copier(source: Path) -> Callable[[int], None]:
    def copy(handle: int) -> None:
        with open(source, "rb") as file:
            while data := file.read(_PIECE):
                _write(handle, data)

    return copy
