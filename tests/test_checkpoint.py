"""A model's foretold state dict against checkpoints; torch's own `state_dict` and `load_state_dict` are the judges."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

import modgraph
from modgraph.checkpoint import compare
from modgraph.errors import InputError
from modgraph.graph.serial import from_json, schema
from modgraph.graph.state_dict import state_dict_of
from modgraph.source.checkpoints import Checkpoint, read_safetensors, shards_of

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


def compared(graph, tensors=None, **tables):
    return compare(graph, Checkpoint(file="net.pt", tables=tables if tensors is None else {"": tensors}))


def test_a_checkpoint_of_the_model_fits(net, tmp_path):
    tensors = read_safetensors([safetensors(tmp_path / "net.safetensors", shapes_of(net))])
    comparison = compared(net, tensors)
    assert comparison.fits
    assert comparison.matching == len(tensors) > 10


def test_missing_unexpected_and_misshaped_keys(net):
    shapes = shapes_of(net)
    del shapes["a.weight"]
    shapes["w"] = (3,)
    shapes["old.weight"] = (1,)
    comparison = compared(net, shapes)
    assert not comparison.fits
    assert comparison.missing == ("a.weight",)
    assert comparison.unexpected == ("old.weight",)
    assert [(m.key, m.model, m.checkpoint) for m in comparison.mismatched] == [("w", (2,), (3,))]
    assert comparison.matching == len(shapes) - 2


@pytest.mark.needs_torch
def test_differences_are_those_that_load_state_dict_finds(net):
    import torch

    namespace: dict = {}
    exec(NET, namespace)
    shapes = {key: shape for key, shape in shapes_of(net).items() if not key.startswith("blocks.1.")}
    shapes |= {"extra.weight": (1,), "a.bias": (4,)}
    found = namespace["Net"]().load_state_dict({k: torch.zeros(shape) for k, shape in shapes.items()}, strict=False)
    comparison = compared(net, shapes)
    assert (list(comparison.missing), list(comparison.unexpected)) == (found.missing_keys, found.unexpected_keys)


@pytest.mark.parametrize("prefix", ["module.", "module._orig_mod.", "a.b.c."])
def test_the_prefix_of_a_wrapper_is_taken_off(net, prefix):
    comparison = compared(net, {f"{prefix}{key}": shape for key, shape in shapes_of(net).items()})
    assert comparison.prefix == prefix
    assert comparison.fits


def test_keys_without_the_prefix_stay_as_they_are(net):
    shapes = {f"model.{key}": shape for key, shape in shapes_of(net).items()} | {"loss.weight": (5,)}
    comparison = compared(net, shapes)
    assert (comparison.prefix, comparison.unexpected) == ("model.", ("loss.weight",))


def test_a_prefix_that_is_the_models_own_stays(tmp_path):
    (tmp_path / "own.py").write_text(
        "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.module = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))\n"
    )
    graph = modgraph.predict(f"{tmp_path / 'own.py'}:Net")
    comparison = compared(graph, shapes_of(graph))
    assert (comparison.prefix, comparison.fits) == ("", True)


def test_the_state_dict_is_the_entry_with_most_keys_of_the_model(net):
    shapes = shapes_of(net)
    moments = {str(number): (9,) for number in range(500)}
    comparison = compared(net, **{"": {"step": ()}, "optimizer.state": moments, "model": shapes, "ema": dict(shapes)})
    assert comparison.entry == "model"
    assert comparison.fits


def test_a_tensor_that_is_held_under_one_of_its_names_is_not_missing(net):
    shapes = {key: shape for key, shape in shapes_of(net).items() if key != "head.weight" and "again." not in key}
    comparison = compared(net, shapes)
    assert comparison.fits
    assert "head.weight" in comparison.tied
    assert {key.partition(".")[0] for key in comparison.tied} == {"head", "again"}
    del shapes["embedding.weight"]
    assert compared(net, shapes).missing == ("embedding.weight", "head.weight")


OPEN = """
import os
import torch
from torch import nn

class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(2)) if os.environ.get("SCALE") else None
        self.register_buffer("m", torch.zeros(2), persistent=bool(os.environ.get("KEEP")))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.part = Part()
        self.blocks = nn.ModuleList(nn.Linear(2, 2) for _ in range(int(os.environ['DEPTH'])))
"""


@pytest.mark.parametrize(("key", "held"), [("blocks.0.weight", False), ("part.scale", True), ("part.m", True)])
def test_what_the_prediction_leaves_open_cannot_be_told(tmp_path, key, held):
    (tmp_path / "open_model.py").write_text(OPEN)
    graph = modgraph.predict(f"{tmp_path / 'open_model.py'}:Net")
    least = {"fc.weight": (2, 2), "fc.bias": (2,)}
    with_it = compared(graph, {**least, key: (2,), "other.weight": (1,)})
    assert (with_it.missing, with_it.mismatched) == ((), ())
    assert with_it.unexpected == ("other.weight",)
    without = compared(graph, least)
    assert without.fits
    assert (key in without.undecided) == held
    assert (key in with_it.undecided) == (not held)
    assert compared(graph, {"fc.weight": (2, 2)}).missing == ("fc.bias",)


def test_shards_are_read_through_their_index(net, tmp_path):
    shapes = shapes_of(net)
    halves = [dict(list(shapes.items())[::2]), dict(list(shapes.items())[1::2])]
    for number, half in enumerate(halves):
        safetensors(tmp_path / f"part{number}.safetensors", half)
    names = {key: f"part{number}.safetensors" for number, half in enumerate(halves) for key in half}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": names}))
    assert compared(net, read_safetensors(shards_of(index))).fits
    (tmp_path / "part1.safetensors").unlink()
    with pytest.raises(InputError, match=r"part1\.safetensors: there is no such file"):
        shards_of(index)


HEADER = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x00" * 8, "impossible length"),
        (b"\xff" * 16, "impossible length"),
        (b"abc", "impossible length"),
        (struct.pack("<Q", 5000) + b"{}", "cut off"),
        (struct.pack("<Q", len(HEADER)) + HEADER + b"1234", "cut off"),
        (struct.pack("<Q", 5) + b"[1,2]", "no JSON object"),
        (struct.pack("<Q", 4) + b"{{{{", "no JSON"),
        (struct.pack("<Q", 50_000) + b"[" * 50_000, "no JSON"),
        (struct.pack("<Q", 11) + b'{"a": "b"}\n', "no shape"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
    ],
)
def test_what_is_no_safetensors_file_is_an_error_of_ours(tmp_path, content, words):
    (tmp_path / "bad.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_safetensors([tmp_path / "bad.safetensors"])


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [("none.pt", None, "no such file"), ("empty.pt", b"", "is empty"), ("x.index.json", b"{}", "no weight_map"),
     ("y.index.json", b"oops", "no JSON"), (".", None, "is a directory")],
)  # fmt: skip
def test_what_is_no_checkpoint_at_all(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        shards_of(tmp_path / name)


def test_the_comparison_is_kept_in_the_json(net, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    shapes = {**shapes_of(net), "w": (3,), "old": ()}
    del shapes["a.weight"]
    source = f"{tmp_path / 'net_of_state.py'}:Net"
    graph = modgraph.analyze(source, static=True, against=safetensors(tmp_path / "n.safetensors", shapes))
    assert graph.checkpoint.file == "n.safetensors"
    assert not graph.checkpoint.fits
    text = graph.to_json()
    jsonschema.validate(json.loads(text), schema())
    assert from_json(text).checkpoint == graph.checkpoint
    assert json.loads(text)["checkpoint"]["mismatched"] == [{"key": "w", "model": [2], "checkpoint": [3]}]
