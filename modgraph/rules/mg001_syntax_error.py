"""MG001: a file that is not Python, as far as the running interpreter can tell. Found by the engine, not by a walk."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject


def find(_subject: Subject) -> Iterator[Found]:
    """Nothing: there is no class to look at where the file cannot be read."""
    return iter(())


RULE = Rule(
    code="MG001",
    name="syntax-error",
    severity="error",
    summary="The file cannot be read as Python.",
    why="""\
Nothing else can be said of such a file. It is read with the grammar of the Python that runs modgraph: a file that uses
newer syntax is reported too, until modgraph is run by a newer Python.
""",
    find=find,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self:
        super().__init__()
""",
            (4,),
        ),
        Invalid("print 'from another age'\n", (1,)),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    pass
""",
            "it can be read",
        ),
    ),
)
