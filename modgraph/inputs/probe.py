"""One run of one candidate, watched: which layer first receives each input, and where and on what the run fails.

The run is made on a copy whose tensors are fake (no memory, no arithmetic), as long as the forward does not decide by
values; from then on, on a real copy.
"""

from __future__ import annotations

import contextlib
import io
import math
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from modgraph.errors import RAISED_BY_OTHERS
from modgraph.inputs.packed import refuse_packed, unpacked
from modgraph.inputs.specs import Bag, Candidate, Place, Spec, TensorSpec, make_tensor, make_value
from modgraph.inputs.wishes import Wish, wish_of
from modgraph.tracing.basics.failures import is_interruption, said
from modgraph.tracing.basics.forward_signature import ForwardSignature
from modgraph.tracing.basics.interruptions import let_through
from modgraph.tracing.basics.members import parameters, registered_modules, set_training, tensors
from modgraph.tracing.basics.patches import Patches, one_at_a_time
from modgraph.tracing.faking import fake
from modgraph.tracing.faking.copying import copied
from modgraph.tracing.faking.value_decisions import decides_by_values
from modgraph.tracing.loading.absent_devices import AbsentDevices, is_for_want_of_a_device
from modgraph.tracing.restoring.restore import random_states

Shape = tuple[int, ...]
MAX_FUNCTIONS = 200_000
"""Functions of torch that one run may call while inputs are looked for: a transformer of a hundred layers calls some
5,000."""
LIGHT_PARAMETERS = 12_000_000
"""Elements of a model whose first run is a real one."""
MAX_REAL_PARAMETERS = 30_000_000
"""Elements of a model up to which indices are tried out in a real run, which copies it."""


class EndlessRunError(BaseException):
    """Ends a run that has called too many functions, or goes on for too long. No `except Exception` keeps it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Which inputs a tensor comes from."""

    places: frozenset[Place]
    direct: bool
    """Through nothing but views, casts and elementwise operations."""
    same: bool
    """Dimension by dimension the input itself."""
    values: frozenset[Place] = frozenset()
    """Those whose values it holds; others may have said which of them, as `row` does in `x[row]`."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One tensor among the arguments of a layer or function."""

    position: int | str
    shape: Shape
    integral: bool
    origin: Origin | None


@dataclass(frozen=True, slots=True)
class Use:
    """A layer that received an input (nearly) as it is."""

    layer: str
    wish: Wish
    seen: Seen


@dataclass(frozen=True, slots=True)
class Failure:
    """The innermost torch function or layer that raised."""

    name: str
    """ "linear", or the path of a layer."""
    layer: nn.Module | None
    seen: tuple[Seen, ...]
    other: tuple[Any, ...]
    """Arguments that are no tensors."""
    subscripts: int = 0
    """Dimensions that `x[:, 0, :]` names; 0 for anything else."""


@dataclass(frozen=True, slots=True)
class Join:
    """Tensors that were joined, and the layer that received what came of it."""

    pieces: tuple[tuple[Place | None, int], ...]
    """The input that a piece is, if it is one nearly as it was, and its size along the dimension."""
    wanted: int
    layer: str

    @property
    def size(self) -> int:
        """Of all pieces together."""
        return sum(size for _, size in self.pieces)


@dataclass(slots=True)
class Outcome:
    """What one run showed."""

    error: BaseException | None = None
    output: Any = None
    by_values: bool = False
    """The run came to where `forward` decides by values, and there are none."""
    progress: int = 0
    """Functions that ended without an error; a view of an input gets nobody anywhere."""
    fitted: int = 0
    """Joins that ended without one."""
    uses: dict[Place, Use] = field(default_factory=dict)
    joins: list[Join] = field(default_factory=list)
    """In the order in which layers received them."""
    failures: list[Failure] = field(default_factory=list)
    """Innermost first: the function, then the layers around it."""
    looked: tuple[str, Place] | None = None
    """The last look at an input: its "shape", or that it was "iterated"."""
    counted: Place | None = None
    """The input of which the last look asked how many items it has, or which."""
    called: set[str] = field(default_factory=set)
    """Paths of the modules that were called."""
    given: dict[int, Place] = field(default_factory=dict)
    """Where each tensor or array stands that was given, by its address; the error holds them as long as it is held."""
    bounds: dict[Place, int] = field(default_factory=dict)
    """Indices in this input must be below it."""
    asked: dict[Place, Spec] = field(default_factory=dict)
    """What a mapping or object was asked for and did not have."""
    columns: dict[Place, int] = field(default_factory=dict)
    """Columns that were read one by one, of an input that nothing else reads."""
    from_end: set[Place] = field(default_factory=set)
    """Inputs whose last item was asked for: `x[-1]`."""
    promoted: set[Place] = field(default_factory=set)
    """Integer inputs that met another input, of floats, in arithmetic or in a joined tensor."""
    rebatched: tuple[int, int] | None = None
    """(wanted, got) elements of one row, where a view folded what was left into the batch."""

    @property
    def reached(self) -> int:
        """How far it came, what fits together included."""
        return self.progress + self.fitted


@dataclass(frozen=True, slots=True)
class Attempt:
    """A candidate and what came of it."""

    candidate: Candidate
    outcome: Outcome


_SHAPE_READS = frozenset({"shape", "size", "dim", "ndim", "__len__"})
_ITERATION = frozenset({"__iter__", "unbind"})
_MOVES = frozenset({"permute", "transpose", "t", "T", "mT", "movedim", "swapaxes", "view", "reshape"})
_CASTS = {"to", "float", "double", "half", "bfloat16", "long", "int", "type", "type_as", "cuda", "cpu", "data"}
_VIEWS = {
    "flatten", "unflatten", "unsqueeze", "squeeze", "expand", "repeat", "contiguous", "__getitem__", "narrow", "select",
    "grid_sample", "chunk", "split", "unbind", "__iter__", "pad", "cat", "stack", "flip", "roll", "clone", "detach",
    "requires_grad_",
}  # fmt: skip
_ELEMENTWISE = {
    "add", "sub", "mul", "div", "true_divide", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__",
    "__truediv__", "__rtruediv__", "log", "exp", "sqrt", "sigmoid", "tanh", "relu", "abs", "clamp", "neg", "__neg__",
    "sin", "cos", "normalize", "dropout", "masked_fill",
}  # fmt: skip
JOINS = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack"})
_CONCATENATIONS = frozenset({"cat", "concat", "concatenate"})
_DIRECT = _MOVES | _CASTS | _VIEWS | _ELEMENTWISE
_INDEXED = {"embedding": 1, "index_select": 0, "gather": 0, "__getitem__": 0, "take_along_dim": 0, "grid_sample": 0}
"""Functions with two tensors, of which one says where in the other: the place of that one."""


class Observer(TorchFunctionMode):  # type: ignore[misc]
    """Follows the inputs through functions and layers while the forward runs."""

    def __init__(self, outcome: Outcome, names: dict[int, str], batch: int, until: float) -> None:
        super().__init__()
        self.outcome = outcome
        self._until = until
        self._functions = 0
        self.names = names
        self.batch = batch
        self._origins: dict[int, Origin] = {}
        self._kept: list[torch.Tensor] = []
        self._pieces: dict[int, tuple[int, tuple[tuple[Place | None, int], ...]]] = {}
        """Of joined tensors: the dimension, counted from the front, and what they were joined of."""
        self._failed: BaseException | None = None
        self._read_whole: set[Place] = set()
        self.floating: set[Place] = set()
        """Inputs of floats."""
        self.shapes: dict[Place, Shape] = {}
        """Of the inputs."""

    def follow(self, tensor: torch.Tensor, origin: Origin) -> None:
        """From here on, `tensor` is known to come from `origin`."""
        self._kept.append(tensor)  # an address must not be used again
        self._origins[id(tensor)] = origin

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._functions += 1
        if self._functions > MAX_FUNCTIONS or time.monotonic() > self._until:
            raise EndlessRunError(f"after {self._functions - 1:,} calls of functions of torch")
        name = _name_of(func)
        tensors = [leaf for leaf in _leaves((args, kwargs or {})) if isinstance(leaf, torch.Tensor)]
        self._look(name, tensors)
        try:
            result = func(*args, **(kwargs or {}))
        except RAISED_BY_OTHERS as error:
            other = [v for v in _leaves((args, kwargs)) if not isinstance(v, torch.Tensor)]
            self._fail(error, name, tensors, other, _subscripts(name, args))
            raise
        if name in _CONCATENATIONS:
            with torch._C.DisableTorchFunction():
                self._note_pieces(args, kwargs or {}, result)
        if name not in _SHAPE_READS:
            self.outcome.progress += name not in _VIEWS | _MOVES | _CASTS
            self.outcome.fitted += name in JOINS
            self._spread(name, tensors, args, result)
        return result

    def called(self, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Notes the layer as the first to receive an input, if it cares about what it receives."""
        self.outcome.called.add(self.names.get(id(layer), ""))
        if self._pieces and args and isinstance(args[0], torch.Tensor):
            self._note_join(layer, args[0])
        for seen in self._seen_arguments(args, kwargs):
            if seen.origin is None or not seen.origin.direct or len(seen.origin.values) != 1:
                continue
            wish = wish_of(layer, seen.position)
            (place,) = seen.origin.values
            if wish is not None and place not in self.outcome.uses:
                self.outcome.uses[place] = Use(self.names.get(id(layer), ""), wish, seen)
                if wish.bound is not None:
                    self._bound(place, wish.bound)

    def failed(self, error: BaseException, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Notes a layer that an exception left."""
        if self._failed is not error:
            self._failed = error
            self.outcome.failures.clear()
        seen = tuple(self._seen_arguments(*unpacked(args, kwargs)))
        self.outcome.failures.append(Failure(self.names.get(id(layer), ""), layer, seen, ()))

    def _seen_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Seen]:
        with torch._C.DisableTorchFunction():
            arguments: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
            for position, value in arguments:
                if isinstance(value, torch.Tensor):
                    yield self._seen(value, position)
                elif type(value) in (tuple, list) and len(value) == 2:  # the states of an LSTM
                    for index, each in enumerate(value):
                        if isinstance(each, torch.Tensor):
                            yield self._seen(each, f"{position}[{index}]")

    def _seen(self, tensor: torch.Tensor, position: int | str) -> Seen:
        shape = tuple(size if isinstance(size, int) else -1 for size in tensor.shape)
        integral = not (tensor.dtype.is_floating_point or tensor.dtype.is_complex)
        return Seen(position, shape, integral, self._origins.get(id(tensor)))

    def _look(self, name: str, tensors: list[torch.Tensor]) -> None:
        if not tensors or (name not in _SHAPE_READS and name not in _ITERATION):
            return
        origin = self._origins.get(id(tensors[0]))
        if origin is not None and origin.direct and len(origin.places) == 1:
            (place,) = origin.places
            self.outcome.looked = ("iterated" if name in _ITERATION else "shape", place)
            self.outcome.counted = place if name in _ITERATION or name == "__len__" else None

    def _fail(
        self, error: BaseException, name: str, tensors: list[torch.Tensor], other: list[Any], subscripts: int
    ) -> None:
        if self._failed is not error:
            self._failed = error
            self.outcome.failures.clear()
            seen = tuple(self._seen(tensor, position) for position, tensor in enumerate(tensors))
            self.outcome.failures.append(Failure(name, None, seen, tuple(other), subscripts))

    def _spread(self, name: str, tensors: list[torch.Tensor], args: Any, result: Any) -> None:
        origins = [origin for tensor in tensors if (origin := self._origins.get(id(tensor))) is not None]
        if not origins:
            return
        if name in _INDEXED and name != "grid_sample" and len(tensors) > 1:
            self._note_index(tensors)
        self._note_columns(name, args, origins[0])
        if name in _ELEMENTWISE | JOINS:
            self._note_promotion(tensors)
        places = frozenset(place for origin in origins for place in origin.places)
        holding = self._holding(name, tensors, origins)
        values = frozenset(place for origin in holding for place in origin.values)
        direct = name in _DIRECT and bool(holding) and all(origin.direct for origin in holding)
        for made in _leaves(result):
            if isinstance(made, torch.Tensor) and id(made) not in self._origins:
                same = direct and len(origins) == 1 and origins[0].same and _keeps_dimensions(name, tensors, made)
                self.follow(made, Origin(places, direct, same, values))
        if name in ("view", "reshape") and tensors and isinstance(result, torch.Tensor):
            self._note_rebatch(tensors[0], args, result)

    def _holding(self, name: str, tensors: list[torch.Tensor], origins: list[Origin]) -> list[Origin]:
        """The origins of what the result is made of; an index only says which of it."""
        if name not in _INDEXED or len(tensors) < 2:
            return origins
        table = tensors[0] if name != "embedding" or tensors[0].dtype.is_floating_point else tensors[1]
        origin = self._origins.get(id(table))
        return [] if origin is None else [origin]

    def _note_columns(self, name: str, args: Any, origin: Origin) -> None:
        """`x[:, 2]` and `x[:, 2:3]` of an input itself read one column; anything else reads all of it."""
        if not origin.same or len(origin.places) != 1 or name in _CASTS:
            return
        (place,) = origin.places
        index = args[1] if name == "__getitem__" and len(args) > 1 else None
        if type(index) is int and index == -1:
            self.outcome.from_end.add(place)
        if isinstance(index, tuple) and len(index) == 2 and index[0] == slice(None):
            column = _only_column(index[1])
            if column is not None:
                if column >= 0 and place not in self._read_whole:
                    self.outcome.columns[place] = max(column + 1, self.outcome.columns.get(place, 0))
                return
        self._read_whole.add(place)
        self.outcome.columns.pop(place, None)

    def _note_index(self, tensors: list[torch.Tensor]) -> None:
        # torch.embedding(weight, indices), but F.embedding(indices, weight): the table is the floating one.
        index = next((t for t in tensors if not t.dtype.is_floating_point and id(t) in self._origins), None)
        table = next((t for t in tensors if t is not index and t.dim() and id(t) not in self._origins), None)
        if index is None or table is None:
            return
        size = table.shape[0]
        origin = self._origins[id(index)]
        for place in origin.places:
            # What was reckoned out of floats is no longer what they were.
            if isinstance(size, int) and (place not in self.floating or origin.direct):
                self._bound(place, size)

    def _note_promotion(self, tensors: list[torch.Tensor]) -> None:
        whole: set[Place] = set()
        floating: set[Place] = set()
        for tensor in tensors:
            origin = self._origins.get(id(tensor))
            if origin is not None and origin.direct and tensor.dtype is not torch.bool:
                (floating if tensor.dtype.is_floating_point else whole).update(origin.places)
        if floating - whole:
            self.outcome.promoted.update(whole - floating)

    def _note_pieces(self, args: Any, kwargs: Any, result: Any) -> None:
        """`cat([x, c], 1)`: which inputs the pieces are."""
        given = args[0] if args else kwargs.get("tensors")
        dim = args[1] if len(args) > 1 else kwargs.get("dim", 0)
        if not isinstance(given, list | tuple) or type(dim) is not int or not isinstance(result, torch.Tensor):
            return
        pieces: list[tuple[Place | None, int]] = []
        for each in given:
            if not isinstance(each, torch.Tensor) or each.dim() != result.dim():
                return
            inner_dim, inner = self._pieces.get(id(each), (-1, ()))
            if inner_dim == dim % result.dim():
                pieces += inner
                continue
            pieces.append((self._input_of(each, dim), int(each.shape[dim])))
        self._kept.append(result)
        self._pieces[id(result)] = (dim % result.dim(), tuple(pieces))

    def _input_of(self, tensor: torch.Tensor, dim: int) -> Place | None:
        """The input that it is nearly as it was; over which another may have been laid that has one channel."""
        origin = self._origins.get(id(tensor))
        if origin is None or not origin.direct:
            return None
        if len(origin.values) == 1:
            return next(iter(origin.values))
        shapes = {place: self.shapes.get(place, ()) for place in origin.values}
        if any(len(shape) != tensor.dim() for shape in shapes.values()):
            return None
        wide = [place for place, shape in shapes.items() if shape[dim] != 1]
        return wide[0] if len(wide) == 1 and shapes[wide[0]] == tensor.shape else None

    def _note_join(self, layer: nn.Module, tensor: torch.Tensor) -> None:
        dim, pieces = self._pieces.get(id(tensor), (0, ()))
        wish = wish_of(layer, 0) if pieces else None
        for place, wanted in wish.sizes.items() if wish is not None else ():
            if place % tensor.dim() == dim:
                self.outcome.joins.append(Join(pieces, wanted, self.names.get(id(layer), "")))

    def _bound(self, place: Place, bound: int) -> None:
        self.outcome.bounds[place] = min(bound, self.outcome.bounds.get(place, bound))

    def _note_rebatch(self, before: torch.Tensor, args: Any, after: torch.Tensor) -> None:
        sizes = [size for size in _leaves(args[1:]) if isinstance(size, int)]
        if len(sizes) == 2 and sizes[0] == -1 and before.dim() > 2 and before.shape[0] == self.batch:
            wanted, got = sizes[1], before.numel() // self.batch
            # Steps or positions are rows of their own on purpose; a view across the last dimension is not.
            if after.shape[0] != self.batch and before.shape[-1] != wanted and self.outcome.rebatched is None:
                self.outcome.rebatched = (wanted, got)


def _subscripts(name: str, args: Any) -> int:
    if name != "__getitem__" or len(args) < 2 or not isinstance(args[1], tuple):
        return 0
    return sum(each is not None and each is not Ellipsis for each in args[1])


def _only_column(index: Any) -> int | None:
    """The column that is read by a number, or by a slice of one."""
    if isinstance(index, slice) and type(index.start) is int and index.stop == index.start + 1 and index.step is None:
        return index.start
    return index if type(index) is int else None


def _keeps_dimensions(name: str, tensors: list[torch.Tensor], made: torch.Tensor) -> bool:
    return name not in _MOVES and tensors[0].shape == made.shape


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", "")
    return str(getattr(function.__self__, "__name__", "")) if name in ("__get__", "__set__") else str(name)


def _leaves(value: Any) -> list[Any]:
    return pytree.tree_leaves(value)  # type: ignore[no-any-return]


class Prober:
    """Runs candidates on a copy of the model; the model itself is left alone."""

    def __init__(self, model: nn.Module, *, training: bool, mode: Any = None) -> None:
        self.model = model
        self.signature = ForwardSignature.of(model)
        self.training = training
        self.tries = 0
        self.lazy = any(isinstance(p, nn.UninitializedParameter) for p in parameters(model))
        # The first run of a lazy layer makes its parameters, which a fake one cannot, and only once.
        self.real = self.lazy and mode is None
        self.weightless = mode is not None
        """The model itself is fake: there are no values to run on."""
        self.grad = False
        self.elsewhere = False
        """The model asks for a device that is not here: the CPU stands for it."""
        self._mode = mode
        self.device, self.dtype = home_of(model)
        self.batch = 2 if training else 1
        self.seconds = math.inf
        """How long one run may go on."""
        self._copy: nn.Module | None = None

    @property
    def mode(self) -> Any:
        """That of the fake runs, made for the first: torch imports its compiler with it, which takes a second."""
        if self._mode is None:
            self._mode = fake.new_mode(symbolic=False)
        return self._mode

    @property
    def can_be_real(self) -> bool:
        """A real run is possible, affordable, and not what is done already."""
        return self._could_be_real(MAX_REAL_PARAMETERS)

    @property
    def is_light(self) -> bool:
        """A real run should take less time than what the first fake one has to import."""
        return self._could_be_real(LIGHT_PARAMETERS)

    def _could_be_real(self, most: int) -> bool:
        return not (self.weightless or self.real) and count_parameters(self.model) <= most

    def be_real(self) -> None:
        """From here on, runs are made on a real copy."""
        self.real, self._copy = True, None

    def be_fake(self) -> None:
        """From here on, runs are made on a copy without values."""
        self.real, self._copy = False, None

    def run(self, candidate: Candidate, make_missing: Any = None) -> Outcome:
        """What happens when `forward` gets this candidate.

        Costs one try, and another where the forward decides by values, or asks for a gradient or an absent device.
        """
        if self.can_be_real and candidate.has_arrays:
            self.be_real()  # what is made of an array has values
        outcome = self._run_once(candidate, make_missing)
        ended = "" if outcome.error is None or self.elsewhere else said(outcome.error)
        if ended and is_for_want_of_a_device(ended, fake=not self.real):
            self.elsewhere = True
            outcome = self._run_once(candidate, make_missing)
        if not self.real and (decides_by_values(outcome.error) or (self.can_be_real and _is_of_fakes(outcome.error))):
            if self.weightless:
                outcome.error, outcome.by_values = None, True
                return outcome
            self.be_real()
            outcome = self._run_once(candidate, make_missing)
        if not self.grad and outcome.error is not None and "does not require grad" in said(outcome.error):
            self.grad = True
            outcome = self._run_once(candidate, make_missing)
        return outcome

    def _run_once(self, candidate: Candidate, make_missing: Any) -> Outcome:
        self.tries += 1
        outcome = Outcome()
        model = self._working_copy()
        names = {id(module): path for path, module in registered_modules(model)}
        observer = Observer(outcome, names, self.batch, time.monotonic() + self.seconds)
        mode = None if self.real else self.mode
        devices = AbsentDevices() if self.elsewhere else contextlib.nullcontext()
        with _undisturbed(), devices, fake.running(mode), torch.set_grad_enabled(self.grad), _calls_seen_by(observer):
            try:
                args, kwargs = self._arguments(candidate, observer, make_missing)
                with observer, let_through():
                    outcome.output = model(*args, **kwargs)
            except BaseException as error:
                if is_interruption(error):
                    raise
                outcome.error = error
        return outcome

    def _arguments(
        self, candidate: Candidate, observer: Observer, make_missing: Any
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        def tensor(place: Place, spec: TensorSpec) -> torch.Tensor:
            made = make_tensor(spec, self.device, seed=0, fake=not self.real)
            if self.grad and made.dtype.is_floating_point:
                made.requires_grad_()
            if made.dtype.is_floating_point:
                observer.floating.add(place)
            observer.shapes[place] = spec.shape
            observer.follow(made, Origin(frozenset({place}), direct=True, same=True, values=frozenset({place})))
            return made

        def missing(place: Place, key: str) -> Any:
            with torch._C.DisableTorchFunction():
                spec = make_missing(key)
                inside: Place = (*place, key)
                observer.outcome.asked[inside] = spec
                return make_value(spec, inside, tensor)

        made = {
            name: make_value(entry, (name,), tensor, missing if make_missing else None)
            for name, entry in candidate.entries
        }
        for place in candidate.tensors():
            observer.outcome.given[id(_at(made, place))] = place
        return self.signature.split(made)

    def _working_copy(self) -> nn.Module:
        if self._copy is None or self.lazy:
            with let_through():
                self._copy = copied(self.model) if self.real else fake.fake_copy(self.model, self.mode)
                set_training(self._copy, self.training)
        return self._copy


def _is_of_fakes(error: BaseException | None) -> bool:
    """Of tensors without values alone: they cannot be sparse."""
    return isinstance(error, NotImplementedError) and "SparseTensorImpl" in said(error)


def _at(made: Any, place: Place) -> Any:
    for part in place:
        made = getattr(made, part) if isinstance(made, Bag) and isinstance(part, str) else made[part]
    return made


def count_parameters(model: nn.Module) -> int:
    """Elements of all parameters that have a shape yet."""
    return sum(p.numel() for p in parameters(model) if not isinstance(p, nn.UninitializedParameter))


def home_of(model: nn.Module) -> tuple[torch.device, str]:
    """Device and floating dtype of the model's first parameter or buffer of that kind; the device of any without."""
    device, dtype = torch.device("cpu"), str(torch.get_default_dtype())
    held = list(tensors(model))
    floating = [tensor for tensor in held if tensor.dtype.is_floating_point and tensor.dtype.itemsize > 1]
    if held:
        device = (floating or held)[0].device
    if floating:
        dtype = str(floating[0].dtype)
    return device, dtype.removeprefix("torch.")


@contextlib.contextmanager
def _calls_seen_by(observer: Observer) -> Iterator[None]:
    """Every call of a module in this thread goes by `observer`; those of other threads are none of ours."""
    original = nn.Module.__call__
    thread = threading.get_ident()

    def call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() != thread:
            return original(self, *args, **kwargs)
        observer.called(self, args, kwargs)
        try:
            refuse_packed(self, args, kwargs)
            return original(self, *args, **kwargs)
        except RAISED_BY_OTHERS as error:
            observer.failed(error, self, args, kwargs)
            raise

    with contextlib.ExitStack() as undo:
        Patches(undo).replace(nn.Module, "__call__", call)
        yield


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """What the forward prints, warns and draws from the random generators stays without effect."""
    with (
        one_at_a_time,
        contextlib.ExitStack() as undo,
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        for put_back in random_states():
            undo.callback(put_back)
        warnings.simplefilter("ignore")
        yield
