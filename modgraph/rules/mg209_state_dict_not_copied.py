"""MG209: `best = model.state_dict()`, which changes as the model does."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator

from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.scopes import Scope, scopes
from modgraph.rules.subject import FileSubject
from modgraph.source.dotted_names import dotted

_CHANGING = frozenset(["update", "pop", "popitem", "clear", "setdefault", "move_to_end", "__setitem__"])


def find_in_file(file: FileSubject) -> Iterator[Found]:
    for scope in scopes(file):
        for name, stores in scope.assigned.items():
            for statement, value in stores:
                model = _model_of(value)
                if model is None or not isinstance(statement, ast.stmt) or not scope.is_module(model):
                    continue
                use = _first_use(scope, name, statement, model)
                if use is not None:
                    yield Found(
                        statement,
                        f"`{name}` holds the parameters of `{model}` themselves: at line {use} it has their latest "
                        f"values, not those of now; keep copy.deepcopy({model}.state_dict())",
                    )


def _model_of(value: ast.expr | None) -> str | None:
    """ "model", for `model.state_dict()`; in a dict too."""
    if isinstance(value, ast.Dict):
        return next((found for found in map(_model_of, value.values) if found is not None), None)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "state_dict":
        return dotted(value.func.value) if not value.args and not value.keywords else None
    return None


def _first_use(scope: Scope, name: str, statement: ast.stmt, model: str) -> int | None:
    """The line of the first use that wants the values of before; None where there is none, or the dict is changed."""
    uses = [(node, scope.parents[node]) for node in scope.reads(name)]
    calls = [_call_of(scope, node) for node, _ in uses]
    for (_, parent), call in zip(uses, calls, strict=True):
        if isinstance(parent, ast.Attribute) and parent.attr in _CHANGING:
            return None
        if isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load):
            return None
        if call is not None and not _is_reading(scope, call):
            return None
    found = [call for call in calls if call is not None and _is_too_late(scope, call, statement, model)]
    return min((call.lineno for call in found), default=None)


def _call_of(scope: Scope, node: ast.expr) -> ast.Call | None:
    """The call that is given it: itself, an item of it, or in a dict."""
    for each in scope.around(node):
        if isinstance(each, ast.Call):
            return each if node not in ast.walk(each.func) else None
        if not isinstance(each, (ast.Subscript, ast.Dict, ast.keyword)):
            return None
    return None


def _is_reading(scope: Scope, call: ast.Call) -> bool:
    is_loading = isinstance(call.func, ast.Attribute) and call.func.attr == "load_state_dict"
    builtin = isinstance(call.func, ast.Name) and call.func.id in ("len", "print", "isinstance", "list", "type")
    return is_loading or builtin or scope.path(call.func) == "torch.save"


def _is_too_late(scope: Scope, call: ast.Call, statement: ast.stmt, model: str) -> bool:
    is_loading = isinstance(call.func, ast.Attribute) and call.func.attr == "load_state_dict"
    is_saving = scope.path(call.func) == "torch.save"
    if not is_loading and not is_saving:
        return False
    into = dotted(call.func.value) if is_loading and isinstance(call.func, ast.Attribute) else None
    if _is_stored_between(scope, model, statement, call):
        return False
    spans = [(each.lineno, each.end_lineno or each.lineno) for each in scope.loops(statement)]
    if any(end < call.lineno and _trains(scope, begin, end) for begin, end in spans):
        return not _ends_the_loop(scope, statement)
    return into == model and call.lineno > statement.lineno and _trains(scope, statement.lineno + 1, call.lineno - 1)


def _is_stored_between(scope: Scope, model: str, statement: ast.stmt, call: ast.Call) -> bool:
    """The name of the model means another one when the dict is used."""
    parts = model.split(".")
    names = [".".join(parts[: n + 1]) for n in range(len(parts))]
    lines = [each.lineno for name in names for each, _ in scope.assigned.get(name, ())]
    first = min((each.lineno for each in scope.loops(statement)), default=statement.lineno)
    return any(min(first, statement.lineno) <= line <= call.lineno for line in lines)


def _trains(scope: Scope, after: int, before: int) -> bool:
    """Between two lines, these included."""
    lines = scope.training
    place = bisect_left(lines, after)
    return place < len(lines) and lines[place] <= before


def _ends_the_loop(scope: Scope, statement: ast.stmt) -> bool:
    """`break` or `return` follows: there is no later turn."""
    block = scope.parents[statement]
    for name in ("body", "orelse", "finalbody"):
        statements = getattr(block, name, None)
        if isinstance(statements, list) and statement in statements:
            rest = statements[statements.index(statement) :]
            return any(isinstance(each, (ast.Break, ast.Return, ast.Raise)) for each in rest)
    return False


RULE = Rule(
    code="MG209",
    name="state-dict-not-copied",
    severity="warning",
    summary="`best = model.state_dict()` is kept while the model is trained on: it has the latest weights.",
    why="""\
`state_dict()` gives the tensors of the model, not copies of them, and `optimizer.step()` changes these in place. What
was kept as the best weights are the latest: `model.load_state_dict(best)` after the loop loads what the model has
already, and a file that is written then holds the last epoch.

Keep `copy.deepcopy(model.state_dict())`, or save it to a file at once.
""",
    find_in_file=find_in_file,
    words=(".state_dict()",),
    default=False,
    invalid=(
        Invalid(
            """\
import torch

def train(model, optimizer, batches):
    best, best_state = 1e9, None
    for batch in batches:
        model.train()
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
        if loss < best:
            best = loss
            best_state = model.state_dict()
    model.load_state_dict(best_state)
    return model

def fit(model, optimizer, batches):
    for batch in batches:
        loss = model(batch).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        checkpoint = {"model": model.state_dict(), "loss": loss.item()}
    torch.save(checkpoint, "best.pt")
""",
            (12, 22),
        ),
    ),
    valid=(
        Valid(
            """\
import copy
import torch

def train(model, optimizer, batches, other):
    start = model.state_dict()
    other.load_state_dict(start)
    best = None
    for batch in batches:
        loss = model(batch).sum()
        model.train()
        loss.backward()
        optimizer.step()
        torch.save(model.state_dict(), "latest.pt")
        best = copy.deepcopy(model.state_dict())
        last = model.state_dict()
        torch.save(last, "last.pt")
    model.load_state_dict(best)

def merged(model, weights):
    model.eval()
    state = model.state_dict()
    state.update(weights)
    model.load_state_dict(state)
""",
            "copied, or used at once; changed and loaded again",
        ),
    ),
)
