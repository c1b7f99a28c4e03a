"""Which models `forward_calls.py` runs: how each is named to the prediction, built by torch, and what it is given.

A model of transformers is built from a small configuration, which is written to a file that both read.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import random
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from modgraph.source.inputs import parse_input

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
try:
    import forward_listed
finally:
    sys.path.remove(str(HERE))
BATCH = 2


@dataclass
class Subject:
    """One model and one input."""

    target: str
    inputs: tuple[str, ...]
    """As a user writes them: "1x3x224x224", "input_ids=2x7:int64"."""
    model: torch.nn.Module
    positional: tuple[Any, ...]
    keywords: dict[str, Any]


class NoSubjectError(Exception):
    """The model cannot be built or run by torch here."""


def names_of(library: str) -> list[str]:
    """All models of a library, in the order in which they are drawn."""
    _make_torchvision_importable()
    if library == forward_listed.FILES:
        return forward_listed.files()
    if library in forward_listed.listed():
        return list(forward_listed.listed()[library])
    names = {"torchvision": _torchvision_names, "timm": _timm_names, "transformers": _transformers_names}[library]()
    random.Random(0).shuffle(names)
    return names


def subject_of(library: str, name: str, folder: Path) -> Subject:
    """The model of that name, ready to be run; files that it needs are written to `folder`.

    Raises:
        NoSubjectError: torch does not build or run it.
    """
    _make_torchvision_importable()
    makers = {"torchvision": _torchvision, "timm": _timm, "transformers": _transformers, forward_listed.FILES: _file}
    try:
        if library in forward_listed.listed():
            specs = forward_listed.listed()[library][name]
            target = forward_listed.written(name, folder)
            return _ready(target, specs, forward_listed.loaded(target).model, "cpu")
        return makers[library](name, folder)
    except NoSubjectError:
        raise
    except Exception as error:
        raise NoSubjectError(f"{type(error).__name__}: {error}"[:300]) from None


@cache
def _make_torchvision_importable() -> dict[str, Any]:
    """The others import it, too. What the shim declares lasts as long as its names."""
    return runpy.run_path(str(HERE / "torchvision_shim" / "sitecustomize.py"))


def _tensors(specs: Sequence[str], device: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The tensors that these texts describe."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for spec in specs:
        given = parse_input(spec)
        name, made = given.name, given.literal
        if given.shape is not None:
            made = torch.ones(given.sizes, dtype=getattr(torch, given.dtype or "float32"), device=device)
        if name:
            keywords[name] = made
        else:
            positional.append(made)
    return tuple(positional), keywords


def _ready(target: str, specs: Sequence[str], model: torch.nn.Module, device: str) -> Subject:
    return Subject(target, tuple(specs), model.eval(), *_tensors(specs, device))


def _built(builder: Callable[[], Any]) -> tuple[Any, str]:
    """The model, and where it is: without memory where it does not read the values of what it makes."""
    try:
        with torch.device("meta"):
            return builder(), "meta"
    except Exception:
        return builder(), "cpu"


def _shape(*sizes: int) -> str:
    return "x".join(map(str, sizes))


def _file(name: str, folder: Path) -> Subject:
    target = forward_listed.file_target(name)
    model = forward_listed.loaded(target)
    specs = forward_listed.inputs_found(model)
    if specs is None:
        raise NoSubjectError("no inputs that can be typed are found")
    return _ready(target, specs, model.model, "cpu")


# ---- torchvision, timm -------------------------------------------------------------------------------------------------


def _torchvision_names() -> list[str]:
    models = importlib.import_module("torchvision.models")
    kept = []
    for name in models.list_models():
        module = models.get_model_builder(name).__module__
        if "quantized" not in name and "detection" not in module:  # those take lists of images
            kept.append(name)
    return kept


def _torchvision(name: str, folder: Path) -> Subject:
    builder = importlib.import_module("torchvision.models").get_model_builder(name)
    options = [each for each in ("weights", "weights_backbone") if each in inspect.signature(builder).parameters]
    model, device = _built(lambda: builder(**dict.fromkeys(options)))
    module, size = builder.__module__, 299 if "inception" in name else 224
    specs = [_shape(BATCH, 3, size, size)]
    if ".video" in module:
        specs = [_shape(BATCH, 3, 16, *((224, 224) if "mvit" in name or "swin" in name else (112, 112)))]
    elif ".optical_flow" in module:
        specs = [_shape(BATCH, 3, 128, 128)] * 2
    written = ", ".join(f"{option}=None" for option in options)
    return _ready(f"{module}:{builder.__name__}({written})", specs, model, device)


def _timm_names() -> list[str]:
    timm: Any = importlib.import_module("timm")
    return list(timm.list_models())


def _timm(name: str, folder: Path) -> Subject:
    timm: Any = importlib.import_module("timm")
    builder = timm.model_entrypoint(name)
    model, device = _built(builder)
    sizes = model.default_cfg["input_size"]
    return _ready(f"{builder.__module__}:{builder.__name__}", [_shape(BATCH, *sizes)], model, device)


# ---- transformers ------------------------------------------------------------------------------------------------------

_SMALL = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "encoder_hidden_size", "hidden_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "num_layers", "encoder_layers", "decoder_layers", "n_layers"), 2),
    **dict.fromkeys(("num_encoder_layers", "num_decoder_layers", "encoder_num_layers", "decoder_num_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads"), 4),
    **dict.fromkeys(("decoder_attention_heads", "encoder_num_attention_heads", "decoder_num_attention_heads"), 4),
    **dict.fromkeys(("num_key_value_heads", "num_experts_per_tok"), 2),
    **dict.fromkeys(("head_dim", "d_kv"), 8),
    **dict.fromkeys(("intermediate_size", "encoder_ffn_dim", "decoder_ffn_dim", "ffn_dim", "d_ff", "d_inner"), 64),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 32),
}
"""Sizes of a configuration by the names that most of them have."""
_DEPTHS = {name: size for name, size in _SMALL.items() if "layer" in name}


def _transformers_names() -> list[str]:
    mapping: Any = importlib.import_module("transformers.models.auto.modeling_auto").MODEL_MAPPING_NAMES
    found = {}
    for kind, model in mapping.items():
        found[model if isinstance(model, str) else model[0]] = kind
    return sorted(found)


def _configuration(cls: Any, sizes: dict[str, int]) -> dict[str, Any]:
    """The keywords that make a configuration of that class small."""
    keywords: dict[str, Any] = {}
    parameters = inspect.signature(cls).parameters
    for name, value in sizes.items():
        default = parameters[name].default if name in parameters else None
        if isinstance(default, int) and not isinstance(default, bool):
            keywords[name] = value
    for name, inner in (getattr(cls, "sub_configs", None) or {}).items():
        if name in parameters and inspect.isclass(inner) and inner.__name__ != "AutoConfig":
            keywords[name] = _configuration(inner, sizes)
    return keywords


def _side(configuration: Any) -> int:
    for holder in (configuration, getattr(configuration, "vision_config", None)):
        size = getattr(holder, "image_size", None)
        if isinstance(size, int):
            return size
        if isinstance(size, (list, tuple)) and size:
            return int(size[0])
    return 224


def _given(configuration: Any) -> Iterator[list[str]]:
    """Inputs that a model may take, the most usual first."""
    ids, decoded = f"input_ids={BATCH}x7:int64", f"decoder_input_ids={BATCH}x5:int64"
    image = f"pixel_values={_shape(BATCH, getattr(configuration, 'num_channels', 3) or 3, _side(configuration), _side(configuration))}"
    bins = getattr(configuration, "num_mel_bins", None) or getattr(configuration, "input_feat_per_channel", None) or 80
    sound = f"input_features={_shape(BATCH, bins, 3000)}"
    yield [ids]
    yield [ids, decoded]
    yield [image]
    yield [ids, image]
    yield [f"input_values={BATCH}x4000"]
    yield [sound]
    yield [sound, decoded]
    yield [f"input_features={_shape(BATCH, 100, bins)}"]
    yield [f"input_features={_shape(BATCH, 100, bins)}", decoded]


def _transformers(name: str, folder: Path) -> Subject:
    transformers: Any = importlib.import_module("transformers")
    model_class = getattr(transformers, name)
    config_class = model_class.config_class
    problem: Exception | None = None
    for sizes in (_SMALL, _DEPTHS):
        keywords = _configuration(config_class, sizes)
        torch.manual_seed(0)
        try:
            configuration = config_class(**keywords)
            model = model_class(configuration).eval()
        except Exception as error:
            problem = error
            continue
        for specs in _given(configuration):
            with contextlib.suppress(Exception), torch.no_grad():
                positional, given = _tensors(specs, "cpu")
                model(*positional, **given)
                target = _written(name, config_class.__name__, keywords, folder)
                # Built anew: some replace their layers in a run, and the prediction is of the first one.
                return _ready(target, specs, model_class(config_class(**keywords)).eval(), "cpu")
        problem = problem or NoSubjectError("none of the usual inputs fits")
    raise NoSubjectError(f"{type(problem).__name__}: {problem}"[:300])


def _written(model: str, configuration: str, keywords: dict[str, Any], folder: Path) -> str:
    """A file with a function that builds the model; the target that names it."""
    file = folder / "small_model.py"
    given = ", ".join(f"{name}={value!r}" for name, value in keywords.items())
    file.write_text(
        f"from transformers import {configuration}, {model}\n\n\n"
        f"def build():\n    return {model}({configuration}({given}))\n",
        encoding="utf-8",
    )
    return f"{file}:build"
