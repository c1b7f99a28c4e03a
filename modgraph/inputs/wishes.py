"""What a layer of torch wants of the tensor it receives: dtype, number of dimensions, sizes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

STATES: dict[int | str, int] = {1: 0, "hx": 0, "1[0]": 0, "hx[0]": 0, "1[1]": 1, "hx[1]": 1}
"""Arguments of a recurrent layer, by their position or name: which of the two states of an LSTM each is."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What one layer accepts at one position."""

    integral: bool | None = None
    """Indices, or floats; None is either."""
    ndim: int | None = None
    """Number of dimensions, batch included; None is any."""
    sizes: dict[int, int] = field(default_factory=dict)
    """Size of a dimension, counted from the front (0, 1, ...) or from the end (-1)."""
    bound: int | None = None
    """Indices must be below it."""

    def met_by(self, shape: tuple[int, ...], integral: bool) -> bool:
        """A tensor of this shape and kind is what the layer wants."""
        if self.integral is not None and self.integral != integral:
            return False
        if self.ndim is not None and len(shape) != self.ndim:
            return False
        return not self.unmet_sizes(shape)

    def unmet_sizes(self, shape: tuple[int, ...]) -> dict[int, tuple[int, int]]:
        """Dimension -> (wanted, got), for those that differ; dimensions that are missing do not count."""
        unmet = {}
        for dim, wanted in self.sizes.items():
            if -len(shape) <= dim < len(shape) and shape[dim] != wanted:
                unmet[dim % len(shape)] = (wanted, shape[dim])
        return unmet


def wish_of(layer: nn.Module, position: int | str) -> Wish | None:
    """What `layer` wants of the argument at `position` (its index, or its name); None where it does not care."""
    if isinstance(layer, nn.Embedding | nn.EmbeddingBag):
        return Wish(integral=True, bound=layer.num_embeddings) if position in (0, "input") else None
    if isinstance(layer, nn.RNNBase | nn.RNNCellBase):
        return _recurrent(layer, position)
    if isinstance(layer, nn.MultiheadAttention):
        wanted = {0: layer.embed_dim, 1: layer.kdim, 2: layer.vdim}
        index = {"query": 0, "key": 1, "value": 2}.get(str(position), position)
        return Wish(integral=False, ndim=3, sizes={-1: wanted[int(index)]}) if index in wanted else None
    if isinstance(layer, nn.Bilinear):
        return Wish(integral=False, sizes={-1: layer.in2_features if position in (1, "input2") else layer.in1_features})
    if position not in (0, 1, "input", "src", "tgt", "memory", "x"):
        return None
    width = _transformer_width(layer)
    if width is not None:
        return Wish(integral=False, ndim=3, sizes={-1: width})
    return _single_input(layer) if position in (0, "input", "x") else None


def _recurrent(layer: Any, position: int | str) -> Wish | None:
    """Of its input, and of the state that it begins with: alone, or of an LSTM the first or second of two."""
    many = isinstance(layer, nn.RNNBase)
    if position in (0, "input"):
        return Wish(integral=False, ndim=3 if many else 2, sizes={-1: layer.input_size})
    if position not in STATES:
        return None
    if not many:
        return Wish(integral=False, ndim=2, sizes={-1: layer.hidden_size})
    of_cell = layer.mode == "LSTM" and STATES[position] == 1
    width = layer.hidden_size if of_cell else layer.proj_size or layer.hidden_size
    return Wish(integral=False, ndim=3, sizes={0: layer.num_layers * (1 + layer.bidirectional), -1: width})


def _transformer_width(layer: nn.Module) -> int | None:
    if isinstance(layer, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
        return int(layer.self_attn.embed_dim)
    if isinstance(layer, nn.Transformer):
        return int(layer.d_model)
    if isinstance(layer, nn.TransformerEncoder | nn.TransformerDecoder) and len(layer.layers):
        first = layer.layers[0]
        return _transformer_width(first)
    return None


def _single_input(layer: nn.Module) -> Wish | None:
    if isinstance(layer, nn.Linear):
        # A lazy layer has no width yet.
        return Wish(integral=False, sizes={-1: layer.in_features} if layer.in_features else {})
    if isinstance(layer, _ConvNd):
        sizes = {1: layer.in_channels} if layer.in_channels else {}
        return Wish(integral=False, ndim=len(layer.kernel_size) + 2, sizes=sizes)
    if isinstance(layer, _NormBase):
        ndim = {"2": 4, "3": 5}.get(_dimensions(layer))
        return Wish(integral=False, ndim=ndim, sizes={1: layer.num_features} if layer.num_features else {})
    if isinstance(layer, nn.LayerNorm | nn.RMSNorm):
        shape = tuple(layer.normalized_shape)
        return Wish(integral=False, sizes={dim - len(shape): size for dim, size in enumerate(shape)})
    if isinstance(layer, nn.GroupNorm):
        return Wish(integral=False, sizes={1: layer.num_channels})
    if type(layer).__module__.startswith("torch.nn.modules.") and "Pool" in type(layer).__name__:
        dimensions = _dimensions(layer)
        return Wish(ndim=int(dimensions) + 2) if dimensions else None
    return None


def _dimensions(layer: nn.Module) -> str:
    """ "2" for a layer of torch whose class is called ...2d; else ""."""
    for kind in type(layer).__mro__:
        if kind.__module__.startswith("torch.nn.modules.") and kind.__name__[-2:] in ("1d", "2d", "3d"):
            return kind.__name__[-2]
    return ""


def is_transposed(layer: nn.Module) -> bool:
    """A transposed convolution, whose input is small."""
    return isinstance(layer, _ConvTransposeNd)
