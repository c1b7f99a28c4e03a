"""Public knowledge: which attributes hold names of a model's parts, what the names are, and who documents it.

The one place where something of another library is known, and of it only what its documentation says.
`_keys_to_ignore_on_load_unexpected` is not here: its patterns are of keys that a model has not. Nor is
`_skip_keys_device_placement`: its names are arguments of `forward`, not modules.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Names(Enum):
    """What the strings of a declaration name."""

    CLASSES = "the name of a class"
    PLAN = "the path of a module or parameter, `*` for a number"
    PART = "a regular expression, `*` for anything, that is found in the path of a parameter"
    TIED = "the path of a parameter or module, or a regular expression of its beginning"
    KEYS = "a regular expression that is found in a key of the state dict"
    KEY = "a key of the state dict"
    END = "the end of the path of a module"
    WHOLE = "a regular expression of the whole path of a module"
    TEXT = "a regular expression that is found in the name of a parameter"
    ENDING = "a regular expression of the end of the path of a module"
    GLOB = "the path of a module, each name of it with `*`, `?` and `[...]` as in names of files"
    TYPES = "a class, by itself or by one that derives from it"


@dataclass(frozen=True, slots=True)
class Declared:
    """What is known of one attribute."""

    names: Names
    of_configuration: bool = False
    """A configuration has it; the paths begin at the base model of whatever is built with it."""
    values_too: bool = False
    """Of a dict, not the keys alone."""
    source: str = ""
    packages: tuple[str, ...] = ()
    """Of an argument: those whose functions and classes take it."""
    alone: Names | None = None
    """What one text is that stands there without a list; None where that is not looked at."""
    special: tuple[str, ...] = ()
    """Texts that mean something else."""
    places: tuple[tuple[str, int], ...] = ()
    """Functions that take it without its keyword, and at which place."""


_LOADING = "transformers, `PreTrainedModel`: class attributes, as its source and its page of loading describe them"
_PLANS = "transformers, `PreTrainedConfig`: `base_model_tp_plan`, `base_model_pp_plan`; page of tensor parallelism"

ATTRIBUTES: dict[str, Declared] = {
    "_no_split_modules": Declared(
        Names.CLASSES,
        source="accelerate, page of big models: `no_split_module_classes`; transformers, `PreTrainedModel`",
    ),
    "_keep_in_fp32_modules": Declared(Names.PART, source=_LOADING),
    "_keep_in_fp32_modules_strict": Declared(Names.PART, source=_LOADING),
    "_tied_weights_keys": Declared(Names.TIED, values_too=True, source=_LOADING),
    "_keys_to_ignore_on_load_missing": Declared(Names.KEYS, source=_LOADING),
    "_keys_to_ignore_on_save": Declared(Names.KEY, source=_LOADING),
    "_tp_plan": Declared(Names.PLAN, source=_PLANS),
    "_ep_plan": Declared(Names.PLAN, source=_PLANS),
    "_pp_plan": Declared(Names.PLAN, source=_PLANS),
    "_fsdp_plan": Declared(Names.PLAN, source=_PLANS),
    "base_model_tp_plan": Declared(Names.PLAN, of_configuration=True, source=_PLANS),
    "base_model_ep_plan": Declared(Names.PLAN, of_configuration=True, source=_PLANS),
    "base_model_pp_plan": Declared(Names.PLAN, of_configuration=True, source=_PLANS),
    "base_model_fsdp_plan": Declared(Names.PLAN, of_configuration=True, source=_PLANS),
}
"""By attribute of a class."""

_FSDP_CLASSES = Declared(
    Names.CLASSES,
    packages=("transformers", "accelerate"),
    alone=Names.CLASSES,
    source="transformers, `TrainingArguments`: `fsdp_config`; accelerate, `FullyShardedDataParallelPlugin`",
)
_NOT_QUANTIZED = Declared(
    Names.PART,
    packages=("transformers", "accelerate"),
    source="transformers, `replace_with_bnb_linear`; accelerate, `BnbQuantizationConfig`",
)

ARGUMENTS: dict[str, Declared] = {
    "target_modules": Declared(
        Names.END,
        packages=("peft",),
        alone=Names.WHOLE,
        special=("all-linear",),
        source="peft, `LoraConfig`: `target_modules`",
    ),
    "exclude_modules": Declared(
        Names.END, packages=("peft",), alone=Names.WHOLE, source="peft, `LoraConfig`: `exclude_modules`"
    ),
    "modules_to_save": Declared(Names.END, packages=("peft",), source="peft, `LoraConfig`: `modules_to_save`"),
    "target_parameters": Declared(Names.END, packages=("peft",), source="peft, `LoraConfig`: `target_parameters`"),
    "rank_pattern": Declared(Names.ENDING, packages=("peft",), source="peft, `LoraConfig`: `rank_pattern`"),
    "alpha_pattern": Declared(Names.ENDING, packages=("peft",), source="peft, `LoraConfig`: `alpha_pattern`"),
    "no_split_module_classes": Declared(
        Names.CLASSES,
        packages=("accelerate",),
        alone=Names.CLASSES,
        source="accelerate, `infer_auto_device_map`, `dispatch_model`, `load_checkpoint_and_dispatch`",
        places=(("infer_auto_device_map", 2),),
    ),
    "transformer_layer_cls_to_wrap": _FSDP_CLASSES,
    "fsdp_transformer_layer_cls_to_wrap": _FSDP_CLASSES,
    "transformer_cls_names_to_wrap": _FSDP_CLASSES,
    "modules_to_not_convert": _NOT_QUANTIZED,
    "skip_modules": _NOT_QUANTIZED,
    "keep_in_fp32_modules": _NOT_QUANTIZED,
    "parallelize_plan": Declared(
        Names.GLOB,
        packages=("torch",),
        source="torch.distributed.tensor.parallel, `parallelize_module`: each name is matched as by `fnmatch`",
        places=(("parallelize_module", 2),),
    ),
    "split_spec": Declared(
        Names.PLAN, packages=("torch",), source="torch.distributed.pipelining, `pipeline`: `split_spec`"
    ),
    "modules_to_fuse": Declared(
        Names.PLAN,
        packages=("torch",),
        source="torch.ao.quantization, `fuse_modules`",
        places=(("fuse_modules", 1), ("fuse_modules_qat", 1)),
    ),
    "transformer_layer_cls": Declared(
        Names.TYPES, packages=("torch",), source="torch.distributed.fsdp.wrap, `transformer_auto_wrap_policy`"
    ),
    "module_classes": Declared(
        Names.TYPES,
        packages=("torch",),
        source="torch.distributed.fsdp.wrap, `ModuleWrapPolicy`",
        places=(("ModuleWrapPolicy", 0),),
    ),
    "return_layers": Declared(
        Names.PLAN,
        packages=("torchvision",),
        source="torchvision.models._utils, `IntermediateLayerGetter`: names of children",
        places=(("IntermediateLayerGetter", 1),),
    ),
}
"""By keyword of a call."""

NAMING = frozenset(("named_parameters", "named_modules", "named_buffers"))
"""Methods of a module that give names."""

GETTING = frozenset(("get_submodule", "get_parameter", "get_buffer"))
"""Methods of a module that take the path of what they give."""

CONFIGURATION_CLASS = "config_class"
"""By which a model names the class of its configuration. Source: transformers, page of custom models."""
CONFIGURATION = "config"
"""The argument that is one, and the attribute."""
