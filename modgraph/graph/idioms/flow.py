"""The steps of a run and the tensors between them, as far as they are certain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from modgraph.graph.dataflow import VIEWS, operation_word
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import Edge, Graph, ModuleNode
from modgraph.graph.torch_classes import layer_base
from modgraph.names import last_name


def words_of(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


MOST_PIECES = 16
"""Tensors that are put together by one step; more are no idiom."""
MOST_STEPS = 400
"""Steps that one walk takes; what is further apart is no idiom."""

_LAYERS: Mapping[str, str] = {
    **dict.fromkeys(("Linear", "LazyLinear", "NonDynamicallyQuantizableLinear"), "linear"),
    **{f"{lazy}Conv{n}d": "conv" for n in (1, 2, 3) for lazy in ("", "Lazy")},
    **{f"{lazy}ConvTranspose{n}d": "conv_transpose" for n in (1, 2, 3) for lazy in ("", "Lazy")},
    **dict.fromkeys(
        ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"), "dropout"
    ),
    **{f"BatchNorm{n}d": "norm" for n in (1, 2, 3)},
    **{f"InstanceNorm{n}d": "norm" for n in (1, 2, 3)},
    **dict.fromkeys(("LayerNorm", "GroupNorm", "RMSNorm", "SyncBatchNorm", "LocalResponseNorm"), "norm"),
    **dict.fromkeys(("Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"), "interpolate"),
    **{f"MaxPool{n}d": "max_pool" for n in (1, 2, 3)},
    **{f"AvgPool{n}d": "avg_pool" for n in (1, 2, 3)},
    **{f"Adaptive{kind}Pool{n}d": "adaptive_pool" for n in (1, 2, 3) for kind in ("Avg", "Max")},
    **dict.fromkeys(("Flatten", "Unflatten"), "view"),
    "Identity": "identity",
    "Softmax": "softmax",
    "MultiheadAttention": "multihead_attention",
    "PixelShuffle": "pixel_shuffle",
    "GLU": "glu",
    "Embedding": "embedding",
    **dict.fromkeys(("RNN", "LSTM", "GRU"), "rnn"),
}
"""What torch's own layers do, by the names of their classes; the others are called as their function."""
ACTIVATIONS: Mapping[str, str] = {
    "silu": "SiLU",
    "gelu": "GELU",
    "sigmoid": "sigmoid",
    "relu": "ReLU",
    "tanh": "tanh",
    "elu": "ELU",
    "relu6": "ReLU6",
    "leaky_relu": "LeakyReLU",
    "mish": "Mish",
    "softplus": "softplus",
    "selu": "SELU",
    "hardswish": "Hardswish",
    "hardsigmoid": "hard sigmoid",
    "leakyrelu": "LeakyReLU",
    "celu": "CELU",
}
"""Words of functions that are not linear, and their names."""
_WEIGHING = frozenset(("linear", "addmm", "matmul", "mm", "bmm", "baddbmm", "einsum", "conv1d", "conv2d", "conv3d"))
CONVOLUTIONS = frozenset(("conv", "conv1d", "conv2d", "conv3d"))
_OF_NORMS = words_of(
    """pow mean rsqrt sqrt mul add sub div truediv var var_mean std square norm clamp clamp_min maximum reciprocal
    layer_norm rms_norm batch_norm group_norm native_layer_norm normalize sum rmsnorm numel"""
)
_REDUCING = frozenset(("mean", "var", "std", "norm", "layer_norm", "rms_norm", "batch_norm", "group_norm", "normalize"))
_PLACES = (
    frozenset(("args[0]", "input", "self", "tensor", "query", "x", "mat1")),
    frozenset(("args[1]", "other", "mat2", "key", "weight")),
    frozenset(("args[2]", "value")),
)
_EINSUM = (frozenset(("args[1]", "operands[0]", "args[1][0]")), frozenset(("args[2]", "operands[1]", "args[1][1]")))
DROPOUTS = frozenset(("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_dropout", "identity"))
PARTS = words_of("""chunk unsafe_chunk split unsafe_split split_with_sizes tensor_split unbind hsplit vsplit dsplit""")
"""Operations that give several parts of a tensor."""
PICKS = frozenset(("getitem", "select", "narrow"))
CASTS = words_of(
    """contiguous detach to type type_as float double half bfloat16 cpu cuda alias requires_grad lift_fresh clone"""
)
KEEPING = (VIEWS - PARTS - PICKS) | DROPOUTS | frozenset(("clone", "T", "mT", "flatten"))
"""Words of steps that hand on the values that they are given, all of them."""


@dataclass(frozen=True, slots=True)
class Step:
    """A call that made no other, or an operation."""

    node: str
    word: str
    arguments: Mapping[str, Any]
    home: int | None
    """The call inside which it happened."""
    module: ModuleNode | None = None
    """Of a call."""
    is_weighing: bool = False
    """It maps what it is given by weights of its own, linearly."""


class Flow:
    """What leads where in a graph. Every table is built once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.index = GraphIndex(graph)
        self.into: dict[str, list[Edge]] = {}
        self.out: dict[str, list[Edge]] = {}
        for edge in graph.edges:
            if edge.observed is not False:
                self.into.setdefault(edge.consumer, []).append(edge)
                self.out.setdefault(edge.producer, []).append(edge)
        self._steps: dict[str, Step | None] = {}

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The ends of edges that stand for parameters; others that look alike stand for buffers."""
        return frozenset(
            f"param:{node.path}.{each.name}" if node.path else f"param:{each.name}"
            for node in self.graph.modules
            for each in node.parameters
        )

    @cached_property
    def inside(self) -> dict[int, list[str]]:
        """The operations of each call, by their ids."""
        found: dict[int, list[str]] = {}
        for each in self.graph.operations:
            if each.call is not None and each.observed is not False:
                found.setdefault(each.call, []).append(each.id)
        return found

    def steps(self, words: Iterable[str]) -> Iterator[Step]:
        """All certain steps that one of these words says."""
        wanted = frozenset(words)
        for each in self.graph.operations:
            if operation_word(each.name) not in wanted or (step := self.step(each.id)) is None:
                continue
            if each.call is None or not self.index.is_leaf_call(each.call) or f"call:{each.call}" not in self.into:
                yield step
        for call in self.graph.calls:
            step = self.step(f"call:{call.index}")
            if step is not None and step.word in wanted:
                yield step

    def step(self, node: str) -> Step | None:
        """That of an end of an edge; None where it is none, or is not certain."""
        if node not in self._steps:
            kind, _, number = node.partition(":")
            if kind == "op":
                self._steps[node] = self._operation(node)
            else:
                self._steps[node] = self._call(int(number)) if kind == "call" else None
        return self._steps[node]

    def _operation(self, node: str) -> Step | None:
        each = self.index.operations.get(node)
        if each is None or not each.certain or each.observed is False:
            return None
        word = operation_word(each.name)
        is_weighing = word in _WEIGHING and self._has_weight(node)
        return Step(node, word, each.arguments, each.call, None, is_weighing)

    def _has_weight(self, node: str) -> bool:
        """It is given a parameter of two or more dimensions, as it is or as a view."""
        for edge in self.into.get(node, ()):
            for _ in range(8):
                if edge.producer.startswith("param:"):
                    return edge.producer in self.parameters and len(edge.tensor.shape or ()) > 1
                step = self.index.operations.get(edge.producer)
                above = self.into.get(edge.producer, ())
                if step is None or len(above) != 1 or operation_word(step.name) not in VIEWS | {"T", "mT"}:
                    break
                edge = above[0]
        return False

    def _call(self, number: int) -> Step | None:
        call = self.graph.calls[number]
        if not call.certain or call.observed is False or not self.index.is_leaf_call(number) or call.error is not None:
            return None
        module = self.index.modules[call.module]
        node = f"call:{number}"
        name, arguments = module.class_name or "", module.arguments
        if name.startswith("torch."):
            word = _LAYERS.get(last_name(name), last_name(name).lower())
            return Step(node, word, arguments, call.parent, module, word in ("linear", "conv", "conv_transpose"))
        base = _LAYERS.get(last_name(module.torch_base or "")) if layer_base(module.torch_base) else None
        inside = {operation_word(self.index.operations[each].name) for each in self.inside.get(number, ())}
        if base in ("linear", "conv", "conv_transpose", "embedding") and inside.isdisjoint((*ACTIVATIONS, "softmax")):
            return Step(node, base, arguments, call.parent, module, base != "embedding")
        word, arguments = self._of_own(number, module)
        return Step(node, word, arguments, call.parent, module, word == "linear")

    def _of_own(self, number: int, module: ModuleNode) -> tuple[str, Mapping[str, Any]]:
        """What a layer of the model's own does, by the operations inside it."""
        held = [self.index.operations[each] for each in self.inside.get(number, ())]
        if not all(each.certain for each in held):
            return "module", {}
        done = [each for each in held if operation_word(each.name) not in VIEWS | DROPOUTS]
        words = {operation_word(each.name) for each in done}
        has_matrix = any(len(each.shape or ()) > 1 for each in module.parameters)
        if not held:
            return "module", {}
        if has_matrix:
            return ("linear" if words & _WEIGHING and words <= _WEIGHING | {"add", "mul"} else "module"), {}
        if len(done) == 1:
            return next(iter(words)), done[0].arguments
        if not done:
            return ("identity" if all(operation_word(each.name) in DROPOUTS | CASTS for each in held) else "module"), {}
        return ("norm" if words <= _OF_NORMS and words & _REDUCING else "module"), {}

    # ---- what goes into a step ---------------------------------------------------------------------------------------

    def operand(self, node: str, place: int) -> Edge | None:
        """What stands at a place of its arguments; None where that is not one tensor, or not certain."""
        step = self.step(node)
        names = _EINSUM[place] if step is not None and step.word == "einsum" else _PLACES[place]
        return _single([each for each in self.into.get(node, ()) if each.tensor.name in names])

    def pieces(self, node: str) -> list[Edge]:
        """The tensors of the list that it is given first, in order; none where one of them is not certain."""
        found: list[Edge] = []
        edges = self.into.get(node, ())
        for place in range(len(edges) if len(edges) <= MOST_PIECES else 0):
            names = (f"args[0][{place}]", f"tensors[{place}]")
            edge = _single([each for each in edges if each.tensor.name in names])
            if edge is None:
                break
            found.append(edge)
        return found if len(found) == len(edges) else []

    def only(self, node: str) -> Edge | None:
        """The one tensor that it is given beside weights."""
        edges = [each for each in self.into.get(node, ()) if not each.producer.startswith("param:")]
        return _single(edges)

    def data(self, step: Step) -> Edge | None:
        """What goes into a step that weighs, or does something to one tensor."""
        if step.node.startswith("call:"):
            return self.only(step.node)
        if step.word == "addmm":
            return self.operand(step.node, 1)
        for place in (0, 1):
            edge = self.operand(step.node, place)
            if edge is not None and not self.is_weight(edge):
                return edge
        return None

    def is_weight(self, edge: Edge) -> bool:
        """A parameter, as it is or as a view."""
        for _ in range(8):
            if edge.producer.startswith("param:"):
                return edge.producer in self.parameters
            step = self.step(edge.producer)
            above = self.into.get(edge.producer, ())
            if step is None or len(above) != 1 or step.word not in VIEWS | {"T", "mT"}:
                return False
            edge = above[0]
        return False

    def is_fixed(self, edge: Edge) -> bool:
        """It comes of parameters, buffers and constants alone, by few steps."""
        pending, seen = [edge], set[str]()
        while pending:
            edge = pending.pop()
            if edge.producer.startswith(("param:", "const:")) or edge.producer in seen:
                continue
            seen.add(edge.producer)
            if len(seen) > 12 or not edge.producer.startswith("op:"):
                return False
            pending += self.into.get(edge.producer, ())
        return True

    def users(self, node: str) -> list[Edge]:
        """What reads what it gives, as far as that is certain."""
        return [each for each in self.out.get(node, ()) if each.certain]

    def before(self, edge: Edge, words: frozenset[str] = KEEPING) -> Edge:
        """The same values, as far back as steps that keep them reach."""
        for _ in range(MOST_STEPS):
            step = self.step(edge.producer)
            above = (
                self.operand(step.node, 0) or self.only(step.node) if step is not None and step.word in words else None
            )
            if above is None:
                return edge
            edge = above
        return edge

    @cached_property
    def _roots(self) -> dict[str, int]:
        """By end, which inputs it comes of, and which tensors that no input has part in: a bit for each."""
        found: dict[str, int] = {}
        order = [each.id for each in self.graph.operations] + [f"call:{each.index}" for each in self.graph.calls]
        bits: dict[str, int] = {}
        for edge in self.graph.edges:
            if edge.producer.startswith("input:"):
                bits.setdefault(edge.producer, 1 << len(bits))
        if len(bits) > 32:
            return {}
        found.update(bits)
        waiting = {node: len(self.into.get(node, ())) for node in order}
        ready = [end for end in self.out if end not in waiting] + [node for node, count in waiting.items() if not count]
        while ready:
            end = ready.pop()
            own = found.setdefault(end, 0)
            for edge in self.out.get(end, ()):
                if edge.consumer not in waiting:
                    continue
                found[edge.consumer] = found.get(edge.consumer, 0) | own
                waiting[edge.consumer] -= 1
                if not waiting[edge.consumer]:
                    ready.append(edge.consumer)
        return found

    def roots(self, end: str) -> int | None:
        """The inputs that it comes of, as bits; None where that is not known."""
        return self._roots.get(end)

    # ---- where it stands ---------------------------------------------------------------------------------------------

    def around(self, nodes: Iterable[str]) -> int | None:
        """The innermost call that holds all of these; None where none does."""
        chains: list[list[int]] = []
        for node in nodes:
            kind, _, number = node.partition(":")
            call = self.graph.calls[int(number)].parent if kind == "call" else self.index.operations[node].call
            chains.append(self.around_all(call))
        common: int | None = None
        for each in zip(*chains, strict=False):
            if len(set(each)) > 1:
                break
            common = each[0]
        return common

    def around_all(self, call: int | None) -> list[int]:
        """A call and all around it, the outermost first."""
        found: list[int] = []
        while call is not None:
            found.append(call)
            call = self.graph.calls[call].parent
        return found[::-1]

    def within(self, call: int) -> set[str]:
        """All calls and operations inside one, at any depth."""
        found: set[str] = set()
        pending = [call]
        while pending:
            each = pending.pop()
            found.add(f"call:{each}")
            found.update(self.inside.get(each, ()))
            pending += [below.index for below in self.index.child_calls.get(each, ())]
        return found

    def leaves(self, call: int) -> Iterator[Step | None]:
        """The calls inside one that made no other; None for one that is not certain."""
        pending = [call]
        while pending:
            for each in self.index.child_calls.get(pending.pop(), ()):
                if self.index.is_leaf_call(each.index):
                    yield self.step(f"call:{each.index}")
                else:
                    pending.append(each.index)

    def weighing(self, call: int) -> set[str] | None:
        """All steps inside a call that weigh, or are not known well; None where something is not certain."""
        found: set[str] = set()
        for step in self.leaves(call):
            if step is None:
                return None
            if step.is_weighing or step.word in ("module", "embedding", "rnn", "multihead_attention"):
                found.add(step.node)
        for node in self.inside.get(call, ()):
            step = self.step(node)
            if step is None:
                return None
            if step.is_weighing:
                found.add(node)
        return found


def _single(edges: list[Edge]) -> Edge | None:
    return edges[0] if len(edges) == 1 and edges[0].certain else None


def are_apart(flow: Flow, one: Edge, other: Edge) -> bool:
    """Whether two tensors are different parts of one, or of different steps: not the same values twice."""
    if one.producer != other.producer:
        first, second = flow.step(one.producer), flow.step(other.producer)
        if first is not None and second is not None and first.word == second.word and first.word in PICKS:
            above, below = flow.operand(first.node, 0), flow.operand(second.node, 0)
            if above is not None and below is not None and _is_same(above, below):
                return bool(first.arguments) and first.arguments != second.arguments
        return True
    return one.output is not None and other.output is not None and one.output != other.output


def _is_same(one: Edge, other: Edge) -> bool:
    return (one.producer, one.output, one.made_by) == (other.producer, other.output, other.made_by)


def is_same(one: Edge, other: Edge) -> bool:
    """Whether two edges certainly carry the same tensor."""
    several = one.producer.startswith("call:") and one.made_by is None and one.tensor.shape != other.tensor.shape
    return _is_same(one, other) and not several
