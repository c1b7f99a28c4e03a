"""torch.linalg, and its functions under torch and Tensor: what is made of matrices, one for each of the leading sizes.

Source: the reference of each function of torch.linalg.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from modgraph.names import last_name
from modgraph.prediction.domain.calling import Arguments
from modgraph.prediction.domain.machine import Machine
from modgraph.prediction.domain.objects import TensorObject
from modgraph.prediction.domain.registry import models
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, Constant, TupleValue, Value
from modgraph.prediction.knowledge.shapes import fitting
from modgraph.prediction.knowledge.shapes.arithmetic import Size
from modgraph.prediction.knowledge.tensors.elements import REAL_PARTS, Shape
from modgraph.prediction.knowledge.tensors.tensor_math import needs_any
from modgraph.prediction.knowledge.tensors.tensor_values import made, named_parts, size_of
from modgraph.prediction.knowledge.torch.parameters import TENSOR

_COMPLEX = {real: name for name, real in REAL_PARTS.items()}
Matrix = tuple[Shape, Size, Size]
"""The leading sizes, rows and columns."""
Rule = Callable[[Matrix], Shape]


def _least(one: Size, other: Size) -> Size:
    return one if one == other else None if one is None or other is None else min(one, other)


def _everywhere(*names: str) -> tuple[str, ...]:
    """Functions that torch has under several names."""
    return tuple(f"{owner}.{name}" for name in names for owner in ("torch", TENSOR))


def _matrix(machine: Machine, tensor: TensorObject, function: str, square: bool) -> Matrix | None:
    """What is given, where its shape is known.

    Raises:
        Raised: RuntimeError, where it is no matrix, or is to be square and is not.
    """
    if tensor.shape is None:
        return None
    name = f"linalg.{last_name(function)}"
    if len(tensor.shape) < 2:
        raise machine.raises("RuntimeError", f"{name}: The input tensor A must have at least 2 dimensions.")
    *rest, rows, columns = tensor.shape
    if square and None not in (rows, columns) and rows != columns:
        raise machine.raises("RuntimeError", f"{name}: A must be batches of square matrices")
    return tuple(rest), rows, columns


def _real(dtype: str | None) -> str | None:
    return REAL_PARTS.get(dtype or "", dtype)


def _complex(dtype: str | None) -> str | None:
    return dtype if dtype in REAL_PARTS else _COMPLEX.get(dtype or "")


# ---- one tensor ------------------------------------------------------------------------------------------------------


_SAME = ("inv", "cholesky", "matrix_exp", "matrix_power")
_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_SAME, lambda matrix: (*matrix[0], *matrix[1:])),
    "det": lambda matrix: matrix[0],
    "eigvals": lambda matrix: (*matrix[0], matrix[1]),
    "eigvalsh": lambda matrix: (*matrix[0], matrix[1]),
    "pinv": lambda matrix: (*matrix[0], matrix[2], matrix[1]),
    "svdvals": lambda matrix: (*matrix[0], _least(*matrix[1:])),
}
_OF_ANY = ("pinv", "svdvals")
"""The matrix need not be square."""
_ALSO = {"inverse": "inv", "det": "det", "logdet": "det", "matrix_exp": "matrix_exp", "pinverse": "pinv"}
_ALSO |= {"cholesky": "cholesky", "matrix_power": "matrix_power"}


@models(*(f"torch.linalg.{name}" for name in _RULES), *_everywhere(*_ALSO))
def of_one(arguments: Arguments, machine: Machine) -> Value:
    name = last_name(arguments.function)
    known = _ALSO.get(name, name) if not arguments.function.startswith("torch.linalg.") else name
    tensor = fitting.tensor(machine, arguments.get(0, "A", arguments.keywords.get("input", NONE)))
    matrix = _matrix(machine, tensor, arguments.function, known not in _OF_ANY)
    dtype = _complex(tensor.dtype) if known == "eigvals" else _real(tensor.dtype) if "vals" in known else tensor.dtype
    is_plain = len(arguments.positional) + len(arguments.keywords) == 1 or known not in ("pinv", "svdvals")
    shape = (
        None if matrix is None or not is_plain else _RULES[known](matrix)
    )  # a tolerance is a tensor, that broadcasts
    return fitting.result(machine, arguments, shape, dtype, tensor.requires_grad)


@models("torch.linalg.solve")
def solved(arguments: Arguments, machine: Machine) -> Value:
    """X of A X = B; B is a vector for each matrix where it has one dimension, or the leading sizes and rows of A."""
    first, second = (fitting.tensor(machine, arguments.get(place, name, NONE)) for place, name in enumerate(("A", "B")))
    matrix = _matrix(machine, first, arguments.function, square=True)
    shape = None
    if matrix is not None and second.shape is not None and None not in (*(first.shape or ()), *second.shape):
        leading, rows, _ = matrix
        is_vector = len(second.shape) == 1 or second.shape == (*leading, rows)
        is_plain = second.shape[:-2] == leading and arguments.get(2, "left", TRUE) == TRUE
        shape = second.shape if (not leading if is_vector else is_plain) else None
    return fitting.result(machine, arguments, shape, first.dtype, needs_any((first, second)))


# ---- several tensors -------------------------------------------------------------------------------------------------


def _parts(
    machine: Machine, tensor: TensorObject, names: Sequence[str], shapes: Sequence[Shape | None], *dtypes: str | None
) -> Value:
    parts = [
        made(machine, shape, dtype, requires_grad=tensor.requires_grad)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]
    return named_parts(names, parts)


@models("torch.linalg.svd", *_everywhere("svd"))
def singular_parts(arguments: Arguments, machine: Machine) -> Value:
    """U, S and the other side: Vh, or V of the older function, which keeps few columns by default."""
    is_new = arguments.function == "torch.linalg.svd"
    tensor = fitting.tensor(machine, arguments.get(0, "A" if is_new else "input", NONE))
    names = ("U", "S", "Vh" if is_new else "V")
    matrix = _matrix(machine, tensor, arguments.function, square=False)
    kinds = (tensor.dtype, _real(tensor.dtype), tensor.dtype)
    if matrix is None:
        return _parts(machine, tensor, names, (None, None, None), *kinds)
    rest, rows, columns = matrix
    inner = _least(rows, columns)
    asked = machine.truth(arguments.get(1, "full_matrices" if is_new else "some", TRUE))
    whole = asked if is_new or asked is None else not asked
    left, right = (rows, columns) if whole else (inner, inner) if whole is False else (None, None)
    last = (*rest, right, columns) if is_new else (*rest, columns, right)
    return _parts(machine, tensor, names, ((*rest, rows, left), (*rest, inner), last), *kinds)


@models("torch.linalg.qr", *_everywhere("qr"))
def orthogonal_parts(arguments: Arguments, machine: Machine) -> Value:
    """Q and R."""
    is_new = arguments.function == "torch.linalg.qr"
    tensor = fitting.tensor(machine, arguments.get(0, "A" if is_new else "input", NONE))
    matrix = _matrix(machine, tensor, arguments.function, square=False)
    given = arguments.get(1, "mode" if is_new else "some", Constant("reduced") if is_new else TRUE)
    mode = given.value if isinstance(given, Constant) else None
    shapes: tuple[Shape | None, Shape | None] = (None, None)
    if matrix is not None and mode is not None:
        rest, rows, columns = matrix
        inner = rows if mode in ("complete", False) else _least(rows, columns)
        shapes = ((0,) if mode == "r" else (*rest, rows, inner), (*rest, inner, columns))
    return _parts(machine, tensor, ("Q", "R"), shapes, tensor.dtype, tensor.dtype)


@models("torch.linalg.eigh", "torch.linalg.eig")
def eigen_parts(arguments: Arguments, machine: Machine) -> Value:
    tensor = fitting.tensor(machine, arguments.get(0, "A", NONE))
    matrix = _matrix(machine, tensor, arguments.function, square=True)
    shapes = (None, None) if matrix is None else ((*matrix[0], matrix[1]), (*matrix[0], *matrix[1:]))
    is_real = arguments.function.endswith("eigh")
    kinds = (_real(tensor.dtype), tensor.dtype) if is_real else (_complex(tensor.dtype),) * 2
    return _parts(machine, tensor, ("eigenvalues", "eigenvectors"), shapes, *kinds)


@models("torch.linalg.slogdet", *_everywhere("slogdet"))
def sign_and_logarithm(arguments: Arguments, machine: Machine) -> Value:
    tensor = fitting.tensor(machine, arguments.get(0, "A", arguments.keywords.get("input", NONE)))
    matrix = _matrix(machine, tensor, arguments.function, square=True)
    rest = None if matrix is None else matrix[0]
    return _parts(machine, tensor, ("sign", "logabsdet"), (rest, rest), tensor.dtype, _real(tensor.dtype))


_EXTENDED = {"inv_ex": ("inverse", "info"), "cholesky_ex": ("L", "info")}


@models(*(f"torch.linalg.{name}" for name in _EXTENDED))
def with_info(arguments: Arguments, machine: Machine) -> Value:
    tensor = fitting.tensor(machine, arguments.get(0, "A", NONE))
    matrix = _matrix(machine, tensor, arguments.function, square=True)
    shapes = (None, None) if matrix is None else ((*matrix[0], *matrix[1:]), matrix[0])
    return _parts(machine, tensor, _EXTENDED[last_name(arguments.function)], shapes, tensor.dtype, "int32")


@models("torch.linalg.vector_norm", "torch.linalg.norm")
def normed(arguments: Arguments, machine: Machine) -> Value:
    """A number, or one for each of what the dimensions leave."""
    tensor = fitting.tensor(machine, arguments.get(0, "x", arguments.keywords.get("A", NONE)))
    dim, keeps = arguments.get(2, "dim", NONE), machine.truth(arguments.get(3, "keepdim", FALSE))
    dtype = _real(tensor.dtype) if "dtype" not in arguments.keywords else None
    found = machine.iterate(dim) if isinstance(dim, TupleValue) else [] if dim == NONE else [dim]
    places = [size_of(each) for each in found] if isinstance(found, list) else [None]
    shape: Shape | None = None
    rank = len(tensor.shape) if tensor.shape is not None else 0
    numbers = {place % rank for place in places if place is not None and rank and -rank <= place < rank}
    if tensor.shape is not None and keeps is not None and None not in places and len(numbers) == len(places):
        gone = numbers or set(range(rank))
        kept = ((place, size) for place, size in enumerate(tensor.shape) if keeps or place not in gone)
        shape = tuple(1 if place in gone else size for place, size in kept)
    return fitting.result(machine, arguments, shape, dtype, tensor.requires_grad)
