"""Every torch function that runs while a model is traced: what it read, made and wrote into.

`OperationMode` sees the outermost torch functions only (what runs inside one of them runs with the mode taken off), as
the user wrote them: `torch.nn.functional.relu`, `torch.Tensor.add`.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from modgraph.names import last_name
from modgraph.source.operation_arguments import NOTHING, Told, literals, told_of
from modgraph.source.torch_names import EACH_OF_ONE, OVERWRITING, SHAPE_ONLY_FIRST, SHAPE_ONLY_SECOND
from modgraph.tracing.basics.origins import is_of_torch
from modgraph.tracing.basics.tensors import ATOMS, EXACT, Named, is_fake, is_plain_slice, quietly, tensors_in
from modgraph.tracing.recording.backward import leaves_of
from modgraph.tracing.recording.recipes import slots_in
from modgraph.tracing.recording.shortcuts import ARGUMENT_NAMES, NOT_PLAIN, PlainOperations, narrowed
from modgraph.tracing.restoring.unwritten import with_zeros

if TYPE_CHECKING:
    from modgraph.tracing.recording.raw_events import Taken
    from modgraph.tracing.recording.recipes import Step
    from modgraph.tracing.recording.recorder import Recorder


class Kind(enum.Enum):
    """What a torch function does, as far as the dataflow is concerned."""

    SKIP = enum.auto()
    """Tells something of a tensor, and is no operation."""
    OPERATION = enum.auto()
    GAP = enum.auto()
    """Gives the value of a tensor to Python."""
    HIGHER_ORDER = enum.auto()
    """Runs functions of the user's, whose own operations are to be seen too."""


@dataclass(frozen=True)
class Function:
    """What is known of one torch function."""

    kind: Kind
    name: str
    ignores_first: bool = False
    """Of its first argument only shape, dtype or device is read, or it is overwritten."""
    ignores_second: bool = False
    in_place: bool = False
    """By its name it changes its first argument: asked where tensors count no versions."""
    replaces_memory: bool = False
    """It gives its first argument other memory, which no version counter tells."""
    reads_all: bool = True
    """None of its arguments is ignored."""
    may_change_any: bool = False
    """It changes arguments that its name does not tell: an operator with a mutable schema."""
    counts_no_version: bool = False
    """It changes its first argument and no version counter tells (of fake tensors: the `_foreach_` functions)."""
    gives_known: bool = False
    """What it gives may be a tensor that was seen before, which stays what it was."""
    inplace_at: int = 1000
    """Position of its parameter `inplace`."""

    @cached_property
    def last(self) -> str:
        """The name without what it stands in: "add"."""
        return last_name(self.name)

    @cached_property
    def told(self) -> Told:
        """Of what it is given, what is told with the operation."""
        return told_of(self.name)

    @cached_property
    def fills_gradients(self) -> bool:
        """It writes into the `grad` of tensors that it is not given."""
        return self.last == "backward"

    @cached_property
    def sets_items(self) -> bool:
        return self.name.endswith("__setitem__")

    @cached_property
    def skipped(self) -> bool:
        return self.kind is Kind.SKIP

    @cached_property
    def decides_by_value(self) -> bool:
        """It reads a value, and runs one or another function of the user's."""
        return self.kind is Kind.HIGHER_ORDER and last_name(self.name) in _GAPS

    @cached_property
    def simple(self) -> bool:
        """It is an operation like most: reads what it is given."""
        odd = self.in_place or self.may_change_any or self.gives_known or self.fills_gradients
        return self.kind is Kind.OPERATION and self.reads_all and not odd

    def may_write(self, arrived: list[Named], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
        """Those of its arguments that it may write into, as far as its name, schema and flags tell."""
        if self.may_change_any:
            return [tensor for _, tensor in arrived]
        inplace = kwargs.get("inplace", len(args) > self.inplace_at and args[self.inplace_at])
        in_place = (self.in_place and not self.replaces_memory) or inplace is True
        return [
            tensor
            for position, (name, tensor) in enumerate(arrived)
            if (in_place and (position == 0 or name.startswith("args[0]"))) or _is_out(name)
        ]


_GAPS = {
    "item": "item",
    "tolist": "tolist",
    "numpy": "numpy",
    "equal": "equal",
    "allclose": "allclose",
    "is_nonzero": "bool",
    "__array__": "numpy",
    "__bool__": "bool",
    "__int__": "int",
    "__float__": "float",
    "__index__": "index",
    "__complex__": "complex",
    "__contains__": "contains",
    "__dlpack__": "dlpack",
    "to_dlpack": "dlpack",
    "data_ptr": "data_ptr",
    "storage": "storage",
    "typed_storage": "storage",
    "_typed_storage": "storage",
    "untyped_storage": "storage",
    "__reduce_ex__": "pickle",
    "__repr__": "repr",
    "__str__": "repr",
    "__format__": "repr",
    "cond": "bool",
    "while_loop": "bool",
}
SHARES_MEMORY = frozenset({"numpy", "dlpack", "data_ptr", "storage"})
"""Gaps through which others can read and write the memory itself."""
_COUNTS_NO_VERSION = frozenset({"apply_", "map_", "map2_"})
_TENSOR_GETTERS = frozenset({"data", "T", "mT", "H", "mH", "real", "imag", "grad"})
_TENSOR_SETTERS = frozenset({"data", "real", "imag"})
_SKIPPED = frozenset(
    {
        *("size", "dim", "ndimension", "stride", "numel", "nelement", "element_size", "storage_offset"),
        *("get_device", "is_floating_point", "is_complex", "is_signed", "is_contiguous", "is_same_size", "is_pinned"),
        *("is_inference", "is_shared", "is_conj", "is_neg", "is_set_to", "has_names", "storage_type"),
        *("register_hook", "retain_grad", "requires_grad_"),
        *("register_post_accumulate_grad_hook", "_set_grad_enabled", "device", "result_type", "can_cast"),
        *("__len__", "__hash__", "__dir__", "__setstate__"),
        *("broadcast_shapes", "is_tensor", "_is_view", "dense_dim", "sparse_dim", "_nested_tensor_size"),
    }
)
_ITERATORS: tuple[type, ...] = (type(iter(())), type(iter([])))


class OperationMode(TorchFunctionMode):  # type: ignore[misc]
    """Records each torch function that runs in a thread of the traced call, and changes nothing."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        self._local = recorder.local
        self._functions: dict[Any, Function] = {}
        self._plain = PlainOperations(recorder, self) if recorder.takes_shortcuts else None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        function = self._functions.get(func)
        if function is None:
            function = self._functions[func] = classified(func)
        if self._plain is not None and not kwargs and function.simple:
            result = self._plain.call(function, func, args)
            if result is not NOT_PLAIN:
                return result
        if function.skipped or self._local.stack is None or _tracing_state() is not None:
            return func(*args, **(kwargs or {}))
        return self.recorded(function, func, args, kwargs or {})

    def finished(
        self,
        function: Function,
        arrived: list[Named],
        flows: list[Taken],
        versions: Versions,
        args: tuple[Any, ...],
        result: Any,
    ) -> None:
        """File what ran by the shortcut and turned out to be no plain operation."""
        with quietly():
            self._after(function, arrived, flows, versions, args, {}, result)

    def recorded(self, function: Function, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        """The result of `func(*args, **kwargs)`, filed as an operation if it made or changed a tensor."""
        with quietly():
            arrived = _arguments(args, kwargs)
            leaves = leaves_of(arrived[0][1]) if function.fills_gradients and arrived else []
            arrived += [(f"grad[{number}]", leaf.grad) for number, leaf in enumerate(leaves) if leaf.grad is not None]
            flows, versions = self._before(function, arrived, args, kwargs)
            arrived = _each_once(arrived)
            recipes, step = self.recorder.recipes, None
            if recipes is not None:
                func = with_zeros(function.last, func)
                step = recipes.prepare(func, args, kwargs)
        if function.kind is Kind.HIGHER_ORDER:
            result = func(*map(self._seeing, args), **{name: self._seeing(value) for name, value in kwargs.items()})
        else:
            try:
                result = func(*args, **kwargs)
            except RuntimeError as error:
                self._refused(function, arrived, error)
                raise
        with quietly():
            made = [leaf.grad for leaf in leaves] if function.fills_gradients else result
            self._after(function, arrived, flows, versions, args, kwargs, made, step)
        return result

    def _refused(self, function: Function, arrived: list[Named], error: RuntimeError) -> None:
        stack = self._local.stack
        asked = function.kind is Kind.GAP and _gap_of(function) in SHARES_MEMORY and any(is_fake(t) for _, t in arrived)
        self.recorder.refusals.note(error, stack[-1].path if stack else "", asked=asked)

    def _seeing(self, argument: Any) -> Any:
        """A function of the user's, wrapped so that its operations are seen though its caller has the mode off."""
        is_function = isinstance(argument, FunctionType | MethodType | nn.Module)
        if not is_function or isinstance(argument, torch.fx.GraphModule):
            return argument

        def seeing(*args: Any, **kwargs: Any) -> Any:
            with self:
                return argument(*args, **kwargs)

        return seeing

    def _before(
        self, function: Function, arrived: list[Named], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Taken], Versions]:
        """Where the tensors come from of which the values are read, and the versions of all, each once."""
        read = arrived
        if not function.reads_all or "out" in kwargs:
            read = [named for named in arrived if _is_read(function, named[0])]
        flows = self.recorder.flows(_each_once(read))
        for tensor in function.may_write(arrived, args, kwargs):
            self.recorder.before_write(tensor)
        if function.kind is Kind.GAP and _gap_of(function) in SHARES_MEMORY:
            for _, tensor in arrived:
                self.recorder.before_write(tensor)
        try:
            return flows, [tensor._version for _, tensor in _each_once(arrived)]
        except RuntimeError:
            return flows, None

    def _after(
        self,
        function: Function,
        arrived: list[Named],
        flows: list[Taken],
        versions: Versions,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
        step: Step | None = None,
    ) -> None:
        if versions is None or function.counts_no_version:
            changed = function.may_write(arrived, args, kwargs)
        else:
            changed = [item[1] for item, before in zip(arrived, versions, strict=True) if item[1]._version != before]
        if function.replaces_memory and arrived and not changed:
            changed = [arrived[0][1]]
        if function.last in EACH_OF_ONE and not changed and self._sees_through(function, args, result):
            if step is not None and self.recorder.recipes is not None:
                self.recorder.recipes.drop(step)
            return
        made = _made(result, arrived, changed)
        if len(made) == 1 and flows and flows[0][0] == arrived[0][0] and not changed:
            flows = narrowed(self.recorder.dataflow, flows, arrived[0][1], made[0])
        if (
            function.gives_known or function.kind is Kind.HIGHER_ORDER
        ):  # what its functions made has come from their operations already
            made = [tensor for tensor in made if not self.recorder.dataflow.knows(tensor)]
        if made or changed:
            arguments = {} if function.told is NOTHING else literals(function.told, args, kwargs)
            index = self.recorder.operation(function.name, flows, made, _regions(function, args, changed), arguments)
            if step is not None and index is not None:
                self._keep_step(step, function, index, result, changed)
        elif function.decides_by_value or (function.kind is Kind.GAP and arrived):
            self.recorder.gap(_gap_of(function), arrived)

    def _sees_through(self, function: Function, args: tuple[Any, ...], result: Any) -> bool:
        """Torch's own code asks for views of several tensors: each comes of its tensor, and nobody wrote a step."""
        given = args[0] if len(args) == 1 and type(args[0]) in (list, tuple) else args
        if type(result) not in (list, tuple) or len(given) != len(result):
            return False
        pairs = list(zip(given, result, strict=True))
        if not all(type(each) in EXACT for pair in pairs for each in pair) or not _is_asked_by_torch(function.last):
            return False
        for source, view in pairs:
            if view is not source:
                self.recorder.dataflow.bind(view, self.recorder.dataflow.arrival(source)[0])
                if self.recorder.recipes is not None:
                    self.recorder.recipes.shown(view, source)
        return True

    def _keep_step(self, step: Step, function: Function, index: int, result: Any, changed: list[torch.Tensor]) -> None:
        recipes = self.recorder.recipes
        assert recipes is not None
        if function.kind is Kind.HIGHER_ORDER:
            step.cannot("it runs functions of the model's own")
        elif function.name == "torch.autograd.grad" or function.fills_gradients:
            step.cannot("it goes back through what autograd remembers of the run")
        first: set[int] = set()
        if function.ignores_first and function.in_place:
            named = [value for name, value in step.kwargs.items() if name in _FIRST_BY_NAME]
            first.update(slots_in((*step.args[:1], *named)))
        step.overwritten = frozenset(first.union(slots_in(step.kwargs.get("out"))))
        step.replaces_memory = function.replaces_memory
        recipes.finish(step, f"op:{index}", result, changed)


Versions = list[int] | None
"""How often each tensor was written into; None where one is an inference tensor, which does not count."""
_tracing_state = torch._C._get_tracing_state


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Named]:
    """Every tensor given; one that is given twice comes twice."""
    arrived: list[Named] = []
    more = (f"args[{position}]" for position in range(len(ARGUMENT_NAMES), len(args)))
    for name, argument in zip(itertools.chain(ARGUMENT_NAMES, more), args):  # noqa: B905
        kind = type(argument)
        if kind in EXACT:
            arrived.append((name, argument))
        elif kind not in ATOMS:
            arrived += tensors_in(argument, name)
    for name, argument in kwargs.items():
        if type(argument) not in ATOMS:
            arrived += tensors_in(argument, name)
    return arrived


def _each_once(named: list[Named]) -> list[Named]:
    if len(named) < 2 or len({id(item[1]) for item in named}) == len(named):
        return named
    return list({id(item[1]): item for item in reversed(named)}.values())[::-1]


def _is_read(function: Function, place: str) -> bool:
    if place.startswith("args[0]") or place in _FIRST_BY_NAME:
        return not function.ignores_first
    if place.startswith("args[1]") or place == "other":
        return not function.ignores_second
    return not _is_out(place)


_FIRST_BY_NAME = frozenset({"input", "self", "tensor"})
"""Names of the first parameter, where it is given by keyword: `torch.nn.init` does so."""


def _is_asked_by_torch(name: str) -> bool:
    """Whether code of torch's own calls its function of this name, which is open now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not (frame.f_code.co_name == name and frame.f_code.co_filename == _FUNCTIONS):
        frame = frame.f_back
    caller = None if frame is None else frame.f_back
    return caller is not None and is_of_torch(caller.f_code.co_filename)


_FUNCTIONS: str = torch.broadcast_tensors.__code__.co_filename


def _is_out(place: str) -> bool:
    return place == "out" or place.startswith("out[")


def _gap_of(function: Function) -> str:
    return _GAPS[last_name(function.name)]


def _regions(
    function: Function, args: tuple[Any, ...], changed: list[torch.Tensor]
) -> list[tuple[torch.Tensor, torch.Tensor, bool]]:
    """Each of the changed tensors, with the part of it that was written into, and whether it was read before."""
    if function.sets_items and len(changed) == 1 and len(args) == 3 and changed[0] is args[0] and _is_basic(args[1]):
        with contextlib.suppress(RuntimeError, IndexError, NotImplementedError):
            return [(changed[0], changed[0][args[1]], True)]
    return [(tensor, tensor, function.reads_all and any(tensor is arg for arg in args)) for tensor in changed]


def _is_basic(index: Any) -> bool:
    """Whether an index gives a view: numbers, slices of them, `...` and None."""
    if type(index) is tuple:
        return all(map(_is_basic, index))
    return index is None or index is ... or type(index) is int or (type(index) is slice and is_plain_slice(index))


def _made(result: Any, arrived: list[Named], changed: list[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors of the result that did not exist before; and those given back unchanged beside them, as
    `broadcast_tensors` does, which from now on come out of the function like the others."""
    kind = type(result)
    if kind in EXACT:
        for _, tensor in arrived:
            if tensor is result:
                return []
        return [result]
    if kind in ATOMS:
        return []
    if kind in _ITERATORS:
        result = result.__reduce__()[1]
    given = {id(tensor) for _, tensor in arrived}
    found = [tensor for _, tensor in tensors_in(result, "")]
    is_new = any(id(tensor) not in given for tensor in found)
    written = {id(tensor) for tensor in changed}
    return [tensor for tensor in found if id(tensor) not in written] if is_new else []


def classified(func: Any) -> Function:
    """What `func` does, by its name and kind."""
    name = function_name(func)
    last = last_name(name)
    if isinstance(func, torch._ops.HigherOrderOperator):
        return Function(Kind.HIGHER_ORDER, name)
    if last in ("__get__", "__set__", "__delete__"):
        owner = getattr(func, "__self__", None)
        if isinstance(owner, property):  # one that a watch has been put on
            owner = getattr(owner.fget, "__self__", None)
        attribute = getattr(owner, "__name__", "")
        name = f"torch.Tensor.{attribute}"
        if last == "__get__" and attribute in _TENSOR_GETTERS:
            return Function(Kind.OPERATION, name, gives_known=attribute == "grad")
        if last == "__set__" and attribute in _TENSOR_SETTERS:
            data = attribute == "data"
            name = f"{name}.__set__"
            return Function(
                Kind.OPERATION, name, ignores_first=data, in_place=True, replaces_memory=data, reads_all=not data
            )
        return Function(Kind.SKIP, name)
    if last in _SKIPPED or name.startswith("torch.is_"):
        return Function(Kind.SKIP if last not in _GAPS else Kind.GAP, name)
    if last in _GAPS:
        return Function(Kind.GAP, name)
    first = last in SHAPE_ONLY_FIRST or last in OVERWRITING
    second = last in SHAPE_ONLY_SECOND
    in_place = _names_in_place(last)
    return Function(
        Kind.OPERATION,
        name,
        ignores_first=first,
        ignores_second=second,
        in_place=in_place,
        reads_all=not (first or second),
        may_change_any=_changes_by_schema(func),
        counts_no_version=last in _COUNTS_NO_VERSION or (in_place and last.startswith("_foreach_")),
        inplace_at=_position_of_inplace(func),
    )


def _changes_by_schema(func: Any) -> bool:
    if isinstance(func, torch._ops.OpOverloadPacket):
        return any(getattr(func, overload)._schema.is_mutable for overload in func.overloads())
    return isinstance(func, torch._ops.OpOverload) and bool(func._schema.is_mutable)


def _position_of_inplace(func: Any) -> int:
    names = func.__code__.co_varnames[: func.__code__.co_argcount] if isinstance(func, FunctionType) else ()
    return names.index("inplace") if "inplace" in names else Function.inplace_at


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
    """The name under which a user would look `func` up: "torch.add", "torch.Tensor.view", "torch.ops.aten.add"."""
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
    last = last_name(getattr(func, "__qualname__", name))
    if place == "torch._tensor" and hasattr(torch.Tensor, last):
        return f"torch.Tensor.{last}"  # a method that is wrapped: `__pow__` is called "pow" inside
    return _PUBLIC_NAMES.get(func) or f"{place}.{last}"


_PUBLIC_NAMES = {
    each: f"{room.__name__}.{name}"
    for room in (torch.fft, torch.linalg, torch.special)
    for name, each in vars(room).items()
    if isinstance(each, BuiltinFunctionType)
}
"""Functions that have other names where they are made."""
