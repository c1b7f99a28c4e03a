"""The forward of torch's layers for sequences by shape alone: recurrent ones, attention, transformers.

Source: "Shape" in the reference of each layer.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import Model, models
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, TupleValue, Value
from modgraph.prediction.knowledge.tensors.elements import Shape
from modgraph.prediction.knowledge.tensors.tensor_values import made, size_of, tensor_of

_LAYERS = "torch.nn.modules"
Size = int | None


def _size(machine: Machine, module: Value, name: str) -> Size:
    return size_of(machine.find_attribute(module, name) or NONE)


def _flag(machine: Machine, module: Value, name: str) -> bool | None:
    return machine.truth(machine.find_attribute(module, name) or FALSE)


def _tensor(machine: Machine, shape: Shape | None, dtype: str | None) -> Value:
    return made(machine, shape, dtype, requires_grad=True)


def _product(*sizes: Size) -> Size:
    result = 1
    for size in sizes:
        if size is None:
            return None
        result *= size
    return result


def _require_size(machine: Machine, shape: Shape, wanted: Size, kind: str = "RuntimeError") -> None:
    """The last dimension is as large as the layer was made for.

    Raises:
        Raised: of that kind.
    """
    if shape[-1] is not None and wanted is not None and shape[-1] != wanted:
        raise machine.raises(kind, f"the last dimension of the input must be {wanted}, but got {shape[-1]}")


@models(*(f"{_LAYERS}.rnn.{name}.forward" for name in ("RNN", "LSTM", "GRU")))
def recurrent(arguments: Arguments, machine: Machine) -> Value:
    """The output and the last state; of an LSTM, that is two."""
    module, given = arguments.positional[0], arguments.get(1, "input", NONE)
    source = tensor_of(machine, given)
    both_ways, first = _flag(machine, module, "bidirectional"), _flag(machine, module, "batch_first")
    if source is None or source.shape is None or both_ways is None or first is None:
        return machine.unknown("the input of a recurrent layer is not known", given)
    if len(source.shape) not in (2, 3):
        raise machine.raises("ValueError", f"Expected input to be 2D or 3D, got {len(source.shape)}D instead")
    _require_size(machine, source.shape, _size(machine, module, "input_size"))
    ways = 2 if both_ways else 1
    hidden = _size(machine, module, "hidden_size")
    projected = _size(machine, module, "proj_size") or hidden
    stacked = _product(ways, _size(machine, module, "num_layers"))
    batch = source.shape[:-1][0 if first else 1 : 1 if first else 2] if len(source.shape) == 3 else ()
    output = _tensor(machine, (*source.shape[:-1], _product(ways, projected)), source.dtype)
    state = _tensor(machine, (stacked, *batch, projected), source.dtype)
    if "LSTM" in arguments.function:
        state = TupleValue((state, _tensor(machine, (stacked, *batch, hidden), source.dtype)))
    return TupleValue((output, state))


@models(*(f"{_LAYERS}.rnn.{name}Cell.forward" for name in ("RNN", "LSTM", "GRU")))
def cell(arguments: Arguments, machine: Machine) -> Value:
    module, source = arguments.positional[0], tensor_of(machine, arguments.get(1, "input", NONE))
    shape = source.shape if source is not None else None
    if shape is not None and len(shape) not in (1, 2):
        raise machine.raises("ValueError", f"Expected input to be 1D or 2D, got {len(shape)}D instead")
    if shape is not None:
        _require_size(machine, shape, _size(machine, module, "input_size"))
    hidden = (*shape[:-1], _size(machine, module, "hidden_size")) if shape is not None else None
    dtype = source.dtype if source is not None else None
    state = _tensor(machine, hidden, dtype)
    return TupleValue((state, _tensor(machine, hidden, dtype))) if "LSTM" in arguments.function else state


@models(f"{_LAYERS}.activation.MultiheadAttention.forward")
def attention(arguments: Arguments, machine: Machine) -> Value:
    """The output, of the shape of the query, and the weights, which are None where they are not asked for."""
    module, query = arguments.positional[0], tensor_of(machine, arguments.get(1, "query", NONE))
    keys = tensor_of(machine, arguments.get(2, "key", NONE))
    query, keys = query or TensorObject(None, None), keys or TensorObject(None, None)
    if query.shape is not None:
        if len(query.shape) not in (2, 3):
            message = f"query should be unbatched 2D or batched 3D but received {len(query.shape)}-D query tensor"
            raise machine.raises("AssertionError", message)
        _require_size(machine, query.shape, _size(machine, module, "embed_dim"), "AssertionError")
    output = _tensor(machine, query.shape, query.dtype)
    asked = machine.truth(arguments.get(5, "need_weights", TRUE))
    if asked is False:
        return TupleValue((output, NONE))
    weights: Value = machine.unknown("the weights of an attention are not known")
    averaged = machine.truth(arguments.get(7, "average_attn_weights", TRUE))
    first = _flag(machine, module, "batch_first")
    known = first is not None and query.shape is not None and keys.shape is not None
    if asked and averaged is not None and known and query.shape is not None and keys.shape is not None:
        length = 1 if first and len(query.shape) == 3 else 0
        batch = query.shape[1 - length : 2 - length] if len(query.shape) == 3 else ()
        heads = () if averaged else (_size(machine, module, "num_heads"),)
        weights = _tensor(machine, (*batch, *heads, query.shape[length], keys.shape[length]), query.dtype)
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
        return _tensor(machine, source.shape, source.dtype)

    return forward


for _name, _argument in _AS_GIVEN.items():
    models(f"{_LAYERS}.transformer.{_name}.forward")(_made_of_others(*_argument))


@models(f"{_LAYERS}.linear.Bilinear.forward")
def bilinear(arguments: Arguments, machine: Machine) -> Value:
    module, source = arguments.positional[0], tensor_of(machine, arguments.get(1, "input1", NONE))
    if source is None or not source.shape:
        return _tensor(machine, None, None)
    return _tensor(machine, (*source.shape[:-1], _size(machine, module, "out_features")), source.dtype)
