"""The public names of torch: the classes of `torch.nn`, and what `nn.Module` and its containers are called by.

The one table of them for all rooms; tests compare it with the installed torch.
"""

from __future__ import annotations

PACKAGES = ("torch.nn", "torch.nn.modules", "torch.ao.nn", "torch.nn.quantized", "torch.nn.intrinsic", "torch.nn.qat")

STATELESS = frozenset(
    [
        "AdaptiveAvgPool1d",
        "AdaptiveAvgPool2d",
        "AdaptiveAvgPool3d",
        "AdaptiveMaxPool1d",
        "AdaptiveMaxPool2d",
        "AdaptiveMaxPool3d",
        "AvgPool1d",
        "AvgPool2d",
        "AvgPool3d",
        "CELU",
        "CTCLoss",
        "ChannelShuffle",
        "CircularPad1d",
        "CircularPad2d",
        "CircularPad3d",
        "ConstantPad1d",
        "ConstantPad2d",
        "ConstantPad3d",
        "CosineEmbeddingLoss",
        "CosineSimilarity",
        "CrossMapLRN2d",
        "ELU",
        "Flatten",
        "Fold",
        "FractionalMaxPool2d",
        "FractionalMaxPool3d",
        "GELU",
        "GLU",
        "GaussianNLLLoss",
        "Hardshrink",
        "Hardsigmoid",
        "Hardswish",
        "Hardtanh",
        "HingeEmbeddingLoss",
        "HuberLoss",
        "Identity",
        "KLDivLoss",
        "L1Loss",
        "LPPool1d",
        "LPPool2d",
        "LPPool3d",
        "LeakyReLU",
        "LocalResponseNorm",
        "LogSigmoid",
        "LogSoftmax",
        "MSELoss",
        "MarginRankingLoss",
        "MaxPool1d",
        "MaxPool2d",
        "MaxPool3d",
        "MaxUnpool1d",
        "MaxUnpool2d",
        "MaxUnpool3d",
        "Mish",
        "MultiLabelMarginLoss",
        "MultiLabelSoftMarginLoss",
        "PairwiseDistance",
        "PixelShuffle",
        "PixelUnshuffle",
        "PoissonNLLLoss",
        "ReLU",
        "ReLU6",
        "ReflectionPad1d",
        "ReflectionPad2d",
        "ReflectionPad3d",
        "ReplicationPad1d",
        "ReplicationPad2d",
        "ReplicationPad3d",
        "SELU",
        "SiLU",
        "Sigmoid",
        "SmoothL1Loss",
        "SoftMarginLoss",
        "Softmax",
        "Softmax2d",
        "Softmin",
        "Softplus",
        "Softshrink",
        "Softsign",
        "Tanh",
        "Tanhshrink",
        "Threshold",
        "TripletMarginLoss",
        "TripletMarginWithDistanceLoss",
        "Unflatten",
        "Unfold",
        "Upsample",
        "UpsamplingBilinear2d",
        "UpsamplingNearest2d",
        "ZeroPad1d",
        "ZeroPad2d",
        "ZeroPad3d",
    ]
)
"""Classes without parameters and buffers whose result is the same in training and in evaluation, as they are built by
default."""

MODAL = frozenset(["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout", "RReLU"])
"""Without parameters and buffers, but `train()` and `eval()` must reach them."""

CONTAINERS = frozenset(["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"])

STATEFUL = frozenset(
    [
        "AdaptiveLogSoftmaxWithLoss",
        "BCELoss",
        "BCEWithLogitsLoss",
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm3d",
        "Bilinear",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ConvTranspose3d",
        "CrossEntropyLoss",
        "DataParallel",
        "Embedding",
        "EmbeddingBag",
        "GRU",
        "GRUCell",
        "GroupNorm",
        "InstanceNorm1d",
        "InstanceNorm2d",
        "InstanceNorm3d",
        "LSTM",
        "LSTMCell",
        "LayerNorm",
        "LazyBatchNorm1d",
        "LazyBatchNorm2d",
        "LazyBatchNorm3d",
        "LazyConv1d",
        "LazyConv2d",
        "LazyConv3d",
        "LazyConvTranspose1d",
        "LazyConvTranspose2d",
        "LazyConvTranspose3d",
        "LazyInstanceNorm1d",
        "LazyInstanceNorm2d",
        "LazyInstanceNorm3d",
        "LazyLinear",
        "Linear",
        "LinearCrossEntropyLoss",
        "MultiMarginLoss",
        "MultiheadAttention",
        "NLLLoss",
        "NLLLoss2d",
        "PReLU",
        "RMSNorm",
        "RNN",
        "RNNBase",
        "RNNCell",
        "RNNCellBase",
        "SyncBatchNorm",
        "Transformer",
        "TransformerDecoder",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
    ]
)
"""The others; a loss keeps its `weight` as a buffer."""

LEARNING = STATEFUL - frozenset(
    [
        "BCELoss",
        "BCEWithLogitsLoss",
        "CrossEntropyLoss",
        "DataParallel",
        "InstanceNorm1d",
        "InstanceNorm2d",
        "InstanceNorm3d",
        "LazyInstanceNorm1d",
        "LazyInstanceNorm2d",
        "LazyInstanceNorm3d",
        "MultiMarginLoss",
        "NLLLoss",
        "NLLLoss2d",
    ]
)
"""Those that have parameters of their own unless told otherwise."""

MODULES = STATELESS | MODAL | CONTAINERS | STATEFUL | {"Module"}

MODULE_METHODS = frozenset(
    [
        "add_module",
        "apply",
        "bfloat16",
        "buffers",
        "children",
        "compile",
        "cpu",
        "cuda",
        "double",
        "eval",
        "extra_repr",
        "float",
        "forward",
        "get_buffer",
        "get_extra_state",
        "get_parameter",
        "get_submodule",
        "half",
        "ipu",
        "load_state_dict",
        "modules",
        "mtia",
        "named_buffers",
        "named_children",
        "named_modules",
        "named_parameters",
        "parameters",
        "register_backward_hook",
        "register_buffer",
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_full_backward_pre_hook",
        "register_load_state_dict_post_hook",
        "register_load_state_dict_pre_hook",
        "register_module",
        "register_parameter",
        "register_state_dict_post_hook",
        "register_state_dict_pre_hook",
        "requires_grad_",
        "set_extra_state",
        "set_submodule",
        "share_memory",
        "state_dict",
        "to",
        "to_empty",
        "train",
        "type",
        "xpu",
        "zero_grad",
    ]
)
"""Public methods of `nn.Module`."""

REGISTERING = frozenset(["add_module", "register_buffer", "register_module", "register_parameter"])
"""Those that register what they are given under the name that they are given."""

GIVING_ITSELF = frozenset(
    [
        "apply",
        "bfloat16",
        "cpu",
        "cuda",
        "double",
        "eval",
        "float",
        "half",
        "ipu",
        "mtia",
        "requires_grad_",
        "share_memory",
        "to",
        "to_empty",
        "train",
        "type",
        "xpu",
    ]
)
"""Those that give the module itself."""

OTHER_NAMES = frozenset(["T_destination", "call_super_init", "dump_patches", "training"])
"""Further public attributes of every module."""

DICT_NAMES = frozenset(["clear", "items", "keys", "pop", "update", "values"])
"""What `nn.ModuleDict` has besides: names that none of its entries can have."""


MODULE_BASES = frozenset(
    ["torch.fx.GraphModule", "torch.jit.ScriptModule", "torch.nn.parallel.DistributedDataParallel"]
)
"""Classes of modules that stand elsewhere in torch."""

SHAPE_ONLY_FIRST = frozenset(
    {
        *("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like"),
        *("new", "new_zeros", "new_ones", "new_empty", "new_empty_strided", "new_full", "new_tensor"),
    }
)
"""Functions that look at the shape and dtype of their first argument, and not at its numbers."""
SHAPE_ONLY_SECOND = frozenset(
    {"reshape_as", "view_as", "expand_as", "type_as", "to", "resize_as_", "resize_as", "__deepcopy__"}
)
"""Those that do so with their second."""
EACH_OF_ONE = frozenset({"broadcast_tensors", "meshgrid", "atleast_1d", "atleast_2d", "atleast_3d"})
"""Functions that give for each of their tensors that tensor itself, or a view of it."""
OVERWRITING = frozenset(
    {
        *("copy_", "zero_", "fill_", "uniform_", "normal_", "bernoulli_", "random_", "exponential_", "cauchy_"),
        *("geometric_", "log_normal_", "set_"),
        *("constant_", "ones_", "zeros_", "trunc_normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_"),
        *("kaiming_normal_", "orthogonal_", "sparse_", "eye_", "dirac_"),
    }
)
"""Those that put other numbers in the place of all of their first argument's."""


def torch_class(name: str) -> str | None:
    """ "Linear" for "torch.nn.Linear" and "torch.nn.modules.linear.Linear"; None for what is no class of torch.nn."""
    package, _, last = name.rpartition(".")
    if last in MODULES and (package in PACKAGES or package.startswith(("torch.nn.modules.", "torch.ao.nn."))):
        return last
    return None
