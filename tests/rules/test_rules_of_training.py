"""MG207 to MG213: what is reported is what torch does, and neighbours that are right are not reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from modgraph.finding import Finding
from modgraph.rules.check import check_text
from modgraph.rules.names import Project
from modgraph.rules.registry import rules, selected


def found(text: str, folder: Path, code: str) -> list[Finding]:
    return check_text(text, "net.py", str(folder / "net.py"), selected([code]), Project())


def run(text: str) -> dict[str, object]:
    namespace: dict[str, object] = {"__name__": "net"}
    exec(compile(text, "net.py", "exec"), namespace)
    return namespace


@pytest.mark.parametrize("code", [f"MG{number}" for number in range(207, 214)])
def test_a_new_rule_looks_only_where_it_is_asked_to(code: str) -> None:
    assert code not in {rule.code for rule in selected(None)}
    assert next(rule for rule in rules() if rule.code == code).why


# ---- MG208 -----------------------------------------------------------------------------------------------------------

SIGNATURES = ["self", "self, x, y", "self, *, loader", "self, x, y=3", "self, mode", "self, mode=True", "self, *args"]


@pytest.mark.needs_torch
@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_train_that_is_reported_breaks_eval(signature: str, tmp_path: Path) -> None:
    text = f"from torch import nn\n\nclass Net(nn.Module):\n    def train({signature}):\n        return self\n"
    net = run(text)["Net"]()  # type: ignore[operator]
    if found(text, tmp_path, "MG208"):
        with pytest.raises(TypeError):
            net.eval()
    else:
        net.eval()


# ---- MG209 -----------------------------------------------------------------------------------------------------------

KEPT = [
    ("kept = model.state_dict()", "model.load_state_dict(kept)", True),
    ("kept = {'model': model.state_dict()}", "model.load_state_dict(kept['model'])", True),
    ("kept = copy.deepcopy(model.state_dict())", "model.load_state_dict(kept)", False),
    ("kept = {k: v.clone() for k, v in model.state_dict().items()}", "model.load_state_dict(kept)", False),
    ("kept = model.state_dict(); break", "model.load_state_dict(kept)", False),
]


@pytest.mark.needs_torch
@pytest.mark.parametrize(("keeping", "loading", "is_found"), KEPT)
def test_a_state_dict_that_is_reported_follows_the_model(
    keeping: str, loading: str, is_found: bool, tmp_path: Path
) -> None:
    text = f"""\
import copy
import torch
from torch import nn

def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    first = None
    for step in range(3):
        model.train()
        model(torch.ones(1, 2)).sum().backward()
        if first is None:
            first = model.weight.detach().clone()
            {keeping}
        optimizer.step()
    {loading}
    return first

model = nn.Linear(2, 2)
first = train(model)
"""
    assert bool(found(text, tmp_path, "MG209")) is is_found
    if "break" not in keeping:
        values = run(text)
        assert bool((values["first"] == values["model"].weight).all()) is not is_found  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "body",
    [
        "state = model.state_dict(); state.update(given); model.load_state_dict(state)",
        "state = model.state_dict(); state['a'] = given; model.load_state_dict(state)",
        "state = model.state_dict(); averaged(state, given); model.load_state_dict(state)",
        "state = model.state_dict(); other.load_state_dict(state)",
        "state = optimizer.state_dict(); optimizer.step(); optimizer.load_state_dict(state)",
        "state = model.state_dict(); torch.save(state, 'a.pt'); optimizer.step()",
        "state = model.state_dict(); optimizer.step(); model = make(); model.load_state_dict(state)",
    ],
)
def test_a_state_dict_that_is_changed_or_used_at_once_is_no_finding(body: str, tmp_path: Path) -> None:
    text = f"import torch\n\ndef run(model, other, optimizer, given, make):\n    model.eval()\n    {body}\n"
    assert found(text, tmp_path, "MG209") == []


# ---- MG210, MG212 ----------------------------------------------------------------------------------------------------

VALUES = [
    *("self.weight * 2", "torch.zeros(3)", "F.normalize(self.weight, dim=0)", "self.weight.clone()", "-self.weight"),
    *("nn.Parameter(torch.ones(3))", "None", "nn.Parameter(torch.ones(3)) * 2", "self.weight", "self.weight.data"),
    *("torch.stack([self.weight, self.weight])", "self.weight.float()", "self.weight.requires_grad_()"),
]


@pytest.mark.needs_torch
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    ("code", "statement"),
    [("MG210", "self.weight = {}"), ("MG212", "self.register_parameter('other', {})")],
)
def test_a_tensor_in_place_of_a_parameter_is_refused_by_torch(
    code: str, statement: str, value: str, tmp_path: Path
) -> None:
    text = f"""\
import torch
import torch.nn.functional as F
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def change(self):
        {statement.format(value)}
"""
    net = run(text)["Net"]()  # type: ignore[operator]
    if found(text, tmp_path, code):
        with pytest.raises(TypeError):
            net.change()
    else:
        try:
            net.change()
        except TypeError:
            assert value == "self.weight.data"  # an attribute: nothing says that it is a tensor


# ---- MG211 -----------------------------------------------------------------------------------------------------------

GIVEN = [
    ("F.softmax(scores, dim=1)", True),
    ("torch.softmax(scores, 1)", True),
    ("scores.softmax(1)", True),
    ("nn.Softmax(dim=1)(scores)", True),
    ("softmax(scores)", True),
    ("F.log_softmax(scores, dim=1)", False),
    ("scores", False),
    ("torch.sigmoid(scores)", False),
]


@pytest.mark.needs_torch
@pytest.mark.parametrize(("given", "is_found"), GIVEN)
@pytest.mark.parametrize("loss", ["F.cross_entropy", "nn.CrossEntropyLoss()", "criterion"])
def test_a_softmax_before_cross_entropy_makes_another_loss(
    given: str, is_found: bool, loss: str, tmp_path: Path
) -> None:
    import torch

    text = f"""\
import torch
import torch.nn.functional as F
from torch import nn

criterion = nn.CrossEntropyLoss()
softmax = nn.Softmax(dim=1)

def value(scores, labels):
    given = {given}
    return {loss}(given, labels)
"""
    assert bool(found(text, tmp_path, "MG211")) is is_found
    scores, labels = torch.tensor([[9.0, 0.0, 0.0]]), torch.tensor([0])
    value = float(run(text)["value"](scores, labels))  # type: ignore[operator]
    assert not is_found or value > 0.5  # though the model is right, and certain


# ---- MG213 -----------------------------------------------------------------------------------------------------------

GENERATORS = [
    ("model.parameters()", True),
    ("filter(lambda p: p.requires_grad, model.parameters())", True),
    ("(p for p in model.parameters())", True),
    ("itertools.chain(model.parameters())", True),
    ("list(model.parameters())", False),
    ("[p for p in model.parameters()]", False),
    ("tuple(model.parameters())", False),
]
FIRST = [
    ("sum(p.numel() for p in given)", True),
    ("list(given)", True),
    ("print(given)", False),
]


@pytest.mark.needs_torch
@pytest.mark.parametrize(("made", "is_lazy"), GENERATORS)
@pytest.mark.parametrize(("first", "uses_up"), FIRST)
def test_a_generator_that_is_reported_is_empty_the_second_time(
    made: str, is_lazy: bool, first: str, uses_up: bool, tmp_path: Path
) -> None:
    text = f"""\
import itertools
import torch
from torch import nn

model = nn.Linear(2, 2)
model.train()
given = {made}
{first}
if True:
    optimizer = torch.optim.SGD(given, lr=0.1)
"""
    is_empty = is_lazy and uses_up
    assert bool(found(text, tmp_path, "MG213")) is is_empty
    if is_empty:
        with pytest.raises(ValueError, match="empty parameter list"):
            run(text)
    else:
        run(text)


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("optim.Adam(given)\n    for _ in range(3): clip_grad_norm_(given, 1.0)", True),
        ("for _ in range(3): clip_grad_norm_(given, 1.0)", True),
        ("if model.training: optim.Adam(given)\n    else: optim.SGD(given, lr=0.1)", False),
        ("if model.training: list(given)\n    optim.SGD(given, lr=0.1)", False),
        ("list(given); given = model.parameters(); optim.SGD(given, lr=0.1)", False),
    ],
)
def test_the_first_use_of_a_generator_certainly_comes_before(body: str, is_found: bool, tmp_path: Path) -> None:
    text = f"""\
from torch import nn, optim
from torch.nn.utils import clip_grad_norm_

def train(model):
    model.train()
    given = model.parameters()
    {body}
"""
    assert bool(found(text, tmp_path, "MG213")) is is_found
