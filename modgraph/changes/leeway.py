"""What a prediction leaves open of what `forward` does: calls and operations under a condition that depends on what is
not known of the model, and ends whose data was lost with a value of which nothing is known.

A condition on the inputs is no open one: a call that comes only where `w <= 64` is another than one that always comes.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from modgraph.graph.dataflow import operation_word
from modgraph.graph.model import OPEN_TURNS, Call, Condition, Graph, Operation
from modgraph.graph.paths import is_open_place
from modgraph.source.quiet import python_tree

At = tuple[str, int]
"""A module, and the number of its call among those that are certain."""
_DATA_WORDS = "sum any all max min mean std norm item numel dim size argmax isnan isinf isfinite equal allclose"
_DATA = frozenset(_DATA_WORDS.split())
"""Methods that say something of a tensor: of what goes through the model."""
_SAID = frozenset(["shape", "ndim", "dtype", "device", "is_cuda", "requires_grad"])
_MAY_HOLD = re.compile(r"\bmay have\b|\bhas as\b")
"""In the message of a problem: it is not known what a module has under a name that its `forward` may read."""
VAGUE = ("depends on", "another way")
"""They begin conditions that name no test: two of one text need not be one."""
_FUNCTIONS = frozenset(["len", "int", "float", "bool", "isinstance", "abs"])


@dataclass(slots=True)
class Leeway:
    """What else there may be in a graph, beside what is certain; nothing of a run."""

    calls: Mapping[str, float] = field(default_factory=dict)
    """By module, how many more calls."""
    operations: Mapping[At, Mapping[str, float]] = field(default_factory=dict)
    """By call, how many more operations of a word."""
    lost: frozenset[At] = frozenset()
    """Calls in which a value got lost: further operations may be there, on what is not known."""
    untold: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By module, what is said of names of which it is not known what they hold: its `forward` may read them."""
    is_partial: bool = False
    """Something of the model is not known, so that values may have been lost."""
    sizes: frozenset[str] = frozenset()
    """Names of inputs, and of their sizes that are left open."""

    def is_open(self, condition: Condition | None) -> bool:
        """Whether it may be that the condition always holds, or never does: whatever is not known to be asked of the
        inputs."""
        test = None if condition is None else _expression(condition.text)
        return test is None or not self._is_of_inputs(test)

    def _is_of_inputs(self, test: ast.expr) -> bool:
        if isinstance(test, ast.BoolOp):
            return all(map(self._is_of_inputs, test.values))
        if isinstance(test, ast.UnaryOp):
            return self._is_of_inputs(test.operand)
        if isinstance(test, ast.Compare):
            return any(self._is_of_inputs(each) for each in (test.left, *test.comparators))
        if isinstance(test, ast.BinOp):
            return self._is_of_inputs(test.left) or self._is_of_inputs(test.right)
        if isinstance(test, ast.Subscript):
            return self._is_of_inputs(test.value)
        if isinstance(test, ast.Call):
            return self._asks_inputs(test)
        if isinstance(test, ast.Attribute):
            mode = isinstance(test.value, ast.Name) and test.value.id == "self" and test.attr == "training"
            return mode or (test.attr in _SAID and self._is_of_inputs(test.value))
        return isinstance(test, ast.Name) and test.id in self.sizes

    def _asks_inputs(self, call: ast.Call) -> bool:
        """Whether a call asks a tensor for what is in it, or how large it is."""
        if isinstance(call.func, ast.Name):
            return call.func.id in _FUNCTIONS and any(map(self._is_of_inputs, call.args))
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _DATA:
            return False
        # `self.flag.any()` may ask a setting; a local name, or what a call gave, is taken for a tensor.
        holder = call.func.value
        while isinstance(holder, ast.Subscript):
            holder = holder.value
        if isinstance(holder, ast.Name):
            return holder.id != "self"
        return isinstance(holder, (ast.Call, ast.Compare, ast.BinOp, ast.UnaryOp))


def leeway_of(graph: Graph) -> Leeway:
    """What a graph leaves open, with all that depends on conditions in it."""
    if graph.traced or not graph.predicted:
        return Leeway()
    given = graph.model.inputs
    sizes = {each.name for each in given}
    sizes.update(tensor.name for each in given for tensor in each.tensors)
    shapes = [tensor.shape or () for each in given for tensor in each.tensors]
    sizes.update(name for shape in shapes for size in shape if isinstance(size, str) for name in _names(size))
    partial = bool(graph.open_places) or any(
        node.unknown_arguments or is_open_place(node.path) or node.class_is_open for node in graph.modules
    )
    found = Leeway(is_partial=partial, sizes=frozenset(sizes))
    found.calls, found.operations = _further(graph, found)
    found.lost = frozenset(_lost(graph)) if partial else frozenset()
    untold: dict[str, set[str]] = {}
    for each in graph.open_places:
        if each.stage == "predict" and each.module is not None and _MAY_HOLD.search(each.message):
            untold.setdefault(each.module, set()).add(each.message.partition(":")[0])
    found.untold = {module: frozenset(said) for module, said in untold.items()}
    return found


def _names(text: str) -> Iterator[str]:
    tree = _expression(text)
    if tree is not None:
        yield from (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def _expression(text: str) -> ast.expr | None:
    """Its tree; None of a text that is none, as of a condition in words."""
    try:
        return python_tree(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _further(graph: Graph, leeway: Leeway) -> tuple[dict[str, float], dict[At, Counter[str]]]:
    calls: Counter[str] = Counter()
    operations: dict[At, Counter[str]] = {}
    at = certain_calls(graph)
    for call in graph.calls:
        if not call.certain:
            calls[call.module] += _more(call, leeway)  # type: ignore[assignment]
    for each in graph.operations:
        if not each.certain and each.call in at and (more := _more(each, leeway)):
            words = operations.setdefault(at[each.call], Counter())
            words[operation_word(each.name)] += more  # type: ignore[assignment]
    return dict(calls), operations


def _more(thing: Call | Operation, leeway: Leeway) -> float:
    """How many more of it there may be."""
    if not leeway.is_open(thing.condition):
        return 0
    text = "" if thing.condition is None else thing.condition.text
    return math.inf if not text or text.startswith(VAGUE) or OPEN_TURNS in text else 1


def certain_calls(graph: Graph) -> dict[int, At]:
    """The calls that are certain, each with its module and its number among them."""
    counted: Counter[str] = Counter()
    found: dict[int, At] = {}
    for call in graph.calls:
        if call.certain:
            counted[call.module] += 1
            found[call.index] = (call.module, counted[call.module])
    return found


def _lost(graph: Graph) -> Iterator[At]:
    """Calls that a value has come to of which not even a tensor is known, or in which something gave one."""
    at = certain_calls(graph)
    sources = {edge.producer for edge in graph.edges}
    lost: set[int] = {each.call for each in graph.operations if each.call is not None and each.id not in sources}
    for call in graph.calls:
        if all(each.unknown for each in call.outputs):
            lost.update(number for number in (call.index, call.parent) if number is not None)
    for call in graph.calls:  # a call begins before those that it makes
        if call.parent in lost and not call.inputs:
            lost.add(call.index)
    yield from (at[number] for number in sorted(lost) if number in at)
