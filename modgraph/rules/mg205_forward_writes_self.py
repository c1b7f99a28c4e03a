"""MG205: `forward` stores something on self."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject


def find(subject: Subject) -> Iterator[Found]:
    method = subject.facts.methods.get("forward")
    if method is None or not method.receiver:
        return
    told: set[str] = set()
    for store in subject.facts.stores:
        if store.method is not method or store.name in told or "cache" in store.name.lower():
            continue
        if subject.is_module:
            told.add(store.name)
            yield Found(
                store.statement,
                f"forward() stores `self.{store.name}`: replicas and compiled graphs lose it or break there; "
                "return it, or keep a buffer and change that in place",
                store.name,
            )
    for change in subject.facts.changes:
        grows = change.method is method and change.how in ("append", "+=", "extend")
        if grows and change.name not in told and subject.is_module:
            told.add(change.name)
            yield Found(
                change.node,
                f"forward() changes `self.{change.name}`, which grows or differs from call to call",
                change.name,
            )


RULE = Rule(
    code="MG205",
    name="forward-writes-self",
    severity="warning",
    summary="`forward` stores something on the module.",
    why="""\
State written by `forward` is lost in the replicas of `DataParallel`, breaks the graph of `torch.compile`, and keeps
tensors, with all that was computed for them, alive between calls. Return what is needed, or update a buffer in place.
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
        self.seen = []

    def forward(self, x):
        self.last = x
        self.seen.append(x)
        return x
""",
            (9, 10),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def reset(self):
        self.last = None

    def forward(self, x):
        self.kv_cache = x
        self.count.add_(1)
        return x
""",
            "another method; a cache by its name; in place",
        ),
    ),
)
