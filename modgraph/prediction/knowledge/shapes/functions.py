"""Functions that give one tensor, by the shapes of those that they are given."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase

from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, Constant, TupleValue, Value
from modgraph.prediction.knowledge.shapes import arithmetic, fitting
from modgraph.prediction.knowledge.shapes.arithmetic import MisfitError, Size
from modgraph.prediction.knowledge.shapes.languages import signature
from modgraph.prediction.knowledge.tensors.demanding import is_nothing
from modgraph.prediction.knowledge.tensors.elements import INTEGERS, Shape, category, promoted
from modgraph.prediction.knowledge.tensors.tensor_math import needs_any
from modgraph.prediction.knowledge.tensors.tensor_memory import share
from modgraph.prediction.knowledge.tensors.tensor_values import size_of

_FUNCTIONAL = "torch.nn.functional"

# ---- products --------------------------------------------------------------------------------------------------------

signature("torch.baddbmm(input, batch1, batch2)", "_, b n i, b i m -> b n m", method=True)
signature("torch.addmm(input, mat1, mat2)", "_, n i, i m -> n m", method=True)
signature("torch.addmv(input, mat, vec)", "_, n i, i -> n", method=True)
signature("torch.addr(input, vec1, vec2)", "_, n, m -> n m", method=True)
signature("torch.vdot(input, other)", "n, n ->", method=True)
signature(f"{_FUNCTIONAL}.bilinear(input1, input2, weight, bias=None)", "*b i, *b j, o i j, o? -> *b o")


@models(f"{_FUNCTIONAL}.linear")
def linear(arguments: Arguments, machine: Machine) -> Value:
    """(..., in) times the weights (out, in), or (in)."""
    given, weight = (fitting.tensor(machine, arguments.get(i, n, NONE)) for i, n in enumerate(("input", "weight")))
    fitting.require_one_dtype(machine, given, weight, "linear")
    shape = fitting.fitted(machine, lambda: _through(given.shape, weight.shape))
    return fitting.result(machine, arguments, shape, given.dtype, needs_any((given, weight)))


def _through(given: Shape | None, weight: Shape | None) -> Shape | None:
    if given is None:
        return None
    if not given or (weight is not None and len(weight) not in (1, 2)):
        raise MisfitError(f"linear of {list(given)} by {weight} does not fit")
    if weight is None:
        return (*given[:-1], None)
    if given[-1] is not None and weight[-1] is not None and given[-1] != weight[-1]:
        raise MisfitError(f"mat1 and mat2 shapes cannot be multiplied ({_rows(given)}x{given[-1]} and {weight[-1]})")
    return (*given[:-1], *weight[:-1])


def _rows(given: Shape) -> str:
    rows = arithmetic.product(given[:-1])
    return "?" if rows is None else str(rows)


@models(f"{_FUNCTIONAL}.scaled_dot_product_attention", "torch._C._nn.scaled_dot_product_attention")
def attention(arguments: Arguments, machine: Machine) -> Value:
    query, key, value = (
        fitting.tensor(machine, arguments.get(place, name, NONE))
        for place, name in enumerate(("query", "key", "value"))
    )
    given = arguments.get(3, "attn_mask", NONE)
    grouped = machine.truth(arguments.named("enable_gqa", FALSE))
    is_of_nothing = any(is_nothing(size) for each in (query, key, value) for size in each.shape or ())
    if query.shape is None or key.shape is None or value.shape is None or grouped is None or is_of_nothing:
        width = (value.shape[-1:] or (None,))[0] if value.shape is not None else None
        known = (*query.shape[:-1], width) if query.shape is not None and grouped else None
        return fitting.result(machine, arguments, known, query.dtype, needs_any((query, key, value)))
    shapes, mask = (query.shape, key.shape, value.shape), fitting.tensor(machine, given).shape
    shape = fitting.fitted(machine, lambda: arithmetic.attended(*shapes, mask if given != NONE else None, grouped))
    return fitting.result(machine, arguments, shape, query.dtype, needs_any((query, key, value)))


@models(f"{_FUNCTIONAL}.multi_head_attention_forward")
def attention_of_heads(arguments: Arguments, machine: Machine) -> Value:
    """Of (length, batch, width), or of no batch: what is attended to, and the weights or None."""
    query, key = (fitting.tensor(machine, arguments.get(i, n, NONE)) for i, n in enumerate(("query", "key")))
    weight = fitting.tensor(machine, arguments.get(11, "out_proj_weight", NONE))
    width = weight.shape[0] if weight.shape else None
    shape = (*query.shape[:-1], width) if query.shape else None
    result = fitting.result(machine, arguments, shape, query.dtype, needs_any((query, key, weight)))
    needed = machine.truth(arguments.get(15, "need_weights", TRUE))
    averaged = machine.truth(arguments.get(23, "average_attn_weights", TRUE))
    if needed is False and arguments.open is None:
        return TupleValue((result, NONE))
    zeros = machine.truth(arguments.get(9, "add_zero_attn", FALSE))
    is_given = arguments.get(21, "static_k", NONE) == NONE and zeros is not None
    sizes: Shape | None = None
    if query.shape and key.shape and averaged is not None and is_given:
        heads = () if averaged else (size_of(arguments.get(4, "num_heads", NONE)),)
        more = bool(zeros) + (arguments.get(7, "bias_k", NONE) != NONE)
        places = None if key.shape[0] is None else key.shape[0] + more
        sizes = (*query.shape[1:-1], *heads, query.shape[0], places)
    if needed is None:
        return TupleValue((result, machine.unknown("whether the weights are asked for is not known")))
    return TupleValue((result, fitting.result(machine, arguments, sizes, query.dtype)))


@models("torch.einsum")
def einstein_sum(arguments: Arguments, machine: Machine) -> Value:
    """Of operands in a row, or in one list; numbers of the dimensions may stand behind each instead of an equation."""
    equation, operands = operands_of_sum(arguments, machine)
    tensors = [fitting.tensor(machine, each) for each in operands]
    if not isinstance(equation, Constant) or not isinstance(equation.value, str) or not operands:
        return fitting.result(machine, arguments, None, None)
    dtype = _of_sum(equation.value, [each.dtype for each in tensors])
    shapes = [each.shape for each in tensors]
    shape = fitting.fitted(machine, lambda: arithmetic.summed(equation.value, shapes))
    found = fitting.result(machine, arguments, shape, dtype, needs_any(tensors))
    if len(operands) == 1 and not arithmetic.sums(equation.value):
        share(machine, found, operands[0])  # its dimensions in another order, or a diagonal
    return found


def operands_of_sum(arguments: Arguments, machine: Machine) -> tuple[Value, list[Value]]:
    """The equation of `einsum`, and its operands, however both are given."""
    equation, operands = arguments.get(0, "equation", NONE), list(arguments.positional[1:])
    if fitting.tensor(machine, equation) is not fitting.NOT_KNOWN:
        equation, operands = _with_letters(machine, arguments.positional)
    if len(operands) == 1 and fitting.tensor(machine, operands[0]) is fitting.NOT_KNOWN:
        listed = machine.iterate(operands[0])
        operands = listed if isinstance(listed, list) else []
    return equation, operands


def _with_letters(machine: Machine, given: Sequence[Value]) -> tuple[Value, list[Value]]:
    """The equation that numbers of dimensions stand for, and the operands."""
    texts: list[str] = []
    for value in (*given[1::2], *(given[-1:] if len(given) % 2 else ())):
        numbers = machine.iterate(value)
        text = "" if isinstance(numbers, list) else None
        for each in numbers if isinstance(numbers, list) else ():
            number = fitting.number(each)
            if each != Constant(...) and type(number) is not int:
                return NONE, []
            if number is not None and not 0 <= number < len(_LETTERS):
                raise machine.raises("RuntimeError", f"subscript {number} is not within [0, {len(_LETTERS)})")
            text = f"{text}{'...' if number is None else _LETTERS[number]}"
        if text is None:
            return NONE, []
        texts.append(text)
    count = len(given) // 2
    left = ",".join(texts[:count])
    return Constant(f"{left}->{texts[count]}" if len(given) % 2 else left), list(given[: 2 * count : 2])


_LETTERS = ascii_uppercase + ascii_lowercase
"""Of the numbers of dimensions, in the order that torch has of them."""


def _of_sum(equation: str, dtypes: Sequence[str | None]) -> str | None:
    """The dtype of `einsum`. Where whole numbers or truths of one operand alone are summed up, they become int64; of
    several operands that is not followed."""
    dtype = dtypes[0]
    for each in dtypes[1:]:
        dtype = promoted(dtype, each)
    if dtype is None or category(dtype) >= 2 or not arithmetic.sums(equation):
        return dtype
    return "int64" if len(dtypes) == 1 or set(dtypes) == {"int64"} else None


# ---- by index --------------------------------------------------------------------------------------------------------


@models(f"{_FUNCTIONAL}.embedding")
def embedding(arguments: Arguments, machine: Machine) -> Value:
    """Rows of the weight (number, width)."""
    given, weight = (
        fitting.tensor(machine, arguments.get(0, "input", NONE)),
        fitting.tensor(machine, arguments.get(1, "weight", NONE)),
    )
    shape = None
    fitting.require_indices(machine, given, weight.shape[0] if weight.shape else None)
    if given.shape is not None:
        if weight.shape is not None and len(weight.shape) != 2:
            raise machine.raises("RuntimeError", "'weight' must be 2-D")
        shape = (*given.shape, weight.shape[1] if weight.shape is not None else None)
    return fitting.result(machine, arguments, shape, weight.dtype, weight.requires_grad)


@models(f"{_FUNCTIONAL}.embedding_bag", "torch.nn.modules.sparse.EmbeddingBag.forward")
def embedding_of_bags(arguments: Arguments, machine: Machine) -> Value:
    """One row for each bag: for each row of indices, or for each place at which one begins."""
    is_layer = arguments.function.endswith("forward")
    given = fitting.tensor(machine, arguments.get(int(is_layer), "input", NONE))
    if is_layer:
        held = [machine.find_attribute(arguments.positional[0], name) for name in ("weight", "include_last_offset")]
        rows, with_last = (each or NONE for each in held)
    else:
        rows, with_last = arguments.get(1, "weight", NONE), arguments.get(9, "include_last_offset", FALSE)
    weight, offsets = fitting.tensor(machine, rows), fitting.tensor(machine, arguments.get(2, "offsets", NONE))
    if given.dtype not in (None, *INTEGERS):  # the weight first, as it once was
        return fitting.result(machine, arguments, None, None)
    fitting.require_indices(machine, given, weight.shape[0] if weight.shape else None)
    bags, is_one_more = offsets.shape[0] if offsets.shape else None, machine.truth(with_last)
    if given.shape is not None and len(given.shape) == 2:
        bags = given.shape[0]
    elif is_one_more is not False:
        bags = bags - 1 if is_one_more and bags is not None else None
    shape = (bags, weight.shape[1] if weight.shape is not None and len(weight.shape) == 2 else None)
    return fitting.result(machine, arguments, shape, weight.dtype, weight.requires_grad)


@models(f"{_FUNCTIONAL}.glu", "torch.nn.modules.activation.GLU.forward")
def gated(arguments: Arguments, machine: Machine) -> Value:
    """Half of one dimension."""
    is_layer = arguments.function.endswith("forward")
    given = fitting.tensor(machine, arguments.get(int(is_layer), "input", NONE))
    dim = machine.find_attribute(arguments.positional[0], "dim") if is_layer else arguments.get(1, "dim", Constant(-1))
    place = size_of(dim or NONE)
    shape = None
    if given.shape is not None and place is not None:
        if not given.shape:
            raise machine.raises("RuntimeError", "glu does not support scalars because halving size must be even")
        if not -len(given.shape) <= place < max(len(given.shape), 1):
            raise machine.raises("IndexError", f"Dimension out of range (got {place})")
        size = given.shape[place]
        if size is not None and size % 2:
            raise machine.raises(
                "RuntimeError", f"Halving dimension must be even, but dimension {place} is size {size}"
            )
        found: list[Size] = list(given.shape)
        found[place] = None if size is None else size // 2
        shape = tuple(found)
    return fitting.result(machine, arguments, shape, given.dtype, given.requires_grad)
