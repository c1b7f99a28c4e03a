"""MG203: a tensor as a plain attribute that `forward` computes with: it is not moved and not saved."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from modgraph.findings import Edit, Fix
from modgraph.rules import uses
from modgraph.rules.edits import between, end_of, insert, start_of
from modgraph.rules.facts import Store, attribute_of, is_unconditional
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject

_MAKING = frozenset(
    [
        "torch.tensor",
        "torch.as_tensor",
        "torch.from_numpy",
        "torch.zeros",
        "torch.ones",
        "torch.full",
        "torch.empty",
        "torch.eye",
        "torch.arange",
        "torch.linspace",
        "torch.logspace",
        "torch.rand",
        "torch.randn",
        "torch.randint",
        "torch.randperm",
        "torch.stack",
        "torch.cat",
        "torch.tril",
        "torch.triu",
        "torch.diag",
        "torch.meshgrid",
        "torch.Tensor",
        "torch.FloatTensor",
        "torch.LongTensor",
        "torch.hann_window",
        "torch.hamming_window",
    ]
)
_JOINING = frozenset(["torch.stack", "torch.cat", "torch.tril", "torch.triu", "torch.diag", "torch.meshgrid"])
"""Those of them whose result lies where what they are given does."""
_SAME = frozenset(
    ("float", "double", "half", "long", "int", "bool", "view", "reshape", "unsqueeze", "squeeze", "repeat")
)
_READING = frozenset(
    ("to", "cuda", "item", "tolist", "numpy", "cpu", "type_as", "size", "shape", "numel", "dim", "device")
)
"""What is asked of a tensor where its device does not matter, or is minded."""


def find(subject: Subject) -> Iterator[Found]:
    facts = subject.facts
    if "forward" not in facts.methods:
        return
    changed = {change.name for change in facts.changes}
    for name, stores in facts.stored.items():
        store = stores[0]
        if len(stores) > 1 or store.method.name != "__init__" or not _makes_a_tensor(subject, store.value):
            continue
        if name in changed or not _is_computed_with(subject, name):
            continue
        if subject.is_module and not _is_registered(subject, name):
            yield Found(
                store.statement,
                f"`self.{name}` is a plain tensor: to() leaves it where it is, {_advice(name, store)}",
                name,
                fix=_fix(subject, store),
            )


def _advice(name: str, store: Store) -> str:
    if _is_to_be_learnt(store.value):
        return "parameters() and state_dict() do not have it; use nn.Parameter(...)"
    return f'state_dict() does not have it; use self.register_buffer("{name}", ...)'


def _is_to_be_learnt(value: ast.expr | None) -> bool:
    """It is made with `requires_grad=True`."""
    return any(
        isinstance(node, ast.keyword)
        and node.arg == "requires_grad"
        and isinstance(node.value, ast.Constant)
        and node.value.value is True
        for node in (ast.walk(value) if value is not None else ())
    )


def _makes_a_tensor(subject: Subject, value: ast.expr | None) -> bool:
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _SAME:
        if not isinstance(value.func.value, ast.Call):
            return False
        value = value.func.value
    if not isinstance(value, ast.Call) or subject.reads.path_of(value.func) not in _MAKING:
        return False
    if any(keyword.arg in ("device", None) for keyword in value.keywords):
        return False
    return not (value.args and isinstance(value.args[0], (ast.Constant, ast.UnaryOp)) and _is_scalar(subject, value))


def _is_scalar(subject: Subject, call: ast.Call) -> bool:
    """`torch.tensor(0.5)`: a number, which goes with tensors on any device."""
    return subject.reads.path_of(call.func) in ("torch.tensor", "torch.as_tensor")


def _is_computed_with(subject: Subject, name: str) -> bool:
    """`forward`, or a method it calls, uses the tensor as it is; nowhere is it moved."""
    if "computed with" not in subject.notes:
        subject.notes["computed with"] = _all_computed_with(subject)
    return name in subject.notes["computed with"]


def _all_computed_with(subject: Subject) -> set[str | None]:
    moved: set[str | None] = set()
    running = subject.facts.reached("forward")
    building = [each for each in subject.facts.reached("__init__") if each not in running]
    for method in subject.facts.methods.values():
        # Where it lies when it is made says nothing of where it lies when it is used.
        for node in ast.walk(method.node) if method not in building else ():
            if isinstance(node, ast.Attribute) and node.attr in _READING:
                moved.add(attribute_of(node.value, method.receiver))
            elif _turns_into_number(node):
                moved.update(attribute_of(each, method.receiver) for each in node.args)
    used = {
        attribute_of(node, method.receiver)
        for method in running
        if method.name != "__init__"
        for node in ast.walk(method.node)
    }
    return used - moved


def _turns_into_number(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("int", "float", "len")


def _is_registered(subject: Subject, name: str) -> bool:
    if "registered by name" not in subject.notes:
        calls = subject.facts.calls_of("register_buffer", "register_parameter", "setattr", "_apply")
        given = (each for _, call in calls for each in call.args)
        subject.notes["registered by name"] = {
            each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)
        }
    return name in subject.notes["registered by name"]


def _fix(subject: Subject, store: Store) -> Fix | None:
    """The call takes the place of what stands before the value; the value itself, comments too, stays as it is."""
    statement, value = store.statement, store.value
    if not isinstance(statement, ast.Assign) or statement.targets != [store.target] or value is None:
        return None
    if not is_unconditional(store.method, statement) or not _can_be_a_buffer(subject, store):
        return None
    if _meets_the_cpu(subject):
        return None
    before = between(subject, end_of(subject, store.target), start_of(subject, value))
    sign = re.match(r"[ \t]*=[ \t]*", before)
    if sign is None:
        return None
    begins, (line, column) = start_of(subject, statement), end_of(subject, store.target)
    call = Edit(*begins, line, column + sign.end(), f'{store.method.receiver}.register_buffer("{store.name}", ')
    closing = insert(end_of(subject, statement), ", persistent=False)")
    return Fix("register the buffer, which leaves the state dict as it is", (call, closing))


def _meets_the_cpu(subject: Subject) -> bool:
    """`forward` makes tensors that stay on the CPU, or brings some there: one that is moved does not go with these."""
    if "meets the cpu" not in subject.notes:
        calls = (call for method in subject.facts.reached("forward") for call in method.calls)
        subject.notes["meets the cpu"] = any(_stays_on_the_cpu(subject, call) for call in calls)
    answer: bool = subject.notes["meets the cpu"]
    return answer


def _stays_on_the_cpu(subject: Subject, call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("cpu", "numpy"):
        return True
    makes = subject.reads.path_of(call.func) in _MAKING - _JOINING
    return makes and not any(keyword.arg in ("device", None) for keyword in call.keywords)


def _can_be_a_buffer(subject: Subject, store: Store) -> bool:
    """It is one tensor, not to be learnt, under a name that torch takes, and nothing else is stored there."""
    name = store.name
    for node in ast.walk(store.value) if store.value is not None else ():
        if isinstance(node, ast.keyword) and node.arg in ("requires_grad", None):
            return False
        if isinstance(node, ast.Call) and subject.reads.path_of(node.func) == "torch.meshgrid":
            return False
    return not (
        "register_buffer" in subject.facts.methods
        or uses.has_the_name(subject, name)
        or uses.comes_before_super(subject, store.statement)
        or uses.is_reached_otherwise(subject, name)
        or any(use.is_written and use.node is not store.target for use in uses.uses_of(subject, name))
    )


RULE = Rule(
    code="MG203",
    name="plain-tensor",
    severity="warning",
    summary="A tensor that `forward` computes with is a plain attribute.",
    why="""\
A tensor assigned to an attribute is neither parameter nor buffer: `model.to("cuda")` leaves it on the CPU, where the
first operation with it raises, `half()` does not cast it, and the state dict does not have it.

Use `self.register_buffer("name", tensor)`; with `persistent=False` it stays out of the state dict. A tensor that is
made with `requires_grad=True` is to be learnt, and no optimizer of `model.parameters()` has it: make it an
`nn.Parameter`.
""",
    find=find,
    default=False,
    invalid=(
        Invalid(
            """\
import torch
from torch import nn

class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.tensor([0.5, 0.5, 0.5]).view(1, 3, 1, 1)
        self.steps = torch.arange(8)

    def forward(self, x):
        return self._shift(x) * self.steps

    def _shift(self, x):
        return x - self.mean
""",
            (7, 8),
            """\
import torch
from torch import nn

class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.5, 0.5, 0.5]).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("steps", torch.arange(8), persistent=False)

    def forward(self, x):
        return self._shift(x) * self.steps

    def _shift(self, x):
        return x - self.mean
""",
        ),
    ),
    valid=(
        Valid(
            """\
import torch
from torch import nn

class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.tensor(0.5)
        self.mean = torch.zeros(3)
        self.cache = None
        self.state = torch.zeros(3)
        self.start = torch.zeros(3)
        self.register_buffer("std", torch.ones(3))

    def forward(self, x):
        self.state = x
        return (x - self.mean.to(x.device)) * self.scale / self.std + self.state
""",
            "a number; moved in forward; scratch state; unused; a buffer",
        ),
    ),
)
