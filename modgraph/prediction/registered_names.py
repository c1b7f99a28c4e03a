"""The names under which a file puts a class into a table, as `@register("vit")` and `TABLE["vit"] = Net` do when the
file is imported. It is interpreted, and nothing of it is executed."""

from __future__ import annotations

import contextlib
from pathlib import Path

from modgraph.errors import ModgraphError
from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain.calling import Raised
from modgraph.prediction.domain.limits import MAX_ELSEWHERE_WORK, MAX_FOREIGN_WORK, LimitError
from modgraph.prediction.domain.objects import ClassObject, DictObject
from modgraph.prediction.domain.values import (
    ClassValue,
    Constant,
    FunctionValue,
    KnownClass,
    KnownFunction,
    PartialValue,
    Unknown,
    Value,
)
from modgraph.prediction.entry import interpreter, load_target
from modgraph.prediction.interpreter import Interpreter
from modgraph.source.modules import finder_for
from modgraph.source.targets import Target

_ENDINGS = (ModgraphError, Raised, LimitError, RecursionError, MemoryError)
_OF_A_TABLE = (ClassValue, FunctionValue, KnownClass, KnownFunction, PartialValue, Unknown)
"""What is called in the end. A mapping with anything else in it is a configuration, and its keys are parameters."""


def registered_names(script: Target, wanted: tuple[Path, str]) -> frozenset[str]:
    """The keys of all tables that hold the class when the file has been imported.

    Args:
        wanted: the file of the class, and its qualified name in it.
    """
    machine = script_machine(script)
    found: set[str] = set()

    def look() -> None:
        with contextlib.suppress(*_ENDINGS), machine.at_most(MAX_ELSEWHERE_WORK):
            load_target(machine, script)
            found.update(_names_in_tables(machine, wanted))

    try:
        with_deep_stack(look)
    finally:
        machine.forget()
    return frozenset(found)


def script_machine(script: Target) -> Interpreter:
    """A machine for a file of a project that is not the model's: calls into installed packages have little work."""
    machine = interpreter(script.search_path, script.home)
    if script.root is not None:
        machine.use(finder_for([str(script.root), *script.search_path], script.home))
    machine.foreign_work = MAX_FOREIGN_WORK
    return machine


def is_defined_in(machine: Interpreter, cls: ClassValue, wanted: tuple[Path, str]) -> bool:
    """Whether a class is that of a file, by its qualified name there."""
    file, name = wanted
    if not cls.name.endswith(name):
        return False
    item = machine.state.read(cls.address)
    definition = item.definition if isinstance(item, ClassObject) else None
    if definition is None or definition.qualname != name:
        return False
    source = machine.finder.source(definition.module)
    return source is not None and source.path.resolve() == file


def _names_in_tables(machine: Interpreter, wanted: tuple[Path, str]) -> frozenset[str]:
    """The keys that mean this class in some table, and no other one in another."""
    everything = {**machine.base.objects, **machine.state.everything()}
    its_own, of_others = set[str](), set[str]()
    for item in everything.values():
        if type(item) is not DictObject or not all(map(_is_of_a_table, item.entries.values())):
            continue
        for key, value in item.entries.items():
            if not isinstance(key, Constant) or not isinstance(key.value, str):
                continue
            is_wanted = isinstance(value, ClassValue) and is_defined_in(machine, value, wanted)
            (its_own if is_wanted else of_others).add(key.value)
    return frozenset(its_own - of_others)


def _is_of_a_table(value: Value) -> bool:
    return isinstance(value, _OF_A_TABLE)
