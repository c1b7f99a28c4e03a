"""MG101: submodules in a plain list, tuple, dict or set, where `nn.Module` cannot see them."""

from __future__ import annotations

from collections.abc import Iterator

from modgraph.rules import containers
from modgraph.rules.rule import Found, Invalid, Rule, Valid
from modgraph.rules.subject import Subject
from modgraph.rules.wrapping import wrap


def find(subject: Subject) -> Iterator[Found]:
    for hidden in containers.losing_modules(subject):
        if hidden.deliberate or not any(held.loses for held in hidden.held):
            continue
        yield Found(
            hidden.store.statement,
            f"{containers.counted(hidden)} in a plain {hidden.kind} `self.{hidden.name}`: not in parameters(), "
            f"state_dict(), to() or train(); {containers.advice(hidden)}",
            hidden.name,
            containers.places(subject, hidden),
            wrap(subject, hidden),
        )
    if subject.file.project.strict:
        for store in containers.possible_modules(subject):
            yield Found(
                store.statement,
                f"`self.{store.name}` is a plain container of what may be modules: if so, they are not in "
                "parameters(), state_dict(), to() or train()",
                store.name,
            )


RULE = Rule(
    code="MG101",
    name="unregistered-module-container",
    severity="warning",
    summary="Submodules are kept in a plain list, tuple, dict or set, so `nn.Module` does not see them.",
    why="""\
`nn.Module` registers a submodule when it is assigned to an attribute. A plain container that is assigned lands in
`__dict__` as it is: the modules in it are missing from `parameters()` (the optimizer never updates them), from
`state_dict()` (a checkpoint loses them), and `to()`, `half()`, `train()` and `eval()` do not reach them. Nothing is
raised.

Use `nn.ModuleList` or `nn.ModuleDict`, or register each element with `add_module`. Where modules are hidden on
purpose, say so: `object.__setattr__(self, "teacher", teacher)`, or `# modgraph: ignore[MG101]` with the reason.
""",
    find=find,
    invalid=(
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(8, 8) for _ in range(3)]
""",
            (6,),
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
""",
        ),
        Invalid(
            """\
import torch.nn as tnn

class Block(tnn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = tnn.Linear(width, width)

class Net(tnn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = []
        for i in range(depth):
            self.blocks.append(Block(width))
""",
            (11,),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = {"a": nn.Linear(8, 2), "b": nn.Linear(8, 3)}
""",
            (6,),
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"a": nn.Linear(8, 2), "b": nn.Linear(8, 3)})
""",
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drops = [nn.Dropout(0.1), nn.Dropout(0.2)]
""",
            (6,),
        ),
        Invalid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self._build(depth)

    def _build(self, depth):
        layers = []
        for _ in range(depth):
            layers.append((nn.Linear(8, 8), "name"))
        self.layers = layers
""",
            (12,),
        ),
        Invalid(
            """\
import copy
from torch import nn

def init_(module):
    nn.init.zeros_(module.weight)
    return module

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.heads, self.size = [], width
        self.heads.extend(init_(nn.Linear(8, 8)) for _ in range(2))
        self.tails = ()
        self.tails += (nn.utils.weight_norm(nn.Linear(8, 8)), copy.deepcopy(nn.Linear(8, 8)).eval())
        self.table = {}
        self.table["a"] = [nn.Conv2d(3, 8, 3)]
        self.table.setdefault("b", []).append(nn.Conv2d(3, 8, 3))
        first = self.first = [nn.Linear(8, 8)] + [nn.Linear(8, 8)]
        first.insert(0, nn.Linear(8, 8))
""",
            (11, 13, 15, 18),
        ),
        Invalid(
            """\
from collections import OrderedDict
import torch.nn as nn

class Net(nn.Module):
    def __init__(self, depth, extra=False):
        super().__init__()
        self.auxiliary = []
        if extra:
            for _ in range(depth):
                self.auxiliary.append(nn.Linear(8, 2))
        self.named = OrderedDict()
        for i in range(depth):
            self.named[f"layer{i}"] = nn.Linear(8, 8)
""",
            (7, 11),
        ),
    ),
    valid=(
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
""",
            "a ModuleList registers its elements",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = [nn.Linear(8, 8) for _ in range(depth)]
        for i, block in enumerate(self.blocks):
            self.add_module(f"block{i}", block)
""",
            "each element is registered under a name of its own",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = []
        for i in range(depth):
            self.blocks.append(nn.Linear(8, 8))
        self.blocks = nn.Sequential(*self.blocks)
""",
            "the attribute is rebound to a container that registers",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Linear(8, 8), nn.ReLU()]
        self.layers = layers
        self.body = nn.Sequential(*layers)
""",
            "the same modules are registered in `body`",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)
        self.both = [self.first, self.second]
""",
            "the elements are attributes themselves",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.activations = [nn.ReLU(), nn.GELU()]
""",
            "modules without state lose nothing; MG122 tells of them",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self._teacher = [teacher]
        self.ema = [nn.Linear(8, 8)]
""",
            "hidden on purpose; MG121 tells of it",
        ),
        Valid(
            """\
from keras import layers as nn

class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(8, 8)]
""",
            "not a module of torch",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        object.__setattr__(self, "hidden", [nn.Linear(8, 8)])
        self.__dict__["other"] = [nn.Linear(8, 8)]
""",
            "the registration is bypassed on purpose",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth, plain):
        super().__init__()
        self.first = [nn.Linear(8, 8) for _ in range(depth)]
        for i in range(depth):
            setattr(self, "first_%d" % i, self.first[i])
        self.second = {"a": nn.Linear(8, 8)}
        self.body = nn.ModuleDict(self.second) if plain else nn.Sequential(*self.second.values())
        self.third = []
        for i in range(depth):
            layer = nn.Linear(8, 8)
            self.register_module(str(i), layer)
            self.third += [layer]
        blocks = [nn.Linear(8, 8)]
        self.fourth = blocks
        self.wrapper = Wrapper(blocks)

class Wrapper(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
""",
            "registered by setattr, by another container, under their numbers, by another module that is given them",
        ),
        Valid(
            """\
from torch import nn

class Net(nn.Module):
    def __init__(self, depth, plain=False):
        super().__init__()
        self.layers = [] if plain else nn.ModuleList()
        for _ in range(depth):
            if not plain:
                self.layers.append(nn.Linear(8, 8))
        self._finish()

    def _build(self):
        self.rest = []
        for _ in range(3):
            self.rest.append(nn.Linear(8, 8))

    def _finish(self):
        self._build()
        self.rest = nn.ModuleList(self.rest)
""",
            "only a container that registers is ever filled; another method makes one of the list",
        ),
        Valid(
            """\
import weakref
from functools import partial
from torch import nn

class Net(nn.Module):
    def __init__(self, blocks, parent, lookup):
        super().__init__()
        self.kinds = {"a": nn.Linear, "b": partial(nn.Conv2d, kernel_size=3)}
        self.given = blocks
        self.parent = [weakref.ref(parent)]
        self.unknown = [lookup(i) for i in range(3)]
        self.fields = [("width", 3), ("act", "relu")]
        self.one = nn.Linear(8, 8)
        self.views = [self.one, self.one.weight]
""",
            "classes, arguments, references, unknown things, plain values, what is registered already",
        ),
        Valid(
            """\
from somewhere import Base
from torch import nn

class Net(Base):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(8, 8)]
""",
            "nothing is known of the base; `module-bases` in the configuration can say what it is",
        ),
    ),
)
