"""What matters of a layer's constructor arguments, in a few characters: "7×7 /2 → 64", "512 → 1000", "8 heads · 512".

Defaults are not written. Where the arguments are not known, the parameters' shapes say part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from modgraph.export.look.labels import class_title, cut_end
from modgraph.graph.model import Call, ModuleNode, Shape
from modgraph.graph.torch_classes import layer_base

LONGEST_ARGUMENTS = 40
"""Characters."""


def argument_text(node: ModuleNode, *, defaults: bool = False, plain: bool = False, call: Call | None = None) -> str:
    """What matters of the constructor's arguments, short and positive; "" where nothing does or is known.

    Args:
        plain: sizes and names alone, of classes that are not torch's: no `eps 1e-05`, no `p 0.0`.
        defaults: the one value that says what a layer does is written where it is the default too.
        call: one of its calls, which shows what a class that derives from a layer makes of its arguments.
    """
    literals = {key: value for key, value in node.arguments.items() if not isinstance(value, Mapping)}
    layer = _Layer(class_title(node.class_name), literals, node, defaults)
    for family, describe in _FAMILIES:
        if layer.name in family:
            return cut_end(describe(layer), LONGEST_ARGUMENTS)
    if text := _derived(node, call):
        return cut_end(text, LONGEST_ARGUMENTS)
    if (node.class_name or "").startswith("torch.nn."):
        return ""
    if layer_base(node.torch_base) in _NORMALIZED:
        literals.pop("normalized_shape", None)  # the shape of its weight, beside which it stands
    if plain:
        literals = {key: value for key, value in literals.items() if isinstance(value, int | str)}
    return cut_end(_user_class(literals), LONGEST_ARGUMENTS)


def _derived(node: ModuleNode, call: Call | None) -> str:
    """Of a class that derives from a layer of torch, what its parameters and a call prove; "" for nothing.

    Its constructor's arguments may be named as the layer's and mean another thing. A run says what attributes it has.
    """
    name = layer_base(node.torch_base)
    if name is None:
        return ""
    seen = node.arguments if node.observed and not node.predicted else {}
    arguments = {key: value for key, value in seen.items() if not isinstance(value, Mapping)}
    layer = _Layer(name, arguments, node)
    describe = next((describe for family, describe in _FAMILIES if name in family), None)
    if describe is not _convolution:
        return describe(layer) if describe is not None else ""
    weight = layer.weight(_dimensions(name) + 2)
    if "stride" not in arguments and weight is not None and "Transpose" not in name:
        arguments["stride"] = _proven_stride(weight, call)
    return "" if arguments.get("stride", 0) is None else describe(layer)


def _proven_stride(weight: Shape, call: Call | None) -> list[int] | None:
    """The one stride with which a kernel makes the sizes of `call`, whatever the padding; None where there is none."""
    given, made = (call.inputs, call.outputs) if call is not None else ((), ())
    if len(given) != 1 or len(made) != 1 or given[0].shape is None or made[0].shape is None:
        return None
    sizes = list(zip(given[0].shape[-len(weight) + 2 :], made[0].shape[-len(weight) + 2 :], weight[2:], strict=False))
    found: list[int] = []
    for into, out, kernel in sizes:
        if not (isinstance(into, int) and isinstance(out, int) and isinstance(kernel, int)):
            return None
        fits = {
            stride
            for stride in range(1, _MOST_STRIDE)
            for padding in range(2 * kernel - 1)
            if (into + padding - kernel) // stride + 1 == out
        }
        if len(fits) != 1:
            return None
        found.extend(fits)
    return found


_MOST_STRIDE = 33
_NORMALIZED = ("LayerNorm", "RMSNorm")


@dataclass(frozen=True, slots=True)
class _Layer:
    name: str
    """Its class, without the package."""
    arguments: Mapping[str, Any]
    """Those whose values are literals."""
    node: ModuleNode
    defaults: bool = False

    def weight(self, dimensions: int) -> Shape | None:
        """Shape of `weight`, where the layer is torch's own and it has that many dimensions."""
        if not any(name.startswith("torch.") for name in (self.node.class_name, self.node.torch_base) if name):
            return None
        shapes = (parameter.shape for parameter in self.node.parameters if parameter.name == "weight")
        return next((shape for shape in shapes if shape is not None and len(shape) == dimensions), None)


def _sizes(value: Any, dimensions: int = 1) -> str:
    """ "3×3" of 3 or (3, 3)."""
    if isinstance(value, list | tuple):
        values = list(value) * dimensions if len(value) == 1 else list(value)
        return "×".join("auto" if item is None else str(item) for item in values)
    return "×".join([str(value)] * dimensions)


def _step(value: Any) -> str:
    """ "2" of 2 or (2, 2); "2×1" of (2, 1)."""
    if isinstance(value, list | tuple) and len({str(item) for item in value}) == 1:
        return str(value[0])
    return _sizes(value)


def _dimensions(name: str) -> int:
    return int(name[-2]) if name.endswith("d") and name[-2:-1].isdigit() else 1


def _kernel(value: Any, dimensions: int) -> str:
    """ "7×7"; "k7" of one dimension, where "7 → 64" would read as 7 channels."""
    sizes = _sizes(value, dimensions)
    return f"k{sizes}" if dimensions == 1 else sizes


def _convolution(layer: _Layer) -> str:
    arguments, dimensions = layer.arguments, _dimensions(layer.name)
    weight = layer.weight(dimensions + 2)
    transposed = "Transpose" in layer.name
    kernel, channels = arguments.get("kernel_size"), arguments.get("out_channels")
    groups = arguments.get("groups", 1)
    if weight is not None:
        kernel = list(weight[2:]) if kernel is None else kernel
        if channels is None and not transposed:
            channels = weight[0]
    words = [] if kernel is None else [_kernel(kernel, dimensions)]
    stride = arguments.get("stride", 1)
    if _step(stride) != "1":
        words.append(f"{'↑' if transposed else '/'}{_step(stride)}")
    if channels is not None:
        words.append(f"→ {channels}")
    text = " ".join(words)
    if groups != 1:
        text += " · depthwise" if groups == arguments.get("in_channels") else f" · {groups} groups"
    if _step(arguments.get("dilation", 1)) != "1":
        text += f" · dilation {_step(arguments['dilation'])}"
    return text


def _linear(layer: _Layer) -> str:
    weight = layer.weight(2)
    into = layer.arguments.get("in_features", weight[1] if weight else None)
    out = layer.arguments.get("out_features", weight[0] if weight else None)
    if out is None:
        return ""
    return f"→ {out}" if into is None else f"{into} → {out}"


def _bilinear(layer: _Layer) -> str:
    if "out_features" not in layer.arguments:
        return ""
    sides = ", ".join(str(layer.arguments.get(key, "?")) for key in ("in1_features", "in2_features"))
    return f"{sides} → {layer.arguments['out_features']}"


def _embedding(layer: _Layer) -> str:
    weight = layer.weight(2)
    rows = layer.arguments.get("num_embeddings", weight[0] if weight else None)
    width = layer.arguments.get("embedding_dim", weight[1] if weight else None)
    return "" if rows is None or width is None else f"{rows} → {width}"


def _recurrent(layer: _Layer) -> str:
    """Where the arguments are not known by name (torch's own signature is `*args`), the parameters' shapes say them."""
    shapes = {parameter.name: parameter.shape for parameter in layer.node.parameters}
    first = shapes.get("weight_ih_l0", shapes.get("weight_ih"))
    gates = next((number for stem, number in _GATES.items() if layer.name.startswith(stem)), 1)
    known = first is not None and len(first) == 2
    into = layer.arguments.get("input_size", first[1] if first and known else None)
    hidden = layer.arguments.get("hidden_size")
    if hidden is None and first and known and isinstance(first[0], int):
        hidden = first[0] // gates
    if hidden is None:
        return ""
    layers = sum(name.startswith("weight_ih_l") and not name.endswith("_reverse") for name in shapes)
    layers = layer.arguments.get("num_layers", layers or 1)
    parts = [f"→ {hidden}" if into is None else f"{into} → {hidden}"]
    if layers != 1:
        parts.append(f"{layers} layers")
    if layer.arguments.get("bidirectional") or any(name.endswith("_reverse") for name in shapes):
        parts.append("bidirectional")
    return " · ".join(parts)


_GATES = {"LSTM": 4, "GRU": 3}
"""Rows of `weight_ih` per hidden element. Source: torch.nn.modules.rnn, RNNBase.__init__ and the cells'."""


def _attention(layer: _Layer) -> str:
    heads = layer.arguments.get("num_heads", layer.arguments.get("nhead"))
    width = layer.arguments.get("embed_dim", layer.arguments.get("d_model"))
    return " · ".join(([f"{heads} head{'' if heads == 1 else 's'}"] if heads else []) + ([str(width)] if width else []))


def _pool(layer: _Layer) -> str:
    dimensions = _dimensions(layer.name)
    if layer.name.startswith("Adaptive"):
        return _sizes(layer.arguments["output_size"], dimensions) if "output_size" in layer.arguments else ""
    if "kernel_size" not in layer.arguments:
        return ""
    kernel = _kernel(layer.arguments["kernel_size"], dimensions)
    stride = layer.arguments.get("stride")
    if stride in (None, []) or _kernel(stride, dimensions) == kernel:
        return kernel
    return f"{kernel} /{_step(stride)}"


def _resize(layer: _Layer) -> str:
    for key in ("scale_factor", "upscale_factor", "downscale_factor"):
        if layer.arguments.get(key) is not None:
            return f"×{_step(layer.arguments[key]).removesuffix('.0')}"
    return f"→ {_sizes(layer.arguments['size'], 2)}" if layer.arguments.get("size") is not None else ""


def _valued(key: str, label: str, default: object = None) -> Callable[[_Layer], str]:
    def describe(layer: _Layer) -> str:
        is_open = key in layer.node.unknown_arguments or key in layer.node.arguments
        value = layer.arguments.get(key, default if layer.defaults and not is_open else None)
        return "" if value is None or (value == default and not layer.defaults) else label.format(_step(value))

    return describe


def _flatten(layer: _Layer) -> str:
    start, end = layer.arguments.get("start_dim", 1), layer.arguments.get("end_dim", -1)
    return "" if (start, end) == (1, -1) else f"dim {start}" if end == -1 else f"dims {start} to {end}"


def _user_class(arguments: Mapping[str, Any]) -> str:
    shown = []
    for key, value in arguments.items():
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            shown.append(f"{key} {value}")
        elif value is True:
            shown.append(key)
        if len(shown) == 2:
            break
    return " · ".join(shown)


def _each(stem: str, prefixes: str = "") -> set[str]:
    """Class names for one to three dimensions: "Conv" gives Conv1d, Conv2d, Conv3d, with each prefix."""
    return {f"{prefix}{stem}{n}d" for prefix in ("", *prefixes.split()) for n in (1, 2, 3)}


_Describe = Callable[[_Layer], str]
_FAMILIES: tuple[tuple[set[str], _Describe], ...] = (
    (_each("Conv", "Lazy") | _each("ConvTranspose", "Lazy"), _convolution),
    ({"Linear", "LazyLinear", "NonDynamicallyQuantizableLinear"}, _linear),
    ({"Bilinear"}, _bilinear),
    ({"Embedding", "EmbeddingBag"}, _embedding),
    ({"RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"}, _recurrent),
    ({"MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"}, _attention),
    (_each("Pool", "Max Avg LP FractionalMax AdaptiveMax AdaptiveAvg"), _pool),
    ({"Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d", "PixelShuffle", "PixelUnshuffle"}, _resize),
    ({"GroupNorm"}, _valued("num_groups", "{} groups")),
    ({"Dropout", "AlphaDropout", "FeatureAlphaDropout"} | _each("Dropout"), _valued("p", "p {}", 0.5)),
    ({"LeakyReLU"}, _valued("negative_slope", "slope {}", 0.01)),
    ({"ELU", "CELU"}, _valued("alpha", "α {}", 1.0)),
    ({"Softmax", "LogSoftmax", "Softmin"}, _valued("dim", "dim {}")),
    ({"Flatten"}, _flatten),
)
