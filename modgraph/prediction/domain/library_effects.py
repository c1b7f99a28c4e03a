"""Of the standard library: what changes no file that a script may read as its configuration.

What is not named here may change any. Functions that are named call nothing but what they are given, and that is
followed. What a function gives goes by its name, with all of its methods.
"""

from __future__ import annotations

import sys

from modgraph.names import last_name

_PURE_NAMES = """
    abc array ast base64 binascii bisect calendar cmath collections colorsys contextvars copy dataclasses datetime
    decimal difflib enum errno fnmatch fractions functools gc getopt getpass glob graphlib hashlib heapq hmac html
    inspect ipaddress itertools json keyword linecache locale math mimetypes numbers operator platform pprint queue
    random re reprlib sched secrets select selectors socket statistics string struct sys sysconfig tempfile textwrap
    threading time token tokenize traceback typing unicodedata uuid warnings weakref zlib zoneinfo
"""
_PURE = frozenset(_PURE_NAMES.split())
"""Packages no function of which opens a file to write to it, save one with a name that none had before, runs a text as
code, or ends the process."""
_FUNCTIONS = {
    "argparse": "Namespace Action ArgumentTypeError ArgumentError HelpFormatter RawTextHelpFormatter SUPPRESS "
    "ArgumentDefaultsHelpFormatter RawDescriptionHelpFormatter MetavarTypeHelpFormatter BooleanOptionalAction "
    "ArgumentParser",
    "atexit": "register unregister",
    "builtins": "",
    "concurrent.futures": "ThreadPoolExecutor ProcessPoolExecutor as_completed wait Future thread process",
    "contextlib": "contextmanager asynccontextmanager suppress nullcontext closing redirect_stdout redirect_stderr "
    "ExitStack AsyncExitStack ContextDecorator AbstractContextManager",
    "faulthandler": "enable disable is_enabled register dump_traceback dump_traceback_later",
    "gettext": "gettext ngettext",
    "io": "StringIO BytesIO",
    "logging": "getLogger debug info warning warn error critical fatal exception log disable captureWarnings shutdown "
    "root addLevelName getLevelName Formatter Filter LoggerAdapter Logger StreamHandler NullHandler Handler LogRecord "
    "setLoggerClass getLoggerClass setLogRecordFactory getLogRecordFactory makeLogRecord lastResort",
    "os": "getcwd getcwdb getenv getenvb listdir scandir walk stat lstat access makedirs mkdir cpu_count getpid "
    "getppid getuid getgid geteuid getlogin uname urandom fspath fsdecode fsencode get_terminal_size sched_getaffinity "
    "getloadavg umask nice isatty strerror putenv unsetenv get_exec_path times ctermid getpgid sysconf fsync path "
    "environ name devnull sep linesep pardir curdir pathsep altsep extsep",
    "pickle": "dump dumps Pickler HIGHEST_PROTOCOL PickleError UnpicklingError load loads Unpickler",
    "posixpath": "",
    "shutil": "which disk_usage get_terminal_size",
    "signal": "signal getsignal default_int_handler siginterrupt strsignal Signals",
    "ssl": "create_default_context _create_unverified_context _create_default_https_context",
    "subprocess": "list2cmdline",
    "timeit": "default_timer",
    "types": "SimpleNamespace MappingProxyType MethodType ModuleType GenericAlias coroutine new_class prepare_class "
    "resolve_bases get_original_bases DynamicClassAttribute",
    "urllib": "parse",
    "xml": "sax.saxutils",
    "xml.etree.ElementTree": "Element SubElement fromstring fromstringlist XML Comment QName tostring iselement indent",
}
_LOOKING = tuple(
    f"{package}.{name}." if name else f"{package}."
    for package, names in _FUNCTIONS.items()
    for name in names.split() or [""]
)
_NAMED = (
    *("logging.FileHandler.", "logging.basicConfig.", "logging.handlers.", "logging.config.dictConfig."),
    *("xml.etree.ElementTree.", "csv.", "configparser."),
)
"""Functions that write to what their arguments name, and to nothing else."""
AFTERWARDS = ("atexit.", "signal.")
"""Those that call what they are given at the end, or where something outside of the program asks for it."""
_OF_THE_SYSTEM = {
    "posix": "os",
    "nt": "os",
    "_io": "io",
    **dict.fromkeys(("posixpath", "ntpath", "genericpath"), "os.path"),
}
"""Modules under which those of others are found, too."""


def is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


def usual(name: str) -> str:
    """The import path under which a function is known: `os.kill`, of `posix.kill`."""
    package, dot, rest = name.partition(".")
    return _OF_THE_SYSTEM.get(package, package) + dot + rest


def only_looks(name: str) -> bool:
    """Of a function of the standard library: it changes no such file."""
    return name.partition(".")[0] in _PURE or f"{usual(name)}.".startswith(_LOOKING)


def writes_what_it_names(name: str) -> bool:
    """Of such a function: it changes those that are named by what it is given."""
    return f"{name}.".startswith(_NAMED)


SHOWN_BY = frozenset({"print", "input", "breakpoint"})


def is_read_with(name: str) -> bool:
    """A name of Python's own is another from here on, with which files are read: `builtins.open`."""
    return usual(name).startswith(("builtins.", "io.")) and last_name(name) not in SHOWN_BY
