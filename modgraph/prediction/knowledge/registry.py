"""The table of what is known and not read from source: a function per callable, looked up by qualified name.

    @models("math.sqrt")
    def square_root(arguments: Arguments, machine: Machine) -> Value:
        ...

A name is the definition site: "builtins.len", "builtins.list.append" (a method: the receiver is the first positional
argument), "torch.nn.init.kaiming_uniform_", "torch.empty". A registered name wins over source of the same name; so
`models("torch.nn.modules.container.ModuleList.append")` models one method of a class that is otherwise interpreted.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from modgraph.graph.model import SourceLocation
from modgraph.prediction.objects import HeapObject
from modgraph.prediction.values import NONE, Address, Choice, KnownClass, KnownFunction, ModuleReference, Unknown, Value

if TYPE_CHECKING:
    from modgraph.prediction.state import State


LOADED_MODULES = Unknown("depends on what is imported")
"""sys.modules: which modules are in it is not known, but what one of them is."""


INSTALLED = Unknown("depends on where the file is installed", None, inert=True)
"""`__file__`: some text, which one is not known."""


class Raised(Exception):  # noqa: N818 - an event of the interpreted code, no error of this one
    """The interpreted code certainly raises here. Made by `machine.raises`, caught by an interpreted `try`."""

    def __init__(self, exception: Value, name: str, message: str, where: SourceLocation | None) -> None:
        super().__init__(f"{name}: {message}")
        self.exception = exception
        """The exception instance, as the handler binds it."""
        self.name = name
        """Qualified name of its class: "builtins.TypeError"."""
        self.message = message
        self.where = where
        self.asked: SourceLocation | None = None
        """Where it is raised in torch's own source: what outside of it has led there."""

    def kept(self) -> Raised:
        """Itself, to be raised again later: without the traceback, which would keep every frame that ran, with its
        states, until the garbage collector finds them."""
        self.__traceback__ = None
        self.__context__ = None
        return self


@dataclass(slots=True)
class Arguments:
    """What a callable was called with; of a method, the receiver is `positional[0]`. Not changed once it is made."""

    function: str
    """Name for messages: "len"."""
    positional: tuple[Value, ...] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict)
    where: SourceLocation | None = None
    """The call."""
    open: Unknown | None = None
    """There may be further arguments: `*items` or `**options` of unknown content was passed."""

    def get(self, position: int, name: str, default: Value) -> Value:
        """The argument at `position` or of that name, else `default`; without a check for other arguments."""
        if position < len(self.positional):
            return self.positional[position]
        return self.keywords.get(name, default)


class Machine(Protocol):
    """The interpreter as knowledge sees it. What Python would raise is raised as `Raised` by every method."""

    state: State

    # values
    def call(
        self,
        function: Value,
        positional: Sequence[Value] = (),
        keywords: Mapping[str, Value] | None = None,
        where: SourceLocation | None = None,
        others: Unknown | None = None,
    ) -> Value:
        """function(*positional, **keywords); of a class, the new instance. `others`: why there may be more of them."""

    def get_attribute(self, value: Value, name: str) -> Value:
        """value.name, with properties, methods bound, `__getattr__`; AttributeError is `Raised`."""

    def find_attribute(self, value: Value, name: str) -> Value | None:
        """The same; None where AttributeError would be raised (`Unknown` where that cannot be known)."""

    def set_attribute(self, value: Value, name: str, new: Value) -> None: ...
    def delete_attribute(self, value: Value, name: str) -> None: ...
    def get_item(self, value: Value, key: Value) -> Value: ...
    def set_item(self, value: Value, key: Value, new: Value) -> None: ...
    def delete_item(self, value: Value, key: Value) -> None: ...

    def iterate(self, value: Value) -> list[Value] | Unknown:
        """All items of an iterable (a dict gives its keys), or why they are not known. An iterator is used up."""

    def iterate_in_any_order(self, value: Value) -> list[Value] | Unknown:
        """The same, also of a set whose order is not known: for what does not depend on the order."""

    def length(self, value: Value) -> int | Unknown: ...

    def step(self) -> None:
        """Counts a step; past the limit, what runs is given up."""

    def distribute(self, value: Choice, function: Callable[[Value], Value]) -> Value:
        """`function` of each alternative, on paths of its own."""

    def truth(self, value: Value) -> bool | None:
        """bool(value); None where it cannot be known."""

    def equal(self, left: Value, right: Value) -> bool | None:
        """left == right."""

    def binary(self, operator: str, left: Value, right: Value) -> Value:
        """left + right and kin; `operator` as in source: "+", "//", "@", "<<", ..."""

    def compare(self, operator: str, left: Value, right: Value) -> Value:
        """ "<", "<=", "==", "!=", ">", ">=", "is", "is not", "in", "not in"."""

    def string(self, value: Value) -> str | None:
        """str(value); None where it cannot be known."""

    # classes
    def class_of(self, value: Value) -> Value:
        """type(value): ClassValue, KnownClass, or Unknown."""

    def mro(self, cls: Value) -> tuple[Value, ...]:
        """Of a ClassValue or KnownClass, itself first; an Unknown in it stands for bases not known."""

    def is_instance(self, value: Value, classes: Value) -> bool | None:
        """isinstance; `classes` is a class, a tuple of them, a union."""

    def is_subclass(self, cls: Value, classes: Value) -> bool | None: ...

    def class_attribute(self, cls: Value, name: str, after: Value | None = None) -> Value | None:
        """What the MRO (after the class `after`, if given) holds under `name`, unbound; None if nothing."""

    def is_module_class(self, cls: Value) -> bool:
        """nn.Module is in its MRO."""

    def resolve(self, name: str) -> Value:
        """What an import path leads to: `resolve("torch.nn.Linear")`; Unknown where it cannot be found."""

    def function_signature(self, function: Value) -> tuple[str, ...] | None:
        """Parameter names of a function, method (without the receiver) or class; None where not known."""

    # heap
    def allocate(self, item: HeapObject) -> Address: ...

    def copy_deep(self, value: Value, memo: Value = NONE) -> Value:
        """copy.deepcopy: fresh addresses throughout, sharing inside kept; a `__deepcopy__` is called."""

    def pickled_its_own_way(self, value: Address) -> Unknown | None:
        """Why a copy of the object may hold something else than it; None where it holds the same."""

    def spend(self, units: int) -> None:
        """Counts work that no steps stand for; `LimitError` where it is used up."""
        ...

    def makes(self, count: int) -> None:
        """Counts words of memory that are made; `LimitError` where they are used up."""

    # not knowing
    def fork(self, paths: Sequence[Callable[[], Value]], reason: str) -> Value:
        """Runs each path on a copy of the present state, and joins what they leave; the choice of their values."""

    def unknown(self, reason: str, *causes: Value) -> Unknown:
        """An Unknown at the present place; the first Unknown or Choice among `causes` gives both instead."""

    def choice(self, values: Iterable[Value], reason: str) -> Value:
        """One of `values`: itself if they are the same, a Choice if few, else an Unknown."""

    def expose(self, values: Iterable[Value], why: Unknown) -> None:
        """Something not known was given these: whatever mutable is reachable from them is open from here on."""

    def raises(self, name: str, message: str, given: tuple[Value, ...] | None = None) -> Raised:
        """To raise: `raise machine.raises("TypeError", "...")`; `name` a builtin exception or a qualified name; `given`
        its `args`, where they are known: the message need not be that of Python to the letter."""

    def may_refuse(self, name: str) -> None:
        """What is done here raises that exception for some of the values that it may be given."""

    def problem(self, reason: str, address: Address | None = None, where: SourceLocation | None = None) -> None:
        """Record something the prediction leaves open."""

    @property
    def where(self) -> SourceLocation | None:
        """The statement or call that is being interpreted."""


Model: TypeAlias = Callable[[Arguments, Machine], Value]


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """What is known of a class that is not read from source."""

    name: str
    bases: tuple[str, ...] = ("builtins.object",)


_models: dict[str, Model] = {}
_classes: dict[str, ClassFacts] = {}
_constants: dict[str, Value] = {}
_inert: set[str] = set()
_informing: set[str] = set()
_outside: set[str] = set()
_not_calling: set[str] = set()
_interpreted: set[str] = set()
_aliases: dict[str, str] = {}
_KNOWLEDGE = ("builtins", "stdlib", "containers", "tensors", "outside")
_BESIDE = (
    *("registration", "reflection", "signatures", "data_classes", "made_data_classes"),
    *("class_annotations", "evaluation"),
)
_packages: set[str] = set()
"""Everything below which a name is known: "torch" and "torch.nn" for `torch.nn.Linear`."""
_looked_up: dict[str, Value | None] = {}
"""Answers of `lookup`, which do not change once all knowledge is loaded."""
_loaded = False


def _known(name: str) -> None:
    while (name := name.rpartition(".")[0]) and name not in _packages:
        _packages.add(name)


def models(*names: str) -> Callable[[Model], Model]:
    """Registers the decorated function as the callable of these qualified names."""

    def register(model: Model) -> Model:
        for name in names:
            assert name not in _models, name
            _models[name] = model
            _known(name)
        return model

    return register


def known_class(name: str, *bases: str) -> None:
    """A class that is not read from source. Its constructor is `models(name)` (the whole of `name(...)`); for classes
    derived from it in source, `models(name + ".__init__")` and kin are what `super()` finds."""
    _classes[name] = ClassFacts(name, bases or ("builtins.object",))
    _known(name)


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


def interpreted(*packages: str) -> None:
    """Modules of the standard library to be interpreted from their source; the others give only what is known here."""
    _interpreted.update(packages)


def load() -> None:
    """Imports the files of knowledge, each of which registers what it knows; once."""
    global _loaded
    if not _loaded:
        _loaded = True
        for file in _KNOWLEDGE:
            importlib.import_module(f"modgraph.prediction.knowledge.{file}")
        for file in _BESIDE:
            importlib.import_module(f"modgraph.prediction.{file}")


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


def may_call(function: Unknown) -> bool:
    """Whether something inert may call what it is given: whatever comes from a library that is not interpreted, and is
    not known to call nothing."""
    name = function.library
    if not function.inert or not name:
        return False
    return not _lies_in(name, _informing) and not _lies_in(name, _not_calling)


def is_of_python(value: Unknown) -> bool:
    """It comes from the standard library, which knows nothing of torch: no class of it is a module's or a tensor's."""
    return value.inert and value.library.partition(".")[0] in sys.stdlib_module_names


def model(name: str) -> Model | None:
    """The function registered for a callable."""
    return _models.get(_aliases.get(name, name))


def class_facts(name: str) -> ClassFacts | None:
    return _classes.get(name)


def is_inert(module: str) -> bool:
    """The module, or a package it lies in, was declared inert."""
    return _lies_in(module, _inert)


def _lies_in(module: str, packages: set[str]) -> bool:
    parts = module.split(".")
    return any(".".join(parts[:end]) in packages for end in range(1, len(parts) + 1))


def has_package(module: str) -> bool:
    """Something below that module is known, whether or not its source is there."""
    return module in _packages


def is_interpreted(module: str) -> bool:
    """A module of the standard library that is read from source."""
    return module in _interpreted
