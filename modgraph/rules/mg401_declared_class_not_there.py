"""MG401: a declaration names a class of which no instance can be in the tree."""

from __future__ import annotations

from modgraph.rules.declared.asked import WORDS, in_class, in_file
from modgraph.rules.rule import Invalid, Rule, Valid

_CODE = "MG401"
RULE = Rule(
    code=_CODE,
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
    find=in_class(_CODE),
    find_in_file=in_file(_CODE),
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
