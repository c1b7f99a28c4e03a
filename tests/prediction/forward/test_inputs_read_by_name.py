"""An input that `forward` reads by names is found as a mapping with these; torch runs on one of the shapes that are told."""

from __future__ import annotations

import pytest

import modgraph
from modgraph.cli import main
from modgraph.graph.model import Graph
from tests.prediction.forward.judged import PRELUDE

torch = pytest.importorskip("torch")

NET = """
from typing import Any, Dict, Mapping

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.img, self.txt, self.out = nn.Conv2d(3, 8, 3), nn.Embedding(50, 8), nn.Linear(16, 4)

    def forward(self, {parameters}):
        a = self.img(batch["image"]).mean((2, 3))
        {body}
"""
BOTH = "return self.out(torch.cat([a, self.txt(batch['ids']).mean(1)], 1))"
CASES = {
    "no annotation": ("batch", BOTH),
    "a dict": ("batch: dict", BOTH),
    "of tensors": ("batch: Dict[str, torch.Tensor]", BOTH),
    "a mapping": ("batch: Mapping[str, Any]", BOTH),
    "a text": ("batch: 'dict[str, torch.Tensor]'", BOTH),
    "beside a default": ("batch, scale=None", BOTH),
    "one name": ("batch", "return a"),
    "twice": ("batch", "return a, self.img(batch['image'])"),
    "given back": ("batch", "return {'a': a, **{'image': batch['image']}}"),
}


def sizes_of(graph: Graph) -> dict[str, torch.Tensor]:
    """A mapping of tensors of the shapes that are told."""
    (given,) = graph.model.inputs
    sizes = {"batch": 2, "h": 9, "w": 7, "length": 5}
    made = {}
    for tensor in given.tensors:
        shape = [sizes[size] if isinstance(size, str) else size for size in tensor.shape]
        made[tensor.name.split("'")[1]] = torch.zeros(shape, dtype=getattr(torch, tensor.dtype))
    return made


def both(folder, parameters: str, body: str) -> tuple[Graph, Graph]:
    text = PRELUDE + NET.format(parameters=parameters, body=body)
    (folder / "net.py").write_text(text, encoding="utf-8")
    graph = modgraph.predict(f"{folder / 'net.py'}:Net")
    space = {"__name__": "net"}
    exec(text, space)
    return graph, modgraph.trace(space["Net"](), (sizes_of(graph),))


@pytest.mark.parametrize("case", CASES)
def test_what_it_holds_is_found(tmp_path, case):
    graph, real = both(tmp_path, *CASES[case])
    assert [call.module for call in graph.calls if call.certain] == [call.module for call in real.calls]
    assert not graph.problems


@pytest.mark.parametrize(
    "body",
    [
        "return [self.img(each) for each in batch.values()]",
        "if 'ids' in batch: a = self.txt(batch['ids'])\n        return a",
        "if len(batch) > 1: a = self.img(batch['image'])\n        return a",
        "if batch.get('more') is not None: a = self.out(torch.cat([a, a], 1))\n        return a",
    ],
)
def test_what_else_it_holds_stays_open(tmp_path, body):
    graph, real = both(tmp_path, "batch", body)
    certain = [call.module for call in graph.calls if call.certain]
    assert certain == ["", "img"]
    assert certain == [call.module for call in real.calls][:2]
    assert any(not call.certain for call in graph.calls)


def test_where_it_is_not_found_the_help_says_how_it_is_given(tmp_path, monkeypatch, capsys):
    text = NET.format(parameters="batch", body="return a, batch['more']['ids'].sum()")
    (tmp_path / "net.py").write_text(PRELUDE + text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    main(["analyze", "net.py:Net", "--static", "--format", "json", "-o", "-"])
    assert "--input NAME.KEY=1x8" in capsys.readouterr().err
