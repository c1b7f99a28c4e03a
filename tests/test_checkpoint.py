"""A model's predicted state dict against checkpoints; torch's own `state_dict` and `load_state_dict` are the judges."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import runpy
import struct
from pathlib import Path

import pytest

import modgraph
from modgraph.checkpoint import compare
from modgraph.errors import InputError
from modgraph.export.text.checkpoint import checkpoint_text
from modgraph.export.text.table import Pen
from modgraph.graph.serial import from_json, schema
from modgraph.graph.state_dict import state_dict_of
from modgraph.source.checkpoints import NOT_A_TENSOR, Checkpoint, read_safetensors, shards_of

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
    """A file of that format, its tensors one after another, all zero."""
    entries, end = {}, 0
    for key, shape in shapes.items():
        start, end = end, end + 4 * math.prod(shape)
        entries[key] = {"dtype": "F32", "shape": list(shape), "data_offsets": [start, end]}
    header = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(end))
    return path


@pytest.mark.needs_torch
def test_predicted_keys_and_shapes_are_those_of_torch_in_order(net):
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


@pytest.mark.parametrize("shape", [(4,), (9,)])
def test_a_name_in_common_by_chance_gives_no_prefix(net, shape):
    comparison = compared(net, {"ups.2.attn.bn.weight": shape, "ups.2.attn.q": (1,), "stem.conv": (2,)})
    assert (comparison.prefix, comparison.matching) == ("", 0)
    assert comparison.unexpected == ("ups.2.attn.bn.weight", "ups.2.attn.q", "stem.conv")


def test_keys_are_listed_as_the_file_names_them(net):
    shapes = {f"module.{key}": shape for key, shape in shapes_of(net).items()} | {"module.old.a": (1,), "loss.w": (5,)}
    comparison = compared(net, shapes)
    assert (comparison.prefix, comparison.missing) == ("module.", ())
    assert comparison.unexpected == ("module.old.a", "loss.w")


def test_state_dicts_called_as_children_are_joined(net):
    parts: dict[str, dict[str, tuple[int, ...]]] = {"a": {}, "bn": {}, "rest": {}}
    for key, shape in shapes_of(net).items():
        child, _, name = key.partition(".")
        parts[child if child in parts else "rest"][name] = shape
    comparison = compared(net, a=parts["a"], bn=parts["bn"] | {"old": (1,)}, optimizer={"step": ()})
    assert comparison.entry == "a + bn"
    assert comparison.matching == len(parts["a"]) + len(parts["bn"])
    assert comparison.unexpected == ("bn.old",)
    whole = compared(net, a=parts["a"], bn=parts["bn"], model=shapes_of(net))
    assert (whole.entry, whole.fits) == ("model", True)


def test_a_tensor_without_a_shape_yet_fits_any(net):
    comparison = compared(net, dict.fromkeys(shapes_of(net)))
    assert (comparison.fits, comparison.mismatched) == (True, ())


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


@pytest.mark.parametrize(("key", "held"), [("blocks.0.weight", False), ("part.scale", False), ("part.m", True)])
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
        (struct.pack("<Q", 50_000) + b"[" * 50_000, "nested too deeply"),
        (struct.pack("<Q", 11) + b'{"a": "b"}\n', "no type, shape and place"),
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


def test_a_key_with_the_prefix_and_without_is_one_too_many(net):
    shapes = {f"module.{key}": shape for key, shape in shapes_of(net).items()}
    for mixed in ({"a.weight": (99, 99), **shapes}, {**shapes, "a.weight": (99, 99)}):
        comparison = compared(net, mixed)
        assert (comparison.prefix, comparison.unexpected) == ("module.", ("a.weight",))
        assert (comparison.missing, comparison.mismatched) == ((), ())


def test_a_prefix_is_said_for_whoever_loads_it(net):
    comparison = compared(net, {f"module.{key}": shape for key, shape in shapes_of(net).items()})
    said = checkpoint_text(dataclasses.replace(net, checkpoint=comparison), 120, Pen(color=False, unicode=True))
    assert "load_state_dict needs its keys without 'module.'" in "\n".join(said)


def test_another_value_under_a_key_of_the_model_is_not_a_tensor(net):
    comparison = compared(net, {**shapes_of(net), "a.weight": NOT_A_TENSOR})
    assert (comparison.not_tensors, comparison.missing) == (("a.weight",), ())
    assert not comparison.fits


@pytest.mark.needs_torch
def test_torch_refuses_what_is_not_a_tensor_and_unexpected_values(net, tmp_path):
    import torch

    namespace: dict = {}
    exec(NET, namespace)
    model = namespace["Net"]()
    state = {**model.state_dict(), "a.weight": 3, "epoch": 4}
    with pytest.raises(RuntimeError, match=r'(?s)Unexpected key.*"epoch".*"a\.weight", expected torch\.Tensor'):
        model.load_state_dict(state)
    torch.save(state, tmp_path / "net.pt")
    source = f"{tmp_path / 'net_of_state.py'}:Net"
    comparison = modgraph.analyze(source, static=True, against=tmp_path / "net.pt").checkpoint
    assert (comparison.not_tensors, comparison.unexpected) == (("a.weight",), ("epoch",))


@pytest.mark.parametrize(
    ("entries", "data", "words"),
    [
        ({"a": ("F32", [2], [8, 0])}, 8, "size of its shape"),
        ({"a": ("F32", [2], [0, 4])}, 4, "size of its shape"),
        ({"a": ("F32", [2], [0, 0])}, 0, "size of its shape"),
        ({"a": ("F16", [2], [0, 8])}, 8, "size of its shape"),
        ({"a": ("new", [2], [4, 0])}, 8, "size of its shape"),
        ({"a": ("F32", [1], [0, 4]), "b": ("F32", [1], [0, 4])}, 4, "does not begin where"),
        ({"a": ("F32", [1], [0, 4]), "b": ("F32", [1], [8, 12])}, 12, "does not begin where"),
        ({"a": ("F32", [1], [4, 8])}, 8, "does not begin where"),
        ({"a": ("F32", [1], [0, 4])}, 9, "5 bytes after its tensors"),
        ({"a": ("F32", [1], [0, 4])}, 3, "cut off"),
        ({"a": (7, [1], [0, 4])}, 4, "no type, shape and place"),
    ],
)
def test_the_places_of_safetensors_have_the_sizes_of_their_shapes(tmp_path, entries, data, words):
    header = json.dumps({k: {"dtype": d, "shape": s, "data_offsets": o} for k, (d, s, o) in entries.items()}).encode()
    file = tmp_path / "bad.safetensors"
    file.write_bytes(struct.pack("<Q", len(header)) + header + bytes(data))
    with pytest.raises(InputError, match=words):
        read_safetensors([file])


def test_a_key_that_stands_twice_in_a_header_is_refused(tmp_path):
    entry = '"a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}'
    header = f"{{{entry}, {entry}}}".encode()
    (tmp_path / "bad.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(InputError, match="'a' twice"):
        read_safetensors([tmp_path / "bad.safetensors"])


def test_types_of_every_size_and_of_later_releases_are_read(tmp_path):
    kinds = {"F4": 1, "F6_E2M3": 3, "F8_E4M3": 4, "BF16": 8, "I32": 16, "C64": 32, "of_a_later_release": 5}
    entries, end = {}, 0
    for kind, length in kinds.items():
        shape = [2] if kind == "F4" else [4]
        entries[kind] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + length]}
        end += length
    header = json.dumps(entries).encode()
    (tmp_path / "kinds.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(end))
    assert list(read_safetensors([tmp_path / "kinds.safetensors"])) == list(kinds)


def test_an_index_promises_only_what_its_shards_hold(net, tmp_path):
    shapes = shapes_of(net)
    safetensors(tmp_path / "one.safetensors", shapes)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": dict.fromkeys([*shapes, "zzz"], "one.safetensors")}))
    source = f"{tmp_path / 'net_of_state.py'}:Net"
    with pytest.raises(InputError, match="promises what its shards do not hold: 'zzz'"):
        modgraph.analyze(source, static=True, against=index)
    index.write_text(json.dumps({"weight_map": dict.fromkeys(list(shapes)[1:], "one.safetensors")}))
    assert modgraph.analyze(source, static=True, against=index).checkpoint.fits


@pytest.mark.parametrize(
    "name", ["../one.safetensors", "a/../../one.safetensors", "..\\one.safetensors", "C:\\one.bin"]
)
def test_a_shard_stays_in_the_folder_of_its_index(tmp_path, name):
    folder = tmp_path / "folder"
    folder.mkdir()
    safetensors(tmp_path / "one.safetensors", {"a": (1,)})
    for named in (name, str(tmp_path / "one.safetensors")):
        (folder / "x.index.json").write_text(json.dumps({"weight_map": {"a": named}}))
        with pytest.raises(InputError, match="outside its own folder"):
            shards_of(folder / "x.index.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_what_never_ends_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.pt")
    for path in (tmp_path / "pipe.pt", Path(os.devnull)):
        with pytest.raises(InputError, match="no regular file"):
            shards_of(path)
    os.mkfifo(tmp_path / "pipe.safetensors")
    (tmp_path / "x.index.json").write_text(json.dumps({"weight_map": {"a": "pipe.safetensors"}}))
    with pytest.raises(InputError, match="no regular file"):
        shards_of(tmp_path / "x.index.json")


OWN = """
import torch
from torch import nn

class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.zeros(2))
        self.inner = nn.Linear(2, 2)
        {init}

    {method}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.own = Own()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)
"""
OWN_WAYS = {
    "saves": ("pass", "def _save_to_state_dict(self, d, prefix, keep): d[prefix + 'zz'] = self.p.detach()[None]"),
    "extra": ("pass", "def get_extra_state(self): return torch.ones(3)\n    def set_extra_state(self, x): pass"),
    "whole": (
        "pass",
        "def state_dict(self, *a, destination=None, prefix='', keep_vars=False):"
        " destination[prefix + 'p'] = torch.ones(7)",
    ),
    "hook": (
        "self._register_state_dict_hook(lambda m, d, prefix, _: d.__setitem__(prefix + 'new', d.pop(prefix + 'p')))",
        "x = 1",
    ),
    "post hook": ("self.register_state_dict_post_hook(drop)", "x = 1"),
}
DROP = "\ndef drop(module, state, prefix, _):\n    del state[prefix + 'inner.bias']\n"


@pytest.mark.needs_torch
@pytest.mark.parametrize("way", OWN_WAYS)
@pytest.mark.parametrize("static", [True, False, None])
def test_who_saves_for_itself_leaves_its_keys_open(tmp_path, way, static):
    import torch

    init, method = OWN_WAYS[way]
    text = DROP + OWN.format(init=init, method=method)
    namespace: dict = {}
    exec(text, namespace)
    model = namespace["Net"]()
    state = {key: tuple(value.shape) for key, value in model.state_dict().items()}
    name = f"own_{way.replace(' ', '_')}"
    (tmp_path / f"{name}.py").write_text(text)
    source = f"{tmp_path / name}.py:Net"
    if static:
        graph = modgraph.predict(source)
    elif static is None:
        graph = modgraph.analyze(model, static=False, args=(torch.ones(2, 2),))
    else:
        graph = modgraph.analyze(source, inputs=["2x2"])
    assert [node.path for node in graph.modules if node.own_state_dict or node.extra_state] == ["own"]
    assert from_json(graph.to_json()) == graph
    assert compared(graph, state).fits
    without = compared(graph, {key: shape for key, shape in state.items() if key != "fc.bias"})
    assert without.missing == ("fc.bias",)
    assert compared(graph, {**state, "more": (1,)}).unexpected == ("more",)


@pytest.mark.needs_torch
def test_what_torch_itself_overrides_changes_no_key(tmp_path):
    import torch
    from torch import nn

    text = (
        "from torch import nn\nfrom torch.nn.utils import spectral_norm\nclass Net(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        self.a = spectral_norm(nn.Linear(2, 2))\n        self.b = nn.LazyLinear(2)\n"
    )
    (tmp_path / "of_torch.py").write_text(text)
    live = nn.Sequential(nn.utils.spectral_norm(nn.Linear(2, 2)), nn.LazyLinear(2))
    graphs = [
        modgraph.predict(f"{tmp_path / 'of_torch.py'}:Net"),
        modgraph.analyze(live, static=False, args=(torch.ones(2, 2),)),
    ]
    assert [node.path for graph in graphs for node in graph.modules if node.own_state_dict] == []


def test_a_gguf_file_is_compared_by_its_header(tmp_path: Path):
    """Sizes stand there from the innermost on."""
    gguf = runpy.run_path(str(Path(__file__).parent / "stored" / "written.py"))["gguf"]
    (tmp_path / "net.py").write_text("from torch import nn\n\n\ndef build():\n    return nn.Linear(3, 4)\n", "utf-8")
    for name, size, fits in (("net.gguf", 3, True), ("other.gguf", 5, False)):
        gguf(tmp_path / name, [("weight", [size, 4], 0, 0), ("bias", [4], 0, 1024)])
        found = modgraph.predict(f"{tmp_path / 'net.py'}:build", against=tmp_path / name).checkpoint
        assert found is not None
        assert (found.fits, found.unexpected, found.missing) == (fits, (), ())
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    with pytest.raises(InputError, match="cannot read the checkpoint"):
        modgraph.predict(f"{tmp_path / 'net.py'}:build", against=tmp_path / "broken.gguf")
