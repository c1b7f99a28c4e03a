"""Defaults of the arguments of torch's own layers, which a graph leaves out: numbers, texts and truth values."""

from __future__ import annotations

from modgraph.source.layer_parameters import layer_defaults


def torch_default(class_name: str | None, argument: str) -> str:
    """The default of an argument of one of torch's layers as it is written; "" where none is known."""
    package, _, name = (class_name or "").rpartition(".")
    if not package.startswith("torch.nn."):
        return ""
    try:
        defaults = layer_defaults(name)
    except LookupError:
        return ""
    return repr(defaults[argument]) if argument in defaults else ""
