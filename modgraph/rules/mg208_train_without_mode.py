"""MG208: a module's own `train` that does not take the mode, so that `eval()` fails."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject


def find(subject: Subject) -> Iterator[Found]:
    method = subject.facts.methods.get("train")
    if method is None or not method.receiver or method.node.decorator_list:
        return
    arguments = method.node.args
    places = [*arguments.posonlyargs, *arguments.args][1:]
    required = len(places) - len(arguments.defaults)
    asked = [each.arg for each, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if given is None]
    takes_one = (places or arguments.vararg is not None) and required <= 1 and not asked
    if takes_one or not subject.is_module:
        return
    wanted = f"needs {', '.join(each.arg for each in places[:required])}" if required > 1 else "takes no mode"
    fails = "train() of a module that holds it" if "eval" in subject.facts.methods else "eval()"
    message = (
        f"train() {wanted}: {fails} calls train(mode), and raises a TypeError; name it otherwise, or take `mode=True`"
    )
    yield Found(method.node, message, "train")


RULE = Rule(
    code="MG208",
    name="train-without-mode",
    severity="error",
    summary="A module defines `train` so that it does not take the mode.",
    why="""\
`model.eval()` is `model.train(False)`, and `train(mode)` of a module calls `train(mode)` of each submodule. A module
whose own `train` takes nothing, or wants the data to train with, raises a TypeError in both.

Give a loop of training another name, as `fit`. A `train` that adds something to the usual one takes `mode=True`, calls
`super().train(mode)` and returns `self`.
""",
    find=find,
    default=False,
    invalid=(
        Invalid(
            """\
from torch import nn

class Frozen(nn.Module):
    def train(self):
        super().train()
        self.norm.eval()

class Net(nn.Module):
    def train(self, images, labels):
        return self.loss(self(images), labels)
""",
            (4, 9),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Frozen(nn.Module):
    def train(self, mode=True):
        super().train(mode)
        self.norm.eval()
        return self

class Other(nn.Module):
    def train(self, *arguments):
        return super().train(*arguments)

class Trainer:
    def train(self):
        self.model.train()
""",
            "the mode is taken; no module",
        ),
    ),
)
