"""Modules of the standard library that are there to inform, and such that no model's structure depends on."""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import (
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


@models("warnings.warn", "warnings.simplefilter", "warnings.filterwarnings", "warnings.warn_explicit")
def warn(arguments: Arguments, machine: Machine) -> Value:
    machine.may_be_called(arguments.positional, machine.unknown("what a warning says is not known"), several.TEXTS)
    return NONE


@models("typing_extensions.deprecated", "warnings.deprecated")
def deprecated(arguments: Arguments, machine: Machine) -> Value:
    return KnownFunction("functools._same")
