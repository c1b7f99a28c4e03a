"""MG402: a declaration has a path or pattern that no module, parameter or buffer of the tree can have."""

from __future__ import annotations

from modgraph.rules.declared.asked import WORDS, in_class, in_file
from modgraph.rules.rule import Invalid, Rule, Valid

_CODE = "MG402"
RULE = Rule(
    code=_CODE,
    name="declared-name-not-there",
    severity="warning",
    summary="A declared path or pattern matches nothing in the tree, in any configuration.",
    why="""\
Plans of tensor, pipeline and data parallelism (`_tp_plan`, `base_model_tp_plan`, ...), tied weights
(`_tied_weights_keys`), modules that stay in float32 (`_keep_in_fp32_modules`) and keys that may be missing
(`_keys_to_ignore_on_load_missing`) are strings that must match names of modules and parameters. One that matches
nothing does nothing: a layer is not sharded, a weight not tied, a norm rounded to half precision; or the code that
reads it raises, on the day on which it is used.

The tree is what the constructor can build with any arguments: every branch is taken, and every number of layers. Of a
plan in a configuration, the paths may begin at any module of the models that are built with it. Where the source leaves
open what a module holds, and the pattern may match there, nothing is said.
""",
    find=in_class(_CODE),
    find_in_file=in_file(_CODE),
    words=WORDS,
    default=False,
    invalid=(
        Invalid(
            """\
from torch import nn

class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

class Net(nn.Module):
    _tp_plan = {
        "layers.*.qkv": "colwise",
        "layers.*.out_proj": "rowwise",
    }
    _tied_weights_keys = {"head.weight": "embedding.weight"}

    def __init__(self, width: int, depth: int):
        super().__init__()
        self.embed = nn.Embedding(100, width)
        self.layers = nn.ModuleList([Attention(width) for _ in range(depth)])
        self.head = nn.Linear(width, 100)
""",
            (12, 14),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    _keep_in_fp32_modules = ["norm"]

    def __init__(self, width: int, normed: bool):
        super().__init__()
        self.linear = nn.Linear(width, width)
        if normed:
            self.norm = nn.LayerNorm(width)
""",
            "there is one in some configuration",
        ),
    ),
)
