"""Containers of modules that other statements fill when they are imported: registries.

A module is evaluated name by name, so what a decorator or a call registers is not there when the container is looked
into. The first look into a container made at module level therefore runs the statements that may change it, in the
order of the imports, up to the one that is running itself. Where not all of them can be followed, it stays open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from modgraph.prediction.code.import_order import Imported, imported_by, is_installed, top_of, without_large_packages
from modgraph.prediction.domain.limits import (
    MAX_FOLLOWED_TEXT,
    MAX_REPLAYED_STATEMENTS,
    MAX_REPLAYED_STEPS,
    MAX_STEPS,
    LimitError,
)
from modgraph.prediction.domain.objects import DictObject, EnvironmentObject, ListObject, SetObject
from modgraph.prediction.domain.values import Address, Unknown, Value
from modgraph.prediction.project import import_progress, rebinding, waiting
from modgraph.prediction.project.side_effects import Effect, FarEffectError, effects_on
from modgraph.source.modules import SourceModule
from modgraph.source.reached import Reached, telling

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine

Home = tuple[str, str]
"""Module and name whose evaluation made a container."""


@dataclass
class Registry:
    """The containers that one name made, and what may still change them."""

    containers: list[int] = field(default_factory=list)
    effects: list[Effect] | None = None
    """Those that have not run yet, the next one last; None before they were looked for."""
    busy: bool = False
    """One of them is running."""
    at_home: bool = False
    """Only statements of its own module are looked for."""
    lost: Unknown | None = None
    """Why an entry may be missing."""
    later: Unknown | None = None
    """Why what the effects change is not known: a statement that makes up the name comes after one of them."""
    found: frozenset[tuple[str, int]] = frozenset()
    """Module and line of all of them."""


def claim(machine: Machine, home: Home, since: int, attribute: str = "") -> None:
    """Notes the containers made since then as those of that name; of a class, as those of that attribute."""
    base = machine.base
    if home[0] in machine.modules.whole:
        return
    made = [
        index
        for index in range(since, base.next_index)
        if type(base.objects.get(index)) in (DictObject, ListObject, SetObject) and index not in base.homes
    ]
    if made:
        base.homes.update(dict.fromkeys(made, (*home, attribute)))
        source = machine.finder.source(home[0])
        if source is not None and not is_installed(source) and not _is_large(machine, top_of(home[0])):
            # Large packages pass their tables through so many hands that following all of them costs more
            # than it finds: there a container is as its own module leaves it, until a key is missing (`lookups.py`).
            base.registries.setdefault(home, Registry()).containers.extend(made)
            base.unsettled.update(dict.fromkeys(made, home))
        elif source is not None and not attribute and _is_walked_at_home(machine, source, home[1], made):
            registry = base.registries.setdefault(home, Registry(at_home=True))
            registry.containers.extend(made)
            base.unsettled.update(dict.fromkeys(made, home))


def _is_walked_at_home(machine: Machine, source: SourceModule, name: str, made: list[int]) -> bool:
    """One module of a large package makes the container empty, fills it by an item under a key, and walks over it: no
    key tells which of its statements are asked for."""
    if len(made) != 1:
        return False
    item = machine.base.objects.get(made[0])
    if not isinstance(item, DictObject) or item.entries:
        return False
    # What begins with letters is looked for far faster: what stands before it is looked at then.
    walks = re.finditer(rf"{name}(?:\.(?:items|keys|values)\(\))?\s*(?:[:\])}}]|\n|if\b)", source.text)
    is_walked = any(_stands_behind_in(source.text, walk.start()) for walk in walks)
    return is_walked and re.search(rf"\b{name}\[[^\]\n]+\]\s*=(?!=)", source.text) is not None


_IN = re.compile(r"\bin\Z")


def _stands_behind_in(text: str, place: int) -> bool:
    end = place
    while end and text[end - 1].isspace():
        end -= 1
    return end < place and _IN.search(text, max(end - 2, 0), end) is not None


def _is_large(machine: Machine, package: str) -> bool:
    return any(package in imported.large for imported in machine.modules.imported.values())


def settle(machine: Machine, index: int) -> None:
    """Runs what may have changed that container before now."""
    base = machine.base
    home = base.unsettled[index]
    registry = base.registries[home]
    if registry.busy:
        return
    registry.busy = True
    try:
        _find_effects(machine, home, registry)
        while registry.effects:
            if is_running(machine, registry.effects[-1]) or import_progress.is_ahead(machine, registry.effects[-1]):
                return
            effect = registry.effects.pop()
            if not effect.plain or waiting.has_waited(machine, effect, home[1]):
                run_once(machine, effect, registry, home[1])
    finally:
        registry.busy = False
    for each in registry.containers:
        base.unsettled.pop(each, None)
    if registry.later is not None:
        with machine.at_module_level():
            for each in registry.containers:
                rebinding.open_whole(machine.state.write(Address(each)), registry.later)
        registry.later = None
    if registry.lost is not None:
        _open(machine, registry.containers, registry.lost)


def with_effects(machine: Machine, home: Home) -> Registry:
    """What may change the containers of a name that is being evaluated."""
    found = machine.base.registries.get(home) or Registry()
    if not _is_large(machine, top_of(home[0])):
        machine.base.registries[home] = found
        _find_effects(machine, home, found)
    return found


def effects_of(machine: Machine, home: Home) -> list[Effect]:
    """The statements that may change the containers of a name, whether they have run or not."""
    if _is_large(machine, top_of(home[0])):
        return []
    return _effects(machine, home, Registry())


def _find_effects(machine: Machine, home: Home, registry: Registry) -> None:
    if registry.effects is None:
        effects = registry.effects = _effects(machine, home, registry)
        registry.found = frozenset((each.source.name, each.statement.first_line) for each in effects)
        registry.later = _stored_later(machine, home, effects)


def settle_or_leave(machine: Machine, index: int) -> None:
    """The same for who looks at what a prediction has left, and knows of no limit: it is open then."""
    base = machine.base
    home = base.unsettled[index]
    try:
        settle(machine, index)
    except (LimitError, RecursionError, MemoryError) as limit:
        for each in base.registries[home].containers:
            base.unsettled.pop(each, None)
            item = base.objects.get(each)
            if isinstance(item, (DictObject, ListObject, SetObject)):
                item.open = item.open or Unknown(Reached(f"{home[1]} may hold more: {limit}"))


def run_once(machine: Machine, effect: Effect, registry: Registry, name: str = "") -> None:
    """Runs a statement for what it registers; one statement may fill several containers."""
    key = (effect.source.name, effect.statement.first_line)
    if effect.source.name in machine.modules.whole:
        return  # it has run
    if key not in machine.base.replayed:
        machine.base.replayed.add(key)
        _replay(machine, effect, registry, name)
    elif key in machine.base.unfollowed:
        registry.lost = registry.lost or machine.base.unfollowed[key]


def note_import(machine: Machine, module: str) -> None:
    """A running function imports a module, which may be the first to do so: what it registers comes in addition."""
    if module in machine.modules.roots or machine.finder.source(module) is None:
        return
    if any(module in imported.modules or module in imported.far for imported in machine.modules.imported.values()):
        return
    machine.modules.roots.append(module)
    for home, registry in machine.base.registries.items():
        registry.effects = None
        machine.base.unsettled.update(dict.fromkeys(registry.containers, home))


def _effects(machine: Machine, home: Home, registry: Registry) -> list[Effect]:
    module, name = home
    source = machine.finder.source(module)
    if source is None:
        return []
    bound: set[str] = {name}
    for statement in source.index.statements.get(name, ()):
        if statement.kind == "assign":
            bound.update(statement.names)
    imported = Imported({module: source}) if registry.at_home else imported_with(machine, module)
    try:
        effects, may_change = effects_on(module, bound, imported)
    except FarEffectError as far:
        why = f"is of a package of more than {MAX_FOLLOWED_TEXT} characters, which is not followed"
        registry.lost = Unknown(Reached(f"{far} may change {name}, and {why}"))
        return []
    effects = waiting.from_first_registration(effects, name)
    if sum(not each.plain for each in effects) > MAX_REPLAYED_STATEMENTS:
        registry.lost = Unknown(Reached(f"more than {MAX_REPLAYED_STATEMENTS} statements may change {name}"))
        return []
    if may_change and imported.incomplete is not None:
        registry.lost = Unknown(telling(f"{name} may hold more: {imported.incomplete}", imported.incomplete))
    return effects[::-1]


def _stored_later(machine: Machine, home: Home, effects: list[Effect]) -> Unknown | None:
    """Why the order matters: the name is bound anew after one of the effects in its own module."""
    module, name = home
    source = machine.finder.source(module)
    others = [each.statement.first_line for each in effects if each.source.name == module and not each.plain]
    line = rebinding.bound_after(source, name, min(others)) if source is not None and others else None
    return rebinding.unknown(source, name, line) if source is not None and line is not None else None


def imported_with(machine: Machine, module: str) -> Imported:
    """The modules that are imported when that one is looked into."""
    roots = tuple(dict.fromkeys([*machine.modules.roots, *(frame.module for frame in machine.frames[:1]), module]))
    if roots not in machine.modules.imported:
        found = without_large_packages(imported_by(machine.finder, roots), roots)
        machine.modules.imported[roots] = found
    return machine.modules.imported[roots]


def is_running(machine: Machine, effect: Effect) -> bool:
    """It, or what it defines, is being evaluated at this moment."""
    module = effect.source.name
    if (module, effect.statement.first_line) in machine.modules.executing:
        return True
    return any((module, name) in machine.modules.importing for name in effect.statement.names)


def _replay(machine: Machine, effect: Effect, registry: Registry, name: str) -> None:
    """Runs one statement, with a budget of its own."""
    base = machine.base
    if base.replayed_steps > MAX_REPLAYED_STEPS:
        registry.lost = Unknown(Reached(f"what is registered takes more than {MAX_REPLAYED_STEPS} steps"))
        return
    unfollowed, before, spent = machine.unfollowed, machine.steps, machine.spent
    limit, depth = machine.limit, machine.module_depth
    machine.limit, machine.module_depth = before + MAX_STEPS, 0
    frames, machine.frames = machine.frames, []
    value: Value | None = None
    try:
        value = _run(machine, effect, name)
    except LimitError as error:
        if machine.exhausted:
            raise
        value = Unknown(Reached(error))
    finally:
        machine.frames = frames
        machine.limit, machine.module_depth = limit, depth
        base.replayed_steps += machine.spent - spent
        machine.elsewhere += machine.steps - before
        machine.steps = before  # not of what happened to look into the container
    machine.caches.fragments_here.clear()
    machine.caches.fragments.clear()  # constructions that looked into the container before
    failed = isinstance(value, Unknown) and not value.inert
    line = effect.statement.first_line
    failed = failed or (effect.source.name, line) in base.unfollowed
    if failed or machine.unfollowed != unfollowed:
        why = Unknown(f"what {effect.source.file}, line {line}, registers is not known")
        base.unfollowed[(effect.source.name, line)] = why
        registry.lost = registry.lost or why


def _run(machine: Machine, effect: Effect, name: str) -> Value | None:
    source, statement = effect.source, effect.statement
    if effect.plain:
        waiting.run(machine, effect, name)
        return None
    index = source.index
    for name in (*statement.names, *statement.touched):
        if statement not in index.statements.get(name, ()) or (name not in statement.names and name not in index.bound):
            continue
        value = machine.global_name(source.name, name)
        if waiting.has_waited(machine, effect, name):
            waiting.run(machine, effect, name)
            return None
        if name in statement.names or isinstance(value, Address):
            return value if name in statement.names else None
    with machine.at_module_level():
        environment = machine.state.allocate(EnvironmentObject())
        return machine.module_statement(source, statement, environment).get("")


def _open(machine: Machine, containers: list[int], why: Unknown) -> None:
    with machine.at_module_level():
        for index in containers:
            item = machine.state.write(Address(index))
            if isinstance(item, (DictObject, ListObject, SetObject)):
                item.open = item.open or why
