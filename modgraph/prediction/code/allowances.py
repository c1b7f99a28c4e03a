"""What the evaluation of one module-level name may cost, and what is left of one that costs more: its own value is
unknown, and nothing else is.

Each name pays for its own statements and the calls they make, not for other names that these are the first to ask for:
how much is installed, and what was asked for before, then make no difference to what is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from modgraph.prediction.code.import_order import is_installed
from modgraph.prediction.domain.definitions import FunctionDefinition
from modgraph.prediction.domain.limits import (
    MAX_DEFAULT_WORK,
    MAX_FOREIGN_STEPS,
    MAX_NAME_DEPTH,
    LimitError,
    TooDeepError,
)
from modgraph.prediction.domain.objects import ClassObject, HeapObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import Address, Unknown, Value
from modgraph.prediction.paths import havoc
from modgraph.source.reached import Reached

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine


_TORCH = re.compile("torch")


def evaluated(machine: Machine, module: str, name: str, evaluate: Callable[[], Value | None]) -> Value | None:
    """What `evaluate` gives for a name of that module, at module level; Unknown where it costs too much.

    Raises:
        LimitError: the whole prediction's budget is used up.
    """
    if machine.module_depth >= MAX_NAME_DEPTH:
        return machine.unknown(
            Reached(f"{name}: more than {MAX_NAME_DEPTH} names of modules, each of which needs the next")
        )
    try:
        with machine.at_module_level(is_of_library(machine, module)):
            return evaluate()
    except LimitError as limit:
        if machine.exhausted:
            raise
        return machine.unknown(Reached(f"{name}: {limit}"))


def of_default(machine: Machine, name: str, evaluate: Callable[[], Value]) -> Value:
    """The default of a parameter; where it costs too much it is Unknown, as is what it was changing.

    Raises:
        LimitError: the whole prediction's budget is used up.
    """
    before, since = machine.state, machine.base.next_index
    machine.state = before.fork()
    try:
        with machine.with_own_steps(), machine.at_most(MAX_DEFAULT_WORK):
            return evaluate()
    except TooDeepError:
        raise
    except LimitError:
        if machine.exhausted:
            raise
        why = Unknown(Reached(f"the default of {name} takes more than {MAX_DEFAULT_WORK} units of work"), machine.where)
        take_back(machine, before, since, why)
        return why


def take_back(machine: Machine, before: State, since: int, why: Unknown) -> None:
    """Goes back to a state of which the present one is a fork; what has been changed meanwhile may be changed, and is
    not known."""
    begun, machine.state = machine.state, before
    made_meanwhile = machine.base.objects  # by names of modules that were asked for
    changed = [Address(index) for index in begun.changed_since(before) if index < since or index in made_meanwhile]
    havoc.expose(machine, changed, why)
    for address in changed:
        item, now = before.find(address, ClassObject), begun.read(address)
        if item is not None and isinstance(now, ClassObject):
            names = [name for name, value in now.namespace.items() if item.namespace.get(name) is not value]
            before.change(address, ClassObject).namespace.update(dict.fromkeys(names, why))
    before.globals.update(dict.fromkeys((k for k, v in begun.globals.items() if before.globals.get(k) != v), why))


def note_costly(machine: Machine) -> None:
    """The outermost function that a module-level name has called costs too much: where it is of an installed package,
    other names do not call it again."""
    for frame in machine.frames[machine.allowance.frames :]:
        if frame.function is not None:
            if is_of_library(machine, frame.module):
                machine.costly.add(frame.function.definition)
            return


def require_cheap(machine: Machine, definition: FunctionDefinition) -> None:
    """Of a function that is called.

    Raises:
        LimitError: an earlier module-level name was given up in it, and it is such a name that asks for it.
    """
    if machine.module_depth and definition in machine.costly:
        raise LimitError(f"{definition.module}.{definition.qualname} takes too many steps")


def is_foreign(machine: Machine, module: str) -> bool:
    """The function that was just called, of that module, is of another installed package than its caller, and its
    module never says torch."""
    if len(machine.frames) < 2:
        return False
    caller = machine.frames[-2].module
    if caller == module or caller.partition(".")[0] == module.partition(".")[0]:
        return False
    found = machine.caches.torchless.get(module)
    if found is None:
        source = machine.finder.source(module)
        found = source is not None and is_of_library(machine, module) and not source.facts.has(_TORCH)
        machine.caches.torchless[module] = found
    return found


def run_foreign(machine: Machine, run: Callable[[], Value]) -> Value:
    """Of the allowance of what is evaluated at module level, such a call has a part.

    Raises:
        LimitError: it takes more.
    """
    limit, outer = machine.limit, machine.allowance
    if limit <= machine.steps + MAX_FOREIGN_STEPS:
        return run()
    machine.limit = machine.steps + MAX_FOREIGN_STEPS
    machine.allowance = replace(outer, limit=machine.limit, steps=MAX_FOREIGN_STEPS, frames=len(machine.frames) - 1)
    try:
        return run()
    finally:
        outer.undecided = machine.allowance.undecided
        machine.limit, machine.allowance = limit, outer


def run_within(machine: Machine, units: int, run: Callable[[], Value]) -> Value:
    """What such a call gives, if it takes no more; Unknown else, and from then on of all calls into its package.

    Raises:
        LimitError: the whole prediction's budget is used up.
    """
    package = machine.frames[-1].module.partition(".")[0]
    if package in machine.costly_packages:
        units = 0
    before, since = machine.state, machine.base.next_index
    machine.state = before.fork()
    try:
        with machine.with_own_steps(), machine.at_most(units):
            return run()
    except LimitError:
        if machine.exhausted:
            raise
        begun, machine.state = machine.state, before
        machine.costly_packages.add(package)
        why = Unknown(Reached(f"a call into {package} takes more than {units} units of work"), machine.where)
        machine.expose([Address(index) for index in begun.changed_since(before) if index < since], why)
        return why


def doubt_changes(machine: Machine, outer: State, limit: LimitError) -> None:
    """What was there before, and was being changed by what is given up, may be left half changed."""
    base, since = machine.base.objects, machine.allowance.since
    held = machine.state.above(outer.below).items()
    changed = [
        index
        for index, item in held
        if (index < since or index in base) and item is not (outer.get(index) or base.get(index))
    ]
    why = Unknown(Reached(f"what changes it is not known: {limit}"))
    machine.expose(map(Address, changed), why)
    for index in changed:
        _doubt_class(machine, Address(index), outer.get(index) or base.get(index), why)
    for key, value in machine.state.globals.items():
        if outer.globals.get(key, machine.base.globals.get(key)) is not value:
            machine.state.globals[key] = why


def _doubt_class(machine: Machine, address: Address, before: HeapObject | None, why: Unknown) -> None:
    """Attributes of a class that are not what they were."""
    item = machine.state.find(address, ClassObject)
    if item is None or not isinstance(before, ClassObject):
        return
    changed = [name for name, value in item.namespace.items() if before.namespace.get(name) is not value]
    machine.state.change(address, ClassObject).namespace.update(dict.fromkeys(changed, why))


def is_of_library(machine: Machine, module: str) -> bool:
    """The module is of an installed package."""
    found = machine.caches.installed.get(module)
    if found is None:
        source = machine.finder.source(module)
        found = machine.caches.installed[module] = source is not None and is_installed(source)
    return found
