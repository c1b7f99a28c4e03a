"""MG121: modules that are kept out of sight on purpose, as far as one can tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules import containers
from modgraph.rules.facts import Store
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject

_WORDS = (
    "model",
    "module",
    "net",
    "network",
    "encoder",
    "decoder",
    "backbone",
    "teacher",
    "student",
    "critic",
    "layer",
)


def find(subject: Subject) -> Iterator[Found]:
    told: set[str] = set()
    for hidden in containers.hidden_modules(subject):
        if hidden.deliberate:
            told.add(hidden.name)
            what = containers.counted(hidden)
            yield Found(
                hidden.store.statement, f"{what} hidden in `self.{hidden.name}`, it seems on purpose", hidden.name
            )
    for store in subject.facts.stores:
        if store.name in told or not _wraps_an_argument(subject, store) or not subject.is_module:
            continue
        told.add(store.name)
        yield Found(
            store.statement, f"a module hidden in the list `self.{store.name}`, it seems on purpose", store.name
        )


def _wraps_an_argument(subject: Subject, store: Store) -> bool:
    """`self._teacher = [teacher]` in a constructor, where the argument is a module by its annotation or its name."""
    value = store.value
    if not isinstance(value, (ast.List, ast.Tuple)) or len(value.elts) != 1 or store.method.name != "__init__":
        return False
    only = value.elts[0]
    if not isinstance(only, ast.Name) or only.id not in store.method.parameters:
        return False
    arguments = store.method.node.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if each.arg == only.id and each.annotation is not None:
            return subject.reads.is_module_class(each.annotation) is True
    return any(word in _WORDS for word in only.id.lower().split("_"))


RULE = Rule(
    code="MG121",
    name="hidden-module",
    severity="info",
    summary="A module is kept in a plain container on purpose.",
    why="""\
A one-element list around a module, or a plain container with a name such as `teacher` or `ema`, is a known way to
keep a module out of `parameters()` and the state dict. `to()`, `train()` and `eval()` do not reach it either: the
code around it must do that.

`object.__setattr__(self, "teacher", teacher)` says the same more plainly.
""",
    find=find,
    default=False,
    invalid=(
        Invalid(
            """\
from torch import nn

class Distiller(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self._teacher = [teacher]
        self.ema = [nn.Linear(8, 8)]
        self._frozen = [nn.Linear(8, 8), nn.Linear(8, 8)]
""",
            (6, 7, 8),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, size, other: int):
        super().__init__()
        self._size = [size]
        self._model = [other]
        self.blocks = [nn.Linear(8, 8), nn.Linear(8, 8)]
        object.__setattr__(self, "teacher", nn.Linear(8, 8))
""",
            "no modules; not on purpose (MG101); said plainly",
        ),
    ),
)
