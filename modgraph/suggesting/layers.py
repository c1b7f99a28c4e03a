"""What the modules of a graph are, by their class or by what they do: linear layers, convolutions, tables, norms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from modgraph.graph.dataflow import operation_word
from modgraph.graph.index import GraphIndex
from modgraph.graph.model import IN_ANY_ORDER, MAY_HIDE, Graph, ModuleNode, ParameterInfo
from modgraph.graph.paths import is_open_place, parameter_path
from modgraph.graph.sizes import elements
from modgraph.graph.torch_classes import CONTAINERS
from modgraph.suggesting.patterns import starred

Role = Literal["linear", "transposed", "conv", "embedding", "norm", "matrices", "other", "unknown"]
"""`transposed`: linear, with a weight stored the other way round; `matrices`: recurrent, attention, bilinear."""

_TORCH = "torch.nn.modules."
_FILES: dict[str, Role] = {
    "conv": "conv",
    "sparse": "embedding",
    "normalization": "norm",
    "batchnorm": "norm",
    "instancenorm": "norm",
    "rnn": "matrices",
}
_CLASSES: dict[str, Role] = {
    "linear.Linear": "linear",
    "linear.LazyLinear": "linear",
    "linear.NonDynamicallyQuantizableLinear": "linear",
    "linear.Bilinear": "matrices",
    "activation.MultiheadAttention": "matrices",
}
"""Of torch, by the file and name of the class below `torch.nn.modules`."""
_ATTENTION = f"{_TORCH}activation.MultiheadAttention"

_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")

_PRODUCTS = frozenset(
    (
        *("linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "addbmm", "einsum", "tensordot", "bilinear"),
        *("grouped_mm", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    )
)
_KEPT_ON = frozenset(
    (
        *("t", "transpose", "permute", "view", "reshape", "contiguous", "to", "type_as", "float", "half", "bfloat16"),
        *("unsqueeze", "squeeze", "flatten", "getitem", "select", "chunk", "split", "unbind", "narrow", "detach"),
    )
)
"""Operations that give a tensor on, or a part of it."""
_ADDED = frozenset(
    (
        *("add", "sub", "cat", "stack", "concat", "embedding", "expand", "expand_as", "repeat", "tile"),
        *("index_select", "gather"),
    )
)
"""What is done with a table or a token."""
_MOST_STEPS = 5
LONGEST = 4
"""Parts of a path that are taken to name modules by its end."""


@dataclass(frozen=True, slots=True)
class Held:
    """One parameter under one of its names."""

    key: str
    node: ModuleNode
    parameter: ParameterInfo
    first: str
    """The key under which it is met first: `key` itself, unless it is shared."""


class Layers:
    """The registered modules of one graph, and what they are."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.index = GraphIndex(graph)

    @cached_property
    def nodes(self) -> dict[str, ModuleNode]:
        """All that `named_modules` tells, also under further names; no open places."""
        hidden: set[str] = set()
        found = {}
        for node in self.graph.modules:
            parent = self.index.parents[node.path]
            if not node.registered or parent in hidden or node.observed is False or node.made_in_forward:
                hidden.add(node.path)
            elif not is_open_place(node.path) and node.class_name != "NoneType":
                found[node.path] = node
        return found

    @cached_property
    def own(self) -> dict[str, ModuleNode]:
        """Those of `nodes` under their first names."""
        return {path: node for path, node in self.nodes.items() if node.alias_of is None}

    @cached_property
    def by_end(self) -> dict[str, list[str]]:
        """The paths of `own` by their last part, by the last two, ..."""
        found: dict[str, list[str]] = {}
        for path in self.own:
            parts = path.split(".")
            for length in range(1, min(len(parts), LONGEST) + 1):
                found.setdefault(".".join(parts[-length:]), []).append(path)
        return found

    @cached_property
    def tied(self) -> frozenset[str]:
        """Paths of the modules that hold a parameter under two names, as first or as further one."""
        shared = [held for held in self.held.values() if held.first != held.key and held.node.alias_of is None]
        return frozenset(path for held in shared for path in (held.node.path, held.first.rpartition(".")[0]))

    def children(self, path: str) -> list[ModuleNode]:
        """Those of `own` that a module holds itself."""
        return [node for node in self.index.children[path] if node.path in self.own]

    def below(self, path: str) -> Iterator[ModuleNode]:
        """A module and all of `own` below it."""
        yield self.own[path]
        yield from (node for node in self.index.below(path) if node.path in self.own)

    @cached_property
    def held(self) -> dict[str, Held]:
        """Every parameter under every one of its names."""
        found: dict[str, Held] = {}
        for node in self.nodes.values():
            for parameter in node.parameters:
                if node.class_name is None and _is_statistic(parameter.name, node):
                    continue
                key = parameter_path(node.path, parameter.name)
                first = parameter.alias_of
                if first is None:
                    first = key if node.alias_of is None else parameter_path(node.alias_of, parameter.name)
                found[key] = Held(key, node, parameter, found[first].first if first in found else first)
        return found

    @property
    def tells_parameters(self) -> bool:
        """Whether parameters are told from buffers, as a file of weights need not do."""
        return self.graph.stored is None or self.graph.model.parameters is not None

    @cached_property
    def elements(self) -> dict[str, int | None]:
        """Of each module of `own`, the number of elements of its parameters; a shared one counts where it is first."""
        counts: dict[str, int | None] = {path: None if path and path in self.open_at else 0 for path in self.own}
        for held in self.held.values():
            if held.first == held.key and held.node.path in counts:
                counts[held.node.path] = _sum([counts[held.node.path], elements(held.parameter.shape)])
        return counts

    def weight_of(self, path: str) -> int | None:
        """The number of elements of a module and of all below it; None where one is not known."""
        return _sum([self.elements[node.path] for node in self.below(path)])

    def total(self, paths: list[str]) -> int | None:
        """Of several modules, without what is below them."""
        return _sum([self.elements[path] for path in paths])

    def is_container(self, node: ModuleNode) -> bool:
        """Whether it is a plain list or sequence of torch's own class."""
        return (node.class_name or "").startswith(CONTAINERS)

    def role(self, path: str) -> Role:
        """What a module is."""
        if path not in self._roles:
            self._roles[path] = self._found_role(self.nodes[path])
        return self._roles[path]

    @cached_property
    def _roles(self) -> dict[str, Role]:
        return {}

    def _found_role(self, node: ModuleNode) -> Role:
        name = node.class_name
        if name is None:
            return "unknown"
        if not name.startswith("torch."):
            name = node.torch_base or ""
        if name.startswith(_TORCH):
            file, _, _ = name.removeprefix(_TORCH).partition(".")
            found = _CLASSES.get(name.removeprefix(_TORCH)) or _FILES.get(file)
            if found is not None:
                return found
            if not name.startswith(CONTAINERS):
                return "other"
        return self._role_by_use(node)

    def _role_by_use(self, node: ModuleNode) -> Role:
        """Of a layer that is nobody's subclass: by the sizes that go in and come out of it, and what it calls."""
        matrices = [each for each in node.parameters if each.shape is not None and len(each.shape) >= 2]
        if len(matrices) != 1 or self.children(node.path):
            return "other" if not matrices else "unknown"
        shape = matrices[0].shape
        words = self._words.get(node.path, set())
        calls = [self.graph.calls[number] for number in node.calls]
        ends = {_ends(call.inputs, call.outputs) for call in calls}
        if len(ends) != 1 or None in ends or shape is None:
            return "unknown"
        (pair,) = ends
        if len(shape) == 2 and words & _PRODUCTS and pair is not None:
            if pair == (shape[0], shape[1]) and (shape[0] != shape[1] or "linear" not in words):
                # Which way round a square one lies, others of its class may say.
                return "linear" if shape[0] == shape[1] and self._lies_plainly(node) else "transposed"
            if pair == (shape[1], shape[0]):
                return "linear"
        if len(shape) > 2 and any(word.startswith("conv") for word in words & _PRODUCTS):
            return "conv"
        return "unknown"

    def _lies_plainly(self, node: ModuleNode) -> bool:
        """Whether no layer of its class has a weight that is stored the other way round."""
        name = node.class_name or ""
        if name not in self._plain:
            of_class = (each for each in self.own.values() if each.class_name == name and not _is_square(each))
            self._plain[name] = not any(self.role(each.path) == "transposed" for each in of_class)
        return self._plain[name]

    @cached_property
    def _plain(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _words(self) -> dict[str, set[str]]:
        """Of each module, the operations in its own calls."""
        found: dict[str, set[str]] = {}
        for operation in self.graph.operations:
            if operation.call is not None:
                path = self.graph.calls[operation.call].module
                found.setdefault(path, set()).add(operation_word(operation.name))
        return found

    def is_multiplied(self, key: str) -> bool | None:
        """Whether a parameter that no layer of torch holds is multiplied with what comes; False where it is added or
        looked up; None where that is not seen."""
        pending = [(f"param:{key}", 0)]
        met = set()
        seen: set[bool] = set()
        while pending:
            end, steps = pending.pop()
            for edge in self.index.outgoing.get(end, ()):
                operation = self.index.operations.get(edge.consumer)
                if operation is None or operation.id in met or not edge.certain or edge.observed is False:
                    continue
                met.add(operation.id)
                word = operation_word(operation.name)
                if word in _PRODUCTS:
                    seen.add(True)
                elif word in _ADDED:
                    seen.add(False)
                elif word in _KEPT_ON and steps < _MOST_STEPS:
                    pending.append((operation.id, steps + 1))
        return seen.pop() if len(seen) == 1 else None

    def is_torch_linear(self, path: str) -> bool:
        """Whether it is torch's own linear layer, or derived from it."""
        node = self.own[path]
        kinds = [name.removeprefix(_TORCH) for name in (node.class_name, node.torch_base) if name is not None]
        return any(_CLASSES.get(kind) == "linear" for kind in kinds)

    def is_read_by_attention(self, path: str) -> bool:
        """Whether it is a layer of which torch's attention takes the weight, and that it never calls."""
        parent = self.index.parents[path]
        node = None if parent is None else self.nodes.get(parent)
        return node is not None and _ATTENTION in (node.class_name, node.torch_base)

    @cached_property
    def open_at(self) -> dict[str, None]:
        """Paths of modules of which the graph leaves open what else they hold, or what they are."""
        places: dict[str, None] = {}
        for node in self.graph.modules:
            if is_open_place(node.path):
                places.setdefault(node.path[:-1].rstrip("."))
            elif node.class_is_open and node.registered:
                places.setdefault(node.path)
            elif not node.certain:
                parent = self.index.parents[node.path]
                if parent is None or self.index.modules[parent].certain:
                    places.setdefault(node.path)
        for problem in self.graph.open_places:
            if problem.stage == "predict" and MAY_HIDE not in problem.message and IN_ANY_ORDER not in problem.message:
                places.setdefault(problem.module or "")
        return places

    @property
    def _has_statistics(self) -> bool:
        nodes = (node for node in self.nodes.values() if node.class_name is None)
        return any(_is_statistic(each.name, node) for node in nodes for each in node.parameters)

    @cached_property
    def unknown(self) -> tuple[str, ...]:
        """What the graph leaves open of its modules and parameters, a sentence each."""
        shown = dict.fromkeys(starred([path])[0] or "the model" for path in self.open_at)
        said = [f"what else is in {path} is not known: names may be missing" for path in shown]
        if any(node.class_name is None and not node.class_is_open for node in self.own.values()):
            said.append("the file names no classes: which layer holds a weight is not known")
        if not self.tells_parameters:
            but = "; running statistics, by their names, are left out" if self._has_statistics else ""
            said.append(f"the file does not tell parameters from buffers, which stand among them{but}")
        return tuple(said)


def _is_statistic(name: str, node: ModuleNode) -> bool:
    """Whether a tensor of a file is a buffer of torch's norms, by the names in one layer."""
    return name in _STATISTICS and {each.name for each in node.parameters} >= set(_STATISTICS[:2])


def _is_square(node: ModuleNode) -> bool:
    shapes = [each.shape for each in node.parameters if each.shape is not None and len(each.shape) == 2]
    return any(shape[0] == shape[1] for shape in shapes)


def _ends(inputs: object, outputs: object) -> tuple[int | str | None, int | str | None] | None:
    """The last sizes of the one tensor that goes in and the one that comes out."""
    assert isinstance(inputs, tuple)
    assert isinstance(outputs, tuple)
    if len(inputs) != 1 or len(outputs) != 1 or not inputs[0].shape or not outputs[0].shape:
        return None
    return inputs[0].shape[-1], outputs[0].shape[-1]


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def as_known(layers: Layers) -> str:
    """What a sentence that denies something ends with, where the graph leaves something open."""
    return " as far as is known" if layers.unknown else ""
