"""MG122: modules without state in a plain container: nothing is lost but their place in the tree."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules import containers
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject
from modgraph.rules.wrapping import wrap


def find(subject: Subject) -> Iterator[Found]:
    for hidden in containers.hidden_modules(subject):
        if hidden.deliberate or any(held.stateful or held.modal for held in hidden.held):
            continue
        yield Found(
            hidden.store.statement,
            f"{containers.counted(hidden)} in a plain {hidden.kind} `self.{hidden.name}`: without state, but not shown "
            f"by print(model), and without hooks; {containers.advice(hidden)}",
            hidden.name,
            containers.places(subject, hidden),
            wrap(subject, hidden),
        )


RULE = Rule(
    code="MG122",
    name="stateless-module-container",
    severity="info",
    summary="Modules without parameters, buffers or a training mode are kept in a plain container.",
    why="""\
Activations and poolings in a plain list work as they are: there is nothing to train, to save or to move. They are
missing from `print(model)` and from `modules()`, so that hooks, quantisation and tools that walk the tree do not see
them.
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
        self.activations = [nn.ReLU(), nn.GELU()]
""",
            (6,),
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.activations = nn.ModuleList([nn.ReLU(), nn.GELU()])
""",
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drops = [nn.Dropout(0.1), nn.ReLU()]
        self.kinds = [nn.ReLU, nn.GELU]
        self.acts = nn.ModuleList([nn.ReLU()])
""",
            "dropout has a mode (MG101); classes, not modules; registered",
        ),
    ),
)
