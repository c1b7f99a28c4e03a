"""Functions and methods of Python and torch, by what they do with what they are given."""

from __future__ import annotations

ADDING = frozenset(("append", "extend", "insert", "add", "update", "setdefault", "appendleft", "__setitem__"))
TAKING = frozenset(("get", "pop", "popitem", "items", "values", "keys", "copy", "popleft", "__getitem__"))
SAME = frozenset(
    [
        "to",
        "cuda",
        "cpu",
        "eval",
        "train",
        "half",
        "float",
        "double",
        "bfloat16",
        "requires_grad_",
        "apply",
        "type",
        "to_empty",
        "share_memory",
    ]
)
"""Methods of a module that give it back."""
DATA_OF_MODULES = frozenset(
    [
        "state_dict",
        "parameters",
        "named_parameters",
        "buffers",
        "named_buffers",
        "extra_repr",
        "zero_grad",
        "load_state_dict",
    ]
)
ALIKE = frozenset(
    [
        "list",
        "tuple",
        "set",
        "frozenset",
        "dict",
        "reversed",
        "sorted",
        "iter",
        "next",
        "zip",
        "enumerate",
        "sum",
        "min",
        "max",
        "filter",
    ]
)
"""Functions of Python's that give what is in what they are given."""
COPYING = ("copy.", "itertools.", "collections.", "functools.", "typing.", "dataclasses.", "contextlib.")
TOUCHING: tuple[str, ...] = (
    "torch.nn.utils.",
    "torch.ao.",
    "torch.quantization.",
    "torch.compile",
    "torch.jit.",
    "torch.distributed.",
)
TOUCHING += ("torch.fx.", "torch.func.", "torch.export.", "torch._dynamo.", "torch.compiler.")
"""What of torch may change or wrap a module that it is given."""
REGISTRIES = frozenset(("_modules", "_parameters", "_buffers"))
"""Where a module keeps what it has, by name."""
