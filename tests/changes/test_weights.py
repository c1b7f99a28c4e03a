"""What a checkpoint of the old model becomes: torch loads it, or refuses it, as was said; and every value arrives."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.changes import compare
from modgraph.changes.joined_names import joined
from modgraph.export.diff import key_map

HEAD = """\
import torch
from torch import nn


class Turned(nn.Module):
    def __init__(self, n_out, n_in):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_in, n_out))
        self.bias = nn.Parameter(torch.randn(n_out))


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.q_proj = nn.Linear(size, size)
        self.k_proj = nn.Linear(size, size)
        self.v_proj = nn.Linear(size, size)
        self.out_proj = nn.Linear(size, size)


class Raw(nn.Module):
    def __init__(self, size, kept=True):
        super().__init__()
        self.w = nn.Parameter(torch.randn(size))
        self.register_buffer("seen", torch.randn(3), persistent=kept)


class Renamed(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(size))


"""
Arrives = Callable[[Any, str, str], dict[str, Any]]
"""Of the old state dict, and the prefixes of both sides: what the new one must hold for it."""


@dataclass(frozen=True)
class Piece:
    """One part of a model, `N` its number, before and behind a change, and how a person would carry it over."""

    old: str
    new: str
    arrives: Arrives = lambda state, old, new: {}


def _same(*pairs: tuple[str, str]) -> Arrives:
    def arrives(state: Any, old: str, new: str) -> dict[str, Any]:
        return {
            f"{new}{to}.{tail}": state[f"{old}{came}.{tail}"]
            for came, to in pairs
            for tail in ("weight", "bias")
            if f"{old}{came}.{tail}" in state
        }

    return arrives


def _joined(parts: list[str], whole: str, *, cut: bool = False) -> Arrives:
    def arrives(state: Any, old: str, new: str) -> dict[str, Any]:
        import torch

        found = {}
        for tail in ("weight", "bias"):
            if cut:
                pieces = state[f"{old}{whole}.{tail}"].chunk(len(parts))
                found.update({f"{new}{part}.{tail}": piece for part, piece in zip(parts, pieces, strict=True)})
            else:
                found[f"{new}{whole}.{tail}"] = torch.cat([state[f"{old}{part}.{tail}"] for part in parts])
        return found

    return arrives


def _attention(state: Any, old: str, new: str) -> dict[str, Any]:
    import torch

    found = {f"{new}out_proj.{tail}": state[f"{old}out_proj.{tail}"] for tail in ("weight", "bias")}
    for tail in ("weight", "bias"):
        found[f"{new}in_proj_{tail}"] = torch.cat([state[f"{old}{part}_proj.{tail}"] for part in "qkv"])
    return found


_QKV = "self.qN = nn.Linear(6, 6)\nself.kN = nn.Linear(6, 6)\nself.vN = nn.Linear(6, 6)\nself.oN = nn.Linear(6, 6)"
PIECES = {
    "the same": Piece("self.aN = nn.Linear(3, 4)", "self.aN = nn.Linear(3, 4)", _same(("aN", "aN"))),
    "a rename": Piece("self.aN = nn.Linear(3, 5)", "self.bN = nn.Linear(3, 5)", _same(("aN", "bN"))),
    "a merge": Piece(
        _QKV,
        "self.qkvN = nn.Linear(6, 18)\nself.projN = nn.Linear(6, 6)",
        lambda state, old, new: {
            **_joined(["qN", "kN", "vN"], "qkvN")(state, old, new),
            **_same(("oN", "projN"))(state, old, new),
        },
    ),
    "a split": Piece(
        "self.in_qkvN = nn.Linear(7, 21)",
        "self.qN = nn.Linear(7, 7)\nself.kN = nn.Linear(7, 7)\nself.vN = nn.Linear(7, 7)",
        _joined(["qN", "kN", "vN"], "in_qkvN", cut=True),
    ),
    "two into one": Piece(
        "self.gate_projN = nn.Linear(5, 9)\nself.up_projN = nn.Linear(5, 9)",
        "self.gate_up_projN = nn.Linear(5, 18)",
        _joined(["gate_projN", "up_projN"], "gate_up_projN"),
    ),
    "a transpose": Piece(
        "self.cN = Turned(11, 12)",
        "self.cN = nn.Linear(12, 11)",
        lambda state, old, new: {
            f"{new}cN.weight": state[f"{old}cN.weight"].t(),
            f"{new}cN.bias": state[f"{old}cN.bias"],
        },
    ),
    "a removal": Piece("self.aN = nn.Linear(2, 13)", "pass"),
    "an addition": Piece("pass", "self.aN = nn.Linear(2, 14)"),
    "a widening": Piece("self.aN = nn.Linear(4, 15)", "self.aN = nn.Linear(4, 16)"),
    "tied": Piece(
        "self.eN = nn.Embedding(17, 4)\nself.hN = nn.Linear(4, 17, bias=False)\nself.hN.weight = self.eN.weight",
        "self.tokensN = nn.Embedding(17, 4)\nself.hN = nn.Linear(4, 17, bias=False)\nself.hN.weight = self.tokensN.weight",
        _same(("eN", "tokensN"), ("hN", "hN")),
    ),
    "newly tied": Piece(
        "self.eN = nn.Embedding(18, 4)",
        "self.eN = nn.Embedding(18, 4)\nself.hN = nn.Linear(4, 18, bias=False)\nself.hN.weight = self.eN.weight",
        _same(("eN", "eN"), ("eN", "hN")),
    ),
    "a buffer that is kept": Piece("self.rN = Raw(19, False)", "self.rN = Raw(19, True)"),
    "a buffer that is not": Piece("self.rN = Raw(20, True)", "self.rN = Raw(20, False)"),
    "another container": Piece(
        "self.sN = nn.ModuleList([nn.Linear(3, 21), nn.Linear(21, 3)])",
        "self.sN = nn.Sequential(nn.Linear(3, 21), nn.Linear(21, 3))",
        _same(("sN.0", "sN.0"), ("sN.1", "sN.1")),
    ),
    "an insertion": Piece(
        "self.sN = nn.Sequential(nn.Linear(3, 22), nn.Linear(22, 3))",
        "self.sN = nn.Sequential(nn.Linear(3, 22), nn.GELU(), nn.Linear(22, 3))",
        _same(("sN.0", "sN.0"), ("sN.1", "sN.2")),
    ),
    "a move": Piece(
        "self.headN = nn.Linear(4, 23)",
        "self.innerN = nn.ModuleDict({'headN': nn.Linear(4, 23)})",
        _same(("headN", "innerN.headN")),
    ),
    "attention of torch": Piece(
        "self.attN = Attention(24)",
        "self.attN = nn.MultiheadAttention(24, 2)",
        lambda state, old, new: _attention(state, f"{old}attN.", f"{new}attN."),
    ),
    "a parameter": Piece(
        "self.rN = nn.ModuleList([Raw(25, False)])\ndel self.rN[0].seen",
        "self.rN = nn.ModuleList([Renamed(25)])",
        lambda state, old, new: {},
    ),
}


def text_of(bodies: list[str], *, wrapped: bool) -> str:
    body = "\n".join(bodies).splitlines()
    lines = "".join(f"        {line}\n" for line in body)
    name = "Inner" if wrapped else "Net"
    text = f"{HEAD}class {name}(nn.Module):\n    def __init__(self):\n        super().__init__()\n{lines}\n\n"
    if wrapped:
        text += (
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.model = Inner()\n"
        )
    return text


def built(text: str) -> Any:
    names: dict[str, Any] = {"__name__": "built"}
    exec(text, names)
    return names["Net"]()


def refused(model: Any, state: Any) -> str:
    try:
        model.load_state_dict(state, strict=True)
    except RuntimeError as error:
        return str(error)
    return ""


def graph(folder: Path, text: str) -> Any:
    folder.mkdir()
    (folder / "net.py").write_text(text, "utf-8")
    return modgraph.predict(f"{folder / 'net.py'}:Net", forward=False)


def carried_over(changes: Any, state: Any, file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state dict by the names of the map; and once the lines of Python in its comments were run too."""
    import torch

    file.write_text(key_map.render(changes), "utf-8")
    names: dict[str, Any] = {"torch": torch}
    exec(key_map.LOADER, names)
    renamed = names["with_new_names"](state, file)
    names["state"] = dict(renamed)
    for line in re.findall(
        r"^#   ((?:state|del state).*)$", file.read_text("utf-8").partition("return renamed")[2], re.M
    ):
        exec(line, names)
    return renamed, names["state"]


@pytest.mark.needs_torch
@pytest.mark.parametrize("number", range(40))
def test_torch_loads_it_as_it_was_said(tmp_path: Path, number: int):
    import torch

    torch.default_generator.manual_seed(0)
    choice = random.Random(number)
    listed = list(PIECES)
    chosen = [listed[number % len(listed)], *choice.sample(listed, choice.choice((0, 0, 1, 2, 3)))]
    wrapped = number % 5 == 4
    pieces = [(PIECES[name], str(place)) for place, name in enumerate(chosen)]
    texts = [
        text_of([piece.old.replace("N", n) for piece, n in pieces], wrapped=False),
        text_of([piece.new.replace("N", n) for piece, n in pieces], wrapped=wrapped),
    ]
    old, new = map(built, texts)
    changes = compare(*(graph(tmp_path / side, text) for side, text in zip(("old", "new"), texts, strict=True)))
    found = changes.checkpoint
    state = old.state_dict()
    assert found.fits is (refused(new, state) == ""), changes.to_text()
    renamed, carried = carried_over(changes, state, tmp_path / "map.txt")
    assert found.fits_renamed is (refused(built(texts[1]), renamed) == ""), changes.to_text()
    why = refused(new, carried)
    assert found.fits_carried is (why == ""), (why, changes.to_text())
    prefix = "model." if wrapped else ""
    for piece, n in pieces:
        for key, value in _numbered(piece.arrives, n)(state, "", prefix).items():
            if key in carried:
                assert torch.equal(carried[key], value), (key, changes.to_text())
            else:
                assert key in (*found.fresh, *found.reshaped)
    assert compare(*(changes.graphs or ())[::-1]).checkpoint == found.reversed()


def _numbered(arrives: Arrives, n: str) -> Arrives:
    """The same of a state dict in which the number of a piece stands for its `N`."""

    def told(state: Any, old: str, new: str) -> dict[str, Any]:
        asked = {re.sub(rf"(?<=[a-z]){n}(?=\.|$)", "N", key): value for key, value in state.items()}
        return {re.sub(r"N(?=\.|$)", n, key): value for key, value in arrives(asked, old, new).items()}

    return told


@pytest.mark.parametrize(
    ("parts", "whole", "order"),
    [
        (["q_proj", "k_proj", "v_proj"], "qkv_proj", (0, 1, 2)),
        (["query", "key", "value"], "qkv", (0, 1, 2)),
        (["key", "query", "value"], "in_qkv", (1, 0, 2)),
        (["gate_proj", "up_proj"], "gate_up_proj", (0, 1)),
        (["w1", "w3"], "w13", (0, 1)),
        (["w3", "w1"], "w13", None),
        (["a", "b"], "both", None),
        (["fc", "fc"], "fcfc", None),
        (["key", "kernel"], "kk", None),
    ],
)
def test_names_say_in_which_order_things_are_joined(parts: list[str], whole: str, order: tuple[int, ...] | None):
    assert joined(parts, whole) == order


SEVERAL = {
    "three merges": (
        "self.a = nn.Linear(4, 4)\nself.b = nn.Linear(4, 4)\nself.c = nn.Linear(4, 4)",
        "self.both = nn.Linear(4, 8)",
    ),
    "two of three": (
        "self.a = nn.Linear(4, 4)\nself.b = nn.Linear(4, 4)\nself.c = nn.Linear(4, 4)",
        "self.x = nn.Linear(4, 4)\nself.y = nn.Linear(4, 4)",
    ),
    "two transposes": (
        "self.a = Turned(3, 4)\nself.b = Turned(3, 4)\nself.c = Turned(3, 4)",
        "self.x = nn.Linear(4, 3)\nself.y = nn.Linear(4, 3)",
    ),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_of_several_explanations_none_is_told(tmp_path: Path, name: str):
    graphs = [graph(tmp_path / str(n), text_of([body], wrapped=False)) for n, body in enumerate(SEVERAL[name])]
    changes = compare(*graphs)
    assert not changes.checkpoint.carried
    assert not changes.state.renamed
    assert changes.checkpoint.fits is False


def test_calls_say_that_the_order_of_registration_is_another(tmp_path: Path):
    def net(first: str, second: str, calls: str) -> str:
        text = text_of([f"self.{first} = nn.Linear(4, 4)\nself.{second} = nn.Linear(4, 4)"], wrapped=False)
        return f"{text.rstrip()}\n\n    def forward(self, x):\n        return {calls}\n"

    sides = []
    texts = (net("a", "b", "self.b(self.a(x))"), net("x", "y", "self.y(self.x(x))"), net("x", "y", "self.x(self.y(x))"))
    for n, text in enumerate(texts):
        (tmp_path / str(n)).mkdir()
        (tmp_path / str(n) / "net.py").write_text(text, "utf-8")
        sides.append(modgraph.predict(f"{tmp_path / str(n) / 'net.py'}:Net"))
    assert compare(sides[0], sides[1]).checkpoint.renames["a.weight"] == "x.weight"
    assert not compare(sides[0], sides[2]).checkpoint.carried


def test_names_that_a_line_cannot_hold_are_python(tmp_path: Path):
    """A name with a line break or a colon makes no further line of the map."""
    bodies = [
        f"self.d = nn.ModuleDict({{{name!r}: nn.Linear(2, {size})}})" for name, size in (("a\nb: c", 3), ("x: y", 3))
    ]
    changes = compare(*(graph(tmp_path / str(n), text_of([body], wrapped=False)) for n, body in enumerate(bodies)))
    texts = [text_of([body], wrapped=False) for body in bodies]
    state = built(texts[0]).state_dict()
    renamed, carried = carried_over(changes, state, tmp_path / "map.txt")
    assert renamed.keys() == state.keys()
    assert refused(built(texts[1]), carried) == ""
    lines = (tmp_path / "map.txt").read_text("utf-8").splitlines()
    assert all(line.startswith("#") or not line for line in lines)


OWN_LAYER = """\
class Scaled(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.eps = 1e-6
        self.{name} = nn.Parameter(torch.{made}(size))
        {more}

    def forward(self, x):
        return {does}


"""


def of_own_layer(name: str, does: str = "x * self.{name}", made: str = "ones", more: str = "pass") -> str:
    layer = OWN_LAYER.format(name=name, made=made, does=does.format(name=name), more=more)
    body = "super().__init__()\nself.rows = nn.ModuleList([Scaled(4) for _ in range(3)])"
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    call = "    def forward(self, x: 'torch.Tensor'):\n        for row in self.rows:\n            x = row(x)\n        return x\n"
    return f"import torch\nfrom torch import nn\n\n\n{layer}class Net(nn.Module):\n    def __init__(self):\n{lines}\n{call}"


def written(folder: Path, texts: tuple[str, str]) -> list[str]:
    """The targets of two files with these texts."""
    for name, text in zip("ab", texts, strict=True):
        (folder / f"{name}.py").write_text(text, "utf-8")
    return [f"{folder / name}.py:Net" for name in "ab"]


@pytest.mark.needs_torch
@pytest.mark.parametrize(("before", "now"), [("weight", "scale"), ("gamma", "out_proj"), ("w", "weight")])
def test_a_tensor_of_another_name_in_the_same_layer_is_renamed(tmp_path: Path, before: str, now: str):
    texts = of_own_layer(before), of_own_layer(now)
    changes = modgraph.diff(*written(tmp_path, texts))
    old, new = map(built, texts)
    assert changes.checkpoint.renames == dict(zip(old.state_dict(), new.state_dict(), strict=True))
    assert changes.checkpoint.fits_renamed is True
    renamed, _ = carried_over(changes, old.state_dict(), tmp_path / "map.txt")
    assert refused(new, renamed) == ""


OTHER_TENSORS = {
    "a bias and a scale": (of_own_layer("bias", "x + self.{name}", "zeros"), of_own_layer("scale")),
    "of which other things are done": (of_own_layer("first"), of_own_layer("second", "x - self.{name}")),
    "one of two that came": (
        of_own_layer("weight"),
        of_own_layer("scale", "x * self.{name} * self.b", more="self.b = nn.Parameter(torch.ones(size))"),
    ),
}


@pytest.mark.parametrize("name", OTHER_TENSORS)
def test_a_tensor_that_may_be_another_one_is_not_renamed(tmp_path: Path, name: str):
    targets = written(tmp_path, OTHER_TENSORS[name])
    for pair in (targets, targets[::-1]):
        changes = modgraph.diff(*pair)
        assert not changes.checkpoint.carried
        assert changes.checkpoint.fits is False


CHANCE = {
    "a wider layer, and one that went": (
        "self.b = nn.Linear(3, 4)\nself.c = nn.Linear(3, 5)",
        "self.b = nn.Linear(3, 9)",
    ),
    "a wider layer, and one of its new size that went": (
        "self.b = nn.Linear(3, 4)\nself.c = nn.Linear(3, 5)",
        "self.b = nn.Linear(3, 5)",
    ),
    "a wider layer, and one of its new size that went, transposed": (
        "self.b = nn.Linear(3, 4)\nself.c = Turned(3, 7)",
        "self.b = nn.Linear(3, 7)",
    ),
    "biases that are as long": (
        "self.a = nn.Linear(2, 3)\nself.b = nn.Linear(4, 5)",
        "self.z = nn.Linear(9, 8)",
    ),
    "one bias that is as long": ("self.a = nn.Linear(2, 8)", "self.z = nn.Bilinear(9, 9, 8)"),
    "layers of other kinds": (
        "self.a = nn.Linear(2, 3)\nself.e = nn.Embedding(5, 2)",
        "self.z = nn.Linear(2, 8)",
    ),
}


@pytest.mark.parametrize("name", CHANCE)
def test_what_is_as_large_by_chance_is_no_explanation(tmp_path: Path, name: str):
    graphs = [graph(tmp_path / str(n), text_of([body], wrapped=False)) for n, body in enumerate(CHANCE[name])]
    assert not compare(*graphs).checkpoint.carried
    assert not compare(*graphs[::-1]).checkpoint.carried
