"""unittest.mock.patch, its object, multiple and dict, around a block: what they put there, what was there before."""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import DictObject, InstanceObject
from modgraph.prediction.domain.registry import constant, known_class, models
from modgraph.prediction.domain.values import (
    FALSE,
    NONE,
    Address,
    Constant,
    FunctionValue,
    KnownClass,
    KnownFunction,
    ModuleReference,
    TupleValue,
    Unknown,
    Value,
)
from modgraph.source.reached import telling

_PATCH = "unittest.mock._patch"
constant("unittest.mock", ModuleReference("unittest.mock"))
known_class(_PATCH)
_MOCK = "a mock stands in its place"
_OWN = ("in_dict", "values", "clear")
"""The arguments of patch.dict that are no entries."""
_HOW = ("target", "spec", "create", "spec_set", "autospec", "new_callable")
"""Those of patch.multiple that are no attributes."""


@models("unittest.mock.patch.multiple")
def patch_multiple(arguments: Arguments, machine: Machine) -> Value:
    """One patch for each attribute, the first of which holds the others."""
    target = arguments.get(0, "target", NONE)
    if isinstance(target, Constant) and isinstance(target.value, str):
        target = machine.resolve(target.value)
    given = {name: value for name, value in arguments.keywords.items() if name not in _HOW}
    doubtful = next((value for value in given.values() if isinstance(value, Unknown)), None)
    if doubtful is not None or not given or arguments.open is not None:  # DEFAULT hands a mock on to the function
        return machine.unknown("what patch.multiple puts there is not known", doubtful or NONE)
    first, *others = (
        _patcher(machine, target, Constant(name), value, arguments, several=True) for name, value in given.items()
    )
    assert isinstance(first, Address)
    machine.state.change(first, InstanceObject).attributes["others"] = TupleValue(tuple(others))
    return first


@models("unittest.mock.patch", "unittest.mock.patch.object", "unittest.mock.patch.dict")
def patch(arguments: Arguments, machine: Machine) -> Value:
    kind = last_name(arguments.function)
    if kind == "dict":
        return _patcher(machine, arguments.get(0, "in_dict", NONE), NONE, arguments.get(1, "values", NONE), arguments)
    if kind == "object":
        target, name = arguments.get(0, "target", NONE), arguments.get(1, "attribute", NONE)
        return _patcher(machine, target, name, arguments.get(2, "new", _mock(machine)), arguments)
    path = arguments.get(0, "target", NONE)
    if not isinstance(path, Constant) or not isinstance(path.value, str):
        return machine.unknown("what is patched is not known", path)
    owner, _, last = path.value.rpartition(".")
    return _patcher(machine, machine.resolve(owner), Constant(last), arguments.get(1, "new", _mock(machine)), arguments)


def _mock(machine: Machine) -> Unknown:
    return Unknown(_MOCK, machine.where, inert=True)


def _patcher(
    machine: Machine, target: Value, name: Value, new: Value, arguments: Arguments, *, several: bool = False
) -> Value:
    if name == NONE and arguments.get(2, "clear", FALSE) != FALSE:
        return machine.unknown("patch.dict that clears is not interpreted")
    further: dict[Value, Value] = {}
    if name == NONE:
        further = {Constant(key): value for key, value in arguments.keywords.items() if key not in _OWN}
    held = {
        "target": target,
        "attribute": name,
        "new": new,
        "further": machine.allocate(DictObject(further)),
        "before": NONE,
        "others": TupleValue(()) if several else NONE,
    }
    return machine.allocate(InstanceObject(KnownClass(_PATCH), held))


@models(f"{_PATCH}.__enter__", f"{_PATCH}.start")
def enter(arguments: Arguments, machine: Machine) -> Value:
    patcher, held = _held(machine, arguments)
    target, name, new = held["target"], held["attribute"], held["new"]
    if isinstance(target, Unknown):
        machine.problem(telling(f"what is patched is not known: {target.reason}", target.reason))
    if name == NONE:
        entries = machine.state.find(target, DictObject)
        if isinstance(target, Address) and entries is not None:
            _keep(machine, patcher, machine.allocate(DictObject(dict(entries.entries), entries.open)))
            for given in (new, held["further"]):
                if given != NONE:
                    machine.call(machine.get_attribute(target, "update"), (given,))
        return target
    if not isinstance(name, Constant):
        machine.problem("which attribute is patched is not known")
        return new
    _keep(machine, patcher, machine.get_attribute(target, str(name.value)))
    machine.set_attribute(target, str(name.value), new)
    if not isinstance(others := held["others"], TupleValue):
        return new
    for other in others.items:
        enter(Arguments("enter", (other,)), machine)
    return machine.allocate(DictObject())  # it holds mocks alone


@models(f"{_PATCH}.__exit__", f"{_PATCH}.stop")
def leave(arguments: Arguments, machine: Machine) -> Value:
    _, held = _held(machine, arguments)
    target, name, before, others = held["target"], held["attribute"], held["before"], held["others"]
    for other in reversed(others.items) if isinstance(others, TupleValue) else ():
        leave(Arguments("leave", (other,)), machine)
    if name == NONE:
        kept = machine.state.find(before, DictObject)
        if isinstance(target, Address) and kept is not None:
            entries = machine.state.change(target, DictObject)
            entries.entries, entries.open = dict(kept.entries), kept.open
    elif isinstance(name, Constant):
        machine.set_attribute(target, str(name.value), before)
    return FALSE


@models(f"{_PATCH}.__call__")
def decorate(arguments: Arguments, machine: Machine) -> Value:
    """A function in which the patch holds; the test cases of a class are no models."""
    patcher, function = arguments.positional[:2]
    if not isinstance(function, FunctionValue):
        return machine.unknown("what stands under mock.patch is not followed")
    instance = machine.state.find(patcher, InstanceObject)
    assert instance is not None
    new = instance.attributes["new"]
    is_mock = isinstance(new, Unknown) and new.reason == _MOCK
    names = machine.allocate(DictObject())
    machine.call(KnownFunction("builtins.exec"), (Constant(_DECORATED), names))
    return machine.call(machine.get_item(names, Constant("decorated")), (patcher, function, Constant(is_mock)))


_DECORATED = """
def decorated(patcher, function, is_mock):
    import contextlib, functools
    if hasattr(function, "patchings"):
        function.patchings.append((patcher, is_mock))
        return function
    @functools.wraps(function)
    def patched(*args, **keywords):
        with contextlib.ExitStack() as stack:
            mocks = []
            for each, hands_on in patched.patchings:
                new = stack.enter_context(each)
                mocks.extend([new] if hands_on else [])
            return function(*args, *mocks, **keywords)
    patched.patchings = [(patcher, is_mock)]
    return patched
"""
"""What calls of the function do: the patch that stands nearest to it comes first, so that the others lie over it."""


def _keep(machine: Machine, patcher: Address, before: Value) -> None:
    machine.state.change(patcher, InstanceObject).attributes["before"] = before


def _held(machine: Machine, arguments: Arguments) -> tuple[Address, dict[str, Value]]:
    patcher = arguments.positional[0]
    assert isinstance(patcher, Address)
    return patcher, machine.state.change(patcher, InstanceObject).attributes
