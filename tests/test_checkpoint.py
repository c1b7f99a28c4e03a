"""A model's foretold state dict against checkpoints; torch's own `state_dict` and `load_state_dict` are the judges."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

import modgraph
from modgraph.checkpoint import compare, read_safetensors
from modgraph.errors import InputError
from modgraph.graph.state_dict import state_dict_of

NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4, bias=False)
        self.bn = nn.BatchNorm1d(4)
        self.embedding = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embedding.weight
        self.again = self.bn
        self.w = nn.Parameter(torch.zeros(2))
        self.register_buffer("m", torch.zeros(3), persistent=False)
        self.register_parameter("none", None)
        self.hidden = [nn.Linear(2, 2)]
        self.blocks = nn.ModuleList(nn.LSTM(2, 3) for _ in range(2))
"""


@pytest.fixture
def net(tmp_path: Path):
    (tmp_path / "net_of_state.py").write_text(NET)
    return modgraph.predict(f"{tmp_path / 'net_of_state.py'}:Net")


def safetensors(path: Path, shapes: dict[str, tuple[int, ...]]) -> Path:
    """A file of that format with empty data: only the header is ever read."""
    entries = {key: {"dtype": "F32", "shape": list(shape), "data_offsets": [0, 0]} for key, shape in shapes.items()}
    header = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    return path


@pytest.mark.needs_torch
def test_foretold_keys_and_shapes_are_those_of_torch_in_order(net):
    namespace: dict = {}
    exec(NET, namespace)
    real = [(key, tuple(value.shape)) for key, value in namespace["Net"]().state_dict().items()]
    assert [(entry.key, entry.shape) for entry in state_dict_of(net).entries] == real


def shapes_of(graph) -> dict[str, tuple[int, ...]]:
    return {entry.key: entry.shape for entry in state_dict_of(graph).entries}


def test_a_checkpoint_of_the_model_fits(net, tmp_path):
    tensors = read_safetensors(safetensors(tmp_path / "net.safetensors", shapes_of(net)))
    comparison = compare(net, tensors)
    assert comparison.fits
    assert len(comparison.matching) == len(tensors) > 10


def test_missing_unexpected_and_misshaped_keys(net, tmp_path):
    shapes = shapes_of(net)
    del shapes["a.weight"]
    shapes["w"] = (3,)
    shapes["old.weight"] = (1,)
    comparison = compare(net, read_safetensors(safetensors(tmp_path / "net.safetensors", shapes)))
    assert not comparison.fits
    assert comparison.missing == ("a.weight",)
    assert comparison.unexpected == ("old.weight",)
    assert [(m.key, m.model, m.checkpoint) for m in comparison.mismatched] == [("w", (2,), (3,))]


def test_the_prefix_of_a_wrapper_is_taken_off(net):
    comparison = compare(net, {f"module.{key}": shape for key, shape in shapes_of(net).items()})
    assert comparison.prefix == "module."
    assert comparison.fits


def test_what_the_prediction_leaves_open_is_undecided_not_unexpected(tmp_path):
    (tmp_path / "open_model.py").write_text(
        "import os\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.fc = nn.Linear(2, 2)\n"
        "        self.blocks = nn.ModuleList(nn.Linear(2, 2) for _ in range(int(os.environ['DEPTH'])))\n"
    )
    graph = modgraph.predict(f"{tmp_path / 'open_model.py'}:Net")
    comparison = compare(graph, {"fc.weight": (2, 2), "fc.bias": (2,), "blocks.0.weight": (2, 2), "other": (1,)})
    assert comparison.undecided == ("blocks.0.weight",)
    assert comparison.unexpected == ("other",)


def test_shards_are_read_through_their_index(net, tmp_path):
    shapes = shapes_of(net)
    halves = [dict(list(shapes.items())[::2]), dict(list(shapes.items())[1::2])]
    for number, half in enumerate(halves):
        safetensors(tmp_path / f"part{number}.safetensors", half)
    index = {"weight_map": {key: f"part{number}.safetensors" for number, half in enumerate(halves) for key in half}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert compare(net, read_safetensors(tmp_path / "model.safetensors.index.json")).fits


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 8, b"\xff" * 16, struct.pack("<Q", 5) + b"[1,2]", struct.pack("<Q", 4) + b"{{{{",
                struct.pack("<Q", 11) + b'{"a": "b"}\n']
)  # fmt: skip
def test_what_is_no_safetensors_file_is_an_error_of_ours(tmp_path, content):
    (tmp_path / "bad.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"bad\.safetensors"):
        read_safetensors(tmp_path / "bad.safetensors")


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        read_safetensors(tmp_path / "none.safetensors")
