"""Functions and methods that change nothing but what they are given: a short list, of what scripts do when imported."""

from __future__ import annotations

import argparse
import ast
import builtins
import os
import sys
import types
from pathlib import PurePath
from typing import Any

import torch

from modgraph.tracing.loading.project_texts import is_of_project

OTHER, READ, OWN = 0, 1, 2
"""What a value is: it may be of the model; a list or dict of plain values that others have; one's own, or plain."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, torch.dtype, torch.device)
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
_OF_PACKAGES = {
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
_REFUSED = frozenset(("allow_pickle", "weights_only", "pickle_module", "cls", "Loader", "namespace", "opener"))
"""With these arguments some of them run what they are given."""
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
        "debug",
        "info",
        "warning",
        "error",
        "exit",
    ]
)
_TYPES = (int, float, str, bool, list, tuple, dict)
_MOST_ITEMS = 1_000


def kind_of_value(value: Any) -> int:
    """What a live object is."""
    if type(value) in _PLAIN or (isinstance(value, PurePath) and type(value).__module__.startswith("pathlib")):
        return OWN
    if type(value) is type and any(value is each for each in _TYPES):
        return OWN
    if type(value) in (tuple, list, set, frozenset, dict) and len(value) <= _MOST_ITEMS:
        held = [*value, *value.values()] if type(value) is dict else value
        if all(type(each) in _PLAIN for each in held):
            return OWN if type(value) in (tuple, frozenset) else READ
    return OTHER


def is_pure(function: Any, call: ast.Call) -> bool:
    """A live function of a package changes nothing when it is called so."""
    if any(each.arg is None or each.arg in _REFUSED for each in call.keywords):
        return False
    if isinstance(function, type) and issubclass(function, Exception) and function.__module__ == "builtins":
        return True
    name = getattr(function, "__name__", "")
    if name in _BUILTINS and vars(builtins).get(name) is function:
        return (name != "open" or _reads(call)) and not is_of_project(function)
    return any(function == each for each in _found()) and not is_of_project(function)


def _reads(call: ast.Call) -> bool:
    modes = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "mode")]
    starred = any(isinstance(each, ast.Starred) for each in call.args)
    texts = [each.value for each in modes if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return not starred and len(texts) == len(modes) and all(set(each) <= set("rbtU") for each in texts)


def _found() -> list[Any]:
    """Of packages that are imported."""
    found: list[Any] = []
    for home, names in _OF_PACKAGES.items():
        module = os.path if home == "os.path" else sys.modules.get(home)
        for name in names.split() if isinstance(module, types.ModuleType) else ():
            value: Any = module
            for part in name.split("."):
                value = getattr(value, part, None)
            if value is not None:
                found.append(value)
    return found


def parses_plainly(parser: Any, method: str) -> bool:
    """A parser that others have reads its options, with nothing of the project in it."""
    if type(parser) is not argparse.ArgumentParser or method not in ("parse_args", "parse_known_args"):
        return False
    return all(
        type(each).__module__ == "argparse"
        and (each.type is None or any(each.type is one for one in _TYPES))
        and kind_of_value(each.default) == OWN
        and type(each).__name__ != "_SubParsersAction"
        for each in parser._actions
    )
