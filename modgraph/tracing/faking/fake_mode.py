"""The mode under which tensors have a shape and no memory, but for small ones whose values are known.

Sizes, positions, masks and indices are made by `arange`, `ones`, `tensor` and by reckoning with what they made; models
loop over them, branch on them and shape tensors by them. Torch's own fake tensors know such a value where it is one
number; here they know it of every tensor up to `MAX_KNOWN` elements. What weights take part in stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor, FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils._mode_utils import no_dispatch

MAX_KNOWN = 1 << 18
"""Elements of a tensor up to which its values are kept, where they are known."""
_MOST_PRODUCT = 1 << 22
"""The same of all that goes into one operator, multiplied: no product, table or gathering makes more of them."""

_MOST_UNKNOWNS = 64
"""Elements of a tensor that becomes a list of unknown numbers."""


def new_mode(*, symbolic: bool = True) -> Any:
    """A mode under which every new tensor is fake, and real ones met on the way are taken as they are.

    Args:
        symbolic: sizes that depend on values (`nonzero`, masks) become unknown sizes instead of an error.
    """
    shape_env = None
    if symbolic:
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        shape_env = ShapeEnv()
    return KnowingMode(allow_non_fake_inputs=True, shape_env=shape_env, static_shapes=True)


def with_values(tensor: torch.Tensor, mode: Any) -> Any:
    """A fake of `tensor`, which `mode.may_turn_const`, that knows its values; they are a copy."""
    with no_dispatch():
        copied = tensor.detach().clone()
    return mode.fake_tensor_converter.from_real_tensor(mode, copied, make_constant=True)


def tolist(tensor: FakeTensor, original: Any) -> Any:
    """`FakeTensor.tolist`, which reads one element at a time and makes an unknown of each that it does not know."""
    if tensor.constant is not None:
        with no_dispatch():
            return tensor.constant.tolist()
    if tensor.numel() > _MOST_UNKNOWNS:
        raise DataDependentOutputException(torch.ops.aten._local_scalar_dense.default)
    return original(tensor)


class KnowingMode(FakeTensorMode):  # type: ignore[misc]
    """The mode; `on_unsupported` is told of each operator that has no shape without values, before it raises."""

    on_unsupported: Callable[[BaseException], None] | None = None

    def __deepcopy__(self, _: dict[int, Any]) -> KnowingMode:
        """Itself: the copy of a tensor goes on with what it goes on with."""
        return self

    def may_turn_const(self, t: torch.Tensor) -> bool:
        return super().may_turn_const(t) or bool(
            t.numel() <= MAX_KNOWN
            and t.layout is torch.strided
            and not self.is_our_fake(t)
            and t.device.type == "cpu"
            and not t.is_quantized
        )

    def dispatch(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return self._dispatch(func, types, args, kwargs or {})
        except RuntimeError as error:
            if self.on_unsupported is not None and type(error).__name__.startswith("Unsupported"):
                self.on_unsupported(error)
            raise

    def _dispatch(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        packet = getattr(func, "_overloadpacket", None)
        if packet in _ONE_DTYPE:
            return self._in_its_dtype(func, types, args, kwargs)
        known = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if getattr(leaf, "constant", None) is not None]
        if known and not _is_small(func, known, args):
            return self._unknown(func, types, args, kwargs, known)
        made = super().dispatch(func, types, args, kwargs)
        if packet not in _MAKERS or type(made) is not FakeTensor or made.constant is not None:
            return made
        return self._known(func, args, kwargs, made)

    def _unknown(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any], known: list[FakeTensor]) -> Any:
        """What comes of it without a look at the values."""
        values = [tensor.constant for tensor in known]
        for tensor in known:
            tensor.constant = None
        try:
            return super().dispatch(func, types, args, kwargs)
        finally:
            for tensor, value in zip(known, values, strict=True):
                tensor.constant = value

    def _known(self, func: Any, args: Any, kwargs: dict[str, Any], made: FakeTensor) -> Any:
        """What a function makes that no values go into, with the values that it has."""
        leaves = pytree.tree_leaves((args, kwargs))
        if made.device.type != "cpu" or made._has_symbolic_sizes_strides or made.numel() > MAX_KNOWN:
            return made
        if any(isinstance(leaf, torch.SymInt | torch.SymFloat | torch.SymBool) for leaf in leaves):
            return made

        def stand_in(leaf: Any) -> Any:
            """Of `zeros_like(x)` and `x.new_ones(...)`: only the shape and the dtype of `x` matter."""
            if not isinstance(leaf, torch.Tensor):
                return leaf
            return torch.empty(made.shape if "like" in str(func) else (1,), dtype=leaf.dtype)

        with no_dispatch():
            args, kwargs = pytree.tree_map(stand_in, (args, kwargs))
            real = func(*args, **kwargs)
        return self.fake_tensor_converter.from_real_tensor(self, real, make_constant=True)

    def _in_its_dtype(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        wanted, others = _ONE_DTYPE[func._overloadpacket]
        leaves = pytree.tree_leaves((args, kwargs))
        given = next((leaf.dtype for leaf in leaves if _is_floating(leaf)), wanted)
        if given not in others:
            return super().dispatch(func, types, args, kwargs)
        args, kwargs = pytree.tree_map(lambda leaf: _in_dtype(leaf, wanted), (args, kwargs))
        return pytree.tree_map(lambda leaf: _in_dtype(leaf, given), super().dispatch(func, types, args, kwargs))


_MAKERS = {
    getattr(torch.ops.aten, name)
    for name in (
        "arange", "eye", "full", "full_like", "linspace", "new_full", "new_ones", "new_zeros", "ones", "ones_like",
        "scalar_tensor", "tril_indices", "triu_indices", "zeros", "zeros_like",
    )
}  # fmt: skip
"""Operators whose result depends on the values of no tensor."""
_ONE_DTYPE = {getattr(torch.ops.aten, "_grouped_mm", ""): (torch.bfloat16, (torch.float32, torch.float16))}
"""Operator -> the dtype that its shape function takes, and what else its kernel does."""


_REPEATING = {torch.ops.aten.repeat, torch.ops.aten.repeat_interleave, torch.ops.aten.tile}


def _is_small(func: Any, known: list[FakeTensor], args: Any) -> bool:
    """What it makes of these values is small, without having made it: what is written into is as it was."""
    if getattr(func, "_schema", None) is None or func._schema.is_mutable:
        return True
    sizes = [tensor.numel() for tensor in known]
    if torch.Tag.pointwise in func.tags:
        return max(sizes) <= MAX_KNOWN and _broadcast(known) <= MAX_KNOWN
    times = [leaf for leaf in pytree.tree_leaves(args[1:]) if type(leaf) is int and leaf > 0]
    return bool(math.prod(sizes) * (math.prod(times) if func._overloadpacket in _REPEATING else 1) <= _MOST_PRODUCT)


def _broadcast(known: list[FakeTensor]) -> int:
    try:
        return math.prod(torch.broadcast_shapes(*(tensor.shape for tensor in known)))
    except RuntimeError:
        return 0  # torch says so where it is done


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


def _in_dtype(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.dtype):
        return dtype
    return value.to(dtype) if _is_floating(value) else value
