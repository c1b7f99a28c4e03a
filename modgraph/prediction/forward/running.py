"""Has the interpreter call the model that a prediction has built, on tensors of which shape and dtype are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.endings import attempt
from modgraph.prediction.domain.events import Event, Seen, in_order
from modgraph.prediction.domain.objects import ModuleObject, TensorObject
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import Address, BoundMethod, FunctionValue, Unknown, Value
from modgraph.prediction.entry import Prediction, argument_value
from modgraph.prediction.interpreter import Interpreter
from modgraph.prediction.paths.recording import seen_in
from modgraph.source.inputs import InputSpec

DEFAULT_DTYPE = "float32"


@dataclass(frozen=True)
class Followed:
    """What a run did, as far as it could be followed."""

    events: tuple[Event, ...]
    inputs: tuple[tuple[str, Value], ...]
    given: Mapping[int, str]
    """The tensors that were given, by address: where each stands among the inputs."""
    outputs: tuple[Seen, ...]
    state: State
    """The heap after the run."""
    failure: Unknown | None = None
    """Why it did not come to its end."""


def follow(
    prediction: Prediction, inputs: Sequence[InputSpec], training: bool = False, grad: bool = True
) -> Followed | None:
    """Runs `forward` of what a prediction built; None where that is no module, or was not built to its end. The heap of
    the prediction stays as it is.

    Args:
        grad: operations are recorded for gradients, as where nothing is said; some layers ask, and call others then.
    """
    machine, root = prediction.machine, prediction.root
    if prediction.failure is not None or not isinstance(root, Address):
        return None
    if machine.state.find(root, ModuleObject) is None:
        return None
    built = machine.state
    machine.state = built.fork()
    machine.frames.clear()
    machine.run_on()
    machine.is_recording = True
    try:
        if not grad:
            without = machine.call(machine.resolve("torch.no_grad"))
            machine.call(machine.get_attribute(without, "__enter__"))
        return _follow(machine, root, inputs, training)
    finally:
        machine.is_recording = False
        machine.operating = 0
        machine.state = built
        machine.frames.clear()
        machine.finish()


def _follow(machine: Interpreter, root: Address, inputs: Sequence[InputSpec], training: bool) -> Followed:
    positional, keywords = _arguments(machine, inputs)
    named = _named(machine, root, positional, keywords)
    results: list[Value] = []

    def run() -> Unknown | None:
        if not training:
            machine.call(machine.get_attribute(root, "eval"))
        machine.state.events = None
        results.append(machine.invoke(root, Arguments("", positional, keywords)))
        return None

    failure = attempt(machine, run, lambda why: why)
    outputs = tuple(seen_in(machine, results[0], "output")) if results else ()
    addresses = {
        index: each.name for name, value in named for each in seen_in(machine, value, name) for index in each.indices
    }
    return Followed(tuple(in_order(machine.state.events)), named, addresses, outputs, machine.state, failure)


def _arguments(machine: Interpreter, inputs: Sequence[InputSpec]) -> tuple[tuple[Value, ...], dict[str, Value]]:
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    for spec in inputs:
        value = _value(machine, spec)
        if spec.name is None:
            positional.append(value)
        else:
            keywords[spec.name] = value
    return tuple(positional), keywords


def _value(machine: Interpreter, spec: InputSpec) -> Value:
    if spec.shape is None:
        return argument_value(machine, spec.literal)
    return machine.allocate(TensorObject(spec.shape, spec.dtype or DEFAULT_DTYPE, requires_grad=False, device="cpu"))


def _named(
    machine: Interpreter, root: Address, positional: Sequence[Value], keywords: Mapping[str, Value]
) -> tuple[tuple[str, Value], ...]:
    """Each argument with the parameter of `forward` that it is for."""
    run = machine.find_attribute(root, "forward")
    function = run.function if isinstance(run, BoundMethod) else run
    names: list[str] = []
    if isinstance(function, FunctionValue):
        names = [each.name for each in function.definition.parameters if each.kind in ("normal", "positional")]
        names = names[1:] if isinstance(run, BoundMethod) else names
    elif positional:
        names = ["input"]
    found = [
        (names[place] if place < len(names) else f"args[{place}]", value) for place, value in enumerate(positional)
    ]
    return (*found, *keywords.items())
