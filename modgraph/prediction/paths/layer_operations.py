"""The operation that the `forward` of a layer of torch runs, where a class derived from it calls `super().forward(x)`.

Source: the `forward` of each class in torch/nn/modules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.values import FALSE, TRUE

_F = "torch.nn.functional."
_RANKS = ("1d", "2d", "3d")
_OF_ONE_NAME = (
    *("linear", "embedding", "embedding_bag", "layer_norm", "group_norm", "rms_norm"),
    *("local_response_norm", "unfold", "fold", "glu", "gelu", "relu", "relu6", "elu", "selu", "celu", "silu", "mish"),
    *(
        "leaky_relu",
        "hardtanh",
        "hardswish",
        "hardsigmoid",
        "softplus",
        "softmax",
        "log_softmax",
        "softmin",
        "softsign",
    ),
    *("rrelu", "softshrink", "tanhshrink", "threshold", "logsigmoid", "dropout", "alpha_dropout"),
    *("feature_alpha_dropout",),
    *(f"{name}{rank}" for rank in _RANKS for name in ("dropout", "max_pool", "max_unpool", "lp_pool")),
    *(f"adaptive_max_pool{rank}" for rank in _RANKS),
    *("adaptive_avg_pool2d", "adaptive_avg_pool3d"),
    *("avg_pool2d", "avg_pool3d", "fractional_max_pool2d", "fractional_max_pool3d"),
)
"""Functions of torch.nn.functional that have the name of their layer."""


TORCHS_OWN = frozenset(
    (
        *("adaptive_avg_pool1d", "avg_pool1d", "bilinear", "celu_", "channel_shuffle", "conv1d", "conv2d", "conv3d"),
        *("conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "hardshrink"),
        *("native_channel_shuffle", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_"),
        *("rrelu_", "selu_", "threshold_"),
    )
)
"""Functions of torch.nn.functional that are those of torch of the same name, and are called so in a trace."""


def _same(text: str) -> str:
    return text.replace("_", "").lower()


_BY_LAYER: Mapping[str, str] = {
    **{_same(name): _F + name for name in _OF_ONE_NAME},
    **{_same(name): f"torch.{name}" for name in TORCHS_OWN if not name.endswith("_")},
    **dict.fromkeys(("batchnorm", "syncbatchnorm"), f"{_F}batch_norm"),
    "instancenorm": f"{_F}instance_norm",
    **dict.fromkeys((f"{kind}padnd" for kind in ("constant", "reflection", "replication", "circular")), f"{_F}pad"),
    **{name: f"torch.{name}" for name in ("sigmoid", "tanh", "lstm", "gru")},
    **{f"{name}cell": f"torch.{name}_cell" for name in ("lstm", "gru")},
    "rnn": "torch.rnn_tanh",
    "rnncell": "torch.rnn_tanh_cell",
    "softmax2d": f"{_F}softmax",
    "upsample": f"{_F}interpolate",
    "flatten": "torch.Tensor.flatten",
    "unflatten": "torch.Tensor.unflatten",
    "multiheadattention": f"{_F}multi_head_attention_forward",
}
"""By the name of a layer's class, in small letters without underscores."""

OWN_TENSOR = re.compile(
    r"(?:in_proj_)?(?:weight|bias)|running_(?:mean|var)|bias_[kv]|[qkv]_proj_weight"
    r"|(?:weight|bias)_(?:ih|hh|hr)(?:_l\d+(?:_reverse)?)?"
)
"""Names of the parameters and buffers that a layer of torch gives to its operation."""


OF_INITIALISERS: Mapping[str, str] = {
    **{name: f"torch.nn.init.{name}" for name in ("constant_", "kaiming_uniform_", "normal_", "uniform_")},
    **dict.fromkeys(("kaiming_normal_", "xavier_normal_"), "torch.Tensor.normal_"),
    "xavier_uniform_": "torch.Tensor.uniform_",
    "ones_": "torch.Tensor.fill_",
    "zeros_": "torch.Tensor.zero_",
}
"""What of torch.nn.init is one operation: its own, or that which it makes of the tensor."""

_INDICES_AT = {"max_pool": 6, "adaptive_max_pool": 2, "fractional_max_pool": 4}
"""Pools of torch.nn.functional, and the place of the argument that asks for indices: with these they are functions of
other names."""


def by_arguments(name: str, arguments: Arguments) -> str:
    """Under which name an operation of these arguments is run."""
    last = last_name(name)
    place = _INDICES_AT.get(last[:-2])
    if place is None or arguments.get(place, "return_indices", FALSE) != TRUE:
        return name
    return f"{_F}{last}_with_indices"


def of_layer(name: str) -> str | None:
    """That of "torch.nn.modules.conv.Conv1d.forward"; None for another name, or a class that runs none or several."""
    path, _, method = name.rpartition(".")
    if method != "forward" or not path.startswith("torch.nn.modules."):
        return None
    return _BY_LAYER.get(_same(path.rpartition(".")[2]))
