"""Words of which one stands in each file that names parts of a model outside of a class of modules."""

WORDS = (
    "base_model_",  # plans of a configuration
    *("target_modules", "modules_to_save", "no_split_module_classes", "parallelize_plan"),  # arguments
    *(".named_parameters(", ".named_modules(", ".named_buffers("),  # names that are compared
)
