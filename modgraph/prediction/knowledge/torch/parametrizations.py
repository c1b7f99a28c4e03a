"""torch.nn.utils.parametrizations: what its iterations and decompositions leave, of which the source shows no shape.

Source: torch/nn/utils/parametrizations.py.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import FALSE, NONE, Address, Value
from modgraph.prediction.knowledge.tensors.tensor_values import made, tensor_of
from modgraph.prediction.python.plain import number_unknown

_FILE = "torch.nn.utils.parametrizations"


@models(f"{_FILE}._SpectralNorm._power_method")
def power_method(arguments: Arguments, machine: Machine) -> Value:
    """Writes into the two vectors that are there."""
    return NONE


@models(f"{_FILE}._Orthogonal.right_inverse")
def right_inverse(arguments: Arguments, machine: Machine) -> Value:
    """A tensor like the given one; `base`, where there is one, becomes a square matrix of the longer side."""
    receiver, given = arguments.positional[:2]
    matrix = tensor_of(machine, given)
    if matrix is None or not isinstance(receiver, Address):
        return machine.unknown("the matrix to be made orthogonal is not known", given)
    if machine.find_attribute(receiver, "base") is not None:
        square = None
        if matrix.shape is not None and len(matrix.shape) > 1:
            *batch, rows, columns = matrix.shape
            side = None if rows is None or columns is None else max(rows, columns)
            square = (*batch, side, side)
        machine.set_attribute(receiver, "base", made(machine, square, matrix.dtype, device=matrix.device))
    return made(machine, matrix.shape, matrix.dtype, device=matrix.device)


@models("torch.utils._python_dispatch.is_traceable_wrapper_subclass")
def wraps_others(arguments: Arguments, machine: Machine) -> Value:
    """No tensor of torch's own class does; of one with a class of its own it is not known."""
    tensor = tensor_of(machine, arguments.get(0, "t", NONE))
    if tensor is not None and tensor.cls is None:
        return FALSE
    return number_unknown(machine, "it is not known whether a tensor wraps others", arguments.get(0, "t", NONE))
