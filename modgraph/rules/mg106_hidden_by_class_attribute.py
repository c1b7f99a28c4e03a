"""MG106: a submodule under the name of a method or property: it is registered, and cannot be reached."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.findings import Related
from modgraph.rules import known, members
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject


def find(subject: Subject) -> Iterator[Found]:
    facts = subject.facts
    candidates = {
        store.name: store
        for store in reversed(facts.stores)
        if store.name not in known.MODULE_METHODS
        and store.method.name != store.name
        and subject.reads.made(store.value, store.method)
    }
    if not candidates:
        return
    possible = members.names(facts.node) & set(candidates)
    others = set(candidates) - possible
    file = subject.file
    if others:
        possible |= others & members.may_be_inherited(file.project, file.path, file.summary, facts.node)
    for name in sorted(possible, key=lambda each: candidates[each].statement.lineno):
        store = candidates[name]
        if not subject.reads.is_module(store.value, store.method) or not subject.is_module:
            continue
        member = members.inherited(file.project, file.path, facts, name)
        if member is None or member.reads_stores:
            continue
        related = (Related(member.line, 1, f"the {member.kind}"),) if member.line else ()
        yield Found(
            store.statement,
            f"`self.{name}` is a {member.kind} of the class: the module is registered under the name, but "
            f"`self.{name}` gives the {member.kind}; rename one of them",
            name,
            related,
        )


RULE = Rule(
    code="MG106",
    name="hidden-by-class-attribute",
    severity="warning",
    summary="A submodule has the name of a method or property of its class, which hides it.",
    why="""\
`nn.Module` keeps submodules in a store of its own and finds them only when ordinary look-up finds nothing. A method,
property or other attribute of the class, its own or inherited, is found first: the submodule is in `parameters()` and
in the state dict, and `self.name` is the method. A property's setter is not called for a module.

Rename the submodule or the method.
""",
    find=find,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(8, 8)

    def encode(self, x):
        return x
""",
            (6,),
        ),
        Invalid(
            """\
from torch import nn

class Base(nn.Module):
    @property
    def head(self):
        return "linear"

class Net(Base):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)
""",
            (11,),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    encoder: nn.Linear
    decoder = None

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(8, 8)
        self.decoder = nn.Linear(8, 8)

    def encode(self, x):
        return self.encoder(x)
""",
            "an annotation is no attribute, and a default of None is",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 8)

    @property
    def head(self):
        return self._modules["head"]

    @head.setter
    def head(self, value):
        self._modules["head"] = value
""",
            "the property gives what is registered",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, fast):
        super().__init__()
        self.step = self.fast_step if fast else self.step

    def step(self, x):
        return x

    def fast_step(self, x):
        return x
""",
            "one method put in place of another",
        ),
    ),
)
