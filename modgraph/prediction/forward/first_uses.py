"""What the first layer that an input comes to wants of it: how many dimensions, and which sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from modgraph.prediction.domain.events import Either, Enter, Event, Leave, Operate, Repeat, Seen, is_plain
from modgraph.prediction.domain.objects import ModuleObject, TensorObject
from modgraph.prediction.domain.values import NONE, Address, ClassValue, Constant, KnownClass, TupleValue, Value
from modgraph.prediction.forward.running import Followed
from modgraph.prediction.interpreter import Interpreter

Place = int | str | None
"""A size that a layer wants, the name of one that it leaves open, or None of one that is nothing in particular."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a layer wants of a tensor."""

    places: tuple[Place, ...]
    dtype: str | None = None
    seen: tuple[int | None, ...] | None = None
    """The shape that it was given."""
    from_behind: bool = False
    """Further dimensions may stand before these, after the first."""
    is_direct: bool = True
    """It was given the input itself, and nothing that is made of it."""


_PRODUCTS = frozenset({"matmul", "mm", "Tensor.matmul", "Tensor.mm", "Tensor.__matmul__"})
_JOINING = frozenset({"cat", "concat", "concatenate"})
_OF_PLACE: dict[str, tuple[str, ...]] = {
    "args[0] input": ("one_hot", "bincount", "embedding", "embedding_bag"),
    "args[1] target": ("nll_loss", "multi_margin_loss"),
    "args[1] index": ("take",),
    "args[1] indices": ("take_along_dim",),
    "args[1] repeats": ("repeat_interleave",),
    "args[1]": ("_pack_padded_sequence",),
    "args[1] args[2] args[3] targets input_lengths target_lengths": ("ctc_loss",),
    "args[2] index": (
        *("gather", "index_select", "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce"),
        *("scatter_reduce_", "index_add", "index_add_", "index_fill", "index_fill_", "index_copy", "index_copy_"),
    ),
}
_WHOLE = {name: tuple(places.split()) for places, names in _OF_PLACE.items() for name in names}
"""By the last name of an operation: at which of its places there are whole numbers."""
_SAME_KIND = frozenset(
    {
        *("cpu", "cuda", "to", "contiguous", "clone", "detach", "view", "reshape", "expand", "expand_as", "unsqueeze"),
        *(
            "squeeze",
            "flatten",
            "transpose",
            "permute",
            "t",
            "repeat",
            "sort",
            "__getitem__",
            "unbind",
            "chunk",
            "split",
        ),
    }
)
"""Operations that keep the kind of the numbers that they are given first."""
_CASTS = frozenset({"long", "int", "to", "type"})
"""Operations that give whole numbers of what are some as a rule, though they need not be: that proves nothing."""
_SPATIAL = {1: ("length",), 2: ("h", "w"), 3: ("d", "h", "w")}


def first_wishes(machine: Interpreter, followed: Followed) -> Mapping[str, Wish]:
    """By the name of each input that comes to a layer: what the first one wants."""
    reader = _Reader(machine, followed)
    reader.read(followed.events)
    return reader.wishes


def whole_numbers(machine: Interpreter, followed: Followed) -> tuple[frozenset[str], frozenset[str]]:
    """The names of the inputs that are used where torch takes whole numbers alone, as indices, classes or lengths; and
    of those that are so when they have been cast, which floating point numbers may be."""
    reader = _Reader(machine, followed)
    reader.read(followed.events)
    return frozenset(reader.whole), frozenset(reader.cast - reader.whole)


def joined_with(machine: Interpreter, followed: Followed) -> Mapping[str, tuple[int | None, ...]]:
    """By the name of each input without a shape that comes to be put together with something: the shape of that."""
    reader = _Reader(machine, followed)
    reader.read(followed.events)
    return reader.joined


def wish_of_first_layer(machine: Interpreter, followed: Followed, root: Value) -> Wish | None:
    """What the first of the layers that a model is made of wants, in the order in which they are registered."""
    pending, seen = [root], set[Value]()
    while pending:
        place = pending.pop()
        held = followed.state.find(place, ModuleObject)
        if held is None or not isinstance(place, Address) or place in seen:
            continue
        machine.spend(1)
        seen.add(place)
        reader = _Reader(machine, followed)
        reader.names[0] = ""
        reader.enter(place, (Seen("", (0,)),))
        if "" in reader.wishes:
            return replace(reader.wishes[""], is_direct=False)
        pending.extend(reversed(held.modules.values()))
    return None


class _Reader:
    """Follows what is made of each input."""

    def __init__(self, machine: Interpreter, followed: Followed) -> None:
        self.machine = machine
        self.state = followed.state
        self.given = followed.given
        self.names = dict(followed.given)
        """By address: the input that a tensor is, or is made of alone."""
        self.wishes: dict[str, Wish] = {}
        self.of_kind = dict(followed.given)
        """By address: the input that a tensor is, or has the numbers of, as whole ones or as they are."""
        self.casts: set[int] = set()
        """Addresses of those that have been cast on the way."""
        self.of_casts: set[str] = set()
        """Inputs of which is known alone what a layer wants of them as they have been cast."""
        self.whole: set[str] = set()
        self.cast: set[str] = set()
        """Inputs that are whole numbers, or are cast to such."""
        self.joined: dict[str, tuple[int | None, ...]] = {}
        self.open: list[Sequence[Seen]] = []
        self.dtype: str | None = None
        """Of what the layer that is entered holds."""

    def read(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Enter):
                self.enter(event.module, event.inputs)
                self.open.append(event.inputs)
            elif isinstance(event, Leave):
                self._made(self.open.pop() if self.open else (), event.outputs)
            elif isinstance(event, Operate):
                self._operate(event)
                self._made(event.inputs, event.outputs)
            elif is_plain(event):
                continue
            elif isinstance(event, Either):
                running = list(self.open)  # an exception that one path raises may end calls that began before
                self.read(event.first)
                self.open, running = running, self.open
                self.read(event.second)
                self.open = max(running, self.open, key=len)
            elif isinstance(event, Repeat):
                self.read(event.events)

    def _made(self, inputs: Sequence[Seen], outputs: Sequence[Seen]) -> None:
        names = {name for seen in inputs if (name := self._name(seen)) is not None}
        for seen in outputs if len(names) == 1 else ():
            for index in seen.indices:
                self.names.setdefault(index, next(iter(names)))

    def _name(self, seen: Seen) -> str | None:
        return next((self.names[index] for index in seen.indices if index in self.names), None)

    def wish(self, seen: Seen, places: tuple[Place, ...], dtype: str | None = None, from_behind: bool = False) -> None:
        name = self._name(seen)
        if name is not None:
            is_direct = any(self.given.get(index) == name for index in seen.indices)
            if dtype is not None and self.of_kind.keys().isdisjoint(seen.indices):
                dtype = self.dtype = None  # of what is made of an input, as where its largest numbers are
            wanted = Wish(places, dtype or self.dtype, seen.shape, from_behind, is_direct)
            if name not in self.wishes and dtype is not None and self._is_cast(seen):
                self.of_casts.add(name)
            elif name in self.of_casts and not self._is_cast(seen) and not self.of_kind.keys().isdisjoint(seen.indices):
                self.of_casts.discard(name)
                self.wishes.pop(name)
            self.wishes.setdefault(name, wanted)

    def _is_cast(self, seen: Seen) -> bool:
        return not self.casts.isdisjoint(seen.indices)

    def enter(self, module: Address, inputs: Sequence[Seen]) -> None:
        held = self.state.find(module, ModuleObject)
        if held is None or not inputs:
            return
        for cls in self._lineage(held.cls):
            name = cls.name if isinstance(cls, (ClassValue, KnownClass)) else ""
            kind = name.removeprefix("torch.nn.modules.")
            wanted = _LAYERS.get(kind) if kind != name else None
            if wanted is not None:
                self.dtype = self._dtype(held)
                wanted(self, module, inputs)
                self.dtype = None
                return

    def _lineage(self, cls: Value) -> Sequence[Value]:
        """The class and those that it derives from; the run may have made it."""
        before, self.machine.state = self.machine.state, self.state
        try:
            return self.machine.mro(cls)
        finally:
            self.machine.state = before

    def _dtype(self, layer: ModuleObject) -> str | None:
        """Of the parameters that a layer has itself."""
        tensors = (self.state.find(each, TensorObject) for each in layer.parameters.values())
        return next((each.dtype for each in tensors if each is not None), None)

    def _operate(self, event: Operate) -> None:
        short = event.name.removeprefix("torch.nn.functional.").removeprefix("torch.")
        if short in _JOINING:
            self._join(event.inputs)
        self._kinds(event)
        seen = {each.name: each for each in event.inputs}
        given, weight = seen.get("args[0]"), seen.get("args[1]") or seen.get("weight")
        if given is None or weight is None or weight.shape is None or self._name(weight) is not None:
            return
        if short in ("conv1d", "conv2d", "conv3d") and len(weight.shape) == int(short[4]) + 2:
            self.wish(given, ("batch", weight.shape[1], *_SPATIAL[int(short[4])]))
        elif short == "linear" and len(weight.shape) == 2:
            self.wish(given, ("batch", weight.shape[1]), from_behind=True)
        elif short == "embedding":
            self.wish(given, ("batch", "length"), "int64")
        elif short in _PRODUCTS and len(weight.shape) == 2:
            self.wish(given, ("batch", weight.shape[0]), from_behind=True)

    def _kinds(self, event: Operate) -> None:
        last = event.name.rpartition(".")[2]
        wanted = _WHOLE.get(last, ())
        for each in event.inputs:
            names = {self.of_kind[index] for index in each.indices if index in self.of_kind}
            is_cast = self._is_cast(each)
            if each.name in wanted:
                found = self.cast if is_cast else self.whole
                found |= names
                if last == "_pack_padded_sequence" and len(names) == 1:  # one length for each of the batch
                    is_direct = any(index in self.given for index in each.indices)
                    self.wishes.setdefault(next(iter(names)), Wish(("batch",), "int64", each.shape, False, is_direct))
            for made in event.outputs if each.name in ("args[0]", "input") and len(names) == 1 else ():
                is_same = last in _SAME_KIND and made.dtype == each.dtype
                if last in _CASTS or is_same:
                    self.of_kind.update(dict.fromkeys(made.indices, next(iter(names))))
                if is_cast or (last in _CASTS and (made.dtype is None or not is_same)):
                    self.casts.update(made.indices)

    def _join(self, inputs: Sequence[Seen]) -> None:
        shape = next((each.shape for each in inputs if each.shape), None)
        for each in inputs if shape is not None else ():
            name = self._name(each) if each.shape is None else None
            if name is not None and shape is not None:
                self.joined.setdefault(name, shape)

    # ---- layers ------------------------------------------------------------------------------------------------------

    def number(self, module: Address, name: str) -> int | None:
        """An attribute of a layer."""
        value = self.attribute(module, name)
        return value.value if isinstance(value, Constant) and isinstance(value.value, int) else None

    def attribute(self, module: Address, name: str) -> Value:
        held = self.state.find(module, ModuleObject)
        return NONE if held is None else held.attributes.get(name, NONE)


_Layer = Callable[[_Reader, Address, Sequence[Seen]], None]


def _channels(attribute: str | None, spatial: int | None) -> _Layer:
    """The channels stand at the second place."""

    def wish(reader: _Reader, module: Address, inputs: Sequence[Seen]) -> None:
        channels = None if attribute is None else reader.number(module, attribute)
        if spatial is not None:
            reader.wish(inputs[0], ("batch", channels, *_SPATIAL[spatial]))
        else:
            reader.wish(inputs[0], ("batch", channels))

    return wish


def _features(attribute: str) -> _Layer:
    """The last dimension is so large."""

    def wish(reader: _Reader, module: Address, inputs: Sequence[Seen]) -> None:
        reader.wish(inputs[0], ("batch", reader.number(module, attribute)), from_behind=True)

    return wish


def _normalized(reader: _Reader, module: Address, inputs: Sequence[Seen]) -> None:
    shape = reader.attribute(module, "normalized_shape")
    if isinstance(shape, TupleValue):
        sizes = [each.value if isinstance(each, Constant) else None for each in shape.items]
        reader.wish(inputs[0], ("batch", *sizes), from_behind=True)


def _indices(reader: _Reader, _module: Address, inputs: Sequence[Seen]) -> None:
    reader.wish(inputs[0], ("batch", "length"), "int64")


def _sequence(attribute: str, every: bool) -> _Layer:
    """A sequence of vectors, or for `every` argument one."""

    def wish(reader: _Reader, module: Address, inputs: Sequence[Seen]) -> None:
        first = reader.attribute(module, "batch_first")
        size = reader.number(module, attribute)
        names = ("batch", "length") if first == Constant(True) else ("length", "batch")
        for seen in inputs[: 3 if every else 1]:
            reader.wish(seen, (*names, size))

    return wish


def _layers() -> Iterator[tuple[str, _Layer]]:
    for rank in (1, 2, 3):
        for kind in ("Conv", "ConvTranspose", "LazyConv"):
            yield f"conv.{kind}{rank}d", _channels("in_channels", rank)
        for kind in ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "LPPool"):
            yield f"pooling.{kind}{rank}d", _channels(None, rank)
        yield f"instancenorm.InstanceNorm{rank}d", _channels("num_features", rank)
    yield "batchnorm.BatchNorm1d", _channels("num_features", None)
    yield "batchnorm.BatchNorm2d", _channels("num_features", 2)
    yield "batchnorm.BatchNorm3d", _channels("num_features", 3)
    yield "normalization.GroupNorm", _channels("num_channels", None)
    yield "linear.Linear", _features("in_features")
    yield "linear.Bilinear", _features("in1_features")
    yield "normalization.LayerNorm", _normalized
    yield "normalization.RMSNorm", _normalized
    yield "sparse.Embedding", _indices
    yield "sparse.EmbeddingBag", _indices
    for kind in ("LSTM", "GRU", "RNN"):
        yield f"rnn.{kind}", _sequence("input_size", False)
        yield f"rnn.{kind}Cell", _features("input_size")
    yield "activation.MultiheadAttention", _sequence("embed_dim", True)


_LAYERS: dict[str, _Layer] = dict(_layers())
