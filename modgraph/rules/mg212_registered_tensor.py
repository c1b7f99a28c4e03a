"""MG212: `register_parameter` of a plain tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.facts import attribute_of, expects_error
from modgraph.rules.plain_results import is_plain_tensor
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject


def find(subject: Subject) -> Iterator[Found]:
    if "register_parameter" in subject.facts.methods:
        return
    for method, call in subject.calls_of("register_parameter"):
        if attribute_of(call.func, method.receiver) is None or expects_error(method, call):
            continue
        given = [*call.args[1:2], *(each.value for each in call.keywords if each.arg == "param")]
        for value in given:
            if is_plain_tensor(subject, value, method) and subject.is_module:
                name = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
                yield Found(
                    call,
                    "register_parameter is given a plain tensor: torch raises a TypeError; "
                    "write nn.Parameter(...) around it",
                    name if isinstance(name, str) else None,
                )


RULE = Rule(
    code="MG212",
    name="registered-tensor",
    severity="error",
    summary="`register_parameter` is given a plain tensor.",
    why="""\
`register_parameter` takes an `nn.Parameter` or None, and raises a TypeError for a tensor, as well for one that was
computed of a Parameter. Make it an `nn.Parameter`, or `register_buffer` what is not learnt.
""",
    find=find,
    default=False,
    invalid=(
        Invalid(
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_parameter("scale", torch.ones(width))
        shift = nn.Parameter(torch.zeros(width)) * 0.1
        self.register_parameter("shift", param=shift)
""",
            (7, 9),
        ),
    ),
    valid=(
        Valid(
            """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width, given):
        super().__init__()
        self.register_parameter("scale", nn.Parameter(torch.ones(width)))
        self.register_parameter("bias", None)
        self.register_parameter("given", given)
        self.register_buffer("mean", torch.zeros(width))
""",
            "a Parameter, None, what is not known; a buffer",
        ),
    ),
)
