"""What the classes of torch.nn register under which names, in any configuration."""

from __future__ import annotations

from collections.abc import Mapping

from modgraph.rules.declared.values import ANY, BUFFER, NUMBERS, ONLY_OPEN, PARAMETER, Kind, Made, Values
from modgraph.source.torch_names import MODAL, STATEFUL, STATELESS

_PARAMETER: Values = frozenset([PARAMETER])
_BUFFER: Values = frozenset([BUFFER])
_LINEAR: Values = frozenset([Made(Kind("", "torch.nn.Linear"))])
_PLAIN = ("weight", "bias")
_RUNNING = ("running_mean", "running_var", "num_batches_tracked")
_ENDS = ("", "_reverse")
_OF_RNNS = tuple(
    f"{what}_l{NUMBERS}{end}" for what in ("weight_ih", "weight_hh", "weight_hr", "bias_ih", "bias_hh") for end in _ENDS
)
_OF_CELLS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
_OF_ATTENTION = (
    "in_proj_weight",
    "q_proj_weight",
    "k_proj_weight",
    "v_proj_weight",
    "in_proj_bias",
    "bias_k",
    "bias_v",
)
INNER_CLASSES: Mapping[str, frozenset[str]] = {"MultiheadAttention": frozenset(["NonDynamicallyQuantizableLinear"])}
"""By class of torch.nn, the classes of its children that have no public name (torch/nn/modules/activation.py). Their
tree is that of the public class from which they derive."""


def children_of(name: str) -> Mapping[str, Values]:
    """Children, parameters and buffers of a class of torch.nn by its last name."""
    if name.startswith("FractionalMaxPool"):
        return {"_random_samples": _BUFFER}
    if name in ("TripletMarginWithDistanceLoss", "LinearCrossEntropyLoss"):
        return {ANY: ONLY_OPEN}  # what it is given may be a module
    if name == "Module" or name in STATELESS or name in MODAL:
        return {"weight": _BUFFER, "pos_weight": _BUFFER} if name.endswith("Loss") else {}
    if name == "MultiheadAttention":
        return {**dict.fromkeys(_OF_ATTENTION, _PARAMETER), "out_proj": _LINEAR}
    if name in ("RNN", "LSTM", "GRU", "RNNBase"):
        return dict.fromkeys(_OF_RNNS, _PARAMETER)
    if name.endswith("Cell") or name == "RNNCellBase":
        return dict.fromkeys(_OF_CELLS, _PARAMETER)
    if "BatchNorm" in name or "InstanceNorm" in name:
        return {**dict.fromkeys(_PLAIN, _PARAMETER), **dict.fromkeys(_RUNNING, _BUFFER)}
    if name in STATEFUL and not name.startswith(("Transformer", "AdaptiveLog", "DataParallel", "Quant")):
        return {**dict.fromkeys(_PLAIN, _PARAMETER), "pos_weight": _BUFFER} if name.endswith("Loss") else dict.fromkeys(
            _PLAIN, _PARAMETER)  # fmt: skip
    return {ANY: ONLY_OPEN}
