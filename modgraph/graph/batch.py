"""Which size of the inputs is that of the batch: examples that are computed beside each other.

The first size of the first input is taken for it, where nothing speaks against that: a product of matrices that mixes
rows, as `adj @ x` does; layers of torch to which the first size is the sequence, or the channels; inputs and outputs
that do not have it. What is not shown to be a batch is written like any other size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from modgraph.graph.dataflow import operation_word
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Call, ModuleNode, Shape
from modgraph.graph.torch_classes import layer_base

Size = int | str
_LAYERS = re.compile(r"(?:Lazy|Adaptive)?(?:Conv|ConvTranspose|BatchNorm|InstanceNorm|MaxPool|AvgPool)([123])d")
"""Whose inputs have a batch, channels and so many sizes. Source: torch.nn.modules.conv, batchnorm, pooling."""
_RECURRENT = frozenset({"RNN", "LSTM", "GRU"})
"""Whose second result, the last state, has the batch before its features. Source: torch.nn.modules.rnn."""
_PRODUCTS = frozenset({"matmul", "mm", "spmm", "addmm"})


def batch_size(index: GraphIndex) -> Size | None:
    """The size of the batch; None where no size is shown to be one."""
    shapes = _input_shapes(index)
    size = next((shape[0] for shape in shapes if len(shape) > 1), None)
    if size is None:
        return None
    told = list(_told_by_layers(index, size))
    if False in told or _mixes_rows(index, size):
        return None
    return size if True in told or _ends_agree(index, size) else None


def _input_shapes(index: GraphIndex) -> list[Shape]:
    given = [tensor.shape for each in index.graph.model.inputs for tensor in each.tensors]
    if not any(given):
        given = [edge.tensor.shape for edge in index.graph.edges if edge.producer.startswith("input:")]
    return [shape for shape in given if shape]


def _layer_name(node: ModuleNode) -> str:
    name = node.class_name or ""
    return name.rpartition(".")[2] if name.startswith("torch.nn.") else layer_base(node.torch_base) or ""


def _given(call: Call) -> Shape | None:
    return next((tensor.shape for tensor in call.inputs if tensor.shape), None)


def _told_by_layers(index: GraphIndex, size: Size) -> Iterator[bool]:
    """What layers of torch say of the first size of what they are given: whether it is a batch."""
    seen: list[Size | None] = []
    for call in index.graph.calls:
        node, shape = index.modules[call.module], _given(call)
        name = _layer_name(node)
        if shape is None:
            continue
        if layer := _LAYERS.fullmatch(name):
            own = int(layer[1])
            seen.extend(shape[:1] if len(shape) == own + 2 else ())
            if len(shape) == own + 1 and name != "BatchNorm1d":
                yield False  # of one example, without a batch
        elif _begins_with_sequence(name, node, call, size):
            yield False
    if size in seen:
        yield True
    elif not any(_is_multiple(each, size) for each in seen) and seen:
        yield False


def _is_multiple(number: Size | None, size: Size) -> bool:
    """Whether a batch may have been made of batches of `size`: the words of each sentence, windows of each image."""
    return not (isinstance(number, int) and isinstance(size, int)) or (size > 0 and number % size == 0)


def _begins_with_sequence(name: str, node: ModuleNode, call: Call, size: Size) -> bool:
    """Whether a layer goes through the first size, `size`, of what it is given step by step."""
    shape = _given(call) or ()
    if shape[:1] != (size,):
        return False
    if name == "MultiheadAttention":
        is_open = "batch_first" in node.unknown_arguments
        return not is_open and node.arguments.get("batch_first") is not True and (len(shape) == 2 or size != shape[1])
    if name in _RECURRENT and len(call.outputs) > 1:
        state = call.outputs[1].shape or ()
        return len(shape) == 2 or (len(shape) == len(state) == 3 and state[1] == shape[1] != size)
    return False


def _mixes_rows(index: GraphIndex, size: Size) -> bool:
    """Whether a product of two matrices of data adds up over `size` rows."""
    for operation in index.graph.operations:
        if operation_word(operation.name) not in _PRODUCTS:
            continue
        factors = [
            edge.tensor.shape
            for edge in index.incoming.get(operation.id, ())
            if edge.tensor.shape is not None and not edge.producer.startswith("param:")
        ]
        if (size, size) in factors and any(len(shape) == 2 and shape[0] == size for shape in factors):
            return True
    return False


def _ends_agree(index: GraphIndex, size: Size) -> bool:
    """Whether an output begins with `size`, and no table of indices among the inputs is without it."""
    outputs = [edge.tensor.shape for edge in index.graph.edges if edge.consumer.startswith("output:")]
    known = [shape for shape in outputs if shape]
    tables = [
        tensor.shape
        for each in index.graph.model.inputs
        for tensor in each.tensors
        if tensor.shape and len(tensor.shape) > 1 and (tensor.dtype or "").startswith("int")
    ]
    if any(size not in shape for shape in tables):
        return False
    return not known or any(shape[0] == size for shape in known)
