"""The words in a picture: class names, what matters of the arguments, numbers, shapes; short, and never escaped here."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from modgraph.graph.model import ModuleNode, ParameterInfo, Shape

LONGEST = 28
"""Characters of a name; longer ones are cut in the middle."""


def clean(text: str) -> str:
    """`text` on one line, without control, direction-changing or unpaired characters."""
    kept = []
    for char in text:
        category = unicodedata.category(char)
        if char in "\t\r\n\v\f\u2028\u2029":
            kept.append(" ")
        elif category in ("Cs", "Cn") or ord(char) in (0xFFFE, 0xFFFF):
            kept.append("\ufffd")
        elif category not in ("Cc", "Cf"):
            kept.append(char)
    return "".join(kept)


def cut(text: str, longest: int = LONGEST) -> str:
    """`text` with its middle replaced by "…" where it is longer than `longest` characters."""
    text = clean(text)
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def cut_end(text: str, longest: int) -> str:
    """`text` with its end replaced by "…" where it is longer than `longest` characters."""
    text = clean(text)
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def class_title(class_name: str | None) -> str:
    """A class without its package: "torch.nn.modules.conv.Conv2d" gives "Conv2d"."""
    if not class_name:
        return "unknown class"
    return clean(class_name.rpartition(".")[2]) or "unknown class"


def number_text(number: int, digits: int = 3) -> str:
    """`number` with `digits` significant digits: 9408 gives "9.41 K"; below 1000 as it is."""
    if number < 1000:
        return str(number)
    value = float(number)
    for unit in ("K", "M", "B", "T"):
        value /= 1000
        before = len(str(int(value)))
        if before > 3 and unit != "T":
            continue
        text = f"{value:.{max(0, digits - before)}f}"
        if len(text.partition(".")[0]) > 3 and unit != "T":
            continue
        return f"{text} {unit}"
    raise AssertionError("the last unit takes every number")


def elements(shape: Shape | None) -> int | None:
    """Number of elements; None where a size is not known."""
    if shape is None:
        return None
    total = 1
    for size in shape:
        if not isinstance(size, int):
            return None
        total *= size
    return total


def count_text(parameters: list[ParameterInfo]) -> str:
    """Number of elements of `parameters`, tied ones not counted again; "" for none, "≥" where some are unknown."""
    total, unknown = 0, False
    for parameter in parameters:
        if parameter.alias_of is not None:
            continue
        number = elements(parameter.shape)
        unknown = unknown or number is None
        total += number or 0
    if unknown:
        return f"≥ {number_text(total)}" if total else "?"
    return number_text(total) if total else ""


def shape_text(shape: Shape | None, batch: int | str | None = None) -> str:
    """ "64×56×56", without the first size where it is the batch; "scalar" where nothing is left."""
    if shape is None:
        return "?"
    sizes = shape[1:] if batch is not None and shape and shape[0] == batch else shape
    return "×".join("?" if size is None else clean(str(size)) for size in sizes) or "scalar"


def argument_text(node: ModuleNode) -> str:
    """What matters of the constructor's arguments, short and positive; "" where nothing does or is known."""
    name = class_title(node.class_name)
    arguments = {key: value for key, value in node.arguments.items() if not _is_opaque(value)}
    for family, describe in _FAMILIES:
        if name in family:
            return cut_end(describe(name, arguments, node), LONGEST)
    if (node.class_name or "").startswith("torch.nn."):
        return ""
    return cut_end(_user_class(arguments), LONGEST)


def _is_opaque(value: Any) -> bool:
    return isinstance(value, Mapping)


def _sizes(value: Any, dimensions: int = 1) -> str:
    """ "3×3" of 3 or (3, 3)."""
    if isinstance(value, list | tuple):
        values = list(value) * dimensions if len(value) == 1 else list(value)
        return "×".join("auto" if item is None else str(item) for item in values)
    return "×".join([str(value)] * dimensions)


def _step(value: Any) -> str:
    """ "2" of 2 or (2, 2); "2×1" of (2, 1)."""
    if isinstance(value, list | tuple) and len(set(value)) == 1:
        return str(value[0])
    return _sizes(value)


def _dimensions(name: str) -> int:
    return int(name[-2]) if name.endswith("d") and name[-2:-1].isdigit() else 1


def _parameter_shape(node: ModuleNode, name: str) -> Shape | None:
    return next((parameter.shape for parameter in node.parameters if parameter.name == name), None)


def _convolution(name: str, arguments: Mapping[str, Any], node: ModuleNode) -> str:
    weight = _parameter_shape(node, "weight")
    transposed = "Transpose" in name
    kernel, channels = arguments.get("kernel_size"), arguments.get("out_channels")
    groups = arguments.get("groups", 1)
    if weight is not None and len(weight) > 2:
        kernel = list(weight[2:]) if kernel is None else kernel
        if channels is None and not transposed:
            channels = weight[0]
    words = [] if kernel is None else [_sizes(kernel, _dimensions(name))]
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


def _linear(name: str, arguments: Mapping[str, Any], node: ModuleNode) -> str:
    weight = _parameter_shape(node, "weight")
    known = weight is not None and len(weight) == 2
    into = arguments.get("in_features", weight[1] if known and weight else None)
    out = arguments.get("out_features", weight[0] if known and weight else None)
    if out is None:
        return ""
    return f"→ {out}" if into is None else f"{into} → {out}"


def _bilinear(name: str, arguments: Mapping[str, Any], node: ModuleNode) -> str:
    if "out_features" not in arguments:
        return ""
    return f"{arguments.get('in1_features', '?')}, {arguments.get('in2_features', '?')} → {arguments['out_features']}"


def _embedding(name: str, arguments: Mapping[str, Any], node: ModuleNode) -> str:
    weight = _parameter_shape(node, "weight")
    known = weight is not None and len(weight) == 2
    rows = arguments.get("num_embeddings", weight[0] if known and weight else None)
    width = arguments.get("embedding_dim", weight[1] if known and weight else None)
    return "" if rows is None or width is None else f"{rows} → {width}"


def _recurrent(name: str, arguments: Mapping[str, Any], node: ModuleNode) -> str:
    if "hidden_size" not in arguments:
        return ""
    parts = [f"{arguments.get('input_size', '?')} → {arguments['hidden_size']}"]
    if arguments.get("num_layers", 1) != 1:
        parts.append(f"{arguments['num_layers']} layers")
    if arguments.get("bidirectional"):
        parts.append("two-way")
    return " · ".join(parts)


def _attention(name: str, arguments: Mapping[str, Any], node: ModuleNode) -> str:
    heads = arguments.get("num_heads", arguments.get("nhead"))
    width = arguments.get("embed_dim", arguments.get("d_model"))
    return " · ".join(([f"{heads} heads"] if heads else []) + ([str(width)] if width else []))


def _pool(name: str, arguments: Mapping[str, Any], node: ModuleNode) -> str:
    dimensions = _dimensions(name)
    if name.startswith("Adaptive"):
        return _sizes(arguments["output_size"], dimensions) if "output_size" in arguments else ""
    if "kernel_size" not in arguments:
        return ""
    kernel = _sizes(arguments["kernel_size"], dimensions)
    stride = arguments.get("stride")
    if stride in (None, []) or _sizes(stride, dimensions) == kernel:
        return kernel
    return kernel if _step(stride) == "1" and dimensions == 0 else f"{kernel} /{_step(stride)}"


def _resize(name: str, arguments: Mapping[str, Any], node: ModuleNode) -> str:
    factor = arguments.get("scale_factor", arguments.get("upscale_factor", arguments.get("downscale_factor")))
    if factor is not None:
        number = _step(factor)
        return f"×{number.removesuffix('.0')}"
    return f"→ {_sizes(arguments['size'], 2)}" if arguments.get("size") is not None else ""


def _valued(key: str, label: str, default: object = None) -> Callable[[str, Mapping[str, Any], ModuleNode], str]:
    def describe(name: str, arguments: Mapping[str, Any], node: ModuleNode) -> str:
        value = arguments.get(key)
        return "" if value is None or value == default else label.format(_step(value))

    return describe


def _flatten(name: str, arguments: Mapping[str, Any], node: ModuleNode) -> str:
    start, end = arguments.get("start_dim", 1), arguments.get("end_dim", -1)
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


_Describe = Callable[[str, Mapping[str, Any], ModuleNode], str]
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
    ({"Dropout", "AlphaDropout", "FeatureAlphaDropout"} | _each("Dropout"), _valued("p", "p {}")),
    ({"LeakyReLU"}, _valued("negative_slope", "slope {}", 0.01)),
    ({"ELU", "CELU"}, _valued("alpha", "α {}", 1.0)),
    ({"Softmax", "LogSoftmax", "Softmin"}, _valued("dim", "dim {}")),
    ({"Flatten"}, _flatten),
)
