"""Models with one flag that nobody can tell: what is claimed of them, held against what torch builds with either value.

Tests have it as the fixture `claims_that_fail` (conftest.py).
"""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

from modgraph.graph.model import IN_ANY_ORDER, Graph, ModuleNode, Problem

HEADER = """\
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import operator
import types
import typing

import torch
from torch import nn
import torch.nn.functional as F

"""
NET = """

class Net(nn.Module):
    def __init__(self, flag):
        super().__init__()
        self.sure = nn.Linear(1, 1)
"""
VALUES = (True, False)
TOTALS = ("parameters", "trainable parameters", "buffers")


def source(body: str, header: str = "") -> str:
    """A module whose `Net(flag)` runs the body; `header` stands before the class."""
    indented = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
    return f"{HEADER}{textwrap.dedent(header)}{NET}{indented}\n"


def claims_that_fail(predict: Callable[[str], Graph], body: str, header: str = "") -> list[tuple[Any, ...]]:
    """What the prediction claims with certainty and torch contradicts, for either value of the flag.

    Raises:
        AssertionError: neither value builds, or what the flag does not touch is not known.
    """
    text = source(body, header)
    graph = predict(text)
    sure = next((node for node in graph.modules if node.path == "sure"), None)
    assert sure is not None
    assert sure.class_name == "torch.nn.modules.linear.Linear"
    found = contradicted(graph, text)
    assert found is not None, "it is built with neither value"
    return found


def contradicted(graph: Graph, text: str) -> list[tuple[Any, ...]] | None:
    """What a graph of that source claims and torch contradicts, for either value of the flag; None if neither builds."""
    models = {value: model for value in VALUES if (model := _built(text, value)) is not None}
    return (
        [(value, *each) for value, model in models.items() for each in contradictions(graph, model)] if models else None
    )


def _built(text: str, value: bool) -> Any:
    import torch

    namespace: dict[str, Any] = {"__name__": "net"}
    exec(compile(text, "net.py", "exec", dont_inherit=True), namespace)
    made = [cls for cls in namespace.values() if isinstance(cls, type) and cls.__module__ == "net"]
    for cls in made:
        if "__init__" in vars(cls) and hasattr(cls, "named_modules"):
            cls.__init__ = _noted(cls.__init__)  # type: ignore[misc]
    MADE.clear()
    try:
        return namespace["Net"](value)
    except Exception:
        return None
    finally:  # what a model leaves behind is no affair of the tests after it
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)


MADE: dict[int, tuple[Any, dict[str, Any]]] = {}
"""Modules of the classes of the source, by `id`, and the arguments that each was made with."""


def _noted(constructor: Callable[..., None]) -> Callable[..., None]:
    signature = inspect.signature(constructor)

    @functools.wraps(constructor)
    def init(self: Any, *positional: Any, **named: Any) -> None:
        if id(self) not in MADE:
            arguments = signature.bind(self, *positional, **named)
            arguments.apply_defaults()
            MADE[id(self)] = (self, arguments.arguments)
        constructor(self, *positional, **named)

    return init


def _arguments(node: ModuleNode, module: Any) -> Iterator[tuple[Any, ...]]:
    _, given = MADE.get(id(module), (None, {}))
    for name, value in node.arguments.items():
        if name in given and isinstance(value, (bool, int, float, str, type(None))) and given[name] != value:
            yield ("argument", node.path, name, value)


def contradictions(graph: Graph, model: Any) -> Iterator[tuple[Any, ...]]:
    """What the graph claims and the model has not, and what the model has and the graph leaves no place for."""
    tree = _Tree(model)
    real = dict(_children(model))
    beside = tuple(f"{node.path}." for node in graph.modules if not node.registered)
    nodes = {node.path: node for node in graph.modules if node.registered and not node.path.startswith(beside)}
    claimed = {path: node for path, node in nodes.items() if node.class_name is not None}
    above = [path[:-1] if path.endswith("?") else f"{path}." for path in nodes if path not in claimed]
    told = {problem.module for problem in graph.open_places}
    one_of_some = {problem.module for problem in graph.open_places if " is one of " in problem.message}
    yield from (("told", each.message) for each in graph.open_places if _is_refuted(each, real))
    yield from (("invented", path) for path in claimed if path not in real and not _may_be_absent(path, graph))
    yield from (
        ("missing", path)
        for path in real
        if path not in nodes and not path.startswith(tuple(above)) and None not in told
    )
    both = [path for path in claimed if path in real and not _may_be_absent(path, graph)]
    in_any_order = {each.module for each in graph.open_places if IN_ANY_ORDER in each.message}
    for above, children in _by_parent(path for path in real if path in both).items():
        if above not in in_any_order and children != _by_parent(both)[above]:
            yield ("order", above, children)
    first: dict[int, str] = {}
    for path, module in real.items():
        before = first.setdefault(id(module), path) if module is not None else path
        node = claimed.get(path)
        if node is None:
            continue
        if node.class_name != _name_of(type(module)):
            yield ("class", path, node.class_name)
        if module is None:
            continue
        alias = before if before != path else None
        if node.alias_of != alias and not (node.alias_of is None and (before not in claimed or path in one_of_some)):
            yield ("alias", path, node.alias_of)
        if node.alias_of is None:
            yield from _tensors(node, module, told)
            if path in tree.nodes and node.path not in told:
                yield from _ties(node, tree.nodes[path], claimed.keys() - told)
            yield from _arguments(node, module)
    if not graph.problems:
        hidden = {(node.path, node.class_name) for node in graph.modules if not node.registered}
        yield from (("hidden", *each) for each in hidden ^ tree.hidden)
    info = graph.model
    for name, ours, theirs in zip(
        TOTALS, (info.parameters, info.trainable_parameters, info.buffers), tree.totals, strict=True
    ):
        if ours is not None and theirs is not None and ours != theirs:
            yield ("total", name, ours, theirs)


def _by_parent(paths: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(path.rpartition(".")[0], []).append(path)
    return found


def _is_refuted(problem: Problem, real: dict[str, Any]) -> bool:
    """It says that nothing is built, or that a child is of one of some classes, and it is of another."""
    what = problem.message.partition(": ")[0]
    names = what.rpartition(" is ")[2].split(" or ")
    child = problem.module if len(names) > 1 and problem.module in real else None
    return what == "the model cannot be built" or (child is not None and type(real[child]).__name__ not in names)


def _may_be_absent(path: str, graph: Graph) -> bool:
    """A problem of the module above says that the child is there on some paths only."""
    parent, _, name = path.rpartition(".")
    return any(each.module == parent and f"may have a child {name!r}: " in each.message for each in graph.open_places)


def _tensors(node: ModuleNode, module: Any, told: set[str | None]) -> Iterator[tuple[Any, ...]]:
    persistent = module._non_persistent_buffers_set
    for kind, ours, theirs in (
        ("parameter", node.parameters, module._parameters),
        ("buffer", node.buffers, module._buffers),
    ):
        there = {name: tensor for name, tensor in theirs.items() if tensor is not None}
        for each in ours:
            tensor = there.get(each.name)
            if tensor is None:
                if node.path not in told and None not in told:
                    yield (kind, node.path, each)
                continue
            last = getattr(each, "trainable", None) if kind == "parameter" else getattr(each, "persistent", None)
            truth = tensor.requires_grad if kind == "parameter" else each.name not in persistent
            if not _fits(each, tensor) or last not in (None, truth):
                yield (kind, node.path, each)
        if node.path not in told and None not in told and [each.name for each in ours] != list(there):
            yield (kind, node.path, list(there))


def _fits(claim: Any, tensor: Any) -> bool:
    shape = claim.shape is None or (
        len(claim.shape) == tensor.dim()
        and all(size in (None, real) for size, real in zip(claim.shape, tensor.shape, strict=True))
    )
    return shape and claim.dtype in (None, str(tensor.dtype).removeprefix("torch."))


def _name_of(cls: type) -> str:
    return "NoneType" if cls is type(None) else f"{cls.__module__}.{cls.__qualname__}"


def _children(model: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every registered module by each of its paths, and the names registered with None."""
    yield path, model
    for name, child in model._modules.items() if model is not None else ():
        yield from _children(child, f"{path}.{name}" if path else name)


class _Tree:
    """What the live model hides, which of its parameters are tied, and how many elements it has."""

    def __init__(self, model: Any) -> None:
        from modgraph.tracing.recording.tree import Tree

        tree = Tree(model)
        self.nodes = {node.path: node for node in tree.nodes}
        self.hidden = {(node.path, node.class_name) for node in tree.nodes if not node.registered}
        self.totals = tuple(tree.totals())


def _ties(ours: ModuleNode, theirs: ModuleNode, claimed: Set[str]) -> Iterator[tuple[Any, ...]]:
    truth = {each.name: each.alias_of for each in (*theirs.parameters, *theirs.buffers)}
    for each in (*ours.parameters, *ours.buffers):
        tied = truth.get(each.name)
        if each.name in truth and each.alias_of != tied:
            owner = "" if tied is None else tied.rpartition(".")[0]
            if each.alias_of is not None or owner in claimed:
                yield ("tie", ours.path, each.name, each.alias_of, tied)
