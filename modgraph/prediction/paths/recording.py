"""Puts what a run of `forward` does among the events of the state: calls of modules, and operations of torch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from modgraph.names import last_name
from modgraph.prediction.domain import events, points_to
from modgraph.prediction.domain.caches import Taken
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.events import (
    Alias,
    Cell,
    Enter,
    Event,
    Handed,
    Leave,
    Lost,
    Operate,
    Refusal,
    Seen,
)
from modgraph.prediction.domain.frames import Frame, frame_outside_torch
from modgraph.prediction.domain.limits import UNITS_OF_AN_EVENT
from modgraph.prediction.domain.objects import (
    DictObject,
    HeapObject,
    InstanceObject,
    ListObject,
    ModuleObject,
    TensorObject,
)
from modgraph.prediction.domain.sizes import same_sizes
from modgraph.prediction.domain.values import (
    GIVEN,
    TRUE,
    Address,
    BoundMethod,
    Choice,
    ClassValue,
    Constant,
    FunctionValue,
    KnownFunction,
    TupleValue,
    Unknown,
    Value,
    is_of_torch,
)
from modgraph.prediction.paths import layer_operations, through_numpy
from modgraph.prediction.paths.joining_events import ended_by
from modgraph.prediction.paths.literals import literals_of
from modgraph.source import nodes
from modgraph.source.torch_names import EACH_OF_ONE, OVERWRITING, SHAPE_ONLY_FIRST, SHAPE_ONLY_SECOND

if TYPE_CHECKING:
    from modgraph.prediction.domain.machine import Machine
    from modgraph.prediction.domain.state import State

MADE_OF_OTHERS = "torch.nn.modules.transformer."
"""Where the layers of torch are that call others, and compute with what these give."""
PARAMETRIZED = "parametrizations"
"""The child of a layer that makes its parameters anew whenever they are asked for, by calling modules."""
MAX_DEPTH = 6
"""Containers in containers in which tensors are looked for."""
MAX_SEEN = 500
"""Tensors of one event."""

_NO_OPERATION = frozenset(
    (
        *("size", "dim", "ndimension", "numel", "nelement", "stride", "storage_offset", "element_size", "data_ptr"),
        *("get_device", "requires_grad_", "register_hook", "retain_grad", "backward", "is_contiguous", "storage"),
        *("untyped_storage", "__repr__", "__str__", "__hash__", "__format__", "__iter__", "__len__"),
        *("<apply>", "range", "frombuffer", "from_numpy"),
    )
)
"""Methods of Tensor that compute nothing; that of a function of autograd, whose `forward` has operations; and functions
of which a trace is told nothing."""
_PROPERTIES = frozenset({"T", "mT", "H", "mH", "data", "real", "imag"})
_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_",
    "__mul__": "mul", "__rmul__": "mul", "__imul__": "mul_", "__truediv__": "div", "__itruediv__": "div_",
    "__rtruediv__": "__rdiv__", "__ifloordiv__": "floor_divide_", "__matmul__": "matmul", "__mod__": "remainder",
    "__imod__": "remainder_", "__neg__": "neg", "__pow__": "pow", "__ipow__": "pow_", "__abs__": "abs",
    "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor",
    "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge", "__ne__": "ne",
}  # fmt: skip
"""Under what name torch runs Python's operators; that of others is their own."""
_IN_PLACE = frozenset({"__setitem__", "__set__", "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__"})
_ITEMS = frozenset({"__getitem__", "__setitem__"})
_ELSEWHERE = ("torch.nn.", "torch.jit.", "torch.cuda.", "torch.utils.", "torch.distributed.", "torch.backends.")
_INITIALISERS = "torch.nn.init."
_CONTAINERS = ("torch.nn.modules.container.", "torch.nn.Sequential")
_FUNCTIONAL = "torch.nn.functional."
WRITTEN_IN_PYTHON = frozenset({"torch.nn.functional", "torch.functional", "torch._tensor"})
"""Modules of torch whose functions are operations, and call others."""
_SHORTER = {"torch._VF.": "torch.", "torch.functional.": "torch.", "torch._tensor.Tensor.": "torch.Tensor."}


def add(machine: Machine, event: Event) -> None:
    machine.base.work += UNITS_OF_AN_EVENT
    if isinstance(event, (Enter, Operate, Lost)):
        event = _at_line_of_users(machine, event)
    machine.state.events = events.Cell(machine.state.events, event)


def _at_line_of_users(machine: Machine, event: Enter | Operate | Lost) -> Event:
    """What runs in torch's own code is told at the line that calls this, as a run is; what is not known, with what is
    called there."""
    outside = frame_outside_torch(machine.frames)
    if outside is None:
        return event
    if not isinstance(event, Lost):
        return replace(event, where=outside.raising)
    inner = next(frame for before, frame in zip(machine.frames, machine.frames[1:], strict=False) if before is outside)
    return replace(event, where=outside.raising, inside=_name_of(machine, inner))


def _name_of(machine: Machine, frame: Frame) -> str:
    """ "LSTM" of its `forward`, "pack_padded_sequence"."""
    held = machine.state.find(frame.receiver, ModuleObject) if frame.receiver is not None else None
    name = getattr(held.cls, "name", "") if held is not None else ""
    if not name and frame.function is not None:
        name = frame.function.definition.qualname.removesuffix(".forward")
    return last_name(name)


def operation_of(name: str) -> str | None:
    """The operation that a function stands for: "torch.Tensor.add"; None for one that is none."""
    for long, short in _SHORTER.items():
        if name.startswith(long):
            name = short + name.removeprefix(long)
    if name.startswith(_FUNCTIONAL) and last_name(name) in layer_operations.TORCHS_OWN:
        name = f"torch.{last_name(name)}"
    if name.startswith(_INITIALISERS):
        return layer_operations.OF_INITIALISERS.get(last_name(name))
    if not name.startswith("torch.") or (name.startswith(_ELSEWHERE) and not name.startswith(_FUNCTIONAL)):
        return None
    if name.endswith(GIVEN):
        return None
    owner, _, last = name.rpartition(".")
    if last == "@data=":
        return f"{owner}.data.__set__"
    if last.startswith("@"):
        return f"{owner}.{last[1:]}" if last[1:] in _PROPERTIES else None
    if last in _NO_OPERATION or owner.startswith("torch.Size"):
        return None
    return f"{owner}.{_OPERATORS.get(last, last)}"


def operation(machine: Machine, name: str, arguments: Arguments, run: Callable[[], Value]) -> Value:
    """What `run` gives; an event, where that is an operation, and runs inside no other."""
    began, is_inner = machine.base.next_index, machine.operating > 0
    result = _operation(machine, name, arguments, run)
    if not is_inner:
        for each in through_numpy.events_of(machine, name, arguments, began, result):
            add(machine, each)
    return result


def _operation(machine: Machine, name: str, arguments: Arguments, run: Callable[[], Value]) -> Value:
    called = operation_of(name) if not machine.operating else None
    if name.startswith(through_numpy.OF_ARRAYS):
        return _unheard(machine, run)
    if called is None:
        inherited = _inherited(machine, name, arguments) if not machine.operating else None
        return run() if inherited is None else _of_layer(machine, inherited, arguments, run)
    called = layer_operations.by_arguments(called, arguments)
    operands, called = _in_order(machine, name, called, arguments)
    inputs = tuple(given_in(machine, operands))
    possible = (*possible_in(machine, named_in(operands)), *through_numpy.given(machine, named_in(operands)))
    where, literals = arguments.where, literals_of(machine, called, operands)
    began = machine.base.next_index
    machine.operating += 1
    try:
        result = run()
    except Raised as raised:
        if raised.refusal is None and raised.is_of_rule:
            raised.refusal = Refusal(inputs, called, machine.called[-1] if machine.called else None)
        raise
    finally:
        machine.operating -= 1
    if last_name(called) in EACH_OF_ONE and _sees_through(machine, arguments, result):
        return result
    taken = {index for each in inputs for index in each.indices}
    last = last_name(called)
    read, possible = numbers_read(last, inputs), numbers_read(last, possible)
    in_place = is_in_place(called) or arguments.keywords.get("inplace") == TRUE
    outputs = tuple(seen_in(machine, result, "output"))
    key = arguments.positional[1] if last in _ITEMS and len(arguments.positional) > 1 else None
    if "out" in arguments.keywords:
        into = tuple(seen_in(machine, arguments.keywords["out"], "output"))
        read = tuple(each for each in read if not each.name.startswith("out"))
        written = tuple(index for each in into for index in each.indices)
        add(machine, Operate(called, read, into or outputs, where, written, possible=possible, arguments=literals))
    elif in_place and inputs:
        into = outputs or inputs[:1]
        add(machine, Operate(called, read, into, where, inputs[0].indices, key, (), possible, "", literals))
    elif any(not taken.issuperset(each.indices) for each in outputs):
        passing = _Passing(machine, began, frozenset())
        if len(outputs) > 1 and any(taken.issuperset(each.indices) for each in outputs):
            result = passing.through(result)
            outputs = tuple(seen_in(machine, result, "output"))
        handed = tuple(passing.handed.values())
        unknown = _unknown_in(arguments)
        add(machine, Operate(called, read, outputs, where, (), key, handed, possible, unknown, literals))
    elif not outputs and (inputs or possible) and isinstance(result, Unknown) and is_of_torch(result):
        add(machine, Operate(called, read, (), where, possible=possible, arguments=literals))
        add(machine, Lost(result.reason, where))
    return result


def _unknown_in(arguments: Arguments) -> str:
    """Why something that is given is not known; "" where all is."""
    given = (*arguments.positional, *arguments.keywords.values())
    return next((each.reason for each in given if isinstance(each, Unknown)), "")


def _sees_through(machine: Machine, arguments: Arguments, result: Value) -> bool:
    """Torch's own code asks for views of several tensors: each comes of its tensor, and nobody wrote a step."""
    given = arguments.positional
    if len(given) == 1 and isinstance(given[0], Address):
        held = machine.state.read(given[0])
        given = tuple(held.items) if isinstance(held, ListObject) and held.open is None else given
    if len(given) == 1 and isinstance(given[0], TupleValue):
        given = given[0].items
    if frame_outside_torch(machine.frames) is None or arguments.keywords or not isinstance(result, TupleValue):
        return False
    pairs = list(zip(given, result.items, strict=False))
    if len(given) != len(result.items) or not all(type(each) is Address for pair in pairs for each in pair):
        return False
    for source, view in pairs:
        if view != source:
            alias(machine, view, source)
    return True


def own_operation(machine: Machine, module: Address, given: Iterable[Value], result: Value) -> None:
    """What a layer of torch runs, whose call goes on with hooks: these compute with what it gives."""
    held = machine.state.find(module, ModuleObject)
    called = _operation_of_class(machine, held) if held is not None else None
    if called is not None:
        inputs = [each for place, value in enumerate(given) for each in seen_in(machine, value, f"args[{place}]")]
        inputs += _given_to_operation(machine, module)
        outputs = tuple(seen_in(machine, result, "output"))
        taken = {index for each in inputs for index in each.indices}
        is_as_it_was = bool(outputs) and all(taken.issuperset(each.indices) for each in outputs)
        if not is_as_it_was or (held is not None and held.attributes.get("inplace") == TRUE):
            add(machine, Operate(called, tuple(inputs), outputs, machine.where))


def _operation_of_class(machine: Machine, module: ModuleObject) -> str | None:
    """What the `forward` runs of a class of torch's, or of the one that it has it from."""
    if not getattr(module.cls, "name", "").startswith("torch.nn.modules."):
        return None
    names = (f"{getattr(base, 'name', '')}.forward" for base in machine.mro(module.cls))
    return next((found for name in names if (found := layer_operations.of_layer(name)) is not None), None)


def handed_on(machine: Machine, held: Address) -> Address:
    """The same tensor, of which it is known from here on that no autocast around the model changes its dtype."""
    machine.base.ways += 1
    number = -machine.base.ways
    add(machine, Alias(number, held.way, held.index))
    machine.base.uncast.add(number)
    return Address(held.index, number)


def _unheard(machine: Machine, run: Callable[[], Value]) -> Value:
    """What `run` gives; what it makes of torch's functions is numpy's."""
    machine.operating += 1
    try:
        return run()
    finally:
        machine.operating -= 1


def alias(machine: Machine, new: Value, of: Value) -> None:
    """A tensor is as another one was computed."""
    if machine.is_recording and isinstance(new, Address) and isinstance(of, Address):
        add(machine, Alias(new.index, of.way))


def is_in_place(name: str) -> bool:
    """The operation writes to what it is given first."""
    last = last_name(name)
    return (last.endswith("_") and not last.endswith("__")) or last in _IN_PLACE


def numbers_read(last: str, inputs: tuple[Seen, ...]) -> tuple[Seen, ...]:
    """The tensors of which a function reads the numbers, as a trace has it."""
    unread: tuple[str, ...] = ()
    if last in SHAPE_ONLY_FIRST or last in OVERWRITING or last == "__set__":
        unread = ("args[0]", "input")
    elif last in SHAPE_ONLY_SECOND:
        unread = ("args[1]", "other", "tensor")
    return tuple(each for each in inputs if each.name not in unread) if unread else inputs


def _inherited(machine: Machine, name: str, arguments: Arguments) -> str | None:
    """The operation of a layer of torch, whose `forward` a class derived from it calls."""
    held = machine.state.find(arguments.positional[0], ModuleObject) if arguments.positional else None
    if held is None or _is_of_torch(machine, held):
        return None
    return layer_operations.of_layer(name)


def _is_of_torch(machine: Machine, module: ModuleObject) -> bool:
    """Its class is torch's; that which a parametrization makes is as the class it is made of."""
    name = getattr(module.cls, "name", "")
    if not name.startswith("torch.nn.utils.parametrize."):
        return name.startswith("torch.")
    return all(getattr(base, "name", "torch.").startswith(("torch.", "builtins.")) for base in machine.mro(module.cls))


def _of_layer(machine: Machine, called: str, arguments: Arguments, run: Callable[[], Value]) -> Value:
    """What `run` gives, and an event: it is given the layer's own tensors too, and what calls inside it have given, of
    a parametrization."""
    before = machine.state.events
    machine.operating += 1
    try:
        result = run()
    finally:
        machine.operating -= 1
    given = list(given_in(machine, replace(arguments, positional=arguments.positional[1:])))
    given += _given_to_operation(machine, arguments.positional[0])
    given += _given_inside(events.since(machine.state.events, before))
    taken = {index for each in given for index in each.indices}
    outputs = tuple(seen_in(machine, result, "output"))
    if any(not taken.issuperset(each.indices) for each in outputs):
        add(machine, Operate(called, tuple(given), outputs, arguments.where))
    return result


def _given_to_operation(machine: Machine, module: Value) -> Iterator[Seen]:
    """The parameters and buffers that a layer of torch gives to its operation."""
    held = machine.state.find(module, ModuleObject)
    for store in () if held is None else (held.parameters, held.buffers):
        for name, value in store.items():
            if layer_operations.OWN_TENSOR.fullmatch(name):
                yield from seen_in(machine, value, name)


def _given_inside(happened: Iterable[Event]) -> Iterator[Seen]:
    """What calls of modules gave that were not inside another."""
    depth = 0
    for event in happened:
        depth += isinstance(event, Enter) - isinstance(event, Leave)
        if isinstance(event, Leave) and depth == 0:
            yield from event.outputs


def unknown_call(machine: Machine, function: Unknown, arguments: Arguments, may_call: bool) -> None:
    """A call of something that is not known; of torch's functions, the name may be.

    Args:
        may_call: it is given something that can be called.
    """
    if machine.operating:
        return
    name = operation_of(function.library) if function.library else None
    if name is not None and may_call:
        add(machine, Lost(f"{name} may call what it is given", arguments.where))
    elif name is not None:
        inputs = tuple(given_in(machine, arguments))
        if inputs:
            add(machine, Operate(name, inputs, (), arguments.where))
            add(machine, Lost(function.reason, arguments.where))
    elif not function.inert:
        add(machine, Lost(function.reason, arguments.where or function.where))


def lost(machine: Machine, why: Unknown) -> None:
    """Something runs that is not known, though torch's function that runs it is."""
    add(machine, Lost(why.reason, machine.where or why.where))


def leave_calls(machine: Machine, raised: Iterable[tuple[Raised, State]], begun: Cell | None) -> None:
    """Of paths that raised while others went on: the calls that began after `begun` have ended there."""
    if machine.is_recording:
        for error, state in raised:
            state.events = ended_by(state.events, begun, _said(error))


def _said(raised: Raised) -> str:
    return str(raised).removeprefix("builtins.")


def module_call(
    machine: Machine,
    module: Address,
    arguments: Arguments,
    run: Callable[[], Value],
    direct: bool = False,
    by_class: bool = False,
) -> Value:
    """What `run` gives, between the events that a call of a module begins and ends; `direct`, past `__call__`;
    `by_class`, by a `__call__` of its own class."""
    names = _parameters(machine, module)
    named = [(_name(names, place), value) for place, value in enumerate(arguments.positional[1:])]
    named += arguments.keywords.items()
    if arguments.open is not None:
        named.append((_name(names, len(arguments.positional) - 1), arguments.open))
    inputs = [each for name, value in named for each in seen_in(machine, value, name)]
    held = machine.state.find(module, ModuleObject)
    is_layer = held is not None and _is_of_torch(machine, held) and not _is_made_of_others(held)
    before = _writes(machine, inputs) if is_layer else {}
    # A container computes nothing of its own: what is below it is read where that is called.
    reads = held is not None and is_layer and not getattr(held.cls, "name", "").startswith(_CONTAINERS)
    name_of_child, own = _name_of_child(machine, module), _own_tensors(machine, held) if reads else ()
    possible = possible_in(machine, named)
    where = arguments.where
    add(machine, Enter(module, tuple(inputs), where, is_layer, direct, name_of_child, own, possible, by_class))
    operating, machine.operating = machine.operating, 0
    layer_frames, machine.layer_frames = machine.layer_frames, len(machine.frames) if reads else -1
    machine.called.append(module)
    began = machine.base.next_index
    try:
        result = run()
    except Raised as raised:
        if raised.refusal is None and raised.is_of_rule:
            raised.refusal = Refusal(tuple(inputs), "", module, _is_of_call(machine, module, raised))
        add(machine, Leave(error=_said(raised)))
        raise
    finally:
        machine.called.pop()
        machine.operating = operating
        machine.layer_frames = layer_frames
    now = _writes(machine, inputs) if is_layer else {}
    written = tuple(index for index, number in now.items() if number != before.get(index))
    passing = _Passing(machine, began, frozenset(written))
    result = passing.through(result)
    found = _looked_at(machine, result, "output")
    outputs, handed = tuple(_each_once(found)), tuple(passing.handed.values())
    unknown = _among(outputs, found)
    add(
        machine,
        Leave(outputs, is_known=_are_known(found, _places_of(result)), written=written, handed=handed, unknown=unknown),
    )
    return result


class _Passing:
    """What a call gives, with another way for each tensor that was there before it, as those have that it was given."""

    def __init__(self, machine: Machine, began: int, written: frozenset[int]) -> None:
        self.handed: dict[int, Handed] = {}
        self._machine = machine
        self._began = began
        self._written = written

    def through(self, value: Value, depth: int = 0) -> Value:
        if depth > MAX_DEPTH:
            return value
        if isinstance(value, (TupleValue, Choice)):
            return value.mapped(lambda each: self.through(each, depth + 1))
        if type(value) is not Address:
            return value
        held = self._machine.state.read(value)
        if isinstance(held, TensorObject):
            return self._tensor(value)
        if value.index >= self._began:  # the call has made it, and nobody else has it
            self._inside(value, held, depth + 1)
        return value

    def _tensor(self, address: Address) -> Address:
        index = address.index
        if index >= self._began or index in self._written:
            return address
        if index not in self.handed:
            self._machine.base.ways += 1
            self.handed[index] = Handed(-self._machine.base.ways, index, address.way)
        return Address(index, self.handed[index].number)

    def _inside(self, address: Address, held: HeapObject, depth: int) -> None:
        names: tuple[str, ...] = ()
        if isinstance(held, ListObject):
            names = ("items",)
        elif isinstance(held, DictObject):
            names = ("entries", "attributes")
        elif isinstance(held, InstanceObject) and _is_record(self._machine, held):
            names = ("attributes",)
        for name in names:
            old = getattr(held, name)
            new: Any = [self.through(each, depth) for each in old] if isinstance(old, list) else None
            if new is None:
                new = {key: self.through(each, depth) for key, each in old.items()}
            before, after = (each if isinstance(each, list) else list(each.values()) for each in (old, new))
            if any(one is not other for one, other in zip(before, after, strict=True)):
                setattr(self._machine.state.write(address), name, new)


def _own_tensors(machine: Machine, held: ModuleObject | None) -> tuple[Seen, ...]:
    """Those of its children too, of which it makes one operation of its own."""
    stores = () if held is None else (held.parameters, held.buffers)
    own = [each for store in stores for name, value in store.items() for each in seen_in(machine, value, name)]
    for child in () if held is None else held.modules.values():
        own += _own_tensors(machine, machine.state.find(child, ModuleObject))
    return tuple(own)


def _name_of_child(machine: Machine, module: Address) -> str | None:
    caller = machine.state.find(machine.called[-1], ModuleObject) if machine.called else None
    children = {} if caller is None else caller.modules
    return next((name for name, child in children.items() if child == module), None)


def is_unbound(machine: Machine, arguments: Arguments) -> bool:
    """A `forward` is called with a module that is not being called: `Linear.forward(layer, x)`."""
    module = arguments.positional[0] if arguments.positional else None
    if not isinstance(module, Address) or module in machine.called or machine.operating:
        return False
    return machine.state.find(module, ModuleObject) is not None


def _is_made_of_others(module: ModuleObject) -> bool:
    """A layer of torch that calls modules and computes with what these give: `code/hidden_calls.py` runs its source."""
    name = getattr(module.cls, "name", "")
    return PARAMETRIZED in module.modules or name.startswith(MADE_OF_OTHERS)


def _is_of_call(machine: Machine, module: Address, raised: Raised) -> bool:
    """`forward` of the module does not take the arguments of the call."""
    run = machine.find_attribute(module, "forward") if raised.binding is not None else None
    function = run.function if isinstance(run, BoundMethod) else run
    return isinstance(function, FunctionValue) and function.definition is raised.binding


def method(machine: Machine, receiver: Address, name: str, arguments: Arguments, run: Callable[[], Value]) -> Value:
    """What `run` gives, a method of an object; `forward` of a module that is not being called is a call of it."""
    if name != "forward" or receiver in machine.called or machine.state.find(receiver, ModuleObject) is None:
        return run()
    return module_call(machine, receiver, arguments, run, direct=True)


def _parameters(machine: Machine, module: Address) -> tuple[str, ...]:
    """The parameters of `forward`, in order; that which takes further ones in a row begins with "*"."""
    run = machine.find_attribute(module, "forward")
    function = run.function if isinstance(run, BoundMethod) else run
    if isinstance(function, KnownFunction):
        return _taken_in_source(machine, function.name).places
    if not isinstance(function, FunctionValue):
        return ("input",)
    taken = [each for each in function.definition.parameters if each.kind in ("normal", "positional", "varargs")]
    names = tuple(f"*{each.name}" if each.kind == "varargs" else each.name for each in taken)
    return names[1:] if isinstance(run, BoundMethod) else names


def require_arguments(machine: Machine, name: str, given: Sequence[Value], keywords: Iterable[str]) -> None:
    """Of a layer of torch whose `forward` is not interpreted: it takes the arguments of a call.

    Raises:
        Raised: TypeError, where it does not.
    """
    taken = _taken_in_source(machine, name)
    if taken.is_open:
        return
    called = ".".join(name.split(".")[-2:])
    named = set(keywords)
    unexpected = sorted(named - set(taken.places) - taken.keywords)
    missing = [each for each in taken.places[len(given) : taken.required] if each not in named]
    if len(given) > len(taken.places):
        number = len(taken.places) + 1
        why = f"takes {number} positional arguments but {len(given) + 1} were given"
        raise machine.raises("TypeError", f"{called}() {why}")
    if unexpected:
        raise machine.raises("TypeError", f"{called}() got an unexpected keyword argument '{unexpected[0]}'")
    if missing:
        raise machine.raises("TypeError", f"{called}() missing 1 required positional argument: '{missing[0]}'")


def _taken_in_source(machine: Machine, name: str) -> Taken:
    """What a layer of torch whose `forward` is not interpreted takes: as its source has it."""
    known = machine.caches.forward_parameters.get(name)
    if known is None:
        known = machine.caches.forward_parameters[name] = _read_taken(machine, name) or Taken(("input",))
    return known


def _read_taken(machine: Machine, name: str) -> Taken | None:
    path, _, method = name.rpartition(".")
    module, _, cls = path.rpartition(".")
    source = machine.finder.source(module)
    definition = None if source is None else source.index.definitions.get(f"{cls}.{method}")
    if source is None or definition is None:
        return None
    node = source.parse(definition.first_line, definition.last_line).statements[0]
    if not isinstance(node, nodes.FunctionDef):
        return None
    params = node.params
    places = (*params.posonly_params, *params.params)[1:]
    is_open = params.star_arg is not None or params.star_kwarg is not None
    is_open = is_open or any(each.default is None for each in params.kwonly_params)
    return Taken(
        tuple(each.name for each in places),
        sum(each.default is None for each in places),
        frozenset(each.name for each in params.kwonly_params),
        is_open,
    )


def _name(names: Sequence[str], place: int) -> str:
    """The parameter that the argument at that place is for; the last may be "*rest"."""
    if names and place >= len(names) - 1 and names[-1].startswith("*"):
        return f"{names[-1][1:]}[{place - len(names) + 1}]"
    return names[place] if place < len(names) else f"args[{place}]"


def named_in(arguments: Arguments) -> list[tuple[str, Value]]:
    return [
        *((f"args[{place}]", value) for place, value in enumerate(arguments.positional)),
        *arguments.keywords.items(),
        *([("args[?]", arguments.open)] if arguments.open is not None else ()),
    ]


def given_in(machine: Machine, arguments: Arguments) -> Iterator[Seen]:
    for name, value in named_in(arguments):
        yield from seen_in(machine, value, name)


def _in_order(machine: Machine, name: str, called: str, arguments: Arguments) -> tuple[Arguments, str]:
    """The operands as they are written, and the operation that is run: what is not known, and may be a tensor, answers
    before the operator of the one behind it is asked."""
    last = last_name(name)
    if not last.startswith("__r") or last == "__rshift__" or len(arguments.positional) != 2:
        return arguments, called
    right, left = arguments.positional
    if not isinstance(left, Unknown) or not possible_in(machine, [("", left)]):
        return arguments, called
    plain = f"__{last.removeprefix('__r')}"
    written = f"{called.rpartition('.')[0]}.{_OPERATORS.get(plain, plain)}"
    return replace(arguments, positional=(left, right)), written


def operate_on_unknown(machine: Machine, *operands: Value) -> None:
    """An operator of something that is not known: an operation of which nothing is told, where it may be a tensor."""
    if not machine.is_recording or machine.operating:
        return
    for each in operands:
        if not isinstance(each, Unknown) or each.inert:
            continue
        if any(machine.state.find(Address(index), TensorObject) is not None for index in each.may_be):
            add(machine, Lost(each.reason, machine.where))
            return


def operation_on_possible(machine: Machine, name: str, operand: Unknown) -> Value:
    """A tensor of which no more is known, which that operation makes of a tensor that this may be."""
    made = machine.allocate(TensorObject(shape=None, dtype=None, device=None, requires_grad=None))
    if machine.is_recording and not machine.operating:
        possible = possible_in(machine, [("args[0]", operand)])
        add(machine, Operate(name, (), tuple(seen_in(machine, made, "output")), machine.where, possible=possible))
    return made


def possible_in(machine: Machine, named: Iterable[tuple[str, Value]]) -> tuple[Seen, ...]:
    """What is not known in these, and may be a tensor that is: of each place, the tensors."""
    found: list[Seen] = []
    for name, value in named:
        if not isinstance(value, Constant):
            _look(machine, value, name, found, 0)
    return tuple(each for each in found if each.is_possible and each.indices)


def unknown_in(machine: Machine, value: Value, name: str) -> list[Seen]:
    """The places in a result at which a tensor may stand, or several, of which nothing is known."""
    return [each for each in _looked_at(machine, value, name) if each.unknown]


def _among(outputs: Sequence[Seen], found: Sequence[Seen]) -> tuple[tuple[int, Seen], ...]:
    """What is not known of all that a call gives, each with how many of its outputs stand before it."""
    first: dict[str, None] = {}
    unknown: dict[str, tuple[int, Seen]] = {}
    kept = {each.name for each in outputs} - {each.name for each in found if each.unknown}
    for each in found:
        if each.unknown:
            unknown.setdefault(each.name, (len(first), each))
        elif each.name in kept:
            first[each.name] = None
    return tuple(unknown.values())


def _places_of(value: Value) -> frozenset[str]:
    """Of a tuple, those whose items are one thing each, whichever it is."""
    items = value.items if isinstance(value, TupleValue) and value.cls is None else ()
    one = (each for each in enumerate(items) if isinstance(each[1], Unknown) and not each[1].optional)
    return frozenset(f"output[{place}]" for place, _ in one)


def _are_known(found: Sequence[Seen], places: Collection[str]) -> bool:
    """These are as many in every run, and stand where they do.

    Args:
        places: those that are there in every run.
    """
    told = {each.name for each in found if each.unknown and (not each.indices or each.name in places)}
    found = [each for each in found if each.name not in told]  # others are told in their place
    held = [way for each in found for way in each.ways]
    twice = {way for way in held if held.count(way) > 1} if len(held) > len(set(held)) else ()
    return not any(
        each.is_possible or each.is_partial or (len(each.ways) > 1 and not set(each.ways).isdisjoint(twice))
        for each in found
    )


def seen_in(machine: Machine, value: Value, name: str) -> list[Seen]:
    """The tensors in a value, each once, with where it stands first."""
    return _each_once(_looked_at(machine, value, name))


def _each_once(found: Iterable[Seen]) -> list[Seen]:
    once: dict[object, Seen] = {}
    for each in found:
        if each.is_possible:
            continue
        before = once.setdefault(each.ways or each.name, each)
        if before.is_partial and not each.is_partial:
            once[each.ways or each.name] = each
    return list(once.values())


def places_in(machine: Machine, value: Value, name: str) -> list[Seen]:
    """The tensors in a value, one as often as it stands there."""
    return [each for each in _looked_at(machine, value, name) if not each.is_possible]


def _looked_at(machine: Machine, value: Value, name: str) -> list[Seen]:
    """The same, and what may be one."""
    found: list[Seen] = []
    _look(machine, value, name, found, 0)
    return found


def _look(machine: Machine, value: Value, name: str, found: list[Seen], depth: int) -> None:
    if depth > MAX_DEPTH or len(found) >= MAX_SEEN:
        return
    if isinstance(value, TupleValue):
        fields = _fields(machine, value)
        for place, item in enumerate(value.items):
            where = f".{fields[place]}" if place < len(fields) else f"[{place}]"
            _look(machine, item, f"{name}{where}", found, depth + 1)
    elif isinstance(value, Choice):
        _look_at_choice(machine, value, name, found, depth)
    elif isinstance(value, Address):
        _look_at_object(machine, value, name, found, depth)
    elif isinstance(value, Unknown) and not value.inert:
        _look_at_unknown(machine, value, name, found)


def _look_at_unknown(machine: Machine, value: Unknown, name: str, found: list[Seen]) -> None:
    """One of several tensors, or of those in several objects, if it is a tensor."""
    indices: dict[int, None] = {}
    seen: set[int] = set()
    pending = sorted(value.may_be, reverse=True)
    while pending and len(indices) < MAX_SEEN:
        index = pending.pop()
        if index in seen:
            continue
        seen.add(index)
        held = machine.state.find(Address(index), HeapObject)
        if isinstance(held, TensorObject) and not through_numpy.is_array(held):
            indices[index] = None
        elif isinstance(held, (ListObject, DictObject)) or (
            isinstance(held, InstanceObject) and _is_record(machine, held)
        ):
            pending += sorted(points_to.objects_of(points_to.held_by(held)), reverse=True)
    unknown = f"{value.reason or 'it is not known'}{_MAY_BE_NONE}"
    found.append(Seen(name, tuple(indices), is_possible=True, unknown=unknown))


_MAY_BE_NONE = " (it may be no tensor)"


def _fields(machine: Machine, value: TupleValue) -> list[str]:
    """The names by which a named tuple has its items; [] of any other, and of one whose names are not known."""
    if not isinstance(value.cls, ClassValue):
        return []
    names = machine.find_attribute(value, "_fields")
    if not isinstance(names, TupleValue) or len(names.items) != len(value.items):
        return []
    known = [each.value for each in names.items if isinstance(each, Constant) and isinstance(each.value, str)]
    return known if len(known) == len(value.items) else []


def _look_at_object(machine: Machine, address: Address, name: str, found: list[Seen], depth: int) -> None:
    held = machine.state.read(address)
    if isinstance(held, TensorObject):
        if not through_numpy.is_array(held):
            found.append(_seen(held, name, (address,)))
    elif isinstance(held, ListObject):
        for place, each in enumerate(held.items):
            _look(machine, each, f"{name}[{place}]", found, depth + 1)
        if held.open is not None:  # of one of several, not the first that may follow is the place
            following = "?" if isinstance(held.open, Unknown) else len(held.items)
            _look(machine, held.open, f"{name}[{following}]", found, depth + 1)
    elif isinstance(held, DictObject):
        for key, entry in held.entries.items():
            _look(machine, entry, f"{name}[{_shown(key)}]", found, depth + 1)
        if held.open is not None:
            _look(machine, held.open, f"{name}[?]", found, depth + 1)
    elif isinstance(held, InstanceObject) and _is_record(machine, held):
        for attribute, each in held.attributes.items():
            _look(machine, each, f"{name}.{attribute}", found, depth + 1)


def _shown(key: Value) -> str:
    """The key of a dict, as a trace has it in the name of a place."""
    if isinstance(key, Constant):
        plain = type(key.value) in (str, int, float, bool)
        return repr(key.value) if plain else "?" if isinstance(key.value, int) else type(key.value).__name__
    return "tuple" if isinstance(key, TupleValue) and key.cls is None else "?"


def _look_at_choice(machine: Machine, value: Choice, name: str, found: list[Seen], depth: int) -> None:
    """One of several tensors, or of several things that hold some: what not all hold is there on some paths."""
    places: dict[str, list[Seen]] = {}
    for each in value.alternatives:
        inside: list[Seen] = []
        _look(machine, each, name, inside, depth + 1)
        for seen in inside:
            places.setdefault(seen.name, []).append(seen)
    for held in places.values():
        known = [each for each in held if not each.is_possible]
        found += [each for each in held if each.is_possible]
        if known:
            found.append(_one_of(known, is_partial=len(known) != len(value.alternatives)))


def _one_of(seen: Sequence[Seen], is_partial: bool) -> Seen:
    """One of several tensors at one place."""
    first = seen[0]
    ways = dict.fromkeys(pair for each in seen for pair in zip(each.indices, each.ways, strict=True))
    indices, handed = zip(*ways, strict=True)
    return Seen(
        first.name,
        indices,
        first.shape if all(same_sizes(each.shape, first.shape) for each in seen) else None,
        first.dtype if all(each.dtype == first.dtype for each in seen) else None,
        first.device if all(each.device == first.device for each in seen) else None,
        handed if handed != indices else (),
        is_partial=is_partial or any(each.is_partial for each in seen),
    )


def _is_record(machine: Machine, item: InstanceObject) -> bool:
    """An instance of a data class of the project: what `forward` gives where it gives several things by name."""
    return isinstance(item.cls, ClassValue) and not machine.is_module_class(item.cls)


def _seen(tensor: TensorObject, name: str, addresses: Sequence[Address]) -> Seen:
    shape = None if tensor.shape is None else tuple(tensor.shape)
    indices = tuple(each.index for each in addresses)
    handed = tuple(each.way for each in addresses)
    return Seen(name, indices, shape, tensor.dtype, tensor.device, handed if handed != indices else ())


def _writes(machine: Machine, inputs: Iterable[Seen]) -> dict[int, int | None]:
    """How often each of these tensors was written to."""
    found = {index: machine.state.find(Address(index), TensorObject) for seen in inputs for index in seen.indices}
    return {index: item.writes for index, item in found.items() if item is not None}
