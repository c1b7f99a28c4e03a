"""What calls that are not interpreted may do to files, where a script is followed to what it gives a class.

Of the standard library it is known what only looks: everything else there may change any file. Another library changes
the files that it is given the names of.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.file_changes import ON_PATHS
from modgraph.prediction.domain.objects import DictObject, ListObject
from modgraph.prediction.domain.values import GIVEN, NONE, Address, Constant, TupleValue, Value

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

READING = frozenset({"r", "rt", "rb"})
_MAX_LOOKED_AT = 200
_HARMLESS_NAMES = """
    abc argparse array ast base64 binascii bisect builtins calendar cmath collections colorsys contextvars
    copy copyreg dataclasses datetime decimal difflib dis enum errno faulthandler fnmatch fractions functools
    gc getopt getpass gettext glob graphlib hashlib heapq hmac html inspect ipaddress itertools json keyword
    linecache locale logging math mimetypes numbers operator optparse pickle platform posixpath pprint queue
    random re reprlib sched secrets select selectors signal socket ssl statistics string struct sys sysconfig
    tempfile textwrap threading time timeit token tokenize traceback types typing unicodedata unittest uuid
    warnings weakref xml zlib zoneinfo
"""
_HARMLESS = frozenset(_HARMLESS_NAMES.split())
"""Of the standard library: packages none of which changes a file that a script reads as its configuration."""
_LOOKING_NAMES = """
    getcwd getcwdb getenv getenvb listdir scandir walk stat lstat access makedirs mkdir cpu_count getpid
    getppid getuid getgid geteuid getlogin uname urandom fspath fsdecode fsencode get_terminal_size
    sched_getaffinity getloadavg umask nice isatty strerror putenv unsetenv get_exec_path times ctermid
    getpgid sysconf fsync
"""
_LOOKING = frozenset(f"os.{name}" for name in _LOOKING_NAMES.split()) | {
    "shutil.which",
    "shutil.disk_usage",
    "shutil.get_terminal_size",
    "subprocess.list2cmdline",
    "io.StringIO",
}
_BELOW = ("os.path.", "os.environ.", "urllib.parse.", "io.StringIO.", "io.BytesIO.", "concurrent.futures.")
_SAYING_SO = frozenset({"chdir", "fchdir", "chroot", "write_text", "write_bytes"})
"""Names of functions that do what they say, wherever they come from."""


def note(machine: Machine, name: str, arguments: Arguments) -> None:
    """Of a call of what is not interpreted.

    Args:
        name: its import path, or that of what made it; "" where nothing is known of it.
    """
    if machine.data_of is None:
        return
    name = name.removesuffix(GIVEN)
    given = (*arguments.positional, *arguments.keywords.values())
    if last_name(name) in _SAYING_SO or (_is_standard(name) and not _only_looks(name, arguments)):
        machine.file_changes.anything()
    elif not _is_standard(name):
        machine.file_changes.named(_texts(machine, given))


def note_opened(machine: Machine, arguments: Arguments) -> None:
    """Of a call of `open`: whether it may write, and to what."""
    if machine.data_of is None or _reads(arguments):
        return
    path = arguments.get(0, "file", NONE)
    if isinstance(path, Constant) and isinstance(path.value, str):
        machine.file_changes.named([path.value])
    else:
        machine.file_changes.anything()


def _reads(arguments: Arguments) -> bool:
    mode = arguments.get(1, "mode", Constant("r"))
    return arguments.open is None and isinstance(mode, Constant) and mode.value in READING


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


def _only_looks(name: str, arguments: Arguments) -> bool:
    package, last = name.partition(".")[0], last_name(name)
    if package == "pathlib":
        if last == "open":  # of a path: the mode comes first
            mode = arguments.get(0, "mode", Constant("r"))
            return isinstance(mode, Constant) and mode.value in READING
        return last not in ON_PATHS or (last == "replace" and len(arguments.positional) > 1)  # that of a text
    if last == "open" and _reads(arguments):
        return True
    if package == "contextlib":
        return last != "chdir"
    return package in _HARMLESS or name in _LOOKING or name.startswith(_BELOW)


def _texts(machine: Machine, values: Iterable[Value]) -> Iterator[str]:
    pending = list(values)
    for _ in range(_MAX_LOOKED_AT):
        if not pending:
            return
        value = pending.pop()
        if isinstance(value, Constant):
            if isinstance(value.value, str):
                yield value.value
            elif isinstance(value.value, bytes):
                yield value.value.decode("latin-1")
        elif isinstance(value, TupleValue):
            pending += value.items
        elif isinstance(value, Address):
            listed, mapped = machine.state.find(value, ListObject), machine.state.find(value, DictObject)
            pending += listed.items if listed is not None else ()
            pending += mapped.entries.values() if mapped is not None else ()
    if pending:
        machine.file_changes.anything()
