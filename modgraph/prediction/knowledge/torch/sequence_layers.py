"""The forward of torch's layers for sequences by shape alone: recurrent ones, attention, transformers.

Source: "Shape" in the reference of each layer.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import Model, models
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, TupleValue, Value
from modgraph.prediction.knowledge.shapes.fitting import with_rank
from modgraph.prediction.knowledge.tensors.demanding import differ, is_larger
from modgraph.prediction.knowledge.tensors.elements import Shape
from modgraph.prediction.knowledge.tensors.tensor_values import made, size_of, tensor_of
from modgraph.prediction.knowledge.torch.gradients import of_layer
from modgraph.prediction.knowledge.torch.packed_sequences import Packed, packed_of

_LAYERS = "torch.nn.modules"
Size = int | None


def _size(machine: Machine, module: Value, name: str) -> Size:
    return size_of(machine.find_attribute(module, name) or NONE)


def _flag(machine: Machine, module: Value, name: str) -> bool | None:
    return machine.truth(machine.find_attribute(module, name) or FALSE)


def _tensor(machine: Machine, arguments: Arguments, shape: Shape | None, dtype: str | None) -> Value:
    given = (
        machine.state.find(each, TensorObject) for each in (*arguments.positional[1:], *arguments.keywords.values())
    )
    needs = of_layer(machine, arguments.positional[0], *(each for each in given if each is not None))
    return made(machine, shape, dtype, requires_grad=needs)


def _require_size(machine: Machine, given: Shape | None, wanted: Size, error: str = "RuntimeError") -> None:
    """The last size of what a layer is given is the one that it takes.

    Raises:
        Raised: it is another.
    """
    if given and wanted is not None and given[-1] is not None and given[-1] != wanted:
        raise machine.raises(error, f"the last size of {_told(given)} must be {wanted}, and is {given[-1]}")


def _product(*sizes: Size) -> Size:
    result = 1
    for size in sizes:
        if size is None:
            return None
        result *= size
    return result


@models(*(f"{_LAYERS}.rnn.{name}.forward" for name in ("RNN", "LSTM", "GRU")))
def recurrent(arguments: Arguments, machine: Machine) -> Value:
    """The output and the last state; of an LSTM, that is two."""
    module, given = arguments.positional[0], arguments.get(1, "input", NONE)
    if isinstance(given, TupleValue) and (sequences := packed_of(machine, given)) is not None:
        return _of_packed(arguments, machine, given, sequences)
    source = with_rank(machine, tensor_of(machine, given), 2, (0, 1))
    both_ways, first = _flag(machine, module, "bidirectional"), _flag(machine, module, "batch_first")
    if source.shape is not None and len(source.shape) not in (2, 3):
        raise machine.raises("ValueError", f"a recurrent layer takes 2 or 3 dimensions, not {len(source.shape)}")
    _require_size(machine, source.shape, _size(machine, module, "input_size"))
    if source.shape is None or both_ways is None or first is None:
        return machine.unknown("the input of a recurrent layer is not known", given)
    ways = 2 if both_ways else 1
    hidden = _size(machine, module, "hidden_size")
    projected = _size(machine, module, "proj_size") or hidden
    stacked = _product(ways, _size(machine, module, "num_layers"))
    batch = source.shape[:-1][0 if first else 1 : 1 if first else 2] if len(source.shape) == 3 else ()
    given = arguments.get(2, "hx", NONE)
    states = given.items if isinstance(given, TupleValue) else (given,)
    for each, size in zip(states, (projected, hidden), strict=False):
        _require_state(machine, tensor_of(machine, each), (stacked, *batch, size))
    output = _tensor(machine, arguments, (*source.shape[:-1], _product(ways, projected)), source.dtype)
    state = _tensor(machine, arguments, (stacked, *batch, projected), source.dtype)
    if "LSTM" in arguments.function:
        state = TupleValue((state, _tensor(machine, arguments, (stacked, *batch, hidden), source.dtype)))
    return TupleValue((output, state))


def _of_packed(arguments: Arguments, machine: Machine, given: TupleValue, sequences: Packed) -> Value:
    """Sequences of several lengths: the data has no batch, and the state one of as many as there are."""
    module, source = arguments.positional[0], sequences.data
    both_ways, hidden = _flag(machine, module, "bidirectional"), _size(machine, module, "hidden_size")
    is_open = "LSTM" in arguments.function
    if not is_open:
        _require_size(machine, source.shape, _size(machine, module, "input_size"))
    elif source.shape and differ(source.shape[-1], _size(machine, module, "input_size")):
        machine.may_fail()  # the kernel of one device refuses it, and that of another reads on behind it
    ways = None if both_ways is None else 1 + both_ways
    projected = _size(machine, module, "proj_size") or hidden
    stacked = _product(ways, _size(machine, module, "num_layers"))
    held = (stacked, sequences.batch)
    begun = arguments.get(2, "hx", NONE)
    states = begun.items if isinstance(begun, TupleValue) else (begun,)
    ends: list[Shape] = [(*held, projected), (*held, hidden)]
    for place, each in enumerate(states[:2]):
        if not _is_of(machine, tensor_of(machine, each), sequences, ends[place], is_open):
            ends = [(None, None, None)] * 2
    output = _tensor(
        machine, arguments, (source.shape[0] if source.shape else None, _product(ways, projected)), source.dtype
    )
    state = _tensor(machine, arguments, ends[0], source.dtype)
    if is_open:
        state = TupleValue((state, _tensor(machine, arguments, ends[1], source.dtype)))
    return TupleValue((TupleValue((output, *given.items[1:]), given.cls), state))


def _is_of(machine: Machine, state: TensorObject | None, sequences: Packed, wanted: Shape, is_open: bool) -> bool:
    """A state for packed sequences, as far as is known: first it is put into their order, which takes as many as these
    are and leaves out the others. Of an LSTM (`is_open`) torch asks for nothing more: one of other sizes may run.

    Raises:
        Raised: it has others.
    """
    shape = None if state is None else state.shape
    if shape is None:
        return True
    if not sequences.is_sorted:
        if len(shape) < 2:
            raise machine.raises("IndexError", f"Dimension out of range: a state of {_told(shape)} has no dimension 1")
        if sequences.order is None:
            machine.may_fail()
            return False
        if is_larger(sequences.batch, shape[1]):
            raise machine.raises("RuntimeError", f"INDICES element is out of DATA bounds, axis_dim={shape[1]}")
        shape = (shape[0], sequences.batch, *shape[2:])
    if not is_open:
        _require_state(machine, TensorObject(shape), wanted)
    elif len(shape) < 3:
        raise machine.raises("IndexError", f"Dimension out of range: a state of {_told(shape)} has no dimension 2")
    elif len(shape) != len(wanted) or any(differ(*pair) for pair in zip(shape, wanted, strict=True)):
        machine.may_fail()
        return False
    return True


def _require_state(machine: Machine, state: TensorObject | None, wanted: Shape) -> None:
    """The state that a recurrent layer begins with has a size for each of its layers, of the batch, and of its width.

    Raises:
        Raised: it has others.
    """
    held = None if state is None else state.shape
    if held is None:
        return
    if len(held) != len(wanted):
        told = f"has {len(wanted)} dimensions as the input has, not {len(held)}"
        raise machine.raises("RuntimeError", f"the hidden state of a recurrent layer {told}")
    for one, other in zip(held, wanted, strict=True):
        if one is not None and other is not None and one != other:
            raise machine.raises("RuntimeError", f"Expected hidden size {_told(wanted)}, got {_told(held)}")


def _require_hidden(machine: Machine, state: TensorObject | None, given: Shape | None, hidden: Size) -> None:
    """The state of a cell has its width, and as many rows as the input.

    Raises:
        Raised: it has others.
    """
    held = None if state is None else state.shape
    if not held:
        return
    if held[-1] is not None and hidden is not None and held[-1] != hidden:
        message = f"hidden state has inconsistent hidden_size: got {held[-1]}, expected {hidden}"
        raise machine.raises("RuntimeError", message)
    if given is None or len(given) != 2 or len(held) != 2:
        return
    if given[0] is not None and held[0] is not None and given[0] != held[0]:
        message = f"Input batch size {given[0]} doesn't match hidden batch size {held[0]}"
        raise machine.raises("RuntimeError", message)


def _told(shape: Shape) -> str:
    return str(["?" if size is None else size for size in shape]).replace("'", "")


@models(*(f"{_LAYERS}.rnn.{name}Cell.forward" for name in ("RNN", "LSTM", "GRU")))
def cell(arguments: Arguments, machine: Machine) -> Value:
    module, source = arguments.positional[0], tensor_of(machine, arguments.get(1, "input", NONE))
    shape = source.shape if source is not None else None
    if shape is not None and len(shape) not in (1, 2):
        raise machine.raises("ValueError", f"a cell takes 1 or 2 dimensions, not {len(shape)}")
    _require_size(machine, shape, _size(machine, module, "input_size"))
    given = arguments.get(2, "hx", NONE)
    for each in given.items if isinstance(given, TupleValue) else (given,):
        _require_hidden(machine, tensor_of(machine, each), shape, _size(machine, module, "hidden_size"))
    hidden = (*shape[:-1], _size(machine, module, "hidden_size")) if shape is not None else None
    dtype = source.dtype if source is not None else None
    state = _tensor(machine, arguments, hidden, dtype)
    return TupleValue((state, _tensor(machine, arguments, hidden, dtype))) if "LSTM" in arguments.function else state


def _attended(machine: Machine, module: Value, length: Size) -> Size:
    """Places that are attended to: those of the keys, and what is put at their end."""
    zeros = _flag(machine, module, "add_zero_attn")
    if length is None or zeros is None:
        return None
    return length + zeros + (machine.find_attribute(module, "bias_k") not in (None, NONE))


@models(f"{_LAYERS}.activation.MultiheadAttention.forward")
def attention(arguments: Arguments, machine: Machine) -> Value:
    """The output, of the shape of the query, and the weights, which are None where they are not asked for."""
    module, query = arguments.positional[0], tensor_of(machine, arguments.get(1, "query", NONE))
    keys = tensor_of(machine, arguments.get(2, "key", NONE))
    query, keys = with_rank(machine, query, 2, (0, 1)), with_rank(machine, keys, 2, (0, 1))
    values = tensor_of(machine, arguments.get(3, "value", NONE))
    sizes = [_size(machine, module, name) for name in ("embed_dim", "kdim", "vdim")]
    if query.shape is not None and len(query.shape) not in (2, 3):
        message = f"query should be unbatched 2D or batched 3D but received {len(query.shape)}-D query tensor"
        raise machine.raises("AssertionError", message)
    _require_size(machine, query.shape, sizes[0], "AssertionError")
    for each, size in zip((keys, values), sizes[1:], strict=True):
        _require_size(machine, each.shape if each is not None else None, size)
    if query.shape is not None and keys.shape is not None and len(query.shape) != len(keys.shape):
        raise machine.raises("AssertionError", "the query and the key must have the same number of dimensions")
    output = _tensor(machine, arguments, query.shape, query.dtype)
    asked = machine.truth(arguments.get(5, "need_weights", TRUE))
    if asked is False:
        return TupleValue((output, NONE))
    weights: Value = machine.unknown("the weights of an attention are not known")
    averaged = machine.truth(arguments.get(7, "average_attn_weights", TRUE))
    first = _flag(machine, module, "batch_first")
    is_said = averaged is not None and first is not None
    if asked and is_said and query.shape is not None and keys.shape is not None:
        length = 1 if first and len(query.shape) == 3 else 0
        batch = query.shape[1 - length : 2 - length] if len(query.shape) == 3 else ()
        heads = () if averaged else (_size(machine, module, "num_heads"),)
        attended = _attended(machine, module, keys.shape[length])
        weights = _tensor(machine, arguments, (*batch, *heads, query.shape[length], attended), query.dtype)
    return TupleValue((output, weights))


# ---- made of others --------------------------------------------------------------------------------------------------

_AS_GIVEN = {
    "TransformerEncoder": (1, "src"),
    "TransformerEncoderLayer": (1, "src"),
    "TransformerDecoder": (1, "tgt"),
    "TransformerDecoderLayer": (1, "tgt"),
    "Transformer": (2, "tgt"),
}
"""Layers that call others: which argument has the shape of what they give. Where a run is followed, their source is run
(`code/hidden_calls.py`)."""


def _made_of_others(place: int, parameter: str) -> Model:
    def forward(arguments: Arguments, machine: Machine) -> Value:
        source = tensor_of(machine, arguments.get(place, parameter, NONE)) or TensorObject(None, None)
        return _tensor(machine, arguments, source.shape, source.dtype)

    return forward


for _name, _argument in _AS_GIVEN.items():
    models(f"{_LAYERS}.transformer.{_name}.forward")(_made_of_others(*_argument))


@models(f"{_LAYERS}.linear.Bilinear.forward")
def bilinear(arguments: Arguments, machine: Machine) -> Value:
    module, source = arguments.positional[0], tensor_of(machine, arguments.get(1, "input1", NONE))
    other = tensor_of(machine, arguments.get(2, "input2", NONE))
    for each, name in ((source, "in1_features"), (other, "in2_features")):
        _require_size(machine, each.shape if each is not None else None, _size(machine, module, name))
    if source is None or not source.shape:
        return _tensor(machine, arguments, None, None)
    return _tensor(machine, arguments, (*source.shape[:-1], _size(machine, module, "out_features")), source.dtype)
