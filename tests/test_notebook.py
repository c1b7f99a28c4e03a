"""A notebook that is really executed: what a cell that ends in a graph leaves in the file."""

from __future__ import annotations

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


@pytest.mark.needs_dot
def test_a_cell_that_ends_in_a_graph_shows_its_picture_and_its_summary(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    cell = "import modgraph\nmodgraph.predict('model.py')"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    client = nbclient.NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    (output,) = client.execute().cells[0].outputs
    assert output.output_type == "execute_result"
    assert output.data["image/svg+xml"] == modgraph.predict(tmp_path / "model.py")._repr_mimebundle_()["image/svg+xml"]
    assert "Linear" in output.data["image/svg+xml"]
    assert output.data["text/plain"].startswith("Net · model.py:Net · predicted")
