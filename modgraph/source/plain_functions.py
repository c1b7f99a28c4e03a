"""Functions of torch and Python by what may be given to them: numbers, texts and flags, tensors, or anything."""

from __future__ import annotations

import ast
from typing import Literal, TypeAlias

from modgraph.names import last_name

Verdict: TypeAlias = Literal["certain", "number", "asked", "arithmetic", "neutral", "passed", "other"]
"""What a use says: a number, text or flag, as the constructor comes to it in any case; a number, text or flag; it is
compared with a text, tested or shown, which says as much where nothing else is done with an attribute; a number or
tensor; nothing; it is given to something of which nothing is known; it may be anything."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LAYERS = _words(
    "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
    "AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BatchNorm1d BatchNorm2d BatchNorm3d "
    "Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Dropout Dropout1d "
    "Dropout2d Dropout3d Embedding EmbeddingBag Flatten GRU GRUCell GroupNorm InstanceNorm1d "
    "InstanceNorm2d InstanceNorm3d LSTM LSTMCell LayerNorm LeakyReLU Linear MaxPool1d MaxPool2d MaxPool3d "
    "MultiheadAttention PixelShuffle RMSNorm Softmax"
)
"""Of torch, those whose arguments are numbers, texts and flags."""
OF_NUMBERS = _words("divmod float int math range round")
MAKING = _words("Size arange device empty eye full linspace manual_seed ones rand randint randn zeros")
"""Of torch, functions that are given numbers, texts and flags."""
NOT_TELLING = _words("abs bool max min print repr str")
"""Functions that are given numbers, and tensors or anything at all, and keep nothing of it."""
RESHAPING = _words("expand flatten permute repeat reshape squeeze transpose unflatten unsqueeze view")
"""Methods of tensors that are given sizes and dimensions."""
OF_TENSORS = _words(
    "chunk expand flatten format join mean permute repeat reshape size softmax split squeeze sum "
    "transpose unflatten unsqueeze view"
)
"""Methods of tensors, and of others, that keep nothing of what they are given."""
OF_TENSORS_ALONE = _words(
    "amax amin argmax argmin clamp clamp_max clamp_min cumsum fill_ index_select log_softmax masked_fill "
    "masked_fill_ movedim narrow ne new_empty new_full new_ones new_zeros normal_ repeat_interleave roll "
    "split_with_sizes tensor_split tile to topk unfold uniform_"
)
"""Methods that nothing but tensors has, given numbers and tensors; `to` of a module is given a device."""
TAKING_MODULES = _words("compile cond is_tensor save triplet_margin_with_distance_loss typename vmap while_loop")
"""Functions of torch to which a module may be given."""
OPTIONS_ALONE = _words(
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
    "alpha_dropout avg_pool1d avg_pool2d avg_pool3d dropout dropout1d dropout2d dropout3d elu fold "
    "gumbel_softmax interpolate leaky_relu log_softmax max_pool1d max_pool2d max_pool3d normalize one_hot "
    "pad pixel_shuffle pixel_unshuffle softmax unfold upsample"
)
"""Of torch.nn.functional, those of whose arguments all but the first are numbers, texts and flags."""
OPTIONS = _words(
    "align_corners device dilation dim dropout_p dtype eps groups ignore_index inplace is_causal k "
    "keepdim kernel_size label_smoothing mode momentum negative_slope num_classes output_size p padding "
    "reduction scale_factor size stride training upscale_factor"
)
"""Keywords under which functions of torch take numbers, texts and flags alone."""
OF_MODULES = _words(
    "T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches "
    "eval extra_repr float forward get_buffer get_parameter get_submodule half ipu load_state_dict modules mtia "
    "named_buffers named_children named_modules named_parameters parameters register_buffer register_module "
    "register_parameter requires_grad_ set_submodule share_memory state_dict to to_empty train training type weight "
    "bias xpu zero_grad"
)
"""Attributes that modules have."""
OF_TEXTS = _words("endswith format lower replace split startswith strip title upper")
"""Methods of texts."""


def of_function(function: ast.expr, keyword: str | None, *, is_first: bool) -> Verdict:
    """What a call of a function says of an argument."""
    text = dotted_text(function)
    root, _, rest = text.partition(".")
    last = last_name(rest)
    if text in (f"nn.{last}", f"torch.nn.{last}") and last in LAYERS:
        return "number"
    if root in OF_NUMBERS or (text == f"torch.{last}" and last in MAKING):
        return "number"
    if text in NOT_TELLING:
        return "neutral"
    is_functional = text in (f"F.{last}", f"nn.functional.{last}", f"torch.nn.functional.{last}")
    if is_functional or text == f"torch.{last}":
        if last in TAKING_MODULES:
            return "other"
        is_option = keyword in OPTIONS or (is_functional and last in OPTIONS_ALONE and not is_first)
        return "number" if is_option and keyword != "input" else "arithmetic"
    if not isinstance(function, ast.Attribute):
        return "passed"
    if function.attr in OF_TENSORS_ALONE:
        return "number" if keyword in OPTIONS else "arithmetic"
    return "number" if function.attr in RESHAPING else "neutral" if function.attr in OF_TENSORS else "passed"


def dotted_text(node: ast.expr) -> str:
    """`a.b.c`; empty for anything else."""
    if isinstance(node, ast.Attribute):
        owner = dotted_text(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""
