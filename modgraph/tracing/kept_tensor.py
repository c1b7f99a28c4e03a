"""One tensor as it was before a run: its memory, flags and gradient, and its values if they are to be put back."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.parameter import is_lazy

from modgraph.tracing.tensors import is_fake

_INTEGER_OF_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class KeptTensor:
    """The state of one tensor at one moment. Call with torch functions and gradients off."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor
        self._class = type(tensor)
        self._lazy = is_lazy(tensor)
        self._data = tensor.data
        self._requires_grad = tensor.requires_grad
        self._is_leaf = tensor.is_leaf
        self._values: torch.Tensor | None = None
        self.gradient = tensor.grad if tensor.is_leaf else None
        """What it had as `grad`: a tensor of which the values are kept by itself."""

    @property
    def has_its_gradient(self) -> bool:
        """Whether the gradient stands where it stood."""
        return self.gradient is not None and self._tensor.grad is self.gradient

    def keep_values(self) -> None:
        """Copy the values, once: those that the memory has now."""
        if self._values is None and not self._lazy:
            self._values = _copy(self._data)

    def set_gradient_aside(self) -> None:
        """Let the tensor have no gradient until `restore`, and so its gradient stay untouched."""
        if self.gradient is not None:
            self._tensor.grad = None

    def restore(self) -> None:
        """Put everything back that is not as it was."""
        tensor = self._tensor
        if type(tensor) is not self._class:
            tensor.__class__ = self._class  # a lazy parameter that the run gave its shape
        if self._lazy or not _same_memory(tensor, self._data):
            tensor.data = self._data
        if self._values is not None:
            _put_back(self._data, self._values)
        if self._is_leaf:
            if not tensor.is_leaf:  # it was written into with gradients on, and so became a result of the run's
                tensor.detach_()
            if tensor.requires_grad != self._requires_grad:
                tensor.requires_grad_(self._requires_grad)
            if tensor.grad is not self.gradient:
                tensor.grad = self.gradient


def storage_of(tensor: torch.Tensor) -> int:
    """What is the same number for all tensors that share their memory; 0 for one without a storage."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return 0


def _copy(tensor: torch.Tensor) -> torch.Tensor | None:
    """A copy of the values; None where there are none, or where a tensor of this kind cannot be put back."""
    if tensor.device.type == "meta" or tensor.is_nested or is_fake(tensor) or _is_freed(tensor):
        return None
    try:
        return _each_element_once(tensor.detach()).clone()
    except (RuntimeError, NotImplementedError):
        return None


def _put_back(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """Write the values back where they differ; given a `.data`, no version counter of the user's moves."""
    if _is_freed(tensor):
        return
    memory = _each_element_once(tensor)
    try:
        same = torch.equal(_bits(memory), _bits(values))
    except (RuntimeError, NotImplementedError, KeyError):  # not comparable: a sparse or quantised layout
        same = False
    if not same:
        memory.copy_(values)


def _is_freed(tensor: torch.Tensor) -> bool:
    """Whether its memory was given back, as FSDP does with parameters that it gathers: to read it ends the process."""
    try:
        return bool(tensor.numel() > 0 and tensor.untyped_storage().nbytes() == 0)
    except (RuntimeError, NotImplementedError):  # no storage
        return False


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as integers: of floating numbers NaN differs from itself, and 0 does not from -0."""
    if tensor.is_quantized:
        return tensor.int_repr()
    if tensor.layout != torch.strided:
        raise NotImplementedError("values in several tensors")
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.view(_INTEGER_OF_SIZE[tensor.element_size()])


def _each_element_once(tensor: torch.Tensor) -> torch.Tensor:
    """The memory of `tensor` as a view that can be written; an expanded tensor has elements in several places."""
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.numel() == 0:
        return tensor
    extent = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    repeats = any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.as_strided((extent,), (1,)) if repeats or tensor.numel() > extent else tensor


def _same_memory(tensor: torch.Tensor, data: torch.Tensor) -> bool:
    if tensor.layout != torch.strided or tensor.is_nested:
        return True
    if tensor.shape != data.shape or tensor.dtype != data.dtype or tensor.device != data.device:
        return False
    try:
        return bool(
            tensor.untyped_storage()._cdata == data.untyped_storage()._cdata
            and tensor.storage_offset() == data.storage_offset()
            and tensor.stride() == data.stride()
        )
    except (RuntimeError, NotImplementedError):  # no storage to compare
        return True


def unwrapped(tensor: Any) -> torch.Tensor:
    """The tensor behind the wrappers that `torch.func`'s transforms put around it."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor
