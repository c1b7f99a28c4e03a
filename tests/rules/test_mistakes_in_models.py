"""Mistakes as they stand in real models, behind arguments, branches and calls of torch's own: found, and torch says so; what
is like them and right is not."""

from __future__ import annotations

import textwrap
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from modgraph.rules.check import check_text
from modgraph.rules.computed_names import _KEEPING_NONE
from modgraph.rules.names import Project
from modgraph.rules.registry import selected

HEAD = "from functools import partial\n\nimport torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"


def net(signature: str, body: str, more: str = "") -> str:
    init = f"def __init__(self{signature}):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return HEAD + textwrap.indent(f"{init}\n\n{textwrap.dedent(more)}", "    ")


def codes_in(text: str, folder: Path, *codes: str) -> list[str]:
    return [each.code for each in check_text(text, "net.py", str(folder / "net.py"), selected(codes), Project())]


def built(text: str, **given: Any) -> Any:
    space: dict[str, Any] = {"__name__": __name__}
    exec(compile(text, "net.py", "exec"), space)
    return space["Net"](**given)


HIDDEN = {
    "the class is an argument": (
        ", norm=partial(nn.LayerNorm, eps=1e-6)",
        "super().__init__()\nself.norms = [norm(8), norm(8)]",
        {},
    ),
    "a chain of a number that is given": (
        ", depth",
        "super().__init__()\nself.blocks = [nn.Sequential(*[nn.Linear(8, 8) for _ in range(depth)])]",
        {"depth": 2},
    ),
    "what is given by default does not fit": (
        ", heads=8, kernels=(5, 5), norm=None",
        "super().__init__()\nself.norm = norm(8)\nlayers = []\nfor n in range(heads):\n"
        "    layers.append(nn.Conv2d(8, 8, kernels[n]))\nself.layers = list(layers)",
        {"heads": 2, "norm": "LayerNorm"},
    ),
    "numbers go into what is registered by a computed name": (
        ", repeats",
        "super().__init__()\nwidth = 8\n"
        "for name, n in zip(['a', 'b'], repeats):\n    seq = [nn.Conv2d(width, width, n)]\n"
        "    setattr(self, name, nn.Sequential(*seq))\n    width = n\nself.last = [nn.Conv2d(8, width, 3)]",
        {"repeats": (1, 3)},
    ),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", HIDDEN)
def test_a_list_of_layers_is_found_behind_arguments(name: str, tmp_path: Path) -> None:
    from torch import nn

    signature, body, given = HIDDEN[name]
    given = {key: getattr(nn, value) if isinstance(value, str) else value for key, value in given.items()}
    text = net(signature, body)
    wrong = built(text, **given)
    right = built(
        text.replace("self.norms = [", "self.norms = nn.ModuleList([").replace("norm(8)]", "norm(8)])"), **given
    )
    hidden = [each for each in vars(wrong).values() if isinstance(each, list)]
    assert hidden
    assert len(right.state_dict()) >= len(wrong.state_dict())
    assert codes_in(text, tmp_path, "MG101") == ["MG101"]


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", sorted(_KEEPING_NONE))
def test_layers_that_are_said_to_take_no_modules_take_none(name: str) -> None:
    import inspect

    from torch import nn

    kind = getattr(nn, name, None)
    if kind is None or not hasattr(kind.__init__, "__code__"):
        return
    taken = inspect.signature(kind.__init__).parameters.values()
    assert not [each for each in taken if "Module" in str(each.annotation) or "Callable" in str(each.annotation)]


CAST = {
    "None in the other arm": (
        "if on:\n    self.gamma = nn.Parameter(torch.ones(8)).half()\nelse:\n    self.gamma = None",
        True,
    ),
    "None before": ("self.gamma = None\nif on:\n    self.gamma = nn.Parameter(torch.ones(8)) * 0.1", True),
    "a Parameter in the other arm": (
        "if on:\n    self.gamma = nn.Parameter(torch.ones(8)).clone()\nelse:\n    self.gamma = nn.Parameter(torch.ones(4))",
        True,
    ),
    "a Parameter of it afterwards": (
        "self.gamma = nn.Parameter(torch.ones(8)).half()\nself.gamma = nn.Parameter(self.gamma)",
        False,
    ),
    "a Parameter of it in a loop": (
        "for n in range(2):\n    if n == 0:\n        self.gamma = nn.Parameter(torch.ones(8)).half()\n"
        "    else:\n        self.gamma = nn.Parameter(self.gamma)",
        False,
    ),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", CAST)
def test_a_parameter_that_is_cast_in_one_arm_is_lost_there(name: str, tmp_path: Path) -> None:
    body, is_lost = CAST[name]
    text = net(", on=True", f"super().__init__()\n{body}")
    assert bool(dict(built(text).named_parameters())) is not is_lost
    assert codes_in(text, tmp_path, "MG103") == (["MG103"] if is_lost else [])


def test_another_method_that_sets_it_anew_does_not_matter(tmp_path: Path) -> None:
    made = "super().__init__()\nself.token = nn.Parameter(torch.ones(8)).half()"
    assert codes_in(net("", made, "def prune(self):\n    self.token = None\n"), tmp_path, "MG103") == ["MG103"]
    again = net("", f"{made}\nself.reset()", "def reset(self):\n    self.token = nn.Parameter(torch.ones(8))\n")
    assert codes_in(again, tmp_path, "MG103") == []


LATE = {
    "in both arms": ("if on:\n    self.fc = nn.Linear(8, 8)\nelse:\n    self.fc = nn.Linear(8, 4)", True),
    "in all arms that do not raise": (
        "if on:\n    self.fc = nn.Linear(8, 8)\nelif on is None:\n    raise ValueError\nelse:\n    self.fc = nn.Linear(8, 4)",
        True,
    ),
    "behind a call of torch's": ("self.fc = nn.Linear(8, 8)\nfor each in self.modules():\n    print(each)", True),
    "behind a method of its own": ("self.fc = nn.Linear(8, 8)\nself.reset()", True),
    "in one arm": ("if not on:\n    self.fc = nn.Linear(8, 8)", False),
    "behind a method that initialises": ("self.start()\nself.fc = nn.Linear(8, 8)\nself.reset()", False),
}


@pytest.mark.needs_torch
@pytest.mark.parametrize("name", LATE)
def test_what_comes_before_the_constructor_of_torch_is_found(name: str, tmp_path: Path) -> None:
    body, fails = LATE[name]
    more = "def reset(self):\n    print(self.fc)\n\ndef start(self):\n    nn.Module.__init__(self)\n"
    text = net(", on=True", f"{body}\nsuper().__init__()", more)
    raised = False
    try:
        built(text)
    except AttributeError:
        raised = True
    assert raised is fails
    assert codes_in(text, tmp_path, "MG108") == (["MG108"] if fails else [])


CALLED = (
    "super().__init__()\nif on:\n    self.down = nn.ModuleList([nn.Linear(8, 8)])\nelse:\n    self.down = nn.Identity()"
)


@pytest.mark.needs_torch
@pytest.mark.parametrize(
    ("run", "fails"),
    [
        ("return self.down(x)", True),
        ("if self.on:\n    return self.down[0](x)\nreturn self.down(x)", False),
        ("if not self.on:\n    return self.down(x)\nreturn self.down[0](x)", False),
    ],
)
def test_a_list_that_is_called_may_be_one_in_one_arm(run: str, fails: bool, tmp_path: Path) -> None:
    import torch

    text = net(", on=True", f"{CALLED}\nself.on = on", f"def forward(self, x):\n{textwrap.indent(run, '    ')}\n")
    with pytest.raises(NotImplementedError) if fails else nullcontext():
        built(text, on=True)(torch.ones(2, 8))
    built(text, on=False)
    assert codes_in(text, tmp_path, "MG109") == (["MG109"] if fails else [])


@pytest.mark.needs_torch
@pytest.mark.parametrize(
    ("body", "is_wrong"),
    [
        ("self.blocks.append(nn.Linear(8, 8))", True),
        ('self.blocks.add_module("a", nn.Linear(8, 8))', True),
        ("pass", False),
    ],
)
def test_an_empty_container_of_the_class_that_is_filled_is_shared(body: str, is_wrong: bool, tmp_path: Path) -> None:
    text = net("", f"super().__init__()\n{body}").replace(
        "nn.Module):\n", "nn.Module):\n    blocks = nn.Sequential()\n\n", 1
    )
    assert not built(text).state_dict()
    assert codes_in(text, tmp_path, "MG124") == (["MG124"] if is_wrong else [])


@pytest.mark.needs_torch
@pytest.mark.parametrize(
    ("signature", "body", "is_shared"),
    [
        (", depth: int = 3, block=nn.Linear", "nn.Sequential(*[block(8, 8)] * depth)", True),
        (", depth: int = 3", "nn.Sequential(*[nn.Conv2d(8, 8, 3, **{'padding': 1})] * depth)", True),
        (", depth: int = 3", "nn.Sequential(*[nn.LayerNorm(8, **{'elementwise_affine': False})] * depth)", False),
        (", depth: int = 3, block=nn.ReLU", "nn.Sequential(*[block()] * depth)", False),
    ],
)
def test_one_layer_many_times_is_found_behind_arguments(
    signature: str, body: str, is_shared: bool, tmp_path: Path
) -> None:
    text = net(signature, f"super().__init__()\nself.blocks = {body}")
    model = built(text)
    assert (len(model.state_dict()) > len(list(model.parameters()))) is is_shared
    assert codes_in(text, tmp_path, "MG105") == (["MG105"] if is_shared else [])


UNUSED = "super().__init__()\nself.conv = nn.Linear(8, 8)\nself.act = nn.PReLU()"
FORWARD = "def forward(self, x):\n    return self.conv(x)\n"
OTHERS = {
    "another class has one of its own": (
        "class B(nn.Module):\n    {init}\n        self.act = nn.PReLU()\n    {use}",
        True,
    ),
    "another class goes over its own": (
        "class B(nn.Module):\n    {init}\n    def forward(self, x):\n        return list(self.modules())",
        True,
    ),
    "a key of a state dict has the name": ('KEYS = {{"old.act.weight": "new"}}', True),
    "a class that has it from elsewhere reads it": ("class B(nn.Module):\n    {init}\n    {use}", False),
    "a class that derives from it reads it": (
        "class B(Net):\n    {init}\n        self.act = nn.ReLU()\n    {use}",
        False,
    ),
    "a function reads it": ("def run(net, x):\n    return net.act(x)", False),
    "the name is a text": ('NAMES = ["act"]', False),
    "a function goes over all": ("def run(net):\n    return list(net.modules())", False),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_layer_of_that_name_in_another_class_is_another(name: str, tmp_path: Path) -> None:
    other, is_found = OTHERS[name]
    use = "def forward(self, x):\n        return self.act(x)"
    other = other.format(init="def __init__(self):\n        super().__init__()", use=use)
    text = f"{net('', UNUSED, FORWARD)}\n{other}\n"
    assert codes_in(text, tmp_path, "MG204") == (["MG204"] if is_found else [])


def test_where_a_tensor_lies_when_it_is_made_does_not_matter(tmp_path: Path) -> None:
    made = "super().__init__()\nself.index = torch.arange(8)\nprint(self.index.device)"
    run = "def forward(self, x):\n    return x[:, self.index{}]\n"
    assert codes_in(net("", made, run.format("")), tmp_path, "MG203") == ["MG203"]
    assert codes_in(net("", made, run.format(".to(x.device)")), tmp_path, "MG203") == []


def test_a_parameter_of_either_arm_is_overwritten(tmp_path: Path) -> None:
    arms = "super().__init__()\nif on:\n    self.pos = nn.Parameter(torch.ones(8))\nelse:\n    self.pos = {}"
    run = "def forward(self, x):\n    self.pos = torch.zeros(8)\n    return x + self.pos\n"
    either = net(", on=True", arms.format("nn.Parameter(torch.ones(4))"), run)
    assert codes_in(either, tmp_path, "MG210") == ["MG210"]
    assert codes_in(net(", on=True", arms.format("None"), run), tmp_path, "MG210") == []
