"""A model and its run without weights: meta construction, and fake tensors that have a shape but no memory."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from modgraph.errors import RAISED_BY_OTHERS, TargetError
from modgraph.tracing.basics.failures import lacked_memory
from modgraph.tracing.basics.members import every_module
from modgraph.tracing.basics.patches import Patches
from modgraph.tracing.basics.tensors import tensors_in
from modgraph.tracing.faking.copying import copied
from modgraph.tracing.faking.fake_mode import new_mode as new_mode
from modgraph.tracing.faking.fake_mode import tolist, with_values

MAX_BUILT = 1 << 30
"""Bytes of tensors that a constructor may take which has to be run for real."""


@contextlib.contextmanager
def running(mode: Any) -> Iterator[None]:
    """Inside, new tensors belong to `mode`, and torch logs no shapes that do not fit; None as mode changes nothing."""
    if mode is None:
        yield
        return
    with quiet(), contextlib.ExitStack() as undo:
        Patches(undo).replace(nn.Module, "_apply", functools.partialmethod(_apply, nn.Module._apply))
        Patches(undo).replace(FakeTensor, "tolist", functools.partialmethod(tolist, FakeTensor.tolist))
        undo.enter_context(mode)
        yield


def _apply(module: nn.Module, original: Any, function: Callable[[Any], Any], recurse: bool = True) -> nn.Module:
    """`Module._apply`, which is behind `.to()` and `.half()`, for parameters that are fake.

    Torch exchanges the contents of a fake parameter with those of the converted one, which it refuses where anybody
    holds a weak reference to either; here the converted one takes the place.
    """
    parameters = {name: value for name, value in module._parameters.items() if isinstance(value, FakeTensor)}
    placed: dict[str, Any] = {}
    for name, parameter in parameters.items():
        with torch.no_grad():
            made = function(parameter)
        placed[name] = parameter if made is parameter else nn.Parameter(made, requires_grad=parameter.requires_grad)
        if made is not parameter and parameter.grad is not None:
            placed[name].grad = function(parameter.grad)
    module._parameters.update(dict.fromkeys(parameters))
    try:
        original(module, function, recurse)
    finally:
        module._parameters.update(placed)
    return module


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
    except RAISED_BY_OTHERS as first:
        # Constructors that read values (a schedule's .item(), a checkpoint) cannot run on meta.
        model = _built_otherwise(make, mode, first)
    convert(model, mode)
    return model


def _built_otherwise(make: Callable[[], nn.Module], mode: Any, first: BaseException) -> nn.Module:
    """On fake tensors, which know the values of what is small and made of constants; else for real, within bounds."""
    with contextlib.suppress(*RAISED_BY_OTHERS), running(mode), without_initialisation():
        return make()
    try:
        with without_initialisation(), _Bounded():
            return make()
    except RAISED_BY_OTHERS as second:
        if not lacked_memory(second):
            raise
        # What is wrong with the model, not what the way out of it cost.
        raise first from second


class _Bounded(TorchDispatchMode):  # type: ignore[misc]
    """Refuses to give tensors more than `MAX_BUILT` bytes in all."""

    def __init__(self) -> None:
        super().__init__()
        self._left = MAX_BUILT

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._overloadpacket in _MAKING:
            with torch.device("meta"):
                size = func(*args, **{**(kwargs or {}), "device": torch.device("meta")}).untyped_storage().nbytes()
            self._left -= size
            if self._left < 0:
                raise MemoryError(f"a model without weights is not built with more than {MAX_BUILT >> 20} MB of them")
        return func(*args, **(kwargs or {}))


_MAKING = frozenset(
    getattr(torch.ops.aten, name)
    for name in (
        *("empty", "zeros", "ones", "full", "rand", "randn", "randint", "randperm", "arange", "eye", "linspace"),
        *("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like"),
        *("new_empty", "new_zeros", "new_ones", "new_full", "empty_strided", "new_empty_strided"),
    )
)
"""Operators that take memory for tensors of any size, out of none."""


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
        for _, leaf in tensors_in(dict(vars(module)), ""):
            if id(leaf) not in memo:
                memo[id(leaf)] = to_fake(leaf, mode)
    return copied(model, memo)


def arguments_to_fake(
    args: tuple[Any, ...], kwargs: dict[str, Any], mode: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same arguments with fake tensors; None as mode leaves them as they are."""
    if mode is None:
        return args, kwargs

    def faked(value: Any) -> Any:
        if not issubclass(type(value), torch.Tensor):
            return value
        known = type(value) is torch.Tensor and not value.dtype.is_floating_point and mode.may_turn_const(value)
        return with_values(value, mode) if known else to_fake(value, mode)

    made: tuple[tuple[Any, ...], dict[str, Any]] = pytree.tree_map(faked, (args, kwargs))
    return made
