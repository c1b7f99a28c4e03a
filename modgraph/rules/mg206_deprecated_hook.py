"""MG206: `register_backward_hook`, which gives wrong gradients for some modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject


def find(subject: Subject) -> Iterator[Found]:
    if "register_backward_hook" in subject.facts.methods:
        return
    for _, call in subject.facts.calls_of("register_backward_hook"):
        if not _is_super(call.func):
            yield Found(
                call,
                "register_backward_hook is deprecated: of a module with several operations it sees only the last; "
                "use register_full_backward_hook",
            )


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "super"
    )


RULE = Rule(
    code="MG206",
    name="deprecated-hook",
    severity="warning",
    summary="`register_backward_hook` is deprecated and may give gradients of a part of the module.",
    why="""\
The old backward hook is attached to the last operation of `forward`: for a module with more than one, the gradients
it is given as those of the inputs are not. torch warns only when it is called, and only for some graphs. Use
`register_full_backward_hook`.
""",
    find=find,
    default=False,
    invalid=(
        Invalid(
            """\
from torch import nn

class Saliency(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.model.layer4.register_backward_hook(self.save)

    def save(self, module, grad_in, grad_out):
        self.grad = grad_out
""",
            (7,),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Saliency(nn.Module):
    def __init__(self, model):
        super().__init__()
        model.layer4.register_full_backward_hook(self.save)
        model.weight.register_hook(self.save)
""",
            "the full hook; a tensor's hook",
        ),
    ),
)
