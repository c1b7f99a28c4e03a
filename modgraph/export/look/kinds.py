"""What kind of thing a class or an operation is: its colour in a picture, the sign of a join.

torch's own names are sorted by family; a class of the user's is recognised where its name ends in the word for one
(`MyLayerNorm`), else it is `other`. Colour is never the only sign, so a wrong guess hides nothing.
"""

from __future__ import annotations

import re

from modgraph.export.look.labels import class_title
from modgraph.export.look.parts import Kind
from modgraph.graph.model import ModuleNode
from modgraph.graph.torch_classes import layer_base

PLAIN_CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict"})
"""torch's containers, that say nothing by being there."""

_CLASS_WORDS: tuple[tuple[Kind, str], ...] = (
    ("attention", r"Attention|Attn"),
    ("norm", r"Norm(\d?d)?|Normalization|GRN|LRN"),
    ("activation", r"ReLU6?|[CGS]?ELU|LeakyReLU|PReLU|RReLU|SiLU|Swish|Hard\w+|Mish|Sigmoid|LogSigmoid|Tanh"
     r"|Softmax(2d)?|LogSoftmax|Softmin|Softplus|Softsign|Softshrink|Tanhshrink|Threshold|GLU|\w*Dropout(\dd)?|DropPath"
     r"|StochasticDepth|Activation"),
    ("shape", r"\w*Pool(ing)?(\dd)?|Flatten|Unflatten|\w*Upsample|Upsampling\w*|\w*Pad(\dd)?|Pixel(Un)?[Ss]huffle"
     r"|ChannelShuffle|Fold|Unfold|Permute|Reshape|Interpolate|Identity"),
    ("weights", r"\w*Conv(Transpose)?(\dd)?|\w*Linear|Bilinear|Embedding(Bag)?|RNN|LSTM|GRU|(RNN|LSTM|GRU)Cell|Dense"
     r"|\w*Embedding\w*|Parameter"),
)  # fmt: skip
_CLASS_KINDS = tuple((kind, re.compile(rf"(?:{words})$")) for kind, words in _CLASS_WORDS)

_OPERATION_WORDS: tuple[tuple[Kind, str], ...] = (
    ("attention", r"matmul|bmm|mm|baddbmm|addmm|einsum|scaled_dot_product_attention|multi_head_attention_forward"),
    ("norm", r"\w*_norm|normalize"),
    ("activation", r"relu6?|[cgs]?elu|leaky_relu|prelu|rrelu|silu|hard\w+|mish|\w*sigmoid|tanh|\w*softmax|softmin"
     r"|softplus|softsign|\w*shrink|threshold|glu|\w*dropout\w*"),
    ("shape", r"\w*pool\w*|flatten|interpolate|upsample\w*|pad|pixel_(un)?shuffle|fold|unfold|roll|flip|repeat"
     r"|repeat_interleave|tile|gather|index_select|scatter|cat|concat|concatenate|stack|\w+stack|one_hot"),
    ("weights", r"conv\w*|linear|bilinear|embedding\w*|lstm|gru|rnn\w*"),
)  # fmt: skip
_OPERATION_KINDS = tuple((kind, re.compile(words)) for kind, words in _OPERATION_WORDS)

_SIGNS = {
    "add": "+", "sub": "−", "mul": "×", "multiply": "×", "div": "÷", "divide": "÷", "truediv": "÷", "subtract": "−",
    "matmul": "@", "bmm": "@", "mm": "@", "addmm": "@", "baddbmm": "@",
    "cat": "‖", "concat": "‖", "concatenate": "‖", "stack": "‖", "hstack": "‖", "vstack": "‖", "dstack": "‖",
}  # fmt: skip
SIGNS = {
    "+": "sum, element by element",
    "−": "difference, element by element",
    "×": "product, element by element",
    "÷": "quotient, element by element",
    "@": "matrix product",
    "‖": "put beside each other: cat, stack",
}
"""The signs in circles, and what they stand for."""
NOTATION = {
    "64×56×56": "a shape without its batch: the first size, where it is that of the model's input, is left out",
    "…×16": "a size that differs among what is drawn once",
    "7×7 /2 → 64": "kernel, stride (where it is not 1), channels out",
    "4×4 ↑2 → 3": "of a transposed convolution: the stride enlarges",
    "512 → 1000": "features in and out",
    "×N": "N that are alike, or N turns of a loop, drawn once",
    "×3 · 64": "64 elements for each of three calls of a module that is drawn once",
    "▸": "a container that is closed",
    "◂ name": "data from `name`, which stands further up",
    "≥, ?": "parameters: at least so many; none known",
}
"""What else is written in short in pictures, and what it means."""
ELEMENTWISE = frozenset("+−×÷")
"""Signs of joins whose result has the shape of what goes in."""


def class_kind(name: str) -> Kind:
    """Kind of the module class `name`, without its package."""
    for kind, words in _CLASS_KINDS:
        if words.search(name) if kind in ("norm", "attention") else words.fullmatch(name):
            return kind
    return "other"


def module_kind(node: ModuleNode) -> Kind:
    """Kind of a module: a class that derives from a layer of torch is of that layer's."""
    base = layer_base(node.torch_base)
    kind = class_kind(base) if base is not None else "other"
    return class_kind(class_title(node.class_name)) if kind == "other" else kind


def operation_kind(word: str) -> Kind:
    """Kind of the operation with the bare word `word`."""
    for kind, words in _OPERATION_KINDS:
        if words.fullmatch(word):
            return kind
    return "other"


def join_sign(word: str) -> str | None:
    """The sign in the circle of an operation that joins data; None where it has none."""
    return _SIGNS.get(word)
