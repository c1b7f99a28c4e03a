"""What the rules on declared names are asked with. What answers them is heavy, and loaded where they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from modgraph.rules.rule import Found
from modgraph.rules.subject import FileSubject, Subject

WORDS = (
    "base_model_",  # plans of a configuration
    *("target_modules", "exclude_modules", "modules_to_save", "target_parameters"),  # arguments
    *("rank_pattern", "alpha_pattern", "no_split_module_classes", "infer_auto_device_map", "_to_wrap"),
    *("modules_to_not_convert", "skip_modules", "keep_in_fp32_modules", "parallelize_plan", "parallelize_module"),
    *("split_spec", "fuse_modules", "modules_to_fuse", "transformer_layer_cls", "ModuleWrapPolicy", "module_classes"),
    *("return_layers", "IntermediateLayerGetter"),
    *(".get_submodule(", ".get_parameter(", ".get_buffer("),  # names that are asked for
    *(".named_parameters(", ".named_modules(", ".named_buffers("),  # names that are compared
)
"""Of which one stands in each file that names parts of a model outside of a class of modules."""


def in_class(code: str) -> Callable[[Subject], Iterator[Found]]:
    """What a rule finds among the declarations of a class."""

    def find(subject: Subject) -> Iterator[Found]:
        from modgraph.rules.declared.judging import unfit

        return unfit(subject, code)

    return find


def in_file(code: str) -> Callable[[FileSubject], Iterator[Found]]:
    """What it finds in calls and comparisons of a file."""

    def find(file: FileSubject) -> Iterator[Found]:
        from modgraph.rules.declared.judging import unfit_in_calls

        return unfit_in_calls(file, code)

    return find
