"""What torch itself saves, read as a graph: names, shapes and types are torch's own."""

from __future__ import annotations

import importlib.util
import json
import pickle
import struct
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import modgraph
from modgraph.cli import main
from modgraph.errors import GraphError
from modgraph.graph.model import Graph
from modgraph.graph.state_dict import state_dict_of


def _beside(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


written = _beside("written")
torch = pytest.importorskip("torch")
nn = torch.nn

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(8)
        self.lin = nn.Linear(8, 8)
        self.act = nn.ReLU()
        self.register_buffer("passing", torch.zeros(3), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(self.lin(self.norm(x)))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(4, 8)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(8, 4, bias=False)
        self.scale = nn.Parameter(torch.ones(1, dtype=torch.float64), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x) * self.scale


@pytest.fixture(scope="module")
def net() -> Any:
    return Net().eval()


def held(graph: Graph) -> dict[str, tuple[list[int], str]]:
    """By full name, shape and type of every tensor."""
    return {
        (f"{node.path}." if node.path else "") + tensor.name: (list(tensor.shape), tensor.dtype)
        for node in graph.modules
        for tensor in (*node.parameters, *node.buffers)
    }


def of_torch(tensors: Any) -> dict[str, tuple[list[int], str]]:
    return {name: (list(tensor.shape), str(tensor.dtype).removeprefix("torch.")) for name, tensor in tensors}


@pytest.mark.parametrize("new", [True, False], ids=["zip", "before 1.6"])
@pytest.mark.parametrize("around", [False, True], ids=["state dict", "checkpoint"])
def test_a_state_dict(tmp_path: Path, net: Any, new: bool, around: bool):
    state = net.state_dict()
    saved = {"epoch": 3, "model": state, "name": "x"} if around else state
    torch.save(saved, tmp_path / "net.pt", _use_new_zipfile_serialization=new)
    graph = modgraph.load(tmp_path / "net.pt")
    assert held(graph) == of_torch(state.items())
    assert [node.path for node in graph.modules] == [name for name, _ in net.named_modules()]
    assert graph.complete
    assert graph.stored is not None
    assert graph.stored.bytes == sum(tensor.nbytes for tensor in state.values())
    assert graph.stored.elements == sum(tensor.numel() for tensor in state.values())
    assert (graph.stored.entry, graph.stored.other) == (("model", ("epoch", "name")) if around else ("", ()))
    assert [entry.key for entry in state_dict_of(graph).entries if entry.certain] == [
        key for node, _ in net.named_modules() for key in state if key.rpartition(".")[0] == node
    ]


def test_tensors_that_are_one_are_counted_once(tmp_path: Path):
    weight = torch.zeros(5, 3)
    torch.save({"a.weight": weight, "b.weight": weight, "c.weight": weight[1:]}, tmp_path / "net.pt")
    graph = modgraph.load(tmp_path / "net.pt")
    aliases = [tensor.alias_of for node in graph.modules for tensor in node.parameters]
    assert aliases == [None, "a.weight", None]
    assert graph.stored is not None
    assert graph.stored.elements == 15 + 12


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float8_e4m3fn", "int8", "uint16", "bool", "complex64", "float64", "int32"]
)
def test_types_of_elements(tmp_path: Path, dtype: str):
    torch.save({"x": torch.zeros(2, 3, dtype=getattr(torch, dtype))}, tmp_path / "net.pt")
    assert held(modgraph.load(tmp_path / "net.pt")) == {"x": ([2, 3], dtype)}


def test_unusual_tensors(tmp_path: Path):
    sparse = torch.eye(3).to_sparse()
    values = {"sparse": sparse, "meta": torch.empty(2, 2, device="meta"), "p": nn.Parameter(torch.ones(2))}
    torch.save(values, tmp_path / "net.pt")
    assert held(modgraph.load(tmp_path / "net.pt")) == of_torch(values.items())


def test_a_whole_pickled_module_has_classes_and_nothing_of_it_is_imported(tmp_path: Path, net: Any):
    torch.save(net, tmp_path / "net.pt")
    graph = modgraph.load(tmp_path / "net.pt")
    assert {node.path: node.class_name for node in graph.modules} == {
        name: f"{type(module).__module__}.{type(module).__qualname__}" for name, module in net.named_modules()
    }
    assert held(graph) == of_torch([*net.named_parameters(), *net.named_buffers()])
    assert graph.model.parameters == sum(each.numel() for each in net.parameters())
    assert graph.model.trainable_parameters == sum(each.numel() for each in net.parameters() if each.requires_grad)
    assert {buffer.name: buffer.persistent for node in graph.modules for buffer in node.buffers}["passing"] is False


@pytest.mark.parametrize("how", ["script", "trace"])
def test_a_torchscript_program(tmp_path: Path, net: Any, how: str):
    made = torch.jit.script(net) if how == "script" else torch.jit.trace(net, torch.ones(2, 4))
    torch.jit.save(made, str(tmp_path / "net.pt"))
    graph = modgraph.load(tmp_path / "net.pt")
    assert held(graph) == of_torch([*net.named_parameters(), *net.named_buffers()])
    kinds = {node.path: (node.class_name or "").rpartition(".")[2] for node in graph.modules}
    assert kinds == {name: type(module).__name__ for name, module in net.named_modules()}
    assert kinds["stem"] == "Linear"
    parameters = {name for name, _ in net.named_parameters()}
    assert {
        (f"{node.path}." if node.path else "") + each.name for node in graph.modules for each in node.parameters
    } == parameters


def test_an_exported_program(tmp_path: Path, net: Any):
    batch = torch.export.Dim("batch", min=2)
    program = torch.export.export(net, (torch.ones(2, 4),), dynamic_shapes=({0: batch},))
    torch.export.save(program, tmp_path / "net.pt2")
    graph = modgraph.load(tmp_path / "net.pt2")
    assert held(graph) == of_torch([*net.named_parameters(), *net.named_buffers()])
    named = {node.path: node.class_name for node in graph.modules if node.class_name is not None}
    kinds = {name: f"{type(module).__module__}.{type(module).__qualname__}" for name, module in net.named_modules()}
    assert named == {path: kinds[path] for path in kinds if path != "blocks"}  # a list makes no operation
    assert graph.model.trainable_parameters == sum(each.numel() for each in net.parameters() if each.requires_grad)
    (given,) = graph.model.inputs
    assert given.tensors[0].shape is not None
    assert isinstance(given.tensors[0].shape[0], str)
    assert given.tensors[0].shape[1] == 4


def test_safetensors_by_hand(tmp_path: Path):
    tensors = {"a.w": ("BF16", [2, 3], 12), "a.b": ("F32", [], 4), "x.F8": ("F8_E4M3", [4], 4)}
    graph = modgraph.load(written.safetensors(tmp_path / "net.bin", tensors, {"format": "pt"}))
    assert held(graph) == {"a.w": ([2, 3], "bfloat16"), "a.b": ([], "float32"), "x.F8": ([4], "float8_e4m3fn")}
    assert graph.stored is not None
    assert (graph.stored.bytes, dict(graph.stored.metadata)) == (20, {"format": "pt"})


def test_safetensors_of_its_own_library(tmp_path: Path, net: Any):
    library = pytest.importorskip("safetensors.torch")
    library.save_file(net.state_dict(), tmp_path / "net.safetensors")
    assert held(modgraph.load(tmp_path / "net.safetensors")) == of_torch(net.state_dict().items())


def test_shards_together(tmp_path: Path, net: Any):
    state = net.state_dict()
    names = list(state)
    parts = {"one.bin": names[:5], "two.bin": names[5:]}
    for file, keys in parts.items():
        torch.save(OrderedDict((key, state[key].clone()) for key in keys), tmp_path / file)
    index = {"weight_map": {key: file for file, keys in parts.items() for key in keys}}
    (tmp_path / "net.bin.index.json").write_text(json.dumps(index))
    graph = modgraph.load(tmp_path / "net.bin.index.json")
    assert held(graph) == of_torch(state.items())
    assert graph.model.name == "net"


@pytest.mark.parametrize("order", ["<", ">"], ids=["little endian", "big endian"])
def test_gguf_by_hand(tmp_path: Path, order: str):
    metadata = [
        written.entry("general.architecture", 8, written.text("llama", order), order),
        written.entry("llama.block_count", 4, struct.pack(f"{order}I", 2), order),
        written.entry(
            "words", 9, struct.pack(f"{order}IQ", 8, 2) + written.text("a", order) + written.text("b", order), order
        ),
        written.entry("scores", 9, struct.pack(f"{order}IQ", 6, 3) + bytes(12), order),
    ]
    tensors = [
        ("blk.0.attn.weight", [64, 4], 2, 0),
        ("blk.0.norm.weight", [64], 0, 160),
        ("token.weight", [256, 2], 12, 416),
    ]
    graph = modgraph.load(written.gguf(tmp_path / "net.gguf", tensors, metadata, order=order))
    assert held(graph) == {
        "blk.0.attn.weight": ([4, 64], "Q4_0"),
        "blk.0.norm.weight": ([64], "float32"),
        "token.weight": ([2, 256], "Q4_K"),
    }
    assert graph.stored is not None
    assert graph.stored.bytes == 4 * 2 * 18 + 64 * 4 + 2 * 144
    assert dict(graph.stored.metadata) == {"general.architecture": "llama", "llama.block_count": 2}


def test_what_a_file_is_its_content_tells(tmp_path: Path, net: Any):
    torch.save(net.state_dict(), tmp_path / "weights.data")
    written.gguf(tmp_path / "other.pt", [("a.weight", [2], 0, 0)])
    assert modgraph.load(tmp_path / "weights.data").stored.format == "PyTorch state dict"
    assert modgraph.load(tmp_path / "other.pt").stored.format == "GGUF 3"


def test_names_that_are_no_paths_stay_whole(tmp_path: Path):
    names = ["a..b", ".x", "y.", "blocks[0].w", "heads.?.w", "", "ok.w"]
    torch.save({name: torch.zeros(1) for name in names}, tmp_path / "net.pt")
    graph = modgraph.load(tmp_path / "net.pt")
    assert [node.path for node in graph.modules] == ["", "ok"]
    assert [each.name for each in graph.modules[0].parameters] == names[:-1]


def test_the_command_shows_writes_compares_and_draws(tmp_path: Path, net: Any, monkeypatch: Any, capsys: Any):
    monkeypatch.chdir(tmp_path)
    torch.save(net.state_dict(), "net.pt")
    torch.save({**net.state_dict(), "head.weight": torch.zeros(5, 8)}, "later.pt")
    assert main(["analyze", "net.pt", "--format", "json,mermaid", "-o", "out"]) == 0
    said = capsys.readouterr().out
    assert "net · net.pt · PyTorch state dict" in said
    assert "weight 8×4, bias 8" in said
    assert "unknown" not in said
    again = modgraph.load("out/net.json")
    assert again == modgraph.load("net.pt") == modgraph.analyze("net.pt")
    assert "weight 4×8" in Path("out/net.mmd").read_text()
    assert main(["diff", "net.pt", "later.pt"]) == 1
    assert "4×8 → 5×8" in capsys.readouterr().out
    assert main(["diff", "net.pt", "net.pt"]) == 0
    assert main(["analyze", "net.pt", "--against", "later.pt", "--format", "json"]) == 1
    assert "1 of another shape" in capsys.readouterr().out
    assert main(["render", "net.pt", "--format", "text", "-o", "-"]) == 0
    assert "blocks" in capsys.readouterr().out


def test_options_of_a_run_and_models_beside_weights_are_refused_with_what_helps(
    tmp_path: Path, monkeypatch: Any, capsys: Any
):
    monkeypatch.chdir(tmp_path)
    torch.save({"w": torch.zeros(2)}, "net.pt")
    Path("model.py").write_text(
        "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(2, 2)\n"
    )
    assert main(["analyze", "net.pt", "--backward"]) == 2
    assert "--backward is of no use with a checkpoint of PyTorch" in capsys.readouterr().err
    assert main(["diff", "model.py:Net", "net.pt"]) == 2
    assert "modgraph analyze model.py:Net --static --against net.pt" in capsys.readouterr().err
    assert main(["analyze", "no.safetensors"]) == 2
    assert "no.safetensors does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("protocol", [2, 4])
def test_a_pickle_is_never_loaded(tmp_path: Path, protocol: int):
    marker = tmp_path / "marker"

    class Evil:
        def __reduce__(self) -> Any:
            return (marker.write_text, ("ran",))

    data = pickle.dumps({"w": Evil()}, protocol=protocol)
    (tmp_path / "net.pt").write_bytes(data)
    with pytest.raises(GraphError, match="no state dict"):
        modgraph.load(tmp_path / "net.pt")
    torch.save({"w": Evil(), "real": torch.zeros(2)}, tmp_path / "net.pt")
    assert held(modgraph.load(tmp_path / "net.pt")) == {"real": ([2], "float32")}
    assert not marker.exists()
