"""MG204: a submodule that nothing in its file uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from modgraph.rules.facts import Store
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject

_OVER_ALL = frozenset(
    [
        "children",
        "modules",
        "named_children",
        "named_modules",
        "_modules",
        "__getattr__",
        "getattr",
        "get_submodule",
        "__dict__",
        "vars",
        "locals",
        "eval",
        "exec",
    ]
)
"""Ways to reach submodules without naming them."""


def find(subject: Subject) -> Iterator[Found]:
    facts = subject.facts
    if "forward" not in facts.methods or not _stands_on_torch_alone(subject):
        return
    names = [name for name, stores in facts.stored.items() if len(stores) == 1 and stores[0].method.name == "__init__"]
    made = [name for name in names if _makes_a_layer(subject, facts.stores_of(name)[0])]
    if not made:
        return
    used = _used(subject)
    if used & _OVER_ALL or not subject.is_module:
        return
    for name in made:
        if name not in used:
            yield Found(
                facts.stores_of(name)[0].statement,
                f"`self.{name}` is made and never used: it is not trained, and stays in the state dict",
                name,
            )


def _makes_a_layer(subject: Subject, store: Store) -> bool:
    """A module other than one that only hands its input on."""
    made = subject.reads.made(store.value, store.method)
    kinds = [subject.reads.torch_class(call.func) for call in made]
    return (
        bool(kinds) and any(kind != "Identity" for kind in kinds) and subject.reads.is_module(store.value, store.method)
    )


def _stands_on_torch_alone(subject: Subject) -> bool:
    """No base of its own that may use the submodule."""
    return all(subject.reads.torch_class(base) == "Module" for base in subject.facts.node.bases)


def _used(subject: Subject) -> set[str]:
    """Names of attributes that are read anywhere in the file, and strings that may name one."""
    notes = subject.file.notes
    if "names used" not in notes:
        found: set[str] = set()
        for node in ast.walk(subject.file.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(node.attr)
            elif isinstance(node, ast.Name) and node.id in _OVER_ALL:
                found.add(node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
                found.update(node.value.split("."))
        notes["names used"] = found
    used: set[str] = notes["names used"]
    return used


RULE = Rule(
    code="MG204",
    name="unused-submodule",
    severity="info",
    summary="A submodule is made in the constructor and nothing in the file uses it.",
    why="""\
Its parameters get no gradient; distributed training stops with an error on unused parameters. It may be left over
from an older version, or kept so that old checkpoints load: then say so in a comment that ignores this rule.
""",
    find=find,
    default=False,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        return self.body(x)
""",
            (7,),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        for layer in self.children():
            x = layer(x)
        return x
""",
            "used without being named",
        ),
        Valid(
            """\
from torch import nn

class Base(nn.Module):
    def forward(self, x):
        return self.head(x)

class Net(Base):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 8)
""",
            "used by the base",
        ),
    ),
)
