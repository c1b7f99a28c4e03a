"""torch.autograd.Variable, the tensor with a history of old torch, which is a tensor like any other now.

Source: torch/csrc/autograd/python_legacy_variable.cpp, torch/autograd/variable.py.
"""

from __future__ import annotations

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import alias, known_class
from modgraph.prediction.domain.values import FALSE, NONE, Value
from modgraph.prediction.knowledge.tensors.tensor_memory import views
from modgraph.prediction.knowledge.tensors.tensor_values import made, tensor_of

VARIABLE = "torch.autograd.variable.Variable"

known_class(VARIABLE)
alias("torch.autograd.Variable", VARIABLE)


@views(VARIABLE)
def variable(arguments: Arguments, machine: Machine) -> Value:
    """`Variable(data, requires_grad=False)`: what `data` holds, without its history."""
    data = arguments.get(0, "data", NONE)
    if data == NONE:
        return made(machine, (0,), "float32", ())
    source = tensor_of(machine, data)
    if source is None:
        return made(machine, None, None, requires_grad=None)
    needs = machine.truth(arguments.get(1, "requires_grad", FALSE))
    elements = source.elements
    return made(
        machine, source.shape, source.dtype, elements, device=source.device, requires_grad=needs, asked=needs is True
    )
