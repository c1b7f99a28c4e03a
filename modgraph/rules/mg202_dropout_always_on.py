"""MG202: `F.dropout(x)` without `training=`: it drops in evaluation too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from modgraph.findings import Fix
from modgraph.rules.edits import end_of, insert
from modgraph.rules.facts import Method, enclosing
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject

_FUNCTIONS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


def find(subject: Subject) -> Iterator[Found]:
    for method, call in subject.calls_of(*_FUNCTIONS):
        path = subject.reads.path_of(call.func) or ""
        if not path.startswith("torch.nn.functional.") or _says_when(call) or _is_guarded(method, call):
            continue
        if _is_meant(subject, call):
            continue
        if subject.is_module:
            yield Found(
                call,
                f"{ast.unparse(call.func)}() drops in evaluation too, as its training is True by default; "
                "pass training=self.training",
                fix=_fix(subject, method, call),
            )


_MEANT = re.compile(r"always|monte.?carlo|\bmc\b|sampl|stochastic|inference|test.?time|eval|at test", re.IGNORECASE)
_SAMPLING = re.compile(r"sampl|generat|infer|mc_|_mc|monte|bayes|uncertain|prenet", re.IGNORECASE)


def _is_meant(subject: Subject, call: ast.Call) -> bool:
    """A comment on its lines, or right above, says that it is to act in evaluation."""
    lines = subject.file.lines[max(call.lineno - 2, 0) : call.end_lineno]
    return any("#" in line and _MEANT.search(line.partition("#")[2]) for line in lines)


def _says_when(call: ast.Call) -> bool:
    if len(call.args) >= 3 or any(isinstance(each, ast.Starred) for each in call.args):
        return True
    if any(keyword.arg in ("training", None) for keyword in call.keywords):
        return True
    given = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "p")]
    return any(
        (isinstance(each, ast.Constant) and each.value == 0) or "training" in ast.unparse(each) for each in given
    )


def _is_guarded(method: Method, call: ast.Call) -> bool:
    """Only done in training."""
    for each in enclosing(method, call):
        if isinstance(each, (ast.If, ast.While)) and "training" in ast.unparse(each.test):
            return True
        if isinstance(each, (ast.Assign, ast.Return, ast.Expr)):
            tests = [inner.test for inner in ast.walk(each) if isinstance(inner, ast.IfExp)]
            if any("training" in ast.unparse(test) for test in tests):
                return True
    return False


def _fix(subject: Subject, method: Method, call: ast.Call) -> Fix | None:
    last: ast.expr | None = max(
        (*call.args, *(keyword.value for keyword in call.keywords)),
        key=lambda each: end_of(subject, each),
        default=None,
    )
    if _SAMPLING.search(f"{subject.facts.qualname}.{method.name}"):
        return None  # what is to differ from call to call may need it
    if last is None or not method.receiver or not isinstance(last, (ast.Name, ast.Attribute, ast.Constant, ast.Call)):
        return None
    return Fix("pass training", (insert(end_of(subject, last), f", training={method.receiver}.training"),))


RULE = Rule(
    code="MG202",
    name="functional-dropout",
    severity="warning",
    summary="A functional dropout is not told whether the model is in training, and drops always.",
    why="""\
`F.dropout(x, p)` has `training=True` by default: it drops after `model.eval()` too, and results in evaluation are
noise. Pass `training=self.training`, or use `nn.Dropout`. Where it is meant (Monte Carlo dropout), write
`training=True`.
""",
    find=find,
    default=False,
    invalid=(
        Invalid(
            """\
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        x = F.dropout(x, 0.5)
        return F.dropout2d(x, p=0.1)
""",
            (6, 7),
            """\
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        x = F.dropout(x, 0.5, training=self.training)
        return F.dropout2d(x, p=0.1, training=self.training)
""",
        ),
    ),
    valid=(
        Valid(
            """\
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        x = F.dropout(x, 0.5, self.training)
        x = F.dropout(x, 0.5, training=True)
        if self.training:
            x = F.dropout(x, 0.5)
        return F.dropout(x, p=0.5 if self.training else 0.0)
""",
            "it is told, or done in training only",
        ),
    ),
)
