"""How a server (`server.py`) is asked for a process. A file of its own, for `ask.py`, which starts once for each command of a
shell: it imports what an interpreter has built in, and nothing else."""

from __future__ import annotations

import _signal
import _socket
import array
import marshal
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SECONDS = 500.0
"""How long the server may take to import everything."""


def asked_for(folder: str, room: str, command: list[str], *, numbers: list[int], where: str, given: list[int] | None = None, closed: list[int] = [], environment: Any = os.environ, group: bool = False, tied: bool = False, is_over: Callable[[], bool] = bool) -> tuple[Any, int]:  # fmt: skip  # noqa: B006
    """The connection on which the end of the command is told, and its number.

    Args:
        numbers: the descriptors that it has.
        given: ours that it gets as these; by default those of the same numbers.
        closed: those of the numbers that it has not.
        group: it is the first of a process group.
        tied: it ends with the connection.
        is_over: the server will never be there.
    """
    umask = os.umask(0o22)
    os.umask(umask)
    ends = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
    request = {
        "command": command, "cwd": where, "environment": dict(environment), "umask": umask, "group": group,
        "numbers": numbers, "closed": closed, "tied": tied,
        "ignored": [int(number) for number in ends if _signal.getsignal(number) == _signal.SIG_IGN],
    }  # fmt: skip
    data = marshal.dumps(request)
    connection = _connected(f"{folder}/{room}", is_over)
    descriptors = array.array("i", given or numbers)
    connection.sendmsg([len(data).to_bytes(8, "little")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
    connection.sendall(data)
    said = b""
    while not said.endswith(b"\n"):
        said += connection.recv(1)
    return connection, int(said)


def told(connection: Any) -> int:
    """The status; -9 where the server is gone."""
    said = b""
    while not said.endswith(b"\n"):
        said += connection.recv(64) or b"-9\n"
    connection.close()
    return int(said)


def _connected(place: str, is_over: Callable[[], bool]) -> Any:
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    os.set_inheritable(connection.fileno(), False)
    until = time.monotonic() + SECONDS
    while not os.path.exists(place) and time.monotonic() < until and not is_over():
        time.sleep(0.02)
    connection.connect(place)
    return connection
