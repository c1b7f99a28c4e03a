"""The one reader of files: regular ones alone, and never more of one than its limit.

A pipe, a device or a socket may have no end, or act when it is opened; a sparse file may be larger than memory; a file
of the kernel's (`/proc/kmsg`) waits. Each of them is an `OSError` here, as a file is that is not there, so that whoever
reads has one kind of failure to tell of. What is said stands in its `strerror`.
"""

from __future__ import annotations

import errno
import os
import stat

SOURCE_BYTES = 8_000_000
"""Of a file of Python; larger ones are data, and parsing one would take gigabytes."""
CONFIG_BYTES = 8_000_000
"""Of a pyproject.toml, a modgraph.toml, a baseline."""
NOTEBOOK_BYTES = 100_000_000
"""Of a notebook, of which only the text is searched."""
GRAPH_BYTES = 108_000_000
"""Of a saved graph in JSON; what is read from a larger one of modgraph's own may take more than is given to it:
`data.MAX_GRAPH_MEMORY`."""
ONNX_BYTES = 2_147_483_647
"""Of an ONNX file, which is one message of protobuf. Source: protobuf.dev, "Total Size of the Message"."""
OWN_BYTES = 4_294_967_296
"""Of what modgraph wrote itself and takes up again: the files of a model with its weights."""

_OPENED = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a pipe that took the file's place is opened at once, and refused
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_PIECE = 1 << 20
_kernels: frozenset[int | None] | None = None


class UnreadableError(OSError):
    """What is there is not read: it is no regular file, or too large."""


def read(path: str | os.PathLike[str], most: int = SOURCE_BYTES) -> bytes:
    """What a regular file holds.

    Args:
        most: bytes; a larger file is not read at all, and one that grows meanwhile no further.

    Raises:
        OSError: it is not there, may not be read, is no regular file, or is larger; `strerror` says which.
    """
    try:
        found = os.stat(path)
    except ValueError:  # a name with a NUL in it
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
    _require(found, path, most)
    handle = os.open(path, _OPENED)
    try:
        found = os.fstat(handle)
        _require(found, path, most)
        return _content(handle, found.st_size, path, most)
    finally:
        os.close(handle)


def beginning(path: str | os.PathLike[str], count: int, start: int = 0) -> bytes:
    """At most `count` bytes of a regular file, however large it is.

    Raises:
        OSError: it is not there, may not be read, or is no regular file.
    """
    _require(os.stat(path), path, None)
    handle = os.open(path, _OPENED)
    try:
        found = os.fstat(handle)
        _require(found, path, None)
        os.lseek(handle, start, os.SEEK_SET)
        wanted = max(0, min(count, found.st_size - start))
        return _content(handle, wanted, path, wanted, cut=True)
    finally:
        os.close(handle)


def ending(path: str | os.PathLike[str], count: int) -> bytes:
    """The last `count` bytes of a regular file.

    Raises:
        OSError: it is not there, may not be read, or is no regular file.
    """
    size = os.stat(path).st_size
    return beginning(path, count, max(0, size - count))


def kernel_text(path: str | os.PathLike[str]) -> str:
    """What a file below /proc or /sys says, whose name is one of ours: its size is not known before it is read.

    Raises:
        OSError: it is not there, or may not be read.
    """
    handle = os.open(path, _OPENED)
    try:
        return _content(handle, _PIECE, path, _PIECE, cut=True).decode("utf-8", "surrogateescape")
    finally:
        os.close(handle)


def link_text(path: str | os.PathLike[str]) -> str:
    """What a link says; where that leads is not looked at.

    Raises:
        OSError: there is no link.
    """
    return os.readlink(os.fspath(path))


def real_path(path: str | os.PathLike[str], *, strict: bool = False) -> str:
    """A path without links.

    Raises:
        OSError: more links lead on to each other than Python follows; or, where it is strict, nothing is there.
    """
    try:
        return os.path.realpath(path, strict=strict)
    except RecursionError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path) from None


def repository_of(folder: str) -> str | None:
    """The folder, or the nearest above it, that has a `.git`; of an absolute path."""
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def irregular(path: str | os.PathLike[str]) -> str | None:
    """What is at `path` where that is neither a file nor a folder: "a pipe". None of all else, and of nothing."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None
    return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else _kind(mode)


INSTEAD_OF_A_PIPE = "write what comes of it into a file, and name that"
"""What to do where something was named that is not read; only `check -` reads standard input."""


def lies_in(path: str, folder: str) -> bool:
    """Whether an absolute path is that of a folder, or below it."""
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(os.path.join(folder, ""))


def _require(found: os.stat_result, path: str | os.PathLike[str], most: int | None) -> None:
    if not stat.S_ISREG(found.st_mode):
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        raise UnreadableError(errno.EINVAL, f"it is {_kind(found.st_mode)}, not a regular file", path)
    if found.st_dev in _of_the_kernel():
        raise UnreadableError(errno.EINVAL, "it is a file of the system's own, not a regular one", path)
    if most is not None and found.st_size > most:
        raise _too_large(path, most)


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def _of_the_kernel() -> frozenset[int | None]:
    """Where files say that they are regular, and wait, or hold what the kernel knows. Source: proc(5), sysfs(5)."""
    global _kernels
    if _kernels is None:
        root = _device("/")
        _kernels = frozenset(found for place in ("/proc", "/sys") if (found := _device(place)) not in (None, root))
    return _kernels


def _device(place: str) -> int | None:
    try:
        return os.stat(place).st_dev if os.name == "posix" else None
    except OSError:
        return None


def _content(handle: int, size: int, path: str | os.PathLike[str], most: int, *, cut: bool = False) -> bytes:
    """Up to the end, or up to `most` bytes; `size` is how many there should be."""
    data = os.read(handle, size if cut else size + 1)
    if len(data) == size and not cut:  # the end, by far most often
        return data
    pieces = [data]
    held = len(data)
    while data and held < most + (not cut):
        data = os.read(handle, min(_PIECE, most + 1 - held))
        pieces.append(data)
        held += len(data)
    if held > most and not cut:
        raise _too_large(path, most)
    return b"".join(pieces)[: most if cut else None]


def _too_large(path: str | os.PathLike[str], most: int) -> UnreadableError:
    return UnreadableError(errno.EFBIG, f"it is larger than {shown(most)}", path)


def shown(count: int) -> str:
    """A number of bytes in words: "8 MB"."""
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.3g} MB"
