"""os, sys, time, platform and kin: what depends on the environment or on chance is unknown."""

from __future__ import annotations

import posixpath
import sys
from typing import Any, cast

from modgraph.names import last_name
from modgraph.prediction.domain import points_to
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.registry import (
    ARGV,
    LOADED_MODULES,
    Model,
    constant,
    known_class,
    models,
)
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    Constant,
    KnownClass,
    ModuleReference,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.python.plain import folded

constant("sys.maxsize", Constant(sys.maxsize))
constant("sys.version_info", TupleValue(tuple(Constant(part) for part in sys.version_info)))
constant("sys.implementation", ModuleReference("sys.implementation"))  # a namespace, like a module
constant("sys.implementation.name", Constant(sys.implementation.name))
constant("sys.implementation.version", TupleValue(tuple(Constant(part) for part in sys.version_info)))
constant("sys.byteorder", Constant(sys.byteorder))
constant("os.sep", Constant("/"))
constant("os.linesep", Constant("\n"))
constant("typing.TYPE_CHECKING", FALSE)

_UNKNOWN = {
    "os": ("getcwd", "listdir", "cpu_count", "getpid", "makedirs", "walk", "environb", "uname", "urandom"),
    "os.path": ("exists", "isfile", "isdir", "expanduser", "abspath", "realpath", "getsize", "getmtime", "relpath"),
    "time": ("time", "perf_counter", "monotonic", "strftime", "localtime", "process_time", "time_ns", "strptime"),
    "random": (
        *("random", "uniform", "randint", "gauss", "normalvariate"),
        *("randrange", "getrandbits", "seed", "betavariate"),
    ),
    "platform": ("system", "machine", "python_version", "platform", "processor", "node", "release"),
    "socket": ("gethostname",),
    "uuid": ("uuid4", "uuid1"),
    "datetime.datetime": ("now", "today", "utcnow"),
    "datetime.date": ("today",),
    "shutil": ("which",),
    "getpass": ("getuser",),
}


_REFUSING = frozenset({"time.strptime", "random.randint", "random.randrange"})
"""Those that raise for some arguments, which are not looked at."""


def _depends(name: str) -> Model:
    def answer(arguments: Arguments, machine: Machine) -> Value:
        if name in _REFUSING:
            machine.may_fail()
        return Unknown(f"depends on {name}", machine.where, inert=True, outside=not name.startswith("random."))

    return answer


for _owner, _names in _UNKNOWN.items():
    for _name in _names:
        models(f"{_owner}.{_name}")(_depends(f"{_owner}.{_name}"))
        if _owner == "os.path":
            models(f"posixpath.{_name}")(_depends(f"{_owner}.{_name}"))


@models("os.getenv")
def getenv(arguments: Arguments, machine: Machine) -> Value:
    """os.environ.get(key, default), where the environment is taken for granted."""
    if machine.assumed.environment is None:
        found = _depends("os.getenv")(arguments, machine)
        default = arguments.get(1, "default", NONE)
        return found if points_to.is_plain(default) else points_to.either_of(cast("Unknown", found), [default])
    environment = machine.get_attribute(ModuleReference("os"), "environ")
    given = (arguments.get(0, "key", NONE), arguments.get(1, "default", NONE))
    return machine.call(machine.get_attribute(environment, "get"), given)


constant("os.environ", Unknown("depends on os.environ", None, inert=True, outside=True))
constant("sys.argv", ARGV)
constant("sys.platform", Unknown("depends on sys.platform", None, inert=True))
constant("sys.path", Unknown("depends on sys.path", None, inert=True))
constant("sys.modules", LOADED_MODULES)
constant("os.name", Unknown("depends on os.name", None, inert=True))


constant("os.path", ModuleReference("posixpath"))


@models(
    *(f"{owner}.{name}" for owner in ("os.path", "posixpath") for name in ("join", "basename", "dirname", "splitext"))
)
def path_part(arguments: Arguments, machine: Machine) -> Value:
    """Of a path given as text, with "/" between its parts."""
    return folded(getattr(posixpath, last_name(arguments.function)), "a path")(arguments, machine)


@models("importlib.util.find_spec")
def find_spec(arguments: Arguments, machine: Machine) -> Value:
    """None where the package is not on the path; else something that is not None."""
    name = arguments.get(0, "name", NONE)
    if not isinstance(name, Constant):
        return machine.unknown("which package is looked for is not known", name)
    finder: Any = getattr(machine, "finder", None)
    if finder is None or finder.find(str(name.value)) is None:
        return NONE
    return machine.allocate(
        InstanceObject(KnownClass("importlib.machinery.ModuleSpec"), {"name": name, "loader": NONE})
    )


known_class("importlib.machinery.ModuleSpec")
