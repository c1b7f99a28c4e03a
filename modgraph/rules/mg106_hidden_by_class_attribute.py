"""MG106: a submodule under the name of a method or property: it is registered, and cannot be reached."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.findings import Related
from modgraph.rules import members
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject
from modgraph.source import torch_names


def find(subject: Subject) -> Iterator[Found]:
    facts = subject.facts
    candidates = {
        store.name: store
        for store in reversed(facts.stores)
        if store.name not in torch_names.MODULE_METHODS
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
        is_parameter = subject.reads.is_parameter(store.value)
        if not (is_parameter or subject.reads.is_module(store.value, store.method)) or not subject.is_module:
            continue
        member = members.inherited(file.project, file.path, facts, name)
        if member is None or member.reads_stores or (is_parameter and not _refuses(subject, member)):
            continue
        related = (Related(member.line, 1, f"the {member.kind}"),) if member.line else ()
        given = "None" if member.is_none else f"the {member.kind}"
        what = f"an {member.kind}" if member.kind == "attribute" else f"a {member.kind}"
        way_out = "remove it from the class" if member.is_none else "rename one of them"
        if is_parameter:
            message = f"`{name}` is {what} of the class, so torch raises a KeyError here; {way_out}"
            yield Found(store.statement, message, name, related, severity="error")
            continue
        yield Found(
            store.statement,
            f"`self.{name}` is {what} of the class: the module is registered under the name, but "
            f"`self.{name}` gives {given}; {way_out}",
            name,
            related,
        )


def _refuses(subject: Subject, member: members.Member) -> bool:
    """A parameter is not registered over it: what a property does is not known, nor what else stores a parameter."""
    own = subject.facts.methods
    return member.kind != "property" and "__setattr__" not in own and "register_parameter" not in own


RULE = Rule(
    code="MG106",
    name="hidden-by-class-attribute",
    severity="warning",
    summary="A submodule has the name of a method, property or other attribute of its class, which hides it.",
    why="""\
`nn.Module` keeps submodules in a store of its own and finds them only when ordinary look-up finds nothing. A method,
property or other attribute of the class, its own or inherited, is found first: the submodule is in `parameters()` and
in the state dict, and `self.name` is the method. A property's setter is not called for a module. A default of None in
the body of the class hides it as well: `self.name` stays None. A Parameter cannot be registered over any of them: torch
raises a KeyError.

Rename the submodule or the method; write `name: nn.Module` in place of `name = None`.
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
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    head = None

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)
""",
            (8,),
        ),
        Invalid(
            """\
import torch
from torch import nn

class Net(nn.Module):
    scale: nn.Parameter = None

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2))
""",
            (9,),
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
        self.decoder = "none"

    def encode(self, x):
        return self.encoder(x)
""",
            "an annotation is no attribute, and a plain value takes the place of a default",
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
