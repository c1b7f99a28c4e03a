"""The first guess of each input: from its annotation, its name, the sizes the model states, and its first layers."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from dataclasses import fields as dataclass_fields
from typing import Any

import torch
from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import is_lazy

from modgraph.inputs.specs import Candidate, GroupSpec, LiteralSpec, Reason, Spec, TensorSpec
from modgraph.inputs.wishes import Wish, is_transposed, wish_of
from modgraph.inputs.words import words_asked
from modgraph.tracing.basics.forward_signature import ForwardSignature
from modgraph.tracing.basics.members import every_module, parameters, registered_modules

STEPS = 8
"""Length of a sequence, number of nodes of a graph."""
SIDE = 224
"""Height and width of an image, where the model does not state them."""
GRID_SIDE = 4
"""Height and width, in patches, of an image whose patches are given one by one."""
_VOLUME_SIDE = 32
_SIGNAL_STEPS = 64

_NAMES: tuple[tuple[str, str], ...] = (
    ("mask", r".*mask.*"),
    (
        "grid",
        r"(.*_)?(thw|hws?|grid_(sizes?|shapes?)|spatial_(shapes|sizes))"
        r"|(image|img|pixel|target|tgt|patch|frame|feat|feature|orig|original|input)_(sizes|shapes)",
    ),
    ("counts", r".*_(sizes|counts|ratios)|counts"),
    ("edge_index", r"edge_?(index|idx|list|mat)|edges"),
    ("edge_values", r"edge_?(attr|weights?|features?)"),
    ("graph_batch", r"batch_?(index|idx)"),
    ("adjacency", r"((norm|normalized|sparse)_)?(adj.*|graph)|.*_adj|a_hat|laplacian"),
    ("ends", r".*start_end|cu_seq_?lens.*"),
    ("spans", r"(.*_)?spans?"),
    ("past", r"past|(past|prev|incremental)_(caches?|key_values?|kvs?)|(kv_?)?caches?|incremental_state|mems"),
    ("boxes", r"(.*_)?(b?boxes|proposals)"),
    ("share", r"teacher_forc.*|tf_ratio|(.*_)?temperature|tau"),
    ("lengths", r".*(lengths?|lens|_len)|lens"),
    ("offsets", r"offsets?"),
    ("positions", r"pos(itions?|ition_ids|_ids)"),
    ("step", r"t|ts|time|times|time_?steps?|steps?|sigmas?|noise_?levels?|diffusion_step"),
    ("label", r"y|labels?|class(es)?|class_?(ids?|labels?)|cond_?labels?|targets|digits?"),
    (
        "state",
        r"h|c|hx|cx|h0|h_?prev|state|states|hidden|hidden_?states?|hc|cell|cell_state"
        r"|(prev|previous|last|init|initial|decoder|dec|rnn|lstm|gru)_?(state|hidden|hidden_state|cell)s?",
    ),
    ("encoded", r"(enc|encoder|encoded|encoding)_?(out|outputs?|outs|states?|hiddens?|hidden_states|features?)|memory"),
    ("ids", r"(.*_)?(ids?|tokens?|idx|indices|words?|chars?|captions?|sentences?|cat|categorical|categories|cats)"),
    (
        "text",
        r"src|tgt|trg|source|target|text|texts|prompt|query_text|seqs?|sequences?|questions?|documents?|users?|items?",
    ),
    ("latent", r"z|noise|latents?|latent_.*|z_.*"),
    ("image", r".*(image|img|pixel|picture|frame|rgb|photo).*"),
    ("audio", r".*(audio|wav|speech|signal).*"),
    ("flag", r"(return|use|is|do|with|output)_.*|training"),
)
_SIDES_NAME = re.compile(
    r"hw|hw_?(size|shape)|(x|in|input|out|output|img|image|patch|spatial|feat)_?(size|shape|resolution)"
)
_SIZED = (
    "image_size", "img_size", "input_resolution", "image_resolution", "img_resolution", "resolution", "sample_size",
    "input_size", "im_size", "input_shape",
)  # fmt: skip
CHANNELS = ("num_channels", "in_channels", "in_chans", "in_ch", "n_channels", "img_channels", "image_channels")


def name_class(name: str) -> str | None:
    """What a parameter of this name usually is; None for a name that says nothing (`x`, `input`)."""
    bare = name.lower().strip("_")
    return next((kind for kind, pattern in _NAMES if re.fullmatch(pattern, bare)), None)


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer with a wish, in registration order."""

    path: str
    module: nn.Module
    wish: Wish


class Guesser:
    """Makes first guesses for one model."""

    def __init__(self, model: nn.Module, signature: ForwardSignature, *, batch: int, dtype: str) -> None:
        self.model = model
        self.signature = signature
        self.batch = batch
        self.dtype = dtype
        self.layers = list(layers_of(model))
        self.embeds = any(isinstance(layer.module, nn.Embedding | nn.EmbeddingBag) for layer in self.layers)
        self.sequential = any(_is_sequential(module) for module in every_module(model))
        self.graph = self.edges = False
        self.hear_of(signature.required)

    def hear_of(self, names: Iterable[str]) -> bool:
        """Whether inputs of these names say what was not known: that all are of a graph, whose rows are nodes."""
        kinds, before = {name_class(name) for name in names}, (self.graph, self.edges)
        self.edges = self.edges or "edge_index" in kinds
        self.graph = self.graph or self.edges or "adjacency" in kinds
        return (self.graph, self.edges) != before

    def first(self, given: Collection[str] = ()) -> Candidate:
        """The candidate to begin with: every required parameter, or what seems to be meant where none is.

        Args:
            given: parameters that need no guess.
        """
        names = self.signature.required
        rules: list[Reason] = []
        if not names and not given:
            names = self._without_required()
        names = [name for name in names if name not in given]
        entries = []
        for name in names:
            spec, rule = self.guess(name)
            entries.append((name, spec))
            rules.append(replace(rule, changes=(((name,), None, spec),)))
        return Candidate(tuple(entries), tuple(rules))

    def _without_required(self) -> list[str]:
        stated = getattr(self.model, "main_input_name", None)
        if isinstance(stated, str) and stated in self.signature.parameters:
            return [stated]
        empty = [n for n in self.signature.optional if self.signature.parameters[n].default is None]
        if empty:
            telling = [name for name in empty if name_class(name) in ("ids", "image", "audio", "text", "latent")]
            return (telling or empty)[:1]
        variadic = self.signature.variadic(inspect.Parameter.VAR_POSITIONAL)
        return [f"{variadic}[0]"] if variadic else []

    def guess(self, name: str) -> tuple[Spec, Reason]:
        """The first guess of one parameter, and where it comes from."""
        hint = self.signature.hints.get(name)
        if hint is None and (sides := self._sides(name)) is not None:
            return sides, Reason(f"{name}: by its name")
        if hint in (None, inspect.Parameter.empty, str) and (words := words_asked(self.model, name)):
            return LiteralSpec(words[0]), Reason(f"{name}: a word that forward asks for")
        annotated = self._from_annotation(name, hint)
        if annotated is not None:
            return annotated, Reason(f"{name}: annotated {_hint_text(hint)}")
        return self.tensor(name)

    def _sides(self, name: str) -> Spec | None:
        """Height and width that are no tensor: one of two parameters, or both in a tuple."""
        pairs = (("h", "w"), ("height", "width"), ("nh", "nw"), ("h_patches", "w_patches"))
        names = {other.lower() for other in self.signature.parameters}
        if any(name.lower() in pair and names.issuperset(pair) for pair in pairs):
            return LiteralSpec(GRID_SIDE)
        if _SIDES_NAME.fullmatch(name.lower()) and name in self.signature.required:
            return LiteralSpec((GRID_SIDE, GRID_SIDE))
        return None

    def tensor(self, name: str) -> tuple[Spec, Reason]:
        """A tensor (or a tuple of states) by its name, else by the first layer."""
        kind = "graph_batch" if self.edges and name.lower() == "batch" else name_class(name)
        made = self._from_name(kind, name) if kind else None
        return self.generic(name) if made is None else (made, Reason(f"{name}: by its name"))

    def generic(self, name: str) -> tuple[Spec, Reason]:
        """A tensor by the first layer."""
        layer = self._first_layer(name)
        if layer is None:
            return self._without_layers(), Reason(f"{name}: generic")
        spec = self.for_layer(layer)
        if name_class(name) == "label" and layer.wish.ndim is None and not layer.wish.integral:
            spec = replace(spec, shape=self.shape(2, layer.wish.sizes))  # of a class, one for each row
        text = f"{name}: for {layer.path or 'the first layer'} ({type(layer.module).__name__})"
        return spec, Reason(text, layer=layer.path)

    def _from_annotation(self, name: str, hint: Any) -> Spec | None:
        plain: dict[Any, Any] = {int: 1, float: 1.0, bool: False, str: ""}
        if hint is int and name_class(name) == "lengths":
            return LiteralSpec(STEPS)
        if hint in plain:
            return LiteralSpec(plain[hint])
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Literal:
            return LiteralSpec(inner[0]) if isinstance(inner[0], str | int) else None
        if origin in (typing.Union, types.UnionType):
            options = [option for option in inner if option is not type(None)]
            return None if torch.Tensor in options else self._from_annotation(name, options[0])
        if origin in (list, typing.Sequence) or hint is list or getattr(origin, "__name__", "") == "Sequence":
            return self._group("list", name, [inner[0] if inner else None] * 2)
        if origin is tuple:
            return self._group("tuple", name, inner[:1] * 2 if Ellipsis in inner else inner)
        if origin is dict or hint is dict or getattr(origin, "__name__", "") == "Mapping":
            return GroupSpec("dict")
        known = hint in (None, inspect.Parameter.empty, Any, object) or isinstance(hint, str | typing.TypeVar)
        if known or (isinstance(hint, type) and issubclass(hint, torch.Tensor)) or not isinstance(hint, type):
            return None
        if typing.is_typeddict(hint) or issubclass(hint, Mapping):
            return GroupSpec("dict")
        return GroupSpec("object", _stated_fields(hint)) if not hint.__module__.startswith("torch") else None

    def _group(self, kind: str, name: str, hints: Sequence[Any]) -> GroupSpec:
        """One item for each annotation; by the names `name_0`, `name_1`, ... where that says nothing."""
        items: list[tuple[int, Spec]] = []
        for index, hint in enumerate(hints):
            item = LiteralSpec("a") if hint is str else self._from_annotation(f"{name}_{index}", hint)
            items.append((index, self.tensor(f"{name}_{index}")[0] if item is None else item))
        return GroupSpec(kind, tuple(items))

    def _from_name(self, kind: str, name: str) -> Spec | None:
        batch, ints = self.batch, "int64"
        match kind:
            case "mask" if self.has_images() and not self.embeds and not self.sequential:  # of pixels
                return TensorSpec((batch, 1, self.side(), self.side()), self.dtype, low=0, high=2)
            case "mask":
                square = re.match(r"(src|tgt|attn|causal|memory)_mask", name.lower()) is not None
                shape = (STEPS, STEPS) if square else (batch, STEPS)
                return TensorSpec(shape, "bool", low=0 if square or "pad" in name.lower() else 1)
            case "grid":
                row = (1, GRID_SIDE, GRID_SIDE)[-3 if "thw" in name.lower() else -2 :]
                return TensorSpec((batch, len(row)), ints, row=row)
            case "counts":
                return TensorSpec((batch,), ints)
            case "edge_index":
                return TensorSpec((2, STEPS), ints, low=0, high=STEPS)
            case "edge_values":
                return TensorSpec((STEPS,), self.dtype)
            case "graph_batch":
                return TensorSpec((STEPS,), ints, low=0, high=1)
            case "adjacency":
                return TensorSpec((STEPS, STEPS), self.dtype)
            case "ends":  # of slices
                return TensorSpec((2,) if name.lower().startswith("cu") else (batch, 2), ints, row=(0, STEPS))
            case "spans":  # of words
                return TensorSpec((batch, 2), ints, row=(0, STEPS - 1))
            case "past":
                return LiteralSpec(None)
            case "boxes":
                return TensorSpec((batch, STEPS, 4), self.dtype)
            case "share":
                return LiteralSpec(0.5)
            case "lengths":
                return TensorSpec((batch,), ints, low=STEPS, high=STEPS + 1)
            case "offsets":
                return TensorSpec((batch,), ints, low=0, high=1)
            case "positions":
                return TensorSpec((batch, STEPS), ints, low=0, high=STEPS) if self.embeds else None
            case "step":
                return TensorSpec((batch,), ints)
            case "label":
                alone = len(self.signature.required) == 1 or name.lower() == "y"
                return TensorSpec((batch,), ints) if self.embeds or not alone else None
            case "state":
                return self._state(name)
            case "encoded":
                return self._encoded()
            case "ids" | "text":
                alone = re.match(r"(user|item|.*_id$|id$)", name.lower()) is not None
                return TensorSpec((batch,) if alone else (batch, STEPS), ints) if self.embeds else None
            case "image":
                return self._image()
            case "audio":
                return self._audio()
            case "flag":
                return LiteralSpec(False)
            case _:
                return self._latent(name)

    def _state(self, name: str) -> Spec | None:
        for module in every_module(self.model):
            if isinstance(module, nn.RNNBase):
                layers = module.num_layers * (2 if module.bidirectional else 1)
                hidden = TensorSpec((layers, self.batch, module.proj_size or module.hidden_size), self.dtype)
                cell = TensorSpec((layers, self.batch, module.hidden_size), self.dtype)
                single = name.lower() in ("h", "c", "h0", "c0", "h_prev", "hx", "cx") and name.lower() != "hx"
                return GroupSpec("tuple", ((0, hidden), (1, cell))) if module.mode == "LSTM" and not single else hidden
            if isinstance(module, nn.RNNCellBase):
                state = TensorSpec((self.batch, module.hidden_size), self.dtype)
                pair = isinstance(module, nn.LSTMCell) and name.lower() in ("state", "states", "hidden", "hc", "hx")
                return GroupSpec("tuple", ((0, state), (1, state))) if pair else state
        return None

    def _encoded(self) -> Spec | None:
        """What an encoder gave: a row of floats for each step, as the first layer that is no table of indices wants."""
        layer = next((layer for layer in self.layers if not layer.wish.integral), None)
        if layer is None:
            return None
        spec = self.for_layer(layer)
        return replace(spec, shape=self.shape(3, layer.wish.sizes)) if layer.wish.ndim is None else spec

    def _image(self) -> Spec | None:
        layer = next((layer for layer in self.layers if layer.wish.ndim == 4), None)
        if layer is not None:
            return self.for_layer(layer)
        channels = self.stated(CHANNELS) or 3
        return TensorSpec((self.batch, channels, self.side(), self.side()), self.dtype) if self._is_vision() else None

    def _is_vision(self) -> bool:
        return self.stated(_SIZED) is not None or not self.layers

    def _audio(self) -> Spec:
        layer = next((layer for layer in self.layers if layer.wish.ndim == 3), None)
        if layer is not None and isinstance(layer.module, nn.Conv1d):
            return TensorSpec((self.batch, layer.module.in_channels or 1, 16000), self.dtype)
        return TensorSpec((self.batch, 16000), self.dtype)

    def _latent(self, name: str) -> Spec | None:
        layer = self._first_layer("z")
        if layer is None:
            return None
        spec = self.for_layer(layer)
        if is_transposed(layer.module):
            return replace(spec, shape=spec.shape[:2] + (1,) * (len(spec.shape) - 2))
        if isinstance(layer.module, nn.Linear) and not name.lower().endswith("s"):
            return replace(spec, shape=self.shape(2, layer.wish.sizes))  # one for each row, though attention follows
        return spec

    def _first_layer(self, name: str) -> Layer | None:
        """The first layer, unless a parameter that is known by its name takes that one."""
        others = {name_class(other) for other in self.signature.required if other != name}
        layers = self.layers
        if others & {"ids", "text", "label", "step", "positions"}:
            layers = [layer for layer in layers if not layer.wish.integral] or layers
        return layers[0] if layers else None

    def for_layer(self, layer: Layer) -> TensorSpec:
        """The usual input of a layer."""
        if layer.wish.integral:
            return TensorSpec((self.batch, STEPS), "int64", high=layer.wish.bound)
        ndim = layer.wish.ndim
        if ndim is None:
            ndim = 3 if self.sequential and not self.graph else 2
            if isinstance(layer.module, nn.LayerNorm | nn.RMSNorm):
                ndim = 2 + len(layer.module.normalized_shape)
        spec = TensorSpec(self.shape(ndim, layer.wish.sizes), self.dtype)
        if is_transposed(layer.module):
            return replace(spec, shape=spec.shape[:2] + (8,) * (len(spec.shape) - 2))
        return spec

    def shape(self, ndim: int, sizes: Mapping[int, int] | None = None) -> tuple[int, ...]:
        """The usual shape of this many dimensions, with some sizes given."""
        sizes = sizes or {}
        channels = self.stated(CHANNELS) or 3
        lead = STEPS if self.graph else self.batch
        usual = {
            0: [],
            1: [lead],
            2: [lead, STEPS],
            3: [self.batch, STEPS, _SIGNAL_STEPS] if 1 in sizes else [self.batch, STEPS, 12],
            4: [self.batch, channels, self.side(), self.side()],
        }.get(ndim) or [self.batch, 3, *[_VOLUME_SIDE] * (ndim - 2)]
        for dim, size in sizes.items():
            if -ndim <= dim < ndim:
                usual[dim] = size
        return tuple(usual)

    def side(self) -> int:
        """Height and width of an image: what the model states, else the usual one."""
        return self.stated(_SIZED) or SIDE

    def stated(self, names: tuple[str, ...], most: int = 4096) -> int | None:
        """The first of these attributes that the model, its configuration or a child states, as one number."""
        for owner in _owners(self.model):
            for name in names:
                value = owner.get(name)
                if isinstance(value, tuple | list) and value:
                    value = value[-1]
                if type(value) is int and 0 < value <= most:
                    return value
        return None

    def _without_layers(self) -> Spec:
        for parameter in parameters(self.model):
            if is_lazy(parameter):
                continue
            if parameter.dim() == 2:
                return TensorSpec(self.shape(2, {1: parameter.shape[0]}), self.dtype)
            if parameter.dim() == 1:
                return TensorSpec(self.shape(2, {1: parameter.shape[0]}), self.dtype)
        ndim = 4 if self.has_images() else 2
        return TensorSpec(self.shape(ndim), self.dtype)

    def has_images(self) -> bool:
        """A layer of the model is one of images."""
        return any("2d" in type(module).__name__ for module in every_module(self.model))


def layers_of(model: nn.Module) -> Iterator[Layer]:
    """The layers of a module that say what they want, in registration order."""
    names = {id(module): path for path, module in registered_modules(model)}
    for module in every_module(model):
        wish = wish_of(module, 0)
        if wish is not None and (wish.sizes or wish.integral or isinstance(module, LazyModuleMixin)):
            yield Layer(names.get(id(module), ""), module, wish)


def _stated_fields(kind: type) -> tuple[tuple[str, Spec], ...]:
    """Fields of a data class or named tuple that are numbers, flags or words, at their default where they have one."""
    fields: dict[str, Any] = {}
    if is_dataclass(kind):
        fields = {field.name: (field.type, field.default) for field in dataclass_fields(kind)}
    elif issubclass(kind, tuple):
        defaults = getattr(kind, "_field_defaults", {})
        fields = {name: (hint, defaults.get(name)) for name, hint in getattr(kind, "__annotations__", {}).items()}
    plain: dict[type, Any] = {bool: False, int: 1, float: 1.0, str: ""}
    found: list[tuple[str, Spec]] = []
    for name, (hint, default) in fields.items():
        stated = next((one for one in plain if hint in (one, one.__name__)), None)
        if type(default) in plain:
            found.append((name, LiteralSpec(default)))
        elif stated is not None:
            found.append((name, LiteralSpec(plain[stated])))
    return tuple(found)


def _is_sequential(module: nn.Module) -> bool:
    return (
        isinstance(module, nn.RNNBase | nn.MultiheadAttention | nn.TransformerEncoderLayer | nn.TransformerDecoderLayer)
        or "attention" in type(module).__name__.lower()
    )


def _owners(model: nn.Module) -> Iterator[Mapping[str, Any]]:
    """Attributes of the model, of the plain objects and dicts that it holds (a configuration), and of its children."""
    level = [model]
    for _ in range(3):
        for module in level:
            yield vars(module)
            for value in vars(module).values():
                if isinstance(value, dict) and all(isinstance(key, str) for key in value):
                    yield value
                elif hasattr(value, "__dict__") and not isinstance(value, nn.Module | type | torch.Tensor):
                    yield vars(value)
        level = [child for module in level for child in module._modules.values() if child is not None]


def _hint_text(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
