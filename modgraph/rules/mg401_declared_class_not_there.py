"""MG401: a declaration names a class of which no instance can be in the tree."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules.declared.words import WORDS
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import FileSubject, Subject


def find(subject: Subject) -> Iterator[Found]:
    from modgraph.rules.declared.judging import unfit  # heavy: loaded where the rule is asked for

    return unfit(subject, "MG401")


def find_in_file(file: FileSubject) -> Iterator[Found]:
    from modgraph.rules.declared.judging import unfit_in_calls

    return unfit_in_calls(file, "MG401")


RULE = Rule(
    code="MG401",
    name="declared-class-not-there",
    severity="warning",
    summary="A declaration names a class of which nothing in the tree is, in any configuration.",
    why="""\
`_no_split_modules` names the classes of blocks that stay on one device. A name that no module has, as a class was
renamed or its text copied, is passed over in silence: the blocks are split, and the model fails, or is slow, where it
is spread over several devices.

The tree is what the constructor can build with any arguments: every branch is taken. What a class declares counts for
all classes that inherit it, those of other files of the package too; it is reported if none of them can have the name.
Where any of them may hold what the source does not show (a model that a configuration names, say), nothing is said.
""",
    find=find,
    find_in_file=find_in_file,
    words=WORDS,
    default=False,
    invalid=(
        Invalid(
            """\
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

class Net(nn.Module):
    _no_split_modules = ["TransformerBlock"]

    def __init__(self, width: int, depth: int):
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
""",
            (9,),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Block(nn.Module):
    pass

class Gated(Block):
    pass

class Net(nn.Module):
    _no_split_modules = ["Block", "Gated"]

    def __init__(self, gated: bool = False):
        super().__init__()
        self.blocks = nn.ModuleList([Gated() if gated else Block()])
""",
            "an option decides which of them there is",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    _no_split_modules = ["Block"]

    def __init__(self, backbone: nn.Module):
        super().__init__()
        self.backbone = backbone
""",
            "what it is given may hold such a module",
        ),
    ),
)
