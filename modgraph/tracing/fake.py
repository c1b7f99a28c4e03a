"""A model and its run without weights: meta construction, and fake tensors that have a shape but no memory."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils import _pytree as pytree

from modgraph.errors import TargetError
from modgraph.tracing.copying import copied
from modgraph.tracing.members import every_module


def new_mode(*, symbolic: bool = True) -> Any:
    """A mode under which every new tensor is fake, and real ones met on the way are taken as they are.

    Args:
        symbolic: sizes that depend on values (`nonzero`, masks) become unknown sizes instead of an error.
    """
    shape_env = None
    if symbolic:
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        shape_env = ShapeEnv()
    return FakeTensorMode(allow_non_fake_inputs=True, shape_env=shape_env, static_shapes=True)


@contextlib.contextmanager
def running(mode: Any) -> Iterator[None]:
    """Inside, new tensors belong to `mode`, and torch logs no shapes that do not fit; None as mode changes nothing."""
    if mode is None:
        yield
        return
    with quiet(), mode:
        yield


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Torch logs the traceback of every shape that does not fit, beside raising it."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


def build(make: Callable[[], nn.Module], mode: Any) -> nn.Module:
    """The model that `make` gives, with fake parameters; its weights are never allocated where that can be avoided."""
    try:
        with torch.device("meta"):
            model = make()
    except TargetError:
        raise
    except Exception:
        # Constructors that read values (a schedule's .item(), a checkpoint) cannot run on meta.
        with without_initialisation():
            model = make()
    convert(model, mode)
    return model


@contextlib.contextmanager
def without_initialisation() -> Iterator[None]:
    """`torch.nn.init.*_` return their tensor as it is: initial values cost more time than all else."""
    names = [name for name in vars(nn.init) if name.endswith("_") and not name.startswith("_")]
    before = {name: getattr(nn.init, name) for name in names if callable(getattr(nn.init, name))}
    try:
        for name in before:
            setattr(nn.init, name, _as_it_is)
        yield
    finally:
        for name, function in before.items():
            setattr(nn.init, name, function)


def _as_it_is(tensor: Any = None, *_: Any, **keywords: Any) -> Any:
    return keywords.get("tensor", tensor)


def to_fake(tensor: torch.Tensor, mode: Any, device: str = "cpu") -> torch.Tensor:
    """A fake of `tensor`; the tensor itself where it is one already, lazy, or of a kind that has no fake."""
    if isinstance(tensor, FakeTensor) or nn.parameter.is_lazy(tensor):
        return tensor
    try:
        if tensor.device.type != "meta":
            return mode.from_tensor(tensor)
        return _from_meta(tensor, mode, device)
    except (NotImplementedError, RuntimeError, AssertionError, TypeError):
        return tensor


def _from_meta(tensor: torch.Tensor, mode: Any, device: str) -> torch.Tensor:
    with torch.no_grad():
        fake = FakeTensor(mode, tensor.detach(), torch.device(device))
    if isinstance(tensor, nn.Parameter):
        parameter: torch.Tensor = nn.Parameter(fake, requires_grad=tensor.requires_grad)
        for name, value in vars(tensor).items():
            setattr(parameter, name, value)
        return parameter
    return fake.requires_grad_(tensor.requires_grad) if tensor.is_leaf else fake


def convert(model: nn.Module, mode: Any, device: str = "cpu") -> None:
    """Every parameter, buffer and tensor attribute of `model`, in place, becomes fake; what was tied stays tied."""
    memo: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def faked(value: torch.Tensor) -> torch.Tensor:
        if id(value) not in memo:
            # The original is kept beside its fake: a freed one's address would be taken for another's.
            memo[id(value)] = (value, to_fake(value, mode, device))
        return memo[id(value)][1]

    for module in every_module(model):
        for store in (module._parameters, module._buffers, vars(module)):
            for name, value in list(store.items()):
                if issubclass(type(value), torch.Tensor):
                    store[name] = faked(value)
                elif store is vars(module) and type(value) in (list, dict):
                    _convert_inside(value, faked)


def _convert_inside(container: Any, faked: Callable[[torch.Tensor], torch.Tensor]) -> None:
    items = list(container.items()) if isinstance(container, dict) else list(enumerate(container))
    for key, value in items:
        if issubclass(type(value), torch.Tensor):
            container[key] = faked(value)


def fake_copy(model: nn.Module, mode: Any) -> nn.Module:
    """A copy of `model` with fake tensors; the model itself is left alone."""
    memo: dict[int, Any] = {}
    for module in every_module(model):
        for store in (module._parameters, module._buffers, vars(module)):
            for leaf in pytree.tree_leaves(dict(store)):
                if issubclass(type(leaf), torch.Tensor) and id(leaf) not in memo:
                    memo[id(leaf)] = to_fake(leaf, mode)
    return copied(model, memo)


def arguments_to_fake(
    args: tuple[Any, ...], kwargs: dict[str, Any], mode: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same arguments with fake tensors; None as mode leaves them as they are."""
    if mode is None:
        return args, kwargs

    def faked(value: Any) -> Any:
        return to_fake(value, mode) if issubclass(type(value), torch.Tensor) else value

    made: tuple[tuple[Any, ...], dict[str, Any]] = pytree.tree_map(faked, (args, kwargs))
    return made
