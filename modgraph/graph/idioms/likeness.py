"""Which steps of several branches are the same: by what they do, with which arguments, to what, from the inputs on.

What a graph tells of an operation's arguments is not all of them. An operation is like another only where what is told
decides what it does; of others nothing is known.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from modgraph.graph.idioms.flow import DROPOUTS, Flow, Step, words_of
from modgraph.graph.model import Edge, Operation
from modgraph.names import last_name

_Label: TypeAlias = tuple[Hashable, ...]

_OF_TENSORS = words_of(
    """relu relu6 tanh sigmoid silu selu mish hardswish hardsigmoid softsign tanhshrink logsigmoid abs absolute exp exp2
    expm1 log log2 log10 log1p sqrt rsqrt square reciprocal neg negative sign sin cos tan asin acos atan sinh cosh erf
    floor ceil trunc isnan logical_not invert pos view t adjoint contiguous detach clone alias ravel
    matmul mm bmm mv dot outer linear maximum minimum logical_and logical_or"""
)
"""Words of operations that have no arguments beside tensors. `view` is that of attributes here: `x.T`."""
_BY_SIZES = words_of(
    """view view_as reshape reshape_as expand expand_as broadcast_to ravel to type type_as float double half bfloat16
    int long short bool zeros ones zeros_like ones_like repeat squeeze"""
)
"""Words of operations that the sizes and types of what they are given, and of what they give, say all of."""
_REDUCING = words_of("sum mean prod amax amin max min argmax argmin all any logsumexp")
_TOLD: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("softmax", "log_softmax", "softmin", "cumsum", "cumprod"), ("dim",)),
    **dict.fromkeys(("cat", "concat", "concatenate", "stack", "unbind", "flatten", "glu", "tril", "triu"), ()),
    **dict.fromkeys(("normalize", "scaled_dot_product_attention"), ()),
    **dict.fromkeys(("chunk", "unsafe_chunk"), ("chunks",)),
    **dict.fromkeys(("split", "unsafe_split", "split_with_sizes", "tensor_split"), ("split_size",)),
    **dict.fromkeys(("transpose", "swapaxes", "swapdims"), ("dim0", "dim1")),
    **dict.fromkeys(("permute", "flip"), ("dims",)),
    **dict.fromkeys(("movedim", "moveaxis"), ("source", "destination")),
    **dict.fromkeys(("unsqueeze", "gather", "index_select"), ("dim",)),
    **dict.fromkeys(("roll",), ("shifts", "dims")),
    **dict.fromkeys(
        ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "truediv", "true_divide"), ("other",)
    ),
    **dict.fromkeys(("floor_divide", "remainder", "eq", "ne", "lt", "le", "gt", "ge"), ("other",)),
    **{f"conv{n}d": () for n in (1, 2, 3)},
    "select": ("dim", "index"),
    "narrow": ("dim", "start", "length"),
    "masked_fill": ("value",),
    "pow": ("exponent",),
    "einsum": ("equation",),
    "getitem": ("key",),
    "norm": ("p", "dim"),
}
"""By word, the arguments that have to be told, or to be tensors: what else it takes is told, or is torch's default."""
_OF_DEFAULTS = words_of(
    """normalize cat concat concatenate stack chunk unsafe_chunk split unsafe_split split_with_sizes tensor_split unbind
    flatten glu"""
)
"""Words of operations whose dimension is a default of torch, and is not told where it is that."""
_DIMENSIONS = frozenset(("dim", "start_dim", "end_dim"))
_SECOND = frozenset(("other", "exponent", "key", "dim", "value"))
"""Names of arguments that may be tensors."""


class Likeness:
    """Numbers of steps: two have the same one only where they do the same to the same inputs of their branches."""

    def __init__(self, flow: Flow, branches: Iterable[int]) -> None:
        self._flow = flow
        self._numbers: dict[_Label, int] = {}
        self._known: dict[str, int | None] = {}
        for branch in branches:
            own = [end for end in flow.out if end.startswith("input:") and (flow.roots(end) or 0) & branch]
            for place, end in enumerate(sorted(own, key=lambda each: flow.roots(each) or 0)):
                self._known[end] = self._new(("input", place))

    def number(self, end: str) -> int | None:
        """That of an end of an edge; None where not all is known of what leads to it."""
        pending, begun = [end], set[str]()
        while pending:
            each = pending[-1]
            above = dict.fromkeys(edge.producer for edge in self._flow.into.get(each, ()))
            missing = [] if each in self._known else [one for one in above if one not in self._known]
            if missing and each not in begun:
                begun.add(each)
                pending += missing
                continue
            pending.pop()
            if each not in self._known:  # what is missing even now leads back to it
                self._known[each] = None if missing else self._reckoned(each)
        return self._known[end]

    def of_edge(self, edge: Edge) -> int | None:
        """That of the tensor, as a producer may give several."""
        number, which = self.number(edge.producer), self._which(edge)
        return None if number is None or which is None or not edge.certain else self._new(("of", number, *which))

    def _new(self, label: _Label) -> int:
        return self._numbers.setdefault(label, len(self._numbers))

    def _reckoned(self, end: str) -> int | None:
        label = self._label(end)
        if label is None and not self._flow.roots(end):
            return self._new(("itself", end))  # what no input has part in: the same tensor, and no other
        taken: list[tuple[str, int]] = []
        for edge in self._flow.into.get(end, ()):
            number = self.of_edge(edge)
            if number is None:
                return None
            taken.append((edge.tensor.name, number))
        return None if label is None else self._new((label, *sorted(taken)))

    def _label(self, end: str) -> _Label | None:
        step = self._flow.step(end)
        if step is None:
            return None
        if end.startswith("op:"):
            return self._of_operation(self._flow.index.operations[end], step)
        return self._of_call(int(end.partition(":")[2]), step)

    def _of_call(self, number: int, step: Step) -> _Label | None:
        path = self._flow.graph.calls[number].module
        if _is_torch(step.module.class_name if step.module else None):
            # The size that it is to give may be an argument of the call.
            by_sizes = step.word == "conv_transpose" or step.word.startswith("maxunpool")
            return ("call", path, *(self._sizes(step.node) if by_sizes else ()))
        held: list[_Label] = []
        for each in self._flow.inside.get(number, ()):
            inner = self._flow.step(each)
            label = None if inner is None else self._of_operation(self._flow.index.operations[each], inner)
            if label is None:
                return None
            held.append(label)
        return ("call", path, *held)

    def _of_operation(self, each: Operation, step: Step) -> _Label | None:
        name, home = last_name(each.name), self._flow.graph.calls[each.call] if each.call is not None else None
        path = home.module if home is not None else None
        told = (name, each.name if each.name.endswith(".__get__") else None, *_frozen(each.arguments))
        if home is not None and _is_torch(self._flow.index.modules[home.module].class_name):
            return (path, *told)  # torch's own code: what it was built with says all arguments
        if step.word in DROPOUTS and each.source is not None:
            # Where it stands in the same layer: there its share is the same, and beside layers each has its own.
            return (path, each.source.file, each.source.line, self._places.get(each.id), *told)
        if self._is_told(each, step.word):
            return (*told, *_line_of_default(each, step.word))
        return (*told, *sizes) if step.word in _BY_SIZES and (sizes := self._sizes(each.id)) else None

    @cached_property
    def _places(self) -> dict[str, int]:
        """The how manieth each operation is of those in its call."""
        return {each: place for held in self._flow.inside.values() for place, each in enumerate(held)}

    def _is_told(self, each: Operation, word: str) -> bool:
        """Whether all is known on which it hangs what the operation does."""
        if word in _OF_TENSORS:
            return word != "view" or each.name.endswith(".__get__")
        if word in _REDUCING:
            gives = [edge.tensor.shape for edge in self._flow.out.get(each.id, ())]
            return "dim" in each.arguments or (bool(gives) and all(shape == () for shape in gives))
        if word in ("clamp", "clip"):
            return bool(each.arguments)
        tensors = {edge.tensor.name for edge in self._flow.into.get(each.id, ())}
        is_second = "args[1]" in tensors
        return word in _TOLD and all(
            name in each.arguments or name in tensors or (name in _SECOND and is_second and len(_TOLD[word]) == 1)
            for name in _TOLD[word]
        )

    def _sizes(self, end: str) -> _Label:
        """Of what it is given, and of what it gives; none where one is not known."""
        given = [(edge.tensor.name, edge.tensor) for edge in self._flow.into.get(end, ())]
        gives = [("", edge.tensor) for edge in self._flow.out.get(end, ())]
        found = {(name, each.shape, each.dtype) for name, each in (*given, *gives)}
        is_known = bool(gives) and all(shape is not None and kind is not None for _, shape, kind in found)
        return tuple(sorted(found, key=repr)) if is_known else ()

    def _which(self, edge: Edge) -> _Label | None:
        """Which of several tensors that one step gives; None where that is not known."""
        kind, _, number = edge.producer.partition(":")
        if kind in ("param", "const"):
            return (edge.producer,)
        if kind != "call":
            return (edge.output,)
        if edge.made_by is not None:
            inside = self._flow.inside.get(int(number), [])
            return (inside.index(edge.made_by),) if edge.made_by in inside else None
        outputs = self._flow.graph.calls[int(number)].outputs
        mine = (edge.tensor.shape, edge.tensor.dtype)
        alike = [place for place, each in enumerate(outputs) if (each.shape, each.dtype) == mine]
        if len(outputs) < 2:
            return (None,)
        return (alike[0],) if len(alike) == 1 and mine[0] is not None else None


def _line_of_default(each: Operation, word: str) -> _Label:
    """Where it is written, if a prediction tells no dimension: it is torch's default, or one that nobody knows."""
    is_open = word in _OF_DEFAULTS and not each.arguments.keys() & _DIMENSIONS
    return () if each.observed or not is_open or each.source is None else (each.source.file, each.source.line)


def _is_torch(name: str | None) -> bool:
    return (name or "").startswith("torch.")


def _frozen(arguments: Mapping[str, Any]) -> _Label:
    return tuple(sorted((name, repr(value)) for name, value in arguments.items()))
