"""Has the interpreter call the model that a prediction has built, on tensors of which shape and dtype are given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from modgraph.graph.model import ModelInput, OpenPlace, SourceLocation, TensorInfo
from modgraph.prediction.domain import forms
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.constraints import under
from modgraph.prediction.domain.definitions import Parameter
from modgraph.prediction.domain.endings import RAISES, attempt
from modgraph.prediction.domain.events import Event, Lost, Seen, each_event, in_order
from modgraph.prediction.domain.forms import Symbol
from modgraph.prediction.domain.guesses import Guesses
from modgraph.prediction.domain.objects import GIVEN, DictObject, ListObject, ModuleObject, TensorObject
from modgraph.prediction.domain.sizes import Conditions, as_size, is_open, notation
from modgraph.prediction.domain.state import State
from modgraph.prediction.domain.values import TRUE, Address, BoundMethod, Constant, FunctionValue, Unknown, Value
from modgraph.prediction.entry import Prediction, argument_value
from modgraph.prediction.interpreter import Interpreter
from modgraph.prediction.knowledge.tensors.layout import set_anew
from modgraph.prediction.knowledge.torch import forward_hooks
from modgraph.prediction.paths.recording import places_in, possible_in, seen_in, unknown_in
from modgraph.prediction.python import node_text
from modgraph.source.input_groups import InputGroup, grouped
from modgraph.source.inputs import InputSpec

DEFAULT_DTYPE = "float32"


@dataclass(frozen=True, slots=True)
class AnyTensor:
    """An input that is a tensor, of which no more is known."""

    name: str | None = None
    dtype: str | None = DEFAULT_DTYPE
    shape: tuple[int | str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyValue:
    """An input of which nothing is known."""

    name: str | None = None
    shape: tuple[int | str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyMapping:
    """An input that is read by names, of which some are known."""

    name: str | None
    items: tuple[tuple[str, InputSpec | AnyTensor | AnyValue], ...] = ()
    is_open: bool = True
    """It may hold more."""
    word: str = ""
    """How it is called where it is given in a row."""

    @property
    def shape(self) -> tuple[int | str, ...]:
        """All sizes in it."""
        return tuple(size for _, item in self.items for size in item.shape or ())


Given: TypeAlias = InputSpec | AnyTensor | AnyValue | AnyMapping
"""What an input of `forward` is."""


@dataclass(frozen=True)
class Followed:
    """What a run did, as far as it could be followed."""

    events: tuple[Event, ...]
    inputs: tuple[ModelInput, ...]
    given: Mapping[int, str]
    """The tensors that were given, by address: where each stands among the inputs."""
    outputs: tuple[Seen, ...]
    state: State
    """The heap after the run."""
    failure: Unknown | None = None
    """Why it did not come to its end."""
    conditions: Conditions | None = None
    """The sizes that were left open, and what they must meet for all this to hold."""
    specs: tuple[Given, ...] = ()
    """What it was given, to be given again."""
    has_run_out: bool = False
    """It came to a limit of what may be done for one prediction; another run would too."""
    began: int = 0
    """The first address of what the run has made."""
    names: tuple[str, ...] = ()
    """Of each of `specs`: the input that it is, or is a part of."""
    possible: tuple[Seen, ...] = ()
    """What it gives that is not known, and may be a tensor."""
    fails_always: bool = False
    """It was refused, and so is whatever else the model is given."""
    guessed: frozenset[str] = frozenset()
    """Inputs, and parts of them, that nobody has said are what they are taken for: that decides no test."""
    doubted: frozenset[str] = frozenset()
    """Those of them of which a test asked whether they are something else."""
    refusals: tuple[str, ...] = ()
    """Why Python or torch refused some ways, while others went on."""
    raised: frozenset[str] = frozenset()
    """What was raised on some ways, while others went on: by the program, too."""
    came_out: Mapping[tuple[str, SourceLocation | None], frozenset[bool]] = field(default_factory=dict)
    """By text and place: how its tests have come out."""
    known: Mapping[Symbol, int] = field(default_factory=dict)
    """Sizes that the model requires to be multiples of numbers."""
    refused_shapes: OpenPlace | None = None
    """Where inputs have no shapes, as each that was tried was refused: one of these, and why."""
    unknown: tuple[Seen, ...] = ()
    """The places in the result of which nothing is known, though a tensor may stand there."""

    @property
    def open_output(self) -> OpenPlace | None:
        """The first of them, with its reason."""
        found = next(iter(self.unknown), None)
        return None if found is None else OpenPlace(message=f"what {found.name} is: {found.unknown}")

    @property
    def witnesses(self) -> dict[str, int]:
        """With what was reckoned for each size that was left open."""
        symbols = {} if self.conditions is None else self.conditions.symbols
        return {name: symbol.witness for name, symbol in symbols.items()}

    @property
    def is_whole(self) -> bool:
        """It came to its end, and nothing was called of which it is not known what it does."""
        return self.failure is None and not any(isinstance(each, Lost) for each in each_event(self.events))

    @property
    def is_refused(self) -> bool:
        """The program raised: the model does not take these inputs."""
        return self.failure is not None and self.failure.reason.startswith(RAISES)


@dataclass(frozen=True, slots=True)
class _Way:
    """How a run is followed; see `follow`."""

    training: bool | None
    every_way: bool
    witnesses: Mapping[str, int]
    guessed: frozenset[str]


def follow(
    prediction: Prediction,
    inputs: Sequence[Given],
    training: bool | None = False,
    *,
    every_way: bool = False,
    witnesses: Mapping[str, int] | None = None,
    guessed: frozenset[str] = frozenset(),
    grad: bool = True,
    elsewhere: frozenset[str] = frozenset(),
) -> Followed | None:
    """Runs `forward` of what a prediction built; None where that is no module, or was not built to its end. The heap of
    the prediction stays as it is.

    Args:
        training: None for either mode.
        every_way: flags of `forward` that are not given may be on or off, whatever their default.
        witnesses: for each size that is left open, by name, one with which is reckoned; what is found holds for all
            sizes that meet the conditions which come with it.
        guessed: inputs, and parts of them ("batch['x']"), that nobody has said are what they are given as.
        grad: operations are recorded for gradients, as where nothing is said; some layers ask, and call others then.
        elsewhere: what is otherwise taken for granted, by the names of `Machine.asks`, and is not so here.
    """
    machine, root = prediction.machine, prediction.root
    if prediction.failure is not None or not isinstance(root, Address):
        return None
    if machine.state.find(root, ModuleObject) is None:
        return None
    built = machine.state
    machine.state = built.fork()
    machine.frames.clear()
    machine.is_recording = True
    machine.otherwise = elsewhere
    machine.base.cast, machine.base.uncast, machine.base.kept = set(), set(), set()
    try:
        with machine.run_on():
            if not grad:
                without = machine.call(machine.resolve("torch.no_grad"))
                machine.call(machine.get_attribute(without, "__enter__"))
            return _follow(machine, root, inputs, _Way(training, every_way, witnesses or {}, guessed))
    finally:
        machine.is_recording = False
        machine.otherwise = frozenset()
        machine.guesses = Guesses()
        machine.came_out, machine.steady = None, None
        machine.operating = 0
        machine.layer_frames = -1
        machine.state = built
        machine.frames.clear()
        machine.finish()


def _follow(machine: Interpreter, root: Address, inputs: Sequence[Given], way: _Way) -> Followed:
    conditions = Conditions(lambda: machine.where, lambda: _is_in_rule(machine), lambda: _test(machine))
    sizes = {name: conditions.symbol(name, witness) for name, witness in _witnesses(inputs, way.witnesses).items()}
    positional, keywords = _arguments(machine, inputs, sizes)
    named = _named(machine, root, positional, keywords)
    machine.guesses = _guesses(machine, inputs, named, way.guessed)
    machine.came_out = None if way.every_way else {}
    further = _further(machine, root) if way.every_way else None
    if way.every_way:
        given = {name for name, _ in named}
        keywords.update((name, value) for name, value in _flags(machine, root).items() if name not in given)
    seen_before = [(name, value, seen_in(machine, value, name)) for name, value in named]  # the run may change them
    results: list[Value] = []
    mode = Unknown("whether the model trains", inert=True) if way.training is None else Constant(way.training)
    machine.steady = mode if isinstance(mode, Unknown) else None

    def run() -> Unknown | None:
        machine.call(machine.get_attribute(root, "train"), (mode,))
        machine.state.events = None
        if further is None:
            results.append(machine.invoke(root, Arguments("", positional, keywords)))
        else:
            results.append(
                forward_hooks.call(machine, root, Arguments("", (root, *positional), keywords, None, further))
            )
        return None

    began = machine.began = machine.base.next_index
    failure = attempt(machine, run, lambda why: why)
    outputs = tuple(places_in(machine, results[0], "output")) if results else ()
    possible = possible_in(machine, [("output", each) for each in results[:1]])
    addresses = {index: each.name for _, _, seen in seen_before for each in seen for index in each.indices}
    in_order_of_place = iter(name for name, _ in named)
    names = [spec.name or next(in_order_of_place) for spec in inputs]
    described = tuple(_described(machine, name, value, seen) for name, value, seen in seen_before)
    machine.base.work += _UNITS_OF_A_CONDITION * len(conditions.needed)
    events = tuple(in_order(machine.state.events))
    has_run_out = machine.exhausted
    specs = tuple(inputs)
    return Followed(
        events,
        described,
        addresses,
        outputs,
        machine.state,
        failure,
        conditions,
        specs,
        has_run_out,
        began,
        tuple(names),
        possible,
        guessed=way.guessed,
        doubted=frozenset(machine.guesses.doubted),
        refusals=tuple(machine.guesses.refusals),
        raised=frozenset(machine.guesses.raised),
        came_out=machine.came_out or {},
        unknown=_unknown_outputs(machine, results),
    )


def _unknown_outputs(machine: Interpreter, results: Sequence[Value]) -> tuple[Seen, ...]:
    return tuple(each for result in results for each in unknown_in(machine, result, "output"))


def _guesses(
    machine: Interpreter, inputs: Sequence[Given], named: Sequence[tuple[str, Value]], guessed: frozenset[str]
) -> Guesses:
    found = Guesses()
    kinds: dict[Value, str] = {}
    mappings: set[Value] = set()
    are_open = any(isinstance(each, AnyMapping) for each in inputs)
    for name, value in named:
        if name in guessed:
            kinds[value] = name
        held = machine.state.find(value, DictObject) if are_open else None
        if held is None:
            continue
        mappings.add(value)
        parts = {part_of(name, key.value): each for key, each in held.entries.items() if isinstance(key, Constant)}
        kinds.update((each, part) for part, each in parts.items() if part in guessed)
    found.kinds, found.mappings = kinds, frozenset(mappings)
    return found


def part_of(name: str, key: object) -> str:
    """How what an input has under that key is called."""
    return f"{name}[{key!r}]"


def _is_in_rule(machine: Interpreter) -> bool:
    """A function or a layer of torch computes, and nothing of the program inside it."""
    return machine.operating > 0 or machine.layer_frames == len(machine.frames)


def _test(machine: Interpreter) -> str:
    """What the statement asks that is being executed."""
    statement = machine.frames[-1].statement if machine.frames else None
    return "" if statement is None else node_text.asked_by(statement)


def open_names(inputs: Sequence[Given]) -> tuple[str, ...]:
    """The sizes that are left open, by name."""
    return tuple(dict.fromkeys(size for spec in inputs for size in spec.shape or () if isinstance(size, str)))


def _witnesses(inputs: Sequence[Given], known: Mapping[str, int]) -> dict[str, int]:
    """By open size, one with which is reckoned. Sizes of other names are others: a test for the same comes out "no"."""
    found = dict(known)
    for place, name in enumerate(open_names(inputs)):
        if not found.get(name):
            witness, taken = witness_for(name, place), set(found.values())
            while witness in taken:
                witness += 32 if witness % 32 == 0 else 2
            found[name] = witness
    return {name: found[name] for name in open_names(inputs)}


def witness_for(name: str, place: int) -> int:
    """A size that one of that name may have, and that no program has a reason to write."""
    known = next((witness for word, witness in _WITNESSES.items() if name.lower().startswith(word)), None)
    return known or _OTHERS[place % len(_OTHERS)]


_WITNESSES = {"batch": 11, "bs": 11, "b": 11, "n": 11, "h": 352, "w": 416, "t": 26, "d": 52, "length": 26, "seq": 26}
"""Beginnings of names. What pictures are is a multiple of 32, as most models halve them five times."""
_OTHERS = (22, 26, 34, 38, 46, 58)


def told_by_input(texts: Sequence[str], inputs: Sequence[Given], names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """The conditions on the sizes, each under the last of the inputs that it speaks of."""
    told: dict[str, list[str]] = {}
    for text in texts:
        words = set(re.findall(r"[^\W\d]\w*", text))
        at = max((i for i, spec in enumerate(inputs) if words.intersection(map(str, spec.shape or ()))), default=0)
        told.setdefault(names[at], []).append(text)
    return {name: tuple(each) for name, each in told.items()}


def _flags(machine: Interpreter, root: Address) -> dict[str, Value]:
    """Parameters of `forward` that have a default: what they are given is not known."""
    return {
        each.name: Unknown(f"whether {each.name} is given", inert=True)
        for each in parameters_of_forward(machine, root) or ()
        if each.kind in ("normal", "keyword") and each.default is not None
    }


def _further(machine: Interpreter, root: Address) -> Unknown | None:
    """What may be given beside the parameters that have names; None where nothing can be."""
    kinds = {each.kind for each in parameters_of_forward(machine, root) or ()}
    return Unknown("what else is given", inert=True) if kinds & {"varargs", "varkw"} else None


_UNITS_OF_A_CONDITION = 4
"""To see what it says of the sizes, beside the others."""


def _described(machine: Interpreter, name: str, value: Value, tensors: Sequence[Seen]) -> ModelInput:
    """As a graph has it; what the model requires of it is written only of the run that is told (`size_ways.py`)."""
    literal = None if tensors else machine.string(value)
    is_open = any(isinstance(size, str) for each in map(tensor_info, tensors) for size in each.shape or ())
    return ModelInput(
        name=name,
        tensors=tuple(map(tensor_info, tensors)),
        literal=literal,
        origin="symbols" if is_open else "given",
    )


def _told(size: int | None, known: Mapping[Symbol, int]) -> int | str | None:
    """A number that no tensor can have for a size is not known: a graph holds none."""
    held = as_size(size) if known and is_open(size) else None
    if held is not None:
        form = under(held.form, known)
        return forms.written(form) if form.number is None else form.number
    return None if size is None or (type(size) is int and size.bit_length() >= 64) else notation(size)


def tensor_info(seen: Seen, known: Mapping[Symbol, int] = MappingProxyType({})) -> TensorInfo:
    """A tensor as a graph shows it.

    Args:
        known: sizes that are multiples of numbers.
    """
    shape = None if seen.shape is None else tuple(_told(size, known) for size in seen.shape)
    return TensorInfo(name=seen.name, shape=shape, dtype=seen.dtype, device=seen.device)


def _arguments(
    machine: Interpreter, inputs: Sequence[Given], sizes: Mapping[str, int]
) -> tuple[tuple[Value, ...], dict[str, Value]]:
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    for spec in grouped(inputs):
        value = _value(machine, spec, sizes)
        if spec.name is None:
            positional.append(value)
        else:
            keywords[spec.name] = value
    return tuple(positional), keywords


def _value(machine: Interpreter, spec: Given | InputGroup, sizes: Mapping[str, int]) -> Value:
    if isinstance(spec, InputGroup):
        items = {key: _value(machine, each, sizes) for key, each in spec.items.items()}
        if spec.is_list:
            return machine.allocate(ListObject(list(items.values())))
        attributes = {str(key): value for key, value in items.items()}
        return machine.allocate(DictObject({Constant(key): each for key, each in items.items()}, attributes=attributes))
    if isinstance(spec, AnyMapping):
        entries: dict[Value, Value] = {Constant(key): _value(machine, each, sizes) for key, each in spec.items}
        more = machine.unknown(f"it is not known what else {spec.name or spec.word} holds")
        return machine.allocate(DictObject(entries, open=more if spec.is_open else None))
    if isinstance(spec, AnyValue):
        return machine.unknown("an input of forward of which nothing is said; --input says it")
    if isinstance(spec, AnyTensor):
        return machine.allocate(_tensor(None, spec.dtype))
    if spec.shape is None:
        return argument_value(machine, spec.literal)
    shape = tuple(sizes[size] if isinstance(size, str) else size for size in spec.shape)
    return set_anew(machine, machine.allocate(_tensor(shape, spec.dtype or DEFAULT_DTYPE)))


def _tensor(shape: tuple[int, ...] | None, dtype: str | None) -> TensorObject:
    """An input: whether it needs a gradient is for its caller to say; whole numbers need none."""
    may_need = dtype is None or dtype.startswith(("float", "bfloat", "complex"))
    tensor = TensorObject(shape, dtype, requires_grad=None if may_need else False, device="cpu")
    if may_need:
        tensor.attributes[GIVEN] = TRUE
    return tensor


def parameters_of_forward(machine: Interpreter, root: Address) -> tuple[Parameter, ...] | None:
    """Without the module itself, as the code says them; those that a decorator wraps, where it does. None where
    `forward` is not of source."""
    run = machine.find_attribute(root, "forward")
    function = run.function if isinstance(run, BoundMethod) else run
    if not isinstance(function, FunctionValue):
        return None
    for _ in range(_MOST_WRAPPERS):
        wrapped = machine.find_attribute(function, "__wrapped__")
        if not isinstance(wrapped, FunctionValue):
            break
        function = wrapped
    return function.definition.parameters[1 if isinstance(run, BoundMethod) else 0 :]


_MOST_WRAPPERS = 8


def _named(
    machine: Interpreter, root: Address, positional: Sequence[Value], keywords: Mapping[str, Value]
) -> tuple[tuple[str, Value], ...]:
    """Each argument with the parameter of `forward` that it is for."""
    parameters = parameters_of_forward(machine, root)
    names = ["input"]
    if parameters is not None:
        names = [each.name for each in parameters if each.kind in ("normal", "positional")]
    found = [
        (names[place] if place < len(names) else f"args[{place}]", value) for place, value in enumerate(positional)
    ]
    return (*found, *keywords.items())
