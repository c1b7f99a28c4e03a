"""Static graphs as pictures: of every sample and of some torchvision models, with what is unknown marked as such."""

from __future__ import annotations

import importlib.util
import runpy
from pathlib import Path

import pytest

from modgraph.export import render

STATIC = runpy.run_path(str(Path(__file__).parents[1] / "oracle" / "draw_static.py"))
BUILDERS = ["alexnet:alexnet", "densenet:densenet121", "inception:inception_v3", "segmentation.fcn:fcn_resnet50"]

OPEN = """
import os
import nowhere
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(3, 8)
        self.blocks = nn.Sequential(*[nn.Linear(8, 8) for _ in range(int(os.environ["DEPTH"]))])
        self.norm = nn.LayerNorm(8) if os.environ.get("NORM") else nn.Identity()
        self.head = nowhere.make(8)
"""


def read_by_graphviz(folder: Path, dots: list[str]) -> str:
    pytest.importorskip("pygraphviz")
    for number, text in enumerate(dots):
        (folder / f"{number}.dot").write_text(text, encoding="utf-8")
    return STATIC["unreadable"](folder)


def test_every_sample_draws(tmp_path):
    found = [one for sample in STATIC["SAMPLES"] for one in STATIC["drawn"](str(sample))]
    assert len(found) > 15
    assert [one.name for one in found if not one.marked] == []
    assert read_by_graphviz(tmp_path, [one.dot for one in found]) == ""


def test_models_of_a_library_draw(tmp_path):
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    found = [one for name in BUILDERS for one in STATIC["drawn"](f"torchvision.models.{name}")]
    assert all(one.graph.complete for one in found)
    assert read_by_graphviz(tmp_path, [one.dot for one in found]) == ""


def test_what_is_unknown_is_marked_in_the_picture_and_its_legend(tmp_path):
    (tmp_path / "net.py").write_text(OPEN)
    (one,) = STATIC["drawn"](f"{tmp_path / 'net.py'}:Net")
    assert one.open_places == 3
    assert one.marked
    for words in ("unknown class", "its class is not known", "further modules may stand here", "partial: ", "blocks.?"):
        assert words in one.dot, words
    assert "dashed" in one.dot
    assert read_by_graphviz(tmp_path, [one.dot]) == ""


def test_a_graph_without_open_places_marks_none(tmp_path):
    (tmp_path / "net.py").write_text("from torch import nn\n\nclass Net(nn.Sequential):\n    pass\n")
    (one,) = STATIC["drawn"](f"{tmp_path / 'net.py'}:Net")
    assert "unknown" not in str(render(one.graph, "dot"))


def test_graphviz_is_asked(tmp_path):
    assert read_by_graphviz(tmp_path, ["digraph { a [label=<<table></b>>] "]) != ""
