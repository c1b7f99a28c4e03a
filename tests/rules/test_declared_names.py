"""MG401 and MG402: the tree of all configurations has whatever torch builds, and what is reported is in none of them."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from modgraph.findings import Finding
from modgraph.rules.check import check_text
from modgraph.rules.declared.asked import WORDS
from modgraph.rules.declared.following import Followed
from modgraph.rules.declared.roots import Trees
from modgraph.rules.declared.sources import Sources
from modgraph.rules.declared.table import ARGUMENTS, ATTRIBUTES, GETTING, NAMING
from modgraph.rules.declared.torch_trees import children_of
from modgraph.rules.declared.tree import OpenError, Tree
from modgraph.rules.declared.values import ANY, NUMBERS, Frame, Kind
from modgraph.rules.names import Project
from modgraph.rules.registry import rules
from modgraph.source.torch_names import MODULES

RULES = [rule for rule in rules() if rule.code.startswith("MG4")]
HEAD = """\
import copy
from collections import OrderedDict
from functools import partial
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width: int, norm=nn.LayerNorm):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = norm(width)

class Other(Block):
    def __init__(self, width: int):
        super().__init__(width, nn.BatchNorm1d)
        self.extra = nn.Parameter(torch.zeros(width))
        self.register_buffer("seen", torch.zeros(1))

class Root(nn.Module):
    def __init__(self):
        nn.Module.__init__(self)
        self.root = nn.Linear(2, 2)

class Middle(Root):
    def __init__(self, width):
        super().__init__()
        self.middle = nn.Linear(width, width)

class Deep(Middle):
    def __init__(self, width):
        Middle.__init__(self, width)
        self.deep = nn.Linear(width, width)

class Stars(nn.Module):
    def __init__(self, *layers, **more):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        for name, each in more.items():
            self.add_module(name, each)

def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])

def filled(layers, width):
    layers.append(Other(width))

def added(layers, name):
    layers[name] = Other(4)

BLOCKS = {"plain": Block, "other": Other, "narrow": (Block, {"norm": nn.BatchNorm1d})}

class Net(nn.Module):
    def __init__(self, flag: bool, n: int):
        super().__init__()
"""
BODIES = {
    "an option": "self.a = Block(4) if flag else Other(4)",
    "a branch": "if flag:\n    self.a = Block(4)\nelse:\n    self.b = nn.LSTM(4, 4, num_layers=n, bidirectional=True)",
    "a list": "self.a = nn.ModuleList([Block(4) for _ in range(n)])",
    "a list that grows": "self.a = nn.ModuleList()\nfor _ in range(n):\n    self.a.append(Other(4) if flag else Block(4))",
    "a sequence": "self.a = nn.Sequential(*[Block(4) for _ in range(n)], nn.Linear(4, 4))",
    "names": "self.a = nn.Sequential(OrderedDict([('first', Block(4)), ('second', nn.Linear(4, 4))]))",
    "a dict that grows": "d = OrderedDict()\nd['first'] = Block(4)\nfor i in range(n):\n    d[f'layer{i}'] = Other(4)\nself.a = nn.Sequential(d)",
    "a dict": "self.a = nn.ModuleDict({'x': Block(4), 'y': nn.Identity()})\nself.a['z'] = Other(4)",
    "a name that is made": "for i in range(n):\n    self.add_module(f'layer{i}', Block(4))",
    "a name that is reckoned": "for i in range(n):\n    self.add_module(f'layer{i + 1}', Block(4))\n    self.add_module(str(2 * i), Block(4))",
    "a sum of texts": "for i in range(n):\n    setattr(self, 'layer' + str(i + 1) + '_' + f'{i}', Block(4))",
    "setattr": "for name in ('q', 'k'):\n    setattr(self, name + '_proj', nn.Linear(4, 4))",
    "names nobody knows": "for name in sorted({'q', 'k'})[:n]:\n    setattr(self, name, nn.Linear(4, 4))",
    "clones": "self.a = clones(Other(4), n)",
    "a function that fills": "layers = []\nfilled(layers, 4)\nself.a = nn.ModuleList(layers)",
    "a table": "made = BLOCKS['other' if flag else 'plain']\nself.a = made(4)",
    "a pair of a table": "kind, more = BLOCKS['narrow']\nself.a = kind(4, **more)",
    "partial": "make = partial(Block, norm=nn.BatchNorm1d)\nself.a = make(4)",
    "a closure": "def make():\n    return Block(4) if flag else Other(4)\nself.a = nn.ModuleList([make() for _ in range(n)])",
    "a lambda": "make = lambda width: Other(width)\nself.a = make(4)",
    "stored from outside": "self.a = Block(4)\nself.a.more = nn.Linear(4, 4)\nself.a.linear.weight = self.a.more.weight",
    "in a loop over them": "self.a = nn.ModuleList([Block(4) for _ in range(n)])\nfor each in self.a:\n    each.gate = nn.Linear(4, 1)",
    "parameters": "self.p = nn.ParameterList([torch.zeros(2) for _ in range(n)])\nself.q = nn.ParameterDict({'x': torch.zeros(2)})",
    "attention": "self.a = nn.MultiheadAttention(4, 2, kdim=3, vdim=3, add_bias_kv=True)\nself.b = nn.TransformerEncoderLayer(4, 2, 8)",
    "attention alone": "self.a = nn.MultiheadAttention(4, 2)",
    "norms": "self.a = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))\nself.b = nn.Linear(4, 4)",
    "wrapped": "self.a = torch.compile(nn.Linear(4, 4)) if flag else nn.DataParallel(Block(4))",
    "two at once": "self.a, self.b = Block(4), Other(4)",
    "chained": "self.a = self.b = Block(4)",
    "a list times": "self.a = nn.Sequential(*([nn.ReLU()] * n + [Block(4)]))",
    "enumerated": "for i, kind in enumerate([Block, Other]):\n    self.register_module('%s' % kind.__name__.lower(), kind(4))",
    "a walrus": "if (layer := Block(4)) is not None:\n    self.a = layer",
    "added to": "self.a = nn.ModuleList()\nself.a += [Block(4) for _ in range(n)]",
    "torch's own table": "self._modules['a'] = Block(4)\nself._parameters['p'] = nn.Parameter(torch.zeros(1))",
    "keywords": "self.add_module(module=Block(4), name='a')",
    "a base that is named": "class_ = Deep\nself.a = Deep(4)",
    "stars": "self.a = Stars(Block(4), Other(4), last=Block(4))",
    "a dict of numbers": "self.a = nn.ModuleDict({str(i): Block(4) for i in range(n)})",
    "a dict of a beginning": "self.a = nn.ModuleDict({f'head{i}': Block(4) for i in range(n)})",
    "a dict of known names": "self.a = nn.ModuleDict({name: Block(4) for name in ('q', 'k')})",
    "pairs that are made": "self.a = nn.Sequential(OrderedDict((f'l{i}', Block(4)) for i in range(n)))",
    "a dict that is called": "self.a = nn.ModuleDict(dict([('w', Block(4))], x=Block(4), y=nn.Identity()))",
    "a dict in a variable": "d = {str(i): Block(4) for i in range(n)}\nself.a = nn.ModuleDict(d)",
    "an attribute of a dict": "self.a = nn.ModuleDict({f'l{i}': Block(4) for i in range(n)})\nself.a.l0.more = Other(4)",
    "a dict that a function fills": "d = {'x': Block(4)}\nadded(d, str(flag))\nself.a = nn.ModuleDict(d)",
    "beginnings of names nobody knows": "for name in sorted({'q', 'k'})[:n]:\n    setattr(self, f'to_{name}', nn.Linear(4, 4))\n    self.add_module(name + '_out', nn.Linear(4, 4))",
    "apply": "self.a = Block(4).train()\nself.apply(lambda m: m.register_buffer('mark', torch.zeros(1)))",
}  # fmt: skip


def tree_of(folder: Path, code: str, name: str = "Net") -> Tree:
    file = folder / "net.py"
    file.write_text(code, "utf-8")
    tree = Trees(Sources(Project())).tree(Kind(str(file), name))
    assert tree is not None
    return tree


def in_tree(tree: Tree, path: str) -> bool:
    """It is there, or may be."""
    try:
        return tree.has_path(path)
    except OpenError:
        return True


def built(code: str) -> Iterator[Any]:
    """What torch makes of it, with each option."""
    names: dict[str, Any] = {"__name__": "built"}
    exec(code, names)
    for flag, n in itertools.product((False, True), (1, 3)):
        yield names["Net"](flag, n)


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", BODIES)
def test_what_torch_builds_is_in_the_tree(tmp_path: Path, name: str):
    code = HEAD + "".join(f"        {line}\n" for line in BODIES[name].splitlines())
    tree = tree_of(tmp_path, code)
    known, is_open = tree.class_names()
    for model in built(code):
        tensors = [path for path, _ in (*model.named_parameters(), *model.named_buffers())]
        paths = [path for path, _ in model.named_modules(remove_duplicate=False) if path]
        assert [path for path in (*paths, *tensors) if not in_tree(tree, path)] == []
        assert is_open or {type(module).__name__ for module in model.modules()} <= known
        for path in tensors:
            with contextlib.suppress(OpenError):
                assert tree.matches(re.compile(f"^{re.escape(path)}$"), "search")


PLAIN = {
    "an option that is said twice": "self.a = Block(4)\nif flag:\n    self.a = Other(4)",
    "a local of the name of a class": "Block = Other\nself.a = Block(4)",
    "one that makes itself anew": "self.a = Deep(4)\nself.b = nn.Sequential(nn.ReLU(), Middle(4), nn.Linear(4, 4))",
}


@pytest.mark.parametrize("body", [*BODIES.values(), *PLAIN.values()])
def test_what_is_said_plainly_is_in_the_tree_too(tmp_path: Path, body: str):
    code = HEAD + "".join(f"        {line}\n" for line in body.splitlines())
    tree = tree_of(tmp_path, code)
    plain = Trees(tree.followed.sources).certain(tree.root)
    assert plain.reached()[0] <= tree.reached()[0]
    with contextlib.suppress(OpenError):
        for path in plain.paths():
            assert in_tree(tree, path.replace(NUMBERS, "0"))


@pytest.mark.parametrize("body", [*BODIES.values(), *PLAIN.values()])
def test_what_is_not_run_again_would_say_nothing_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str):
    code = HEAD + "".join(f"        {line}\n" for line in body.splitlines())
    runs: list[Frame] = []
    real = Followed._run
    monkeypatch.setattr(Followed, "_run", lambda followed, frame: (runs.append(frame), real(followed, frame))[1])
    one = tree_of(tmp_path, code).followed
    n_due = len(runs)
    monkeypatch.setattr(Followed, "is_due", lambda followed, frame: True)
    every = tree_of(tmp_path, code).followed
    assert (one.stored, one.held, one.anywhere, one.touched) == (
        every.stored,
        every.held,
        every.anywhere,
        every.touched,
    )
    assert n_due < len(runs) - n_due


def test_a_base_whose_constructor_is_not_called_says_nothing(tmp_path: Path):
    text = LAYER.replace("DECLARED", '_no_split_modules = ["Layer"]')
    text += """
class Alone(Net):
    _no_split_modules = ["Layer"]
    def __init__(self):
        self.other = nn.Linear(2, 2)
"""
    assert [each.class_name for each in found(tmp_path, text)] == ["Alone"]


def test_what_is_said_plainly_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    followed: list[Kind] = []
    real = Trees.tree
    monkeypatch.setattr(Trees, "tree", lambda trees, kind: followed.append(kind) or real(trees, kind))
    names = '_no_split_modules = ["Layer"]\n    _tied_weights_keys = {"head.weight": "layers.0.fc1.weight"}'
    assert found(tmp_path, LAYER.replace("DECLARED", names)) == []
    assert not followed
    assert len(found(tmp_path, LAYER.replace("DECLARED", '_no_split_modules = ["Layr"]'))) == 1
    assert followed


OPEN = (
    "names nobody knows",
    "beginnings of names nobody knows",
    "a dict that a function fills",
    "attention",
    "norms",
    "wrapped",
    "enumerated",
    "apply",
    "a pair of a table",
    "stars",
)


@pytest.mark.parametrize("name", [name for name in BODIES if name not in OPEN])
def test_what_is_not_there_is_known_not_to_be(tmp_path: Path, name: str):
    code = HEAD + "".join(f"        {line}\n" for line in BODIES[name].splitlines())
    tree = tree_of(tmp_path, code)
    assert not tree.has_path("a.0.nowhere")
    assert not tree.matches(re.compile("nowhere"), "search")
    assert not tree.class_names()[1]


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", sorted(MODULES - {"Module", "Container"}))
def test_layers_of_torch_have_no_other_names(name: str):
    import torch

    kind = getattr(torch.nn, name)
    known = children_of(name)
    for given in ((), (4,), (4, 4), (4, 4, 4), (4, 2), (4, 8, [2])):
        try:
            module = kind(*given)
        except (TypeError, ValueError, RuntimeError, AttributeError, AssertionError, IndexError):
            continue
        names = {*module._parameters, *module._buffers, *module._modules}
        allowed = {re.sub(r"(?<=_l)\d+", NUMBERS, each) for each in names}
        if name not in ("ModuleList", "ModuleDict", "Sequential", "ParameterList", "ParameterDict"):
            assert ANY in known or allowed <= set(known)


# ---- the rules -------------------------------------------------------------------------------------------------------

LAYER = """\
from torch import nn

class Layer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.q_proj = nn.Linear(width, width)
        self.fc1 = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

class Base(nn.Module):
    DECLARED

class Net(Base):
    def __init__(self, width: int, depth: int, pooled: bool):
        super().__init__()
        self.embed = nn.Embedding(10, width)
        self.layers = nn.ModuleList([Layer(width) for _ in range(depth)])
        self.pooler = nn.Linear(width, width) if pooled else None
        self.head = nn.Linear(width, 10)
"""


def found(folder: Path, text: str, name: str = "net.py", **others: str) -> list[Finding]:
    for file, other in {name.removesuffix(".py"): text, **others}.items():
        (folder / f"{file}.py").write_text(other, "utf-8")
    return check_text(text, name, str(folder / name), RULES, Project())


FITTING = [
    '_no_split_modules = ["Layer", "Linear", "ModuleList"]',
    '_no_split_modules = {"Net"}',
    '_tp_plan = {"layers.*.q_proj": "colwise", "head": "x", "layers.*.q_proj.weight": "x", "layers.3.fc1": "x"}',
    '_tp_plan = {"layers.*.fc*": "colwise", "pooler": "rowwise"}',
    '_pp_plan = {"embed": (["input_ids"], ["x"]), "layers": (["x"], ["x"])}',
    '_tied_weights_keys = {"head.weight": "embed.weight"}',
    '_tied_weights_keys = {r"layers\\.(?!0)\\d+\\.fc1": "layers.0.fc1"}',
    '_tied_weights_keys = ["head.weight"]',
    '_keep_in_fp32_modules = ["norm", "layers.*.norm", "0.norm"]',
    '_keys_to_ignore_on_load_missing = [r"pooler", r"^layers\\.1[0-9]\\."]',
    '_keys_to_ignore_on_save = ["head.bias"]',
    '_keys_to_ignore_on_load_unexpected = ["decoder"]',
    '_skip_keys_device_placement = ["past_key_values"]',
    "_no_split_modules = names()",
    '_keys_to_ignore_on_load_missing = ["("]',
]
UNFIT = [
    ('_no_split_modules = ["Layer", "Layr"]', "MG401", "did you mean 'Layer'?"),
    ('_no_split_modules = set(["EncoderLayer"])', "MG401", "'EncoderLayer' in _no_split_modules names no class"),
    ('_tp_plan = {"layers.*.attn.q_proj": "colwise"}', "MG402", "is the path of no module or parameter"),
    ('_tp_plan = {"layer.*.q_proj": "colwise"}', "MG402", "any configuration of Net"),
    ('_tp_plan = {"q_proj": "colwise"}', "MG402", "'q_proj' in _tp_plan"),
    ('_pp_plan = {"blocks": (["x"], ["x"])}', "MG402", "'blocks'"),
    ('_tied_weights_keys = {"head.weight": "embeddings.weight"}', "MG402", "'embeddings.weight'"),
    ('_keep_in_fp32_modules = ["layer_norm"]', "MG402", "matches no module, parameter or buffer"),
    ('_keys_to_ignore_on_load_missing = [r"position_ids"]', "MG402", "'position_ids'"),
    ('_keys_to_ignore_on_save = ["lm_head.weight"]', "MG402", "is no key"),
]


@pytest.mark.parametrize("declared", FITTING)
def test_what_fits_some_configuration_is_not_reported(tmp_path: Path, declared: str):
    assert found(tmp_path, LAYER.replace("DECLARED", declared)) == []


@pytest.mark.parametrize(("declared", "code", "words"), UNFIT)
def test_what_fits_none_is_reported_once_and_where_it_stands(tmp_path: Path, declared: str, code: str, words: str):
    text = LAYER.replace("DECLARED", declared)
    (only,) = found(tmp_path, text)
    assert (only.code, only.line, only.class_name) == (code, 11, "Base")
    assert words in only.message
    assert only.attribute == declared.partition(" ")[0]
    end = text.splitlines()[10][(only.column or 0) - 1 : (only.end_column or 0) - 1]
    assert end.lstrip("r")[1:-1] in only.message


OPENLY = {
    "stars": "self.inner = nn.ModuleList(more)",
    "keywords": "for key, value in named.items():\n            self.add_module(key, value)",
    "a list that is called": "self.inner = inner.layers, inner.width",
    "a module that is given": "self.inner = inner",
    "a class that is named": "self.inner = getattr(nn, name)(3)",
    "a package that is not there": "self.inner = nowhere.build(name)",
    "the whole given away": "nowhere.extend(self)",
    "a name nobody knows": "setattr(self, name, nn.Linear(2, 2))",
}


@pytest.mark.parametrize("how", OPENLY)
@pytest.mark.parametrize("declared", ['_no_split_modules = ["Blok"]', '_keep_in_fp32_modules = ["nrm"]'])
def test_what_may_be_in_an_unknown_part_is_not_reported(tmp_path: Path, how: str, declared: str):
    known = how == "a name nobody knows" and "split" in declared
    text = f"""\
import nowhere
from torch import nn

class Net(nn.Module):
    {declared}

    def __init__(self, inner, name: str, *more, **named):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        {OPENLY[how]}

    def forward(self, x):
        for layer in self.inner:
            x = layer(x)
        return x
"""
    assert bool(found(tmp_path, text)) is known


def test_a_path_beside_the_unknown_part_is_reported(tmp_path: Path):
    text = """\
from torch import nn

class Net(nn.Module):
    _tp_plan = {"inner.q": "colwise", "linear.q": "colwise"}

    def __init__(self, inner: nn.Module):
        super().__init__()
        self.inner = inner
        self.linear = nn.Linear(2, 2)
"""
    assert [each.message.partition(" ")[0] for each in found(tmp_path, text)] == ["'linear.q'"]


@pytest.mark.parametrize("made", ["f'to_{name}'", "'to_' + name"])
def test_names_of_which_a_part_is_known_hold_what_fits_it(tmp_path: Path, made: str):
    text = f"""\
from torch import nn

class Net(nn.Module):
    _tp_plan = {{"to_q.weight": "colwise", "too.weight": "colwise", "tq": "colwise"}}

    def __init__(self, name: str):
        super().__init__()
        self.first = nn.Linear(2, 2)
        setattr(self, {made}, nn.Linear(2, 2))

def main(name):
    wrap(Net(name), LoraConfig(target_modules=["first", "to_v", "q_proj", "t", "first.bias"]))
"""
    text = "from peft import LoraConfig, get_peft_model as wrap\n" + text
    shown = [each.message.partition(" in ")[0] for each in found(tmp_path, text)]
    assert shown == ["'too.weight'", "'tq'", "'q_proj'", "'t'"]


def test_a_class_of_another_file_that_inherits_it_counts(tmp_path: Path):
    base = 'from torch import nn\n\nclass Base(nn.Module):\n    _no_split_modules = ["Far"]\n\nclass Net(Base):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(2, 2)\n'
    other = "from torch import nn\nfrom net import Base\n\nclass Far(nn.Module):\n    pass\n\nclass More(Base):\n    def __init__(self):\n        super().__init__()\n        self.far = Far()\n"
    assert [each.code for each in found(tmp_path, base)] == ["MG401"]
    assert found(tmp_path, base, more=other) == []


def test_a_class_of_a_function_that_inherits_it_leaves_it_open(tmp_path: Path):
    base = 'from torch import nn\n\nclass Base(nn.Module):\n    _no_split_modules = ["Far"]\n\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(2, 2)\n'
    other = "from net import Base\n\ndef make(far):\n    class More(Base):\n        def __init__(self):\n            self.far = far\n    return More()\n"
    assert [each.code for each in found(tmp_path, base)] == ["MG401"]
    assert found(tmp_path, base, more=other) == []


def test_a_plan_of_a_configuration_is_that_of_the_models_built_with_it(tmp_path: Path):
    plan = 'class Config:\n    base_model_tp_plan = {"layers.*.q": "colwise", "layers.*.k": "colwise"}\n    width: int = 3\n'
    model = """\
from torch import nn
from configuration import Config

class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.q = nn.Linear(config.width, 3)

class Net(nn.Module):
    config_class = Config

    def __init__(self, config):
        super().__init__()
        self.layers = nn.ModuleList([Layer(config) for _ in range(3)])
"""
    text = f"from base import Base\n\n{plan.replace('class Config', 'class Config(Base)')}"
    files = {"base": "class Base:\n    pass\n", "modeling": model}
    (only,) = found(tmp_path, text, "configuration.py", configuration=text, **files)
    assert (only.code, only.message.partition(" ")[0]) == ("MG402", "'layers.*.k'")
    assert found(tmp_path, text, "configuration.py", modeling="", configuration=text) == []


@pytest.mark.parametrize("annotation", ["", ": Config", ": Config | None"])
def test_a_model_that_does_not_say_its_configuration_may_be_built_with_it(tmp_path: Path, annotation: str):
    frame = "from torch import nn\n\nclass Asking:\n    base_model_tp_plan = None\n    base_model_pp_plan = None\n\nclass Frame(nn.Module):\n    _tp_plan = None\n    _pp_plan = None\n"
    plan = 'from frame import Asking\n\nclass Config(Asking):\n    base_model_tp_plan = {"layers.0": "x", "lost": "x"}\n\nclass Whole(Asking):\n    pass\n'
    model = f"""\
from torch import nn
from frame import Frame
from plan import Config, Whole

class Layer(nn.Module):
    def __init__(self, config: Config):
        super().__init__()

class Base(Frame):
    config: Whole

class Encoder(Base):
    def __init__(self, config{annotation}):
        super().__init__()
        self.layers = nn.ModuleList([Layer(config)])

class Other(Base):
    config: Config

    def __init__(self, config):
        super().__init__()
        self.linear = nn.Linear(2, 2)
"""
    names = [each.message.partition(" ")[0] for each in found(tmp_path, plan, "plan.py", frame=frame, model=model)]
    assert names == ["'lost'"]
    alone = model.partition("class Other")[0]
    expected = ["'lost'"] if annotation else []
    assert [
        each.message.partition(" ")[0] for each in found(tmp_path, plan, "plan.py", frame=frame, model=alone)
    ] == expected


def test_the_base_that_asks_for_declarations_names_nothing(tmp_path: Path):
    """Its methods work on what the classes have that derive from it, whatever they do to be able to."""
    text = """\
from torch import nn

class Frame(nn.Module):
    _no_split_modules = None
    _tp_plan = None

    def __init__(self, config):
        super().__init__()
        self.config = config
        setattr(self, config.name, config.made)

    def finish(self):
        for name, child in self.named_children():
            setattr(self, name, wrap(child))

class Net(Frame):
    _tp_plan = {"lin": "colwise", "linear": "colwise"}

    def __init__(self, config):
        super().__init__(config)
        self.linear = nn.Linear(config.width, config.height)
        self.finish()
"""
    assert [each.message.partition(" ")[0] for each in found(tmp_path, text)] == ["'lin'"]


LATER = {
    "a method that builds": ("def setup(self):\n        self.late = nn.Linear(2, 2)", False),
    "one that adds to a list": ("def more(self):\n        self.blocks.append(Late())", False),
    "one that is given it": ("def put(self, late):\n        self.late = late\n    def use(self, x):\n        return self.late(x)", False),
    "a number": ("def put(self, late: int):\n        self.late = late", True),
    "what is there is put again": ("def put(self, value):\n        self.linear = value", True),
    "forward": ("def forward(self, x):\n        self.late = x\n        return helper(self)", True),
}  # fmt: skip


@pytest.mark.parametrize("name", LATER)
def test_a_method_that_is_called_later_may_build_it(tmp_path: Path, name: str):
    text, is_found = LATER[name]
    code = f"""\
from torch import nn

class Late(nn.Module):
    def __init__(self):
        super().__init__()
        self.late = nn.Linear(2, 2)

class Net(nn.Module):
    _keep_in_fp32_modules = ["late"]

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.blocks = nn.ModuleList()
    {text}
"""
    assert bool(found(tmp_path, code)) is is_found


# ---- calls -----------------------------------------------------------------------------------------------------------

SCRIPT = """\
import re
import peft
import accelerate
from functools import partial
from peft import LoraConfig, get_peft_model as wrap
from torch.ao.quantization import fuse_modules
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import ModuleWrapPolicy, transformer_auto_wrap_policy
from torch.distributed.pipelining import pipeline
from torchvision.models._utils import IntermediateLayerGetter
from transformers import Trainer, TrainingArguments
from torch.distributed.tensor.parallel import parallelize_module
from torch import nn

class Base(nn.Module):
    pass

class Odd(nn.Module):
    pass

class Block(Base):
    def __init__(self, width: int):
        super().__init__()
        self.query = nn.Linear(width, width)

class Net(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()
        self.layers = nn.ModuleList([Block(width) for _ in range(3)])
        self.head = nn.Linear(width, 2)

    def groups(self):
        BODY

def main(mesh, width, given):
    model = Net(width)
    CODE
"""
CALLS = [
    ('wrap(model, LoraConfig(target_modules=["query", "key"]))', ["key"]),
    ('c = LoraConfig(target_modules=["0.query", "heads"], modules_to_save=["head", "cls"])\n    wrap(model, c)', ["heads", "cls"]),
    ('wrap(model, peft.LoraConfig(target_modules=r"layers\\.\\d+\\.query"))', []),
    ('wrap(model, peft.LoraConfig(target_modules=r"layers\\.query"))', [r"layers\.query"]),
    ('wrap(model, LoraConfig(target_modules="all-linear"))', []),
    ('wrap(given, LoraConfig(target_modules=["key"]))', []),
    ('LoraConfig(target_modules=["key"])', []),
    ('other(model, target_modules=["key"])', []),
    ('accelerate.infer_auto_device_map(model, no_split_module_classes=["Block", "Blok"])', ["Blok"]),
    ('parallelize_module(model, mesh, parallelize_plan={"layers.*.query": 1, "layers.0.key": 1})', ["layers.0.key"]),
    ('[p for n, p in model.named_parameters() if "query" in n or "norm" in n]', ["norm"]),
    ('[p for n, p in model.named_parameters() if not any(x in n for x in ["bias", "LayerNorm"])]', ["LayerNorm"]),
    ('for n, p in model.named_parameters():\n        if re.match(r"head", n) or re.search("layer$", n): pass', ["layer$"]),
    ('for n, p in model.named_parameters():\n        if n.startswith("query") or n.endswith("query.bias"): pass', ["query"]),
    ('for n, p in given.named_parameters():\n        if "norm" in n: pass', []),
    ('model.norm = nn.LayerNorm(2)\n    [p for n, p in model.named_parameters() if "norm" in n]', []),
    ('model = wrap(model, LoraConfig(target_modules=["query"]))\n    [p for n, p in model.named_parameters() if "lora_" in n]', []),
    ('wrap(model, LoraConfig(target_modules=["query"]))\n    [p for n, p in model.named_parameters() if "lora_" in n]', []),
    ('other(model)\n    wrap(model, LoraConfig(target_modules=["key"]))', []),
    ('wrap(model.layers, LoraConfig(target_modules=["key"]))', []),
    ('model = wrap(model, LoraConfig(target_modules=["query", "key"]))\n    model.train()', ["key"]),
    ('c = LoraConfig(target_modules=["key"])\n    if width:\n        model = wrap(model, c)\n    other(model)', ["key"]),
    ('wrap(model, LoraConfig(target_modules=["key"]))\n    other(model)', ["key"]),
    ('if width:\n        model = other(model)\n    model = wrap(model, LoraConfig(target_modules=["key"]))', []),
    ('for _ in range(2):\n        model = wrap(model, LoraConfig(target_modules=["key"]))', []),
    ('wrap(model, LoraConfig(exclude_modules=["head", "tail"], target_parameters=["query.weight", "query.w"]))', ["tail", "query.w"]),
    ('wrap(model, LoraConfig(rank_pattern={r"layers\\.\\d\\.query": 4, "ayers.0.query": 8}, alpha_pattern={"key": 1}))', ["ayers.0.query", "key"]),
    ('parallelize_module(model, mesh, {"layers.*.q?ery": 1, "lay*": 1, "layers.[0-2].key": 1, "h*.weight": 1, "t*": 1})', ["layers.[0-2].key", "t*"]),
    ('pipeline(model, split_spec={"layers.1": 1, "layer.1": 1})', ["layer.1"]),
    ('fuse_modules(model, [["head", "tail"]], inplace=True)', ["tail"]),
    ('IntermediateLayerGetter(model, {"layers": "a", "layer4": "b"})', ["layer4"]),
    ('model = FSDP(model, auto_wrap_policy=ModuleWrapPolicy({Block, Odd}))', ["Odd"]),
    ('policy = partial(transformer_auto_wrap_policy, transformer_layer_cls={Odd})\n    FSDP(model, auto_wrap_policy=policy)', ["Odd"]),
    ('FSDP(model, auto_wrap_policy=ModuleWrapPolicy([Base, nn.Linear, nn.Conv2d, given]))', []),
    ('FSDP(given, auto_wrap_policy=ModuleWrapPolicy([Odd]))', []),
    ('plugin = accelerate.FullyShardedDataParallelPlugin(transformer_cls_names_to_wrap=["Block", "Odd"])\n'
     '    acc = accelerate.Accelerator(fsdp_plugin=plugin)\n    model, width = acc.prepare(model, width)', ["Odd"]),
    ('acc = other(accelerate.FullyShardedDataParallelPlugin(transformer_cls_names_to_wrap=["Odd"]))\n    acc.prepare(model)', []),
    ('args = TrainingArguments("out", fsdp_config={"transformer_layer_cls_to_wrap": ["Blok"]})\n    Trainer(model=model, args=args)', ["Blok"]),
    ('model.get_submodule("layers.0.query")\n    model.get_submodule("layers.0.key")\n    given.get_submodule("key")', ["layers.0.key"]),
    ('model.get_parameter("head.bias")\n    model.get_buffer("head.mean")', ["head.mean"]),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), CALLS)
def test_names_in_calls_are_of_the_model_beside(tmp_path: Path, code: str, expected: list[str]):
    text = SCRIPT.replace("CODE", code).replace("BODY", "pass")
    reported = found(tmp_path, text)
    assert [each.message.partition(" in ")[0] for each in reported] == [f"'{name}'" for name in expected]
    assert all(each.class_name is None for each in reported)


HELD = [
    ("targets = ['query', 'nowhere']", "targets"),
    ("targets: list[str] = ['query', 'nowhere']", "targets"),
    ("targets = ('query', 'nowhere')", "list(targets)"),
    ("targets = ['query']\n    targets = targets + ['nowhere']", "targets"),
    ("one = 'nowhere'\n    targets = ['query', one]", "[*targets, 'head']"),
    ("part = 'nowhere'", "[f'{part}', 'query']"),
    ("targets = ['nowhere']\n    print(len(targets), [t for t in targets if 'q' in t], targets[0])", "targets"),
    ("if width:\n        targets = ['nowhere']", "targets"),
    ("from constants import TARGETS", "TARGETS"),
    ("pass", "TARGETS"),
    ("pass", "TARGETS + ['query']"),
    ("pass", "set(OWN) | {'query'}"),
    ("pass", "constants.TARGETS"),
]  # fmt: skip
USES = [
    "wrap(model, LoraConfig(target_modules=HELD))",
    "[p for n, p in model.named_parameters() if any(t in n for t in HELD)]",
    "[p for n, p in model.named_parameters() if any([t in n.lower() for t in HELD])]",
]


def held(tmp_path: Path, before: str, use: str, more: str = "", constants: str = "") -> list[str]:
    """The names that are reported where they are held in a variable."""
    home = constants or "TARGETS = ['query', 'nowhere']\n"
    head = "import constants\nfrom constants import TARGETS\nOWN = ('nowhere',)\n"
    text = head + SCRIPT.replace("BODY", "pass").replace("CODE", f"{before}\n    {use}") + more
    return [each.message.partition(" in ")[0] for each in found(tmp_path, text, constants=home)]


@pytest.mark.parametrize(("before", "name"), HELD)
@pytest.mark.parametrize("use", USES)
def test_what_a_variable_certainly_holds_is_looked_at(tmp_path: Path, before: str, name: str, use: str):
    assert held(tmp_path, before, use.replace("HELD", name)) == ["'nowhere'"]


NOT_HELD = [
    ("targets = ['nowhere']\n    if width:\n        targets = ['query']", "targets"),
    ("targets = ['nowhere']\n    if width:\n        targets.append('query')", "targets"),
    ("targets = ['nowhere']\n    other(targets)", "targets"),
    ("targets = ['nowhere']\n    more = targets\n    more.clear()", "targets"),
    ("targets = ['nowhere']\n    del targets[0]", "targets"),
    ("targets = ['nowhere']\n    targets[0] = 'query'", "targets"),
    ("targets = ['nowhere']\n    def change():\n        targets.clear()\n    change()", "targets"),
    ("targets = [each for each in ['nowhere']]", "targets"),
    ("for targets in [['nowhere']]:\n        pass", "targets"),
    ("pass", "given"),
    ("pass", "set(OWN) - {'nowhere'}"),
    ("pass", "OWN if width else ['query']"),
    ("targets = width or ['nowhere']", "targets"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "name"), NOT_HELD)
@pytest.mark.parametrize("use", USES)
def test_of_a_variable_that_may_hold_something_else_nothing_is_said(tmp_path: Path, before: str, name: str, use: str):
    assert held(tmp_path, before, use.replace("HELD", name)) == []


CHANGED_CONSTANTS = [
    ("", "TARGETS = ['nowhere']\nTARGETS.remove('nowhere')\n"),
    ("", "TARGETS = ['nowhere']\nTARGETS = ['query']\n"),
    ("", "TARGETS = ['nowhere']\ndef change():\n    global TARGETS\n    TARGETS = []\n"),
    ("", "TARGETS = ['nowhere']\ndef change():\n    globals()['TARGETS'] = []\n"),
    ("", "TARGETS = ['nowhere']\ndef change(targets=TARGETS):\n    targets.clear()\n"),
    ("", "TARGETS = ['nowhere']\nfrom other import *\n"),
    ("", "from other import TARGETS\nTARGETS = TARGETS + ['nowhere']\n"),
    ("", "try:\n    from other import TARGETS\nexcept ImportError:\n    TARGETS = ['nowhere']\n"),
    ("def change():\n    constants.TARGETS = ['query']\n", ""),
    ("def change():\n    constants.TARGETS[:] = ['query']\n", ""),
    ("def change():\n    setattr(constants, 'TARGETS', ['query'])\n", ""),
    ("def change():\n    TARGETS.clear()\n", ""),
    ("def change():\n    other(TARGETS)\n", ""),
]


@pytest.mark.parametrize(("more", "constants"), CHANGED_CONSTANTS)
def test_a_constant_that_something_may_change_says_nothing(tmp_path: Path, more: str, constants: str):
    assert held(tmp_path, "pass", USES[0].replace("HELD", "TARGETS"), more, constants) == []


@pytest.mark.parametrize(
    ("text", "n_found"),
    [
        ("import constants\nconstants.TARGETS.append('query')\n", 0),
        ("from constants import TARGETS as T\nT.clear()\n", 0),
        ("from constants import *\nprint(TARGETS)\n", 1),
        ("TARGETS = []\nTARGETS.append('another of that name')\n", 1),
    ],
)
def test_a_file_beside_may_change_a_constant(tmp_path: Path, text: str, n_found: int):
    (tmp_path / "beside.py").write_text(text, encoding="utf-8")
    assert len(held(tmp_path, "pass", USES[0].replace("HELD", "TARGETS"))) == n_found


@pytest.mark.parametrize("grown", ["T{} + T{}", "[*T{}, *T{}]", "{{**T{}, **T{}}}", "T{} | T{}"])
def test_constants_that_grow_without_end_end(tmp_path: Path, grown: str):
    lines = ["TARGETS = T60", *(f"T{i + 1} = {grown.format(i, i)}" for i in range(60)), "T0 = ['nowhere']"]
    assert held(tmp_path, "pass", USES[0].replace("HELD", "TARGETS"), constants="\n".join(lines)) == []
    inside = "\n    ".join(reversed(lines))
    assert held(tmp_path, inside, USES[0].replace("HELD", "TARGETS")) == []


def test_an_argument_of_the_function_around_is_no_constant(tmp_path: Path):
    more = "\ndef outer(TARGETS):\n    def inner():\n        wrap(Net(), LoraConfig(target_modules=TARGETS))\n"
    assert held(tmp_path, "pass", "pass", more) == []


def test_plans_and_declarations_of_classes_may_be_held_too(tmp_path: Path):
    more = "\nclass Bad(Net):\n    _no_split_modules = [*OWN, 'Block']\n    OWN = []\n"
    more += "\nclass Good(Net):\n    _no_split_modules = [*OWN, 'Block']\n"
    plan = "plan = {'layers.*.query': 1, 'output': 2}\n    parallelize_module(model, mesh, plan)"
    assert sorted(held(tmp_path, plan, "pass", more)) == ["'nowhere'", "'output'"]
    classes = "kinds = {Block, Odd}"
    assert held(tmp_path, classes, "FSDP(model, auto_wrap_policy=ModuleWrapPolicy(kinds))") == ["'Odd'"]


CHANGED = [
    "for layer in model.layers: layer.adapter = nn.Linear(2, 2)",
    "model.layers[0].adapter = nn.Linear(2, 2)",
    "model.layers[0] = Adapted()",
    "model.layers.append(Adapted())",
    "block = model.layers[0]\n    block.add_module('adapter', nn.Linear(2, 2))",
    "for m in model.modules():\n        if hasattr(m, 'query'): m.query = Adapted()",
    "for n, m in list(model.named_modules()):\n        if n: setattr(m, 'adapter', nn.Linear(2, 2))",
    "for n, m in model.named_children(): setattr(model, n + 'adapter', m)",
    "adapt(model)",
    "[adapt(layer) for layer in model.layers]",
    "model.apply(adapt)",
    "model.apply(lambda m: m.register_parameter('adapter', nn.Parameter(torch.ones(2))))",
    "for n, p in list(model.named_parameters()): model.register_parameter(n.replace('.', '_') + 'adapter', p)",
    "model._modules['adapter'] = nn.Linear(2, 2)",
    "vars(model)['_modules']['adapter'] = nn.Linear(2, 2)",
    "model.__dict__['_modules'].update(adapter=nn.Linear(2, 2))",
    "nn.utils.parametrizations.weight_norm(model.head)",
    "for m in model.modules():\n        if isinstance(m, nn.Linear): nn.utils.parametrizations.weight_norm(m)",
    "adapted = Adapted()\n    model.head = adapted",
]


@pytest.mark.parametrize("done", CHANGED)
def test_a_model_of_which_a_part_was_changed_says_nothing(tmp_path: Path, done: str):
    script = SCRIPT.replace("import re\n", "import re\nimport torch\n").replace("BODY", "pass") + (
        "\nclass Adapted(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.adapter = nn.Linear(2, 2)\n\ndef adapt(module):\n    for n, c in module.named_children():\n"
        "        if isinstance(c, nn.Linear): setattr(module, n, Adapted())\n        else: adapt(c)\n"
    )
    asked = "[p for n, p in model.named_parameters() if 'adapter' in n or 'parametrizations' in n]"
    assert found(tmp_path, script.replace("CODE", f"{done}\n    return {asked}")) == []
    reported = found(tmp_path, script.replace("CODE", f"names = {asked}\n    {done}"))
    assert len(reported) == 2


NOT_THE_NAME = [
    "[n for n, p in model.named_parameters() if re.search('QUERY', n, flags=re.I)]",
    "[n for n, p in model.named_parameters() if n.startswith('query', 9)]",
    "[n for n, p in model.named_parameters() if 'HEAD' in n.upper() or n.lower().startswith('Head')]",
    "[n for n, p in model.named_parameters(prefix='net') if n.startswith('net.')]",
    "for n, p in model.named_parameters():\n        n = 'module.' + n\n        if n.startswith('module.'): pass",
    "for n, p in model.named_parameters(): print([n for n in given if 'frozen' in n])",
    "for n, p in model.named_parameters(): print(filter(lambda n: 'frozen' in n, given))",
]


@pytest.mark.parametrize("code", NOT_THE_NAME)
def test_what_is_compared_is_the_name_in_the_model(tmp_path: Path, code: str):
    assert found(tmp_path, SCRIPT.replace("BODY", "pass").replace("CODE", code)) == []


def test_a_method_says_nothing_of_what_the_file_gives_the_model_later(tmp_path: Path):
    body = "return [n for n, p in self.named_parameters() if 'extra' in n or 'other' in n]"
    later = "\n\ndef build():\n    net = Net()\n    net.extra = nn.Linear(2, 2)\n    return net\n"
    reported = found(tmp_path, SCRIPT.replace("BODY", body).replace("CODE", "pass") + later)
    assert [each.message.partition(" in ")[0] for each in reported] == ["'other'"]


def test_a_with_may_leave_its_body_anywhere(tmp_path: Path):
    code = (
        "with suppress(ImportError):\n        import nowhere\n        model = Block(4)\n    model.get_submodule('head')"
    )
    assert found(tmp_path, SCRIPT.replace("BODY", "pass").replace("CODE", code)) == []


@pytest.mark.parametrize("n", [200, 1000])
def test_a_function_that_is_nested_deeply_takes_no_finding_with_it(tmp_path: Path, n: int):
    arms = "".join(f"    elif width == {i}:\n        pass\n" for i in range(n))
    code = f"if width is None:\n        pass\n{arms}    model.get_submodule('tail')"
    reported = found(
        tmp_path,
        SCRIPT.replace("BODY", "pass").replace("CODE", code)
        + "\nclass Bad(nn.Module):\n    _no_split_modules = ['Blok']\n    def __init__(self):\n        super().__init__()\n        self.a = Block(2)\n",
    )
    assert "'Blok'" in [each.message.partition(" in ")[0] for each in reported]


def test_a_class_that_derives_from_it_counts_for_a_method(tmp_path: Path):
    body = 'return [p for n, p in self.named_parameters() if "norm" in n or "query" in n]'
    text = SCRIPT.replace("BODY", body).replace("CODE", "pass")
    assert [each.line for each in found(tmp_path, text)] == [text[: text.index(body)].count("\n") + 1]
    more = (
        "\nclass More(Net):\n    def __init__(self):\n        super().__init__()\n        self.norm = nn.LayerNorm(2)\n"
    )
    assert found(tmp_path, text + more) == []


def test_a_script_without_a_class_is_looked_at(tmp_path: Path):
    text = 'from net import Net\n\nprint([p for n, p in Net().named_parameters() if "norm" in n])\n'
    net = "from torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(2, 2)\n"
    assert [each.line for each in found(tmp_path, text, "script.py", net=net)] == [3]


def test_the_rules_look_only_if_they_are_asked_for():
    assert [rule.code for rule in RULES] == ["MG401", "MG402"]
    assert not any(rule.default for rule in RULES)


def test_whatever_stands_outside_of_a_model_is_looked_for_by_one_of_the_words():
    of_configurations = [name for name, each in ATTRIBUTES.items() if each.of_configuration]
    functions = [f"{function}(" for each in ARGUMENTS.values() for function, _ in each.places]
    texts = [*ARGUMENTS, *functions, *of_configurations, *(f"net.{name}()" for name in NAMING | GETTING)]
    assert all(any(word in text for word in WORDS) for text in texts)
