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
from modgraph.prediction.domain.values import FALSE, NONE, TRUE, Constant, KnownFunction, TupleValue, Value
from modgraph.prediction.knowledge.shapes import fitting
from modgraph.prediction.knowledge.shapes.arithmetic import Size
from modgraph.prediction.knowledge.tensors.elements import REAL_PARTS, Shape, broadcast
from modgraph.prediction.knowledge.tensors.tensor_math import needs_any, without
from modgraph.prediction.knowledge.tensors.tensor_memory import views
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


@models("torch.linalg.lu")
def lower_and_upper(arguments: Arguments, machine: Machine) -> Value:
    """P, L and U; P is of no element where rows are not exchanged."""
    tensor = fitting.tensor(machine, arguments.get(0, "A", NONE))
    matrix, shapes = _matrix(machine, tensor, arguments.function, square=False), (None, None, None)
    pivot = machine.truth(arguments.keywords.get("pivot", TRUE))
    if matrix is None or pivot is None:
        return _parts(machine, tensor, ("P", "L", "U"), shapes, *(tensor.dtype,) * 3)
    rest, rows, columns = matrix
    inner = _least(rows, columns)
    found = ((*rest, rows, rows) if pivot else (0,), (*rest, rows, inner), (*rest, inner, columns))
    return _parts(machine, tensor, ("P", "L", "U"), found, *(tensor.dtype,) * 3)


_PACKED = {"lu_factor": ("LU", "pivots"), "lu_factor_ex": ("LU", "pivots", "info")}


@models(*(f"torch.linalg.{name}" for name in _PACKED))
def packed(arguments: Arguments, machine: Machine) -> Value:
    tensor = fitting.tensor(machine, arguments.get(0, "A", NONE))
    matrix = _matrix(machine, tensor, arguments.function, square=False)
    names = _PACKED[last_name(arguments.function)]
    shapes: tuple[Shape | None, ...] = (None, None, None)
    if matrix is not None:
        shapes = (tensor.shape, (*matrix[0], _least(*matrix[1:])), matrix[0])
    return _parts(machine, tensor, names, shapes[: len(names)], *(tensor.dtype, "int32", "int32")[: len(names)])


@models("torch.linalg.lstsq")
def least_squares(arguments: Arguments, machine: Machine) -> Value:
    """The solution, and further tensors whose sizes depend on the driver, and on the rank that is found."""
    first, second = (fitting.tensor(machine, arguments.get(place, name, NONE)) for place, name in enumerate(("A", "B")))
    names, shape = ("solution", "residuals", "rank", "singular_values"), None
    if first.shape is not None and second.shape is not None and len(first.shape) == len(second.shape) > 1:
        is_plain = first.shape[:-2] == second.shape[:-2]
        shape = (*first.shape[:-2], first.shape[-1], second.shape[-1]) if is_plain else None
    return _parts(
        machine, first, names, (shape, None, None, None), first.dtype, first.dtype, "int64", _real(first.dtype)
    )


@models("torch.linalg.solve_ex")
def solved_with_info(arguments: Arguments, machine: Machine) -> Value:
    found = machine.call(KnownFunction("torch.linalg.solve"), arguments.positional, _without_info(arguments))
    return named_parts(("result", "info"), (found, made(machine, None, "int32")))


def _without_info(arguments: Arguments) -> dict[str, Value]:
    return {name: value for name, value in arguments.keywords.items() if name != "check_errors"}


@models("torch.linalg.matrix_norm")
def matrix_normed(arguments: Arguments, machine: Machine) -> Value:
    """One number for each matrix, which is of the last two dimensions or of two that are given."""
    tensor = fitting.tensor(machine, arguments.get(0, "A", NONE))
    dim = arguments.get(2, "dim", TupleValue((Constant(-2), Constant(-1))))
    shape = without(machine, tensor.shape, dim, machine.truth(arguments.get(3, "keepdim", FALSE)))
    dtype = _real(tensor.dtype) if "dtype" not in arguments.keywords else None
    return fitting.result(machine, arguments, shape, dtype, tensor.requires_grad)


@models("torch.linalg.multi_dot", "torch.chain_matmul")
def chained(arguments: Arguments, machine: Machine) -> Value:
    """The rows of the first and the columns of the last; these may be vectors."""
    given = arguments.positional if arguments.function.endswith("matmul") else None
    listed = list(given) if given is not None else machine.iterate(arguments.get(0, "tensors", NONE))
    tensors = [fitting.tensor(machine, each) for each in listed] if isinstance(listed, list) else []
    ends = (tensors[0].shape, tensors[-1].shape) if tensors else (None, None)
    shape: Shape | None = None
    if ends[0] is not None and ends[1] is not None and all(len(each) in (1, 2) for each in ends if each is not None):
        shape = (*ends[0][:-1], *ends[1][1:])
    dtypes = {each.dtype for each in tensors}
    return fitting.result(machine, arguments, shape, dtypes.pop() if len(dtypes) == 1 else None, needs_any(tensors))


@models("torch.linalg.vecdot", "torch.linalg.cross")
def of_vectors(arguments: Arguments, machine: Machine) -> Value:
    """Vectors of a dimension of both, which broadcast: their products are summed, or are vectors again."""
    first, second = (fitting.tensor(machine, arguments.get(i, name, NONE)) for i, name in enumerate(("x", "y")))
    shape = broadcast(first.shape, second.shape)
    dim = arguments.keywords.get("dim", Constant(-1))
    if arguments.function.endswith("vecdot"):
        shape = without(machine, shape, dim, False)
    dtype = first.dtype if first.dtype == second.dtype else None
    return fitting.result(machine, arguments, shape, dtype, needs_any((first, second)))


@views("torch.linalg.diagonal")
def diagonals(arguments: Arguments, machine: Machine) -> Value:
    tensor = fitting.tensor(machine, arguments.get(0, "A", NONE))
    is_plain = not arguments.keywords.keys() - {"A"}
    shape: Shape | None = None
    if tensor.shape is not None and len(tensor.shape) > 1 and is_plain:
        shape = (*tensor.shape[:-2], _least(*tensor.shape[-2:]))
    return fitting.result(machine, arguments, shape, tensor.dtype, tensor.requires_grad)


_UNKNOWN = ("cond", "householder_product", "ldl_solve", "lu_solve", "matrix_rank", "solve_triangular", "tensorinv")


@models(*(f"torch.linalg.{name}" for name in (*_UNKNOWN, "tensorsolve", "vander")))
def of_unknown_shape(arguments: Arguments, machine: Machine) -> Value:
    return fitting.result(machine, arguments, None, None)


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
