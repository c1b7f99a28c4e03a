"""One tensor as it was before a run: memory, flags, gradient, version, and its values if they are to be put back.

The version is how often torch counts a tensor as written into. A graph of autograd made before the run keeps the number
that it saw and refuses to go back where it has moved, whatever the values are.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.parameter import is_lazy

from modgraph.tracing.basics.tensors import inner_tensors, is_fake, version_of

_INTEGER_OF_SIZE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class KeptTensor:
    """The state of one tensor at one moment. Call with torch functions and gradients off.

    Args:
        trusted: the run writes into no memory, as it runs without values.
        foreign: no module holds it, and the run may have made it itself, where nobody saw it: it is put back as far as
            writes were told of, and nothing is said of the rest.
    """

    __slots__ = (
        *("_class", "_data", "_foreign", "_history", "_is_leaf", "_is_plain", "_lazy", "_n_bytes", "_parts"),
        *("_requires_grad", "_tensor", "_trusted", "_values", "_version", "gradient"),
    )

    def __init__(self, tensor: torch.Tensor, *, trusted: bool = False, foreign: bool = False) -> None:
        self._trusted, self._foreign = trusted, foreign
        self._tensor = tensor
        self._class = type(tensor)
        self._lazy = is_lazy(tensor)
        self._data = tensor.data
        self._requires_grad = tensor.requires_grad
        self._is_leaf = tensor.is_leaf
        self._version = version_of(tensor)
        self._n_bytes: int | None = None
        # That of a view is made anew whenever it is asked for, so that another one says nothing.
        self._history = None if self._is_leaf or tensor._is_view() else tensor.grad_fn
        self._values: torch.Tensor | None = None
        self._is_plain = self._data.layout is torch.strided and not self._data.is_nested
        self._parts = [] if self._is_plain else [KeptTensor(part) for part in _parts(self._data)]
        self.gradient = tensor.grad if tensor.is_leaf else None
        """What it had as `grad`: a tensor of which the values are kept by itself."""

    @property
    def has_its_gradient(self) -> bool:
        """Whether the gradient stands where it stood."""
        return self.gradient is not None and self._tensor.grad is self.gradient

    def keep_values(self) -> None:
        """Copy the values, once: those that the memory has now."""
        for part in self._parts:
            part.keep_values()
        if self._values is None and not self._lazy and not self._parts:
            self._n_bytes = _bytes_of(self._data)
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
        same = _same_memory if self._is_plain else _same_parts
        same_memory = not self._lazy and same(tensor, self._data)
        for part in self._parts:
            part.restore()
        if not same_memory:
            tensor.data = self._data
        if self._values is not None:
            _resize_back(self._data, self._n_bytes)
            _put_back(self._data, self._values)
        if self._is_leaf:
            if not tensor.is_leaf:  # it was written into with gradients on, and so became a result of the run's
                tensor.detach_()
            if tensor.requires_grad != self._requires_grad:
                tensor.requires_grad_(self._requires_grad)
            if tensor.grad is not self.gradient:
                tensor.grad = self.gradient
        self._restore_version(same_memory)
        if self._history is not None and not self._foreign and tensor.grad_fn is not self._history:
            raise RuntimeError("a tensor with a history was written into with gradients on: its history is another")

    def _restore_version(self, same_memory: bool) -> None:
        tensor = self._tensor
        if self._version is None or version_of(tensor) in (None, self._version):
            return
        has_copy = self._values is not None or any(part._values is not None for part in self._parts)
        if self._foreign and not has_copy:
            return
        unseen = same_memory and not has_copy and _has_values(self._data) and not self._lazy
        if unseen and not self._trusted and not _is_freed(self._data):
            raise RuntimeError("a tensor was written into where no copy of its values could be made")
        _set_version(tensor, self._version)


def _set_version(tensor: torch.Tensor, version: int) -> None:
    """Tensors that share memory as views of one share the number too."""
    set_counter: Any = torch._C._autograd._unsafe_set_version_counter
    try:
        set_counter((tensor,), (version,))
    except TypeError:  # before torch 2.7 it takes one of each
        set_counter(tensor, version)


def storage_of(tensor: torch.Tensor) -> int:
    """What is the same number for all tensors that share their memory; 0 for one without a storage."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return 0


def _has_values(tensor: torch.Tensor) -> bool:
    return tensor.device.type != "meta" and not is_fake(tensor)


def _bytes_of(tensor: torch.Tensor) -> int | None:
    """Of its whole memory, which it may share; None without a storage."""
    try:
        return int(tensor.untyped_storage().nbytes())
    except (RuntimeError, NotImplementedError):
        return None


def _parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The tensors that hold the values of a sparse or nested one, which has no memory of its own."""
    if _has_values(tensor) and tensor.layout is torch.strided and tensor.is_nested:
        return [tensor.values()]
    return inner_tensors(tensor) if tensor.layout is not torch.strided and not tensor.is_nested else []


def _resize_back(tensor: torch.Tensor, n_bytes: int | None) -> None:
    """Give its storage the size that it had; what was cut off and is there again has no values yet."""
    if n_bytes and _bytes_of(tensor) != n_bytes:
        tensor.untyped_storage().resize_(n_bytes)


def _copy(tensor: torch.Tensor) -> torch.Tensor | None:
    """A copy of the values; None where there are none, or where a tensor of this kind cannot be put back."""
    if not _has_values(tensor) or tensor.is_nested or _is_freed(tensor):
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
    if tensor.is_contiguous():
        return tensor
    extent = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    repeats = any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.as_strided((extent,), (1,)) if repeats or tensor.numel() > extent else tensor


def _same_parts(tensor: torch.Tensor, data: torch.Tensor) -> bool:
    """The same of a tensor that is put together of others."""
    if tensor.layout != data.layout or tensor.is_nested != data.is_nested:
        return False
    parts = list(zip(_parts(tensor), _parts(data), strict=False))
    if parts and tensor.layout is torch.sparse_coo and tensor.is_coalesced() != data.is_coalesced():
        return False
    return all(_same_memory(part, other) for part, other in parts)


def _same_memory(tensor: torch.Tensor, data: torch.Tensor) -> bool:
    if tensor.layout != torch.strided or tensor.is_nested:
        return False
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
