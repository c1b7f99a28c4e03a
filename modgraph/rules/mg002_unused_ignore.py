"""MG002: a comment of ours that silences nothing, or names no rule. Found by `suppressions.py`."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject


def find(_subject: Subject) -> Iterator[Found]:
    """Nothing: comments are compared with what the other rules have found, when all have."""
    return iter(())


RULE = Rule(
    code="MG002",
    name="unused-ignore",
    severity="warning",
    summary="A `# modgraph: ignore` comment silences nothing, or names a rule that does not exist.",
    why="""\
A comment that outlives what it silenced hides the next mistake on its line. Take it away. Comments for rules that are
not selected are left alone, and so is every `# noqa`, which may be meant for another tool.
""",
    find=find,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(8, 8)])  # modgraph: ignore[MG101] not yet
""",
            (6,),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        # modgraph: ignore[MG101] trained by an optimizer of its own
        self.blocks = [nn.Linear(8, 8), nn.Linear(8, 8)]
""",
            "the comment silences a finding",
        ),
    ),
)
