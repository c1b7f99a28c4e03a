"""The standard library, as far as constructors compute with it: math, operator, copy, functools, itertools and kin.

What depends on the environment, on chance or on the file system is unknown; what only informs (logging, warnings) is
inert.
"""

from __future__ import annotations

import math
import operator
import posixpath
import sys
from dataclasses import replace
from typing import Any

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import InstanceObject
from modgraph.prediction.domain.registry import (
    LOADED_MODULES,
    Model,
    alias,
    constant,
    inert,
    informing,
    known_class,
    models,
    not_calling,
)
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    TRUE,
    BoundMethod,
    Choice,
    Constant,
    FunctionValue,
    KnownClass,
    KnownFunction,
    ModuleReference,
    PartialValue,
    PropertyValue,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.prediction.python.plain import folded, number_unknown

# ---- math ------------------------------------------------------------------------------------------------------------

for _name in dir(math):
    _item = getattr(math, _name)
    if isinstance(_item, float):
        constant(f"math.{_name}", Constant(_item))
    elif callable(_item) and not _name.startswith("_"):
        models(f"math.{_name}")(folded(_item, f"math.{_name}"))


# ---- operator --------------------------------------------------------------------------------------------------------

_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "concat": "+",
}
_COMPARISONS = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">=", "is_": "is", "is_not": "is not"}


def _binary(symbol: str, compare: bool) -> Model:
    def apply(arguments: Arguments, machine: Machine) -> Value:
        left, right = arguments.positional[:2]
        return machine.compare(symbol, left, right) if compare else machine.binary(symbol, left, right)

    return apply


for _name, _symbol in (*_OPERATORS.items(), *_COMPARISONS.items()):
    models(f"operator.{_name}", f"_operator.{_name}")(_binary(_symbol, _name in _COMPARISONS))


@models("operator.index", "operator.abs", "operator.neg", "operator.pos", "operator.invert", "operator.inv")
def unary(arguments: Arguments, machine: Machine) -> Value:
    name = arguments.function.rpartition(".")[2]
    value = arguments.positional[0]
    if name == "neg":
        return machine.binary("-", Constant(0), value)
    if name in ("index", "pos") and not isinstance(value, Constant):
        return value
    return folded(getattr(operator, name), name)(arguments, machine)


@models("operator.not_", "operator.truth")
def truth(arguments: Arguments, machine: Machine) -> Value:
    verdict = machine.truth(arguments.positional[0])
    if verdict is None:
        return number_unknown(machine, "it is not known whether this is true", arguments.positional[0])
    return Constant(verdict is arguments.function.endswith("truth"))


@models("operator.getitem", "operator.setitem", "operator.delitem", "operator.contains")
def item(arguments: Arguments, machine: Machine) -> Value:
    name, given = arguments.function.rpartition(".")[2], arguments.positional
    if name == "getitem":
        return machine.get_item(given[0], given[1])
    if name == "contains":
        return machine.compare("in", given[1], given[0])
    if name == "setitem":
        machine.set_item(given[0], given[1], given[2])
    else:
        machine.delete_item(given[0], given[1])
    return NONE


known_class("operator._getter")


@models("operator.attrgetter", "operator.itemgetter")
def getter(arguments: Arguments, machine: Machine) -> Value:
    kind = Constant(arguments.function.rpartition(".")[2])
    return PartialValue(KnownFunction("operator._getter.get"), (kind, TupleValue(arguments.positional)))


@models("operator._getter.get")
def get(arguments: Arguments, machine: Machine) -> Value:
    kind, names, value = arguments.positional
    assert isinstance(names, TupleValue)
    if kind == Constant("itemgetter"):
        found = [machine.get_item(value, name) for name in names.items]
    else:
        found = [_attribute(machine, value, name) for name in names.items]
    return found[0] if len(found) == 1 else TupleValue(tuple(found))


def _attribute(machine: Machine, value: Value, path: Value) -> Value:
    """The attribute at a path with dots."""
    if isinstance(path, Choice):
        return machine.distribute(path, lambda each: _attribute(machine, value, each))
    if not isinstance(path, Constant):
        return machine.call(KnownFunction("builtins.getattr"), (value, path))
    for part in str(path.value).split("."):
        value = machine.get_attribute(value, part)
    return value


@models("operator.methodcaller")
def method_caller(arguments: Arguments, machine: Machine) -> Value:
    return machine.unknown("operator.methodcaller is not interpreted")


# ---- functools -------------------------------------------------------------------------------------------------------


known_class("functools.partial")


@models("functools.partial")
def partial(arguments: Arguments, machine: Machine) -> Value:
    function, *given = arguments.positional
    if arguments.open is not None:
        return machine.unknown("the arguments of a partial are not known", arguments.open)
    if isinstance(function, PartialValue):
        keywords = {**dict(function.keywords), **arguments.keywords}
        return PartialValue(function.function, (*function.positional, *given), tuple(keywords.items()))
    return PartialValue(function, tuple(given), tuple(arguments.keywords.items()))


@models("functools.reduce", "_functools.reduce")
def reduce(arguments: Arguments, machine: Machine) -> Value:
    function, iterable, *initial = arguments.positional
    items = machine.iterate(iterable)
    if isinstance(items, Unknown):
        return machine.unknown("what is reduced is not known", items)
    values = [*initial, *items]
    if not values:
        raise machine.raises("TypeError", "reduce() of empty iterable with no initial value")
    result = values[0]
    for value in values[1:]:
        result = machine.call(function, (result, value))
    return result


@models("functools.wraps")
def wraps(arguments: Arguments, machine: Machine) -> Value:
    """A decorator that gives the wrapper back, standing for what it wraps."""
    return PartialValue(KnownFunction("functools.update_wrapper"), (), (("wrapped", arguments.positional[0]),))


@models("functools.update_wrapper")
def update_wrapper(arguments: Arguments, machine: Machine) -> Value:
    wrapper = arguments.get(0, "wrapper", NONE)
    return (
        replace(wrapper, wrapped=arguments.get(1, "wrapped", NONE)) if isinstance(wrapper, FunctionValue) else wrapper
    )


@models("functools.partialmethod")
def partial_method(arguments: Arguments, machine: Machine) -> Value:
    """Looked up through an instance, a partial of the method that is bound to it."""
    function, *given = arguments.positional
    bound = PartialValue(
        KnownFunction("functools._bound_partial"),
        (function, TupleValue(tuple(given))),
        tuple(arguments.keywords.items()),
    )
    return PropertyValue(bound)


@models("functools._bound_partial")
def bound_partial(arguments: Arguments, machine: Machine) -> Value:
    function, given, receiver = arguments.positional
    assert isinstance(given, TupleValue)
    return PartialValue(function, (receiver, *given.items), tuple(arguments.keywords.items()))


@models("functools._same", "functools.total_ordering")
def same(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]


@models("functools.cached_property")
def cached_property(arguments: Arguments, machine: Machine) -> Value:
    return PropertyValue(arguments.positional[0], KnownFunction("functools._keep"))


@models("functools._keep")
def keep(arguments: Arguments, machine: Machine) -> Value:
    """Assignment over a cached property: an attribute of the instance."""
    machine.call(KnownFunction("builtins.object.__setattr__"), arguments.positional)
    return NONE


# ---- the environment -------------------------------------------------------------------------------------------------

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
    "os": ("getenv", "getcwd", "listdir", "cpu_count", "getpid", "makedirs", "walk", "environb", "uname", "urandom"),
    "os.path": ("exists", "isfile", "isdir", "expanduser", "abspath", "realpath", "getsize", "getmtime", "relpath"),
    "time": ("time", "perf_counter", "monotonic", "strftime", "localtime", "process_time", "time_ns"),
    "random": (
        *("random", "uniform", "randint", "choices", "sample", "gauss", "normalvariate"),
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


def _depends(name: str) -> Model:
    def answer(arguments: Arguments, machine: Machine) -> Value:
        return Unknown(f"depends on {name}", machine.where, inert=True, outside=not name.startswith("random."))

    return answer


for _owner, _names in _UNKNOWN.items():
    for _name in _names:
        models(f"{_owner}.{_name}")(_depends(f"{_owner}.{_name}"))
        if _owner == "os.path":
            models(f"posixpath.{_name}")(_depends(f"{_owner}.{_name}"))


constant("os.environ", Unknown("depends on os.environ", None, inert=True, outside=True))
constant("sys.argv", Unknown("depends on sys.argv", None, inert=True, outside=True))
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
    return folded(getattr(posixpath, arguments.function.rpartition(".")[2]), "a path")(arguments, machine)


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


# ---- what only informs -----------------------------------------------------------------------------------------------

informing(
    "logging", "warnings", "traceback", "pprint", "gc", "atexit", "time", "tqdm", "loguru", "termcolor", "colorama"
)
inert(
    *("textwrap", "inspect", "threading", "multiprocessing", "subprocess", "argparse", "json", "pickle", "csv"),
    *("tempfile", "shutil", "urllib", "requests", "rich", "datetime", "hashlib", "base64", "io", "signal", "socket"),
    *("matplotlib", "PIL", "cv2", "wandb", "tensorboard"),
)
not_calling("textwrap", "inspect", "datetime", "hashlib", "base64", "csv", "subprocess", "urllib", "typing_extensions")


@models("warnings.warn", "warnings.simplefilter", "warnings.filterwarnings", "warnings.warn_explicit")
def warn(arguments: Arguments, machine: Machine) -> Value:
    return NONE


@models("typing_extensions.deprecated", "warnings.deprecated")
def deprecated(arguments: Arguments, machine: Machine) -> Value:
    return KnownFunction("functools._same")


# ---- typing, abc, numbers --------------------------------------------------------------------------------------------

for _owner in ("typing", "typing_extensions"):

    @models(*(f"{_owner}.{name}" for name in ("overload", "final", "no_type_check", "runtime_checkable", "override")))
    def transparent(arguments: Arguments, machine: Machine) -> Value:
        return arguments.positional[0]

    @models(f"{_owner}.cast")
    def cast(arguments: Arguments, machine: Machine) -> Value:
        return arguments.get(1, "val", NONE)

    @models(f"{_owner}.TypeVar", f"{_owner}.ParamSpec", f"{_owner}.NewType", f"{_owner}.TypeVarTuple")
    def type_variable(arguments: Arguments, machine: Machine) -> Value:
        return Unknown("a type variable", machine.where, inert=True)

    @models(f"{_owner}.dataclass_transform")
    def transform(arguments: Arguments, machine: Machine) -> Value:
        return KnownFunction("functools._same")


@models("enum.unique", "abc.abstractmethod", "abc.abstractproperty", "abc.abstractclassmethod", "atexit.register")
def abstract(arguments: Arguments, machine: Machine) -> Value:
    return arguments.positional[0]


known_class("enum.Enum")
known_class("enum.IntEnum", "builtins.int", "enum.Enum")
known_class("enum.StrEnum", "builtins.str", "enum.Enum")
known_class("enum.Flag", "enum.Enum")
known_class("enum.IntFlag", "builtins.int", "enum.Flag")
known_class("enum.EnumMeta", "builtins.type")
alias("enum.EnumType", "enum.EnumMeta")
for _owner in ("typing", "typing_extensions"):
    for _name in ("Generic", "Protocol"):
        known_class(f"{_owner}.{_name}")
    known_class(f"{_owner}.TypedDict", "builtins.dict")
known_class("abc.ABC")
known_class("abc.ABCMeta", "builtins.type")
known_class("numbers.Number")
known_class("numbers.Complex", "numbers.Number")
known_class("numbers.Real", "numbers.Complex")
known_class("numbers.Rational", "numbers.Real")
known_class("numbers.Integral", "numbers.Rational")
_ABSTRACT = {
    "Hashable": (),
    "Sized": (),
    "Container": (),
    "Callable": (),
    "Iterable": (),
    "Iterator": ("Iterable",),
    "Generator": ("Iterator",),
    "Reversible": ("Iterable",),
    "Collection": ("Sized", "Iterable", "Container"),
    "Sequence": ("Reversible", "Collection"),
    "MutableSequence": ("Sequence",),
    "Set": ("Collection",),
    "MutableSet": ("Set",),
    "Mapping": ("Collection",),
    "MutableMapping": ("Mapping",),
    "MappingView": ("Sized",),
    "KeysView": ("MappingView", "Set"),
    "ItemsView": ("MappingView", "Set"),
    "ValuesView": ("MappingView", "Collection"),
}
for _name, _bases in _ABSTRACT.items():
    known_class(f"collections.abc.{_name}", *(f"collections.abc.{base}" for base in _bases))


constant("types.MethodType", KnownClass("builtins.method"))


@models("builtins.method")
def bound_method(arguments: Arguments, machine: Machine) -> Value:
    """types.MethodType(function, receiver)."""
    return BoundMethod(arguments.get(0, "function", NONE), arguments.get(1, "instance", NONE))


constant("types.NoneType", KnownClass("builtins.NoneType"))
constant("types.ModuleType", KnownClass("builtins.module"))
constant("types.GeneratorType", KnownClass("builtins.generator"))


@models("inspect.isfunction", "inspect.ismethod", "inspect.ismodule", "inspect.isbuiltin", "inspect.isroutine")
def is_kind(arguments: Arguments, machine: Machine) -> Value:
    kind = {
        "isfunction": "builtins.function",
        "ismethod": "builtins.method",
        "ismodule": "builtins.module",
        "isbuiltin": "builtins.builtin_function_or_method",
    }.get(arguments.function.rpartition(".")[2])
    kinds = (KnownClass(kind),) if kind else _ROUTINES
    verdict = machine.is_instance(arguments.positional[0], TupleValue(kinds))
    if verdict is None:
        return number_unknown(machine, "its class is not known", arguments.positional[0])
    return Constant(verdict)


_ROUTINES = tuple(KnownClass(f"builtins.{name}") for name in ("function", "method", "builtin_function_or_method"))


@models("inspect.isclass")
def is_class(arguments: Arguments, machine: Machine) -> Value:
    verdict = machine.is_instance(arguments.positional[0], KnownClass("builtins.type"))
    if verdict is None:
        return number_unknown(machine, "it is not known whether this is a class", arguments.positional[0])
    return TRUE if verdict else FALSE
