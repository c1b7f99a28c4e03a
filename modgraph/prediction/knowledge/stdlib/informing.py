"""Modules of the standard library that are there to inform, and such that no model's structure depends on."""

from __future__ import annotations

import inspect

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import (
    finding_objects,
    giving_own_values,
    inert,
    informing,
    models,
    not_calling,
)
from modgraph.prediction.domain.values import (
    NONE,
    KnownFunction,
    Value,
)
from modgraph.prediction.paths import several

informing("logging", "warnings", "traceback", "pprint", "gc", "atexit", "time")
inert(
    "builtins.get_ipython",  # of a cell of a notebook
    *("textwrap", "inspect", "threading", "multiprocessing", "subprocess", "argparse", "json", "pickle", "csv"),
    *("tempfile", "shutil", "urllib", "datetime", "hashlib", "base64", "io", "signal", "socket"),
)
not_calling("textwrap", "inspect", "datetime", "hashlib", "base64", "csv", "subprocess", "urllib", "typing_extensions")
giving_own_values(
    *("textwrap", "time", "datetime", "hashlib", "base64", "pprint", "subprocess", "socket", "tempfile", "csv.reader"),
    *("json.dump", "json.dumps", "pickle.dump", "pickle.dumps", "io.BytesIO", "io.StringIO", "io.open", "csv.writer"),
    *("urllib.parse", "urllib.request.urlopen", "urllib.request.urlretrieve", "multiprocessing.cpu_count"),
    *("multiprocessing.current_process", "multiprocessing.parent_process", "multiprocessing.freeze_support"),
    *("multiprocessing.set_start_method", "multiprocessing.get_start_method", "multiprocessing.Lock"),
    *("multiprocessing.RLock", "multiprocessing.Event", "multiprocessing.Semaphore", "multiprocessing.Condition"),
    *("logging.getLogger", "logging.basicConfig", "logging.Formatter", "logging.getLevelName", "logging.log"),
    *(f"logging.{each}" for each in ("debug", "info", "warning", "warn", "error", "exception", "critical")),
    *(f"gc.{each}" for each in ("collect", "disable", "enable", "isenabled", "freeze", "unfreeze", "is_tracked")),
    *(f"gc.{each}" for each in ("get_count", "get_threshold", "set_threshold", "get_stats", "get_freeze_count")),
    *(f"shutil.{each}" for each in ("copy", "copy2", "copyfile", "copytree", "move", "rmtree", "which")),
    *(f"traceback.{each}" for each in ("format_exc", "print_exc", "format_exception", "print_exception")),
    *(f"traceback.{each}" for each in ("format_stack", "print_stack", "format_tb", "print_tb", "extract_stack")),
    *(f"inspect.{each}" for each in ("getsource", "getsourcelines", "getsourcefile", "getfile", "getabsfile")),
    *(f"inspect.{each}" for each in ("getdoc", "getcomments", "cleandoc", "getmodulename", "isabstract")),
    *(f"inspect.{each}" for each in dir(inspect) if each.startswith("is") and each.islower()),
)
finding_objects("pickle", "inspect", "gc", "multiprocessing", "signal.signal", "signal.getsignal")
finding_objects(*(f"traceback.{each}" for each in ("walk_stack", "walk_tb")))


@models("warnings.warn", "warnings.simplefilter", "warnings.filterwarnings", "warnings.warn_explicit")
def warn(arguments: Arguments, machine: Machine) -> Value:
    machine.may_be_called(arguments.positional, machine.unknown("what a warning says is not known"), several.TEXTS)
    return NONE


@models("typing_extensions.deprecated", "warnings.deprecated")
def deprecated(arguments: Arguments, machine: Machine) -> Value:
    return KnownFunction("functools._same")
