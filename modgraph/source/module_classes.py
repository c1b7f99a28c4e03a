"""Whether a class is an `nn.Module`: the one answer that the prediction, the check and the search for models give.

Yes and no are what its bases say. A base of which nothing can be found, as its package is not installed, leaves it
open; a class that has a `forward` of its own, in a file that imports torch, is then taken for a module, and whoever
asked can say that it is. No name of a library decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from modgraph.source.torch_names import MODULE_BASES, torch_class

TORCH = "torch"
FORWARD = "forward"
"""What torch calls where a module is called."""

OF_NO_MODULES = frozenset(
    [
        "abc",
        "argparse",
        "array",
        "ast",
        "collections",
        "contextlib",
        "copy",
        "dataclasses",
        "datetime",
        "enum",
        "functools",
        "itertools",
        "json",
        "logging",
        "math",
        "operator",
        "os",
        "pathlib",
        "queue",
        "random",
        "re",
        "string",
        "sys",
        "threading",
        "time",
        "types",
        "typing",
        "unittest",
        # numpy, whose arrays tensors are made of, and Python's own `typing` for older Pythons
        "numpy",
        "typing_extensions",
    ]
)
"""Packages of Python whose classes and functions make no modules of their own."""

_NO_BASES = ("torch._C.", "torch.autograd.", "torch.utils.data.", "torch.optim.")
"""Of torch's classes, those that are none."""


def of_bases(answers: Iterable[bool | None]) -> bool | None:
    """Whether a class is a module, by whether its bases are; None where that is not known."""
    known = list(answers)
    if True in known:
        return True
    return None if None in known else False


def of_path(path: str) -> bool | None:
    """The same of an import path of which no file is found."""
    if torch_class(path) or path in MODULE_BASES:
        return True
    if makes_no_modules(path) or path in ("object", "builtins.object") or path.startswith(_NO_BASES):
        return False
    return None


def makes_no_modules(path: str) -> bool:
    """An import path leads to what makes no modules."""
    return path.partition(".")[0] in OF_NO_MODULES


def is_taken(answer: bool | None, has_forward: bool, imports_torch: bool = True) -> bool:
    """Whether a class is treated as a module.

    Args:
        answer: by its bases.
        has_forward: it, or what it derives from, has a `forward` that is called on an instance.
        imports_torch: the file in which it stands does.
    """
    return answer is True or (answer is None and has_forward and imports_torch)
