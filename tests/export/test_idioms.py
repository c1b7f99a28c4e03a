"""Proven idioms in what is drawn and told, and nothing of them where they are not asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

import modgraph
from modgraph.export import PictureOptions
from modgraph.export.look.idioms import idioms_line, named_modules
from modgraph.export.look.parts import Card, Frame, Item, Picture, Row
from modgraph.export.page.html import render
from modgraph.export.picture.choosing import picture_of
from modgraph.export.picture.dot import write_dot
from modgraph.export.picture.mermaid import write_mermaid
from modgraph.export.text.summary import summary
from modgraph.graph.model import Graph
from tests.graph.idioms import having


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend, self.mlp, self.norm = having.Fused(), having.SwiGLU(), nn.LayerNorm(32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.norm(x))
        return x + self.mlp(x)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(Layer(), Layer())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return modgraph.trace(Net().eval(), torch.rand(2, 6, 32))


def _all(items: tuple[Item, ...]) -> list[Frame | Row]:
    found: list[Frame | Row] = []
    for item in items:
        if isinstance(item, Frame):
            found += [item, *_all(item.items)]
        elif isinstance(item, Card):
            found += item.rows
    return found


def _titles(picture: Picture) -> list[str]:
    return [each.idiom if isinstance(each, Frame) else each.detail for each in _all(picture.items)]


ATTENTION = "multi-head attention · 4 heads of 8"


def test_a_frame_says_it_below_its_class(graph: Graph) -> None:
    titles = _titles(picture_of(graph))
    assert ATTENTION in titles
    assert "gated MLP · SiLU" in titles


def test_a_closed_card_says_it_in_place_of_what_is_inside(graph: Graph) -> None:
    rows = [each for each in _all(picture_of(graph, PictureOptions(depth=2)).items) if isinstance(each, Row)]
    closed = {row.title: row for row in rows if row.collapsed}
    assert closed["▸ Fused"].detail == ATTENTION
    assert f"{ATTENTION} · causal" in closed["▸ Fused"].tooltip
    assert closed["▸ SwiGLU"].detail == "gated MLP · SiLU"


def test_all_writers_say_it(graph: Graph) -> None:
    picture = picture_of(graph)
    assert f">{ATTENTION}<" in write_dot(picture)
    assert f"<br/>{ATTENTION}" in write_mermaid(picture)
    assert ATTENTION in render(graph)
    line = f"idioms      2 × {ATTENTION}, causal; 2 × gated MLP, SiLU".replace("attention · 4", "attention, 4")
    assert line in summary(graph)


def test_without_them_all_is_as_of_a_graph_that_proves_none(graph: Graph) -> None:
    plain = replace(graph, operations=tuple(replace(each, arguments={}) for each in graph.operations))
    plain = replace(plain, edges=tuple(replace(each, output=None, made_by=None) for each in plain.edges))
    options = PictureOptions(idioms=False)
    assert write_dot(picture_of(graph, options)) == write_dot(picture_of(plain, options))
    assert "gated" not in write_dot(picture_of(graph, options))
    assert ATTENTION not in render(graph, options)
    assert "idioms" not in summary(graph, idioms=False)


def test_the_model_as_a_whole_says_it_beside_its_name() -> None:
    picture = picture_of(modgraph.trace(having.UNet().eval(), torch.rand(1, 3, 32, 32)))
    assert "U-Net · 4 levels" in picture.subtitle


def test_blocks_that_are_drawn_as_one_say_it_only_where_all_are_it(graph: Graph) -> None:
    named = named_modules(graph)
    assert sorted(named) == ["layers.0.attend", "layers.0.mlp", "layers.1.attend", "layers.1.mlp"]


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = having.Cross()

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.inner(self.inner(x, y), y)


def test_a_module_says_it_where_each_of_its_calls_is_it() -> None:
    graph = modgraph.trace(Twice().eval(), (torch.rand(2, 6, 32), torch.rand(2, 9, 24)))
    assert named_modules(graph)["inner"].title == "multi-head cross-attention · 4 heads of 8"
    once = replace(graph, edges=tuple(each for each in graph.edges if each.producer != "call:4"))
    assert "inner" not in named_modules(once)


def test_a_layer_of_torch_says_it_itself() -> None:
    graph = modgraph.trace(having.OfTorch().eval(), torch.rand(2, 6, 32))
    assert idioms_line(graph) == "multi-head attention, 4 heads of 8"
    assert named_modules(graph) == {}
