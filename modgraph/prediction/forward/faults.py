"""Where `forward` of a model certainly fails, whatever it is given, in either mode.

Of its arguments nothing is known, nor of the mode. Where a layer is given something of which nothing is known, it is
taken for a tensor of as many dimensions as the layer takes. A layer may take several numbers of them, and two layers
different ones: the run is followed in each of these ways, and the model fails only where it fails in all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from modgraph.graph.model import SourceLocation
from modgraph.prediction.deep_stack import with_deep_stack
from modgraph.prediction.domain.calling import Arguments, Raised
from modgraph.prediction.domain.endings import attempt
from modgraph.prediction.domain.events import Enter, Event, Leave, Operate, Refusal, Seen, in_order
from modgraph.prediction.domain.leading import Leading
from modgraph.prediction.domain.objects import ModuleObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import Address, ClassValue, Constant, KnownClass, Unknown, Value
from modgraph.prediction.forward.running import parameters_of_forward
from modgraph.prediction.interpreter import Interpreter

_TIMES = 5
"""What all runs together may cost, in runs. There is a second only where the first has failed."""
MAX_RUNS = 64
"""Ways of how many dimensions the layers are given: of what may fail in more ways, nothing is said."""


@dataclass(frozen=True)
class Fault:
    """How a run ends."""

    name: str
    """Of the exception: "RuntimeError"."""
    message: str
    where: SourceLocation | None
    """The last line outside torch."""
    is_of_rule: bool
    """Python or torch raises it, and no `raise` of the source."""
    refusal: Refusal | None
    events: tuple[Event, ...]
    """What happened before."""
    state: State
    is_alone: bool = True
    """No path on which Python or torch raises was left before, for others that went on."""

    @property
    def says_why(self) -> bool:
        """Python or torch refuses what is known: arguments, an attribute that is not there, or a known size."""
        if self.refusal is None or not self.is_of_rule or not self.is_alone:
            return False
        is_missing = self.name in ("TypeError", "AttributeError") and not self.refusal.operation
        shapes = [each.shape for each in self.refusal.inputs]
        return self.refusal.is_binding or is_missing or any(size is not None for each in shapes for size in each or ())


def certain_faults(machine: Interpreter, root: Address, units: int) -> list[Fault]:
    """How the runs of `forward` fail, the usual one first; none where one of them may not. The heap stays as it is.

    Args:
        units: what one run may cost; where that is not enough, or a few times that for all, nothing is said.
    """
    return with_deep_stack(lambda: _certain_faults(machine, root, units))


def _certain_faults(machine: Interpreter, root: Address, units: int) -> list[Fault]:
    built = machine.state
    faults: list[Fault] = []
    until = machine.work + _TIMES * units
    choices: list[int] | None = []
    try:
        for _ in range(MAX_RUNS):
            leading = Leading(choices or ())
            found = _run(machine, built, root, leading, min(units, until - machine.work))
            if found is None:
                return []
            faults.append(found)
            choices = leading.next()
            if choices is None:
                return faults
        return []
    finally:
        machine.state = built
        machine.frames.clear()
        machine.finish()


def _run(machine: Interpreter, built: State, root: Address, leading: Leading, units: int) -> Fault | None:
    machine.state = built.fork()
    machine.frames.clear()
    machine.is_recording, machine.leading = True, leading
    raised: list[Raised] = []

    def run() -> None:
        parameters = parameters_of_forward(machine, root)
        if parameters is None:
            return
        machine.call(machine.get_attribute(root, "train"), (Unknown("whether the model trains", inert=True),))
        machine.state.events = None
        given = {each.name: Unknown(f"what forward is given for {each.name!r}") for each in parameters}
        places = tuple(given[each.name] for each in parameters if each.kind in ("normal", "positional"))
        keywords: Mapping[str, Value] = {each.name: given[each.name] for each in parameters if each.kind == "keyword"}
        others = next((given[each.name] for each in parameters if each.kind in ("varargs", "varkw")), None)
        try:
            machine.invoke(root, Arguments("", places, keywords, None, others))
        except Raised as error:
            raised.append(error.kept())

    try:
        with machine.run_on(units):
            attempt(machine, run, lambda _: None)
        if not raised:
            return None
        error = raised[0]
        name = error.name.removeprefix("builtins.")
        where = error.asked or error.where
        events = tuple(in_order(machine.state.events))
        is_alone = not any(each.is_of_rule for each in leading.dropped)
        return Fault(name, error.message, where, error.is_of_rule, error.refusal, events, machine.state, is_alone)
    finally:
        machine.is_recording, machine.leading = False, None
        machine.operating = 0
        machine.called.clear()


# ---- what has led there ----------------------------------------------------------------------------------------------


_GIVING = ("out_features", "out_channels", "embedding_dim", "hidden_size", "num_features", "num_channels", "embed_dim")
"""Attributes of layers that say a size of what they give."""


class Story:
    """The events before a fault, read so that it can be said what has led there."""

    def __init__(self, machine: Interpreter, fault: Fault) -> None:
        self.machine = machine
        self.state = fault.state
        self.calls: list[Address] = []
        """The modules that are being called when it fails, from the outside in."""
        self._made: dict[int, tuple[Address | None, tuple[Seen, ...]]] = {}
        """By address of a tensor: the layer that gave it, or None for an operation, and what that was given."""
        self._within: dict[int, tuple[Address, ...]] = {}
        """By address of a tensor: the modules that were being called when it was made."""
        open_: list[tuple[Address, tuple[Seen, ...], bool]] = []
        for event in fault.events:
            if not isinstance(event, Leave) or event.error is None:
                self.calls = []  # what was raised before was caught
            if isinstance(event, Enter):
                open_.append((event.module, event.inputs, event.is_layer))
            elif isinstance(event, Leave) and open_:
                if event.error is not None:
                    self.calls = self.calls or [each[0] for each in open_]
                module, inputs, is_layer = open_.pop()
                if is_layer and event.error is None and not self.is_container(module):
                    self._note(module, inputs, event.outputs, open_)
            elif isinstance(event, Operate):
                self._note(None, event.inputs, event.outputs, open_)
        self.calls = self.calls or [each[0] for each in open_]

    def _note(
        self,
        module: Address | None,
        inputs: tuple[Seen, ...],
        outputs: tuple[Seen, ...],
        open_: list[tuple[Address, tuple[Seen, ...], bool]],
    ) -> None:
        around = tuple(each[0] for each in open_)
        for seen in outputs:
            for index in seen.indices:
                self._made[index] = (module, inputs)
                self._within[index] = around

    def class_name(self, module: Address) -> str:
        """The path of its class; "" where that is not known."""
        held = self.state.find(module, ModuleObject)
        cls = None if held is None else held.cls
        return cls.name if isinstance(cls, (ClassValue, KnownClass)) else ""

    def is_container(self, module: Address) -> bool:
        return self.class_name(module).startswith("torch.nn.modules.container.")

    def around(self, seen: Seen) -> tuple[Address, ...]:
        """The modules that were being called when a tensor was made."""
        return next((self._within[index] for index in seen.indices if index in self._within), ())

    def maker(self, seen: Seen, size: int) -> Address | None:
        """The layer that gave a tensor, or what it is computed from, a size of so many."""
        pending, known = deque([seen]), set[int]()
        for _ in range(_MOST_STEPS):
            if not pending:
                return None
            each = pending.popleft()
            for index in each.indices:
                if index in known or index not in self._made:
                    continue
                known.add(index)
                module, inputs = self._made[index]
                if module is not None and size in self.sizes(module):
                    return module
                pending += inputs
        return None

    def sizes(self, module: Address) -> tuple[int, ...]:
        """What a layer says of the sizes that it gives."""
        held = self.state.find(module, ModuleObject)
        values = () if held is None else (held.attributes.get(name) for name in _GIVING)
        found = [each.value for each in values if isinstance(each, Constant) and isinstance(each.value, int)]
        return tuple(found)

    def number(self, module: Address, name: str) -> int | None:
        """An attribute of a layer that is a whole number."""
        held = self.state.find(module, ModuleObject)
        value = None if held is None else held.attributes.get(name)
        is_number = isinstance(value, Constant) and isinstance(value.value, int)
        return value.value if is_number and isinstance(value, Constant) else None

    def made_at(self, module: Address) -> SourceLocation | None:
        """The call that made it."""
        held = self.state.find(module, ModuleObject)
        return None if held is None else held.where

    def paths(self, root: Address) -> Mapping[Address, str]:
        """By module that is registered below the root: where it stands, "block.conv"."""
        return dict(self._walk(root))

    def _walk(self, root: Address) -> Iterator[tuple[Address, str]]:
        pending = deque([(root, "")])
        seen: set[Address] = set()
        while pending:
            module, path = pending.popleft()
            held = self.state.find(module, ModuleObject)
            if held is None or module in seen:
                continue
            seen.add(module)
            yield module, path
            for name, value in held.modules.items():
                if isinstance(value, Address):
                    pending.append((value, f"{path}.{name}" if path else name))


_MOST_STEPS = 400
