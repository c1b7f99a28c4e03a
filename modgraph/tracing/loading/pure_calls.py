"""Functions and methods that change nothing but what they are given: a short list, of what scripts do when imported."""

from __future__ import annotations

import argparse
import ast
import builtins
import csv
import inspect
import io
import logging
import os
import pathlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch

from modgraph.tracing.loading.held_code import holds_project_code
from modgraph.tracing.loading.project_texts import is_of_project

OTHER, READ, OWN = 0, 1, 2
"""What a value is: it may be of the model; a list or dict of plain values that others have; one's own, or plain.

A value of the last two is of a class that is known, of Python or of a package (`ATTRIBUTES_HIDDEN`), and so is all that
can be reached from it: no code of the project runs where it is looked into, compared, shown or iterated.
"""
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, torch.dtype, torch.device)
_PATHS = (pathlib.PosixPath, pathlib.WindowsPath, pathlib.PurePosixPath, pathlib.PureWindowsPath)
_BUILTINS = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "bytes",
        "chr",
        "dict",
        "divmod",
        "enumerate",
        "exit",
        "float",
        "frozenset",
        "hex",
        "int",
        "isinstance",
        "len",
        "list",
        "max",
        "min",
        "oct",
        "open",
        "ord",
        "pow",
        "print",
        "quit",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
        "zip",
    ]
)
PACKAGES = {
    "os": "getenv getcwd listdir fspath cpu_count getpid",
    "os.path": "join dirname basename abspath realpath expanduser expandvars exists isfile isdir splitext split"
    " normpath relpath getsize",
    "pathlib": "Path PurePath PosixPath Path.cwd Path.home",
    "sys": "exit",
    "time": "time sleep perf_counter monotonic strftime",
    "datetime": "datetime.now datetime.today",
    "glob": "glob",
    "json": "load loads",
    "csv": "reader DictReader",
    "argparse": "ArgumentParser",
    "logging": "getLogger",
    "torch": "load device no_grad",
    "torch.cuda": "is_available device_count",
    "torch.utils.cpp_extension": "load",
    "numpy": "load loadtxt genfromtxt",
    "yaml": "safe_load",
}
_REFUSED = frozenset(
    [
        *("allow_pickle", "weights_only", "pickle_module", "cls", "Loader", "namespace", "opener"),
        *("is_python_module", "is_standalone", "mmap", "mmap_mode"),
    ]
)
"""With these arguments some of them run what they are given, or change what others have."""
_ENCODINGS = frozenset(
    [
        *("utf-8", "utf8", "UTF-8", "UTF8", "utf-8-sig", "utf-16", "ascii", "latin-1", "latin1", "cp1252", "gbk"),
        *("iso-8859-1", "ISO-8859-1", "strict", "ignore", "replace", "backslashreplace"),
    ]
)
"""Whatever else is named may be a codec of the project."""
_CODECS = ("encoding", "errors")
_FRESH = frozenset(
    [
        *("abs", "all", "any", "bool", "bytes", "chr", "exit", "float", "hex", "int", "isinstance", "len", "oct"),
        *("open", "ord", "print", "quit", "range", "repr", "round", "str"),
    ]
)
"""Nothing that they are given is in what they give."""
METHODS_OF_READ = frozenset(
    [
        "absolute",
        "resolve",
        "expanduser",
        "exists",
        "is_file",
        "is_dir",
        "read_text",
        "read_bytes",
        "joinpath",
        "relative_to",
        "with_suffix",
        "iterdir",
        "glob",
        "read",
        "readline",
        "readlines",
        "strip",
        "lstrip",
        "rstrip",
        "split",
        "rsplit",
        "splitlines",
        "lower",
        "upper",
        "title",
        "replace",
        "startswith",
        "endswith",
        "format",
        "join",
        "encode",
        "decode",
        "count",
        "index",
        "find",
        "get",
        "keys",
        "values",
        "items",
        "copy",
        "parse_args",
        "parse_known_args",
    ]
)
METHODS_OF_OWN = frozenset(
    [
        "append",
        "extend",
        "add",
        "update",
        "insert",
        "pop",
        "setdefault",
        "sort",
        "reverse",
        "clear",
        "remove",
        "close",
        "seek",
        "add_argument",
        "add_argument_group",
        "add_mutually_exclusive_group",
        "add_subparsers",
        "add_parser",
        "set_defaults",
        "print_help",
        "print_usage",
        "error",
        "exit",
    ]
)
METHODS_OF_LOGGERS = frozenset(("debug", "info", "warning", "error", "critical", "exception"))
KNOWN_KINDS = (int, float, str, bool, list, tuple, dict, pathlib.Path)
_MOST_ITEMS = 1_000
LOGGER = logging.Logger("any")
"""Stands for every logger: all that ask by its name have the same one."""
_KNOWN_IN_PYTHON = (
    *_PATHS,
    type(argparse.ArgumentParser().add_argument_group()),
    argparse.ArgumentParser,
    csv.DictReader,
    torch.no_grad,
    io.TextIOWrapper,
    *(each for each in vars(builtins).values() if isinstance(each, type) and issubclass(each, BaseException)),
)
_SHOWN = frozenset(
    [
        *("name", "stem", "suffix", "suffixes", "parent", "parents", "parts", "drive", "root", "anchor"),
        *("args", "errno", "strerror", "filename", "msg", "lineno", "prog", "description", "fieldnames", "line_num"),
        *("closed", "mode", "encoding", "code"),
    ]
)
ATTRIBUTES_HIDDEN = frozenset(
    name
    for kind in _KNOWN_IN_PYTHON
    for name in (*dir(kind), *(vars(argparse.ArgumentParser()) if kind is argparse.ArgumentParser else ()))
    if name not in _SHOWN
) | {"obj", "reader", "dialect", "prev", "container"}
"""Attributes of known classes that may be functions, classes or modules, which others have, too."""


def kind_of_value(value: Any) -> int:
    """What a live object is."""
    if type(value) in (*_PLAIN, *_PATHS):
        return OWN
    if is_known_kind(value):
        return READ
    if type(value) in (tuple, list, set, frozenset, dict) and len(value) <= _MOST_ITEMS:
        held = [*value, *value.values()] if type(value) is dict else value
        if all(type(each) in _PLAIN for each in held):
            return OWN if type(value) in (tuple, frozenset) else READ
    return OTHER


def is_known_kind(value: Any) -> bool:
    """A class to which texts are turned; all have the same one."""
    return any(value is each for each in KNOWN_KINDS)


def shows(name: str) -> bool:
    """An attribute of this name of a known value is a known value, whatever class it is of."""
    return not name.startswith("_") and name not in ATTRIBUTES_HIDDEN


def gives(function: Any, call: ast.Call, given: int) -> Any:
    """What a live function of a package gives that changes nothing when it is called so; None where that is not known.

    Args:
        given: the worst of what it is given.
    """
    if not all(map(_is_usual, call.keywords)) or not _has_known_codecs(call):
        return None
    if is_plain_error(function):
        return given
    name = getattr(function, "__name__", "") if isinstance(function, type | types.BuiltinFunctionType) else ""
    if name in _BUILTINS and vars(builtins).get(name) is function:
        is_known = _reads(call) if name == "open" else name not in ("str", "bytes") or len(call.args) <= 1
        is_known = is_known and not (name == "print" and is_of_project(type(sys.stdout)))
        return (OWN if name in _FRESH else given) if is_known else None
    if name == "" and type(function) is type(builtins.exit) and function in (builtins.exit, builtins.quit):
        return OWN
    if not _is_found(function) or not _is_as_made(function) or not _is_placed_as_known(function, call):
        return None
    if function is logging.getLogger:
        return LOGGER
    return OTHER if getattr(function, "__module__", "") == "torch.utils.cpp_extension" else given


def _is_placed_as_known(function: Any, call: ast.Call) -> bool:
    """What is given by its place is nothing that is refused by its name."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return True  # it is written in C, and takes none of these
    if any(isinstance(each, ast.Starred) for each in call.args):
        return not any(each.name in (*_REFUSED, *_CODECS) for each in parameters)
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [each.name for each in parameters if each.kind in by_place]
    given = dict(zip(names, call.args, strict=False))
    return not any(name in _REFUSED or (name in _CODECS and not _is_codec(one)) for name, one in given.items())


def is_plain_error(kind: Any) -> bool:
    """A class of exceptions of Python itself."""
    is_error = isinstance(kind, type) and issubclass(kind, BaseException)
    return is_error and vars(builtins).get(kind.__name__) is kind


def is_pure_method(call: ast.Call, name: str, found: int, given: int) -> bool:
    """A method of this name changes nothing but its own, whatever known class its owner is of."""
    if not _has_known_codecs(call):
        return False
    if name == "replace":  # with one argument a path is renamed
        return len(call.args) >= 2 and not any(isinstance(each, ast.Starred) for each in call.args)
    if name in ("encode", "decode", "read_text") and not all(map(_is_codec, call.args)):
        return False
    return name in METHODS_OF_READ or (name in METHODS_OF_OWN and found == given == OWN)


def _is_usual(argument: ast.keyword) -> bool:
    match argument:
        case ast.keyword(arg="weights_only", value=ast.Constant(value=True)):
            return True
    return argument.arg is not None and argument.arg not in _REFUSED


def _has_known_codecs(call: ast.Call) -> bool:
    return all(_is_codec(each.value) for each in call.keywords if each.arg in _CODECS)


def _is_codec(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or node.value in _ENCODINGS)


def logs_plainly(logger: Any) -> bool:
    """What is logged goes to nobody of the project."""
    handlers = [each() for each in vars(logging)["_handlerList"]]
    manager = logging.root.manager
    others = [each for each in manager.loggerDict.values() if isinstance(each, logging.Logger)]
    makers = [type(manager), logging.getLoggerClass(), manager.loggerClass, logging.getLogRecordFactory()]
    makers += [manager.logRecordFactory, *(type(each) for each in (logging.root, *others))]
    held = [
        value
        for each in (logging.root, *others)
        for name, value in vars(each).items()
        if name not in ("manager", "parent")
    ]
    if type(logger) not in (logging.Logger, logging.RootLogger):
        return False
    return not any(map(holds_project_code, (*makers, *held, *handlers, logging.lastResort)))


def _is_as_made(function: Any) -> bool:
    """The project has not taught it to make objects of its own."""
    name = getattr(function, "__name__", "")
    if function is torch.load:
        makers = [torch.serialization.get_safe_globals(), *vars(torch.serialization).get("_package_registry", ())]
        return not any(map(holds_project_code, makers)) and not os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    if name == "safe_load":
        loader = sys.modules["yaml"].__dict__["SafeLoader"]
        held = [one for kind in loader.__mro__ for one in vars(kind).values()]
        parts = [part for one in held if isinstance(one, dict) for part in one.values()]
        return not any(map(holds_project_code, (loader, *held, *parts)))
    return True


def _reads(call: ast.Call) -> bool:
    modes = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "mode")]
    starred = any(isinstance(each, ast.Starred) for each in call.args)
    texts = [each.value for each in modes if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return (
        len(call.args) <= 3
        and not starred
        and len(texts) == len(modes)
        and all(set(each) <= set("rbtU") for each in texts)
    )


def _is_found(function: Any) -> bool:
    """It is a function of a package that is imported."""
    if is_of_project(function):
        return False
    if isinstance(function, types.MethodType):  # of a class: a new object each time
        return any(isinstance(each, types.MethodType) and each == function for each in _found())
    is_built_in = isinstance(function, types.BuiltinMethodType) and isinstance(function.__self__, type)
    return any(each is function or (is_built_in and each == function) for each in _found())


def _found() -> Iterator[Any]:
    for home, names in PACKAGES.items():
        module = os.path if home == "os.path" else sys.modules.get(home)
        for name in names.split() if isinstance(module, types.ModuleType) else ():
            value: Any = module
            for part in name.split("."):
                value = getattr(value, part, None)
            if value is not None:
                yield value


_PARTS_OF_PARSERS = frozenset(
    [
        *("_actions", "_option_string_actions", "_action_groups", "_mutually_exclusive_groups"),
        *("_positionals", "_optionals", "_subparsers"),
    ]
)
"""These hold the options, of which each is looked at by itself."""


def parses_plainly(parser: Any, method: str) -> bool:
    """A parser that others have reads its options, with nothing of the project in it."""
    if type(parser) is not argparse.ArgumentParser or method not in ("parse_args", "parse_known_args"):
        return False
    is_shadowed = any(hasattr(type(parser), name) for name in vars(parser))
    held = [each for name, each in vars(parser).items() if name not in _PARTS_OF_PARSERS]
    if is_shadowed or any(map(holds_project_code, held)):
        return False
    if any(kind_of_value(each) != OWN for each in parser._defaults.values()):
        return False
    return all(map(_is_plain_option, parser._actions))


def _is_plain_option(action: argparse.Action) -> bool:
    kind = type(action)
    if vars(argparse).get(kind.__name__) is not kind or kind.__name__ == "_SubParsersAction":
        return False
    if any(hasattr(kind, name) and callable(each) for name, each in vars(action).items()):
        return False
    is_typed = action.type is None or is_known_kind(action.type)
    is_plain = all(kind_of_value(each) == OWN for each in (action.default, action.const, action.metavar, action.help))
    return is_typed and is_plain and (action.choices is None or kind_of_value(action.choices) >= READ)
