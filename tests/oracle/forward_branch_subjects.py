"""Models of libraries with options: what `forward_branches.py` is to build, and what the prediction is not told.

Where an option is one of the building, or set on the model once it is built, a function that takes it is written to a
file that both read.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
try:
    import forward_models
    from forward_branch_models import FLAG, WRITTEN, Branching
finally:
    sys.path.remove(str(HERE))


@dataclass
class Run:
    """One setting: a model as it is built for it, and what it is called with."""

    text: str
    """What was chosen: "train, mode='b'"."""
    subject: forward_models.Subject
    is_usual: bool
    """In eval mode, with every option of `forward` left at its default."""
    options: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Those of `forward`: what is given, and the default."""


@dataclass
class Branches:
    """One model with all its settings."""

    target: str
    inputs: tuple[str, ...]
    options: tuple[str, ...]
    """Arguments of `forward` of which nothing is told."""
    modes: tuple[bool, ...]
    runs: Iterator[Run]


@dataclass(frozen=True)
class Library:
    """A model of a library, with what is chosen."""

    name: str
    inputs: tuple[str, ...]
    source: str
    """The text of a file with a function `build`; its parameters are told to nobody."""
    options: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    built: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    modes: tuple[bool, ...] = (False, True)


def names_of(library: str) -> list[str]:
    """All models there are of one table."""
    if library == "written":
        return [each.name for each in WRITTEN]
    tables = {"torchvision": _TORCHVISION, "timm": _TIMM, "transformers": _TRANSFORMERS}
    return list(tables[library])


def branches_of(library: str, name: str, folder: Path) -> Branches:
    """The model of that name; files that it needs are written to `folder`.

    Raises:
        NoSubjectError: torch does not build it.
    """
    if library == "written":
        return _written(next(each for each in WRITTEN if each.name == name))
    if library == "transformers":
        return _of_transformers(name, folder)
    made = {"torchvision": _TORCHVISION, "timm": _TIMM}[library][name]
    forward_models.names_of("torchvision")  # makes it importable
    file = folder / "branching_model.py"
    file.write_text(made.source, encoding="utf-8")
    build = _module(file).build
    runs = _runs(build, made, (1.0,))
    return Branches(f"{file}:build", made.inputs, tuple(made.options), made.modes, runs)


def _module(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _written(made: Branching) -> Branches:
    file = HERE / "forward_branch_models.py"
    build = getattr(importlib.import_module("forward_branch_models"), made.name)
    return Branches(f"{file}:{made.name}", made.inputs, tuple(made.options), made.modes, _runs(build, made, made.fills))


def _runs(build: Callable[..., torch.nn.Module], made: Branching | Library, fills: Sequence[float]) -> Iterator[Run]:
    """Every combination, each with a model of its own."""
    defaults: Mapping[str, Any] = {}
    for chosen in _combinations(made.built):
        torch.manual_seed(0)
        model = build(**chosen)
        defaults = {name: each.default for name, each in inspect.signature(model.forward).parameters.items()}
        for training, given, fill in itertools.product(made.modes, _combinations(made.options), fills):
            keywords = {name: _value(value) for name, value in given.items()}
            positional, named = forward_models._tensors(made.inputs, "cpu")
            positional = tuple(_filled(each, fill) for each in positional)
            subject = forward_models.Subject("", made.inputs, model.train(training), positional, {**named, **keywords})
            is_usual = not training and all(defaults.get(name) == value for name, value in given.items())
            text = ", ".join(
                [
                    "train" if training else "eval",
                    *(f"{name}={value!r}" for name, value in (*chosen.items(), *given.items())),
                    *([f"full of {fill}"] if len(fills) > 1 else []),
                ]
            )
            with_defaults = {name: (value, defaults.get(name)) for name, value in given.items()}
            yield Run(text, subject, is_usual, with_defaults)


def _combinations(options: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(options, each, strict=True)) for each in itertools.product(*options.values())]


def _value(value: Any) -> Any:
    """A text that describes a tensor is one."""
    if isinstance(value, str) and re.fullmatch(r"\d+(x\d+)*:\w+|\d+(x\d+)+", value):
        return forward_models._tensors([value], "cpu")[0][0]
    return value


def _filled(tensor: torch.Tensor, fill: float) -> torch.Tensor:
    return torch.full_like(tensor, fill) if tensor.is_floating_point() else tensor


# ---- torchvision, timm -----------------------------------------------------------------------------------------------


def _torchvision(name: str, size: str = "2x3x64x64", text: str = "", **more: Any) -> Library:
    call = f"models.{name}(weights=None{text})"
    built: Mapping[str, Sequence[Any]] = more.get("built", {})
    source = f"from torchvision import models\n\n\ndef build({', '.join(built)}):\n    return {call}\n"
    return Library(name, (size,), source, **more)


_NO_BACKBONE = ", weights_backbone=None"
_TORCHVISION = {
    each.name: each
    for each in (
        _torchvision("googlenet", "2x3x96x96", ", init_weights=False, aux_logits=True"),
        _torchvision("inception_v3", "2x3x299x299", ", init_weights=False, aux_logits=True"),
        _torchvision("resnet18"),
        _torchvision("densenet121", text=", memory_efficient=memory_efficient", built={"memory_efficient": FLAG}),
        _torchvision("efficientnet_b0"),
        _torchvision("swin_t"),
        _torchvision("mobilenet_v3_small"),
        _torchvision("shufflenet_v2_x0_5"),
        _torchvision("vit_b_16", "2x3x32x32", ", image_size=32"),
        _torchvision("convnext_tiny"),
        dataclasses.replace(
            _torchvision("fcn_resnet50", text=f"{_NO_BACKBONE}, aux_loss=True"),
            source="from torchvision.models.segmentation import fcn_resnet50\n\n\n"
            "def build():\n    return fcn_resnet50(weights=None, weights_backbone=None, aux_loss=True)\n",
        ),
        dataclasses.replace(
            _torchvision("raft_small"),
            inputs=("1x3x128x128", "1x3x128x128"),
            source="from torchvision.models.optical_flow import raft_small\n\n\n"
            "def build():\n    return raft_small(weights=None)\n",
            options={"num_flow_updates": (1, 3)},
        ),
    )
}


def _timm(name: str, size: str = "2x3x64x64", text: str = "", then: str = "", **more: Any) -> Library:
    built: Mapping[str, Sequence[Any]] = more.get("built", {})
    lines = ["import timm", "", "", f"def build({', '.join(built)}):"]
    lines.append(f"    model = timm.create_model({name!r}, pretrained=False{text})")
    lines += [f"    {then}"] * bool(then) + ["    return model", ""]
    label = name + "".join([*(f" {each}" for each in built), *([f" {text.strip(', ')}"] if text else [])])
    return Library(label, (size,), "\n".join(lines), **more)


_CHECKPOINT = "model.set_grad_checkpointing(grad_checkpointing)"
_CHECKPOINTING: Mapping[str, Sequence[Any]] = {"grad_checkpointing": FLAG}
_TIMM = {
    each.name: each
    for each in (
        _timm("resnet18", then=_CHECKPOINT, built=_CHECKPOINTING),
        _timm("resnet18", text=", features_only=True"),
        _timm("resnet18", text=", drop_path_rate=0.1, drop_block_rate=0.1"),
        _timm("vit_tiny_patch16_224", "2x3x224x224", then=_CHECKPOINT, built=_CHECKPOINTING),
        _timm("vit_tiny_patch16_224", "2x3x224x224", ", drop_path_rate=0.1, patch_drop_rate=0.25"),
        _timm("deit_tiny_distilled_patch16_224", "2x3x224x224"),
        _timm("levit_128s", "2x3x224x224"),
        _timm("repvit_m0_9"),
        _timm("efficientnet_b0", then=_CHECKPOINT, built=_CHECKPOINTING),
        _timm("mobilenetv3_small_050", text=", features_only=True"),
        _timm("efficientformer_l1", "2x3x224x224"),
        _timm("convnext_atto", text=", drop_path_rate=0.1"),
        _timm("convnext_atto", then=_CHECKPOINT, built=_CHECKPOINTING),
        _timm("swin_tiny_patch4_window7_224", "2x3x224x224", then=_CHECKPOINT, built=_CHECKPOINTING),
        _timm("mixer_s32_224", "2x3x224x224", ", drop_path_rate=0.1"),
        _timm("pvt_v2_b0", then=_CHECKPOINT, built=_CHECKPOINTING),
        _timm("beit_base_patch16_224", "2x3x224x224", options={}),
        _timm("inception_v3", "2x3x299x299", ", aux_logits=True"),
        _timm("densenet121", then=_CHECKPOINT, built=_CHECKPOINTING),
        _timm("regnetx_002", text=", features_only=True, out_indices=(1, 3)"),
        _timm("volo_d1_224", "2x3x224x224"),
        _timm("cait_xxs24_224", "2x3x224x224"),
        _timm("edgenext_xx_small"),
        _timm("hardcorenas_a"),
        _timm("vit_tiny_patch16_224", "2x3x224x224", ", features_only=True"),
    )
}


# ---- transformers ----------------------------------------------------------------------------------------------------

_MAYBE = (None, False, True)
_OUTPUTS: Mapping[str, Sequence[Any]] = {"output_attentions": (None, True), "output_hidden_states": (None, True)}
_DICT: Mapping[str, Sequence[Any]] = {"return_dict": (None, False)}
_CACHE: Mapping[str, Sequence[Any]] = {"use_cache": _MAYBE}
_ONE_LABEL: Mapping[str, Sequence[Any]] = {"labels": (None, "2:int64")}
_LABELS: Mapping[str, Sequence[Any]] = {"labels": (None, "2x7:int64")}

_TRANSFORMERS: dict[str, Mapping[str, Sequence[Any]]] = {
    "BertModel": {**_OUTPUTS, **_DICT},
    "BertForMaskedLM": {**_LABELS, **_DICT},
    "GPT2LMHeadModel": {**_LABELS, **_CACHE},
    "GPT2Model": {**_OUTPUTS, **_CACHE},
    "LlamaForCausalLM": {**_LABELS, **_CACHE},
    "LlamaModel": {**_OUTPUTS, **_CACHE},
    "T5Model": {**_OUTPUTS, **_CACHE},
    "BartModel": {**_OUTPUTS, **_CACHE},
    "OPTModel": {**_OUTPUTS, **_CACHE},
    "DistilBertModel": {**_OUTPUTS, **_DICT},
    "ElectraForTokenClassification": {**_LABELS, **_OUTPUTS},
    "AlbertModel": {**_OUTPUTS, **_DICT},
    "RobertaForMaskedLM": {**_LABELS, **_OUTPUTS},
    "ViTModel": {**_OUTPUTS, **_DICT},
    "ViTForImageClassification": {**_OUTPUTS, "labels": (None, "2x1:int64")},
    "MistralModel": {**_OUTPUTS, **_CACHE},
    "Wav2Vec2Model": _OUTPUTS,
    "XLNetModel": {**_OUTPUTS, "use_mems": (None, True)},
}


def _of_transformers(name: str, folder: Path) -> Branches:
    """A model of a small configuration; what cannot be chosen there is left out."""
    first = forward_models.subject_of("transformers", name, folder)
    parameters = inspect.signature(first.model.forward).parameters
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    options = {key: values for key, values in _TRANSFORMERS[name].items() if key in parameters or takes_any}
    made = Library(name, first.inputs, "", options)
    return Branches(first.target, first.inputs, tuple(options), made.modes, _runs(lambda: first.model, made, (1.0,)))
