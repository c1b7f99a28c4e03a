"""MG103: a Parameter that is moved, cast or computed with before it is assigned: what is assigned is a plain tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.findings import Edit, Fix
from modgraph.names import last_name
from modgraph.rules import uses
from modgraph.rules.edits import between, end_of, insert, start_of
from modgraph.rules.facts import Method, Store, are_apart
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject

_MOVING = frozenset(("to", "cuda", "type"))
CHANGING = frozenset(
    [
        *("abs", "add", "bfloat16", "chunk", "clamp", "clone", "cumsum", "div", "double", "exp", "expand", "expand_as"),
        *("half", "index_select", "log", "log_softmax", "matmul", "mean", "mul", "narrow", "neg", "permute", "pow"),
        *("relu", "repeat", "repeat_interleave", "reshape", "roll", "sigmoid", "softmax", "sqrt", "square", "squeeze"),
        *("sub", "sum", "t", "tanh", "tile", "transpose", "unsqueeze", "view"),
    ]
)
"""Methods of a tensor that give another one, which is no Parameter. `float`, `cpu`, `contiguous` and `flatten` are not
among them: on what is usual they give the Parameter itself."""
FUNCTIONS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "torch": [
            *("abs", "add", "bmm", "cat", "clamp", "clone", "concat", "concatenate", "cumsum", "diag", "diag_embed"),
            *("div", "einsum", "exp", "flip", "hstack", "kron", "log", "log_softmax", "matmul", "mean", "mm", "mul"),
            *("neg", "outer", "permute", "pow", "relu", "repeat_interleave", "roll", "sigmoid", "softmax", "sqrt"),
            *("square", "stack", "sub", "sum", "tanh", "tile", "transpose", "tril", "triu", "unsqueeze", "vstack"),
        ],
        "torch.nn.functional": [
            *("elu", "gelu", "interpolate", "leaky_relu", "log_softmax", "normalize", "pad", "relu", "sigmoid"),
            *("silu", "softmax", "softmin", "softplus", "tanh"),
        ],
    }.items()
    for name in names
)
"""Functions that do so with what they are given."""
_TRANSPOSED = ("H", "T", "mH", "mT")
_SAME = ("torch.float", "torch.float32", "torch.device('cpu')")


def find(subject: Subject) -> Iterator[Found]:
    for store in subject.facts.stores:
        step = _step(subject, store.value)
        if step is None:
            continue
        made = _parameter_below(subject, store.value, store.method)
        if (
            made is None
            or not subject.is_module
            or _may_be_replaced(subject, store)
            or _is_registered(subject, store.name)
        ):
            continue
        yield Found(
            store.statement,
            f"`self.{store.name}` is no parameter: {step} of an nn.Parameter gives a plain tensor"
            f"{' wherever it changes anything' if step.strip('`.()') in _MOVING else ''}, "
            "which is not registered; write nn.Parameter(...) around the whole",
            store.name,
            fix=_fix(subject, store, made),
        )


def _may_be_replaced(subject: Subject, store: Store) -> bool:
    """Something else may be there when the constructor has run: another store of it that does not stand in the other
    arm of a test, and comes later than this one or is more than None."""
    built = subject.facts.reached("__init__")
    return any(
        not (_is_none_before(each, store) or are_apart(store, each))
        for each in subject.facts.stores_of(store.name)
        if each is not store and not (store.method in built and each.method not in built)
    )


def _is_none_before(other: Store, store: Store) -> bool:
    is_none = isinstance(other.value, ast.Constant) and other.value.value is None
    return is_none and other.method is store.method and other.statement.lineno < store.statement.lineno


def _step(subject: Subject, value: ast.expr | None) -> str | None:
    """The outermost thing that is done, "`.to()`", where the result is another tensor."""
    if isinstance(value, ast.Call) and subject.reads.path_of(value.func) in FUNCTIONS:
        return f"`{ast.unparse(value.func)}()`"
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        name = value.func.attr
        if name in CHANGING or (name in _MOVING and not _changes_nothing(value)):
            return f"`.{name}()`"
        return _step(subject, value.func.value) if name == "requires_grad_" else None
    if isinstance(value, ast.BinOp) and not isinstance(value.op, ast.BitOr):
        return "arithmetic"
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        return "a minus in front"
    if isinstance(value, ast.Subscript):
        return "a part"
    return f"`.{value.attr}`" if isinstance(value, ast.Attribute) and value.attr in _TRANSPOSED else None


def _changes_nothing(call: ast.Call) -> bool:
    """`.to("cpu")`, `.to(torch.float32)`: the Parameter itself."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return bool(given) and all(
        (isinstance(each, ast.Constant) and each.value in ("cpu", False, True, None)) or ast.unparse(each) in _SAME
        for each in given
    )


def _parameter_below(subject: Subject, value: ast.expr | None, method: Method) -> ast.expr | None:
    """The call of `nn.Parameter` at the bottom of what is done; of a name, where it is used for nothing else."""
    while True:
        if isinstance(value, ast.Call) and subject.reads.path_of(value.func) in FUNCTIONS:
            below = (_parameter_below(subject, each, method) for each in _given_tensors(value))
            return next((each for each in below if each is not None), None)
        if (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and not subject.reads.is_parameter(value)
        ):
            if value.func.attr not in _MOVING | CHANGING and not value.func.attr.endswith("_"):
                return None
            value = value.func.value
        elif isinstance(value, ast.UnaryOp):
            value = value.operand
        elif isinstance(value, ast.Subscript) or (isinstance(value, ast.Attribute) and value.attr in _TRANSPOSED):
            value = value.value
        elif isinstance(value, ast.BinOp):
            value = value.left if not isinstance(value.left, ast.Constant) else value.right
        else:
            break
    if isinstance(value, ast.Name):
        values = method.values.get(value.id, [])
        named = [each for each in ast.walk(method.node) if isinstance(each, ast.Name) and each.id == value.id]
        return value if len(values) == 1 and len(named) == 2 and subject.reads.is_parameter(values[0]) else None
    return value if subject.reads.is_parameter(value) else None


def _given_tensors(call: ast.Call) -> Iterator[ast.expr]:
    """What is given to a function of torch; of lists and comprehensions, what is in them."""
    for each in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(each, (ast.List, ast.Tuple)):
            yield from each.elts
        else:
            yield each.elt if isinstance(each, (ast.ListComp, ast.GeneratorExp)) else each


def _is_registered(subject: Subject, name: str) -> bool:
    return any(
        call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == name
        for _, call in subject.facts.calls_of("register_parameter", "setattr", "register_buffer")
    )


def _fix(subject: Subject, store: Store, made: ast.expr) -> Fix | None:
    """What is done behind the call moves into it: `nn.Parameter(x).to(d)` is `nn.Parameter(x.to(d))`."""
    value = store.value
    if not isinstance(made, ast.Call) or len(made.args) != 1 or value is None:
        return None
    if (value.lineno, value.col_offset) != (made.lineno, made.col_offset):
        return None
    inside, end, whole = made.args[0], end_of(subject, made), end_of(subject, value)
    if isinstance(inside, ast.Starred) or not _gives_what_may_learn(subject, value, made):
        return None
    if not _can_be_a_parameter(subject, store):
        return None
    done = between(subject, end, whole)
    simple = isinstance(inside, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    edits = [insert(end_of(subject, inside), done if simple else f"){done}")]
    if not simple:
        edits.append(insert(start_of(subject, inside), "("))
    edits.append(Edit(*end, *whole, ""))
    return Fix("make the Parameter of the result", tuple(edits))


def _gives_what_may_learn(subject: Subject, value: ast.expr, made: ast.Call) -> bool:
    """What is done gives one tensor, and of a type that may have a gradient: of integers torch makes no such
    Parameter."""
    inner = set(ast.walk(made))
    for node in ast.walk(value):
        if node in inner or not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if subject.reads.is_parameter(node):
            return False  # two of them become one
        if name == "chunk" or (name == "type" and not given):
            return False
        if name in ("to", "type", "view") and not all(_may_learn(subject, each, name) for each in given):
            return False
        if any(word.arg == "dtype" and not _may_learn(subject, word.value, "type") for word in node.keywords):
            return False
    return True


def _may_learn(subject: Subject, given: ast.expr, method: str) -> bool:
    """An argument that names a floating-point type, or no type at all."""
    path = subject.reads.path_of(given.func if isinstance(given, ast.Call) else given)
    if path is None or not path.startswith("torch."):
        return method != "type" and "dtype" not in ast.unparse(given).lower()
    last = last_name(path)
    return last in _FLOATING or (isinstance(given, ast.Call) and path in ("torch.device", "torch.cuda.current_device"))


_FLOATING = frozenset(
    [
        "bfloat16",
        "cdouble",
        "cfloat",
        "complex128",
        "complex64",
        "double",
        "float",
        "float16",
        "float32",
        "float64",
        "half",
        "BFloat16Tensor",
        "DoubleTensor",
        "FloatTensor",
        "HalfTensor",
        "contiguous_format",
        "channels_last",
        "preserve_format",
    ]
)


def _can_be_a_parameter(subject: Subject, store: Store) -> bool:
    """Torch takes the name, and nothing is done with it that cannot be done to a Parameter."""
    name = store.name
    return not (
        uses.has_the_name(subject, name)
        or uses.comes_before_super(subject, store.statement)
        or uses.is_reached_otherwise(subject, name)
        or any(
            use.is_changed or (use.is_written and use.node is not store.target) for use in uses.uses_of(subject, name)
        )
    )


RULE = Rule(
    code="MG103",
    name="parameter-cast-drops-registration",
    severity="warning",
    summary="A Parameter is moved, cast or computed with before it is assigned, so a plain tensor is assigned.",
    why="""\
`nn.Parameter(x).to(device)` is a Parameter only where `to` has nothing to do; on another device or in another
precision it is the result of an operation, a plain tensor. It is not registered: no optimizer updates it,
`state_dict()` does not have it. The same goes for `.cuda()`, `.half()`, `.clone()`, `.view()` and for arithmetic. On
a CPU alone the mistake often does not show.

Do it to the tensor, and make the Parameter of the result: `nn.Parameter(x.to(device))`. `.requires_grad_()` and the
initialisers that end in `_` give the Parameter itself and are fine.
""",
    find=find,
    invalid=(
        Invalid(
            """\
import torch
from torch import nn

class Prior(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(8)).to(device)
""",
            (7,),
            """\
import torch
from torch import nn

class Prior(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(8).to(device))
""",
        ),
        Invalid(
            """\
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, width)) * 0.02
        self.key = torch.nn.Parameter(torch.randn(1, width) / 2).clone()
""",
            (7, 8),
            """\
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, width) * 0.02)
        self.key = torch.nn.Parameter((torch.randn(1, width) / 2).clone())
""",
        ),
        Invalid(
            """\
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        weight = nn.Parameter(torch.ones(4))
        self.weight = weight.half()
""",
            (8,),
        ),
    ),
    valid=(
        Valid(
            """\
import torch
from torch import nn

class Prior(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(8).to(device))
        self.scale = nn.Parameter(torch.zeros(8)).requires_grad_(False)
""",
            "the Parameter is made last; `requires_grad_` gives the Parameter itself",
        ),
        Valid(
            """\
import torch
from torch import nn

class Prior(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(8)).float()
        self.scale = nn.Parameter(torch.zeros(8)).to("cpu")
        self.shift = nn.Parameter(torch.zeros(8)).to(torch.float32)
""",
            "what it is already: the Parameter itself is given",
        ),
        Valid(
            """\
import torch
from torch import nn

class Prior(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(8)).data.clone()
""",
            "the plain tensor is meant",
        ),
        Valid(
            """\
import torch
from torch import nn

class Prior(nn.Module):
    def __init__(self):
        super().__init__()
        mean = nn.Parameter(torch.zeros(8))
        self.register_parameter("mean", mean)
        self.twice = mean * 2
""",
            "the Parameter is registered beside it",
        ),
    ),
)
