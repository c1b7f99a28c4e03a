"""How many arguments functions and methods of tensors take, the tensor included: torch refuses fewer, and more.

Source: the signatures of ATen's `native_functions.yaml`; `tests/prediction/test_counted_arguments.py` calls torch.
"""

from __future__ import annotations

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import demands
from modgraph.prediction.knowledge.tensors.demanding import refuse
from modgraph.prediction.knowledge.torch.parameters import TENSOR

COUNTS = {
    (1, 1): "t exp relu sigmoid tanh sqrt abs",
    (1, 3): "flatten",
    (2, 2): "unsqueeze matmul mv mul pow maximum minimum eq ne lt gt le ge masked_select",
    (2, 3): "chunk softmax log_softmax sub div add split tensor_split cumsum take_along_dim",
    (2, 5): "topk",
    (3, 3): "transpose swapaxes swapdims masked_fill movedim moveaxis index_select unflatten",
    (3, 4): "select gather",
    (4, 4): "narrow scatter_add",
    (4, 5): "scatter index_add",
    (2, None): "bmm mm flip permute reshape roll broadcast_to tile",
}
"""Of functions of torch and of methods: the least and the most, of any of their forms; None where there is no end."""
OF_METHODS: dict[tuple[int, int | None], str] = {(2, None): "view expand repeat", (4, 4): "unfold"}
"""Of methods alone."""


def _by_name() -> dict[str, tuple[int, int | None]]:
    both = {name: counts for counts, names in COUNTS.items() for name in names.split()}
    alone = {name: counts for counts, names in OF_METHODS.items() for name in names.split()}
    found = {f"{owner}.{name}": counts for owner in ("torch", TENSOR) for name, counts in both.items()}
    return found | {f"{TENSOR}.{name}": counts for name, counts in alone.items()}


_BY_NAME = _by_name()


@demands(*_BY_NAME)
def counted(arguments: Arguments, machine: Machine) -> None:
    """Not fewer by position and by name together, and not more by position."""
    known = _BY_NAME.get(arguments.function)
    if known is None:
        return
    least, most = known
    given = len(arguments.positional)
    named = sum(name != "out" for name in arguments.keywords)
    if given + named < least or (most is not None and given > most):
        name = last_name(arguments.function)
        refuse(machine, f"{name}() received an invalid combination of arguments", "TypeError")
