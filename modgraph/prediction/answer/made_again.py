"""What happened to a module after it was made: it is made again from the same arguments, on a copy of the state, and
what the first one has otherwise was set on it later.

So `net.fc = nn.Identity()`, `net.width = 3` and parameters that are frozen travel with a module that is an argument. A
module to which something else was done (a layer was taken out) is no argument at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.endings import attempt
from modgraph.prediction.domain.fields import Role, names_of
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import (
    DictObject,
    HeapObject,
    InstanceObject,
    ListObject,
    ModuleObject,
    SetObject,
    TensorObject,
)
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import NONE, Address, Constant, FunctionValue, Unknown, Value

MAX_WORK = 1_500_000
"""Units that making one module again may take."""
MAX_COMPARED = 50_000
"""Pairs of objects."""
_UNITS_OF_A_PAIR = 2
_MODE = "training"
"""Whoever runs the model says it of all modules of it."""
_STORES = ("attributes", "modules", "parameters", "buffers")
_OF_TENSORS = ("shape", "dtype", "is_parameter", "is_buffer", "lazy", "cls")

_HOLDING = (ModuleObject, TensorObject, ListObject, DictObject, SetObject, InstanceObject)
"""Of which a module may be made; what a function of it leads to is not the module's."""

Set = tuple[str, Value]
"""An attribute, by its path from the module, and what it was given."""


class NotMadeAgainError(Exception):
    """A module cannot be made again as it is; says why."""


def set_later(machine: Machine, address: Address) -> list[Set]:
    """What was set on a module after its constructor; with that done, the new one holds the same as the old one.

    Raises:
        NotMadeAgainError: it holds something that does not come about so.
    """
    with _apart(machine) as state:
        made = attempt(machine, lambda: _made(machine, address), lambda why: why)
        if not isinstance(made, Address):
            reason = made.reason if isinstance(made, Unknown) else "it is not known what its class gives"
            raise NotMadeAgainError(f"it cannot be made again: {reason}")
        found = _Comparison(machine, state).differing(address, made)
        for path, value in found:
            if attempt(machine, lambda path=path, value=value: _set(machine, made, path, value), lambda why: why):  # type: ignore[misc]
                raise NotMadeAgainError(f"{path} was changed after it was made")
        if found:
            left = _Comparison(machine, state).differing(address, made)
            if left:
                raise NotMadeAgainError(f"{left[0][0]} was changed after it was made")
    return found


def parts_of(state: State, address: Address) -> set[int]:
    """The modules and parameters that a module is made of, itself among them: none of them may stand in another
    argument as well, as each would be made anew."""
    seen, found = {address.index}, set[int]()
    pending: list[Value] = [address]
    while pending:
        value = pending.pop()
        if not isinstance(value, Address):
            pending.extend(() if isinstance(value, FunctionValue) else value.parts())
            continue
        item = state.read(value)
        if isinstance(item, _HOLDING):
            if isinstance(item, ModuleObject) or (isinstance(item, TensorObject) and item.is_parameter):
                found.add(value.index)
            held = [each for each in item.references() if not isinstance(each, Address) or each.index not in seen]
            seen.update(each.index for each in held if isinstance(each, Address))
            pending.extend(held)
    return found


@contextmanager
def _apart(machine: Machine) -> Iterator[State]:
    """What is done inside leaves nothing behind. Gives the state as it is and remains."""
    state = machine.state
    kept = machine.awaited, machine.guards, machine.left_open, machine.driving, machine.copied
    machine.state = state.fork()
    machine.awaited, machine.guards, machine.left_open, machine.driving, machine.copied = None, [], [], [], {}
    try:
        with machine.at_most(MAX_WORK):
            yield state
    finally:
        machine.state = state
        machine.awaited, machine.guards, machine.left_open, machine.driving, machine.copied = kept


def _made(machine: Machine, address: Address) -> Value:
    item = machine.state.read(address)
    assert isinstance(item, ModuleObject)
    return machine.invoke(item.cls, Arguments("", (), dict(item.arguments), item.where))


def _set(machine: Machine, made: Address, path: str, value: Value) -> Unknown | None:
    *names, last = path.split(".")
    holder: Value = made
    for name in names:
        holder = machine.get_attribute(holder, name)
    machine.set_attribute(holder, last, value)
    return None


class _Comparison:
    """Of objects of one state with those that were made again, on the machine's state.

    Args:
        state: the one of the old objects.
    """

    def __init__(self, machine: Machine, state: State) -> None:
        self._machine = machine
        self._state = state
        self._twins: dict[int, int] = {}
        """New objects by old ones."""
        self._olds: dict[int, int] = {}

    def differing(self, old: Address, new: Address) -> list[Set]:
        """What is to be set on the new module, that it may be as the old one.

        Raises:
            NotMadeAgainError: setting attributes does not do it.
        """
        return list(self._of_modules(old, new, ""))

    def _of_modules(self, old: Address, new: Address, path: str) -> Iterator[Set]:
        if self._are_known(old, new, path):
            return
        mine, other = self._state.read(old), self._machine.state.read(new)
        if not isinstance(mine, ModuleObject) or not isinstance(other, ModuleObject) or mine.cls != other.cls:
            raise NotMadeAgainError(f"{path or 'it'} is another one than its class makes")
        if mine.open is not None and other.open is None:
            raise NotMadeAgainError(f"what was done to it after it was made is not known: {mine.open.reason}")
        added = dict[str, None]()
        for store in _STORES:
            held, again = getattr(mine, store), getattr(other, store)
            for name, value in held.items():
                if name not in again:
                    added[name] = None
                    yield _named(path, name), value
                elif name != _MODE:
                    yield from self._of_values(value, again[name], _named(path, name))
            lost = [name for name in again if name not in held and name not in _all_names(mine)]
            if lost:
                raise NotMadeAgainError(f"{_named(path, lost[0])} was taken out of it after it was made")
        for store in _STORES[1:]:
            order = [name for name in getattr(other, store) if name in getattr(mine, store)]
            order += [name for name in getattr(mine, store) if name in added]
            if order != list(getattr(mine, store)):
                raise NotMadeAgainError(f"the order of what {path or 'it'} holds was changed after it was made")

    def _of_values(self, old: Value, new: Value, path: str) -> Iterator[Set]:
        """Of one attribute."""
        if isinstance(old, Address) and isinstance(new, Address):
            mine, other = self._state.read(old), self._machine.state.read(new)
            is_module = isinstance(mine, ModuleObject) and isinstance(other, ModuleObject)
            if old != new and is_module and mine.cls == other.cls:  # type: ignore[attr-defined]
                yield from self._of_children(old, new, path)
                return
            if isinstance(mine, TensorObject) and isinstance(other, TensorObject) and mine.is_parameter:
                if not self._are_known(old, new, path):
                    yield from self._of_parameters(mine, other, path)
                return
        if not self._are_same(old, new, path):
            yield path, old

    def _of_children(self, old: Address, new: Address, path: str) -> list[Set]:
        """What is to be set inside of a module, or where that does not do, the module itself."""
        n_known = len(self._twins)
        try:
            return list(self._of_modules(old, new, path))
        except NotMadeAgainError:
            while len(self._twins) > n_known:
                del self._olds[self._twins.popitem()[1]]
            return [(path, old)]

    def _of_parameters(self, old: TensorObject, new: TensorObject, path: str) -> Iterator[Set]:
        """What their elements are nobody knows."""
        if not _are_alike(old, new):
            raise NotMadeAgainError(f"{path} was changed after it was made")
        if old.requires_grad != new.requires_grad:
            if old.requires_grad is None:
                raise NotMadeAgainError(f"it is not known whether {path} is frozen")
            yield _named(path, "requires_grad"), Constant(old.requires_grad)

    def _are_known(self, old: Address, new: Address, path: str) -> bool:
        """The two were compared before, or are the same. Raises where one of them is that of another pair."""
        self._machine.spend(_UNITS_OF_A_PAIR)
        if len(self._twins) > MAX_COMPARED:
            raise NotMadeAgainError(f"it holds more than {MAX_COMPARED} objects")
        known = old.index in self._twins or new.index in self._olds
        twin, other = self._twins.setdefault(old.index, new.index), self._olds.setdefault(new.index, old.index)
        if (twin, other) != (new.index, old.index):
            raise NotMadeAgainError(f"{path} is shared otherwise than its class shares it")
        return known

    def _are_same(self, old: Value, new: Value, path: str) -> bool:
        if isinstance(old, Address) and isinstance(new, Address):
            return self._are_same_objects(old, new, path)
        if isinstance(old, Unknown) and isinstance(new, Unknown):
            return old.reason == new.reason
        if old == new or type(old) is not type(new):
            return old == new
        held, again = list(old.parts()), list(new.parts())
        if not held or len(held) != len(again) or old.mapped(_without) != new.mapped(_without):
            return False
        return all(self._are_same(mine, other, path) for mine, other in zip(held, again, strict=True))

    def _are_same_objects(self, old: Address, new: Address, path: str) -> bool:
        mine, other = self._state.read(old), self._machine.state.read(new)
        if type(mine) is not type(other) or self._twins.get(old.index, new.index) != new.index:
            return False
        if self._are_known(old, new, path):
            return True
        if mine is other:
            for index in sorted(parts_of(self._state, old)) if old == new else ():
                self._are_known(Address(index), Address(index), path)
            return True
        if isinstance(mine, ModuleObject):
            return not list(self._of_modules_inside(old, new, path))
        if isinstance(mine, TensorObject) and isinstance(other, TensorObject):
            return _are_alike(mine, other) and (mine.requires_grad, mine.elements) == (
                other.requires_grad,
                other.elements,
            )
        held, again = list(mine.references()), list(other.references())
        return (
            len(held) == len(again)
            and _are_named_alike(mine, other)
            and all(self._are_same(one, two, path) for one, two in zip(held, again, strict=True))
        )

    def _of_modules_inside(self, old: Address, new: Address, path: str) -> Iterator[Set]:
        """Of modules that no attribute leads to."""
        del self._twins[old.index], self._olds[new.index]
        if self._state.read(old).cls != self._machine.state.read(new).cls:  # type: ignore[attr-defined]
            yield path, old
            return
        yield from self._of_modules(old, new, path)


def _without(_: Value) -> Value:
    return NONE


def _named(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _all_names(module: ModuleObject) -> set[str]:
    return {name for store in _STORES for name in getattr(module, store)}


def _are_alike(old: TensorObject, new: TensorObject) -> bool:
    return all(getattr(old, name) == getattr(new, name) for name in _OF_TENSORS)


_NAMED = (Role.ATTRIBUTES, Role.STORE, Role.NAMESPACE, Role.LOCALS)
_PLAIN = (Role.VALUE, Role.FLAT, Role.FINAL, Role.FIXED)


def _are_named_alike(old: HeapObject, new: HeapObject) -> bool:
    """They have the same class and names, and are known as far as each other."""
    return (
        all(list(getattr(old, name)) == list(getattr(new, name)) for role in _NAMED for name in names_of(old, role))
        and all(getattr(old, name) == getattr(new, name) for role in _PLAIN for name in names_of(old, role))
        and all(
            (getattr(old, name) is None) == (getattr(new, name) is None)
            for role in (Role.REST, Role.REASON, Role.ORDER)
            for name in names_of(old, role)
        )
    )
