"""The table of what is known and not read from source: a function per callable, looked up by qualified name.

    @models("math.sqrt")
    def square_root(arguments: Arguments, machine: Machine) -> Value:
        ...

A name is the definition site: "builtins.len", "builtins.list.append" (a method: the receiver is the first positional
argument), "torch.nn.init.kaiming_uniform_", "torch.empty". A registered name wins over source of the same name; so
`models("torch.nn.modules.container.ModuleList.append")` models one method of a class that is otherwise interpreted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from modgraph.prediction.domain.values import KnownClass, KnownFunction, ModuleReference, Unknown, Value

if TYPE_CHECKING:
    from modgraph.prediction.domain.calling import Arguments
    from modgraph.prediction.domain.machine import Machine


LOADED_MODULES = Unknown("depends on what is imported")
"""sys.modules: which modules are in it is not known, but what one of them is."""


ARGV = Unknown("depends on sys.argv", None, inert=True, outside=True)
"""sys.argv, as long as the program has not changed it: the words with which it is started."""


def is_argv(value: Unknown) -> bool:
    """It is that list, or comes of it."""
    return value.outside and value.reason == ARGV.reason


INSTALLED = Unknown("depends on where the file is installed", None, inert=True)
"""`__file__`: some text, which one is not known."""


Model: TypeAlias = "Callable[[Arguments, Machine], Value]"


Demand: TypeAlias = "Callable[[Arguments, Machine], None]"


Sequel: TypeAlias = "Callable[[Arguments, Machine, Value], None]"


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """What is known of a class that is not read from source."""

    name: str
    bases: tuple[str, ...] = ("builtins.object",)


_models: dict[str, Model] = {}
_demands: dict[str, tuple[Demand, ...]] = {}
_sequels: dict[str, Sequel] = {}
_classes: dict[str, ClassFacts] = {}
_raised: dict[str, ClassFacts] = {}
"""Classes of exceptions that Python has raised for the arguments that it was given; no name is found here."""
_constants: dict[str, Value] = {}
_inert: set[str] = set()
_informing: set[str] = set()
_outside: set[str] = set()
_not_calling: set[str] = set()
_own: set[str] = set()
_finding: set[str] = set()
_aliases: dict[str, str] = {}
_packages: set[str] = set()
"""Everything below which a name is known: "torch" and "torch.nn" for `torch.nn.Linear`."""
_looked_up: dict[str, Value | None] = {}
"""Answers of `lookup`, which do not change once all knowledge is loaded."""
_homes: dict[str, dict[str, Any]] = {}
"""The namespace of the module that has registered a callable."""
_loaded = False


def _known(name: str) -> None:
    while (name := name.rpartition(".")[0]) and name not in _packages:
        _packages.add(name)


def models(*names: str) -> Callable[[Model], Model]:
    """Registers the decorated function as the callable of these qualified names.

    Raises:
        AssertionError: one of them is registered already; the error names both modules.
    """
    home = _imported_now()

    def register(model: Model) -> Model:
        for name in names:
            _refuse_twice(name, home)
            _models[name], _homes[name] = model, home
            _known(name)
        return model

    return register


def _imported_now() -> dict[str, Any]:
    """The namespace of the module whose statements run, whatever helps it to register."""
    frame = sys._getframe(2)
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_globals


def _refuse_twice(name: str, home: dict[str, Any]) -> None:
    """Raises AssertionError where another module has registered the name, or this one already has.

    A file of which importing has failed is executed once more by whoever tries again, with a namespace of its own: what
    it had registered before it failed is no fault.
    """
    before = _homes.get(name, home)
    is_again = before is not home and before["__name__"] == home["__name__"]
    if name in _models and not is_again:
        raise AssertionError(f"registered twice: {name}, by {before['__name__']} and {home['__name__']}")


def demands(*names: str) -> Callable[[Demand], Demand]:
    """Registers the decorated function as one that refuses what these callables refuse: it raises, or does nothing. It
    is asked before the callable runs, where no further arguments may be given."""

    def register(demand: Demand) -> Demand:
        for name in names:
            _demands[name] = (*_demands.get(name, ()), demand)
        return demand

    return register


def demanded(name: str) -> tuple[Demand, ...]:
    """What is asked before a callable runs."""
    return _demands.get(_aliases.get(name, name), ())


def adds_to(*names: str) -> Callable[[Sequel], Sequel]:
    """Registers the decorated function as one that adds what else is known of what these callables give, of which it is
    told after they have run; one for each name."""

    def register(sequel: Sequel) -> Sequel:
        for name in names:
            assert name not in _sequels, name
            _sequels[name] = sequel
        return sequel

    return register


def sequel(name: str) -> Sequel | None:
    """What is told the result of a callable."""
    return _sequels.get(_aliases.get(name, name))


def known_class(name: str, *bases: str) -> None:
    """A class that is not read from source. Its constructor is `models(name)` (the whole of `name(...)`); for classes
    derived from it in source, `models(name + ".__init__")` and kin are what `super()` finds."""
    _classes[name] = ClassFacts(name, bases or ("builtins.object",))
    _known(name)


def raised_class(cls: type[BaseException]) -> str:
    """The qualified name of a class of exceptions that Python has raised; from now on its bases are known too."""
    name, *bases = (f"{each.__module__}.{each.__qualname__}" for each in (cls, *cls.__bases__))
    if name not in _raised:
        _raised[name] = ClassFacts(name, tuple(bases))
        for base in cls.__bases__:
            if issubclass(base, BaseException):
                raised_class(base)
    return name


def constant(name: str, value: Value) -> None:
    """`math.pi`: an attribute of a module that is no callable."""
    _constants[name] = value
    _known(name)


def alias(name: str, target: str) -> None:
    """`name` is another import path of `target`: alias("torch.Tensor", "torch._tensor.Tensor")."""
    _aliases[name] = target
    _known(name)


def inert(*names: str) -> None:
    """Packages, classes or functions that no model's structure depends on ("logging", "warnings.warn"): whatever comes
    from them is an inert Unknown, and their calls change nothing. A callable among them called directly gives None."""
    _inert.update(names)


def informing(*names: str) -> None:
    """Those of them that are there to inform, and raise nothing when they are called."""
    inert(*names)
    _informing.update(names)


def outside(*names: str) -> None:
    """Callables whose success depends on what is outside the program: files, devices, the environment, a network."""
    _outside.update(names)


def is_outside(name: str) -> bool:
    """Whether a callable was declared to reach outside the program."""
    return name in _outside


def load(import_all: Callable[[], None]) -> None:
    """Has the files of knowledge imported, each of which registers what it knows; once."""
    global _loaded
    if not _loaded:
        import_all()
        _loaded = True


def lookup(name: str) -> Value | None:
    """KnownClass, KnownFunction or constant of that qualified name; an inert Unknown; None where nothing is known."""
    found = _looked_up.get(name, _looked_up)
    if found is _looked_up:
        found = _look_up(_aliases.get(name, name))
        if _loaded:
            _looked_up[name] = found
    return found  # type: ignore[return-value]  # the table itself stands for "not yet"


def _look_up(name: str) -> Value | None:
    if name in _constants:
        return _constants[name]
    if name in _classes:
        return KnownClass(name)
    if name in _models:
        return KnownFunction(name)
    if name in _inert:
        return ModuleReference(name) if has_package(name) else not_interpreted(name)
    return None


def not_interpreted(name: str, attribute: str = "") -> Unknown:
    """What comes from something inert, or is an attribute of it."""
    is_outside = not _lies_in(name, _informing)
    return Unknown(
        f"{name} is not interpreted", None, inert=True, outside=is_outside, library=f"{name}.{attribute}".strip(".")
    )


def not_calling(*names: str) -> None:
    """Packages, among those that are inert, of which no function calls what it is given."""
    _not_calling.update(names)


def giving_own_values(*names: str) -> None:
    """Functions and classes, among those that are inert, that give values of their own whatever they are given:
    numbers, texts, files. No module is reached through these."""
    _own.update(names)


def gives_own_values(name: str) -> bool:
    """Whether a function, or a package that it lies in, was declared to give values of its own."""
    return _lies_in(name, _own)


def finding_objects(*names: str) -> None:
    """Packages and functions, among those that are inert, that find or make objects that nobody has given them: what
    `pickle.load` reads, what is in a frame."""
    _finding.update(names)


def finds_objects(name: str) -> bool:
    """Whether a function, or a package that it lies in, was declared to find or make objects."""
    return _lies_in(name, _finding)


def may_call(function: Unknown) -> bool:
    """Whether something inert may call what it is given: whatever comes from a library that is not interpreted, and is
    not known to call nothing."""
    name = function.library
    if not function.inert or not name:
        return False
    return not _lies_in(name, _informing) and not _lies_in(name, _not_calling)


def informs(value: Unknown) -> bool:
    """It comes from a library that is there to inform."""
    return value.inert and bool(value.library) and _lies_in(value.library, _informing)


def is_of_python(value: Unknown) -> bool:
    """It comes from the standard library, which knows nothing of torch: no class of it is a module's or a tensor's."""
    return value.inert and is_standard(value.library)


def is_standard(name: str) -> bool:
    """It is the import path of a module of the standard library, or of what lies in one."""
    return name.partition(".")[0] in sys.stdlib_module_names


def model(name: str) -> Model | None:
    """The function registered for a callable."""
    return _models.get(_aliases.get(name, name))


def asks_for_more(model: Model) -> bool:
    """Whether a model, or what it stands around, reads `Arguments.open`: it knows what to do with further arguments."""
    inside = [cell.cell_contents for cell in getattr(model, "__closure__", None) or ()]
    return any("open" in each.__code__.co_names for each in (model, *inside) if hasattr(each, "__code__"))


def class_facts(name: str) -> ClassFacts | None:
    return _classes.get(name) or _raised.get(name)


def is_inert(module: str) -> bool:
    """The module, or a package it lies in, was declared inert."""
    return _lies_in(module, _inert)


def _lies_in(module: str, packages: set[str]) -> bool:
    parts = module.split(".")
    return any(".".join(parts[:end]) in packages for end in range(1, len(parts) + 1))


def has_package(module: str) -> bool:
    """Something below that module is known, whether or not its source is there."""
    return module in _packages
