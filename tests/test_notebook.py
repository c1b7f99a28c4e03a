"""A notebook that is really executed: what a cell that ends in a graph leaves in the file."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path

import pytest

import modgraph

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

MODEL = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)
"""


def executed(folder: Path, *cells: str) -> list[dict]:
    """What each cell of a notebook leaves, by type."""
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    where = {"metadata": {"path": str(folder)}}
    client = nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3", resources=where)
    outputs = [cell.outputs for cell in client.execute().cells]
    assert [[each.output_type for each in cell] for cell in outputs] == [["execute_result"]] * len(cells)
    return [cell[0].data for cell in outputs]


def shown(data: dict) -> tuple[str, str]:
    """The picture and the text of what JupyterLab shows: of several types, the HTML."""
    image = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', data["text/html"])
    text = re.search(r"<pre[^>]*>(.*)</pre>", data["text/html"], re.DOTALL)
    assert image is not None
    assert text is not None
    return base64.b64decode(image[1]).decode(), html.unescape(text[1])


@pytest.mark.long
@pytest.mark.needs_dot
@pytest.mark.needs_torch
def test_both_the_picture_and_the_summary_are_shown(tmp_path: Path) -> None:
    """Of a prediction, of a model in a file, of one from a cell, of which no fault is told, and of what changed."""
    cells = {
        "import modgraph\nmodgraph.predict('model.py')": "Net · model.py:Net · predicted",
        "import torch\nfrom model import Net\nmodgraph.analyze(Net(), torch.ones(1, 4))": "Net · predicted and traced",
        f"{MODEL}\nmodel = Net()\ngraph = modgraph.analyze(model, torch.ones(1, 4))\ngraph": "Net · traced",
        "model.fc = nn.Linear(4, 3)\nmodgraph.diff(graph, modgraph.trace(model, torch.ones(1, 4)))": "widened 2 → 3",
    }
    told = executed(tmp_path, *cells)
    for data, said in zip(told, cells.values(), strict=True):
        picture, text = shown(data)
        assert text == data["text/plain"]
        assert ">Linear<" in picture
        assert said in text
        assert "runtime only" not in picture + text
    alone = modgraph.predict(tmp_path / "model.py")._repr_mimebundle_()
    assert {kind: told[0][kind] for kind in alone} == alone
