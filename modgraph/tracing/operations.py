"""Every torch function that runs while a model is traced: what it read, made and wrote into.

`OperationMode` sees the outermost torch functions only (what runs inside one of them runs with the mode taken off), as
the user wrote them: `torch.nn.functional.relu`, `torch.Tensor.add`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from modgraph.tracing.tensors import Named, quietly, tensors_in

if TYPE_CHECKING:
    from modgraph.tracing.recorder import Recorder


class Kind(enum.Enum):
    """What a torch function does, as far as the dataflow is concerned."""

    SKIP = enum.auto()
    """Tells something of a tensor, and is no operation."""
    OPERATION = enum.auto()
    GAP = enum.auto()
    """Gives the value of a tensor to Python."""
    HIGHER_ORDER = enum.auto()
    """Runs functions of the user's, whose own operations are to be seen too."""


@dataclass(frozen=True, slots=True)
class Function:
    """What is known of one torch function."""

    kind: Kind
    name: str
    ignores_first: bool = False
    """Of its first argument only shape, dtype or device is read, or it is overwritten."""
    ignores_second: bool = False
    in_place: bool = False
    """By its name it changes its first argument: asked where tensors count no versions."""


_GAPS = {
    **dict.fromkeys(("item", "tolist", "numpy", "equal", "allclose", "is_nonzero")),
    **{"__array__": "numpy", "__bool__": "bool", "__int__": "int", "__float__": "float", "__index__": "index"},
    **{"__complex__": "complex", "__contains__": "contains", "__dlpack__": "dlpack"},
}
_TENSOR_GETTERS = frozenset({"data", "T", "mT", "H", "mH", "real", "imag", "grad"})
_TENSOR_SETTERS = frozenset({"data", "real", "imag"})
_SKIPPED = frozenset(
    {
        *("size", "dim", "ndimension", "stride", "numel", "nelement", "element_size", "storage_offset", "data_ptr"),
        *("get_device", "is_floating_point", "is_complex", "is_signed", "is_contiguous", "is_same_size", "is_pinned"),
        *("is_inference", "is_shared", "is_conj", "is_neg", "is_set_to", "has_names", "untyped_storage", "storage"),
        *("storage_type", "typed_storage", "_typed_storage", "register_hook", "retain_grad", "requires_grad_"),
        *("backward", "register_post_accumulate_grad_hook", "_set_grad_enabled", "device", "result_type", "can_cast"),
        *("__len__", "__hash__", "__repr__", "__str__", "__format__", "__dir__", "__reduce_ex__", "__setstate__"),
        *("broadcast_shapes", "is_tensor", "_is_view", "dense_dim", "sparse_dim", "_nested_tensor_size", "_backward_hooks"),
    }
)
_SHAPE_ONLY_FIRST = frozenset(
    {
        *("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like"),
        *("new", "new_zeros", "new_ones", "new_empty", "new_empty_strided", "new_full", "new_tensor"),
    }
)
_SHAPE_ONLY_SECOND = frozenset({"reshape_as", "view_as", "expand_as", "type_as", "to", "resize_as_", "resize_as"})
_OVERWRITING = frozenset(
    {
        *("copy_", "zero_", "fill_", "uniform_", "normal_", "bernoulli_", "random_", "exponential_", "cauchy_"),
        *("geometric_", "log_normal_", "set_"),
        *("constant_", "ones_", "zeros_", "trunc_normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_"),
        *("kaiming_normal_", "orthogonal_", "sparse_", "eye_", "dirac_"),
    }
)
_ITERATORS = (type(iter(())), type(iter([])))
_EXACT = frozenset({torch.Tensor, torch.nn.Parameter})


class OperationMode(TorchFunctionMode):
    """Records each torch function that runs in a thread of the traced call, and changes nothing."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        self._functions: dict[Any, Function] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        function = self._functions.get(func)
        if function is None:
            function = self._functions[func] = classified(func)
        kwargs = kwargs or {}
        if function.kind is Kind.SKIP:
            return func(*args, **kwargs)
        return self.recorded(function, func, args, kwargs)

    def recorded(self, function: Function, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        """The result of `func(*args, **kwargs)`, filed as an operation if it made or changed a tensor."""
        recorder = self._recorder
        if recorder.is_outside():
            return func(*args, **kwargs)
        with quietly():
            arrived, read = _arguments(function, args, kwargs)
            flows = recorder.flows(read)
            versions = [_version(tensor) for _, tensor in arrived]
            recorder.before_operation(function, arrived)
        if function.kind is Kind.HIGHER_ORDER:
            with self:
                result = func(*args, **kwargs)
        else:
            result = func(*args, **kwargs)
        with quietly():
            changed = _changed(function, arrived, versions, kwargs)
            made = _made(result, arrived, changed)
            if made or changed:
                recorder.operation(function.name, flows, made, changed)
            elif function.kind is Kind.GAP and read:
                recorder.gap(_GAPS[function.name.rpartition(".")[2]] or function.name.rpartition(".")[2], read)
        return result


_ARGUMENT_NAMES = tuple(f"args[{position}]" for position in range(16))


def _arguments(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Named], list[Named]]:
    """Every tensor given, and those of which the values are read; each once."""
    arrived: list[Named] = []
    read: list[Named] = []
    for position, argument in enumerate(args):
        if type(argument) in _EXACT:
            named = [(_ARGUMENT_NAMES[position] if position < 16 else f"args[{position}]", argument)]
        else:
            named = tensors_in(argument, f"args[{position}]")
        if not named:
            continue
        arrived += named
        if not ((position == 0 and function.ignores_first) or (position == 1 and function.ignores_second)):
            read += named
    for name, argument in kwargs.items():
        named = tensors_in(argument, name)
        if named:
            arrived += named
            if name != "out" and not (function.ignores_second and name == "other"):
                read += named
    if len(read) > 1:
        read = list({id(tensor): (name, tensor) for name, tensor in reversed(read)}.values())[::-1]
    return arrived, read


def _version(tensor: torch.Tensor) -> int | None:
    try:
        return tensor._version
    except RuntimeError:  # an inference tensor counts none
        return None


def _changed(
    function: Function, arrived: list[Named], versions: list[int | None], kwargs: dict[str, Any]
) -> list[torch.Tensor]:
    """The tensors that the operation wrote into: by version counter, and by name where there is none."""
    changed: dict[int, torch.Tensor] = {}
    for position, ((name, tensor), before) in enumerate(zip(arrived, versions, strict=True)):
        if before is not None:
            moved = _version(tensor) != before
        else:
            in_place = function.in_place or kwargs.get("inplace") is True
            moved = (position == 0 and in_place) or name == "out" or name.startswith("out[")
        if moved:
            changed[id(tensor)] = tensor
    if function.in_place and function.name.endswith("__set__") and arrived:
        changed[id(arrived[0][1])] = arrived[0][1]
    return list(changed.values())


def _made(result: Any, arrived: list[Named], changed: list[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors of the result that did not exist before."""
    if type(result) in _EXACT:
        for _, tensor in arrived:
            if tensor is result:
                return []
        return [result]
    if type(result) in _ITERATORS:
        result = result.__reduce__()[1]
    given = {id(tensor) for _, tensor in arrived}
    return [tensor for _, tensor in tensors_in(result, "") if id(tensor) not in given]


def classified(func: Any) -> Function:
    """What `func` does, by its name and kind."""
    name = function_name(func)
    last = name.rpartition(".")[2]
    if isinstance(func, torch._ops.HigherOrderOperator):
        return Function(Kind.HIGHER_ORDER, name)
    if last in ("__get__", "__set__", "__delete__"):
        attribute = getattr(getattr(func, "__self__", None), "__name__", "")
        name = f"torch.Tensor.{attribute}"
        if last == "__get__" and attribute in _TENSOR_GETTERS:
            return Function(Kind.OPERATION, name)
        if last == "__set__" and attribute in _TENSOR_SETTERS:
            return Function(Kind.OPERATION, f"{name}.__set__", ignores_first=attribute == "data", in_place=True)
        return Function(Kind.SKIP, name)
    if last in _SKIPPED or name.startswith("torch.is_"):
        return Function(Kind.SKIP if last not in _GAPS else Kind.GAP, name)
    if last in _GAPS:
        return Function(Kind.GAP, name)
    return Function(
        Kind.OPERATION,
        name,
        ignores_first=last in _SHAPE_ONLY_FIRST or last in _OVERWRITING,
        ignores_second=last in _SHAPE_ONLY_SECOND,
        in_place=_names_in_place(last),
    )


def _names_in_place(last: str) -> bool:
    if last.startswith("__"):
        return last == "__setitem__" or (last.startswith("__i") and last not in ("__invert__", "__index__", "__int__"))
    return last.endswith("_")


_PUBLIC = (
    ("torch", torch),
    ("torch.nn.functional", torch.nn.functional),
    ("torch.linalg", torch.linalg),
    ("torch.fft", torch.fft),
    ("torch.special", torch.special),
    ("torch.nn.init", torch.nn.init),
)


def function_name(func: Any) -> str:
    """The name under which a user would look `func` up: "torch.add", "torch.Tensor.view", "torch.ops.aten.add.Tensor"."""
    if isinstance(func, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return f"torch.ops.{func}"
    if isinstance(func, torch._ops.HigherOrderOperator):
        return f"torch.ops.higher_order.{func.name()}"
    name = getattr(func, "__name__", None) or type(func).__name__
    owner = getattr(func, "__objclass__", None)
    if owner is not None and issubclass(torch.Tensor, owner):
        return f"torch.Tensor.{name}"
    for place, module in _PUBLIC:
        if vars(module).get(name) is func:
            return f"{place}.{name}"
    if vars(torch.Tensor).get(name) is func:
        return f"torch.Tensor.{name}"
    place = getattr(func, "__module__", None) or "torch"
    return f"{place}.{getattr(func, '__qualname__', name).rpartition('.')[2]}"
